"""Explanations are better than chance."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute.compare import Tolerance
from gathercli.diagnose.diagnosis import diagnose
from gathercli.diagnose.search import _span
from tests.diagnose.test_diagnosis import found, names, tensor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_ties_are_told_apart_by_an_index() -> None:
    diagnosis = found("gather", [1, 2, 3, 4, 5], [3, 10, -20], wrong=[4, 5, 1], axis=0)

    assert [each.names for each in diagnosis.first] == [("clamped",), ("clamped after wrapping",)]
    assert diagnosis.apart == "an index of -1 would tell them apart"


def test_a_rare_mistake_in_many_cells_is_named_and_proved() -> None:
    dice = np.random.default_rng(0)
    data, indices = dice.normal(size=(50, 8)), dice.integers(0, 50, 40_000)
    indices[7] = 50

    diagnosis = found("gather", data, indices, wrong=data[np.minimum(indices, 49)], axis=0)

    assert diagnosis.is_whole
    assert ("clamped",) in [each.names for each in diagnosis.first]
    assert diagnosis.best.explanation.score.total == 320_000


@pytest.mark.parametrize("rounds", [0, 1])
def test_what_no_hypothesis_explains_better_than_chance_is_said(
    rounds: int, run: Run, folder: Path
) -> None:
    dice = np.random.default_rng(0)
    data = dice.random((8, 5), np.float32)
    right = np.array([[data[0], data[-1]], [np.zeros(5), data[3]]], np.float32)
    wrong = right**2 if rounds else dice.random(right.shape, np.float32)
    np.save(folder / "data.npy", data)
    np.save(folder / "wrong.npy", wrong)
    words = ("diagnose", "gather", "data.npy", "[[0,-1],[9,3]]", "wrong.npy")

    text, report = run(*words), json.loads(run(*words, "-f", "json").out)

    assert text.status == 1
    assert text.out.endswith("\n\nnothing known explains it\n")
    assert (report["verdict"], report["explanations"], report["tied"]) == ("unexplained", [], 0)
    assert report["unexplained"] == report["differing"]


def test_what_explains_most_cells_of_small_numbers_is_more_than_chance() -> None:
    data, indices = np.arange(40).reshape(8, 5) % 7, [[0, -1], [9, 3]]
    wrong = data[np.minimum(indices, 7)]
    noise = np.random.default_rng(0).integers(0, 7, wrong.shape)
    wrong[1, 0, 2] += 1

    likely = found("gather", data, indices, wrong=wrong, axis=0).likely

    assert ("clamped after wrapping",) in [each.names for each in likely]
    assert not found("gather", data, indices, wrong=noise, axis=0).likely


def test_all_of_one_departure_that_explain_as_much_are_first() -> None:
    first = names(
        "gather-elements",
        [1, 2, 3, 4],
        [4294967297, 0, 2],
        wrong=[2, 1, 3],
        axis=0,
        version="onnx-13",
    )

    assert {("modulo",), ("cut to 32 bits",)} <= set(first)


def test_no_departure_is_listed_that_changes_no_cell() -> None:
    data = np.arange(12, dtype=np.int16).reshape(4, 3)
    wrong = data[[1, 3, 0]]
    wrong[1, 1] = 99

    diagnosis = found("gather", data, [1, 7, 4], wrong=wrong, axis=0)

    listed = [set(each.names) for each in diagnosis.explanations]
    assert {"modulo"} in listed
    assert not [each for each in listed if {"modulo"} < each]


DATA = np.arange(60.0).reshape(12, 5)
INDICES = np.array([3, -1, 0, 7, -2, 5, 11, 2])


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (
            np.s_[[1, 4]],
            0.5,
            ["rows 1 and 4 along axis 0", "exactly those whose index is negative"],
        ),
        (np.s_[:, 3], 0.5, ["row 3 along axis 1"]),
        (
            np.s_[1, 1:],
            0.5,
            [
                "row 1 along axis 0, rows 1 to 4 along axis 1",
                "only some whose index is negative",
                "only some whose index is -1",
            ],
        ),
        (np.s_[4:], 0.5, ["rows 4 to 7 along axis 0"]),
        (np.s_[0], 0.5, ["row 0 along axis 0", "exactly those whose index is 3"]),
        (np.s_[::2], 0.5, ["rows 0, 2, 4 and 6 along axis 0"]),
        (
            np.s_[0],
            [0.5, 0.5, 17.0, 0.5, 0.5],  # of which one is right
            ["row 0 along axis 0, rows 0, 1, 3 and 4 along axis 1", "only some whose index is 3"],
        ),
        (np.s_[:], 0.5, ["every cell"]),
        (np.s_[2, 2], 0.5, []),
    ],
)
def test_the_wrong_cells_are_described(at: Any, value: Any, said: list[str]) -> None:
    wrong = DATA[INDICES]
    wrong[at] = value

    diagnosis = found("gather", DATA, INDICES, wrong=wrong, axis=0, version="onnx-13")

    assert list(diagnosis.where) == said


def test_a_wrong_row_is_named_by_the_row_of_data_that_it_is() -> None:
    wrong = DATA[INDICES]
    wrong[2], wrong[5], wrong[6], wrong[7] = DATA[9], DATA[1], 0, 0.5

    diagnosis = found("gather", DATA, INDICES, wrong=wrong, axis=0)

    assert [(each.out, each.holds, each.expected) for each in diagnosis.rows] == [
        ("out[2,:]", "data[9,:]", "data[0,:]"),
        ("out[5,:]", "data[1,:]", "data[5,:]"),
        ("out[6,:]", "zeros", "data[11,:]"),
        ("out[7,:]", None, "data[2,:]"),
    ]


def test_cells_of_elements_and_rows_of_tuples_are_named() -> None:
    wrong = DATA[[1, 2], [3, 4]]
    elements = found("gather-nd", DATA, [[1, 3], [2, 4]], wrong=[59.0, *wrong[1:]])
    taken = np.take_along_axis(DATA, np.array([[0, 4]] * 12), 1)
    taken[3:, 0] = DATA[3:, 2]
    along = found("gather-elements", DATA, [[0, 4]] * 12, wrong=taken, axis=1, version="onnx-13")

    assert [tuple(each) for each in elements.rows] == [("out[0]", "data[11,4]", "data[1,3]")]
    assert along.where == (
        "rows 3 to 11 along axis 0, row 0 along axis 1",
        "only some whose index is 0",
    )
    assert along.rows[0] == ("out[3,0]", "data[3,2]", "data[3,0]")


@pytest.mark.parametrize(
    ("rows", "size", "said"),
    [
        ([8, 9], 10, "rows 8 to 9 (behind the last whole block of 8)"),
        ([8, 9, 10, 11], 12, "rows 8 to 11 (behind the last whole block of 8)"),
        ([*range(8, 24)], 24, "rows 8 to 23"),
        ([0, 2, 4, 6, 8], 100, "one row of 2 from 0 to 8"),
        ([0, 2, 3, 7, 9], 12, "5 rows from 0 to 9"),
    ],
)
def test_rows_are_named_by_what_they_have_in_common(rows: list[int], size: int, said: str) -> None:
    assert _span(np.array(rows), size) == said


def test_noise_of_rounding_is_no_mistake_of_numbers() -> None:
    dice = np.random.default_rng(2)
    data = dice.normal(size=40)
    indices = dice.integers(0, 40, 60)
    noise = data[indices] * (1 + dice.normal(size=60) * 1e-6)
    integers = np.array([1_000_001, 2_000_003, 3_000_007, 4_000_013])

    assert not found("gather", data, indices, wrong=noise, axis=0).likely
    wrong = [12_000_000, 6_000_050, 3_000_010, 9_000_001]
    assert not found("gather", integers, [3, 1, 0, 2], wrong=wrong, axis=0).is_whole


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_a_number_that_is_no_number_hides_no_scaling(special: float) -> None:
    dice = np.random.default_rng(4)
    data = dice.normal(size=(20, 8)).astype(np.float32)
    data[3, 2] = special
    indices = dice.integers(0, 20, 15)

    for wrong, name in ((data * np.float32(0.7), "scaled by"), (data + 2, "added")):
        (first, *_) = names("gather", data, indices, wrong=wrong[indices], axis=0)
        assert len(first) == 1
        assert first[0].startswith(name)


def test_a_suggested_call_is_legal_where_that_tells_explanations_apart(run: Run) -> None:
    words = ("diagnose", "gather", "arange:6", "5,0,3", "0,5,0", "-V", "onnx-13", "-a", "0")

    call = json.loads(run(*words, "--suggest", "-f", "json").out)["suggestion"]

    _, *command = shlex.split(call["command"])
    assert run(*command).status == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("indices", "wrong"),
    [
        (np.array([np.iinfo("i8").max, 0, 1]), [3, 1, 2]),
        (np.array([np.iinfo("u8").max, 1], np.uint64), [4, 2]),
        (np.array(np.iinfo("i8").min), 9),
    ],
)
def test_the_largest_indices_warn_of_nothing(indices: Any, wrong: Any) -> None:
    diagnosis = found("gather", np.arange(1, 6), indices, wrong=wrong, axis=0)

    assert diagnosis.best.explanation.score.total == np.size(wrong)
    assert not diagnosis.is_right


@pytest.mark.filterwarnings("error")
def test_complex_data_beside_floats_warn_of_nothing() -> None:
    data = np.array([1 + 2j, 2, 3 - 1j], np.complex64)

    diagnosis = diagnose(
        "gather",
        *map(tensor, (data, [0, 2, 1])),
        wrong=tensor(np.array([1, 3, 9], np.float32)),
        tolerance=Tolerance(rtol=1e-3),
        axis=0,
    )

    assert diagnosis.wrong_cells is not None
    assert diagnosis.wrong_cells.at == (0,)
