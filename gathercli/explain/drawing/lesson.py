"""Draw a lesson: choose what to show, arrange its batches, and say it in words."""

from __future__ import annotations

from math import ceil, inf, log
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from gathercli.explain.beam_panel import MANY_READERS, BeamPanel, BeamSelection
from gathercli.explain.drawing.beams import BeamDrawing
from gathercli.explain.drawing.gathers import align, panel_drawings
from gathercli.explain.drawing.notes import (
    beam_description,
    description,
    heading,
    hidden,
    notes,
    without_arrows,
)
from gathercli.explain.drawing.scene import Scene
from gathercli.explain.drawing.shapes import text_width
from gathercli.explain.lesson import Lesson
from gathercli.explain.selection import COLUMN_LIMITS, Selection, lead_of, sizes
from gathercli.explain.telling import telling_traces
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.beams import BeamLesson
    from gathercli.explain.drawing.gathers import PanelDrawing
    from gathercli.explain.drawing.scene import Arrow, Caption, Grid
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance

    At = tuple[int, ...]

    class BatchDrawing(Protocol):
        """The tensors of a batch."""

        width: float
        height: float

        def place(self, x: float, y: float) -> None:
            """Lay out the tensors from an upper left corner."""

        def captions(self) -> Iterator[Caption]:
            """Yield the words."""

        def grids(self) -> Iterator[Grid]:
            """Yield the tensors."""

        def arrows(self) -> Iterator[Arrow]:
            """Yield the arrows."""


_WIDE: Final = 16 / 9
"""The ratio of width to height that the arrangement of batches comes near to by default."""

_MARGIN: Final = 28
_GAP: Final = 48
"""The space between batches."""
_LINE: Final = 21
_WIDEST: Final = 1600
_HIGHEST: Final = 800
"""The largest size of the tensors, if fewer cells are smaller."""
_MUCH: Final = 0.8
"""The ratio of sizes from which fewer cells are worth it though they do not fit either."""

Drawn = TypeVar("Drawn", bound="BatchDrawing")


class Sketch(NamedTuple):
    """What to draw of a lesson.

    Attributes
    ----------
    batches
        The tensors of each batch.
    traced
        The trace of the cell whose path is strong; None without cells.
    cut
        Sentences about what is not drawn.
    description
        What the call does, in words.
    """

    batches: Sequence[BatchDrawing]
    traced: Any
    cut: list[str]
    description: str


def scene_of(
    lesson: Provenance[Any],
    look: Look,
    *,
    cell: At | None = None,
    title: str | None = None,
    has_steps: bool = True,
    aspect: tuple[int, int] | None = None,
) -> Scene:
    """Draw the provenance of the output cells that a look shows.

    Parameters
    ----------
    cell
        The output cell whose path is strong and all else faint; None for a telling one, with the
        rest as usual.
    title
        A line above the drawing.
    has_steps
        Whether to write the trace of that cell below; a page writes that of any cell itself.
    aspect
        The ratio of width to height that the arrangement comes near to; None for no matter.
    """
    cell = None if cell is None else lesson.cell(cell)
    if isinstance(lesson, Lesson):
        sketch = _gathers(lesson, look, cell)
    else:
        sketch = _beams(lesson, look, cell)  # type: ignore[arg-type]
    head = heading(lesson, title)
    top = _MARGIN + head[-1].y + 30
    ratio = None if aspect is None else aspect[0] / aspect[1]
    width, height = _arrange(sketch.batches, _MARGIN, top, ratio or _WIDE)
    captions = [each for batch in sketch.batches for each in batch.captions()]
    captions += [each._replace(x=_MARGIN, y=each.y + _MARGIN) for each in head]
    grids = [grid for batch in sketch.batches for grid in batch.grids()]
    cut, mark = list(sketch.cut), look.marks.hidden
    if any(cell.letter == mark for grid in grids for cell in grid.cells):
        cut.append(f"{mark} read by indices that are not shown")
    words = notes(lesson, look, sketch.traced if has_steps else None, cut)
    x, y = _notes_corner(words, width, top + height, top, ratio)
    for each in words:
        y += _LINE if each.kind == "step" else _LINE + 4
        captions.append(each._replace(x=x, y=y))
    return Scene(
        max(width + _MARGIN, *map(_right, captions)) + _MARGIN,
        max(top + height, y) + _MARGIN,
        f"{title or lesson.call.op.full_name}: {lesson.equation}",
        sketch.description,
        grids,
        [arrow for batch in sketch.batches for arrow in batch.arrows()],
        captions,
        faint=cell is not None,
    )


def _notes_corner(
    words: Sequence[Caption], width: float, bottom: float, top: float, ratio: float | None
) -> tuple[float, float]:
    """Return where notes begin: below the tensors, or beside them.

    They stand where the drawing comes nearer to a ratio of width to height, if one is given; else
    beside tensors that are so high that the drawing would be upright.
    """
    wide, high = max(map(_right, words)), _LINE * len(words) + 24
    below = max(wide, width) / (bottom + high)
    beside = (width + _GAP + wide) / max(bottom, top + high)
    if below < 1 if ratio is None else abs(log(beside / ratio)) < abs(log(below / ratio)):
        return _MARGIN + width + _GAP, max(top, top + (bottom - top - high) / 2)
    return _MARGIN, bottom + 24


