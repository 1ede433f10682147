"""The element types, beside NumPy's and those of ml_dtypes."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gathercli.errors import InputError, UsageError
from gathercli.spec.dtypes import (
    BOOL,
    DTYPES,
    EXACT,
    INT64,
    PLAIN,
    STRING,
    DType,
    Kind,
    described,
    dtype,
    dtype_in_json,
    foreign,
    in_words,
    named,
)

INTEGERS = [each for each in DTYPES if each.integral]
KINDS = {"b": Kind.BOOL, "i": Kind.INT, "u": Kind.UINT, "f": Kind.FLOAT, "c": Kind.COMPLEX}


def peer(of: DType) -> np.dtype[np.generic]:
    """Return the type of NumPy, or of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, of.name, None) or of.name)


@pytest.mark.parametrize("of", [each for each in DTYPES if each is not STRING], ids=str)
def test_a_type_is_that_of_its_name(of: DType) -> None:
    assert of.itemsize == peer(of).itemsize
    assert of.opaque == hasattr(ml_dtypes, of.name)
    assert of.kind == (KINDS[peer(of).kind] if not of.opaque else of.kind)
    assert of.narrow == (of.opaque and of.name != "bfloat16")


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_an_integer_type_has_the_bounds_of_its_name(of: DType) -> None:
    iinfo: Any = ml_dtypes.iinfo if of.opaque else np.iinfo
    most = iinfo(peer(of))

    assert of.bounds == (int(most.min), int(most.max))


@pytest.mark.parametrize("of", [each for each in DTYPES if each not in (BOOL, STRING)], ids=str)
def test_a_type_has_the_bits_of_its_name(of: DType) -> None:
    digits = re.match(r"[a-z]+(\d+)", of.name)

    assert digits
    assert of.bits == int(digits[1])


def test_the_integer_types_are_these() -> None:
    sizes = (2, 4, 8, 16, 32, 64)

    assert sorted(map(str, INTEGERS)) == sorted(
        f"{sign}int{n}" for sign in ("", "u") for n in sizes
    )


@pytest.mark.parametrize("of", DTYPES, ids=str)
def test_a_type_is_found_by_each_of_its_names(of: DType) -> None:
    assert [dtype(name) for name in (of.name, of.short)] == [of] * 2
    assert [dtype_in_json(name, "here") for name in (of.name, of.short, of.oip)] == [of] * 3
    assert str(of) == of.name
    assert {of: 1}[of._replace()] == 1


def test_no_two_types_share_a_name() -> None:
    names = [name for each in DTYPES for name in {each.name, each.short, each.oip}]

    assert len(set(names)) == len(names)


def test_a_character_of_a_string_has_four_bytes() -> None:
    assert (STRING.itemsize, STRING.bits, STRING.integral, BOOL.integral) == (4, 0, False, False)
    assert dtype_in_json("STRING", "here") is STRING


@pytest.mark.parametrize(
    ("name", "hint"), [("flot32", "did you mean `float32`?"), ("qqqqqq", None), ("INT64", None)]
)
def test_an_unknown_name_is_refused(name: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as info:
        dtype(name)

    assert named(name) is None
    assert info.value.message.startswith(f"unknown dtype `{name}`: expected one of bool int8 ")
    assert info.value.message.endswith(" complex128 string, or one such as float8_e4m3fn, int4")
    assert (info.value.rule, info.value.value) == ("dtype", name)
    assert hint is None or info.value.hint == hint


@pytest.mark.parametrize("name", ["FP31", 5, None, ["INT64"]])
def test_an_unknown_datatype_of_json_is_refused_with_its_place(name: object) -> None:
    with pytest.raises(InputError) as info:
        dtype_in_json(name, "$.datatype")

    assert info.value.message.startswith("unknown datatype ")
    assert " at `$.datatype`: expected one of BOOL INT8 " in info.value.message
    assert info.value.message.endswith(" BYTES STRING, or one such as FP8_E4M3FN, INT4")
    assert (info.value.rule, info.value.where, info.value.value) == ("json", "$.datatype", name)


def test_types_are_listed_with_one_word_for_all_narrow_ones() -> None:
    narrow = [each for each in DTYPES if each.narrow]

    assert in_words(PLAIN) == [each.name for each in PLAIN]
    assert in_words(narrow) == ["float8", "float6", "float4", "int4", "int2 types"]
    assert in_words(narrow[1:]) == [each.name for each in narrow[1:]]
    assert in_words([*narrow[1:], INT64]) == ["int64", *(each.name for each in narrow[1:])]
    assert in_words([]) == []


def test_a_foreign_type_is_none_of_these() -> None:
    unknown = foreign(np.dtype("M8[s]"))

    assert (unknown.name, unknown.short, unknown.kind, unknown.bits) == (
        *("datetime64[s]", "datetime64[s]"),
        *(Kind.OTHER, 0),
    )
    assert not unknown.opaque


def test_a_type_and_a_shape_are_one_word() -> None:
    assert described(INT64, "2,5") == "i64[2,5]"
    assert described(None, "2") == "[2]"


def test_the_first_integer_that_float64_lacks_is_beyond_the_exact_ones() -> None:
    assert (float(EXACT - 1), float(EXACT)) == (EXACT - 1, EXACT)
    assert float(EXACT + 1) != EXACT + 1
