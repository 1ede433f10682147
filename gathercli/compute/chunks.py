"""Boxes of coordinates, their cuts at chunks, and positions grouped by chunk."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gathercli.spec.shapes import coordinates, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gathercli.compute.storage import AnyArray


Span: TypeAlias = "tuple[int, int]"
"""Coordinates along one dimension: the first, and the one after the last."""

Box: TypeAlias = "tuple[Span, ...]"
"""A span along each dimension."""


def slices(box: Box) -> Any:
    """Return the numpy index of a box; its result is an array even if it is 0-D."""
    return (*(slice(start, stop) for start, stop in box), ...)


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
    """Count the chunks that a box meets along each dimension."""
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


class ChunkGroup(NamedTuple):
    """Positions in one chunk."""

    # flat, among all positions; None if every position is in the chunk or -1
    places: AnyArray | None
    box: Box | None = None  # the smallest box to read for them, if `places` is None


class IndexedChunks:
    """The axes that an index or a tuple addresses, of sizes `shape`, cut into chunks.

    A position is the flat position of a cell of these axes. No axes count as one of size 1.
    """

    def __init__(self, shape: Sequence[int], chunks: Sequence[int]) -> None:
        self._shape, self._chunks = tuple(shape) or (1,), tuple(chunks) or (1,)
        self._counts = [-(-n // c) for n, c in zip(self._shape, self._chunks, strict=True)]
        self._steps = [product(self._shape[j + 1 :]) for j in range(len(self._shape))]
        # The axes but the first that chunks cut: without any, a chunk is a range of positions.
        self._cut = [j for j, count in enumerate(self._counts) if j and count > 1]

    @property
    def number(self) -> int:
        """The number of chunks."""
        return product(self._counts)

    def groups(self, positions: AnyArray) -> Iterator[ChunkGroup]:
        """Group positions, shape (P..), int64, by chunk; -1 is in none."""
        if not positions.size:
            return
        first, last = int(positions.min()), int(positions.max())
        if last < 0:
            return
        if first < 0:
            first = int(positions[positions >= 0].min())
        # Positions from one cut of the first axis to the next.
        layer = self._chunks[0] * self._steps[0]
        if first // layer == last // layer and not self._cut:
            yield ChunkGroup(None, self._rows(first, last))
            return
        # The -1 come first in the order, as a group that is left out.
        numbers = self._numbers(positions, layer, last // layer).reshape(-1)
        # A stable sort keeps the places of a group ascending, so that writes are sequential.
        order = numbers.argsort(kind="stable")
        numbers = numbers[order]
        if numbers[0] == numbers[-1]:
            yield ChunkGroup(None, self.bounds(positions))
            return
        starts = np.flatnonzero(np.diff(numbers)) + 1
        for start, stop in zip([0, *starts], [*starts, order.size], strict=True):
            if numbers[start] >= 0:
                yield ChunkGroup(order[start:stop])

    def _numbers(self, positions: AnyArray, layer: int, last: int) -> AnyArray:
        """Return the number of the chunk of each position, row-major; -1 for -1.

        `layer` is how many positions there are from one cut of the first axis to the next, and
        `last` the largest chunk number along that axis.
        """
        largest = (last + 1) * product(self._counts[1:]) - 1
        kind = next(t for t in (np.int16, np.int32, np.int64) if largest <= np.iinfo(t).max)
        numbers: AnyArray = np.empty(positions.shape, kind)  # numpy sorts int16 in linear time
        np.floor_divide(positions, layer, out=numbers, casting="unsafe")
        for j in self._cut:
            along = self._coordinates(positions, j)
            along //= self._chunks[j]
            # -1 stays -1: its coordinate is the last one, so that -1 * count + count - 1 = -1.
            numbers *= self._counts[j]
            np.add(numbers, along, out=numbers, casting="unsafe")
        return numbers

    def _coordinates(self, positions: AnyArray, j: int) -> AnyArray:
        """Return the coordinates of positions along an axis, as a new array."""
        along: AnyArray = positions // self._steps[j]
        if j:
            along -= along // self._shape[j] * self._shape[j]  # faster than %
        return along

    def _rows(self, first: int, last: int) -> Box:
        """Return the box between two positions, whole along all axes but the first."""
        step = self._steps[0]
        return ((first // step, last // step + 1), *((0, size) for size in self._shape[1:]))

    def bounds(self, positions: AnyArray) -> Box:
        """Return the smallest box to read for positions, none of them -1.

        If chunks cut the first axis alone, the box is whole along the others, so contiguous.
        """
        if not self._cut:
            return self._rows(int(positions.min()), int(positions.max()))
        along = (self._coordinates(positions, j) for j in range(len(self._shape)))
        return tuple((int(each.min()), int(each.max()) + 1) for each in along)

    def inside(self, positions: AnyArray, box: Box) -> AnyArray:
        """Return positions relative to a box of the axes, as a new array."""
        if not self._cut:  # a box is whole along all axes but the first
            return positions - box[0][0] * self._steps[0]
        flat = np.zeros(positions.shape, np.int64)
        for j, ((start, _), size) in enumerate(zip(box, sizes(box), strict=True)):
            flat *= size
            flat += self._coordinates(positions, j)
            flat -= start
        return flat
