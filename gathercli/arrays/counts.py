"""How many indices are of a kind, counted block by block, and the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.arrays.indices import IndexKind, IndexPolicy, index_kind, wrap_negative
from gathercli.arrays.tensor import row_major
from gathercli.arrays.threads import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gathercli.arrays.tensor import AnyArray

CELLS: Final = 1 << 16
"""Indices looked at together: they stay in a core's cache."""

SHARED: Final = 16
"""Blocks from which a second thread is worth starting."""


class IndexCount:
    """How many indices are of a sort, and the first of them.

    Attributes
    ----------
    number
        How many.
    first, value
        The flat position of the first, row-major, and what it is; meaningless when there is none.
    """

    def __init__(self) -> None:
        self.number, self.first, self.value = 0, 0, 0

    def add(self, marked: AnyArray, given: AnyArray, start: int) -> None:
        """Count the marked indices of the block that starts at the flat position `start`."""
        number = int(marked.sum())
        if not number:
            return
        at = int(marked.argmax())
        if not self.number or start + at < self.first:
            self.first, self.value = start + at, int(given[at])
        self.number += number

    def clear(self) -> None:
        """Count from the beginning."""
        self.number, self.first, self.value = 0, 0, 0

    def __or__(self, other: IndexCount) -> IndexCount:
        """Count together what was counted apart, none of it twice."""
        found = IndexCount()
        found.number = self.number + other.number
        nearest = min((each for each in (self, other) if each.number), key=_place, default=found)
        found.first, found.value = nearest.first, nearest.value
        return found


def _place(tally: IndexCount) -> int:
    return tally.first


class IndexCounts(NamedTuple):
    """What indices are, all of them seen.

    Attributes
    ----------
    negative, wrapped, outside
        Those that were negative, of these those that count from the end, and those outside.
    """

    negative: IndexCount
    wrapped: IndexCount
    outside: IndexCount

    def unwrapped(self) -> IndexCounts:
        """Return what they are where no negative index counts from the end."""
        return IndexCounts(self.negative, IndexCount(), self.wrapped | self.outside)


def count_indices(
    indices: AnyArray,
    how: IndexPolicy,
    *,
    counts: bool,
    threads: int = 1,
    tick: Callable[[int], None] | None = None,
) -> tuple[IndexCounts, IndexKind]:
    """Look at every index once, block by block.

    Parameters
    ----------
    indices
        Shape (I..), an integer type, in either byte order.
    counts
        Whether it matters how many are negative and legal.
    threads
        How many look.
    tick
        Is told now and then how many bytes were looked at.
    """
    from threading import Lock

    import numpy as np

    tallies = IndexCounts(IndexCount(), IndexCount(), IndexCount())
    if indices.size <= CELLS:  # most calls are small, and legal: one look will do
        sort = index_kind(indices, how)
        if sort is IndexKind.PLAIN or (sort is IndexKind.SIGNED and not counts):
            return tallies, sort
    lock, sorts = Lock(), {IndexKind.PLAIN}

    def look(given: AnyArray, start: int) -> None:
        sort = index_kind(given, how)
        sorts.add(sort)
        if sort is IndexKind.PLAIN or (sort is IndexKind.SIGNED and not counts):
            return
        held = np.empty(given.shape, np.int64)
        outside = wrap_negative(given, held, how)
        negative = given < 0
        with lock:
            for tally, marked in zip(
                tallies, (negative, negative & ~outside, outside), strict=True
            ):
                tally.add(marked, given, start)

    scan(indices, look, tallies, threads=threads, tick=tick)
    sort = next(
        sort for sort in (IndexKind.MIXED, IndexKind.SIGNED, IndexKind.PLAIN) if sort in sorts
    )
    return tallies, sort


def scan(
    indices: AnyArray,
    look: Callable[[AnyArray, int], None],
    tallies: Iterable[IndexCount],
    *,
    threads: int = 1,
    tick: Callable[[int], None] | None = None,
) -> None:
    """Show all indices to `look`, in blocks, flat, each with the position that it starts at.

    Parameters
    ----------
    look
        May be called by several threads at a time.
    tallies
        What `look` counts in. Indices in Fortran order are shown as they lie in memory, which is
        fast; where that counts any, they are counted again, row-major, as then places matter.
    threads, tick
        As for `count_indices`.
    """
    fortran = indices.flags.f_contiguous and not indices.flags.c_contiguous
    if fortran or indices.flags.c_contiguous:
        flat = (indices.T if fortran else indices).reshape(-1)
        count = -(-flat.size // CELLS)
        block = CELLS * indices.itemsize

        def piece(number: int) -> None:
            look(flat[number * CELLS : (number + 1) * CELLS], number * CELLS)

        told = None if tick is None else lambda done: tick(min(done * block, indices.nbytes))
        share(count, lambda: piece, threads if count >= SHARED else 1, told)
    if not indices.flags.c_contiguous and not (fortran and _quiet(tallies)):
        for tally in tallies:
            tally.clear()
        start = 0
        for given in row_major(indices, CELLS):
            look(given, start)
            start += given.size
            if tick is not None:
                tick(start * indices.itemsize)


def _quiet(tallies: Iterable[IndexCount]) -> bool:
    return not any(tally.number for tally in tallies)
