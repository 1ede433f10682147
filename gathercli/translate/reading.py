"""Read the models of a translation again, so that its proof runs what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree as ET

from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue, stored
from gathercli.io.graphs.ir import ELEMENT_TYPES, IrFiles, strings_of
from gathercli.io.graphs.onnx import attribute, node_fields, value_info
from gathercli.io.graphs.tensorproto import TensorProto
from gathercli.io.graphs.wire import Span, WireReader, span_of
from gathercli.spec.dtypes import INT64, STRING

# The types by their names in attributes of an IR.
_IR_TYPES: Final = {name: each for each, name in ELEMENT_TYPES.items()}


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


def read_ir_graph(files: IrFiles) -> Graph:
    """Read the graph of an .xml and its .bin; layers are in an order to run them."""
    root = ET.fromstring(files.xml)  # noqa: S314  (text that `ir_files` wrote)
    names = {each.attrib["id"]: each.attrib["name"] for each in root.iterfind("layers/layer")}
    behind = {
        (edge.attrib["to-layer"], edge.attrib["to-port"]): names[edge.attrib["from-layer"]]
        for edge in root.iterfind("edges/edge")
    }
    inputs: list[GraphValue] = []
    outputs: list[GraphValue] = []
    constants: dict[str, Tensor] = {}
    nodes: list[GraphNode] = []
    for layer in root.iterfind("layers/layer"):
        number, name, kind = (layer.attrib[key] for key in ("id", "name", "type"))
        data = {} if (found := layer.find("data")) is None else found.attrib
        ports = layer.iterfind("input/port")
        sources = tuple(behind[number, port.attrib["id"]] for port in ports)
        if kind == "Parameter":
            inputs.append(GraphValue(name, _IR_TYPES[data["element_type"]], ()))
        elif kind == "Const":
            constants[name] = _constant(files.weights, data)
        elif kind == "Result":
            outputs.append(GraphValue(sources[0], INT64, ()))
        else:
            settings = data | {"opset": layer.attrib["version"].removeprefix("opset")}
            nodes.append(GraphNode(kind, sources, (GraphValue(name, INT64, ()),), settings))
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), constants)


def _constant(weights: bytes, data: Mapping[str, str]) -> Tensor:
    """Return the tensor of a Const layer."""
    dtype = _IR_TYPES[data["element_type"]]
    shape = tuple(map(int, filter(None, data["shape"].split(","))))
    offset, size = int(data["offset"]), int(data["size"])
    if dtype is STRING:
        return strings_of(weights, shape, offset, size)
    return stored(lambda: weights, dtype, shape, offset, size).tensor()
