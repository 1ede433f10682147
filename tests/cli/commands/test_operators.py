"""`gather`: results, refusals and `--expect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_gather_fills_with_zeros_in_openvino_8_and_prints_a_note(run: Run) -> None:
    assert run("gather", "[1,2,3,4,5]", "[3,10,-20]") == (
        0,
        "[4,0,0]\n",
        "note: 2 of 3 indices outside -5..4, zero-filled; first 10 at [1]\n",
    )


def test_an_older_version_refuses_the_index_and_names_the_version_that_fills(run: Run) -> None:
    assert run("gather", "[1,2,3,4,5]", "[3,10,-20]", "-V", "openvino-1") == (
        65,
        "",
        "error: index 10 at `[1]` is outside axis 0 of `data`, whose size is 5: "
        "expected 0 to 4 (2 of 3 indices)\n"
        "  openvino.Gather-1   data i64[5]   indices i64[3]\n"
        "hint: openvino-8 fills such slices with zeros: `-V openvino-8`, or `--out-of-range zero`\n"
        "rule: index-range\n",
    )


def test_an_axis_outside_data_is_refused_with_the_legal_interval(run: Run) -> None:
    assert run("gather", "arange:2x5", "[0,0,4]", "--axis", "3") == (
        65,
        "",
        "error: `axis` is 3, but `data` has rank 2: expected -2 to 1\n"
        "  openvino.Gather-8   data i64[2,5]   indices i64[3]\n"
        "hint: the last dimension is `--axis -1`\n"
        "rule: axis-range\n",
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("[1,2]", "[1,2]"),
        ("[1,2]", "[1.0,2]"),
        ("[1,2]", "2xi64=1 2"),
        ("2xf32=0.1 2", "[0.1,2]"),
        ("2xbf16=1 2", "1,2"),
        ("[NaN,-0.0]", '["NaN",0]'),
        ("2xc64=nan 1+2j", "2xc64=nan 1+2j"),
        ('["a","b"]', '["a","b"]'),
        ("2xu64=18446744073709551615 0", "[18446744073709551615,0]"),
    ],
)
def test_an_equal_result_is_printed_and_exits_0(data: str, expected: str, run: Run) -> None:
    ran = run("gather", data, "0,1", "--expect", expected)

    assert (ran.status, ran.out) == (0, run("gather", data, "0,1").out)


@pytest.mark.parametrize(
    ("data", "expected", "difference"),
    [
        ("[1,2]", "[1,3]", "has 2 at `[1]`: expected 3 (1 of 2 elements differs)"),
        ("[1,2]", "[0,0]", "has 1 at `[0]`: expected 0 (2 of 2 elements differ)"),
        ("[1,2]", "2xi32=1 2", "is i64[2]: expected i32[2]"),
        ("[1,2]", "[[1,2]]", "is i64[2]: expected i64[1,2]"),
        ("[1,2]", "[1]", "is i64[2]: expected i64[1]"),
        ("[1.5,2]", "[NaN,2]", "has 1.5 at `[0]`: expected nan (1 of 2 elements differs)"),
        ("[true,false]", "[true,true]", "has false at `[1]`: expected true"),
        (
            "[9007199254740993,0]",
            "[9007199254740992,0]",
            "has 9007199254740993 at `[0]`: expected 9007199254740992",
        ),
    ],
)
def test_a_differing_result_is_printed_and_exits_1_with_the_first_difference(
    data: str, expected: str, difference: str, run: Run
) -> None:
    ran = run("gather", data, "0,1", "--expect", expected)

    assert (ran.status, ran.out) == (1, run("gather", data, "0,1").out)
    assert ran.err.startswith(f"error: the result {difference}")
    assert "  openvino.Gather-8   data " in ran.err


@pytest.mark.parametrize(
    ("expected", "words", "status"),
    [
        ("[1,2.1]", [], 1),
        ("[1,2.1]", ["--rtol", "0.1"], 0),
        ("[1,2.1]", ["--atol", "0.11"], 0),
        ("[1,2.1]", ["--rtol", "0.01"], 1),
        ("[1,2.1]", ["--rtol", "0.02", "--atol", "0.06"], 0),
        ("[1,Infinity]", ["--rtol", "1"], 1),
        ("[1,-Infinity]", ["--atol", "1e300", "--rtol", "0.5"], 1),
    ],
)
def test_tolerances_are_relative_and_absolute(
    expected: str, words: list[str], status: int, run: Run
) -> None:
    assert run("gather", "[1.0,2]", "0,1", "--expect", expected, *words).status == status


def test_infinity_equals_itself_at_any_tolerance(run: Run) -> None:
    words = ("gather", "[Infinity,1]", "0,1", "--rtol", "0.1", "--expect")

    assert run(*words, "[Infinity,1.05]").status == 0
    assert run(*words, "[-Infinity,1]").status == 1


def test_a_differing_result_is_still_written(run: Run, folder: Path) -> None:
    assert run("gather", "[1,2]", "0,1", "--expect", "[1,3]", "-o", "x.npy").status == 1
    assert np.load(folder / "x.npy").tolist() == [1, 2]


def test_a_missing_expected_tensor_fails_before_the_result_is_printed(run: Run) -> None:
    ran = run("gather", "[1,2]", "0,1", "--expect", "nosuch.npy")

    assert ran.status == 66
    assert "`expect`" in only_error(ran)


def test_a_tolerance_does_not_make_infinity_equal_to_a_number(run: Run) -> None:
    assert run("gather", "[1.0]", "[0]", "--expect", '["Infinity"]', "--rtol", "0.1").status == 1


def test_integers_beyond_float64_are_compared_exactly_with_a_tolerance(run: Run) -> None:
    words = ("gather", "9007199254740993,", "0,", "--expect", "9007199254740992,")

    assert run(*words, "--atol", "0.5").status == 1
    assert run(*words, "--atol", "1").status == 0


def test_an_expectation_that_the_type_cannot_hold_is_a_mismatch(run: Run) -> None:
    ran = run("gather", "[1,2]", "[0]", "--expect", "[1.5]")

    assert (ran.status, ran.out) == (1, "[1]\n")
    assert "rule: expect" in ran.err


@pytest.mark.parametrize(
    ("data", "expected", "difference"),
    [
        ("[[4,5]]", "[[4,5.0001]]", None),
        ("[[4,-5]]", "[[3.999,-5]]", None),
        ("[[4,5]]", "[[4,5.5]]", "has 5 at `[0,1]`: expected 5.5 (1 of 2 elements differs)"),
        ("[[4,5]]", "[4,5.0001]", "is i64[1,2]: expected f64[2]"),
        ("[[4,5]]", "1x2xf64=4 5.0001", "is i64[1,2]: expected f64[1,2]"),
        ("1x2xu8=4 255", "[[4,256]]", None),
        ("1x2xf8e4m3fn=4 448", "[[4,450]]", None),
        ("1x2xu64=4 18446744073709551615", "[[4,-1]]", "has 18446744073709551615 at `[0,1]`"),
        ("[[true,true]]", "[[1,1.0001]]", "is bool, but `expect`: the value at `$[0][0]`"),
    ],
)
def test_untyped_numbers_that_the_type_cannot_represent_are_compared_within_the_tolerance(
    data: str, expected: str, difference: str | None, run: Run
) -> None:
    ran = run("gather", data, "0,", "--expect", expected, "--rtol", "0.01")

    assert (ran.status, ran.out) == (difference is not None, run("gather", data, "0,").out)
    assert difference is None or ran.err.startswith(f"error: the result {difference}")


@pytest.mark.parametrize("tolerance", ["nan", "inf"])
def test_a_tolerance_is_a_finite_number(tolerance: str, run: Run) -> None:
    ran = run("gather", "[1]", "0", "--expect", "1", "--rtol", tolerance)

    assert (ran.status, ran.out) == (2, "")
