from __future__ import annotations

import re
from fractions import Fraction
from math import inf, isfinite, isinf, isnan, trunc
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.cast import CastTensor
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.spec.dtypes import PLAIN, DType, Kind, dtype
from tests.tensorfiles import often, tensors
from tests.test_formats import specials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

NUMBERS: Final = tuple(held for held in PLAIN if held.kind is not Kind.STRING)
REALS: Final = tuple(held for held in NUMBERS if held.kind is not Kind.COMPLEX)


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


def converted(value: Any, held: DType, *, truncate: bool = False) -> Any:
    """Say what an element becomes: a number that is equal, or REFUSED."""
    if held.kind is Kind.BOOL:
        return value != 0
    if held.kind is Kind.COMPLEX:
        part = dtype(PARTS[held.name])
        parts = (converted(value.real, part), converted(getattr(value, "imag", 0.0), part))
        return REFUSED if REFUSED in parts else parts
    if isinstance(value, float) and not isfinite(value):
        return REFUSED if held.integral else value
    if held.integral:
        whole = trunc(value) if truncate else round(Fraction(value))  # Python rounds ties to even
        low, high = held.bounds
        return whole if low <= whole <= high else REFUSED
    return nearest(Fraction(value), GRIDS[held.name])


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
    found: list[Any] = tensor.values().reshape(-1).tolist()
    return found


def assert_as_the_oracle_says(tensor: Tensor, held: DType) -> None:
    """Convert elements one by one and all together, with --lossy, --truncate, and neither."""
    kept = assert_lossy_as_the_oracle_says(tensor, held, truncate=False)
    if held.integral:
        assert assert_lossy_as_the_oracle_says(tensor, held, truncate=True) == kept
    assert_lossless_where_all_is_kept(tensor, held, kept)


def assert_lossy_as_the_oracle_says(tensor: Tensor, held: DType, *, truncate: bool) -> list[bool]:
    values = elements(tensor)
    expected = [converted(value, held, truncate=truncate) for value in values]
    kept = [
        answer is not REFUSED and same(value, answer)
        for value, answer in zip(values, expected, strict=True)
    ]
    for at, answer in enumerate(expected):
        one = Tensor(tensor.dtype, tensor.array.reshape(-1)[at : at + 1])
        if answer is REFUSED:
            with pytest.raises(InputError, match="cannot hold: expected one that is within"):
                CastTensor(one, held, lossy=True, truncate=truncate)
        else:
            made = CastTensor(one, held, lossy=True, truncate=truncate)
            assert same(elements(made.whole())[0], answer)
            assert bool(made.note) == (not kept[at])
    possible = Tensor(
        tensor.dtype,
        tensor.array.reshape(-1)[
            [at for at, answer in enumerate(expected) if answer is not REFUSED]
        ],
    )
    made = CastTensor(possible, held, lossy=True, truncate=truncate)
    changed = sum(not each for each, a in zip(kept, expected, strict=True) if a is not REFUSED)
    assert (made.note or "0 of").split(" of")[0] == f"{changed}"
    return kept


def assert_lossless_where_all_is_kept(tensor: Tensor, held: DType, kept: list[bool]) -> None:
    if Kind.BOOL in (tensor.dtype.kind, held.kind):
        with pytest.raises(InputError, match="does not convert"):
            CastTensor(tensor, held, lossy=False)
        return
    if all(kept):
        made = CastTensor(tensor, held, lossy=False)
        assert made.note is None
        values = zip(elements(tensor), elements(made.whole()), strict=True)
        assert all(same(new, converted(old, held)) for old, new in values)
        return
    with pytest.raises(InputError) as caught:
        CastTensor(tensor, held, lossy=False)
    place = np.unravel_index(kept.index(False), tensor.shape)
    assert caught.value.where == f"[{','.join(map(str, place))}]"
    assert caught.value.rule == "dtype"


PAIRS: Final = tuple(
    (one, other)
    for one in NUMBERS
    for other in NUMBERS
    if one is not other and not (one.kind is Kind.COMPLEX and other.kind is not Kind.COMPLEX)
)


def interesting(held: DType) -> Tensor:
    """Make values where conversions go wrong."""
    if held.kind is Kind.BOOL or held.kind is Kind.COMPLEX:
        return specials(held)
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
    if held.integral:
        low, high = held.bounds
        flat = [value for value in whole if low <= value <= high]
        return Tensor(held, np.array(flat, storage_of(held)))
    peer = ml_dtypes.bfloat16 if held.name == "bfloat16" else storage_of(held)
    with np.errstate(all="ignore"):
        array = np.array([*map(float, whole), *halves], np.float64).astype(peer)
    array = np.concatenate([array.view(storage_of(held)), specials(held).array])
    return Tensor(held, array)


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

    found = CastTensor(zero, other, lossy=False).whole().values()

    assert np.signbit(found.real).tolist() == np.signbit(zero.values().real).tolist()


def test_every_float16_and_bfloat16_becomes_float32_and_back() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    for name in ("float16", "bfloat16"):
        held = dtype(name)
        tensor = Tensor(held, every.view(storage_of(held)))
        wide = CastTensor(tensor, dtype("float32"), lossy=False).whole()
        back = CastTensor(wide, held, lossy=False).whole().array.view(np.uint16)
        number = ~np.isnan(tensor.values())
        assert (back == every)[number].all()
        assert np.isnan(Tensor(held, back.view(storage_of(held))).values()[~number]).all()


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
