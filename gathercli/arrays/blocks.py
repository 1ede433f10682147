"""What makes any box of an output: a call, or a copy, of tensors that are read in chunks."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from gathercli.arrays import check
from gathercli.arrays.chunks import ChunkGrid, cells, cuts, inside, sizes, slices
from gathercli.arrays.indices import IndexKind, IndexPolicy, ResolvedIndices
from gathercli.arrays.kernel import Kernel, Worker
from gathercli.arrays.threads import share
from gathercli.errors import OutOfRangeError, TransferError
from gathercli.ops import FAMILIES
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.chunks import Box, ChunkedTensor, Span
    from gathercli.arrays.tensor import AnyArray
    from gathercli.spec.call import Call

PIECE: Final = 1 << 18
"""Elements that are handed to their places at a time."""

INDEX_BYTES: Final = 48
"""What an index takes while it is worked with: its position, its chunk, its place among others."""

FLAT_INDEX_BYTES: Final = 32
"""What it takes where its coordinates are not needed: of each element, and not cut by chunks."""

PART_BYTES: Final = 1000
"""What it takes to know which indices are in a chunk."""

COPIES: Final = 3
"""How often a chunk is held while it is read or written: as stored, decoded, and copied."""

CHUNK: Final = 16 << 20
"""Bytes of a chunk of output where the data has none."""


class GatherBlocks(NamedTuple):
    """The boxes of the output of a bound call, whose inputs are read chunk by chunk."""

    bound: BoundCall

    @property
    def call(self) -> Call:
        """The call."""
        return self.bound.call

    @property
    def data(self) -> ChunkedTensor:
        """What is gathered."""
        return self.bound.data

    @property
    def indices(self) -> ChunkedTensor:
        """What says where."""
        return self.bound.indices

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return self.bound.shape

    @property
    def dim_map(self) -> Sequence[tuple[int | None, int | None]]:
        """For each output dimension, those of `data` and of `indices` it walks along."""
        as_gather = FAMILIES[self.call.op.family].as_gather(self.call)
        if as_gather is None:
            raise LookupError(f"{self.call.op} gathers along no axis")
        return as_gather.dim_map

    @property
    def alone(self) -> list[int]:
        """The output dimensions that walk along `indices` alone."""
        return [o for o, (d, _) in enumerate(self.dim_map) if d is None]

    def suited_chunks(self) -> tuple[int, ...]:
        """Choose chunks for the output: as those of `data` along its dimensions, and as large."""
        data = self.data
        if data.in_memory is not None:
            return suited(self.shape, [None] * len(self.shape), data.storage.itemsize)
        fixed = [None if d is None else data.chunks[d] for d, _ in self.dim_map]
        nbytes = product(data.chunks) * data.storage.itemsize
        return suited(self.shape, fixed, data.storage.itemsize, nbytes)

    def cost(self, box: Box, threads: int) -> int:
        """Estimate the bytes held while a box is made."""
        itemsize = self.data.storage.itemsize
        made = cells(box) * itemsize
        pieces = min(made, PIECE * (itemsize + 8 * len(self.shape)))
        each = COPIES * chunk_bytes(self.data) + pieces
        index = FLAT_INDEX_BYTES if self._is_flat(box) else INDEX_BYTES
        indices = cells(self._indices_box(box)) * index
        parts = self._most_parts(box) * PART_BYTES
        return made + max(indices + parts + threads * each, COPIES * chunk_bytes(self.indices))

    def block(self, box: Box, threads: int = 1) -> AnyArray:
        """Make a box of the output, whose indices were all found to be legal.

        Parameters
        ----------
        threads
            How many may read and copy.

        Returns
        -------
            The shape of the box, C-ordered, in native byte order.

        Raises
        ------
        TransferError
            ``unreadable``: the indices are not those that were looked at.
        """
        import numpy as np

        indices = self.indices.read(self._indices_box(box))
        positions = check.positions(self.call, indices)
        if positions.size and int(positions.min()) < 0:  # filled, or refused
            _check_again(self.call, indices)
        out = np.zeros(sizes(box), self.data.storage)
        parts = list(self._parts(box, positions, out)) if out.size else []
        share(len(parts), lambda: lambda number: parts[number].fill(), threads)
        return out

    def _most_parts(self, box: Box) -> int:
        """Count the chunks of `data` that a box may need."""
        axis, chunks = self.call.places[0], self.data.chunks
        walked = zip(box, self.dim_map, strict=True)
        around = product(
            [
                (stop - 1) // chunks[d] - start // chunks[d] + 1
                for (start, stop), (d, _) in walked
                if d is not None
            ]
        )
        along = -(-self.call.size // chunks[axis])
        return around * min(along, cells(self._indices_box(box)))

    def _is_flat(self, box: Box) -> bool:
        """Tell whether each element of a box has an index, and all those the same chunks."""
        dim_map, chunks = self.dim_map, self.data.chunks
        return all(
            i is not None and (d is None or start // chunks[d] >= (stop - 1) // chunks[d])
            for (start, stop), (d, i) in zip(box, dim_map, strict=True)
        )

    def _indices_box(self, box: Box) -> Box:
        spans = {i: span for span, (_, i) in zip(box, self.dim_map, strict=True) if i is not None}
        return tuple(spans[i] for i in range(len(self.indices.shape)))

    def _parts(self, box: Box, positions: AnyArray, out: AnyArray) -> Iterator[_Part]:
        """Cut a box where chunks of `data` end, along the axis by the chunks of the positions."""
        dim_map, chunks, axis = self.dim_map, self.data.chunks, self.call.places[0]
        shared = {d: o for o, (d, i) in enumerate(dim_map) if d is not None and i is not None}
        free = {d: o for o, (d, i) in enumerate(dim_map) if d is not None and i is None}
        for cut in _cuts(box, shared, chunks):
            of: list[Any] = [slice(None)] * positions.ndim
            for d, o in shared.items():
                of[dim_map[o][1] or 0] = _within(cut[d], box[o])
            picked = positions[(*of, ...)]  # a view, even of 0-D
            runs = list(_runs(picked, chunks[axis]))
            for other in _cuts(box, free, chunks):
                at = cut | other
                target: list[Any] = [
                    slice(None) if d is None else _within(at[d], span)
                    for span, (d, _) in zip(box, dim_map, strict=True)
                ]
                for run in runs:
                    yield _Part(self, at, picked, out[(*target, ...)], run)


def _check_again(call: Call, indices: AnyArray) -> None:
    """Refuse indices of which none was refused when all of them were looked at."""
    try:
        (along,) = FAMILIES[call.op.family].indexed_axes(call)
        check.check_indices(call, along, indices)
    except OutOfRangeError:
        raise TransferError(
            "`indices` changed while they were read: expected them to stay as they were",
            rule="unreadable",
        ) from None


class CopyBlocks(NamedTuple):
    """A tensor that is copied as it is; the members are those of `GatherBlocks`."""

    data: ChunkedTensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return self.data.shape

    @property
    def alone(self) -> list[int]:
        """No dimension: all of them are those of `data`."""
        return []

    def suited_chunks(self) -> tuple[int, ...]:
        """Choose chunks for the output: those of `data`."""
        data = self.data
        fixed = data.chunks if data.in_memory is None else [None] * len(self.shape)
        return suited(self.shape, fixed, data.storage.itemsize)

    def cost(self, box: Box, threads: int) -> int:
        """Estimate the bytes held while a box is made."""
        made = cells(box) * self.data.storage.itemsize
        return made + threads * COPIES * chunk_bytes(self.data)

    def block(self, box: Box, threads: int = 1) -> AnyArray:
        """Make a box of the output, as `GatherBlocks.block` does."""
        import numpy as np

        out = np.empty(sizes(box), self.data.storage)
        tiling = ChunkGrid(box, self.data.chunks)

        def copy(number: int) -> None:
            part = tiling.part(number)
            out[slices(inside(part, box))] = self.data.read(part)

        share(tiling.number, lambda: copy, threads)
        return out


BlockSource: TypeAlias = "GatherBlocks | CopyBlocks"


def suited(
    shape: Sequence[int], fixed: Sequence[int | None], itemsize: int, nbytes: int = CHUNK
) -> tuple[int, ...]:
    """Choose the sizes of chunks that are left open, from the last on, up to so many bytes.

    >>> suited((1000, 64, 8), (None, None, 8), 4, 4096)
    (2, 64, 8)
    """
    cells = nbytes // max(1, itemsize)
    chosen = [min(each or 1, max(1, n)) for n, each in zip(shape, fixed, strict=True)]
    for o in reversed(range(len(shape))):
        if fixed[o] is None:
            chosen[o] = max(1, min(shape[o], cells // product(chosen)))
    return tuple(chosen)


def chunk_bytes(tiles: ChunkedTensor) -> int:
    """Return the bytes that reading a chunk takes; what is in memory takes none."""
    return product(tiles.chunks) * tiles.storage.itemsize if tiles.in_memory is None else 0


def _cuts(box: Box, dims: dict[int, int], chunks: Sequence[int]) -> Iterator[dict[int, Span]]:
    """Cut the dimensions of `data` that output dimensions walk along where chunks end."""
    spans = [list(cuts(box[o], chunks[d])) for d, o in dims.items()]
    for each in combinations(*spans):
        yield dict(zip(dims, each, strict=True))


def _within(span: Span, whole: Span) -> slice:
    return slice(span[0] - whole[0], span[1] - whole[0])


class _Run(NamedTuple):
    """Positions that are in one chunk: the least, the largest, and their flat places.

    All of them are, but for those that are none, if `places` is None.
    """

    first: int
    last: int
    places: AnyArray | None


def _runs(positions: AnyArray, size: int) -> Iterator[_Run]:
    """Sort positions by the chunk that they are in, each of so many positions; -1 is in none."""
    import numpy as np

    if not positions.size:
        return
    first, last = int(positions.min()), int(positions.max())
    if last < 0:
        return
    if first < 0:
        first = int(positions[positions >= 0].min())
    if first // size == last // size:
        yield _Run(first, last, None)
        return
    most = last // size
    kind = next(t for t in (np.int16, np.int32, np.int64) if most <= np.iinfo(t).max)
    numbers: AnyArray = np.empty(positions.shape, kind)  # numpy sorts few bits in linear time
    np.floor_divide(positions, size, out=numbers, casting="unsafe")  # -1 stays, and comes first
    numbers = numbers.reshape(-1)
    order = numbers.argsort(kind="stable")
    numbers = numbers[order]
    starts = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in zip([0, *starts], [*starts, order.size], strict=True):
        number = int(numbers[start])
        if number >= 0:
            yield _Run(number * size, (number + 1) * size - 1, order[start:stop])


class _Part:
    """A part of a box that is in one chunk of `data`.

    Parameters
    ----------
    at
        For every dimension of `data` but the axis, its span there.
    positions
        Where the indices of the part point, -1 for none.
    out
        The part, with zeros where nothing else is stored.
    run
        Those of the positions that are in the chunk.
    """

    def __init__(
        self,
        gathering: GatherBlocks,
        at: dict[int, Span],
        positions: AnyArray,
        out: AnyArray,
        run: _Run,
    ) -> None:
        self._data, self._walks = gathering.data, gathering.dim_map
        self._axis = gathering.call.places[0]
        self._at, self._positions, self._out, self._run = at, positions, out, run

    def fill(self) -> None:
        """Read the chunk, and hand its elements to their places."""
        if self._run.places is None:
            self._from_one(self._run.first, self._run.last)
        else:
            self._scatter(self._run.places)

    def _read(self, first: int, last: int) -> AnyArray:
        """Read the positions from first to last."""
        dims = range(len(self._data.shape))
        box = tuple((first, last + 1) if d == self._axis else self._at[d] for d in dims)
        return self._data.read(box)

    def _from_one(self, first: int, last: int) -> None:
        """Store all of the part, as `engine` would store the output of a call."""
        import numpy as np

        chunk = self._read(first, last)
        where = self._positions - first
        fills = int(where.min()) < 0
        if fills:
            where[where < 0] = -1
        how = IndexPolicy(last - first + 1, wraps=False, outside=OutOfRange.ZERO)
        picks = ResolvedIndices(where, how, IndexKind.PLAIN, fills=fills)
        kernel = Kernel(self._walks, chunk, self._axis, picks)
        whole = self._out.flags.c_contiguous
        made = self._out if whole else np.empty(self._out.shape, self._out.dtype)
        Worker(kernel).fill(0, made.size, made.reshape(-1).view(np.uint8))
        if not whole:
            self._out[...] = made

    def _scatter(self, order: AnyArray) -> None:
        """Store what is at some flat places, a piece at a time."""
        import numpy as np

        alone = [o for o, (d, _) in enumerate(self._walks) if d is None]
        follow = self._positions.flags.c_contiguous and self._out.flags.c_contiguous
        if alone and follow and all(i is not None for _, i in self._walks):
            self._scatter_flat(order, alone)
            return
        places = np.unravel_index(order, self._positions.shape)
        positions = self._positions[places]
        first = int(positions.min())
        chunk = self._read(first, int(positions.max()))
        positions -= first
        free = [n for n, (_, i) in zip(self._out.shape, self._walks, strict=True) if i is None]
        shares = any(None not in walk for walk in self._walks)
        put = self._put_shared if shares else self._put
        step = max(1, PIECE // max(1, product(free)))
        for start in range(0, order.size, step):
            part = slice(start, start + step)
            put(chunk, positions[part], tuple(each[part] for each in places))

    def _scatter_flat(self, order: AnyArray, alone: Sequence[int]) -> None:
        """Store what is at some flat places, where each has an index and they follow each other."""
        import numpy as np

        positions = self._positions.reshape(-1)[order]
        first = int(positions.min())
        chunk = self._read(first, int(positions.max()))
        source, out = np.ascontiguousarray(chunk).reshape(-1), self._out.reshape(-1)
        shape = self._out.shape
        behind, batch = product(shape[alone[-1] + 1 :]), product(shape[alone[0] :])
        for start in range(0, order.size, PIECE):
            places = order[start : start + PIECE]
            at = positions[start : start + PIECE] - first
            if behind > 1:
                at *= behind
                at += places - places // behind * behind  # numpy divides faster than it takes %
            if batch < out.size:
                at += places // batch * (chunk.shape[self._axis] * behind)
            out[places] = source.take(at)

    def _put(self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]) -> None:
        """Store what all of `data` around the axis shares its indices for."""
        walked = [o for o, (_, i) in enumerate(self._walks) if i is not None]
        index: list[Any] = [slice(None)] * self._out.ndim
        alone = positions.size == 1  # what is as large as a piece is copied once, not twice
        for o, each in zip(walked, places, strict=True):
            index[o] = each[0] if alone else each
        if alone:
            self._out[tuple(index)] = chunk[(slice(None),) * self._axis + (positions[0],)]
        else:
            self._out[tuple(index)] = chunk.take(positions, self._axis)

    def _put_shared(
        self, chunk: AnyArray, positions: AnyArray, places: tuple[AnyArray, ...]
    ) -> None:
        """Store what has indices of its own at every coordinate that `data` shares with them."""
        dim_map = list(enumerate(self._walks))
        at: dict[int | None, AnyArray] = {d: places[i] for _, (d, i) in dim_map if i is not None}
        at[self._axis] = positions
        free = [(o, d) for o, (d, i) in dim_map if i is None and d is not None]
        picked = [d for d in range(chunk.ndim) if d in at]
        walked = [o for o, (_, i) in dim_map if i is not None]
        source = chunk.transpose(*picked, *(d for _, d in free))
        target = self._out.transpose(*walked, *(o for o, _ in free))
        target[places] = source[tuple(at[d] for d in picked)]
