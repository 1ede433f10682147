"""The output of a call, in parts, in blocks or as a whole; what is in memory or mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.arrays.indices import SteppedTuples
from gathercli.arrays.kernel import Kernel
from gathercli.arrays.memory import one_axis
from gathercli.arrays.sources import SourceKernel
from gathercli.arrays.tensor import Tensor
from gathercli.arrays.threads import share
from gathercli.errors import LimitError
from gathercli.ops import FAMILIES
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import LARGEST, MAX_RANK, product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Protocol

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.kernel import Points
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import AxisGather

SHARED: Final = 4 << 20
"""Bytes of output from which a second thread is worth starting."""


PARTS: Final = 4
"""Blocks made at a time where the output is in memory, and large."""


if TYPE_CHECKING:

    class Result(Protocol):
        """Elements, block by block: in memory, streamed from chunks, or converted."""

        @property
        def dtype(self) -> DType:
            """The type of the elements."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Sizes of the dimensions."""

        @property
        def storage(self) -> np.dtype[Any]:
            """The numpy dtype of the elements, in native byte order."""

        @property
        def nbytes(self) -> int:
            """Bytes the elements take."""

        def blocks(self) -> Iterator[AnyArray]:
            """Yield the elements in row-major order, flat; a block is good until the next."""

        def place(self, put: Callable[[AnyArray, int], None]) -> None:
            """Give the bytes in blocks, in whatever order, each with where it belongs."""

        def whole(self) -> Tensor:
            """Return all of it."""

        def source(self) -> BlockSource:
            """Return what makes any box of it."""

    class GatherOutput(Result, Protocol):
        """The output of a call whose every index was checked."""

        @property
        def bound(self) -> BoundCall:
            """The call, and the tensors it is of."""

        @property
        def adjustments(self) -> tuple[Adjustment, ...]:
            """What became of indices outside the axis."""

        @property
        def threads(self) -> int:
            """How many may copy."""

        @property
        def progress(self) -> ProgressCallback | None:
            """What takes how far they are."""

        def parts(self) -> Callable[[int, int], AnyArray]:
            """Return what gives any part, flat, by its first and last position."""

        def stored(self, out: AnyArray | None) -> Tensor:
            """Return all of it, in `out` if that is given."""

        def report_progress(self, what: str, done: int) -> None:
            """Say that so many bytes have been `what`."""


