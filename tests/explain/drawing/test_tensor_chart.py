from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from gathercli.compute.summary import Histogram
from gathercli.compute.tensor import Tensor
from gathercli.explain.drawing.scene import Box
from gathercli.explain.drawing.tensor_chart import (
    MOST_HEAT_BINS,
    HeatPanel,
    histogram_elements,
    most_bins,
)
from gathercli.explain.heatmap import heat_map, plane
from gathercli.spec.dtypes import dtype
from tests.explain.drawing.charts import Rectangle, of_elements, rectangles, words

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
    labels = words(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format))), "axis")

    assert {"count", "value", "0", "200", "1 000", "0.5", "2"} <= set(labels)


def test_bins_of_one_value_have_its_name() -> None:
    histogram = Histogram((0, 1, 2), (3, 4))

    root = of_elements(list(histogram_elements(histogram, BOX, str, names=["false", "true"])))

    assert [each.tooltip for each in rectangles(root)] == ["false: 3 elements", "true: 4 elements"]
    assert words(root, "axis")[-3:] == ["false", "true", "value"]


def test_everything_stays_in_the_box() -> None:
    for bar in rectangles(of_elements(list(histogram_elements(HISTOGRAM, BOX, "{:g}".format)))):
        assert BOX.x <= bar.x < bar.right <= BOX.right + 0.1
        assert BOX.y <= bar.y < bar.bottom <= BOX.bottom


ROOM = Box(0, 0, 560, 460)


def panel(array: Any, most: tuple[int, int] = MOST_HEAT_BINS) -> HeatPanel:
    tensor = Tensor(dtype("float64"), np.array(array, float))
    return HeatPanel(heat_map(tensor, plane(tensor.shape), most), "{:.4g}".format, ROOM)


def bins(drawn: HeatPanel) -> list[Rectangle]:
    return rectangles(of_elements(list(drawn.elements())), "bin")


def test_each_bin_has_the_color_of_its_mean() -> None:
    array = np.random.default_rng(1).normal(size=(4, 6))
    tensor = Tensor(dtype("float64"), array)
    scale = heat_map(tensor, plane(array.shape), MOST_HEAT_BINS).scale

    rects = bins(panel(array))

    assert scale is not None
    assert [each.fill for each in rects] == [scale.color(value).code for value in array.flat]


def test_bins_tile_the_map_in_whole_pixels() -> None:
    rects = bins(panel(np.zeros((70, 33)), (20, 30)))

    assert len(rects) == 20 * 30
    assert {each.width.is_integer() and each.x.is_integer() for each in rects} == {True}
    rows = [rects[start : start + 30] for start in range(0, len(rects), 30)]
    for row in rows:
        assert [each.x for each in row[1:]] == [each.right for each in row[:-1]]
    assert [row[0].y for row in rows[1:]] == [row[0].bottom for row in rows[:-1]]


def test_few_elements_are_written_in_their_bins() -> None:
    assert [each.texts for each in bins(panel([[1.5, -2], [0, 1e-9]]))] == [
        ("1.5",),
        ("-2",),
        ("0",),
        ("1e-09",),
    ]


def test_nan_is_hatched_and_infinity_marked() -> None:
    drawn = panel([[1, nan], [inf, 2]])

    rects = bins(drawn)

    assert [each.hatched for each in rects] == [False, True, False, False]
    assert [each.texts for each in rects][1:3] == [(), ("∞",)]
    assert [each.kind for each in rects][1:3] == ["plain", "plain"]
    assert {"1 NaN", "1 infinite"} <= set(words(of_elements(list(drawn.elements()))))


def test_tooltips_say_where_and_what() -> None:
    array = np.arange(24.0).reshape(4, 6)
    array[0, 0] = nan

    whole, halves = bins(panel(array)), bins(panel(array, (2, 2)))

    assert (whole[0].tooltip, whole[7].tooltip) == ("[0,0]: 1 NaN", "[1,1]: 7")
    assert halves[0].tooltip == "[0:2,0:3]: mean 4.8, from 1 to 8, 1 NaN"


@pytest.mark.parametrize("shape", [(1, 5000), (5000, 1), (1, 1), (3, 80), (600, 601)])
def test_a_slice_of_any_shape_stays_in_its_room(shape: tuple[int, int]) -> None:
    chosen = plane(shape)

    drawn = panel(np.arange(float(np.prod(shape))).reshape(shape), most_bins(chosen))

    assert all(each.right <= ROOM.right and each.bottom <= ROOM.bottom for each in bins(drawn))
    assert drawn.box.bottom <= ROOM.bottom + 1


def test_the_bar_has_zero_in_the_middle_of_both_signs() -> None:
    labels = words(of_elements(list(panel([[-1, 3]]).elements())), "axis")

    assert labels[-3:] == ["-3", "0", "3"]


def test_slices_of_few_elements_are_not_binned() -> None:
    assert most_bins(plane((50, 50))) == (50, 50)
    assert most_bins(plane((50, 51))) == MOST_HEAT_BINS
    assert most_bins(plane((1, 2000))) == MOST_HEAT_BINS
