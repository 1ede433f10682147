"""Draw a tensor: its summary, a histogram of its values, a heat map of two dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Final

import numpy as np

from gathercli.compute.summary import Histogram, Summary
from gathercli.compute.tensor import Tensor
from gathercli.explain.drawing import chart
from gathercli.explain.drawing.scene import Box, text_width
from gathercli.explain.drawing.svg import element, hatch, path, rect, text
from gathercli.explain.heatmap import HeatMap, Plane, Scale, heat_map
from gathercli.explain.terminal.picture import title_of
from gathercli.report.grid import GridWriter
from gathercli.report.info import Info, header_words, summary_lines
from gathercli.spec.dtypes import Kind
from gathercli.text import clean, counted, grouped

_HISTOGRAM_FOOT: Final = 38  # the height of the labels and the name of the axis of values
# The height of the bar of a few elements, so that none but an empty bin looks empty.
_LEAST_BAR: Final = 1.5
MOST_HEAT_BINS: Final = (32, 48)  # the most rows and columns of bins
# The most elements of a slice to show one by one, `MOST_SINGLE_SIDE` along each dimension.
MOST_SINGLE_ELEMENTS: Final = 2500
MOST_SINGLE_SIDE: Final = 90
LARGEST_BIN_SIDE: Final = 64  # the largest side of a bin
_LEAST_MAP_SIDE: Final = 120
_SCALE_HEIGHT: Final = 16
_SCALE_STEPS: Final = 32
_HEAT_FOOT: Final = 66  # the height of the bar of colours, its labels and the meaning of marks
PANEL_WIDTH: Final = 560
PANEL_HEIGHT: Final = 460  # the size of each panel
_PANEL_GAP: Final = 56
_SEPARATOR: Final = " · "
_FINE_ELEMENTS: Final = 1000  # the elements from which a histogram has more bins


def histogram_elements(
    histogram: Histogram, box: Box, write: Callable[[float], str], *, names: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the elements of a histogram that fills a box, by names of bins or by their edges."""
    counts, most = histogram.counts, max(1, *histogram.counts)
    marks = chart.ticks(most)
    margin = max(text_width(grouped(mark), chart.LABEL_SIZE, mono=False) for mark in marks) + 24
    area = Box(box.x + margin, box.y + 18, box.width - margin, box.height - 18 - _HISTOGRAM_FOOT)
    for mark in marks:
        y = area.bottom - area.height * mark / most
        yield chart.ruled(area.x, y, area.right, y)
        yield chart.axis_label(area.x - 6, y + 4, grouped(mark), "end")
    yield chart.axis_label(area.x, box.y + 8, "count", "end")
    step = area.width / len(counts)
    edges = [write(edge) for edge in histogram.edges]
    for number, count in enumerate(counts):
        height = max(_LEAST_BAR, area.height * count / most) if count else 0.0
        x, bar = area.x + number * step, max(step - 1, step * 0.8)
        end = ")" if number + 1 < len(counts) else "]"  # the last bin includes both edges
        place = names[number] if names else f"[{edges[number]}, {edges[number + 1]}{end}"
        title = chart.tooltip(f"{place}: {counted(count, 'element')}")
        if height:
            place_of_bar = Box(x, area.bottom - height, bar, height)
            yield element("g", title, rect(place_of_bar, class_="bar"))
        if step > text_width(grouped(most), chart.LABEL_SIZE, mono=False) + 4:
            yield chart.axis_label(x + bar / 2, area.bottom - height - 4, grouped(count))
    yield chart.ruled(area.x, area.bottom, area.right, area.bottom, "thick")
    places = [area.x + (number + 0.5) * step for number in range(len(counts))]
    labels = list(names)
    if not names:
        low, high = histogram.edges[0], histogram.edges[-1]
        marks_of_values = chart.round_ticks(low, high, int(area.width / (7 * chart.LABEL_SIZE)))
        labels = list(map(write, marks_of_values))
        scale = Scale(low, high)
        places = [area.x + scale.place(mark) * area.width for mark in marks_of_values]
    widest = max(text_width(label, chart.LABEL_SIZE, mono=False) for label in labels)
    for number in chart.spread(len(labels), max(1, int(area.width / (widest + 12)))):
        yield chart.ruled(places[number], area.bottom, places[number], area.bottom + 4)
        yield chart.axis_label(places[number], area.bottom + 16, labels[number])
    yield chart.axis_label(area.x + area.width / 2, box.bottom - 4, "value")