class GatherResult:
    """The output of a call in memory or mapped, whose every index was checked.

    Attributes
    ----------
    bound, shape, dtype
        The call and its tensors, and the output's shape and type.
    adjustments
        What became of indices outside the axis.
    """

    def __init__(
        self,
        bound: BoundCall,
        tensors: Mapping[str, Tensor],
        points: Mapping[str, Points],
        adjustments: Sequence[Adjustment],
        *,
        threads: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        call, data = bound.call, next(iter(tensors.values()))
        self.bound, self.dtype, self.adjustments = bound, data.dtype, tuple(adjustments)
        self.shape = bound.shape
        self.threads, self.progress, self._points = threads, progress, points
        family = FAMILIES[call.op.family]
        gather = family.as_gather(call)
        try:
            if gather is None:
                self._kernel: Kernel | SourceKernel = SourceKernel(family, call, tensors, points)
            else:
                (indices,) = points.values()
                self._kernel = _kernel(gather, data.array, indices)
        except MemoryError as error:  # an array laid out so that it must be copied
            raise no_memory(error) from None

    @property
    def uses_each_once(self) -> bool:
        """Whether no index picks more than one stretch of `data`, so that each is seen once."""
        return self._kernel.uses_each_once

    @property
    def storage(self) -> Any:
        """The numpy dtype of the elements, in native byte order."""
        return self._kernel.dtype.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return self._kernel.size * int(self.storage.itemsize)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def positions(self, name: str = "indices") -> AnyArray:
        """Return where each index of an input points, -1 for nowhere: its shape, int64."""
        return self._points[name].whole()

    def source(self) -> BlockSource:
        """Return what makes any box of the output; all of it, where it gathers along no axis."""
        from gathercli.arrays.blocks import GatherBlocks, WholeBlocks

        if FAMILIES[self.bound.call.op.family].as_gather(self.bound.call) is None:
            return WholeBlocks(self.bound.data, self.whole())
        return GatherBlocks(self.bound)

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return what gives any part of the output, flat, by its first and last position.

        A part is good until the next: they share one buffer.
        """
        itemsize, worker = self.storage.itemsize, self._kernel.worker()
        buffer = np.empty(0, np.uint8)

        def part(start: int, stop: int) -> AnyArray:
            nonlocal buffer
            size = (stop - start) * itemsize
            if buffer.size < size:
                buffer = np.empty(size, np.uint8)
            worker.fill(start, stop, buffer[:size])
            return np.ndarray(stop - start, self.storage, buffer)

        return part

    def blocks(self, cells: int | None = None) -> Iterator[AnyArray]:
        """Yield the output in row-major order, flat, up to `cells` elements at a time.

        A block is good until the next: they share one buffer.
        """
        cells = cells or self._kernel.block
        part, total = self.parts(), self._kernel.size
        for start in range(0, total, cells):
            stop = min(start + cells, total)
            yield part(start, stop)
            self.report_progress("gathered", stop * self.storage.itemsize)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Give the output in blocks, by several threads, in whatever order they are done.

        Parameters
        ----------
        put
            Takes the bytes of a block, uint8, which are good until it returns, and where in the
            output they belong.
        """
        block, itemsize = self._kernel.block, self.storage.itemsize

        def worker() -> Callable[[int, int], None]:
            part = self.parts()
            return lambda start, stop: put(_bytes(part(start, stop)), start * itemsize)

        self._share(worker, block)

    def whole(self) -> Tensor:
        """Return all of the output."""
        try:
            out = np.empty(self.shape, self.storage)
        except MemoryError as error:
            raise no_memory(error) from None
        self.store(out)
        return Tensor(self.dtype, out)

    def stored(self, out: AnyArray | None) -> Tensor:
        """Return all of the output, in `out` if that is given."""
        if out is None:
            return self.whole()
        self.store(out)
        return Tensor(self.dtype, out)

    def store(self, out: AnyArray) -> None:
        """Store all of the output.

        Parameters
        ----------
        out
            The output's shape, C-ordered, elements of its size: takes them in native byte order.
        """
        if not out.nbytes:
            return
        flat, itemsize = _bytes(out.reshape(-1)), out.itemsize

        def worker() -> Callable[[int, int], None]:
            fill = self._kernel.worker().fill
            return lambda start, stop: fill(start, stop, flat[start * itemsize : stop * itemsize])

        # Nothing is buffered: fewer and larger parts disturb the other threads less.
        self._share(worker, self._kernel.block * (PARTS if self.nbytes >= PARTS * SHARED else 1))

    def _share(self, worker: Callable[[], Callable[[int, int], None]], cells: int) -> None:
        """Let threads make parts of so many elements, if the output is worth more than one."""
        total, itemsize = self._kernel.size, self.storage.itemsize

        def numbered() -> Callable[[int], None]:
            do = worker()
            return lambda part: do(part * cells, min((part + 1) * cells, total))

        if self.nbytes:
            threads = self.threads if self.nbytes >= SHARED else 1
            told = (
                None
                if self.progress is None
                else lambda done: self.report_progress("gathered", done * cells * itemsize)
            )
            share(-(-total // cells), numbered, threads, told)

    def report_progress(self, what: str, done: int) -> None:
        """Say that so many bytes of the output have been `what`."""
        if self.progress is not None:
            self.progress(what, min(done, self.nbytes), self.nbytes)


def _kernel(gather: AxisGather, data: AnyArray, points: Points) -> Kernel:
    """Make what copies along one axis, which may stand for several of `data`."""
    axis, count = gather.axis, data.ndim - len(gather.view) + 1
    view, steps = one_axis(data, axis, count, gather.view)
    if steps is None:
        return Kernel(gather.dim_map, view, axis, points)
    stepped = SteppedTuples(points, data.shape[axis : axis + count], steps)
    return Kernel(gather.dim_map, view, axis, stepped)


def _bytes(flat: AnyArray) -> AnyArray:
    """View the bytes of elements that lie side by side."""
    return flat.view(np.uint8)


def no_memory(error: MemoryError) -> LimitError:
    """Turn numpy's refusal to allocate into ours."""
    return LimitError(f"there is not enough memory ({error})", rule="limit")


def check_size(shape: tuple[int, ...], data: Tensor | ChunkedTensor, max_bytes: int | None) -> None:
    """Refuse a result that is too large before any of it is allocated.

    Raises
    ------
    LimitError
        ``limit``.
    """
    result = described(data.dtype, ",".join(map(str, shape)))
    if len(shape) > MAX_RANK:
        raise LimitError(
            f"the result {result} has rank {len(shape)}: expected at most {MAX_RANK}",
            rule="limit",
            value=len(shape),
            expected=f"rank at most {MAX_RANK}",
        )
    itemsize = data.storage.itemsize
    size = product(shape) * itemsize
    spanned = product([n for n in shape if n]) * itemsize
    if max_bytes is not None and size > max_bytes:
        raise LimitError.over(f"the result {result} takes {size} bytes", size, max_bytes)
    if spanned > LARGEST:
        raise LimitError(
            f"the result {result} spans {spanned} bytes, more than can be addressed: "
            f"expected at most {LARGEST} bytes",
            rule="limit",
            value=spanned,
            expected=f"at most {LARGEST} bytes",
        )
