"""Count the illegal indices of a call by place and by distance from the legal range.

Every count is exact. The indices are read block by block, in memory that depends on the bins alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.verdicts import Illegal, fate, legal, outside
from gathercli.explain.heatmap import edges
from gathercli.ops import indexed_inputs
from gathercli.spec.coordinates import coordinate
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.verdicts import Case
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

_SIDE: Final = 128
"""The code of the first distance above the legal range; those below it begin at 0."""

_CODES: Final = 2 * _SIDE
"""The codes of an axis: a side, and the bits of a distance of at most 2^64."""


class Outliers(NamedTuple):
    """Illegal indices on one side of the legal range whose distances from it have equal bits.

    Attributes
    ----------
    least, most
        The extremes of their values.
    number
        How many there are.
    """

    least: float
    most: float
    number: int


class AxisOutliers(NamedTuple):
    """The illegal indices along one axis.

    Attributes
    ----------
    along
        The axis.
    legal
        Its least and greatest legal index; None if it is empty.
    below, above
        The indices on both sides of the range, ascending; all are below for an empty axis.
    """

    along: IndexedAxis
    legal: tuple[int, int] | None
    below: tuple[Outliers, ...]
    above: tuple[Outliers, ...]


class IllegalMap(NamedTuple):
    """The places of the illegal indices of one input, of shape (I..), in R by C bins.

    The rows are those of the input as a matrix: its last dimension along the columns.

    Attributes
    ----------
    name, shape
        The name and the shape of the input.
    rows, columns
        The R + 1 and C + 1 positions at which bins begin and the last one ends.
    counts
        Shape (R, C), int64: the illegal indices of each bin.
    first
        The first illegal index of each bin that has one.
    axes
        The illegal indices along each axis.
    """

    name: str
    shape: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    counts: AnyArray
    first: dict[tuple[int, int], Illegal]
    axes: tuple[AxisOutliers, ...]


def illegal_maps(call: Call, case: Case, most: tuple[int, int]) -> Iterator[IllegalMap]:
    """Yield the map of each input of indices.

    Parameters
    ----------
    most
        The most rows and columns of bins.
    """
    for name, axes in indexed_inputs(call).items():
        shape = case.array(call.op, name).shape
        sizes = product(shape[:-1]), shape[-1] if shape else 1
        if product(sizes) and axes:
            yield _Places(call, case, name, axes, sizes).map(most)


class _Places:
    """Counts of the illegal indices of an input so far."""

    def __init__(
        self,
        call: Call,
        case: Case,
        name: str,
        axes: Sequence[IndexedAxis],
        sizes: tuple[int, int],
    ) -> None:
        self._call, self._case, self._name, self._axes = call, case, name, axes
        self._shape, self._sizes = case.array(call.op, name).shape, sizes
        self._fates = [fate(call, along) for along in axes]
        self._groups: dict[int, Outliers] = {}

    def map(self, most: tuple[int, int]) -> IllegalMap:
        rows, columns = (edges(size, n) for size, n in zip(self._sizes, most, strict=True))
        shape = len(rows) - 1, len(columns) - 1
        counts = np.zeros(product(shape), np.int64)
        first: dict[tuple[int, int], Illegal] = {}
        for positions, values in outside(self._call, self._case, self._name, self._axes):
            if not positions.size:
                continue
            row, column = np.divmod(positions, self._sizes[1])
            bins = np.searchsorted(rows, row, "right") - 1
            bins = bins * shape[1] + np.searchsorted(columns, column, "right") - 1
            new = np.flatnonzero(counts[bins] == 0)
            for each, at in zip(*np.unique(bins[new], return_index=True), strict=True):
                n = int(new[at])
                place = int(each) // shape[1], int(each) % shape[1]
                first[place] = self._illegal(int(positions[n]), int(values[n]))
            counts += np.bincount(bins, minlength=counts.size)
            self._group(positions, values)
        axes = tuple(map(self._outliers, range(len(self._axes))))
        return IllegalMap(
            self._name, self._shape, rows, columns, counts.reshape(shape), first, axes
        )

    def _illegal(self, position: int, value: int) -> Illegal:
        j = position % len(self._axes)
        return Illegal(
            coordinate(position, self._shape),
            self._case.value(self._name, position, value),
            self._fates[j](value),
            self._axes[j],
            legal(self._call, self._axes[j]),
        )

    def _group(self, positions: AnyArray, values: AnyArray) -> None:
        """Add indices to the groups of their axis, side and distance."""
        component = positions % len(self._axes)
        low, high = (
            np.array(each)[component]
            for each in zip(*(legal(self._call, a) or (0, -1) for a in self._axes), strict=True)
        )
        above = values > high
        # Modulo 2^64 the differences are right even where they overflow int64.
        ends, unsigned = np.where(above, high, low).astype(np.uint64), values.astype(np.uint64)
        distance = np.where(above, unsigned - ends, ends - unsigned)
        bits = np.frexp(distance.astype(np.float64))[1]
        codes = component * _CODES + above * _SIDE + bits
        for code in np.unique(codes).tolist():
            of_code = codes == code
            own, at = values[of_code], positions[of_code]
            least, most = (
                self._case.value(self._name, int(at[n]), int(own[n]))
                for n in (int(own.argmin()), int(own.argmax()))
            )
            old = self._groups.get(code, Outliers(least, most, 0))
            self._groups[code] = Outliers(
                min(old.least, least), max(old.most, most), old.number + int(own.size)
            )

    def _outliers(self, component: int) -> AxisOutliers:
        along = self._axes[component]
        by_side: tuple[list[Outliers], list[Outliers]] = ([], [])
        for code, each in sorted(self._groups.items()):
            if code // _CODES == component:
                by_side[code % _CODES >= _SIDE].append(each)
        below, above = by_side
        ends = legal(self._call, along)
        if ends is None:
            return AxisOutliers(along, None, tuple(sorted(below + above)), ())
        return AxisOutliers(along, ends, tuple(reversed(below)), tuple(above))
