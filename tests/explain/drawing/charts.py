"""Read SVG charts in tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # the tests read what the package wrote
from typing import Final, NamedTuple

from gathercli.explain.drawing.scene import text_width

SVG = "{http://www.w3.org/2000/svg}"


class Rectangle(NamedTuple):
    """A rectangle of a picture, with the tooltip and the text beside it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    kind: str
    tooltip: str
    texts: tuple[str, ...]
    hatched: bool

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


def parse(text: str) -> ET.Element:
    """Parse a picture."""
    return ET.fromstring(text)  # noqa: S314


def of_elements(elements: list[str]) -> ET.Element:
    """Parse elements without a document around them."""
    return parse(f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(elements)}</svg>')


def rectangles(root: ET.Element, kind: str = "") -> list[Rectangle]:
    """Return the rectangles of groups of a class, or of all groups."""
    return [
        Rectangle(
            float(rect.get("x", "")),
            float(rect.get("y", "")),
            float(rect.get("width", "")),
            float(rect.get("height", "")),
            rect.get("fill", ""),
            rect.get("class", group.get("class", "")),
            group.findtext(f"{SVG}title", ""),
            tuple(each.text or "" for each in group.findall(f"{SVG}text")),
            any("hatch" in each.get("class", "") for each in group.findall(f"{SVG}path")),
        )
        for group in root.iter(f"{SVG}g")
        for rect in group.findall(f"{SVG}rect")
        if kind in group.get("class", "").split() or not kind
    ]


def words(root: ET.Element, kind: str = "") -> list[str]:
    """Return the texts of a class, or all."""
    return [
        each.text or ""
        for each in root.iter(f"{SVG}text")
        if not kind or kind in each.get("class", "").split()
    ]


def tooltips(root: ET.Element) -> list[str]:
    """Return the tooltips of groups."""
    return [group.findtext(f"{SVG}title", "") for group in root.iter(f"{SVG}g")]


SIZES: Final = {"heading": 19, "title": 15, "note": 13.5, "axis": 12, "value": 12, "word": 12}
"""The sizes of texts by class; those of `word` have the width of a fixed-width font."""


def beyond(root: ET.Element) -> list[str]:
    """Return the texts that leave a picture, on its left or on its right."""
    _, _, width, _ = (float(each) for each in root.get("viewBox", "").split())
    outside = []
    for each in root.iter(f"{SVG}text"):
        kind, words_ = each.get("class", "").split(" ")[0], each.text or ""
        wide = text_width(words_, SIZES.get(kind, 12), mono=kind in ("word", "value", ""))
        anchor = each.get("text-anchor", "middle" if kind in ("value", "") else "start")
        left = float(each.get("x", "")) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        if left < 0 or left + wide > width:
            outside.append(words_)
    return outside
