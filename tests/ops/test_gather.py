"""What `gather` says at the bounds of its indices, attributes and result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run


def test_the_lowest_index_that_counts_from_the_end_is_noted_too(run: Run) -> None:
    ran = run("gather", "[10,20,30]", "[-3]", "-V", "onnx-1", "--negative", "wrap")

    assert (ran.status, ran.out) == (0, "[10]\n")
    assert ran.err == "note: 1 of 1 index negative, counted from the end; first -3 at [0]\n"


def test_an_index_below_the_lowest_that_counts_is_not_noted_as_counted(run: Run) -> None:
    words = ("-V", "onnx-1", "--negative", "wrap", "--out-of-range", "zero")

    ran = run("gather", "[10,20,30]", "[-4,-1,0]", *words)

    assert (ran.status, ran.out) == (0, "[0,30,10]\n")
    assert ran.err == (
        "note: 1 of 3 indices negative, counted from the end; first -1 at [1]\n"
        "note: 1 of 3 indices outside -3..2, zero-filled; first -4 at [0]\n"
    )


@pytest.mark.parametrize("command", ["gather", "explain", "check"])
@pytest.mark.parametrize(
    ("words", "legal"),
    [
        (("-V", "openvino-8"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "zero"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "clamp"), "outside -3..2"),
        (("-V", "onnx-13", "--out-of-range", "wrap"), "outside -3..2"),
        (("-V", "onnx-13", "--negative", "wrap", "--out-of-range", "zero"), "outside -3..2"),
        (("-V", "openvino-8", "--negative", "error"), "outside 0..2"),
        (("-V", "openvino-7", "--out-of-range", "zero"), "outside 0..2"),
        (("-V", "onnx-1", "--out-of-range", "clamp"), "outside 0..2"),
    ],
)
def test_a_note_names_the_range_of_which_the_index_is_outside(
    words: tuple[str, ...], legal: str, command: str, run: Run
) -> None:
    call = ("gather",) if command == "gather" else (command, "gather")

    ran = run(*call, "[10,20,30]", "[2,7]", *words)

    said = ran.out if command == "check" else ran.err
    assert f"1 of 2 indices {legal}" in said


@pytest.mark.parametrize("negative", ["spec", "wrap"])
def test_what_is_filled_on_an_empty_axis_is_outside_of_no_range(negative: str, run: Run) -> None:
    ran = run("gather", "zeros:0", "[0,-1]", "--negative", negative)

    assert ran.err == "note: 2 of 2 indices on an empty axis, zero-filled; first 0 at [0]\n"


@pytest.mark.parametrize(("index", "advised"), [(-4, False), (-3, True), (-1, True), (3, False)])
def test_a_version_that_counts_from_the_end_is_advised_for_what_it_would_take(
    index: int, *, advised: bool, run: Run
) -> None:
    ran = run("gather", "[10,20,30]", f"[{index}]", "-V", "onnx-1")

    assert ran.status == 65
    assert ("counts negative indices from the end" in ran.err) is advised


def test_no_version_is_advised_for_an_index_on_an_empty_axis(run: Run) -> None:
    ran = run("gather", "zeros:0", "[0]", "-V", "onnx-1", "--out-of-range", "error")

    assert (ran.status, ran.out) == (65, "")
    assert "hint" not in ran.err


@pytest.mark.parametrize(
    ("number", "value"), [(2**255, str(2**255)), (2**256, '"an integer of 257 bits"')]
)
def test_a_number_of_more_than_256_bits_is_told_by_its_size(
    number: int, value: str, run: Run
) -> None:
    words = ("-V", "onnx-13", "--batch-dims", str(number), "--json-errors")

    ran = run("gather", "[1,2]", "[0]", *words)

    assert ran.status == 65
    assert f'"value": {value}, ' in ran.err

    shown = value.strip('"')

    assert f"`batch_dims` is {shown}, but onnx.Gather-13 has no batch_dims" in ran.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("[1,2]", "[0]", "--batch-dims", "2"), "-1 to 1"),
        (("[1,2]", "[0]", "--axis", "1"), "-1 to 0"),
        (("[[1],[2]]", "[[0]]", "--batch-dims", "1", "--axis", "0"), "0"),
        (("[1,2,3]", "[-1]", "--negative", "error"), "0 to 2"),
        (("[1,2,3]", "[3]", "-V", "openvino-7"), "0 to 2"),
        (("[1,2,3]", "[3]", "-V", "onnx-13"), "-3 to 2"),
        (("[1]", "[1]", "-V", "openvino-7"), "0"),
        (("zeros:0", "[0]", "-V", "onnx-13"), "no index at all, as the axis is empty"),
    ],
)
def test_what_is_allowed_is_said_in_the_message_and_beside_it(
    words: tuple[str, ...], expected: str, run: Run
) -> None:
    ran = run("gather", *words, "--json-errors")

    assert ran.status == 65
    assert f'"expected": "{expected}"' in ran.err
    assert re.search(rf": expected {expected}[ \"]", ran.err)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("gather", "zeros:0", "[0]", "-V", "openvino-7"),
            "hint: openvino-8 fills such slices with zeros: `-V openvino-8`, or "
            "`--out-of-range zero`",
        ),
        (
            ("gather-elements", "zeros:0", "[0]", "--axis", "0"),
            "hint: on an empty axis only `--out-of-range zero` gives an answer",
        ),
    ],
)
def test_on_an_empty_axis_the_version_that_fills_is_advised_if_there_is_one(
    words: tuple[str, ...], hint: str, run: Run
) -> None:
    ran = run(*words)

    assert ran.status == 65
    assert hint in ran.err.splitlines()


def test_batch_dims_beyond_the_axis_are_told_all_that_fit(run: Run) -> None:
    words = ("--axis", "1", "--batch-dims", "2", "--json-errors")

    ran = run("gather", "zeros:2x2x2", "zeros:2x2", *words)

    assert ran.status == 65
    assert '"expected": "0 to 1"' in ran.err
    assert 'expected 0 to 1"' in ran.err


def test_a_result_of_rank_64_is_the_last_that_is_given(run: Run) -> None:
    deep = "x".join(["1"] * 33)

    ran = run("gather", f"zeros:{deep}", "zeros:" + deep[2:], "--axis", "0", "-f", "npy")

    assert (ran.status, ran.err) == (0, "")

    ran = run("gather", f"zeros:{deep}", f"zeros:{deep}", "--axis", "0")

    assert (ran.status, ran.out) == (65, "")
    assert "has rank 65: expected at most 64" in ran.err


@pytest.mark.parametrize(("limit", "status"), [("24", 0), ("23", 65)])
def test_a_result_may_have_as_many_bytes_as_are_allowed(limit: str, status: int, run: Run) -> None:
    ran = run("gather", "[7]", "[0,0,0]", "--max-bytes", limit, "--indices-dtype", "int32")

    assert ran.status == status

    if status:
        assert "takes 24 bytes: expected at most 23 bytes" in ran.err


@pytest.mark.parametrize(
    ("size", "refused"), [(2**57 - 1, False), (2**60, True), (2**63 - 1, True)]
)
def test_an_empty_result_spans_no_more_than_can_be_addressed(
    size: int, *, refused: bool, run: Run
) -> None:
    ran = run("gather", f"zeros:0x{size}xi8", "zeros:0x8", "--axis", "0", "-f", "npy")

    assert ran.status == (65 if refused else 0)
    assert ("spans" in ran.err) is refused
