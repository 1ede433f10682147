"""GatherElements: one element of `data` for every element of `indices`.

Below, in this order: the versions, the shape they infer, the equation of an output cell, the
position that each output cell copies, and what each output dimension walks along.
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

COMMAND = "gather-elements"
SUMMARY = "Gather single elements"

INDICES = op.Input("indices", op.SIGNED_32_64, values=True, doc="Integers")

OPENVINO_6 = op.Op(
    framework="openvino",
    name="GatherElements",
    version=6,
    family=COMMAND,
    inputs=(op.Input("data", DTYPES), INDICES),
    attrs=(op.AXIS._replace(default=None, source="Required: yes"),),
    index_range=op.IndexRange.UNSIGNED,
    out_of_range=op.OutOfRange.ERROR,
    elementwise=True,
    off_axis=op.OffAxis.EQUAL,
    narrows=True,
    equation="out[c] = data[c with c[axis] := indices[c]]",
    shape="indices[0:]",
)
ONNX_11 = OPENVINO_6._replace(
    framework="onnx",
    version=11,
    inputs=(op.Input("data", op.BEFORE_BFLOAT16), INDICES),
    attrs=(op.AXIS,),
    index_range=op.IndexRange.SIGNED,
    off_axis=op.OffAxis.AT_MOST,
    narrows=False,
)
ONNX_13 = ONNX_11._replace(
    version=13, inputs=(op.Input("data", PLAIN), INDICES), changes="adds bfloat16"
)

ROWS: tuple[op.Op, ...] = (OPENVINO_6, ONNX_13, ONNX_11)

RULES: tuple[Callable[[Call], None], ...] = (
    *(type_rules.data_dtype, type_rules.indices_dtype),
    *(rules.call_rank, rules.data_rank, rules.indices_rank),
    *(rules.axis_required, rules.axis_type, rules.axis_range),
    *(rules.batch_dims_unsupported, rules.batch_dims_range, rules.batch_dims_axis),
    *(rules.batch_shape, rules.elements_shape),
)


def infer(call: Call) -> shapes.Shape:
    """Return the shape of `indices`, narrowed by `data` where the version's text says equal.

    >>> from gathercli import infer_shape
    >>> str(infer_shape("gather-elements", "[?,2..4]", "[?,3..6]", axis=0, version="openvino-6"))
    '[?,3..4]'
    """
    data, indices = call.data.shape, call.indices.shape
    if not call.op.narrows or data.rank is None:
        return indices
    a, _ = call.normalized
    if indices.rank is None:
        return data[:a] + shapes.Shape([shapes.UNKNOWN]) + data[a + 1 :]
    before = shapes.meet_all(data[:a], indices[:a])
    after = shapes.meet_all(data[a + 1 :], indices[a + 1 :])
    return before + indices[a : a + 1] + after


def equation(call: Call) -> str:
    """Write the equation with this call's coordinates.

    ``out[i, j] = data[indices[i, j], j]`` for axis 0 of two.
    """
    if call.rank is None or call.axis is None:
        return call.op.equation
    c = list("ijklmn"[: call.rank]) if call.rank <= 6 else shapes.letters("c", call.rank)
    picked = [*c[: call.axis], shapes.at("indices", c), *c[call.axis + 1 :]]
    return f"{shapes.at('out', c)} = {shapes.at('data', picked)}"


def sources(call: Call, points: Mapping[str, Any], cells: Position) -> Position:
    """Return the flat position in `data` that each output cell copies.

    ``out[c] = data[c with c[axis] := indices[c]]``; arguments and result as for Gather.
    """
    a, _ = call.normalized
    c = shapes.coordinates(cells, call.indices.shape)
    k = points["indices"][c]
    return shapes.flat_positions((*c[:a], k, *c[a + 1 :]), call.data.shape, none=k < 0)


def indexed_axes(call: Call) -> tuple[op.IndexedAxis, ...]:
    """Return the axis, along which the indices count."""
    a, _ = call.normalized
    return (op.IndexedAxis("indices", call.axis_number or 0, shapes.known(call.data.shape)[a]),)


def as_gather(call: Call) -> op.AxisGather:
    """Return the axis, and for each output dimension those of `data` and `indices` it runs along.

    Each is in both, but the one along the axis, which the index replaces in `data`.
    """
    a, _ = call.normalized
    dims = range(len(call.indices.shape))
    dim_map = tuple((None if c == a else c, c) for c in dims)
    return op.AxisGather(a, dim_map, shapes.known(call.data.shape))
