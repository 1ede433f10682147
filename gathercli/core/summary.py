"""What the elements of a tensor are like: extremes, mean, what is not finite, a histogram.

Read twice block by block, so that a mapped tensor larger than memory has a summary too.
"""

from __future__ import annotations

from math import fsum, isfinite
from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.core.dtypes import STRING, Kind, Tensor
from gathercli.core.positions import coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.core.dtypes import AnyArray

_SCALE: Final = 2.0**64
_LARGE: Final = 1e290
"""Numbers from which on a sum might overflow, and is taken of scaled ones."""

BINS: Final = 16
"""Bins of a histogram, fewer for integers of a narrow range."""


class Extreme(NamedTuple):
    """The smallest or largest element, and the first place where it is."""

    value: int | float
    at: tuple[int, ...]


class Histogram(NamedTuple):
    """Counts of the finite elements in bins of one width.

    Attributes
    ----------
    edges
        One more than there are bins; a bin holds its lower edge, the last one both.
    """

    edges: tuple[int | float, ...]
    counts: tuple[int, ...]


class Summary(NamedTuple):
    """What is known of the elements; None for what their type does not have.

    Attributes
    ----------
    minimum, maximum
        Of all that is not NaN.
    mean
        Of all that is finite.
    nan, infinite, true, longest
        How many are NaN, infinite, true; the length of the longest string.
    histogram
        Of all that is finite.
    """

    minimum: Extreme | None = None
    maximum: Extreme | None = None
    mean: float | complex | None = None
    nan: int | None = None
    infinite: int | None = None
    true: int | None = None
    longest: int | None = None
    histogram: Histogram | None = None


def summarise(tensor: Tensor) -> Summary:
    """Summarise the elements of a tensor of shape (D..)."""
    import numpy as np

    kind = tensor.dtype.kind
    if tensor.dtype is STRING:
        lengths = (int(np.char.str_len(block).max()) for block in _blocks(tensor))
        return Summary(longest=max(lengths, default=0))
    if kind is Kind.BOOL:
        return Summary(true=sum(int((block != 0).sum()) for block in _blocks(tensor)))
    if kind is Kind.COMPLEX:
        return _of_complex(tensor)
    return _of_reals(tensor)


def _blocks(tensor: Tensor) -> Iterator[AnyArray]:
    """Yield the values, flat, block by block; 16-bit floats as float32."""
    import numpy as np

    for block in tensor.blocks():
        values = Tensor(tensor.dtype, block).values()
        yield values.astype(np.float32) if values.dtype == np.float16 else values


def _of_reals(tensor: Tensor) -> Summary:
    import numpy as np

    least, most = _Record(tensor, lt), _Record(tensor, gt)
    total, start, nan, infinite = _Total(), 0, 0, 0
    floats = tensor.dtype.kind is Kind.FLOAT
    for block in _blocks(tensor):
        least.see(block, start)
        most.see(block, start)
        if floats and not np.isfinite(block).all():
            nan += int(np.isnan(block).sum())
            infinite += int(np.isinf(block).sum())
            total.add(block[np.isfinite(block)])
        else:
            total.add(block)
        start += block.size
    ends = (least.best, most.best)
    histogram = _histogram(tensor, ends)
    summary = Summary(*ends, total.mean(), histogram=histogram)
    return summary._replace(nan=nan, infinite=infinite) if floats else summary


def _of_complex(tensor: Tensor) -> Summary:
    import numpy as np

    real, imaginary, nan, infinite = _Total(), _Total(), 0, 0
    for block in _blocks(tensor):
        finite = block[np.isfinite(block)]
        nan += int(np.isnan(block).sum())
        infinite += int((np.isinf(block) & ~np.isnan(block)).sum())
        real.add(finite.real)
        imaginary.add(finite.imag)
    means = real.mean(), imaginary.mean()
    mean = None if None in means else complex(*(part or 0.0 for part in means))
    return Summary(mean=mean, nan=nan, infinite=infinite)


class _Record:
    """The smallest or largest element seen, and where it was first."""

    def __init__(self, tensor: Tensor, better: Callable[[Any, Any], bool]) -> None:
        self._shape, self._better = tensor.shape, better
        self.best: Extreme | None = None

    def see(self, block: AnyArray, start: int) -> None:
        numbers = block[~(block != block)]  # noqa: PLR0124  (NaN differs from itself)
        if not numbers.size:
            return
        value = (numbers.min() if self._better is lt else numbers.max()).item()
        if self.best is None or self._better(value, self.best.value):
            at = int((block == value).argmax())
            # The element itself: of 0.0 and -0.0 either may be the smallest.
            self.best = Extreme(block[at].item(), coordinate(start + at, self._shape))


class _Total:
    """A sum that neither overflows nor, of integers, is rounded."""

    def __init__(self) -> None:
        self._count, self._integers = 0, 0
        self._sums: list[float] = []
        self._large: list[float] = []

    def add(self, values: AnyArray) -> None:
        import numpy as np

        self._count += values.size
        if values.dtype.kind in "iu":
            high, low = values >> 32 if values.itemsize == 8 else values * 0, values
            if values.itemsize == 8:
                low = values & 0xFFFFFFFF
            self._integers += (int(high.sum(dtype=np.int64)) << 32) + int(low.sum(dtype=np.int64))
        elif values.size:
            wide = values.astype(np.float64)
            large = float(np.abs(wide).max()) > _LARGE
            (self._large if large else self._sums).append(
                float((wide / _SCALE).sum() if large else wide.sum())
            )

    def mean(self) -> float | None:
        if not self._count:
            return None
        if self._integers or not (self._sums or self._large):
            return self._integers / self._count
        return fsum(self._sums) / self._count + fsum(self._large) / self._count * _SCALE


def _histogram(tensor: Tensor, ends: tuple[Extreme | None, Extreme | None]) -> Histogram | None:
    """Count the finite elements in bins of one width between the extremes."""
    import numpy as np

    ends = _finite_ends(tensor, ends)
    if ends[0] is None or ends[1] is None:
        return None
    low, high = ends[0].value, ends[1].value
    if isinstance(low, int) and isinstance(high, int):
        width = -(-(high - low + 1) // BINS)
        inner: list[int | float] = list(range(low + width, high + 1, width))
        edges: list[int | float] = [low, *inner, low + width * (len(inner) + 1)]
    else:
        # So written, the distance of the extremes may overflow.
        inner = [low * ((BINS - at) / BINS) + high * (at / BINS) for at in range(1, BINS)]
        inner = [] if low == high else inner
        edges = [low, *inner, high]
    counts = np.zeros(len(inner) + 1, np.int64)
    for block in _blocks(tensor):
        finite = block[np.isfinite(block)] if block.dtype.kind == "f" else block
        wide = finite.astype(np.float64) if block.dtype.kind == "f" else finite
        at = np.searchsorted(np.array(inner, wide.dtype), wide, side="right")
        counts += np.bincount(at, minlength=counts.size)
    return Histogram(tuple(edges), tuple(counts.tolist()))


def _finite_ends(
    tensor: Tensor, ends: tuple[Extreme | None, Extreme | None]
) -> tuple[Extreme | None, Extreme | None]:
    """Return the finite extremes; those found unless one of them is infinite."""
    import numpy as np

    if all(end is None or isfinite(end.value) for end in ends):
        return ends
    least, most = _Record(tensor, lt), _Record(tensor, gt)
    for block in _blocks(tensor):
        finite = block[np.isfinite(block)]
        least.see(finite, 0)
        most.see(finite, 0)
    return least.best, most.best
