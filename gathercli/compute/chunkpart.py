"""Copy the elements of a box that come from one chunk of `data`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.chunks import cells, sizes
from gathercli.compute.indices import IndexKind, IndexPolicy, ResolvedIndices
from gathercli.compute.kernel import Kernel
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from typing import Any

    from gathercli.compute.blocks import GatherBlocks
    from gathercli.compute.chunkgroups import ChunkGroup
    from gathercli.compute.chunks import Box, Span
    from gathercli.compute.storage import AnyArray

PIECE: Final = 1 << 18
"""Elements that are scattered at a time."""


class ChunkPart:
    """The elements of a box that come from one chunk of the view of `data`.

    Parameters
    ----------
    spans
        The span within the chunk along every dimension of the view but the axis.
    positions
        The positions of the box within `spans`, -1 for none.
    out
        A view of the output within `spans`; zeros where no part writes.
    group
        The positions in the chunk.
    """

    def __init__(
        self,
        blocks: GatherBlocks,
        spans: dict[int, Span],
        positions: AnyArray,
        out: AnyArray,
        group: ChunkGroup,
    ) -> None:
        self._blocks, self._indexed = blocks, blocks.indexed
        self._dim_map, self._axis = blocks.dim_map, blocks.axis
        self._spans, self._positions, self._out, self._group = spans, positions, out, group

    def fill(self) -> None:
        """Read the chunk, and copy its elements to the output."""
        if self._group.box is not None:
            self._fill_all(self._group.box)
        elif self._group.places is not None:
            self._scatter(self._group.places)

    def _read(self, along: Box) -> AnyArray:
        """Read a box of the view from the chunk; `along` has the spans of the indexed axes."""
        dims, depth = range(len(self._blocks.chunks)), self._blocks.depth
        before = tuple(self._spans[d] for d in dims[: self._axis])
        after = tuple(self._spans[d] for d in dims[self._axis + 1 :])
        chunk = self._blocks.data.read((*before, *along[:depth], *after))
        if depth == 1:
            return chunk
        return chunk.reshape(*sizes(before), cells(along), *sizes(after))

    def _fill_all(self, box: Box) -> None:
        """Write all of `out` with the kernel; the chunk has every position."""
        chunk = self._read(box)
        positions = self._indexed.inside(self._positions, box)
        fills = int(self._positions.min()) < 0
        if fills:
            positions[self._positions < 0] = -1
        policy = IndexPolicy(cells(box), wraps=False, outside=OutOfRange.ZERO)
        points = ResolvedIndices(positions, policy, IndexKind.PLAIN, fills=fills)
        kernel = Kernel(self._dim_map, chunk, self._axis, points)
        # The kernel writes contiguous bytes: a view with gaps is copied from a buffer.
        contiguous = self._out.flags.c_contiguous
        block = self._out if contiguous else np.empty(self._out.shape, self._out.dtype)
        kernel.worker().fill(0, block.size, block.reshape(-1).view(np.uint8))
        if not contiguous:
            self._out[...] = block

    def _scatter(self, order: AnyArray) -> None:
        """Copy to the flat places `order` of the positions, piece by piece."""
        flat = self._out.flags.c_contiguous and all(i is not None for _, i in self._dim_map)
        if self._blocks.index_dims and flat:
            self._scatter_flat(order)
            return
        places = np.unravel_index(order, self._positions.shape)
        positions = self._positions[places]
        box = self._indexed.bounds(positions)
        chunk, positions = self._read(box), self._indexed.inside(positions, box)
        free = [n for n, (_, i) in zip(self._out.shape, self._dim_map, strict=True) if i is None]
        shares = any(None not in dims for dims in self._dim_map)
        put = self._put_shared if shares else self._put
        step = max(1, PIECE // max(1, product(free)))
        for start in range(0, order.size, step):
            piece = slice(start, start + step)
            put(chunk, positions[piece], tuple(coordinates[piece] for coordinates in places))

    def _scatter_flat(self, order: AnyArray) -> None:
        """Copy to flat places of `out`, where each element has its own index, in the same order.

        `out` has the shape (B.., A.., E..), with A.. of `indices` alone. The element [b, a, e]
        comes from [b, position, e] of the chunk, which has the same B.. and E...
        """
        positions = self._positions.reshape(-1)[order]
        box = self._indexed.bounds(positions)
        chunk = self._read(box)
        source, out = np.ascontiguousarray(chunk).reshape(-1), self._out.reshape(-1)
        shape, dims = self._out.shape, self._blocks.index_dims
        inner, batch = product(shape[dims[-1] + 1 :]), product(shape[dims[0] :])
        for start in range(0, order.size, PIECE):
            places = order[start : start + PIECE]
            at = self._indexed.inside(positions[start : start + PIECE], box)
            if inner > 1:
                at *= inner
                at += places - places // inner * inner  # numpy divides faster than it takes %
            if batch < out.size:
                at += places // batch * (chunk.shape[self._axis] * inner)
            out[places] = source.take(at)

    def _put(self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]) -> None:
        """Copy slices of `data` if it shares no dimension with `indices`."""
        index: list[Any] = [slice(None)] * self._out.ndim
        single = positions.size == 1  # copy a large slice once, not twice
        dims = [o for o, (_, i) in enumerate(self._dim_map) if i is not None]
        for o, coordinates in zip(dims, places, strict=True):
            index[o] = coordinates[0] if single else coordinates
        if single:
            self._out[tuple(index)] = chunk[(slice(None),) * self._axis + (positions[0],)]
        else:
            self._out[tuple(index)] = chunk.take(positions, self._axis)

    def _put_shared(
        self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]
    ) -> None:
        """Copy if `data` and `indices` share dimensions, where their coordinates are equal."""
        dim_map = list(enumerate(self._dim_map))
        at: dict[int | None, AnyArray] = {d: places[i] for _, (d, i) in dim_map if i is not None}
        at[self._axis] = positions
        # On both sides indexed dimensions come first, free ones last, so that the shapes agree.
        free = [(o, d) for o, (d, i) in dim_map if i is None and d is not None]
        indexed = [d for d in range(chunk.ndim) if d in at]
        source = chunk.transpose(*indexed, *(d for _, d in free))
        dims = [o for o, (_, i) in dim_map if i is not None]
        target = self._out.transpose(*dims, *(o for o, _ in free))
        target[places] = source[tuple(at[d] for d in indexed)]
