"""The words of a drawing: its heading, the example below, and a description to read out."""

from __future__ import annotations

import re
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final

from gathercli.explain.drawing.scene import Caption
from gathercli.explain.drawing.titles import axis_lines
from gathercli.explain.lesson import Lesson
from gathercli.explain.panel import index_text, unit_text
from gathercli.explain.terminal.view import view_of
from gathercli.report import header
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, counted, grouped, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.beams import BeamLesson
    from gathercli.explain.gather_panel import GatherPanel, Pick
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance

_READ_OUT: Final = 12
"""The most indices that a description reads out."""


def heading(lesson: Provenance[Any], title: str | None) -> list[Caption]:
    """Return the title, the version with its attributes, the equation, and tensors, at x 0."""
    call, equation = lesson.call, lesson.equation
    lines = [Caption(0, -6, clean(short(title)), "note")] if title else []
    lines += [Caption(0, 20, "   ".join([call.op.full_name, *header.attributes(call)]), "heading")]
    lines.append(Caption(0, 50, equation, "equation", spans=list(_spans(lesson))))
    operands = {**call.inputs, "out": Operand(Shape(lesson.shape), _dtype(lesson))}
    words = [f"{name} {operand}" for name, operand in operands.items()]
    if _has_batches(lesson):
        if isinstance(lesson, Lesson):
            words.append(",  ".join(each.text for each in axis_lines(lesson)))
        lines.append(Caption(0, 76, "    ".join(words), "note"))
    return lines


def _has_batches(lesson: Provenance[Any]) -> bool:
    """Return whether titles have no room for types."""
    from gathercli.explain.selection import lead_of

    return not isinstance(lesson, Lesson) or lead_of(lesson) > 0


def _dtype(lesson: Provenance[Any]) -> Any:
    return next(iter(lesson.call.inputs.values())).dtype


def _spans(lesson: Provenance[Any]) -> Iterator[tuple[int, int, str]]:
    """Yield the coordinates in the equation that an index replaces, and those that stay."""
    if not isinstance(lesson, Lesson):
        return
    equation, name = lesson.equation, lesson.name
    start = equation.find("= data[") + len("= data[")
    stays = lesson.picks_cells and not (lesson.is_tuple or lesson.call.batch_dims)
    depth, begin = 0, start
    for at in range(start, len(equation)):
        each = equation[at]
        if depth == 0 and each in ",]":
            word = equation[begin:at]
            left = begin + len(word) - len(word.lstrip())
            if word.lstrip().startswith(name):
                yield left, at, "replaced"
            elif stays and word.strip():
                yield left, at, "stays"
            begin = at + 1
            if each == "]":
                return
        depth += (each == "[") - (each == "]")


def notes(lesson: Provenance[Any], look: Look, traced: Any, cut: Sequence[str]) -> list[Caption]:
    """Return the lines below the tensors: the traced cell step by step, then what is left out.

    Parameters
    ----------
    traced
        The trace of a cell, or None.
    cut
        Sentences about what is not drawn.
    """
    lines: list[Caption] = []
    if traced is not None:
        for words in view_of(lesson).trace_steps(lesson, traced, look):
            text, spans = "", []
            for word, style in words:
                if "bold" in style:
                    spans.append((len(text), len(text) + len(word), "strong"))
                text += word
            lines.append(Caption(0, 0, text, "step", spans=spans))
        lines.append(Caption(0, 0, _legend(lesson, traced), "note"))
    formula = "  =  ".join(header.formula(lesson.call, Shape(lesson.shape)))
    formula = re.sub(rf"\b({'|'.join(lesson.call.inputs)})\[", r"\1.shape[", formula)
    lines.append(Caption(0, 0, f"shape of out: {formula}", "note"))
    lines += [Caption(0, 0, text, "note") for text in cut]
    return lines


