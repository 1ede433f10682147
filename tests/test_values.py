"""Nested lists as tensors: inferred and declared types, shapes, and what is refused."""

from __future__ import annotations

import json as stdlib_json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gathercli
from gathercli import GatherError, InputError, LimitError, gather
from gathercli.compute.conversion import convert, to_bfloat16
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.io.formats import jsontext as json
from gathercli.io.formats import literal
from gathercli.io.formats.values import flatten, tensor_of
from gathercli.spec.dtypes import BFLOAT16, FLOAT64, INT64, STRING, DType, dtype
from gathercli.text import Overflow
from tests.tensorfiles import amply

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

NAN, INF = float("nan"), float("inf")
WORDS: Final = ["NaN", "Infinity", "-Infinity"]


def plain(text: str, *, declared: str | None = None, empty: DType = FLOAT64) -> Tensor:
    """Read a plain JSON list."""
    return json.tensor(
        json.parse(text),
        None,
        declared=None if declared is None else dtype(declared),
        empty=empty,
        max_bytes=None,
        name="x.json",
    )


def refused(text: str, declared: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        plain(text, declared=declared)
    return caught.value


@pytest.mark.parametrize(
    ("text", "name", "shape"),
    [
        ("3", "int64", ()),
        ("[3]", "int64", (1,)),
        ("[[0,0,4],[4,0,0]]", "int64", (2, 3)),
        ("-9223372036854775808", "int64", ()),
        ("[9223372036854775807]", "int64", (1,)),
        ("[9223372036854775808]", "uint64", (1,)),
        ("[0,18446744073709551615]", "uint64", (2,)),
        ("[1,2.5]", "float64", (2,)),
        ("[1.0]", "float64", (1,)),
        ("[1e2]", "float64", (1,)),
        ("-0.0", "float64", ()),
        ("[9007199254740992,0.5]", "float64", (2,)),
        ("[-9007199254740992,0.5]", "float64", (2,)),
        ("[true,false]", "bool", (2,)),
        ("true", "bool", ()),
        ('["a",""]', "string", (2,)),
        ('"a"', "string", ()),
        ('["NaN"]', "float64", (1,)),
        ('["NaN","Infinity","-Infinity"]', "float64", (3,)),
        ("[NaN,Infinity,-Infinity]", "float64", (3,)),
        ('[1,"NaN"]', "float64", (2,)),
        ('[["-Infinity"],[0]]', "float64", (2, 1)),
        ('["NaN","nan"]', "string", (2,)),
        ('["NaN","a"]', "string", (2,)),
        ("[]", "float64", (0,)),
        ("[[],[]]", "float64", (2, 0)),
        ("[[[],[]]]", "float64", (1, 2, 0)),
    ],
)
def test_the_type_of_an_untyped_list_is_inferred(
    text: str, name: str, shape: tuple[int, ...]
) -> None:
    tensor = plain(text)
    assert (tensor.dtype.name, tensor.shape) == (name, shape)
    assert tensor.array.dtype == tensor.storage == np.dtype(
        "<U1" if name == "string" else name
    ) or (name == "string" and tensor.array.dtype.kind == "U")
    assert not tensor.typed


@pytest.mark.parametrize("text", ["[]", "[[],[]]", "[[]]"])
def test_an_empty_list_of_indices_is_int64(text: str) -> None:
    assert plain(text, empty=INT64).array.dtype == np.int64


def test_an_empty_list_picks_nothing() -> None:
    assert gather([1, 2, 3], []).shape == (0,)
    assert gather([], []).dtype == np.float64


def test_numpy_values_in_a_list_bring_their_type() -> None:
    assert gather([np.float32(0.1)], [0]).dtype == np.float32
    assert gather([1, 2], [np.uint8(1)]).tolist() == [2]
    assert gather([np.array([1, 2]), np.array([3, 4])], [1]).tolist() == [[3, 4]]


def test_arrays_and_lists_stand_side_by_side() -> None:
    assert gather([np.array([1, 2]), [3, 4]], [0]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[9007199254740993,-9007199254740993]", [2**53 + 1, -(2**53) - 1]),
        ("[9223372036854775807,-9223372036854775808]", [2**63 - 1, -(2**63)]),
        ("[18446744073709551615,0]", [2**64 - 1, 0]),
    ],
)
def test_integers_never_pass_through_a_float(text: str, values: list[int]) -> None:
    assert plain(text).array.tolist() == values


