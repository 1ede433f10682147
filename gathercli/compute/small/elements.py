"""Convert between the bytes of a few elements and Python's numbers.

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
    from collections.abc import Sequence
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
