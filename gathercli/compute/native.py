"""Copy ranges of the output with the kernel in C, if it was built.

It does what `kernel.Worker` does, which serves where it is missing and for what it leaves out:
indices in foreign byte order, and axes of 2^31 positions or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.errors import TransferError
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def reads(indices: AnyArray) -> bool:
    """Return whether the kernel in C reads and checks such indices itself."""
    return fill is not None and indices.dtype.isnative


class NativePlan:
    """What the kernel in C does for inputs of some shapes, types and policies.

    Parameters
    ----------
    numbers
        Sizes, steps and policies, in the order in which `_native.c` reads them.
    part, threads
        The bytes of a part, and the largest number of threads that share a range.
    """

    def __init__(self, fill: Fill, numbers: Sequence[int], part: int, threads: int) -> None:
        self._fill, self._part, self._threads = fill, part, threads
        self._numbers = np.array(numbers, np.int64)

    def copy(self, out: AnyArray, data: AnyArray, indices: AnyArray, start: int) -> bool:
        """Copy the bytes of the output from `start` on to `out`; return whether all are legal."""
        return self._fill(out, data, indices, self._numbers, start, self._part, self._threads)


class NativeWorker:
    """A copier of ranges of the output, for any number of threads."""

    def __init__(
        self,
        plan: NativePlan,
        dtype: np.dtype[Any],
        data: AnyArray,
        indices: AnyArray,
        *,
        checked: bool,
    ) -> None:
        self.plan = plan
        self._dtype, self._checked = dtype, checked
        self._data, self._indices = data, indices

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
