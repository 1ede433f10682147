"""Bin a two-dimensional slice of a tensor: the mean, extremes, NaN and infinities of every bin.

The slice is read once, block by block, so it may be mapped and larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray, values
from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import Kind
from gathercli.text import table_beside

_TABLE: Final = table_beside(__name__)
_RAMP: Final[Sequence[str]] = _TABLE["ramp"].split()
_TERMINAL_NUMBERS: Final[Sequence[int]] = _TABLE["terminal"]
RAMP_STEPS: Final = len(_RAMP) - 1
_MIDDLE_LUMINANCE: Final = 0.179  # the luminance on which black and white have one contrast, 4.58:1
HEAT_BLOCK: Final = 1 << 17  # elements of a block
# The least magnitude that scales a block down, so that its sum does not overflow.
_LARGE_MAGNITUDE: Final = 2.0**900
_SCALE_BITS: Final = 128  # the binary places by which such a block is scaled down


class Color(NamedTuple):
    """A colour."""

    code: str  # ``#rrggbb``
    number: int  # a similar one of those that terminals of 256 colours agree on
    is_light: bool  # whether black text is easier to read on it than white text


class Scale(NamedTuple):
    """The colours of numbers from `low` to `high`; zero is in the middle of those of both signs.

    >>> Scale.of(1, 5), Scale.of(-1, 5)
    (Scale(low=1, high=5), Scale(low=-5, high=5))
    """

    low: float
    high: float

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """Return a scale for finite numbers from `low` to `high`."""
        size = max(abs(low), abs(high))
        return cls(-size, size) if low < 0 < high else cls(low, high)

    @property
    def diverges(self) -> bool:
        """Whether there are numbers of both signs."""
        return self.low < 0 < self.high

    def place(self, value: float) -> float:
        """Return the place of a number on the scale, from 0 to 1.

        >>> Scale(-1e308, 1e308).place(0), Scale(3, 3).place(3)
        (0.5, 0.5)
        """
        if self.low == self.high:
            return 0.5
        half = 0.5 if self.high - self.low == inf else 1.0
        width = self.high * half - self.low * half
        return min(1.0, max(0.0, (value * half - self.low * half) / width))

    def color(self, value: float) -> Color:
        """Return the colour of a number."""
        return self.at(self.place(value))

    def at(self, place: float) -> Color:
        """Return the colour of a place from 0 to 1."""
        return color(round(place * RAMP_STEPS))


@cache
def color(step: int) -> Color:
    """Return the colour of a step of the ramp, from 0 to `RAMP_STEPS`.

    >>> color(0)
    Color(code='#00224e', number=17, is_light=False)
    """
    code, numbers = _RAMP[step], _TERMINAL_NUMBERS
    weights = zip((0.2126, 0.7152, 0.0722), (0, 2, 4), strict=True)
    encoded = ((weight, int(code[n : n + 2], 16) / 255) for weight, n in weights)  # of sRGB
    luminance = sum(
        weight * (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
        for weight, value in encoded
    )
    number = numbers[step * len(numbers) // len(_RAMP)]
    return Color(f"#{code}", number, luminance > _MIDDLE_LUMINANCE)


class Plane(NamedTuple):
    """The two dimensions of a slice."""

    # along the rows and columns of a picture; None for one that a vector or a 0-D tensor lacks
    dims: tuple[int | None, int | None]
    window: tuple[range, ...]  # the coordinates of the slice along every dimension of the tensor

    @property
    def first(self) -> tuple[int, int]:
        """The first coordinates of the slice, 0 for a dimension that is lacking."""
        row, column = (0 if dim is None else self.window[dim].start for dim in self.dims)
        return row, column

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes of the slice, 1 for a dimension that is lacking."""
        rows, columns = (1 if dim is None else len(self.window[dim]) for dim in self.dims)
        return rows, columns

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> str:
        """Format rows and columns, as first and last positions in the slice, by their coordinates.

        >>> plane((3, 40, 50)).part((0, 40), (7, 8))
        '[0,0:40,7]'
        """
        kept = dict(zip(self.dims, (rows, columns), strict=True))
        words = []
        for dim, each in enumerate(self.window):
            start, stop = (each.start + n for n in kept.get(dim, (0, 1)))
            words.append(f"{start}:{stop}" if stop > start + 1 else str(start))
        return f"[{','.join(words)}]"

    def __str__(self) -> str:
        rows, columns = self.shape
        return self.part((0, rows), (0, columns))


