"""Check every index of a call, and report the treatment of those outside the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gathercli.arrays.counts import IndexCount, count_indices, count_tuples
from gathercli.arrays.indices import KEPT, IndexKind, IndexPolicy, ResolvedIndices, ResolvedTuples
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import FROM_THE_END, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.arrays.counts import IndexCounts
    from gathercli.arrays.kernel import Points
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.errors import OutOfRangeError
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


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
    axes: Sequence[IndexedAxis],
    indices: AnyArray,
    *,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> tuple[Points, list[Adjustment]]:
    """Check every index of an input in constant memory.

    Parameters
    ----------
    axes
        The indexed axis, or one for each component of tuples.
    indices
        Shape (I..) or (I.., K), an integer type.

    Returns
    -------
        The positions, and the adjustments of indices outside their axis.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """

    def report(done: int) -> None:
        if progress is not None:
            progress("checked", done, indices.nbytes)

    counts = call.negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED
    policies = [policy_of(call, along) for along in axes]
    points, sums = resolve(
        indices, policies, counts=counts, threads=threads, progress=report, tuples=are_tuples(axes)
    )
    return points, check_counts(call, axes, sums, indices.shape)


def policy_of(call: Call, along: IndexedAxis) -> IndexPolicy:
    """Return the policy of a call for the indices of an axis."""
    return IndexPolicy(along.size, call.wraps_negative, call.outside)


def are_tuples(axes: Sequence[IndexedAxis]) -> bool:
    """Return whether the last dimension of an input of indices has the components of tuples."""
    return not axes or axes[0].component is not None


def check_counts(
    call: Call,
    axes: Sequence[IndexedAxis],
    sums: Sequence[IndexCounts],
    shape: tuple[int, ...],
    *,
    used: int | None = None,
) -> list[Adjustment]:
    """Return the adjustments of indices outside their axis.

    Parameters
    ----------
    sums
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
        negative = [each.negative for each in sums]
        _refuse_first(call, rules.index_negative, axes, negative, shape, used)
    outside = call.outside
    refused = [
        each.outside
        if outside is OutOfRange.ERROR or (along.size == 0 and outside is not OutOfRange.ZERO)
        else IndexCount()
        for along, each in zip(axes, sums, strict=True)
    ]
    _refuse_first(call, rules.index_range, axes, refused, shape, used)
    wraps = call.wraps_negative and call.op.index_range is IndexRange.UNSIGNED
    kinds: list[tuple[str, list[tuple[IndexCount, str]]]] = [
        (FROM_THE_END, [(each.wrapped, "negative") for each in sums if wraps]),
        (
            outside.done,
            [
                (each.outside, _outside_axis(call, along, several=len(axes) > 1))
                for along, each in zip(axes, sums, strict=True)
            ],
        ),
    ]
    adjustments = []
    for how, counts in kinds:
        hits = [(count, legal) for count, legal in counts if count.number]
        if hits:
            first = min((count for count, _ in hits), key=lambda count: count.first)
            number = sum(count.number for count, _ in hits)
            legal = " or ".join(dict.fromkeys(legal for _, legal in hits))
            adjustments.append(Adjustment(how, number, used, *_first(first, shape), legal))
    return adjustments


def _outside_axis(call: Call, along: IndexedAxis, *, several: bool) -> str:
    """Write what indices on an axis are outside of, and which axis, if there are several."""
    if several and not along.size:
        return f"on axis {along.axis}, which is empty"
    where = f" on axis {along.axis}" if several else ""
    return outside_of(call.legal(along.size)) + where


def _refuse_first(  # noqa: PLR0917  (those of `check_counts`, and the rule)
    call: Call,
    refusal: Callable[[Call, IndexedAxis, int, str, int, int], OutOfRangeError],
    axes: Sequence[IndexedAxis],
    counts: Sequence[IndexCount],
    shape: tuple[int, ...],
    used: int,
) -> None:
    """Raise for the first index, row-major, in the counts of any axis."""
    counted = [(count.first, n) for n, count in enumerate(counts) if count.number]
    if counted:
        _, n = min(counted)
        value, where = _first(counts[n], shape)
        number = sum(count.number for count in counts)
        raise refusal(call, axes[n], value, where, number, used)


def outside_of(legal: tuple[int, int] | None) -> str:
    """Describe indices outside a legal range; None is the range of an empty axis.

    >>> outside_of((-5, 4)), outside_of(None)
    ('outside -5..4', 'on an empty axis')
    """
    return f"outside {legal[0]}..{legal[1]}" if legal else "on an empty axis"


def positions(call: Call, along: IndexedAxis, indices: AnyArray) -> AnyArray:
    """Return the positions of indices of a call on an axis, without refusing any.

    Parameters
    ----------
    indices
        Shape (I..), an integer type.

    Returns
    -------
        Shape (I..), int64: -1 for an index that is refused or filled.
    """
    replaces = along.size and call.outside is not OutOfRange.ERROR
    policy = policy_of(call, along)
    if not replaces:
        policy = policy._replace(outside=OutOfRange.ZERO)
    resolved = resolve(indices, [policy], counts=False)[0].whole()
    if call.negative is Negative.ERROR:
        resolved[indices < 0] = -1
    return resolved


def count(
    indices: AnyArray,
    policies: Sequence[IndexPolicy],
    *,
    counts: bool,
    tuples: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[IndexCounts], IndexKind]:
    """Count indices, or the components of tuples, as `resolve` does."""
    if tuples:
        return count_tuples(indices, policies, counts=counts, threads=threads, progress=progress)
    (policy,) = policies
    sums, kind = count_indices(indices, policy, counts=counts, threads=threads, progress=progress)
    return [sums], kind


def resolve(
    indices: AnyArray,
    policies: Sequence[IndexPolicy],
    *,
    counts: bool,
    tuples: bool = False,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[Points, list[IndexCounts]]:
    """Check every index once, and return their positions and counts.

    Parameters
    ----------
    policies
        The policy for indices, or for each component of tuples.
    tuples
        Whether the last dimension of `indices` has the components of tuples.
    counts, threads, progress
        As for `count_indices`.
    """
    each, kind = count(
        indices, policies, counts=counts, tuples=tuples, threads=threads, progress=progress
    )
    outside = any(sums.outside.number for sums in each)
    fills = outside and any(policy.outside is OutOfRange.ZERO for policy in policies)
    if not tuples:
        return ResolvedIndices(indices, policies[0], kind, fills=fills), each
    resolved = ResolvedTuples(indices, policies, kind, fills=fills)
    if resolved.size > KEPT and policies:
        return resolved, each
    size = product([policy.size for policy in policies])
    flat = IndexPolicy(size, wraps=False, outside=OutOfRange.ZERO)
    # All empty tuples have the position 0: store it once.
    positions = resolved.whole() if policies else np.broadcast_to(np.int64(0), resolved.shape)
    return ResolvedIndices(positions, flat, IndexKind.PLAIN, fills=fills), each


def _first(count: IndexCount, shape: tuple[int, ...]) -> tuple[int, str]:
    """Return the value and the coordinates of the first index of a count."""
    return count.value, cell(coordinate(count.first, shape))
