"""The drawing of an explanation as geometry: what stands where, without colours or markup.

The way of an arrow leads out of a grid, across to another, and into it, past no number. It is
reckoned along the flow of the drawing (u) and across it (v), and turned at the end if the drawing
flows downwards. Lines to the edge of a grid run in the spaces between its cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import dist
from typing import Final, NamedTuple
from unicodedata import combining, east_asian_width

_MONO_EM: Final = 0.602
# The width of a character of the widest of `MONO`, and of an average one of `SANS`, in ems.
_SANS_EM: Final = 0.6


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


def number(value: float) -> str:
    """Write a length with at most one decimal.

    >>> number(3.0), number(2.25), number(-0.04)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


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

    Its kinds are ``picks`` from an index, ``lands`` to the output; ``negative`` from an index that
    counts from the end; ``filled`` or ``refused``; ``traced`` on the path of the traced cell.
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
    is_slide: bool = False  # whether the text of cells is larger

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


_LANE_PITCH: Final = 8  # the distance of lines in a space
_HEAD_SPACE: Final = 8  # the further distance from the cells that lines lead into, for heads
_CORNER_RADIUS: Final = 5  # the radius of a turn
_HEAD_LENGTH: Final = 6.5  # the length of the sides of a head, along the flow
# The length of the straight line before a slice, most of it before the head.
_SHAFT_LENGTH: Final = 15
_LARGEST_PITCH: Final = 14  # the largest distance of arrows that come into one box


class Lane(NamedTuple):
    """The use of the space beside a row of cells by a line, across the flow."""

    grid: str  # what tells grids apart
    start: float  # where the space begins
    space: float  # its width
    # whether the line leads into the cells after the space; else it leaves those before it
    enters: bool
    order: float  # where the line meets the cell, along the flow


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
        pitch = lane.space / (len(order) + 1) if lane.space < _width(uses) else _LANE_PITCH
        return lane.start + pitch * (order.index(lane) + 1)

    def width(self, grids: Collection[str]) -> float:
        """Return the space that the lines in any of these grids need; 0 without lines."""
        spaces = (uses for (grid, _), uses in self._spaces.items() if grid in grids)
        return max(map(_width, spaces), default=0)


def _width(uses: set[Lane]) -> float:
    return _LANE_PITCH * (len(uses) + 1) + (_HEAD_SPACE if any(use.enters for use in uses) else 0)


Point = tuple[float, float]


class Stop(NamedTuple):
    """An end of an arrow, along the flow and across it."""

    box: Box  # the cell or slice
    frame: Box  # the grid that it lies in, with its labels
    # where the line runs between cells, across the flow; None if it reaches the edge without that
    lane: float | None = None
    # how far from the middle of the box a line without a lane comes in, across the flow
    shift: float = 0

    @property
    def level(self) -> float:
        """The place across the flow where a line reaches the edge of the grid."""
        return self.box.center[1] + self.shift if self.lane is None else self.lane


def spread(sources: Sequence[float], targets: Sequence[Stop]) -> list[Stop]:
    """Return the ends of arrows that come into one box side by side, as far as it has room.

    The sources are where each comes from, across the flow; the targets lie in the middle of the
    box, or in the lanes to it.
    """
    last = len(sources) - 1
    pitch = min(_LARGEST_PITCH, (targets[0].box.height - _LARGEST_PITCH) / last) if last else 0
    if targets[0].lane is not None or pitch < _HEAD_LENGTH:
        return [*targets]
    order = sorted(range(len(sources)), key=sources.__getitem__)
    shifts = ((order.index(n) - last / 2) * pitch for n in range(len(sources)))
    return [each._replace(shift=shift) for each, shift in zip(targets, shifts, strict=True)]


def turned(box: Box) -> Box:
    """Exchange the directions of a box."""
    return Box(box.y, box.x, box.height, box.width)


def route(source: Stop, target: Stop, *, down: bool) -> str:
    """Return the path of an arrow."""
    start, out = _exit(source)
    into, end = _entry(target)
    points = [*start, out]
    pen = _Pen(down=down)
    pen.line(points)
    reach = max(14.0, (into[0] - out[0]) / 2)
    pen.curve((out[0] + reach, out[1]), (into[0] - reach, into[1]), into)
    pen.line([into, *end])
    pen.head(end[-2] if len(end) > 1 else into, end[-1])
    return pen.d


def climb(source: Box, target: Box, shift: float, lane: float) -> str:
    """Return the path of an arrow from the upper edge of a cell to the lower edge of another.

    It leads across at `lane`, so far right of their middles.
    """
    pen = _Pen(down=False)
    start, end = (box.center[0] + shift for box in (source, target))
    points = [(start, source.y), (start, lane), (end, lane), (end, target.bottom)]
    pen.line(points if start != end else [points[0], points[-1]])
    pen.head((end, source.y), points[-1])
    return pen.d


def _exit(stop: Stop) -> tuple[list[Point], Point]:
    """Return the points to the edge of the grid, and that on the edge."""
    box, frame = stop.box, stop.frame
    if stop.lane is None:
        return [(box.right, box.center[1])], (max(box.right, frame.right), box.center[1])
    u = box.x + box.width * 0.72
    return [(u, box.bottom), (u, stop.lane)], (frame.right + 4, stop.lane)


def _entry(stop: Stop) -> tuple[Point, list[Point]]:
    """Return the point on the edge of the grid, and those from there."""
    box, frame = stop.box, stop.frame
    if stop.lane is None:
        return (min(box.x, frame.x) - _SHAFT_LENGTH, stop.level), [(box.x, stop.level)]
    u = box.x + box.width * 0.28
    return (frame.x - 4, stop.lane), [(u, stop.lane), (u, box.y)]


class _Pen:
    """A path in the making."""

    def __init__(self, *, down: bool) -> None:
        self._down = down
        self.d = ""

    def _point(self, point: Point) -> str:
        u, v = reversed(point) if self._down else point
        return f"{number(u)} {number(v)}"

    def line(self, points: Sequence[Point]) -> None:
        """Draw lines through points with round turns."""
        if not self.d:
            self.d = f"M{self._point(points[0])}"
        for before, at, after in zip(points, points[1:], [*points[2:], None], strict=False):
            if after is None:
                self.d += f"L{self._point(at)}"
                continue
            near, far = _towards(at, before), _towards(at, after)
            self.d += f"L{self._point(near)}Q{self._point(at)} {self._point(far)}"

    def curve(self, first: Point, second: Point, end: Point) -> None:
        """Draw a cubic curve."""
        self.d += f"C{self._point(first)} {self._point(second)} {self._point(end)}"

    def head(self, before: Point, tip: Point) -> None:
        """Draw the head of an arrow."""
        length = dist(before, tip) or 1
        du, dv = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
        back = tip[0] - du * _HEAD_LENGTH, tip[1] - dv * _HEAD_LENGTH
        side = dv * _HEAD_LENGTH * 0.75, du * _HEAD_LENGTH * 0.75
        one = back[0] + side[0], back[1] + side[1]
        other = back[0] - side[0], back[1] - side[1]
        self.d += f"M{self._point(one)}L{self._point(tip)}L{self._point(other)}"


def _towards(at: Point, other: Point) -> Point:
    """Return the point where a turn begins: up to `_CORNER_RADIUS` from its corner."""
    length = dist(at, other)
    part = min(_CORNER_RADIUS, length / 2) / length if length else 0
    return at[0] + (other[0] - at[0]) * part, at[1] + (other[1] - at[1]) * part
