"""A lesson as a picture and in words: letters say which part of `data` an index picks.

The same letter, and colour where there is colour, marks a part of `data`, the index that picks it
and where it lands. Only what is shown is read and formatted.
"""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final

from gathercli.core.dims import Shape, product
from gathercli.core.dtypes import STRING, Kind, Tensor, described
from gathercli.core.text import clean, counted, grouped, short
from gathercli.lesson import Fate, Lesson, Trace, Unit
from gathercli.report import header
from gathercli.report.panels import (
    GAP,
    REFUSED,
    Cell,
    Line,
    Part,
    Place,
    append,
    beside,
    drawn,
    flat,
    widest,
    width,
)
from gathercli.report.shown import COLUMNS, ROWS, WIDTH, Look, Shown, arrays
from gathercli.report.trace import letters, said, unit_text, writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

LEGEND: Final = 8
"""Letters that are explained at most."""

_TIMES, _HIDDEN = "read n times", "read by what is hidden"
"""What the legend has to explain, beside the fates of indices, once it was drawn."""

STYLES: Final = ("cyan", "magenta", "green", "yellow", "bright_blue")


def about(title: str | None, source: str | None) -> Text:
    """Write what a job is called and where it is from, as far as it says."""
    from rich.text import Text

    text = Text()
    for words, style in ((title, "bold"), (source, "dim")):
        if words:
            text.append(clean(short(words, 200)) + "\n", style)
    return text.append("\n" if text else "")


def picture(lesson: Lesson, look: Look) -> Text:
    """Draw where every output cell came from."""
    call, out = lesson.call, Shape(lesson.shape)
    view, lines = _fitting(lesson, look)
    text = header.title(call, look.width, where=_where(lesson), room=look.width or WIDTH)
    if view.paneled:
        text.append_text(header.tensors(call, out, look.width))
    text.append("\n")
    append(text, lines)
    notes = [*view.legend(), *view.examples()]
    if notes:
        text.append("\n")
        append(text, notes)
    text.append("\n")
    text.append_text(header.steps(call, out, look.width))
    text.append("read   ", "dim")
    text.append(_read(lesson) + "\n")
    if hidden := view.hidden():
        text.append(hidden + "\n", "dim italic")
    return text


def _where(lesson: Lesson) -> str:
    """Say what each letter of the equation runs through."""
    names = letters(lesson)
    if 0 in lesson.shape:
        return ""
    runs = (f"{name} in 0..{size - 1}" for name, size in zip(names, lesson.shape, strict=True))
    return f"for {', '.join(runs)}" if names else ""


def _read(lesson: Lesson) -> str:
    if not lesson.data.array.size:
        return "nothing: data is empty"
    noun = "cell" if lesson.picks_cells else "slice"
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    if lesson.reads is None:
        return f"not counted: there are {grouped(lesson.indices.array.size)} indices"
    return f"{grouped(len(lesson.reads.units))} of {counted(total, noun)} of data"


def panels(lesson: Lesson, look: Look) -> Text:
    """Draw the tensors alone, within the width and the height of the look."""
    from rich.text import Text

    _, lines = _fitting(lesson, look)
    fits = look.height is None or len(lines) <= look.height
    if not fits or widest(lines) > (look.width or WIDTH):
        return Text("no room for the picture\n", "dim italic")
    text = Text()
    append(text, lines)
    return text


def _fitting(lesson: Lesson, look: Look) -> tuple[_View, list[Line]]:
    """Choose how much is shown, and how it is arranged, so that it fits."""
    room = WIDTH if look.width is None else look.width
    shown: Shown | None = None
    sizes = list(combinations(enumerate(ROWS[: None if look.height else 1]), enumerate(COLUMNS)))
    for (_, rows), (_, columns) in sorted(sizes, key=lambda pair: pair[0][0] + pair[1][0]):
        before, shown = shown, Shown(lesson, look, rows, columns)
        if before is not None and (before.out, before.data) == (shown.out, shown.data):
            continue
        view = _View(shown)
        for stacked in (False, True):
            lines = view.lines(room, stacked=stacked)
            most = 2 * room if stacked and look.width is None else room
            if widest(lines) <= most and (look.height is None or len(lines) <= look.height):
                return view, lines
    return view, lines


