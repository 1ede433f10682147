"""How NumPy arrays store elements: the types that it lacks, memory layouts, coordinates.

NumPy has no bfloat16, float8 or int4. Elements of such types are stored as unsigned integers of the
same bits, those of 8 bits or less in a byte each. They become an `ml_dtypes` array only if their
values are displayed or returned.

The tables here come from the conversions of `ml_dtypes` to wider types, which are exact. Its
conversions from wider types round twice, first to float32, and turn values out of range into
infinity or NaN. Here values are rounded once, ties to even, and values out of range are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gathercli.spec.dtypes import BFLOAT16, DTYPES, STRING, DType, Kind, named
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

AnyArray: TypeAlias = "NDArray[Any]"
# Coordinates along one dimension: the first, and the one after the last.
Span: TypeAlias = "tuple[int, int]"
Box: TypeAlias = "tuple[Span, ...]"  # a span along each dimension

_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.UINT: "u", Kind.FLOAT: "f", Kind.COMPLEX: "c"}

# Types by the kind and the itemsize of a NumPy dtype.
_BY_LAYOUT = {
    (_LETTERS[dtype.kind], dtype.itemsize): dtype
    for dtype in DTYPES
    if dtype.kind in _LETTERS and not dtype.opaque
}


def storage_of(dtype: DType) -> np.dtype[Any]:
    """Return the NumPy dtype that stores a type, in native byte order."""
    if dtype.opaque:
        return np.dtype(f"u{dtype.itemsize}")
    return np.dtype(np.str_ if dtype is STRING else dtype.name)


def dtype_of(storage: np.dtype[Any]) -> DType | None:
    """Return the type of a dtype of NumPy or ml_dtypes, in any byte order; None if unknown."""
    if storage.kind == "U":
        return STRING
    if storage.kind not in "biufcV":
        return None
    # NumPy makes the name of a dtype slowly; only those of ml_dtypes are needed.
    return _BY_LAYOUT.get((storage.kind, storage.itemsize)) or named(storage.name)


def view(dtype: DType, shape: tuple[int, ...], raw: memoryview | None) -> AnyArray:
    """View bytes, row-major and little-endian, as an array; read-only if the buffer is."""
    # by its name a dtype is the native one where that is little-endian, and prints as it
    return np.ndarray(shape, storage_of(dtype).newbyteorder("<").str, raw)


def values(dtype: DType, stored: AnyArray) -> AnyArray:
    """Return elements as `storage_of` stores them in either byte order, as `Tensor.values` does."""
    array = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    if dtype is BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    if dtype.opaque:
        return np.asarray(byte_values(dtype)[array])
    return array


def equal(dtype: DType, one: AnyArray, other: AnyArray) -> AnyArray:
    """Compare values element by element; NaN equals NaN, and -0.0 equals 0.0."""
    same: AnyArray = one == other
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        same |= np.isnan(one) & np.isnan(other)
    return same


def slices(box: Box) -> Any:
    """Return the numpy index of a box; its result is an array even if it is 0-D."""
    return (*(slice(start, stop) for start, stop in box), ...)


def row_major(array: AnyArray, cells: int) -> Iterator[AnyArray]:
    """Yield elements in row-major order, flat, copying at most `cells` at a time."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        for start in range(0, flat.size, cells):
            yield flat[start : start + cells]
        return
    inner = array[:1].size
    if inner > cells:
        for row in array:
            yield from row_major(row, cells)
        return
    rows = max(1, cells // max(1, inner))
    for start in range(0, len(array), rows):
        yield array[start : start + rows].reshape(-1)


# Elements packed at a time; for any bits of an element a whole number of bytes.
_PACKED_AT_A_TIME = 1 << 16

_SIGNIFICANT_BITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def significant(dtype: DType) -> int:
    """Return the significant bits of a float type: one more than the ``m`` in its name, if any.

    >>> from gathercli.spec.dtypes import dtype
    >>> significant(dtype("float8_e4m3fn")), significant(dtype("float8_e8m0fnu"))
    (4, 1)
    """
    return _SIGNIFICANT_BITS.get(dtype.name) or int(dtype.name.rpartition("m")[2][0]) + 1


def steps_below_one(dtype: DType) -> int:
    """Return a number of equal steps from 0 to 1 that are exact in a float type.

    >>> from gathercli.spec.dtypes import dtype
    >>> steps_below_one(dtype("float8_e4m3fn")), steps_below_one(dtype("float4_e2m1fn"))
    (16, 2)
    """
    return min(1 << significant(dtype), int(1 / byte_values(dtype)[1]))


@lru_cache
def byte_values(dtype: DType) -> AnyArray:
    """Return the values of all bytes, float32 or 8-bit integers; only the type's bits count."""
    import ml_dtypes

    codes = np.arange(256, dtype=np.uint8) & (2**dtype.bits - 1)
    wide = {Kind.FLOAT: np.float32, Kind.INT: np.int8, Kind.UINT: np.uint8}[dtype.kind]
    table: AnyArray = codes.view(getattr(ml_dtypes, dtype.name)).astype(wide)
    return table


class _Scale(NamedTuple):
    """The finite values v[0] < v[1] < .. of a float type from zero on, and its special codes."""

    between: AnyArray  # the midpoints of v[k] and v[k + 1]; the last is the end of the range
    sign: int  # the sign bit; 0 if there is none
    zero: bool  # whether there is a negative zero
    special: dict[str, int]  # the codes of NaN, infinity and minus infinity, if the type has them


@lru_cache
def _scale(dtype: DType) -> _Scale:
    import ml_dtypes

    table = byte_values(dtype)[: 2**dtype.bits].astype(np.float64)
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


def nearest(wide: AnyArray, dtype: DType) -> tuple[AnyArray, Any]:
    """Round float64 to a float type, ties to even; return the bits, uint8, and a mask of what fits.

    A number out of range does not fit, nor do NaN, infinity, zero or a negative number if the type
    has none.
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


def unpacked(data: AnyArray, count: int, bits: int) -> AnyArray:
    """Unpack elements of less than 8 bits, lowest bits first, to a byte each.

    >>> import numpy as np
    >>> unpacked(np.array([0x21, 0x03], np.uint8), 3, 4).tolist()
    [1, 2, 3]
    """
    out = np.empty(count, np.uint8)
    for start in range(0, count, _PACKED_AT_A_TIME):
        part = out[start : start + _PACKED_AT_A_TIME]
        first = start * bits // 8
        single = np.unpackbits(
            data[first : first + -(-part.size * bits // 8)],
            count=part.size * bits,
            bitorder="little",
        )
        part[:] = np.packbits(single.reshape(-1, bits), axis=1, bitorder="little")[:, 0]
    return out


def packed(data: AnyArray, bits: int) -> bytes:
    """Pack elements of less than 8 bits, shape (N,), lowest bits first.

    >>> import numpy as np
    >>> packed(np.array([1, 2, 3], np.uint8), 4).hex()
    '2103'
    """
    parts = []
    for start in range(0, data.size, _PACKED_AT_A_TIME):
        part = data[start : start + _PACKED_AT_A_TIME]
        single = np.unpackbits(part.reshape(-1, 1), axis=1, count=bits, bitorder="little")
        parts.append(np.packbits(single, bitorder="little").tobytes())
    return b"".join(parts)


def strides_of(array: AnyArray) -> tuple[int, ...]:
    """Return the strides of an array, those that no element needs as in a row-major one.

    NumPy lets them be anything: of axes of size 1, and of all axes where there is no element.
    """
    strides: list[int] = []
    below = array.itemsize
    for n, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        strides.append(stride if n > 1 and array.size else below)
        below = strides[-1] * max(1, n)
    return tuple(reversed(strides))


class Memory(NamedTuple):
    """The memory of an array."""

    flat: AnyArray  # (N,), the elements in memory order
    steps: tuple[int, ...]  # the stride of each dimension in elements

    @classmethod
    def of(cls, array: AnyArray) -> Memory:
        """View an array, or a copy if it has negative or unaligned strides."""
        itemsize, strides = array.dtype.itemsize or 1, strides_of(array)
        if any(stride < 0 or stride % itemsize for stride in strides):
            array = np.ascontiguousarray(array)
            strides = strides_of(array)
        steps = tuple(stride // itemsize for stride in strides)
        if array.flags.c_contiguous:
            return cls(array.reshape(-1), steps)
        span = sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) + 1
        return cls(as_strided(array, (span if array.size else 0,), (itemsize,)), steps)

    def view(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> AnyArray:
        """View the elements from `start` on, with `steps` as strides in elements."""
        dtype = self.flat.dtype
        strides = tuple(step * dtype.itemsize for step in steps)
        return np.ndarray(shape, dtype, self.flat, start * dtype.itemsize, strides)


def one_axis(
    array: AnyArray, axis: int, count: int, view: Sequence[int]
) -> tuple[AnyArray, list[int] | None]:
    """View `count` consecutive axes from `axis` on as one, without more copies than `Memory` makes.

    If they are contiguous, row-major, return the array in the shape `view`, and None. Otherwise the
    one axis spans all elements from their first to their last; return the step of each axis along
    it too.
    """
    itemsize, strides = array.itemsize or 1, strides_of(array)
    each = list(zip(array.shape, strides, strict=True))[axis : axis + count]
    moving = [(n, stride) for n, stride in each if n > 1]
    follow = all(a == n * b for (_, a), (n, b) in pairwise(moving))
    if follow or not array.size or any(s < 0 or s % itemsize for s in strides):
        return array.reshape(view), None
    unit = gcd(*(stride for _, stride in moving))
    steps = [stride // unit if n > 1 else 0 for n, stride in each]
    span = 1 + sum((n - 1) * step for (n, _), step in zip(each, steps, strict=True))
    shape = (*array.shape[:axis], span, *array.shape[axis + count :])
    viewed = (*strides[:axis], unit, *strides[axis + count :])
    return as_strided(array, shape, viewed, writeable=False), steps


# The most arrays with which NumPy indexes another, one less than the dimensions that it has.
MOST_INDEX_ARRAYS: Final = 63


def elements_at(array: AnyArray, at: tuple[Any, ...]) -> AnyArray:
    """Return the elements at coordinates: an integer or an array for each of the first axes.

    Of 64 axes one has the size 1, unless there are no elements: 2^64 of them are too many. Its
    coordinate is left out.
    """
    if len(at) <= MOST_INDEX_ARRAYS:
        return np.asarray(array[at])
    shape = broadcast(*map(np.shape, at))
    if 1 not in array.shape:
        return np.empty(shape, array.dtype)
    axis = array.shape.index(1)
    return np.array(np.broadcast_to(array.squeeze(axis)[at[:axis] + at[axis + 1 :]], shape))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes which agree have together; NumPy's own takes 32 dimensions.

    >>> broadcast((), (3, 1), (2,))
    (3, 2)
    """
    rank = max(map(len, shapes), default=0)
    rows = [(1,) * (rank - len(each)) + each for each in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*rows, strict=True))


# Memory that begins with a page is written without a copy; this is one of any system, or several.
_ALIGNMENT: Final = 1 << 16


class Room:
    """Memory of a box that the next one uses again: new pages take longer than what they hold."""

    def __init__(self) -> None:
        self._raw: AnyArray = np.empty(0, np.uint8)

    def array(self, shape: Sequence[int], storage: np.dtype[Any], *, zeros: bool) -> AnyArray:
        """Return an array that is valid until the next one; its elements are any if not `zeros`."""
        nbytes = product(shape) * storage.itemsize
        if nbytes > self._raw.size:
            self._raw = np.empty(0, np.uint8)  # the old memory first
            raw = np.empty(nbytes + _ALIGNMENT, np.uint8)
            self._raw = raw[-raw.ctypes.data % _ALIGNMENT :]
        if zeros:
            self._raw[:nbytes] = 0
        return np.ndarray(shape, storage, self._raw)
