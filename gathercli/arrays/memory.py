"""Arrays as they lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gathercli.arrays.tensor import AnyArray


class Memory(NamedTuple):
    """An array as it lies in memory.

    Attributes
    ----------
    flat
        Shape (N,): its elements in the order of memory.
    steps
        For each dimension, how many elements further the next coordinate is.
    """

    flat: AnyArray
    steps: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> Memory:
        """View an array, whatever steps it takes; one that walks backwards is copied."""
        import numpy as np
        from numpy.lib.stride_tricks import as_strided

        itemsize = array.dtype.itemsize or 1
        if any(step < 0 or step % itemsize for step in array.strides):
            array = np.ascontiguousarray(array)
        steps = tuple(step // itemsize for step in array.strides)
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), steps)
        span = sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) + 1
        return cls(as_strided(array, (span if array.size else 0,), (itemsize,)), steps)

    def view(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """View elements from `start` on, `steps` apart in each dimension."""
        import numpy as np

        held = self.flat.dtype
        strides = tuple(step * held.itemsize for step in steps)
        return np.ndarray(shape, held, self.flat, start * held.itemsize, strides)
