"""Check and count every index of a call, block by block, and report those outside the axis."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.indices import (
    KEPT,
    IndexKind,
    IndexPolicy,
    ResolvedIndices,
    ResolvedTuples,
    index_kind,
    tuple_kind,
    wrap_negative,
)
from gathercli.compute.native import reads
from gathercli.compute.storage import row_major
from gathercli.compute.threads import share
from gathercli.spec.adjustments import Adjustment, IndexCount, IndexCounts, are_tuples, check_counts
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gathercli.compute.kernel import Points
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


CELLS: Final = 1 << 16
"""Indices in a block: they stay in a core's cache."""

SHARED: Final = 16
"""The number of blocks from which a second thread is worth starting."""


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


def count_indices(
    indices: AnyArray,
    policy: IndexPolicy,
    *,
    counts: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[IndexCounts, IndexKind]:
    """Count indices, each read once.

    Parameters
    ----------
    indices
        Shape (I..), an integer type, in any byte order.
    counts
        Whether to count negative indices on the axis too.
    threads
        The largest number of threads.
    progress
        A function of the number of bytes checked so far.

    Returns
    -------
        The counts, and the narrowest kind of all indices.
    """
    sums = IndexCounts(IndexCount(), IndexCount(), IndexCount())
    if indices.size <= CELLS:  # most calls have few indices, all of them legal
        kind = index_kind(indices, policy)
        if kind is IndexKind.PLAIN or (kind is IndexKind.SIGNED and not counts):
            return sums, kind
    lock, kinds = Lock(), {IndexKind.PLAIN}

    def count(block: AnyArray, start: int) -> None:
        kind = index_kind(block, policy)
        kinds.add(kind)
        if kind is IndexKind.PLAIN or (kind is IndexKind.SIGNED and not counts):
            return
        outside = wrap_negative(block, np.empty(block.shape, np.int64), policy)
        negative = block < 0
        with lock:
            sums.negative.add(negative, block, start)
            sums.wrapped.add(negative & ~outside, block, start)
            sums.outside.add(outside, block, start)

    scan(indices, count, sums, threads=threads, progress=progress)
    return sums, _widest(kinds)


def _widest(kinds: set[IndexKind]) -> IndexKind:
    widest_first = (IndexKind.MIXED, IndexKind.SIGNED, IndexKind.PLAIN)
    return next(kind for kind in widest_first if kind in kinds)


def count_tuples(
    tuples: AnyArray,
    policies: Sequence[IndexPolicy],
    *,
    counts: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[IndexCounts], IndexKind]:
    """Count the components of tuples, each read once.

    Parameters
    ----------
    tuples
        Shape (I.., K), an integer type, in any byte order.
    policies
        The policy for each of the K components.
    counts, threads, progress
        As for `count_indices`.

    Returns
    -------
        The counts of each component, with flat positions in `tuples`; and the narrowest kind of
        all components.
    """
    sums = [IndexCounts(IndexCount(), IndexCount(), IndexCount()) for _ in policies]
    kinds, lock = {IndexKind.PLAIN}, Lock()
    if not policies:
        return sums, IndexKind.PLAIN
    k = len(policies)

    def count(block: AnyArray, start: int) -> None:
        block = np.ascontiguousarray(block, block.dtype.newbyteorder("="))
        kind = tuple_kind(block, policies)
        kinds.add(kind)
        if kind is IndexKind.PLAIN or (kind is IndexKind.SIGNED and not counts):
            return
        for j, policy in enumerate(policies):
            component = block[j::k]
            outside = wrap_negative(component, np.empty(component.shape, np.int64), policy)
            negative = component < 0
            with lock:
                sums[j].negative.add(negative, component, start + j, k)
                sums[j].wrapped.add(negative & ~outside, component, start + j, k)
                sums[j].outside.add(outside, component, start + j, k)

    scan(
        np.ascontiguousarray(tuples) if tuples.size <= CELLS else tuples,
        count,
        [each for counts in sums for each in counts],
        threads=threads,
        progress=progress,
        cells=CELLS // k * k or k,
        in_order=True,
    )
    return sums, _widest(kinds)


def scan(
    indices: AnyArray,
    count: Callable[[AnyArray, int], None],
    sums: Iterable[IndexCount],
    *,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
    cells: int = CELLS,
    in_order: bool = False,
) -> None:
    """Pass all indices to `count` in flat blocks, each with its start position.

    Parameters
    ----------
    count
        A function that several threads may call at a time.
    sums
        The counts that `count` adds to. Indices in Fortran order are passed in memory order, which
        is fast. If any is counted, clear the counts and pass all again, row-major, as the first
        one matters.
    threads, progress
        As for `count_indices`.
    cells
        The number of indices of a block; the layout or the end may make it smaller.
    in_order
        Whether to pass the indices in row-major order only.
    """
    fortran = indices.flags.f_contiguous and not indices.flags.c_contiguous and not in_order
    if fortran or indices.flags.c_contiguous:
        flat = (indices.T if fortran else indices).reshape(-1)
        blocks, nbytes = -(-flat.size // cells), cells * indices.itemsize

        def count_block(number: int) -> None:
            count(flat[number * cells : (number + 1) * cells], number * cells)

        def report(done: int) -> None:
            if progress is not None:
                progress(min(done * nbytes, indices.nbytes))

        share(blocks, lambda: count_block, threads if blocks >= SHARED else 1, report)
    if indices.flags.c_contiguous or (fortran and not any(each.number for each in sums)):
        return
    for each in sums:
        each.clear()
    start = 0
    for block in row_major(indices, cells):
        count(block, start)
        start += block.size
        if progress is not None:
            progress(start * indices.itemsize)
