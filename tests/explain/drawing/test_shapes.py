"""The elements of an SVG picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from gathercli.explain.drawing.shapes import document, text


@given(words=st.text())
def test_any_text_is_well_formed(words: str) -> None:
    svg = document((10, 10), words, words, "", [text(0, 0, words, class_=words)])

    root = ET.fromstring(svg)  # noqa: S314  (our own)

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
