"""Store values as an element type, and cast tensors to another, block by block.

No integer is rounded, nothing is rounded twice, and nothing overflows to infinity: the first value
that a type cannot represent raises, and a cast changes values only if it may.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from gathercli.compute.storage import AnyArray, nearest, significant, storage_of
from gathercli.compute.tensor import Result, Tensor
from gathercli.errors import InputError
from gathercli.spec.dtypes import BFLOAT16, BOOL, EXACT, FLOAT64, STRING, DType, Kind
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import Place, cell, coordinates
from gathercli.text import NON_FINITE, Overflow, counted, grouped, value_text

# The type of the parts of a complex type, by its bits.
PART_TYPES: Final = {64: dtype_named("float32"), 128: FLOAT64}


def store(flat: list[Any], dtype: DType, where: Place, kinds: set[type] | None = None) -> AnyArray:
    """Return elements as an array of `dtype`; raise for the first that it cannot represent.

    `kinds` are the Python types of the elements, if known.
    """
    kinds = set(map(type, flat)) if kinds is None else kinds
    refuse = _Refusal(flat, dtype, where)
    if not flat:
        return np.empty(0, storage_of(dtype))
    if dtype is STRING:
        if kinds != {str} or "\0" in "".join(flat) or not _is_text(flat):
            refuse.first(lambda v: type(v) is not str, "a string")
            refuse.first(lambda v: v.endswith("\0"), "no NUL at the end, which numpy would drop")
            refuse.first(lambda v: not _is_text([v]), "no lone surrogate")
        return np.array(flat, np.str_)
    if dtype is BOOL:
        refuse.first(lambda v: type(v) is not bool, "true or false")
        return np.array(flat, np.bool_)
    if dtype.integral:
        bottom, top = dtype.bounds
        if kinds != {int}:
            wholes = int, float  # which both say whether they are one; booleans do not count
            refuse.first(lambda v: type(v) not in wholes or v != v // 1, "an integer")
            flat = list(map(int, flat))
        whole = numbers(flat, {int})
        ends: Any = flat if whole is None else (int(whole.min()), int(whole.max()))
        if min(ends) < bottom or max(ends) > top:
            refuse.first(lambda v: not bottom <= v <= top, f"{bottom} to {top}")
        values = np.array(
            flat if whole is None else whole, np.int8 if dtype.narrow else storage_of(dtype)
        )
        return as_bits(values, dtype) if dtype.narrow else values
    if dtype.kind is Kind.COMPLEX:
        parts = PART_TYPES[dtype.bits]
        wrong = (bool, str)
        refuse.first(lambda v: type(v) in wrong and v not in NON_FINITE, "a complex number")
        real = [v.real if type(v) is complex else v for v in flat]
        imag = [v.imag if type(v) is complex else 0.0 for v in flat]
        out = np.empty(len(flat), storage_of(dtype))
        out.real = _encode_floats(real, parts, refuse, set(map(type, real)))
        out.imag = _encode_floats(imag, parts, refuse, set(map(type, imag)))
        return out
    return _encode_floats(flat, dtype, refuse, kinds)


def _encode_floats(flat: list[Any], dtype: DType, refuse: _Refusal, kinds: set[type]) -> AnyArray:
    """Round numbers to a float type; raise by `refuse` for the first that it cannot represent."""
    if kinds - {float}:
        digits = significant(dtype)
        refuse.first(lambda v: type(v) is bool, "a number", flat)
        refuse.first(lambda v: type(v) is complex, "a real number", flat)
        refuse.first(lambda v: type(v) is str and v not in NON_FINITE, "a number", flat)
        refuse.first(lambda v: type(v) is Overflow, f"a number within the range of {dtype}", flat)
        refuse.first(
            lambda v: type(v) is int and not _is_exact(v, digits),
            f"an integer that {dtype} holds exactly",
            flat,
        )
        flat = [NON_FINITE[v] if type(v) is str else float(v) for v in flat]
    wide = np.frombuffer(array("d", flat), np.float64)
    if dtype is FLOAT64:
        return wide
    if dtype.narrow:
        rounded, fits = nearest(wide, dtype)
        lost = ~fits
    else:
        if dtype is BFLOAT16:
            rounded = to_bfloat16(wide)
            infinite = (rounded & 0x7FFF) == 0x7F80
        else:
            with np.errstate(over="ignore", under="ignore"):
                rounded = wide.astype(storage_of(dtype))
            infinite = np.isinf(rounded)
        lost = infinite & np.isfinite(wide)
    if lost.any():
        refuse.at(int(lost.argmax()), f"a number within the range of {dtype}")
    return rounded


def as_bits(values: AnyArray, dtype: DType) -> AnyArray:
    """Return the storage of numbers as `dtype`: integers modulo its size, floats rounded once.

    A number out of the range of a narrow float type becomes a byte of zeros.
    """
    if dtype is BFLOAT16:
        return to_bfloat16(_sticky(values))
    if dtype.narrow and dtype.integral:
        bits: AnyArray = values.astype(np.int8).view(np.uint8) & (2**dtype.bits - 1)
        return bits
    if dtype.narrow:
        return nearest(_sticky(values), dtype)[0]
    return values.astype(storage_of(dtype))


def to_bfloat16(wide: AnyArray) -> AnyArray:
    """Round float64 to the nearest bfloat16, ties to even, and return the bits as uint16.

    Truncate to float32 with a sticky last bit first, so that nothing is rounded twice (`ml_dtypes`
    rounds to float32 first, and so 1.00390625 + 2^-40 down to 1.0).
    """
    with np.errstate(over="ignore", under="ignore"):
        near = wide.astype(np.float32)
    beyond = np.abs(near.astype(np.float64)) > np.abs(wide)
    truncated = np.where(beyond, np.nextafter(near, np.float32(0)), near)
    bits = truncated.view(np.uint32) | (truncated.astype(np.float64) != wide)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = np.isnan(wide)
    codes: AnyArray = np.where(nan, (bits >> 16) | 0x40, rounded).astype(np.uint16)
    return codes


class _Refusal:
    """An error for the first element that a type cannot represent."""

    def __init__(self, flat: list[Any], dtype: DType, where: Place) -> None:
        self._flat, self._dtype, self._where = flat, dtype, where

    def first(
        self, bad: Callable[[Any], bool], expected: str, flat: list[Any] | None = None
    ) -> None:
        at = next((i for i, v in enumerate(flat or self._flat) if bad(v)), None)
        if at is not None:
            self.at(at, expected)

    def at(self, at: int, expected: str) -> None:
        raise _unheld(value_text(self._flat[at]), self._where(at), self._dtype, expected)


def _is_text(words: list[str]) -> bool:
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_exact(v: int, digits: int) -> bool:
    return abs(v) < 1 << digits or (abs(v) // (v & -v) < 1 << digits and v.bit_length() < 1024)


def check_kinds(source: DType, dtype: DType) -> None:
    """Raise if no value of one type converts to another: strings, booleans, complex to real."""
    kinds = {source.kind, dtype.kind}
    complex_to_real = source.kind is Kind.COMPLEX and dtype.kind is not Kind.COMPLEX
    if source is not dtype and (kinds & {Kind.BOOL, Kind.STRING} or complex_to_real):
        what = f"the type is {source}, which does not convert to {dtype}"
        raise InputError(what, rule="dtype", value=source.name, expected=dtype.name)


def convert(tensor: Tensor, dtype: DType) -> Tensor:
    """Convert a tensor to a type with all its values; raise `InputError` (``dtype``) without."""
    if tensor.dtype is dtype:
        return tensor
    check_kinds(tensor.dtype, dtype)
    array, unchanged = cast(tensor, dtype)
    if not unchanged.all():
        raise conversion_error(tensor, int(unchanged.reshape(-1).argmin()), dtype)
    return Tensor(dtype, array, tensor.typed)


def cast(tensor: Tensor, dtype: DType, *, truncate: bool = False) -> tuple[AnyArray, AnyArray]:
    """Convert values to the nearest of a type, ties to even; with `truncate` floats towards zero.

    Return the storage of the new values, and a mask of those equal to the old.
    """
    values = tensor.values()
    with np.errstate(all="ignore"):
        array = as_bits(whole(values, truncate=truncate) if dtype.integral else values, dtype)
        back = Tensor(dtype, array).values()
        if tensor.dtype.integral and not dtype.integral:
            unchanged = _survive_as_floats(values, back)
        elif dtype.integral and not tensor.dtype.integral:
            unchanged = (values == np.floor(values)) & _within(values, dtype) & (back == values)
        elif dtype.integral:
            bottom, top = dtype.bounds
            unchanged = (values >= bottom) & (values <= top)
        else:
            unchanged = _same(back.real, values.real) & _same(back.imag, values.imag)
    return array, unchanged


def whole(values: AnyArray, *, truncate: bool) -> AnyArray:
    """Round floats to integers, ties to even, or truncate them; the type stays.

    >>> import numpy as np
    >>> whole(np.array([1.9, 2.5, -1.5, -0.5]), truncate=False)
    array([ 2.,  2., -2., -0.])
    """
    if values.dtype.kind != "f":
        return values
    rounded: AnyArray = np.trunc(values) if truncate else np.rint(values)
    return rounded


def conversion_error(tensor: Tensor, at: int, dtype: DType) -> InputError:
    """Return the error for the element at a flat position that does not convert."""
    where = cell(coordinates(at, tensor.shape))
    return _unheld(str(tensor.at(at)), where, dtype, "one that converts without loss")


def _unheld(value: str, where: str, dtype: DType, expected: str) -> InputError:
    what = f"the value at `{where}` is {value}, which {dtype} cannot hold"
    return InputError(what, rule="dtype", where=where, value=value, expected=expected)


def _sticky(values: AnyArray) -> AnyArray:
    """Return numbers as float64, large integers with a sticky last bit against double rounding."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        cut = (values >> 11 | (values & 0x7FF != 0)) << 11
        values = np.where(np.abs(values.astype(np.float64)) > EXACT, cut, values)
    return values.astype(np.float64)


