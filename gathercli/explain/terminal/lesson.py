"""A lesson as a picture and as JSON.

In a picture a letter, with a colour on a terminal, marks a part of `data`, the indices that pick it
and the cells it is copied to. Only the cells of the picture are read and formatted.
"""

from __future__ import annotations

from functools import partial
from itertools import product as combinations
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from gathercli.explain.gather_panel import GatherPanel
from gathercli.explain.panel import unit_text
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import COLUMNS, ROWS, WIDE, Selection, lead_of
from gathercli.explain.telling import telling_traces
from gathercli.explain.terminal.layout import (
    Line,
    append,
    arrange,
    draw,
    flat,
    in_rows,
    joined,
    letter_style,
    widest,
)
from gathercli.explain.terminal.trace import letters, trace_line, trace_steps, use
from gathercli.report import header
from gathercli.report.palette import REFUSED
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.coordinates import cell
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, counted, grouped, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.lesson import Index, Lesson, Trace
    from gathercli.explain.look import Look

__all__ = [
    "cells_json",
    "panel_dims",
    "panels",
    "picture",
    "summary_json",
    "trace_line",
    "trace_steps",
]  # a `gathercli.explain.terminal.view.View`

LEGEND: Final = 8
"""The largest number of letters in a legend."""


EXAMPLES: Final = 3
"""The largest number of worked examples below a picture."""


def job_title(title: str | None, source: str | None) -> Text:
    """Format the title and the source of a job, if it has them."""
    from rich.text import Text

    text = Text()
    for words, style in ((title, "bold"), (source, "dim")):
        if words:
            text.append(clean(short(words, 200)) + "\n", style)
    return text.append("\n" if text else "")


def picture(lesson: Lesson, look: Look) -> Text:
    """Draw the provenance of every output cell."""
    call, out = lesson.call, Shape(lesson.shape)
    view, lines = _fitting(lesson, look)
    text = header.title(call, look.width, where=_ranges(lesson), room=look.width or PICTURE_WIDTH)
    if view.has_panels:
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
    text.append(_reads(lesson) + "\n")
    if hidden := view.hidden():
        text.append(hidden + "\n", "dim italic")
    return text


