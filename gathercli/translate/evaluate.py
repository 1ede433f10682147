"""What a program, or a graph that was read, computes: by our own operators, and NumPy.

Every node of a graph is run as its specification says. An error of an operator is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.array_run import run
from gathercli.compute.bound import BoundCall
from gathercli.compute.cells import broadcast
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import OutOfRangeError
from gathercli.io.onnx.tensorproto import TYPES
from gathercli.ops import OPERATORS, engine, find, gather, gather_elements, gather_nd, gather_tree
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import BOOL, INT64
from gathercli.spec.shapes import product
from gathercli.translate.primitives import ARITHMETIC, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.io.graph import Graph, GraphNode, GraphValue
    from gathercli.spec.op import Op
    from gathercli.translate.program import Program, Step
    from gathercli.translate.targets import OwnOperator, TranslationTarget

    _Operator = Callable[[GraphNode, list[Tensor]], Any]


def gathered(
    op: Op,
    tensors: Sequence[Tensor],
    attrs: Mapping[str, Any],
    *,
    negative: str = "spec",
    out_of_range: str = "spec",
) -> Tensor:
    """Return the output of an operator of the family."""
    call = engine.bind(
        op, *map(Operand.of, tensors), negative=negative, out_of_range=out_of_range, **attrs
    )
    return run(BoundCall(call, *tensors)).whole()


# Programs


def evaluated(program: Program, target: TranslationTarget, tensors: Mapping[str, Tensor]) -> Tensor:
    """Return what a program computes for tensors of any sizes."""
    values = {value.number: tensors[name] for name, value in program.inputs.items()}
    for step in program.steps:
        inputs = [values[each.number] for each in step.inputs]
        values[step.output.number] = _step(step, inputs, target)
    return values[program.output.number]


def _step(step: Step, inputs: list[Tensor], target: TranslationTarget) -> Tensor:
    if step.primitive in ARITHMETIC:
        array = ARITHMETIC[step.primitive](*(each.array for each in inputs))
        return Tensor(step.output.dtype, np.asarray(array))
    if step.primitive in _GATHERS:
        field, op = _GATHERS[step.primitive]
        return _own(getattr(target, field), op, inputs, step.settings)
    if step.primitive == "gather_tree":
        return gathered(gather_tree.OPENVINO_1, inputs, {})
    if step.primitive in ("size", "sizes", "strides", "constant"):
        shape = inputs[0].shape if inputs else ()
        return Tensor(INT64, sized(step.primitive, shape, step.settings))
    array = _ARRAYS[step.primitive](*(each.array for each in inputs), **step.settings)
    return Tensor(step.output.dtype, array)


_GATHERS: Final = {
    "gather": ("gather", gather.OPENVINO_8),
    "gather_elements": ("elements", gather_elements.ONNX_13),
    "gather_nd": ("tuples", gather_nd.OPENVINO_8),
}
"""The operators of targets, and versions that have their attributes."""


def _own(own: OwnOperator, op: Op, inputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Tensor:
    data, indices = inputs
    if indices.dtype not in op.input("indices").dtypes:
        indices = Tensor(INT64, indices.array.astype(np.int64))
    attrs = {key: value for key, value in settings.items() if op.attr(key)}
    # An index that is not legal is an error before it is one outside.
    negative = own.negative.value
    return gathered(op, (data, indices), attrs, negative=negative, out_of_range=own.outside.value)


def _check(k: AnyArray, sizes: AnyArray | None = None, *, signed: bool) -> AnyArray:
    wide = k.astype(object)  # integers of Python, of any size
    outside = wide < (-sizes if signed and sizes is not None else 0)
    if sizes is not None:
        outside |= wide >= sizes
    if np.any(outside):
        raise OutOfRangeError("an index is outside the axis", rule="index-range")
    return k


def _zeros(x: AnyArray, axis: int) -> AnyArray:
    return np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)


def _narrow(x: AnyArray, y: AnyArray, axis: int) -> AnyArray:
    return x[tuple(slice(None if at == axis else n) for at, n in enumerate(y.shape))]


def _widen(x: AnyArray, start: int, stop: int) -> AnyArray:
    sizes = [max(1, size) for size in x.shape[start:stop]]
    if 0 not in x.shape[start:stop]:
        return x
    return np.zeros((*x.shape[:start], *sizes, *x.shape[stop:]), x.dtype)


def _merge(x: AnyArray, start: int, stop: int) -> AnyArray:
    return x.reshape(*x.shape[:start], product(x.shape[start:stop]), *x.shape[stop:])


_ARRAYS: Final[dict[str, Callable[..., Any]]] = {
    "zeros": _zeros,
    "no_tuples": lambda x, start: np.zeros(x.shape[start:-1], np.int64),
    "concat": lambda x, y, axis: np.concatenate([x, y], axis),
    "narrow": _narrow,
    "widen": _widen,
    "merge": _merge,
    "unsqueeze": lambda x: x[..., None],
    "transpose": lambda x, order: x.transpose(order),
    "check": _check,
}


# Graphs


def evaluated_graph(
    graph: Graph,
    operators: Mapping[str, _Operator],
    tensors: Mapping[str, Tensor],
) -> Tensor:
    """Return what the first result of a graph is; `operators` are those of its framework."""
    return results_of(graph, operators, dict(tensors))[0]


def results_of(
    graph: Graph, operators: Mapping[str, _Operator], values: dict[str, Tensor]
) -> list[Tensor]:
    """Return the results of a graph; `values` are its inputs and those of graphs around it."""
    values |= graph.constants
    for node in graph.nodes:
        inputs = [values[name] for name in node.inputs]
        if node.operator == "Scan":
            outputs = _scan(node, inputs, operators, values)
        else:
            result = operators[node.operator](node, inputs)
            outputs = [result if isinstance(result, Tensor) else _integers(result)]
        values |= dict(zip((port.name for port in node.outputs), outputs, strict=True))
    return [values[port.name] for port in graph.outputs]


def _integers(array: Any) -> Tensor:
    array = np.asarray(array)
    return Tensor(BOOL if array.dtype == np.bool_ else INT64, array)


def _scan(
    node: GraphNode,
    inputs: list[Tensor],
    operators: Mapping[str, _Operator],
    outer: Mapping[str, Tensor],
) -> list[Tensor]:
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
        results = results_of(body, operators, {**outer, **fed})
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


def _arithmetic(primitive: str) -> _Operator:
    def apply(node: GraphNode, inputs: Sequence[Tensor]) -> Any:
        del node
        function = ARITHMETIC[primitive]
        return _like(inputs[-1], function(*(each.array for each in inputs)))

    return apply


def _like(tensor: Tensor, array: Any) -> Tensor:
    """Return the result of arithmetic: boolean, or of the type of the last operand."""
    array = np.asarray(array)
    return Tensor(BOOL if array.dtype == np.bool_ else tensor.dtype, array)


def _reshaped(x: Tensor, shape: Tensor, *, copies: bool) -> Tensor:
    sizes = shape.array.tolist()
    if copies:
        sizes = [n or x.shape[at] for at, n in enumerate(sizes)]
    return Tensor(x.dtype, x.array.reshape(sizes))


def _moved(x: Tensor, array: AnyArray) -> Tensor:
    return Tensor(x.dtype, array)


def _sliced(x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None) -> Tensor:
    cut = [slice(None)] * len(x.shape)
    places = range(len(x.shape)) if axes is None else axes.array
    for at, start, end in zip(places, starts.array, ends.array, strict=True):
        cut[int(at)] = slice(int(start), int(end))
    return Tensor(x.dtype, x.array[tuple(cut)])


def _expanded(x: Tensor, shape: Tensor) -> Tensor:
    sizes = broadcast(x.shape, tuple(shape.array.tolist()))
    return Tensor(x.dtype, np.broadcast_to(x.array, sizes))


def _onnx_family(node: GraphNode, inputs: Sequence[Tensor]) -> Tensor:
    op = _version(node.operator, "onnx-13")
    return gathered(op, inputs, node.attributes)


def _ir_family(node: GraphNode, inputs: Sequence[Tensor]) -> Tensor:
    op = _version(node.operator, f"openvino-{node.attributes['opset']}")
    attrs = {
        name: int(node.attributes[name])
        for name in ("axis", "batch_dims")
        if name in node.attributes
    }
    if len(inputs) > len(op.inputs):
        attrs["axis"] = int(inputs[-1].array)
    return gathered(op, inputs[: len(op.inputs)], attrs)


def _version(operator: str, version: str) -> Op:
    family = next(op.family for op in OPERATORS if op.name == operator)
    return find(version, family)[0]


def _cast(node: GraphNode, inputs: Sequence[Tensor]) -> Tensor:
    dtype = TYPES[node.attributes["to"]] or INT64
    return Tensor(dtype, inputs[0].values().astype(storage_of(dtype)))


def _total(inputs: Sequence[Tensor]) -> Any:
    x, axes = inputs
    return np.sum(x.array, axis=tuple(np.atleast_1d(axes.array).tolist()), dtype=np.int64)


ONNX: Final[dict[str, _Operator]] = {
    "Add": _arithmetic("add"),
    "Mul": _arithmetic("multiply"),
    "Mod": _arithmetic("modulo"),
    "Min": _arithmetic("minimum"),
    "Max": _arithmetic("maximum"),
    "Less": _arithmetic("less"),
    "GreaterOrEqual": _arithmetic("at_least"),
    "Or": _arithmetic("either"),
    "Where": _arithmetic("where"),
    "Equal": lambda _, x: _integers(x[0].values() == x[1].values()),
    "CumSum": lambda _, x: np.cumsum(x[0].array, int(x[1].array)),
    "Cast": _cast,
    "ReduceSum": lambda _, x: _total(x),
    "Expand": lambda _, x: _expanded(*x),
    "Concat": lambda n, x: _moved(x[0], np.concatenate([t.array for t in x], n.attributes["axis"])),
    "Slice": lambda _, x: _sliced(*x),
    "Reshape": lambda _, x: _reshaped(*x, copies=True),
    "Unsqueeze": lambda _, x: _moved(x[0], np.expand_dims(x[0].array, tuple(x[1].array.tolist()))),
    "Transpose": lambda n, x: _moved(x[0], x[0].array.transpose(n.attributes["perm"])),
    "Gather": _onnx_family,
    "GatherElements": _onnx_family,
    "GatherND": _onnx_family,
}
"""The operators of ONNX, opset 13, as far as translations use them."""

OPENVINO: Final[dict[str, _Operator]] = {
    "Add": _arithmetic("add"),
    "Multiply": _arithmetic("multiply"),
    "FloorMod": _arithmetic("modulo"),
    "Minimum": _arithmetic("minimum"),
    "Maximum": _arithmetic("maximum"),
    "Less": _arithmetic("less"),
    "GreaterEqual": _arithmetic("at_least"),
    "LogicalOr": _arithmetic("either"),
    "Select": _arithmetic("where"),
    "Convert": lambda _, x: Tensor(INT64, x[0].array.astype(np.int64)),
    "ReduceSum": lambda _, x: _total(x),
    "Broadcast": lambda _, x: _expanded(*x),
    "Concat": lambda n, x: _moved(
        x[0], np.concatenate([t.array for t in x], int(n.attributes["axis"]))
    ),
    "StridedSlice": lambda _, x: _sliced(*x[:3]),
    "Reshape": lambda _, x: _reshaped(*x, copies=False),
    "Unsqueeze": lambda _, x: _moved(x[0], np.expand_dims(x[0].array, int(x[1].array))),
    "Transpose": lambda _, x: _moved(x[0], x[0].array.transpose(x[1].array)),
    "Gather": _ir_family,
    "GatherElements": _ir_family,
    "GatherND": _ir_family,
    "GatherTree": _ir_family,
}
"""The operations of OpenVINO, opset 8, as far as translations use them."""
