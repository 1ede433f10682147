"""A lesson of GatherTree as a picture and as JSON.

In a picture the letter of a beam marks its column of the output, and the tokens and parents on its
path. Only the steps, batches and beams of the picture are read and formatted.
"""

from __future__ import annotations

import json
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.explain.beam_panel import MANY_READERS, BeamPanel, BeamSelection
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import COLUMNS, ROWS, WIDE
from gathercli.explain.telling import telling_traces
from gathercli.explain.terminal.beam_trace import trace_line, trace_steps
from gathercli.explain.terminal.layout import (
    append,
    arrange,
    draw,
    in_rows,
    joined,
    letter_style,
    widest,
)
from gathercli.explain.terminal.lesson import EXAMPLES, LEGEND, panels_text
from gathercli.report import header
from gathercli.report.palette import REFUSED
from gathercli.report.terminal import PICTURE_WIDTH
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import cell
from gathercli.spec.shapes import Shape
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.beams import BeamLesson, BeamTrace
    from gathercli.explain.look import Look
    from gathercli.explain.terminal.layout import Line

__all__ = [
    "cells_json",
    "panel_dims",
    "panels",
    "picture",
    "summary_json",
    "trace_line",
    "trace_steps",
]  # a `gathercli.explain.terminal.view.View`

_EDGES: Final = (3, 2, 1)
"""The numbers of first and of last steps in a table that has no room for all."""


def picture(lesson: BeamLesson, look: Look) -> Text:
    """Draw the provenance of every output cell: the tensors, then the path of each beam."""
    call, out = lesson.call, Shape(lesson.shape)
    view, lines = _fitting(lesson, look)
    text = header.title(call, look.width, where=_ranges(lesson), room=look.width or PICTURE_WIDTH)
    append(text, joined(_tensors(view), look.width or PICTURE_WIDTH))
    text.append("\n")
    append(text, lines)
    table = _table(view, look.width or PICTURE_WIDTH)
    if table:
        text.append("\n")
        append(text, table)
    append(text, joined(_legend(view), look.width or PICTURE_WIDTH))
    append(text, _examples(view))
    text.append("\n").append_text(header.steps(call, out, look.width))
    text.append("read   ", "dim").append(_reads(lesson) + "\n")
    if view.selection.cells < lesson.size:
        hidden = f"{grouped(view.selection.cells)} of {counted(lesson.size, 'cell')} of out shown"
        text.append(hidden + ("" if look.window else f"; {look.advice}") + "\n", "dim italic")
    return text


def _ranges(lesson: BeamLesson) -> str:
    """Write the range of each letter of the equation."""
    if not lesson.size:
        return ""
    pairs = zip("tbw", lesson.shape, strict=True)
    return f"for {', '.join(f'{name} in 0..{size - 1}' for name, size in pairs)}"


def _tensors(view: BeamView) -> Iterator[Line]:
    """Yield the type and the shape of each tensor, and the end token itself."""
    lesson = view.selection.lesson
    out = Operand(Shape(lesson.shape), lesson.step_ids.dtype)
    for name, operand in {**lesson.call.inputs, "out": out}.items():
        value = f" = {view.selection.tokens.end}" if operand.shape.rank == 0 else ""
        yield [(name, "bold"), (f" {operand}{value}", "")]


def _reads(lesson: BeamLesson) -> str:
    if not lesson.size:
        return "nothing: step_ids is empty"
    count = int(np.count_nonzero(lesson.read_cells))
    return f"{grouped(count)} of {counted(lesson.size, 'cell')} of step_ids"


def panels(lesson: BeamLesson, look: Look) -> Text:
    """Draw the tensors alone, if they fit the width and the height of the look."""
    return panels_text(_fitting(lesson, look)[1], look)


def panel_dims(lesson: BeamLesson) -> range:
    """Return the output dimensions that are panels of a picture."""
    del lesson
    return range(1, 2)


