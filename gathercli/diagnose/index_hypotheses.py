"""Hypotheses about indices: what became of their values, and of those outside the axis.

A conversion maps index values to others. A treatment maps them to positions on an axis, each with
a fate (`READ` ...). Both are functions of the indices k, of any integer type; s, the size of the
axis; and the size of another axis, for a row that is tried with each. An order moves them to other
places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.spec.call import Call
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import table_beside

# A function of k, s and the size of another axis to the converted k, of any integer type.
Conversion = Callable[[AnyArray, int, int], AnyArray]
Outcome = tuple[AnyArray, AnyArray]  # positions, int64, and the fate of each
# A function of k, s and the size of another axis to positions and fates.
Outcomes = Callable[[AnyArray, int, int], Outcome]


# The fate of a cell: it holds an element of `data`, a fill, what the version refuses, or something
# that nothing predicts. (Members of an Enum made the search slower by a quarter.)
READ, FILLED, REFUSED, FOREIGN = range(4)


class IndexConversion(NamedTuple):
    """A hypothesis about the values of indices."""

    name: str
    function: Conversion
    bits: int = 0  # that it leaves of an index; 0 if it cuts none
    # the other axis; -1 for a row that is tried with each, None for one that needs none
    other: int | None = None
    rare: bool = False  # whether it ranks behind others that explain as much
    sentence: str = ""  # what became of the indices


class IndexOrder(NamedTuple):
    """A hypothesis about the places of indices."""

    name: str
    # all indices or tuples, shape (I.., K), to those in their places
    places: Callable[[AnyArray], AnyArray]
    sentence: str = ""  # what became of the indices
    rare: bool = True  # as for `IndexConversion`


class Treatment(NamedTuple):
    """A hypothesis about indices outside the axis."""

    name: str
    function: Outcomes
    # of negative indices and of others outside, as a row states them
    fates: tuple[str, ...] | None = None
    fill: str = "zero"  # the value of a cell that is filled, a key of `FILLS`
    other: int | None = None  # as for `IndexConversion`
    rare: bool = False  # as for `IndexConversion`
    keeps: bool = False  # whether a filled slice keeps that of the index before it
    rest: Outcomes | None = None  # of the other numbers of a tuple; None for `function`
    outside: int = FOREIGN  # of a position outside of `data`
    sentence: str = ""  # what became of the indices


_TABLE: Final = table_beside(__name__)


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


def _rounded_to_bfloat16(k: AnyArray, s: int, other: int) -> AnyArray:
    """Keep the upper 8 bits of indices, rounded to even: those of a bfloat16."""
    del s, other
    near = np.asarray(k, np.float32).view(np.uint32)
    near = near + np.uint32(0x7FFF) + ((near >> 16) & np.uint32(1)) & np.uint32(0xFFFF0000)
    return np.clip(near.view(np.float32), -(2.0**62), 2.0**62).astype(np.int64)


def _moved(by: int) -> Conversion:
    return lambda k, s, _: exact(k, s) + by


def _negative_moved(k: AnyArray, s: int, other: int) -> AnyArray:
    k = exact(k, s)
    return np.where(k < 0, k + other, k)


def _power(s: int) -> int:
    """Return the least power of two that is not less than a size."""
    return 1 << max(0, s - 1).bit_length()


def _late(rows: AnyArray) -> AnyArray:
    flat = rows.reshape(-1, rows.shape[-1])
    return np.concatenate([np.zeros_like(flat[:1]), flat[:-1]]).reshape(rows.shape)


def _fortran(rows: AnyArray) -> AnyArray:
    *lead, last = range(rows.ndim)
    return rows.transpose(*reversed(lead), last).reshape(rows.shape)


def _words(rows: AnyArray) -> AnyArray:
    """Read indices of 64 bits, little-endian, as twice as many of 32."""
    if rows.itemsize != 8:
        return rows
    return np.ascontiguousarray(rows).view("i4").reshape(-1)[: rows.size].reshape(rows.shape)


def _as_one_row(order: Callable[[AnyArray], AnyArray], rows: AnyArray) -> AnyArray:
    return order(rows.reshape(-1, rows.shape[-1])).reshape(rows.shape)


def _repeated_outside(rows: AnyArray) -> AnyArray:
    """Put indices that came before outside of every axis."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.where(np.isin(np.arange(len(rows)), first)[:, None], exact(rows, 1), OUTSIDE)


