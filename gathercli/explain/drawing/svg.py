"""Write a scene as SVG, for light and dark pages.

Each cell is a group of class ``cell`` whose id is the tensor and the coordinates: ``out-0-1``. Each
slice is a rectangle of class ``slice`` with the tensor in ``data-tensor`` and the coordinates in
``data-at``, ``:`` for None. Each arrow is a path of class ``arrow``, with the ids of its ends in
``data-from`` and ``data-to``; its first point and the last before its head lie on their edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from math import prod, sqrt
from typing import Any, Final, Literal, NamedTuple

from gathercli.errors import UsageError
from gathercli.explain import panel
from gathercli.explain.drawing.scene import Arrow, Box, Caption, GridCell, GridSlice, Scene, number
from gathercli.text import clean, grouped, table_beside

MONO: Final = "Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS: Final = "system-ui,'Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif"

_SPECIAL_ATTRIBUTES: Final = {"class_": "class", "xml_space": "xml:space"}

_CELL_RADIUS: Final = 3
_STRIPED: Final = range(panel.PLAIN_HUES, len(panel.HUES))  # the numbers of such colours

CONVERTED_SUFFIXES: Final = (".png", ".pdf")  # the suffixes that need the extra `pictures`
DRAWN_SUFFIXES: Final = (".svg", *CONVERTED_SUFFIXES)  # the suffixes of files of drawings
# The pixels of a PNG in 72 points: twice those of the SVG in each direction.
_PNG_DENSITY: Final = 192
# The most pixels of a PNG: `typst` takes 13 bytes for each, and aborts the process at 2^31.
_MOST_PIXELS: Final = 24_000_000
# The least part of `_PNG_DENSITY`, below which no text is readable.
_LEAST_DENSITY_PART: Final = 0.25

_TYPST_PAGE: Final = b"""\
#set document(date: none, title: sys.inputs.title)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.drawing), format: "svg", alt: sys.inputs.description)
"""


def safe(text: str) -> str:
    """Escape markup, and replace characters that XML excludes."""
    return escape(re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text))


def element(name: str, /, *content: str, **attributes: float | str | None) -> str:
    """Return an element; the content is markup, attributes are text.

    An attribute that is None is left out; `stroke_width` is written ``stroke-width``, `class_`
    ``class``, `xml_space` ``xml:space``.

    >>> element("g", element("rect", x=1.0, class_="cell a<b", y=None), id="g")
    '<g id="g"><rect x="1" class="cell a&lt;b"/></g>'
    """
    head = name
    for key, value in attributes.items():
        if value is not None:
            text = safe(value) if isinstance(value, str) else number(value)
            head += f' {_SPECIAL_ATTRIBUTES.get(key, key.replace("_", "-"))}="{text}"'
    return f"<{head}>{''.join(content)}</{name}>" if content else f"<{head}/>"


def rect(box: Box, **attributes: float | str | None) -> str:
    """Return a rectangle."""
    return element("rect", x=box.x, y=box.y, width=box.width, height=box.height, **attributes)


def text(x: float, y: float, words: str, **attributes: float | str | None) -> str:
    """Return a text whose baseline starts at a point, or is centred there by `text_anchor`."""
    return element("text", safe(words), x=x, y=y, **attributes)


def path(d: str, **attributes: float | str | None) -> str:
    """Return a path."""
    return element("path", d=d, **attributes)


def hatch(box: Box, step: float = 7) -> str:
    """Return the path data of diagonal lines in a box.

    >>> hatch(Box(0, 0, 14, 7))
    'M7 0L0 7M14 0L7 7'
    """
    lines = []
    offset = step
    while offset < box.width + box.height:
        x, y = min(offset, box.width), max(0, offset - box.width)
        left = max(0, offset - box.height)
        start = f"M{number(box.x + x)} {number(box.y + y)}"
        lines.append(f"{start}L{number(box.x + left)} {number(box.y + offset - left)}")
        offset += step
    return "".join(lines)


def document(
    size: tuple[float, float],
    title: str,
    description: str,
    style: str,
    body: list[str],
    *,
    aspect: tuple[int, int] | None = None,
) -> str:
    """Return a whole SVG document: a drawing from (0, 0), its elements one a line.

    Each selector of the style sheet should start with ``.drawing``, the class of the root, so that
    it applies to nothing else in a page. Margins bring it to the aspect, the ratio of width to
    height.
    """
    width, height = size
    if aspect is not None:
        wide, high = aspect
        width, height = max(width, height * wide / high), max(height, width * high / wide)
    x, y = (size[0] - width) / 2, (size[1] - height) / 2
    corner_and_size = [number(each) for each in (x, y, width, height)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" '
        f'viewBox="{" ".join(corner_and_size)}" width="{number(width)}" height="{number(height)}">'
    )
    lines = [
        head,
        element("title", safe(title)),
        element("desc", safe(description)),
        f"<style>{style}</style>",
        rect(Box(x, y, width, height), class_="page"),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def html(title: str, policy: str, style: str, body: str, attributes: str = "") -> str:
    """Return a page, with what it may ask a browser for besides styles."""
    return (
        f'<!doctype html>\n<html lang="en"{attributes}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; {policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


class Theme(NamedTuple):
    """The colours of a page, as hex codes."""

    page: str  # the background
    ink: str
    faint: str  # text of coordinates
    line: str  # the frames of cells
    cell: str  # the fill of cells of no part
    refused: str  # the line and text of what is refused
    fills: tuple[str, ...]  # for each number of a colour, the ground of text in `ON_FILL`
    lines: tuple[str, ...]  # and its lines


_STYLES: Final = table_beside(__name__)
LIGHT: Final = Theme(
    **_STYLES["light"],
    page=panel.LIGHT_PAGE,
    refused=panel.REFUSED_ON_LIGHT,
    fills=tuple(hue.fill for hue in panel.HUES),
    lines=tuple(hue.ink for hue in panel.HUES),
)
DARK: Final = Theme(
    **_STYLES["dark"],
    page=panel.DARK_PAGE,
    refused=panel.REFUSED_ON_DARK,
    fills=LIGHT.fills,
    lines=tuple(hue.fill for hue in panel.HUES),
)


def _rules(bodies: Mapping[str, str], **fields: Any) -> str:
    """Return rules from their bodies by selector, each within ``.drawing``, with fields filled."""
    return "".join(
        f"{','.join(f'.drawing {each}' for each in selectors.format(**fields).split(','))}"
        f"{{{body.format(**fields)}}}"
        for selectors, body in bodies.items()
    )


def _colors(kind: str, theme: Theme) -> str:
    fields, styles = {**theme._asdict(), "on_fill": panel.ON_FILL}, _STYLES[kind]
    parts = [
        _rules(styles[key], **fields | {"n": n, "fill": fill, "line": line})
        for n, (fill, line) in enumerate(zip(theme.fills, theme.lines, strict=True))
        for key in ("parts", *["striped"] * (n in _STRIPED and kind == "drawing"))
    ]
    return _rules(styles["colors"], **fields) + "".join(parts)


def style_sheet(dark: bool | None, kind: str = "drawing") -> str:
    """Return the styles for a dark page, a light page, or (None) for both; `chart` adds to them."""
    shapes = _rules(_STYLES[kind]["shapes"], mono=MONO, sans=SANS)
    if dark is not None:
        return shapes + _colors(kind, DARK if dark else LIGHT)
    dark_colors = _colors(kind, DARK)
    return f"{shapes}{_colors(kind, LIGHT)}@media(prefers-color-scheme:dark){{{dark_colors}}}"


def svg(scene: Scene, *, aspect: tuple[int, int] | None = None, dark: bool | None = None) -> str:
    """Write a scene as SVG, for a dark page or a light one; None to let the viewer choose."""
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


def _classes(*words: str, color: int | None) -> str:
    has_color = color is not None and color < len(panel.HUES)
    return " ".join(filter(None, (*words, f"c{color}" if has_color else "")))


def _cell(cell: GridCell) -> str:
    x, y = cell.box.center
    parts = [rect(cell.box, rx=_CELL_RADIUS)]
    if cell.fate not in ("", "copied"):
        parts.append(path(hatch(cell.box), class_="hatch"))
    elif cell.color in _STRIPED:
        left, middle = number(cell.box.x + 3), number(y)
        parts.append(path(f"M{left} {middle}h{number(cell.box.width - 6)}", class_="stripes"))
    parts.append(text(x, y + 7, cell.text))
    if cell.letter:
        parts.append(text(cell.box.x + 4, cell.box.y + 11, cell.letter, class_="letter"))
    return element(
        "g", *parts, id=cell.id, class_=_classes("cell", cell.fate, *cell.kinds, color=cell.color)
    )


def _slice(part: GridSlice) -> str:
    return rect(
        part.box,
        rx=_CELL_RADIUS + 2,
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


def encode(document: str, path: str, title: str, description: str) -> bytes:
    """Return the content of a file of a drawing, an SVG document, by the suffix of its path.

    PNG and PDF have its colours for a light page; a PDF says the title and the description to
    people who do not see it. Raise `UsageError` if the drawing is too large for a PNG.
    """
    if not path.endswith(CONVERTED_SUFFIXES):
        return document.encode()
    density = _density(document, path) if path.endswith(".png") else _PNG_DENSITY
    import typst

    inputs = {"drawing": document, "title": title, "description": description}
    kind: Literal["png", "pdf"] = "pdf" if path.endswith(".pdf") else "png"
    content: bytes = typst.compile(_TYPST_PAGE, format=kind, ppi=density, sys_inputs=inputs)
    return content


def _density(document: str, path: str) -> float:
    """Return the density of a PNG: less than usual if the drawing is large."""
    size = re.findall(r' (?:width|height)="([\d.]+)"', document.partition(">")[0])
    pixels = prod(map(float, size)) * (_PNG_DENSITY / 96) ** 2
    scale = min(1.0, sqrt(_MOST_PIXELS / pixels))
    if scale < _LEAST_DENSITY_PART:
        width, height = (grouped(round(float(each))) for each in size)
        what = f"`{clean(path)}` cannot hold a drawing of {width} by {height} pixels"
        raise UsageError(what, value=path, expected=".svg, .pdf or a smaller drawing")
    return _PNG_DENSITY * scale
