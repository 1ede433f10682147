"""The lanes of lines between the cells of a grid: several lines share a space side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_PITCH: Final = 8
"""The distance of lines in a space."""
_HEAD: Final = 8
"""The further distance from the cells that lines lead into, for heads."""


class Lane(NamedTuple):
    """The use of the space beside a row of cells by a line, across the flow.

    Attributes
    ----------
    grid
        What tells grids apart.
    start, space
        Where the space begins, and its width.
    enters
        Whether the line leads into the cells after the space; else it leaves those before it.
    order
        Where the line meets the cell, along the flow.
    """

    grid: str
    start: float
    space: float
    enters: bool
    order: float


class Lanes:
    """The lanes that lines use, and where in its space each lies.

    Lines to and from a nearer cell keep closer to it, so that they cross no other's last piece.
    """

    def __init__(self) -> None:
        self._spaces: dict[tuple[str, int], set[Lane]] = {}

    def add(self, lane: Lane) -> None:
        """Add a use; equal ones share a place."""
        self._spaces.setdefault((lane.grid, round(lane.start)), set()).add(lane)

    def place(self, lane: Lane) -> float:
        """Return the place of the line across the flow.

        >>> lanes, lane = Lanes(), Lane("data", 10, 18, True, 0)
        >>> lanes.add(lane)
        >>> lanes.place(lane)
        19.0
        """
        uses = self._spaces[lane.grid, round(lane.start)]
        order = sorted(uses, key=lambda use: (use.enters, -use.order))
        pitch = lane.space / (len(order) + 1) if lane.space < _width(uses) else _PITCH
        return lane.start + pitch * (order.index(lane) + 1)

    def width(self, grids: Collection[str]) -> float:
        """Return the space that the lines in any of these grids need; 0 without lines."""
        spaces = (uses for (grid, _), uses in self._spaces.items() if grid in grids)
        return max(map(_width, spaces), default=0)


def _width(uses: set[Lane]) -> float:
    return _PITCH * (len(uses) + 1) + (_HEAD if any(use.enters for use in uses) else 0)
