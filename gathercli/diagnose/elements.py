"""Hypotheses about the elements of `data`: where they lie, and what became of their values."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.spec.dtypes import BFLOAT16, DType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.compute.storage import AnyArray


class DataLayout(NamedTuple):
    """A hypothesis about the places of elements.

    Attributes
    ----------
    name, sentence
        The name, and how `data` is read.
    axes
        The axes of `data` in the order of the layout; None for their own order.
    keeps_shape
        Whether the elements in that order are read as a tensor of the shape of `data`.
    """

    name: str
    sentence: str
    axes: tuple[int, ...] | None = None
    keeps_shape: bool = False

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that the call sees."""
        if self.axes is None or self.keeps_shape:
            return shape
        return tuple(shape[axis] for axis in self.axes)

    def positions(self, at: AnyArray, shape: tuple[int, ...]) -> AnyArray:
        """Return the flat positions in `data` of those that the call reads."""
        if self.axes is None:
            return at
        by_axis = dict(
            zip(self.axes, np.unravel_index(at, [shape[axis] for axis in self.axes]), strict=True)
        )
        ordered = tuple(by_axis[axis] for axis in range(len(shape)))
        return np.ravel_multi_index(ordered, shape).astype(np.int64)


IN_PLACE: Final = DataLayout("", "")


def layouts(rank: int) -> Iterator[DataLayout]:
    """Yield the layouts of `data` of a rank."""
    if rank < 2:
        return
    back = tuple(reversed(range(rank)))
    yield DataLayout(
        "Fortran order", "data in Fortran order is read row-major", back, keeps_shape=True
    )
    yield DataLayout("transposed", "data is transposed", back)
    for one, other in combinations(range(rank), 2):
        axes = list(range(rank))
        axes[one], axes[other] = other, one
        if tuple(axes) != back:
            yield DataLayout(
                f"axes {one} and {other} swapped",
                f"axes {one} and {other} of data are swapped",
                tuple(axes),
            )


class Reading(NamedTuple):
    """A hypothesis about the values of elements.

    Attributes
    ----------
    name, sentence
        The name, and what became of the values.
    function
        A function of values, as from `Tensor.values`, to other ones.
    known
        Runtimes that do so.
    narrow
        The type that a conversion target computes in, if it is one that does so.
    """

    name: str
    sentence: str
    function: Callable[[AnyArray], AnyArray]
    known: tuple[str, ...] = ()
    narrow: str = ""


def _cast(dtype: str) -> Callable[[AnyArray], AnyArray]:
    def cast(values: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            return values.astype(dtype)

    return cast


def _saturated(dtype: str) -> Callable[[AnyArray], AnyArray]:
    def saturated(values: AnyArray) -> AnyArray:
        ends = np.iinfo(dtype)
        return np.clip(values, ends.min, ends.max)

    return saturated


def bfloat16(values: AnyArray) -> AnyArray:
    """Round to the nearest bfloat16, ties to even; the result is float32."""
    with np.errstate(all="ignore"):
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    near = bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))
    rounded = np.where(np.isnan(bits.view(np.float32)), bits, near) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def _truncated(values: AnyArray) -> AnyArray:
    """Cut floats to bfloat16."""
    with np.errstate(all="ignore"):
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def _truth(values: AnyArray) -> AnyArray:
    truth: AnyArray = values != 0
    return truth


def _stored(dtype: DType) -> Callable[[AnyArray], AnyArray]:
    """Return a function of values to the stored elements of a type."""
    if dtype is BFLOAT16:
        return lambda values: (
            np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16
        ).astype(np.uint16)
    return lambda values: np.ascontiguousarray(values, dtype.name)


def _as_bits(dtype: DType, name: str) -> Callable[[AnyArray], AnyArray]:
    """Return a function that reads the bits of elements as another type of their size."""
    stored = _stored(dtype)
    if name == "bfloat16":
        return lambda values: (stored(values).view(np.uint16).astype(np.uint32) << 16).view(
            np.float32
        )
    return lambda values: stored(values).view(name)


def _byteswapped(dtype: DType) -> Callable[[AnyArray], AnyArray]:
    stored = _stored(dtype)
    if dtype is BFLOAT16:
        return lambda values: (stored(values).byteswap().astype(np.uint32) << 16).view(np.float32)
    return lambda values: stored(values).byteswap()


