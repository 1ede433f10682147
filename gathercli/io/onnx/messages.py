"""The messages of an ONNX graph, as far as models and translations need them: nodes, values.

The numbers of the fields are those of `onnx.proto`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.io.formats.content import malformed
from gathercli.io.graph import Value
from gathercli.io.onnx.tensorproto import type_or_none
from gathercli.io.onnx.wire import Span, number_of, signed, span_of
from gathercli.spec.dtypes import foreign
from gathercli.spec.shapes import LARGEST, MAX_RANK, UNKNOWN, AnyDim, Dim, Shape
from gathercli.text import clean, in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.io.onnx.wire import WireReader

_KINDS: Final = {4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}
"""The types of TypeProto other than tensors, by field."""


class NodeFields(NamedTuple):
    """The fields of a NodeProto; the attributes are not decoded."""

    name: str
    operator: str
    domain: str
    inputs: list[Span]
    outputs: list[Span]
    attributes: list[Span]


def node_fields(wire: WireReader, message: Span) -> NodeFields:
    """Read a NodeProto."""
    name = operator = domain = ""
    inputs: list[Span] = []
    outputs: list[Span] = []
    attributes: list[Span] = []
    parts = {1: inputs, 2: outputs, 5: attributes}
    for field, value in wire.fields(message):
        if field in parts:
            parts[field].append(span_of(value, "a part of a node"))
        elif field == 4:
            operator = wire.text(span_of(value, "an operator"))
        elif field == 3:
            name = wire.text(span_of(value, "the name of a node"))
        elif field == 7:
            domain = wire.text(span_of(value, "a domain"))
    return NodeFields(name, operator, domain, inputs, outputs, attributes)


def attribute(  # noqa: C901  (a field each)
    wire: WireReader,
    message: Span,
    tensor: Callable[[Span], Any],
    graph: Callable[[Span], Any] = lambda _: None,
) -> tuple[str, Any]:
    """Return the name and the value of an attribute.

    A number, a text, a list of integers, what `tensor` makes of a tensor and `graph` of a graph;
    ``"unknown"`` for a parameter of a function; None for anything else.
    """
    name = ""
    value: Any = None
    numbers: list[int] = []
    is_list = False
    for field, part in wire.fields(message):
        if field == 1:
            name = wire.text(span_of(part, "the name of an attribute"))
        elif field == 2:
            value = _float(wire.bytes(span_of(part, "a float")))
        elif field == 3:
            value = signed(number_of(part, f"the attribute `{clean(name)}`"))
        elif field == 4:
            value = wire.text(span_of(part, "a text"))
        elif field == 5:
            value = tensor(span_of(part, "a tensor"))
        elif field == 6:
            value = graph(span_of(part, "a graph"))
        elif field == 8:
            is_list = True
            numbers += wire.varints(part) if isinstance(part, Span) else [part]
        elif field == 20 and part == 7:
            is_list = True
        elif field == 21:
            value = "unknown"
    return name, list(map(signed, numbers)) if is_list else value


def _float(raw: bytes) -> float:
    """Decode the number of an attribute."""
    if len(raw) != 4:
        raise malformed(f"a float has {in_bytes(len(raw))}", "4 bytes")
    number: float = struct.unpack("<f", raw)[0]
    return number


def value_info(wire: WireReader, message: Span) -> tuple[str, Value | None]:
    """Return the name of a ValueInfoProto, and the value if it declares a type."""
    name, kind = "", None
    for field, value in wire.fields(message):
        if field == 1:
            name = wire.text(span_of(value, "the name of a value"))
        elif field == 2:
            kind = span_of(value, "a type")
    return name, None if kind is None else _typed(wire, name, kind)


def _typed(wire: WireReader, name: str, message: Span) -> Value:
    """Return the value of a TypeProto."""
    dtype, shape = None, Shape.of_unknown_rank()
    for field, value in wire.fields(message):
        if field in _KINDS:
            dtype = foreign(_KINDS[field])
        elif field == 1:
            for inner, part in wire.fields(span_of(value, "a type")):
                if inner == 1:
                    dtype = type_or_none(number_of(part, "`elem_type`"))
                elif inner == 2:
                    shape = _shape(wire, span_of(part, "a shape"))
    return Value(name, dtype, shape)


def _shape(wire: WireReader, message: Span) -> Shape:
    dims: list[AnyDim] = []
    for field, value in wire.fields(message):
        if field == 1:
            dims.append(_dim(wire, span_of(value, "a dimension")))
        if len(dims) > MAX_RANK:
            raise malformed("a value has too many dimensions", f"at most {MAX_RANK}")
    return Shape(dims)


def _dim(wire: WireReader, message: Span) -> AnyDim:
    for field, value in wire.fields(message):
        if field == 1:  # modulo 2^64, so that a negative size is above the largest
            return dimension(number_of(value, "a dimension"))
        if field == 2:
            return dimension(wire.text(span_of(value, "a dimension")))
    return UNKNOWN


def dimension(size: int | str | None) -> AnyDim:
    """Return a dimension of ONNX: a size, or a symbol; a negative size is unknown."""
    if isinstance(size, str):
        return Dim(name=size) if size.isidentifier() and size != "_" else UNKNOWN
    return size if isinstance(size, int) and 0 <= size <= LARGEST else UNKNOWN
