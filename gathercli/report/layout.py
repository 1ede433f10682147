"""Parts of tensors laid out side by side: labelled cells, coordinates at the edges, exact gaps.

Lines are lists of words with a style, laid out by hand: `rich.table.Table` was measured 130 times
slower on grids.
"""

from __future__ import annotations

from enum import Enum
from itertools import groupby
from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rich.cells import cell_len

from gathercli.report.grid import at_the_point
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.text import Text

Word: TypeAlias = tuple[str, str]
"""Characters and their style."""
Line: TypeAlias = list[Word]

GAP: Final = 4
"""Blanks between what stands side by side."""

REFUSED: Final = "bold red"
"""The style of what is refused."""


class Marks(NamedTuple):
    """The characters that say something, in Unicode or in ASCII.

    Attributes
    ----------
    arrow, times
        Between an index and where it points; before how often a cell is read.
    rows, columns
        Where rows and columns are left out.
    nowhere, refused, hidden
        Labels: points nowhere and is filled; is refused; is read by what is not shown.
    ascii
        Whether nothing else is to be printed.
    """

    arrow: str = " → "
    times: str = "\N{MULTIPLICATION SIGN}"
    rows: str = "⋮"
    columns: str = "…"
    nowhere: str = "·"
    refused: str = "!"
    hidden: str = "+"
    ascii: bool = False


ASCII: Final = Marks(" -> ", "*", ":", "..", ".", ascii=True)


class Placement(Enum):
    """Where the labels of a tensor stand: with the smallest thing that has only one of them."""

    FACET = "facet"
    ROW = "row"
    COLUMN = "column"
    CELL = "cell"


class Cell(NamedTuple):
    """One element: its label, its value, where an index points, all in one style."""

    label: str
    text: str
    tail: str = ""
    style: str = ""


class TensorPart(NamedTuple):
    """What is shown of one tensor.

    Attributes
    ----------
    title
        The line above it.
    shape
        Its sizes.
    shown
        For every dimension the coordinates that are shown, ascending.
    place
        Where the labels stand.
    cell
        Gives the element at coordinates.
    note
        Says something of the row at coordinates, if there is anything to say.
    floats, left
        Whether the points of a column stand under each other; whether values start left.
    """

    title: Line
    shape: tuple[int, ...]
    shown: tuple[Sequence[int], ...]
    place: Placement
    cell: Callable[[tuple[int, ...]], Cell]
    note: Callable[[tuple[int, ...]], Line] | None = None
    floats: bool = False
    left: bool = False

    @property
    def heads(self) -> int:
        """How many lines stand above its first row, below its title."""
        if len(self.shape) < 2 or 0 in self.shape or not all(self.shown):
            return 0
        facet = len(self.shape) > 2
        gap = any(coords[0] for coords in self.shown[:-2])
        return 1 + (self.place is Placement.COLUMN) + facet + gap


def width(line: Line) -> int:
    """Return the columns that a line takes."""
    return sum(cell_len(word) for word, _ in line)


def widest(lines: Iterable[Line]) -> int:
    """Return the columns that lines take."""
    return max(map(width, lines), default=0)


def beside(blocks: Sequence[list[Line]]) -> list[Line]:
    """Put blocks of lines side by side."""
    blocks = [block for block in blocks if block]
    lines: list[Line] = []
    widths = [widest(block) for block in blocks]
    for number in range(max(map(len, blocks), default=0)):
        line: Line = []
        for at, block in enumerate(blocks):
            mine = block[number] if number < len(block) else []
            line += mine
            if at < len(blocks) - 1:
                line.append((" " * (widths[at] - width(mine) + GAP), ""))
        lines.append(line)
    return lines


def append(text: Text, lines: Iterable[Line]) -> None:
    """Append lines to a text, without blanks at their ends."""
    for line in lines:
        words = [
            ("".join(word for word, _ in alike), style)
            for style, alike in groupby(line, key=_style)
        ]
        while words and not words[-1][0].strip():
            words.pop()
        for at, (word, style) in enumerate(words):
            text.append(word.rstrip() if at == len(words) - 1 else word, style)
        text.append("\n")


def folded(text: Text, most: int) -> Text:
    """Break lines that are too long for a screen."""
    return text.blank_copy("\n").join(
        part
        for line in text.split("\n", allow_blank=True)
        for part in line.divide(range(most, len(line), most))
    )


def _style(word: Word) -> str:
    return word[1]


def flat(at: Sequence[int], shape: Sequence[int]) -> int:
    """Count coordinates of the leading dimensions of a shape, row-major."""
    number = 0
    for n, size in zip(at, shape, strict=False):
        number = number * size + n
    return number


def drawn(part: TensorPart, marks: Marks) -> list[Line]:
    """Lay a part out, below its title."""
    if 0 in part.shape:
        return [part.title, [("empty: no elements", "dim")]]
    if not all(part.shown):
        return [part.title, [("no element of it is shown", "dim")]]
    return [part.title, *_Drawing(part, marks).lines()]