def test_the_non_finite_words_are_numbers_among_numbers() -> None:
    assert str(plain('[1,"NaN","Infinity","-Infinity"]').array.tolist()) == "[1.0, nan, inf, -inf]"


@pytest.mark.parametrize(
    ("text", "rule", "where", "message"),
    [
        (
            "[9223372036854775808,-1]",
            "dtype",
            "$[0]",
            "the value at `$[0]` is 9223372036854775808, which int64 cannot hold: "
            "expected -9223372036854775808 to 9223372036854775807",
        ),
        (
            "[18446744073709551616]",
            "dtype",
            "$[0]",
            "the value at `$[0]` is 18446744073709551616, which uint64 cannot hold: "
            "expected 0 to 18446744073709551615",
        ),
        (
            "[[0],[-9223372036854775809]]",
            "dtype",
            "$[1][0]",
            "the value at `$[1][0]` is -9223372036854775809, which int64 cannot hold: "
            "expected -9223372036854775808 to 9223372036854775807",
        ),
        (
            "[true,1]",
            "dtype",
            "$[1]",
            "the value at `$[1]` is 1, among booleans: expected one sort of values, "
            "booleans or numbers or strings",
        ),
        (
            "[[1,2],[3,true]]",
            "dtype",
            "$[1][1]",
            "the value at `$[1][1]` is true, among numbers: expected one sort of values, "
            "booleans or numbers or strings",
        ),
        (
            '[0,"a"]',
            "dtype",
            "$[1]",
            'the value at `$[1]` is `"a"`, among numbers: expected one sort of values, '
            "booleans or numbers or strings",
        ),
        (
            "[1e400]",
            "dtype",
            "$[0]",
            "the value at `$[0]` is 1e400, which float64 cannot hold: "
            "expected a number within the range of float64",
        ),
        (
            "[0.5,-1e400]",
            "dtype",
            "$[1]",
            "the value at `$[1]` is -1e400, which float64 cannot hold: "
            "expected a number within the range of float64",
        ),
        (
            "[0.5,[1]]",
            "ragged",
            "$[0]",
            "the list at `$[0]` is 0.5 beside lists: expected a list, like its siblings",
        ),
        (
            "[[1,2],[3]]",
            "ragged",
            "$[1]",
            "the list at `$[1]` has length 1: expected length 2, like its siblings",
        ),
        (
            "[null]",
            "json",
            "$[0]",
            "the value at `$[0]` is null: expected a number, a boolean, a string or a list",
        ),
        (
            '[[{"a":1}]]',
            "json",
            "$[0][0]",
            "the value at `$[0][0]` is an object: expected a number, a boolean, a string or a list",
        ),
    ],
)
def test_a_list_of_no_type_is_refused_with_its_path(
    text: str, rule: str, where: str, message: str
) -> None:
    error = refused(text)
    assert (error.rule, error.where) == (rule, where)
    assert error.message == message


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[9007199254740993,0.5]", "$[0]"),
        ("[[0.5],[-9007199254740993]]", "$[1][0]"),
        ("[0.5,18014398509481984]", "$[1]"),
        ('["NaN",9007199254740993]', "$[1]"),
    ],
)
def test_integers_beyond_2_53_among_fractions_are_refused(text: str, where: str) -> None:
    error = refused(text)
    assert (error.rule, error.where) == ("dtype", where)
    assert "expected -2^53 to 2^53" in str(error)


