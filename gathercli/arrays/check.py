"""Check every index of a call, and say what becomes of those that are not on the axis."""

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
    """Indices that were replaced because they do not address `data` as they are.

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
    progress: ProgressCallback | None = None,
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Check every index of an input, in memory that does not grow with their number.

    Parameters
    ----------
    along
        What the indices count along.
    indices
        Shape (I..), an integer type.

    Returns
    -------
        Their positions, and what becomes of those that are not on the axis.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """

    def report(done: int) -> None:
        if progress is not None:
            progress("checked", done, indices.nbytes)

    policy = IndexPolicy(along.size, call.wraps_negative, call.outside)
    counts = call.negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED
    points, sums = resolve(indices, policy, counts=counts, threads=threads, progress=report)
    return points, check_counts(call, along, sums, indices.shape)


def check_counts(
    call: Call, along: IndexedAxis, sums: IndexCounts, shape: tuple[int, ...]
) -> list[Adjustment]:
    """Return what becomes of indices that are not on the axis.

    Parameters
    ----------
    sums
        The counts of all indices, where s is added to negative ones if the call does that.
    shape
        The shape of the indices.

    Raises
    ------
    OutOfRangeError
        As from `check_indices`.
    """
    s, total = along.size, product(shape)
    if sums.negative.number and call.negative is Negative.ERROR:
        raise rules.index_negative(call, along, *_first(sums.negative, shape), total)
    adjustments = []
    if sums.wrapped.number and call.wraps_negative and call.op.index_range is IndexRange.UNSIGNED:
        adjustments.append(_adjustment("counted from the end", sums.wrapped, shape, "negative"))
    if sums.outside.number:
        outside = call.outside
        if outside is OutOfRange.ERROR or (s == 0 and outside is not OutOfRange.ZERO):
            raise rules.index_range(call, along, *_first(sums.outside, shape), total)
        legal = outside_of(call.legal(s))
        adjustments.append(_adjustment(outside.done, sums.outside, shape, legal))
    return adjustments


def outside_of(legal: tuple[int, int] | None) -> str:
    """Write what indices are outside of; None is the range of an empty axis.

    >>> outside_of((-5, 4)), outside_of(None)
    ('outside -5..4', 'on an empty axis')
    """
    return f"outside {legal[0]}..{legal[1]}" if legal else "on an empty axis"


def positions(call: Call, indices: AnyArray) -> AnyArray:
    """Return the positions of some indices of a call, without refusing any.

    Parameters
    ----------
    indices
        Shape (I..), an integer type.

    Returns
    -------
        Shape (I..), int64: -1 for an index that is refused or filled.
    """
    replaces = call.size and call.outside is not OutOfRange.ERROR
    outside = call.outside if replaces else OutOfRange.ZERO
    policy = IndexPolicy(call.size, call.wraps_negative, outside)
    found = resolve(indices, policy, counts=False)[0].whole()
    if call.negative is Negative.ERROR:
        found[indices < 0] = -1
    return found


def resolve(
    indices: AnyArray,
    policy: IndexPolicy,
    *,
    counts: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[ResolvedIndices, IndexCounts]:
    """Check every index once, and return their positions and counts.

    The parameters are those of `count_indices`.
    """
    sums, kind = count_indices(indices, policy, counts=counts, threads=threads, progress=progress)
    fills = bool(sums.outside.number) and policy.outside is OutOfRange.ZERO
    return ResolvedIndices(indices, policy, kind, fills=fills), sums


def _first(count: IndexCount, shape: tuple[int, ...]) -> tuple[int, str, int]:
    """Return value and coordinates of the first index that was counted, and how many there are."""
    return count.value, cell(coordinate(count.first, shape)), count.number


def _adjustment(how: str, count: IndexCount, shape: tuple[int, ...], legal: str) -> Adjustment:
    value, where, number = _first(count, shape)
    return Adjustment(how, number, product(shape), value, where, legal)