def _right(caption: Caption) -> float:
    """Return the right edge of a line of text that starts at its point."""
    if caption.anchor != "start":
        return 0
    mono = caption.kind in ("equation", "step")
    size = {"heading": 19, "equation": 16}.get(caption.kind, 15)
    return caption.x + text_width(caption.text, size, mono=mono)


def _fitting(attempts: Iterator[list[Drawn]]) -> list[Drawn]:
    """Return the first batches that are small enough when arranged.

    Where none are, as with a large window, return the first of those that are about the smallest.
    """
    best, least = list[Drawn](), inf
    for batches in attempts:
        width, height = _arrange(batches, 0, 0)
        size = max(width / _WIDEST, height / _HIGHEST)
        if size < least * _MUCH:
            best, least = batches, size
        if size <= 1:
            break
    return best


def _gathers(lesson: Lesson, look: Look, cell: At | None) -> Sketch:
    """Draw the batches of a gather along an axis."""

    def attempts() -> Iterator[list[PanelDrawing]]:
        seen: list[object] = []
        for (_, rows), (_, columns) in sizes(COLUMN_LIMITS):
            selection = Selection(lesson, look, rows, columns)
            coordinates = [*map(list, selection.out), *map(list, selection.data)]
            if coordinates in seen:
                continue
            seen.append(coordinates)
            drawn = panel_drawings(selection)
            outs = {trace.out for each in drawn for trace in each.whole_traces()}
            if cell is not None and cell not in outs:
                selection = Selection(lesson, look._replace(here=cell), rows, columns)
                drawn = panel_drawings(selection)
            yield drawn

    batches = _fitting(attempts())
    traces = [trace for each in batches for trace in each.contents.traces.values()]
    whole = [trace for each in batches for trace in each.whole_traces()]
    traced = _traced(lesson, whole or traces, cell)
    for each in batches:
        each.link(traced, 1 / len(batches))
    align(batches)
    contents = [each.contents for each in batches]
    linked = len({link.pick.at for each in batches for link in each.links})
    indices = sum(len(each.picks) for each in contents)
    cut = without_arrows(linked, indices, "index", "indices")
    lead = lead_of(lesson)
    noun = ("batch", "batches") if lesson.call.batch_dims else ("facet", "facets")
    parts = [(len(batches), product(lesson.panel_shape[:lead]), *noun)]
    if contents:
        facets = len(contents[0].data.facets), product(lesson.data.shape[lead:-2])
        parts.append((*facets, "facet of data", "facets of data"))
    cut += hidden(lesson, look, len(traces), *parts)
    return Sketch(batches, traced, cut, description(lesson, contents))


def _beams(lesson: BeamLesson, look: Look, cell: At | None) -> Sketch:
    """Draw the batches of GatherTree."""

    def attempts() -> Iterator[list[BeamDrawing]]:
        for (_, rows), (_, columns) in sizes(COLUMN_LIMITS):
            selection = BeamSelection(lesson, look, rows, columns)
            if cell is not None and any(
                n not in each for n, each in zip(cell, selection.coordinates, strict=False)
            ):
                selection = BeamSelection(lesson, look._replace(here=cell), rows, columns)
            yield [BeamDrawing(BeamPanel(selection, b)) for b in selection.batches]

    batches = _fitting(attempts())
    traces = [trace for each in batches for trace in each.contents.traces.values()]
    traced = _traced(lesson, traces, cell)
    for each in batches:
        each.link(traced, 1 / len(batches))
    linked, beams = sum(each.linked for each in batches), {trace.out[1:] for trace in traces}
    cut = [MANY_READERS] if any(each.contents.has_many for each in batches) else []
    cut += without_arrows(linked, len(beams), "beam")
    parts = len(batches), lesson.shape[1], "batch", "batches"
    cut += hidden(lesson, look, len(traces), parts)
    return Sketch(batches, traced, cut, beam_description(lesson))


def _traced(lesson: Provenance[Any], traces: list[Any], cell: At | None) -> Any:
    """Return the trace of a cell, or without one the most telling of those that are drawn."""
    if cell is not None:
        return lesson.trace(*cell)
    return telling_traces(lesson, traces)[0] if traces else None


def _arrange(
    batches: Sequence[BatchDrawing], x: float, y: float, ratio: float = _WIDE
) -> tuple[float, float]:
    """Place batches in rows and columns; return the width and the height of all.

    The number of columns is that whose ratio of width to height is nearest to `ratio`, of those
    that fit.
    """
    if not batches:
        return 0, 0
    width = max(each.width for each in batches) + _GAP
    height = max(each.height for each in batches) + _GAP
    count = len(batches)

    def distance(columns: int) -> tuple[bool, float]:
        wide, high = columns * width, ceil(count / columns) * height
        is_large = wide > _WIDEST + _GAP or high > _HIGHEST + _GAP
        return is_large, abs(log(wide / high / ratio))

    columns = min(range(1, count + 1), key=distance)
    for number, each in enumerate(batches):
        row, column = divmod(number, columns)
        each.place(x + column * width, y + row * height)
    return columns * width - _GAP, ceil(count / columns) * height - _GAP
