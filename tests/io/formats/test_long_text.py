"""The fast way of JSON beside the strict one: the same tensors, the same words, the same bytes."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.io.formats import encode, jsontext, literal, textfile
from gathercli.io.formats.content import ElementTypes
from gathercli.io.source import Inputs
from gathercli.spec.dtypes import DTYPES, Kind
from gathercli.spec.dtypes import dtype as dtype_named
from tests.cases import drawn
from tests.tensorfiles import encoded

if TYPE_CHECKING:
    from pathlib import Path

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.dtypes import DType

SETTINGS = settings(
    drawn(300), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
EDGES = (
    *("0", "-0", "-0.0", "1e400", "-1e400", "1e-400", "5e-324", "2.4703282292062327e-324"),
    *("9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "18446744073709551615"),
    *("18446744073709551616", "123456789012345678901234567890", "1e19", "1.5e300", "-1e19"),
    *("1.0", "0.1", "1E5", "true", "false", "null", '"NaN"', '"Infinity"', '"a"', "NaN"),
    *("-Infinity", "01", "1.", ".5", "+1", "[]", "[1]", "{}", '{"a":1}', '"\\ud800"', '"\\u0000"'),
)
DEEP = '{"a":[1],"b":' + '{"a":' * 1010 + "1" + "}" * 1011
numbers = st.one_of(
    st.sampled_from(EDGES),
    st.integers(-(2**66), 2**66).map(str),
    st.floats().map(json.dumps),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
)


@st.composite
def lists(draw: st.DrawFn) -> str:
    """Write lists in lists, mostly of one sort and of equal lengths."""
    one = draw(st.sampled_from((numbers, st.integers(-9, 9).map(str), st.just("1.5"))))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))

    def build(sizes: list[int]) -> str:
        if not sizes:
            return draw(numbers if draw(st.integers(0, 30)) == 0 else one)
        size = sizes[0] + (draw(st.integers(0, 40)) == 0)
        blank = draw(st.sampled_from(("", "", " ", "\n")))
        return "[" + f",{blank}".join(build(sizes[1:]) for _ in range(size)) + "]"

    return build(shape)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Write a list, an object of lists, a typed tensor, a request."""
    data = draw(lists())
    key = draw(st.sampled_from(("a", "b", "data", "x:y", "é")))
    kind = draw(st.sampled_from([t.oip for t in DTYPES]))
    return draw(
        st.sampled_from(
            (
                data,
                data,
                f'{{"{key}":{data}}}',
                f'{{"{key}":{data},"a":{data}}}',
                f'{{"datatype":"{kind}","data":{data}}}',
                f'{{"shape":[2,2],"datatype":"{kind}","data":{data}}}',
                f'{{"inputs":[{{"name":"{key}","shape":[3],"datatype":"{kind}","data":{data}}}]}}',
                f"{data},",
                f"{data} {data}",
                f"\x0b{data}\x0c",
                f" \t{data}\r\n",
                data.removesuffix("]") + ",]",
                data.removesuffix("]") + ", ]",
                f"\ufeff{data}",
            )
        )
    )


