"""What a mistake makes of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gathercli.compute.compare import Tolerance
from tests.diagnose.test_diagnosis import found, names

if TYPE_CHECKING:
    pass


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


def test_another_type_is_compared_by_its_values() -> None:
    data = np.array([1.1, 2.2, 3.3])

    first = names("gather", data, [2, 0], wrong=data[[2, 0]].astype(np.float32), axis=0)

    assert first == [("rounded to float32",)]


def test_elements_that_are_near_are_taken_for_equal() -> None:
    diagnosis = found(
        "gather", [1.0, 2.0], [1, 0], wrong=[2.001, 1.001], axis=0, tolerance=Tolerance(atol=0.01)
    )

    assert diagnosis.is_right