def _ranges(lesson: Lesson) -> str:
    """Format the range of each letter of the equation."""
    if not lesson.shape or 0 in lesson.shape:
        return ""
    pairs = zip(letters(lesson), lesson.panel_shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"


def _reads(lesson: Lesson) -> str:
    if not lesson.data.array.size:
        return "nothing: data is empty"
    noun = "cell" if lesson.picks_cells else "slice"
    if lesson.reads is None:
        indices = counted(product(lesson.index_shape), "index", "indices")
        return f"not counted: there are {indices}"
    return (
        f"{grouped(len(lesson.reads.units))} of {counted(product(lesson.unit_sizes), noun)} of data"
    )


def panels(lesson: Lesson, look: Look) -> Text:
    """Draw the tensors alone, if they fit the width and the height of the look."""
    return panels_text(_fitting(lesson, look)[1], look)


def panels_text(lines: list[Line], look: Look) -> Text:
    """Return the lines of panels, or a remark if the look has no room for them."""
    from rich.text import Text

    fits = look.height is None or len(lines) <= look.height
    if not fits or widest(lines) > (look.width or PICTURE_WIDTH):
        return Text("no room for the picture\n", "dim italic")
    text = Text()
    append(text, lines)
    return text


def _fitting(lesson: Lesson, look: Look) -> tuple[_View, list[Line]]:
    """Return the largest view that fits, else the smallest, and its lines.

    Prefer one where `data` shows all that the visible indices pick.
    """
    # The bracket after the current cell may be one column to the right of the last line.
    room = (PICTURE_WIDTH if look.width is None else look.width) - (look.here is not None)
    widest_room = room if look.width else 2 * room
    fallback: tuple[_View, list[Line]] | None = None
    for selection in _selections(lesson, look, room):
        smallest = 1 in selection.limits
        if fallback is not None and (smallest or not selection.is_complete):
            continue
        view = _View(selection)
        for stacked in (False, True):
            lines = view.lines(room, stacked=stacked)
            fits = widest(lines) <= (widest_room if stacked else room)
            if fits and (look.height is None or len(lines) <= look.height):
                if selection.is_complete:
                    return view, lines
                fallback = fallback or (view, lines)
    return fallback or (view, lines)


def _selections(lesson: Lesson, look: Look, room: int) -> Iterator[Selection]:
    """Yield selections by preference: of ever fewer columns, and of fewer rows if need be."""
    most = WIDE if room > PICTURE_WIDTH else COLUMNS
    if look.here is not None:
        whole = Selection(lesson, look, ROWS[0], most[0], whole=True)
        if whole.is_complete and whole.cells == lesson.size:
            yield whole
    pairs = combinations(enumerate(ROWS), enumerate(most))
    sizes = sorted(pairs, key=lambda pair: pair[0][0] + pair[1][0])
    if look.height is None:
        sizes.sort(key=lambda pair: pair[0][0] > 0)
    before: Selection | None = None
    for number, ((_, rows), (_, columns)) in enumerate(sizes):
        if number == len(most) and look.height is None and before and not before.depends_on_rows:
            return
        selection = Selection(lesson, look, rows, columns)
        if before is None or (before.out, before.data) != (selection.out, selection.data):
            yield selection
        before = selection


def panel_dims(lesson: Lesson) -> range:
    """Return the output dimensions that are panels of a picture."""
    return range(lead_of(lesson) - len(lesson.panel_shape) + len(lesson.shape))


class _View:
    """The panels and notes of a selection."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._lesson, self._look = selection.lesson, selection.look
        self._lead, self._letters = selection.lead, selection.letters
        self._panels: dict[tuple[int, ...], tuple[GatherPanel, list[list[Line]]]] = {}

    @property
    def has_panels(self) -> bool:
        """Whether there may be several panels, which have no room for types."""
        return bool(self._lead)

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and the tensors of each, below each other if `stacked`."""
        gap: list[Line] = [[(self._look.marks.columns, "dim")]]
        blocks: list[list[Line]] = []
        last = -1
        for panel in self._selection.panels:
            number = flat(panel, self._lesson.panel_shape)
            if number != last + 1:
                blocks.append(gap)
            blocks.append(self._panel(panel, stacked=stacked))
            last = number
        if blocks and self._lead and last + 1 < product(self._lesson.panel_shape[: self._lead]):
            blocks.append(gap)
        return in_rows(blocks, room)

    def _panel(self, panel: tuple[int, ...], *, stacked: bool) -> list[Line]:
        drawn, blocks = self._draw(panel)
        lines = arrange(drawn.tensors, blocks, stacked=stacked)
        if not panel:
            return lines
        name = f"batch {','.join(map(str, panel))}"
        if len(self._lesson.shape) < len(self._lesson.panel_shape):  # one batch dimension in `out`
            name += f"{self._look.marks.arrow}{flat(panel, self._lesson.panel_shape)}"
        if not self._lesson.call.batch_dims:
            name = f"[{','.join(map(str, panel))}{',:' * (len(self._lesson.shape) - len(panel))}]"
        return [[(name, "bold")], *lines]

    def _draw(self, at: tuple[int, ...]) -> tuple[GatherPanel, list[list[Line]]]:
        """Draw the tensors of a panel, once."""
        if at not in self._panels:
            panel = GatherPanel(self._selection, at)
            self._panels[at] = panel, [draw(each, self._look.marks) for each in panel.tensors]
        return self._panels[at]

    def legend(self) -> Iterator[Line]:
        """Explain the letters, unless rows of the output have notes, and the marks."""
        lesson, marks, selection = self._lesson, self._look.marks, self._selection
        panels = [panel for panel, _ in self._panels.values()]
        fates = {cell.fate for panel in panels for cell in panel.indices.cells.values()}
        sources = [cell for panel in panels for cell in panel.data.cells.values()]
        entries: list[tuple[str, str, str]] = []
        if not any(panel.out.note for panel in panels) and len(self._letters) <= LEGEND:
            entries += [
                (letter, unit_text(unit), letter_style(n))
                for n, (unit, letter) in enumerate(self._letters.items())
            ]
        if any(cell.letter == marks.hidden for cell in sources):
            entries.append((marks.hidden, "read by indices that are not shown", ""))
        if Fate.FILLED in fates:
            entries.append((marks.nowhere, "zero-filled", "italic"))
        if Fate.REFUSED in fates:
            entries.append((marks.refused, "refused", REFUSED))
        if any(cell.mark for cell in sources):
            others = ", by what is not shown too" if self.hidden() else ""
            entries.append((f"{marks.times}n", f"read n times{others}", ""))
        if not selection.is_complete:
            entries.append(("", "no letter in indices: what it picks is not shown", "dim"))
        reads = lesson.reads if lesson.data.array.size else None
        if reads is not None and len(reads.units) < product(lesson.unit_sizes):
            entries.append(("", "no letter: not read", "dim"))
        lines: list[Line] = [
            [(mark, style), (f" {meaning}" if mark else meaning, "")]
            for mark, meaning, style in entries
        ]
        yield from joined(lines, self._look.width or PICTURE_WIDTH)

    def examples(self) -> Iterator[Line]:
        """Trace up to three cells, the most telling of their kinds."""
        lesson = self._lesson
        every = [trace for panel, _ in self._panels.values() for trace in panel.traces.values()]
        if not every:
            return
        index = "tuple" if lesson.is_tuple else "index"
        yield [(f"the {index} {use(lesson, ' of data')}:", "dim")]
        # Prefer examples that can be followed to their place in `data`.
        traces = list(filter(self._is_shown, every))
        for trace in telling_traces(lesson, traces or every)[:EXAMPLES]:
            yield [("  ", ""), *trace_line(lesson, trace, self._look)]

    def _is_shown(self, trace: Trace) -> bool:
        unit = self._lesson.unit(trace.indices, trace.position)
        return unit is None or unit in self._letters

    def hidden(self) -> str:
        """Describe how much of the output is hidden."""
        selection = self._selection
        lesson, lead = self._lesson, self._lead
        if not lesson.size:
            return ""
        facets = [len(coords) for coords in selection.out[lead:-2]]
        panels, data_facets = selection.panels, selection.facets(selection.panels[0])
        batches = ("batch", "batches") if lesson.call.batch_dims else ("facet", "facets")
        parts = [
            f"{grouped(count)} of {counted(size, *noun)}{of}"
            for count, size, noun, of in (
                (selection.cells, lesson.size, ("cell",), " of out"),
                (len(panels), product(lesson.panel_shape[:lead]), batches, ""),
                (product(facets), product(lesson.panel_shape[lead:-2]), ("facet",), " of out"),
                (len(data_facets), product(lesson.data.shape[lead:-2]), ("facet",), " of data"),
            )
            if count < size
        ]
        if not parts:
            return ""
        text = f"{listed(parts, 'and')} shown"
        if not self._look.window and selection.cells < lesson.size:
            text += f"; {self._look.advice}"
        width = self._look.width or PICTURE_WIDTH
        lines = wrap(text, width, break_on_hyphens=False)  # keeps `--window`
        return text if len(parts) == 1 else "\n".join(lines)


def summary_json(lesson: Lesson) -> dict[str, Any]:
    """Return all fields of a lesson but its cells, for JSON."""
    call, reads = lesson.call, lesson.reads
    fields: dict[str, Any] = {"operator": call.op.full_name}
    fields |= {each.name: header.attr_number(call, each.name)[0] for each in call.op.attrs}
    for name, policy in header.policies(call):
        fields[name] = policy
    for name, operand in call.inputs.items():
        fields[name] = header.tensor_json(operand.dtype, operand.shape)
    fields["output"] = header.tensor_json(lesson.data.dtype, lesson.shape)
    fields["equation"] = lesson.equation
    fields["formula"] = header.formula(call, Shape(lesson.shape))
    fields["read"] = {
        "dimensions": lesson.unit_dims,
        "parts": None if reads is None else len(reads.units),
        "of": product(lesson.unit_sizes),
    }
    fields["refused"] = None if lesson.refusal is None else lesson.refusal.message
    return fields


def cells_json(lesson: Lesson, cells: AnyArray) -> Iterator[str]:
    """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
    from gathercli.io.formats.encode import json_texts

    block = lesson.block(cells)
    return map(partial(_cell_json, lesson), block.rows(), json_texts(block.elements))


def _cell_json(lesson: Lesson, row: tuple[Any, ...], value: str) -> str:
    out, at, data, k, position = row
    fate = lesson.fate(k, position)
    copied = fate is Fate.COPIED
    return (
        f'{{"out":{cell(out)},"indices":{cell(at)},"index":{_index_json(k)},'
        f'"position":{_index_json(lesson.place(position))},'
        f'"data":{cell(data) if copied else "null"},"fate":"{fate.value}",'
        f'"value":{"null" if fate is Fate.REFUSED else value}}}'
    )


def _index_json(k: Index | None) -> str:
    if k is None:
        return "null"
    return cell(k) if isinstance(k, tuple) else str(k)
