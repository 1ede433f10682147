"""The calls of each runtime that compute what a version of an operator does.

A call is an expression of a function, or a model of a single node: ONNX, or an OpenVINO IR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.cli.slice_options import Observation
from gathercli.compute.tensor import Tensor
from gathercli.errors import OperatorError
from gathercli.io.graphs.graph import Graph, GraphNode, GraphValue
from gathercli.io.graphs.ir import IrFiles, ir_files
from gathercli.io.graphs.layers import ELEMENT_TYPES
from gathercli.io.graphs.onnx import onnx_bytes
from gathercli.io.graphs.tensorproto import ONNX_TYPES
from gathercli.spec.call import Operand, as_integer
from gathercli.spec.dtypes import INT64, STRING, DType, Kind
from gathercli.spec.op import Op
from gathercli.spec.shapes import known
from gathercli.text import table_beside

if TYPE_CHECKING:
    from gathercli.cli.slice_options import RuntimeCaller

_NUMBERS: Final = {each: number for number, each in enumerate(ONNX_TYPES) if each is not None}

OWN_NAMES: Final[Mapping[str, Mapping[DType, str | int]]] = {
    "openvino": ELEMENT_TYPES,
    "onnxruntime": _NUMBERS,
    "onnx.reference": _NUMBERS,
}
"""The types that a runtime or its models name, each with its name or number there.

The other runtimes name types as `ml_dtypes` does, and say themselves which ones they have.
"""


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
    shape = _output_shape(op, tensors, attrs)
    output = GraphValue("output", inputs[0].dtype, shape or (), ranked=shape is not None)
    node = GraphNode(op.name, tuple(tensors), (output,), attrs)
    graph = Graph(inputs, (output,), (node,), {})
    return onnx_bytes(graph, max(op.version, OLDEST_OPSET), op.family)


def _output_shape(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
) -> tuple[int, ...] | None:
    """Return the shape of the result; None if the version refuses the call."""
    try:
        call = ops.bind(op, *map(Operand.of, tensors.values()), **dict[str, Any](attrs))
    except OperatorError:
        return None
    return known(call.shape)


def openvino_model(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int], way: str = STATIC
) -> IrFiles:
    """Return an IR in one of `WAYS`; an attribute that is an input becomes a constant."""
    decided = [each.name for each in op.inputs if way == CONSTANT and each.values]
    constants = {name: tensors[name] for name in decided}
    for each in op.attrs:
        if each.is_input:
            constants[each.name] = Tensor(INT64, np.array(attrs[each.name]))
    inputs = tuple(
        GraphValue(name, each.dtype, (None,) * len(each.shape) if way == DYNAMIC else each.shape)
        for name, each in tensors.items()
        if name not in constants
    )
    output = GraphValue("output", tensors[op.inputs[0].name].dtype, (), ranked=False)
    names = (*tensors, *(each.name for each in op.attrs if each.is_input))
    settings = {each.name: attrs[each.name] for each in op.attrs if not each.is_input}
    node = GraphNode(op.name, names, (output,), settings, op.family)
    graph = Graph(inputs, (output,), (node,), constants)
    return ir_files(graph, {op.name: op.version}, op.family)


# The operators whose indices OpenVINO checks when it computes.
_CHECKED_WHEN_COMPUTED: Final = ("gather-elements", "gather-tree")
MODEL_THREADS: Final = 2  # the threads of a model: with more than one, OpenVINO loses no exception
X64: Final = "x64"  # the way of JAX that keeps 64 bits

OPENVINO, ONNX = "openvino", "onnx"
# The runtimes that have operators by version, and the frameworks of these.
FRAMEWORKS: Final = {OPENVINO: (OPENVINO, ONNX), "onnxruntime": (ONNX,), "onnx.reference": (ONNX,)}


class RuntimeCall(NamedTuple):
    """A call in a runtime."""

    runtime: str
    family: str  # the operator
    text: str  # for people: ``torch.index_select(data, 0, indices)``, ``Gather-8 static``
    code: str = ""  # the expression of a function
    op: Op | None = None  # the version that it claims to be; None for a function
    way: str = ""  # how OpenVINO gets the indices; ``x64`` if JAX keeps 64 bits
    masks: bool = False  # whether it takes the indices for a mask, whose refusal is of no rule

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
        if self.op is None:
            return process.call(tensors, code=self.code, x64=self.way == X64)
        threads = 1 if self.way == ONE_THREAD else MODEL_THREADS
        return process.call(tensors, model=self.files(tensors, attrs), threads=threads)


def attributes_of(op: Op, attrs: Mapping[str, int]) -> dict[str, int]:
    """Return the attributes that a version has, from those of a call."""
    return {each.name: attrs.get(each.name, each.default or 0) for each in op.attrs}


def integers(attrs: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the attributes that are set; None if one is no integer."""
    numbers = {name: as_integer(value) for name, value in attrs.items() if value is not None}
    if None in numbers.values():
        return None
    return {name: number for name, number in numbers.items() if number is not None}


