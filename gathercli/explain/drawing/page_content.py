"""The content of an interactive page: where each output cell comes from, in words and as ids.

Thousands of traces differ in little but their numbers. A line of text is stored as the number of
its template, the text between numbers, followed by the numbers::

    templates  [["  indices[", "] is -", ""], ...]
    lines      ["0 2 1", ...]                         line 0 is "  indices[2] is -1"

So is the id of a cell, with the number of its tensor; a record of an output cell has the ids of it,
its index and its source, and the numbers of the lines of its trace::

    tensors    ["out", "data", "indices"]
    cells      ["0-2 2-2 1-3 0,4,1", ...]             out-2 is indices-2 of data, which is data-3
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.explain.drawing.index_fates import index_fates
from gathercli.explain.drawing.scene import cell_id
from gathercli.explain.lesson import Lesson, numbers
from gathercli.explain.provenance import Fate
from gathercli.explain.terminal.view import view_of
from gathercli.spec.coordinates import flat_positions
from gathercli.text import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.explain.beams import BeamTrace
    from gathercli.explain.drawing.index_fates import IndexFates, IndexSpan
    from gathercli.explain.drawing.scene import Scene
    from gathercli.explain.lesson import Trace
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.terminal.layout import Line

OUT: Final = "out"
"""The name of the output."""


class TextTable:
    """Lines of text, each stored once: their templates and their numbers."""

    def __init__(self) -> None:
        self.templates: dict[tuple[str, ...], int] = {}
        self.lines: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a line, which is added if it is new."""
        parts = re.split(r"([0-9]+)", text)
        template = self.templates.setdefault(tuple(parts[::2]), len(self.templates))
        line = " ".join([str(template), *parts[1::2]])
        return self.lines.setdefault(line, len(self.lines))

    def numbers(self, lines: Iterable[Line]) -> str:
        """Return the numbers of lines, each of words with styles: ``0,4,1``."""
        texts = ("".join(word for word, _ in line) for line in lines)
        return ",".join(str(self.number(text)) for text in texts)


def page_content(lesson: Provenance[Any], look: Look, scene: Scene) -> dict[str, Any]:
    """Return what a page says of the cells of a drawing, for JSON.

    Returns
    -------
        ``tensors``, ``templates``, ``lines`` and ``cells``, row-major, as above; ``start``, the id
        of the traced cell; ``total``, the number of cells of the output if not all are drawn;
        ``indices``, the numbers of each index by id, as texts; ``fates`` as in `IndexFates`.
    """
    view, texts = view_of(lesson), TextTable()
    tensors = (OUT, *lesson.call.inputs)
    drawn = {cell.at: "traced" in cell.kinds for cell in scene.cells if cell.tensor == OUT}
    flat = sorted(flat_positions(at, lesson.shape, none=False) for at in drawn)
    cells: list[str] = []
    indices: dict[str, tuple[int, ...]] = {}
    for trace in lesson.traces(np.array(flat, np.int64)):
        sources = _sources(lesson, trace) if isinstance(lesson, Lesson) else _beam_sources(trace)
        if sources.numbers is not None:
            indices[cell_id(*sources.pointer)] = sources.numbers
        ends = ((OUT, trace.out), sources.pointer, sources.source)
        lines = texts.numbers(view.trace_steps(lesson, trace, look))
        cells.append(" ".join([*(_id(tensors, end) for end in ends), lines]))
    return {
        "version": lesson.call.op.full_name,
        "total": None if len(cells) == lesson.size else grouped(lesson.size),
        "tensors": tensors,
        "templates": list(texts.templates),
        "lines": list(texts.lines),
        "cells": cells,
        "start": next((cell_id(OUT, at) for at, is_traced in drawn.items() if is_traced), None),
        "indices": {name: _texts(numbers) for name, numbers in indices.items()},
        "fates": [_table(each) for each in index_fates(lesson, indices.values())],
    }


class _Sources(NamedTuple):
    """The tensor and coordinates of the index of a cell, and of its source; the index itself."""

    pointer: tuple[str, tuple[int, ...]]
    source: tuple[str, tuple[int, ...]] | None
    numbers: tuple[int, ...] | None


def _sources(lesson: Lesson, trace: Trace) -> _Sources:
    data = None if trace.data is None else (next(iter(lesson.call.inputs)), trace.data)
    return _Sources((lesson.name, trace.indices), data, numbers(trace.k))


def _beam_sources(trace: BeamTrace) -> _Sources:
    """Return the parent that leads to a cell, or the length of its batch at the last step."""
    source: tuple[str, tuple[int, ...]] | None = None
    if trace.fate in (Fate.ENDED, Fate.BEYOND):
        source = "end_token", ()
    elif trace.step_ids is not None:
        source = "step_ids", trace.step_ids
    if trace.parent_ids is None or trace.parent is None:
        return _Sources(("max_seq_len", trace.out[1:2]), source, None)
    return _Sources(("parent_ids", trace.parent_ids), source, (trace.parent,))


def _id(tensors: Sequence[str], cell: tuple[str, Sequence[int]] | None) -> str:
    """Write the id of a cell with the number of its tensor; ``-`` for none."""
    if cell is None:
        return "-"
    tensor, at = cell
    return cell_id(str(tensors.index(tensor)), at)


def _table(fates: IndexFates) -> dict[str, Any]:
    """Return the fates on an axis; numbers that have no limit are texts, which stay exact."""
    versions = {name: [_span(each) for each in spans] for name, spans in fates.versions.items()}
    return {
        **fates._asdict(),
        "size": str(fates.size),
        "values": _texts(fates.values),
        "versions": versions,
    }


def _span(span: IndexSpan) -> dict[str, str | None]:
    last = None if span.last is None else str(span.last)
    return {**span._asdict(), "last": last, "value": str(span.value)}


def _texts(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers]