def _fitting(lesson: BeamLesson, look: Look) -> tuple[BeamView, list[Line]]:
    """Return the largest panels that fit, and their lines; else the smallest."""
    room = (look.width or PICTURE_WIDTH) - (look.here is not None)  # as in `terminal.lesson`
    most = WIDE if room > PICTURE_WIDTH else COLUMNS
    sizes = list(combinations(enumerate(ROWS), enumerate(most)))
    attempts: list[BeamView] = []
    if look.here is not None:
        whole = BeamSelection(lesson, look, ROWS[0], most[0], whole=True)
        if whole.cells == lesson.size:
            attempts.append(BeamView(whole))
            lines = attempts[0].lines(room, stacked=False)
            if widest(lines) <= room and (look.height is None or len(lines) <= look.height):
                return attempts[0], lines
    for (_, rows), (_, columns) in sorted(sizes, key=lambda pair: pair[0][0] + pair[1][0]):
        selection = BeamSelection(lesson, look, rows, columns)
        if any(each.selection.coordinates == selection.coordinates for each in attempts):
            continue
        attempts.append(BeamView(selection))
        for stacked in (False, True):
            lines = attempts[-1].lines(room, stacked=stacked)
            if widest(lines) <= room and (look.height is None or len(lines) <= look.height):
                return attempts[-1], lines
    return attempts[-1], lines


