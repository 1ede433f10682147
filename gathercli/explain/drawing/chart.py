"""Charts: elements below a heading, with the styles of bars, axes and tables."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.shapes import (
    SANS,
    Box,
    document,
    element,
    path,
    rect,
    safe,
    text,
    text_width,
)
from gathercli.explain.drawing.theme import DARK, LIGHT, style_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.explain.drawing.theme import Theme

MARGIN: Final = 28
LABEL: Final = 12
"""The size of the text of axes."""

LINE: Final = 20
"""The height of a line of notes."""


_SIZES: Final = {"heading": 19, "title": 15, "note": 13.5}
"""The sizes of the text of the style sheet."""


class Chart:
    """The elements of a picture, and its size as they are added.

    Attributes
    ----------
    title, description
        What it shows, in words.
    box
        The place of what was added so far.
    """

    def __init__(self, title: str, description: str, heading: str, *notes: str) -> None:
        self.title, self.description = title, description
        self.box = Box(0, 0, MARGIN, MARGIN)
        self._elements: list[str] = []
        self.add_text(MARGIN, MARGIN + 16, heading, "heading")
        for number, note in enumerate(notes):
            self.add_text(MARGIN, MARGIN + 16 + LINE * (number + 1.2), note, "note")

    def add(self, box: Box, elements: Iterable[str]) -> None:
        """Add elements that fill a box."""
        self._elements += elements
        width, height = max(self.box.width, box.right), max(self.box.height, box.bottom)
        self.box = Box(0, 0, width, height)

    def add_text(self, x: float, y: float, words: str, kind: str) -> None:
        """Add a line of text of a kind of the style sheet: a heading, a title or a note."""
        width = text_width(words, _SIZES[kind], mono=False)
        self.add(Box(x, y, width, 6), [text(x, y, words, class_=kind)])

    def svg(self, *, aspect: tuple[int, int] | None = None, dark: bool | None = None) -> str:
        """Return the picture; `aspect` and `dark` are as in `svg.svg`."""
        size = self.box.width + MARGIN, self.box.height + MARGIN
        style = style_sheet(dark) + _style(dark)
        return document(size, self.title, self.description, style, self._elements, aspect=aspect)


def page(chart: Chart, *, aspect: tuple[int, int] | None = None) -> str:
    """Return a page with a chart; it has no scripts, and asks nothing of a network."""
    ground = f"body{{margin:0;background:{LIGHT.page}}}"
    dark = f"@media(prefers-color-scheme:dark){{body{{background:{DARK.page}}}}}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(chart.title)}</title>\n"
        f"<style>{ground}{dark}svg{{max-width:100%;height:auto}}</style>\n"
        f"</head>\n<body>\n{chart.svg(aspect=aspect)}</body>\n</html>\n"
    )


def tooltip(words: str) -> str:
    """Return the title of an element: a viewer shows it where the pointer is."""
    return element("title", safe(words))


def axis_label(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Return a label of an axis."""
    return text(x, y, words, class_="axis", text_anchor=anchor)


def ruled(x: float, y: float, to_x: float, to_y: float, kind: str = "rule") -> str:
    """Return a straight line."""
    return path(f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}", class_=kind)


def swatch(box: Box, kind: str, words: str) -> list[str]:
    """Return a sample of a class, and its meaning to the right."""
    label = axis_label(box.right + 6, box.bottom - 1, words, "start")
    return [rect(box, class_=kind), label]


def ticks(most: int, count: int = 5) -> list[int]:
    """Return round numbers from 0 to `most`, at most `count` after 0.

    >>> ticks(17), ticks(1), ticks(98_765_432)
    ([0, 5, 10, 15], [0, 1], [0, 20000000, 40000000, 60000000, 80000000])
    """
    size = 10 ** max(0, floor(log10(most / count))) if most > count else 1
    step = next(n * size for n in (1, 2, 5, 10) if n * size * count >= most)
    return list(range(0, most + 1, step))


def round_ticks(low: float, high: float, count: int) -> list[float]:
    """Return round numbers from `low` to `high`, about `count` and at most twice that.

    >>> round_ticks(-0.7, 1.3, 4), round_ticks(3, 3, 4)
    ([-0.5, 0.0, 0.5, 1.0], [3])
    """
    width = high / 2 - low / 2  # half of it, as the difference of large numbers overflows
    if width <= 0:
        return [low]
    size = Fraction(10) ** floor(log10(width / count))
    step = next(n * size for n in (1, 2, 5, 10, 20) if n * size * count >= 2 * Fraction(width))
    first, last = ceil(Fraction(low) / step), floor(Fraction(high) / step)
    return [float(n * step) for n in range(first, last + 1)]


def spread(count: int, most: int) -> list[int]:
    """Choose at most `most` of the numbers 0 to `count` - 1, at equal distances, with 0.

    >>> spread(5, 8), spread(10, 4)
    ([0, 1, 2, 3, 4], [0, 3, 6, 9])
    """
    return list(range(0, count, -(-count // most)))


def _style(dark: bool | None) -> str:
    """Return the styles of charts, as `theme.style_sheet` does those of all drawings."""
    if dark is not None:
        return _SHAPES + _colors(DARK if dark else LIGHT)
    return f"{_SHAPES}{_colors(LIGHT)}@media(prefers-color-scheme:dark){{{_colors(DARK)}}}"


_SHAPES: Final = (
    f".drawing .axis{{font:{LABEL}px {SANS}}}"
    ".drawing .rule{fill:none;stroke-width:1}.drawing .thick{fill:none;stroke-width:2.5}"
    f".drawing .value{{font-size:{LABEL}px;text-anchor:middle}}"
    f".drawing .small text{{font-size:{LABEL}px}}"
    f".drawing .word{{font-size:{LABEL}px}}.drawing .head{{font-weight:700}}"
    ".drawing .on-light{fill:#000;stroke:none}.drawing .on-dark{fill:#fff;stroke:none}"
    ".drawing .bin rect,.drawing .ramp{shape-rendering:crispEdges}"  # no seams between neighbours
    ".drawing .hatch.on-light{fill:none;stroke:#000}.drawing .hatch.on-dark{fill:none;stroke:#fff}"
)


def _colors(theme: Theme) -> str:
    rules = {
        ".axis": f"fill:{theme.faint}",
        ".rule": f"stroke:{theme.line}",
        ".thick": f"stroke:{theme.ink}",
        ".bar": f"fill:{theme.lines[0]}",
        ".plain": f"fill:{theme.cell};stroke:{theme.line}",
        ".band": f"fill:{theme.fills[2]};fill-opacity:.25;stroke:{theme.lines[2]}",
        ".outlier": f"fill:{theme.refused}",
    }
    for n, (fill, line) in enumerate(zip(theme.fills, theme.lines, strict=True)):
        rules[f".group.c{n}"] = f"fill:{fill};stroke:{line}"
    return "".join(f".drawing {selector}{{{body}}}" for selector, body in rules.items())