@pytest.mark.parametrize(
    ("indices", "where"),
    [([[0, 0, 0], [0, 0, 1.5]], "$[1][2]"), ([0, True and 1.0], "$[1]"), ([[True]], "$[0][0]")],
)
def test_a_float_or_bool_where_an_index_belongs_is_refused_with_its_path(
    indices: Any, where: str
) -> None:
    with pytest.raises(GatherError) as caught:
        gather([1, 2], indices)
    assert (caught.value.rule, caught.value.where) == ("indices-dtype", where)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[1,2", "json"),
        ("[1,,2]", "json"),
        ("[1] 2", "json"),
        ("", "json"),
        ("nul", "json"),
        ("[" * 200_000, "json"),
        ("[" + "9" * 10_000 + "]", "dtype"),
        ('{"a":[1],"a":[2]}', "json"),
        ('["\\ud800"]', "dtype"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_text_that_is_no_tensor_is_one_error(text: str, rule: str) -> None:
    assert refused(text).rule == rule


def test_a_byte_order_mark_is_read_over() -> None:
    assert json.parse(b"\xef\xbb\xbf[1]") == [1]


def test_bytes_that_are_no_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(InputError) as caught:
        json.parse(b"[1\xff]")
    assert caught.value.message == "byte 2 is 0xff: expected UTF-8 text"


def test_sixty_five_brackets_are_too_many_dimensions() -> None:
    with pytest.raises(LimitError) as caught:
        plain("[" * 65 + "]" * 65)
    assert caught.value.rule == "limit"
    assert plain("[" * 64 + "]" * 64).shape == (1,) * 63 + (0,)


def test_a_list_that_holds_itself_is_too_deep() -> None:
    one: list[Any] = []
    one.append(one)
    two: list[Any] = []
    two += [two, two]

    for nested in (one, two):
        with pytest.raises(LimitError) as caught:
            gathercli.gather(nested, 0)

        assert caught.value.message == (
            "`data`: the list at `$` is nested deeper than 64: expected rank at most 64"
        )


def test_what_is_no_element_is_named_by_its_type() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1, object()], 0)

    assert caught.value.message == (
        "`data`: the value at `$[1]` is of type `object`: "
        "expected a number, a boolean, a string or a list"
    )


@pytest.mark.parametrize(
    ("values", "name", "held"),
    [
        ([1, -1], "int8", [1, -1]),
        ([255], "uint8", [255]),
        ([2.0], "int32", [2]),
        ([2**64 - 1], "uint64", [2**64 - 1]),
        ([1, 2], "float32", [1.0, 2.0]),
        ([0.1], "float32", [float(np.float32(0.1))]),
        ([2**24], "float32", [2.0**24]),
        ([2**60], "float32", [2.0**60]),
        ([2**11], "float16", [2048.0]),
        ([65519.0], "float16", [65504.0]),
        ([2**53, 2**60], "float64", [2.0**53, 2.0**60]),
        (["NaN", 1], "float32", [NAN, 1.0]),
        ([True], "bool", [True]),
        (["a", "bc"], "string", ["a", "bc"]),
        (["NaN"], "string", ["NaN"]),
        ([1, 2.5], "complex128", 1 + 2.5j),
        ([1, 2.5, 0], "complex128", [1 + 0j, 2.5 + 0j, 0j]),
        ([[1, 2], [3.5, -4]], "complex64", [1 + 2j, 3.5 - 4j]),
        ([[[1, 2]]], "complex128", [[1 + 2j]]),
        ([1 + 2j, 3 - 1j], "complex128", [1 + 2j, 3 - 1j]),
        ([[0, "Infinity"]], "complex64", [complex(0, INF)]),
        ([], "int8", []),
    ],
)
def test_a_declared_type_holds_what_is_written(values: Any, name: str, held: Any) -> None:
    tensor = tensor_of(values, declared=dtype(name))
    assert tensor.dtype.name == name
    assert tensor.typed
    np.testing.assert_array_equal(tensor.array, np.array(held, storage_of(dtype(name))))


