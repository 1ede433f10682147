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

    Conversion = Callable[[AnyArray, int, int], AnyArray]
    """A function of k, s and the size of another axis to the converted k, of any integer type."""

    Outcome = tuple[AnyArray, AnyArray]
    """Positions, int64, and the fate of each."""

    Outcomes = Callable[[AnyArray, int, int], Outcome]
    """A function of k, s and the size of another axis to positions and fates."""


class CellFate(IntEnum):
    """What a cell holds: an element of `data`, a fill, or something that nothing predicts."""

    READ = 0
    FILLED = 1
    REFUSED = 2
    FOREIGN = 3


class IndexConversion(NamedTuple):
    """A hypothesis about the values of indices."""

    name: str
    sentence: str  # what became of the indices
    function: Conversion
    known: tuple[str, ...] = ()  # runtimes that do so
    bits: int = 0  # that it leaves of an index; 0 if it cuts none
    # the other axis; -1 for a row that is tried with each, None for one that needs none
    other: int | None = None
    fortran: bool = False  # whether indices are read in Fortran order instead


class Treatment(NamedTuple):
    """A hypothesis about indices outside the axis."""

    name: str
    sentence: str  # what became of the indices
    function: Outcomes
    known: tuple[str, ...] = ()  # runtimes that do so
    # of negative indices and of others outside, as a conversion target states them
    fates: tuple[str, str] | None = None
    fill: str = "zero"  # the value of a cell that is filled, a key of `FILLS`
    other: int | None = None  # as for `IndexConversion`
    keeps: bool = False  # whether a filled slice keeps that of the index before it


def exact(k: AnyArray, s: int) -> AnyArray:
    """Return indices as int64; a larger uint64 becomes a large one congruent modulo s."""
    if k.dtype != np.uint64:
        return k.astype(np.int64)
    s = max(1, s)
    whole = (1 << 62) - (1 << 62) % s  # a multiple of s
    large = k > np.uint64(np.iinfo(np.int64).max)
    return np.where(large, (k % np.uint64(s)).astype(np.int64) + whole, k.astype(np.int64))


def _cut(dtype: str) -> Conversion:
    return lambda k, *_: k.astype(dtype)


def _rounded(dtype: str) -> Conversion:
    def rounded(k: AnyArray, s: int, other: int) -> AnyArray:
        del s, other
        with np.errstate(all="ignore"):
            near = k.astype(dtype).astype(np.float64)
        return np.clip(near, -(2.0**62), 2.0**62).astype(np.int64)

    return rounded


def _moved(by: int) -> Conversion:
    return lambda k, s, _: exact(k, s) + by


def _negative_moved(k: AnyArray, s: int, other: int) -> AnyArray:
    """Add the size of another axis to negative indices."""
    k = exact(k, s)
    return np.where(k < 0, k + other, k)


def _same(k: AnyArray, *_: int) -> AnyArray:
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
        lambda k, s, other: exact(k, s) + other,
        other=-1,
    ),
    IndexConversion(
        "moved back by another axis",
        "indices are moved by the size of axis {other} towards the front",
        lambda k, s, other: exact(k, s) - other,
        other=-1,
    ),
    IndexConversion("rounded to float32", "indices are rounded to float32", _rounded("f4")),
    IndexConversion("rounded to float16", "indices are rounded to float16", _rounded("f2")),
    IndexConversion("in Fortran order", "indices are read in Fortran order", _same, fortran=True),
    IndexConversion(
        "bytes swapped", "indices are read in the other byte order", lambda k, *_: k.byteswap()
    ),
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


def _after_wrapping(treat: Outcomes) -> Outcomes:
    """Return a treatment of indices to whose negative ones s is added once."""
    return lambda k, s, other: treat(_wrapped(k, s), s, other)


def _modulo(k: AnyArray, s: int, other: int) -> Outcome:
    """Take indices modulo s."""
    del other
    return _filled(exact(k, s) % max(1, s), s, 0)


def _clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Clamp indices to [0, s)."""
    del other
    return _filled(np.clip(exact(k, s), 0, max(0, s - 1)), s, 0)


def _unchecked(k: AnyArray, s: int, other: int) -> Outcome:
    """Read wherever an index points."""
    del other
    k = exact(k, s)
    return k, np.zeros_like(k)


def _other_clamped(k: AnyArray, s: int, other: int) -> Outcome:
    """Clamp indices to the size of another axis."""
    return _unchecked(np.clip(exact(k, s), 0, max(0, other - 1)), s, 0)


_GATHER_8: Final = "the C++ reference of OpenVINO"
TREATMENTS: Final[tuple[Treatment, ...]] = (
    Treatment(
        "wrapped once",
        "negative indices count from the end, once, and others give zeros",
        _after_wrapping(_filled),
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
        _after_wrapping(_clamped),
        ("x[i] of jax",),
        (FROM_THE_END, CLAMPED),
    ),
    Treatment(
        "filled with NaN after wrapping",
        "negative indices count from the end, once, and others give {fill}",
        _after_wrapping(_filled),
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
        for wraps, function in ((True, _after_wrapping(_filled)), (False, _filled))
    ),
    Treatment(
        "no bounds check after wrapping",
        "negative indices count from the end, once, and nothing checks the bounds",
        _after_wrapping(_unchecked),
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
        _after_wrapping(_filled),
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
        lambda k, s, other: _unchecked(exact(k, max(1, other)) % max(1, other), s, 0),
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
        lambda k, s, other: _other_clamped(_negative_moved(k, s, other), s, other),
        other=-1,
    ),
)


def specified(call: Call) -> Treatment:
    """Return the treatment of a call: its version, or its policies."""
    wraps, outside = call.wraps_negative, call.outside

    def treat(k: AnyArray, s: int, other: int) -> Outcome:
        policies = {OutOfRange.CLAMP: _clamped, OutOfRange.WRAP: _modulo}
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
