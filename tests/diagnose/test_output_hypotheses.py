"""Placements are what NumPy makes of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.diagnose.output_hypotheses import placements

if TYPE_CHECKING:
    from typing import Any

    Array = np.ndarray[Any, Any]

RIGHT = np.arange(1, 25).reshape(2, 3, 4)


def differing(wrong: Array, axis: int) -> Array:
    """Return which rows differ, as far as both outputs go."""
    rows = min(wrong.shape[axis], RIGHT.shape[axis])
    if wrong.shape[:axis] + wrong.shape[axis + 1 :] != RIGHT.shape[:axis] + RIGHT.shape[axis + 1 :]:
        return np.zeros(0, bool)
    one, other = (np.moveaxis(each, axis, 0)[:rows].reshape(rows, -1) for each in (wrong, RIGHT))
    mask: Array = (one != other).any(axis=1)
    return mask


def placed(wrong: Array) -> dict[str, Array]:
    """Return the output that each placement makes of the right one."""
    shape, cells = wrong.shape, np.arange(wrong.size)
    rows = [
        *placements(RIGHT.shape, shape),
        *placements(RIGHT.shape, shape, lambda axis: differing(wrong, axis)),
    ]
    flat = np.append(RIGHT.reshape(-1), 0)  # -1 is the zero at its end
    return {each.name: flat[each.cells(cells)].reshape(shape) for each in rows}


def stale(right: Array) -> Array:
    wrong = right.copy()
    wrong[:, 2] = wrong[:, 1]
    return wrong


def first_of_block(right: Array) -> Array:
    wrong = np.zeros_like(right)
    wrong[..., 0] = right[..., 0]
    return wrong


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("transposed", RIGHT.T),
        ("transposed to axes [0,2,1]", RIGHT.transpose(0, 2, 1)),
        ("reshaped", RIGHT.reshape(6, 4)),
        ("Fortran order", RIGHT.reshape(-1, order="F").reshape(RIGHT.shape)),
        ("row-major as Fortran", RIGHT.reshape(-1).reshape(RIGHT.shape, order="F")),
        ("zeros", np.zeros_like(RIGHT)),
        ("first of 4", first_of_block(RIGHT)),
        ("first repeated along axis 1", RIGHT[:, [0, 0, 0]]),
        ("reversed along axis 2", RIGHT[..., ::-1]),
        ("rows turned along axis 1", np.roll(RIGHT, 1, 1)),
        ("last rows missing along axis 2", RIGHT[..., :3]),
        ("first rows missing along axis 1", RIGHT[:, 1:]),
        ("one row of 2 along axis 2", RIGHT[..., ::2]),
        ("row 1 missing along axis 1", np.delete(RIGHT, 1, 1)),
        ("row 1 again along axis 1", np.insert(RIGHT, 1, RIGHT[:, 1], 1)),
        ("each 2 times along axis 0", np.repeat(RIGHT, 2, 0)),
        ("all again along axis 0", np.tile(RIGHT, (2, 1, 1))),
        ("zeros after along axis 0", np.pad(RIGHT, ((0, 1), (0, 0), (0, 0)))),
        ("only the first of axis 0", RIGHT[0]),
        ("only the last of axis 2", RIGHT[..., -1]),
        ("repeated along a new axis 1", np.stack([RIGHT] * 5, 1)),
        ("row 2 stale along axis 1", stale(RIGHT)),
    ],
)
def test_a_placement_is_what_its_name_says(name: str, wrong: Array) -> None:
    made = placed(np.ascontiguousarray(wrong))

    np.testing.assert_array_equal(made[name], wrong)


def test_nothing_but_zeros_comes_of_an_empty_output() -> None:
    names = [each.name for each in placements((0, 3), (2, 3))]

    assert names == ["zeros"]
