"""Readings and layouts are what NumPy and ml_dtypes make of elements."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gathercli.diagnose.call_hypotheses import FILLS, bfloat16, layouts, readings
from gathercli.spec.dtypes import named

NUMBERS = np.array([0.0, -1.5, 3.14159, 65504.0, 1e4, 1 / 3, -2.7e-5], np.float32)


def test_rounding_to_bfloat16_is_to_the_nearest_even() -> None:
    random = np.random.default_rng(0).integers(0, 1 << 32, 10_000, np.uint32).view(np.float32)
    numbers = np.concatenate([NUMBERS, random[np.isfinite(random)]])

    rounded = bfloat16(numbers)

    with np.errstate(over="ignore"):
        expected = numbers.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(rounded, expected)


@pytest.mark.parametrize(
    ("dtype", "name", "expected"),
    [
        ("float32", "rounded to float16", NUMBERS.astype(np.float16)),
        ("float32", "bits read as int32", NUMBERS.view(np.int32)),
        ("float32", "bytes swapped", NUMBERS.byteswap()),
        ("float32", "fraction dropped", np.trunc(NUMBERS)),
    ],
)
def test_a_reading_is_what_its_name_says(dtype: str, name: str, expected: object) -> None:
    kind = named(dtype)
    assert kind is not None
    by_name = {each.name: each for each in readings(kind)}

    np.testing.assert_array_equal(by_name[name].function(NUMBERS), expected)


def test_integers_are_cut_or_saturated() -> None:
    kind = named("int64")
    assert kind is not None
    by_name = {each.name: each.function for each in readings(kind)}
    numbers = np.array([1 << 32, -1, (1 << 31) + 5])

    assert by_name["cut to 32 bits"](numbers).tolist() == [0, -1, -(1 << 31) + 5]
    assert by_name["saturated to 32 bits"](numbers).tolist() == [2**31 - 1, -1, 2**31 - 1]


def test_a_bfloat16_is_read_as_a_float16_by_its_bits() -> None:
    kind = named("bfloat16")
    assert kind is not None
    by_name = {each.name: each.function for each in readings(kind)}

    assert by_name["bits read as float16"](np.array([3.0], np.float32)).tolist() == [2.125]


def test_a_layout_is_a_transpose_or_another_order() -> None:
    data = np.arange(24).reshape(2, 3, 4)
    by_name = {each.name: each for each in layouts((2, 3, 4))}
    cells = np.arange(24)

    transposed = by_name["transposed"]
    swapped = by_name["axes 0 and 1 swapped"]
    fortran = by_name["Fortran order"]

    assert transposed.shape(data.shape) == (4, 3, 2)
    flat = data.reshape(-1)
    assert flat[transposed.moved(cells)].tolist() == data.T.reshape(-1).tolist()
    assert flat[swapped.moved(cells)].tolist() == data.transpose(1, 0, 2).reshape(-1).tolist()
    assert flat[fortran.moved(cells)].tolist() == data.reshape(-1, order="F").tolist()


def test_fills_are_those_of_jax_or_extremes() -> None:
    values = {
        (name, letter): FILLS[name](np.dtype(letter))
        for name in ("nan", "low", "high")
        for letter in ("i1", "u1", "f2")
    }

    assert np.isnan(values.pop(("nan", "f2")))
    assert values == {
        ("nan", "i1"): -128,
        ("nan", "u1"): 255,
        ("low", "i1"): -128,
        ("low", "u1"): None,
        ("low", "f2"): -65504,
        ("high", "i1"): 127,
        ("high", "u1"): 255,
        ("high", "f2"): 65504,
    }
