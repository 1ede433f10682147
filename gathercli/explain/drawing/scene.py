"""The drawing of an explanation as geometry: what stands where, without colours or markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_MONO_EM: Final = 0.602
_SANS_EM: Final = 0.6
"""The width of a character of the widest of `MONO`, and of an average one of `SANS`, in ems."""


class Box(NamedTuple):
    """A rectangle.

    >>> Box(10, 20, 30, 40).right, Box(10, 20, 30, 40).bottom
    (40, 60)
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height

    @property
    def center(self) -> tuple[float, float]:
        """The point in the middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    def moved(self, x: float, y: float) -> Box:
        """Return the box moved right by x and down by y."""
        return Box(self.x + x, self.y + y, self.width, self.height)


def around(boxes: list[Box]) -> Box:
    """Return the smallest box around others; there is at least one.

    >>> around([Box(0, 0, 1, 1), Box(4, 2, 1, 1)])
    Box(x=0, y=0, width=5, height=3)
    """
    x, y = min(box.x for box in boxes), min(box.y for box in boxes)
    return Box(x, y, max(box.right for box in boxes) - x, max(box.bottom for box in boxes) - y)


def columns(text: str) -> int:
    """Return the width of a text in columns of a fixed-width font.

    >>> columns("abc"), columns("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum((east_asian_width(each) in "WF") + (not combining(each)) for each in text)


def text_width(text: str, size: float, *, mono: bool = True) -> float:
    """Return the width of a text at a font size: exact for `MONO`, about right for `SANS`."""
    return columns(text) * size * (_MONO_EM if mono else _SANS_EM)


class GridCell(NamedTuple):
    """A cell of a tensor."""

    tensor: str
    # its coordinates in the tensor; a tuple of indices is one cell, without its dimension
    at: tuple[int, ...]
    box: Box
    text: str
    # of the part of `data` that it comes from or picks, from 0; None for a cell of no part
    color: int | None = None
    letter: str = ""  # of that part
    # ``copied``, ``filled``, ``refused``, ``ended``, ``beyond``; nothing in an input but indices
    fate: str = ""
    # ``negative``, ``unread``, ``shared`` as in `PanelCell`; ``traced`` on the traced cell's path
    kinds: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its element."""
        return cell_id(self.tensor, self.at)


class GridSlice(NamedTuple):
    """A rectangle around cells of a tensor and their coordinate: what arrows point at."""

    tensor: str
    at: tuple[int | None, ...]  # the coordinates of the cells, None for all of a dimension
    box: Box
    color: int | None = None
    # as of `GridCell`, and ``outside`` for the place of indices that point nowhere
    kinds: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its element."""
        return slice_id(self.tensor, self.at)


class Caption(NamedTuple):
    """A line of text, anchored at a point on its baseline."""

    x: float
    y: float
    text: str
    kind: str  # its role: ``title``, ``coordinate``, ``gap`` and others, a class of the SVG
    anchor: str = "start"  # ``start``, ``middle`` or ``end``
    # pieces of the text with a role of their own: start, stop, role
    spans: Sequence[tuple[int, int, str]] = ()


class Grid(NamedTuple):
    """A matrix or a vector: a tensor, or a facet of it."""

    tensor: str
    facet: tuple[int, ...]  # its leading coordinates
    box: Box  # the place of the cells
    cells: Sequence[GridCell]
    slices: Sequence[GridSlice]
    captions: Sequence[Caption]


class Arrow(NamedTuple):
    """A line from a cell or slice to another, by the ids of their elements.

    Its kinds are ``picks`` from an index, ``lands`` to the output; ``negative`` if it bends round
    the end of the axis; ``filled`` or ``refused``; ``traced`` on the path of the traced cell.
    """

    source: str
    target: str
    d: str  # the path: a line from the edge of the one to the edge of the other, then its head
    color: int | None = None  # None for an index that points nowhere
    kinds: tuple[str, ...] = ()


class Scene(NamedTuple):
    """A drawing and its size in pixels."""

    width: float
    height: float
    title: str  # what it shows, in words; so is the description
    description: str
    grids: Sequence[Grid]
    arrows: Sequence[Arrow]
    captions: Sequence[Caption]
    faint: bool = False  # whether to draw all but the path of the traced cell faintly

    @property
    def cells(self) -> Iterator[GridCell]:
        """The cells of all grids."""
        return (cell for grid in self.grids for cell in grid.cells)


def cell_id(tensor: str, at: Sequence[int]) -> str:
    """Return the id of a cell: ``data-2-0``."""
    return "-".join([tensor, *map(str, at)])


def slice_id(tensor: str, at: Sequence[int | None]) -> str:
    """Return the id of a slice: ``slice-data-2-_``."""
    return "-".join(["slice", tensor, *("_" if n is None else str(n) for n in at)])
