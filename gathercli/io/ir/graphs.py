"""Graphs as OpenVINO IR of version 11, the text of an .xml and the bytes of a .bin, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gathercli.io.files import HeldFile
from gathercli.io.graph import Budget, Graph, GraphNode, GraphValue
from gathercli.io.ir.layers import ELEMENT_TYPES, precision, type_of
from gathercli.io.ir.reader import IrReader
from gathercli.io.ir.weights import Weights, weights_of
from gathercli.spec.dtypes import INT64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.compute.tensor import Tensor
    from gathercli.spec.dtypes import DType


class IrFiles(NamedTuple):
    """The text of the .xml, and the bytes of the .bin."""

    xml: str
    weights: bytes


def ir_files(graph: Graph, opsets: Mapping[str, int], name: str = "gather") -> IrFiles:
    """Return the files of a graph; `opsets` are those of its operators, by default the first."""
    layers: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    weights = b""
    for port in graph.inputs:
        places[port.name] = len(layers), 0
        layers.append(_parameter(len(layers), port))
    known = {port.name: port for port in graph.inputs}
    for key, tensor in graph.constants.items():
        places[key] = len(layers), 0
        known[key] = GraphValue(key, tensor.dtype, tensor.shape)
        raw = weights_of(tensor)
        layers.append(_constant(len(layers), known[key], len(weights), len(raw)))
        weights += raw
    edges: list[str] = []
    for node in graph.nodes:
        number, (output,) = len(layers), node.outputs
        edges += (_edge(*places[each], number, at) for at, each in enumerate(node.inputs))
        places[output.name], known[output.name] = (number, len(node.inputs)), output
        version = f"opset{opsets.get(node.operator, 1)}"
        layers.append(_operation(number, node, version, [known[each] for each in node.inputs]))
    (last,) = graph.outputs
    edges.append(_edge(*places[last.name], len(layers), 0))
    result = _ports("input", '        <port id="0"/>\n')
    layers.append(_layer(len(layers), "result", "Result", "opset1", result))
    parts = ("  <layers>\n", *layers, "  </layers>\n", "  <edges>\n", *edges, "  </edges>\n")
    head = f'<?xml version="1.0"?>\n<net name="{name}" version="11">\n'
    return IrFiles(f"{head}{''.join(parts)}</net>\n", weights)


def _operation(number: int, node: GraphNode, version: str, inputs: list[GraphValue]) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in node.attributes.items())
    (output,) = node.outputs
    return _layer(
        number,
        node.name,
        node.operator,
        version,
        f"      <data{attributes}/>\n" if attributes else "",
        _ports("input", *(_port(at, each) for at, each in enumerate(inputs))),
        _ports("output", _port(len(inputs), output, output.name)),
    )


def _parameter(number: int, port: GraphValue) -> str:
    """Return the layer of an input."""
    shape = ",".join("?" if size is None else str(size) for size in port.shape)
    data = f'      <data shape="{shape}" element_type="{element_type(port.dtype)}"/>\n'
    output = _ports("output", _port(0, port, port.name))
    return _layer(number, port.name, "Parameter", "opset1", data, output)


def _constant(number: int, port: GraphValue, start: int, size: int) -> str:
    """Return the layer of a constant, whose elements are at `start` in the .bin."""
    kind, shape = element_type(port.dtype), ",".join(map(str, port.shape))
    place = f'offset="{start}" size="{size}"'
    data = f'      <data element_type="{kind}" shape="{shape}" {place}/>\n'
    return _layer(number, port.name, "Const", "opset1", data, _ports("output", _port(0, port)))


def _layer(number: int, name: str, kind: str, version: str, *parts: str) -> str:
    """Return a layer; `parts` are its attributes and its ports."""
    head = f'<layer id="{number}" name="{name}" type="{kind}" version="{version}">'
    return "".join((f"    {head}\n", *parts, "    </layer>\n"))


def _ports(kind: str, *ports: str) -> str:
    """Return the ports of a kind: ``input`` or ``output``."""
    return "".join((f"      <{kind}>\n", *ports, f"      </{kind}>\n"))


def _port(number: int, value: GraphValue, names: str = "") -> str:
    """Return a port of a layer; a negative size is unknown."""
    dims = "".join(f"<dim>{-1 if size is None else size}</dim>" for size in value.shape)
    kind, names = precision(value.dtype), names and f' names="{names}"'
    return f'        <port id="{number}" precision="{kind}"{names}>{dims}</port>\n'


def _edge(layer: int, port: int, to_layer: int, to_port: int) -> str:
    """Return an edge from a port of a layer to that of another."""
    ends = f'from-layer="{layer}" from-port="{port}" to-layer="{to_layer}" to-port="{to_port}"'
    return f"    <edge {ends}/>\n"


def element_type(dtype: DType) -> str:
    """Return the name of a type in an attribute; ours, which OpenVINO refuses, if it has none."""
    return ELEMENT_TYPES.get(dtype, dtype.name)


# Reading


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
