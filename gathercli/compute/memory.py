"""The memory layout of arrays: a flat view, and the step of each dimension in it."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.storage import AnyArray


def strides_of(array: AnyArray) -> tuple[int, ...]:
    """Return the strides of an array, those that no element needs as in a row-major one.

    NumPy lets them be anything: of axes of size 1, and of all axes where there is no element.
    """
    strides: list[int] = []
    below = array.itemsize
    for n, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        strides.append(stride if n > 1 and array.size else below)
        below = strides[-1] * max(1, n)
    return tuple(reversed(strides))


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
        itemsize, strides = array.dtype.itemsize or 1, strides_of(array)
        if any(stride < 0 or stride % itemsize for stride in strides):
            array = np.ascontiguousarray(array)
            strides = strides_of(array)
        steps = tuple(stride // itemsize for stride in strides)
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
    itemsize, strides = array.itemsize or 1, strides_of(array)
    each = list(zip(array.shape, strides, strict=True))[axis : axis + count]
    moving = [(n, stride) for n, stride in each if n > 1]
    follow = all(a == n * b for (_, a), (n, b) in pairwise(moving))
    if follow or not array.size or any(s < 0 or s % itemsize for s in strides):
        return array.reshape(view), None
    unit = gcd(*(stride for _, stride in moving))
    steps = [stride // unit if n > 1 else 0 for n, stride in each]
    span = 1 + sum((n - 1) * step for (n, _), step in zip(each, steps, strict=True))
    shape = (*array.shape[:axis], span, *array.shape[axis + count :])
    viewed = (*strides[:axis], unit, *strides[axis + count :])
    return as_strided(array, shape, viewed, writeable=False), steps
