"""Summarise the elements of a tensor: extremes, mean, NaN and infinities, a histogram.

The tensor is read twice, block by block, so it may be mapped and larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from operator import gt, lt
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import STRING, Kind
from gathercli.spec.shapes import coordinates

# Binary places after the point in the smallest float64, enough for every float64.
_PLACES: Final = 1074
# The most bits of the halves of a significand: the sum of those of a block is exact.
_HALF: Final = 27
BINS: Final = 16  # bins of a histogram, fewer for integers of a narrow range
FINE_BINS: Final = 48  # bins of a histogram for a picture


class Extreme(NamedTuple):
    """The smallest or largest element, and its first coordinates."""

    value: int | float
    at: tuple[int, ...]


class Histogram(NamedTuple):
    """Counts of the finite elements in bins of one width."""

    edges: tuple[
        int | float, ...
    ]  # one more than bins; each includes its lower edge, the last both
    counts: tuple[int, ...]


class Summary(NamedTuple):
    """Statistics of the elements; None for those that the type does not have."""

    minimum: Extreme | None = None  # of all elements but NaN, as the maximum
    maximum: Extreme | None = None
    mean: float | complex | None = None  # of the finite elements, as the histograms
    nan: int | None = None  # how many there are, as of infinite and true elements
    infinite: int | None = None
    true: int | None = None
    longest: int | None = None  # the length of the longest string
    histogram: Histogram | None = None
    fine: Histogram | None = None  # a histogram of more bins; None if not requested


def summarise(tensor: Tensor, *, fine: bool = False) -> Summary:
    """Summarise the elements of a tensor of shape (D..), if `fine` with a second histogram."""
    kind = tensor.dtype.kind
    if tensor.dtype is STRING:
        lengths = (int(np.char.str_len(block).max()) for block in _blocks(tensor))
        return Summary(longest=max(lengths, default=0))
    if kind is Kind.BOOL:
        return Summary(true=sum(int((block != 0).sum()) for block in _blocks(tensor)))
    return _of_numbers(tensor, BINS, *[FINE_BINS] * fine)


def _blocks(tensor: Tensor) -> Iterator[AnyArray]:
    """Yield the values, flat, block by block; 16-bit floats as float32."""
    for block in tensor.blocks():
        values = Tensor(tensor.dtype, block).values()
        yield values.astype(np.float32) if values.dtype == np.float16 else values


def _of_numbers(tensor: Tensor, *bins: int) -> Summary:
    least, most, real, imaginary = _Record(tensor, lt), _Record(tensor, gt), _Total(), _Total()
    kind, start, nan, infinite = tensor.dtype.kind, 0, 0, 0
    for block in _blocks(tensor):
        if kind is not Kind.COMPLEX:
            least.see(block, start)
            most.see(block, start)
        start += block.size
        numbers = block
        if not tensor.dtype.integral and not (finite := np.isfinite(block)).all():
            numbers, unknown = block[finite], int(np.isnan(block).sum())
            nan, infinite = nan + unknown, infinite + block.size - numbers.size - unknown
        real.add(numbers.real)
        if kind is Kind.COMPLEX:
            imaginary.add(numbers.imag)
    mean = real.mean()
    if kind is Kind.COMPLEX:
        both = None if mean is None else complex(mean or 0.0, imaginary.mean() or 0.0)
        return Summary(mean=both, nan=nan, infinite=infinite)
    ends = (least.best, most.best)
    histogram, fine = (*_histograms(tensor, ends, bins), None, None)[:2]
    summary = Summary(*ends, mean, histogram=histogram, fine=fine)
    return summary._replace(nan=nan, infinite=infinite) if kind is Kind.FLOAT else summary


class _Record:
    """The smallest or largest element so far."""

    def __init__(self, tensor: Tensor, better: Callable[[Any, Any], bool]) -> None:
        self._shape, self._better = tensor.shape, better
        self.best: Extreme | None = None

    def see(self, block: AnyArray, start: int) -> None:
        numbers = block[block == block]  # noqa: PLR0124  (NaN differs from itself)
        if not numbers.size:
            return
        value = (numbers.min() if self._better is lt else numbers.max()).item()
        if self.best is None or self._better(value, self.best.value):
            at = int((block == value).argmax())
            # The first element, not `value`: of 0.0 and -0.0 numpy may return either.
            self.best = Extreme(block[at].item(), coordinates(start + at, self._shape))


class _Total:
    """An exact sum, in units of the smallest float64, with a mean that is rounded once."""

    def __init__(self) -> None:
        self._count, self._sum = 0, 0

    def add(self, values: AnyArray) -> None:
        self._count += values.size
        if values.dtype.kind in "iu":
            whole = 0
            if values.itemsize == 8:  # the sums of halves do not overflow
                whole = int((values >> 32).sum(dtype=np.int64)) << 32
                values = values & 0xFFFFFFFF
            self._sum += (whole + int(values.sum(dtype=np.int64))) << _PLACES
            return
        rest, exponents = np.frexp(values.astype(np.float64))
        exponents += _PLACES  # 0 or more
        for places in (_HALF, 2 * _HALF):
            rest = np.ldexp(rest, _HALF)
            leading = np.trunc(rest)
            rest -= leading
            sums = np.bincount(exponents, leading)
            for at in np.flatnonzero(sums).tolist():
                self._sum += int(sums[at]) << at >> places

    def mean(self) -> float | None:
        # Python rounds the quotient of two integers once.
        return self._sum / (self._count << _PLACES) if self._count else None


def _histograms(
    tensor: Tensor, ends: tuple[Extreme | None, Extreme | None], bins: Sequence[int]
) -> list[Histogram]:
    """Count the finite elements in bins of equal width between the extremes.

    All histograms are counted at once, one for each of the `bins`; none without a finite element.
    """
    ends = _finite_ends(tensor, ends)
    if ends[0] is None or ends[1] is None:
        return []
    edges = [_edges(ends[0].value, ends[1].value, count, tensor.dtype.bits) for count in bins]
    every = sorted({edge for _, *inner, _ in edges for edge in inner})
    counts = np.zeros(len(every) + 1, np.int64)
    for block in _blocks(tensor):
        finite = block[np.isfinite(block)] if block.dtype.kind == "f" else block
        wide = finite.astype(np.float64) if block.dtype.kind == "f" else finite
        at = np.searchsorted(np.array(every, wide.dtype), wide, side="right")
        counts += np.bincount(at, minlength=counts.size)
    histograms = []
    for each in edges:
        starts = [0, *(1 + every.index(edge) for edge in each[1:-1])]
        histograms.append(Histogram(tuple(each), tuple(np.add.reduceat(counts, starts).tolist())))
    return histograms


def _edges(low: float, high: float, bins: int, bits: int) -> list[int | float]:
    """Return the edges of at most `bins` equal bins: integers, or floats of `bits` bits."""
    if isinstance(low, int) and isinstance(high, int):
        width = -(-(high - low + 1) // bins)
        return [*range(low, high + 1, width), low + width * (-(-(high - low + 1) // width))]
    from fractions import Fraction

    first, last = Fraction(low), Fraction(high)
    exact = (first + (last - first) * at / bins for at in range(1, bins))
    narrow = np.float64 if bits == 64 else np.float32
    inner = {float(narrow(float(edge))) for edge in exact} - {low, high}
    return [low, *sorted(inner), high]


def _finite_ends(
    tensor: Tensor, ends: tuple[Extreme | None, Extreme | None]
) -> tuple[Extreme | None, Extreme | None]:
    """Return the extremes of the finite elements: `ends`, unless one of those is infinite."""
    if all(end is None or isfinite(end.value) for end in ends):
        return ends
    least, most = _Record(tensor, lt), _Record(tensor, gt)
    for block in _blocks(tensor):
        finite = block[np.isfinite(block)]
        least.see(finite, 0)
        most.see(finite, 0)
    return least.best, most.best
