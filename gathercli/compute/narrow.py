"""Decode and encode element types of 8 bits or less that numpy lacks.

Each element is stored in a byte, as in `ml_dtypes`. The tables here come from its conversions to
wider types, which are exact. Its conversions from wider types round twice, first to float32, and
turn values out of range into infinity or NaN. Here values are rounded once, ties to even, and
values out of range are reported.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gathercli.spec.dtypes import DType, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUPS = 1 << 16
"""Elements packed at a time; for any bits of an element a whole number of bytes."""


def significant(dtype: DType) -> int:
    """Return the significant bits of a float type: one more than the ``m`` in its name.

    >>> from gathercli.spec.dtypes import dtype
    >>> significant(dtype("float8_e4m3fn")), significant(dtype("float8_e8m0fnu"))
    (4, 1)
    """
    return int(dtype.name.rpartition("m")[2][0]) + 1


def steps_below_one(dtype: DType) -> int:
    """Return a number of equal steps from 0 to 1 that are exact in a float type.

    >>> from gathercli.spec.dtypes import dtype
    >>> steps_below_one(dtype("float8_e4m3fn")), steps_below_one(dtype("float4_e2m1fn"))
    (16, 2)
    """
    return min(1 << significant(dtype), int(1 / values(dtype)[1]))


@lru_cache
def values(dtype: DType) -> NDArray[Any]:
    """Return the value of each byte; bits beyond the type's are ignored.

    Returns
    -------
        Shape (256,), float32 or integers of 8 bits.
    """
    import ml_dtypes

    codes = np.arange(256, dtype=np.uint8) & (2**dtype.bits - 1)
    wide = {Kind.FLOAT: np.float32, Kind.INT: np.int8, Kind.UINT: np.uint8}[dtype.kind]
    table: NDArray[Any] = codes.view(getattr(ml_dtypes, dtype.name)).astype(wide)
    return table


class _Scale(NamedTuple):
    """The finite values v[0] < v[1] < .. of a float type from zero on, and its special codes.

    Attributes
    ----------
    between
        The midpoints of v[k] and v[k + 1]; the last is the end of the range.
    sign
        The sign bit; 0 if there is none.
    zero
        Whether there is a negative zero.
    special
        The codes of NaN, infinity and minus infinity, if the type has them.
    """

    between: NDArray[Any]
    sign: int
    zero: bool
    special: dict[str, int]


@lru_cache
def _scale(dtype: DType) -> _Scale:
    import ml_dtypes

    table = values(dtype)[: 2**dtype.bits].astype(np.float64)
    sign = 2 ** (dtype.bits - 1) if (table < 0).any() else 0
    numbers = table[: sign or None]
    numbers = numbers[np.isfinite(numbers)]
    step = numbers[-1] - numbers[-2]
    beyond = numbers[-1] + step * (2 if significant(dtype) == 1 else 1)
    ends = np.append(numbers, beyond)
    special: dict[str, int] = {}
    for word in ("nan", "inf", "-inf"):
        code = int(
            np.array([word], np.float32).astype(getattr(ml_dtypes, dtype.name)).view("u1")[0]
        )
        if str(table[code]) == word:
            special[word] = code
    return _Scale((ends[:-1] + ends[1:]) / 2, sign, bool(sign) and table[sign] == 0, special)


def nearest(wide: NDArray[Any], dtype: DType) -> tuple[NDArray[Any], Any]:
    """Round numbers to a float type, ties to even.

    Parameters
    ----------
    wide
        Shape (D..), float64.

    Returns
    -------
        The bits as uint8, shape (D..), and a mask: false for a number out of range, and for NaN,
        infinity, zero or a negative number if the type has none.
    """
    scale = _scale(dtype)
    sizes = np.abs(wide)
    below = np.searchsorted(scale.between, sizes)
    tie = scale.between[np.minimum(below, len(scale.between) - 1)] == sizes
    codes = below + (tie & (below % 2 == 1))
    fits = codes < len(scale.between)
    if not scale.sign:
        fits &= wide > 0
    negative = np.signbit(wide) & (scale.zero | (codes > 0))
    bits = np.where(fits, codes + scale.sign * negative, 0)
    for word, code in scale.special.items():
        same = np.isnan(wide) if word == "nan" else wide == float(word)
        bits, fits = np.where(same, code, bits), fits | same
    return bits.astype(np.uint8), fits


def unpacked(data: NDArray[Any], count: int, bits: int) -> NDArray[Any]:
    """Unpack elements of less than 8 bits, lowest bits first, to a byte each.

    >>> import numpy as np
    >>> unpacked(np.array([0x21, 0x03], np.uint8), 3, 4).tolist()
    [1, 2, 3]
    """
    out = np.empty(count, np.uint8)
    for start in range(0, count, _GROUPS):
        part = out[start : start + _GROUPS]
        first = start * bits // 8
        single = np.unpackbits(
            data[first : first + -(-part.size * bits // 8)],
            count=part.size * bits,
            bitorder="little",
        )
        part[:] = np.packbits(single.reshape(-1, bits), axis=1, bitorder="little")[:, 0]
    return out


def packed(data: NDArray[Any], bits: int) -> bytes:
    """Pack elements of less than 8 bits, shape (N,), lowest bits first.

    >>> import numpy as np
    >>> packed(np.array([1, 2, 3], np.uint8), 4).hex()
    '2103'
    """
    parts = []
    for start in range(0, data.size, _GROUPS):
        part = data[start : start + _GROUPS]
        single = np.unpackbits(part.reshape(-1, 1), axis=1, count=bits, bitorder="little")
        parts.append(np.packbits(single, bitorder="little").tobytes())
    return b"".join(parts)
