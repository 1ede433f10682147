from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.explain.drawing.chart import (
    CHART_MARGIN,
    MOST_CHARACTERS,
    Chart,
    page,
    round_ticks,
    spread,
    swatch,
    ticks,
    versions_chart,
)
from gathercli.explain.drawing.scene import Box
from gathercli.explain.drawing.svg import Sheet
from tests.explain.drawing.charts import SVG, beyond, parse, rectangles, words
from tests.tensorfiles import amply

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


def chart() -> Chart:
    drawn = Chart("a <title>", "what & where", "heading", "note")
    drawn.add(Box(10, 100, 500, 40), swatch(Box(10, 100, 14, 14), "plain", "meaning"))
    return drawn


def test_a_chart_says_what_it_shows() -> None:
    root = parse(chart().svg())

    assert root.findtext(f"{SVG}title") == "a <title>"
    assert root.findtext(f"{SVG}desc") == "what & where"
    assert root.get("role") == "img"
    assert words(root) == ["heading", "note", "meaning"]


def test_a_chart_is_as_large_as_what_was_added() -> None:
    root = parse(chart().svg())

    assert root.get("viewBox") == f"0 0 {510 + CHART_MARGIN} {140 + CHART_MARGIN}"


def test_a_chart_asks_for_nothing_from_outside() -> None:
    for text in (chart().svg(), page(chart())):
        bare = text.replace('xmlns="http://www.w3.org/2000/svg"', "")

        assert not re.search(r"https?:|url\(|@import|href|<script", bare)


def test_a_chart_has_the_colors_of_the_viewer_unless_told() -> None:
    assert "prefers-color-scheme:dark" in chart().svg()
    assert "prefers-color-scheme" not in chart().svg(Sheet(theme="dark"))
    assert chart().svg(Sheet(theme="dark")) != chart().svg(Sheet(theme="light"))


def test_a_chart_fits_a_slide() -> None:
    root = parse(chart().svg(Sheet(aspect=(16, 9))))
    box = [float(each) for each in (root.get("viewBox") or "").split()]

    assert box[2] / box[3] == pytest.approx(16 / 9, abs=0.01)


@pytest.mark.parametrize(
    "command",
    [
        "check gather [1,2,3] [0,1]",
        "check gather-nd arange:4x4 [[0,9],[-5,1],[1,1]]",
        "check gather arange:3 [-999999999999,888888888888,7]",
        "check gather-elements arange:2x2 [[9,0]] -a 0",
        "check gather 1,2 0",
        "check gather arange:90x2x2x2 arange:40x50 -a 3",
        "info arange:300x400",
        "info 1e300,2,3",
        "info [[true,false]]",
        "info arange:2x3x70x2",
    ],
)
def test_no_text_of_a_chart_leaves_it(run: Callable[..., Ran], folder: Path, command: str) -> None:
    run(*command.split(), "--save", "x.svg")

    root = parse((folder / "x.svg").read_text(encoding="utf-8"))

    assert words(root)
    assert beyond(root) == []


@amply
@given(st.integers(1, 10**18), st.integers(3, 8))
def test_ticks_of_counts_are_few_and_within_them(most: int, count: int) -> None:
    marks = ticks(most, count)

    assert marks[0] == 0
    assert marks[-1] <= most
    assert 2 <= len(marks) <= count + 1


@amply
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(1, 8))
def test_ticks_of_values_lie_between_their_ends(one: float, other: float, count: int) -> None:
    low, high = sorted((one, other))

    marks = round_ticks(low, high, count)

    assert all(low <= each <= high for each in marks)
    assert len(marks) <= 2 * count + 1


def test_the_largest_floats_have_ticks() -> None:
    largest = 1.7976931348623157e308

    assert 0.0 in round_ticks(-largest, largest, 4)
    assert round_ticks(0, 5e-324, 4)


@amply
@given(st.integers(1, 500), st.integers(1, 40))
def test_labels_are_spread_from_the_first(count: int, most: int) -> None:
    chosen = spread(count, most)

    assert chosen[0] == 0
    assert len(chosen) <= most
    assert len({b - a for a, b in pairwise(chosen)}) <= 1


TABLE = (
    ("version", "group", "outcome"),
    [("one", "A", "values"), ("two", "-", "word " * 40), ("three", "B", "<&>")],
)


def test_letters_stand_on_the_color_of_their_group() -> None:
    badges = rectangles(parse(versions_chart("call", [TABLE], []).svg()), "badge")

    assert [(each.kind, each.texts) for each in badges] == [
        ("group c0", ("A",)),
        ("group c1", ("B",)),
    ]


def test_every_word_is_text_and_long_ones_wrap() -> None:
    texts = words(parse(versions_chart("call", [TABLE], ["a line"]).svg()), "word")

    assert texts[:4] == ["version", "group", "outcome", "one"]
    assert " ".join(each for each in texts if each.startswith("word")) == ("word " * 40).strip()
    assert max(map(len, texts)) <= MOST_CHARACTERS
    assert texts[-2:] == ["<&>", "a line"]


def test_the_description_has_the_whole_table() -> None:
    root = parse(versions_chart("call", [TABLE], ["a line"]).svg())

    description = root.findtext(f"{SVG}desc", "")
    assert description.startswith("one, A, values; two, -, word")
    assert description.endswith("three, B, <&>. a line")


def test_tables_stand_below_each_other() -> None:
    chart = versions_chart("call", [TABLE, TABLE], [])

    badges = rectangles(parse(chart.svg()), "badge")
    assert badges[2].y > badges[1].bottom
    assert badges[-1].bottom <= chart.box.bottom
