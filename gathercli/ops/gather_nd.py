"""GatherND: slices of `data` at the places that tuples of indices name.

Below, in this order: the versions, the shape they infer, the equation of an output cell, the
position that each output cell copies, and the same as a gather along one axis.
In formulas p are batch coordinates, i the other coordinates of the tuples, t a tuple of length k,
s the coordinates of a slice; b is batch_dims, N and M are the ranks of `data` and `indices`.
"""

from __future__ import annotations

from gathercli.spec import op, rules, type_rules
from gathercli.spec.dtypes import DTYPES, INT64, PLAIN
from gathercli.spec.shapes import (
    Shape,
    at,
    coordinates,
    flat_positions,
    known,
    letters,
    meet_all,
    multiply,
    product,
)

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gathercli.spec.call import Call
    from gathercli.spec.shapes import Position

COMMAND = "gather-nd"
SUMMARY = "Gather slices at tuples of indices"

INDICES = op.Input(
    "indices",
    op.INTEGERS,
    values=True,
    doc="Integers; the last dimension holds the tuples",
    rank="rank 1 or more, tuples in the last dimension",
)

OPENVINO_5 = op.Op(
    framework="openvino",
    name="GatherND",
    version=5,
    family=COMMAND,
    inputs=(op.Input("data", DTYPES), INDICES),
    attrs=(op.BATCH_DIMS,),
    index_range=op.IndexRange.UNSIGNED,
    out_of_range=op.OutOfRange.ERROR,
    narrows=True,
    equation="out[q, i, s] = data[p, t, s], t = indices[p, i, :], q = p as one coordinate",
    shape="[product(indices[:b])] + indices[b:-1] + data[b+k:], k = indices[-1]",
    tuples=True,
    flattens_batch=True,
)
OPENVINO_8 = OPENVINO_5._replace(
    version=8,
    index_range=op.IndexRange.SIGNED,
    equation="out[p, i, s] = data[p, t, s], t = indices[p, i, :]",
    shape="indices[:-1] + data[b+k:], k = indices[-1]",
    changes="the batch dimensions stay apart; negative indices count from the end",
    flattens_batch=False,
)
ONNX_11 = OPENVINO_8._replace(
    framework="onnx",
    version=11,
    inputs=(op.Input("data", op.BEFORE_BFLOAT16), INDICES._replace(dtypes=(INT64,))),
    attrs=(),
    narrows=False,
    equation="out[i, s] = data[t, s], t = indices[i, :]",
    shape="indices[:-1] + data[k:], k = indices[-1]",
    changes="the first version",
    shortest_tuple=1,
)
ONNX_12 = ONNX_11._replace(
    version=12,
    attrs=(op.BATCH_DIMS,),
    equation=OPENVINO_8.equation,
    shape=OPENVINO_8.shape,
    changes="adds `batch_dims`",
)
ONNX_13 = ONNX_12._replace(
    version=13,
    inputs=(op.Input("data", PLAIN), INDICES._replace(dtypes=(INT64,))),
    changes="adds bfloat16",
)

ROWS: tuple[op.Op, ...] = (OPENVINO_8, OPENVINO_5, ONNX_13, ONNX_12, ONNX_11)

RULES: tuple[Callable[[Call], None], ...] = (
    *(type_rules.data_dtype, type_rules.indices_dtype),
    *(rules.call_rank, rules.data_rank, rules.indices_rank, rules.axis_unsupported),
    *(rules.batch_dims_unsupported, rules.batch_dims_range),
    *(rules.indices_depth, rules.batch_shape),
)


def infer(call: Call) -> Shape:
    """Concatenate the dimensions of the tuples and of the slice that each picks.

    ``indices[:-1] + data[b+k:]``, of rank N + M - k - b - 1; version 5 of OpenVINO multiplies the
    batch dimensions into one. Unknown if a rank or k is.

    >>> from gathercli import infer_shape
    >>> str(infer_shape("gather-nd", "[2,3,4,5]", "[2,3,1]", batch_dims=2, version="openvino-5"))
    '[6,5]'
    """
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or not indices.rank or not isinstance(indices[-1], int):
        return Shape.of_unknown_rank()
    b, k = call.batch_dims or 0, indices[-1]
    batch = meet_all(data[:b], indices[:b]) if call.op.narrows else indices[:b]
    if call.op.flattens_batch and b > 1:
        batch = Shape([multiply(batch)])
    return batch + indices[b:-1] + data[b + k :]


def equation(call: Call) -> str:
    """Write the equation with this call's coordinates; the row's own where a shape is unknown.

    ``out[i, s] = data[indices[i, 0], indices[i, 1], s]`` for tuples of two.
    """
    n, shape = call.data.shape.rank, call.indices.shape
    if n is None or not shape.rank or not isinstance(shape[-1], int):
        return call.op.equation
    b, k = call.batch_dims or 0, shape[-1]
    p, i, s = letters("p", b), letters("i", len(shape) - 1 - b), letters("s", n - b - k)
    components = [at("indices", [*p, *i, str(j)]) for j in range(k)]
    batch = [_flat(p, known(shape[1:b]))] if call.op.flattens_batch and b > 1 else p
    return f"{at('out', [*batch, *i, *s])} = {at('data', [*p, *components, *s])}"


def _flat(coordinates: list[str], sizes: tuple[int, ...]) -> str:
    """Write coordinates as one, row-major; `sizes` are those of all dimensions but the first."""
    text = coordinates[0]
    for letter, size in zip(coordinates[1:], sizes, strict=True):
        text = f"{f'({text})' if '+' in text else text}*{size} + {letter}"
    return text


def sources(call: Call, points: Mapping[str, Any], cells: Position) -> Position:
    """Return the flat position in `data` that each output cell copies.

    ``out[p, i, s] = data[p, t, s]`` with ``t = indices[p, i, :]``, whose position is counted
    row-major over the axes that it replaces; other arguments and the result as for Gather.
    """
    b, lead = call.batch_dims or 0, known(call.indices.shape[:-1])
    view = call.gather.view if call.gather else ()
    out = coordinates(cells, (*lead, *view[b + 1 :]))
    t = points["indices"][out[: len(lead)]] + 0 * cells  # broadcasts one tuple over cells
    return flat_positions((*out[:b], t, *out[len(lead) :]), view, none=t < 0)


def indexed_axes(call: Call) -> tuple[op.IndexedAxis, ...]:
    """Return the axis that each component of the tuples counts along: b, b + 1, ..."""
    b, k = call.batch_dims or 0, known(call.indices.shape)[-1]
    sizes = known(call.data.shape)[b : b + k]
    return tuple(op.IndexedAxis("indices", b + j, size, j) for j, size in enumerate(sizes))


def as_gather(call: Call) -> op.AxisGather:
    """Return the call as a gather along axis b of a view in which the k indexed axes are one.

    p is in both, i in `indices`, s in `data`.
    """
    data, indices = known(call.data.shape), known(call.indices.shape)
    b, k = call.batch_dims or 0, indices[-1]
    view = (*data[:b], product(data[b : b + k]), *data[b + k :])
    return op.AxisGather(
        b,
        (
            *((d, d) for d in range(b)),
            *((None, i) for i in range(b, len(indices) - 1)),
            *((d, None) for d in range(b + 1, len(view))),
        ),
        view,
    )
