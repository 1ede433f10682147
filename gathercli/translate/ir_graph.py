"""OpenVINO IR: a graph as the .xml and the .bin of version 11, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.io.ir.layers import type_of
from gathercli.models.openvino_ir import layers_of
from gathercli.runtimes.ir_node import (
    constant_text,
    edge_text,
    layer_text,
    parameter_text,
    port_text,
    ports_text,
    result_text,
    weights_of,
)
from gathercli.spec.dtypes import INT64
from gathercli.translate.graph import Graph, GraphNode, GraphValue, Row, graph_of, zeros_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.compute.tensor import Tensor
    from gathercli.io.graph import Constant
    from gathercli.io.ir.layers import Layer
    from gathercli.translate.program import Program, Step

_NUMPY: Final = {"auto_broadcast": "numpy"}


def _element(operator: str) -> Row:
    return Row(operator, lambda _: _NUMPY)


def _masks(step: Step) -> dict[str, str]:
    """Return the attributes of a StridedSlice that takes every start and every end."""
    none = ",".join("0" for _ in step.output.shape)
    masks = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    return dict.fromkeys(masks, none)


def _narrowed(step: Step) -> list[Any]:
    """Return the starts, the ends and the steps of a StridedSlice."""
    rank = len(step.output.shape)
    return [[0] * rank, list(step.output.shape), [1] * rank]


ROWS: Final = {
    "cast": Row("Convert", lambda _: {"destination_type": "i64"}),
    "add": _element("Add"),
    "multiply": _element("Multiply"),
    "modulo": _element("FloorMod"),
    "minimum": _element("Minimum"),
    "maximum": _element("Maximum"),
    "less": _element("Less"),
    "at_least": _element("GreaterEqual"),
    "either": _element("LogicalOr"),
    "where": _element("Select"),
    "total": Row("ReduceSum", lambda _: {"keep_dims": "false"}, lambda _: [-1]),
    "concat": Row("Concat", lambda step: {"axis": step.settings["axis"]}),
    # No Slice, which a plugin removes before a GatherElements, and then refuses the sizes.
    "narrow": Row("StridedSlice", _masks, _narrowed, takes=1),
    "merge": Row(
        "Reshape", lambda _: {"special_zero": "false"}, lambda step: [list(step.output.shape)]
    ),
    "unsqueeze": Row("Unsqueeze", constants=lambda _: [-1]),
    "transpose": Row("Transpose", constants=lambda step: [list(step.settings["order"])]),
    "gather": Row(
        "Gather",
        lambda step: {"batch_dims": step.settings["batch_dims"]},
        lambda step: [step.settings["axis"]],
    ),
    "gather_elements": Row("GatherElements", lambda step: {"axis": step.settings["axis"]}),
    "gather_nd": Row("GatherND", lambda step: {"batch_dims": step.settings["batch_dims"]}),
    "gather_tree": Row("GatherTree"),
}

OPSETS: Final = {"Gather": 8, "GatherElements": 6, "GatherND": 8, "Broadcast": 3}
"""The opsets of operators whose first version is not taken."""


_BROADCAST: Final = zeros_from("Broadcast", mode="numpy")
SPECIAL: Final = {"zeros": _BROADCAST, "no_tuples": _BROADCAST}


def ir_graph(program: Program) -> Graph:
    """Return the graph of a program."""
    return graph_of(program, ROWS, SPECIAL)


class IrFiles(NamedTuple):
    """The text of the .xml, and the bytes of the .bin."""

    xml: str
    weights: bytes


def ir_files(graph: Graph) -> IrFiles:
    """Return the files of a graph."""
    layers: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    weights = b""
    for port in graph.inputs:
        places[port.name] = len(layers), 0
        sizes = [-1 if size is None else size for size in port.shape]
        layers.append(parameter_text(len(layers), port.name, port.dtype, sizes))
    known = {port.name: port for port in graph.inputs}
    for name, tensor in graph.constants.items():
        places[name] = len(layers), 0
        known[name] = GraphValue(name, tensor.dtype, tensor.shape)
        raw = weights_of(tensor)
        layers.append(constant_text(len(layers), name, tensor, len(weights), len(raw)))
        weights += raw
    edges: list[str] = []
    for node in graph.nodes:
        number, (output,) = len(layers), node.outputs
        for at, name in enumerate(node.inputs):
            edges.append(edge_text(*places[name], number, at))
        places[output.name], known[output.name] = (number, len(node.inputs)), output
        layers.append(_layer(number, node, [known[name] for name in node.inputs]))
    (last,) = graph.outputs
    edges.append(edge_text(*places[last.name], len(layers), 0))
    layers.append(result_text(len(layers)))
    parts = ("  <layers>\n", *layers, "  </layers>\n", "  <edges>\n", *edges, "  </edges>\n")
    head = '<?xml version="1.0"?>\n<net name="gather" version="11">\n'
    return IrFiles(f"{head}{''.join(parts)}</net>\n", weights)


def _layer(number: int, node: GraphNode, inputs: list[GraphValue]) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in node.attributes.items())
    (output,) = node.outputs
    ports = (port_text(at, each.dtype, _sizes(each)) for at, each in enumerate(inputs))
    return layer_text(
        number,
        output.name,
        node.operator,
        f"opset{OPSETS.get(node.operator, 1)}",
        f"      <data{attributes}/>\n" if attributes else "",
        ports_text("input", *ports),
        ports_text("output", port_text(len(inputs), output.dtype, _sizes(output), output.name)),
    )


def _sizes(port: GraphValue) -> list[int]:
    return [-1 if size is None else size for size in port.shape]


# Reading


def read_ir_graph(files: IrFiles) -> Graph:
    """Read the graph of an .xml and its .bin; layers are in an order to run them."""
    return _graph_of_layers(*layers_of(files.xml.encode(), files.weights))


def _graph_of_layers(layers: Mapping[str, Layer], tensors: Mapping[str, Constant]) -> Graph:
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
            constants[each.name] = tensors[each.name].tensor()
        elif each.type == "Result":
            outputs.append(GraphValue(sources[0], INT64, ()))
        else:
            port = GraphValue(each.name, INT64, ())
            settings = dict(each.data) | {"opset": each.opset}
            nodes.append(GraphNode(each.type, sources, (port,), settings))
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), constants)
