"""The places of the cells of a matrix or vector, its coordinates and the gaps of what is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.scene import Caption
from gathercli.explain.drawing.shapes import Box, around, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HEIGHT: Final = 38
"""The height of a cell."""
NARROWEST: Final = 44
"""The smallest width of a cell."""
LANE: Final = 24
"""The space between cells that lines run through."""
SPACE: Final = 10
"""The space between other cells."""

_HIDDEN: Final = 24
"""The space in place of hidden rows or columns."""
_LABEL: Final = 12
"""The size of the text of a coordinate."""
_ROOM: Final = 8
"""The space between coordinates and cells, and about that to the rectangle of a slice."""
_BORDER: Final = 3
"""The space between the cells of a slice and its rectangle."""


class Ruler:
    """One direction of a frame: coordinates, and where each begins.

    Parameters
    ----------
    coordinates
        Those to show, ascending; None for a direction without coordinates, of one cell.
    size
        The size of the dimension.
    length, space
        The length of a cell, and the space between two and around them.
    from_end
        Whether to write each coordinate from the end beside it.
    """

    def __init__(
        self,
        coordinates: Sequence[int] | None,
        size: int,
        length: float,
        space: float,
        *,
        from_end: bool = False,
    ) -> None:
        self.names = None if coordinates is None else list(coordinates)
        self.size, self.length, self.space, self.from_end = size, length, space, from_end
        self.starts: list[float] = []
        self.gaps: list[float] = []
        at, last = 0.0, -1
        for n in self.names if self.names is not None else [0]:
            if self.names is not None and n != last + 1:
                self.gaps.append(at + _HIDDEN / 2)
                at += _HIDDEN + space
            self.starts.append(at)
            at += length + space
            last = n
        if self.names is not None and last + 1 < size:
            self.gaps.append(at + _HIDDEN / 2)
            at += _HIDDEN + space
        self.total = max(at - space, 0)

    @property
    def label_width(self) -> float:
        """The width of the widest coordinate."""
        words = [word for n in self.names or [] for word in self.words(n)]
        return max((text_width(word, _LABEL) for word in words), default=0)

    @property
    def label_rows(self) -> int:
        """The number of coordinates that each cell has."""
        return 0 if self.names is None else 2 if self.from_end else 1

    def words(self, n: int) -> list[str]:
        """Return a coordinate, and that from the end if it is wanted."""
        return [str(n), str(n - self.size)] if self.from_end else [str(n)]


class GridFrame:
    """The places of the cells of a matrix or vector, with labels above and to the left.

    Parameters
    ----------
    rows, columns
        The two directions.
    corner
        The least width of the labels of rows.
    has_entries
        Whether lines come in to cells, so that there is a space before the first ones.

    Attributes
    ----------
    width, height
        The size with the labels.
    """

    def __init__(
        self, rows: Ruler, columns: Ruler, *, corner: float = 0, has_entries: bool = False
    ) -> None:
        self.rows, self.columns = rows, columns
        self._x = self._y = 0.0
        self._step = rows.label_width + 8
        self._label_width = self._step * rows.label_rows + _ROOM if rows.label_rows else 0
        self.left = max(self._label_width, corner)
        self.top = 15.0 * columns.label_rows + _ROOM if columns.label_rows else 0
        self.lane_left = columns.space if has_entries and columns.space > SPACE else 0
        self.lane_top = rows.space if has_entries and rows.space > SPACE else 0
        self.width = self.left + self.lane_left + columns.total + _after(columns)
        self.height = self.top + self.lane_top + rows.total + _after(rows)

    def move_to(self, x: float, y: float) -> None:
        """Set the upper left corner."""
        self._x, self._y = x, y

    @property
    def outer(self) -> Box:
        """The place of the frame with its labels."""
        return Box(self._x, self._y, self.width, self.height)

    @property
    def inner(self) -> Box:
        """The place of the cells."""
        x, y = self._x + self.left + self.lane_left, self._y + self.top + self.lane_top
        return Box(x, y, self.columns.total, self.rows.total)

    def box(self, row: int, column: int) -> Box:
        """Return the place of a cell by the numbers of its row and column in the frame."""
        inner = self.inner
        return Box(
            inner.x + self.columns.starts[column],
            inner.y + self.rows.starts[row],
            self.columns.length,
            self.rows.length,
        )

    def __contains__(self, box: Box) -> bool:
        """Return whether the middle of a box lies in the frame."""
        (x, y), outer = box.center, self.outer
        return outer.x <= x <= outer.right and outer.y <= y <= outer.bottom

    def around(
        self, rows: Sequence[int], columns: Sequence[int], *, with_rows: bool, with_columns: bool
    ) -> Box:
        """Return the place of rows and columns by number.

        Parameters
        ----------
        with_rows, with_columns
            Whether to include the coordinates of the rows, and of the columns.
        """
        box = around([self.box(rows[0], columns[0]), self.box(rows[-1], columns[-1])])
        left = up = 0.0
        if with_rows and self.rows.names is not None:
            left = box.x - self.inner.x + self._label_width + self.lane_left
        if with_columns and self.columns.names is not None:
            up = box.y - self.inner.y + self.top + self.lane_top
        rest = 2 * _BORDER
        x, y = box.x - left - _BORDER, box.y - up - _BORDER
        return Box(x, y, box.width + left + rest, box.height + up + rest)

    def captions(self, rows: Mapping[int, str], columns: Mapping[int, str]) -> Iterator[Caption]:
        """Yield the coordinates, and the marks of what is hidden.

        Parameters
        ----------
        rows, columns
            Further kinds of coordinates.
        """
        inner = self.inner
        for number, n in enumerate(self.columns.names or []):
            x = inner.x + self.columns.starts[number] + self.columns.length / 2
            for level, word in enumerate(self.columns.words(n)):
                y = inner.y - self.lane_top - 6 - 15 * level
                yield Caption(x, y, word, _kind(level, columns.get(n, "")), "middle")
        for number, n in enumerate(self.rows.names or []):
            y = inner.y + self.rows.starts[number] + self.rows.length / 2 + 4
            for level, word in enumerate(self.rows.words(n)):
                x = inner.x - self.lane_left - _ROOM - self._step * level
                yield Caption(x, y, word, _kind(level, rows.get(n, "")), "end")
        for gap in self.rows.gaps:
            x = inner.x - self.lane_left - 6
            yield Caption(x, inner.y + gap + 5, "⋮", "gap", "end")
        for gap in self.columns.gaps:
            y = inner.y - self.lane_top - 6
            yield Caption(inner.x + gap, y, "⋯", "gap", "middle")


def _after(ruler: Ruler) -> float:
    """Return the space after the last cell, for lines."""
    return ruler.space if ruler.space > SPACE else 0


def _kind(level: int, further: str) -> str:
    return " ".join(filter(None, ("coordinate", "from-end" if level else "", further)))
