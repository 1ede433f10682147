"""Drawings as files: SVG as it is, PNG and PDF by `typst`, which keeps text as text in a PDF."""

from __future__ import annotations

import re
from math import prod, sqrt
from typing import Final, Literal

from gathercli.errors import UsageError
from gathercli.text import clean, grouped

CONVERTED: Final = (".png", ".pdf")
"""The suffixes that need the extra ``pictures``."""
DRAWN: Final = (".svg", *CONVERTED)
"""The suffixes of files of drawings."""

_DENSITY: Final = 192
"""The pixels of a PNG in 72 points: twice those of the SVG in each direction."""
_PIXELS: Final = 24_000_000
"""The most pixels of a PNG: `typst` takes 13 bytes for each, and aborts the process at 2^31."""
_COARSEST: Final = 0.25
"""The least part of `_DENSITY`, below which no text is readable."""

_PAGE: Final = b"""\
#set document(date: none, title: sys.inputs.title)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.drawing), format: "svg", alt: sys.inputs.description)
"""


def encode(document: str, path: str, title: str, description: str) -> bytes:
    """Return the content of a file of a drawing, by the suffix of its path.

    Parameters
    ----------
    document
        The drawing as SVG; PNG and PDF have its colours for a light page.
    title, description
        What a PDF says of the drawing to people who do not see it.

    Raises
    ------
    UsageError
        ``usage``: the drawing is too large for a PNG.
    """
    if not path.endswith(CONVERTED):
        return document.encode()
    density = _density(document, path) if path.endswith(".png") else _DENSITY
    import typst

    inputs = {"drawing": document, "title": title, "description": description}
    kind: Literal["png", "pdf"] = "pdf" if path.endswith(".pdf") else "png"
    content: bytes = typst.compile(_PAGE, format=kind, ppi=density, sys_inputs=inputs)
    return content


def _density(document: str, path: str) -> float:
    """Return the density of a PNG: less than usual if the drawing is large."""
    size = re.findall(r' (?:width|height)="([\d.]+)"', document.partition(">")[0])
    pixels = prod(map(float, size)) * (_DENSITY / 96) ** 2
    scale = min(1.0, sqrt(_PIXELS / pixels))
    if scale < _COARSEST:
        width, height = (grouped(round(float(each))) for each in size)
        raise UsageError(
            f"`{clean(path)}` cannot hold a drawing of {width} by {height} pixels",
            rule="usage",
            value=path,
            expected=".svg, .pdf or a smaller drawing",
        )
    return _DENSITY * scale
