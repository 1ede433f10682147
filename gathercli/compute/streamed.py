"""Compute results slab by slab, in boxes that fit in memory and rarely need the same chunk."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from itertools import product as combinations
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute import check
from gathercli.compute.blocks import CHUNK_COPIES
from gathercli.compute.chunks import ChunkGrid, cells, cuts, everything, sizes, tiled
from gathercli.compute.kernel import BLOCK_BYTES
from gathercli.compute.result import ComputedResult
from gathercli.compute.threads import share
from gathercli.errors import LimitError
from gathercli.spec.adjustments import IndexCount, IndexCounts, are_tuples, check_counts
from gathercli.spec.shapes import coordinates, flat_positions, product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gathercli.compute.blocks import BlockSource
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.adjustments import Adjustment

LEAST_TASK_BYTES: Final = 64 << 20
"""Bytes of output that make a box worth a task, whatever it reads."""

PROGRAM_BYTES: Final = 96 << 20
"""Bytes of the program itself."""

BOX_SHARE, LEAST_BOX_SHARE = 2 / 3, 0.4
"""The share of the remaining memory for a box, as freed memory does not return at once; and the
share of all memory that a box may use in any case."""

MOST_BOX_BYTES: Final = 1 << 30
"""Bytes of a box without a memory limit."""


class BlockResult(ComputedResult):
    """An output that is computed slab by slab within `memory` bytes, None for no limit."""

    def __init__(
        self,
        source: BlockSource,
        memory: int | None,
        *,
        threads: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._source, self.progress = source, progress
        self.dtype, self.shape = source.data.dtype, source.shape
        self.threads, self._slabs = cut_boxes(source, None, memory, threads)
        # Slab k spans the flat positions from _ends[k] to before _ends[k + 1].
        self._ends = [0, *accumulate(map(cells, self._slabs))]
        self.storage = source.data.storage
        self.nbytes = self._ends[-1] * self.storage.itemsize
        self._block = max(1, BLOCK_BYTES // max(1, self.storage.itemsize))

    def source(self) -> BlockSource:
        """Return the source of any box of the output."""
        return self._source

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return a function that computes any part, as `GatherResult.parts` does."""
        current, slab = -1, np.empty(0, self.storage)  # the number and elements of the last slab

        def part(start: int, stop: int) -> AnyArray:
            nonlocal current, slab
            pieces: list[AnyArray] = []
            while start < stop:
                number = bisect_right(self._ends, start) - 1
                if current != number:
                    slab = self._source.block(self._slabs[number], self.threads).reshape(-1)
                    current = number
                first, end = self._ends[number], min(stop, self._ends[number + 1])
                pieces.append(slab[start - first : end - first])
                start = end
            return pieces[0] if len(pieces) == 1 else np.concatenate([slab[:0], *pieces])

        return part

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the output to `put` slab by slab, as `GatherResult.place` does."""
        itemsize = self.storage.itemsize
        for start, stop, box in zip(self._ends, self._ends[1:], self._slabs, strict=False):
            block = self._source.block(box, self.threads)
            put(block.reshape(-1).view(np.uint8), start * itemsize)
            self.report_progress("gathered", stop * itemsize)

    def store(self, out: AnyArray) -> None:
        """Compute all elements into `out`, as `GatherResult.store` does."""
        flat = out.reshape(-1).view(np.uint8)

        def put(part: AnyArray, start: int) -> None:
            flat[start : start + part.size] = part

        self.place(put)


class StreamedResult(BlockResult):
    """The output of a call, computed slab by slab, with every index checked."""

    def __init__(
        self,
        bound: BoundCall,
        adjustments: Iterable[Adjustment],
        memory: int | None,
        *,
        threads: int,
        progress: ProgressCallback | None,
    ) -> None:
        from gathercli.compute.blocks import GatherBlocks

        super().__init__(GatherBlocks(bound), memory, threads=threads, progress=progress)
        self.bound, self.adjustments = bound, tuple(adjustments)


def check_chunks(
    bound: BoundCall, *, threads: int = 1, progress: ProgressCallback | None = None
) -> list[Adjustment]:
    """Check every index, chunk by chunk, as `check.check_input` does."""
    call, indices = bound.call, bound.indices
    axes = call.family.indexed_axes(call)
    if indices.in_memory is not None:
        array = indices.in_memory.array
        return check.check_input(call, axes, array, threads=threads, progress=progress)[1]
    tuples = are_tuples(axes)
    grid = ChunkGrid(everything(indices.shape), _larger_chunks(indices, whole_rows=tuples))
    totals = [IndexCounts(IndexCount(), IndexCount(), IndexCount()) for _ in axes]
    policies, lock = check.policies_of(call, axes), Lock()
    counts = check.adjusts_negative(call)

    def scan(number: int) -> None:
        box = grid.part(number)
        part = check.count(indices.read(box), policies, counts=counts, tuples=tuples)[0]
        for count in (count for each in part for count in each):
            _locate(count, box, indices.shape)
        # The sum does not depend on the order of the threads: `|` keeps the first index.
        with lock:
            totals[:] = [
                IndexCounts(*(one | other for one, other in zip(total, each, strict=True)))
                for total, each in zip(totals, part, strict=True)
            ]

    nbytes = product(indices.shape) * indices.storage.itemsize

    def report(done: int) -> None:
        if progress is not None:
            progress("checked", nbytes * done // grid.number, nbytes)

    share(grid.number, lambda: scan, threads, report)
    return check_counts(call, axes, totals, indices.shape)


def _larger_chunks(tensor: ChunkedTensor, *, whole_rows: bool) -> list[int]:
    """Return the sizes of boxes of whole chunks, one chunk or up to `BLOCK_BYTES` bytes.

    With `whole_rows` a box has all of the last dimension.
    """
    sizes = list(tensor.chunks)
    if whole_rows:
        sizes[-1] = max(1, tensor.shape[-1])
    for d in reversed(range(len(sizes))):
        room = (BLOCK_BYTES // tensor.storage.itemsize) // max(1, product(sizes))
        sizes[d] *= max(1, min(room, -(-tensor.shape[d] // sizes[d])))
    return sizes


def _locate(count: IndexCount, box: Box, shape: Sequence[int]) -> None:
    """Convert the first position of a count from one in `box` to one in a tensor of `shape`.

    Row-major order in a box is row-major order in the tensor, so the first index stays the first.
    """
    places = coordinates(count.first, sizes(box))
    at = [start + place for (start, _), place in zip(box, places, strict=True)]
    count.first = flat_positions(at, shape, none=False)


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
    threads to use: fewer if memory is short. Raise `LimitError` if the smallest box does not fit.
    """
    if 0 in source.shape:
        return 1, []
    most = MOST_BOX_BYTES
    if memory is not None:
        most = int(max((memory - PROGRAM_BYTES) * BOX_SHARE, memory * LEAST_BOX_SHARE))
    while True:
        try:
            if chunks is None:
                return threads, _slabs(source, most, threads)
            return threads, _chunk_boxes(source, chunks, most, threads, least)
        except LimitError:
            if threads == 1:
                raise
            threads //= 2


