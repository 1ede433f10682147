"""Trace an output cell of GatherTree in words: its beam, step by step from the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.explain.beam_panel import Tokens
from gathercli.explain.provenance import Fate
from gathercli.report.palette import REFUSED
from gathercli.spec.coordinates import cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.explain.beams import BeamLesson, BeamTrace
    from gathercli.explain.look import Look
    from gathercli.explain.terminal.layout import Line


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