@pytest.mark.parametrize(
    ("values", "name", "where", "expected"),
    [
        ([0, 128], "int8", "$[1]", "-128 to 127"),
        ([-1], "uint8", "$[0]", "0 to 255"),
        ([[0], [1.5]], "int64", "$[1][0]", "an integer"),
        (["NaN"], "int64", "$[0]", "an integer"),
        ([INF], "int64", "$[0]", "an integer"),
        ([True], "int64", "$[0]", "an integer"),
        ([2**24 + 1], "float32", "$[0]", "an integer that float32 holds exactly"),
        ([2**53 + 1], "float64", "$[0]", "an integer that float64 holds exactly"),
        ([2**11 + 1], "float16", "$[0]", "an integer that float16 holds exactly"),
        ([257], "bfloat16", "$[0]", "an integer that bfloat16 holds exactly"),
        ([65520.0], "float16", "$[0]", "a number within the range of float16"),
        ([1e39], "float32", "$[0]", "a number within the range of float32"),
        ([3.4e38], "bfloat16", "$[0]", "a number within the range of bfloat16"),
        ([Overflow("1e400")], "float64", "$[0]", "a number within the range of float64"),
        ([Overflow("1e400")], "float32", "$[0]", "a number within the range of float32"),
        ([True], "float64", "$[0]", "a number"),
        (["a"], "float64", "$[0]", "a number"),
        ([1, 0], "bool", "$[0]", "true or false"),
        ([1], "string", "$[0]", "a string"),
        (["a", "b\0"], "string", "$[1]", "no NUL at the end, which numpy would drop"),
        (["\ud800"], "string", "$[0]", "no lone surrogate"),
        ([True], "complex64", "$[0]", "a complex number"),
        (["a"], "complex64", "$[0]", "a complex number"),
    ],
)
def test_what_a_declared_type_cannot_hold_is_refused(
    values: Any, name: str, where: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        tensor_of(values, declared=dtype(name))
    error = caught.value
    assert (error.rule, error.where, error.expected) == ("dtype", where, expected)
    assert str(error).endswith(f", which {name} cannot hold: expected {expected}")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([2**53 + 1], "complex128"),
        ([2**24 + 1, 0, 0], "complex64"),
        ([[2**24 + 1, 0]], "complex64"),
        ([1e300, 0.0, 0.0], "complex64"),
        ([[1e300, 0.0]], "complex64"),
        ([1e300 + 1j], "complex64"),
        ([Overflow("1e400"), 0.5, 0.5], "complex128"),
        ([[Overflow("1e400"), 0.5]], "complex128"),
        ([[True, False]], "complex128"),
    ],
    ids=str,
)
def test_the_parts_of_a_complex_number_are_held_as_floats_are(values: Any, name: str) -> None:
    with pytest.raises(InputError) as caught:
        tensor_of(values, declared=dtype(name))
    assert caught.value.rule == "dtype"


def test_a_refused_value_is_shown_as_it_was_written() -> None:
    with pytest.raises(InputError) as caught:
        tensor_of([1e300], declared=INT64)
    assert "is 1e+300, which int64 cannot hold" in str(caught.value)


def test_an_integer_of_many_digits_is_not_written_out() -> None:
    with pytest.raises(InputError) as caught:
        tensor_of([10**4000], declared=INT64)
    assert "an integer of more than 40 digits" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ([1, 2, 3, 4, 5, 6], (2, 3)),
        ([[1, 2, 3], [4, 5, 6]], (2, 3)),
        ([5], ()),
        ([], (0, 3)),
        ([[], []], (2, 0, 3)),
    ],
)
def test_a_flat_list_takes_the_shape_it_is_meant_to_have(
    values: Any, shape: tuple[int, ...]
) -> None:
    assert tensor_of(values, declared=INT64, shape=shape).shape == shape


