"""Boxes of coordinates, their cuts at chunks, and results that are computed box by box.

A `BlockSource` has the elements of a result in any box. `cut_boxes` cuts the result into boxes that
fit in memory and rarely need the same chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product as combinations
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray, Box, Room, Span, slices
from gathercli.compute.tensor import Tensor
from gathercli.compute.threads import share
from gathercli.errors import LimitError
from gathercli.spec.shapes import coordinates, product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor

# Copies of a chunk in memory while it is read or written: encoded, decoded, and in the box.
CHUNK_COPIES: Final = 3
CHUNK_BYTES: Final = 16 << 20  # bytes of an output chunk if `data` has no chunks
# Bytes of output that make a box worth a task, whatever it reads.
LEAST_TASK_BYTES: Final = 64 << 20
ALONE_BYTES: Final = 256 << 10  # bytes of a row that cost more to read than its chunk to open
PROGRAM_BYTES: Final = 96 << 20  # bytes of the program itself

BOX_SHARE, LEAST_BOX_SHARE = 0.8, 0.4
"""The share of the remaining memory for a box, as freed memory does not return at once; and the
share of all memory that a box may use in any case."""

MOST_BOX_BYTES: Final = 1 << 30  # bytes of a box without a memory limit


def sizes(box: Box) -> tuple[int, ...]:
    """Return the shape of a box.

    >>> sizes(((0, 2), (5, 6)))
    (2, 1)
    """
    return tuple(stop - start for start, stop in box)


def cells(box: Box) -> int:
    """Count the elements of a box."""
    return product(sizes(box))


def cuts(span: Span, size: int) -> Iterator[Span]:
    """Cut a span at the ends of chunks of `size` coordinates.

    >>> list(cuts((3, 9), 4))
    [(3, 4), (4, 8), (8, 9)]
    """
    start, stop = span
    while start < stop:
        end = min((start // size + 1) * size, stop)
        yield start, end
        start = end


def tiled(box: Box, chunks: Sequence[int]) -> Iterator[Box]:
    """Cut a box at the ends of chunks, row-major."""
    return combinations(*(list(cuts(*each)) for each in zip(box, chunks, strict=True)))


def count_chunks(box: Sequence[Span], chunks: Sequence[int]) -> int:
    """Count the chunks that a box meets."""
    return product(_chunk_counts(box, chunks))


def _chunk_counts(box: Sequence[Span], chunks: Sequence[int]) -> list[int]:
    spans = zip(box, chunks, strict=True)
    return [
        -(-stop // size) - start // size if start < stop else 0 for (start, stop), size in spans
    ]


class ChunkGrid(NamedTuple):
    """A box cut at the ends of chunks into parts, numbered row-major and computed on demand."""

    box: Box
    chunks: Sequence[int]

    @property
    def number(self) -> int:
        """The number of parts."""
        return count_chunks(self.box, self.chunks)

    def part(self, number: int) -> Box:
        """Return the part with a number.

        >>> ChunkGrid(((3, 9), (0, 2)), (4, 2)).part(1)
        ((4, 8), (0, 2))
        """
        places = coordinates(number, _chunk_counts(self.box, self.chunks))
        part = []
        for place, (start, stop), size in zip(places, self.box, self.chunks, strict=True):
            first = (start // size + place) * size
            part.append((max(start, first), min(stop, first + size)))
        return tuple(part)


def inside(part: Box, box: Box) -> Box:
    """Return a part of a box relative to the box.

    >>> inside(((4, 6), (1, 2)), ((3, 9), (0, 2)))
    ((1, 3), (1, 2))
    """
    return tuple(
        (start - first, stop - first) for (start, stop), (first, _) in zip(part, box, strict=True)
    )


def everything(shape: Sequence[int]) -> Box:
    """Return the box of all coordinates."""
    return tuple((0, size) for size in shape)


def flat_boxes(start: int, stop: int, shape: Sequence[int]) -> Iterator[Box]:
    """Cut the flat positions from `start` to before `stop` into boxes, row-major.

    >>> list(flat_boxes(1, 6, (3, 2)))
    [((0, 1), (1, 2)), ((1, 3), (0, 2))]
    """
    if len(shape) == 1:
        yield ((start, stop),)
        return
    inner = product(shape[1:])
    while start < stop:
        row, rows = start // inner, (stop - start) // inner
        if start % inner == 0 and rows:
            yield ((row, row + rows), *everything(shape[1:]))
            start += rows * inner
            continue
        end = min(stop, (row + 1) * inner)
        for box in flat_boxes(start - row * inner, end - row * inner, shape[1:]):
            yield ((row, row + 1), *box)
        start = end


class ChunkLayout(NamedTuple):
    """The chunks of a zarr array."""

    version: int  # of the zarr format
    chunks: tuple[int, ...]  # the sizes of a chunk
    # the sizes of a file of several chunks; None if each chunk is a file
    shards: tuple[int, ...] | None
    codecs: str  # those of a chunk in brief: ``blosc(lz4)+shuffle``, ``none``


def chunk_sizes(
    shape: Sequence[int], fixed: Sequence[int | None], itemsize: int, nbytes: int = CHUNK_BYTES
) -> tuple[int, ...]:
    """Choose the sizes of a chunk of at most `nbytes`, from the last dimension on.

    Sizes in `fixed` that are not None stay.

    >>> chunk_sizes((1000, 64, 8), (None, None, 8), 4, 4096)
    (2, 64, 8)
    """
    cells = nbytes // max(1, itemsize)
    chunk = [min(size or 1, max(1, n)) for n, size in zip(shape, fixed, strict=True)]
    for o in reversed(range(len(shape))):
        if fixed[o] is None:
            chunk[o] = max(1, min(shape[o], cells // product(chunk)))
    return tuple(chunk)


def chunk_bytes(tensor: ChunkedTensor) -> int:
    """Return the bytes of a chunk; 0 for a tensor in memory, which is not read."""
    return product(tensor.chunks) * tensor.storage.itemsize if tensor.in_memory is None else 0


def load(tensor: ChunkedTensor) -> Tensor:
    """Read a whole tensor into memory, in native byte order."""
    return Tensor(tensor.dtype, np.asarray(tensor.read(everything(tensor.shape)), tensor.storage))


class BlockSource(ABC):
    """The elements of a result, in any box.

    `index_dims` are the dimensions of `indices` alone. `reads_alone` tells whether two boxes that
    need the same chunk read different bytes of it, so that one larger box reads no less.
    """

    data: ChunkedTensor
    shape: tuple[int, ...]
    index_dims: Sequence[int]
    reads_alone = False

    @abstractmethod
    def choose_chunks(self) -> tuple[int, ...]:
        """Choose the sizes of the chunks of a new array."""

    @abstractmethod
    def cost(self, box: Box, threads: int) -> int:
        """Estimate the bytes of memory that `block` needs for a box."""

    @abstractmethod
    def block(self, box: Box, threads: int = 1, room: Room | None = None) -> AnyArray:
        """Compute a box, with up to `threads` threads, in `room` or new memory.

        Return an array of the shape of the box, C-ordered, in native byte order.
        """


class CopyBlocks(BlockSource):
    """The elements of a tensor; `data` is another one if they were computed from it."""

    index_dims = ()

    def __init__(self, elements: ChunkedTensor, data: ChunkedTensor | None = None) -> None:
        self.elements, self.shape = elements, elements.shape
        self.data = elements if data is None else data

    def choose_chunks(self) -> tuple[int, ...]:
        """Choose the chunks of `data`, if it has the same shape."""
        like = self.data if self.data.shape == self.shape else self.elements
        fixed = like.chunks if like.in_memory is None else [None] * len(self.shape)
        return chunk_sizes(self.shape, fixed, like.storage.itemsize)

    def cost(self, box: Box, threads: int) -> int:
        """Add the bytes of the chunks that the threads read to those of the box."""
        read = threads * CHUNK_COPIES * chunk_bytes(self.elements)
        return cells(box) * self.elements.storage.itemsize + read

    def block(self, box: Box, threads: int = 1, room: Room | None = None) -> AnyArray:
        """Copy a box chunk by chunk."""
        out = (room or Room()).array(sizes(box), self.elements.storage, zeros=False)
        grid = ChunkGrid(box, self.elements.chunks)

        def copy(number: int) -> None:
            part = grid.part(number)
            out[slices(inside(part, box))] = self.elements.read(part)

        share(grid.number, lambda: copy, threads)
        return out


def cut_boxes(
    source: BlockSource,
    chunks: Sequence[int] | None,
    memory: int | None,
    threads: int,
    *,
    least: int = 1,
) -> tuple[int, list[Box]]:
    """Cut an output into boxes as large as `memory` allows for the program, a box and its input.

    Each of the `chunks` of the output is in one box; without them boxes are contiguous, row-major.
    There are `least` boxes or more, if there are as many chunks. Return the boxes, and how many
    threads to use: fewer if memory is short. With more memory there are never more boxes. Raise
    `LimitError` if the smallest box does not fit.
    """
    if 0 in source.shape:
        return 1, []
    most = MOST_BOX_BYTES
    if memory is not None:
        most = int(max((memory - PROGRAM_BYTES) * BOX_SHARE, memory * LEAST_BOX_SHARE))
    if chunks is None:
        boxes, cost = _slabs(source, most, threads)
    else:
        boxes, cost = _chunk_boxes(source, chunks, most, threads, least)
    while cost(threads) > most:
        threads //= 2
    return threads, boxes


def _chunk_boxes(
    source: BlockSource, chunks: Sequence[int], most: int, threads: int, least: int
) -> tuple[list[Box], Callable[[int], int]]:
    """Cut an output into boxes of whole chunks; return them, and what some threads cost.

    A box grows first along the dimensions of `indices` alone, where a larger box reads no more
    chunks of `data` than two smaller ones.
    """
    shape, itemsize = source.shape, source.data.storage.itemsize
    counts = [-(-n // size) for n, size in zip(shape, chunks, strict=True)]
    factors = [1] * len(shape)  # chunks of a box along each dimension

    def box(factors: Sequence[int]) -> Box:
        # The box at the origin: no other box of these factors is larger.
        return tuple((0, min(f * c, n)) for f, c, n in zip(factors, chunks, shape, strict=True))

    def cost(factors: Sequence[int], threads: int) -> int:
        writers = min(threads, product(factors))
        output = itemsize * (cells(box(factors)) + writers * CHUNK_COPIES * product(chunks))
        # The box is written after it is computed: the two costs do not add up.
        return max(source.cost(box(factors), threads), output)

    is_fitting = _fitting(cost, factors, most, threads)
    # More than this is new memory to no end, if a larger box reads no less.
    enough = max(LEAST_TASK_BYTES, 2 * threads * product(chunks) * itemsize)

    def fits(factors: Sequence[int]) -> bool:
        if source.reads_alone and cells(box(factors)) * itemsize > enough:
            return False
        number = product([-(-count // f) for count, f in zip(counts, factors, strict=True)])
        return number >= least and is_fitting(factors)

    alone = source.index_dims
    others = [o for o in range(len(shape)) if o not in alone]
    for o in reversed(alone):
        factors[o] = _grow(factors, o, counts[o], fits)
    for o in reversed(others):
        if cells(box(factors)) * itemsize < LEAST_TASK_BYTES:
            factors[o] = _grow(factors, o, counts[o], fits)
    steps = [f * c for f, c in zip(factors, chunks, strict=True)]
    spans = [list(cuts((0, n), step)) for n, step in zip(shape, steps, strict=True)]
    # Boxes of the same chunks follow each other: the system may still cache these.
    dims = [*others, *alone]
    boxes = combinations(*(spans[o] for o in dims))
    ordered = [tuple(box[dims.index(o)] for o in range(len(shape))) for box in boxes]
    return ordered, partial(cost, factors)


def _slabs(source: BlockSource, most: int, threads: int) -> tuple[list[Box], Callable[[int], int]]:
    """Cut an output into contiguous boxes, row-major; return them, and what some threads cost."""
    shape = source.shape
    steps = [1] * len(shape)

    def cost(steps: Sequence[int], threads: int) -> int:
        return source.cost(everything(steps), threads)

    fits = _fitting(cost, steps, most, threads)
    for o in reversed(range(len(shape))):
        steps[o] = _grow(steps, o, shape[o], fits)
        # Several rows are contiguous only if they are whole.
        if steps[o] < shape[o]:
            break
    return list(tiled(everything(shape), steps)), partial(cost, steps)


def _fitting(
    cost: Callable[[Sequence[int], int], int], smallest: Sequence[int], most: int, threads: int
) -> Callable[[Sequence[int]], bool]:
    """Return whether a box fits beside what more threads need; raise if the smallest does not.

    They get at most three quarters of what the smallest leaves, so that a box never shrinks where
    there is just enough memory for another thread.
    """
    needed = cost(smallest, 1)
    if needed > most:
        # The inverse of `most` in `cut_boxes`: a limit with which this box fits.
        enough = min(needed / LEAST_BOX_SHARE, PROGRAM_BYTES + needed / BOX_SHARE)
        what = f"a chunk of the result, and what is read for it, takes about {in_bytes(needed)}"
        expected, remark = f"at most {in_bytes(most)}", ", which is what the limit leaves for it"
        hint = f"`--max-bytes {ceil(enough / 10**6)}M`, or smaller chunks (`--chunks`)"
        raise LimitError(what, value=needed, expected=expected, remark=remark, hint=hint)
    share = (most - needed) * 3 // 4
    return lambda box: cost(box, 1) + min(cost(box, threads) - cost(box, 1), share) <= most


def _grow(factors: Sequence[int], o: int, most: int, fits: Callable[[Sequence[int]], bool]) -> int:
    """Return the largest factor of dimension `o`, up to `most`, with which a box fits."""
    low, high = 1, most
    # Invariant: `low` fits, no factor above `high` does; a larger box never costs less.
    while low < high:
        middle = (low + high + 1) // 2
        if fits([*factors[:o], middle, *factors[o + 1 :]]):
            low = middle
        else:
            high = middle - 1
    return low
