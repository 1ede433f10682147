"""Results that are made slab by slab, where their elements follow each other row-major."""

from __future__ import annotations

from bisect import bisect_right
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from gathercli.arrays import check
from gathercli.arrays.chunks import ChunkGrid, cells, everything, sizes
from gathercli.arrays.counts import IndexCount, IndexCounts, count_indices
from gathercli.arrays.indices import IndexPolicy
from gathercli.arrays.kernel import BLOCK
from gathercli.arrays.partition import divided
from gathercli.arrays.result import no_memory
from gathercli.arrays.tensor import Tensor
from gathercli.arrays.threads import share
from gathercli.ops import FAMILIES
from gathercli.spec.coordinates import coordinate
from gathercli.spec.dtypes import described
from gathercli.spec.op import IndexRange, Negative
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.chunks import Box, ChunkedTensor
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback


class BlockResult:
    """An output that is made slab by slab, never held as a whole.

    Parameters
    ----------
    source
        What makes its boxes.
    memory
        Bytes of memory for it; None for any.
    threads
        How many may work.
    progress
        Takes how many bytes were made, and of how many.

    Attributes
    ----------
    dtype, shape
        Its type and shape.
    """

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
        self.threads, self._slabs = divided(source, None, memory, threads)
        self._ends = [0]
        for box in self._slabs:
            self._ends.append(self._ends[-1] + cells(box))

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype of the elements, in native byte order."""
        return self._source.data.storage

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return self._ends[-1] * self.storage.itemsize

    def source(self) -> BlockSource:
        """Return what makes any box of the output."""
        return self._source

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return what gives any part of the output, as `GatherResult.parts` does."""
        held: tuple[int, AnyArray] = -1, np.empty(0, self.storage)

        def part(start: int, stop: int) -> AnyArray:
            nonlocal held
            found: list[AnyArray] = []
            while start < stop:
                number = bisect_right(self._ends, start) - 1
                if held[0] != number:
                    held = (
                        number,
                        self._source.block(self._slabs[number], self.threads).reshape(-1),
                    )
                base, end = self._ends[number], min(stop, self._ends[number + 1])
                found.append(held[1][start - base : end - base])
                start = end
            return found[0] if len(found) == 1 else np.concatenate([held[1][:0], *found])

        return part

    def blocks(self, cells: int | None = None) -> Iterator[AnyArray]:
        """Yield the output in row-major order, flat, up to `cells` elements at a time."""
        cells = cells or max(1, BLOCK // self.storage.itemsize)
        part, total = self.parts(), self._ends[-1]
        for start in range(0, total, cells):
            stop = min(start + cells, total)
            yield part(start, stop)
            self.report_progress("gathered", stop * self.storage.itemsize)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Give the output slab by slab, as `GatherResult.place` does."""
        itemsize = self.storage.itemsize
        for start, stop, box in zip(self._ends, self._ends[1:], self._slabs, strict=False):
            block = self._source.block(box, self.threads)
            put(block.reshape(-1).view(np.uint8), start * itemsize)
            self.report_progress("gathered", stop * itemsize)

    def whole(self) -> Tensor:
        """Return all of the output."""
        try:
            out = np.empty(self.shape, self.storage)
        except MemoryError as error:
            raise no_memory(error) from None
        return self.stored(out)

    def stored(self, out: AnyArray | None) -> Tensor:
        """Return all of the output, in `out` if that is given."""
        if out is None:
            return self.whole()
        flat = out.reshape(-1).view(np.uint8)

        def put(part: AnyArray, at: int) -> None:
            flat[at : at + part.size] = part

        self.place(put)
        return Tensor(self.dtype, out)

    def report_progress(self, what: str, done: int) -> None:
        """Say that so many bytes of the output have been `what`."""
        if self.progress is not None:
            self.progress(what, min(done, self.nbytes), self.nbytes)


class StreamedResult(BlockResult):
    """The output of a call whose every index was checked, made slab by slab."""

    def __init__(
        self,
        bound: BoundCall,
        adjustments: Iterable[Adjustment],
        memory: int | None,
        *,
        threads: int,
        progress: ProgressCallback | None,
    ) -> None:
        from gathercli.arrays.blocks import GatherBlocks

        super().__init__(GatherBlocks(bound), memory, threads=threads, progress=progress)
        self.bound, self.adjustments = bound, tuple(adjustments)


def check_indices(
    bound: BoundCall, *, threads: int = 1, progress: ProgressCallback | None = None
) -> list[Adjustment]:
    """Look at every index, chunk by chunk, as `check.check_indices` does.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """
    call, indices = bound.call, bound.indices
    (along,) = FAMILIES[call.op.family].indexed_axes(call)
    if indices.in_memory is not None:
        array = indices.in_memory.array
        return check.check_indices(call, along, array, threads=threads, progress=progress)[1]
    tiling = ChunkGrid(everything(indices.shape), _larger(indices))
    found, lock = IndexCounts(IndexCount(), IndexCount(), IndexCount()), Lock()
    how = IndexPolicy(along.size, call.wraps_negative, call.outside)
    counts = call.negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED

    def look(number: int) -> None:
        nonlocal found
        box = tiling.part(number)
        seen, _ = count_indices(indices.read(box), how, counts=counts)
        for tally in seen:
            _place(tally, box, indices.shape)
        with lock:
            found = IndexCounts(*(one | other for one, other in zip(found, seen, strict=True)))

    total = product(indices.shape) * indices.storage.itemsize
    told = (
        None
        if progress is None
        else lambda done: progress("checked", total * done // tiling.number, total)
    )
    share(tiling.number, lambda: look, threads, told)
    return check.check_counts(call, along, found, indices.shape)


def _larger(tiles: ChunkedTensor) -> list[int]:
    """Return sizes of boxes of whole chunks that are worth looking at one by one."""
    grown = list(tiles.chunks)
    for d in reversed(range(len(grown))):
        room = (BLOCK // tiles.storage.itemsize) // max(1, product(grown))
        grown[d] *= max(1, min(room, -(-tiles.shape[d] // grown[d])))
    return grown


def _place(tally: IndexCount, box: Box, shape: Sequence[int]) -> None:
    """Count the first of a box among all: what is row-major in a box is so in the whole."""
    at = 0
    for inner, (start, _), size in zip(
        coordinate(tally.first, sizes(box)), box, shape, strict=True
    ):
        at = at * size + start + inner
    tally.first = at
