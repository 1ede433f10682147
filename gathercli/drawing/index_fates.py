"""The fate of index values in each version of a family, for the slider of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import engine
from gathercli.arrays import check
from gathercli.errors import OperatorError
from gathercli.lessons.provenance import Fate
from gathercli.lessons.verdicts import fate
from gathercli.ops import indexed_inputs
from gathercli.report.trace import TARGETS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gathercli.lessons.provenance import Provenance
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis, Op

MOST: Final = 64
"""The largest axis of which every index value is in the table."""

_EDGE: Final = 2
"""The values on each side of -s, 0 and s-1 for a larger axis."""


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
        For each version the position of every value, ``none`` or ``refused``, and the reason; of
        a version that refuses the call no position, and its rule.
    """

    input: str
    axis: int
    size: int
    component: int | None
    values: list[int]
    versions: dict[str, list[tuple[str, str]]]


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
        versions = {op.full_name: _fates(op, call, n, values) for op in call.family.ROWS}
        axis = along.axis % rank
        tables.append(IndexFates(along.input, axis, along.size, along.component, values, versions))
    return tables


def _axes(call: Call) -> list[IndexedAxis]:
    return [along for axes in indexed_inputs(call).values() for along in axes]


def _values(size: int) -> Iterable[int]:
    """Return every value from -s-2 to s+1, or those at the ends and around 0."""
    if size <= MOST:
        return range(-size - 2, size + 2)
    middles = (-size, 0, size - 1)
    return [middle + step for middle in middles for step in range(-_EDGE, _EDGE + 1)]


def _fates(op: Op, chosen: Call, n: int, values: list[int]) -> list[tuple[str, str]]:
    """Return what a version makes of each index value on axis n in the call of another."""
    try:
        call = engine.bind(
            op,
            *chosen.inputs.values(),
            negative=chosen.negative.value,
            out_of_range=chosen.out_of_range.value,
            **chosen.attrs,
        )
    except OperatorError as error:
        return [("", f"refuses the call: {error.rule}")] * len(values)
    along = _axes(call)[n]
    positions = check.positions(call, along, np.array(values, np.int64)).tolist()
    describe = fate(call, along)
    return [
        (str(k), "a position") if k == position >= 0 else _outcome(position, describe(k))
        for k, position in zip(values, positions, strict=True)
    ]


def _outcome(position: int, how: str) -> tuple[str, str]:
    if position >= 0:
        return str(position), how
    if how == Fate.FILLED.value:
        return TARGETS[Fate.FILLED], how
    return TARGETS[Fate.REFUSED], ""