AS_STORED: Final = Reading("", "", lambda values: values)

_NUMBERS: Final = Kind.INT, Kind.UINT, Kind.FLOAT


def readings(dtype: DType) -> Iterator[Reading]:
    """Yield the readings of elements of a type."""
    if dtype.kind is Kind.COMPLEX:
        yield Reading("real part", "only the real part is left of an element", np.real)
    if dtype.kind not in _NUMBERS or dtype.narrow:
        return
    if dtype.integral:
        yield from _cuts(dtype)
    yield from _roundings(dtype)
    for name in _SAME_SIZE.get(dtype.bits, ()):
        if name != dtype.name:
            known = ("OpenVINO in Python",) if (dtype.name, name) == ("bfloat16", "float16") else ()
            yield Reading(
                f"bits read as {name}",
                f"the bits of elements are read as {name}",
                _as_bits(dtype, name),
                known,
            )
    if dtype.bits > 8:
        yield Reading(
            "bytes swapped", "elements are read in the other byte order", _byteswapped(dtype)
        )
    yield Reading("truth", "elements are 1 where they are not 0", _truth)


def _cuts(dtype: DType) -> Iterator[Reading]:
    """Yield the readings of integers in fewer bits."""
    for bits in (32, 16, 8):
        if bits >= dtype.bits:
            continue
        for letter, kind in (("i", ""), ("u", "unsigned ")):
            yield Reading(
                f"cut to {bits} {kind}bits",
                f"elements are cut to {bits} {kind}bits",
                _cast(f"{letter}{bits // 8}"),
                narrow=f"{'u' if kind else ''}int{bits}",
            )
        yield Reading(
            f"saturated to {bits} bits",
            f"elements are saturated to {bits} bits",
            _saturated(f"{'u' if dtype.kind is Kind.UINT else 'i'}{bits // 8}"),
        )


def _roundings(dtype: DType) -> Iterator[Reading]:
    """Yield the readings as floats of fewer bits."""
    rows = (
        ("float64", dtype.integral and dtype.bits > 32, _cast("f8")),
        ("float32", dtype.integral or dtype.bits > 32, _cast("f4")),
        ("float16", dtype.name != "float16", _cast("f2")),
        ("bfloat16", dtype is not BFLOAT16, bfloat16),
    )
    for name, differs, function in rows:
        if differs:
            yield Reading(
                f"rounded to {name}", f"elements are rounded to {name}", function, narrow=name
            )
    if dtype is not BFLOAT16:
        yield Reading("truncated to bfloat16", "elements are truncated to bfloat16", _truncated)
    if dtype.kind is Kind.FLOAT:
        yield Reading("fraction dropped", "the fraction of elements is dropped", np.trunc)


_SAME_SIZE: Final[dict[int, tuple[str, ...]]] = {
    8: ("int8", "uint8"),
    16: ("float16", "bfloat16", "int16", "uint16"),
    32: ("float32", "int32", "uint32"),
    64: ("float64", "int64", "uint64"),
}
"""The types whose bits an element may be read as."""


def _of_float(number: float) -> Callable[[np.dtype[Any]], Any]:
    return lambda dtype: number if dtype.kind in "fc" else None


def _jax(dtype: np.dtype[Any]) -> Any:
    """Return NaN; the least signed integer, the greatest unsigned one, or true."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return ends.max if dtype.kind == "u" else ends.min
    return _of_float(float("nan"))(dtype)


def _extreme(end: str) -> Callable[[np.dtype[Any]], Any]:
    def extreme(dtype: np.dtype[Any]) -> Any:
        if dtype.kind in "iu":
            value = getattr(np.iinfo(dtype), end)
            return value or None  # the least unsigned integer is a fill with zero
        return getattr(np.finfo(dtype), end) if dtype.kind == "f" else None

    return extreme


FILLS: Final[dict[str, Callable[[np.dtype[Any]], Any]]] = {
    "zero": lambda dtype: "" if dtype.kind == "U" else 0,
    "nan": _jax,
    "low": _extreme("min"),
    "high": _extreme("max"),
    "infinity": _of_float(float("inf")),
    "minus infinity": _of_float(float("-inf")),
    "minus one": lambda dtype: -1 if dtype.kind in "ifc" else None,
}
"""The value of a fill in an array of a dtype; None if the dtype has no such value."""
