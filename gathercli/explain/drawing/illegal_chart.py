"""Draw where the illegal indices of a call lie: in the indices, and beside the legal range."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.compute.verdicts import Case, Illegal, fate, legal, outside
from gathercli.explain.drawing.chart import (
    CHART_MARGIN,
    LABEL_SIZE,
    Chart,
    Drawn,
    axis_label,
    bin_labels,
    ruled,
    swatch,
    tooltip,
)
from gathercli.explain.drawing.scene import Box, text_width
from gathercli.explain.drawing.svg import element, hatch, path, rect, text
from gathercli.explain.heatmap import Scale, edges
from gathercli.spec.call import Call
from gathercli.spec.op import IndexedAxis, OutOfRange
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import counted, grouped

# The code of the legal range of an axis; from it differ the bits of a distance of at most 2^64.
_SIDE_CODES: Final = 128
NUMBER_LINE_HEIGHT: Final = 96
MOST_SIDE_MARKS: Final = 6  # the most marks on each side of the legal range
_SLOT_WIDTH: Final = 84  # the least distance of two marks
_BAND_WIDTH: Final = 240  # the width of the legal range
MOST_INDEX_BINS: Final = (32, 60)  # the most rows and columns of bins
MOST_SINGLE_INDICES: Final = (16, 16)  # the most rows and columns of indices to write one by one
_MAP_WIDTH: Final = 900
_MAP_HEIGHT: Final = 420
_CELL_SIDE: Final = 34
WRONG: Final = "wrong"  # what is said of a cell of an output that is


class Outliers(NamedTuple):
    """Illegal indices on one side of the legal range whose distances from it have equal bits."""

    least: float  # the extremes of their values: the least
    most: float  # and the greatest
    number: int  # how many there are


class AxisOutliers(NamedTuple):
    """The illegal indices along one axis, ascending; all are below for an empty axis."""

    along: IndexedAxis
    legal: tuple[int, int] | None  # its least and greatest legal index; None if it is empty
    below: tuple[Outliers, ...]
    above: tuple[Outliers, ...]


class IllegalMap(NamedTuple):
    """The places of the illegal indices of one input, of shape (I..), in R by C bins.

    The rows are those of the input as a matrix: its last dimension along the columns.
    """

    name: str
    shape: tuple[int, ...]
    rows: tuple[int, ...]  # the R + 1 positions at which bins begin and the last one ends
    columns: tuple[int, ...]  # the C + 1 such positions
    counts: AnyArray  # shape (R, C), int64: the illegal indices of each bin
    first: dict[tuple[int, int], Illegal]  # the first illegal index of each bin that has one
    axes: tuple[AxisOutliers, ...]


def illegal_maps(call: Call, case: Case, most: tuple[int, int]) -> Iterator[IllegalMap]:
    """Yield the map of each input of indices, of at most so many rows and columns of bins."""
    for name, axes in call.indexed.items():
        shape = case.array(call.op, name).shape
        sizes = product(shape[:-1]), shape[-1] if shape else 1
        if product(sizes) and axes:
            yield _Places(call, case, name, axes, sizes).map(most)


class _Bins:
    """Counts of marked elements of a matrix of some sizes, in bins."""

    def __init__(self, sizes: tuple[int, int], most: tuple[int, int]) -> None:
        self.rows, self.columns = (edges(size, n) for size, n in zip(sizes, most, strict=True))
        self.counts = np.zeros((len(self.rows) - 1, len(self.columns) - 1), np.int64)
        self.first: dict[tuple[int, int], int] = {}  # the first position of each bin that has one
        self._width = sizes[1]

    def add(self, positions: AnyArray) -> list[tuple[tuple[int, int], int]]:
        """Count flat positions; return the bins that had none, and which of these comes first."""
        flat, wide = self.counts.reshape(-1), len(self.columns) - 1
        row, column = np.divmod(positions, self._width)
        bins = np.searchsorted(self.rows, row, "right") - 1
        bins = bins * wide + np.searchsorted(self.columns, column, "right") - 1
        new = np.flatnonzero(flat[bins] == 0)
        firsts = zip(*np.unique(bins[new], return_index=True), strict=True)
        found = [(divmod(int(each), wide), int(new[at])) for each, at in firsts]
        self.first |= {place: int(positions[n]) for place, n in found}
        flat += np.bincount(bins, minlength=flat.size)
        return found


class _Places:
    def __init__(
        self, call: Call, case: Case, name: str, axes: Sequence[IndexedAxis], sizes: tuple[int, int]
    ) -> None:
        self._call, self._case, self._name, self._axes = call, case, name, axes
        self._shape, self._sizes = case.array(call.op, name).shape, sizes
        self._fates = [fate(call, along) for along in axes]
        self._groups: dict[int, Outliers] = {}

    def map(self, most: tuple[int, int]) -> IllegalMap:
        """Read the indices once."""
        bins, first = _Bins(self._sizes, most), dict[tuple[int, int], Illegal]()
        for positions, values in outside(self._call, self._case, self._name, self._axes):
            if positions.size:
                for place, n in bins.add(positions):
                    position, value = int(positions[n]), int(values[n])
                    j, at = position % len(self._axes), coordinates(position, self._shape)
                    written = self._case.value(self._name, position, value)
                    along, does = self._axes[j], self._fates[j](value)
                    first[place] = Illegal(at, written, does, along, legal(self._call, along))
                self._group(positions, values)
        axes = tuple(map(self._outliers, range(len(self._axes))))
        return IllegalMap(
            self._name, self._shape, bins.rows, bins.columns, bins.counts, first, axes
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
        codes = (2 * component + 1) * _SIDE_CODES + np.where(above, bits, -bits)
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
        along, codes = self._axes[component], sorted(self._groups)
        below, above = (
            tuple(self._groups[code] for code in codes if code // _SIDE_CODES == side)
            for side in (2 * component, 2 * component + 1)
        )
        ends = legal(self._call, along)
        if ends is None:
            return AxisOutliers(along, None, tuple(sorted(below + above)), ())
        return AxisOutliers(along, ends, below, above)


def number_line(
    axis: AxisOutliers, x: float, y: float, does: Callable[[int], str] = "refused".format
) -> Drawn:
    """Draw the number line of one axis, and what becomes of its values, from its upper left."""
    below, above = _some(axis.below[::-1])[::-1], _some(axis.above)
    labels = (text_width(label_of(each), LABEL_SIZE, mono=False) for each in (*below, *above))
    slot = max(_SLOT_WIDTH, max(labels, default=0) + 40)
    legal = 0 if axis.legal is None else _BAND_WIDTH
    band = Box(x + slot * len(below) + 12, y + 34, legal, 18)
    box = Box(x, y, band.right + slot * len(above) + 12 - x, NUMBER_LINE_HEIGHT)
    middle = band.center[1]
    elements = [
        ruled(box.x, middle, band.x, middle, "thick"),
        ruled(band.right, middle, box.right, middle, "thick"),
    ]
    for number, each in enumerate(below):
        elements += _mark(each, band.x - slot * (len(below) - number - 0.4), middle, does)
    for number, each in enumerate(above):
        elements += _mark(each, band.right + slot * (number + 0.6), middle, does)
    if axis.legal is not None:
        elements += _range(band, *axis.legal)
    return box, elements


def _range(band: Box, low: int, high: int) -> Iterator[str]:
    """Yield the legal range; the part from the end has a place of its own."""
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


def _mark(each: Outliers, x: float, y: float, does: Callable[[int], str]) -> Iterator[str]:
    """Yield the mark of a group of illegal indices on the line at y."""
    kind = f"outlier {_kind(does(int(each.least)))}"
    diamond = path(f"M{x:.1f} {y - 9:.1f}l9 9l-9 9l-9 -9Z", class_=kind)
    words = f"{label_of(each)}: {counted(each.number, 'index', 'indices')}"
    yield element("g", tooltip(words), diamond)
    yield axis_label(x, y - 16, f"\N{MULTIPLICATION SIGN}{grouped(each.number)}")
    yield axis_label(x, y + 26, label_of(each))


def label_of(each: Outliers) -> str:
    """Format the values of a group."""
    one = each.least == each.most
    return f"{each.least}" if one else f"{each.least}..{each.most}"


def _some(groups: Sequence[Outliers]) -> list[Outliers]:
    """Return at most `MOST_SIDE_MARKS` groups; those in the middle are joined."""
    if len(groups) <= MOST_SIDE_MARKS:
        return list(groups)
    first, last = groups[: MOST_SIDE_MARKS - 3], groups[-2:]
    middle = groups[MOST_SIDE_MARKS - 3 : -2]
    least, most = min(each.least for each in middle), max(each.most for each in middle)
    return [*first, Outliers(least, most, sum(each.number for each in middle)), *last]


def illegal_chart(
    call: Call, case: Case, headline: str, verdicts: Sequence[tuple[str, str]]
) -> Chart:
    """Draw the indices of a call, with the verdict of each version by name."""
    title = f"Illegal indices of {call.op}"
    said = ". ".join(f"{name}: {verdict}" for name, verdict in verdicts)
    inputs = " · ".join(f"{name} {tensor}" for name, tensor in case.named(call.op).items())
    chart = Chart(title, f"{headline}. {said}.", f"{call.op}", inputs, headline)
    for places in illegal_maps(call, case, MOST_INDEX_BINS):
        y = chart.box.bottom + 34
        chart.add_text(CHART_MARGIN, y, f"where in {places.name} {cell(places.shape)}", "title")
        panel = _MapPanel(places, case.array(call.op, places.name), y + 14, "illegal", "legal")
        chart.add(panel.box, panel.elements())
        for axis in places.axes:
            y = chart.box.bottom + 34
            along = axis.along
            words = f"values along axis {along.axis} of size {grouped(along.size)}, not to scale"
            if along.component is not None:
                words = f"component {along.component}: {words}"
            chart.add_text(CHART_MARGIN, y, words, "title")
            chart.add(*number_line(axis, CHART_MARGIN, y + 8, fate(call, along)))
    chart.add_text(CHART_MARGIN, chart.box.bottom + 34, "verdicts", "title")
    names = max(text_width(name, LABEL_SIZE) for name, _ in verdicts)
    for name, verdict in verdicts:
        x, y = CHART_MARGIN + names + 16, chart.box.bottom + 18
        pair = [text(CHART_MARGIN, y, name, class_="word"), text(x, y, verdict, class_="word")]
        chart.add(Box(x, y, text_width(verdict, LABEL_SIZE), 0), pair)
    return chart


class _MapPanel:
    """The elements of a map: a tensor as a matrix, element by element or in bins.

    `noun` is what its marks are, ``illegal``, and `others` what the rest is.
    """

    def __init__(
        self, places: IllegalMap, indices: AnyArray, y: float, noun: str, others: str
    ) -> None:
        self._places, self._noun, self._others = places, noun, others
        high, wide = places.counts.shape
        self._values: AnyArray | None = None
        whole = places.rows[-1] == high and places.columns[-1] == wide
        if whole and high <= MOST_SINGLE_INDICES[0] and wide <= MOST_SINGLE_INDICES[1]:
            self._values = indices.reshape(high, wide)
        self._lead, self._width = places.shape[:-1], places.columns[-1]
        rows = map(self._row, places.rows[:-1])
        margin = max(text_width(row, LABEL_SIZE, mono=False) for row in rows) + 12
        if self._values is None:
            step = max(1, min(_CELL_SIDE, int(_MAP_WIDTH / wide)))
            self._step = step, max(1, min(max(step, 18), int(_MAP_HEIGHT / high)))
        else:
            widest = max(text_width(str(each), LABEL_SIZE) for each in self._values.flat)
            self._step = max(_CELL_SIDE, int(widest) + 14), _CELL_SIDE
        left, top = int(CHART_MARGIN + margin), int(y + 20)
        self._map = Box(left, top, self._step[0] * wide, self._step[1] * high)
        self.box = Box(CHART_MARGIN, y, self._map.right - CHART_MARGIN, self._map.bottom + 28 - y)

    def _row(self, row: int) -> str:
        """Return the name of a row: its coordinates in the leading dimensions."""
        if len(self._lead) < 2:
            return str(row) if self._lead else ""
        return cell((*coordinates(row, self._lead),)).replace("]", ",:]")

    def elements(self) -> Iterator[str]:
        """Yield the coordinates, the indices or bins, and the meaning of the marks."""
        places, area, (wide, high) = self._places, self._map, self._step
        widest = text_width(str(places.columns[-1]), LABEL_SIZE, mono=False) + 12
        columns = [str(n) for n in places.columns[:-1]] if places.shape else []
        rows = list(map(self._row, places.rows[:-1]))
        yield from bin_labels(area, rows, columns, (widest, 16), 8)
        for row, column in np.ndindex(places.counts.shape):
            box = Box(area.x + column * wide, area.y + row * high, wide, high)
            yield self._bin(row, column, box)
        yield from self._legend()

    def _bin(self, row: int, column: int, box: Box) -> str:
        places = self._places
        number, first = int(places.counts[row, column]), places.first.get((row, column))
        if self._values is not None:
            parts, kind, value = [rect(box)], "cell small", self._values[row, column]
            if first is not None:
                parts = [tooltip(_words(first)), *parts, path(hatch(box), class_="hatch")]
                kind, value = f"{kind} {_kind(first.does)}", first.value
            x, y = box.center
            return element("g", *parts, text(x, y + 4, str(value)), class_=kind)
        if first is None:
            return element("g", rect(box, class_="plain"), class_="bin")
        high = places.rows[row + 1] - places.rows[row]
        size = high * (places.columns[column + 1] - places.columns[column])
        words = f"{grouped(number)} of {grouped(size)} {self._noun}; first {_words(first)}"
        color = Scale(0, 1).color(1 - number / size)
        ink = "on-light" if color.is_light else "on-dark"
        lines = path(hatch(box, max(7, box.height)), class_=f"hatch {ink}")
        return element("g", tooltip(words), rect(box, fill=color.code), lines, class_="bin illegal")

    def _legend(self) -> Iterator[str]:
        x, y = self._map.x, self._map.bottom + 12
        box = Box(x, y, 14, 14)
        if self._values is not None:
            fates = {each.does: _kind(each.does) for each in self._places.first.values()}
            if not fates:
                yield from swatch(box, "plain", f"all {self._others}")
            for does, kind in sorted(fates.items()):  # as the cells are marked
                marks = swatch(box, "plain", does)
                lines = path(hatch(box, 5), class_="hatch")
                yield element("g", *marks, lines, class_=f"swatch {kind}")
                box = box._replace(x=box.right + 24 + text_width(does, LABEL_SIZE, mono=False))
            return
        for place, words in ((1.0, f"few {self._noun}"), (0.0, f"all {self._noun}")):
            color = Scale(0, 1).color(place)
            yield rect(box, fill=color.code)
            ink = "on-light" if color.is_light else "on-dark"
            yield path(hatch(box, 5), class_=f"hatch {ink}")
            yield axis_label(box.right + 6, box.bottom - 2, words, "start")
            box = box._replace(x=box.x + 110)
        yield from swatch(box, "plain", self._others)


def wrong_chart(array: AnyArray, wrong: Iterable[AnyArray], lines: Sequence[str]) -> Chart:
    """Draw where an output is wrong, above what is said of it; the first line is its call.

    `wrong` yields the flat positions of its wrong cells, block by block, in order.
    """
    heading, *words = lines[0].replace("   ", " · "), *lines[1:]
    chart = Chart("Where the output is wrong", " ".join(lines), heading)
    sizes = product(array.shape[:-1]), array.shape[-1] if array.ndim else 1
    if product(sizes):
        bins = _Bins(sizes, MOST_INDEX_BINS)
        for cells in wrong:
            bins.add(cells)
        flat = array.reshape(-1)
        first = {
            place: Illegal(coordinates(at, array.shape), flat[at], WRONG)
            for place, at in bins.first.items()
        }
        map_ = IllegalMap("out", array.shape, bins.rows, bins.columns, bins.counts, first, ())
        y = chart.box.bottom + 34
        chart.add_text(CHART_MARGIN, y, f"where in out {cell(array.shape)}", "title")
        panel = _MapPanel(map_, array, y + 14, WRONG, "right")
        chart.add(panel.box, panel.elements())
    for line in words:
        y = chart.box.bottom + 20
        shown = text(CHART_MARGIN, y, line.replace(" ", "\N{NO-BREAK SPACE}"), class_="word")
        chart.add(Box(CHART_MARGIN, y, text_width(line, LABEL_SIZE), 0), [shown])
    return chart


def _words(each: Illegal) -> str:
    return f"{each.value} at {cell(each.at)}, {each.does}"


def _kind(does: str) -> str:
    """Return the class of an index: ``refused``, or ``filled`` for one that has another fate."""
    refusals = [WRONG, *(policy.done for policy in OutOfRange if policy.refuses)]
    return "refused" if does in refusals else "filled"
