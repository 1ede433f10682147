from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.page import page_content
from gathercli.explain.panel import Look
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    pass


def content_of(*call: Any, **attributes: Any) -> dict[str, Any]:
    explanation, look = explain(*call, **attributes), Look(100)
    return page_content(explanation, look, scene_of(explanation, look))


def test_a_call_that_is_drawn_whole_has_its_values() -> None:
    content = content_of("gather", [[1, 2], [3, 4]], [1, -1], axis=1)

    call = content["call"]
    assert "cells" not in content
    assert [(each["name"], each["dtype"], each["shape"]) for each in call["inputs"]] == [
        ("data", "i64", (2, 2)),
        ("indices", "i64", (2,)),
    ]
    assert [each["texts"] for each in call["inputs"]] == [["1", "2", "3", "4"], ["1", "-1"]]
    assert (call["family"], call["version"]) == ("gather", "openvino.Gather-8")
    assert call["fills"] == {"zero": "0"}
    assert call["attrs"] == {"axis": 1, "batch_dims": 0}


def test_values_have_the_words_of_a_command_where_a_picture_has_fewer_digits() -> None:
    (data, _) = content_of("gather", [0.123456789, 2.0], [1])["call"]["inputs"]

    assert (data["texts"], data["words"]) == (["0.123457", "2"], ["0.123456789", "2.0"])


@pytest.mark.parametrize("op", FAMILIES)
def test_each_row_of_a_page_has_the_fields_of_its_version(op: str) -> None:
    calls: dict[str, tuple[Any, ...]] = {
        "gather-elements": ([1, 2], [0]),
        "gather-nd": ([1, 2], [[0]]),
        "gather-tree": ([[[1]]], [[[0]]], [1], 9),
    }

    call = content_of(
        op, *calls.get(op, ([1, 2], [0])), axis=None if op in ("gather-nd", "gather-tree") else 0
    )["call"]

    assert call["rules"] == [each.__name__.replace("_", "-") for each in FAMILIES[op].RULES]
    for row, op_row in zip(call["rows"], FAMILIES[op].ROWS, strict=True):
        assert (row["full_name"], row["index_range"]) == (op_row.full_name, op_row.index_range.name)
        assert (row["out_of_range"], row["tuples"]) == (op_row.out_of_range.name, op_row.tuples)
        assert row["attrs"] == {each.name: each.default for each in op_row.attrs}
    json.dumps(call)


def test_a_row_says_whether_it_takes_the_types_of_a_call() -> None:
    call = content_of("gather", [1, 2], np.array([0], np.uint8))["call"]

    takes = {row["full_name"]: row["takes"] for row in call["rows"]}
    assert takes["openvino.Gather-8"] == [True, True]
    assert takes["onnx.Gather-13"] == [True, False]


def test_the_call_of_a_framework_has_a_row_too() -> None:
    call = content_of("gather", [1, 2], [0], version="numpy.take", axis=0)["call"]

    assert [row["full_name"] for row in call["rows"]][-1] == call["version"] == "numpy.take"


def test_what_fills_cells_is_that_of_the_version() -> None:
    call = content_of("gather", np.array([1, 2], np.int32), [5], version="jax", axis=0)["call"]

    assert call["fills"] == {"extreme": "-2147483648", "zero": "0"}


def test_each_drawn_cell_has_the_ids_of_its_index_and_its_source() -> None:
    content = content_of("gather", np.zeros((100, 100), int), [*range(98), 99, 100])

    ids = [cell[:3] for cell in content["cells"]]
    assert ["out-0-0", "indices-0", "data-0-0"] in ids
    assert ["out-99-0", "indices-99", "-"] in ids
    assert content["indices"]["indices-99"] == ["100"]


def test_only_cells_of_the_drawing_are_in_the_content() -> None:
    content = content_of("gather", np.zeros((100, 100)), np.zeros(100, int))

    assert content["total"] == "10 000"
    assert 0 < len(content["cells"]) < 1000
    assert all("texts" not in each for each in content["call"]["inputs"])


def test_an_index_that_a_browser_cannot_count_to_keeps_its_digits() -> None:
    content = content_of("gather", [1, 2], np.array([1, 2**63], np.uint64))

    assert content["call"]["inputs"][1]["texts"] == ["1", "9223372036854775808"]


@pytest.mark.parametrize(
    ("call", "alone"),
    [
        (("gather-elements", np.zeros((3, 2)), [[0, 1, 1]], "numpy.take_along_axis"), True),
        (("gather-elements", np.zeros((3, 2)), [[0, 1]] * 3, "numpy.take_along_axis"), False),
        (("gather", np.zeros((3, 2)), 1, "torch.index_select"), True),
        (("gather", np.zeros((3, 2)), [1], "torch.index_select"), False),
    ],
)
def test_no_other_version_answers_for_inputs_that_a_call_has_reshaped(
    call: tuple[Any, ...], alone: bool
) -> None:
    *words, version = call
    rows = content_of(*words, version=version, axis=1)["call"]["rows"]

    assert (len(rows) == 1) is alone
    assert rows[-1]["full_name"] == version
