"""Trace an output cell in words, with its numbers in the equation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.text import Text

from gathercli.explain.lesson import numbers
from gathercli.explain.panel import index_text, writer
from gathercli.explain.provenance import Fate
from gathercli.explain.terminal.layout import append
from gathercli.report.palette import REFUSED
from gathercli.spec.coordinates import at as cell_of
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gathercli.explain.lesson import Lesson, Trace
    from gathercli.explain.look import Look, Marks
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.terminal.layout import Line


def letters(lesson: Provenance[Any]) -> list[str]:
    """Return the names of the output's coordinates in the equation, batch dimensions apart."""
    left = lesson.equation.partition(" = ")[0]
    return re.findall(r"[a-z]\d*", left.removeprefix("out"))


def trace_line(lesson: Lesson, trace: Trace, look: Look) -> Line:
    """Trace a cell in one line: ``out[0,1] = data[indices[0], 1] = data[3,1] = 20``."""
    pairs = zip(lesson.dim_map, lesson.apart(trace.out), strict=True)
    out = {d: n for (d, _), n in pairs if d is not None}
    line: Line = [(_cell("out", trace.out), "")]
    for index in (_cell(lesson.name, trace.indices), _resolved(lesson, trace, look.marks)):
        line.append((" = data[", ""))
        for d in range(len(lesson.view)):
            line.append(("," if d else "", ""))
            line.append((index, "bold") if d == lesson.axis else (str(out[d]), ""))
        line.append(("]", ""))
    if trace.fate is Fate.REFUSED:
        return [*line, (": ", ""), ("refused", REFUSED)]
    return [*line, (f" = {writer(lesson.data, look)(trace.value)}", "")]


def _resolved(lesson: Lesson, trace: Trace, marks: Marks) -> str:
    """Format an index, with the position of each of its numbers that differs."""
    pairs = zip(numbers(trace.k), _places(lesson, trace), strict=True)
    words = [
        str(k) if k == position >= 0 else f"{k}{marks.arrow}{'none' if position < 0 else position}"
        for k, position in pairs
    ]
    return f"({','.join(words)})" if lesson.is_tuple else words[0]


def _places(lesson: Lesson, trace: Trace) -> Sequence[int]:
    """Return the position of each number of an index, or -1."""
    return lesson.components(trace.k) if trace.position is None else numbers(trace.position)


def trace_steps(lesson: Lesson, trace: Trace, look: Look) -> Iterator[Line]:
    """Trace a cell step by step, in words and coordinates."""
    pairs = zip(letters(lesson), lesson.apart(trace.out), strict=True)
    runs = ", ".join(f"{name} = {at}" for name, at in pairs)
    yield [(_cell("out", trace.out), "bold"), (f"   {runs}" if runs else "", "")]
    yield [(f"  {_cell(lesson.name, trace.indices)} is {index_text(trace.k)}", "")]
    for meaning in _meanings(lesson, trace):
        yield [(f"  {meaning}", "")]
    if trace.position is not None and trace.data is not None:
        index = index_text(trace.position) if lesson.is_tuple else "it"
        yield [(f"  {index} {use(lesson)}: {_cell('data', trace.data)}", "")]
    yield [("  ", ""), *trace_line(lesson, trace, look)]


def use(lesson: Lesson, of: str = "") -> str:
    """Describe which coordinates of `data` an index replaces, and of an element which stay.

    ``takes the place of coordinate 0 of data; coordinate 1 stays``
    """
    if not lesson.axes:
        batch = "its batch of " if lesson.call.batch_dims else ""
        return f"has no numbers, so it picks all of {batch}data"
    text = f"takes the place of {_coordinates(lesson.axes)}{of}"
    staying = [d for d in lesson.unit_dims if d not in lesson.axes]
    if not lesson.call.op.elementwise or not staying:
        return text
    return f"{text}; {_coordinates(staying)} {'stays' if len(staying) == 1 else 'stay'}"


def _coordinates(dims: Sequence[int]) -> str:
    return f"{'coordinate' if len(dims) == 1 else 'coordinates'} {listed(map(str, dims), 'and')}"


def _meanings(lesson: Lesson, trace: Trace) -> Iterator[str]:
    """Explain the position of each number of an index."""
    call = lesson.call
    each = zip(numbers(trace.k), _places(lesson, trace), lesson.axes, lesson.along, strict=True)
    for k, position, dim, along in each:
        axis, it = f"axis {dim}, whose size is {along.size}", k if lesson.is_tuple else "it"
        if position < 0:
            done = "zeros" if trace.fate is Fate.FILLED else "refused"
            yield f"{k} points nowhere on {axis}: {done}"
        elif position == k:
            yield f"{it} is a position on {axis}"
        elif call.wraps_negative and k < 0 and position == k + along.size:
            yield f"{it} counts from the end of {axis}: {k} + {along.size} = {position}"
        else:
            yield f"{it} is outside {axis}: {call.outside.done} to {position}"


def _cell(tensor: str, at: Sequence[int]) -> str:
    """Format a cell with its coordinates: ``data[3,1]``."""
    return cell_of(tensor, [",".join(map(str, at))] if at else [])


def text_of(lines: Iterable[Line]) -> Text:
    """Join lines into a text."""
    text = Text()
    append(text, lines)
    return text
