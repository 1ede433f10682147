"""Draw an explanation: choose what to show, arrange its panels, and say it in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil, inf, log
from typing import Any, Final

from gathercli.explain.drawing.panel_drawing import PanelDrawing, align, panel_drawings
from gathercli.explain.drawing.scene import Caption, Scene, text_width
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import Look, PanelChoice, View
from gathercli.explain.provenance import Provenance, telling_traces
from gathercli.explain.selection import COLUMN_LIMITS, sizes
from gathercli.report import header
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape
from gathercli.text import clean, counted, short

# The ratio of width to height that the arrangement of panels comes near to by default.
_USUAL_RATIO: Final = 16 / 9

_SCENE_MARGIN: Final = 28
_PANEL_GAP: Final = 48  # the space between panels
_NOTE_LINE: Final = 21
_MOST_WIDTH: Final = 1600
_MOST_HEIGHT: Final = 800  # the largest size of the tensors, if fewer cells are smaller
# The ratio of sizes from which fewer cells are worth it though they do not fit either.
_WORTHWHILE_RATIO: Final = 0.8


def scene_of(
    provenance: Provenance[Any],
    look: Look,
    *,
    cell: tuple[int, ...] | None = None,
    title: str | None = None,
    has_steps: bool = True,
    aspect: tuple[int, int] | None = None,
) -> Scene:
    """Draw the provenance of the output cells that a look shows, below a title.

    The path of the cell is strong and all else faint; without one that of a telling cell is strong
    with the rest as usual. With `has_steps` its trace stands below; a page writes that of any cell
    itself. The arrangement comes near to the aspect, the ratio of width to height, if there is one.
    """
    cell, view = None if cell is None else provenance.normalized(cell), view_of(provenance)
    selection, drawings = _fitting(view, look, cell)
    panels = [each.panel for each in drawings]
    traced = _traced(provenance, drawings, cell)
    for each in drawings:
        each.link(traced, 1 / len(drawings))
    align(drawings)
    head = _heading(view, title)
    top = _SCENE_MARGIN + head[-1].y + 30
    ratio = None if aspect is None else aspect[0] / aspect[1]
    width, height = _arrange(drawings, _SCENE_MARGIN, top, ratio or _USUAL_RATIO)
    captions = [each for drawing in drawings for each in drawing.captions()]
    captions += [each._replace(x=_SCENE_MARGIN, y=each.y + _SCENE_MARGIN) for each in head]
    grids = [grid for drawing in drawings for grid in drawing.grids()]
    cut = [*dict.fromkeys(remark for panel in panels for remark in panel.remarks)]
    cut += _without_arrows(view, drawings)
    cut += filter(None, [view.hidden(selection, view.parts(selection, drawn=True))])
    mark = look.marks.hidden
    if any(cell.letter == mark for grid in grids for cell in grid.cells):
        cut.append(f"{mark} read by indices that are not shown")
    words = _notes(view, look, traced if has_steps else None)
    words += [Caption(0, 0, text, "note") for text in cut]
    x, y = _notes_corner(words, width, top + height, top, ratio)
    for line in words:
        y += _NOTE_LINE if line.kind == "step" else _NOTE_LINE + 4
        captions.append(line._replace(x=x, y=y))
    return Scene(
        max(width + _SCENE_MARGIN, *map(_right, captions)) + _SCENE_MARGIN,
        max(top + height, y) + _SCENE_MARGIN,
        f"{title or provenance.call.op.full_name}: {provenance.equation}",
        view.description(panels),
        grids,
        [arrow for drawing in drawings for arrow in drawing.arrows()],
        captions,
        faint=cell is not None,
    )


def _heading(view: View, title: str | None) -> list[Caption]:
    """Return the title, the version with its attributes, the equation, and tensors, at x 0."""
    provenance, call = view.provenance, view.provenance.call
    lines = [Caption(0, -6, clean(short(title)), "note")] if title else []
    lines += [Caption(0, 20, "   ".join([call.op.full_name, *header.attributes(call)]), "heading")]
    lines.append(Caption(0, 50, provenance.equation, "equation", spans=view.spans))
    if view.panel_dims:  # the titles of tensors have no room for types
        operands = {**call.inputs, "out": Operand(Shape(provenance.shape), call.data.dtype)}
        words = [f"{name} {operand}" for name, operand in operands.items()]
        words += filter(None, [",  ".join(view.axis_words)])
        lines.append(Caption(0, 76, "    ".join(words), "note"))
    return lines


def _notes(view: View, look: Look, traced: Any) -> list[Caption]:
    """Return the lines below the tensors: the traced cell step by step, if there is one."""
    lines: list[Caption] = []
    if traced is not None:
        for words in view.trace_steps(traced, look):
            text, spans = "", []
            for word, style in words:
                if "bold" in style:
                    spans.append((len(text), len(text) + len(word), "strong"))
                text += word
            lines.append(Caption(0, 0, text, "step", spans=spans))
        legend = [
            f"same letter and colour: same {view.part}",
            f"thick: the way to out[{','.join(map(str, traced.out))}]",
            *view.emphasis,
        ]
        lines.append(Caption(0, 0, "   ".join(legend), "note"))
    call, shape = view.provenance.call, Shape(view.provenance.shape)
    formula = "  =  ".join(header.formula(call, shape))
    formula = re.sub(rf"\b({'|'.join(call.inputs)})\[", r"\1.shape[", formula)
    return [*lines, Caption(0, 0, f"shape of out: {formula}", "note")]


def _without_arrows(view: View, drawings: Sequence[PanelDrawing]) -> list[str]:
    """Return a sentence about what has no arrow, such as indices, if there are any."""
    linked = sum(each.linked for each in drawings)
    total = sum(each.panel.linkable for each in drawings)
    if not linked or linked >= total:  # of an empty tensor there are neither arrows nor letters
        return []
    return [f"arrows for {linked} of {counted(total, *view.linked)}; letters mark the rest"]


def _notes_corner(
    words: Sequence[Caption], width: float, bottom: float, top: float, ratio: float | None
) -> tuple[float, float]:
    """Return where notes begin: below the tensors, or beside them.

    They stand where the drawing comes nearer to a ratio of width to height, if one is given; else
    beside tensors that are so high that the drawing would be upright.
    """
    wide, high = max(map(_right, words)), _NOTE_LINE * len(words) + 24
    below = max(wide, width) / (bottom + high)
    beside = (width + _PANEL_GAP + wide) / max(bottom, top + high)
    if below < 1 if ratio is None else abs(log(beside / ratio)) < abs(log(below / ratio)):
        return _SCENE_MARGIN + width + _PANEL_GAP, max(top, top + (bottom - top - high) / 2)
    return _SCENE_MARGIN, bottom + 24


def _right(caption: Caption) -> float:
    """Return the right edge of a line of text that starts at its point."""
    if caption.anchor != "start":
        return 0
    mono = caption.kind in ("equation", "step")
    size = {"heading": 19, "equation": 16}.get(caption.kind, 15)
    return caption.x + text_width(caption.text, size, mono=mono)


def _fitting(
    view: View, look: Look, cell: tuple[int, ...] | None
) -> tuple[PanelChoice, list[PanelDrawing]]:
    """Return the first choice whose panels are small enough when arranged, and these.

    Where none are, as with a large window, return the first of those that are about the smallest.
    """
    least = inf
    for selection, drawings in _attempts(view, look, cell):
        width, height = _arrange(drawings, 0, 0)
        size = max(width / _MOST_WIDTH, height / _MOST_HEIGHT)
        if size < least * _WORTHWHILE_RATIO:
            best, least = (selection, drawings), size
        if size <= 1:
            break
    return best


def _attempts(
    view: View, look: Look, cell: tuple[int, ...] | None
) -> Iterator[tuple[PanelChoice, list[PanelDrawing]]]:
    """Yield choices of ever less with their panels, around a cell that they would not show."""
    seen: list[object] = []
    for (_, rows), (_, columns) in sizes(COLUMN_LIMITS):
        selection = view.select(look, rows, columns)
        coordinates = [list(each) for each in selection.coordinates]
        if coordinates in seen:
            continue
        seen.append(coordinates)
        panels = [view.panel(selection, at) for at in selection.panels]
        outs = (trace.out for panel in panels for trace in panel.whole_traces)
        if cell is not None and cell not in outs:
            selection = view.select(look._replace(here=cell), rows, columns)
            panels = [view.panel(selection, at) for at in selection.panels]
        yield selection, panel_drawings(panels)


def _traced(
    provenance: Provenance[Any], drawings: Sequence[PanelDrawing], cell: tuple[int, ...] | None
) -> Any:
    """Return the trace of a cell, or without one the most telling of those that are drawn."""
    if cell is not None:
        return provenance.cell(*cell)
    whole = [trace for each in drawings for trace in each.panel.whole_traces]
    traces = whole or [trace for each in drawings for trace in each.panel.traces.values()]
    return telling_traces(provenance, traces)[0] if traces else None


def _arrange(
    drawings: Sequence[PanelDrawing], x: float, y: float, ratio: float = _USUAL_RATIO
) -> tuple[float, float]:
    """Place panels in rows and columns; return the width and the height of all.

    The number of columns is that whose ratio of width to height is nearest to `ratio`, of those
    that fit.
    """
    if not drawings:
        return 0, 0
    width = max(each.width for each in drawings) + _PANEL_GAP
    height = max(each.height for each in drawings) + _PANEL_GAP
    count = len(drawings)

    def distance(columns: int) -> tuple[bool, float]:
        wide, high = columns * width, ceil(count / columns) * height
        is_large = wide > _MOST_WIDTH + _PANEL_GAP or high > _MOST_HEIGHT + _PANEL_GAP
        return is_large, abs(log(wide / high / ratio))

    columns = min(range(1, count + 1), key=distance)
    for number, each in enumerate(drawings):
        row, column = divmod(number, columns)
        each.place(x + column * width, y + row * height)
    return columns * width - _PANEL_GAP, ceil(count / columns) * height - _PANEL_GAP
