"""Models of a single node, that run one version of an operator: ONNX, or an OpenVINO IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.errors import OperatorError
from gathercli.io.graph import Graph, GraphNode, GraphValue
from gathercli.io.ir.graphs import ir_files
from gathercli.io.onnx.graphs import onnx_bytes
from gathercli.ops import engine
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import known
from gathercli.spec.dtypes import INT64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.io.ir.graphs import IrFiles
    from gathercli.spec.op import Op

OLDEST_OPSET: Final = 7
"""The oldest opset that onnxruntime supports; older versions of an operator are part of it."""

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
CONSTANT: Final = "constant"
ONE_THREAD: Final = "in one thread"
WAYS: Final = (STATIC, DYNAMIC, CONSTANT, ONE_THREAD)
"""How a model gets the indices: with sizes in the model, with unknown ones, or as a constant; or it
has static sizes and runs in one thread, in which the plugin for processors loses exceptions."""


def onnx_model(op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int]) -> bytes:
    """Return an ONNX model, whose inputs are `tensors` and whose result is ``output``.

    Parameters
    ----------
    attrs
        The attributes that the node sets.
    """
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
        call = engine.bind(op, *map(Operand.of, tensors.values()), **dict[str, Any](attrs))
    except OperatorError:
        return None
    return known(engine.infer(call))


def openvino_model(
    op: Op, tensors: Mapping[str, Tensor], attrs: Mapping[str, int], way: str = STATIC
) -> IrFiles:
    """Return an IR; an attribute that is an input becomes a constant.

    Parameters
    ----------
    way
        One of `WAYS`.
    """
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
