"""Write a scene as SVG, for light and dark pages.

Each cell is a group of class ``cell`` whose id is the tensor and the coordinates: ``out-0-1``. Each
slice is a rectangle of class ``slice`` with the tensor in ``data-tensor`` and the coordinates in
``data-at``, ``:`` for None. Each arrow is a path of class ``arrow``, with the ids of its ends in
``data-from`` and ``data-to``; its first point and the last before its head lie on their edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.shapes import document, element, hatch, path, rect, safe, text
from gathercli.explain.drawing.theme import COLORS, style_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.explain.drawing.scene import Arrow, Caption, GridCell, GridSlice, Scene

_RADIUS: Final = 3


def svg(scene: Scene, *, aspect: tuple[int, int] | None = None, dark: bool | None = None) -> str:
    """Write a scene as SVG.

    Parameters
    ----------
    aspect
        The ratio of width to height; None for that of the scene.
    dark
        Whether for a dark page; None to let the viewer choose.
    """
    return document(
        (scene.width, scene.height),
        scene.title,
        scene.description,
        style_sheet(dark),
        list(elements(scene)),
        aspect=aspect,
    )


def elements(scene: Scene) -> Iterator[str]:
    """Yield the elements of a scene: grids, then arrows, then captions."""
    faint = " faint" if scene.faint else ""
    yield f'<g class="grids{faint}">'
    for grid in scene.grids:
        yield from map(_slice, grid.slices)
        yield from map(_cell, grid.cells)
        yield from map(_caption, grid.captions)
    yield f'</g>\n<g class="arrows{faint}">'
    for arrow in sorted(scene.arrows, key=lambda arrow: "traced" in arrow.kinds):
        yield _arrow(arrow)
    yield "</g>"
    yield from map(_caption, scene.captions)


def _classes(*words: str, color: int | None = None) -> str:
    name = "" if color is None else f"c{color % COLORS}"
    return " ".join(word for word in (*words, name) if word)


def _cell(cell: GridCell) -> str:
    x, y = cell.box.center
    parts = [rect(cell.box, rx=_RADIUS)]
    if cell.fate not in ("", "copied"):
        parts.append(path(hatch(cell.box), class_="hatch"))
    parts.append(text(x, y + 7, cell.text))
    if cell.letter:
        parts.append(text(cell.box.x + 4, cell.box.y + 11, cell.letter, class_="letter"))
    return element(
        "g",
        *parts,
        id=cell.id,
        class_=_classes("cell", cell.fate, *cell.kinds, color=cell.color),
    )


def _slice(part: GridSlice) -> str:
    return rect(
        part.box,
        rx=_RADIUS + 2,
        id=part.id,
        class_=_classes("slice", *part.kinds, color=part.color),
        data_tensor=part.tensor,
        data_at=",".join(":" if n is None else str(n) for n in part.at),
    )


def _arrow(arrow: Arrow) -> str:
    return path(
        arrow.d,
        class_=_classes("arrow", *arrow.kinds, color=arrow.color),
        data_from=arrow.source,
        data_to=arrow.target,
    )


def _caption(caption: Caption) -> str:
    anchor = None if caption.anchor == "start" else caption.anchor
    parts, end = list[str](), 0
    for start, stop, kind in caption.spans:
        parts += [safe(caption.text[end:start])]
        parts += [element("tspan", safe(caption.text[start:stop]), class_=kind)]
        end = stop
    parts.append(safe(caption.text[end:]))
    spaces = "preserve" if "  " in caption.text else None
    return element(
        "text",
        *parts,
        xml_space=spaces,
        x=caption.x,
        y=caption.y,
        class_=caption.kind,
        text_anchor=anchor,
    )
