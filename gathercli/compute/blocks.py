"""Gather any box of an output from tensors that are read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute import check
from gathercli.compute import chunks as chunking
from gathercli.compute.bound import BoundCall
from gathercli.compute.indices import IndexKind, IndexPolicy, ResolvedIndices
from gathercli.compute.kernel import Kernel
from gathercli.compute.native import changed_error
from gathercli.compute.storage import AnyArray, Box, Room, Span, strides_of
from gathercli.compute.threads import share
from gathercli.errors import OutOfRangeError
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor

# Bytes of workspace for an index: its position, its chunk, its rank in the sorted order.
INDEX_BYTES: Final = 48
# Bytes of workspace for a tuple, in addition to those of an index and of its components.
TUPLE_BYTES: Final = 8
FLAT_INDEX_BYTES: Final = 32  # bytes of workspace for an index without coordinates
ROW_COPIES: Final = 2  # of rows in memory that are read alone: as stored, and in native byte order
PART_BYTES: Final = 1000  # bytes of workspace for each chunk that indices point into
SCATTERED_CELLS: Final = 1 << 18  # elements that are scattered at a time


class ChunkGroup(NamedTuple):
    """Positions in one chunk."""

    # flat, among all positions; None if every position is in the chunk or -1
    places: AnyArray | None
    box: Box | None = None  # the smallest box to read for them, if `places` is None


class IndexedChunks:
    """The axes that flat positions address, of sizes `shape`, cut in chunks; none count as one."""

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
        for j, ((start, _), size) in enumerate(zip(box, chunking.sizes(box), strict=True)):
            flat *= size
            flat += self._coordinates(positions, j)
            flat -= start
        return flat


class GatherBlocks(chunking.BlockSource):
    """The output of a bound call, computed in boxes from inputs that are read chunk by chunk.

    A position replaces `depth` dimensions of `data`, from `axis` on. They are the one dimension
    `axis` of a view of `data`, of which `chunks` are the sizes of a chunk; `indexed` are the chunks
    along the dimensions that a position replaces. `dim_map` has, for each output dimension, the
    dimensions of the view and of the positions, or None.
    """

    def __init__(self, bound: BoundCall) -> None:
        self.bound, self.call, self.shape = bound, bound.call, bound.shape
        self.data, self.indices = bound.data, bound.indices
        family = self.call.family
        as_gather = self.call.gather
        if as_gather is None:
            raise LookupError(f"{self.call.op} gathers along no axis")
        self.axes = family.indexed_axes(self.call)
        self.axis, self.dim_map = as_gather.axis, as_gather.dim_map
        self.depth = len(self.data.shape) - len(as_gather.view) + 1
        self._batch = self._flatten_batch()
        end = self.axis + self.depth
        chunks = self._chunks()
        along = chunks[self.axis : end]
        self.chunks = (*chunks[: self.axis], product(along), *chunks[end:])
        self.indexed = IndexedChunks(self.data.shape[self.axis : end], along)
        self.index_dims = [o for o, (d, _) in enumerate(self.dim_map) if d is None]
        along_rows = self.data.reads_rows and self.axis == 0 and self.depth == 1
        large = chunking.chunk_bytes(self.data) >= chunking.ALONE_BYTES * self.chunks[0]
        self.reads_alone = (along_rows and large) or self._is_viewed(self.data)

    def _flatten_batch(self) -> tuple[int, ...]:
        """Make the batch dimensions part of a position if the output has them as one dimension.

        Return their sizes in `indices`; an empty tuple if the output keeps them apart.
        """
        extra = len(self.dim_map) - len(self.shape)
        if not extra:
            return ()
        b = self.axis
        dims = (
            (None if d is None else d - b, None if i is None else i - extra)
            for d, i in self.dim_map[b:]
        )
        self.axis, self.depth, self.dim_map = 0, b + self.depth, ((None, 0), *dims)
        return self.indices.shape[:b]

    def _chunks(self) -> tuple[int, ...]:
        """Return the chunks of `data`; small ones if the view would copy an array in memory."""
        data, shape = self.data, self.data.shape
        if data.in_memory is None or self._is_viewed(data):
            return data.chunks
        return chunking.chunk_sizes(shape, [None] * len(shape), data.storage.itemsize)

    def _is_viewed(self, data: ChunkedTensor) -> bool:
        """Return whether the dimensions that a position replaces merge without a copy."""
        if data.in_memory is None:
            return False
        along = range(self.axis + 1, self.axis + self.depth)
        strides, shape = strides_of(data.in_memory.array), data.shape
        return all(strides[d - 1] == strides[d] * shape[d] for d in along)

    def choose_chunks(self) -> tuple[int, ...]:
        """Choose chunks of the output with the bytes of those of `data`, and their sizes there."""
        data = self.data
        if data.in_memory is not None:
            return chunking.chunk_sizes(self.shape, [None] * len(self.shape), data.storage.itemsize)
        fixed = [None if d is None else self.chunks[d] for d, _ in self.dim_map]
        return chunking.chunk_sizes(
            self.shape, fixed, data.storage.itemsize, chunking.chunk_bytes(data)
        )

    def cost(self, box: Box, threads: int) -> int:
        """Add up the box, its indices, and what each thread reads and copies."""
        itemsize = self.data.storage.itemsize
        output = chunking.cells(box) * itemsize
        piece = min(output, SCATTERED_CELLS * (itemsize + 8 * len(self.shape)))
        copies = ROW_COPIES if self.data.reads_rows else chunking.CHUNK_COPIES
        thread = copies * chunking.chunk_bytes(self.data) + piece
        if self.depth > 1 and not self._is_viewed(self.data):
            thread += product(self.chunks) * itemsize  # the copy that merges dimensions
        index = FLAT_INDEX_BYTES if self._is_flat(box) else INDEX_BYTES
        if are_tuples(self.axes):
            index += TUPLE_BYTES + len(self.axes) * self.indices.storage.itemsize
        indices = chunking.cells(self._points_box(box)) * index
        parts = self._max_parts(box) * PART_BYTES
        # The chunks of `indices` are released before those of `data` are read.
        read = chunking.CHUNK_COPIES * chunking.chunk_bytes(self.indices)
        return output + max(indices + parts + threads * thread, read)

    def block(self, box: Box, threads: int = 1, room: Room | None = None) -> AnyArray:
        """Gather a box by checked indices; raise `TransferError` if they changed since."""
        positions = self._positions(self._points_box(box))
        zeros = bool(positions.size and positions.min() < 0)
        out = (room or Room()).array(chunking.sizes(box), self.data.storage, zeros=zeros)
        parts = list(self._parts(box, positions, out)) if out.size else []
        # Parts share no element of `out`, so threads need no lock.
        share(len(parts), lambda: lambda number: parts[number].fill(), threads)
        return out

    def _max_parts(self, box: Box) -> int:
        """Return an upper bound of the chunks of `data` that a box needs."""
        dims = [
            (span, self.chunks[d])
            for span, (d, _) in zip(box, self.dim_map, strict=True)
            if d is not None
        ]
        around = chunking.count_chunks([span for span, _ in dims], [size for _, size in dims])
        return around * min(self.indexed.number, chunking.cells(self._points_box(box)))

    def _is_flat(self, box: Box) -> bool:
        """Return whether each element of a box has its own index, and one chunk surrounds it."""
        dim_map, chunks = self.dim_map, self.chunks
        return all(
            i is not None and (d is None or start // chunks[d] >= (stop - 1) // chunks[d])
            for (start, stop), (d, i) in zip(box, dim_map, strict=True)
        )

    def _points_box(self, box: Box) -> Box:
        spans = {i: span for span, (_, i) in zip(box, self.dim_map, strict=True) if i is not None}
        return tuple(spans[i] for i in range(len(spans)))

    def _positions(self, box: Box) -> AnyArray:
        """Read the indices of a box, and return their positions: int64, -1 for none."""
        if not self._batch:
            return self._resolved(box)
        out = np.empty(chunking.sizes(box), np.int64)
        (first, stop), *rest = box
        size, start = product([along.size for along in self.axes]), 0
        for batch in chunking.flat_boxes(first, stop, self._batch):
            part = self._resolved((*batch, *rest)).reshape(-1, *out.shape[1:])
            numbers = np.arange(first + start, first + start + len(part))
            part += size * numbers.reshape(-1, *[1] * len(rest)) * (part >= 0)
            out[start : start + len(part)] = part
            start += len(part)
        return out

    def _resolved(self, box: Box) -> AnyArray:
        """Return the positions of a box of indices or tuples along the indexed axes."""
        if not are_tuples(self.axes):
            indices = self.indices.read(box)
            positions = check.positions(self.call, self.axes[0], indices)
        else:
            indices = self.indices.read((*box, (0, len(self.axes))))
            positions = np.zeros(chunking.sizes(box), np.int64)
            none = np.zeros(chunking.sizes(box), bool)
            for j, along in enumerate(self.axes):
                component = check.positions(self.call, along, indices[..., j])
                none |= component < 0
                positions *= along.size
                positions += component
            positions[none] = -1
        if positions.size and int(positions.min()) < 0:  # -1 is a zero, or a changed index
            try:
                check.check_input(self.call, self.axes, indices)
            except OutOfRangeError:
                raise changed_error() from None
        return positions

    def _parts(self, box: Box, positions: AnyArray, out: AnyArray) -> Iterator[ChunkPart]:
        """Cut a box at the chunks of `data`, and group its positions by chunk along the axis.

        Each element with a position is in one part; the others stay zero. No two parts read the
        same chunk.
        """
        dim_map, chunks = self.dim_map, self.chunks
        shared = {d: o for o, (d, i) in enumerate(dim_map) if d is not None and i is not None}
        free = {d: o for o, (d, i) in enumerate(dim_map) if d is not None and i is None}
        for shared_spans in _cut_dims(box, shared, chunks):
            rows: list[Any] = [slice(None)] * positions.ndim
            for d, o in shared.items():
                rows[dim_map[o][1] or 0] = _slice_in(shared_spans[d], box[o])
            part = positions[(*rows, ...)]  # a view, even of 0-D
            # Positions do not depend on the free dimensions: group them once.
            groups = list(self.indexed.groups(part))
            for free_spans in _cut_dims(box, free, chunks):
                spans = shared_spans | free_spans
                target: list[Any] = [
                    slice(None) if d is None else _slice_in(spans[d], span)
                    for span, (d, _) in zip(box, dim_map, strict=True)
                ]
                for group in groups:
                    yield ChunkPart(self, spans, part, out[(*target, ...)], group)


def _cut_dims(box: Box, dims: dict[int, int], chunks: Sequence[int]) -> Iterator[dict[int, Span]]:
    """Cut a box where chunks end along some dimensions; yield the spans by dimension of `data`.

    `dims` has the output dimension of each dimension of `data` to cut.
    """
    spans = [list(chunking.cuts(box[o], chunks[d])) for d, o in dims.items()]
    for combination in combinations(*spans):
        yield dict(zip(dims, combination, strict=True))


def _slice_in(span: Span, whole: Span) -> slice:
    return slice(span[0] - whole[0], span[1] - whole[0])


class ChunkPart(NamedTuple):
    """The elements of a box that come from one chunk of the view of `data`."""

    blocks: GatherBlocks
    spans: dict[int, Span]  # within the chunk along each dimension of the view but the axis
    positions: AnyArray  # of the box within `spans`, -1 for none
    out: AnyArray  # a view of the output within `spans`, with zeros where no part writes
    group: ChunkGroup  # the positions in the chunk

    def fill(self) -> None:
        """Read the chunk, and copy its elements to the output."""
        if self.group.box is not None:
            self._fill_all(self.group.box)
        elif self.group.places is not None:
            self._scatter(self.group.places)

    def _read(self, along: Box) -> AnyArray:
        """Read a box of the view from the chunk; `along` has the spans of the indexed axes."""
        dims, depth = range(len(self.blocks.chunks)), self.blocks.depth
        before = tuple(self.spans[d] for d in dims[: self.blocks.axis])
        after = tuple(self.spans[d] for d in dims[self.blocks.axis + 1 :])
        chunk = self.blocks.data.read((*before, *along[:depth], *after))
        if depth == 1:
            return chunk
        return chunk.reshape(*chunking.sizes(before), chunking.cells(along), *chunking.sizes(after))

    def _fill_all(self, box: Box) -> None:
        """Write all of `out` with the kernel; the chunk has every position."""
        chunk = self._read(box)
        positions = self.blocks.indexed.inside(self.positions, box)
        fills = int(self.positions.min()) < 0
        if fills:
            positions[self.positions < 0] = -1
        policy = IndexPolicy(chunking.cells(box), wraps=False, outside=OutOfRange.ZERO)
        points = ResolvedIndices(positions, [policy], IndexKind.PLAIN, fills=fills)
        kernel = Kernel(self.blocks.dim_map, chunk, self.blocks.axis, points)
        # The kernel writes contiguous bytes: a view with gaps is copied from a buffer.
        contiguous = self.out.flags.c_contiguous
        block = self.out if contiguous else np.empty(self.out.shape, self.out.dtype)
        kernel.worker().fill(0, block.size, block.reshape(-1).view(np.uint8))
        if not contiguous:
            self.out[...] = block

    def _scatter(self, order: AnyArray) -> None:
        """Copy to the flat places `order` of the positions, piece by piece."""
        flat = self.out.flags.c_contiguous and all(i is not None for _, i in self.blocks.dim_map)
        if self.blocks.index_dims and flat:
            self._scatter_flat(order)
            return
        places = np.unravel_index(order, self.positions.shape)
        positions = self.positions[places]
        box = self.blocks.indexed.bounds(positions)
        chunk, positions = self._read(box), self.blocks.indexed.inside(positions, box)
        free = [
            n for n, (_, i) in zip(self.out.shape, self.blocks.dim_map, strict=True) if i is None
        ]
        step = max(1, SCATTERED_CELLS // max(1, product(free)))
        for start in range(0, order.size, step):
            piece = slice(start, start + step)
            self._put(chunk, positions[piece], tuple(coordinates[piece] for coordinates in places))

    def _scatter_flat(self, order: AnyArray) -> None:
        """Copy to flat places of `out`, where each element has its own index, in the same order.

        `out` has the shape (B.., A.., E..), with A.. of `indices` alone. The element [b, a, e]
        comes from [b, position, e] of the chunk, which has the same B.. and E...
        """
        positions = self.positions.reshape(-1)[order]
        box = self.blocks.indexed.bounds(positions)
        chunk = self._read(box)
        source, out = np.ascontiguousarray(chunk).reshape(-1), self.out.reshape(-1)
        shape, dims = self.out.shape, self.blocks.index_dims
        inner, batch = product(shape[dims[-1] + 1 :]), product(shape[dims[0] :])
        for start in range(0, order.size, SCATTERED_CELLS):
            places = order[start : start + SCATTERED_CELLS]
            at = self.blocks.indexed.inside(positions[start : start + SCATTERED_CELLS], box)
            if inner > 1:
                at *= inner
                at += places - places // inner * inner  # numpy divides faster than it takes %
            if batch < out.size:
                at += places // batch * (chunk.shape[self.blocks.axis] * inner)
            out[places] = source.take(at)

    def _put(self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]) -> None:
        """Copy to places; in dimensions that `data` and `indices` share, coordinates are equal."""
        dim_map = list(enumerate(self.blocks.dim_map))
        at: dict[int | None, AnyArray] = {d: places[i] for _, (d, i) in dim_map if i is not None}
        at[self.blocks.axis] = positions
        # On both sides indexed dimensions come first, free ones last, so that the shapes agree.
        free = [(o, d) for o, (d, i) in dim_map if i is None and d is not None]
        indexed = [d for d in range(chunk.ndim) if d in at]
        source = chunk.transpose(*indexed, *(d for _, d in free))
        dims = [o for o, (_, i) in dim_map if i is not None]
        target = self.out.transpose(*dims, *(o for o, _ in free))
        target[places] = source[tuple(at[d] for d in indexed)]
