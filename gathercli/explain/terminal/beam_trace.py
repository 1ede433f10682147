"""Trace an output cell of GatherTree in words: its beam, step by step from the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.explain.provenance import Fate
from gathercli.explain.terminal.trace import TARGETS
from gathercli.report.grid import GridWriter
from gathercli.report.palette import REFUSED
from gathercli.spec.coordinates import cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.explain.beams import BeamLesson, BeamTrace
    from gathercli.explain.look import Look
    from gathercli.explain.terminal.layout import Line


class Tokens:
    """A formatter of the tokens and parents of a lesson."""

    def __init__(self, lesson: BeamLesson, look: Look) -> None:
        self._lesson, self._arrow = lesson, look.marks.arrow
        self.write = GridWriter(lesson.step_ids, look.precision)
        self._steps = lesson.step_ids.values()
        self.end = self.write(lesson.end_token.values()[()])

    def token(self, t: int, b: int, beam: int) -> str:
        """Format a token of `step_ids`."""
        return self.write(self._steps[t, b, beam])

    def parent(self, t: int, b: int, beam: int) -> str:
        """Format the parent of a beam at step t."""
        return self.write(self._lesson.parent(t, b, beam))

    def target(self, t: int, b: int, w: int) -> str:
        """Return ``→ 1`` if the parent of beam w at step t is another number, else nothing.

        Return ``→ none`` or ``→ refused`` for a parent that names no beam.
        """
        lesson = self._lesson
        beam, before = lesson.beam(t, b, w), lesson.beam(t - 1, b, w) if t else None
        if not t or beam is None or before == lesson.parent(t, b, beam):
            return ""
        return self._arrow + (TARGETS[lesson.fate(t - 1, b, w)] if before is None else str(before))


def trace_line(lesson: BeamLesson, trace: BeamTrace, look: Look) -> Line:
    """Trace a cell in one line: ``out[0,0,1] = step_ids[0,0,2] = 11``."""
    line: Line = [(f"out{cell(trace.out)}", "")]
    if trace.fate is Fate.REFUSED:
        return [*line, (": ", ""), ("refused", REFUSED)]
    t, b, _ = trace.out
    source = " = end_token"
    if trace.fate is Fate.FILLED:
        source = f" = step_ids[{t},{b},none]"
    elif trace.step_ids is not None:
        source = f" = step_ids{cell(trace.step_ids)}"
    return [*line, (f"{source} = {Tokens(lesson, look).write(trace.value)}", "")]


def trace_steps(lesson: BeamLesson, trace: BeamTrace, look: Look) -> Iterator[Line]:
    """Trace a cell step by step, from the last step of its beam, in words and coordinates."""
    t, b, w = trace.out
    tokens = Tokens(lesson, look)
    yield [(f"out{cell(trace.out)}", "bold"), (f"   t = {t}, b = {b}, w = {w}", "")]
    length, last = tokens.write(lesson.max_seq_len.values()[b]), lesson.lengths[b] - 1
    if trace.fate is Fate.BEYOND:
        steps = f"step {last} is its last" if last >= 0 else "it has no steps"
        yield [(f"  max_seq_len[{b}] is {length}, the length of batch {b}: {steps}", "")]
    else:
        yield [(f"  max_seq_len[{b}] is {length}: beam {w} is followed back from step {last}", "")]
        yield from _way(lesson, trace, tokens)
    yield [("  ", ""), *trace_line(lesson, trace, look)]


def _way(lesson: BeamLesson, trace: BeamTrace, tokens: Tokens) -> Iterator[Line]:
    """Yield the steps of a beam from its last to the step of the cell or of the first end token."""
    t, b, w = trace.out
    first = int(lesson.ends[b, w]) if trace.fate is Fate.ENDED else t
    for step, beam in lesson.way(b, w):
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
