"""Paint in characters: an explanation, and a heat map.

Of an explanation panels are drawn, as many cells as fit, and what is said of them; a heat map by
colour where there is colour, else by shades or digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import isnan
from textwrap import wrap
from typing import Any, Final, NamedTuple

import numpy as np
from rich.text import Text

from gathercli.compute.tensor import Tensor
from gathercli.explain.explained_call import view_of
from gathercli.explain.heatmap import Color, HeatMap, Plane, Scale
from gathercli.explain.panel import Line, Look, Panel, PanelChoice, View, Word
from gathercli.explain.provenance import Provenance
from gathercli.explain.selection import COLUMN_LIMITS, WIDE_COLUMN_LIMITS
from gathercli.explain.terminal.layout import append, arrange, draw, flat, in_rows, joined, widest
from gathercli.report import header
from gathercli.report.terminal import PICTURE_WIDTH, Depth
from gathercli.spec.dtypes import STRING, Kind
from gathercli.spec.shapes import Shape, product
from gathercli.text import grouped


def picture_of(provenance: Provenance[Any], look: Look, *, brief: bool = False) -> Text:
    """Draw the provenance of every output cell; with `brief` only what a first lesson explains."""
    call, out, view = provenance.call, Shape(provenance.shape), view_of(provenance)
    selection, panels, lines = _fitting(view, look)
    room = look.width or PICTURE_WIDTH
    where, last = ("", call.op.id) if brief else (_ranges(provenance), call.op.full_name)
    text = header.title(call, look.width, where=where, room=room, last=last)
    text.append_text(view.tensors(selection, room))
    text.append("\n")
    append(text, lines)
    if brief:
        return text
    append(text, view.notes(selection, panels, room))
    text.append("\n").append_text(header.steps(call, out, look.width))
    text.append("read   ", "dim").append(view.reads() + "\n")
    parts = view.parts(selection, drawn=False)
    if hidden := view.hidden(selection, parts):
        if sum(count < size for count, size, _ in parts) > 1:
            hidden = "\n".join(wrap(hidden, room, break_on_hyphens=False))  # keeps `--window`
        text.append(hidden + "\n", "dim italic")
    return text


def panels_of(provenance: Provenance[Any], look: Look) -> Text:
    """Draw the tensors alone, if they fit the width and the height of the look."""
    *_, lines = _fitting(view_of(provenance), look)
    fits = look.height is None or len(lines) <= look.height
    if not fits or widest(lines) > (look.width or PICTURE_WIDTH):
        return Text("no room for the picture\n", "dim italic")
    text = Text()
    append(text, lines)
    return text


def _fitting(view: View, look: Look) -> tuple[PanelChoice, list[Panel], list[Line]]:
    """Return the choice with the most panels that fit, else the fewest, these and their lines.

    Prefer those where the data show all that the visible indices pick.
    """
    # The bracket after the current cell may be one column to the right of the last line.
    room = (look.width or PICTURE_WIDTH) - (look.here is not None)
    fallback: tuple[PanelChoice, list[Panel], list[Line]] | None = None
    columns = WIDE_COLUMN_LIMITS if room > PICTURE_WIDTH else COLUMN_LIMITS
    for selection, ways in view.attempts(look, columns):
        if fallback is not None and (1 in selection.limits or not selection.is_complete):
            continue
        panels = [view.panel(selection, at) for at in selection.panels]
        layouts = [([panel.upright for panel in panels], stacked) for stacked in ways]
        if any(panel.has_rows for panel in panels):
            layouts.insert(0, (panels, True))
        for turned, stacked in layouts:
            blocks = [
                [panel.title] * bool(panel.title)
                + arrange(panel, [draw(each, look.marks) for each in panel.flow], stacked=stacked)
                for panel in turned
            ]
            lines = in_rows(_with_gaps(selection, blocks), room)
            if view.without_panels:
                lines = [[(view.without_panels, "dim")]]
            wide = stacked and view.stacks_widely and look.width is None
            fits = widest(lines) <= (2 * room if wide else room)
            if fits and (look.height is None or len(lines) <= look.height):
                if selection.is_complete:
                    return selection, panels, lines
                fallback = fallback or (selection, panels, lines)
    return fallback or (selection, panels, lines)


def _with_gaps(selection: PanelChoice, blocks: Sequence[list[Line]]) -> Iterator[list[Line]]:
    """Yield the blocks of panels, with a mark in place of those that are hidden."""
    gap: list[Line] = [[(selection.look.marks.columns, "dim")]]
    last = -1
    for at, block in zip(selection.panels, blocks, strict=True):
        number = flat(at, selection.lead_shape)
        if number != last + 1:
            yield gap
        yield block
        last = number
    if blocks and last + 1 < product(selection.lead_shape):
        yield gap


def _ranges(provenance: Provenance[Any]) -> str:
    """Format the range of each letter of the equation."""
    if not provenance.shape or 0 in provenance.shape:
        return ""
    pairs = zip(provenance.letters, provenance.panel_shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"


# Heat maps

MOST_HEAT_LINES: Final = 20  # the most lines of a heat map
MOST_JSON_BINS: Final = (40, 80)  # the most rows and columns of bins in JSON
_SCALE_COLUMNS: Final = 24  # the columns of the bar of colours

_SHADES: Final = "·░▒▓█"
_DIGITS: Final = "0123456789"

# The upper half of a cell: its colour is that of one bin, the background that of the next.
_HALF_CELL: Final = "▀"


class HeatMarks(NamedTuple):
    """The characters of a heat map."""

    levels: str = _SHADES  # those of numbers from low to high, without colour
    nan: str = "\N{MULTIPLICATION SIGN}"  # that of a bin with such elements
    infinite: str = "∞"
    half: bool = True  # whether a line may have two rows of bins


ASCII_HEAT: Final = HeatMarks(_DIGITS, "x", "i", half=False)


class HeatLayout(NamedTuple):
    """How bins stand in the lines of a terminal."""

    rows: int  # the most bins along each dimension
    columns: int
    per_line: int  # the rows of bins in a line
    width: int  # the columns of a bin
    room: int  # the columns of a line
    marks: HeatMarks
    depth: Depth | None  # None is to draw without colour


def heat_layout(chosen: Plane, width: int, marks: HeatMarks, depth: Depth | None) -> HeatLayout:
    """Choose the bins of a slice that fit a width."""
    rows, columns = chosen.shape
    room = max(8, width - len(str(chosen.first[0] + rows - 1)) - 2)
    if rows <= MOST_HEAT_LINES and columns * 2 <= room:
        return HeatLayout(MOST_HEAT_LINES, room // 2, 1, 2, width, marks, depth)
    lines = 2 if depth and marks.half else 1
    return HeatLayout(lines * MOST_HEAT_LINES, room, lines, 1, width, marks, depth)


def heat_text(
    bins: HeatMap, layout: HeatLayout, *, title: str, write: Callable[[float], str]
) -> Text:
    """Draw a heat map below its title."""
    fitted = title if len(title) <= layout.room else title.replace("   ", "\n")
    text = Text(f"{fitted}\n")
    drawing = _Drawing(bins, layout)
    for line in drawing.lines():
        for word, style in line:
            text.append(word, style)
        text.append("\n")
    append(text, joined(drawing.legend(write), layout.room))
    for words in wrap(largest_value(bins, write), layout.room):
        text.append(f"{words}\n")
    return text


def title_of(tensor: Tensor, bins: HeatMap) -> str:
    """Say what a heat map shows."""
    what = "absolute values in " if tensor.dtype.kind is Kind.COMPLEX else ""
    title = f"heat map of {what}{bins.plane}"
    if bins.binned:
        sizes = (max(b - a for a, b in pairwise(each)) for each in (bins.rows, bins.columns))
        high, wide = bins.mean.shape
        title += f"   means of {high} x {wide} bins of up to {' x '.join(map(grouped, sizes))}"
    return title


def undrawable(tensor: Tensor) -> str | None:
    """Return why a tensor has no heat map; None if it has one."""
    if tensor.dtype is STRING:
        return "strings are no numbers"
    return "it has no elements" if 0 in tensor.shape else None


def heat_json(bins: HeatMap) -> dict[str, Any]:
    """Return the bins of a heat map for JSON; None stands for a bin without a finite element."""
    fields: dict[str, Any] = {"slice": str(bins.plane), "rows": bins.rows, "columns": bins.columns}
    for name, values in (("mean", bins.mean), ("min", bins.least), ("max", bins.most)):
        fields[name] = [[None if isnan(each) else each for each in row] for row in values.tolist()]
    return fields | {"nan": bins.nan.tolist(), "inf": bins.infinite.tolist()}


def largest_value(bins: HeatMap, write: Callable[[float], str]) -> str:
    """Say where the largest absolute value is, which a mean may hide; nothing without bins."""
    if not bins.binned or bins.scale is None:
        return ""
    size = np.fmax(np.abs(bins.least), np.abs(bins.most))
    row, column = map(int, np.unravel_index(int(np.nanargmax(size)), size.shape))
    return f"largest |value| {write(float(size[row, column]))} in {bins.place(row, column)}"


class _Drawing:
    def __init__(self, bins: HeatMap, layout: HeatLayout) -> None:
        self._bins, self._layout, self._marks = bins, layout, layout.marks
        self._depth, self._scale, self._first = layout.depth, bins.scale, bins.plane.first
        self._margin = len(str(self._first[0] + bins.rows[-2]))

    def lines(self) -> Iterator[Line]:
        """Yield the line of coordinates of columns, then the rows of bins."""
        yield [(self._heading(), "dim")]
        step = self._layout.per_line
        for row in range(0, len(self._bins.mean), step):
            name = str(self._first[0] + self._bins.rows[row]).rjust(self._margin)
            yield [(f"{name}  ", "dim"), *self._row(row, row + step)]

    def _heading(self) -> str:
        """Return the coordinates of the first columns of bins, as many as fit."""
        width, names = self._layout.width, [self._first[1] + n for n in self._bins.columns[:-1]]
        every = -(-(len(str(names[-1])) + 2) // width)
        shown = "".join(str(name).ljust(every * width) for name in names[::every])
        end = max(len(str(names[0])), width * len(names))
        if len(shown.rstrip()) > end:  # the last name has no room
            shown = shown[: len(shown) - every * width]
        return " " * (self._margin + 2) + shown.rstrip()

    def _row(self, row: int, stop: int) -> Iterator[Word]:
        for column in range(self._bins.mean.shape[1]):
            places = [(r, column) for r in range(row, min(stop, len(self._bins.mean)))]
            mark = self._mark(places)
            yield self._painted(places, mark) if self._depth else self._shaded(places[0], mark)

    def _mark(self, places: list[tuple[int, int]]) -> str:
        if any(self._bins.nan[place] for place in places):
            return self._marks.nan
        if any(self._bins.infinite[place] for place in places):
            return self._marks.infinite
        return ""

    def _painted(self, places: list[tuple[int, int]], mark: str) -> Word:
        """Return a cell of one or two bins; a mark stands on the colour of the last of them."""
        colors = [self._color_of(place) for place in places]
        names = ["" if each is None else self._name(each) for each in colors]
        width, last, ground = self._layout.width, colors[-1], names[-1] and f"on {names[-1]}"
        if mark:
            ink = "" if last is None else "#000000 " if last.is_light else "#ffffff "
            return mark * width, f"bold {ink}{ground}".strip()
        if self._layout.per_line == 2 and names[0]:
            # an odd last row has no lower half
            return _HALF_CELL, f"{names[0]} {ground}" if len(places) == 2 else names[0]
        return " " * width, ground

    def _name(self, color: Color) -> str:
        return color.code if self._depth == "truecolor" else f"color({color.number})"

    def _color_of(self, place: tuple[int, int]) -> Color | None:
        value = float(self._bins.mean[place])
        return None if self._scale is None or isnan(value) else self._scale.color(value)

    def _shaded(self, place: tuple[int, int], mark: str) -> Word:
        value = float(self._bins.mean[place])
        if mark or isnan(value):
            return (mark or " ") * self._layout.width, ""
        return level(self._span, value, self._marks.levels) * self._layout.width, ""

    @cached_property
    def _span(self) -> Scale:
        """The numbers of the levels: they need no middle for zero."""
        return Scale(float(np.nanmin(self._bins.mean)), float(np.nanmax(self._bins.mean)))

    def legend(self, write: Callable[[float], str]) -> Iterator[Line]:
        """Yield the bar of colours or levels between its ends, and each mark in use."""
        if self._scale is not None and self._depth:
            steps = (self._scale.at(n / (_SCALE_COLUMNS - 1)) for n in range(_SCALE_COLUMNS))
            bar = [(" ", f"on {self._name(each)}") for each in steps]
            low, high = write(self._scale.low), write(self._scale.high)
            yield [(f"{low} ", ""), *bar, (f" {high}", "")]
        elif self._scale is not None:
            low, high = write(self._span.low), write(self._span.high)
            yield [(f"{low} {self._marks.levels} {high}", "")]
        for mark, counts, noun in (
            (self._marks.nan, self._bins.nan, "NaN"),
            (self._marks.infinite, self._bins.infinite, "infinite"),
        ):
            if counts.any():
                yield [(f"{mark} {grouped(int(counts.sum()))} {noun}", "")]


def level(scale: Scale, value: float, levels: str) -> str:
    """Return the character of a number."""
    return levels[min(len(levels) - 1, int(scale.place(value) * len(levels)))]
