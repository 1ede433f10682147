"""GatherTree in characters and as JSON.

In a picture the letter of a beam marks its column of the output, and the tokens and parents on its
path. Only the steps, batches and beams of the picture are read and formatted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.explain.beam_panel import MANY_READERS, BeamPanel, BeamSelection
from gathercli.explain.beams import BeamLesson
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import ROW_LIMITS, sizes
from gathercli.explain.terminal.beam_trace import trace_line, trace_steps
from gathercli.explain.terminal.layout import Line, joined, letter_style, widest
from gathercli.explain.terminal.template import LEGEND_LETTERS, PanelView, View
from gathercli.explain.terminal.trace import text_of
from gathercli.report.palette import REFUSED
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import cell
from gathercli.spec.shapes import Shape
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.beams import BeamTrace
    from gathercli.explain.look import Look
    from gathercli.explain.selection import Limits

_EDGES: Final = (3, 2, 1)
"""The numbers of first and of last steps in a table that has no room for all."""


class BeamPanels(PanelView[BeamSelection, BeamPanel]):
    """The panels and notes of a selection."""

    def panel(self, at: tuple[int, ...]) -> BeamPanel:
        """Read a panel."""
        return BeamPanel(self.selection, at[0])

    def panel_title(self, at: tuple[int, ...]) -> Line:
        """Return the number of a batch, and its length."""
        (b,) = at
        length = self.selection.tokens.write(self.selection.lesson.max_seq_len.values()[b])
        return [(f"batch {b}", "bold"), (f"   max_seq_len {length}", "")]

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, or say that there are none."""
        if not self.selection.lesson.shape[1]:
            return [[("empty: no batches", "dim")]]
        return super().lines(room, stacked=stacked)

    def tensors(self) -> Text:
        """Format the type and the shape of each tensor, and the end token itself."""
        return text_of(joined(_tensors(self), self.room))

    def notes(self) -> Iterator[Line]:
        """Follow each beam back, explain the marks, then trace examples."""
        if table := _table(self, self.room):
            yield from [[], *table]
        yield from joined(_legend(self), self.room)
        lesson = self.selection.lesson
        if examples := list(BEAMS.examples(lesson, self.panels, None, self.look)):
            yield [("a cell copies the token of its beam at its step:", "dim")]
            yield from examples

    def hidden(self) -> str:
        """Describe how much of the output is hidden."""
        count, size = self.selection.cells, self.selection.lesson.size
        if count >= size:
            return ""
        text = f"{grouped(count)} of {counted(size, 'cell')} of out shown"
        return text if self.look.window else f"{text}; {self.look.advice}"


class BeamView(View[BeamLesson, BeamPanels]):
    """The words and pictures of GatherTree."""

    trace_line = staticmethod(trace_line)
    trace_steps = staticmethod(trace_steps)

    def attempts(
        self, lesson: BeamLesson, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[BeamPanels, Sequence[bool]]]:
        """Yield views of ever fewer steps and beams, each choice once."""
        seen = []
        if look.here is not None:
            whole = BeamSelection(lesson, look, ROW_LIMITS[0], columns[0], whole=True)
            if whole.cells == lesson.size:
                seen.append(whole.coordinates)
                yield BeamPanels(whole), (False,)
        for (_, rows), (_, most) in sizes(columns):
            selection = BeamSelection(lesson, look, rows, most)
            if selection.coordinates not in seen:
                seen.append(selection.coordinates)
                yield BeamPanels(selection), (False, True)

    def panel_dims(self, lesson: BeamLesson) -> range:
        """Return the output dimensions that are panels of a picture."""
        del lesson
        return range(1, 2)

    def reads(self, lesson: BeamLesson) -> str:
        """Say how many tokens are read."""
        if not lesson.size:
            return "nothing: step_ids is empty"
        count = int(np.count_nonzero(lesson.read_cells))
        return f"{grouped(count)} of {counted(lesson.size, 'cell')} of step_ids"

    def reads_json(self, lesson: BeamLesson) -> dict[str, Any]:
        """Return how many tokens are read, for JSON."""
        count = int(np.count_nonzero(lesson.read_cells))
        return {"dimensions": [0, 1, 2], "parts": count, "of": lesson.size}

    def cells_json(self, lesson: BeamLesson, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
        from gathercli.io.formats.encode import json_texts

        return map(_cell_json, lesson.traces(cells), json_texts(lesson.elements(cells)))


BEAMS: Final = BeamView()


def _table(view: BeamPanels, room: int) -> list[Line]:
    """Write the way of each beam, a line each, with the steps below each other."""
    beams = list(view.selection.letters.items())[:LEGEND_LETTERS]
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
    if len(view.selection.letters) > LEGEND_LETTERS:
        lines.append([(view.look.marks.columns, "dim")])
    return [[("each beam is followed back from its last step:", "dim")], *lines]


def _rows(
    view: BeamPanels, beams: list[tuple[tuple[int, int], str]], columns: list[int | None]
) -> list[Line]:
    """Return the lines of a table; None among its steps marks hidden ones."""
    marks, several = view.look.marks, len(view.selection.batches) > 1
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


def _step(view: BeamPanels, t: int | None, b: int, w: int) -> str:
    """Format one step of a beam: its token and its parent, or the fate of its cell."""
    lesson, tokens = view.selection.lesson, view.selection.tokens
    if t is None:
        return view.look.marks.columns
    beam = None if t >= lesson.lengths[b] else lesson.beam(t, b, w)
    if beam is not None:
        parent = f", parent {tokens.parent(t, b, beam)}" if t else ""
        target = tokens.target(t, b, w) if t and lesson.beam(t - 1, b, w) is not None else ""
        return f"{tokens.token(t, b, beam)}{parent}{target}"
    first = t + 1 < lesson.lengths[b] and lesson.beam(t + 1, b, w) is not None
    if not first:  # the path ended at a later step
        return ""
    return "refused" if lesson.fate(t, b, w) is Fate.REFUSED else "none"


def _legend(view: BeamPanels) -> Iterator[Line]:
    """Explain the marks of the panels."""
    marks, lesson = view.look.marks, view.selection.lesson
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


def _ends(view: BeamPanels) -> str:
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
    return f": {', '.join(ends)}" if 0 < len(ends) <= LEGEND_LETTERS // 2 else ""


def _tensors(view: BeamPanels) -> Iterator[Line]:
    """Yield the type and the shape of each tensor, and the end token itself."""
    lesson = view.selection.lesson
    out = Operand(Shape(lesson.shape), lesson.step_ids.dtype)
    for name, operand in {**lesson.call.inputs, "out": out}.items():
        value = f" = {view.selection.tokens.end}" if operand.shape.rank == 0 else ""
        yield [(name, "bold"), (f" {operand}{value}", "")]


def _cell_json(trace: BeamTrace, value: str) -> str:
    return (
        f'{{"out":{cell(trace.out)},"parent_ids":{_cell(trace.parent_ids)},'
        f'"parent":{json.dumps(trace.parent)},"beam":{json.dumps(trace.beam)},'
        f'"step_ids":{_cell(trace.step_ids)},"fate":"{trace.fate.value}",'
        f'"value":{"null" if trace.fate is Fate.REFUSED else value}}}'
    )


def _cell(at: tuple[int, ...] | None) -> str:
    return "null" if at is None else cell(at)
