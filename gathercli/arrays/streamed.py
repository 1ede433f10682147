"""Results that are made slab by slab, where their elements follow each other row-major."""

from __future__ import annotations

from bisect import bisect_right
from threading import Lock
from typing import TYPE_CHECKING

from gathercli.arrays import check, result
from gathercli.arrays.chunks import ChunkGrid, InMemory, cells, everything, sizes
from gathercli.arrays.counts import IndexCount, IndexCounts, count_indices
from gathercli.arrays.indices import IndexPolicy
from gathercli.arrays.kernel import BLOCK
from gathercli.arrays.partition import divided
from gathercli.arrays.tensor import Tensor
from gathercli.arrays.threads import share
from gathercli.errors import GatherError
from gathercli.spec.coordinates import coordinate
from gathercli.spec.dtypes import described
from gathercli.spec.op import Indices, Negative
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    import numpy as np

    from gathercli.arrays.blocks import BlockSource, GatherBlocks
    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.chunks import Box, ChunkedTensor
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback


class BlockResult:
    """An output that is made slab by slab, never held as a whole.

    Parameters
    ----------
    held
        Bytes of memory for it; None for any.
    threads
        How many may work.
    tick
        Is told how many bytes were made, and of how many.

    Attributes
    ----------
    making
        What makes its boxes.
    dtype, shape
        Its type and shape.
    """

    def __init__(
        self,
        making: BlockSource,
        held: int | None,
        *,
        threads: int = 1,
        tick: ProgressCallback | None = None,
    ) -> None:
        self.making, self.tick = making, tick
        self.dtype, self.shape = making.data.dtype, making.shape
        self.threads, self._slabs = divided(making, None, held, threads)
        self._ends = [0]
        for box in self._slabs:
            self._ends.append(self._ends[-1] + cells(box))

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype of the elements, in native byte order."""
        return self.making.data.storage

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return self._ends[-1] * self.storage.itemsize

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return what gives any part of the output, as `engine.Run.parts` does."""
        import numpy as np

        held: tuple[int, AnyArray] = -1, np.empty(0, self.storage)

        def part(start: int, stop: int) -> AnyArray:
            nonlocal held
            found: list[AnyArray] = []
            while start < stop:
                number = bisect_right(self._ends, start) - 1
                if held[0] != number:
                    held = number, self.making.block(self._slabs[number], self.threads).reshape(-1)
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
            self.told("gathered", stop * self.storage.itemsize)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Give the output slab by slab, as `engine.Run.place` does."""
        import numpy as np

        itemsize = self.storage.itemsize
        for start, stop, box in zip(self._ends, self._ends[1:], self._slabs, strict=False):
            block = self.making.block(box, self.threads)
            put(block.reshape(-1).view(np.uint8), start * itemsize)
            self.told("gathered", stop * itemsize)

    def whole(self) -> Tensor:
        """Return all of the output."""
        import numpy as np

        try:
            out = np.empty(self.shape, self.storage)
        except MemoryError as error:
            raise result.no_memory(error) from None
        flat = out.reshape(-1).view(np.uint8)

        def put(part: AnyArray, at: int) -> None:
            flat[at : at + part.size] = part

        self.place(put)
        return Tensor(self.dtype, out)

    def told(self, what: str, done: int) -> None:
        """Say that so many bytes of the output have been `what`."""
        if self.tick is not None:
            self.tick(what, min(done, self.nbytes), self.nbytes)


class Run(BlockResult, result.Run):
    """A call of which every index was checked, and whose output is made slab by slab."""

    def __init__(
        self,
        gathering: GatherBlocks,
        adjustments: Iterable[Adjustment],
        held: int | None,
        *,
        threads: int,
        tick: ProgressCallback | None,
    ) -> None:
        BlockResult.__init__(self, gathering, held, threads=threads, tick=tick)
        self.call, self.adjustments = gathering.call, tuple(adjustments)


def run(
    gathering: GatherBlocks,
    *,
    max_bytes: int | None = None,
    held: int | None = None,
    threads: int = 1,
    tick: ProgressCallback | None = None,
) -> result.Run:
    """Check every index and the size of the result, as `engine.run` does.

    Parameters
    ----------
    held
        Bytes of memory for the result where it is made slab by slab; None for any.
    """
    call, data, indices = gathering
    if isinstance(data, InMemory) and isinstance(indices, InMemory):
        return result.run(
            call, data.tensor, indices.tensor, max_bytes=max_bytes, threads=threads, tick=tick
        )
    try:
        adjustments = check_indices(gathering, threads=threads, tick=tick)
        result.check_size(gathering.shape, data, max_bytes)
        return Run(gathering, adjustments, held, threads=threads, tick=tick)
    except GatherError as error:
        call.met(error)
        raise


def check_indices(
    gathering: GatherBlocks, *, threads: int = 1, tick: ProgressCallback | None = None
) -> list[Adjustment]:
    """Look at every index, chunk by chunk, as `engine.check_indices` does.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    """
    call, indices = gathering.call, gathering.indices
    if isinstance(indices, InMemory):
        return check.check_indices(call, indices.tensor.array, threads=threads, tick=tick)[1]
    tiling = ChunkGrid(everything(indices.shape), _larger(indices))
    found, lock = IndexCounts(IndexCount(), IndexCount(), IndexCount()), Lock()
    how = IndexPolicy(call.size, call.wraps_negative, call.outside)
    counts = call.negative is Negative.ERROR or call.op.indices is Indices.UNSIGNED

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
        None if tick is None else lambda done: tick("checked", total * done // tiling.number, total)
    )
    share(tiling.number, lambda: look, threads, told)
    return check.check_counts(call, found, indices.shape)


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
