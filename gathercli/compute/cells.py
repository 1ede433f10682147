"""Elements at coordinates, of up to 64 dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray

MOST_INDEX_ARRAYS: Final = 63
"""The most arrays with which NumPy indexes another, one less than the dimensions that it has."""


def elements_at(array: AnyArray, at: tuple[Any, ...]) -> AnyArray:
    """Return the elements at coordinates: an integer or an array for each of the first axes.

    Of 64 axes one has the size 1, unless there are no elements: 2^64 of them are too many. Its
    coordinate is left out.
    """
    if len(at) <= MOST_INDEX_ARRAYS:
        return np.asarray(array[at])
    shape = broadcast(*map(np.shape, at))
    if 1 not in array.shape:
        return np.empty(shape, array.dtype)
    axis = array.shape.index(1)
    return np.array(np.broadcast_to(array.squeeze(axis)[at[:axis] + at[axis + 1 :]], shape))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes which agree have together; NumPy's own takes 32 dimensions.

    >>> broadcast((), (3, 1), (2,))
    (3, 2)
    """
    rank = max(map(len, shapes), default=0)
    rows = [(1,) * (rank - len(each)) + each for each in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*rows, strict=True))