class _View:
    """The parts, panels and notes of what is shown."""

    def __init__(self, shown: Shown) -> None:
        self._shown, self._lesson, self._look = shown, shown.lesson, shown.look
        self._lead, self._letters = shown.lead, shown.letters
        self._write = writer(self._lesson, self._look)
        self._styles = {unit: STYLES[n % len(STYLES)] for n, unit in enumerate(self._letters)}
        self._panels: dict[tuple[int, ...], tuple[list[Part], list[list[Line]]]] = {}
        self._traced: list[Trace] = []
        self._seen: set[Fate | str] = set()

    @property
    def paneled(self) -> bool:
        """Whether there is a panel for each of several coordinates, and so no room for types."""
        return bool(self._lead)

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and in each the tensors, below each other if `stacked`."""
        blocks: list[list[Line]] = []
        last = -1
        for panel in self._shown.panels:
            number = flat(panel, self._lesson.shape)
            if number != last + 1:
                blocks.append([[(self._look.marks.columns, "dim")]])
            blocks.append(self._panel(panel, stacked=stacked))
            last = number
        if blocks and self._lead and last + 1 < product(self._lesson.shape[: self._lead]):
            blocks.append([[(self._look.marks.columns, "dim")]])
        lines: list[Line] = []
        row: list[list[Line]] = []
        for block in blocks:
            if row and sum(map(widest, row)) + widest(block) + GAP * len(row) > room:
                lines += [*beside(row), []]
                row = []
            row.append(block)
        return lines + beside(row)

    def _panel(self, panel: tuple[int, ...], *, stacked: bool) -> list[Line]:
        parts, blocks = self._drawn(panel)
        if stacked:
            lines = [line for block in blocks for line in ([], *block)][1:]
        else:  # with rows level
            most = max(part.heads for part in parts)
            heads = [0 if 0 in part.shape else most - part.heads for part in parts]
            blank: Line = []
            lines = beside(
                [[b[0], *[blank] * count, *b[1:]] for b, count in zip(blocks, heads, strict=True)]
            )
        if not panel:
            return lines
        name = f"batch {','.join(map(str, panel))}"
        if not self._lesson.call.batch_dims:
            name = f"[{','.join(map(str, panel))}{',:' * (len(self._lesson.shape) - len(panel))}]"
        return [[(name, "bold")], *lines]

    def _drawn(self, panel: tuple[int, ...]) -> tuple[list[Part], list[list[Line]]]:
        """Draw the tensors of a panel, once."""
        if panel not in self._panels:
            parts = [self._data_part(panel), self._indices_part(panel), self._out_part(panel)]
            self._panels[panel] = parts, [drawn(part, self._look.marks) for part in parts]
        return self._panels[panel]

    def _title(self, name: str, tensor: object) -> Line:
        return [(name, "bold"), ("" if self._lead else f" {tensor}", "")]

    def _part(
        self, title: Line, shape: tuple[int, ...], shown: Sequence[Sequence[int]], tells: set[int]
    ) -> Part:
        """Make a part without cells; `tells` are the dimensions on which labels depend."""
        lead = self._lead
        kept = tuple(shown[lead:])
        place = _place({d - lead for d in tells if d >= lead}, len(kept))
        if place is Place.COLUMN and not self._letters:
            place = Place.ROW  # there are no labels to stand above columns
        return Part(title, shape[lead:], kept, place, lambda _: Cell("", ""))

    def _data_part(self, panel: tuple[int, ...]) -> Part:
        lesson, tensor = self._lesson, self._lesson.data
        coords = self._shown.coordinates(panel, self._shown.data)
        values = (
            Tensor(tensor.dtype, tensor.array[arrays(coords, len(tensor.shape))]).values().tolist()
        )
        held = dict(zip(coords, values, strict=True))
        units = set(lesson.unit_dims)
        reads, marks = lesson.reads, self._look.marks
        here = self._here()

        def cell(at: tuple[int, ...]) -> Cell:
            whole = (*panel, *at)
            unit = tuple(n if d in units else None for d, n in enumerate(whole))
            times = reads.of(unit) if reads else 0
            label = self._letters.get(unit, marks.hidden if times else "")
            style = self._style(unit) if unit in self._letters else ""
            if reads and not times:
                style = "dim"
            if times > 1 and lesson.picks_cells:
                label += f"{marks.times}{times}"
                self._seen.add(_TIMES)
            if times and unit not in self._letters:
                self._seen.add(_HIDDEN)
            if here is not None and here.data == whole:
                return Cell(label, f"[{self._write(held[whole])}]", style=f"{style} reverse")
            return Cell(label, self._write(held[whole]), style=style)

        part = self._part(
            self._title("data", lesson.call.data), tensor.shape, self._shown.data, units
        )
        return part._replace(
            cell=cell,
            floats=tensor.dtype.kind is Kind.FLOAT,
            left=tensor.dtype is STRING,
        )

    def _indices_part(self, panel: tuple[int, ...]) -> Part:
        lesson, marks = self._lesson, self._look.marks
        coords = self._shown.coordinates(panel, self._shown.indices)
        index, positions = lesson.positions(arrays(coords, len(lesson.indices.shape)))
        held = dict(
            zip(
                coords,
                zip(index.reshape(-1).tolist(), positions.reshape(-1).tolist(), strict=True),
                strict=True,
            )
        )
        here = self._here()

        def cell(at: tuple[int, ...]) -> Cell:
            whole = (*panel, *at)
            k, position = held[whole]
            fate = lesson.fate(k, position)
            label, style = self._label(whole, position, fate)
            self._seen.add(fate)
            where = str(position)
            if fate is not Fate.COPIED:
                where = "none" if fate is Fate.FILLED else "refused"
            tail = "" if where == str(k) and fate is Fate.COPIED else marks.arrow + where
            if here is not None and here.indices == whole:
                return Cell(label, f"[{k}]", tail, f"{style} reverse")
            return Cell(label, str(k), tail, style)

        shape = lesson.indices.shape
        part = self._part(
            self._title("indices", lesson.call.indices),
            shape,
            self._shown.indices,
            set(range(len(shape))),
        )
        return part._replace(cell=cell)

    def _out_part(self, panel: tuple[int, ...]) -> Part:
        lesson = self._lesson
        coords = self._shown.coordinates(panel, self._shown.out)
        traces = {each.out: each for each in self._traces(coords)}
        self._traced += traces.values()
        here = self._look.here

        def cell(at: tuple[int, ...]) -> Cell:
            trace = traces[(*panel, *at)]
            label, style = self._label(trace.indices, _position(trace), trace.fate)
            text = "" if trace.fate is Fate.REFUSED else self._write(trace.value)
            if here == trace.out:
                return Cell(label, f"[{text}]", style=f"{style} reverse")
            return Cell(label, text, style=style)

        def note(at: tuple[int, ...]) -> Line:
            last = [part.shown[-1][0]] if len(at) < len(part.shown) else []
            trace = traces[(*panel, *at, *last)]
            _, style = self._label(trace.indices, _position(trace), trace.fate)
            return [(self._picked(trace), style)]

        tells = {j for j, (_, i) in enumerate(lesson.walks) if i is not None}
        dtype = lesson.data.dtype
        title = self._title("out", described(dtype, Shape(lesson.shape).inner()))
        part = self._part(title, lesson.shape, self._shown.out, tells)
        return part._replace(
            cell=cell,
            note=note if self._by_row(part) else None,
            floats=dtype.kind is Kind.FLOAT,
            left=dtype is STRING,
        )

    def _by_row(self, part: Part) -> bool:
        """Tell whether each row of the output says what it was picked from."""
        alone = not self._lead and self._look.here is None
        return alone and part.place is Place.ROW and bool(part.shape)

    def _traces(self, coords: list[tuple[int, ...]]) -> Iterator[Trace]:
        import numpy as np

        shape = self._lesson.shape
        cells = np.zeros(len(coords), np.int64)
        for at, size in zip(arrays(coords, len(shape)), shape, strict=True):
            cells = cells * size + at
        return self._lesson.traces(cells)

    def _here(self) -> Trace | None:
        return None if self._look.here is None else self._lesson.trace(*self._look.here)

    def _label(self, at: tuple[int, ...], position: int, fate: Fate) -> tuple[str, str]:
        """Return the letter and the style of what an index picks."""
        unit = self._lesson.unit(at, position)
        if unit is not None:
            return self._letters.get(unit, ""), self._style(unit)
        marks = self._look.marks
        return (marks.nowhere, "italic") if fate is Fate.FILLED else (marks.refused, REFUSED)

    def _style(self, unit: Unit) -> str:
        return self._styles.get(unit, "")

    def _picked(self, trace: Trace) -> str:
        """Say what an index picked: ``data[3,:]``."""
        unit = self._lesson.unit(trace.indices, _position(trace))
        if unit is None:
            return "zeros" if trace.fate is Fate.FILLED else "refused"
        return unit_text(unit)

    def legend(self) -> Iterator[Line]:
        """Say what the letters stand for, unless the rows of the output do, and the marks."""
        lesson, marks = self._lesson, self._look.marks
        words: list[tuple[str, str, str]] = []
        by_row = any(part.note for parts, _ in self._panels.values() for part in parts)
        if not by_row and len(self._letters) <= LEGEND:
            words += [
                (letter, unit_text(unit), self._style(unit))
                for unit, letter in self._letters.items()
            ]
        seen = self._seen
        if _HIDDEN in seen:
            words.append((marks.hidden, "read by indices that are not shown", ""))
        if Fate.FILLED in seen:
            words.append((marks.nowhere, "zero-filled", "italic"))
        if Fate.REFUSED in seen:
            words.append((marks.refused, "refused", REFUSED))
        if _TIMES in seen:
            elided = ", by what is not shown too" if self.hidden() else ""
            words.append((f"{marks.times}n", f"read n times{elided}", ""))
        if 0 not in lesson.data.shape and _is_dimmed(lesson):
            words.append(("", "no letter: not read", "dim"))
        room, line = self._look.width or WIDTH, Line()
        for mark, means, style in words:
            more: Line = [(mark, style), (f" {means}" if mark else means, "")]
            if line and width(line) + 3 + width(more) > room:
                yield line
                line = []
            line = [*line, ("   ", ""), *more] if line else more
        if line:
            yield line

    def examples(self) -> Iterator[Line]:
        """Trace the cells that show the most: one with a plain index, one with each other sort."""
        lesson = self._lesson
        if not self._traced:
            return
        found: dict[str, Trace] = {}
        for trace in self._traced:
            sort = "plain" if trace.position == trace.k else trace.fate.value
            if sort not in found or (sort == "plain" and not any(found[sort].out)):
                found[sort] = trace
        yield [(f"the index takes the place of coordinate {lesson.call.places[0]} of data:", "dim")]
        for trace in list(found.values())[:3]:
            yield [("  ", ""), *said(lesson, trace, self._look)]

    def hidden(self) -> str:
        """Say how much of the output is not shown."""
        shown = len(self._shown.panels) * product(
            [len(coords) for coords in self._shown.out[self._lead :]]
        )
        if shown >= self._lesson.size:
            return ""
        text = f"{grouped(shown)} of {counted(self._lesson.size, 'cell')} of out shown"
        return text if self._look.window else f"{text}; --window chooses others"


def _is_dimmed(lesson: Lesson) -> bool:
    """Tell whether there is a part of `data` that is not read."""
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    return lesson.reads is not None and len(lesson.reads.units) < total


def _position(trace: Trace) -> int:
    return -1 if trace.position is None else trace.position


def _place(tells: set[int], rank: int) -> Place:
    """Find where labels stand: with the smallest thing that has only one of them."""
    if rank < 2:
        return Place.ROW
    inner = {d for d in tells if d >= rank - 2}
    if not inner:
        return Place.FACET if tells else Place.ROW
    if inner == {rank - 2}:
        return Place.ROW
    return Place.COLUMN if inner == {rank - 1} else Place.CELL


def summary_json(lesson: Lesson) -> dict[str, Any]:
    """Return what is known of a lesson beside its cells, for JSON."""
    call, reads = lesson.call, lesson.reads
    found: dict[str, Any] = {"operator": call.op.full_name, "axis": call.axis_number}
    if call.op.batch_dims:
        found["batch_dims"] = call.batch_dims_number
    for name, value in (("negative", call.negative), ("out_of_range", call.out_of_range)):
        if value.value != "spec":
            found[name] = value.value
    for name, tensor in (("data", lesson.data), ("indices", lesson.indices)):
        found[name] = header.tensor_json(tensor.dtype, tensor.shape)
    found["output"] = header.tensor_json(lesson.data.dtype, lesson.shape)
    found["equation"] = lesson.equation
    found["formula"] = header.formula(call, Shape(lesson.shape))
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    found["read"] = {
        "dimensions": list(lesson.unit_dims),
        "parts": None if reads is None else len(reads.units),
        "of": total,
    }
    found["refused"] = None if lesson.refusal is None else lesson.refusal.message
    return found
