"""Cells and their flat positions, one or many at once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gathercli.spec.coordinates import (
    Place,
    at,
    cell,
    coordinate,
    coordinates,
    flat_positions,
    known,
    letters,
    path,
)
from gathercli.spec.shapes import UNKNOWN, Shape

SHAPES = [(), (1,), (5,), (2, 3), (4, 1, 3), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cells_are_numbered_row_major_there_and_back(shape: tuple[int, ...]) -> None:
    cells = list(product(*map(range, shape)))
    many = [np.array(each) for each in zip(*cells, strict=True)]
    numbers = np.arange(len(cells))

    for number, each in enumerate(cells):
        assert coordinates(number, shape) == coordinate(number, shape) == each
        assert flat_positions(each, shape, none=False) == number
        assert flat_positions(each, shape, none=True) == -1
        assert path("$", number, shape) == Place("$", shape)(number)
        assert path("$", number, shape) == "$" + "".join(f"[{k}]" for k in each)
    if shape:
        found = flat_positions(many, shape, none=numbers == 0)
        assert found.tolist() == [-1, *numbers[1:].tolist()]
        assert np.array_equal(np.array(coordinates(numbers, shape)), np.array(many))


@pytest.mark.parametrize("cell", [(1,), (1, 2, 3)])
def test_a_cell_has_a_coordinate_for_each_dimension(cell: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"zip\(\)"):
        flat_positions(cell, (2, 3), none=False)


def test_of_a_shape_the_known_sizes_count() -> None:
    assert known(Shape([2, UNKNOWN, 0])) == (2, 0)


def test_cells_are_written_as_code_and_as_json() -> None:
    assert (letters("p", 0), letters("p", 1), letters("p", 2)) == ([], ["p"], ["p0", "p1"])
    assert (at("x", []), at("x", ["p"]), at("x", ["p", "k"])) == ("x", "x[p]", "x[p, k]")
    assert (cell([]), cell([1]), cell([1, 2])) == ("[]", "[1]", "[1,2]")
