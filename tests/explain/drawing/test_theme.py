"""Colours of drawings: text and lines stand out from what is behind them."""

from __future__ import annotations

import pytest

from gathercli.explain.drawing.theme import DARK, LIGHT, Theme, style_sheet
from gathercli.report.palette import ON_FILL
from tests.test_palette import contrast

themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@themes
def test_text_has_a_contrast_of_four_and_a_half(theme: Theme) -> None:
    pairs = [(theme.ink, theme.page), (theme.faint, theme.page), (theme.faint, theme.cell)]
    pairs += [(theme.ink, theme.cell), (theme.refused, theme.cell)]
    pairs += [(ON_FILL, fill) for fill in theme.fills]

    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


@themes
def test_lines_of_a_colour_stand_out_from_the_page(theme: Theme) -> None:
    assert [line for line in theme.lines if contrast(line, theme.page) < 3] == []


@pytest.mark.parametrize("dark", [None, False, True])
def test_every_rule_is_of_drawings_alone(dark: bool | None) -> None:
    sheet = style_sheet(dark).replace("@media(prefers-color-scheme:dark){", "").replace("}}", "}")

    selectors = [rule.split("{")[0] for rule in sheet.split("}") if rule]

    assert all(each.startswith(".drawing ") for rule in selectors for each in rule.split(","))
    assert ("prefers-color-scheme" in style_sheet(dark)) == (dark is None)
