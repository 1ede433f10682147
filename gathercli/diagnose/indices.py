"""Hypotheses about indices: what became of their values, and of those outside the axis.

A conversion maps index values to others. A treatment maps them to positions on an axis, each with
a `CellFate`. Both are functions of the indices k, of any integer type; s, the size of the axis; and
the size of another axis, for a row that is tried with each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.ops.portability import CLAMPED, UNDEFINED, ZERO
from gathercli.spec.op import FROM_THE_END, Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.call import Call

    Outcome = tuple[AnyArray, AnyArray]
    """Positions, int64, and the fate of each."""


class CellFate(IntEnum):
    """What a cell holds: an element of `data`, a fill, or something that nothing predicts."""

    READ = 0
    FILLED = 1
    REFUSED = 2
    FOREIGN = 3


class IndexConversion(NamedTuple):
    """A hypothesis about the values of indices.

    Attributes
    ----------
    name, sentence
        The name, and what became of the indices.
    function
        A function of k, s and the size of another axis to the converted k, of any integer type.
    known
        Runtimes that do so.
    bits
        The bits that it leaves of an index; 0 if it cuts none.
    other
        The other axis; -1 for a row that is tried with each, None for one that needs none.
    fortran
        Whether indices are read in Fortran order instead.
    """

    name: str
    sentence: str
    function: Callable[[AnyArray, int, int], AnyArray]
    known: tuple[str, ...] = ()
    bits: int = 0
    other: int | None = None
    fortran: bool = False


class Treatment(NamedTuple):
    """A hypothesis about indices outside the axis.

    Attributes
    ----------
    name, sentence
        The name, and what became of the indices.
    function
        A function of k, s and the size of another axis to positions and fates.
    known
        Runtimes that do so.
    fates
        The fates of negative indices and of others outside, as a conversion target states them.
    fill
        The value of a cell that is filled, a key of `elements.FILLS`.
    other
        As for `IndexConversion`.
    keeps
        Whether a filled slice keeps that of the index before it.
    """

    name: str
    sentence: str
    function: Callable[[AnyArray, int, int], Outcome]
    known: tuple[str, ...] = ()
    fates: tuple[str, str] | None = None
    fill: str = "zero"
    other: int | None = None
    keeps: bool = False


def exact(k: AnyArray, s: int) -> AnyArray:
    """Return indices as int64; a larger uint64 becomes a large one congruent modulo s."""
    if k.dtype != np.uint64:
        return k.astype(np.int64)
    s = max(1, s)
    whole = (1 << 62) - (1 << 62) % s  # a multiple of s
    large = k > np.uint64(np.iinfo(np.int64).max)
    return np.where(large, (k % np.uint64(s)).astype(np.int64) + whole, k.astype(np.int64))


def _cut(dtype: str) -> Callable[[AnyArray, int, int], AnyArray]:
    def cut(k: AnyArray, s: int, other: int) -> AnyArray:
        del s, other
        return k.astype(dtype)

    return cut


def _rounded(dtype: str) -> Callable[[AnyArray, int, int], AnyArray]:
    def rounded(k: AnyArray, s: int, other: int) -> AnyArray:
        del s, other
        with np.errstate(all="ignore"):
            near = k.astype(dtype).astype(np.float64)
        return np.clip(near, -(2.0**62), 2.0**62).astype(np.int64)

    return rounded


def _moved(by: int) -> Callable[[AnyArray, int, int], AnyArray]:
    def moved(k: AnyArray, s: int, other: int) -> AnyArray:
        del other
        return exact(k, s) + by

    return moved


def _negative_moved(k: AnyArray, s: int, other: int) -> AnyArray:
    """Add the size of another axis to negative indices."""
    k = exact(k, s)
    return np.where(k < 0, k + other, k)


def _all_moved(k: AnyArray, s: int, other: int) -> AnyArray:
    """Add the size of another axis to every index."""
    return exact(k, s) + other


def _moved_back(k: AnyArray, s: int, other: int) -> AnyArray:
    """Subtract the size of another axis from every index."""
    return exact(k, s) - other


def _swapped(k: AnyArray, s: int, other: int) -> AnyArray:
    del s, other
    return k.byteswap()


def _same(k: AnyArray, s: int, other: int) -> AnyArray:
    del s, other
    return k


AS_THEY_ARE: Final = IndexConversion("", "", _same)
CONVERSIONS: Final[tuple[IndexConversion, ...]] = (
    IndexConversion(
        "cut to 32 bits",
        "indices are cut to 32 bits",
        _cut("i4"),
        ("the CPU plugin of OpenVINO, for indices that come at run time",),
        bits=32,
    ),
    IndexConversion("cut to 16 bits", "indices are cut to 16 bits", _cut("i2"), bits=16),
    IndexConversion("cut to 8 bits", "indices are cut to 8 bits", _cut("i1"), bits=8),
    IndexConversion("one too large", "each index is one too large", _moved(1)),
    IndexConversion(
        "one too small", "each index is one too small, as if they counted from 1", _moved(-1)
    ),
    IndexConversion(
        "negative ones moved by another axis",
        "negative indices are moved by the size of axis {other}",
        _negative_moved,
        other=-1,
    ),
    IndexConversion(
        "moved by another axis",
        "indices are moved by the size of axis {other}",
        _all_moved,
        other=-1,
    ),
    IndexConversion(
        "moved back by another axis",
        "indices are moved by the size of axis {other} towards the front",
        _moved_back,
        other=-1,
    ),
    IndexConversion("rounded to float32", "indices are rounded to float32", _rounded("f4")),
    IndexConversion("rounded to float16", "indices are rounded to float16", _rounded("f2")),
    IndexConversion("in Fortran order", "indices are read in Fortran order", _same, fortran=True),
    IndexConversion("bytes swapped", "indices are read in the other byte order", _swapped),
    IndexConversion("cut to 32 unsigned bits", "indices are cut to 32 unsigned bits", _cut("u4")),
    IndexConversion("cut to 16 unsigned bits", "indices are cut to 16 unsigned bits", _cut("u2")),
    IndexConversion("cut to 8 unsigned bits", "indices are cut to 8 unsigned bits", _cut("u1")),
)


def _outcome(at: AnyArray, outside: AnyArray, fate: CellFate = CellFate.FILLED) -> Outcome:
    return np.where(outside, 0, at), np.where(outside, fate, CellFate.READ)


def _wrapped(k: AnyArray, s: int) -> AnyArray:
    k = exact(k, s)
    return np.where(k < 0, k + s, k)


def _filled(k: AnyArray, s: int, other: int) -> Outcome:
    """Fill outside [0, s)."""
    del other
    k = exact(k, s)
    return _outcome(k, (k < 0) | (k >= s))


def _wrapped_filled(k: AnyArray, s: int, other: int) -> Outcome:
    """Add s once to negative indices, and fill outside [0, s)."""
    return _filled(_wrapped(k, s), s, other)


def _modulo(k: AnyArray, s: int, other: int) -> Outcome:
    """Take indices modulo s."""
    del other
    return _filled(exact(k, s) % max(1, s), s, 0)


def _clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Clamp indices to [0, s)."""
    del other
    return _filled(np.clip(exact(k, s), 0, max(0, s - 1)), s, 0)


