from __future__ import annotations

from itertools import pairwise
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.explain import heatmap
from gathercli.explain.heatmap import (
    RAMP_STEPS,
    HeatMap,
    Plane,
    Scale,
    color,
    edges,
    heat_map,
    plane,
)
from gathercli.spec.dtypes import PLAIN, STRING, DType, Kind, dtype
from tests.io.formats.test_formats import specials
from tests.tensorfiles import amply


def linear(value: int) -> float:
    """Return a component of sRGB as WCAG 2.2 decodes it."""
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(code: str) -> float:
    red, green, blue = (linear(int(code[n : n + 2], 16)) for n in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def terminal_code(number: int) -> str:
    """Return a colour of the 6 by 6 by 6 cube, or of the greys, of 256 colours."""
    if number >= 232:
        return f"#{f'{8 + 10 * (number - 232):02x}' * 3}"
    levels = (0, 95, 135, 175, 215, 255)
    cube = number - 16
    return "#" + "".join(f"{levels[n]:02x}" for n in (cube // 36, cube // 6 % 6, cube % 6))


def rises(values: list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def test_lightness_grows_from_low_to_high() -> None:
    colors = [color(n) for n in range(RAMP_STEPS + 1)]
    numbers = list(dict.fromkeys(each.number for each in colors))

    # the last of 256 colours are as light as each other, to the published digits
    assert rises([luminance(each.code) for each in colors[::4]])
    assert rises([luminance(terminal_code(each)) for each in numbers])


def test_zero_is_grey() -> None:
    code = Scale.of(-1, 4).color(0).code

    parts = [int(code[at : at + 2], 16) for at in (1, 3, 5)]
    assert max(parts) - min(parts) < 8


def test_the_signs_differ_for_readers_who_see_no_red_or_no_green() -> None:
    low, high = (color(step).code for step in (0, RAMP_STEPS))

    # blue remains: much of it below zero, little above
    assert int(low[5:], 16) > int(low[1:3], 16)
    assert int(high[5:], 16) < int(high[1:3], 16) // 2


def test_text_in_black_or_white_is_readable_on_every_color() -> None:
    for n in range(RAMP_STEPS + 1):
        each = color(n)
        ground = luminance(each.code)
        contrast = (ground + 0.05) / 0.05 if each.is_light else 1.05 / (ground + 0.05)

        assert contrast >= 4.5


def test_zero_is_in_the_middle_of_numbers_of_both_signs() -> None:
    scale = Scale.of(-1, 4)

    assert scale == (-4, 4)
    assert scale.place(0) == 0.5
    assert not Scale.of(0, 4).diverges


def test_no_number_overflows_or_leaves_the_scale() -> None:
    largest = 1.7976931348623157e308

    assert Scale.of(-largest, largest).place(largest) == 1.0
    assert Scale.of(0, 5e-324).place(5e-324) == 1.0
    assert Scale(0, 1).place(inf) == 1.0
    assert Scale(2, 2).place(2) == 0.5


NUMBERS = [each for each in PLAIN if each is not STRING]


def of(values: Any, name: str) -> Tensor:
    declared = dtype(name)
    return Tensor(declared, np.array(values, storage_of(declared)))


def assert_right(tensor: Tensor, chosen: Plane, bins: HeatMap) -> None:
    """Compare every bin with plain NumPy on the whole slice."""
    values = tensor.values()[tuple(slice(each.start, each.stop) for each in chosen.window)]
    if tensor.dtype.kind is Kind.COMPLEX:
        values = np.where(np.isnan(values), nan, np.abs(values.astype(complex)))
    matrix = values.reshape(chosen.shape).astype(float)
    for r in range(len(bins.mean)):
        for c in range(len(bins.mean.T)):
            part = matrix[slice(*bins.rows[r : r + 2]), slice(*bins.columns[c : c + 2])]
            finite = part[np.isfinite(part)]
            assert bins.nan[r, c] == np.isnan(part).sum()
            assert bins.infinite[r, c] == np.isinf(part).sum()
            if not finite.size:
                assert isnan(bins.mean[r, c])
                assert isnan(bins.least[r, c])
                assert isnan(bins.most[r, c])
                continue
            assert (bins.least[r, c], bins.most[r, c]) == (finite.min(), finite.max())
            exact = sum(map(float, finite / len(finite)))
            assert bins.mean[r, c] == pytest.approx(exact, rel=1e-9, abs=1e-300)


@st.composite
def slices(draw: st.DrawFn) -> tuple[Tensor, Plane, tuple[int, int]]:
    declared = draw(st.sampled_from(NUMBERS))
    shape = draw(st.lists(st.integers(1, 7), max_size=4).map(tuple))
    pool = specials(declared).array.reshape(-1)
    picks = draw(st.lists(st.integers(0, len(pool) - 1), min_size=64, max_size=64))
    array = np.resize(pool[picks], shape)
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    most = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    return Tensor(declared, array), plane(shape), most


@amply
@given(slices(), st.sampled_from([1, 2, 5, 1 << 17]))
def test_every_bin_is_what_numpy_says_of_its_elements(
    case: tuple[Tensor, Plane, tuple[int, int]], cells: int
) -> None:
    tensor, chosen, most = case

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(heatmap, "HEAT_BLOCK", cells)
        bins = heat_map(tensor, chosen, most)

        assert_right(tensor, chosen, bins)


@pytest.mark.parametrize("cells", [4, 1 << 17])
def test_a_slice_in_fortran_order_has_the_same_bins(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.random.default_rng(4).normal(size=(9, 13))
    array[3, 4], array[8, 0] = nan, inf
    tensor = Tensor(dtype("float64"), np.asfortranarray(array))
    monkeypatch.setattr(heatmap, "HEAT_BLOCK", cells)

    bins = heat_map(tensor, plane(array.shape), (4, 5))

    assert_right(tensor, plane(array.shape), bins)


def test_bins_have_sizes_that_differ_by_one_at_most() -> None:
    for size in range(1, 30):
        for most in range(1, 9):
            sizes = np.diff(edges(size, most))

            assert sizes.sum() == size
            assert len(sizes) == min(size, most)
            assert sizes.max() - sizes.min() <= 1


def test_the_mean_of_the_largest_floats_is_no_infinity() -> None:
    largest = float(np.finfo(np.float64).max)
    tensor = of([[largest, largest, -largest, 1.0]], "float64")

    bins = heat_map(tensor, plane((1, 4)), (1, 2))

    assert bins.mean.tolist() == [[largest, -largest / 2]]


def test_a_window_keeps_two_dimensions_and_fixes_the_others() -> None:
    tensor = Tensor(dtype("int64"), np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5))

    chosen = plane(tensor.shape, [slice(1, 2), slice(None), slice(3, 4), slice(1, 5)])
    bins = heat_map(tensor, chosen, (9, 9))

    assert str(chosen) == "[1,0:3,3,1:5]"
    assert bins.mean.tolist() == tensor.array[1, :, 3, 1:5].tolist()


def test_a_window_may_keep_a_leading_dimension_and_the_last() -> None:
    assert str(plane((3, 4, 5), [slice(0, 2)])) == "[0:2,0,0:5]"
    assert str(plane((3, 4, 5), [slice(1, 2)])) == "[1,0:4,0:5]"
    with pytest.raises(ValueError, match="more than two"):
        plane((3, 4, 5), [slice(None)] * 3)


def test_a_vector_is_a_row_and_a_scalar_a_cell() -> None:
    assert plane((3,)).shape == (1, 3)
    assert plane(()).shape == (1, 1)
    assert heat_map(of(2.5, "float32"), plane(()), (5, 5)).mean.tolist() == [[2.5]]


def test_bins_without_a_finite_element_have_no_mean() -> None:
    bins = heat_map(of([[nan, inf, 1.0]], "float16"), plane((1, 3)), (1, 3))

    assert [isnan(each) for each in bins.mean[0]] == [True, True, False]
    assert (bins.nan.tolist(), bins.infinite.tolist()) == ([[1, 0, 0]], [[0, 1, 0]])


def test_any_byte_but_zero_is_true() -> None:
    raw = np.array([[0, 1, 255, 2]], np.uint8).view(np.bool_)

    bins = heat_map(Tensor(dtype("bool"), raw), plane((1, 4)), (1, 2))

    assert bins.mean.tolist() == [[0.5, 1.0]]


@pytest.mark.parametrize("declared", NUMBERS, ids=str)
def test_no_element_of_any_type_brings_a_warning(declared: DType) -> None:
    tensor = specials(declared)

    bins = heat_map(tensor, plane(tensor.shape), (3, 4))

    assert bins.mean.size
