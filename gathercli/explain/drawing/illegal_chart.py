"""Draw where the illegal indices of a call lie: in the indices, and beside the legal range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.explain.drawing.chart import (
    LABEL,
    MARGIN,
    Chart,
    axis_label,
    spread,
    swatch,
    tooltip,
)
from gathercli.explain.drawing.number_line import NumberLine
from gathercli.explain.drawing.shapes import Box, element, hatch, path, rect, text, text_width
from gathercli.explain.illegal_map import illegal_maps
from gathercli.explain.terminal.ramps import Scale
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import OutOfRange
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.verdicts import Case, Illegal
    from gathercli.explain.illegal_map import IllegalMap
    from gathercli.spec.call import Call

BINS: Final = (32, 60)
"""The most rows and columns of bins."""

WHOLE: Final = (16, 16)
"""The most rows and columns of indices to write one by one."""

_WIDTH: Final = 900
_HEIGHT: Final = 420
_CELL: Final = 34


def illegal_chart(
    call: Call, case: Case, headline: str, verdicts: Sequence[tuple[str, str]]
) -> Chart:
    """Draw the indices of a call.

    Parameters
    ----------
    headline
        How many indices are illegal.
    verdicts
        The name and the verdict of each version.
    """
    title = f"Illegal indices of {call.op}"
    said = ". ".join(f"{name}: {verdict}" for name, verdict in verdicts)
    inputs = " · ".join(f"{name} {tensor}" for name, tensor in case.named(call.op).items())
    chart = Chart(title, f"{headline}. {said}.", f"{call.op}", inputs, headline)
    for found in illegal_maps(call, case, BINS):
        y = chart.box.bottom + 34
        chart.add_text(MARGIN, y, f"where in {found.name} {cell(found.shape)}", "title")
        panel = _MapPanel(found, case.array(call.op, found.name), call, y + 14)
        chart.add(panel.box, panel.elements())
        for axis in found.axes:
            y = chart.box.bottom + 34
            along = axis.along
            words = f"values along axis {along.axis} of size {grouped(along.size)}, not to scale"
            if along.component is not None:
                words = f"component {along.component}: {words}"
            chart.add_text(MARGIN, y, words, "title")
            line = NumberLine(axis, MARGIN, y + 8)
            chart.add(line.box, line.elements())
    chart.add_text(MARGIN, chart.box.bottom + 34, "verdicts", "title")
    names = max(text_width(name, LABEL) for name, _ in verdicts)
    for name, verdict in verdicts:
        x, y = MARGIN + names + 16, chart.box.bottom + 18
        pair = [text(MARGIN, y, name, class_="word"), text(x, y, verdict, class_="word")]
        chart.add(Box(x, y, text_width(verdict, LABEL), 0), pair)
    return chart


class _MapPanel:
    """The elements of the map of one input: its indices as a matrix, one by one or in bins."""

    def __init__(self, found: IllegalMap, indices: AnyArray, call: Call, y: float) -> None:
        self._found, self._call = found, call
        high, wide = found.counts.shape
        self._values: AnyArray | None = None
        whole = found.rows[-1] == high and found.columns[-1] == wide
        if whole and high <= WHOLE[0] and wide <= WHOLE[1]:
            self._values = indices.reshape(high, wide)
        self._lead, self._width = found.shape[:-1], found.columns[-1]
        margin = max(text_width(self._row(n), LABEL, mono=False) for n in found.rows[:-1]) + 12
        if self._values is None:
            step = max(1, min(_CELL, int(_WIDTH / wide)))
            self._step = step, max(1, min(max(step, 18), int(_HEIGHT / high)))
        else:
            widest = max(text_width(str(each), LABEL) for each in self._values.flat)
            self._step = max(_CELL, int(widest) + 14), _CELL
        self._map = Box(
            int(MARGIN + margin), int(y + 20), self._step[0] * wide, self._step[1] * high
        )
        self.box = Box(MARGIN, y, self._map.right - MARGIN, self._map.bottom + 28 - y)

    def _row(self, row: int) -> str:
        """Return the name of a row: its coordinates in the leading dimensions."""
        if len(self._lead) < 2:
            return str(row) if self._lead else ""
        return cell((*coordinate(row, self._lead),)).replace("]", ",:]")

    def elements(self) -> Iterator[str]:
        """Yield the coordinates, the indices or bins, and the meaning of the marks."""
        found, area, (wide, high) = self._found, self._map, self._step
        for n in spread(len(found.rows) - 1, max(1, int(area.height / 16))):
            y = area.y + (n + 0.5) * high + 4
            yield axis_label(area.x - 8, y, self._row(found.rows[n]), "end")
        widest = text_width(str(found.columns[-1]), LABEL, mono=False) + 12
        if found.shape:
            for n in spread(len(found.columns) - 1, max(1, int(area.width / widest))):
                yield axis_label(area.x + (n + 0.5) * wide, area.y - 6, str(found.columns[n]))
        for row, column in np.ndindex(found.counts.shape):
            box = Box(area.x + column * wide, area.y + row * high, wide, high)
            yield self._bin(row, column, box)
        yield from self._legend()

    def _bin(self, row: int, column: int, box: Box) -> str:
        found = self._found
        number, first = int(found.counts[row, column]), found.first.get((row, column))
        size = (found.rows[row + 1] - found.rows[row]) * (
            found.columns[column + 1] - found.columns[column]
        )
        if self._values is not None:
            kind = "" if first is None else _kind(first)
            parts = [rect(box)]
            if first is not None:
                parts = [tooltip(_words(first)), *parts, path(hatch(box), class_="hatch")]
            x, y = box.center
            value = first.value if first is not None else self._values[row, column]
            parts.append(text(x, y + 4, str(value)))
            return element("g", *parts, class_=f"cell small {kind}".strip())
        if first is None:
            return element("g", rect(box, class_="plain"), class_="bin")
        share = f"{grouped(number)} of {counted(size, 'index', 'indices')}"
        words = f"{share} illegal; first {_words(first)}"
        color = Scale(0, 1).color(1 - number / size)
        ink = "on-light" if color.is_light else "on-dark"
        parts = [tooltip(words), rect(box, fill=color.code)]
        parts.append(path(hatch(box, max(7, box.height)), class_=f"hatch {ink}"))
        return element("g", *parts, class_="bin illegal")

    def _legend(self) -> Iterator[str]:
        x, y = self._map.x, self._map.bottom + 12
        box = Box(x, y, 14, 14)
        if self._values is not None:
            fates = sorted({each.does for each in self._found.first.values()})
            yield from swatch(box, "plain", ", ".join(fates) or "all legal")
            if fates:
                yield path(hatch(box, 5), class_="hatch")
            return
        for place, words in ((1.0, "few illegal"), (0.0, "all illegal")):
            color = Scale(0, 1).color(place)
            yield rect(box, fill=color.code)
            ink = "on-light" if color.is_light else "on-dark"
            yield path(hatch(box, 5), class_=f"hatch {ink}")
            yield axis_label(box.right + 6, box.bottom - 2, words, "start")
            box = box.moved(110, 0)
        yield from swatch(box, "plain", "legal")


def _words(each: Illegal) -> str:
    return f"{each.value} at {cell(each.at)}, {each.does}"


def _kind(each: Illegal) -> str:
    """Return the class of an index: ``refused``, or ``filled`` for one that has another fate."""
    return "refused" if each.does == OutOfRange.ERROR.done else "filled"
