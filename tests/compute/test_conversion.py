"""Values are stored as a type, and tensors converted to another, exactly or with a note."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from math import inf, isfinite, isinf, isnan, trunc
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.conversion import CastTensor, convert, to_bfloat16
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.spec.dtypes import BFLOAT16, FLOAT64, INT64, PLAIN, STRING, DType, Kind, dtype
from tests.cases import drawn
from tests.io.formats.test_formats import specials
from tests.tensorfiles import often, tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


NAN, INF = float("nan"), float("inf")


def stored_as(name: str, values: Any) -> Tensor:
    return Tensor(dtype(name), np.array(values, storage_of(dtype(name))))


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
        convert(stored_as(source, values), dtype(target))
    assert caught.value.message == (
        f"the type is {source}, which does not convert to {target}: expected {target}"
    )


def test_a_tensor_of_the_same_type_stays_itself() -> None:
    tensor = stored_as("string", ["a"])
    assert convert(tensor, STRING) is tensor


def value_of(bits: int) -> float:
    """Return the value of 15 bits of bfloat16; infinity as the power of two it stands at."""
    value = float(np.array([bits << 16], np.uint32).view(np.float32)[0])
    return value if isfinite(value) else 2.0**128


def nearest_bfloat16(value: float) -> int:
    """Round to nearest, ties to even, in fractions; return the bits."""
    near: Any = nearest(Fraction(value), GRIDS["bfloat16"]) if isfinite(value) else REFUSED
    size = INF if near is REFUSED else abs(float(near))
    bits = int(np.array([size], np.float32).view(np.uint32)[0]) >> 16
    return bits | (0x8000 if np.signbit(value) else 0)


def rounded(values: list[float]) -> list[int]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bits = to_bfloat16(np.array(values, np.float64))
    assert bits.dtype == np.uint16
    codes: list[int] = bits.tolist()
    return codes


SMALLEST, LARGEST = 2.0**-133, value_of(0x7F7F)


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
        tie = (value_of(below) + value_of(below + 1)) / 2
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


@drawn(300)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_any_float_is_rounded_exactly(values: list[float]) -> None:
    assert rounded(values) == [nearest_bfloat16(v) for v in values]


@drawn(100)
@given(value=st.floats(width=32, allow_nan=False))
def test_from_float32_the_rounding_is_that_of_everyone(value: float) -> None:
    with np.errstate(over="ignore"):
        theirs = np.array([value], np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    assert rounded([value]) == theirs.tolist()


def test_rounding_keeps_the_shape() -> None:
    assert to_bfloat16(np.ones((2, 3))).shape == (2, 3)
    assert to_bfloat16(np.ones(())).shape == ()


def test_declared_bfloat16_is_held_as_its_bits() -> None:
    tensor = tensor_of([1.0, "NaN", "-Infinity", 0.1], ElementTypes(BFLOAT16))
    assert tensor.array.tolist() == [0x3F80, 0x7FC0, 0xFF80, 0x3DCD]


NUMBERS: Final = tuple(
    element_type for element_type in PLAIN if element_type.kind is not Kind.STRING
)
REALS: Final = tuple(
    element_type for element_type in NUMBERS if element_type.kind is not Kind.COMPLEX
)


class Grid(NamedTuple):
    """The floats of a type: bits of precision, the exponent of the last place, the largest."""

    digits: int
    lowest: int
    largest: Fraction


GRIDS: Final = {
    "float16": Grid(11, -24, Fraction(65504)),
    "bfloat16": Grid(8, -133, Fraction(255 * 2**120)),
    "float32": Grid(24, -149, Fraction((2**24 - 1) * 2**104)),
    "float64": Grid(53, -1074, Fraction((2**53 - 1) * 2**971)),
}
PARTS: Final = {"complex64": "float32", "complex128": "float64"}
REFUSED: Final = object()


def nearest(exact: Fraction, grid: Grid) -> Any:
    """Round to the nearest float of a type, ties to even; refuse what would become infinite."""
    if not exact:
        return exact
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    place = Fraction(2) ** max(exponent - grid.digits + 1, grid.lowest)
    rounded = round(exact / place) * place  # Python rounds ties to even
    return rounded if abs(rounded) <= grid.largest else REFUSED


def converted(value: Any, element_type: DType, *, truncate: bool = False) -> Any:
    """Say what an element becomes: a number that is equal, or REFUSED."""
    if element_type.kind is Kind.BOOL:
        return value != 0
    if element_type.kind is Kind.COMPLEX:
        part = dtype(PARTS[element_type.name])
        parts = (converted(value.real, part), converted(getattr(value, "imag", 0.0), part))
        return REFUSED if REFUSED in parts else parts
    if isinstance(value, float) and not isfinite(value):
        return REFUSED if element_type.integral else value
    if element_type.integral:
        whole = trunc(value) if truncate else round(Fraction(value))  # Python rounds ties to even
        low, high = element_type.bounds
        return whole if low <= whole <= high else REFUSED
    return nearest(Fraction(value), GRIDS[element_type.name])


def same(one: Any, other: Any) -> bool:
    """Compare exactly; NaN equals NaN."""
    if isinstance(other, tuple):
        parts = (one.real, one.imag if isinstance(one, complex) else 0.0)
        return all(map(same, parts, other))
    if isinstance(one, float) and isnan(one):
        return isinstance(other, float) and isnan(other)
    if isinstance(one, float) and isinf(one):
        return bool(one == other)
    if isinstance(other, float) and not isfinite(other):
        return False
    return Fraction(one) == Fraction(other)


def elements(tensor: Tensor) -> list[Any]:
    """Return the elements as Python's numbers."""
    numbers: list[Any] = tensor.values().reshape(-1).tolist()
    return numbers


