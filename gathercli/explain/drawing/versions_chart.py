"""Draw what versions and runtimes make of a call: tables with their groups by colour and letter."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.explain.drawing.chart import LINE, MARGIN, Chart, ruled
from gathercli.explain.drawing.shapes import Box, element, rect, text, text_width
from gathercli.explain.drawing.theme import COLORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST: Final = 72
"""The most characters of a line of a cell."""

_SIZE: Final = 12
_GAP: Final = 24
_PADDING: Final = 12
"""The space above and below the text of a row."""


class Table(NamedTuple):
    """A table of words; all rows are as long as the headings.

    One column is headed ``group`` and has letters: ``A`` for the first group, ``-`` for none.
    """

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @property
    def letters(self) -> int:
        """The number of the column of letters."""
        return self.headings.index("group")


def versions_chart(call: str, tables: Sequence[Table], lines: Sequence[str]) -> Chart:
    """Draw tables below each other, then lines of text.

    Parameters
    ----------
    call
        The inputs and attributes.
    """
    said = "; ".join(", ".join(row) for table in tables for row in table.rows)
    description = f"{said}. {' '.join(lines)}".strip()
    chart = Chart(f"Versions by agreement: {call}", description, call)
    for table in tables:
        drawing = _TableDrawing(table, chart.box.bottom + LINE)
        chart.add(drawing.box, drawing.elements())
    for line in lines:
        for number, part in enumerate(wrap(line, 2 * LONGEST)):
            y = chart.box.bottom + (LINE if number else 1.6 * LINE)
            words = text(MARGIN, y, part, class_="word")
            chart.add(Box(MARGIN, y, text_width(part, _SIZE), 0), [words])
    return chart


class _TableDrawing:
    """The elements of a table."""

    def __init__(self, table: Table, y: float) -> None:
        self._table = table
        self._rows = [
            [wrap(word, LONGEST) or [""] for word in row] for row in (table.headings, *table.rows)
        ]
        widths = [
            max(text_width(line, _SIZE) for cell in column for line in cell) + _GAP
            for column in zip(*self._rows, strict=True)
        ]
        self._starts = [MARGIN + sum(widths[:n]) for n in range(len(widths))]
        self._heights = [LINE * max(map(len, row)) + _PADDING for row in self._rows]
        self.box = Box(MARGIN, y, sum(widths), sum(self._heights))

    def elements(self) -> Iterator[str]:
        """Yield the words of each row above a line."""
        y = self.box.y
        for number, (row, height) in enumerate(zip(self._rows, self._heights, strict=True)):
            for column, (x, lines) in enumerate(zip(self._starts, row, strict=True)):
                for place, line in enumerate(lines):
                    at = y + LINE * (place + 1)
                    if number and column == self._table.letters and line != "-":
                        yield _badge(x, at, line)
                    else:
                        kind = "word" if number else "word head"
                        yield text(x, at, line, class_=kind)
            y += height
            yield ruled(MARGIN, y, self.box.right, y, "rule" if number else "thick")


def _badge(x: float, y: float, letter: str) -> str:
    """Return a letter on the colour of its group."""
    box = Box(x - 7, y - 15, 22, 21)
    return element(
        "g",
        rect(box, rx=4, class_=f"group c{(ord(letter[0]) - ord('A')) % COLORS}"),
        text(box.center[0], y, letter, class_="value"),
        class_="badge",
    )
