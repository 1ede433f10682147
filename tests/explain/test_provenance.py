"""The worked examples: cells that no other rule would explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given

import gathercli
from gathercli.explain.provenance import Fate, telling_traces
from tests.explain.test_gather_provenance import explain_case
from tests.random_calls import Dice, any_case, every_axis_row, moderately, seeds

if TYPE_CHECKING:
    from gathercli.spec.op import Op
    from tests.conftest import Run


def first(op: str, *inputs: Any, **attributes: Any) -> Any:
    explanation = gathercli.explain(op, *inputs, **attributes)
    return telling_traces(explanation, explanation.cells())[0]


@pytest.mark.parametrize(
    ("indices", "out"),
    [
        ([0, 1, 2, 1], 3),
        ([0, 1, 0], 2),
        ([3, 1, 0], 0),
        ([3, 0, -1], 2),
        ([3, -4, -2], 1),
        ([3, 9], 1),
        ([3, 9, -1], 2),
        ([0, 1], 1),
    ],
    ids=str,
)
def test_the_example_has_an_index_that_is_not_its_own_coordinate(
    indices: list[int], out: int
) -> None:
    trace = first("gather", [10, 11, 12, 13], indices)

    assert trace.out == (out,)


def test_the_example_is_in_a_batch_above_0() -> None:
    data, indices = np.arange(12).reshape(3, 4), [[2, 0], [1, 2], [0, 3]]

    trace = first("gather", data, indices, axis=1, batch_dims=1)

    assert (trace.out, trace.data) == ((2, 1), (2, 3))


def test_the_example_of_slices_is_not_their_first_cell() -> None:
    assert first("gather", np.arange(12).reshape(4, 3), [2, 0]).out == (0, 1)
    assert first("gather", np.arange(12).reshape(4, 3), [1, 3], axis=1, version=13).out == (2, 1)


def test_the_example_of_elements_keeps_a_coordinate_above_0() -> None:
    trace = first("gather-elements", [[1, 2, 3], [4, 5, 6]], [[1, 0, 1], [1, 0, 0]], axis=0)

    assert (trace.out, trace.data) == ((0, 2), (1, 2))


def test_the_example_of_tuples_counts_from_the_end() -> None:
    data = np.arange(12).reshape(2, 3, 2)

    trace = first("gather-nd", data, [[0, 1], [1, 0], [1, -1]])

    assert (trace.out, trace.data) == ((2, 0), (1, 2, 0))


def test_the_example_of_beams_changes_its_beam() -> None:
    tokens = np.arange(12).reshape(3, 2, 2)
    parents = [[[0, 0]] * 2, [[0, 1]] * 2, [[0, 1], [1, 0]]]

    trace = first("gather-tree", tokens, parents, [3, 3], 99)

    assert trace.out == (1, 1, 0)
    assert trace.step_ids == (1, 1, 1)


def test_the_most_telling_cell_of_each_kind_comes_first() -> None:
    explanation = gathercli.explain("gather", [10, 20, 30], [0, 1, 0, -1, 7])

    traces = telling_traces(explanation, explanation.cells())

    assert [trace.out for trace in traces] == [(3,), (4,), (2,)]


def test_a_parent_without_a_beam_is_the_example() -> None:
    explanation = gathercli.explain(
        "gather-tree", [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 7]]], [2], 9
    )

    traces = telling_traces(explanation, explanation.cells())

    assert [trace.fate for trace in traces] == [Fate.REFUSED, Fate.COPIED]


@every_axis_row
@moderately
@given(seed=seeds)
def test_an_example_is_negative_or_outside_if_a_cell_is(op: Op, seed: int) -> None:
    case = any_case(op, Dice(seed))
    try:
        explanation: Any = explain_case(op, case)
    except gathercli.OperatorError:
        return

    traces = telling_traces(explanation, explanation.cells())

    moved = [each.out for each in explanation.cells() if each.position != each.k]
    assert bool(traces) == bool(explanation.size)
    if moved:
        assert traces[0].out in moved
    elif traces:
        # Where positions are other than the index's own coordinate, the example has such a one.
        rows = [(each.indices, each.position) for each in explanation.cells()]
        is_vector = len(explanation.index_shape) == 1 and not case.attributes.batch_dims
        if is_vector and any(at != (k,) for at, k in rows):
            assert traces[0].indices != (traces[0].position,)


def test_elements_are_told_which_coordinates_stay(run: Run) -> None:
    matrix = run("explain", "gather-elements", "arange:2x2", "[[1,0]]", "-V", "13").out
    three = run("explain", "gather-elements", "arange:2x2x2", "[[[1]]]", "-V", "13", "-a", "1").out
    vector = run("explain", "gather-elements", "[5,6]", "[1]", "-V", "13").out
    slices = run("explain", "gather", "arange:2x2", "1,0").out

    assert "the index takes the place of coordinate 0 of data; coordinate 1 stays:\n" in matrix
    assert "the index takes the place of coordinate 1 of data; coordinates 0 and 2 stay:" in three
    assert "the index takes the place of coordinate 0 of data:\n" in vector
    assert "the index takes the place of coordinate 0 of data:\n" in slices
