"""The calls of each runtime that compute what a version of an operator does.

A call is an expression of a function, or a model of a single node: ONNX, or an OpenVINO IR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.cli.slice_options import Observation
from gathercli.compute.tensor import Tensor
from gathercli.errors import OperatorError
from gathercli.frameworks import FrameworkFile, FrameworkRow, every_framework
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue
from gathercli.io.graphs.ir import IrFiles, ir_files
from gathercli.io.graphs.onnx import onnx_bytes
from gathercli.ops import FAMILIES
from gathercli.runtimes.declared import ONNX, runtimes
from gathercli.spec.call import Call, Operand, as_integer
from gathercli.spec.dtypes import INT64
from gathercli.spec.op import Op
from gathercli.spec.rules import call_rank
from gathercli.spec.shapes import known

if TYPE_CHECKING:
    from gathercli.cli.slice_options import RuntimeCaller

# The oldest opset that onnxruntime supports; older versions of an operator are part of it.
OLDEST_OPSET: Final = 7

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
CONSTANT: Final = "constant"
ONE_THREAD: Final = "in one thread"
WAYS: Final = (STATIC, DYNAMIC, CONSTANT, ONE_THREAD)
"""How a model gets the indices: with sizes in the model, with unknown ones, or as a constant; or it
has static sizes and runs in one thread, in which the plugin for processors loses exceptions."""


def onnx_model(op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]) -> bytes:
    """Return an ONNX model, whose inputs are `tensors` and whose result is ``output``."""
    inputs = tuple(GraphValue(name, each.dtype, each.shape) for name, each in tensors.items())
    shape = None  # of a call that the version refuses
    with suppress(OperatorError):
        call = ops.bind(op, *map(Operand.of, tensors.values()), **dict[str, Any](attrs))
        shape = known(call.shape)
    output = GraphValue("output", inputs[0].dtype, shape or (), ranked=shape is not None)
    node = GraphNode(op.name, tuple(tensors), (output,), attrs)
    graph = Graph(inputs, (output,), (node,), {})
    return onnx_bytes(graph, max(op.version, OLDEST_OPSET), op.family)


def openvino_model(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int], way: str = STATIC
) -> IrFiles:
    """Return an IR in one of `WAYS`; an attribute that is an input becomes a constant."""
    decided = [each.name for each in op.inputs if way == CONSTANT and each.values]
    constants = {name: tensors[name] for name in decided}
    for each in op.attrs:
        if each.is_input:
            constants[each.name] = Tensor(INT64, np.array(attrs.get(each.name, 0)))
    inputs = tuple(
        GraphValue(name, each.dtype, (None,) * len(each.shape) if way == DYNAMIC else each.shape)
        for name, each in tensors.items()
        if name not in constants
    )
    output = GraphValue("output", tensors[op.inputs[0].name].dtype, (), ranked=False)
    names = (*tensors, *(each.name for each in op.attrs if each.is_input))
    settings = {name: value for name, value in attrs.items() if name not in constants}
    node = GraphNode(op.name, names, (output,), settings, op.family)
    graph = Graph(inputs, (output,), (node,), constants)
    return ir_files(graph, {op.name: op.version}, op.family)


# The operators whose indices OpenVINO checks when it computes.
_CHECKED_WHEN_COMPUTED: Final = ("gather-elements", "gather-tree")
MODEL_THREADS: Final = 2  # the threads of a model: with more than one, OpenVINO loses no exception


class RuntimeCall(NamedTuple):
    """A call in a runtime."""

    runtime: str
    text: str  # for people: ``torch.index_select(data, 0, indices)``, ``Gather-8 static``
    row: Op  # what it claims to be: the version of a model, or an operator of a framework
    code: str = ""  # the expression of a function
    functions: str = ""  # that the expression calls
    way: str = ""  # how OpenVINO gets the indices, or another way of a framework
    masks: bool = False  # whether it takes the indices for a mask, whose refusal is of no rule

    @property
    def op(self) -> Op | None:
        """The version of its model; None for a function."""
        return None if self.code else self.row

    @property
    def is_wide(self) -> bool:
        """Whether 64 bits are kept."""
        return bool(self.code) and not (self.row.adapts and self.row.adapts.narrow)

    def files(self, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]) -> dict[str, bytes]:
        """Return the files of the model of a version, by name; the first one is the model."""
        if self.op is None:
            return {}
        attrs = attributes_of(self.op, attrs)
        if self.op.framework == ONNX:
            return {"model.onnx": onnx_model(self.op, tensors, attrs)}
        model = openvino_model(self.op, tensors, attrs, self.way)
        return {"model.xml": model.xml.encode(), "model.bin": model.weights}

    def run(
        self, process: RuntimeCaller, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
    ) -> Observation:
        """Make the call in a process of its runtime."""
        if self.code:
            files = {"functions.py": self.functions.encode()} if self.functions else None
            return process.call(tensors, code=self.code, model=files, x64=self.is_wide)
        threads = 1 if self.way == ONE_THREAD else MODEL_THREADS
        return process.call(tensors, model=self.files(tensors, attrs), threads=threads)


def attributes_of(op: Op, attrs: Mapping[str, int]) -> dict[str, int]:
    """Return the attributes that a row has, from those of a call, where 0 is the default."""
    return {each.name: attrs.get(each.name, 0) for each in op.attrs}


def integers(attrs: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the attributes that are set; None if one is no integer."""
    numbers = {name: as_integer(value) for name, value in attrs.items() if value is not None}
    if None in numbers.values():
        return None
    return {name: number for name, number in numbers.items() if number is not None}