def _legend(lesson: Provenance[Any], traced: Any) -> str:
    """Say what letters, colours, thick lines and emphasis mean."""
    part = "part of data" if isinstance(lesson, Lesson) else "beam"
    words = [f"same letter and colour: same {part}"]
    words.append(f"thick: the way to out[{','.join(map(str, traced.out))}]")
    if isinstance(lesson, Lesson) and lesson.axes:
        words.append("bold: by index")
        if any(kind == "stays" for *_, kind in _spans(lesson)):
            words.append("underlined: stays")
    return "   ".join(words)


def hidden(
    lesson: Provenance[Any], look: Look, cells: int, *others: tuple[int, int, str, str]
) -> list[str]:
    """Return a sentence about the output cells that are not drawn, if there are any.

    Parameters
    ----------
    cells
        The number of cells that are drawn.
    others
        The number that are drawn, the number of all, and the noun, one and many, of other parts.
    """
    parts = [(cells, lesson.size, "cell of out", "cells of out"), *others]
    words = [
        f"{grouped(count)} of {counted(size, *noun)}"
        for count, size, *noun in parts
        if count < size
    ]
    if not words:
        return []
    text = f"{listed(words, 'and')} shown"
    return [text if look.window or cells >= lesson.size else f"{text}; {look.advice}"]


def without_arrows(linked: int, total: int, *noun: str) -> list[str]:
    """Return a sentence about what has no arrow, such as indices, if there are any."""
    if not linked or linked >= total:  # of an empty tensor there are neither arrows nor letters
        return []
    return [f"arrows for {linked} of {counted(total, *noun)}; letters mark the rest"]


def description(lesson: Provenance[Any], contents: Sequence[GatherPanel]) -> str:
    """Say in words what a call does, and what each index that is drawn picks."""
    sentences = _opening(lesson)
    picks = [(each, pick) for each in contents for pick in each.picks.values()]
    sentences += [_sentence(each, pick) for each, pick in picks[:_READ_OUT]]
    rest = product(contents[0].lesson.index_shape) - len(picks[:_READ_OUT]) if contents else 0
    if rest > 0:
        sentences.append(f"{counted(rest, 'more index', 'more indices')}.")
    return " ".join(sentences)


def _opening(lesson: Provenance[Any]) -> list[str]:
    """Return what every description begins with."""
    call = lesson.call
    operands = [f"{name} {operand}" for name, operand in call.inputs.items()]
    words = ", ".join([listed(operands, "and"), *header.attributes(call)])
    return [
        f"{call.op.full_name} of {words}.",
        f"The output has the shape {Shape(lesson.shape)}.",
        f"Each of its cells is {lesson.equation}.",
    ]


def _sentence(contents: GatherPanel, pick: Pick) -> str:
    lesson = contents.lesson
    name = f"{lesson.name}[{','.join(map(str, pick.at))}]" if pick.at else lesson.name
    to = _landing(contents, pick)
    if pick.unit is None:
        done = "is refused" if pick.fate.name == "REFUSED" else f"points outside: {to} is zero"
        return f"{name} = {index_text(pick.k)} {done}."
    return f"{name} = {index_text(pick.k)} picks {unit_text(pick.unit)} for {to}."


def _landing(contents: GatherPanel, pick: Pick) -> str:
    """Return the part of the output that an index fills: ``out[0,:]``."""
    dims = [None if i is None else pick.at[i] for _, i in contents.lesson.dim_map]
    at = contents.lesson.joined(tuple(dims))
    return f"out[{','.join(':' if n is None else str(n) for n in at)}]" if at else "out"


def beam_description(lesson: BeamLesson) -> str:
    """Say in words what GatherTree does, and the path of each beam."""
    steps, batches, beams = lesson.shape
    sentences = _opening(lesson)
    for b, w in list(combinations(range(batches), range(beams)))[:_READ_OUT]:
        way = ", ".join(f"beam {beam} at step {t}" for t, beam in lesson.way(b, w))
        sentences.append(f"out[:,{b},{w}] follows {way or 'no beam'}.")
    if not steps:
        sentences.append("There are no steps.")
    return " ".join(sentences)