class _Drawing:
    """The cells of a part and the widths they need."""

    def __init__(self, part: TensorPart, marks: Marks) -> None:
        self._part, self._marks = part, marks
        rank = len(part.shape)
        self._rows = list(part.shown[-2 if rank > 1 else -1]) if rank else []
        self._columns = list(part.shown[-1]) if rank > 1 else []
        self._facets = list(combinations(*part.shown[:-2]))
        self._cells = {at: part.cell(at) for at in combinations(*part.shown)}
        self._texts = {at: cell.text for at, cell in self._cells.items()}
        every: list[int | None] = [*self._columns] or [None]
        self._of: dict[int | None, list[tuple[int, ...]]] = {column: [] for column in every}
        for at in self._cells:
            self._of[at[-1] if self._columns else None].append(at)
        if part.floats:
            for ats in self._of.values():
                texts = at_the_point([self._texts[at] for at in ats])
                self._texts |= dict(zip(ats, texts, strict=True))
        self._before = {column: self._between(column) for column in every}
        self._margin = max((len(str(n)) for n in self._rows), default=0)
        self._labels = max((len(cell.label) for cell in self._cells.values()), default=0)
        self._widths = {column: self._widths_of(column) for column in every}

    def _widths_of(self, column: int | None) -> tuple[int, int, int]:
        """Return the columns of labels, values and tails; a heading is a value."""
        ats = self._of[column]
        label = max(len(self._cells[at].label) for at in ats)
        value = max(cell_len(self._texts[at]) for at in ats)
        tail = max(len(self._cells[at].tail) for at in ats)
        if column is not None and not tail:
            value = max(value, len(str(column)))
        if self._part.place is Placement.COLUMN:
            value = max(value, label)
        return label if self._part.place is Placement.CELL else 0, value, tail

    def lines(self) -> list[Line]:
        part, lines, last = self._part, list[Line](), -1
        for facet in self._facets:
            if facet:
                number = flat(facet, part.shape)
                if number != last + 1:
                    lines.append([(self._marks.rows, "dim")])
                last = number
                lines.append(self._facet_heading(facet))
            if part.place is Placement.COLUMN:
                lines.append(self._column_labels(facet))
            if self._columns:
                lines.append(self._heading())
            lines += self._body(facet)
        if last + 1 < product(part.shape[:-2]) and self._facets != [()]:
            lines.append([(self._marks.rows, "dim")])
        return lines

    def _facet_heading(self, facet: tuple[int, ...]) -> Line:
        line = [(f"[{','.join(map(str, facet))},:,:]", "bold")]
        if self._part.place is Placement.FACET:
            cell = self._cells[(*facet, self._rows[0], self._columns[0])]
            line.append((f"  {cell.label}", cell.style))
        return line

    def _start(self, label: str, style: str, row: str) -> Line:
        """Start a line: the label of a row, if rows have any, and its coordinate."""
        line: Line = []
        if self._part.place is Placement.ROW and self._labels:
            line.append((label.ljust(self._labels) + " ", style))
        if self._margin:
            line.append((row.rjust(self._margin), "dim"))
        return line

    def _column_labels(self, facet: tuple[int, ...]) -> Line:
        line = self._start("", "", "")
        for column in self._columns:
            cell = self._cells[(*facet, self._rows[0], column)]
            line.append((" " * len(self._before[column]), ""))
            line.append((cell.label.rjust(self._widths[column][1]), cell.style))
        return line

    def _heading(self) -> Line:
        line = self._start("", "", "")
        for column in self._columns:
            label, value, tail = self._widths[column]
            name = str(column).rjust(label + bool(label) + value) + " " * tail
            line.append((" " * len(self._before[column]) + name, "dim"))
        return line

    def _between(self, column: int | None) -> str:
        """Return what stands before a column: blanks, and a mark where columns are left out."""
        at = 0 if column is None else self._columns.index(column)
        last = self._columns[at - 1] if at else -1
        return "  " if column is None or column == last + 1 else f"  {self._marks.columns}  "

    def _body(self, facet: tuple[int, ...]) -> list[Line]:
        part, lines = self._part, list[Line]()
        if not part.shape:
            return [self._row((), "")]
        size = part.shape[-2 if self._columns else -1]
        last = -1
        for row in self._rows:
            if row != last + 1:
                lines.append(self._start("", "", self._marks.rows))
            lines.append(self._row((*facet, row), str(row)))
            last = row
        if self._rows[-1] < size - 1:
            lines.append(self._start("", "", self._marks.rows))
        return lines

    def _row(self, at: tuple[int, ...], name: str) -> Line:
        part = self._part
        ats = [(*at, column) for column in self._columns] or [at]
        line = self._start(self._cells[ats[0]].label, self._cells[ats[0]].style, name)
        for each in ats:
            column: int | None = each[-1] if self._columns else None
            cell, text = self._cells[each], self._texts[each]
            label, value, tail = self._widths[column]
            if self._margin:
                line.append((self._before[column], "dim"))
            if label:
                line.append((cell.label.rjust(label) + " ", cell.style))
            blanks = " " * (value - cell_len(text))
            padded = text + blanks if part.left else blanks + text
            line.append((padded + cell.tail.ljust(tail), cell.style))
        if self._columns and self._columns[-1] < part.shape[-1] - 1:
            line.append((f"  {self._marks.columns}", "dim"))
        if part.note:
            line += [("   ", ""), *part.note(at)]
        return line