class HeatPanel:
    """The elements of a heat map, within a box as large as the slice needs."""

    def __init__(self, bins: HeatMap, write: Callable[[float], str], room: Box) -> None:
        self._bins, self._write, self._scale = bins, write, bins.scale
        (high, wide), (row, column) = bins.mean.shape, bins.plane.first
        self._rows = [str(row + n) for n in bins.rows[:-1]]
        self._columns = [str(column + n) for n in bins.columns[:-1]]
        margin = text_width(self._rows[-1], chart.LABEL_SIZE, mono=False) + 10
        width = min(room.width - margin, LARGEST_BIN_SIDE * wide)
        height = min(room.height - 20 - _HEAT_FOOT, LARGEST_BIN_SIDE * high)
        # bins keep the ratio of the slice where the room allows it
        rows, columns = bins.plane.shape
        across = max(min(width, height * columns / rows), min(width, _LEAST_MAP_SIDE))
        down = max(min(height, width * rows / columns), min(height, _LEAST_MAP_SIDE))
        # whole pixels, or viewers show seams between bins
        self._step = max(1, int(across / wide)), max(1, int(down / high))
        left, top = int(room.x + margin), int(room.y + 20)
        self._map = Box(left, top, self._step[0] * wide, self._step[1] * high)
        self.box = Box(room.x, room.y, room.width, 20 + self._map.height + _HEAT_FOOT)
        words = map(write, bins.mean[np.isfinite(bins.mean)].tolist())
        widest = max((text_width(each, chart.LABEL_SIZE) for each in words), default=0) + 6
        self._has_labels = not bins.binned and self._step[1] > 14 and widest < self._step[0]

    def elements(self) -> Iterator[str]:
        """Yield the elements of the coordinates, the bins and the bar of colours."""
        widest = text_width(self._columns[-1], chart.LABEL_SIZE, mono=False) + 10
        yield from chart.bin_labels(self._map, self._rows, self._columns, (widest, 18), 6)
        for place in np.ndindex(self._bins.mean.shape):
            yield self._bin(*place)
        yield from self._legend()

    def _bin(self, row: int, column: int) -> str:
        """Return a bin with its mean as its colour, and as text if there is room."""
        wide, high = self._step
        place, value = (row, column), float(self._bins.mean[row, column])
        box = Box(self._map.x + column * wide, self._map.y + row * high, wide, high)
        parts, ink = [chart.tooltip(self._words(row, column))], ""
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
        words = []
        numbers = [float(each[place]) for each in (bins.mean, bins.least, bins.most)]
        if not isnan(numbers[0]):
            form = "mean {}, from {} to {}" if bins.binned else "{}"
            words.append(form.format(*map(self._write, numbers)))
        for counts, noun in ((bins.nan, "NaN"), (bins.infinite, "infinite")):
            if counts[place]:
                words.append(f"{grouped(int(counts[place]))} {noun}")
        return f"{bins.place(row, column)}: {', '.join(words)}"

    def _legend(self) -> Iterator[str]:
        x, y = self._map.x, self._map.bottom + 12
        if self._scale is not None:
            yield from self._bar(self._scale, x, y)
        y += _SCALE_HEIGHT + 24
        for counts, kind, noun in (
            (self._bins.nan, "hatch", "NaN"),
            (self._bins.infinite, "value", "infinite"),
        ):
            number = int(counts.sum())
            if not number:
                continue
            box = Box(x, y, 14, 14)
            words = f"{grouped(number)} {noun}"
            yield from chart.swatch(box, "plain", words)
            if kind == "hatch":
                yield path(hatch(box, 5), class_=kind)
            else:
                yield text(x + 7, y + 11, "∞", class_=kind)
            x += 34 + text_width(words, chart.LABEL_SIZE, mono=False)

    def _bar(self, scale: Scale, x: float, y: float) -> Iterator[str]:
        """Yield the colours from low to high with their numbers."""
        step = max(5, int(self._map.width / _SCALE_STEPS))
        width = step * _SCALE_STEPS
        for n in range(_SCALE_STEPS):
            color = scale.at((n + 0.5) / _SCALE_STEPS)
            yield rect(Box(x + n * step, y, step, _SCALE_HEIGHT), fill=color.code, class_="ramp")
        ends = [(0.0, scale.low, "start"), (1.0, scale.high, "end")]
        if scale.low == scale.high:
            ends = [(0.5, scale.low, "middle")]
        elif scale.diverges:
            ends.insert(1, (0.5, 0.0, "middle"))
        for place, value, anchor in ends:
            words = self._write(value)
            yield chart.axis_label(x + place * width, y + _SCALE_HEIGHT + 14, words, anchor)