@pytest.mark.parametrize(
    ("values", "shape"),
    [([1, 2, 3], (2, 2)), ([[1, 2], [3, 4]], (4,)), ([[1, 2, 3], [4, 5, 6]], (3, 2)), ([], (1,))],
)
def test_a_list_of_another_shape_is_refused(values: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        tensor_of(values, declared=INT64, shape=shape)
    assert caught.value.rule == "json"
    assert str(caught.value).startswith("the list at `$` has shape [")


def test_a_list_is_taken_apart_row_by_row() -> None:
    assert flatten([[1, 2], (3, 4)]) == ((2, 2), [1, 2, 3, 4], {int})
    assert flatten(7) == ((), [7], {int})
    assert flatten([[], []]) == ((2, 0), [], set())


def test_strings_that_need_too_much_memory_side_by_side_are_refused() -> None:
    with pytest.raises(LimitError) as caught:
        tensor_of(["a" * 1000] + [""] * 999, max_bytes=1_000_000)
    assert caught.value.message == (
        "the strings take 4000000 bytes, each as wide as the longest: "
        "expected at most 1000000 bytes"
    )


def held(values: Any, name: str) -> Tensor:
    return Tensor(dtype(name), np.array(values, storage_of(dtype(name))))


@pytest.mark.parametrize(
    ("values", "source", "target"),
    [
        ([-128, 127], "int8", "int64"),
        ([0, 127], "int64", "int8"),
        ([0, 2**63 - 1], "int64", "uint64"),
        ([0, 2**63 - 1], "uint64", "int64"),
        ([2**53, -(2**53)], "int64", "float64"),
        ([2**62, -(2**63)], "int64", "float64"),
        ([2**63], "uint64", "float64"),
        ([2**24], "int32", "float32"),
        ([256], "int16", "bfloat16"),
        ([2.0, -0.0], "float64", "int8"),
        ([2.0**63], "float64", "uint64"),
        ([-(2.0**63)], "float64", "int64"),
        ([0.5, NAN, INF, -INF], "float64", "float16"),
        ([0.5, NAN, INF], "float64", "bfloat16"),
        ([0.1], "float32", "float64"),
        ([1, 2], "int64", "complex64"),
        ([0.5], "float64", "complex64"),
        ([0.5 + 2j], "complex128", "complex64"),
        ([65504.0], "float16", "float32"),
    ],
)
def test_a_tensor_converts_when_every_value_survives(values: Any, source: str, target: str) -> None:
    tensor = held(values, source)
    converted = convert(tensor, dtype(target))
    assert converted.dtype is dtype(target)
    assert converted.array.dtype == storage_of(dtype(target))
    for before, after in zip(tensor.array.tolist(), converted.values().tolist(), strict=True):
        assert after == before or (before != before and after != after)  # noqa: PLR0124  (NaN)


@pytest.mark.parametrize(
    ("values", "source", "target", "where", "value"),
    [
        ([0, 200], "int64", "int8", "[1]", "200"),
        ([-1], "int64", "uint64", "[0]", "-1"),
        ([2**63], "uint64", "int64", "[0]", "9223372036854775808"),
        ([2**64 - 1], "uint64", "float64", "[0]", "18446744073709551615"),
        ([0, 2**53 + 1], "int64", "float64", "[1]", "9007199254740993"),
        ([-(2**53) - 1], "int64", "float64", "[0]", "-9007199254740993"),
        ([2**53 + 1], "uint64", "float64", "[0]", "9007199254740993"),
        ([2**63 - 1], "int64", "float64", "[0]", "9223372036854775807"),
        ([2**53 + 1], "int64", "complex128", "[0]", "9007199254740993"),
        ([2**24 + 1], "int64", "float32", "[0]", "16777217"),
        ([2**24 + 1], "int64", "complex64", "[0]", "16777217"),
        ([257], "int64", "bfloat16", "[0]", "257"),
        ([2049], "int64", "float16", "[0]", "2049"),
        ([70000], "int64", "float16", "[0]", "70000"),
        ([1.5], "float64", "int64", "[0]", "1.5"),
        ([NAN], "float64", "int64", "[0]", "nan"),
        ([INF], "float64", "int64", "[0]", "inf"),
        ([2.0**63], "float64", "int64", "[0]", "9.223372036854776e+18"),
        ([2.0**64], "float64", "uint64", "[0]", "1.8446744073709552e+19"),
        ([-1.0], "float64", "uint8", "[0]", "-1.0"),
        ([0.5, 0.1], "float64", "float32", "[1]", "0.1"),
        ([1e300], "float64", "float32", "[0]", "1e+300"),
        ([1e-300], "float64", "float32", "[0]", "1e-300"),
        ([1.0 + 2.0**-8], "float64", "bfloat16", "[0]", "1.00390625"),
        ([0.1j], "complex128", "complex64", "[0]", "0.1j"),
        ([complex(NAN, 1e300)], "complex128", "complex64", "[0]", "(nan+1e+300j)"),
    ],
)
def test_a_value_that_would_change_is_refused(
    values: Any, source: str, target: str, where: str, value: str
) -> None:
    with pytest.raises(InputError) as caught:
        convert(held(values, source), dtype(target))
    assert (caught.value.rule, caught.value.where) == ("dtype", where)
    assert caught.value.message == (
        f"the value at `{where}` is {value}, which {target} cannot hold: "
        "expected one that converts without loss"
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("value", [2**53 + 1, 2**54 + 2 + 1, 2**62 + 1])
def test_a_value_that_would_change_is_found_in_every_memory_order(
    order: Any, endian: str, value: int
) -> None:
    array = np.array([[0, 0, 0], [0, value, 0]], f"{endian}i8").copy(order=order)
    with pytest.raises(InputError) as caught:
        convert(Tensor(INT64, array), FLOAT64)
    assert caught.value.where == "[1,1]"


@pytest.mark.parametrize(
    ("values", "source", "target"),
    [
        ([True], "bool", "int64"),
        ([1], "int64", "bool"),
        (["1"], "string", "int64"),
        ([1], "int64", "string"),
        ([1 + 0j], "complex64", "float64"),
        ([1 + 0j], "complex64", "int64"),
    ],
)
def test_sorts_of_values_do_not_convert(values: Any, source: str, target: str) -> None:
    with pytest.raises(InputError) as caught:
        convert(held(values, source), dtype(target))
    assert caught.value.message == (
        f"the type is {source}, which does not convert to {target}: expected {target}"
    )


def test_a_tensor_of_the_same_type_stays_itself() -> None:
    tensor = held(["a"], "string")
    assert convert(tensor, STRING) is tensor


INTEGER_TYPES: Final = ["int8", "int32", "int64", "uint8", "uint32", "uint64"]
FLOAT_TYPES: Final = ["float16", "bfloat16", "float32", "float64"]
notable = st.sampled_from([2**k + d for k in (7, 8, 11, 24, 31, 53, 63, 64) for d in (-1, 0, 1)])


@settings(derandomize=True, max_examples=400)
@given(
    value=notable | notable.map(lambda v: -v) | st.integers(-(2**63), 2**64 - 1),
    source=st.sampled_from(INTEGER_TYPES),
    target=st.sampled_from(INTEGER_TYPES + FLOAT_TYPES),
)
def test_an_integer_converts_exactly_or_not_at_all(value: int, source: str, target: str) -> None:
    bottom, top = dtype(source).bounds
    value = min(max(value, bottom), top)
    try:
        after = convert(held([value], source), dtype(target)).values()[0].item()
    except InputError:
        after = None
    if target in INTEGER_TYPES:
        least, most = dtype(target).bounds
        fits = least <= value <= most
    else:
        fits = bfloat16_or(target, float(value)) == value
    assert (after is not None) == fits
    assert after is None or int(after) == value


def bfloat16_or(name: str, value: float) -> float | int:
    """Round to a float type, exactly enough to compare with an integer."""
    if name == "bfloat16":
        bits = nearest_bfloat16(value)
        nearest = float(np.array([bits << 16], np.uint32).view(np.float32)[0])
    else:
        with np.errstate(over="ignore"):
            nearest = float(np.array([value]).astype(name)[0])
    return int(nearest) if np.isfinite(nearest) else nearest


def magnitude(bits: int) -> Fraction:
    """Return the value of 15 bits of bfloat16; infinity as the power of two it stands at."""
    exponent, fraction = bits >> 7, bits & 0x7F
    if exponent == 0:
        return Fraction(fraction, 2**133)
    return Fraction(128 + fraction) * Fraction(2) ** (exponent - 134)


def nearest_bfloat16(value: float) -> int:
    """Round to nearest, ties to even, in fractions."""
    sign = 0x8000 if np.signbit(value) else 0
    if np.isinf(value):
        return sign | 0x7F80
    exact = abs(Fraction(value))
    below, above = 0, 0x7F80
    if exact >= magnitude(above):
        return sign | above
    while above - below > 1:
        middle = (below + above) // 2
        if magnitude(middle) <= exact:
            below = middle
        else:
            above = middle
    to_below, to_above = exact - magnitude(below), magnitude(above) - exact
    even = below if below % 2 == 0 else above
    chosen = even if to_below == to_above else below if to_below < to_above else above
    return sign | chosen


def rounded(values: list[float]) -> list[int]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bits = to_bfloat16(np.array(values, np.float64))
    assert bits.dtype == np.uint16
    found: list[int] = bits.tolist()
    return found


SMALLEST, LARGEST = 2.0**-133, float(magnitude(0x7F7F))


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (0.0, 0x0000),
        (-0.0, 0x8000),
        (1.0, 0x3F80),
        (-1.0, 0xBF80),
        (1 + 2**-7, 0x3F81),
        (1 + 2**-8, 0x3F80),
        (1 + 2**-8 + 2**-40, 0x3F81),
        (1 + 2**-8 - 2**-40, 0x3F80),
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 3 * 2**-8 - 2**-40, 0x3F81),
        (SMALLEST, 0x0001),
        (SMALLEST / 2, 0x0000),
        (SMALLEST / 2 * (1 + 2**-52), 0x0001),
        (-SMALLEST / 2 * (1 + 2**-52), 0x8001),
        (SMALLEST * 1.5, 0x0002),
        (5e-324, 0x0000),
        (-5e-324, 0x8000),
        (LARGEST, 0x7F7F),
        (2.0**128 - 2.0**119, 0x7F80),
        ((2.0**128 - 2.0**119) * (1 - 2**-53), 0x7F7F),
        (2.0**128, 0x7F80),
        (1e300, 0x7F80),
        (-1e300, 0xFF80),
        (INF, 0x7F80),
        (-INF, 0xFF80),
    ],
)
def test_a_float64_is_rounded_once_to_bfloat16(value: float, bits: int) -> None:
    assert rounded([value]) == [bits]
    assert nearest_bfloat16(value) == bits


