"""Write a scene as SVG, for light and dark pages.

Each cell is a group of class ``cell`` whose ``data-id`` is ``out-0-1``; none has an ``id``, as a
page may hold several drawings. Each slice is a rectangle of class ``slice`` with the tensor in
``data-tensor`` and the coordinates in ``data-at``, ``:`` for None. Each arrow is a path of class
``arrow`` from an edge of ``data-from`` to one of ``data-to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import chain
from math import prod, sqrt
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from gathercli.errors import UsageError
from gathercli.explain import panel
from gathercli.explain.drawing.scene import (
    Arrow,
    Box,
    Caption,
    GridCell,
    GridSlice,
    Scene,
    number,
    text_width,
)
from gathercli.text import clean, grouped, table_beside

MONO: Final = "Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS: Final = "system-ui,'Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif"
_SPECIAL_ATTRIBUTES: Final = {"class_": "class", "xml_space": "xml:space"}
_CELL_RADIUS: Final = 3
_STRIPED: Final = range(panel.PLAIN_HUES, len(panel.HUES))  # the numbers of such colours
CONVERTED_SUFFIXES: Final = (".png", ".pdf")  # the suffixes that need the extra `pictures`
_STEP_SECONDS: Final = 2.5  # how long an animation shows a step
# The pixels of a PNG in 72 points: twice those of the SVG in each direction.
_PNG_DENSITY: Final = 192
# The most pixels of a PNG: `typst` takes 13 bytes for each, and aborts the process at 2^31.
_MOST_PIXELS: Final = 24_000_000
# The least part of `_PNG_DENSITY`, below which no text is readable.
_LEAST_DENSITY_PART: Final = 0.25


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


class Sheet(NamedTuple):
    """The paper of a drawing."""

    aspect: tuple[int, int] | None = None  # its width and height as a ratio, which margins bring
    size: tuple[int, int] | None = None  # and in pixels; None for those of the drawing
    theme: str | None = None  # light, dark or transparent; None for what the viewer prefers


FREE: Final = Sheet()


def document(
    size: tuple[float, float],
    title: str,
    description: str,
    kinds: Sequence[str],
    body: Iterable[str],
    *,
    sheet: Sheet = FREE,
) -> str:
    """Return a whole SVG document: a drawing from (0, 0), its elements one a line.

    The kinds are those of its styles. Its elements have the styles of a light or dark page as
    attributes, so that it looks right where style sheets are blocked; one sheet overrides them for
    a viewer who prefers another page.
    """
    width, height = size
    if sheet.aspect is not None:
        wide, high = sheet.aspect
        width, height = max(width, height * wide / high), max(height, width * high / wide)
    x, y = (size[0] - width) / 2, (size[1] - height) / 2
    corner_and_size = [number(each) for each in (x, y, width, height)]
    pixels = [number(each) for each in sheet.size or (width, height)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" '
        f'viewBox="{" ".join(corner_and_size)}" width="{pixels[0]}" height="{pixels[1]}">'
    )
    # a pixel more on each side, as the ratio of a size in pixels may differ by a rounding
    ground = [rect(Box(x - 1, y - 1, width + 2, height + 2), class_="page")]
    style = f"<style>{''.join(map(style_sheet, kinds))}</style>"
    lines = [
        head,
        element("title", safe(title)),
        element("desc", safe(description)),
        *([style] if sheet.theme is None else []),
        *(ground if sheet.theme != "transparent" else []),
        *body,
        "</svg>",
    ]
    theme = DARK if sheet.theme == "dark" else LIGHT
    return "\n".join(inlined(lines, tuple(kinds), theme)) + "\n"


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
    value: str  # text of cells of no part
    faint: str  # text of coordinates
    line: str  # the frames of cells
    cell: str  # the fill of cells of no part
    refused: str  # the line and text of what is refused
    fills: tuple[str, ...]  # for each number of a colour, the ground of text in `ON_FILL`
    lines: tuple[str, ...]  # and its lines


_STYLES: Final = table_beside(__name__)
LIGHT: Final = Theme(
    **_STYLES["light"],
    refused=panel.REFUSED_ON_LIGHT,
    fills=tuple(hue.fill for hue in panel.HUES),
    lines=tuple(hue.ink for hue in panel.HUES),
)
DARK: Final = Theme(
    **_STYLES["dark"],
    refused=panel.REFUSED_ON_DARK,
    fills=LIGHT.fills,
    lines=tuple(hue.fill for hue in panel.HUES),
)


def _rules(kind: str, theme: Theme | None) -> Iterator[tuple[str, str]]:
    """Yield selectors, of one kind of drawings, and styles: of shapes (None), or the colours."""
    styles = _STYLES[kind]
    fields: dict[str, Any] = {"mono": MONO, "sans": SANS}
    tables = [(styles["shapes"], fields)]
    if theme is not None:
        fields = {**theme._asdict(), "on_fill": panel.ON_FILL}
        tables = [(styles["colors"], fields)]
        for n, (fill, line) in enumerate(zip(theme.fills, theme.lines, strict=True)):
            strong = theme.ink if line == fill else line
            own = {**fields, "n": n, "fill": fill, "line": line, "strong": strong}
            own["stripe"] = panel.HUES[n].ink
            tables += [(styles["parts"], own), (styles["striped"] if n in _STRIPED else {}, own)]
    for table, names in tables:
        for selectors, body in table.items():
            yield selectors.format(**names), body.format(**names)


def _css(kind: str, theme: Theme | None) -> str:
    return "".join(
        f"{','.join(f'.drawing {each}' for each in selectors.split(','))}{{{body}}}"
        for selectors, body in _rules(kind, theme)
    )


def style_sheet(kind: str, theme: Theme | None = None) -> str:
    """Return the styles of a kind of drawings for a theme; None for what the viewer prefers.

    Each selector starts with ``.drawing``, the class of the root, so that it applies to nothing
    else in a page.
    """
    if theme is not None:
        return _css(kind, None) + _css(kind, theme)
    shapes, light, dark = (_css(kind, each) for each in (None, LIGHT, DARK))
    return f"{shapes}{light}@media(prefers-color-scheme:dark){{{dark}}}"


_TAG: Final = re.compile(r"<(/?)([a-z]+)([^<>]*?)(/?)>")
_CLASS: Final = re.compile(r"(:not\()?\.([\w-]+)\)?")  # of a selector


def _pattern(selector: str) -> re.Pattern[str]:
    """Return what finds a selector at the end of the path of an element: ``/g.cell.c1/rect``."""
    found = _CLASS.sub(lambda c: f"(?{'!' if c[1] else '='}[^/]*\\.{c[2]}(?![\\w-]))", selector)
    return re.compile(f"/{found.replace(' ', '[^/]*/(?:.*/)?')}[^/]*$")


@cache
def _inline_rules(
    kinds: tuple[str, ...], theme: Theme
) -> list[tuple[int, re.Pattern[str], dict[str, str]]]:
    """Return ranks, selectors and attributes of a theme, those that override others last."""
    rules = []
    for selectors, body in chain(*(_rules(kind, each) for kind in kinds for each in (None, theme))):
        values = dict(part.split(":", 1) for part in body.split(";"))
        if font := re.fullmatch(r"(?:(\d+) )?([\d.]+)px (.*)", values.pop("font", "")):
            weight, size, family = font.groups()
            values = {"font-size": size, "font-family": family, **values}
            values["font-weight"] = weight or values.get("font-weight", "400")
        values = {name: value.removesuffix("px") for name, value in values.items()}
        for selector in selectors.split(","):
            rank = 9 * selector.count(".") + len(re.findall("(?:^| )[a-z]", selector))
            rules.append((rank, _pattern(selector), values))
    return sorted(rules, key=itemgetter(0))


def inlined(lines: Sequence[str], kinds: tuple[str, ...], theme: Theme) -> Iterator[str]:
    """Yield markup with the styles of a theme as attributes, where they differ from what is so."""
    rules, path = _inline_rules(kinds, theme), ""

    @cache
    def styles(path: str) -> tuple[dict[str, str], str]:
        """Return all values of an element, and the attributes that it needs."""
        above, _, own = path.rpartition("/")
        if not own:
            return _STYLES["initial"], ""
        styled = path if above else path.replace("svg", "text", 1)  # which all inherits
        values = {n: v for _, rule, each in rules if rule.search(styled) for n, v in each.items()}
        before = {**styles(above)[0], "opacity": "1"}
        changed = {n: v for n, v in values.items() if before.get(n) != v}
        return before | values, "".join(f' {n}="{safe(v)}"' for n, v in changed.items())

    def replaced(tag: re.Match[str]) -> str:
        nonlocal path
        closes, name, attributes, empty = tag.groups()
        if closes:
            path = path.rpartition("/")[0]
            return tag[0]
        classes = re.search(r' class="([^"]*)"', attributes)
        own = "/" + ".".join([name, *(classes[1].split() if classes else ())])
        added = styles(path + own)[1]
        path += "" if empty else own
        return f"<{name}{attributes}{added}{empty}>"

    return (_TAG.sub(replaced, line) for line in lines)


def svg(scene: Scene, sheet: Sheet = FREE) -> str:
    """Write a scene as SVG."""
    return _document(scene, elements(scene), sheet)


def _document(scene: Scene, body: Iterable[str], sheet: Sheet) -> str:
    size, kinds = (scene.width, scene.height), ["drawing", *["slide"] * scene.is_slide]
    return document(size, scene.title, scene.description, kinds, body, sheet=sheet)


def animated(scenes: Sequence[Scene], sheet: Sheet = FREE) -> str:
    """Write scenes of one size as one SVG that shows each for a while; it has no script."""
    body, share, first = list[str](), 1 / len(scenes), scenes[0]
    for n, scene in enumerate(scenes):
        shown = {0.0: "hidden", n * share: "visible", (n + 1) * share: "hidden"}
        turns = element(
            "animate",
            attributeName="visibility",
            values=";".join(shown.values()),
            keyTimes=";".join(f"{at:.4f}" for at in shown),
            calcMode="discrete",
            dur=f"{_STEP_SECONDS * len(scenes)}s",
            repeatCount="indefinite",
        )
        group = f'<g visibility="{"hidden" if n else "visible"}">{turns}'
        body += [group, *elements(scene), "</g>"]
    return _document(first, body, sheet)


def elements(scene: Scene) -> Iterator[str]:
    """Yield the elements of a scene: grids, then arrows, then captions."""
    faint = " faint" if scene.faint else ""
    yield f'<g class="grids{faint}">'
    for grid in scene.grids:
        yield from map(_slice, grid.slices)
        yield from (_cell(each, is_slide=scene.is_slide) for each in grid.cells)
        yield from map(_caption, grid.captions)
    yield f'</g>\n<g class="arrows{faint}">'
    for arrow in sorted(scene.arrows, key=lambda arrow: "traced" in arrow.kinds):
        yield _arrow(arrow)
    yield "</g>"
    yield from map(_caption, scene.captions)


def _classes(*words: str, color: int | None) -> str:
    has_color = color is not None and color < len(panel.HUES)
    return " ".join(filter(None, (*words, f"c{color}" if has_color else "")))


def _cell(cell: GridCell, *, is_slide: bool) -> str:
    x, y = cell.box.center
    parts = [rect(cell.box, rx=_CELL_RADIUS)]
    fate = cell.fate.removeprefix("copied")
    if fate:
        parts.append(path(hatch(cell.box), class_="hatch"))
    elif cell.color in _STRIPED:
        start, length = f"M{number(cell.box.x + 3)} {number(y)}", number(cell.box.width - 6)
        parts.append(path(f"{start}h{length}", class_="stripes"))
    width, room = text_width(cell.letter, 12), x - cell.box.x
    room -= text_width(cell.text, panel.SLIDE_TEXT if is_slide else panel.CELL_TEXT) / 2
    above = is_slide + 2 * (bool(cell.letter) and width + 3.7 > room)  # letters above the value
    parts.append(text(x, y + 7 + above, cell.text))
    if cell.letter:
        at = cell.box.x + 4 + width / 2, cell.box.y + 12 - min(above, 1)
        parts.append(text(*at, cell.letter, class_="letter"))
    kinds = _classes("cell", fate, *cell.kinds, color=cell.color)
    return element("g", *parts, data_id=cell.id, class_=kinds)


def _slice(part: GridSlice) -> str:
    return rect(
        part.box,
        rx=_CELL_RADIUS + 2,
        data_id=part.id,
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
    x, y, words, kind, anchor, spans = caption
    side = None if anchor == "start" else anchor
    parts, end = list[str](), 0
    for start, stop, role in spans:
        parts += [safe(words[end:start]), element("tspan", safe(words[start:stop]), class_=role)]
        end = stop
    parts.append(safe(words[end:]))
    spaces = "preserve" if "  " in words else None
    return element("text", *parts, xml_space=spaces, x=x, y=y, class_=kind, text_anchor=side)


def encode(document: str, path: str, title: str, description: str, sheet: Sheet) -> bytes:
    """Return the content of a file of a drawing, an SVG document, by the suffix of its path.

    A PNG of a sheet with a size has that size. PNG and PDF have the colours for a light page unless
    the sheet has a theme; a PDF says the title and the description to people who do not see it.
    Raise `UsageError` if the drawing is too large for a PNG.
    """
    if not path.endswith(CONVERTED_SUFFIXES):
        return document.encode()
    usual = _PNG_DENSITY if sheet.size is None else _PNG_DENSITY // 2
    density = _density(document, path, usual) if path.endswith(".png") else usual
    import typst

    ground = {"transparent": "", "dark": DARK.page}.get(sheet.theme or "", LIGHT.page)
    inputs = {"drawing": document, "title": title, "description": description, "ground": ground}
    kind: Literal["png", "pdf"] = "pdf" if path.endswith(".pdf") else "png"
    page = _STYLES["typst"].encode()
    content: bytes = typst.compile(page, format=kind, ppi=density, sys_inputs=inputs)
    return content


def _density(document: str, path: str, usual: int) -> float:
    """Return the density of a PNG: less than usual if the drawing is large."""
    size = re.findall(r' (?:width|height)="([\d.]+)"', document.partition(">")[0])
    pixels = prod(map(float, size)) * (usual / 96) ** 2
    scale = min(1.0, sqrt(_MOST_PIXELS / pixels))
    if scale < _LEAST_DENSITY_PART:
        width, height = (grouped(round(float(each))) for each in size)
        what = f"`{clean(path)}` cannot hold a drawing of {width} by {height} pixels"
        raise UsageError(what, value=path, expected=".svg, .pdf or a smaller drawing")
    return usual * scale
