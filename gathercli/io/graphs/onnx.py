"""Graphs as models of ONNX, written; the messages that models need: nodes, values.

The numbers of the fields are those of `onnx.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from gathercli.io.formats.content import malformed
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue, Value
from gathercli.io.graphs.tensorproto import ONNX_TYPES, tensor_message, type_or_none
from gathercli.io.graphs.wire import (
    Span,
    WireReader,
    encoded,
    encoded_fields,
    number_of,
    signed,
    span_of,
)
from gathercli.spec.dtypes import foreign
from gathercli.spec.shapes import LARGEST, MAX_RANK, UNKNOWN, AnyDim, Dim, Shape
from gathercli.text import clean, in_bytes

# The types of TypeProto other than tensors, by field.
_OTHER_TYPES: Final = {4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}

# The texts of a NodeProto in messages.
_NODE_TEXTS: Final = {3: "the name of a node", 4: "an operator", 7: "a domain"}


class NodeFields(NamedTuple):
    """The fields of a NodeProto, decoded but for the attributes."""

    name: str
    operator: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[Span]


def node_fields(wire: WireReader, message: Span) -> NodeFields:
    """Read a NodeProto."""
    texts = {3: "", 4: "", 7: ""}
    parts: dict[int, list[Span]] = {1: [], 2: [], 5: []}
    for field, value in wire.fields(message):
        if field in parts:
            parts[field].append(span_of(value, "a part of a node"))
        elif field in texts:
            texts[field] = wire.text(span_of(value, _NODE_TEXTS[field]))
    inputs, outputs = (list(map(wire.text, parts[each])) for each in (1, 2))
    return NodeFields(texts[3], texts[4], texts[7], inputs, outputs, parts[5])


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
    dtype, shape = None, Shape.of_unknown_rank()
    for field, value in wire.fields(message):
        if field in _OTHER_TYPES:
            dtype = foreign(_OTHER_TYPES[field])
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


IR_VERSION: Final = 8
# The types of attributes that hold an integer, a graph, and integers.
_INTEGER_TYPE, _GRAPH_TYPE, _INTEGERS_TYPE = 2, 5, 7


def onnx_bytes(graph: Graph, opset: int, name: str = "gather") -> bytes:
    """Return the bytes of a model."""
    return encoded_fields(
        (1, IR_VERSION), (7, _graph(graph, name)), (8, encoded_fields((2, opset)))
    )


def _graph(graph: Graph, name: str) -> bytes:
    return encoded_fields(
        *((1, _node(each)) for each in graph.nodes),
        (2, name),
        *((5, tensor_message(*each)) for each in graph.constants.items()),
        *((11, _value_info(each)) for each in graph.inputs),
        *((12, _value_info(each)) for each in graph.outputs),
    )


def symbols(port: GraphValue) -> list[int | str]:
    """Return the sizes of a value, with symbols for those that are not known."""
    return [f"{port.name}_{at}" if n is None else n for at, n in enumerate(port.shape)]


def _value_info(port: GraphValue) -> bytes:
    kind = encoded(1, ONNX_TYPES.index(port.dtype) if port.dtype in ONNX_TYPES else 0)
    if port.ranked:
        dims = (encoded(2 if isinstance(size, str) else 1, size) for size in symbols(port))
        kind += encoded(2, encoded_fields(*((1, dim) for dim in dims)))
    return encoded(1, port.name) + encoded(2, encoded(1, kind))


def _node(node: GraphNode) -> bytes:
    return encoded_fields(
        *((1, name) for name in node.inputs),
        *((2, port.name) for port in node.outputs),
        *([(3, node.name)] if node.name else []),
        (4, node.operator),
        *((5, _attribute(*each)) for each in node.attributes.items()),
    )


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return encoded_fields((1, name), (3, value), (20, _INTEGER_TYPE))
    if isinstance(value, Graph):
        return encoded_fields((1, name), (6, _graph(value, name)), (20, _GRAPH_TYPE))
    return encoded_fields((1, name), *((8, number) for number in value), (20, _INTEGERS_TYPE))