def calls(
    runtime: str, ops: Iterable[Op], tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
) -> Iterator[RuntimeCall]:
    """Yield the calls of a runtime that correspond to rows which have the attributes set."""
    ops = [op for op in ops if all(_has(op, *each) for each in attrs.items())]
    models = runtimes()[runtime].models
    for op in ops:
        if op.framework in models and not op.text:
            yield from _operator_calls(runtime, op, is_own=op.framework == models[0])
    families = dict.fromkeys(op.family for op in ops)
    for each in every_framework():
        if each.runtime == runtime:
            rows = (row for family in families for row in each.of(family))
            yield from _function_calls(each, rows, list(tensors.values()), attrs)


def _has(op: Op, name: str, value: int) -> bool:
    """Return whether a row has an attribute, or means the same without it."""
    return op.attr(name) is not None or (name == "batch_dims" and value == 0)


def _operator_calls(runtime: str, op: Op, *, is_own: bool) -> Iterator[RuntimeCall]:
    name = f"{op.name}-{op.version}"
    if op.framework == ONNX:
        yield RuntimeCall(runtime, name if is_own else f"{name} of ONNX", op)
        return
    for way in WAYS:
        if way != ONE_THREAD or op.family in _CHECKED_WHEN_COMPUTED:
            yield RuntimeCall(runtime, f"{name} {way}", op, way=way)


def _function_calls(
    framework: FrameworkFile,
    rows: Iterable[FrameworkRow],
    tensors: Sequence[Tensor],
    attrs: Mapping[str, int],
) -> Iterator[RuntimeCall]:
    """Yield the calls of the rows that take such ranks and attributes, in each of their ways."""
    data, indices, *_ = tensors
    for row in rows:
        words = _words(row, tensors, attrs)
        if words is None:
            continue
        for each in (row, *(way for way in framework.ways if way.op.name == row.op.name)):
            is_made = each is row or _may_differ(each, row, data, indices)
            # Another way may not take all types of data that the row takes.
            lost = {*row.op.inputs[0].dtypes} - {*each.op.inputs[0].dtypes}
            if is_made and data.dtype not in lost:
                code = " ".join(each.code.format(**words).split())
                text = row.name if "\n" in row.code else row.code.format(**words)
                yield RuntimeCall(
                    framework.runtime,
                    ", ".join(filter(None, (text, each.way))),
                    each.op,
                    code,
                    framework.functions,
                    each.way,
                    masks=indices.dtype.name in row.masks,
                )


def _words(
    row: FrameworkRow, tensors: Sequence[Tensor], attrs: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return what the code of a row is filled with; None if it is no such call."""
    op, own = row.op._replace(full=""), attributes_of(row.op, attrs)
    inputs = {
        each.name: Operand.of(tensor) for each, tensor in zip(op.inputs, tensors, strict=False)
    }
    call = Call(op, FAMILIES[op.family], inputs, own)
    has_place = call.axis is not None and 0 <= call.axis < len(tensors[0].shape)
    needs_place = "{before}" in row.code or "{position}" in row.code
    if not row.code or not all(_has(op, *each) for each in attrs.items()):
        return None
    try:
        call_rank(call)
    except OperatorError:
        return None
    if needs_place and "axis" in own and not has_place:
        return None
    place = call.axis or 0 if has_place else 0
    return {"axis": 0, "batch_dims": 0, **own, "position": place, "before": ":, " * place}


def _may_differ(way: FrameworkRow, row: FrameworkRow, data: Tensor, indices: Tensor) -> bool:
    """Return whether another way has other code, or keeps bits that the row cuts."""
    if way.code != row.code or row.op.adapts is None:
        return True
    bits, array = row.op.adapts.index_bits, indices.array
    ends = [int(array.min()), int(array.max())] if indices.dtype.integral and array.size else []
    is_beyond = any(not -(2 ** (bits - 1)) <= each < 2 ** (bits - 1) for each in ends)
    return data.dtype in row.op.adapts.narrow or is_beyond