def plane(shape: Sequence[int], window: Sequence[slice] = ()) -> Plane:
    """Choose the slice to draw: the last two dimensions at the first of all others.

    The window has slices of the leading dimensions: one coordinate fixes a dimension, more keep it.
    Raise `ValueError` if it keeps more than two.

    >>> str(plane((3, 4, 5))), str(plane((3, 4, 5), [slice(None), slice(2, 3)]))
    ('[0,0:4,0:5]', '[0:3,2,0:5]')
    """
    chosen = [range(size)[part] for size, part in zip(shape, window, strict=False)]
    kept = [dim for dim, each in enumerate(chosen) if len(each) != 1]
    if len(kept) > 2:
        raise ValueError("the window keeps more than two dimensions")
    others = range(len(chosen), len(shape))
    kept += others[len(others) - min(2 - len(kept), len(others)) :]
    ranges = [*chosen, *(range(shape[dim]) for dim in others)]
    fixed = (each if dim in kept else each[:1] for dim, each in enumerate(ranges))
    dims = [None, None, *kept]
    return Plane((dims[-2], dims[-1]), tuple(fixed))


class HeatMap(NamedTuple):
    """A slice in R by C bins.

    Mean, least and most are of the finite elements, shape (R, C), float64, of absolute values if
    complex; NaN where a bin has none. How many are NaN and infinite is int64 of the same shape.
    """

    # the R + 1 positions in the slice at which bins begin and the last one ends
    rows: tuple[int, ...]
    columns: tuple[int, ...]  # the C + 1 such positions
    mean: AnyArray
    least: AnyArray
    most: AnyArray
    nan: AnyArray
    infinite: AnyArray
    plane: Plane

    @property
    def scale(self) -> Scale | None:
        """The scale of the means; None without a finite element."""
        finite = self.mean[np.isfinite(self.mean)]
        return Scale.of(float(finite.min()), float(finite.max())) if finite.size else None

    def place(self, row: int, column: int) -> str:
        """Format the coordinates of a bin."""
        return self.plane.part(self.rows[row : row + 2], self.columns[column : column + 2])

    @property
    def binned(self) -> bool:
        """Whether any bin has several elements."""
        return self.rows[-1] > len(self.mean) or self.columns[-1] > len(self.mean.T)


