"""Drawings as files: SVG as it is, PNG and PDF by `typst`, which keeps text as text in a PDF."""

from __future__ import annotations

from typing import Final, Literal

CONVERTED: Final = (".png", ".pdf")
"""The suffixes that need the extra ``pictures``."""
DRAWN: Final = (".svg", *CONVERTED)
"""The suffixes of files of drawings."""

_DENSITY: Final = 192
"""The pixels of a PNG in 72 points: twice those of the SVG in each direction."""

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
    """
    if not path.endswith(CONVERTED):
        return document.encode()
    import typst

    inputs = {"drawing": document, "title": title, "description": description}
    kind: Literal["png", "pdf"] = "pdf" if path.endswith(".pdf") else "png"
    content: bytes = typst.compile(_PAGE, format=kind, ppi=_DENSITY, sys_inputs=inputs)
    return content