def _different_first(rows: AnyArray) -> AnyArray:
    """Sort the indices that differ, and put the rest outside of every axis."""
    different = np.unique(exact(rows, 1))
    return np.concatenate([different, np.full(len(rows) - len(different), OUTSIDE)])


def _inverse(rows: AnyArray, axis: int) -> AnyArray:
    """Return for each place along an axis where an index that points there stands, the last one."""
    k, size = np.moveaxis(exact(rows, 1), axis, 0), rows.shape[axis]
    k = np.where(k < 0, k + size, k)
    at = np.where((k < 0) | (k >= size), size, k)
    inverse = np.full((size + 1, *k.shape[1:]), OUTSIDE)
    np.put_along_axis(inverse, at, np.arange(size).reshape(-1, *[1] * (k.ndim - 1)), 0)
    return np.moveaxis(inverse[:size], 0, axis)


OUTSIDE: Final = -(1 << 40)  # an index outside of every axis


def _first(rows: AnyArray, axes: Iterable[int]) -> AnyArray:
    firsts = tuple(slice(0, 1 if axis in axes else None) for axis in range(rows.ndim))
    return np.broadcast_to(rows[firsts], rows.shape)


IN_THEIR_PLACES: Final = IndexOrder("", lambda rows: rows)


def orders(shape: tuple[int, ...], *, tuples: bool) -> Iterator[IndexOrder]:
    """Yield the orders of indices of a shape, with a last dimension for the numbers of tuples."""
    words, lead = _TABLE["orders"], range(len(shape) - 1)
    moves: dict[str, Callable[[AnyArray], AnyArray]] = {
        "in Fortran order": _fortran,
        "of the place before": _late,
        "read as words of 32 bits": _words,
    }
    own = ", each number of tuples by itself" if tuples else ""
    if len(lead) > 1:
        moves["sorted as one row"] = partial(_as_one_row, partial(np.sort, axis=0))
        moves["reversed as one row"] = partial(_as_one_row, np.flipud)
    count = int(np.prod(shape[:-1]))
    moves["counted"] = lambda _: np.arange(count).repeat(shape[-1]).reshape(shape)
    moves["repeated outside"] = partial(_as_one_row, _repeated_outside)
    if not tuples:
        moves["different ones first"] = partial(_as_one_row, _different_first)
    if tuples:
        moves["tuples back to front"] = lambda rows: rows[..., ::-1]
        moves["last number ignored"] = lambda rows: rows * (np.arange(shape[-1]) < shape[-1] - 1)
        moves["numbers apart"] = lambda rows: rows.reshape(shape[-1], -1).T.reshape(shape)
    for name, places in moves.items():
        yield IndexOrder(name, places, words[name] + own * name.startswith("sorted"))
    for axis in (each for each in lead if shape[each] > 1):
        along: dict[str, Callable[[AnyArray], AnyArray]] = {
            "sorted": partial(np.sort, axis=axis),
            "reversed": partial(np.flip, axis=axis),
            "of the row before": partial(np.roll, shift=1, axis=axis),
            "of the row after": partial(np.roll, shift=-1, axis=axis),
            "of the first row": partial(_first, axes=[axis]),
            "inverse": partial(_inverse, axis=axis),
        }
        others = [each for each in lead if each != axis]
        if len(others) > 1:
            along["of the first row but"] = partial(_first, axes=others)
        for name, places in along.items():
            yield IndexOrder(
                f"{name} along axis {axis}", places, words[name].format(axis=axis, own=own)
            )


