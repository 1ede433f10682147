"""The memory layout of arrays: a flat view, and the step of each dimension in it."""

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
    """The memory of an array.

    Attributes
    ----------
    flat
        Shape (N,): the elements in memory order.
    steps
        The stride of each dimension in elements.
    """

    flat: AnyArray
    steps: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> Memory:
        """View an array, or a copy if it has negative or unaligned strides."""
        itemsize = array.dtype.itemsize or 1
        if any(stride < 0 or stride % itemsize for stride in array.strides):
            array = np.ascontiguousarray(array)
        steps = tuple(stride // itemsize for stride in array.strides)
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), steps)
        span = sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) + 1
        return cls(as_strided(array, (span if array.size else 0,), (itemsize,)), steps)

    def view(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """View the elements from `start` on, with `steps` as strides in elements."""
        dtype = self.flat.dtype
        strides = tuple(step * dtype.itemsize for step in steps)
        return np.ndarray(shape, dtype, self.flat, start * dtype.itemsize, strides)


def one_axis(
    array: AnyArray, axis: int, count: int, view: Sequence[int]
) -> tuple[AnyArray, list[int] | None]:
    """View `count` consecutive axes as one, without more copies than `Memory` makes.

    Parameters
    ----------
    axis
        The first of them.
    view
        The shape of the view if the axes are contiguous, row-major.

    Returns
    -------
        The view, and None if the axes are contiguous. Otherwise the one axis spans all elements
        from their first to their last, and the second item is the step along it of each axis.
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
