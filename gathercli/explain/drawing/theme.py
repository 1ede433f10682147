"""The style sheet of drawings: colours for light and dark pages, sizes of text."""

from __future__ import annotations

from typing import Final, NamedTuple

from gathercli.explain.drawing.shapes import MONO, SANS
from gathercli.report.palette import DARK_PAGE, HUES, LIGHT_PAGE, ON_FILL, REFUSED_FILL


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
        For each number of a colour, the ground of text in `ON_FILL`, and its lines.
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
    page=LIGHT_PAGE,
    ink="#1f2328",
    faint="#59636e",
    line="#b6bec8",
    cell="#ffffff",
    refused=REFUSED_FILL,
    fills=tuple(hue.fill for hue in HUES),
    lines=tuple(hue.ink for hue in HUES),
)
DARK: Final = Theme(
    page=DARK_PAGE,
    ink="#e6edf3",
    faint="#9aa4af",
    line="#48515c",
    cell="#161b22",
    refused="#ff8a80",
    fills=LIGHT.fills,
    lines=tuple(hue.fill for hue in HUES),
)
COLORS: Final = len(HUES)


def style_sheet(dark: bool | None) -> str:
    """Return the styles for a dark page, a light page, or (None) for both."""
    if dark is not None:
        return _SHAPES + _colors(DARK if dark else LIGHT)
    return f"{_SHAPES}{_colors(LIGHT)}@media(prefers-color-scheme:dark){{{_colors(DARK)}}}"


def _rules(rules: dict[str, str]) -> str:
    return "".join(
        f"{','.join(f'.drawing {each}' for each in selectors.split(','))}{{{body}}}"
        for selectors, body in rules.items()
    )


_SHAPES: Final = _rules(
    {
        "text": f"font:15px {MONO}",
        ".cell text": "text-anchor:middle",
        ".cell .letter": "font-size:11px;font-weight:700;text-anchor:start",
        ".title": f"font:600 15px {SANS}",
        ".heading": f"font:600 19px {SANS}",
        ".equation": "font-size:16px",
        ".note,.facet": f"font:13.5px {SANS}",
        ".coordinate": f"font:12px {MONO}",
        ".gap": f"font:700 15px {MONO}",
        ".coordinate.replaced": f"font:700 13px {MONO}",
        ".coordinate.stays": "font-size:13px;text-decoration:underline",
        "tspan": "font:inherit",
        ".strong,tspan.replaced": "font-weight:700",
        "text.stays,text.shared": f"font:13.5px {SANS}",
        "text.replaced": f"font:700 13.5px {SANS}",
        "tspan.stays": "text-decoration:underline",
        ".arrow": "fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round",
        ".arrow.traced": "stroke-width:3.4",
        ".slice": "fill:none;stroke-width:1.8",
        ".slice.traced": "stroke-width:2.6",
        ".cell rect": "stroke-width:1",
        ".cell.traced rect": "stroke-width:3",
        ".hatch": "fill:none;stroke-width:1;opacity:.55",
        ".filled text,.refused text": "paint-order:stroke;stroke-width:4px;stroke-linejoin:round",
        ".outside": "stroke-dasharray:4 3",
        ".faint .arrow:not(.traced),.faint .slice:not(.traced)": "opacity:.18",
        ".faint .cell:not(.traced)": "opacity:.45",
    }
)


def _colors(theme: Theme) -> str:
    rules = {
        ".page": f"fill:{theme.page}",
        "text": f"fill:{theme.ink}",
        ".cell rect": f"fill:{theme.cell};stroke:{theme.line}",
        ".unread text,.coordinate,.gap": f"fill:{theme.faint}",
        ".coordinate.replaced,.coordinate.stays": f"fill:{theme.ink}",
        ".arrow,.slice": f"stroke:{theme.faint}",
        ".hatch": f"stroke:{theme.faint}",
        ".filled text,.refused text": f"stroke:{theme.cell}",
        ".badge text": f"fill:{ON_FILL}",
        ".refused text": f"fill:{theme.refused}",
        ".cell.refused rect,.refused .hatch,.refused.arrow,.refused.slice": (
            f"stroke:{theme.refused}"
        ),
    }
    for n, (fill, line) in enumerate(zip(theme.fills, theme.lines, strict=True)):
        rules[f".cell.c{n} rect"] = f"fill:{fill};stroke:{line}"
        rules[f".cell.c{n} text"] = f"fill:{ON_FILL}"
        rules[f".arrow.c{n},.slice.c{n}"] = f"stroke:{line}"
    return _rules(rules)
