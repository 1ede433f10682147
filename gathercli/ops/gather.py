"""Gather: slices of `data` along one axis, picked by `indices`.

Below, in this order: the versions, the shape they infer, the equation of an output cell, the
position that each output cell copies, and what each output dimension walks along.
In formulas p are coordinates before the axis, i those of the indices, s those after the axis, and
k the index value; b is batch_dims, N and M are the ranks of `data` and `indices`.
"""

from __future__ import annotations

from gathercli.spec import op, rules, shapes, type_rules
from gathercli.spec.dtypes import DTYPES, PLAIN

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gathercli.spec.call import Call
    from gathercli.spec.shapes import Position

COMMAND = "gather"
SUMMARY = "Gather slices along an axis"

INDICES = op.Input("indices", op.INTEGERS, values=True, doc="Integers")
AXIS_INPUT = op.AXIS._replace(
    is_input=True,
    source="required by the specification, a scalar or 1-D tensor; gathercli uses 0 without it",
)

OPENVINO_1 = op.Op(
    framework="openvino",
    name="Gather",
    version=1,
    family=COMMAND,
    inputs=(op.Input("data", DTYPES), INDICES),
    attrs=(AXIS_INPUT,),
    index_range=op.IndexRange.UNSIGNED,
    out_of_range=op.OutOfRange.ERROR,
    equation="out[p, i, s] = data[p, indices[i], s]",
    shape="data[:axis] + indices[0:] + data[axis+1:]",
)
OPENVINO_7 = OPENVINO_1._replace(
    version=7,
    attrs=(AXIS_INPUT, op.BATCH_DIMS),
    narrows=True,
    equation="out[p, i, s] = data[p, indices[p[:batch_dims], i], s]",
    shape="data[:axis] + indices[batch_dims:] + data[axis+1:]",
    changes="adds `batch_dims`",
)
OPENVINO_8 = OPENVINO_7._replace(
    version=8,
    index_range=op.IndexRange.SIGNED,
    out_of_range=op.OutOfRange.ZERO,
    changes="negative indices count from the end; any other index gives zeros",
)
ONNX_1 = OPENVINO_1._replace(
    framework="onnx",
    inputs=(op.Input("data", op.BEFORE_BFLOAT16), INDICES._replace(dtypes=op.SIGNED_32_64)),
    attrs=(op.AXIS,),
)
ONNX_11 = ONNX_1._replace(
    version=11, index_range=op.IndexRange.SIGNED, changes="negative indices count from the end"
)
ONNX_13 = ONNX_11._replace(
    version=13,
    inputs=(op.Input("data", PLAIN), INDICES._replace(dtypes=op.SIGNED_32_64)),
    changes="adds bfloat16",
)

ROWS: tuple[op.Op, ...] = (OPENVINO_8, OPENVINO_7, OPENVINO_1, ONNX_13, ONNX_11, ONNX_1)

RULES: tuple[Callable[[Call], None], ...] = (
    *(type_rules.data_dtype, type_rules.indices_dtype, rules.call_rank, rules.data_rank),
    *(rules.axis_required, rules.axis_type, rules.axis_range),
    *(rules.batch_dims_unsupported, rules.batch_dims_range, rules.batch_dims_axis),
    rules.batch_shape,
)


def infer(call: Call) -> shapes.Shape:
    """Concatenate the dimensions of `data` and `indices` around the axis.

    ``data[:axis] + indices[b:] + data[axis+1:]``, of rank N + M - 1 - b; the b batch dimensions are
    the meet of both. An unknown axis leaves only the batch and the rank known.
    """
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or indices.rank is None or call.batch_dims is None:
        return shapes.Shape.of_unknown_rank()
    a, b = call.axis, call.batch_dims
    batch = shapes.meet_all(data[:b], indices[:b])
    if a is None:
        return batch + shapes.Shape([shapes.UNKNOWN] * (data.rank + indices.rank - 1 - 2 * b))
    return batch + data[b:a] + indices[b:] + data[a + 1 :]


def equation(call: Call) -> str:
    """Write the equation with this call's coordinates; the row's own where a rank is unknown.

    ``out[p, i, s] = data[p, indices[p, i], s]`` for one batch dimension, one more of each.
    """
    n, m, a, b = call.data.shape.rank, call.indices.shape.rank, call.axis, call.batch_dims
    if n is None or m is None or a is None or b is None:
        return call.op.equation
    p, i, s = shapes.letters("p", a), shapes.letters("i", m - b), shapes.letters("s", n - 1 - a)
    index = shapes.at("indices", [*p[:b], *i])
    return f"{shapes.at('out', [*p, *i, *s])} = {shapes.at('data', [*p, index, *s])}"


def sources(call: Call, points: Mapping[str, Any], cells: Position) -> Position:
    """Return the flat position in `data` that each output cell copies; -1 where nothing is copied.

    ``out[p, i, s] = data[p, k, s]`` with ``k = indices[p[:b], i]``; all shapes are known. `points`
    has, for each input of indices and by its coordinates, where each points: counted from the
    front, or -1 for none. `cells` are flat positions in the output: one, or an int64 array (C,).
    """
    a, b = call.normalized
    m = len(call.indices.shape) - b
    out = shapes.coordinates(cells, call.shape)
    p, i, s = out[:a], out[a : a + m], out[a + m :]
    k = points["indices"][(*p[:b], *i)] + 0 * cells  # broadcasts one k over cells
    return shapes.flat_positions((*p, k, *s), call.data.shape, none=k < 0)


def indexed_axes(call: Call) -> tuple[op.IndexedAxis, ...]:
    """Return the axis, along which the indices count."""
    a, _ = call.normalized
    return (op.IndexedAxis("indices", call.axis_number or 0, shapes.known(call.data.shape)[a]),)


def as_gather(call: Call) -> op.AxisGather:
    """Return the axis, and for each output dimension those of `data` and `indices` it runs along.

    p[:b] is in both, the rest of p in `data`, i in `indices`, s in `data`.
    """
    a, b = call.normalized
    n, m = len(call.data.shape), len(call.indices.shape)
    return op.AxisGather(
        a,
        (
            *((d, d) for d in range(b)),
            *((d, None) for d in range(b, a)),
            *((None, i) for i in range(b, m)),
            *((d, None) for d in range(a + 1, n)),
        ),
        shapes.known(call.data.shape),
    )
