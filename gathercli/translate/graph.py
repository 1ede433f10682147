"""Graphs of operators by name: what a program becomes before it is written as ONNX or IR.

::

    graph_of(program, dialect)  ->  Graph  ->  bytes  ->  Graph  ->  evaluated

A dialect is a table: for each primitive the operator, its attributes, and further inputs that are
constants. What follows from sizes alone is a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import UsageError
from gathercli.io.graph import Graph, GraphNode, GraphValue
from gathercli.spec.dtypes import INT64
from gathercli.spec.shapes import product
from gathercli.translate.primitives import ARITHMETIC, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.dtypes import DType
    from gathercli.translate.program import Program, ProgramValue, Step

FEW: Final = 1024
"""The most elements of zeros that a graph stores; others are made when it runs."""


class Row(NamedTuple):
    """What a primitive becomes.

    Attributes
    ----------
    operator
        The operator.
    attributes
        Its attributes, from those of the step.
    constants
        Further inputs, from the step.
    takes
        The number of inputs of the step that are inputs of the operator; None for all.
    """

    operator: str
    attributes: Callable[[Step], dict[str, Any]] = lambda _: {}
    constants: Callable[[Step], list[Any]] = lambda _: []
    takes: int | None = None


class GraphBuilder:
    """The nodes and constants of a graph, under names that are used once."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self.constants: dict[str, Tensor] = {}
        self.names: set[str] = {"output"}

    def name(self, wish: str) -> str:
        """Return a name that nothing has yet."""
        name, number = wish, 1
        while name in self.names:
            number += 1
            name = f"{wish}_{number}"
        self.names.add(name)
        return name

    def constant(self, value: Any, wish: str) -> str:
        """Add integers, unless they are there; return their name."""
        tensor = value if isinstance(value, Tensor) else Tensor(INT64, np.array(value, np.int64))
        for name, other in self.constants.items():
            same = (other.dtype, other.shape) == (tensor.dtype, tensor.shape)
            if same and other.array.tobytes() == tensor.array.tobytes():
                return name
        name = self.name(wish)
        self.constants[name] = tensor
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: tuple[str, DType, Sequence[int | None]],
        **attributes: Any,
    ) -> str:
        """Add a node with one result; return its name."""
        port = GraphValue(output[0], output[1], tuple(output[2]))
        self.nodes.append(GraphNode(operator, tuple(inputs), (port,), attributes, output[0]))
        return output[0]


def graph_of(
    program: Program,
    rows: Mapping[str, Row],
    special: Mapping[str, Callable[[GraphBuilder, Step, list[str]], str]],
) -> Graph:
    """Return the graph of a program.

    Parameters
    ----------
    rows
        The operator of each primitive.
    special
        For others a function that adds their nodes and returns the name of the result.
    """
    builder = GraphBuilder()
    names = {value.number: builder.name(name) for name, value in program.inputs.items()}
    folded: dict[int, AnyArray] = {}
    for step in program.steps:
        number = step.output.number
        value = _folded(step, folded)
        if value is not None:
            folded[number] = value
            continue
        inputs = [
            names[each.number]
            if each.number in names
            else builder.constant(
                _tensor(each, folded[each.number]), each.name or _role(folded[each.number])
            )
            for each in step.inputs[: _taken(rows, step)]
        ]
        if step.primitive in special:
            names[number] = special[step.primitive](builder, step, inputs)
            continue
        row = rows[step.primitive]
        inputs += [builder.constant(each, _role(each)) for each in row.constants(step)]
        last = step.output == program.output
        output = "output" if last else builder.name(_wish(step))
        attributes = row.attributes(step)
        names[number] = builder.node(
            row.operator, inputs, (output, step.output.dtype, step.output.shape), **attributes
        )
    return _with_any_size(program, builder, names)


