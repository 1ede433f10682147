"""Programs as graphs of ONNX, opset 13, and of OpenVINO, opset 8.

::

    onnx_graph(program), ir_graph(program)  ->  Graph  ->  bytes  ->  Graph  ->  evaluated

A table has for each primitive the operator, its attributes, and further inputs that are constants.
What follows from sizes alone is a constant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import UsageError
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue
from gathercli.io.graphs.onnx import IR_VERSION, symbols
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.spec.dtypes import BOOL, INT64, DType, Kind
from gathercli.spec.shapes import product
from gathercli.translate.program import FROM_SIZES, PRIMITIVES, Program, Step, unused

# The most elements of zeros that a graph stores; others are made when it runs.
MOST_STORED_ZEROS: Final = 1024
_NUMBER_NAMES: Final = {-1: "last", 0: "zero", 1: "one"}  # the names of constants


class GraphRow(NamedTuple):
    """What a primitive becomes."""

    operator: str
    attributes: Callable[[Step], dict[str, Any]] = lambda _: {}
    constants: Callable[[Step], list[Any]] = lambda _: []  # further inputs
    takes: int | None = None  # how many inputs of the step the operator has; None for all


class GraphBuilder:
    """The nodes and constants of a graph, under names that are used once."""

    def __init__(self, names: Iterable[str] = ("output",)) -> None:
        self.nodes: list[GraphNode] = []
        self.constants: dict[str, Tensor] = {}
        self.names = set(names)

    def name(self, wish: str) -> str:
        """Return a name that nothing has yet."""
        return unused(wish, self.names)

    def constant(self, value: Any, wish: str = "") -> str:
        """Add a tensor, or integers, unless they are there; return their name."""
        tensor = value if isinstance(value, Tensor) else Tensor(INT64, np.array(value, np.int64))
        for name, other in self.constants.items():
            same = (other.dtype, other.shape) == (tensor.dtype, tensor.shape)
            if same and other.array.tobytes() == tensor.array.tobytes():
                return name
        name = self.name(wish or _role(tensor.array))
        self.constants[name] = tensor
        return name

    def add(
        self,
        operator: str,
        inputs: Sequence[str],
        wish: str,
        dtype: DType,
        shape: Sequence[int | None],
        **attributes: Any,
    ) -> str:
        """Add a node with one result; return its name, which is `wish` if nothing has it yet."""
        name = wish if wish == "output" else self.name(wish)
        port = GraphValue(name, dtype, tuple(shape))
        self.nodes.append(GraphNode(operator, tuple(inputs), (port,), attributes, name))
        return name


def _role(array: AnyArray) -> str:
    """Return a name for a constant."""
    if array.ndim == 0:
        return _NUMBER_NAMES.get(int(array), "number")
    return "last" if np.array_equal(array, [-1]) else "numbers"


def _graph(
    program: Program,
    rows: Mapping[str, GraphRow],
    special: Mapping[str, Callable[[GraphBuilder, Step, list[str]], str]],
) -> Graph:
    """Return the graph of a program.

    A primitive without a row has a `special` function, which adds its nodes and returns the name
    of the result.
    """
    builder = GraphBuilder()
    names = {value.number: builder.name(name) for name, value in program.inputs.items()}
    constants: dict[int, AnyArray] = {}
    for step in program.steps:
        number, output = step.output.number, step.output
        value = _constant(step, constants)
        if value is not None:
            constants[number] = value
            continue
        row = rows.get(step.primitive)
        inputs = [
            names[each.number]
            if each.number in names
            else builder.constant(Tensor(each.dtype, constants[each.number]), each.name)
            for each in step.inputs[: row and row.takes]
        ]
        if row is None:
            names[number] = special[step.primitive](builder, step, inputs)
            continue
        inputs += map(builder.constant, row.constants(step))
        wish = "output" if output == program.output else _wish(step)
        attributes = row.attributes(step)
        names[number] = builder.add(
            row.operator, inputs, wish, output.dtype, output.shape, **attributes
        )
    return _with_any_size(program, builder, names)


def _wish(step: Step) -> str:
    name = step.output.name
    return "gathered" if name == "output" else name or step.primitive


def _constant(step: Step, constants: Mapping[int, AnyArray]) -> AnyArray | None:
    """Return the result of a step that follows from sizes alone; None if it does not."""
    function = PRIMITIVES[step.primitive].array
    if step.primitive in FROM_SIZES and product(step.output.shape) <= MOST_STORED_ZEROS:
        arrays = [
            np.broadcast_to(np.zeros((), storage_of(each.dtype)), each.shape)
            for each in step.inputs
        ]
    elif all(each.number in constants for each in step.inputs):
        arrays = [constants[each.number] for each in step.inputs]
    else:
        return None
    return None if function is None else function(*arrays, **step.settings)


def _with_any_size(program: Program, builder: GraphBuilder, names: Mapping[int, str]) -> Graph:
    """Return the graph; of unknown sizes if no step depends on one.

    The length of tuples is part of the call.
    """

    def opened(port: GraphValue, kept: int = 0) -> GraphValue:
        """Return a value without its sizes, but for the last `kept`."""
        if not program.fits_all_sizes:
            return port
        first = len(port.shape) - kept
        return port._replace(shape=(*([None] * first), *port.shape[first:]))

    tuples = {step.inputs[1].number for step in program.steps if step.primitive == "gather_nd"}
    inputs = (
        opened(GraphValue(names[each.number], each.dtype, each.shape), int(each.number in tuples))
        for each in program.inputs.values()
    )
    output = opened(GraphValue("output", program.output.dtype, program.output.shape))
    nodes = (
        each._replace(outputs=tuple(opened(port) for port in each.outputs))
        for each in builder.nodes
    )
    return Graph(tuple(inputs), (output,), tuple(nodes), builder.constants)


def _set(*names: str) -> Callable[[Step], dict[str, Any]]:
    """Return a function that gives attributes the values of the settings of these names."""
    return lambda step: {name: step.settings[name] for name in names}


def _zeros(operator: str, **attributes: Any) -> Callable[[GraphBuilder, Step, list[str]], str]:
    """Return a function that adds zeros of a shape, which an operator makes of a single one."""

    def add(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
        del inputs  # of which only the shape counts
        dtype, shape = step.output.dtype, step.output.shape
        zero = builder.constant(Tensor(dtype, np.zeros((), storage_of(dtype))), "zero")
        sizes = builder.constant(list(shape), "numbers")
        wish = step.output.name or "zeros"
        return builder.add(operator, [zero, sizes], wish, dtype, shape, **attributes)

    return add


# ONNX


def onnx_graph(program: Program) -> Graph:
    """Return a program as a graph of ONNX; raise UsageError for what Reshape cannot express."""
    return _graph(program, ONNX_ROWS, ONNX_SPECIAL)


def _slice(step: Step) -> list[Any]:
    axes = [at for at in range(len(step.output.shape)) if at != step.settings["axis"]]
    return [[0] * len(axes), [step.output.shape[at] for at in axes], axes]


def _reshape_sizes(step: Step) -> list[int]:
    """Return the sizes for a Reshape that copies a dimension where a size is 0."""
    before, sizes = step.inputs[0].shape, list(step.output.shape)
    zeros = (at for at, size in enumerate(sizes) if not size and before[at : at + 1] != (0,))
    at = next(zeros, None)
    if at is not None:
        # A single 0 that is not copied may be what is left beside the others.
        if not product([*sizes[:at], *sizes[at + 1 :]]):
            what = f"Reshape-13 of ONNX cannot turn the empty {list(before)} into {sizes}"
            expected = "a tensor with elements, or another target"
            raise UsageError(what, expected=expected, hint="`--to openvino-8` can")
        sizes[at] = -1
    return sizes


ONNX_ROWS: Final = {
    "cast": GraphRow("Cast", lambda _: {"to": ONNX_TYPES.index(INT64)}),
    "add": GraphRow("Add"),
    "multiply": GraphRow("Mul"),
    "modulo": GraphRow("Mod"),
    "less": GraphRow("Less"),
    "at_least": GraphRow("GreaterOrEqual"),
    "either": GraphRow("Or"),
    "where": GraphRow("Where"),
    "total": GraphRow("ReduceSum", lambda _: {"keepdims": 0}, lambda _: [[-1]]),
    "concat": GraphRow("Concat", _set("axis")),
    "narrow": GraphRow("Slice", constants=_slice, takes=1),
    "merge": GraphRow("Reshape", constants=lambda step: [_reshape_sizes(step)]),
    "unsqueeze": GraphRow("Unsqueeze", constants=lambda _: [[-1]]),
    "transpose": GraphRow("Transpose", lambda step: {"perm": step.settings["order"]}),
    "gather": GraphRow("Gather", _set("axis")),
    "gather_elements": GraphRow("GatherElements", _set("axis")),
    "gather_nd": GraphRow("GatherND", _set("batch_dims")),
}


def _extreme(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
    """Add the lesser or the greater of two values by a comparison.

    Min of onnxruntime compares some large ones wrongly, and Max takes 2^32 - 1 for less than 0.
    """
    shape = step.output.shape
    less = builder.add("Less", inputs, "less", BOOL, shape)
    choices = inputs if step.primitive == "minimum" else inputs[::-1]
    wish = step.output.name or step.primitive
    return builder.add("Where", [less, *choices], wish, step.output.dtype, shape)


def _beams(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
    """Add a search of beams: a Scan from the last step to the first, then the ends of sequences.

    The state of the Scan is the beam that each sequence follows; before its last step it is its
    own. A token that equals the end, or is behind one that does, becomes the end.
    """
    steps, parents, lengths, end = inputs
    dtype, (t, b, w) = step.output.dtype, step.output.shape
    add, wide, cells = builder.add, {"to": ONNX_TYPES.index(INT64)}, (b, w)
    long = lengths if dtype is INT64 else add("Cast", [lengths], "long", INT64, (b,), **wide)
    column_axis = builder.constant([1], "numbers")
    column = add("Unsqueeze", [long, column_axis], "column", INT64, (b, 1))
    times = builder.constant(range(t), "times")
    own = builder.constant(np.broadcast_to(np.arange(w), cells), "own")
    zero, width = builder.constant(0, "zero"), builder.constant(w, "width")
    body = _beam_step(GraphBuilder(builder.names), [column, zero, width, end], dtype, cells)
    first = GraphValue(builder.name("first"), INT64, cells)
    traced = GraphValue(builder.name("traced"), dtype, (t, b, w))
    attributes = {
        "num_scan_inputs": 3,
        "scan_input_directions": (1, 1, 1),
        "scan_output_directions": (1,),
        "body": body,
    }
    scan = GraphNode("Scan", (own, times, steps, parents), (first, traced), attributes, "first")
    builder.nodes.append(scan)
    equal = add("Equal", [traced.name, end], "equal", BOOL, (t, b, w))
    ones = add("Cast", [equal], "ones", INT64, (t, b, w), **wide)
    counts = add("CumSum", [ones, zero], "count", INT64, (t, b, w))
    ended = add("Less", [zero, counts], "ended", BOOL, (t, b, w))
    return add("Where", [ended, end, traced.name], "output", dtype, (t, b, w))


def _beam_step(
    builder: GraphBuilder, outer: Sequence[str], dtype: DType, cells: tuple[int, int]
) -> Graph:
    """Return the body of the Scan; `outer` names the lengths, 0, the width and the end token.

    An illegal parent, below 0, becomes the width, which GatherElements refuses in the next step.
    """
    (column, zero, width, end), add = outer, builder.add
    active = add("Less", ["time", column], "active", BOOL, (cells[0], 1))
    token = add("GatherElements", ["ids", "beam"], "token", dtype, cells, axis=1)
    tokens = add("Where", [active, token, end], "tokens", dtype, cells)
    parent = add("GatherElements", ["parents", "beam"], "parent", dtype, cells, axis=1)
    if dtype is not INT64:
        parent = add("Cast", [parent], "whole", INT64, cells, to=ONNX_TYPES.index(INT64))
    negative = add("Less", [parent, zero], "negative", BOOL, cells)
    legal = add("Where", [negative, width, parent], "legal", INT64, cells)
    following = add("Where", [active, legal, "beam"], "next", INT64, cells)
    inputs = (
        GraphValue("beam", INT64, cells),
        GraphValue("time", INT64, ()),
        GraphValue("ids", dtype, cells),
        GraphValue("parents", dtype, cells),
    )
    outputs = GraphValue(following, INT64, cells), GraphValue(tokens, dtype, cells)
    return Graph(inputs, outputs, tuple(builder.nodes), {})


ONNX_SPECIAL: Final = {
    "minimum": _extreme,
    "maximum": _extreme,
    "zeros": _zeros("Expand"),
    "no_tuples": _zeros("Expand"),
    "gather_tree": _beams,
}

# The types whose names in the text of ONNX are not ours.
_TEXT_TYPES: Final = {"float32": "float", "float64": "double"}


def onnx_text(graph: Graph, opset: int) -> str:
    """Return a model in the syntax that `onnx.parser.parse_model` reads."""
    head = f'<\n  ir_version: {IR_VERSION},\n  opset_import: ["" : {opset}]\n>\n'
    return head + "".join(f"{line}\n" for line in _lines(graph, "gather"))


def _lines(graph: Graph, name: str) -> Iterator[str]:
    inputs, outputs = (
        ", ".join(f"{_type(port.dtype, symbols(port))} {port.name}" for port in ports)
        for ports in (graph.inputs, graph.outputs)
    )
    yield f"{name} ({inputs}) => ({outputs})"
    constants = [
        f"{_type(t.dtype, t.shape)} {k} = {_elements(t)}" for k, t in graph.constants.items()
    ]
    if constants:
        yield "<" + ",\n ".join(constants) + ">"
    yield "{"
    for each in graph.nodes:
        yield from _node_lines(each)
    yield "}"


def _node_lines(node: GraphNode) -> Iterator[str]:
    """Yield the lines of a node, more than one if it has a body."""
    settings = [
        f"{name} = {list(value) if isinstance(value, tuple) else value}"
        for name, value in node.attributes.items()
        if not isinstance(value, Graph)
    ]
    body: list[str] = []
    for name, value in node.attributes.items():
        if isinstance(value, Graph):
            first, *body = _lines(value, name)
            settings.append(f"{name} = {first}")
    outputs = ", ".join(port.name for port in node.outputs)
    head = f"  {outputs} = {node.operator}" + (f" <{', '.join(settings)}" if settings else "")
    tail = f"{'>' if settings else ''} ({', '.join(node.inputs)})"
    if not body:
        yield head + tail
        return
    yield head
    yield from (f"    {line}" for line in body[:-1])
    yield f"    {body[-1]}{tail}"


def _type(dtype: DType, sizes: Sequence[int | str]) -> str:
    name = _TEXT_TYPES.get(dtype.name, dtype.name)
    return f"{name}[{','.join(map(str, sizes))}]" if sizes else name


def _elements(tensor: Tensor) -> str:
    values = tensor.values().reshape(-1).tolist()
    if tensor.dtype.kind is Kind.BOOL:
        values = list(map(int, values))
    words = (json.dumps(each) if isinstance(each, str) else str(each) for each in values)
    return "{" + ", ".join(words) + "}"


# OpenVINO


def ir_graph(program: Program) -> Graph:
    """Return a program as a graph of OpenVINO."""
    return _graph(program, IR_ROWS, IR_SPECIAL)


def _element(operator: str) -> GraphRow:
    return GraphRow(operator, lambda _: {"auto_broadcast": "numpy"})


def _masks(step: Step) -> dict[str, str]:
    none = ",".join("0" for _ in step.output.shape)
    masks = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    return dict.fromkeys(masks, none)


def _strided_slice(step: Step) -> list[Any]:
    rank = len(step.output.shape)
    return [[0] * rank, list(step.output.shape), [1] * rank]


IR_ROWS: Final = {
    "cast": GraphRow("Convert", lambda _: {"destination_type": "i64"}),
    "add": _element("Add"),
    "multiply": _element("Multiply"),
    "modulo": _element("FloorMod"),
    "minimum": _element("Minimum"),
    "maximum": _element("Maximum"),
    "less": _element("Less"),
    "at_least": _element("GreaterEqual"),
    "either": _element("LogicalOr"),
    "where": _element("Select"),
    "total": GraphRow("ReduceSum", lambda _: {"keep_dims": "false"}, lambda _: [-1]),
    "concat": GraphRow("Concat", _set("axis")),
    # No Slice, which a plugin removes before a GatherElements, and then refuses the sizes.
    "narrow": GraphRow("StridedSlice", _masks, _strided_slice, takes=1),
    "merge": GraphRow(
        "Reshape", lambda _: {"special_zero": "false"}, lambda step: [list(step.output.shape)]
    ),
    "unsqueeze": GraphRow("Unsqueeze", constants=lambda _: [-1]),
    "transpose": GraphRow("Transpose", constants=lambda step: [list(step.settings["order"])]),
    "gather": GraphRow("Gather", _set("batch_dims"), lambda step: [step.settings["axis"]]),
    "gather_elements": GraphRow("GatherElements", _set("axis")),
    "gather_nd": GraphRow("GatherND", _set("batch_dims")),
    "gather_tree": GraphRow("GatherTree"),
}

IR_SPECIAL: Final = dict.fromkeys(("zeros", "no_tuples"), _zeros("Broadcast", mode="numpy"))

# The opsets of other operators than gathers whose first version is not taken.
IR_OPSETS: Final = {"Broadcast": 3}
