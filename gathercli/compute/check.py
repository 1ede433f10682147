"""Check every index of a call, and report the treatment of those outside the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gathercli.compute.counts import count_indices, count_tuples
from gathercli.compute.indices import KEPT, IndexKind, IndexPolicy, ResolvedIndices, ResolvedTuples
from gathercli.compute.native import reads
from gathercli.spec.adjustments import Adjustment, IndexCounts, are_tuples, check_counts
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.kernel import Points
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.adjustments import IndexCounts
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


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
    points, index_counts = resolve(
        indices, policies, counts=counts, threads=threads, progress=report, tuples=are_tuples(axes)
    )
    return points, check_counts(call, axes, index_counts, indices.shape)


def policy_of(call: Call, along: IndexedAxis) -> IndexPolicy:
    """Return the policy of a call for the indices of an axis."""
    return IndexPolicy(along.size, call.wraps_negative, call.outside)


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
    each, kind = count_indices(indices, policy, counts=counts, threads=threads, progress=progress)
    return [each], kind


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
    outside = any(one.outside.number for one in each)
    fills = outside and any(policy.outside is OutOfRange.ZERO for policy in policies)
    if not tuples:
        return ResolvedIndices(indices, policies[0], kind, fills=fills), each
    resolved = ResolvedTuples(indices, policies, kind, fills=fills)
    if policies and (resolved.size > KEPT or reads(indices)):
        return resolved, each
    size = product([policy.size for policy in policies])
    flat = IndexPolicy(size, wraps=False, outside=OutOfRange.ZERO)
    # All empty tuples have the position 0: store it once.
    positions = resolved.whole() if policies else np.broadcast_to(np.int64(0), resolved.shape)
    return ResolvedIndices(positions, flat, IndexKind.PLAIN, fills=fills), each