def _wrapped_clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Add s once to negative indices, and clamp to [0, s)."""
    return _clamped(_wrapped(k, s), s, other)


def _unchecked(k: AnyArray, s: int, other: int) -> Outcome:
    """Read wherever an index points."""
    del other
    k = exact(k, s)
    return k, np.zeros_like(k)


def _wrapped_unchecked(k: AnyArray, s: int, other: int) -> Outcome:
    """Add s once to negative indices, and read wherever they point."""
    return _unchecked(_wrapped(k, s), s, other)


def _other_modulo(k: AnyArray, s: int, other: int) -> Outcome:
    """Take indices modulo the size of another axis."""
    return _unchecked(exact(k, max(1, other)) % max(1, other), s, 0)


def _other_clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Clamp indices to the size of another axis."""
    return _unchecked(np.clip(exact(k, s), 0, max(0, other - 1)), s, 0)


def _other_wrapped_clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Add the size of another axis to negative indices, and clamp to it."""
    return _other_clamped(_negative_moved(k, s, other), s, other)


_GATHER_8: Final = "the C++ reference of OpenVINO"
TREATMENTS: Final[tuple[Treatment, ...]] = (
    Treatment(
        "wrapped once",
        "negative indices count from the end, once, and others give zeros",
        _wrapped_filled,
        (_GATHER_8,),
        (FROM_THE_END, ZERO),
    ),
    Treatment(
        "zero-filled",
        "every index outside the axis, negative ones too, gives zeros",
        _filled,
        ("TensorFlow on a GPU", "the CPU plugin of OpenVINO, in Gather-1 and Gather-7"),
        (ZERO, ZERO),
    ),
    Treatment(
        "modulo",
        "indices are taken modulo the size of the axis",
        _modulo,
        ("torch.take_along_dim", "GatherElements of onnx.reference", "numpy.take with mode wrap"),
    ),
    Treatment(
        "clamped",
        "indices are clamped to the axis, negative ones to 0",
        _clamped,
        ("jax.numpy.take and numpy.take with mode clip",),
        (CLAMPED, CLAMPED),
    ),
    Treatment(
        "clamped after wrapping",
        "negative indices count from the end, once, and then all are clamped to the axis",
        _wrapped_clamped,
        ("x[i] of jax",),
        (FROM_THE_END, CLAMPED),
    ),
    Treatment(
        "filled with NaN after wrapping",
        "negative indices count from the end, once, and others give {fill}",
        _wrapped_filled,
        ("jax.numpy.take with mode fill",),
        fill="nan",
    ),
    Treatment(
        "filled with NaN",
        "every index outside the axis, negative ones too, gives {fill}",
        _filled,
        fill="nan",
    ),
    *(
        Treatment(
            f"filled with {name}{' after wrapping' * wraps}",
            ("negative indices count from the end, once, and others give {fill}" * wraps)
            or "every index outside the axis, negative ones too, gives {fill}",
            function,
            fill=fill,
        )
        for fill, name in (
            ("low", "the least value"),
            ("high", "the greatest value"),
            ("infinity", "infinity"),
            ("minus infinity", "minus infinity"),
            ("minus one", "-1"),
        )
        for wraps, function in ((True, _wrapped_filled), (False, _filled))
    ),
    Treatment(
        "no bounds check after wrapping",
        "negative indices count from the end, once, and nothing checks the bounds",
        _wrapped_unchecked,
        ("the CPU plugin of OpenVINO, in GatherND and short 1-D Gather-8",),
        (FROM_THE_END, UNDEFINED),
    ),
    Treatment(
        "no bounds check",
        "nothing checks the bounds, and a negative index reads before the axis",
        _unchecked,
        ("the CPU plugin of OpenVINO, in short 1-D Gather-1 and Gather-7",),
        (UNDEFINED, UNDEFINED),
    ),
    Treatment(
        "stale after wrapping",
        "negative indices count from the end, once; others leave the slice of the index before",
        _wrapped_filled,
        keeps=True,
    ),
    Treatment(
        "stale",
        "every index outside the axis, negative ones too, leaves the slice of the index before",
        _filled,
        keeps=True,
    ),
    Treatment(
        "modulo another axis",
        "indices are taken modulo the size of axis {other}",
        _other_modulo,
        other=-1,
    ),
    Treatment(
        "clamped to another axis",
        "indices are clamped to the size of axis {other}",
        _other_clamped,
        other=-1,
    ),
    Treatment(
        "clamped to another axis after wrapping",
        "negative indices are moved by the size of axis {other}, and all clamped to it",
        _other_wrapped_clamped,
        other=-1,
    ),
)


def specified(call: Call) -> Treatment:
    """Return the treatment of a call: its version, or its policies."""
    wraps, outside = call.wraps_negative, call.outside

    def treat(k: AnyArray, s: int, other: int) -> Outcome:
        policies = {
            OutOfRange.CLAMP: _clamped,
            OutOfRange.WRAP: _modulo,
        }
        fate = CellFate.FILLED if outside is OutOfRange.ZERO else CellFate.REFUSED
        negative = exact(k, s) < 0
        at = _wrapped(k, s) if wraps else exact(k, s)
        out = (at < 0) | (at >= s)
        if outside in policies and s:
            at, fates = policies[outside](at, s, other)
        else:
            at, fates = _outcome(at, out, fate)
        if call.negative is Negative.ERROR:
            fates = np.where(negative, CellFate.REFUSED, fates)
        return at, fates

    return Treatment("", "", treat)