def assert_as_the_oracle_says(tensor: Tensor, element_type: DType) -> None:
    """Convert elements one by one and all together, with --lossy, --truncate, and neither."""
    kept = assert_lossy_as_the_oracle_says(tensor, element_type, truncate=False)
    if element_type.integral:
        assert assert_lossy_as_the_oracle_says(tensor, element_type, truncate=True) == kept
    assert_lossless_where_all_is_kept(tensor, element_type, kept)


def assert_lossy_as_the_oracle_says(
    tensor: Tensor, element_type: DType, *, truncate: bool
) -> list[bool]:
    values = elements(tensor)
    expected = [converted(value, element_type, truncate=truncate) for value in values]
    kept = [
        answer is not REFUSED and same(value, answer)
        for value, answer in zip(values, expected, strict=True)
    ]
    for at, answer in enumerate(expected):
        one = Tensor(tensor.dtype, tensor.array.reshape(-1)[at : at + 1])
        if answer is REFUSED:
            with pytest.raises(InputError, match="cannot hold: expected one that is within"):
                CastTensor(one, element_type, lossy=True, truncate=truncate)
        else:
            made = CastTensor(one, element_type, lossy=True, truncate=truncate)
            assert same(elements(made.whole())[0], answer)
            assert bool(made.note) == (not kept[at])
    possible = Tensor(
        tensor.dtype,
        tensor.array.reshape(-1)[
            [at for at, answer in enumerate(expected) if answer is not REFUSED]
        ],
    )
    made = CastTensor(possible, element_type, lossy=True, truncate=truncate)
    changed = sum(not each for each, a in zip(kept, expected, strict=True) if a is not REFUSED)
    assert (made.note or "0 of").split(" of")[0] == f"{changed}"
    return kept


def assert_lossless_where_all_is_kept(
    tensor: Tensor, element_type: DType, kept: list[bool]
) -> None:
    if Kind.BOOL in (tensor.dtype.kind, element_type.kind):
        with pytest.raises(InputError, match="does not convert"):
            CastTensor(tensor, element_type, lossy=False)
        return
    if all(kept):
        made = CastTensor(tensor, element_type, lossy=False)
        assert made.note is None
        for whole in (made.whole(), convert(tensor, element_type)):
            assert (whole.dtype, whole.array.dtype) == (element_type, storage_of(element_type))
            values = zip(elements(tensor), elements(whole), strict=True)
            assert all(same(new, converted(old, element_type)) for old, new in values)
        return
    at = kept.index(False)
    where = f"[{','.join(map(str, np.unravel_index(at, tensor.shape)))}]"
    ways: list[Any] = [partial(CastTensor, lossy=False), convert]
    for way in ways:
        with pytest.raises(InputError) as caught:
            way(tensor, element_type)
        assert (caught.value.rule, caught.value.where) == ("dtype", where)
        assert caught.value.message == (
            f"the value at `{where}` is {tensor.at(at)!s}, which {element_type} cannot hold: "
            "expected one that converts without loss"
        )


