"""The layers of an OpenVINO IR, and what their ports declare."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from gathercli.io.formats.content import malformed
from gathercli.io.graph import Value
from gathercli.spec.dtypes import BOOL, DType, dtype, foreign
from gathercli.spec.shapes import MAX_RANK, UNKNOWN, Shape, parse
from gathercli.text import clean, counted, short

_SHORT_NAMES: Final = """
i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e5m2 i4 u4 u2
"""
_OTHER_NAMES: Final = {
    "bool": "boolean",
    "string": "string",
    "float8_e4m3fn": "f8e4m3",
    "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1",
}
ELEMENT_TYPES: Final = {dtype(name): name for name in _SHORT_NAMES.split()} | {
    dtype(name): word for name, word in _OTHER_NAMES.items()
}
"""The types that OpenVINO has, each with its name in an attribute of an IR."""


def precision(dtype: DType) -> str:
    """Return the name of a type in a port of an IR: ``FP32``, ``I64``, ``BOOL``, ``F8E4M3``.

    A type that OpenVINO lacks has our name, which it refuses.
    """
    if dtype is BOOL:
        return "BOOL"
    name = ELEMENT_TYPES.get(dtype, dtype.name).upper()
    return f"FP{name[1:]}" if name in ("F16", "F32", "F64") else name


_BY_WORD: Final = {
    word.lower(): each for each, name in ELEMENT_TYPES.items() for word in (name, precision(each))
}
"""The types by their names in attributes and ports."""


PORT_MAPS: Final = {
    "body": "port_map",
    "then_body": "then_port_map",
    "else_body": "else_port_map",
}
"""The elements of bodies, and those of the maps of ports to them."""


_OPSET: Final = re.compile(r"opset([1-9]\d{0,5})", re.ASCII)
_INTEGER: Final = re.compile(r"\s*-?\d{1,18}\s*", re.ASCII)


@lru_cache(64)
def opset_of(version: str) -> int | None:
    """Return the opset of a version; None for an extension."""
    number = _OPSET.fullmatch(version)
    return int(number[1]) if number else None


class Layer:
    """A layer as it is read: its attributes, its ports, and what leads to it.

    Attributes
    ----------
    sources
        The layer and the port behind each input port.
    maps
        For each map of ports to a body, the input port behind a Parameter of the body, unless the
        body gets slices of it.
    changing
        The Parameters of the body that an iteration sets for the next.
    """

    __slots__ = (
        "changing",
        "data",
        "id",
        "inputs",
        "maps",
        "name",
        "outputs",
        "sources",
        "type",
        "version",
    )

    def __init__(self, attributes: dict[str, str]) -> None:
        self.id = attributes.get("id", "")
        self.name = attributes.get("name", "")
        self.type = attributes.get("type", "")
        self.version = attributes.get("version", "")
        self.data: dict[str, str] = {}
        self.inputs: list[Port] = []
        self.outputs: dict[str, Port] = {}
        self.sources: dict[str, tuple[str, str]] = {}
        # Few layers have these, and a model may have many layers.
        self.maps: dict[str, dict[str, str]] | None = None
        self.changing: set[str] | None = None

    @property
    def opset(self) -> int | None:
        """The opset; None for an extension."""
        return opset_of(self.version)


class Port:
    """A port: its id, its type as the file has it, the names of its tensor, its dimensions."""

    __slots__ = ("dims", "id", "names", "precision")

    def __init__(self, attributes: dict[str, str]) -> None:
        self.id = attributes.get("id", "")
        self.precision = attributes.get("precision", "")
        self.names = attributes.get("names", "")
        self.dims: list[str] = []

    def value(self, name: str) -> Value:
        """Return what the port declares."""
        if not self.dims:
            return Value(name, type_of(self.precision))
        return Value(name, type_of(self.precision), _port_shape(tuple(self.dims)))


@lru_cache(256)
def _port_shape(dims: tuple[str, ...]) -> Shape:
    """Return the shape that a port declares: many ports have the same."""
    if len(dims) > MAX_RANK:
        raise malformed(
            f"a port has {counted(len(dims), 'dimension', exact=True)}", f"at most {MAX_RANK}"
        )
    sizes = [integer(dim, "a dimension", least=-1) for dim in dims]
    return Shape(UNKNOWN if size < 0 else size for size in sizes)


class Body:
    """The layers of a model or of a body in it.

    Attributes
    ----------
    path, depth
        The layers and bodies around it, and the number of elements.
    outer, owner
        The body around it, and the layer there; None for the model.
    values
        What is known of the outputs of layers, by layer and port.
    """

    def __init__(
        self,
        path: tuple[str, ...] = (),
        depth: int = 0,
        outer: Body | None = None,
        owner: Layer | None = None,
    ) -> None:
        self.path, self.depth, self.outer, self.owner = path, depth, outer, owner
        self.layers: dict[str, Layer] = {}
        self.last: Layer | None = None
        self.values: dict[tuple[str, str], Value] = {}

    def captured(self, parameter_id: str) -> Value | None:
        """Return the outer constant that a Parameter of the body stands for, read or not."""
        owner, outer = self.owner, self.outer
        if owner is None or outer is None or parameter_id in (owner.changing or ()):
            return None
        port = (owner.maps or {}).get(PORT_MAPS[self.path[-1]], {}).get(parameter_id)
        source = owner.sources.get(port) if port is not None else None
        if source is None:
            return None
        value = outer.values.get(source) or outer.captured(source[0])
        return value if value and (value.constant or value.unread) else None


def parameter(layer: Layer, name: str) -> Value | None:
    """Return what a Parameter declares, which tells 0-D from an unknown rank."""
    text = layer.data.get("shape")
    if text is None:
        return None
    return Value(name, type_of(layer.data.get("element_type", "")), shape_of(text))


def shape_of(text: str) -> Shape:
    """Read a shape: sizes, intervals and ``?`` between commas, or ``...``."""
    if text.count(",") >= MAX_RANK:
        raise malformed(
            f"a shape has {counted(text.count(',') + 1, 'dimension')}", f"at most {MAX_RANK}"
        )
    return parse(f"[{text}]")


@lru_cache(64)
def type_of(word: str) -> DType | None:
    """Return the type that a word names, known here or not; None if it names none."""
    if not word or word in ("dynamic", "undefined", "UNSPECIFIED"):
        return None
    lower = word.lower()
    return _BY_WORD.get(lower) or foreign(clean(short(lower)))


def integer(text: str, what: str, least: int = 0) -> int:
    """Read an integer; raise InputError for other text, which `what` names."""
    if _INTEGER.fullmatch(text) and int(text) >= least:
        return int(text)
    raise malformed(f"{what} is `{clean(short(text, 40))}`", f"an integer of {least} or more")


def attribute(text: str) -> int | str:
    """Return an attribute as an integer if it is one, else as text, which a rule refuses."""
    return int(text) if _INTEGER.fullmatch(text) else text
