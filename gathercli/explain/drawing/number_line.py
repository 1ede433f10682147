"""Draw the indices along an axis: the legal range, and the illegal ones on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.chart import LABEL, axis_label, ruled, tooltip
from gathercli.explain.drawing.shapes import Box, element, path, rect, text_width
from gathercli.explain.illegal_map import Outliers
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.illegal_map import AxisOutliers

HEIGHT: Final = 96
SIDE: Final = 6
"""The most marks on each side of the legal range."""

_SLOT: Final = 84
"""The least distance of two marks."""

_BAND: Final = 240
"""The width of the legal range."""


class NumberLine:
    """The elements of the number line of one axis.

    Parameters
    ----------
    x, y
        The upper left corner.
    """

    def __init__(self, axis: AxisOutliers, x: float, y: float) -> None:
        self._axis = axis
        self._below, self._above = _some(axis.below[::-1])[::-1], _some(axis.above)
        labels = [label_of(each) for each in (*self._below, *self._above)]
        widest = max((text_width(label, LABEL, mono=False) for label in labels), default=0)
        self._slot = max(_SLOT, widest + 40)
        legal = 0 if axis.legal is None else _BAND
        self._band = Box(x + self._slot * len(self._below) + 12, y + 34, legal, 18)
        width = self._band.right + self._slot * len(self._above) + 12 - x
        self.box = Box(x, y, width, HEIGHT)

    def elements(self) -> Iterator[str]:
        """Yield the line, the legal range, and a mark for each group of illegal indices."""
        band, y = self._band, self._band.center[1]
        yield ruled(self.box.x, y, band.x, y, "thick")
        yield ruled(band.right, y, self.box.right, y, "thick")
        for number, each in enumerate(self._below):
            yield from self._mark(each, band.x - self._slot * (len(self._below) - number - 0.4))
        for number, each in enumerate(self._above):
            yield from self._mark(each, band.right + self._slot * (number + 0.6))
        if self._axis.legal is not None:
            yield from self._range(*self._axis.legal)

    def _range(self, low: int, high: int) -> Iterator[str]:
        """Yield the legal range; the part from the end has a place of its own."""
        band = self._band
        yield element("g", tooltip(f"legal: {low} to {high}"), rect(band, class_="band"))
        yield axis_label(band.x, band.bottom + 16, str(low))
        if high != low:
            yield axis_label(band.right, band.bottom + 16, str(high))
        yield axis_label(band.center[0], band.y - 6, "legal")
        if low < 0:
            x = band.x + band.width / 2
            yield ruled(x, band.y, x, band.bottom, "thick")
            yield axis_label(x, band.bottom + 16, "0")
            yield axis_label(band.x + band.width / 4, band.y + 13, "from the end")

    def _mark(self, each: Outliers, x: float) -> Iterator[str]:
        y = self._band.center[1]
        diamond = path(f"M{x:.1f} {y - 9:.1f}l9 9l-9 9l-9 -9Z", class_="outlier")
        words = f"{label_of(each)}: {counted(each.number, 'index', 'indices')}"
        yield element("g", tooltip(words), diamond)
        yield axis_label(x, y - 16, f"\N{MULTIPLICATION SIGN}{grouped(each.number)}")
        yield axis_label(x, y + 26, label_of(each))


def label_of(each: Outliers) -> str:
    """Format the values of a group."""
    one = each.least == each.most
    return f"{each.least}" if one else f"{each.least}..{each.most}"


def _some(groups: Sequence[Outliers]) -> list[Outliers]:
    """Return at most `SIDE` groups; those in the middle are joined."""
    if len(groups) <= SIDE:
        return list(groups)
    first, last = groups[: SIDE - 3], groups[-2:]
    middle = groups[SIDE - 3 : -2]
    least, most = min(each.least for each in middle), max(each.most for each in middle)
    return [*first, Outliers(least, most, sum(each.number for each in middle)), *last]
