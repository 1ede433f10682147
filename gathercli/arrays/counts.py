"""Count indices by what they are, block by block, and find the first of each sort."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.arrays.indices import IndexKind, IndexPolicy, index_kind, tuple_kind, wrap_negative
from gathercli.arrays.tensor import row_major
from gathercli.arrays.threads import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gathercli.arrays.tensor import AnyArray

CELLS: Final = 1 << 16
"""Indices in a block: they stay in a core's cache."""

SHARED: Final = 16
"""Blocks from which a second thread is worth starting."""


class IndexCount:
    """How many indices are of one sort, and the first of them.

    Attributes
    ----------
    number
        How many.
    first, value
        The flat position of the first, row-major, and the index; meaningless if there is none.
    """

    def __init__(self) -> None:
        self.number, self.first, self.value = 0, 0, 0

    def add(self, mask: AnyArray, block: AnyArray, start: int, step: int = 1) -> None:
        """Count the indices of a block that `mask` marks.

        Parameters
        ----------
        mask, block
            Shape (C,): bool, and an integer type.
        start, step
            The flat position of the first index of the block, and how far apart two consecutive
            ones are. Blocks may come in any order.
        """
        number = int(mask.sum())
        if not number:
            return
        at = int(mask.argmax())
        if not self.number or start + at * step < self.first:
            self.first, self.value = start + at * step, int(block[at])
        self.number += number

    def clear(self) -> None:
        """Count from the beginning."""
        self.number, self.first, self.value = 0, 0, 0

    def __or__(self, other: IndexCount) -> IndexCount:
        """Add up two counts that have no index in common."""
        union = IndexCount()
        union.number = self.number + other.number
        nearest = min((each for each in (self, other) if each.number), key=_first, default=union)
        union.first, union.value = nearest.first, nearest.value
        return union


def _first(count: IndexCount) -> int:
    return count.first


class IndexCounts(NamedTuple):
    """How many indices are negative, and where they point.

    Attributes
    ----------
    negative
        k < 0.
    wrapped
        Those of them that are on the axis once s is added.
    outside
        Those that are not on the axis, with or without s added.
    """

    negative: IndexCount
    wrapped: IndexCount
    outside: IndexCount

    def unwrapped(self) -> IndexCounts:
        """Return the counts where s is added to no index."""
        return IndexCounts(self.negative, IndexCount(), self.wrapped | self.outside)


def count_indices(
    indices: AnyArray,
    policy: IndexPolicy,
    *,
    counts: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[IndexCounts, IndexKind]:
    """Check every index once.

    Parameters
    ----------
    indices
        Shape (I..), an integer type, in either byte order.
    counts
        Whether negative indices that are on the axis have to be counted too.
    threads
        How many threads may count.
    progress
        Takes the number of bytes checked so far, now and then.

    Returns
    -------
        The counts, and the narrowest kind that holds for all indices.
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
    """Check every component of every tuple once.

    Parameters
    ----------
    tuples
        Shape (I.., K), an integer type, in either byte order.
    policies
        For each of the K components, what becomes of it.
    counts, threads, progress
        As for `count_indices`.

    Returns
    -------
        The counts of each component, whose first ones are flat positions in `tuples`; and the
        narrowest kind that holds for all.
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
    """Pass all indices to `count`, in flat blocks, each with the position at which it starts.

    Parameters
    ----------
    count
        May be called by several threads at a time.
    sums
        The counts that `count` adds to. Indices in Fortran order are passed in the order of
        memory, which is fast; only if some were counted, and so the first of them matters, are
        they cleared and all indices passed again, row-major.
    threads, progress
        As for `count_indices`.
    cells
        How many indices a block has; fewer at the end, and where the layout asks for it.
    in_order
        Whether only the order of rows will do.
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