def calls(
    runtime: str, ops: Iterable[Op], tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
) -> Iterator[RuntimeCall]:
    """Yield the calls of a runtime that correspond to versions which have the attributes set."""
    ops = [op for op in ops if all(_has(op, *each) for each in attrs.items())]
    if runtime in FRAMEWORKS:
        for op in ops:
            if op.framework in FRAMEWORKS[runtime]:
                yield from _operator_calls(runtime, op)
        return
    for family in dict.fromkeys(op.family for op in ops):
        yield from _function_calls(runtime, family, tensors, attrs)


def _has(op: Op, name: str, value: int) -> bool:
    """Return whether a version has an attribute, or means the same without it."""
    return op.attr(name) is not None or (name == "batch_dims" and value == 0)


def _operator_calls(runtime: str, op: Op) -> Iterator[RuntimeCall]:
    name = f"{op.name}-{op.version}"
    if op.framework == ONNX:
        text = f"{name} of ONNX" if runtime == OPENVINO else name
        yield RuntimeCall(runtime, op.family, text, op=op)
        return
    for way in WAYS:
        if way == ONE_THREAD and op.family not in _CHECKED_WHEN_COMPUTED:
            continue
        yield RuntimeCall(runtime, op.family, f"{name} {way}", op=op, way=way)


@cache
def _functions() -> dict[str, dict[str, list[list[str]]]]:
    """Read the functions by runtime and operator."""
    return table_beside(__name__, "functions")


class _Shapes(NamedTuple):
    """What the choice of functions depends on."""

    data: int  # the rank
    indices: int
    position: int | None  # the axis from the front, if there is such an axis
    has_no_batch: bool
    is_any: bool = True

    @property
    def is_position(self) -> bool:
        return self.has_no_batch and self.position is not None

    @property
    def is_list(self) -> bool:
        return self.has_no_batch and self.indices <= 1

    @property
    def is_table(self) -> bool:
        return self.has_no_batch and self.position == 0 and self.data == 2


_JITTED: Final = "tf.function(lambda data, indices: {}, jit_compile=True)(data, indices)"

_JAX_BITS: Final = 32  # the bits that JAX keeps, unless it is told otherwise


def _function_calls(
    runtime: str, family: str, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]
) -> Iterator[RuntimeCall]:
    data, indices = list(tensors.values())[:2]
    axis, batch_dims, rank = attrs.get("axis", 0), attrs.get("batch_dims", 0), len(data.shape)
    position = axis + rank if axis < 0 else axis
    known = position if 0 <= position < rank else None
    shapes = _Shapes(rank, len(indices.shape), known, not batch_dims)
    before = ":, " * (known or 0)
    for expression, condition, *masks in _functions()[runtime].get(family, ()):
        if not getattr(shapes, condition):
            continue
        code = expression.format(axis=axis, batch_dims=batch_dims, before=before)
        call = RuntimeCall(runtime, family, code, code, masks=indices.dtype.name in masks)
        yield call
        # XLA has no strings, and one without elements breaks later calls.
        if runtime == "tensorflow" and data.dtype is not STRING:
            yield call._replace(text=f"{code}, jitted", code=_JITTED.format(code))
        if runtime == "jax" and _are_cut(data, indices):
            yield call._replace(text=f"{code}, {X64}", way=X64)


def _are_cut(data: Tensor, indices: Tensor) -> bool:
    """Return whether JAX, which keeps 32 bits, has other data or other indices than these."""
    parts = 2 if data.dtype.kind is Kind.COMPLEX else 1
    return data.dtype.bits > parts * _JAX_BITS or bool(
        indices.array.size
        and (int(indices.array.min()) < -(2**31) or int(indices.array.max()) >= 2**31)
    )
