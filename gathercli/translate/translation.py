"""A translated call: its files, and what they compute by our own operators and NumPy.

Code is evaluated as its program; a graph is read from its files, and every node of it is run as
its specification says. An error of an operator is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run
from gathercli.compute.storage import broadcast, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.frameworks.versions import find
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue, stored
from gathercli.io.graphs.ir import ELEMENT_TYPES, IrFiles, ir_files, strings_of
from gathercli.io.graphs.onnx import attribute, node_fields, onnx_bytes, value_info
from gathercli.io.graphs.tensorproto import ONNX_TYPES, TensorProto
from gathercli.io.graphs.wire import Span, WireReader, span_of
from gathercli.io.write import unwritable, write_files
from gathercli.ops import OPERATORS, gather_tree
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import BOOL, INT64, STRING
from gathercli.spec.op import Op
from gathercli.text import clean, counted
from gathercli.translate.code import code
from gathercli.translate.lowering import lowered
from gathercli.translate.program import PRIMITIVES, Program, Step
from gathercli.translate.targets import FAMILY_PRIMITIVES, OwnOperator, TranslationTarget
from gathercli.translate.targets import target as find_target


class Translation(NamedTuple):
    """A call in another framework."""

    call: Call
    target: TranslationTarget
    program: Program
    text: str
    files: Mapping[str, bytes]  # by suffix; the first one is the translation itself
    graph: Graph | None = None  # as it is read from the files; None for code

    @property
    def any_size(self) -> bool:
        """Whether it serves tensors of other sizes, of the same ranks: code reads them."""
        return self.graph is None or self.program.fits_all_sizes

    @property
    def size(self) -> str:
        """How large it is, for people: ``5 nodes``."""
        if self.graph is None:
            return counted(len(self.text.splitlines()), "line")
        return counted(len(self.graph.nodes), "node")

    def write(self, path: str, *, no_clobber: bool = False) -> list[str]:
        """Write the files, the main one last; return their names, the main one first."""
        stem = os.path.splitext(path)[0]
        paths = {
            path if suffix == self.target.suffix else stem + suffix: content
            for suffix, content in self.files.items()
        }
        for each in paths:
            if os.path.lexists(each) and not os.path.lexists(path):  # the weights of another
                why = f"it exists without `{clean(path)}`, whose weights it would have"
                raise unwritable(each, why, "another name")
        write_files(paths, no_clobber=no_clobber)
        return list(paths)

    def evaluate(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return what the files compute, by our own evaluation."""
        if self.graph is None:
            return _evaluated(self.program, self.target, tensors)
        return _results(self.graph, dict(tensors))[0]


def translated(call: Call, target: TranslationTarget) -> Translation:
    """Translate a bound call; raise UsageError if the target cannot express it."""
    program = lowered(call, target)
    if target.suffix == ".py":
        text = code(program, call, target)
        return Translation(call, target, program, text, {".py": text.encode()})
    from gathercli.translate.graph import IR_OPSETS, ir_graph, onnx_graph, onnx_text

    if target.suffix == ".onnx":
        graph = onnx_graph(program)
        model = onnx_bytes(graph, target.opset)
        text = onnx_text(graph, target.opset)
        return Translation(call, target, program, text, {".onnx": model}, read_onnx(model))
    opsets = {each.op.name: each.op.version for each in target.operators.values()}
    ir = ir_files(ir_graph(program), IR_OPSETS | opsets)
    files = {".xml": ir.xml.encode(), ".bin": ir.weights}
    return Translation(call, target, program, ir.xml, files, read_ir_graph(ir))


def _gathered(op: Op, tensors: Sequence[Tensor], **settings: Any) -> Tensor:
    """Return the output of an operator of the family, with its attributes and policies."""
    call = ops.bind(op, *map(Operand.of, tensors), **settings)
    return run(BoundCall(call, *tensors)).whole()


# Programs


def _evaluated(
    program: Program, target: TranslationTarget, tensors: Mapping[str, Tensor]
) -> Tensor:
    values = {value.number: tensors[name] for name, value in program.inputs.items()}
    for step in program.steps:
        inputs = [values[each.number] for each in step.inputs]
        values[step.output.number] = _step(step, inputs, target)
    return values[program.output.number]


