"""Convert a few elements between bytes, Python's numbers and text, without NumPy.

The types are those that the `struct` module packs, booleans, integers of 8 to 64 bits and floats;
and bfloat16, which is the upper half of a float32.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812  (a class)
from struct import pack as pack_bytes
from struct import unpack as unpack_bytes

from gathercli.spec.dtypes import BFLOAT16, DTYPES, DType, Kind

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


_CODES = {Kind.BOOL: {8: "?"}, Kind.FLOAT: {16: "e", 32: "f", 64: "d"}}
_CODES[Kind.INT] = {8: "b", 16: "h", 32: "i", 64: "q"}
_CODES[Kind.UINT] = {bits: code.upper() for bits, code in _CODES[Kind.INT].items()}

CODES: dict[DType, str] = {
    dtype: code
    for dtype in DTYPES
    if not dtype.opaque and (code := _CODES.get(dtype.kind, {}).get(dtype.bits))
}
"""The format characters of `struct`, of the types that have one."""


MOST = 1 << 14
"""The most values for which packing one by one is faster than importing NumPy."""

_PYTHON_TYPES: dict[Kind, set[type]] = {
    Kind.BOOL: {bool},
    Kind.INT: {int},
    Kind.UINT: {int},
    Kind.FLOAT: {int, float},
}

_SIGNIFICANT = {16: 11, 32: 24, 64: 53}
"""The significant bits of a float, by its size: integers of no more are exact."""

_LEAST_NORMAL = 2.0**-126
"""The smallest normal float32: from it on, six digits name at most one value."""

MOST_TEXTS = 1 << 12
"""The most elements for which writing one by one takes less than importing NumPy."""


def is_packed(dtype: DType) -> bool:
    """Tell whether elements of a type can be packed and unpacked here."""
    return dtype in CODES or dtype is BFLOAT16


def pack(dtype: DType, values: Sequence[Any], kinds: set[type]) -> bytes | None:
    """Return a few values as little-endian bytes, floats rounded to the nearest of `dtype`.

    None for other types, for many values, and if a value does not fit or converts with more care.

    Parameters
    ----------
    kinds
        The Python types of the values.
    """
    code, expected = CODES.get(dtype), _PYTHON_TYPES.get(dtype.kind, set())
    if code is None or len(values) > MOST or not kinds <= expected:
        return None
    if dtype.kind is Kind.FLOAT and int in kinds:
        exact = 1 << _SIGNIFICANT[dtype.bits]
        if any(type(value) is int and abs(value) > exact for value in values):
            return None
    try:
        return pack_bytes(f"<{len(values)}{code}", *values)
    except (StructError, OverflowError):  # out of the range of the type
        return None


def unpack(dtype: DType, raw: bytes | memoryview) -> list[Any]:
    """Return the elements of a type that `is_packed` from their little-endian bytes.

    >>> from gathercli.spec.dtypes import INT64
    >>> unpack(INT64, pack(INT64, [1, -2], {int}) or b"")
    [1, -2]
    """
    if dtype is BFLOAT16:
        raw = bytes(byte for at in range(0, len(raw), 2) for byte in (0, 0, *raw[at : at + 2]))
        return list(unpack_bytes(f"<{len(raw) // 4}f", raw))
    code = CODES[dtype]
    return list(unpack_bytes(f"<{len(raw) // dtype.itemsize}{code}", raw))


def texts(dtype: DType, raw: memoryview | None, nonfinite: Mapping[str, str]) -> list[str] | None:
    """Write elements one by one; None if they are many, or not bytes of a type that `is_packed`.

    Parameters
    ----------
    nonfinite
        The texts of NaN and the infinities.
    """
    if raw is None or not is_packed(dtype) or raw.nbytes > MOST_TEXTS * dtype.itemsize:
        return None
    values = unpack(dtype, raw)
    if dtype.kind is Kind.BOOL:
        return ["true" if value else "false" for value in values]
    if dtype.kind is not Kind.FLOAT:
        return list(map(str, values))
    write = repr if dtype.bits == 64 else float32_text
    return [nonfinite.get(text, text) for text in map(write, values)]


def float32_text(value: float) -> str:
    """Write a float32 with the shortest digits that read back to it.

    Readers parse a float64 first, which for a few values then rounds to a neighbour: these get all
    digits of their float64.

    >>> float32_text(0.10000000149011612), float32_text(16777216.0), float32_text(1e-45)
    ('0.1', '16777216.0', '1e-45')
    """
    if value - value != 0 or value == 0:  # NaN, an infinity, or a zero
        return repr(value)
    sign = "-" if value < 0 else ""
    return sign + _shortest(abs(value))


def _shortest(value: float) -> str:
    (bits,) = unpack_bytes("<I", pack_bytes("<f", value))
    # The step beyond the largest is infinite, and the nearest digits come before those between.
    low, high = ((value + _of_bits(bits + step)) / 2 for step in (-1, 1))
    is_even, is_power = bits % 2 == 0, bits & 0x7FFFFF == 0
    for digits in range(6 if value >= _LEAST_NORMAL else 1, 10):
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        number, scale = int(mantissa.replace(".", "")), int(exponent) - digits + 1
        # The values below a power of two are closer than those above: the nearest digits may be
        # too far below it, and the next above it near enough.
        for each in (number, number + 1) if is_power else (number,):
            if _is_between(each, scale, low, high, is_even):
                nearest = float(f"{each}e{scale}")
                (read_back,) = unpack_bytes("<f", pack_bytes("<f", nearest))
                return repr(nearest if read_back == value else value)
    return repr(value)


def _of_bits(bits: int) -> float:
    value: float
    (value,) = unpack_bytes("<f", pack_bytes("<I", bits))
    return value


def _is_between(number: int, scale: int, low: float, high: float, inclusive: bool) -> bool:
    """Tell whether number * 10**scale is between two float64, compared exactly."""
    nearest = float(f"{number}e{scale}")
    if low < nearest < high:
        return True
    if nearest not in (low, high):
        return False
    middle = low if nearest == low else high
    top, bottom = middle.as_integer_ratio()
    exact = number * bottom * 10 ** max(scale, 0), top * 10 ** max(-scale, 0)
    if exact[0] == exact[1]:
        return inclusive
    is_above = exact[0] > exact[1]
    return is_above if middle == low else not is_above
