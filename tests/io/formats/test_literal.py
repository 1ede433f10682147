"""Literals, lists and generators in arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.mark.parametrize(
    ("data", "literal"),
    [
        ("arange:3", "3xi64=[0 1 2]"),
        ("arange:2x2xf32", "2x2xf32=[[0.0 1.0][2.0 3.0]]"),
        ("zeros:1x2xf16", "1x2xf16=[[0.0 0.0]]"),
        ("zeros:2", "2xi64=[0 0]"),
        ("zeros:2xstr", '2xstr=["" ""]'),
        ("2x3xi32=[[0 0 4][4 0 0]]", "2x3xi32=[[0 0 4][4 0 0]]"),
        ("2x3xi32=[[0,0,4],[4,0,0]]", "2x3xi32=[[0 0 4][4 0 0]]"),
        ("2x3xf32=1 2 3 4 5 6", "2x3xf32=[[1.0 2.0 3.0][4.0 5.0 6.0]]"),
        ("2x1xu8=1,2", "2x1xu8=[[1][2]]"),
        ("3xi64=0", "3xi64=[0 0 0]"),
        ("3xint64=7", "3xi64=[7 7 7]"),
        ("2xstr='a b' \"c\\n\"", '2xstr=["a b" "c\\n"]'),
        ("2xc64=1+2j -1j", "2xc64=[1.0+2.0j 0.0-1.0j]"),
        ("3xf64=nan inf -inf", "3xf64=[nan inf -inf]"),
        ("2xbool=true false", "2xbool=[true false]"),
        ("0x2xf32=", "0x2xf32=[]"),
        ("[[0,0],[4,0]]", "2x2xi64=[[0 0][4 0]]"),
        ("[1,2.5]", "2xf64=[1.0 2.5]"),
        ("[true,false]", "2xbool=[true false]"),
        ('["a","b"]', '2xstr=["a" "b"]'),
        ("[18446744073709551615]", "1xu64=[18446744073709551615]"),
        ("[]", "0xf64=[]"),
        ('{"shape":[2],"datatype":"FP32","data":[1,2]}', "2xf32=[1.0 2.0]"),
        ("0,0,4", "3xi64=[0 0 4]"),
        ("0,", "1xi64=[0]"),
        ("-1,0", "2xi64=[-1 0]"),
        ("-.5,1", "2xf64=[-0.5 1.0]"),
        ("-inf,nan", "2xf64=[-inf nan]"),
        ("true,false", "2xbool=[true false]"),
    ],
)
def test_every_form_of_literal_is_read_with_its_type_and_shape(
    data: str, literal: str, run: Run
) -> None:
    count = literal.split("x", maxsplit=1)[0]

    ran = run("gather", data, f"arange:{count}", "-f", "literal")

    assert ran == (0, literal + "\n", "")


@pytest.mark.parametrize("index", ["-1", "-1,", "-2,-1", "[-1]", "xi32=-1"])
def test_negative_indices_need_no_two_dashes_before_them(index: str, run: Run) -> None:
    assert run("gather", "[1,2,3]", index).status == 0
    assert run("gather", "[1,2,3]", "-V", "onnx-13", index).status == 0
    assert run("gather", "[1,2,3]", "--", index).status == 0


def test_random_tensors_depend_on_their_seed_and_stay_in_their_range(run: Run) -> None:
    first = run("gather", "rand:50", "arange:50")
    assert run("gather", "rand:50,seed=0", "arange:50") == first
    assert run("gather", "rand:50,seed=7", "arange:50") != first
    assert all(0 <= value < 1 for value in json.loads(first.out))
    whole = json.loads(run("gather", "rand:50xi8,high=3", "arange:50").out)
    assert set(whole) == {0, 1, 2}


@pytest.mark.parametrize(
    ("token", "rule"),
    [
        ("arange:", "literal"),
        ("arange:3xbool", "literal"),
        ("arange:300xi8", "literal"),
        ("rand:3xi8", "literal"),
        ("rand:3xi8,high=129", "literal"),
        ("rand:3,seed=1,seed=2", "literal"),
        ("rand:3,sed=1", "literal"),
        ("zeros:3,seed=1", "literal"),
        ("rand:3xstr", "literal"),
        ("3xi64=1 2", "literal"),
        ("2x2xi64=[1 2]", "literal"),
        ("2xi6=1", "literal"),
        ("2xf32=[1 2", "literal"),
        ("2xf32=1 2]", "literal"),
        ("2xstr='a", "literal"),
        ("2xf32=1 x", "literal"),
        ("2x2xi64=[[1 2][3]]", "ragged"),
        ("2xi8=300", "dtype"),
        ("2xi64=1.5", "dtype"),
        ("2xbool=1", "dtype"),
        ("2xu8=-1", "dtype"),
        ("[[1,2],[3]]", "ragged"),
        ("[1,true]", "dtype"),
        ('[1,"a"]', "dtype"),
        ("[18446744073709551616]", "dtype"),
        ("[9007199254740993,0.5]", "dtype"),
        ("[1,2", "literal"),
        ("[1,,2]", "literal"),
        ("1,,2", "literal"),
        ("1.2.3", "literal"),
        ("[null]", "json"),
        ("99999999999xf32=0", "limit"),
        ("arange:99999999999999999999", "limit"),
        ("0x9223372036854775808xi8=", "limit"),
    ],
)
def test_a_malformed_literal_is_refused_by_the_rule_it_breaks(
    token: str, rule: str, run: Run
) -> None:
    ran = run("gather", token, "0", "--max-bytes", "1M")

    assert ran.status == 65
    assert only_error(ran).startswith("error: `data`")
    assert ran.err.endswith(f"rule: {rule}\n")


def test_a_ragged_list_and_a_mixed_one_name_the_path_of_the_offender(run: Run) -> None:
    assert "`$[1]`" in run("gather", "[[1,2],[3]]", "0").err
    assert "`$[1][2]`" in run("gather", "[[1,2,3],[4,5,true]]", "0").err
    assert "first at `$[1][0]`" in run("gather", "[1,2]", "[[0,1],[0.5,1]]").err


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (f"{2**63 - 1}xi8=0", "takes 9223372036854775807 bytes: expected at most 9 bytes"),
        (f"{2**63}xi8=0", "the shape of `9223372036854775808xi8=0` is too large"),
        ("1x" * 65 + "i8=0", "is too large: expected rank at most 64"),
        (f"0x{2**60}xi64=", "takes 0 bytes: expected at most 9 bytes"),
        (f"0x{2**63 - 1}xi16=", "takes 0 bytes: expected at most 9 bytes"),
        ("2xi64=0", "takes 16 bytes: expected at most 9 bytes"),
        ("10xi8=0", "takes 10 bytes: expected at most 9 bytes"),
        ("arange:10xi8", "takes 10 bytes: expected at most 9 bytes"),
    ],
)
def test_a_literal_that_is_too_large_is_refused_before_it_is_made(
    token: str, message: str, run: Run
) -> None:
    ran = run("gather", token, "0,", "--max-bytes", "9")

    assert (ran.status, ran.out) == (65, "")
    assert message in ran.err
    assert ran.err.endswith("rule: limit\n")
    assert ("`--max-bytes 0` lifts" in ran.err) is ("takes" in message)


def test_a_literal_may_take_all_that_is_allowed(run: Run) -> None:
    assert run("gather", "9xi8=1", "xi8=0", "--max-bytes", "9").out == "1\n"
    assert run("gather", "1x" * 64 + "i8=1", "xi8=0", "-f", "npy").status == 0

    ran = run("gather", f"0x{2**60 - 1}xi64=", "xi8=0", "--max-bytes", "0", "--axis", "1")

    assert (ran.status, ran.out) == (0, "[]\n")

    ran = run("gather", f"{2**63 - 1}xi64=0", "0", "--max-bytes", "0")

    assert "expected at most 9223372036854775807" in ran.err
    assert "lifts" not in ran.err


@pytest.mark.parametrize(
    ("token", "status"),
    [
        ("rand:2xi8,high=1", 0),
        ("rand:2xi8,high=128", 0),
        ("rand:2xi8,high=129", 65),
        ("rand:2xi8,high=0", 65),
        ("rand:2xu64,high=9999999999999999999", 0),
        ("rand:2xu64,high=00000000000000000001", 65),
        ("rand:2,seed=1,seed=1", 65),
        ("rand:2,high=1", 65),
        ("zeros:2,seed=1", 65),
        ("rand:2,seed", 65),
    ],
)
def test_an_option_of_a_generator_is_one_number_of_nineteen_digits(
    token: str, status: int, run: Run
) -> None:
    assert run("gather", token, "0").status == status


def test_random_tensors_are_what_they_were(run: Run) -> None:
    assert run("gather", "rand:3xi8,high=100", "0,1,2").out == "[50,75,84]\n"
    assert run("gather", "rand:3xi8,high=100,seed=0", "0,1,2").out == "[50,75,84]\n"
    assert run("gather", "rand:3xi8,high=100,seed=1", "0,1,2").out == "[99,13,47]\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[9223372036854775807]", "i64"),
        ("[9223372036854775808]", "u64"),
        ("[9223372036854775807,0]", "i64"),
        ("[0,9223372036854775808]", "u64"),
        ("[9007199254740992,0.5]", "f64"),
        ("[-9007199254740992,0.5]", "f64"),
    ],
)
def test_the_largest_integer_of_a_type_is_of_that_type(text: str, name: str, run: Run) -> None:
    ran = run("gather", text, "0", "-f", "literal")

    assert ran.status == 0
    assert ran.out.startswith(f"x{name}=")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1])
def test_the_first_integer_that_float64_lacks_is_refused_among_fractions(
    number: int, run: Run
) -> None:
    ran = run("gather", f"[0.5,{number}]", "0")

    assert ran.status == 65
    assert f"the integer at `$[1]` is {number}, among fractions: expected -2^53 to 2^53" in ran.err


def test_a_list_of_64_brackets_is_the_deepest(run: Run) -> None:
    assert run("gather", "[" * 64 + "7" + "]" * 64, "xi8=0", "-f", "npy").status == 0

    ran = run("gather", "[" * 65 + "7" + "]" * 65, "xi8=0")

    assert ran.status == 65
    assert "is nested deeper than 64: expected rank at most 64" in ran.err


@pytest.mark.parametrize(("limit", "status"), [("24", 0), ("23", 65)])
def test_strings_count_as_wide_as_the_widest(limit: str, status: int, run: Run) -> None:
    ran = run("gather", '["ab","abc"]', "xi8=1", "--max-bytes", limit)

    assert ran.status == status
    assert ran.out == ("" if status else '"abc"\n')

    if status:
        assert (
            "the strings take 24 bytes, each as wide as the longest: expected at most 23" in ran.err
        )
