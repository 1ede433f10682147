"""Charts: elements below a heading, with the styles of bars, axes and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, log10
from textwrap import wrap
from typing import Final, TypeAlias

from gathercli.explain.drawing import svg
from gathercli.explain.drawing.scene import Box, text_width
from gathercli.explain.panel import HUES

CHART_MARGIN: Final = 28
KINDS: Final = ("drawing", "chart")  # the tables of styles
LABEL_SIZE: Final = 12  # the size of the text of axes, as in the table of styles
NOTE_LINE: Final = 20  # the height of a line of notes
# The sizes of the text of the style sheet.
_TEXT_SIZES: Final = {"heading": 19, "title": 15, "note": 13.5}
MOST_CHARACTERS: Final = 72  # the most characters of a line of a cell
_TABLE_TEXT: Final = 12
_COLUMN_GAP: Final = 24
_ROW_PADDING: Final = 12  # the space above and below the text of a row
Drawn: TypeAlias = tuple[Box, Iterable[str]]  # the place of a part of a picture, and its elements


class Chart:
    """The elements of a picture, and the box of what was added so far."""

    def __init__(self, title: str, description: str, heading: str, *notes: str) -> None:
        self.title, self.description = title, description
        self.box = Box(0, 0, CHART_MARGIN, CHART_MARGIN)
        self._elements: list[str] = []
        self.add_text(CHART_MARGIN, CHART_MARGIN + 16, heading, "heading")
        for number, note in enumerate(notes):
            y = CHART_MARGIN + 16 + NOTE_LINE * (number + 1.2)
            self.add_text(CHART_MARGIN, y, note, "note")

    def add(self, box: Box, elements: Iterable[str]) -> None:
        """Add elements that fill a box."""
        self._elements += elements
        width, height = max(self.box.width, box.right), max(self.box.height, box.bottom)
        self.box = Box(0, 0, width, height)

    def add_text(self, x: float, y: float, words: str, kind: str) -> None:
        """Add a line of text of a kind of the style sheet: a heading, a title or a note."""
        width = text_width(words, _TEXT_SIZES[kind], mono=False)
        self.add(Box(x, y, width, 6), [svg.text(x, y, words, class_=kind)])

    def svg(self, sheet: svg.Sheet = svg.FREE) -> str:
        """Return the picture."""
        size, kinds = (self.box.width + CHART_MARGIN, self.box.height + CHART_MARGIN), KINDS
        title, description = self.title, self.description
        return svg.document(size, title, description, kinds, self._elements, sheet=sheet)


def page(chart: Chart, sheet: svg.Sheet = svg.FREE) -> str:
    """Return a page with a chart; it has no scripts, and asks nothing of a network."""
    ground = f"body{{margin:0;background:{svg.LIGHT.page}}}"
    dark = f"@media(prefers-color-scheme:dark){{body{{background:{svg.DARK.page}}}}}"
    style = f"{ground}{dark}svg{{max-width:100%;height:auto}}"
    return svg.html(chart.title, "style-src 'unsafe-inline'", style, chart.svg(sheet))


def tooltip(words: str) -> str:
    """Return the title of an element: a viewer shows it where the pointer is."""
    return svg.element("title", svg.safe(words))


def axis_label(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Return a label of an axis."""
    return svg.text(x, y, words, class_="axis", text_anchor=anchor)


def ruled(x: float, y: float, to_x: float, to_y: float, kind: str = "rule") -> str:
    """Return a straight line."""
    return svg.path(f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}", class_=kind)


def swatch(box: Box, kind: str, words: str) -> list[str]:
    """Return a sample of a class, and its meaning to the right."""
    label = axis_label(box.right + 6, box.bottom - 1, words, "start")
    return [svg.rect(box, class_=kind), label]


def ticks(most: int, count: int = 5) -> list[int]:
    """Return round numbers from 0 to `most`, at most `count` after 0.

    >>> ticks(17), ticks(1), ticks(98_765_432)
    ([0, 5, 10, 15], [0, 1], [0, 20000000, 40000000, 60000000, 80000000])
    """
    size = 10 ** max(0, floor(log10(most / count))) if most > count else 1
    step = next(n * size for n in (1, 2, 5, 10) if n * size * count >= most)
    return list(range(0, most + 1, step))


