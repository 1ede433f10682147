"""Coordinates and flat positions, row-major; plain arithmetic on whatever arrays are passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.arrays.tensor import AnyArray
    from gathercli.spec.shapes import AnyDim


def known(shape: Sequence[AnyDim]) -> tuple[int, ...]:
    """Return the sizes of a shape that has no unknown dimension."""
    return tuple(size for size in shape if isinstance(size, int))


def coordinates(cells: AnyArray, shape: Sequence[AnyDim]) -> tuple[AnyArray, ...]:
    """Unravel flat positions.

    Parameters
    ----------
    cells
        Shape (C,), int64: flat positions in a tensor of shape `shape`.

    Returns
    -------
        One array of shape (C,) a dimension.
    """
    found: list[AnyArray] = []
    for size in reversed(known(shape)):
        found.append(cells % size)
        cells = cells // size
    return tuple(reversed(found))


def flat_positions(at: Sequence[AnyArray], shape: Sequence[AnyDim], *, none: AnyArray) -> AnyArray:
    """Ravel coordinates, giving -1 where `none` is set.

    Parameters
    ----------
    at
        An array of shape (C,) a dimension of `shape`.
    none
        Shape (C,), bool.
    """
    import numpy as np

    position: AnyArray = np.zeros((), np.int64)
    for coordinate, size in zip(at, known(shape), strict=True):
        position = position * size + coordinate
    return np.where(none, -1, position)


def letters(name: str, count: int) -> list[str]:
    """Name coordinates: ``i``, or ``i0, i1`` when there are several.

    >>> letters("p", 1), letters("s", 2)
    (['p'], ['s0', 's1'])
    """
    return [name] if count == 1 else [f"{name}{at}" for at in range(count)]


def at(tensor: str, coordinates: Sequence[str]) -> str:
    """Write a cell of a tensor; a 0-D tensor has just one.

    >>> at("data", ["p", "k"]), at("out", [])
    ('data[p, k]', 'out')
    """
    return f"{tensor}[{', '.join(coordinates)}]" if coordinates else tensor


def coordinate(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Unravel one flat position.

    >>> coordinate(5, (2, 3))
    (1, 2)
    """
    found: list[int] = []
    for size in reversed(shape):
        position, rest = divmod(position, size)
        found.append(rest)
    return tuple(reversed(found))


def cell(coordinates: Sequence[int]) -> str:
    """Write coordinates.

    >>> cell((1, 2))
    '[1,2]'
    """
    return f"[{','.join(map(str, coordinates))}]"
