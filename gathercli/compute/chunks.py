"""Tensors in chunks: boxes of coordinates, and their cuts at chunks."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gathercli.spec.coordinates import coordinate
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

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
        places = coordinate(number, _chunk_counts(self.box, self.chunks))
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
    """The chunks of a zarr array.

    Attributes
    ----------
    version
        The version of the zarr format.
    chunks
        The sizes of a chunk.
    shards
        The sizes of a shard, a file of several chunks; None if each chunk is a file.
    codecs
        The codecs of a chunk in brief: ``blosc(lz4)+shuffle``, ``none``.
    """

    version: int
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    codecs: str
