"""Copy ranges of the output with the kernel in C, if it was built.

It does what `kernel.Worker` does, which serves where it is missing and for what it leaves out:
indices in foreign byte order, and axes of 2^31 positions or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.errors import TransferError
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.indices import IndexPolicy
    from gathercli.compute.kernel import Kernel
    from gathercli.compute.storage import AnyArray

    Fill = Callable[[AnyArray, AnyArray, AnyArray, AnyArray, int, int, int], bool]

fill: Fill | None
"""The kernel in C; None if the package was built without."""

try:
    from gathercli.compute._native import fill
except ImportError:
    fill = None

POSITIONS: Final = 2**31 - 1
"""The positions on an axis that fit in 32 bits."""

DIMS: Final = 64
"""The largest number of loops, and of components of a tuple."""

OUTSIDE: Final = {OutOfRange.ERROR: 0, OutOfRange.ZERO: 1, OutOfRange.CLAMP: 2, OutOfRange.WRAP: 3}


class UnexpectedIndicesError(Exception):
    """Unchecked indices are not all legal."""


class IndexMemory(NamedTuple):
    """Indices, or tuples of them, as the kernel in C reads them.

    Attributes
    ----------
    flat
        Shape (N,), an integer type in native byte order: the indices in memory order.
    policies, steps
        For each component the policy, and how many positions apart two consecutive indices are.
    distance
        How many elements apart two components of a tuple are in memory.
    checked
        Whether all indices were checked.
    """

    flat: AnyArray
    policies: Sequence[IndexPolicy]
    steps: Sequence[int]
    distance: int
    checked: bool


def reads(indices: AnyArray) -> bool:
    """Return whether the kernel in C reads and checks such indices itself."""
    return fill is not None and indices.dtype.isnative


def native_worker(kernel: Kernel, threads: int = 1) -> NativeWorker | None:
    """Return a worker for a kernel; None if the one in C was not built or does not serve it.

    Parameters
    ----------
    threads
        The largest number of threads that share a range.
    """
    indices = kernel.points.in_memory()
    if (
        fill is not None
        and indices is not None
        and reads(indices.flat)
        and kernel.size
        and kernel.bytes.size
        and kernel.axis_size <= POSITIONS
        and max(len(kernel.loops), len(indices.policies)) <= DIMS
    ):
        return NativeWorker(NativePlan(fill, kernel, indices, threads), kernel, indices)
    return None


class NativePlan:
    """What the kernel in C does for inputs of some shapes, types and policies."""

    def __init__(self, fill: Fill, kernel: Kernel, indices: IndexMemory, threads: int) -> None:
        self._fill, self._threads = fill, threads
        cells = kernel.block
        if kernel.goes_by_columns:
            cells = max(cells, -(-kernel.size // threads))
        self._part = cells * kernel.dtype.itemsize
        chunk, itemsize = kernel.bytes.shape[-1], indices.flat.itemsize
        loops = kernel.loops or ((1, 0, 0),)
        numbers = [
            chunk,
            kernel.step * chunk,
            itemsize.bit_length() - 1 + 4 * (indices.flat.dtype.kind == "u"),
            OUTSIDE[indices.policies[0].outside],
            len(loops),
            len(indices.policies),
        ]
        for size, data, index in loops:
            numbers += size, data * chunk, index * itemsize
        for j, (policy, step) in enumerate(zip(indices.policies, indices.steps, strict=True)):
            added = policy.size if policy.wraps else 0
            numbers += policy.size, added, step, j * indices.distance * itemsize
        self._numbers = np.array(numbers, np.int64)

    def copy(self, out: AnyArray, data: AnyArray, indices: AnyArray, start: int) -> bool:
        """Copy the bytes of the output from `start` on to `out`; return whether all are legal."""
        return self._fill(out, data, indices, self._numbers, start, self._part, self._threads)


class NativeWorker:
    """A copier of ranges of the output, for any number of threads."""

    def __init__(self, plan: NativePlan, kernel: Kernel, indices: IndexMemory) -> None:
        self.plan = plan
        self._dtype, self._checked = kernel.dtype, indices.checked
        self._data, self._indices = kernel.bytes, indices.flat

    def fill(self, start: int, stop: int, out: AnyArray) -> None:
        """Copy the output elements from `start` to before `stop`, as `kernel.Worker.fill` does.

        Raises
        ------
        UnexpectedIndicesError
            The indices were not checked, and some are illegal.
        TransferError
            ``unreadable``: `indices` changed after they were checked.
        """
        del stop
        if not self.plan.copy(out, self._data, self._indices, start * self._dtype.itemsize):
            if not self._checked:
                raise UnexpectedIndicesError
            raise TransferError(
                "changed while they were read",
                rule="unreadable",
                subject="indices",
                expected="them to stay as they were",
            )
        if not self._dtype.isnative:
            out.view(self._dtype).byteswap(inplace=True)