PAIRS: Final = tuple(
    (one, other)
    for one in NUMBERS
    for other in NUMBERS
    if one is not other and not (one.kind is Kind.COMPLEX and other.kind is not Kind.COMPLEX)
)


def interesting(element_type: DType) -> Tensor:
    """Make values where conversions go wrong."""
    if element_type.kind is Kind.BOOL or element_type.kind is Kind.COMPLEX:
        return specials(element_type)
    powers = [2**n for n in (7, 8, 11, 15, 16, 24, 31, 32, 53, 62, 63, 64)]
    whole = sorted({s * (p + d) for p in powers for d in (-1, 0, 1) for s in (1, -1)} | {0, 3, -3})
    halves = [0.5, -0.5, 1.5, 2.5, -2.5, 127.49, 127.5, -128.5, -128.51, 255.5, 0.49999999999999994]
    halves += [
        2.0**31 - 0.5,
        2.0**32 - 0.5,
        2.0**52 - 0.5,
        2.0**52 + 0.5,
        65519.99,
        65520.0,
        1.00390625 + 2**-40,
        3.4e38,
        1e39,
        0.1,
    ]
    flat: list[Any]
    if element_type.integral:
        low, high = element_type.bounds
        flat = [value for value in whole if low <= value <= high]
        return Tensor(element_type, np.array(flat, storage_of(element_type)))
    peer = ml_dtypes.bfloat16 if element_type.name == "bfloat16" else storage_of(element_type)
    with np.errstate(all="ignore"):
        array = np.array([*map(float, whole), *halves], np.float64).astype(peer)
    array = np.concatenate([array.view(storage_of(element_type)), specials(element_type).array])
    return Tensor(element_type, array)


@pytest.mark.no_cover
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_every_type_becomes_every_other_as_exact_arithmetic_says(one: DType, other: DType) -> None:
    assert_as_the_oracle_says(interesting(one), other)


@often
@given(st.data())
def test_any_elements_become_any_type_as_exact_arithmetic_says(draw: st.DataObject) -> None:
    one, other = draw.draw(st.sampled_from(PAIRS))
    assert_as_the_oracle_says(draw.draw(tensors(one)), other)


@often
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from(sorted(GRIDS)))
def test_integers_beyond_2_53_are_rounded_once(numbers: list[int], name: str) -> None:
    assert_as_the_oracle_says(Tensor(dtype("int64"), np.array(numbers)), dtype(name))


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (2**62 + 2**54, 0x5E80),  # the tie goes to even
        (2**62 + 2**54 + 1, 0x5E81),  # just above the tie, which float64 cannot tell
        (2**62 + 3 * 2**54 - 1, 0x5E81),
        (2**62 + 3 * 2**54, 0x5E82),
        (-(2**62) - 2**54 - 1, 0xDE81),
    ],
)
def test_an_integer_near_a_tie_of_bfloat16_goes_to_the_nearer_side(number: int, bits: int) -> None:
    made = CastTensor(Tensor(dtype("int64"), np.array([number])), dtype("bfloat16"), lossy=True)

    assert made.whole().array.tolist() == [bits]


@pytest.mark.parametrize(("one", "other"), [p for p in PAIRS if not p[1].integral], ids=str)
def test_the_sign_of_zero_is_kept_by_floats(one: DType, other: DType) -> None:
    if one.kind not in (Kind.FLOAT, Kind.COMPLEX) or other.kind is Kind.BOOL:
        return
    zero = Tensor(
        one, specials(one).array[1:2] if one.kind is Kind.FLOAT else np.array([-0.0 + 0j])
    )

    zeros = CastTensor(zero, other, lossy=False).whole().values()

    assert np.signbit(zeros.real).tolist() == np.signbit(zero.values().real).tolist()


def test_every_float16_and_bfloat16_becomes_float32_and_back() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    for name in ("float16", "bfloat16"):
        element_type = dtype(name)
        tensor = Tensor(element_type, every.view(storage_of(element_type)))
        wide = CastTensor(tensor, dtype("float32"), lossy=False).whole()
        back = CastTensor(wide, element_type, lossy=False).whole().array.view(np.uint16)
        number = ~np.isnan(tensor.values())
        assert (back == every)[number].all()
        assert np.isnan(
            Tensor(element_type, back.view(storage_of(element_type))).values()[~number]
        ).all()


# As the command says it