def most_bins(chosen: Plane) -> tuple[int, int]:
    """Return the most rows and columns of bins of a slice."""
    rows, columns = chosen.shape
    few = rows * columns <= MOST_SINGLE_ELEMENTS and max(rows, columns) <= MOST_SINGLE_SIDE
    return chosen.shape if few else MOST_HEAT_BINS


def tensor_chart(info: Info, tensor: Tensor, summary: Summary, chosen: Plane) -> chart.Chart:
    """Draw a tensor with elements that are numbers, and its slice; `info` describes its file."""
    write, number = GridWriter(tensor, 6), "{:.4g}".format
    header = _SEPARATOR.join(header_words(info.one)) if info.one is not None else ""
    facts = _SEPARATOR.join(f"{name} {value}" for name, value in summary_lines(summary, tensor, 6))
    name = clean(info.file + (f"#{info.one.name}" if info.one and info.one.name else ""))
    bins = heat_map(tensor, chosen, most_bins(chosen))
    title = title_of(tensor, bins).replace("   ", _SEPARATOR)
    histogram, names = _bars(summary, tensor, write)
    what = f"{title}, and a histogram of the values" if histogram else title
    drawn = chart.Chart(f"{name}: {header}", f"{facts}. {what}.", name, header, facts)
    x, y = chart.CHART_MARGIN, drawn.box.bottom + 44
    if histogram is not None:
        box = Box(x, y, PANEL_WIDTH, PANEL_HEIGHT - 60)
        drawn.add_text(x, y - 12, "histogram of the finite values", "title")
        drawn.add(box, histogram_elements(histogram, box, number, names=names))
        x += PANEL_WIDTH + _PANEL_GAP
    drawn.add_text(x, y - 12, title, "title")
    panel = HeatPanel(bins, number, Box(x, y + chart.NOTE_LINE / 2, PANEL_WIDTH, PANEL_HEIGHT))
    drawn.add(panel.box, panel.elements())
    return drawn


def _bars(
    summary: Summary, tensor: Tensor, write: Callable[[float], str]
) -> tuple[Histogram | None, list[str]]:
    """Return a histogram, and the names of its bins if each has one value."""
    if tensor.dtype.kind is Kind.BOOL and summary.true is not None:
        false = tensor.array.size - summary.true
        return Histogram((0, 1, 2), (false, summary.true)), ["false", "true"]
    histogram = summary.fine if tensor.array.size >= _FINE_ELEMENTS else summary.histogram
    if histogram is not None and tensor.dtype.integral:
        first, second, *_ = histogram.edges
        if second - first == 1:
            return histogram, [write(edge) for edge in histogram.edges[:-1]]
    return histogram, []
