"""The way of one output cell in words, with its numbers in the equation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from gathercli.lessons.provenance import Fate
from gathercli.report.grid import GridWriter
from gathercli.report.layout import REFUSED, append
from gathercli.spec.coordinates import at as cell_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gathercli.lessons.lesson import Lesson, Trace, Unit
    from gathercli.report.layout import Line, Marks
    from gathercli.report.selection import Look


def writer(lesson: Lesson, look: Look) -> Callable[[Any], str]:
    """Return a function that formats elements of `data`."""
    write = GridWriter(lesson.data, look.precision)
    if not look.marks.ascii:
        return write
    return lambda value: write(value).encode("ascii", "backslashreplace").decode()


def unit_text(unit: Unit) -> str:
    """Format the part of `data` that an index picks: ``data[3,:]``."""
    return f"data[{','.join(':' if n is None else str(n) for n in unit)}]"


def letters(lesson: Lesson) -> list[str]:
    """Return the names of the output's coordinates in the equation."""
    left = lesson.equation.partition(" = ")[0]
    return left.removeprefix("out").strip("[]").split(", ") if "[" in left else []


def trace_line(lesson: Lesson, trace: Trace, look: Look) -> Line:
    """Trace a cell in one line: ``out[0,1] = data[indices[0], 1] = data[3,1] = 20``."""
    out = {d: n for (d, _), n in zip(lesson.dim_map, trace.out, strict=True) if d is not None}
    line: Line = [(_cell("out", trace.out), "")]
    for index in (_cell(lesson.along.input, trace.indices), _resolved(trace, look.marks)):
        line.append((" = data[", ""))
        for d in range(len(lesson.data.shape)):
            line.append(("," if d else "", ""))
            line.append((index, "bold") if d == lesson.axis else (str(out[d]), ""))
        line.append(("]", ""))
    if trace.fate is Fate.REFUSED:
        return [*line, (": refused", REFUSED)]
    return [*line, (f" = {writer(lesson, look)(trace.value)}", "")]


def _resolved(trace: Trace, marks: Marks) -> str:
    """Format an index, and its position if that is another number."""
    if trace.position == trace.k:
        return str(trace.k)
    where = "none" if trace.position is None else str(trace.position)
    return f"{trace.k}{marks.arrow}{where}"


def trace_steps(lesson: Lesson, trace: Trace, look: Look) -> Iterator[Line]:
    """Trace a cell step by step, in words and coordinates."""
    runs = ", ".join(f"{n} = {at}" for n, at in zip(letters(lesson), trace.out, strict=True))
    yield [(_cell("out", trace.out), "bold"), (f"   {runs}" if runs else "", "")]
    yield [(f"  {_cell(lesson.along.input, trace.indices)} is {trace.k}", "")]
    yield [(f"  {_meaning(lesson, trace)}", "")]
    if trace.data is not None:
        cell = _cell("data", trace.data)
        yield [(f"  it takes the place of coordinate {lesson.axis}: {cell}", "")]
    yield [("  ", ""), *trace_line(lesson, trace, look)]


def _meaning(lesson: Lesson, trace: Trace) -> str:
    """Say which position an index has, and why."""
    call, k, size = lesson.call, trace.k, lesson.along.size
    axis = f"axis {lesson.axis}, whose size is {size}"
    if trace.position is None:
        done = "zeros" if trace.fate is Fate.FILLED else "refused"
        return f"{k} points nowhere on {axis}: {done}"
    if trace.position == k:
        return f"it is a position on {axis}"
    if call.wraps_negative and k < 0 and trace.position == k + size:
        return f"it counts from the end of {axis}: {k} + {size} = {trace.position}"
    return f"it is outside {axis}: {call.outside.done} to {trace.position}"


def _cell(tensor: str, at: Sequence[int]) -> str:
    """Format a cell by its coordinates: ``data[3,1]``."""
    return cell_of(tensor, [",".join(map(str, at))] if at else [])


def text_of(lines: Iterable[Line]) -> Text:
    """Return lines as one text."""
    text = Text()
    append(text, lines)
    return text