def test_nan_stays_nan_in_bfloat16() -> None:
    patterns = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
    wide = np.array(patterns, np.uint64).view(np.float64)
    with np.errstate(invalid="ignore"):
        bits = to_bfloat16(wide)
    assert all((b & 0x7F80) == 0x7F80 and (b & 0x7F) != 0 for b in bits.tolist())
    assert [b >> 15 for b in bits.tolist()] == [0, 1, 0, 1]


def test_every_bfloat16_rounds_to_itself() -> None:
    bits = np.arange(2**16, dtype=np.uint32).astype(np.uint16)
    numbers = bits[(bits & 0x7FFF) <= 0x7F80]
    wide = numbers.view(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(to_bfloat16(wide), numbers)


def test_between_two_bfloat16_the_nearer_is_taken_and_of_a_tie_the_even() -> None:
    random = np.random.default_rng(0)
    bits = np.unique(np.append(random.integers(0, 0x7F80, 700), [0, 1, 2, 0x7E, 0x7F, 0x80]))
    values = []
    for below in bits.tolist():
        tie = float((magnitude(below) + magnitude(below + 1)) / 2)
        near = [tie, float(np.nextafter(tie, INF)), float(np.nextafter(tie, 0))]
        near += [tie * (1 + 2**-30), tie * (1 - 2**-30), tie * (1 + 2**-25), tie * (1 - 2**-25)]
        values += near + [-v for v in near]
    assert rounded(values) == [nearest_bfloat16(v) for v in values]


def test_random_bits_are_rounded_exactly() -> None:
    wide = np.frombuffer(np.random.default_rng(1).bytes(8 * 3000), np.float64)
    exponents = np.random.default_rng(2).integers(-140, 130, 3000)
    ordinary = np.ldexp(np.random.default_rng(3).uniform(-2, 2, 3000), exponents)
    values = [v for v in [*wide.tolist(), *ordinary.tolist()] if v == v]  # noqa: PLR0124  (NaN)
    assert rounded(values) == [nearest_bfloat16(v) for v in values]


@settings(derandomize=True, max_examples=300)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_any_float_is_rounded_exactly(values: list[float]) -> None:
    assert rounded(values) == [nearest_bfloat16(v) for v in values]


@settings(derandomize=True, max_examples=100)
@given(value=st.floats(width=32, allow_nan=False))
def test_from_float32_the_rounding_is_that_of_everyone(value: float) -> None:
    with np.errstate(over="ignore"):
        theirs = np.array([value], np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    assert rounded([value]) == theirs.tolist()


def test_rounding_keeps_the_shape() -> None:
    assert to_bfloat16(np.ones((2, 3))).shape == (2, 3)
    assert to_bfloat16(np.ones(())).shape == ()


def test_declared_bfloat16_is_held_as_its_bits() -> None:
    tensor = tensor_of([1.0, "NaN", "-Infinity", 0.1], declared=BFLOAT16)
    assert tensor.array.tolist() == [0x3F80, 0x7FC0, 0xFF80, 0x3DCD]


@pytest.mark.parametrize("word", WORDS)
def test_a_non_finite_word_is_a_word_among_words(word: str) -> None:
    assert plain(f'["{word}","and"]').array.tolist() == [word, "and"]


# The Python interface


def test_a_refused_argument_is_named() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1], [2**64])
    assert str(caught.value).startswith("`indices`: the value at `$[0]` is 18446744073709551616")


