"""GatherTree: the token sequences of a beam search, each beam followed back from its last step.

Below, in this order: the version, the shape it infers, the equation of an output cell, and
the position that each output cell copies.
In formulas t is a step of T, b a batch of B, w a beam of W.
"""

from __future__ import annotations

from gathercli.spec import rules, type_rules
from gathercli.spec.dtypes import DTYPES, Kind
from gathercli.spec.op import IndexedAxis, IndexRange, Input, Op, OutOfRange
from gathercli.spec.shapes import Shape, coordinates, flat_positions, known, meet_all, product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gathercli.spec.call import Call
    from gathercli.spec.shapes import Position

COMMAND = "gather-tree"
SUMMARY = "Follow the beams of a beam search back"

NUMBERS = tuple(d for d in DTYPES if d.kind in (Kind.INT, Kind.UINT, Kind.FLOAT))

OPENVINO_1 = Op(
    framework="openvino",
    name="GatherTree",
    version=1,
    family=COMMAND,
    inputs=(
        Input("step_ids", NUMBERS, rank="[T,B,W]"),
        Input(
            "parent_ids",
            NUMBERS,
            values=True,
            follows=True,
            doc="The beam of the step before that each continues, of the same shape and type",
            rank="[T,B,W]",
        ),
        Input("max_seq_len", NUMBERS, doc="The number of steps of each batch", rank="[B]"),
        Input(
            "end_token", NUMBERS, copied=True, doc="The token that ends a sequence, 0-D", rank="[]"
        ),
    ),
    attrs=(),
    index_range=IndexRange.UNSIGNED,
    out_of_range=OutOfRange.ERROR,
    elementwise=True,
    narrows=True,
    equation="out[t, b, w] = step_ids[t, b, beam(t)], beam(t-1) = parent_ids[t, b, beam(t)]",
    shape="step_ids[0:]",
    one_type=True,
)

ROWS: tuple[Op, ...] = (OPENVINO_1,)

RULES: tuple[Callable[[Call], None], ...] = (
    type_rules.tree_dtype,
    rules.axis_unsupported,
    rules.batch_dims_unsupported,
    rules.tree_shape,
)


def infer(call: Call) -> Shape:
    """Return the meet of `step_ids` and `parent_ids`, whose batch is that of `max_seq_len` too."""
    steps, parents, lengths, _ = (each.shape for each in call.inputs.values())
    if steps.rank is None or parents.rank is None:
        shape = parents if steps.rank is None else steps
    else:
        shape = meet_all(steps, parents)
    if shape.rank is None or lengths.rank is None:
        return shape
    return shape[:1] + meet_all(shape[1:2], lengths) + shape[2:]


def equation(call: Call) -> str:
    """Return the row's own, which has no coordinates of the call."""
    return call.op.equation


def sources(call: Call, points: Mapping[str, Any], cells: Position) -> Position:
    """Return the flat position in `step_ids`, and `end_token` after it, that each cell copies.

    ``out[t, b, w] = step_ids[t, b, beam]`` with ``beam = points["parent_ids"][t, b, w]``, the beam
    that is followed there: -1 copies `end_token`, -2 nothing. Other arguments and the result are
    as for Gather.
    """
    shape = known(call.shape)
    t, b, w = coordinates(cells, shape)
    beam = points["parent_ids"][t, b, w]
    ended = beam == -1
    return flat_positions((t, b, beam), shape, none=beam < 0) + ended * (product(shape) + 1)


def indexed_axes(call: Call) -> tuple[IndexedAxis, ...]:
    """Return the axis of beams, along which the parents count."""
    return (IndexedAxis("parent_ids", 2, known(infer(call))[2]),)


def as_gather(call: Call) -> None:
    """Return None: each beam depends on the one after it."""
    del call
