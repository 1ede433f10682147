"""Coordinates and flat positions, row-major, for one cell or arrays of cells."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from gathercli.spec.shapes import AnyDim

Position: TypeAlias = "Any"
"""An integer or an int64 array: the same arithmetic serves both."""


def known(shape: Sequence[AnyDim]) -> tuple[int, ...]:
    """Return the sizes of a shape without unknown dimensions."""
    return tuple(size for size in shape if isinstance(size, int))


def coordinates(cells: Position, shape: Sequence[AnyDim]) -> tuple[Position, ...]:
    """Unravel flat positions.

    Parameters
    ----------
    cells
        Flat positions in a tensor of shape `shape`: one, or an int64 array (C,).

    Returns
    -------
        A coordinate for each dimension: an integer, or an array (C,).

    >>> coordinates(5, (2, 3))
    (1, 2)
    """
    reversed_coordinates = []
    for size in reversed(known(shape)):
        reversed_coordinates.append(cells % size)
        cells = cells // size
    return tuple(reversed(reversed_coordinates))


def flat_positions(at: Sequence[Position], shape: Sequence[AnyDim], *, none: Any) -> Position:
    """Ravel coordinates; the position is -1 where `none` is true.

    Parameters
    ----------
    at
        A coordinate for each dimension of `shape`: integers, or int64 arrays (C,).
    none
        A boolean, or a bool array (C,).

    >>> flat_positions((1, 2), (2, 3), none=False), flat_positions((1, 2), (2, 3), none=True)
    (5, -1)
    """
    position: Position = 0
    for coordinate, size in zip(at, known(shape), strict=True):
        position = position * size + coordinate
    return (position + 1) * (1 - none) - 1  # no branch, so that it serves arrays too


def letters(name: str, count: int) -> list[str]:
    """Name coordinates: ``i``, or ``i0, i1`` if there are several.

    >>> letters("p", 1), letters("s", 2)
    (['p'], ['s0', 's1'])
    """
    return [name] if count == 1 else [f"{name}{at}" for at in range(count)]


def at(tensor: str, coordinates: Sequence[str]) -> str:
    """Format a cell of a tensor.

    >>> at("data", ["p", "k"]), at("out", [])
    ('data[p, k]', 'out')
    """
    return f"{tensor}[{', '.join(coordinates)}]" if coordinates else tensor


def coordinate(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Unravel one flat position.

    >>> coordinate(5, (2, 3))
    (1, 2)
    """
    return coordinates(position, shape)


def cell(coordinates: Sequence[int]) -> str:
    """Format coordinates.

    >>> cell((1, 2))
    '[1,2]'
    """
    return f"[{','.join(map(str, coordinates))}]"


def path(root: str, at: int, shape: Sequence[int]) -> str:
    """Return the JSON path of the flat position `at` in nested lists of `shape`: ``$[1][2]``."""
    return root + "".join(f"[{i}]" for i in coordinate(at, shape))


class Place:
    """A formatter of the paths of elements of nested lists."""

    def __init__(self, root: str, shape: Sequence[int]) -> None:
        self._root, self._shape = root, shape

    def __call__(self, at: int) -> str:
        """Return the path of the element at a flat position."""
        if not at:
            return self._root + "[0]" * len(self._shape)
        return path(self._root, at, self._shape)
