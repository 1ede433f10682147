"""Every index of a call checked, and what becomes of those that are not on the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gathercli.arrays.counts import count_indices
from gathercli.arrays.indices import IndexPolicy, ResolvedIndices
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.counts import IndexCount, IndexCounts
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


class Adjustment(NamedTuple):
    """Indices that did not simply address `data`.

    Attributes
    ----------
    how
        What was done: ``zero-filled``, ``clamped``, ``wrapped``, ``counted from the end``.
    number, total
        How many, of how many.
    value, where
        The first of them, row-major, and its coordinates in `indices`.
    legal
        What they were outside of.
    """

    how: str
    number: int
    total: int
    value: int
    where: str
    legal: str

    def __str__(self) -> str:
        return (
            f"{grouped(self.number)} of {counted(self.total, 'index', 'indices')} "
            f"{self.legal}, {self.how}; "
            f"first {self.value} at {self.where}"
        )


def check_indices(
    call: Call,
    along: IndexedAxis,
    indices: AnyArray,
    *,
    threads: int = 1,
    tick: ProgressCallback | None = None,
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Check every index of an input of a bound call, in memory that does not grow with them.

    Returns
    -------
        What gives their positions, and what becomes of those that are not on the axis.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """
    how = IndexPolicy(along.size, call.wraps_negative, call.outside)
    told = None if tick is None else lambda done: tick("checked", done, indices.nbytes)
    counts = call.negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED
    picks, found = resolve(indices, how, counts=counts, threads=threads, tick=told)
    return picks, check_counts(call, along, found, indices.shape)


def check_counts(
    call: Call, along: IndexedAxis, found: IndexCounts, shape: tuple[int, ...]
) -> list[Adjustment]:
    """Tell what becomes of indices that are not on the axis.

    Parameters
    ----------
    found
        What they are, negative ones counted from the end if the call does that.
    shape
        That of `indices`.

    Raises
    ------
    OutOfRangeError
        As from `check_indices`.
    """
    s, total = along.size, product(shape)
    if found.negative.number and call.negative is Negative.ERROR:
        raise rules.index_negative(call, along, *_first(found.negative, shape), total)
    adjustments = []
    if found.wrapped.number and call.wraps_negative and call.op.index_range is IndexRange.UNSIGNED:
        adjustments.append(_treated("counted from the end", found.wrapped, shape, "negative"))
    if found.outside.number:
        outside = call.outside
        if outside is OutOfRange.ERROR or (s == 0 and outside is not OutOfRange.ZERO):
            raise rules.index_range(call, along, *_first(found.outside, shape), total)
        adjustments.append(_treated(outside.done, found.outside, shape, beyond(call.legal(s))))
    return adjustments


def beyond(legal: tuple[int, int] | None) -> str:
    """Say where indices are that are not between the legal ones; None are those of an empty axis.

    >>> beyond((-5, 4)), beyond(None)
    ('outside -5..4', 'on an empty axis')
    """
    return f"outside {legal[0]}..{legal[1]}" if legal else "on an empty axis"


def positions(call: Call, indices: AnyArray) -> AnyArray:
    """Return where on the axis some indices of a bound call point, refusing none.

    Parameters
    ----------
    indices
        Shape (I..), an integer type.

    Returns
    -------
        Shape (I..), int64: -1 for an index that is refused or filled.
    """
    moves = call.size and call.outside is not OutOfRange.ERROR
    how = IndexPolicy(call.size, call.wraps_negative, call.outside if moves else OutOfRange.ZERO)
    picks, _ = resolve(indices, how, counts=False)
    found = picks.whole()
    if call.negative is Negative.ERROR:
        found[indices < 0] = -1
    return found


def _first(tally: IndexCount, shape: tuple[int, ...]) -> tuple[int, str, int]:
    """Return value and coordinates of the first index of a tally, and how many there are."""
    return tally.value, cell(coordinate(tally.first, shape)), tally.number


def _treated(how: str, tally: IndexCount, shape: tuple[int, ...], legal: str) -> Adjustment:
    value, where, number = _first(tally, shape)
    return Adjustment(how, number, product(shape), value, where, legal)


def resolve(
    indices: AnyArray,
    how: IndexPolicy,
    *,
    counts: bool,
    threads: int = 1,
    tick: Callable[[int], None] | None = None,
) -> tuple[ResolvedIndices, IndexCounts]:
    """Look at every index once; return what gives their positions, and what they are.

    The parameters are those of `count_indices`.
    """
    tallies, sort = count_indices(indices, how, counts=counts, threads=threads, tick=tick)
    fills = bool(tallies.outside.number) and how.outside is OutOfRange.ZERO
    return ResolvedIndices(indices, how, sort, fills=fills), tallies
