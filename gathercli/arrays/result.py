"""The output of a call, in parts, in blocks or as a whole; what is in memory or mapped."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gathercli.arrays.check import Adjustment, check_indices
from gathercli.arrays.indices import (
    HELD,
    IndexPolicy,
    ResolvedIndices,
    UnexpectedIndicesError,
)
from gathercli.arrays.kernel import Kernel, Worker
from gathercli.arrays.tensor import Tensor
from gathercli.arrays.threads import share
from gathercli.errors import GatherError, LimitError
from gathercli.ops import FAMILIES
from gathercli.spec.coordinates import known
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import LARGEST, MAX_RANK, product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.spec.call import Call
from gathercli.engine import infer

SHARED: Final = 4 << 20
"""Bytes of output from which a second thread is worth starting."""


PARTS: Final = 4
"""Blocks made at a time where the output is in memory, and large."""


class Run:
    """A call whose every index was checked, ready to give its output.

    Attributes
    ----------
    call, shape, dtype
        The call, and the output's shape and type.
    treated
        What became of indices outside the axis.
    threads, tick
        How many may copy, and what is told how far they are.
    """

    def __init__(
        self,
        call: Call,
        data: Tensor,
        picks: ResolvedIndices,
        adjustments: Sequence[Adjustment],
        *,
        threads: int = 1,
        tick: ProgressCallback | None = None,
    ) -> None:
        self.call, self.dtype, self.adjustments = call, data.dtype, tuple(adjustments)
        self.shape = known(infer(call))
        self.threads, self.tick, self._picks = threads, tick, picks
        walks = FAMILIES[call.op.family].walks(call)
        try:
            self._kernel = Kernel(walks, data.array, call.places[0], picks)
        except MemoryError as error:  # an array laid out so that it must be copied
            raise no_memory(error) from None

    @property
    def uses_each_once(self) -> bool:
        """Whether no index picks more than one stretch of `data`, so that each is seen once."""
        return self._kernel.size == self._picks.indices.size * self._kernel.chunk

    @property
    def storage(self) -> Any:
        """The numpy dtype of the elements, in native byte order."""
        return self._kernel.held.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """Bytes the output takes."""
        return self._kernel.size * int(self.storage.itemsize)

    @property
    def picks(self) -> AnyArray:
        """Every index as a position on the axis, -1 for none: the shape of `indices`, int64."""
        return self._picks.whole()

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))

    def parts(self) -> Callable[[int, int], AnyArray]:
        """Return what gives any part of the output, flat, by its first and last position.

        A part is good until the next: they share one buffer.
        """
        import numpy as np

        itemsize, worker = self.storage.itemsize, Worker(self._kernel)
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
            self.told("gathered", stop * self.storage.itemsize)

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
        import numpy as np

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
            fill = Worker(self._kernel).fill
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
                if self.tick is None
                else lambda done: self.told("gathered", done * cells * itemsize)
            )
            share(-(-total // cells), numbered, threads, told)

    def told(self, what: str, done: int) -> None:
        """Say that so many bytes of the output have been `what`."""
        if self.tick is not None:
            self.tick(what, min(done, self.nbytes), self.nbytes)


def _bytes(flat: AnyArray) -> AnyArray:
    """View the bytes of elements that lie side by side."""
    import numpy as np

    return flat.view(np.uint8)


def no_memory(error: MemoryError) -> LimitError:
    """Turn numpy's refusal to allocate into ours."""
    return LimitError(f"there is not enough memory ({error})", rule="limit")


def run(
    call: Call,
    data: Tensor,
    indices: Tensor,
    *,
    max_bytes: int | None = None,
    threads: int = 1,
    tick: ProgressCallback | None = None,
) -> Run:
    """Check every index and the size of the result.

    Parameters
    ----------
    call
        What `bind` returned for these tensors.
    max_bytes
        How large the result may be; None for any size that exists.
    threads
        How many may work at a time.
    tick
        Is told now and then what is being done, how many bytes of it are, and of how many.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    LimitError
        ``limit``.
    """
    try:
        picks, adjustments = check_indices(call, indices.array, threads=threads, tick=tick)
        check_size(known(infer(call)), data, max_bytes)
    except GatherError as error:
        call.met(error)
        raise
    return Run(call, data, picks, adjustments, threads=threads, tick=tick)


def answer(
    call: Call, data: Tensor, indices: Tensor, *, threads: int = 1, out: AnyArray | None = None
) -> Tensor:
    """Return all of the output, as ``run(…).whole()`` does.

    Many indices are checked while they are used, each block of them once, as they pass the cache;
    only if a block holds more than legal ones are all of them examined, and refused or treated.

    Parameters
    ----------
    out
        Takes the output: its shape and element size, C-ordered. After a refusal it may hold
        anything.

    Raises
    ------
    OutOfRangeError, LimitError
        As from `run`.
    """
    if indices.array.size > HELD and data.array.nbytes:  # else nothing would be used, or checked
        check_size(known(infer(call)), data, None)
        how = IndexPolicy(call.size, call.wraps_negative, call.outside)
        hoped = Run(call, data, ResolvedIndices(indices.array, how), (), threads=threads)
        if hoped.uses_each_once:
            with suppress(UnexpectedIndicesError):
                return hoped.stored(out)
    return run(call, data, indices, threads=threads).stored(out)


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
