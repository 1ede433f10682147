"""The style sheet of drawings: colours for light and dark pages, sizes of text."""

from __future__ import annotations

from typing import Final, NamedTuple

from gathercli.drawing.shapes import MONO, SANS


class Theme(NamedTuple):
    """The colours of a page, as hex codes.

    Attributes
    ----------
    page, ink, faint, line
        The background; text; text of coordinates; the frames of cells.
    cell
        The fill of cells of no part.
    refused
        The line and text of what is refused.
    fills, lines
        For each number of a colour, the fill of its cells, and its lines and letters.
    """

    page: str
    ink: str
    faint: str
    line: str
    cell: str
    refused: str
    fills: tuple[str, ...]
    lines: tuple[str, ...]


LIGHT: Final = Theme(
    page="#ffffff",
    ink="#1f2328",
    faint="#59636e",
    line="#b6bec8",
    cell="#ffffff",
    refused="#b3261e",
    fills=("#cfe3fb", "#ffe0b3", "#cdeedd", "#f8d3e6", "#e4d9f7", "#f5efb0"),
    lines=("#0a5bb5", "#a35200", "#0b7a52", "#b0307a", "#6a3fc0", "#6f6400"),
)
DARK: Final = Theme(
    page="#0d1117",
    ink="#e6edf3",
    faint="#9aa4af",
    line="#48515c",
    cell="#161b22",
    refused="#ff8a80",
    fills=("#123a66", "#5a3606", "#0f4a35", "#5c1d43", "#3c2a70", "#4a4408"),
    lines=("#6cb2ff", "#ffb04d", "#4fd3a0", "#ff8fc6", "#b79bff", "#dccb45"),
)
COLORS: Final = len(LIGHT.fills)


def style_sheet(dark: bool | None) -> str:
    """Return the styles for a dark page, a light page, or (None) for both."""
    if dark is not None:
        return _SHAPES + _colors(DARK if dark else LIGHT)
    return f"{_SHAPES}{_colors(LIGHT)}@media(prefers-color-scheme:dark){{{_colors(DARK)}}}"


_SHAPES: Final = "".join(
    f".drawing {selector}{{{body}}}"
    for selector, body in {
        "text": f"font:15px {MONO}",
        ".cell text": "text-anchor:middle",
        ".cell .letter": "font-size:9.5px;font-weight:700;text-anchor:start",
        ".title": f"font:600 15px {SANS}",
        ".heading": f"font:600 17px {SANS}",
        ".note,.drawing .facet": f"font:13px {SANS}",
        ".coordinate,.drawing .gap": "font-size:12px",
        ".arrow": "fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round",
        ".arrow.traced": "stroke-width:3.2",
        ".slice": "fill:none;stroke-width:1.8",
        ".cell rect": "stroke-width:1",
        ".cell.traced rect": "stroke-width:3",
        ".hatch": "fill:none;stroke-width:1",
        ".outside": "stroke-dasharray:4 3",
        ".faint .arrow:not(.traced),.drawing .faint .slice:not(.traced)": "opacity:.2",
        ".faint .cell:not(.traced)": "opacity:.45",
    }.items()
)


def _colors(theme: Theme) -> str:
    rules = {
        ".page": f"fill:{theme.page}",
        "text": f"fill:{theme.ink}",
        ".cell rect": f"fill:{theme.cell};stroke:{theme.line}",
        ".unread text,.drawing .coordinate,.drawing .gap": f"fill:{theme.faint}",
        ".arrow,.drawing .slice": f"stroke:{theme.faint}",
        ".hatch": f"stroke:{theme.faint}",
        ".refused text": f"fill:{theme.refused}",
        ".cell.refused rect,.drawing .refused .hatch,.drawing .refused.arrow": (
            f"stroke:{theme.refused}"
        ),
    }
    for n, (fill, line) in enumerate(zip(theme.fills, theme.lines, strict=True)):
        rules[f".cell.c{n} rect"] = f"fill:{fill};stroke:{line}"
        rules[f".arrow.c{n},.drawing .slice.c{n}"] = f"stroke:{line}"
        rules[f".c{n} .letter"] = f"fill:{line}"
    return "".join(f".drawing {selector}{{{body}}}" for selector, body in rules.items())