@pytest.fixture
def always_fast(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(jsontext, "LONG_TEXT", 0)
    return monkeypatch


def outcome(path: Path, key: str, declared: DType | None) -> Any:
    """Read a tensor; return it as bytes, or what was said instead."""
    with Inputs(None) as inputs:
        try:
            got = inputs.tensor(f"@{path}{key}", "data", ElementTypes(declared))
        except GatherError as error:
            return error.rule, str(error), error.where, error.hint
    return got.dtype, got.shape, got.array.tobytes(), got.typed, got.decided_by


@SETTINGS
@given(
    text=documents(),
    key=st.sampled_from(("", "", "#a", "#data")),
    declared=st.sampled_from((None, None, *DTYPES)),
    piece=st.sampled_from((1, 2, 5, 1 << 15)),
)
@example(text='{"a":1,"a":2}', key="#a", declared=None, piece=1)
@example(text="[1.5,18446744073709551616]", key="", declared=None, piece=1)
@example(text="[18446744073709551616]", key="", declared=dtype_named("float32"), piece=1)
@example(text="[1.5,9007199254740993]", key="", declared=None, piece=1)
@example(text="[1.5,2.5, ]", key="", declared=None, piece=1)
@example(text="[-9223372036854775809]", key="", declared=dtype_named("int64"), piece=1)
@example(text="[-9223372036854775808]", key="", declared=dtype_named("int64"), piece=1)
@example(text="[1,-9223372036854775809]", key="", declared=None, piece=1)
@example(text=DEEP, key="#a", declared=None, piece=1)
@example(text="[[1,2],[3]]", key="", declared=None, piece=1)
def test_whatever_the_text_both_ways_give_or_say_the_same(
    tmp_path: Path, text: str, key: str, declared: DType | None, piece: int
) -> None:
    path = tmp_path / "x.json"
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfile, "_PIECE_BYTES", piece)
        patch.setattr(textfile, "_BRACKET_BYTES", min(piece + 3, 1 << 12))
        for long in (0, 1 << 60):
            patch.setattr(jsontext, "LONG_TEXT", long)
            found.append(outcome(path, key, declared))
    assert found[0] == found[1]


def test_the_fast_way_is_taken(always_fast: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(raw: object) -> None:
        pytest.fail(f"the strict way was taken: {raw!r}")

    always_fast.setattr("gathercli.io.formats.jsontext.parse", refuse)
    for text, held in (
        ("[1,2]", "i64[2]"),
        ("[[1.5],[2e3]]", "f64[2,1]"),
        ('{"a":[1,2]}', "i64[2]"),
        ('["a","b"]', "str[2]"),
        ("[true]", "bool[1]"),
        ("[1,2.5]", "f64[2]"),
    ):
        path = tmp_path / "y.json"
        path.unlink(missing_ok=True)
        path.write_text(text)
        with Inputs(None) as inputs:
            assert str(inputs.tensor(f"@{path}", "data")) == held


@pytest.mark.parametrize("number", ["1e-05", "1E5", "1.5e+300", "9223372036854775808.0", "0.5"])
@pytest.mark.parametrize("at", [0, 5, 9_999])
def test_pieces_of_numbers_with_a_point_or_an_exponent_are_floats(number: str, at: int) -> None:
    numbers = ["0.1"] * 10_000
    numbers[at] = number

    array = textfile.plain_array(BytesIO(f"[{','.join(numbers)}]".encode()).read)

    assert array is not None
    assert array.tolist() == list(map(float, numbers))


@pytest.mark.parametrize(
    "number", ["true", "false", "1", "9223372036854775808", "1e400", '"1.5"', "null", "1.", "[1.5]"]
)
@pytest.mark.parametrize("at", [0, 5, 9_999])
def test_pieces_with_what_may_be_no_float_are_left_to_the_strict_way(number: str, at: int) -> None:
    numbers = ["0.1", "1e-05"] * 5_000
    numbers[at] = number

    assert textfile.plain_array(BytesIO(f"[{','.join(numbers)}]".encode()).read) is None


def test_keys_are_counted_in_objects_in_lists_too() -> None:
    assert jsontext.parse_long(b'{"a":[{"b":1,"b":2}]}') is None
    assert jsontext.parse_long(b'{"a":[{"b":1},{"b":2}]}') == {"a": [{"b": 1}, {"b": 2}]}


def both_ways(tensor: Tensor, fmt: str) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        made = []
        for long in (0, 1 << 60):
            patch.setattr(encode, "LONG_RESULT", long)
            patch.setattr(encode, "NUMBERS_AT_ONCE", 1000)
            made.append(encoded(tensor, fmt))
    return made


@pytest.mark.parametrize("held", [t for t in DTYPES if t.kind is not Kind.STRING], ids=str)
@pytest.mark.parametrize("fmt", ["json", "oip"])
@pytest.mark.parametrize("seed", range(4))
def test_all_bits_are_written_alike_both_ways(held: DType, fmt: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    raw = random.bytes(3000 * held.itemsize)
    array: AnyArray = np.frombuffer(raw, storage_of(held))
    if held.name == "bool":
        array = (np.frombuffer(raw, np.uint8) & 1).astype(np.bool_)
    one, other = both_ways(Tensor(held, array[:2400].reshape(20, 30, 4)), fmt)
    assert one == other


@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_numbers_around_every_power_of_ten_and_two_are_written_alike(name: str) -> None:
    powers = np.concatenate([10.0 ** np.arange(-30, 30), 2.0 ** np.arange(-100, 100)])
    with np.errstate(over="ignore", under="ignore"):
        near = powers.astype(name)
        double = near * 2
    around = [near, np.nextafter(near, near.dtype.type(0)), np.nextafter(near, double), -near]
    random = np.random.default_rng(0).random(50_000) * 10.0 ** np.random.default_rng(1).integers(
        -6, 12, 50_000
    )
    with np.errstate(over="ignore"):
        around.append(random.astype(name))
    every = np.concatenate(around)
    tensor = Tensor(dtype_named(name), every[np.isfinite(every)])
    one, other = both_ways(tensor, "json")
    assert one == other
    assert np.array_equal(np.array(json.loads(one)).astype(name), tensor.array)


@pytest.mark.parametrize("shape", [(7,), (7, 1), (1, 7), (2, 3, 4), (5, 2, 2, 2), (3, 1, 1, 5), ()])
@pytest.mark.parametrize("entry", [1, 3, 4, 8, 1 << 16])
@pytest.mark.parametrize("long", [0, 1 << 60])
@pytest.mark.parametrize("numbers", [3, 1 << 15])
@pytest.mark.parametrize("fortran", [False, True])
def test_brackets_stand_where_they_belong_however_the_blocks_fall(
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, ...],
    entry: int,
    long: int,
    numbers: int,
    *,
    fortran: bool,
) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)
    monkeypatch.setattr(encode, "_MAX_ENTRY", entry)
    monkeypatch.setattr(encode, "NUMBERS_AT_ONCE", numbers)
    monkeypatch.setattr(encode, "LONG_RESULT", long)
    plain = Tensor.blocks
    for cells in (1, 2, 5, 1 << 17):
        monkeypatch.setattr(Tensor, "blocks", lambda tensor, cells=cells: plain(tensor, cells))
        wanted = json.dumps(array.tolist(), separators=(",", ":")) + "\n"
        tensor = Tensor(dtype_named("int64"), np.asarray(array, order="F" if fortran else "C"))
        assert encoded(tensor, "json") == wanted.encode()


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2, 3, 0), (3, 0, 2), (1100, 0), (2, 1100, 0)])
def test_tensors_without_elements_are_written_as_their_lists(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.int64)
    text = encoded(Tensor(dtype_named("int64"), array), "json")
    assert text == json.dumps(array.tolist(), separators=(",", ":")).encode() + b"\n"


