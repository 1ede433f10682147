"""The elements of an SVG picture: rectangles, text, paths, and the document around them.

A document is self-contained: no fonts, scripts or addresses. All lengths are in pixels.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final, NamedTuple
from unicodedata import combining, east_asian_width

MONO: Final = "Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS: Final = "system-ui,'Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif"

_MONO_EM: Final = 0.602
_SANS_EM: Final = 0.6
"""The width of a character of the widest of `MONO`, and of an average one of `SANS`, in ems."""


_SPECIAL: Final = {"class_": "class", "xml_space": "xml:space"}


class Box(NamedTuple):
    """A rectangle.

    >>> Box(10, 20, 30, 40).right, Box(10, 20, 30, 40).bottom
    (40, 60)
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height

    @property
    def center(self) -> tuple[float, float]:
        """The point in the middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    def moved(self, x: float, y: float) -> Box:
        """Return the box moved right by x and down by y."""
        return Box(self.x + x, self.y + y, self.width, self.height)


def around(boxes: list[Box]) -> Box:
    """Return the smallest box around others; there is at least one.

    >>> around([Box(0, 0, 1, 1), Box(4, 2, 1, 1)])
    Box(x=0, y=0, width=5, height=3)
    """
    x, y = min(box.x for box in boxes), min(box.y for box in boxes)
    return Box(x, y, max(box.right for box in boxes) - x, max(box.bottom for box in boxes) - y)


def columns(text: str) -> int:
    """Return the width of a text in columns of a fixed-width font.

    >>> columns("abc"), columns("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum((east_asian_width(each) in "WF") + (not combining(each)) for each in text)


def text_width(text: str, size: float, *, mono: bool = True) -> float:
    """Return the width of a text at a font size: exact for `MONO`, about right for `SANS`."""
    return columns(text) * size * (_MONO_EM if mono else _SANS_EM)


def number(value: float) -> str:
    """Write a length with at most one decimal.

    >>> number(3.0), number(2.25), number(-0.04)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


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
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            text = safe(value) if isinstance(value, str) else number(value)
            label = _SPECIAL.get(key, key.replace("_", "-"))
            words.append(f'{label}="{text}"')
    head = " ".join(words)
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
    """Return a whole SVG document.

    Parameters
    ----------
    size
        The width and the height of the drawing, whose corner is (0, 0).
    title, description
        Texts for people who do not see it.
    style
        The style sheet; each selector should start with ``.drawing``, the class of the root, so
        that it applies to nothing else in a page.
    body
        The elements, one a line.
    aspect
        The ratio of width to height, reached by margins; None for that of the drawing.
    """
    width, height = size
    if aspect is not None:
        width, height = (
            max(width, height * aspect[0] / aspect[1]),
            max(height, width * aspect[1] / aspect[0]),
        )
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
