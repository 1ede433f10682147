"""Lay out parts of tensors side by side: cells with labels, coordinates, marks for gaps.

A line is a list of words with styles. `rich.table.Table` was measured 130 times slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from gathercli.explain import panel
from gathercli.explain.provenance import Fate
from gathercli.report.grid import at_the_point
from gathercli.spec.shapes import flat_positions, product

BLOCK_GAP: Final = 4  # blanks between blocks side by side
# The style of the current cell, in the terminal's own colours.
CURRENT_STYLE: Final = "bold reverse"


class Edge(str):
    """The column after a line, which the gap between blocks has room for: a blank or a mark."""

    __slots__ = ()


class PaddedCell(NamedTuple):
    """A cell in its column: its words, and the columns before and after it."""

    before: panel.Word
    text: panel.Word
    after: panel.Word


def padded(text: str, style: str) -> PaddedCell:
    """Return a cell; a style with a ground fills it with a blank on either side."""
    edge = (" ", style if " on " in style else "")
    return PaddedCell(edge, (text, style), edge)


def bracketed(text: str, start: int, stop: int, style: str) -> PaddedCell:
    """Return the current cell: brackets around ``start:stop``; the ground of its letter stays."""
    text = f" {text} "
    text = f"{text[:start]}[{text[start + 1 : stop + 1]}]{text[stop + 2 :]}"
    style = f"bold {style}" if " on " in style else CURRENT_STYLE
    return PaddedCell(*((each, style) for each in (text[0], text[1:-1], text[-1])))


def style_of(cell: panel.PanelCell) -> str:
    """Return the style of a cell: refused, of its letter, filled or unread."""
    if cell.fate is Fate.REFUSED:
        return panel.REFUSED_STYLE
    if cell.color is not None:
        return letter_style(cell.color)
    if cell.fate is Fate.FILLED and cell.mark:
        return "italic"
    return "dim" if "unread" in cell.kinds and not cell.letter else ""


def letter_style(color: int) -> str:
    """Return the style of a letter by the number of its colour; none after the last."""
    return panel.STYLES[color] if color < len(panel.STYLES) else ""


def has_columns(part: panel.PanelTensor) -> bool:
    """Return whether the last dimension of a tensor runs along lines."""
    return len(part.inner) > 1 or (bool(part.inner) and not part.upright)


def _heads(part: panel.PanelTensor) -> int:
    """Return the number of lines between the title of a tensor and its first row."""
    if not has_columns(part) or part.is_empty:
        return 0
    gap = any(part.facets[0])
    return 1 + (part.place is panel.Placement.COLUMN) + (len(part.inner) > 2) + gap


def width(line: panel.Line) -> int:
    """Return the width of a line in columns."""
    return sum(cell_len(word) for word, _ in line)


def widest(lines: Iterable[panel.Line]) -> int:
    """Return the width of the widest line in columns, without its edge."""
    return max((width(line) - isinstance(line[-1][0], Edge) for line in lines if line), default=0)


def joined(entries: Iterable[panel.Line], room: int) -> Iterator[panel.Line]:
    """Join entries into lines of at most `room` columns."""
    line: panel.Line = []
    for entry in entries:
        if line and width(line) + 3 + width(entry) > room:
            yield line
            line = []
        line = [*line, ("   ", ""), *entry] if line else entry
    if line:
        yield line


def beside(blocks: Sequence[list[panel.Line]]) -> list[panel.Line]:
    """Put blocks of lines side by side."""
    *left, last = [block for block in blocks if block] or [[]]
    widths = [widest(block) + BLOCK_GAP for block in left]
    lines: list[panel.Line] = []
    for row in zip_longest(*left, last, fillvalue=panel.Line()):
        line: panel.Line = []
        for words, columns in zip(row, widths, strict=False):
            line += [*words, (" " * (columns - width(words)), "")]
        lines.append([*line, *row[-1]])
    return lines


def in_rows(blocks: Iterable[list[panel.Line]], room: int) -> list[panel.Line]:
    """Put blocks side by side while they fit, then below each other."""
    lines: list[panel.Line] = []
    row: list[list[panel.Line]] = []
    for block in blocks:
        if row and sum(map(widest, row)) + widest(block) + BLOCK_GAP * len(row) > room:
            lines += [*beside(row), []]
            row = []
        row.append(block)
    return lines + beside(row)


def arrange(
    each: panel.Panel, blocks: list[list[panel.Line]], *, stacked: bool
) -> list[panel.Line]:
    """Put the blocks of a panel side by side with level first rows, or below each other.

    Titles stand on the left where a vector is a row.
    """
    parts = each.flow
    if each.has_rows:
        margin = max(width(title) for title, *_ in blocks)
        for part, block in zip(parts, blocks, strict=True):
            title = [*block[0], (" " * (margin - width(block[0])), "")]
            block[:] = beside([[*[panel.Line()] * _heads(part), title], block[1:]])
    if stacked:
        return [line for block in blocks for line in ([], *block)][1:]
    most = max(map(_heads, parts))
    heads = [0 if 0 in part.inner else most - _heads(part) for part in parts]
    pairs, blank = zip(blocks, heads, strict=True), panel.Line()
    return beside([[block[0], *[blank] * count, *block[1:]] for block, count in pairs])


def append(text: Text, lines: Iterable[panel.Line]) -> None:
    """Append lines to a text without trailing blanks; adjacent words of one style are one span."""
    for line in lines:
        groups = groupby(line, key=itemgetter(1))
        words = [("".join(word for word, _ in group), style) for style, group in groups]
        while words and not words[-1][0].strip():
            words.pop()
        if words:
            words[-1] = (words[-1][0].rstrip(), words[-1][1])
        for word, style in words:
            text.append(word, style)
        text.append("\n")


def text_of(lines: Iterable[panel.Line]) -> Text:
    """Join lines into a text."""
    text = Text()
    append(text, lines)
    return text


def folded(text: Text, most: int) -> Text:
    """Break lines of more than `most` columns."""
    return text.blank_copy("\n").join(
        part
        for line in text.split("\n", allow_blank=True)
        for part in line.divide(range(most, len(line), most))
    )


def flat(at: Sequence[int], shape: Sequence[int]) -> int:
    """Return the flat position of coordinates of the leading dimensions of a shape."""
    position: int = flat_positions(at, shape[: len(at)], none=False)
    return position


def draw(part: panel.PanelTensor, marks: panel.Marks) -> list[panel.Line]:
    """Lay out a tensor below its title."""
    title: panel.Line = [(part.name, "bold"), (f" {part.words}" if part.words else "", "")]
    if 0 in part.inner:
        return [title, [("empty: no elements", "dim")]]
    if part.is_empty:
        return [title, [("no element of it is shown", "dim")]]
    return [title, *_Drawing(part, marks).lines()]


class _Drawing:
    """The cells of a part, and the widths of its columns; the column of a vector is None."""

    def __init__(self, part: panel.PanelTensor, marks: panel.Marks) -> None:
        self._part, self._marks = part, marks
        above, last = ([], [], *map(list[int], part.coordinates))[-2:]
        self._rows, self._columns = (above, last) if has_columns(part) else (last, [])
        self._facets, depth = part.facets, len(part.lead)
        self._cells = {at[depth:]: cell for at, cell in part.cells.items()}
        self._here = next((at[depth:] for at in part.cells if at == part.here), None)
        self._texts = {at: cell.text for at, cell in self._cells.items()}
        self._by_column: dict[int | None, list[tuple[int, ...]]] = {}
        for at in self._cells:
            self._by_column.setdefault(at[-1] if self._columns else None, []).append(at)
        if part.floats:
            for ats in self._by_column.values():
                texts = at_the_point([self._texts[at] for at in ats])
                self._texts |= dict(zip(ats, texts, strict=True))
        self._before = {column: self._between(column) for column in self._by_column}
        self._margin = max((len(str(n)) for n in self._rows), default=0)
        self._labels = max((len(cell.label) for cell in self._cells.values()), default=0)
        self._widths = {column: self._widths_of(column) for column in self._by_column}

    def _widths_of(self, column: int | None) -> tuple[int, int, int]:
        """Return the widths of the labels, values (or heading) and tails of a column."""
        ats = self._by_column[column]
        label = max(len(self._cells[at].label) for at in ats)
        value = max(cell_len(self._texts[at]) for at in ats)
        tail = max(len(self._cells[at].tail) for at in ats)
        if column is not None:
            value = max(value, len(str(column)) - tail)
        if self._part.place is panel.Placement.COLUMN:
            value = max(value, label)
        return label if self._part.place is panel.Placement.CELL else 0, value, tail

    def lines(self) -> list[panel.Line]:
        """Return the lines below the title."""
        part, lines, last = self._part, list[panel.Line](), -1
        for facet in self._facets:
            if facet:
                number = flat(facet, part.inner)
                if number != last + 1:
                    lines.append([(self._marks.rows, "dim")])
                last = number
                lines.append(self._facet_heading(facet))
            if part.place is panel.Placement.COLUMN:
                lines.append(self._column_labels(facet))
            if self._columns:
                lines.append(self._heading())
            lines += self._body(facet)
        if last + 1 < product(part.inner[:-2]) and self._facets != [()]:
            lines.append([(self._marks.rows, "dim")])
        return lines

    def _facet_heading(self, facet: tuple[int, ...]) -> panel.Line:
        line = [(self._part.facet_name(facet), "bold")]
        if self._part.place is panel.Placement.FACET:
            cell = self._cells[(*facet, self._rows[0], self._columns[0])]
            line += [("  ", ""), (cell.label, style_of(cell))]
            if self._part.note:
                line += [("  ", ""), (self._part.note((*self._part.lead, *facet)), "")]
        return line

    def _start(self, label: str, style: str, row: str) -> panel.Line:
        """Start a line with the label of a row, if rows have labels, and its coordinate."""
        line: panel.Line = []
        if self._part.place is panel.Placement.ROW and self._labels:
            line += [(label.ljust(self._labels), style if label else ""), (" ", "")]
        if self._margin:
            line.append((row.rjust(self._margin), "dim"))
        return line

    def _column_labels(self, facet: tuple[int, ...]) -> panel.Line:
        boxes: list[PaddedCell] = []
        for column in self._columns:
            cells = [self._cells[(*facet, row, column)] for row in self._rows]
            cell = next((each for each in cells if each.fate is not Fate.REFUSED), cells[0])
            _, value, tail = self._widths[column]
            text = cell.label.rjust(value) + " " * tail
            boxes.append(padded(text, style_of(cell) if cell.label else ""))
        return self._start("", "", "") + self._side_by_side(boxes, marks=False)

    def _side_by_side(self, boxes: list[PaddedCell], *, marks: bool = True) -> panel.Line:
        """Join the boxes of a row; the blanks between two are the edges of both.

        With `marks`, mark hidden columns.
        """
        line: panel.Line = []
        after: panel.Word | None = None
        for column, box in zip(self._by_column, boxes, strict=True):
            before = "" if column is None and not self._margin else self._before[column]
            before = before if marks else " " * len(before)
            if after is not None:
                line.append(after)
                before = before[1:]
            if before or box.before[0] != " ":
                line += [(before[:-1], "dim"), box.before]
            line.append(box.text)
            after = box.after
        return [*line, (Edge(after[0]), after[1])] if after else line

    def _heading(self) -> panel.Line:
        line = self._start("", "", "")
        for column in self._columns:
            label, value, tail = self._widths[column]
            value += label + bool(label)
            name = str(column).rjust(value).ljust(value + tail)
            line.append((" " * len(self._before[column]) + name, "dim"))
        return line

    def _between(self, column: int | None) -> str:
        """Return the blanks before a column, with a mark for hidden columns."""
        at = 0 if column is None else self._columns.index(column)
        last = self._columns[at - 1] if at else -1
        return "  " if column is None or column == last + 1 else f"  {self._marks.columns}  "

    def _body(self, facet: tuple[int, ...]) -> list[panel.Line]:
        part, lines, last = self._part, list[panel.Line](), -1
        if not self._rows:
            return [self._row((), "")]
        gap = self._start("", "", self._marks.rows)
        for row in self._rows:
            if row != last + 1:
                lines.append(gap)
            lines.append(self._row((*facet, row), str(row)))
            last = row
        if last < part.inner[-2 if self._columns else -1] - 1:
            lines.append(gap)
        return lines

    def _row(self, at: tuple[int, ...], name: str) -> panel.Line:
        part = self._part
        ats = [(*at, column) for column in self._columns] or [at]
        first = self._cells[ats[0]]
        line = self._start(first.label, style_of(first), name)
        line += self._side_by_side(list(map(self._box, ats)))
        rest: panel.Line = []
        if self._columns and self._columns[-1] < part.inner[-1] - 1:
            rest.append((f"  {self._marks.columns}", "dim"))
        if part.note and part.place is panel.Placement.ROW:
            rest += [("   ", ""), (part.note((*part.lead, *at)), "")]
        if rest:  # the edge takes the place of a blank
            (edge, style), (blanks, other) = line.pop(), rest[0]
            line += [(str(edge), style), (blanks[1:], other), *rest[1:]]
        return line

    def _box(self, at: tuple[int, ...]) -> PaddedCell:
        cell, text = self._cells[at], self._texts[at]
        label, value, tail = self._widths[at[-1] if self._columns else None]
        before = cell.label.rjust(label) + " " if label else ""
        blanks = " " * (value - cell_len(text))
        if self._part.left:
            text, blanks = text + blanks, ""
        words = before + blanks + text + cell.tail.ljust(tail)
        if at != self._here:
            return padded(words, style_of(cell))
        until = words if cell.tail or self._part.left else before + blanks + text
        return bracketed(words, len(before + blanks), len(until.rstrip()), style_of(cell))
