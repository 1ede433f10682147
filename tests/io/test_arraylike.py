"""Arguments of Python callers, and arrays that take results."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gathercli
from gathercli import GatherError, InputError, LimitError, gather

DATA = np.arange(600, dtype="f4").reshape(20, 30)
INDICES = np.array([[3, -1, 19], [0, 7, 7]])


def test_an_empty_list_picks_nothing() -> None:
    assert gather([1, 2, 3], []).shape == (0,)
    assert gather([], []).dtype == np.float64


def test_numpy_values_in_a_list_bring_their_type() -> None:
    assert gather([np.float32(0.1)], [0]).dtype == np.float32
    assert gather([1, 2], [np.uint8(1)]).tolist() == [2]
    assert gather([np.array([1, 2]), np.array([3, 4])], [1]).tolist() == [[3, 4]]


def test_arrays_and_lists_stand_side_by_side() -> None:
    assert gather([np.array([1, 2]), [3, 4]], [0]).tolist() == [[1, 2]]


def test_a_list_that_holds_itself_is_too_deep() -> None:
    one: list[Any] = []
    one.append(one)
    two: list[Any] = []
    two += [two, two]

    for nested in (one, two):
        with pytest.raises(LimitError) as caught:
            gathercli.gather(nested, 0)

        assert caught.value.message == (
            "`data`: the list at `$` is nested deeper than 64: expected rank at most 64"
        )


def test_what_is_no_element_is_named_by_its_type() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1, object()], 0)

    assert caught.value.message == (
        "`data`: the value at `$[1]` is of type `object`: "
        "expected a number, a boolean, a string or a list"
    )


def test_a_refused_argument_is_named() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1], [2**64])
    assert str(caught.value).startswith("`indices`: the value at `$[0]` is 18446744073709551616")


@pytest.mark.parametrize("name", ["float32", "bfloat16", ">f4"])
def test_an_array_of_ones_own_takes_the_result(name: str) -> None:
    held = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    data = DATA.astype(held)
    out = np.empty((2, 3, 30), held.newbyteorder("="))
    assert gathercli.gather(data, INDICES, out=out) is out
    np.testing.assert_array_equal(out, data[INDICES])
    elements = np.empty((1, 30), held.newbyteorder("="))
    at = np.full((1, 30), 2)
    gathercli.gather_elements(data, at, axis=0, version="onnx-13", out=elements, threads=2)
    np.testing.assert_array_equal(elements, data[2:3])


@pytest.mark.parametrize(
    ("out", "why", "expected"),
    [
        ([1.0], "is of type `list`", "a NumPy array, f32[3]"),
        (np.empty(3, "f8"), "is f64[3]", "f32[3]"),
        (np.empty(2, "f4"), "is f32[2]", "f32[3]"),
        (np.empty(3, ">f4"), "is of >f4", "<f4, in native byte order"),
        (np.empty(6, "f4")[::2], "is not C-ordered", "a C-ordered array"),
        (np.frombuffer(bytes(12), "f4"), "cannot be written to", "a writable array"),
        (np.ma.zeros(3, "f4"), "is of type `MaskedArray`", "a NumPy array, f32[3]"),
    ],
)
def test_an_array_that_cannot_take_the_result_is_refused(out: Any, why: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(np.ones(5, "f4"), [0, 1, 2], out=out)

    assert str(caught.value) == f"`out` {why}: expected {expected}"


@pytest.mark.parametrize("threads", [0, -3, 1.5, "x", True])
def test_a_number_of_threads_is_checked_in_python_too(threads: Any) -> None:
    with pytest.raises(GatherError, match="expected an integer from 1 on"):
        gathercli.gather([1], [0], threads=threads)


def test_an_array_that_is_wider_than_memory_is_not_copied() -> None:
    wide = np.broadcast_to(np.float32(7), (10**6, 10**6))
    assert gathercli.gather_elements(wide, [[3]], axis=0, version="onnx-13").tolist() == [[7.0]]
    assert gathercli.gather(wide, [5], axis=1)[:3].tolist() == [[7.0]] * 3
    with pytest.raises(GatherError, match="not enough memory"):
        gathercli.gather(np.broadcast_to(np.arange(2.0)[::-1], (10**12, 2)), [0])


def test_an_input_does_not_take_the_result() -> None:
    data = np.ones(5, "f4")
    with pytest.raises(GatherError, match="shares memory"):
        gathercli.gather(data, [0, 1, 2], out=data[:3])