def _chunk_boxes(
    source: BlockSource, chunks: Sequence[int], most: int, threads: int, least: int
) -> list[Box]:
    """Cut an output into boxes of whole chunks.

    A box grows first along the dimensions of `indices` alone, where a larger box reads no more
    chunks of `data` than two smaller ones.
    """
    shape, itemsize = source.shape, source.data.storage.itemsize
    counts = [-(-n // size) for n, size in zip(shape, chunks, strict=True)]
    factors = [1] * len(shape)  # chunks of a box along each dimension

    def box(factors: Sequence[int]) -> Box:
        # The box at the origin: no other box of these factors is larger.
        return tuple((0, min(f * c, n)) for f, c, n in zip(factors, chunks, shape, strict=True))

    def cost(factors: Sequence[int]) -> int:
        writers = min(threads, product(factors))
        output = itemsize * (cells(box(factors)) + writers * CHUNK_COPIES * product(chunks))
        # The box is written after it is computed: the two costs do not add up.
        return max(source.cost(box(factors), threads), output)

    def fits(factors: Sequence[int]) -> bool:
        number = product([-(-count // f) for count, f in zip(counts, factors, strict=True)])
        return number >= least and cost(factors) <= most

    _check(cost(factors), most)
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
    return [tuple(box[dims.index(o)] for o in range(len(shape))) for box in boxes]


def _slabs(source: BlockSource, most: int, threads: int) -> list[Box]:
    """Cut an output into contiguous boxes, row-major."""
    shape = source.shape
    steps = [1] * len(shape)

    def cost(steps: Sequence[int]) -> int:
        return source.cost(everything(steps), threads)

    _check(cost(steps), most)
    for o in reversed(range(len(shape))):
        steps[o] = _grow(steps, o, shape[o], lambda steps: cost(steps) <= most)
        # Several rows are contiguous only if they are whole.
        if steps[o] < shape[o]:
            break
    return list(tiled(everything(shape), steps))


def _check(cost: int, most: int) -> None:
    """Raise `LimitError` if the smallest box is too large."""
    if cost > most:
        # The inverse of `most` in `cut_boxes`: a limit with which this box fits.
        enough = min(cost / LEAST_BOX_SHARE, PROGRAM_BYTES + cost / BOX_SHARE)
        raise LimitError(
            f"a chunk of the result, and what is read for it, takes about {in_bytes(cost)}",
            rule="limit",
            value=cost,
            expected=f"at most {in_bytes(most)}",
            remark=", which is what the limit leaves for it",
            hint=f"`--max-bytes {ceil(enough / 10**6)}M`, or smaller chunks (`--chunks`)",
        )


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
