"""The kernel in C writes floats and text as Python does, digit for digit."""

from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.compute import native
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.io.formats import encode
from gathercli.spec.dtypes import INT64
from tests.compute.test_native import some_shape, with_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.storage import AnyArray


pytestmark = pytest.mark.skipif(native.fill is None, reason="built without the kernel in C")
WORDS: Final = (b"NaN", b"Infinity", b"-Infinity")


def json_lists(values: AnyArray) -> bytes | None:
    from gathercli.compute import _native

    written = _native.json_lists(values, WORDS)
    return None if written is None else bytes(written)


def python_lists(values: AnyArray) -> bytes:
    """Write floats of the shortest digits with NumPy and the standard library."""
    if values.dtype.itemsize == 4:
        shortest = np.array([float(str(value)) for value in values.reshape(-1)])
        with np.errstate(over="ignore", under="ignore"):
            is_neighbour = shortest.astype("f4") != values.reshape(-1)  # rounded twice
        values = np.where(is_neighbour, values.reshape(-1), shortest).reshape(values.shape)
    return json.dumps(values.tolist(), separators=(",", ":")).encode()


def some_floats(numbers: np.random.Generator, shape: Sequence[int], dtype: str) -> AnyArray:
    """Return floats of random bits, half of them of magnitudes without an exponent."""
    bits = numbers.bytes(math.prod(shape) * int(dtype[1]))
    floats: AnyArray = np.frombuffer(bits, dtype).reshape(shape)
    plain = numbers.normal(size=shape) * 10.0 ** numbers.integers(-4, 16)
    return np.where(numbers.integers(0, 2, shape) == 0, floats, plain.astype(dtype))


def edge_floats(dtype: str) -> dict[str, AnyArray]:
    """Return floats where digits are likely to be wrong, by kind, without their negatives."""
    unsigned, most = dtype.replace("f", "u"), {"f4": 8, "f8": 11}[dtype]
    width = int(dtype[1]) * 8 - 1 - most
    exponents = np.arange(1 << most, dtype=unsigned) << np.array(width, unsigned)
    numbers = np.random.default_rng(0)
    few = exponents if most == 8 else exponents[::8]
    any_fraction = numbers.integers(0, 1 << width, (200, few.size), unsigned)
    with np.errstate(over="ignore", under="ignore"):
        tens = np.array([float(f"1e{k}") for k in range(-324, 309)]).astype(dtype).view(unsigned)
    found = {
        "powers": np.concatenate([exponents, exponents + 1, exponents[1:] - 1]),
        "exponents": few + any_fraction,
        "subnormals": np.arange(1000, dtype=unsigned),
        "tens": np.concatenate([tens, tens + 1, tens[tens > 0] - 1]),
        "whole": np.arange(10**5, dtype=dtype).view(unsigned),
        "twice rounded": np.array([0x15AE43FD, 0x15AE43FE], unsigned),
        "decimals": (np.arange(10**5) / 1000).astype(dtype).view(unsigned),
        "long": (numbers.integers(0, 10**17, 10**4) / 10.0**9).astype(dtype).view(unsigned),
    }
    return {kind: bits.reshape(-1).view(dtype) for kind, bits in found.items()}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_are_written_as_python_writes_them(dtype: str) -> None:
    for kind, values in edge_floats(dtype).items():
        for signed in (values, -values):
            assert json_lists(signed) == python_lists(signed), kind


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("seed", range(5))
def test_floats_of_any_shape_have_the_brackets_of_python(seed: int, dtype: str) -> None:
    choose, numbers = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
    for _ in range(8):
        values = some_floats(numbers, some_shape(choose, choose.randint(1, 4), 300), dtype)

        assert json_lists(values) == python_lists(values)


@pytest.mark.parametrize("shape", [(700,), (60, 1, 20), (3, 2, 400)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", ">f4", ">f8", "U1", "U9", ">U5"])
@pytest.mark.parametrize("lay_out", [np.asfortranarray, with_gaps, np.flip, np.transpose])
def test_c_writes_what_python_writes(
    lay_out: Callable[[AnyArray], AnyArray],
    dtype: str,
    shape: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    floats = some_floats(np.random.default_rng(0), shape, "f8")
    floats.flat[:4] = [float(word) for word in ("nan", "inf", "-inf", "-0.0")]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = lay_out(floats.astype(dtype))

    by_c = [written(values, nonfinite) for nonfinite in ("quoted", "bare", "null")]
    monkeypatch.setattr(encode, "_json_lists", lambda: None)
    monkeypatch.setattr(encode, "LONG_RESULT", 1 << 20)

    assert by_c == [written(values, nonfinite) for nonfinite in ("quoted", "bare", "null")]


def written(values: AnyArray, nonfinite: str) -> bytes:
    """Write an array as plain JSON."""
    tensor = Tensor(dtype_of(values.dtype) or INT64, values)
    options = encode.TextOptions(nonfinite)
    return b"".join(encode.plain_json([("output", tensor)], options))


@pytest.mark.parametrize(
    "text", ["é", "a\nb", 'a"b', "a\\b", "\x7f", "\0a", "\u202e", "\ud800", "\U0001f600"]
)
def test_text_that_is_not_plain_is_left_to_python(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.array([["", "plain", "~ !"]] * 400)
    plain = json_lists(values)
    values[399, 1] = text

    assert plain == json.dumps([["", "plain", "~ !"]] * 400, separators=(",", ":")).encode()
    assert json_lists(values) is None
    by_c = written(values, "quoted")
    monkeypatch.setattr(encode, "LONG_IN_C", 1 << 20)
    assert by_c == written(values, "quoted")


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3, ">f4"),
        np.zeros(3, ">f8"),
        np.zeros(3, ">U2"),
        np.zeros(3, "f2"),
        np.zeros(3, "i4"),
        np.zeros(3, "c8"),
        np.zeros(3, "S4"),
        np.zeros(3, [("w", "f4")]),
        np.zeros((), "f4"),
        np.zeros((2, 0), "f4"),
        np.zeros((4, 4), "f4")[:, ::2],
        [0.5],
    ],
    ids=str,
)
def test_values_that_c_does_not_write_are_refused(values: Any) -> None:
    with pytest.raises((ValueError, TypeError, BufferError)):
        json_lists(values)


@pytest.mark.parametrize(
    "words", [None, (), (b"", b""), ("", "", ""), (b"x" * 17, b"", b""), (b"", b"", b"x" * 17)]
)
def test_words_for_numbers_that_are_not_finite_are_short_bytes(words: Any) -> None:
    from gathercli.compute import _native

    with pytest.raises((ValueError, TypeError)):
        _native.json_lists(np.zeros(3), words)
