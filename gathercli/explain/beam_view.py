"""GatherTree in words, in pictures and as JSON.

In a picture the letter of a beam marks its column of the output, and the tokens and parents on its
path. Only the steps, batches and beams of the picture are read and formatted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product as combinations
from textwrap import wrap
from typing import Any, Final

import numpy as np
from rich.text import Text

from gathercli.compute.storage import AnyArray
from gathercli.explain.beams import BeamProvenance, BeamSelection, BeamTrace, Tokens, beam_panel
from gathercli.explain.panel import (
    MOST_LEGEND_LETTERS,
    MOST_READ_OUT,
    REFUSED_STYLE,
    Ends,
    Limits,
    Line,
    Look,
    Panel,
    PictureParts,
    View,
)
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import ROW_LIMITS, examples, sizes
from gathercli.explain.terminal.layout import joined, letter_style, text_of, widest
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, cell
from gathercli.text import counted, grouped

_NO_BREAK: Final = "\N{NO-BREAK SPACE}"  # the blank within what a legend lists, where no line ends
# The numbers of first and of last steps in a table that has no room for all.
_TABLE_EDGES: Final = (3, 2, 1)


class BeamView(View):
    """The words and pictures of GatherTree."""

    part = "beam"
    linked = ("beam",)
    choice = BeamSelection
    panel_dims = range(1, 2)

    def __init__(self, provenance: BeamProvenance) -> None:
        self.provenance: BeamProvenance = provenance
        self.without_panels = "" if provenance.shape[1] else "empty: no batches"

    def attempts(
        self, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[BeamSelection, Sequence[bool]]]:
        """Yield choices of ever fewer steps and beams, each once."""
        seen = []
        if look.here is not None:
            whole = self.select(look, ROW_LIMITS[0], columns[0], whole=True)
            if whole.cells == self.provenance.size:
                seen.append(whole.coordinates)
                yield whole, (False,)
        for (_, rows), (_, most) in sizes(columns):
            selection = self.select(look, rows, most)
            if selection.coordinates not in seen:
                seen.append(selection.coordinates)
                yield selection, (False, True)

    def panel(self, selection: BeamSelection, at: tuple[int, ...]) -> Panel:
        """Read a panel."""
        return beam_panel(selection, at[0])

    def tensors(self, selection: BeamSelection, room: int) -> Text:
        """Format the type and the shape of each tensor, and the end token itself."""
        provenance, lines = self.provenance, []
        out = Operand(Shape(provenance.shape), provenance.step_ids.dtype)
        for name, operand in {**provenance.call.inputs, "out": out}.items():
            value = f" = {selection.tokens.end}" if operand.shape.rank == 0 else ""
            lines.append([(name, "bold"), (f" {operand}{value}", "")])
        return text_of(joined(lines, room))

    def notes(self, selection: BeamSelection, panels: Sequence[Panel], room: int) -> Iterator[Line]:
        """Follow each beam back, explain the marks, then trace examples."""
        if table := _table(selection, room):
            yield from [[], *table]
        yield from joined(_legend(selection, panels, room), room)
        if traced := examples(self, selection.look, panels):
            yield [("a cell copies the token of its beam at its step:", "dim")]
            yield from traced

    def parts(self, selection: BeamSelection, *, drawn: bool) -> PictureParts:
        """Count the cells, and of a drawing the batches, in a picture."""
        size, batches = self.provenance.size, self.provenance.shape[1]
        cells: PictureParts = [(selection.cells, size, ("cell of out", "cells of out"))]
        return [*cells, (len(selection.batches), batches, ("batch", "batches"))] if drawn else cells

    def reads(self) -> str:
        """Say how many tokens are read."""
        if not self.provenance.size:
            return "nothing: step_ids is empty"
        count = int(np.count_nonzero(self.provenance.read_cells))
        return f"{grouped(count)} of {counted(self.provenance.size, 'cell')} of step_ids"

    def reads_json(self) -> dict[str, Any]:
        """Return how many tokens are read, for JSON."""
        count = int(np.count_nonzero(self.provenance.read_cells))
        return {"dimensions": [0, 1, 2], "parts": count, "of": self.provenance.size}

    def cells_json(self, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
        from gathercli.io.formats.encode import json_texts

        texts = json_texts(self.provenance.elements(cells))
        return map(_cell_json, self.provenance.traces(cells), texts)

    def ends(self, trace: BeamTrace) -> Ends:
        """Return the parent that leads to a cell, or the length of its batch at the last step."""
        source: tuple[str, tuple[int, ...]] | None = None
        if trace.fate in (Fate.ENDED, Fate.BEYOND):
            source = "end_token", ()
        elif trace.step_ids is not None:
            source = "step_ids", trace.step_ids
        if trace.parent_ids is None or trace.parent is None:
            return Ends(("max_seq_len", trace.out[1:2]), source, None)
        return Ends(("parent_ids", trace.parent_ids), source, (trace.parent,))

    def sentences(self, panels: Sequence[Panel]) -> Iterator[str]:
        """Say what the path of each beam is."""
        del panels
        steps, batches, beams = self.provenance.shape
        for b, w in list(combinations(range(batches), range(beams)))[:MOST_READ_OUT]:
            way = ", ".join(f"beam {beam} at step {t}" for t, beam in self.provenance.way(b, w))
            yield f"out[:,{b},{w}] follows {way or 'no beam'}."
        if not steps:
            yield "There are no steps."

    def trace_line(self, trace: BeamTrace, look: Look) -> Line:
        """Trace a cell in one line: ``out[0,0,1] = step_ids[0,0,2] = 11``."""
        line: Line = [(f"out{cell(trace.out)}", "")]
        if trace.fate is Fate.REFUSED:
            return [*line, (": ", ""), ("refused", REFUSED_STYLE)]
        t, b, _ = trace.out
        source = " = end_token"
        if trace.fate is Fate.FILLED:
            source = f" = step_ids[{t},{b},none]"
        elif trace.step_ids is not None:
            source = f" = step_ids{cell(trace.step_ids)}"
        return [*line, (f"{source} = {Tokens(self.provenance, look).write(trace.value)}", "")]

    def trace_steps(self, trace: BeamTrace, look: Look) -> Iterator[Line]:
        """Trace a cell step by step, from the last step of its beam, in words and coordinates."""
        t, b, w = trace.out
        tokens, last = Tokens(self.provenance, look), self.provenance.lengths[b] - 1
        yield [(f"out{cell(trace.out)}", "bold"), (f"   t = {t}, b = {b}, w = {w}", "")]
        length = f"  max_seq_len[{b}] is {tokens.length(b)}"
        if trace.fate is Fate.BEYOND:
            steps = f"step {last} is its last" if last >= 0 else "it has no steps"
            yield [(f"{length}, the length of batch {b}: {steps}", "")]
        else:
            yield [(f"{length}: beam {w} is followed back from step {last}", "")]
            yield from _way(self.provenance, trace, tokens)
        yield [("  ", ""), *self.trace_line(trace, look)]


def _way(provenance: BeamProvenance, trace: BeamTrace, tokens: Tokens) -> Iterator[Line]:
    """Yield the steps of a beam from its last to the step of the cell or of the first end token."""
    t, b, w = trace.out
    first = int(provenance.ends[b, w]) if trace.fate is Fate.ENDED else t
    for step, beam in provenance.way(b, w):
        if step < first:
            break
        text = f"  step {step}: step_ids[{step},{b},{beam}] is {tokens.token(step, b, beam)}"
        if step > first:
            text += f", parent_ids[{step},{b},{beam}] is {tokens.parent(step, b, beam)}"
            text += tokens.target(step, b, w)
        elif trace.fate is Fate.ENDED:
            text += ", which is end_token"
        yield [(text, "")]
    if trace.fate is Fate.ENDED:
        yield [(f"  step {t} comes after it", "")]


def _table(selection: BeamSelection, room: int) -> list[Line]:
    """Write the way of each beam, a line each, with the steps below each other."""
    beams = list(selection.letters.items())[:MOST_LEGEND_LETTERS]
    steps = max((selection.provenance.lengths[b] for (b, _), _ in beams), default=0)
    if not steps:
        return []
    for edge in (steps, *_TABLE_EDGES):
        columns: list[int | None] = [*reversed(range(steps))]
        if 2 * edge < steps:
            columns[edge:-edge] = [None]
        lines = _rows(selection, beams, columns)
        if widest(lines) <= room:
            break
    if len(selection.letters) > MOST_LEGEND_LETTERS:
        lines.append([(selection.look.marks.columns, "dim")])
    return [[("each beam is followed back from its last step:", "dim")], *lines]


def _rows(
    selection: BeamSelection, beams: list[tuple[tuple[int, int], str]], columns: list[int | None]
) -> list[Line]:
    """Return the lines of a table; None among its steps marks hidden ones."""
    marks, several = selection.look.marks, len(selection.batches) > 1
    names = [
        f"{letter}  batch {b}, beam {w}" if several else f"{letter}  beam {w}"
        for (b, w), letter in beams
    ]
    margin = max(map(len, names))
    heads = [marks.columns if t is None else f"step {t}" for t in columns]
    tables = [[_step(selection, t, b, w) for t in columns] for (b, w), _ in beams]
    widths = [max(map(len, column)) for column in zip(heads, *tables, strict=True)]
    joint = " " * len(marks.arrow)
    padded = (head.ljust(n) for head, n in zip(heads, widths, strict=True))
    lines: list[Line] = [[(" " * (margin + 3) + joint.join(padded), "dim")]]
    for name, (beam, letter), texts in zip(names, beams, tables, strict=True):
        rest = name.ljust(margin + 3).removeprefix(letter)
        line: Line = [(letter, letter_style(selection.colors[beam])), (rest, "")]
        for n, (text, size) in enumerate(zip(texts, widths, strict=True)):
            between = marks.arrow if n and texts[n - 1] and text else joint
            style = REFUSED_STYLE if text == "refused" else ""
            line += [(between if n else "", "dim"), (text.ljust(size), style)]
        lines.append(line)
    return lines


def _step(selection: BeamSelection, t: int | None, b: int, w: int) -> str:
    """Format one step of a beam: its token and its parent, or the fate of its cell."""
    provenance, tokens = selection.provenance, selection.tokens
    if t is None:
        return selection.look.marks.columns
    beam = None if t >= provenance.lengths[b] else provenance.beam(t, b, w)
    if beam is not None:
        parent = f", parent {tokens.parent(t, b, beam)}" if t else ""
        target = tokens.target(t, b, w) if t and provenance.beam(t - 1, b, w) is not None else ""
        return f"{tokens.token(t, b, beam)}{parent}{target}"
    first = t + 1 < provenance.lengths[b] and provenance.beam(t + 1, b, w) is not None
    if not first:  # the path ended at a later step
        return ""
    return "refused" if provenance.fate(t, b, w) is Fate.REFUSED else "none"


def _legend(selection: BeamSelection, panels: Sequence[Panel], room: int) -> Iterator[Line]:
    marks, provenance = selection.look.marks, selection.provenance
    tensors = [tensor for panel in panels for tensor in panel.tensors]
    cells = [cell for tensor in tensors for cell in tensor.cells.values()]
    seen = {cell.fate for cell in cells}
    if Fate.ENDED in seen or Fate.BEYOND in seen:
        words = f"{marks.nowhere} end_token{_ends(selection)}"
        for line in wrap(words, room, break_on_hyphens=False):
            yield [(line.replace(_NO_BREAK, " "), "")]
    if Fate.FILLED in seen:
        yield [(f"{selection.unknown} zero-filled: a parent names no beam", "italic")]
    if Fate.REFUSED in seen:
        yield [(marks.refused, REFUSED_STYLE), (" refused", "")]
    remarks = dict.fromkeys(remark for panel in panels for remark in panel.remarks)
    yield from ([(remark, "")] for remark in remarks)
    if any(cell.letter == marks.hidden for cell in cells):
        yield [(f"{marks.hidden} read by beams that are not shown", "")]
    if provenance.size and not provenance.read_cells.all():
        yield [("no letter: not read", "dim")]


def _ends(selection: BeamSelection) -> str:
    """List the beams that end before their last step, and the batches shorter than others."""
    provenance = selection.provenance
    size = provenance.shape[0]
    ends = [
        f"{letter} ended at step {provenance.ends[at]}"
        for at, letter in selection.letters.items()
        if provenance.ends[at] + 1 < provenance.lengths[at[0]]
    ]
    ends += [
        f"batch {b} has {counted(provenance.lengths[b], 'step')}"
        for b in selection.batches
        if provenance.lengths[b] < size
    ]
    if not 0 < len(ends) <= MOST_LEGEND_LETTERS // 2:
        return ""
    return f": {', '.join(each.replace(' ', _NO_BREAK) for each in ends)}"


def _cell_json(trace: BeamTrace, value: str) -> str:
    parent_ids, step_ids = (
        "null" if at is None else cell(at) for at in (trace.parent_ids, trace.step_ids)
    )
    return (
        f'{{"out":{cell(trace.out)},"parent_ids":{parent_ids},'
        f'"parent":{json.dumps(trace.parent)},"beam":{json.dumps(trace.beam)},'
        f'"step_ids":{step_ids},"fate":"{trace.fate.value}",'
        f'"value":{"null" if trace.fate is Fate.REFUSED else value}}}'
    )
