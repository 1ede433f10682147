from __future__ import annotations

import pytest

from gathercli.compute.summary import Histogram
from gathercli.explain.drawing.histogram import histogram_elements
from gathercli.explain.drawing.shapes import Box
from tests.explain.drawing.charts import of_elements, rectangles, words

BOX = Box(10, 20, 400, 300)
HISTOGRAM = Histogram((0.0, 0.5, 1.0, 1.5, 2.0), (1000, 0, 500, 1))


def test_bars_are_as_high_as_their_counts() -> None:
    bars = rectangles(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format))))

    first, second, last = bars
    assert second.height == pytest.approx(first.height / 2, abs=0.2)
    assert last.height > 1  # one element is no empty bin
    assert [each.bottom for each in bars] == pytest.approx([first.bottom] * 3, abs=0.2)


def test_each_bar_says_its_interval_and_count() -> None:
    bars = rectangles(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format))))

    assert [each.tooltip for each in bars] == [
        "[0, 0.5): 1 000 elements",
        "[1, 1.5): 500 elements",
        "[1.5, 2]: 1 element",
    ]


def test_axes_have_names_and_round_numbers() -> None:
    found = words(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format))), "axis")

    assert {"count", "value", "0", "200", "1 000", "0.5", "2"} <= set(found)


def test_bins_of_one_value_have_its_name() -> None:
    histogram = Histogram((0, 1, 2), (3, 4))

    root = of_elements(list(histogram_elements(histogram, BOX, str, names=["false", "true"])))

    assert [each.tooltip for each in rectangles(root)] == ["false: 3 elements", "true: 4 elements"]
    assert words(root, "axis")[-3:] == ["false", "true", "value"]


def test_everything_stays_in_the_box() -> None:
    for bar in rectangles(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format)))):
        assert BOX.x <= bar.x < bar.right <= BOX.right + 0.1
        assert BOX.y <= bar.y < bar.bottom <= BOX.bottom
