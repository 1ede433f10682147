"""Draw a heat map: bins by colour, with their coordinates and a bar of the colours."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.explain.drawing.chart import LABEL, axis_label, spread, swatch, tooltip
from gathercli.explain.drawing.shapes import Box, element, hatch, path, rect, text, text_width
from gathercli.explain.terminal.heat import scale_of
from gathercli.text import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.explain.heatmap import HeatMap, Plane
    from gathercli.explain.terminal.ramps import Scale

BINS: Final = (32, 48)
"""The most rows and columns of bins."""

WHOLE: Final = 2500
"""The most elements of a slice to show one by one, at most `EDGE` along each dimension."""

EDGE: Final = 90

LARGEST: Final = 64
"""The largest side of a bin."""

_NARROWEST: Final = 120
_BAR: Final = 16
_STEPS: Final = 32
_FOOT: Final = 66
"""The height of the bar of colours, its labels and the meaning of marks."""


class HeatPanel:
    """The elements of a heat map.

    Parameters
    ----------
    write
        Formats a number.
    room
        The box within which it stands, as large as the slice needs.
    """

    def __init__(
        self, bins: HeatMap, chosen: Plane, write: Callable[[float], str], room: Box
    ) -> None:
        self._bins, self._chosen, self._write = bins, chosen, write
        self._scale = scale_of(bins)
        high, wide = bins.mean.shape
        row, column = chosen.first
        self._rows = [str(row + n) for n in bins.rows[:-1]]
        self._columns = [str(column + n) for n in bins.columns[:-1]]
        margin = text_width(self._rows[-1], LABEL, mono=False) + 10
        width = min(room.width - margin, LARGEST * wide)
        height = min(room.height - 20 - _FOOT, LARGEST * high)
        rows, columns = chosen.shape  # bins keep the ratio of the slice where the room allows it
        across = max(min(width, height * columns / rows), min(width, _NARROWEST))
        down = max(min(height, width * rows / columns), min(height, _NARROWEST))
        # whole pixels, or viewers show seams between bins
        self._step = max(1, int(across / wide)), max(1, int(down / high))
        self._map = Box(
            int(room.x + margin), int(room.y + 20), self._step[0] * wide, self._step[1] * high
        )
        self.box = Box(room.x, room.y, room.width, 20 + self._map.height + _FOOT)
        self._has_labels = not bins.binned and self._step[1] > 14 and self._widest() < self._step[0]

    def _widest(self) -> float:
        """Return the width of the widest number, with a margin."""
        numbers = self._bins.mean[np.isfinite(self._bins.mean)].tolist()
        return max((text_width(self._write(each), LABEL) for each in numbers), default=0) + 6

    def elements(self) -> Iterator[str]:
        """Yield the elements of the coordinates, the bins and the bar of colours."""
        area, (wide, high) = self._map, self._step
        every = max(1, int(area.height / 18))
        for row in spread(len(self._rows), every):
            y = area.y + (row + 0.5) * high + 4
            yield axis_label(area.x - 6, y, self._rows[row], "end")
        widest = text_width(self._columns[-1], LABEL, mono=False) + 10
        for column in spread(len(self._columns), max(1, int(area.width / widest))):
            yield axis_label(area.x + (column + 0.5) * wide, area.y - 6, self._columns[column])
        for place in np.ndindex(self._bins.mean.shape):
            yield self._bin(*place)
        yield from self._legend()

    def _bin(self, row: int, column: int) -> str:
        """Return a bin with its mean as its colour, and as text if there is room."""
        wide, high = self._step
        x, y = self._map.x + column * wide, self._map.y + row * high
        place, value = (row, column), float(self._bins.mean[row, column])
        box = Box(x, y, wide, high)
        parts = [tooltip(self._words(row, column))]
        ink = ""
        if self._scale is None or isnan(value):
            parts.append(rect(box, class_="plain"))
        else:
            color = self._scale.color(value)
            ink = "on-light" if color.is_light else "on-dark"
            parts.append(rect(box, fill=color.code))
        if self._bins.nan[place]:
            parts.append(path(hatch(box, min(7, high / 2)), class_=f"hatch {ink}".strip()))
        mark = "∞" if self._bins.infinite[place] else ""
        label = mark if mark or isnan(value) or not self._has_labels else self._write(value)
        if label:
            x, y = box.center
            parts.append(text(x, y + 4, label, class_=f"value {ink}".strip()))
        return element("g", *parts, class_="bin")

    def _words(self, row: int, column: int) -> str:
        """Return the place of a bin, its statistics and its special elements."""
        bins, place = self._bins, (row, column)
        at = self._chosen.part(bins.rows[row : row + 2], bins.columns[column : column + 2])
        words = []
        least, mean, most = (float(each[place]) for each in (bins.least, bins.mean, bins.most))
        if not isnan(mean) and not bins.binned:
            words.append(self._write(mean))
        elif not isnan(mean):
            numbers = tuple(map(self._write, (mean, least, most)))
            words.append("mean {}, from {} to {}".format(*numbers))
        for counts, noun in ((bins.nan, "NaN"), (bins.infinite, "infinite")):
            if counts[place]:
                words.append(f"{grouped(int(counts[place]))} {noun}")
        return f"{at}: {', '.join(words)}"

    def _legend(self) -> Iterator[str]:
        x, y = self._map.x, self._map.bottom + 12
        if self._scale is not None:
            yield from self._bar(self._scale, x, y)
        y += _BAR + 24
        for counts, kind, noun in (
            (self._bins.nan, "hatch", "NaN"),
            (self._bins.infinite, "value", "infinite"),
        ):
            number = int(counts.sum())
            if not number:
                continue
            box = Box(x, y, 14, 14)
            words = f"{grouped(number)} {noun}"
            yield from swatch(box, "plain", words)
            if kind == "hatch":
                yield path(hatch(box, 5), class_=kind)
            else:
                yield text(x + 7, y + 11, "∞", class_=kind)
            x += 34 + text_width(words, LABEL, mono=False)

    def _bar(self, scale: Scale, x: float, y: float) -> Iterator[str]:
        """Yield the colours from low to high with their numbers."""
        step = max(5, int(self._map.width / _STEPS))
        width = step * _STEPS
        for n in range(_STEPS):
            color = scale.at((n + 0.5) / _STEPS)
            yield rect(Box(x + n * step, y, step, _BAR), fill=color.code, class_="ramp")
        ends = [(0.0, scale.low, "start"), (1.0, scale.high, "end")]
        if scale.low == scale.high:
            ends = [(0.5, scale.low, "middle")]
        elif scale.diverges:
            ends.insert(1, (0.5, 0.0, "middle"))
        for place, value, anchor in ends:
            yield axis_label(x + place * width, y + _BAR + 14, self._write(value), anchor)


def most_bins(chosen: Plane) -> tuple[int, int]:
    """Return the most rows and columns of bins of a slice."""
    rows, columns = chosen.shape
    few = rows * columns <= WHOLE and max(rows, columns) <= EDGE
    return chosen.shape if few else BINS
