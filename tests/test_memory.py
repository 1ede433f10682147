"""Arrays as they lie in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gathercli
from gathercli.compute.memory import one_axis

Array = npt.NDArray[Any]
CUBE: Array = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("array", "axis", "shape", "steps"),
    [
        (CUBE, 0, (6, 4), None),
        (CUBE[:, :2], 1, (2, 8), None),
        (CUBE[:, :2], 0, (5, 4), [3, 1]),
        (CUBE.T, 0, (12, 2), [1, 4]),
        (CUBE.transpose(1, 0, 2), 0, (6, 4), [1, 3]),
        (np.broadcast_to(CUBE[:, :1], (2, 3, 4)), 0, (2, 4), [1, 0]),
        (CUBE.transpose(1, 0, 2)[:1], 0, (2, 4), None),
        (CUBE.transpose(1, 0, 2)[:, :1], 0, (3, 4), None),
    ],
)
def test_two_axes_are_viewed_as_one_where_they_lie(
    array: Array, axis: int, shape: tuple[int, ...], steps: list[int] | None
) -> None:
    merged = (*array.shape[:axis], array.shape[axis] * array.shape[axis + 1])
    view, found = one_axis(array, axis, 2, (*merged, *array.shape[axis + 2 :]))

    assert view.shape == shape
    assert found == steps
    assert np.shares_memory(view, CUBE)


@pytest.mark.parametrize(
    "array",
    [
        CUBE[::-1],
        CUBE.T[::-1],
        CUBE.T[:, ::-1],
        CUBE.T[:0],
        CUBE.T[:, :, :0],
        np.ndarray((2, 3), np.int32, bytes(40), 0, (5, 12)),
    ],
)
def test_axes_that_run_backwards_or_between_elements_or_are_empty_are_merged_row_major(
    array: Array,
) -> None:
    view, steps = one_axis(array, 0, 2, (array.shape[0] * array.shape[1], *array.shape[2:]))

    assert steps is None
    assert view.tolist() == array.reshape(view.shape).tolist()


def test_data_in_fortran_order_is_gathered_without_a_copy_of_it() -> None:
    data = np.asfortranarray(np.arange(1 << 20).reshape(16, 256, 256))

    tracemalloc.start()
    got = gathercli.gather_nd(data, [[3, 250], [0, 1]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (got == data[[3, 0], [250, 1]]).all()
    assert peak < data.nbytes / 2


def test_tuples_that_are_outside_give_zeros_from_data_in_fortran_order() -> None:
    data = np.asfortranarray(np.arange(1, 13).reshape(3, 4))

    got = gathercli.gather_nd(data, [[2, 1], [3, 0], [0, 9], [0, 3]], out_of_range="zero")

    assert got.tolist() == [10, 0, 0, 4]