def edges(size: int, most: int) -> tuple[int, ...]:
    """Cut an axis into bins of sizes that differ by 1 at most.

    >>> edges(5, 8), edges(10, 3)
    ((0, 1, 2, 3, 4, 5), (0, 3, 6, 10))
    """
    count = min(size, most)
    return tuple(size * n // count for n in range(count + 1))


def heat_map(tensor: Tensor, chosen: Plane, bins: tuple[int, int]) -> HeatMap:
    """Bin a slice into at most so many rows and columns."""
    view = tensor.array[tuple(slice(each.start, each.stop) for each in chosen.window)]
    view = view.reshape(chosen.shape)
    rows, columns = (edges(size, n) for size, n in zip(view.shape, bins, strict=True))
    if abs(view.strides[0]) < abs(view.strides[1]):  # read in the order of memory
        arrays = (each.T for each in _Bins(columns, rows).of(tensor, view.T))
    else:
        arrays = (each for each in _Bins(rows, columns).of(tensor, view))
    return HeatMap._make((rows, columns, *arrays, chosen))


class _Bins:
    """Sums of the elements of every bin."""

    def __init__(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        self._rows, self._columns = rows, columns
        shape = len(rows) - 1, len(columns) - 1
        self._sum, self._large = np.zeros(shape), np.zeros(shape)
        self._least, self._most = np.full(shape, np.inf), np.full(shape, -np.inf)
        self._nan, self._infinite = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def of(self, tensor: Tensor, view: AnyArray) -> Iterator[AnyArray]:
        """Add the elements of a slice, shape (rows, columns); yield the arrays of a `HeatMap`."""
        for row, block, cuts, first in self._blocks(view):
            numbers = _reals(tensor.dtype.kind, values(tensor.dtype, block))
            self._add(numbers, (row, slice(first, first + len(cuts))), cuts)
        sizes = np.outer(np.diff(self._rows), np.diff(self._columns))
        count = sizes - self._nan - self._infinite
        some = count > 0
        least, most = (np.where(some, each, np.nan) for each in (self._least, self._most))
        count = np.maximum(count, 1)
        mean = self._sum / count + np.ldexp(self._large / count, _SCALE_BITS)
        # a rounded sum may put the mean of equal elements beyond them
        yield np.clip(mean, least, most)
        yield from (least, most, self._nan, self._infinite)

    def _blocks(self, view: AnyArray) -> Iterator[tuple[int, AnyArray, list[int], int]]:
        """Yield blocks within a row of bins: its number, the elements, cuts, the first column.

        The cuts are the positions in the block at which the bins of columns begin.
        """
        width = view.shape[1]
        high, wide = max(1, HEAT_BLOCK // width), min(HEAT_BLOCK, width)
        for row, (top, bottom) in enumerate(pairwise(self._rows)):
            for start in range(top, bottom, high):
                part = view[start : min(start + high, bottom)]
                for left in range(0, width, wide):
                    right = min(left + wide, width)
                    first = int(np.searchsorted(self._columns, left, "right")) - 1
                    last = int(np.searchsorted(self._columns, right, "left"))
                    cuts = [max(0, edge - left) for edge in self._columns[first:last]]
                    yield row, part[:, left:right], cuts, first

    def _add(self, block: AnyArray, at: tuple[int, slice], cuts: list[int]) -> None:
        finite = np.isfinite(block)
        least = most = block
        if not finite.all():
            nan = np.isnan(block)
            self._nan[at] += _reduced(np.add, nan.astype(np.int64), cuts)
            self._infinite[at] += _reduced(np.add, (~finite & ~nan).astype(np.int64), cuts)
            least, most = np.where(finite, block, np.inf), np.where(finite, block, -np.inf)
            block = np.where(finite, block, 0.0)
        lows, highs = _reduced(np.minimum, least, cuts), _reduced(np.maximum, most, cuts)
        self._least[at] = np.minimum(self._least[at], lows)
        self._most[at] = np.maximum(self._most[at], highs)
        ends = np.abs([lows, highs])
        if (ends[np.isfinite(ends)] >= _LARGE_MAGNITUDE).any():
            self._large[at] += _reduced(np.add, np.ldexp(block, -_SCALE_BITS), cuts)
        else:
            self._sum[at] += _reduced(np.add, block, cuts)


def _reduced(ufunc: np.ufunc, block: AnyArray, cuts: list[int]) -> AnyArray:
    """Reduce a block over its rows, and over its columns from each cut to the next."""
    if block.shape[1] < len(block):  # NumPy reduces long runs of memory faster
        by_column = ufunc.reduce(np.ascontiguousarray(block.T), axis=1)
    else:
        by_column = ufunc.reduce(block, axis=0)
    reduced: AnyArray = ufunc.reduceat(by_column, cuts)
    return reduced


def _reals(kind: Kind, numbers: AnyArray) -> AnyArray:
    """Return elements as float64: 1 for true, the absolute values of complex ones."""
    if kind is Kind.BOOL:
        numbers = numbers != 0  # any other byte is true
    elif kind is Kind.COMPLEX:
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(numbers.astype(np.complex128))
        size[np.isinf(size) & np.isfinite(numbers)] = np.finfo(np.float64).max
        size[np.isnan(numbers)] = np.nan
        return size
    with np.errstate(invalid="ignore"):  # a NaN that signals
        return numbers.astype(np.float64)