AS_THEY_ARE: Final = IndexConversion("", lambda k, *_: k)
# A function for each row of `conversions` in the table.
_CONVERSIONS: Final[dict[str, Conversion]] = {
    "cut to 32 bits": _cut("i4"),
    "cut to 16 bits": _cut("i2"),
    "cut to 8 bits": _cut("i1"),
    "one too large": _moved(1),
    "one too small": _moved(-1),
    "negative ones moved by another axis": _negative_moved,
    "moved by another axis": lambda k, s, other: exact(k, s) + other,
    "moved back by another axis": lambda k, s, other: exact(k, s) - other,
    "rounded to float32": _rounded("f4"),
    "rounded to float16": _rounded("f2"),
    "rounded to bfloat16": _rounded_to_bfloat16,
    "made positive": lambda k, s, _: np.abs(exact(k, s)),
    "saturated to 32 bits": lambda k, s, _: np.clip(exact(k, s), -(1 << 31), (1 << 31) - 1),
    "saturated to 8 bits": lambda k, s, _: np.clip(exact(k, s), -128, 127),
    "masked": lambda k, s, _: k.astype(np.int64) & (s - 1),
    "masked to fewer bits": lambda k, s, _: k.astype(np.int64) & (_power(s + 1) // 2 - 1),
    "masked to enough bits": lambda k, s, _: k.astype(np.int64) & (_power(s) - 1),
    "halved": lambda k, s, _: exact(k, s) // 2,
    "doubled": lambda k, s, _: exact(k, s) * 2,
    "from the end": lambda k, s, _: s - 1 - exact(k, s),
    "negative ones inverted": lambda k, s, _: np.where(exact(k, s) < 0, ~exact(k, s), exact(k, s)),
    "negative ones moved by one less": lambda k, s, _: np.where(
        exact(k, s) < 0, exact(k, s) + s - 1, exact(k, s)
    ),
    "bytes swapped": lambda k, *_: k.byteswap(),
    "cut to 32 unsigned bits": _cut("u4"),
    "cut to 16 unsigned bits": _cut("u2"),
    "cut to 8 unsigned bits": _cut("u1"),
}
CONVERSIONS: Final = tuple(
    IndexConversion(name, _CONVERSIONS[name], **fields)
    for name, fields in _TABLE["conversions"].items()
)


def then(one: IndexConversion, other: IndexConversion) -> IndexConversion:
    """Return what does both, the second to what the first made."""

    def converted(k: AnyArray, s: int, axis: int) -> AnyArray:
        return other.function(one.function(k, s, axis), s, axis)

    names, sentences = f"{one.name}; {other.name}", f"{one.sentence}; {other.sentence}"
    return IndexConversion(names, converted, rare=one.rare or other.rare, sentence=sentences)


def _outcome(at: AnyArray, outside: AnyArray, fate: int = FILLED) -> Outcome:
    return np.where(outside, 0, at), np.where(outside, fate, READ)


def _wrapped(k: AnyArray, s: int) -> AnyArray:
    k = exact(k, s)
    return np.where(k < 0, k + s, k)


def _filled(k: AnyArray, s: int, other: int) -> Outcome:
    del other
    k = exact(k, s)
    return _outcome(k, (k < 0) | (k >= s))


def _after_wrapping(treat: Outcomes) -> Outcomes:
    """Return a treatment of indices to whose negative ones s is added once."""
    return lambda k, s, other: treat(_wrapped(k, s), s, other)


def _modulo(k: AnyArray, s: int, other: int) -> Outcome:
    del other
    return _filled(exact(k, s) % max(1, s), s, 0)


def _clamped(k: AnyArray, s: int, other: int) -> Outcome:
    del other
    return _filled(np.clip(exact(k, s), 0, max(0, s - 1)), s, 0)


def _padded(k: AnyArray, s: int, other: int, padding: int = -1) -> Outcome:
    """Fill for an index, and count other negative ones from the end."""
    at, fates = _filled(_wrapped(k, s), s, other)
    return at, np.where(exact(k, s) == padding, FILLED, fates)


def _unchecked(k: AnyArray, s: int, other: int) -> Outcome:
    del other
    k = exact(k, s)
    return k, np.zeros_like(k)


def _row_of(function: Callable[[int], int]) -> Outcomes:
    """Return a treatment that reads one position for indices outside [0, s)."""

    def treat(k: AnyArray, s: int, other: int) -> Outcome:
        at, fates = _filled(k, s, other)
        return np.where(fates == FILLED, function(s), at), np.zeros_like(fates)

    return treat


# The functions that the rows of `treatments` in the table name.
_TREATMENTS: Final[dict[str, Outcomes]] = {
    "filled": _filled,
    "filled after wrapping": _after_wrapping(_filled),
    "modulo": _modulo,
    "clamped": _clamped,
    "unchecked": _unchecked,
    "remainder": lambda k, s, _: _filled(np.fmod(exact(k, s), max(1, s)), s, 0),
    "absolute remainder": lambda k, s, _: _filled(np.abs(np.fmod(exact(k, s), max(1, s))), s, 0),
    "padded": _padded,
    "padded with 0": partial(_padded, padding=0),
    "last outside": lambda k, s, _: _filled(k, s - 1, 0),
    "first": _row_of(lambda _: 0),
    "last": _row_of(lambda s: s - 1),
    "clamped above": lambda k, s, _: _filled(np.minimum(exact(k, s), s - 1), s, 0),
    "clamped below": lambda k, s, _: _filled(np.maximum(exact(k, s), 0), s, 0),
    "modulo another": lambda k, s, other: _unchecked(exact(k, max(1, other)) % max(1, other), s, 0),
    "bounded by another": lambda k, s, other: (exact(k, s), _filled(k, other, 0)[1]),
    "clamped to another": lambda k, s, other: _unchecked(
        np.clip(exact(k, s), 0, max(0, other - 1)), s, 0
    ),
}


def _treatment(
    name: str,
    function: str,
    *,
    wraps: bool = False,
    moves: bool = False,
    zeros: bool = False,
    rest: str = "",
    fates: Sequence[str] = (),
    **fields: Any,
) -> Treatment:
    """Return a row of the table.

    If it `wraps`, s is added to negative indices first; if it `moves`, the size of another axis;
    with `zeros` these are outside of `data`.
    """
    treat = _TREATMENTS[function]
    if wraps:
        treat = _after_wrapping(treat)
    if moves:
        base = _TREATMENTS[function]
        treat = lambda k, s, other: base(_negative_moved(k, s, other), s, other)  # noqa: E731
    fields |= {"rest": _TREATMENTS.get(rest), "outside": FILLED if zeros else FOREIGN}
    return Treatment(name, treat, tuple(fates) or None, **fields)


TREATMENTS: Final = tuple(_treatment(name, **row) for name, row in _TABLE["treatments"].items())


def specified(call: Call) -> Treatment:
    """Return the treatment of a call: its version, or its policies."""
    wraps, outside = call.wraps_negative, call.outside

    def treat(k: AnyArray, s: int, other: int) -> Outcome:
        policies = {OutOfRange.CLAMP: _clamped, OutOfRange.WRAP: _modulo}
        fate = FILLED if outside.fills else REFUSED
        negative = exact(k, s) < 0
        at = _wrapped(k, s) if wraps else exact(k, s)
        out = (at < 0) | (at >= s)
        if outside in policies and s:
            at, fates = policies[outside](at, s, other)
        else:
            at, fates = _outcome(at, out, fate)
        if call.negative is Negative.ERROR:
            fates = np.where(negative, REFUSED, fates)
        return at, fates

    filled = "nan" if outside.fills and outside is not OutOfRange.ZERO else "zero"
    return Treatment("", treat, fill=filled)
