"""The colours of pictures: a hue for each letter, the same in a terminal and in a drawing.

The hues differ for readers who see no red, no green or no blue, too; black text on a fill, and a
hue as text on its page, have a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3). Tests compute both.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LIGHT_PAGE: Final = "#ffffff"
DARK_PAGE: Final = "#0d1117"


class Hue(NamedTuple):
    """A colour of a letter, as ``#rrggbb``."""

    name: str
    fill: str  # a ground for text in `ON_FILL`, on any page; also text and lines on a dark page
    ink: str  # text and lines on a light page; also a ground for white text


# The hues of the letters a to f; g begins again.
HUES: Final = (
    Hue("blue", "#46d9f7", "#003a60"),
    Hue("amber", "#e6ac04", "#683d09"),
    Hue("teal", "#349280", "#11817f"),
    Hue("cream", "#f5e096", "#776c03"),
    Hue("violet", "#c269dd", "#940398"),
    Hue("red", "#fc2701", "#450d0c"),
)
ON_FILL: Final = "#000000"  # text on a fill

# What is refused: lines and text on a page; the first also a ground for text in `ON_REFUSED`.
REFUSED_ON_LIGHT: Final = "#b00020"
REFUSED_ON_DARK: Final = "#ff8a80"
ON_REFUSED: Final = "#ffffff"

# The styles in a terminal: of letters, of refused cells, and of words on what is refused or wrong.
STYLES: Final = tuple(f"{ON_FILL} on {hue.fill}" for hue in HUES)
REFUSED_STYLE: Final = f"{ON_REFUSED} on {REFUSED_ON_LIGHT}"
ERROR_STYLE: Final = "red"
