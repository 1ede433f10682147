"""Indices on their way to positions on the axis: -1 for none, everything else inside.

First all of them are examined, in one pass; then any part is turned into positions, as often as
wanted, so that nothing of the size of the indices is held.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.arrays.tensor import row_major
from gathercli.arrays.threads import share
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gathercli.arrays.tensor import AnyArray

CELLS: Final = 1 << 16
"""Indices looked at together: they stay in a core's cache."""

SHARED: Final = 16
"""Blocks from which a second thread is worth starting."""


class IndexPolicy(NamedTuple):
    """What becomes of an index k on an axis.

    Attributes
    ----------
    size
        s, the size of the axis.
    wraps
        Whether s is added, once, to k < 0.
    outside
        What then becomes of a k outside [0, s); never ``spec``.
    """

    size: int
    wraps: bool
    outside: OutOfRange


class IndexKind(Enum):
    """What some indices are, all together."""

    PLAIN = "in [0, s)"
    SIGNED = "in [-s, s), where a negative one counts from the end"
    MIXED = "legal"
    UNSEEN = "not examined"


def index_kind(given: AnyArray, how: IndexPolicy) -> IndexKind:
    """Tell what indices are; any shape, an integer type."""
    import numpy as np

    if not given.size:
        return IndexKind.PLAIN
    if not (given.flags.c_contiguous and given.dtype.isnative):
        given = np.ascontiguousarray(given, given.dtype.newbyteorder("="))
    if given.dtype.kind == "u":
        return IndexKind.PLAIN if int(given.max()) < how.size else IndexKind.MIXED
    # A negative number is a large one without its sign: one look instead of two.
    most = min(how.size, 1 << (8 * given.dtype.itemsize - 1))
    if int(given.view(np.dtype(f"u{given.dtype.itemsize}")).max()) < most:
        return IndexKind.PLAIN
    if how.wraps and int(given.max()) < how.size and int(given.min()) >= -how.size:
        return IndexKind.SIGNED
    return IndexKind.MIXED


def _counted(given: AnyArray, held: AnyArray, how: IndexPolicy) -> AnyArray:
    """Store indices in `held`, int64, s added to the negative ones if they wrap; tell the rest.

    Nothing changes its meaning: s >= 0, so even -2^63 + s fits, and a uint64 that does not fit is
    outside by what it was.

    Returns
    -------
        Which are then outside [0, s); bool.
    """
    import numpy as np

    size = np.uint64(how.size)
    if given.dtype.kind == "u" or not how.wraps:
        np.copyto(held, given, casting="unsafe")
    else:  # s is added where the sign, spread over all bits, lets it through
        np.right_shift(given, 8 * given.itemsize - 1, out=held)
        held &= how.size
        held += given
    # A negative number is a large one without its sign; so is the uint64 that did not fit.
    outside: AnyArray = held.view(np.uint64) >= size
    return outside


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
        outside = _counted(given, held, how)
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


HELD: Final = 1 << 20
"""Indices up to which their positions are kept; those of more are made again where needed."""


class Memory(NamedTuple):
    """An array as it lies in memory.

    Attributes
    ----------
    flat
        Shape (N,): its elements in the order of memory.
    steps
        For each dimension, how many elements further the next coordinate is.
    """

    flat: AnyArray
    steps: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> Memory:
        """View an array, whatever steps it takes; one that walks backwards is copied."""
        import numpy as np
        from numpy.lib.stride_tricks import as_strided

        itemsize = array.dtype.itemsize or 1
        if any(step < 0 or step % itemsize for step in array.strides):
            array = np.ascontiguousarray(array)
        steps = tuple(step // itemsize for step in array.strides)
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), steps)
        span = sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) + 1
        return cls(as_strided(array, (span if array.size else 0,), (itemsize,)), steps)

    def view(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """View elements from `start` on, `steps` apart in each dimension."""
        import numpy as np

        held = self.flat.dtype
        strides = tuple(step * held.itemsize for step in steps)
        return np.ndarray(shape, held, self.flat, start * held.itemsize, strides)


class UnexpectedIndicesError(Exception):
    """Unseen indices that are more than `IndexKind.SIGNED`: all of them have to be examined."""


class ResolvedIndices:
    """Indices as positions on the axis, in parts.

    Parameters
    ----------
    indices
        Shape (I..), an integer type.
    how
        What becomes of them.
    sort
        What all of them are; where they are unseen, each part is looked at when it is used.
    fills
        Whether some give no position.

    Attributes
    ----------
    memory
        The indices as they lie in memory; those of a few are their positions.
    """

    def __init__(
        self,
        indices: AnyArray,
        how: IndexPolicy,
        sort: IndexKind = IndexKind.UNSEEN,
        *,
        fills: bool = False,
    ) -> None:
        self._how, self._sort, self._given = how, sort, sort
        self.indices, self.fills = indices, fills
        self._native = indices.dtype.str[1:] == "i8" and indices.dtype.isnative
        done = self._native and sort is IndexKind.PLAIN
        if not done and sort is not IndexKind.UNSEEN and indices.size <= HELD:
            indices = self.whole()
            self._sort, self._native = IndexKind.PLAIN, True
        self.memory = Memory.of(indices)

    def whole(self) -> AnyArray:
        """Return all positions: shape (I..), int64, -1 for none."""
        import numpy as np

        held = np.empty(self.indices.shape, np.int64)
        _store(self.indices, held, self._how, self._given)
        return held

    def part(self, given: AnyArray, room: Callable[[tuple[int, ...]], AnyArray]) -> AnyArray:
        """Return the positions of a part of `memory`.

        Parameters
        ----------
        given
            The part.
        room
            Gives an int64 array of a shape to hold them, if that is needed.

        Raises
        ------
        UnlikeError
            They are unseen, and not as simple as was hoped.
        """
        sort = self._sort
        if sort is IndexKind.UNSEEN:
            sort = index_kind(given, self._how)
            if sort is IndexKind.MIXED:
                raise UnexpectedIndicesError
        if self._native and sort is IndexKind.PLAIN:
            return given
        held = room(given.shape)
        _store(given, held, self._how, sort)
        return held


def _store(given: AnyArray, held: AnyArray, how: IndexPolicy, sort: IndexKind) -> None:
    """Store positions in `held`, int64 of the same shape."""
    import numpy as np

    if sort is IndexKind.PLAIN:
        np.copyto(held, given, casting="unsafe")
        return
    outside = _counted(given, held, how)
    if sort is IndexKind.SIGNED:
        return
    if how.outside is OutOfRange.ZERO:
        np.copyto(held, -1, where=outside)
    elif how.outside is OutOfRange.CLAMP:
        low = 0 if given.dtype.kind == "u" else given < 0
        np.copyto(held, np.where(low, 0, how.size - 1), where=outside)
    elif how.outside is not OutOfRange.WRAP or not how.size:
        return  # some are refused
    elif given.dtype.kind == "u":
        np.copyto(held, given % np.uint64(how.size), casting="unsafe")
    else:
        held %= how.size
