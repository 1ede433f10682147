"""The fate of index values in each version of a family, for the slider of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute import check
from gathercli.compute.verdicts import fate
from gathercli.errors import OperatorError
from gathercli.explain.panel import TARGETS
from gathercli.explain.provenance import Fate
from gathercli.ops import engine, indexed_inputs
from gathercli.spec.op import FROM_THE_END, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gathercli.explain.provenance import Provenance
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis, Op

MOST_TABLE_AXIS: Final = 64
"""The largest axis of which every index value is in the table."""

_EDGE: Final = 2
"""The values on each side of -s, 0 and s-1 for a larger axis."""


class IndexSpan(NamedTuple):
    """The index values k from the span before up to `last`, and what becomes of each.

    Attributes
    ----------
    last
        The greatest; None for no limit.
    rule, value
        ``plus`` for the position k + value, ``modulo`` for k modulo value, and ``is`` for the
        position, or a word, that is the value: ``none``, ``refused``, or nothing.
    why
        The reason; nothing if the version refuses.
    """

    last: int | None
    rule: str
    value: int | str
    why: str


class IndexFates(NamedTuple):
    """The fates of index values on one axis.

    Attributes
    ----------
    input
        The name of the input of the index values.
    axis, size
        The dimension of the first input, counted from the front, and its size s.
    component
        The component of the tuples that counts along it; None if every index does.
    values
        Index values from -s-2 to s+1, and those drawn; ascending.
    versions
        For each version what becomes of every integer, ascending; of a version that refuses the
        call one span without a position, with its rule.
    """

    input: str
    axis: int
    size: int
    component: int | None
    values: list[int]
    versions: dict[str, list[IndexSpan]]


def index_fates(lesson: Provenance[Any], drawn: Collection[Sequence[int]]) -> list[IndexFates]:
    """Return the fates of index values on each axis that indices count along.

    Parameters
    ----------
    drawn
        Indices whose numbers are further values.
    """
    call = lesson.call
    rank = len(call.data.shape.sizes or ())
    tables = []
    for n, along in enumerate(_axes(call)):
        values = sorted({*_values(along.size), *(numbers[n] for numbers in drawn)})
        versions = {op.full_name: _spans(op, call, n) for op in call.family.ROWS}
        axis = along.axis % rank
        tables.append(IndexFates(along.input, axis, along.size, along.component, values, versions))
    return tables


def _axes(call: Call) -> list[IndexedAxis]:
    return [along for axes in indexed_inputs(call).values() for along in axes]


def _values(size: int) -> Iterable[int]:
    """Return every value from -s-2 to s+1, or those at the ends and around 0."""
    if size <= MOST_TABLE_AXIS:
        return range(-size - 2, size + 2)
    middles = (-size, 0, size - 1)
    return [middle + step for middle in middles for step in range(-_EDGE, _EDGE + 1)]


def _spans(op: Op, chosen: Call, n: int) -> list[IndexSpan]:
    """Return what a version makes of index values on axis n in the call of another."""
    try:
        call = engine.bind(
            op,
            *chosen.inputs.values(),
            negative=chosen.negative.value,
            out_of_range=chosen.out_of_range.value,
            **chosen.attrs,
        )
    except OperatorError as error:
        return [IndexSpan(None, "is", "", f"refuses the call: {error.rule}")]
    along = _axes(call)[n]
    ends = sorted({-along.size - 1, -1, along.size - 1})
    return [
        *(_span(call, along, last, last) for last in ends),
        _span(call, along, None, along.size),
    ]


def _span(call: Call, along: IndexedAxis, last: int | None, k: int) -> IndexSpan:
    """Return the span up to `last`, of which k is one."""
    how = fate(call, along)(k)
    position = int(check.positions(call, along, np.array([k], np.int64))[0])
    if k == position >= 0:
        return IndexSpan(last, "plus", 0, "a position")
    if position < 0:
        fills = how == Fate.FILLED.value
        return IndexSpan(last, "is", TARGETS[Fate.FILLED if fills else Fate.REFUSED], how * fills)
    if how == FROM_THE_END:
        return IndexSpan(last, "plus", along.size, how)
    if call.outside is OutOfRange.WRAP:
        return IndexSpan(last, "modulo", along.size, how)
    return IndexSpan(last, "is", position, how)
