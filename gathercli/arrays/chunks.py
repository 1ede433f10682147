"""Tensors in chunks: boxes of their coordinates, and what reads one."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gathercli.spec.coordinates import coordinate
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Protocol

    import numpy as np

    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.spec.dtypes import DType

    class ChunkedTensor(Protocol):
        """A tensor that is read box by box."""

        @property
        def dtype(self) -> DType:
            """The type of the elements."""

        @property
        def decided(self) -> str | None:
            """What decided the type, as of `Tensor`."""

        @property
        def storage(self) -> np.dtype[Any]:
            """The numpy dtype of the elements, in native byte order."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Sizes of the dimensions."""

        @property
        def chunks(self) -> tuple[int, ...]:
            """Sizes of what is read at once, from 1 on."""

        @property
        def in_memory(self) -> Tensor | None:
            """All of it, if that lies in memory or is mapped; None if it is read in chunks."""

        def read(self, box: Box) -> AnyArray:
            """Return the elements of a box: its shape, in either byte order."""


Span: TypeAlias = "tuple[int, int]"
"""Coordinates of one dimension: the first, and the first that is none of them."""

Box: TypeAlias = "tuple[Span, ...]"
"""A span of each dimension."""


def slices(box: Box) -> Any:
    """Return what numpy takes for a box, so that it gives an array even of a 0-D one."""
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
    """Cut a span where chunks of a size end.

    >>> list(cuts((3, 9), 4))
    [(3, 4), (4, 8), (8, 9)]
    """
    start, stop = span
    while start < stop:
        end = min((start // size + 1) * size, stop)
        yield start, end
        start = end


def tiled(box: Box, chunks: Sequence[int]) -> Iterator[Box]:
    """Cut a box where chunks end, row-major."""
    return combinations(*(list(cuts(*each)) for each in zip(box, chunks, strict=True)))


class ChunkGrid(NamedTuple):
    """A box cut where chunks end, whose parts are numbered row-major; they may be very many."""

    box: Box
    chunks: Sequence[int]

    @property
    def number(self) -> int:
        """How many parts there are."""
        return product(self._counts)

    @property
    def _counts(self) -> list[int]:
        spans = zip(self.box, self.chunks, strict=True)
        return [
            -(-stop // size) - start // size if start < stop else 0 for (start, stop), size in spans
        ]

    def part(self, number: int) -> Box:
        """Return one part.

        >>> ChunkGrid(((3, 9), (0, 2)), (4, 2)).part(1)
        ((4, 8), (0, 2))
        """
        found = []
        for place, span, size in zip(
            coordinate(number, self._counts), self.box, self.chunks, strict=True
        ):
            at = (span[0] // size + place) * size
            found.append((max(span[0], at), min(span[1], at + size)))
        return tuple(found)


def inside(part: Box, box: Box) -> Box:
    """Return a part of a box by the coordinates it has there.

    >>> inside(((4, 6), (1, 2)), ((3, 9), (0, 2)))
    ((1, 3), (1, 2))
    """
    return tuple(
        (start - first, stop - first) for (start, stop), (first, _) in zip(part, box, strict=True)
    )


def everything(shape: Sequence[int]) -> Box:
    """Return the box of all coordinates."""
    return tuple((0, size) for size in shape)


class ChunkLayout(NamedTuple):
    """How a tensor is cut into chunks.

    Attributes
    ----------
    version
        The version of the format zarr.
    chunks
        Sizes of what is read at once.
    shards
        Sizes of what one file holds, where that is several chunks.
    codecs
        How a chunk is written, in a few words: ``blosc(lz4)+shuffle``, ``none``.
    """

    version: int
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    codecs: str
