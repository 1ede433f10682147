"""Read the models of a translation again, so that its proof runs what was written."""

from __future__ import annotations

from gathercli.compute.tensor import Tensor
from gathercli.io.files import File
from gathercli.io.graphs.graph import Budget, Graph, GraphNode, GraphValue
from gathercli.io.graphs.ir import IrFiles, Weights
from gathercli.io.graphs.layers import IrReader, type_of
from gathercli.io.graphs.onnx import attribute, node_fields, value_info
from gathercli.io.graphs.tensorproto import TensorProto
from gathercli.io.graphs.wire import Span, WireReader, span_of
from gathercli.spec.dtypes import INT64


class HeldFile(File):
    """Bytes in memory that are read as those of a stream that has ended."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = self.path = name
        self.limit, self.regular, self.beside = None, False, []
        self._spool, self._ended = content, True


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
    xml = HeldFile("model.xml", files.xml.encode())
    weights = Weights([], xml, HeldFile("model.bin", files.weights))
    reader = IrReader(xml, Budget())
    reader.read()
    layers = reader.bodies[0].layers
    inputs: list[GraphValue] = []
    outputs: list[GraphValue] = []
    constants: dict[str, Tensor] = {}
    nodes: list[GraphNode] = []
    names = {key: each.name for key, each in layers.items()}
    for each in layers.values():
        sources = tuple(names[each.sources[port.id][0]] for port in each.inputs)
        if each.type == "Parameter":
            inputs.append(GraphValue(each.name, type_of(each.data["element_type"]) or INT64, ()))
        elif each.type == "Const":
            constants[each.name] = weights.of_layer(each).tensor()
        elif each.type == "Result":
            outputs.append(GraphValue(sources[0], INT64, ()))
        else:
            port = GraphValue(each.name, INT64, ())
            settings = dict(each.data) | {"opset": each.opset}
            nodes.append(GraphNode(each.type, sources, (port,), settings))
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), constants)
