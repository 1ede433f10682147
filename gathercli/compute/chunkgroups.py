"""Group positions by chunk of `data`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gathercli.compute.chunks import sizes
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray


class ChunkGroup(NamedTuple):
    """Positions in one chunk.

    Attributes
    ----------
    places
        Their flat places among all positions; None if every position is in the chunk or -1.
    box
        The smallest box to read for them, if `places` is None.
    """

    places: AnyArray | None
    box: Box | None = None


class IndexedChunks:
    """The axes that an index or a tuple addresses, cut into chunks.

    A position is the flat position of a cell of these axes. No axes count as one of size 1.

    Parameters
    ----------
    shape, chunks
        The size of each axis, and of a chunk along it.
    """

    def __init__(self, shape: Sequence[int], chunks: Sequence[int]) -> None:
        self._shape, self._chunks = tuple(shape) or (1,), tuple(chunks) or (1,)
        self._counts = [-(-n // c) for n, c in zip(self._shape, self._chunks, strict=True)]
        self._steps = [product(self._shape[j + 1 :]) for j in range(len(self._shape))]
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

        Parameters
        ----------
        last
            The largest chunk number along the first axis.
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
        if not self._cut:
            return positions - box[0][0] * self._steps[0]
        flat = np.zeros(positions.shape, np.int64)
        for j, ((start, _), size) in enumerate(zip(box, sizes(box), strict=True)):
            flat *= size
            flat += self._coordinates(positions, j)
            flat -= start
        return flat
