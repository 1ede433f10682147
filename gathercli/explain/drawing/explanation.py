"""Draw an explanation: choose what to show, arrange its panels, and say it in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from itertools import product as combinations
from math import inf, log
from operator import itemgetter
from typing import Any, Final, NamedTuple

from gathercli.explain.drawing.panel_drawing import PanelDrawing, align, most_lanes, panel_drawings
from gathercli.explain.drawing.scene import Caption, Scene, text_width
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import MOST_ARROWED_CELLS, SLIDE_TEXT, Look, Panel, PanelChoice, View
from gathercli.explain.provenance import Provenance
from gathercli.explain.selection import COLUMN_LIMITS, sizes, told
from gathercli.report import header
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape
from gathercli.text import clean, counted, short

# The ratio of width to height that the arrangement of panels comes near to by default.
_USUAL_RATIO: Final = 16 / 9
_SCENE_MARGIN: Final = 28
_PANEL_GAP: Final = 48  # the space between panels,
_SLIDE_GAP: Final = 32  # and on a slide, which words have at their side, too
_NOTE_LINE: Final = 21
_MOST_WIDTH: Final = 1600
_SMALL_GROWTH: Final = 3.0  # how much larger the drawing of an output of few cells may be
_MOST_HEIGHT: Final = 800  # the largest size of the tensors, if fewer cells are smaller
# The ratio of sizes from which fewer cells are worth it though they do not fit either.
_WORTHWHILE_RATIO: Final = 0.8
# The height of a slide whose values have 28 of 1080 pixels.
SLIDE_HEIGHT: Final = SLIDE_TEXT * 1080 / 28
_SLIDE_CHANNEL: Final = 44  # the least space between tensors on a slide,
_WIDEST_CHANNEL: Final = 200  # and the most
_FILLED_PART: Final = 0.87  # the part of the width of a slide that a drawing fills where it can
_WIDENING: Final = 1.12  # the factor by which cells become wider to fill it,
_WIDENINGS: Final = 8  # and how often at most


class Form(NamedTuple):
    """The form of a drawing."""

    title: str | None = None
    has_steps: bool = True  # whether the trace of the cell stands below it
    bare: bool = False  # whether it has no words but those of the tensors
    brief: bool = False  # whether it has only those that a first lesson explains
    aspect: tuple[int, int] | None = None  # the width and the height of a slide, as a ratio
    is_sized: bool = False  # whether the values of all slides have one size


class Arrangement(NamedTuple):
    """The places of all parts of a drawing."""

    size: tuple[float, float]
    notes: tuple[float, float]  # the corner of the lines of words
    filled: float  # the width of the tensors, and of words beside them
    columns: int  # of panels


def scene_of(
    provenance: Provenance[Any], look: Look, *, cell: tuple[int, ...] | None = None, **form: Any
) -> Scene:
    """Draw the first of `scenes_of`."""
    return scenes_of(provenance, look, cell, **form)[0]


def scenes_of(
    provenance: Provenance[Any],
    look: Look,
    cell: tuple[int, ...] | None = None,
    *,
    steps: bool = False,
    **form: Any,
) -> list[Scene]:
    """Draw the provenance of the output cells that a look shows, in a `Form`.

    The path of the cell is strong and all else faint; without one that of a telling cell is strong
    with the rest as usual. With `steps` scenes of each cell follow, all alike but for the path.
    """
    cell = None if cell is None else provenance.normalized(cell)
    draft = _Draft(provenance, look, Form(**form), cell)
    traces = (trace for each in draft.drawings for trace in each.panel.traces.values())
    return draft.scenes([cell, *(sorted(trace.out for trace in traces) if steps else ())])


class _Draft:
    """The choice of the panels of a drawing, around a cell if there is one."""

    def __init__(
        self, provenance: Provenance[Any], look: Look, form: Form, cell: tuple[int, ...] | None
    ) -> None:
        self.provenance, self.look, self.form = provenance, look, form
        self._ratio = form.aspect and form.aspect[0] / form.aspect[1]  # None if it is free
        # the space around all, and below the tensors
        self._margin = _SCENE_MARGIN if form.aspect is None else 20
        self._is_plain = form.bare
        self.view = view_of(provenance)
        traces = told(self.view, look) if cell is None else [provenance.cell(*cell)]
        self._told = traces[0] if traces else None
        self.selection, self.drawings = self._fitting(traces[0].out if traces else None)

    @property
    def _head(self) -> list[Caption]:
        """The lines above the tensors."""
        return [] if self.form.bare else _heading(self.view, self.form, one_line=self._is_plain)

    def scenes(self, cells: Sequence[tuple[int, ...] | None]) -> list[Scene]:
        """Draw a scene for each cell, or for None one of a telling cell."""
        traced = [self._told if at is None else self.provenance.cell(*at) for at in cells]
        words, lanes = [], []
        for trace in traced:  # arrows may differ, but what stands where does not
            words.append(self._words(trace))
            lanes.append([each.lane_widths for each in self.drawings])
        for each, *spaces in zip(self.drawings, *lanes, strict=True):
            each.measure(each.cell_widths, list(map(most_lanes, zip(*spaces, strict=True))))
        align(self.drawings)
        layout = self._filling(words)
        scenes = []
        for cell, trace, lines in zip(cells, traced, words, strict=True):
            self._link(trace)
            scenes.append(self._scene(layout, lines, faint=cell is not None))
        return scenes

    def _link(self, trace: Any) -> None:
        for each in self.drawings:
            each.link(trace, 1 / len(self.drawings))

    def _scene(self, layout: Arrangement, words: Sequence[Caption], *, faint: bool) -> Scene:
        drawings, margin = self.drawings, self._margin
        captions = [each for drawing in drawings for each in drawing.captions()]
        captions += [each._replace(x=each.x + margin, y=each.y + margin) for each in self._head]
        x, y = layout.notes
        for line in words:
            y += _NOTE_LINE if line.kind == "step" else _NOTE_LINE + 4
            captions.append(line._replace(x=x, y=y))
        return Scene(
            *layout.size,
            f"{self.form.title or self.provenance.call.op.full_name}: {self.provenance.equation}",
            self.view.description([each.panel for each in drawings]),
            [grid for drawing in drawings for grid in drawing.grids()],
            [arrow for drawing in drawings for arrow in drawing.arrows()],
            captions,
            faint=faint,
            is_slide=self.form.aspect is not None,
        )

    def _words(self, traced: Any) -> list[Caption]:
        """Return the lines beside the tensors; a slide leaves out what is always the same."""
        form, view, selection = self.form, self.view, self.selection
        self._link(traced)  # lanes of arrows take room, too
        hidden = [*filter(None, [view.hidden(selection, view.parts(selection, drawn=True))])]
        if form.bare:  # which says what is left out for want of room
            return [Caption(0, 0, text, "note") for text in hidden if not self.look.window]
        panels = [each.panel for each in self.drawings]
        tensors = [tensor for panel in panels for tensor in panel.tensors]
        cut = [*dict.fromkeys(remark for panel in panels for remark in panel.remarks)]
        linked = sum(each.linked for each in self.drawings)
        total = sum(each.linkable for each in panels)
        if 0 < linked < total:  # of an empty tensor there are neither arrows nor letters
            count = counted(total, *view.linked)
            cut.append(f"arrows for {linked} of {count}; letters mark the rest")
        cut += hidden
        mark = self.look.marks.hidden
        if any(mark == cell.letter for each in tensors for cell in each.cells.values()):
            cut.append(f"{mark} read by indices that are not shown")
        words = _notes(view, self.look, traced if form.has_steps and not self._is_plain else None)
        if form.aspect is not None or form.brief:
            words = [line for line in words if line.kind == "step"]
        return words + [Caption(0, 0, text, "note") for text in cut]

    def _fitting(self, cell: tuple[int, ...] | None) -> tuple[PanelChoice, list[PanelDrawing]]:
        """Return the first choice whose panels are small enough when arranged, and these.

        Where none are, as with a large window, return the first of those that are about the
        smallest.
        """
        least, is_slide = inf, self.form.aspect is not None
        plain = {self.form.bare, is_slide}  # a slide has fewer words before it has fewer cells
        attempts = _attempts(self.view, self.look, cell, is_slide=is_slide)
        for selection, self._is_plain in ((each, n) for each in attempts for n in sorted(plain)):
            every = (
                panel_drawings(each, same=not is_slide) for each in self._directions(selection)
            )
            sized = [(self._size(selection, drawings), drawings) for drawings in every]
            size, drawings = min(sized, key=itemgetter(0))
            most = 1.0
            if not is_slide and selection.cells <= MOST_ARROWED_CELLS:
                most = _SMALL_GROWTH
            if size < least * _WORTHWHILE_RATIO or size <= most:
                best, least = (selection, drawings, self._is_plain), size
            if size <= most:
                break
        selection, drawings, self._is_plain = best
        return selection, drawings

    def _directions(self, selection: PanelChoice) -> Iterator[list[Panel]]:
        """Yield the panels in their direction, and those of slides in the other, too."""
        panels = self._panels(selection)
        yield panels
        if panels and self.form.aspect is not None:
            selection.look = selection.look._replace(down=not panels[0].flows_down)
            turned = self._panels(selection)
            if turned[0].flows_down != panels[0].flows_down:
                yield turned

    def _panels(self, selection: PanelChoice) -> list[Panel]:
        titles, is_slide = 1 if self._is_plain else None, self.form.aspect is not None
        panels = (self.view.panel(selection, at) for at in selection.panels)
        return [panel.formed(titles, is_slide=is_slide) for panel in panels]

    def _size(self, selection: PanelChoice, drawings: list[PanelDrawing]) -> float:
        """Return the size of the tensors, or of a slide, as a part of the largest."""
        if self._ratio is None:
            _, width, height = _arrange(drawings, 0, 0, None)
            return max(width / _MOST_WIDTH, height / _MOST_HEIGHT)
        self.selection, self.drawings = selection, drawings
        for each in drawings:
            each.channel = _SLIDE_CHANNEL
        words = self._words(self._told)
        align(drawings)
        return self._slide_height(self._layout([words])) / SLIDE_HEIGHT

    def _slide_height(self, layout: Arrangement) -> float:
        width, height = layout.size
        return max(height, width / (self._ratio or _USUAL_RATIO))

    def _filling(self, words: Sequence[Sequence[Caption]]) -> Arrangement:
        """Arrange all; on a slide with wider spaces and cells, until its width is filled."""
        layout, ratio = self._layout(words), self._ratio
        if ratio is None:
            return layout
        height = max(self._slide_height(layout), SLIDE_HEIGHT * self.form.is_sized)
        for _ in range(_WIDENINGS):
            room = height * ratio * _FILLED_PART - layout.filled
            if room <= 0:
                break
            for each in self.drawings:
                if not each.panel.flows_down:
                    wider = each.channel + room / 2 / layout.columns
                    each.channel = min(_WIDEST_CHANNEL, wider)
            if self._layout(words) == layout:
                align(self.drawings, _WIDENING)
            layout = self._layout(words)
        room = max(0.0, SLIDE_HEIGHT - layout.size[1]) / 2 if self.form.is_sized else 0
        for each in self.drawings:
            each.place(each.corner[0], each.corner[1] + room)
        size, notes = (layout.size[0], layout.size[1] + 2 * room), layout.notes
        return layout._replace(size=size, notes=(notes[0], notes[1] + room))

    def _layout(self, words: Sequence[Sequence[Caption]]) -> Arrangement:
        """Place the panels; lines of words of each scene stand below them, or beside them.

        They stand where the slide is larger, of the usual ratio if there is no other.
        """
        margin, head = self._margin, self._head
        above = head[-1].y if head else -margin
        top = 2 * margin + above
        columns, width, height = _arrange(self.drawings, margin, top, self._ratio)
        heads = max((_right(each) for each in head), default=0)
        wide = max((_right(line) for lines in words for line in lines), default=0)
        bottom = top + height + margin
        if not wide:
            return Arrangement((max(width, heads) + 2 * margin, bottom), (0, 0), width, columns)
        high = max(_NOTE_LINE * len(lines) for lines in words) + 16
        below = max(width, heads, wide) + 2 * margin, bottom + high + margin
        gap = _PANEL_GAP if self._ratio is None else _SLIDE_GAP
        filled = width + gap + wide
        beside = max(heads, filled) + 2 * margin, max(bottom, top + high + margin)
        corner = margin + width + gap, max(top, top + (height - high) / 2)
        every = [
            Arrangement(below, (margin, bottom - 8), width, columns),
            Arrangement(beside, corner, filled, columns),
        ]
        return min(every, key=self._slide_height)


def _heading(view: View, form: Form, *, one_line: bool) -> list[Caption]:
    """Return the title, the version with its attributes, the equation, and tensors, from x 0."""
    provenance, call, title = view.provenance, view.provenance.call, form.title
    lines = [Caption(0, -6, clean(short(title)), "note")] if title else []
    words = [each for each in header.attributes(call) if not (form.brief and each.endswith(" 0"))]
    lines += [Caption(0, 20, "   ".join([call.op.name, *words]), "heading")]
    version = call.op.id if form.brief else call.op.full_name
    lines.append(Caption(_right(lines[-1]) + 24, 20, version, "note"))
    x, y = (_right(lines[-1]) + _SLIDE_GAP, 20) if one_line else (0, 50)
    lines.append(Caption(x, y, provenance.equation, "equation", spans=view.spans))
    if view.panel_dims and form.aspect is None:  # the titles of tensors have no room for types
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


def _right(caption: Caption) -> float:
    """Return the right edge of a line of text that starts at its point."""
    if caption.anchor != "start":
        return 0
    mono = caption.kind in ("equation", "step")
    size = {"heading": 19, "equation": 16}.get(caption.kind, 15)
    return caption.x + text_width(caption.text, size, mono=mono)


def _attempts(
    view: View, look: Look, cell: tuple[int, ...] | None, *, is_slide: bool
) -> Iterator[PanelChoice]:
    """Yield choices of ever less, around a cell that they would not show."""
    seen: list[object] = []
    every = (None, 2, 1) if is_slide and not look.window else (None,)
    for ((_, rows), (_, columns)), parts in combinations(sizes(COLUMN_LIMITS), every):
        look = look._replace(parts=parts)
        selection = view.select(look, rows, columns)
        coordinates = parts, [list(each) for each in selection.coordinates]
        if coordinates in seen:
            continue
        seen.append(coordinates)
        if cell is not None:
            panels = (view.panel(selection, at) for at in selection.panels)
            if cell not in [trace.out for panel in panels for trace in panel.whole_traces]:
                selection = view.select(look._replace(here=cell), rows, columns)
        yield selection


def _arrange(
    drawings: Sequence[PanelDrawing], x: float, y: float, ratio: float | None
) -> tuple[int, float, float]:
    """Place panels in rows and columns; return the columns, and the width and height of all.

    The number of columns is that whose ratio of width to height is nearest to the usual one, of
    those that fit; of a slide of a ratio that which makes it smallest.
    """
    if not drawings:
        return 1, 0, 0
    gap = _PANEL_GAP if ratio is None else _SLIDE_GAP
    width = max(each.width for each in drawings) + gap
    count = len(drawings)

    def tops(columns: int) -> list[float]:
        rows = (drawings[start : start + columns] for start in range(0, count, columns))
        return [0, *accumulate(max(each.height for each in row) + gap for row in rows)]

    def distance(columns: int) -> tuple[bool, float]:
        wide, high = columns * width, tops(columns)[-1]
        if ratio is not None:
            return False, max(y + high, wide / ratio)
        is_large = wide > _MOST_WIDTH + gap or high > _MOST_HEIGHT + gap
        return is_large, abs(log(wide / high / _USUAL_RATIO))

    columns = min(range(1, count + 1), key=distance)
    starts = tops(columns)
    for number, each in enumerate(drawings):
        row, column = divmod(number, columns)
        each.place(x + column * width, y + starts[row])
    return columns, columns * width - gap, starts[-1] - gap
