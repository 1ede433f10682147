"""Each kind of mistake, alone and with another, is named first or tied with the first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from campaigns import mistakes
from gathercli.compute.compare import Tolerance
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.diagnose.diagnosis import diagnose
from gathercli.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gathercli.diagnose.diagnosis import Diagnosis
    from tests.conftest import Run


ONE = 20
TWO = 5
CORRUPTED = 4
"""Trials of the campaigns; their commands make more."""


def tensor(array: Any) -> Tensor:
    array = np.asarray(array)
    dtype = dtype_of(array.dtype)
    assert dtype is not None
    return Tensor(dtype, array)


def names(op: str, *arrays: Any, wrong: Any, **options: Any) -> list[tuple[str, ...]]:
    """Name the first explanations."""
    return [each.names for each in found(op, *arrays, wrong=wrong, **options).first]


def found(op: str, *arrays: Any, wrong: Any, **options: Any) -> Diagnosis:
    return diagnose(op, *map(tensor, arrays), wrong=tensor(wrong), **options)


def test_one_mistake_is_named_of_nineteen_in_twenty() -> None:
    named = sum(mistakes.is_named(mistakes.case(seed, 1)) for seed in range(ONE))

    assert named >= 0.95 * ONE


def test_two_mistakes_of_two_kinds_are_named_of_four_in_five() -> None:
    named = sum(mistakes.is_named(mistakes.case(seed, 2)) for seed in range(TWO))

    assert named >= 0.8 * TWO


def test_no_output_with_a_corrupted_cell_is_wholly_explained() -> None:
    verdicts = {mistakes.one_cell(seed) for seed in range(CORRUPTED)}

    assert verdicts == {"in part"}


def test_a_right_output_needs_no_explanation() -> None:
    diagnosis = found("gather", [10, 20, 30], [2, -1, 7], wrong=[30, 30, 0], axis=0)

    assert diagnosis.is_right
    assert diagnosis.best.names == ()


def test_ties_are_told_apart_by_an_index() -> None:
    diagnosis = found("gather", [1, 2, 3, 4, 5], [3, 10, -20], wrong=[4, 5, 1], axis=0)

    assert [each.names for each in diagnosis.first] == [
        ("clamped",),
        ("clamped after wrapping",),
    ]
    assert diagnosis.apart == "an index of -1 would tell them apart"


def test_runtimes_and_targets_are_known_by_what_they_do() -> None:
    diagnosis = found("gather", [1, 2, 3, 4, 5], [3, 10, -20], wrong=[4, 5, 1], axis=0)

    assert "XLA, by jax 0.10 and TensorFlow 2.21" in diagnosis.best.known
    assert "WebNN" in diagnosis.first[1].known


def test_refused_cells_are_diagnosed_apart_from_right_ones() -> None:
    diagnosis = found(
        "gather", [10, 20, 30], [2, 7, 3], wrong=[30, 20, 10], axis=0, version="onnx-13"
    )

    assert diagnosis.refused == (2, 1, 1)
    assert diagnosis.best.names == ("modulo",)
    assert diagnosis.is_whole


def test_memory_outside_the_data_is_foreign_and_costs() -> None:
    diagnosis = found("gather", [1, 2, 3, 4, 5], [3, 10, -20], wrong=[4, 123, 99], axis=0)

    assert diagnosis.best.names == ("no bounds check after wrapping",)
    assert diagnosis.best.explanation.score.foreign == 2
    assert not diagnosis.is_whole


def test_an_index_before_the_axis_reads_the_row_before() -> None:
    data = np.arange(12).reshape(3, 4)

    wrong = data.reshape(-1)[[[4 - 1], [8 - 2]]]

    first = names("gather-nd", data, [[[1, -1]], [[2, -2]]], wrong=wrong)
    assert ("no bounds check",) in first


def test_strings_of_which_only_the_first_of_a_block_is_copied_are_those_of_onnxruntime() -> None:
    data = np.array([["s0", "s1"], ["s2", "s3"]])

    diagnosis = found(
        "gather", data, [1, 0], wrong=[["s2", ""], ["s0", ""]], axis=0, version="onnx-13"
    )

    assert ("first of 2",) in [each.names for each in diagnosis.first]
    assert any("onnxruntime" in name for each in diagnosis.first for name in each.known)


def test_batch_dims_that_tensorflow_drops_are_missed() -> None:
    data = np.arange(6.0).reshape(2, 3)
    indices = [[0, 1], [1, 0]]

    diagnosis = found("gather", data, indices, wrong=data[np.array(indices)], axis=1, batch_dims=1)

    assert ("Gather axis 0  batch_dims 0",) in [each.names for each in diagnosis.explanations]


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ([[[1, 2]], [[3, 4]]], "parents ignored"),
        ([[[2, 1]], [[9, 9]]], "lengths ignored"),
    ],
)
def test_what_gather_tree_ignores_is_named(wrong: Any, name: str) -> None:
    steps, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
    lengths = [2] if name == "parents ignored" else [1]
    if name == "lengths ignored":
        wrong = [[[2, 1]], [[3, 4]]]

    first = names("gather-tree", steps, parents, lengths, 9, wrong=wrong)

    assert (name,) in first


def test_parents_are_followed_as_another_runtime_treats_them() -> None:
    steps = np.arange(1, 7).reshape(3, 1, 2)
    parents = [[[0, 0]], [[-1, 5]], [[1, 0]]]

    diagnosis = found("gather-tree", steps, parents, [3], 99, wrong=[[[2, 1]], [[4, 3]], [[5, 6]]])

    assert diagnosis.is_whole
    assert ("clamped",) in [each.names for each in diagnosis.first]


def test_another_type_is_compared_by_its_values() -> None:
    data = np.array([1.1, 2.2, 3.3])

    first = names("gather", data, [2, 0], wrong=data[[2, 0]].astype(np.float32), axis=0)

    assert first == [("rounded to float32",)]


def test_elements_that_are_near_are_taken_for_equal() -> None:
    diagnosis = found(
        "gather", [1.0, 2.0], [1, 0], wrong=[2.001, 1.001], axis=0, tolerance=Tolerance(atol=0.01)
    )

    assert diagnosis.is_right


def test_one_wrong_cell_is_no_proof_but_of_what_was_done_to_an_index() -> None:
    rows = found("gather", [1, 2, 3, 4], [3, 2, 1], wrong=[4, 0, 2], axis=0)
    clamped = found("gather", [10, 20, 30], [0, 3], wrong=[10, 30], axis=0)

    assert not rows.is_whole
    assert clamped.is_whole


def test_a_rare_mistake_in_many_cells_is_named_and_proved() -> None:
    dice = np.random.default_rng(0)
    data, indices = dice.normal(size=(50, 8)), dice.integers(0, 50, 40_000)
    indices[7] = 50

    diagnosis = found("gather", data, indices, wrong=data[np.minimum(indices, 49)], axis=0)

    assert diagnosis.is_whole
    assert ("clamped",) in [each.names for each in diagnosis.first]
    assert diagnosis.best.explanation.score.total == 320_000


def test_a_shape_that_nothing_gives_is_refused() -> None:
    with pytest.raises(InputError, match=r"no hypothesis gives an output of the shape") as info:
        found("gather", [1, 2, 3], [0], wrong=np.zeros((5, 7, 11)), axis=0)

    assert info.value.rule == "diagnosis"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("gather", "1,2,3", "0,5", "1,0"), 0),
        (("gather", "1,2,3", "0,5", "1,3"), 0),
        (("gather", "1,2,3,4", "0,1,2", "1,2,77"), 1),
        (("gather", "1,2,3", "0,5", "5x7x3xi64=1"), 65),
        (("gather", "1,2,3", "0,5"), 2),
        (("gather", "1.5,2", "0,1", "1.6,2.1", "--atol", "0.2"), 0),
        (("gather", "1.5,2", "0,1", "1.6,2.1", "--atol", "nan"), 2),
    ],
)
def test_the_status_says_how_much_is_explained(
    run: Run, words: tuple[str, ...], status: int
) -> None:
    assert run("diagnose", *words).status == status


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("arange:2x3", "2,0", "[[2,0],[5,3]]", "-a", "2"),
            "the version refuses the call: `axis` is 2, but `data` has rank 2: expected -2 to 1",
        ),
        (
            ("arange:2x3", "2,0", "[[2,0],[5,3]]", "-a", "2"),
            "4 of 4  the call is Gather axis 1  batch_dims 0",
        ),
        (
            ("10,20,30", "0,7", "10,20", "-V", "13"),
            "the version refuses the indices of 1 cell; of 1 other cell 1 is right",
        ),
        (("10,20,30", "0,1", "2xi32=10,20"), "the type is int32: expected int64"),
        (("10,20,30,40", "0,1,2", "10,20,0"), "only one cell differs, which proves nothing"),
        (
            ("arange:3xf32", "0,7", "0,99"),
            "of them 1 holds foreign memory: the index points outside of all elements",
        ),
        (("10,20,30", "1,0", "[[20,10]]"), "the shape is [1,2]: expected [2]"),
    ],
)
def test_a_line_says_what_is_wrong(run: Run, words: tuple[str, ...], line: str) -> None:
    assert line in run("diagnose", "gather", *words).out.splitlines()


@pytest.mark.parametrize("factor", [0, 2])
def test_what_no_hypothesis_explains_better_than_chance_is_said(
    factor: int, run: Run, folder: Path
) -> None:
    dice = np.random.default_rng(0)
    data = dice.random((8, 5), np.float32)
    right = np.array([[data[0], data[-1]], [np.zeros(5), data[3]]], np.float32)
    wrong = right * factor if factor else dice.random(right.shape, np.float32)
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


def test_json_has_the_verdict_and_the_explanations(run: Run) -> None:
    report = json.loads(run("diagnose", "gather", "1,2,3", "0,6", "1,3", "-f", "json").out)

    assert report["verdict"] == "named"
    assert report["explanations"][0]["names"] == ["clamped"]
    assert report["differing"] == {"count": 1, "at": [1], "value": "3", "expected": "0"}


def test_an_output_file_may_have_a_type_that_numpy_lacks(run: Run, folder: Path) -> None:
    np.save(folder / "wrong.npy", np.array([0x4040, 0x3F80], np.uint16).view("V2"))

    result = run(
        "diagnose", "gather", "3xbf16=1 2 3", "2,0", "wrong.npy", "--wrong-dtype", "bfloat16"
    )

    assert result.status == 0
    assert "right: all of 2 cells" in result.out
