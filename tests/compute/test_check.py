"""Indices are counted in blocks, whatever order they come in."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli
from gathercli.compute import check
from gathercli.compute.check import count
from gathercli.compute.indices import IndexKind, IndexPolicy
from gathercli.spec.adjustments import IndexCount
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    import numpy.typing as npt

    from tests.conftest import Run


BLOCKS = {0: [0, 0, 5], 3: [6, 0, 7], 6: [0, 0, 0], 9: [8, 8, 8]}
"""Blocks of indices by where they start; what is not 0 is counted."""


def count_indices(*starts: int) -> IndexCount:
    tally = IndexCount()
    for start in starts:
        given = np.array(BLOCKS[start])
        tally.add(given != 0, given, start)
    return tally


def fields(tally: IndexCount) -> tuple[int, int, float]:
    return tally.number, tally.first, tally.value


@pytest.mark.parametrize("starts", list(itertools.permutations(BLOCKS)))
def test_the_first_of_all_blocks_is_kept_whichever_comes_first(starts: tuple[int, ...]) -> None:
    assert fields(count_indices(*starts)) == (6, 2, 5)
    assert fields(count_indices(*(start for start in starts if start))) == (5, 3, 6)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ([0], [3, 9], (6, 2, 5)),
        ([3], [9], (5, 3, 6)),
        ([6], [9], (3, 9, 8)),
        ([], [0], (1, 2, 5)),
        ([6], [], (0, 0, 0)),
    ],
)
def test_of_two_tallies_the_first_is_that_of_the_nearer_one(
    one: list[int], other: list[int], both: tuple[int, int, int]
) -> None:
    assert fields(count_indices(*one) | count_indices(*other)) == both
    assert fields(count_indices(*other) | count_indices(*one)) == both


TUPLES: npt.NDArray[Any] = np.zeros((4, 3, 2), np.int64)
TUPLES[[0, 1, 3], [2, 0, 1], 0] = -2, -9, 7
TUPLES[[1, 2, 3], [1, 0, 2], 1] = 4, -4, -5
AXES = [IndexPolicy(size, wraps=True, outside=OutOfRange.ZERO) for size in (3, 4)]


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index_type", ["<i8", ">i4", "i1"])
def test_each_component_of_tuples_is_counted_along_its_own_axis(
    cells: int, workers: int, order: Any, index_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "BLOCK_INDICES", cells)
    monkeypatch.setattr(check, "LEAST_SHARED_BLOCKS", 0)

    sums, kind = count(
        TUPLES.astype(index_type, order=order), AXES, counts=True, threads=workers, tuples=True
    )

    assert kind is IndexKind.MIXED
    assert [list(map(fields, each)) for each in sums] == [
        [(2, 4, -2), (1, 4, -2), (2, 6, -9)],
        [(2, 13, -4), (1, 13, -4), (2, 9, 4)],
    ]


@pytest.mark.parametrize("wanted", [False, True])
def test_tuples_that_count_from_the_end_are_counted_only_where_that_is_wanted(wanted: bool) -> None:
    sums, kind = count(np.array([[0, 3], [-3, -1]]), AXES, counts=wanted, tuples=True)

    assert kind is IndexKind.SIGNED
    assert [fields(each.wrapped) for each in sums] == (
        [(1, 2, -3), (1, 3, -1)] if wanted else [(0, 0, 0)] * 2
    )


def test_tuples_in_fortran_order_are_checked_along_their_own_axes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check, "BLOCK_INDICES", 4)
    tuples = np.asfortranarray([[0, 0], [3, 3], [0, 0], [2, 3]])

    sums, _ = count(tuples, AXES, counts=False, tuples=True)

    assert [fields(each.outside) for each in sums] == [(1, 2, 3), (0, 0, 0)]


def test_tuples_in_fortran_order_are_plain_where_all_are() -> None:
    tuples = np.asfortranarray([[0, 3], [2, 3], [0, 3]])

    assert count(tuples, AXES, counts=False, tuples=True)[1] is IndexKind.PLAIN


def test_tuples_of_no_index_are_plain() -> None:
    assert count(np.zeros((5, 0), np.int64), [], counts=True, tuples=True) == ([], IndexKind.PLAIN)


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        (
            ("-V", "openvino-5", "--negative", "wrap", "--out-of-range", "zero"),
            (
                "note: 2 of 8 indices negative, counted from the end; first -3 at [0,1]",
                "note: 3 of 8 indices outside -2..1 on axis 0 or outside -3..2 on axis 1, "
                "zero-filled; first 5 at [1,0]",
            ),
        ),
        (
            ("--out-of-range", "clamp"),
            (
                "note: 3 of 8 indices outside -2..1 on axis 0 or outside -3..2 on axis 1, "
                "clamped; first 5 at [1,0]",
            ),
        ),
    ],
)
def test_a_note_says_along_which_axis_a_component_of_tuples_counts(
    options: tuple[str, ...], notes: tuple[str, ...], run: Run
) -> None:
    ran = run("gather-nd", "[[1,2,3],[4,5,6]]", "[[0,-3],[5,0],[-1,1],[-9,7]]", *options)

    assert ran.err.splitlines() == list(notes)


@pytest.mark.parametrize(
    "words",
    [
        ("gather-nd", "[[1,2],[3,4]]", "[[0,1],[9,7],[1,5]]"),
        ("gather-tree", "[[[1,2]],[[3,4]]]", "[[[0,0]],[[1,2]]]", "[2]", "9"),
        ("gather", "[1,2]", "[0,1,7]", "-V", "onnx-13"),
    ],
)
def test_the_error_the_note_and_check_count_alike(words: tuple[str, ...], run: Run) -> None:
    refused = run(*words)
    filled = run(*words, "--out-of-range", "zero")
    checked = run("check", *words)

    (share,) = re.findall(r"\((\d+ of \d+) indices\)", refused.err)
    assert filled.err.startswith(f"note: {share} indices outside ")
    assert f"\n{share} indices outside " in checked.out


def test_a_note_of_tuples_of_one_index_names_no_axis(run: Run) -> None:
    ran = run("gather-nd", "[1,2]", "[[1],[9]]", "--out-of-range", "zero")

    assert ran.err == "note: 1 of 2 indices outside -2..1, zero-filled; first 9 at [1,0]\n"


def test_tuples_that_all_count_from_the_end_are_noted_where_the_version_knows_none(
    run: Run,
) -> None:
    ran = run("gather-nd", "[1,2]", "[[-1],[-2]]", "-V", "openvino-5", "--negative", "wrap")

    assert ran.err == "note: 2 of 2 indices negative, counted from the end; first -1 at [0,0]\n"


def test_a_note_names_the_axis_that_is_empty(run: Run) -> None:
    ran = run("gather-nd", "[[],[]]", "[[1,3]]", "--out-of-range", "zero")

    assert (
        ran.err == "note: 1 of 2 indices on axis 1, which is empty, zero-filled; first 3 at [0,1]\n"
    )


@pytest.mark.parametrize(
    ("tuples", "message"),
    [
        ("[[1,3],[9,1]]", "index 3 at `[0,1]` is outside axis 1 of `data`, whose size is 3"),
        ("[[1,2],[9,3]]", "index 9 at `[1,0]` is outside axis 0 of `data`, whose size is 2"),
    ],
)
def test_the_first_refused_component_is_named_with_its_axis_and_all_are_counted(
    tuples: str, message: str, run: Run
) -> None:
    ran = run("gather-nd", "[[1,2,3],[4,5,6]]", tuples)

    assert ran.err.startswith(f"error: {message}")
    assert "(2 of 4 indices)" in ran.err


def test_a_negative_component_is_refused_before_one_that_is_outside(run: Run) -> None:
    ran = run("gather-nd", "[[1,2,3],[4,5,6]]", "[[9,2],[1,-1],[-1,0]]", "--negative", "error")

    assert ran.err.startswith("error: index -1 at `[1,1]` is negative")
    assert "(2 of 6 indices)" in ran.err


def test_the_axis_of_a_component_is_counted_behind_the_batch_dimensions(run: Run) -> None:
    ran = run("gather-nd", "[[1,2,3],[4,5,6]]", "[[2],[3]]", "-b", "1")

    assert ran.err.startswith("error: index 3 at `[1,0]` is outside axis 1 of `data`")


def test_tuples_without_components_take_no_memory_before_the_size_is_checked(run: Run) -> None:
    ran = run("gather-nd", "zeros:2", "8589934592x0xi64=")

    assert ran.err.startswith(
        "error: the result i64[8589934592,2] takes 137438953472 bytes: expected at most "
    )


def test_many_tuples_without_components_copy_all_of_data() -> None:
    output = gathercli.gather_nd([1, 2], np.empty((300_000, 0), np.int64))

    assert output.shape == (300_000, 2)
    assert (output == [1, 2]).all()