def levels_of(text: str) -> int:
    """Count the levels of brackets one character after the other."""
    deepest = level = at = 0
    quoted = False
    while at < len(text):
        if text[at : at + 2] in ("\\\\", '\\"'):
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif not quoted:
            level += (text[at] in "[{") - (text[at] in "]}")
        deepest = max(deepest, level)
        at += 1
    return deepest


@drawn(400, SETTINGS)
@given(text=st.text('[[[]{{}"\\aé', max_size=60), deepest=st.integers(0, 6))
def test_brackets_are_counted_outside_strings_alone(text: str, deepest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "DEEPEST", deepest)

        found = jsontext.is_deep(text)

    assert found == (levels_of(text) > deepest)


@SETTINGS
@given(text=st.one_of(lists(), st.text("[]0,1-. 2", max_size=9).map("[{}".format)))
@example("[[1,2],[3]]")
@example("[1,]")
@example("[-0]")
@example("[01]")
@example("[1.]")
@example("[ ]")
@example("[1]]")
@example("[1 2]")
@example("[1" + "0" * 199 + "]")
def test_short_lists_are_what_the_standard_library_parses(text: str) -> None:
    value = literal.short_lists(text)

    if value is not None:
        assert repr(value) == repr(json.loads(text))
    elif text.startswith("[") and len(text) <= 200 and set(text) <= set("0123456789,-[] "):
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
