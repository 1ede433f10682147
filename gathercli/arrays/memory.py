"""Arrays as they lie in memory: a flat view, and how far each dimension steps in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from gathercli.arrays.tensor import AnyArray


class Memory(NamedTuple):
    """An array as it lies in memory.

    Attributes
    ----------
    flat
        Shape (N,): its elements in the order of memory.
    steps
        For each dimension, how many elements apart two consecutive coordinates are.
    """

    flat: AnyArray
    steps: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> Memory:
        """View an array; one with negative or unaligned strides is copied first."""
        itemsize = array.dtype.itemsize or 1
        if any(stride < 0 or stride % itemsize for stride in array.strides):
            array = np.ascontiguousarray(array)
        steps = tuple(stride // itemsize for stride in array.strides)
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), steps)
        span = sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) + 1
        return cls(as_strided(array, (span if array.size else 0,), (itemsize,)), steps)

    def view(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """View the elements from `start` on, `steps` apart in each dimension."""
        dtype = self.flat.dtype
        strides = tuple(step * dtype.itemsize for step in steps)
        return np.ndarray(shape, dtype, self.flat, start * dtype.itemsize, strides)
