"""The layers of an OpenVINO IR and of its bodies, what their ports declare, and the weights.

The .xml is read by expat, as a stream; a DOCTYPE, which may define entities, is refused. Layers
have ids that are unique in their body only. A port without dimensions is 0-D or of unknown rank:
the layer behind it decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final
from xml.parsers import expat

from gathercli.errors import GatherError, InputError, LimitError, OperatorError
from gathercli.io.files import File
from gathercli.io.formats.content import check_number, check_pointer, malformed, truncated
from gathercli.io.graphs.graph import Constant, Value, check_held, stored
from gathercli.io.graphs.ir import ELEMENT_TYPES, precision, strings_of
from gathercli.models.graph import MAX_DEPTH, Model
from gathercli.models.reading import open_beside
from gathercli.spec.dtypes import STRING, DType, foreign
from gathercli.spec.shapes import MAX_RANK, UNKNOWN, Shape, parse, product
from gathercli.text import clean, counted, in_bytes, short

# The types by their names in attributes and ports.
_TYPES_BY_WORD: Final = {
    word.lower(): each for each, name in ELEMENT_TYPES.items() for word in (name, precision(each))
}


# The elements of bodies, and those of the maps of ports to them.
PORT_MAPS: Final = {"body": "port_map", "then_body": "then_port_map", "else_body": "else_port_map"}


_OPSET_PATTERN: Final = re.compile(r"opset([1-9]\d{0,5})", re.ASCII)
_INTEGER_PATTERN: Final = re.compile(r"\s*-?\d{1,18}\s*", re.ASCII)
MAX_XML: Final = 1 << 28  # the largest .xml in bytes
MOST_ELEMENTS: Final = 20_000_000  # the most elements of an .xml
DEEPEST_ELEMENT: Final = 5 * MAX_DEPTH  # the deepest nesting of elements; a body takes four levels
# Bytes of memory, as were measured: of a layer, of a port or an edge, of a text, of a name.
_LAYER_BYTES, _PORT_BYTES, _TEXT_BYTES, _NAME_BYTES = 600, 140, 60, 180

# Bytes of memory that a byte of a tag takes at most, if it has short attributes.
_TAG_BYTES: Final = 32

# The errors that expat finds at the end of a file alone.
_CUT_ERRORS: Final = [
    expat.errors.codes[each]
    for each in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
]

_POINTER_BYTES: Final = 64  # bytes that tell a pointer of Git LFS
_IR_VERSIONS: Final = (10, 11)
_XML_PART: Final = 1 << 16


@lru_cache(64)
def opset_of(version: str) -> int | None:
    """Return the opset of a version; None for an extension."""
    number = _OPSET_PATTERN.fullmatch(version)
    return int(number[1]) if number else None


class Layer:
    """A layer as it is read: its attributes, its ports, and what leads to it."""

    __slots__ = (
        *("id", "name", "type", "version", "data", "inputs", "outputs", "sources"),
        *("maps", "changing"),
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

    @property
    def dtype(self) -> DType | None:
        """The type of the first output."""
        return type_of(next(iter(self.outputs.values())).precision) if self.outputs else None

    def flag(self, name: str, default: str = "false") -> int:
        """Return an attribute that is true or false, as 1 or 0."""
        return int(self.data.get(name, default).lower() in ("true", "1"))

    def mask(self, name: str) -> list[int]:
        """Return the numbers of a mask."""
        return [int(each) for each in self.data.get(f"{name}_mask", "").split(",") if each.strip()]


class Port:
    """A port: its id, its type as the file has it, the names of its tensor, its dimensions."""

    __slots__ = ("dims", "id", "names", "precision")

    def __init__(self, attributes: dict[str, str]) -> None:
        self.id = attributes.get("id", "")
        self.precision = attributes.get("precision", "")
        self.names = attributes.get("names", "")
        self.dims: list[str] = []

    @property
    def sizes(self) -> list[int]:
        """The dimensions; -1 for one that is not known."""
        return list(map(int, self.dims))

    def value(self, name: str) -> Value:
        """Return what the port declares."""
        if not self.dims:
            return Value(name, type_of(self.precision))
        return Value(name, type_of(self.precision), _port_shape(tuple(self.dims)))


@lru_cache(256)
def _port_shape(dims: tuple[str, ...]) -> Shape:
    if len(dims) > MAX_RANK:
        raise malformed(
            f"a port has {counted(len(dims), 'dimension', exact=True)}", f"at most {MAX_RANK}"
        )
    sizes = [integer(dim, "a dimension", least=-1) for dim in dims]
    return Shape(UNKNOWN if size < 0 else size for size in sizes)


class Body:
    """The layers of a model or of a body in it."""

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
    return _TYPES_BY_WORD.get(lower) or foreign(clean(short(lower)))


def integer(text: str, what: str, least: int = 0) -> int:
    """Read an integer; raise InputError for other text, which `what` names."""
    if _INTEGER_PATTERN.fullmatch(text) and int(text) >= least:
        return int(text)
    raise malformed(f"{what} is `{clean(short(text, 40))}`", f"an integer of {least} or more")


def attribute(text: str) -> int | str:
    """Return an attribute as an integer if it is one, else as text, which a rule refuses."""
    return int(text) if _INTEGER_PATTERN.fullmatch(text) else text


class IrReader:
    """A reader of one .xml; `read` may be called once."""

    def __init__(self, file: File, model: Model) -> None:
        self._file, self._model = file, model
        self._stack: list[str] = []
        self.version = 0
        self.bodies: list[Body] = []
        self._open: list[Body] = []
        self._names: dict[str, str] = {}  # the names of elements and attributes, which expat adds
        self._text: list[str] = []  # of a dimension
        self._port: Port | None = None
        self._number = self._held = 0
        self._parser = expat.ParserCreate(intern=self._names)

    def read(self) -> None:
        """Parse the .xml; raise InputError or LimitError if it is no sound IR."""
        parser = self._parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        size = self._file.length(MAX_XML)
        check_number(f"the .xml has {in_bytes(size)}", size, MAX_XML)
        try:
            raw, held = self._file.buffer(), 0
            for start in range(0, size, _XML_PART):
                part = raw[start : start + _XML_PART]
                parser.Parse(part, False)
                self._model.hold(self._held + _NAME_BYTES * len(self._names) - held)
                held = self._held + _NAME_BYTES * len(self._names)
                pending = start + len(part) - parser.CurrentByteIndex  # of a tag without its end
                check_held(pending * _TAG_BYTES, self._file.limit)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            if error.code in _CUT_ERRORS:
                raise truncated(size, "an OpenVINO IR", inside="an element") from None
            what = f"it is not XML: {expat.ErrorString(error.code)} in line {error.lineno}"
            raise malformed(what, "an OpenVINO IR") from None
        except GatherError:  # of a handler
            raise
        except (LookupError, ValueError) as error:  # the encoding that the .xml declares
            raise malformed(f"it is not XML: {error}", "an OpenVINO IR in UTF-8") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._stack
        self._number += 1
        if self._number > MOST_ELEMENTS or len(stack) >= DEEPEST_ELEMENT:
            what = "the .xml has too many or too deep elements"
            raise LimitError(what, expected=f"at most {MOST_ELEMENTS}, {DEEPEST_ELEMENT} deep")
        row = self._ROWS.get((stack[-1], name)) if stack else (0, IrReader._open_net)
        stack.append(name)
        if row is not None:
            nbytes, read = row
            if attributes:
                nbytes += _TEXT_BYTES * len(attributes) + len("".join(attributes.values()))
            self._held += nbytes
            read(self, attributes)

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        if name == "dim":
            if self._parser.CharacterDataHandler is not None:
                self._parser.CharacterDataHandler = None
                if self._port is not None:
                    self._port.dims.append("".join(self._text))
        elif name == "port":
            self._port = None
        elif name == "layer" and stack and stack[-1] == "layers":
            self._open[-1].last = None
        elif stack and len(stack) == self._open[-1].depth:
            self._open.pop()

    def _character_data(self, text: str) -> None:
        self._held += len(text)
        self._text.append(text)

    # What the elements of `_ROWS` say, in most places of a layer

    def _add_dim(self, _: dict[str, str]) -> None:
        self._text = []
        self._parser.CharacterDataHandler = self._character_data

    def _add_port(self, attributes: dict[str, str]) -> None:
        self._port = port = Port(attributes)
        layer = self._open[-1].last
        if layer and self._stack[-2] == "input":
            layer.inputs.append(port)
        elif layer:
            layer.outputs[port.id] = port

    def _add_data(self, attributes: dict[str, str]) -> None:
        if layer := self._open[-1].last:
            layer.data = attributes

    def _add_body(self, _: dict[str, str]) -> None:
        body, name = self._open[-1], self._stack[-1]
        if layer := body.last:
            path = (*body.path, layer.name or layer.type, name)
            self._open_body(Body(path, len(self._stack) - 1, body, layer))

    def _add_change(self, attributes: dict[str, str]) -> None:
        if layer := self._open[-1].last:
            layer.changing = layer.changing or set()
            layer.changing.add(attributes.get("to-layer", ""))

    def _add_map(self, attributes: dict[str, str]) -> None:
        layer = self._open[-1].last
        if layer and "axis" not in attributes:
            layer.maps = layer.maps or {}
            ports = layer.maps.setdefault(self._stack[-2], {})
            ports[attributes.get("internal_layer_id", "")] = attributes.get("external_port_id", "")

    def _open_body(self, body: Body) -> None:
        self._open.append(body)
        self.bodies.append(body)

    def _open_net(self, attributes: dict[str, str]) -> None:
        name = self._stack[-1]
        if name != "net":
            raise malformed(f"the root of the .xml is <{clean(short(name))}>", "<net> of an IR")
        version = integer(attributes.get("version", "0"), "the version of the IR")
        if version not in _IR_VERSIONS:
            raise malformed(f"the IR has version {version}", "10 or 11")
        self.version = version
        self._open_body(Body())

    def _add_layer(self, attributes: dict[str, str]) -> None:
        body, layer = self._open[-1], Layer(attributes)
        if layer.id in body.layers:
            raise malformed(f"two layers have the id `{clean(short(layer.id))}`", "every id once")
        self._model.count_node()
        body.layers[layer.id] = body.last = layer

    def _add_edge(self, attributes: dict[str, str]) -> None:
        layers = self._open[-1].layers
        to, source = attributes.get("to-layer", ""), attributes.get("from-layer", "")
        for each in (to, source):
            if each not in layers:
                raise malformed(
                    f"an edge names the layer `{clean(short(each))}`", "a layer of its body"
                )
        sources, port = layers[to].sources, attributes.get("to-port", "")
        if port in sources:
            what = f"two edges lead to the port `{clean(short(port))}` of `{clean(short(to))}`"
            raise malformed(what, "one edge to a port")
        sources[port] = source, attributes.get("from-port", "")

    # The elements that are read, with their bytes. The element around one decides what it is, so
    # that those of `rt_info`, which may have any names, are passed over.
    _ROWS: ClassVar[Mapping[tuple[str, str], tuple[int, Callable[..., None]]]] = {
        ("port", "dim"): (_TEXT_BYTES, _add_dim),
        ("input", "port"): (_PORT_BYTES, _add_port),
        ("output", "port"): (_PORT_BYTES, _add_port),
        ("layer", "data"): (_PORT_BYTES, _add_data),
        ("layers", "layer"): (_LAYER_BYTES, _add_layer),
        ("edges", "edge"): (_PORT_BYTES, _add_edge),
        ("back_edges", "edge"): (_PORT_BYTES, _add_change),
        **dict.fromkeys((("layer", body) for body in PORT_MAPS), (_LAYER_BYTES, _add_body)),
        **dict.fromkeys(((each, "input") for each in PORT_MAPS.values()), (_PORT_BYTES, _add_map)),
    }


def _refuse_doctype(*_: object) -> None:
    raise malformed("the .xml has a DOCTYPE", "an IR, which has none")


class Weights:
    """The .bin beside an .xml, which is opened for its size and mapped for its elements."""

    def __init__(self, notes: list[str], xml: File) -> None:
        self._notes, self._xml = notes, xml

    @cached_property
    def _file(self) -> File | None:
        """The .bin; None, and a note, if there is none."""
        xml = self._xml
        path, suffix = os.path.splitext(xml.path)
        whole, name = f"{path}.bin", f"{os.path.splitext(xml.name)[0]}.bin"
        if suffix.lower() != ".xml" or not os.path.lexists(whole):
            self._notes.append(f"there is no `{clean(name)}`, so no constant was read")
            return None
        file = open_beside(xml.path, os.path.basename(whole), xml.limit)
        file.guarded = xml.guarded
        xml.beside.append(file)
        return file

    @cached_property
    def _buffer(self) -> Any:
        return self._file.buffer() if self._file is not None else None

    def of_layer(self, layer: Layer) -> Constant:
        """Return the constant of a Const layer; its errors have the name of the layer."""
        data = layer.data
        try:
            dtype = type_of(data.get("element_type", ""))
            if dtype not in ELEMENT_TYPES:
                word = clean(short(data.get("element_type", "")))
                what = f"its type is `{word}`"
                raise InputError(what, rule="dtype", value=word, expected="a type of OpenVINO")
            sizes = shape_of(data.get("shape", "")).sizes
            if sizes is None:
                raise malformed(f"its shape is `{clean(short(data['shape']))}`", "known sizes")
            offset = integer(data.get("offset", ""), "its offset")
            size = integer(data.get("size", ""), "its size")
            return self._constant(dtype, sizes, offset, size)
        except GatherError as error:
            error.prefix(f"the constant `{clean(short(layer.name))}`")
            raise

    def _constant(self, dtype: DType, shape: tuple[int, ...], offset: int, size: int) -> Constant:
        """Return a constant, after checking that it lies in the .bin."""
        size = size if product(shape) else 0  # for which OpenVINO writes a byte
        if self._file is None:
            reason = "its elements are in the .bin, which is missing"

            def refuse() -> Any:
                raise InputError(reason, rule="missing", expected="it beside the .xml")

            return Constant(dtype, shape, refuse, unread=reason)
        if offset + size > self._file.size:
            check_pointer(self._file.start(_POINTER_BYTES))
            has = f"the .bin has only {counted(self._file.size, 'byte')}"
            what = f"its elements are at bytes {offset} to {offset + size}, but {has}"
            raise malformed(what, "them inside the .bin")
        if dtype is STRING:
            return Constant(
                dtype,
                shape,
                lambda: strings_of(self._buffer, shape, offset, size),
                limit=self._xml.limit,
            )
        return stored(lambda: self._buffer, dtype, shape, offset, size, self._xml.limit)


# What is missing or malformed of a layer


def wrong_edges(layer: Layer, roles: Sequence[str], body: Body) -> Iterator[OperatorError]:
    """Yield input ports to which no edge leads, and edges between ports that are not there."""
    ports = [port.id for port in layer.inputs]
    for role, port in zip(roles, ports, strict=False):
        source = layer.sources.get(port)
        if source is None:
            expected = "one that leads to it"
            yield OperatorError("has no edge", rule="inputs", subject=role, expected=expected)
            continue
        behind = body.layers[source[0]]
        if source[1] not in behind.outputs:
            what = (
                f"comes from the port `{clean(short(source[1]))}` of `{clean(short(behind.name))}`"
            )
            expected = "an output port of the layer"
            yield OperatorError(what, rule="undefined", subject=role, expected=expected)
    for port in dict.fromkeys([*ports, *layer.sources]):
        if ports.count(port) != 1:
            name, has = f"the input port `{clean(short(port))}`", ports.count(port)
            what = f"it has {name} more than once" if has else f"an edge leads to {name}"
            expected = "each once" if has else "an input port of the layer"
            yield OperatorError(what, rule="inputs", value=port, expected=expected)


def wrong_axis(value: Value) -> Iterator[OperatorError]:
    """Yield an input that is no axis, whatever its elements are."""
    sizes = value.shape.sizes
    if value.dtype is not None and not value.dtype.integral:
        what, expected = f"is {value.dtype}", "an integer type"
        yield OperatorError(what, rule="axis-type", subject="axis", expected=expected)
    elif value.constant is None and sizes is not None and sizes not in ((), (1,)):
        what, expected = f"has the shape {value.shape}", "one integer"
        yield OperatorError(what, rule="axis-type", subject="axis", expected=expected)
