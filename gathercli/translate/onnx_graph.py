"""ONNX: a program as a graph of opset 13, and as text in the syntax of the `onnx` package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.io.graph import Graph, GraphNode, GraphValue
from gathercli.io.onnx.graphs import IR_VERSION, symbols
from gathercli.io.onnx.tensorproto import TYPES
from gathercli.spec.dtypes import BOOL, INT64, Kind
from gathercli.translate.graph import (
    GraphBuilder,
    Row,
    graph_of,
    reshape_sizes,
    zeros_from,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.spec.dtypes import DType
    from gathercli.translate.program import Program, Step

OPSET: Final = 13


def _narrowed(step: Step) -> list[Any]:
    """Return the starts, the ends and the axes of a Slice."""
    axes = [at for at in range(len(step.output.shape)) if at != step.settings["axis"]]
    return [[0] * len(axes), [step.output.shape[at] for at in axes], axes]


ROWS: Final = {
    "cast": Row("Cast", lambda _: {"to": TYPES.index(INT64)}),
    "add": Row("Add"),
    "multiply": Row("Mul"),
    "modulo": Row("Mod"),
    "less": Row("Less"),
    "at_least": Row("GreaterOrEqual"),
    "either": Row("Or"),
    "where": Row("Where"),
    "total": Row("ReduceSum", lambda _: {"keepdims": 0}, lambda _: [[-1]]),
    "concat": Row("Concat", lambda step: {"axis": step.settings["axis"]}),
    "narrow": Row("Slice", constants=_narrowed, takes=1),
    "merge": Row("Reshape", constants=lambda step: [reshape_sizes(step)]),
    "unsqueeze": Row("Unsqueeze", constants=lambda _: [[-1]]),
    "transpose": Row("Transpose", lambda step: {"perm": step.settings["order"]}),
    "gather": Row("Gather", lambda step: {"axis": step.settings["axis"]}),
    "gather_elements": Row("GatherElements", lambda step: {"axis": step.settings["axis"]}),
    "gather_nd": Row("GatherND", lambda step: {"batch_dims": step.settings["batch_dims"]}),
}


def _beams(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
    """Add a search of beams: a Scan from the last step to the first, then the ends of sequences.

    The state of the Scan is the beam that each sequence follows; before its last step it is its
    own. A token that equals the end, or is behind one that does, becomes the end.
    """
    steps, parents, lengths, end = inputs
    dtype, (t, b, w) = step.output.dtype, step.output.shape
    add, wide = builder.node, {"to": TYPES.index(INT64)}
    cells = (INT64, (b, w))
    long = lengths
    if dtype is not INT64:
        long = add("Cast", [lengths], (builder.name("long"), INT64, (b,)), **wide)
    column = add(
        "Unsqueeze",
        [long, builder.constant([1], "numbers")],
        (builder.name("column"), INT64, (b, 1)),
    )
    times = builder.constant(range(t), "times")
    own = builder.constant(np.broadcast_to(np.arange(w), (b, w)), "own")
    zero, width = builder.constant(0, "zero"), builder.constant(w, "width")
    body = GraphBuilder()
    body.names |= builder.names
    one = body.node
    active = one("Less", ["time", column], ("active", BOOL, (b, 1)))
    token = one("GatherElements", ["ids", "beam"], ("token", dtype, (b, w)), axis=1)
    one("Where", [active, token, end], ("tokens", dtype, (b, w)))
    parent = one("GatherElements", ["parents", "beam"], ("parent", dtype, (b, w)), axis=1)
    if dtype is not INT64:
        parent = one("Cast", [parent], ("whole", *cells), **wide)
    negative = one("Less", [parent, zero], ("negative", BOOL, (b, w)))
    legal = one("Where", [negative, width, parent], ("legal", *cells))
    one("Where", [active, legal, "beam"], ("next", *cells))
    scan = Graph(
        (
            GraphValue("beam", *cells),
            GraphValue("time", INT64, ()),
            GraphValue("ids", dtype, (b, w)),
            GraphValue("parents", dtype, (b, w)),
        ),
        (GraphValue("next", *cells), GraphValue("tokens", dtype, (b, w))),
        tuple(body.nodes),
        {},
    )
    traced = builder.name("traced")
    builder.nodes.append(
        GraphNode(
            "Scan",
            (own, times, steps, parents),
            (GraphValue(builder.name("first"), *cells), GraphValue(traced, dtype, (t, b, w))),
            {
                "num_scan_inputs": 3,
                "scan_input_directions": (1, 1, 1),
                "scan_output_directions": (1,),
                "body": scan,
            },
            "first",
        )
    )
    equal = add("Equal", [traced, end], (builder.name("equal"), BOOL, (t, b, w)))
    ones = add("Cast", [equal], (builder.name("ones"), INT64, (t, b, w)), **wide)
    counted = add("CumSum", [ones, zero], (builder.name("count"), INT64, (t, b, w)))
    ended = add("Less", [zero, counted], (builder.name("ended"), BOOL, (t, b, w)))
    return add("Where", [ended, end, traced], ("output", dtype, (t, b, w)))


def _minimum(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
    """Add the lesser of two values; Min of onnxruntime compares some large ones wrongly."""
    dtype, shape = step.output.dtype, step.output.shape
    less = builder.node("Less", inputs, (builder.name("less"), BOOL, shape))
    output = builder.name(step.output.name or "minimum"), dtype, shape
    return builder.node("Where", [less, *inputs], output)


def _maximum(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
    """Add the greater of two values; Max of onnxruntime takes 2^32 - 1 for less than 0."""
    dtype, shape = step.output.dtype, step.output.shape
    less = builder.node("Less", inputs, (builder.name("less"), BOOL, shape))
    output = builder.name(step.output.name or "maximum"), dtype, shape
    return builder.node("Where", [less, *reversed(inputs)], output)


_EXPANDED: Final = zeros_from("Expand")
SPECIAL: Final = {
    "minimum": _minimum,
    "maximum": _maximum,
    "zeros": _EXPANDED,
    "no_tuples": _EXPANDED,
    "gather_tree": _beams,
}


def onnx_graph(program: Program) -> Graph:
    """Return the graph of a program."""
    return graph_of(program, ROWS, SPECIAL)


# Text

_TEXT_TYPES: Final = {"float32": "float", "float64": "double"}
"""The types whose names in the text of ONNX are not ours."""


def onnx_text(graph: Graph) -> str:
    """Return a model in the syntax that `onnx.parser.parse_model` reads."""
    head = f'<\n  ir_version: {IR_VERSION},\n  opset_import: ["" : {OPSET}]\n>\n'
    return head + "".join(f"{line}\n" for line in _lines(graph, "gather"))


def _lines(graph: Graph, name: str) -> Iterator[str]:
    inputs, outputs = (", ".join(map(_declaration, each)) for each in (graph.inputs, graph.outputs))
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
    outputs = ", ".join(port.name for port in node.outputs)
    settings = ", ".join(
        f"{name} = {list(value) if isinstance(value, tuple) else value}"
        for name, value in node.attributes.items()
        if not isinstance(value, Graph)
    )
    head = f"  {outputs} = {node.operator}" + (f" <{settings}>" if settings else "")
    bodies = [(name, each) for name, each in node.attributes.items() if isinstance(each, Graph)]
    if not bodies:
        yield f"{head} ({', '.join(node.inputs)})"
        return
    rest = f"{settings}, " if settings else ""
    (name, body), *_ = bodies
    first, *lines = _lines(body, name)
    yield f"  {outputs} = {node.operator} <{rest}{name} = {first}"
    yield from (f"    {line}" for line in lines[:-1])
    yield f"    }}> ({', '.join(node.inputs)})"


def _declaration(port: GraphValue) -> str:
    return f"{_type(port.dtype, symbols(port))} {port.name}"


def _type(dtype: DType, sizes: Sequence[int | str]) -> str:
    name = _TEXT_TYPES.get(dtype.name, dtype.name)
    return f"{name}[{','.join(map(str, sizes))}]" if sizes else name


def _elements(tensor: Tensor) -> str:
    values = tensor.values().reshape(-1).tolist()
    if tensor.dtype.kind is Kind.BOOL:
        values = list(map(int, values))
    words = (json.dumps(each) if isinstance(each, str) else str(each) for each in values)
    return "{" + ", ".join(words) + "}"