COUNTED: Final[dict[str, tuple[str, str, str]]] = {
    "3xf64=1 2 3": ("int8", "[1,2,3]", ""),
    "3xf64=1.9 2.6 -1.9": (
        "int64",
        "[2,3,-2]",
        "3 of 3 elements rounded to the nearest int64, the first 1.9 at [0]",
    ),
    "4xf32=2 -2.5 0.5 1.5": (
        "int8",
        "[2,-2,0,2]",
        "3 of 4 elements rounded to the nearest int8, the first -2.5 at [1]",
    ),
    "2x2xf64=1 2 3 0.1": (
        "float32",
        "[[1.0,2.0],[3.0,0.1]]",
        "1 of 4 elements rounded to the nearest float32, the first 0.1 at [1,1]",
    ),
    "2xi64=9007199254740993 1": (
        "float64",
        "[9007199254740992.0,1.0]",
        "1 of 2 elements rounded to the nearest float64, the first 9007199254740993 at [0]",
    ),
    "3xi8=0 2 -1": (
        "bool",
        "[false,true,true]",
        "2 of 3 elements changed to bool, the first 2 at [1]",
    ),
    "2xbool=true false": ("float16", "[1.0,0.0]", ""),
    "1xbool=true": ("complex64", "[[1.0,0.0]]", ""),
    "2xf64=nan inf": ("bfloat16", '["NaN","Infinity"]', ""),
    "xf64=0.1": (
        "float16",
        "0.099975586",
        "1 of 1 element rounded to the nearest float16, the first 0.1 at []",
    ),
    "1xc128=0.1+1j": (
        "complex64",
        "[[0.1,1.0]]",
        "1 of 1 element rounded to the nearest complex64, the first (0.1+1j) at [0]",
    ),
    "0xf64=": ("int8", "[]", ""),
}


@pytest.mark.parametrize("source", COUNTED)
def test_lossy_conversions_are_counted_in_a_note(source: str, run: Run) -> None:
    name, out, note = COUNTED[source]
    words = ("convert", source, "-", "--dtype", name, "--lossy")

    ran = run(*words)

    notes = [line for line in ran.err.splitlines() if "JSON" not in line]
    assert (ran.status, ran.out) == (0, f"{out}\n")
    assert notes == ([f"note: {note}"] if note else [])
    assert run(*words, "-q").err == ""


@pytest.mark.parametrize("lossy", [[], ["--lossy"]])
def test_truncate_makes_integers_of_floats_towards_zero(lossy: list[str], run: Run) -> None:
    ran = run("convert", "[1.9,2.6,-1.9]", "-", "--dtype", "i8", "--truncate", *lossy)

    note = "note: 3 of 3 elements truncated to int8, the first 1.9 at [0]\n"
    assert ran == (0, "[1,2,-1]\n", note)


LOSSY: Final = "`--lossy` converts to the nearest value"
TRUNCATE: Final = "`--truncate` converts towards zero"
READ: Final = "`--data-dtype {0}` reads the text as {0}"
REMEDIES: Final = [
    ("[1.5]", "int8", [], [LOSSY, TRUNCATE]),
    ("[-0.5,127.4]", "uint8", [], [LOSSY, TRUNCATE]),
    ("[-0.6,1]", "uint8", [], [TRUNCATE]),
    ("[-0.6,1]", "uint8", ["--lossy"], [TRUNCATE]),
    ("[127.5]", "int8", [], [TRUNCATE]),
    ("[1.5,128]", "int8", [], []),
    ("[1.5,NaN]", "int64", [], []),
    ("[128]", "int8", [], []),
    ("[16777217]", "float32", [], [LOSSY]),
    ("[0.1]", "float32", [], [READ, LOSSY]),
    ("[0.1,1e39]", "float32", [], []),
    ("[0.5,70000]", "bfloat16", [], [LOSSY]),
    ("1xf64=0.1", "float32", [], [LOSSY]),
    ("[true]", "int8", [], ["`--lossy` converts between booleans and numbers"]),
]


@pytest.mark.parametrize(("source", "name", "options", "remedies"), REMEDIES)
def test_the_hint_names_the_options_that_help(
    source: str, name: str, options: list[str], remedies: list[str], run: Run
) -> None:
    words = ("convert", source, "-", "--dtype", name)

    ran = run(*words, *options)

    hint = "; ".join(remedies).format(name)
    assert ran.status == 65
    assert re.findall("^hint: (.*)$", ran.err, re.MULTILINE) == ([hint] if hint else [])
    for remedy in re.findall("`(.*?)`", hint):
        assert run(*words, *remedy.split()).status == 0


