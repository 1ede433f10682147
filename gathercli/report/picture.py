"""Draw a text as SVG or HTML, for light and dark pages.

The files are self-contained: no fonts, scripts or addresses.
"""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

SUFFIXES: Final = (".svg", ".html", ".txt")

_CHARACTER: Final = 8.4
"""The width of a column at 14 pixels, in pixels; `textLength` fits every font to it."""
_LINE: Final = 19
_MARGIN: Final = 12

_FONTS: Final = "Menlo,Consolas,DejaVu Sans Mono,monospace"
_LIGHT: Final = {
    "": "#1f2328",
    "cyan": "#0b7285",
    "magenta": "#a3219b",
    "green": "#1a7f37",
    "yellow": "#8a6100",
    "bright_blue": "#0550ae",
    "red": "#c8102e",
}
_DARK: Final = {
    "": "#e6edf3",
    "cyan": "#56d4dd",
    "magenta": "#f08af0",
    "green": "#6fdd8b",
    "yellow": "#e3c04b",
    "bright_blue": "#79b8ff",
    "red": "#ff7b72",
}
_PAGES: Final = {"light": "#ffffff", "dark": "#0d1117"}


def encode(text: Text, title: str, path: str) -> bytes:
    """Encode a picture as SVG, HTML or plain text, by the suffix of a path."""
    content = text.plain
    if path.endswith(".svg"):
        content = svg(text, title)
    elif path.endswith(".html"):
        content = html(text, title)
    return content.encode(errors="backslashreplace")


def svg(text: Text, title: str) -> str:
    """Draw a text as SVG, with a title for screen readers."""
    lines = [list(_runs(line)) for line in text.split("\n")]
    columns = max((sum(cell_len(run) for run, _ in line) for line in lines), default=0)
    wide, high = columns * _CHARACTER + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.1f} {high}" '
        f'width="{wide:.1f}" height="{high}" role="img">',
        f"<title>{_safe(title)}</title>",
        f"<style>text{{font-family:{_FONTS};font-size:14px}}.dim{{opacity:.62}}"
        ".bold{font-weight:700}.italic{font-style:italic}.reverse{text-decoration:underline}"
        f"{_colors('text', 'fill')}</style>",
        f'<rect width="{wide:.1f}" height="{high}" rx="6"/>',
    ]
    for number, line in enumerate(lines):
        at, y = 0, _MARGIN + number * _LINE + 14
        for run, style in line:
            for match in re.finditer(r"\S+(?: \S+)*", run):  # viewers collapse several blanks
                word, column = match[0], at + cell_len(run[: match.start()])
                kind = f' class="{style}"' if style else ""
                parts.append(
                    f'<text x="{_MARGIN + column * _CHARACTER:.1f}" y="{y}" '
                    f'textLength="{cell_len(word) * _CHARACTER:.1f}" '
                    f'lengthAdjust="spacingAndGlyphs"{kind}>{_safe(word)}</text>'
                )
            at += cell_len(run)
    return "\n".join([*parts, "</svg>\n"])


def html(text: Text, title: str) -> str:
    """Draw a text as an HTML page."""
    body = "\n".join(
        "".join(
            f'<span class="{style}">{_safe(run)}</span>' if style else _safe(run)
            for run, style in _runs(line)
        )
        for line in text.split("\n")
    )
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>{_safe(title)}</title>\n"
        f"<style>pre{{font:14px/1.35 {_FONTS}}}.dim{{opacity:.62}}"
        ".bold{font-weight:700}.italic{font-style:italic}.reverse{text-decoration:underline}"
        f"{_colors('body', 'color')}</style>\n<pre>\n{body}\n</pre>\n</html>\n"
    )


def _colors(everything: str, name: str) -> str:
    """Return the styles for light and dark pages; `name` is the property of text colour."""
    light, dark = _page("light", _LIGHT, everything, name), _page("dark", _DARK, everything, name)
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _page(page: str, colors: dict[str, str], everything: str, name: str) -> str:
    ground = (
        f"rect{{fill:{_PAGES[page]}}}" if name == "fill" else f"body{{background:{_PAGES[page]}}}"
    )
    return ground + "".join(
        f"{f'.{color}' if color else everything}{{{name}:{code}}}" for color, code in colors.items()
    )


def _runs(line: Text) -> Iterator[tuple[str, str]]:
    """Split a line at changes of style."""
    styles = [""] * len(line)
    for start, end, style in line.spans:
        for at in range(start, min(end, len(line))):
            styles[at] = f"{styles[at]} {style}".strip()
    at = 0
    for style, group in groupby(styles):
        size = len(list(group))
        yield line.plain[at : at + size], style
        at += size


def _safe(text: str) -> str:
    """Escape markup, and replace characters that XML excludes."""
    return escape(re.sub("[\ufffe\uffff]", "\ufffd", text))