def _same(one: AnyArray, other: AnyArray) -> Any:
    return (one == other) | ((one != one) & (other != other))  # noqa: PLR0124  (NaN)


def _within(values: AnyArray, dtype: DType) -> Any:
    bottom, top = dtype.bounds
    return (values >= float(bottom)) & (values < float(top + 1))


def _survive_as_floats(values: AnyArray, back: AnyArray) -> Any:
    """Compare integers with floats exactly, large ones as integers."""
    real = back.real.astype(np.float64)
    same = np.asarray(real == values.astype(np.float64))
    large = np.abs(real) >= EXACT
    if large.any():
        bounds = np.iinfo(values.dtype)
        fits = large & (real >= float(bounds.min)) & (real < float(bounds.max + 1))
        same[large] = False
        same[fits] = real[fits].astype(values.dtype) == values[fits]
    return same


def numbers(flat: list[Any], kinds: set[type]) -> AnyArray | None:
    """Return an array of elements that are all floats or all 64-bit integers; else None."""
    if kinds == {float}:
        return np.frombuffer(array("d", flat), np.float64)
    if kinds == {int}:
        try:
            return np.frombuffer(array("q", flat), np.int64)
        except OverflowError:
            pass
    return None


_BYTE: Final = dtype_named("uint8")


class CastTensor(Result):
    """A tensor converted to `dtype`.

    With `lossy` values may change: to the nearest, ties to even, or to true or false; with
    `truncate` too floats are truncated to integers. None becomes infinite or wraps around. Raise
    `InputError` (``dtype``) if the types do not convert, a value would change, or it is out of
    range.
    """

    storage: np.dtype[Any]

    def __init__(
        self, tensor: Tensor, dtype: DType, *, lossy: bool, truncate: bool = False
    ) -> None:
        types = (tensor.dtype, dtype)
        boolean = BOOL in types and STRING not in types
        if not (lossy and boolean):
            try:
                check_kinds(*types)
            except InputError as error:
                error.hint = "`--lossy` converts between booleans and numbers" if boolean else None
                raise
        self._tensor, self.dtype, self._lossy, self._truncate = tensor, dtype, lossy, truncate
        self.shape, self.raw = tensor.shape, None
        self.storage = tensor.storage if tensor.dtype is dtype else storage_of(dtype)
        self.note = self._check()

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self._tensor.array.size * int(self.storage.itemsize)

    def blocks(self) -> Iterator[AnyArray]:
        """Convert the tensor block by block."""
        for block in self._tensor.blocks():
            yield self._cast(block)[0]

    def whole(self) -> Tensor:
        """Convert the tensor at once."""
        array = self._cast(self._tensor.array.reshape(-1))[0]
        return Tensor(self.dtype, array.reshape(self.shape))

    def _cast(self, block: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the elements of a block as `dtype`, and a mask of those with equal values."""
        part = Tensor(self._tensor.dtype, block)
        if part.dtype is self.dtype:
            return block, np.ones(block.shape, np.bool_)
        if self.dtype is BOOL:
            truths: AnyArray = part.values() != 0
            return truths, truths == part.values()
        if part.dtype is BOOL:
            part = Tensor(_BYTE, (block != 0).view(np.uint8))
        return cast(part, self.dtype, truncate=self._truncate)

    def _check(self) -> str | None:
        """Raise for the first value that does not convert; return a note on changed values."""
        if self._tensor.dtype is self.dtype:
            return None
        start = changed = 0
        first = None
        for block in self._tensor.blocks():
            array, unchanged = self._cast(block)
            bad = ~unchanged & self._out_of_range(block, array) if self._lossy else ~unchanged
            if bad.any():
                raise self._refusal(start + int(bad.argmax()))
            if not unchanged.all():
                first = start + int(unchanged.argmin()) if first is None else first
                changed += int((~unchanged).sum())
            start += block.size
        if first is None:
            return None
        total = counted(self._tensor.array.size, "element")
        how = "changed to" if self.dtype is BOOL else "rounded to the nearest"
        if self._truncate:
            how = "truncated to"
        return f"{grouped(changed)} of {total} {how} {self.dtype}, {self._at(first)}"

    def _out_of_range(self, block: AnyArray, array: AnyArray) -> Any:
        """Return a mask of the values that are out of range: wrapped or infinite in `array`."""
        values = Tensor(self._tensor.dtype, block).values()
        if self.dtype.integral:
            if self._tensor.dtype.integral:
                bottom, top = self.dtype.bounds
                return (values < bottom) | (values > top)
            with np.errstate(invalid="ignore"):  # a signalling NaN
                wide = whole(values, truncate=self._truncate).astype(np.float64)
            return ~_within(wide, self.dtype)
        if self.dtype.narrow:
            return ~nearest(values.astype(np.float64), self.dtype)[1]
        if self.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
            return np.isinf(Tensor(self.dtype, array).values()) & np.isfinite(values)
        return np.zeros(block.shape, np.bool_)

    def _refusal(self, at: int) -> InputError:
        error = conversion_error(self._tensor, at, self.dtype)
        if self._lossy:
            error.expected = "one that is within its range"
        error.hint = "; ".join(self._advice()) or None
        return error

    def _advice(self) -> Iterator[str]:
        """Yield hints to the options with which every element converts."""
        source = self._tensor.dtype
        if not self._lossy and self._fits(truncate=False):
            floats = {self.dtype.kind, source.kind} == {Kind.FLOAT}
            if floats and not self._tensor.typed and self._reads_as_text():
                yield f"`--data-dtype {self.dtype}` reads the text as {self.dtype}"
            yield "`--lossy` converts to the nearest value"
        truncates = self.dtype.integral and source.kind is Kind.FLOAT
        if truncates and not self._truncate and self._fits(truncate=True):
            yield "`--truncate` converts towards zero"

    def _fits(self, *, truncate: bool) -> bool:
        try:
            CastTensor(self._tensor, self.dtype, lossy=True, truncate=truncate)
        except InputError:
            return False
        return True

    def _reads_as_text(self) -> bool:
        """Return whether the text of the elements reads as `dtype`, without rounding integers."""
        for block in self._tensor.blocks():
            values = Tensor(self._tensor.dtype, block).values()
            if (~self._cast(block)[1] & (values == np.floor(values))).any():
                return False
        return True

    def _at(self, at: int) -> str:
        where = ",".join(map(str, coordinates(at, self.shape)))
        return f"the first {self._tensor.at(at)!s} at [{where}]"
