"""Arrays as they lie in memory: a flat view, and how far each dimension steps in it."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def one_axis(
    array: AnyArray, axis: int, count: int, view: Sequence[int]
) -> tuple[AnyArray, list[int] | None]:
    """View `count` consecutive axes as one, and copy nothing that `Memory` does not copy.

    Parameters
    ----------
    axis
        The first of them.
    view
        The shape of the view where they follow each other row-major.

    Returns
    -------
        The view, and None; or where the axes do not follow each other row-major, for each of them
        how many coordinates of the one axis apart two consecutive coordinates are. The one axis
        then has as many coordinates as lie between their first element and their last.
    """
    itemsize = array.itemsize or 1
    each = list(zip(array.shape, array.strides, strict=True))[axis : axis + count]
    moving = [(n, stride) for n, stride in each if n > 1]
    follow = all(a == n * b for (_, a), (n, b) in pairwise(moving))
    if follow or not array.size or any(s < 0 or s % itemsize for s in array.strides):
        return array.reshape(view), None
    unit = gcd(*(stride for _, stride in moving))
    steps = [stride // unit for _, stride in each]
    span = 1 + sum((n - 1) * step for (n, _), step in zip(each, steps, strict=True))
    shape = (*array.shape[:axis], span, *array.shape[axis + count :])
    strides = (*array.strides[:axis], unit, *array.strides[axis + count :])
    return as_strided(array, shape, strides, writeable=False), steps