@pytest.mark.parametrize(
    ("source", "name", "value", "where"),
    [
        ("2xf64=1 1.5", "int8", "1.5", "[1]"),
        ("2x1xi64=1 128", "int8", "128", "[1,0]"),
        ("1xi8=-1", "uint64", "-1", "[0]"),
        ("1xf64=1e39", "float32", "1e+39", "[0]"),
        ("xi64=16777217", "float32", "16777217", "[]"),
        ("1xf32=nan", "int64", "nan", "[0]"),
        ("1xf64=9223372036854775808", "int64", "9.223372036854776e+18", "[0]"),
    ],
)
def test_a_value_that_would_change_is_refused_with_its_place(
    source: str, name: str, value: str, where: str, run: Run
) -> None:
    ran = run("convert", source, "-", "--dtype", name)

    error, *_, rule = ran.err.splitlines()
    assert (ran.status, ran.out, rule) == (65, "", "rule: dtype")
    assert error == (
        f"error: the value at `{where}` is {value}, which {name} cannot hold: "
        "expected one that converts without loss"
    )


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        ("1xf64=1e39", "float32", "1e+39"),
        ("1xf64=65520", "float16", "65520.0"),
        ("1xi64=65520", "float16", "65520"),
        ("1xf64=3.4e38", "bfloat16", "3.4e+38"),
        ("1xi64=128", "int8", "128"),
        ("1xf64=-129.0", "int8", "-129.0"),
        ("1xf32=nan", "int64", "nan"),
        ("1xf32=inf", "uint8", "inf"),
        ("1xf64=-1", "uint8", "-1.0"),
        ("1xf64=18446744073709551616", "uint64", "1.8446744073709552e+19"),
        ("1xc128=1e39", "complex64", "(1e+39+0j)"),
    ],
)
def test_nothing_overflows_even_when_loss_is_allowed(
    source: str, name: str, value: str, run: Run, folder: Path
) -> None:
    assert run("convert", source, "x.npy", "--dtype", name, "--lossy") == (
        65,
        "",
        f"error: the value at `[0]` is {value}, which {name} cannot hold: "
        "expected one that is within its range\nrule: dtype\n",
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("lossy", [[], ["--lossy"]])
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('1xstr="1"', "int8"),
        ("1xi8=1", "string"),
        ('1xstr="1"', "bool"),
        ("1xc64=1", "float32"),
        ("1xc64=1", "int8"),
        ("1xbool=true", "string"),
    ],
)
def test_strings_and_complex_numbers_become_nothing_else(
    source: str, name: str, lossy: list[str], run: Run
) -> None:
    ran = run("convert", source, "-", "--dtype", name, *lossy)

    assert (ran.status, ran.out) == (65, "")
    assert f"does not convert to {name}" in ran.err
    assert ran.err.endswith("rule: dtype\n")


@pytest.mark.parametrize(("source", "name"), [("1xbool=true", "int8"), ("1xi8=1", "bool")])
def test_booleans_become_numbers_only_where_loss_is_allowed_which_a_hint_says(
    source: str, name: str, run: Run
) -> None:
    ran = run("convert", source, "-", "--dtype", name)

    assert (ran.status, ran.out) == (65, "")
    assert "--lossy" in ran.err


def test_changed_elements_of_all_blocks_are_counted(run: Run, folder: Path) -> None:
    many = np.arange(300_000, dtype=np.float64)
    many[[0, 150_000, 299_999]] = 0.5
    np.save(folder / "x.npy", many.reshape(3, 100_000))

    ran = run("convert", "x.npy", "y.npy", "--dtype", "int32", "--lossy")

    assert ran == (
        0,
        "",
        "note: 3 of 300 000 elements rounded to the nearest int32, the first 0.5 at [0,0]\n",
    )

    many[[0, 150_000, 299_999]] = 0

    assert np.array_equal(np.load("y.npy"), many.reshape(3, 100_000))

    many[150_000] = inf
    np.save(folder / "x.npy", many.reshape(3, 100_000))

    ran = run("convert", "x.npy", "y.npy", "--dtype", "int32", "--lossy")

    assert ran.err.startswith("error: x.npy: the value at `[1,50000]` is inf, which int32")
