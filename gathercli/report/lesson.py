"""A lesson as a picture and in words: letters say which part of `data` an index picks.

The same letter, and colour where there is colour, marks a part of `data`, the index that picks it
and where it lands. Only what is shown is read and formatted.
"""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final

from gathercli.lessons.lesson import Fate, Lesson, Trace
from gathercli.report import header
from gathercli.report.layout import (
    GAP,
    REFUSED,
    Line,
    TensorPart,
    append,
    beside,
    drawn,
    flat,
    widest,
    width,
)
from gathercli.report.selection import COLUMNS, ROWS, WIDE, WIDTH, Look, Shown
from gathercli.report.tensor_panels import HIDDEN, TIMES, Parts
from gathercli.report.trace import letters, said, unit_text
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, counted, grouped, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

LEGEND: Final = 8
"""Letters that are explained at most."""


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
    most = WIDE if room > WIDTH else COLUMNS
    sizes = list(combinations(enumerate(ROWS[: None if look.height else 1]), enumerate(most)))
    for (_, rows), (_, columns) in sorted(sizes, key=lambda pair: pair[0][0] + pair[1][0]):
        before, shown = shown, Shown(lesson, look, rows, columns)
        if before is not None and (before.out, before.data) == (shown.out, shown.data):
            continue
        view = _View(shown)
        for stacked in (False, True):
            lines = view.lines(room, stacked=stacked)
            wide = 2 * room if stacked and look.width is None else room
            if widest(lines) <= wide and (look.height is None or len(lines) <= look.height):
                return view, lines
    return view, lines


class _View:
    """The parts, panels and notes of what is shown."""

    def __init__(self, shown: Shown) -> None:
        self._shown, self._lesson, self._look = shown, shown.lesson, shown.look
        self._lead, self._letters = shown.lead, shown.letters
        self._parts = Parts(shown)
        self._panels: dict[tuple[int, ...], tuple[list[TensorPart], list[list[Line]]]] = {}

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

    def _drawn(self, panel: tuple[int, ...]) -> tuple[list[TensorPart], list[list[Line]]]:
        """Draw the tensors of a panel, once."""
        if panel not in self._panels:
            parts = self._parts.of(panel)
            self._panels[panel] = parts, [drawn(part, self._look.marks) for part in parts]
        return self._panels[panel]

    def legend(self) -> Iterator[Line]:
        """Say what the letters stand for, unless the rows of the output do, and the marks."""
        lesson, marks = self._lesson, self._look.marks
        words: list[tuple[str, str, str]] = []
        by_row = any(part.note for parts, _ in self._panels.values() for part in parts)
        if not by_row and len(self._letters) <= LEGEND:
            words += [
                (letter, unit_text(unit), self._parts.styles[unit])
                for unit, letter in self._letters.items()
            ]
        seen = self._parts.seen
        if HIDDEN in seen:
            words.append((marks.hidden, "read by indices that are not shown", ""))
        if Fate.FILLED in seen:
            words.append((marks.nowhere, "zero-filled", "italic"))
        if Fate.REFUSED in seen:
            words.append((marks.refused, "refused", REFUSED))
        if TIMES in seen:
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
        if not self._parts.traced:
            return
        found: dict[str, Trace] = {}
        for trace in self._parts.traced:
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
        return text if self._look.window else f"{text}; {self._look.advice}"


def _is_dimmed(lesson: Lesson) -> bool:
    """Tell whether there is a part of `data` that is not read."""
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    return lesson.reads is not None and len(lesson.reads.units) < total


def summary_json(lesson: Lesson) -> dict[str, Any]:
    """Return what is known of a lesson beside its cells, for JSON."""
    call, reads = lesson.call, lesson.reads
    found: dict[str, Any] = {"operator": call.op.full_name, "axis": call.axis_number}
    if call.op.has_batch_dims:
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
