"""Results: elements in parts, in blocks or as a whole, of tensors in memory or read in chunks."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute import native
from gathercli.compute.bound import BoundCall, fill_bytes
from gathercli.compute.indices import ResolvedIndices
from gathercli.compute.kernel import BLOCK_BYTES, Kernel
from gathercli.compute.native import UNINTERRUPTED_BYTES
from gathercli.compute.storage import AnyArray, one_axis
from gathercli.compute.tensor import Result, Tensor
from gathercli.compute.threads import ProgressCallback, share
from gathercli.errors import LimitError
from gathercli.spec.call import Call
from gathercli.spec.op import AxisGather, OffAxis
from gathercli.spec.shapes import known, product

if TYPE_CHECKING:
    from gathercli.compute.chunks import BlockSource
    from gathercli.compute.native import CallPlan
    from gathercli.spec.adjustments import Adjustment


SOURCE_CELLS: Final = 1 << 15  # output cells computed at a time: their positions stay in the cache
LEAST_SHARED_BYTES: Final = 4 << 20  # bytes of output from which a second thread is worth it
PART_BLOCKS: Final = 4  # blocks of a part where a large output is stored in memory
# Bytes of all threads' buffers where larger blocks are worth their memory.
BUFFER_BYTES: Final = 32 << 20


class ComputedResult(Result):
    """A result that is computed part by part: the base of `GatherResult` and `BlockResult`.

    `threads` are the most that copy, and `progress` takes ``gathered`` or the like, the bytes done
    and `nbytes`. A block has `_block` elements.
    """

    storage: np.dtype[Any]  # in native byte order
    nbytes: int
    raw = None  # the elements are no bytes yet, as those of a `Tensor` may be
    threads: int
    progress: ProgressCallback | None
    _block: int

    @abstractmethod
    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return a function of two flat positions that computes the elements between them."""

    @abstractmethod
    def source(self) -> BlockSource:
        """Return a source of any box of the output."""

    @abstractmethod
    def store(self, out: AnyArray) -> None:
        """Compute all elements into `out`, C-ordered, of the output's shape, native byte order."""

    def blocks(self, cells: int | None = None) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, up to `cells` at a time."""
        cells = cells or self._block
        part, total = self.parts(), product(self.shape)
        for start in range(0, total, cells):
            stop = min(start + cells, total)
            yield part(start, stop)
            self.report_progress("gathered", stop * self.storage.itemsize)

    def whole(self) -> Tensor:
        """Return the whole output in memory."""
        return self.stored(None)

    def stored(self, out: AnyArray | None) -> Tensor:
        """Return the whole output, stored in `out` unless it is None."""
        if out is None:
            try:
                out = np.empty(self.shape, self.storage)
            except MemoryError as error:
                raise no_memory(error) from None
        self.store(out)
        return Tensor(self.dtype, out)

    def report_progress(self, what: str, done: int) -> None:
        """Report that `done` bytes of the output have been ``gathered`` or the like."""
        if self.progress is not None:
            self.progress(what, min(done, self.nbytes), self.nbytes)


class GatherResult(ComputedResult):
    """The output of a call on tensors in memory or mapped, with every index checked."""

    def __init__(
        self,
        bound: BoundCall,
        tensors: Mapping[str, Tensor],
        points: Mapping[str, ResolvedIndices],
        adjustments: Sequence[Adjustment],
        *,
        threads: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        call, data = bound.call, next(iter(tensors.values()))
        self.bound, self.dtype, self.adjustments = bound, data.dtype, tuple(adjustments)
        self.shape = bound.shape
        self.threads, self.progress, self._points = threads, progress, points
        try:
            if call.gather is None or (call.fill is not None and points["indices"].fills):
                self._kernel: Kernel | SourceKernel = SourceKernel(call, tensors, points)
            else:
                (indices,) = points.values()
                self._kernel = _kernel(call.gather, data.array, indices)
        except MemoryError as error:  # the layout of an array requires a copy
            raise no_memory(error) from None
        self._block = self._kernel.block
        self.storage = self._kernel.dtype.newbyteorder("=")
        self.nbytes = self._kernel.size * self.storage.itemsize

    @property
    def uses_each_once(self) -> bool:
        """Whether each index picks one contiguous run of `data`, so that it is read once."""
        return self._kernel.uses_each_once

    def source(self) -> BlockSource:
        """Return a source of any box; it computes the whole output if there is no axis."""
        from gathercli.compute.blocks import GatherBlocks
        from gathercli.compute.chunks import CopyBlocks

        if isinstance(self._kernel, SourceKernel):
            return CopyBlocks(self.whole(), self.bound.data)
        return GatherBlocks(self.bound)

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return a function of two flat positions that computes the elements between them.

        Its result is valid until its next call, which reuses the buffer.
        """
        itemsize, worker = self.storage.itemsize, self._kernel.worker()
        buffer = np.empty(0, np.uint8)

        def part(start: int, stop: int) -> AnyArray:
            nonlocal buffer
            size = (stop - start) * itemsize
            if buffer.size < size:
                buffer = np.empty(size, np.uint8)
            if size:  # a fill reads its first index
                worker.fill(start, stop, buffer[:size])
            return np.ndarray(stop - start, self.storage, buffer)

        return part

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the bytes to `put` in blocks, from several threads and in any order.

        They are uint8, valid until `put` returns, and come with their offset.
        """
        itemsize = self.storage.itemsize

        def worker() -> Callable[[int, int], None]:
            part = self.parts()
            return lambda start, stop: put(part(start, stop).view(np.uint8), start * itemsize)

        cells = self._block
        if self._kernel.goes_by_columns:
            cells *= max(1, BUFFER_BYTES // (self.threads * cells * itemsize))
        self._share(worker, cells, self._most_threads)

    @property
    def _most_threads(self) -> int:
        return self.threads if self.nbytes >= LEAST_SHARED_BYTES else 1

    def plan(self) -> CallPlan | None:
        """Return the plan of calls alike; None if the kernel in C does not serve them at once."""
        call, kernel = self.bound.call, self._kernel
        how = call.op.adapts
        # A framework that cuts indices does so by their values.
        as_given = not self.bound.changes_inputs and (how is None or how.index_bits == 64)
        if call.gather is None or call.op.flattens_batch or not as_given:
            return None
        if not isinstance(kernel, Kernel) or kernel.threaded(1) is None:
            return None
        smaller = call.op.off_axis is OffAxis.AT_MOST and not call.batch_dims
        limits = (self.threads, LEAST_SHARED_BYTES, UNINTERRUPTED_BYTES)
        signature = kernel.signature(call.gather, int(call.op.tuples), int(smaller), *limits)
        return partial(native.fill_again, np.array(signature, np.int64), np.empty)

    def store(self, out: AnyArray) -> None:
        """Copy all elements to `out`, C-ordered, of the output's shape, in native byte order."""
        if not out.nbytes:
            return
        flat, itemsize = out.reshape(-1).view(np.uint8), out.itemsize

        threads = self._most_threads
        threaded = self._kernel.threaded(threads)

        def worker() -> Callable[[int, int], None]:
            fill = (threaded or self._kernel.worker()).fill
            return lambda start, stop: fill(start, stop, flat[start * itemsize : stop * itemsize])

        # Nothing is buffered: fewer and larger parts disturb the other threads less.
        blocks = PART_BLOCKS if self.nbytes >= PART_BLOCKS * LEAST_SHARED_BYTES else 1
        if threaded:
            blocks, threads = max(1, UNINTERRUPTED_BYTES // (self._block * itemsize)), 1
        if self._kernel.goes_by_columns:
            blocks = max(blocks, -(-self._kernel.size // (self._block * threads)))
        self._share(worker, self._block * blocks, threads)

    def _share(
        self, worker: Callable[[], Callable[[int, int], None]], cells: int, threads: int
    ) -> None:
        """Split the output into parts of `cells` elements and copy them with threads."""
        total, itemsize = self._kernel.size, self.storage.itemsize

        def numbered() -> Callable[[int], None]:
            copy = worker()
            return lambda part: copy(part * cells, min((part + 1) * cells, total))

        def report(done: int) -> None:
            self.report_progress("gathered", done * cells * itemsize)

        if self.nbytes:
            share(-(-total // cells), numbered, threads, report if self.progress else None)


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
        from gathercli.compute.chunks import cells, cut_boxes

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


def source_of(result: Result) -> BlockSource:
    """Return a source of any box of a result; what is not computed in boxes becomes whole."""
    from gathercli.compute.chunks import CopyBlocks

    if isinstance(result, ComputedResult):
        return result.source()
    return CopyBlocks(result.whole())


def _kernel(gather: AxisGather, data: AnyArray, points: ResolvedIndices) -> Kernel:
    """Return the kernel of a gather along one axis, which may merge several of `data`."""
    axis, count = gather.axis, data.ndim - len(gather.view) + 1
    view, steps = one_axis(data, axis, count, gather.view)
    return Kernel(gather.dim_map, view, axis, points.along(steps))


def no_memory(error: MemoryError) -> LimitError:
    """Return the `LimitError` of an allocation that numpy refused."""
    return LimitError(f"there is not enough memory ({error})", rule="limit")


class SourceKernel:
    """The output of a call by the `sources` of its family, with the members of `Kernel`.

    The first of the `tensors` has the elements; `points` are the resolved indices of each input.
    """

    def __init__(
        self, call: Call, tensors: Mapping[str, Tensor], points: Mapping[str, ResolvedIndices]
    ) -> None:
        data, *more = (
            tensors[each.name].array
            for n, each in enumerate(call.op.inputs)
            if each.copied or not n
        )
        self.dtype, self.size = data.dtype, product(known(call.shape))
        self.block = SOURCE_CELLS
        self.uses_each_once = self.goes_by_columns = False
        self._call = call
        self._fill = fill_bytes(call, next(iter(tensors.values())).dtype)
        self._copied = [each.reshape(-1) for each in (data, *more)]
        self._points = {name: each.whole() for name, each in points.items()}

    def worker(self) -> SourceKernel:
        """Return the kernel itself, as threads share no state."""
        return self

    def threaded(self, threads: int) -> None:
        """Return None, as `Kernel.threaded` does where no worker starts threads itself."""

    def fill(self, start: int, stop: int, out: AnyArray) -> None:
        """Copy the output elements from `start` to before `stop` to `out`.

        `out` has shape ((stop - start) * itemsize,), uint8, for elements in native byte order.
        """
        native = self.dtype.newbyteorder("=")
        cells = np.arange(start, stop)
        at = self._call.family.sources(self._call, self._points, cells)
        elements = np.zeros(stop - start, native)
        if any(self._fill):
            elements[:] = np.frombuffer(self._fill, native.newbyteorder("<"))
        for each in self._copied:
            copied = (at >= 0) & (at < each.size)
            elements[copied] = each[at[copied]]
            at = at - each.size
        out[:] = elements.view(np.uint8)
