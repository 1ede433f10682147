"""Nested lists as tensors: inferred and declared types, shapes, and what is refused."""

from __future__ import annotations

import json as stdlib_json
from json import dumps
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gathercli
from gathercli import GatherError, InputError, LimitError, gather
from gathercli.compute.storage import storage_of
from gathercli.io.formats import jsontext as json
from gathercli.io.formats import literal, npz, values
from gathercli.io.formats import npy as npy_module
from gathercli.io.formats import safetensorsfile as safetensors
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import flatten, tensor_of
from gathercli.spec import shapes as dims
from gathercli.spec.dtypes import FLOAT64, INT64, DType, dtype
from gathercli.text import Overflow
from tests.tensorfiles import amply

if TYPE_CHECKING:
    from pathlib import Path

    from gathercli.compute.tensor import Tensor
    from tests.conftest import Run


NAN, INF = float("nan"), float("inf")
WORDS: Final = ["NaN", "Infinity", "-Infinity"]


def plain(text: str, *, declared: str | None = None, empty: DType = FLOAT64) -> Tensor:
    """Read a plain JSON list."""
    return json.tensor(
        json.parse(text),
        None,
        ElementTypes(None if declared is None else dtype(declared), empty=empty),
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
    tensor = tensor_of(values, ElementTypes(dtype(name)))
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
        tensor_of(values, ElementTypes(dtype(name)))
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
        tensor_of(values, ElementTypes(dtype(name)))
    assert caught.value.rule == "dtype"


def test_a_refused_value_is_shown_as_it_was_written() -> None:
    with pytest.raises(InputError) as caught:
        tensor_of([1e300], ElementTypes(INT64))
    assert "is 1e+300, which int64 cannot hold" in str(caught.value)


def test_an_integer_of_many_digits_is_not_written_out() -> None:
    with pytest.raises(InputError) as caught:
        tensor_of([10**4000], ElementTypes(INT64))
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
    assert tensor_of(values, ElementTypes(INT64), shape=shape).shape == shape


@pytest.mark.parametrize(
    ("values", "shape"),
    [([1, 2, 3], (2, 2)), ([[1, 2], [3, 4]], (4,)), ([[1, 2, 3], [4, 5, 6]], (3, 2)), ([], (1,))],
)
def test_a_list_of_another_shape_is_refused(values: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        tensor_of(values, ElementTypes(INT64), shape=shape)
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


@pytest.mark.parametrize("word", WORDS)
def test_a_non_finite_word_is_a_word_among_words(word: str) -> None:
    assert plain(f'["{word}","and"]').array.tolist() == [word, "and"]


# The Python interface


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
    found = literal.parse(text)
    assert found is not None
    assert found.dtype.name == "int64"
    assert found.array.tolist() == stdlib_json.loads(text)


@amply
@given(st.lists(st.integers(2**63, 2**64 - 1), min_size=1), st.integers(0, 2**63))
def test_untyped_integers_are_uint64_where_they_must_be(numbers: list[int], small: int) -> None:
    text = stdlib_json.dumps([*numbers, small])
    found = literal.parse(text)
    assert found is not None
    assert found.dtype.name == "uint64"
    assert found.array.tolist() == stdlib_json.loads(text)


def test_the_limit_counts_strings_as_wide_as_they_are_held(run: Run) -> None:
    wide = stdlib_json.dumps(["x" * 10_000, *["y"] * 99])
    refused = run("gather", wide, "0", "--max-bytes", "1M")
    assert refused.status == 65
    assert refused.err.endswith("rule: limit\n")


def test_the_limits_are_these() -> None:
    assert (dims.LARGEST, dims.MAX_RANK) == (9_223_372_036_854_775_807, 64)
    assert (npz.MAX_ARCHIVE_MEMBERS, npz.MAX_RATIO, npz.MAX_UNQUESTIONED_MEMBER) == (
        100_000,
        200,
        268_435_456,
    )
    assert (values.MAX_UNQUESTIONED_STRINGS, values.MAX_PADDING) == (268_435_456, 16)
    assert npy_module.MAX_HEADER == 10_000
    assert safetensors.MAX_JSON_HEADER == 100_000_000


def test_padded_strings_may_take_sixteen_times_their_own_bytes(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(values, "MAX_UNQUESTIONED_STRINGS", 100)

    sixteen = dumps(["a" * 16, *[""] * 15])

    assert run("gather", sixteen, "15").out == '""\n'

    ran = run("gather", dumps(["a" * 16, *[""] * 16]), "15")

    assert ran.status == 65
    assert "the strings take 1088 bytes, each as wide as the longest: expected at most 1024" in (
        ran.err
    )
    assert run("gather", dumps(["a" * 5, *[""] * 4]), "4").out == '""\n'
