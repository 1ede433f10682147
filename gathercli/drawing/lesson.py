"""Draw a lesson: choose what to show, arrange its panels, and say it in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.drawing.gathers import PanelDrawing
from gathercli.drawing.scene import Caption, Scene
from gathercli.drawing.shapes import text_width
from gathercli.lessons.lesson import Lesson
from gathercli.report.selection import COLUMNS, ROWS, Selection

if TYPE_CHECKING:
    from gathercli.lessons.provenance import Provenance
    from gathercli.report.selection import Look

MARGIN: Final = 28
WIDEST: Final = 1500
HIGHEST: Final = 1000
"""The largest size of the tensors of a drawing, if fewer cells are smaller."""


def scene_of(lesson: Provenance[Any], look: Look, *, cell: tuple[int, ...] | None = None) -> Scene:
    """Draw the provenance of the output cells that a look shows.

    Parameters
    ----------
    cell
        The output cell whose path is strong and all else faint; None for a telling one, with the
        rest as usual.
    """
    if not isinstance(lesson, Lesson):
        raise NotImplementedError
    return _scene(lesson, look, cell)


def _scene(lesson: Lesson, look: Look, cell: tuple[int, ...] | None) -> Scene:
    traced = lesson.trace(*(cell or (0,) * len(lesson.shape))) if lesson.size else None
    panels = []
    for rows, columns in zip(ROWS, COLUMNS, strict=True):
        selection = Selection(lesson, look, rows, columns)
        panels = [
            PanelDrawing(selection, panel, traced, 1 / len(selection.panels))
            for panel in selection.panels
        ]
        if all(each.width <= WIDEST and each.height <= HIGHEST for each in panels):
            break
    x = y = float(MARGIN)
    captions = [
        Caption(x, y + 14, f"{lesson.call.op}", "heading"),
        Caption(x, y + 40, lesson.equation, "equation"),
    ]
    y += 70
    width = text_width(lesson.equation, 15)
    height = y
    for panel in panels:
        panel.place(x, y)
        captions += panel.captions()
        if panel.down:
            x += panel.width + 60
            height = max(height, y + panel.height)
            width = x
        else:
            y += panel.height + 40
            width, height = max(width, panel.width), y
    grids = [grid for panel in panels for grid in panel.grids()]
    arrows = [arrow for panel in panels for arrow in panel.arrows()]
    return Scene(
        width + 2 * MARGIN,
        height + MARGIN,
        f"{lesson.call.op}: {lesson.equation}",
        lesson.equation,
        grids,
        arrows,
        captions,
        faint=cell is not None,
    )