def zeros_from(operator: str, **attributes: Any) -> Callable[[GraphBuilder, Step, list[str]], str]:
    """Return a function that adds zeros of a shape, which an operator makes of a single one."""

    def add(builder: GraphBuilder, step: Step, inputs: list[str]) -> str:
        del inputs  # of which only the shape counts
        dtype, shape = step.output.dtype, step.output.shape
        zero = builder.constant(Tensor(dtype, np.zeros((), storage_of(dtype))), "zero")
        sizes = builder.constant(list(shape), "numbers")
        output = builder.name(step.output.name or "zeros"), dtype, shape
        return builder.node(operator, [zero, sizes], output, **attributes)

    return add


def _wish(step: Step) -> str:
    """Return the name of the result of a step that is not the last one."""
    name = step.output.name
    return "gathered" if name == "output" else name or step.primitive


def _role(value: Any) -> str:
    """Return a name for a constant."""
    if np.ndim(value) == 0:
        return _NUMBERS.get(int(value), "number")
    return "last" if np.array_equal(value, [-1]) else "numbers"


_NUMBERS: Final = {-1: "last", 0: "zero", 1: "one"}


def _taken(rows: Mapping[str, Row], step: Step) -> int | None:
    row = rows.get(step.primitive)
    return row.takes if row else None


def _tensor(value: ProgramValue, array: AnyArray) -> Tensor:
    return Tensor(value.dtype, array)


def _folded(step: Step, folded: Mapping[int, AnyArray]) -> AnyArray | None:
    """Return the result of a step that follows from sizes alone; None if it does not."""
    if step.primitive in ("size", "sizes", "strides", "constant"):
        shape = step.inputs[0].shape if step.inputs else ()
        return sized(step.primitive, shape, step.settings)
    if step.primitive in ("zeros", "no_tuples") and product(step.output.shape) <= FEW:
        return np.zeros(step.output.shape, storage_of(step.output.dtype))
    if step.primitive in ARITHMETIC and all(each.number in folded for each in step.inputs):
        return ARITHMETIC[step.primitive](*(folded[each.number] for each in step.inputs))
    return None


def _with_any_size(program: Program, builder: GraphBuilder, names: Mapping[int, str]) -> Graph:
    """Return the graph; of unknown sizes if no step depends on one.

    The length of tuples is part of the call.
    """
    inputs = [
        GraphValue(names[value.number], value.dtype, value.shape)
        for value in program.inputs.values()
    ]
    last = program.output
    output = GraphValue("output", last.dtype, last.shape)
    nodes = builder.nodes
    if program.fits_all_sizes:
        tuples = [step.inputs[1] for step in program.steps if step.primitive == "gather_nd"]
        kept = {each.number for each in tuples}
        inputs = [
            _open(port, keeps_last=value.number in kept)
            for port, value in zip(inputs, program.inputs.values(), strict=True)
        ]
        output = _open(output)
        nodes = [
            each._replace(outputs=tuple(_open(port) for port in each.outputs)) for each in nodes
        ]
    return Graph(tuple(inputs), (output,), tuple(nodes), builder.constants)


def _open(port: GraphValue, *, keeps_last: bool = False) -> GraphValue:
    sizes = [None for _ in port.shape]
    if keeps_last:
        return port._replace(shape=(*sizes[:-1], port.shape[-1]))
    return port._replace(shape=tuple(sizes))


def reshape_sizes(step: Step) -> list[int]:
    """Return the sizes for a Reshape that copies a dimension where a size is 0.

    Raises
    ------
    UsageError
        It cannot express them.
    """
    before, sizes = step.inputs[0].shape, list(step.output.shape)
    wrong = [at for at, size in enumerate(sizes) if not size and (before[at : at + 1] != (0,))]
    if wrong and (len(wrong) > 1 or any(not size for size in sizes[: wrong[0]])):
        raise _no_reshape(before, sizes)
    if wrong:
        others = [size for at, size in enumerate(sizes) if at != wrong[0]]
        if not product(others):
            raise _no_reshape(before, sizes)
        sizes[wrong[0]] = -1
    return sizes


def _no_reshape(before: Sequence[int], after: Sequence[int]) -> UsageError:
    return UsageError(
        f"Reshape-13 of ONNX cannot turn the empty {list(before)} into {list(after)}",
        rule="usage",
        expected="a tensor with elements, or another target",
        hint="`--to openvino-8` can",
    )
