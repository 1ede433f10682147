"""What becomes of indices outside their axis: counts of them, refusals and adjustments."""

from __future__ import annotations

from gathercli.records import NamedTuple
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import FROM_THE_END, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import counted, grouped

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gathercli.errors import OutOfRangeError
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


class IndexCount:
    """The number of indices of one kind, and the first of them.

    Attributes
    ----------
    number
        The number of indices.
    first, value
        The flat position of the first, row-major, and its value; meaningless if there is none.
    """

    def __init__(self) -> None:
        self.number, self.first = 0, 0
        self.value: float = 0

    def add(self, mask: Any, block: Any, start: int, step: int = 1) -> None:
        """Count the indices of a block that `mask` marks.

        Parameters
        ----------
        mask, block
            Shape (C,): bool, and an integer type.
        start, step
            The flat position of the first index of the block, and the distance between
            consecutive ones. Blocks may come in any order.
        """
        number = int(mask.sum())
        if not number:
            return
        at = int(mask.argmax())
        if not self.number or start + at * step < self.first:
            self.first, self.value = start + at * step, int(block[at])
        self.number += number

    def add_one(self, value: int, at: int) -> None:
        """Count an index at a flat position after those counted before."""
        if not self.number:
            self.first, self.value = at, value
        self.number += 1

    def clear(self) -> None:
        """Reset the count."""
        self.number, self.first, self.value = 0, 0, 0

    def __or__(self, other: IndexCount) -> IndexCount:
        """Add two disjoint counts."""
        union = IndexCount()
        union.number = self.number + other.number
        nearest = min(
            (each for each in (self, other) if each.number),
            key=lambda count: count.first,
            default=union,
        )
        union.first, union.value = nearest.first, nearest.value
        return union


class IndexCounts(NamedTuple):
    """Counts of negative indices, and of indices outside the axis.

    Attributes
    ----------
    negative
        The indices k < 0.
    wrapped
        Those of them that are on the axis after s is added.
    outside
        The indices that are not on the axis, with s added if the policy wraps.
    """

    negative: IndexCount
    wrapped: IndexCount
    outside: IndexCount

    def unwrapped(self) -> IndexCounts:
        """Return the counts without adding s to any index."""
        return IndexCounts(self.negative, IndexCount(), self.wrapped | self.outside)


class Adjustment(NamedTuple):
    """The treatment of indices that do not address `data`.

    Attributes
    ----------
    how
        The treatment: ``zero-filled``, ``clamped``, ``wrapped``, ``counted from the end``.
    number, total
        The number of these indices, and of all.
    value, where
        The first of them, row-major, and its coordinates in `indices`.
    legal
        A description of the range that they are outside of.
    """

    how: str
    number: int
    total: int
    value: float
    where: str
    legal: str

    def __str__(self) -> str:
        return (
            f"{grouped(self.number)} of {counted(self.total, 'index', 'indices')} "
            f"{self.legal}, {self.how}; "
            f"first {self.value} at {self.where}"
        )


def are_tuples(axes: Sequence[IndexedAxis]) -> bool:
    """Return whether the last dimension of an input of indices holds tuples."""
    return not axes or axes[0].component is not None


def check_counts(
    call: Call,
    axes: Sequence[IndexedAxis],
    counts: Sequence[IndexCounts],
    shape: tuple[int, ...],
    *,
    used: int | None = None,
) -> list[Adjustment]:
    """Return the adjustments of indices outside their axis.

    Parameters
    ----------
    counts
        The counts of the indices of each axis, with s added to negative ones if the call does so.
    shape, used
        The shape of the indices, and the number in use; None for all.

    Raises
    ------
    OutOfRangeError
        As from `check_indices`.
    """
    used = product(shape) if used is None else used
    if call.negative is Negative.ERROR:
        negative = [each.negative for each in counts]
        _refuse_first(call, rules.index_negative, axes, negative, shape, used)
    outside = call.outside
    refused = [
        each.outside
        if outside is OutOfRange.ERROR or (along.size == 0 and outside is not OutOfRange.ZERO)
        else IndexCount()
        for along, each in zip(axes, counts, strict=True)
    ]
    _refuse_first(call, rules.index_range, axes, refused, shape, used)
    wraps = call.wraps_negative and call.op.index_range is IndexRange.UNSIGNED
    kinds: list[tuple[str, list[tuple[IndexCount, str]]]] = [
        (FROM_THE_END, [(each.wrapped, "negative") for each in counts if wraps]),
        (
            outside.done,
            [
                (each.outside, _outside_axis(call, along, several=len(axes) > 1))
                for along, each in zip(axes, counts, strict=True)
            ],
        ),
    ]
    adjustments = []
    for how, cases in kinds:
        hits = [(count, legal) for count, legal in cases if count.number]
        if hits:
            first = min((count for count, _ in hits), key=lambda count: count.first)
            number = sum(count.number for count, _ in hits)
            legal = " or ".join(dict.fromkeys(legal for _, legal in hits))
            adjustments.append(Adjustment(how, number, used, *_where(first, shape), legal))
    return adjustments


def _outside_axis(call: Call, along: IndexedAxis, *, several: bool) -> str:
    """Write what indices on an axis are outside of, and which axis, if there are several."""
    if several and not along.size:
        return f"on axis {along.axis}, which is empty"
    where = f" on axis {along.axis}" if several else ""
    return outside_of(call.legal(along.size)) + where


def _refuse_first(  # noqa: PLR0917  (those of `check_counts`, and the rule)
    call: Call,
    refusal: Callable[[Call, IndexedAxis, float, str, int, int], OutOfRangeError],
    axes: Sequence[IndexedAxis],
    counts: Sequence[IndexCount],
    shape: tuple[int, ...],
    used: int,
) -> None:
    """Raise for the first index, row-major, in the counts of any axis."""
    counted = [(count.first, n) for n, count in enumerate(counts) if count.number]
    if counted:
        _, n = min(counted)
        value, where = _where(counts[n], shape)
        number = sum(count.number for count in counts)
        raise refusal(call, axes[n], value, where, number, used)


def outside_of(legal: tuple[int, int] | None) -> str:
    """Describe indices outside a legal range; None is the range of an empty axis.

    >>> outside_of((-5, 4)), outside_of(None)
    ('outside -5..4', 'on an empty axis')
    """
    return f"outside {legal[0]}..{legal[1]}" if legal else "on an empty axis"


def _where(count: IndexCount, shape: tuple[int, ...]) -> tuple[float, str]:
    """Return the value and the coordinates of the first index of a count."""
    return count.value, cell(coordinate(count.first, shape))
