"""Count indices by kind, block by block, with the first of each kind."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.indices import IndexKind, IndexPolicy, index_kind, tuple_kind, wrap_negative
from gathercli.compute.storage import row_major
from gathercli.compute.threads import share
from gathercli.spec.adjustments import IndexCount, IndexCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gathercli.compute.storage import AnyArray

CELLS: Final = 1 << 16
"""Indices in a block: they stay in a core's cache."""

SHARED: Final = 16
"""The number of blocks from which a second thread is worth starting."""


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