class BeamView:
    """The panels of a selection."""

    def __init__(self, selection: BeamSelection) -> None:
        self.selection = selection
        self._panels: dict[int, tuple[BeamPanel, list[list[Line]]]] = {}

    @property
    def panels(self) -> list[BeamPanel]:
        """The panels drawn so far."""
        return [panel for panel, _ in self._panels.values()]

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and the tensors of each, below each other if `stacked`."""
        count = self.selection.lesson.shape[1]
        if not count:
            return [[("empty: no batches", "dim")]]
        gap: list[Line] = [[(self.selection.look.marks.columns, "dim")]]
        blocks: list[list[Line]] = []
        after = 0
        for b in self.selection.batches:
            if b != after:
                blocks.append(gap)
            blocks.append(self._panel(b, stacked=stacked))
            after = b + 1
        if after < count:
            blocks.append(gap)
        return in_rows(blocks, room)

    def _panel(self, b: int, *, stacked: bool) -> list[Line]:
        if b not in self._panels:
            panel = BeamPanel(self.selection, b)
            blocks = [draw(each, self.selection.look.marks) for each in panel.tensors]
            self._panels[b] = panel, blocks
        panel, blocks = self._panels[b]
        length = self.selection.tokens.write(self.selection.lesson.max_seq_len.values()[b])
        title: Line = [(f"batch {b}", "bold"), (f"   max_seq_len {length}", "")]
        return [title, *arrange(panel.tensors, blocks, stacked=stacked)]


def _table(view: BeamView, room: int) -> list[Line]:
    """Write the way of each beam, a line each, with the steps below each other."""
    beams = list(view.selection.letters.items())[:LEGEND]
    steps = max((view.selection.lesson.lengths[b] for (b, _), _ in beams), default=0)
    if not steps:
        return []
    for edge in (steps, *_EDGES):
        columns: list[int | None] = [*reversed(range(steps))]
        if 2 * edge < steps:
            columns[edge:-edge] = [None]
        lines = _rows(view, beams, columns)
        if widest(lines) <= room:
            break
    if len(view.selection.letters) > LEGEND:
        lines.append([(view.selection.look.marks.columns, "dim")])
    return [[("each beam is followed back from its last step:", "dim")], *lines]


def _rows(
    view: BeamView, beams: list[tuple[tuple[int, int], str]], columns: list[int | None]
) -> list[Line]:
    """Return the lines of a table; None among its steps marks hidden ones."""
    marks, several = view.selection.look.marks, len(view.selection.batches) > 1
    names = [
        f"{letter}  batch {b}, beam {w}" if several else f"{letter}  beam {w}"
        for (b, w), letter in beams
    ]
    margin = max(map(len, names))
    heads = [marks.columns if t is None else f"step {t}" for t in columns]
    tables = [[_step(view, t, b, w) for t in columns] for (b, w), _ in beams]
    widths = [max(map(len, column)) for column in zip(heads, *tables, strict=True)]
    joint = " " * len(marks.arrow)
    padded = (head.ljust(n) for head, n in zip(heads, widths, strict=True))
    lines: list[Line] = [[(" " * (margin + 3) + joint.join(padded), "dim")]]
    for name, (beam, letter), texts in zip(names, beams, tables, strict=True):
        rest = name.ljust(margin + 3).removeprefix(letter)
        line: Line = [(letter, letter_style(list(view.selection.letters).index(beam))), (rest, "")]
        for n, (text, size) in enumerate(zip(texts, widths, strict=True)):
            between = marks.arrow if n and texts[n - 1] and text else joint
            style = REFUSED if text == "refused" else ""
            line += [(between if n else "", "dim"), (text.ljust(size), style)]
        lines.append(line)
    return lines


def _step(view: BeamView, t: int | None, b: int, w: int) -> str:
    """Format one step of a beam: its token and its parent, or the fate of its cell."""
    lesson, tokens = view.selection.lesson, view.selection.tokens
    if t is None:
        return view.selection.look.marks.columns
    beam = None if t >= lesson.lengths[b] else lesson.beam(t, b, w)
    if beam is not None:
        parent = f", parent {tokens.parent(t, b, beam)}" if t else ""
        target = tokens.target(t, b, w) if t and lesson.beam(t - 1, b, w) is not None else ""
        return f"{tokens.token(t, b, beam)}{parent}{target}"
    first = t + 1 < lesson.lengths[b] and lesson.beam(t + 1, b, w) is not None
    if not first:  # the path ended at a later step
        return ""
    return "refused" if lesson.fate(t, b, w) is Fate.REFUSED else "none"


def _examples(view: BeamView) -> Iterator[Line]:
    """Trace the most telling cells of the panels, one of each kind."""
    lesson = view.selection.lesson
    traces = [trace for panel in view.panels for trace in panel.traces.values()]
    if not traces:
        return
    yield [("a cell copies the token of its beam at its step:", "dim")]
    for trace in telling_traces(lesson, traces)[:EXAMPLES]:
        yield [("  ", ""), *trace_line(lesson, trace, view.selection.look)]


def _legend(view: BeamView) -> Iterator[Line]:
    """Explain the marks of the panels."""
    marks, lesson = view.selection.look.marks, view.selection.lesson
    tensors = [tensor for panel in view.panels for tensor in panel.tensors]
    cells = [cell for tensor in tensors for cell in tensor.cells.values()]
    seen = {cell.fate for cell in cells}
    if Fate.ENDED in seen or Fate.BEYOND in seen:
        yield [(marks.nowhere, ""), (f" end_token{_ends(view)}", "")]
    if Fate.FILLED in seen:
        yield [(f"{view.selection.unknown} zero-filled: a parent names no beam", "italic")]
    if Fate.REFUSED in seen:
        yield [(marks.refused, REFUSED), (" refused", "")]
    if any(panel.has_many for panel in view.panels):
        yield [(MANY_READERS, "")]
    if any(cell.letter == marks.hidden for cell in cells):
        yield [(f"{marks.hidden} read by beams that are not shown", "")]
    if lesson.size and not lesson.read_cells.all():
        yield [("no letter: not read", "dim")]


def _ends(view: BeamView) -> str:
    """List the beams that end before their last step, and the batches shorter than others."""
    lesson = view.selection.lesson
    size = lesson.shape[0]
    ends = [
        f"{letter} ended at step {lesson.ends[at]}"
        for at, letter in view.selection.letters.items()
        if lesson.ends[at] + 1 < lesson.lengths[at[0]]
    ]
    ends += [
        f"batch {b} has {counted(lesson.lengths[b], 'step')}"
        for b in view.selection.batches
        if lesson.lengths[b] < size
    ]
    return f": {', '.join(ends)}" if 0 < len(ends) <= LEGEND // 2 else ""


def summary_json(lesson: BeamLesson) -> dict[str, Any]:
    """Return all fields of a lesson but its cells, for JSON."""
    call = lesson.call
    fields: dict[str, Any] = {"operator": call.op.full_name, **dict(header.policies(call))}
    for name, operand in call.inputs.items():
        fields[name] = header.tensor_json(operand.dtype, operand.shape)
    fields["output"] = header.tensor_json(lesson.step_ids.dtype, lesson.shape)
    fields["equation"] = lesson.equation
    fields["formula"] = header.formula(call, Shape(lesson.shape))
    count = int(np.count_nonzero(lesson.read_cells))
    fields["read"] = {"dimensions": [0, 1, 2], "parts": count, "of": lesson.size}
    fields["refused"] = None if lesson.refusal is None else lesson.refusal.message
    return fields


def cells_json(lesson: BeamLesson, cells: AnyArray) -> Iterator[str]:
    """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
    from gathercli.io.formats.encode import json_texts

    return map(_cell_json, lesson.traces(cells), json_texts(lesson.elements(cells)))


def _cell_json(trace: BeamTrace, value: str) -> str:
    return (
        f'{{"out":{cell(trace.out)},"parent_ids":{_cell(trace.parent_ids)},'
        f'"parent":{json.dumps(trace.parent)},"beam":{json.dumps(trace.beam)},'
        f'"step_ids":{_cell(trace.step_ids)},"fate":"{trace.fate.value}",'
        f'"value":{"null" if trace.fate is Fate.REFUSED else value}}}'
    )


def _cell(at: tuple[int, ...] | None) -> str:
    return "null" if at is None else cell(at)
