"""Graphs as models of ONNX, written and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.io.graph import Graph, GraphNode, GraphValue
from gathercli.io.onnx.messages import attribute, node_fields, value_info
from gathercli.io.onnx.tensorproto import TYPES, TensorProto, tensor_message
from gathercli.io.onnx.wire import (
    Span,
    WireReader,
    encoded,
    span_of,
    text_field,
)
from gathercli.spec.dtypes import INT64

if TYPE_CHECKING:
    from gathercli.compute.tensor import Tensor

IR_VERSION: Final = 8
_INTEGER, _GRAPH, _INTEGERS = 2, 5, 7
"""The types of attributes that hold an integer, a graph, and integers."""


def onnx_bytes(graph: Graph, opset: int, name: str = "gather") -> bytes:
    """Return the bytes of a model."""
    parts = encoded(1, IR_VERSION), encoded(7, _graph(graph, name)), encoded(8, encoded(2, opset))
    return b"".join(parts)


def _graph(graph: Graph, name: str) -> bytes:
    return b"".join(
        (
            *(encoded(1, _node(each)) for each in graph.nodes),
            text_field(2, name),
            *(encoded(5, tensor_message(key, each)) for key, each in graph.constants.items()),
            *(encoded(11, _value_info(each)) for each in graph.inputs),
            *(encoded(12, _value_info(each)) for each in graph.outputs),
        )
    )


def symbols(port: GraphValue) -> list[int | str]:
    """Return the sizes of a value, with symbols for those that are not known."""
    return [f"{port.name}_{at}" if n is None else n for at, n in enumerate(port.shape)]


def _value_info(port: GraphValue) -> bytes:
    """Return the declaration of a value."""
    tensor = encoded(1, TYPES.index(port.dtype) if port.dtype in TYPES else 0)
    if port.ranked:
        tensor += encoded(2, b"".join(encoded(1, _dimension(size)) for size in symbols(port)))
    return text_field(1, port.name) + encoded(2, encoded(1, tensor))


def _dimension(size: int | str) -> bytes:
    return text_field(2, size) if isinstance(size, str) else encoded(1, size)


def _node(node: GraphNode) -> bytes:
    return b"".join(
        (
            *(text_field(1, name) for name in node.inputs),
            *(text_field(2, port.name) for port in node.outputs),
            *([text_field(3, node.name)] if node.name else []),
            text_field(4, node.operator),
            *(encoded(5, _attribute(*each)) for each in node.attributes.items()),
        )
    )


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return text_field(1, name) + encoded(3, value) + encoded(20, _INTEGER)
    if isinstance(value, Graph):
        return text_field(1, name) + encoded(6, _graph(value, name)) + encoded(20, _GRAPH)
    numbers = (encoded(8, number) for number in value)
    return b"".join((text_field(1, name), *numbers, encoded(20, _INTEGERS)))


# Reading


def read_onnx(content: bytes) -> Graph:
    """Read the graph of a model: the bytes that were written, or those of another."""
    wire = WireReader(content)
    for field, value in wire.fields(wire.whole):
        if field == 7:
            return _read_graph(wire, span_of(value, "the graph"))
    raise ValueError("a model without a graph")


def _read_graph(wire: WireReader, message: Span) -> Graph:
    nodes: list[GraphNode] = []
    constants: dict[str, Tensor] = {}
    values: dict[int, list[GraphValue]] = {11: [], 12: []}
    for field, value in wire.fields(message):
        span = value if isinstance(value, Span) else Span(0, 0)
        if field == 1:
            nodes.append(_read_node(wire, span))
        elif field == 5:
            proto = TensorProto(wire, span)
            constants[proto.name] = proto.constant().tensor()
        elif field in values:
            values[field].append(_read_value(wire, span))
    return Graph(tuple(values[11]), tuple(values[12]), tuple(nodes), constants)


def _read_value(wire: WireReader, message: Span) -> GraphValue:
    name, value = value_info(wire, message)
    if value is None or value.shape.rank is None:
        return GraphValue(name, (value and value.dtype) or INT64, (), ranked=False)
    sizes = (size if isinstance(size, int) else None for size in value.shape)
    return GraphValue(name, value.dtype or INT64, tuple(sizes))


def _read_node(wire: WireReader, message: Span) -> GraphNode:
    fields = node_fields(wire, message)
    attributes = dict(
        attribute(wire, each, lambda _: None, lambda body: _read_graph(wire, body))
        for each in fields.attributes
    )
    outputs = (GraphValue(wire.text(each), INT64, ()) for each in fields.outputs)
    inputs = tuple(map(wire.text, fields.inputs))
    return GraphNode(fields.operator, inputs, tuple(outputs), attributes, fields.name)