def round_ticks(low: float, high: float, count: int) -> list[float]:
    """Return round numbers from `low` to `high`, about `count` and at most twice that.

    >>> round_ticks(-0.7, 1.3, 4), round_ticks(3, 3, 4)
    ([-0.5, 0.0, 0.5, 1.0], [3])
    """
    width = high / 2 - low / 2  # half of it, as the difference of large numbers overflows
    if width <= 0:
        return [low]
    size = Fraction(10) ** floor(log10(width / count))
    step = next(n * size for n in (1, 2, 5, 10, 20) if n * size * count >= 2 * Fraction(width))
    first, last = ceil(Fraction(low) / step), floor(Fraction(high) / step)
    return [float(n * step) for n in range(first, last + 1)]


def spread(count: int, most: int) -> list[int]:
    """Choose at most `most` of the numbers 0 to `count` - 1, at equal distances, with 0.

    >>> spread(5, 8), spread(10, 4)
    ([0, 1, 2, 3, 4], [0, 3, 6, 9])
    """
    return list(range(0, count, -(-count // most)))


def bin_labels(
    area: Box, rows: Sequence[str], columns: Sequence[str], least: tuple[float, float], gap: float
) -> Iterator[str]:
    """Yield as many labels of rows and columns of bins as have at least so much room each."""
    for n in spread(len(rows), max(1, int(area.height / least[1]))):
        y = area.y + (n + 0.5) * (area.height / len(rows)) + 4
        yield axis_label(area.x - gap, y, rows[n], "end")
    for n in spread(len(columns), max(1, int(area.width / least[0]))) if columns else ():
        yield axis_label(area.x + (n + 0.5) * (area.width / len(columns)), area.y - 6, columns[n])


# The headings and rows of a table of words, all as long. One column is headed ``group`` and has
# letters: ``A`` for the first group, ``-`` for none.
Table: TypeAlias = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


def versions_chart(call: str, tables: Sequence[Table], lines: Sequence[str]) -> Chart:
    """Draw tables below each other, then lines of text, below the words of the call."""
    said = "; ".join(", ".join(row) for _, rows in tables for row in rows)
    description = f"{said}. {' '.join(lines)}".strip()
    chart = Chart(f"Versions by agreement: {call}", description, call)
    for table in tables:
        chart.add(*_table(table, chart.box.bottom + NOTE_LINE))
    for line in lines:
        for number, part in enumerate(wrap(line, 2 * MOST_CHARACTERS)):
            y = chart.box.bottom + (NOTE_LINE if number else 1.6 * NOTE_LINE)
            words = svg.text(CHART_MARGIN, y, part, class_="word")
            chart.add(Box(CHART_MARGIN, y, text_width(part, _TABLE_TEXT), 0), [words])
    return chart


def _table(table: Table, y: float) -> Drawn:
    """Draw a table: the words of each row above a line."""
    headings, entries = table
    rows = [[wrap(word, MOST_CHARACTERS) or [""] for word in row] for row in (headings, *entries)]
    widths = [
        max(text_width(line, _TABLE_TEXT) for cell in column for line in cell) + _COLUMN_GAP
        for column in zip(*rows, strict=True)
    ]
    right, top, elements = CHART_MARGIN + sum(widths), y, list[str]()
    letters = headings.index("group")  # the column of these
    for number, row in enumerate(rows):
        x = float(CHART_MARGIN)
        for column, (width, lines) in enumerate(zip(widths, row, strict=True)):
            for place, line in enumerate(lines):
                at = y + NOTE_LINE * (place + 1)
                if number and column == letters and line != "-":
                    box = Box(x - 7, at - 15, 22, 21)
                    color = (ord(line[0]) - ord("A")) % len(HUES)
                    ground = svg.rect(box, rx=4, class_=f"group c{color}")
                    words = svg.text(box.center[0], at, line, class_="value")
                    elements.append(svg.element("g", ground, words, class_="badge"))
                else:
                    elements.append(svg.text(x, at, line, class_="word" if number else "word head"))
            x += width
        y += NOTE_LINE * max(map(len, row)) + _ROW_PADDING
        elements.append(ruled(CHART_MARGIN, y, right, y, "rule" if number else "thick"))
    return Box(CHART_MARGIN, top, right - CHART_MARGIN, y - top), elements