def _step(step: Step, inputs: list[Tensor], target: TranslationTarget) -> Tensor:
    if op := FAMILY_PRIMITIVES.get(step.primitive):
        return _own(target.operators[op.family], op, inputs, step.settings)
    function = PRIMITIVES[step.primitive].array
    if function is None:
        return _gathered(gather_tree.OPENVINO_1, inputs)
    array = function(*(each.array for each in inputs), **step.settings)
    return Tensor(step.output.dtype, np.asarray(array))


def _own(own: OwnOperator, op: Op, inputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Tensor:
    data, indices = inputs
    if indices.dtype not in op.input("indices").dtypes:
        indices = Tensor(INT64, indices.array.astype(np.int64))
    attrs = {key: value for key, value in settings.items() if op.attr(key)}
    # An index that is not legal is an error before it is one outside.
    negative, outside = "wrap" if own.wraps else "error", "zero" if own.fills else "error"
    return _gathered(op, (data, indices), **attrs, negative=negative, out_of_range=outside)


# Graphs


def _results(graph: Graph, values: dict[str, Tensor]) -> list[Tensor]:
    """Return the results of a graph; `values` are its inputs and those of graphs around it."""
    values |= graph.constants
    for node in graph.nodes:
        inputs = [values[name] for name in node.inputs]
        if node.operator == "Scan":
            outputs = _scan(node, inputs, values)
        else:
            outputs = [_GRAPH_OPERATORS[node.operator](node.attributes, *inputs)]
        values |= dict(zip((port.name for port in node.outputs), outputs, strict=True))
    return [values[port.name] for port in graph.outputs]


def _scan(node: GraphNode, inputs: list[Tensor], outer: Mapping[str, Tensor]) -> list[Tensor]:
    """Run Scan-11: states, then inputs that are cut along their first axis."""
    body: Graph = node.attributes["body"]
    count = node.attributes["num_scan_inputs"]
    states, scanned = inputs[:-count], inputs[-count:]
    backward = node.attributes.get("scan_input_directions", (0,) * count)
    names = [port.name for port in body.inputs]
    collected: list[list[Tensor]] = [[] for _ in body.outputs[len(states) :]]
    for step in range(scanned[0].shape[0]):
        parts = [
            Tensor(each.dtype, np.asarray(each.array[-1 - step if back else step]))
            for each, back in zip(scanned, backward, strict=True)
        ]
        fed = dict(zip(names, (*states, *parts), strict=True))
        results = _results(body, {**outer, **fed})
        states = results[: len(states)]
        for each, result in zip(collected, results[len(states) :], strict=True):
            each.append(result)
    reverse = node.attributes.get("scan_output_directions", (0,) * len(collected))
    declared = body.outputs[len(states) :]
    return [*states, *map(_stacked, declared, collected, reverse)]


def _stacked(port: GraphValue, tensors: list[Tensor], back: int) -> Tensor:
    """Return tensors as one, in order or backward."""
    if not tensors:
        sizes = [size or 0 for size in port.shape]
        return Tensor(port.dtype, np.empty((0, *sizes), storage_of(port.dtype)))
    arrays = [each.array for each in tensors]
    return Tensor(port.dtype, np.stack(arrays[::-1] if back else arrays))


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return an operator: its result is boolean, or of the type of the last operand."""

    def apply(_: object, *inputs: Tensor) -> Tensor:
        array = np.asarray(function(*(each.array for each in inputs)))
        return Tensor(BOOL if array.dtype == np.bool_ else inputs[-1].dtype, array)

    return apply


def _cast(attributes: Mapping[str, Any], x: Tensor) -> Tensor:
    dtype = ONNX_TYPES[attributes["to"]] or INT64
    return Tensor(dtype, x.values().astype(storage_of(dtype)))


def _total(_: object, x: Tensor, axes: Tensor) -> Tensor:
    along = tuple(np.atleast_1d(axes.array).tolist())
    return Tensor(INT64, np.asarray(np.sum(x.array, axis=along, dtype=np.int64)))


def _expanded(_: object, x: Tensor, shape: Tensor) -> Tensor:
    sizes = broadcast(x.shape, tuple(shape.array.tolist()))
    return Tensor(x.dtype, np.broadcast_to(x.array, sizes))


def _sliced(_: object, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor) -> Tensor:
    cut = [slice(None)] * len(x.shape)
    for at, start, end in zip(axes.array, starts.array, ends.array, strict=True):
        cut[int(at)] = slice(int(start), int(end))
    return Tensor(x.dtype, x.array[tuple(cut)])


def _strided(attributes: object, x: Tensor, starts: Tensor, ends: Tensor, steps: Tensor) -> Tensor:
    """Cut along every axis; each of our steps is 1."""
    return _sliced(attributes, x, starts, ends, Tensor(INT64, np.arange(len(steps.array))))


def _reshaped(attributes: Mapping[str, Any], x: Tensor, shape: Tensor) -> Tensor:
    """Reshape; a size of 0 stands for that of the input, unless OpenVINO is told otherwise."""
    sizes = shape.array.tolist()
    if "special_zero" not in attributes:
        sizes = [n or x.shape[at] for at, n in enumerate(sizes)]
    return Tensor(x.dtype, x.array.reshape(sizes))


def _transposed(attributes: Mapping[str, Any], x: Tensor, order: Tensor | None = None) -> Tensor:
    axes = attributes["perm"] if order is None else order.array
    return Tensor(x.dtype, x.array.transpose(axes))


def _of_family(operator: str) -> Callable[..., Tensor]:
    """Return an operator of the family, of the opset that a layer of OpenVINO has, or of ONNX."""
    family = next(op.family for op in OPERATORS if op.name == operator)

    def apply(attributes: Mapping[str, Any], *inputs: Tensor) -> Tensor:
        opset = attributes.get("opset")
        op = find(f"openvino-{opset}" if opset else find_target("onnx").name, family).op
        names = ("axis", "batch_dims")
        attrs = {name: int(attributes[name]) for name in names if name in attributes}
        if len(inputs) > len(op.inputs):  # the axis is an input
            attrs["axis"] = int(inputs[-1].array)
        return _gathered(op, inputs[: len(op.inputs)], **attrs)

    return apply


_GRAPH_OPERATORS: Final[dict[str, Callable[..., Tensor]]] = {
    "Add": _arithmetic(np.add),
    **dict.fromkeys(("Mul", "Multiply"), _arithmetic(np.multiply)),
    **dict.fromkeys(("Mod", "FloorMod"), _arithmetic(np.mod)),
    "Minimum": _arithmetic(np.minimum),
    "Maximum": _arithmetic(np.maximum),
    "Less": _arithmetic(np.less),
    **dict.fromkeys(("GreaterOrEqual", "GreaterEqual"), _arithmetic(np.greater_equal)),
    **dict.fromkeys(("Or", "LogicalOr"), _arithmetic(np.logical_or)),
    **dict.fromkeys(("Where", "Select"), _arithmetic(np.where)),
    "CumSum": _arithmetic(lambda x, axis: np.cumsum(x, int(axis))),
    "Equal": lambda _, x, y: Tensor(BOOL, np.asarray(x.values() == y.values())),
    "Cast": _cast,
    "Convert": lambda _, x: Tensor(INT64, x.array.astype(np.int64)),
    "ReduceSum": _total,
    **dict.fromkeys(("Expand", "Broadcast"), _expanded),
    "Concat": lambda attributes, *parts: Tensor(
        parts[0].dtype, np.concatenate([each.array for each in parts], int(attributes["axis"]))
    ),
    "Slice": _sliced,
    "StridedSlice": _strided,
    "Reshape": _reshaped,
    "Unsqueeze": lambda _, x, axes: Tensor(
        x.dtype, np.expand_dims(x.array, tuple(np.atleast_1d(axes.array).tolist()))
    ),
    "Transpose": _transposed,
    **{name: _of_family(name) for name in ("Gather", "GatherElements", "GatherND", "GatherTree")},
}
"""The operators of ONNX, opset 13, and of OpenVINO, opset 8, as far as translations use them.

Where both have one of this name, its attributes and inputs tell which it is.
"""


# The files, read again: the proof runs what was written

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
    outputs = tuple(GraphValue(each, INT64, ()) for each in fields.outputs)
    return GraphNode(fields.operator, tuple(fields.inputs), outputs, attributes, fields.name)


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
    dtype = _IR_TYPES[data["element_type"]]
    shape = tuple(map(int, filter(None, data["shape"].split(","))))
    offset, size = int(data["offset"]), int(data["size"])
    if dtype is STRING:
        return strings_of(weights, shape, offset, size)
    return stored(lambda: weights, dtype, shape, offset, size).tensor()