def test_a_result_beyond_memory_is_a_limit() -> None:
    with pytest.raises(gathercli.LimitError):
        gathercli.gather(np.zeros((0, 2**55), "u1"), [0])
    with pytest.raises(gathercli.LimitError):
        gathercli.load("zeros:9007199254740992xu8")


@pytest.mark.parametrize(
    "array", [np.array([1], "M8[s]"), np.array([1], object), np.array([b"a"]), np.zeros(1, "i4,i4")]
)
def test_what_no_operator_takes_is_not_saved(array: Any, tmp_path: Path) -> None:
    with pytest.raises(gathercli.DtypeError):
        gathercli.save(tmp_path / "x.npy", array)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(gathercli.UsageError):
        gathercli.save(tmp_path / "x.npy", [1, 2], format="bogus")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json"])
def test_what_is_saved_is_loaded(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    gathercli.save(path, [[1, 2], [3, 4]])
    assert gathercli.load(path).tolist() == [[1, 2], [3, 4]]


@amply
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_untyped_integers_are_int64_to_its_ends(numbers: list[int]) -> None:
    text = stdlib_json.dumps([*numbers, 2**63 - 1, -(2**63)])
    found = literal.parse(text, declared=None, empty=dtype("float64"), max_bytes=None)
    assert found is not None
    assert found.dtype.name == "int64"
    assert found.array.tolist() == stdlib_json.loads(text)


@amply
@given(st.lists(st.integers(2**63, 2**64 - 1), min_size=1), st.integers(0, 2**63))
def test_untyped_integers_are_uint64_where_they_must_be(numbers: list[int], small: int) -> None:
    text = stdlib_json.dumps([*numbers, small])
    found = literal.parse(text, declared=None, empty=dtype("float64"), max_bytes=None)
    assert found is not None
    assert found.dtype.name == "uint64"
    assert found.array.tolist() == stdlib_json.loads(text)


def test_the_limit_counts_strings_as_wide_as_they_are_held(run: Run) -> None:
    wide = stdlib_json.dumps(["x" * 10_000, *["y"] * 99])
    refused = run("gather", wide, "0", "--max-bytes", "1M")
    assert refused.status == 65
    assert refused.err.endswith("rule: limit\n")
