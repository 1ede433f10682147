"""Draw a histogram: bars, an axis of values and an axis of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.chart import (
    LABEL,
    axis_label,
    round_ticks,
    ruled,
    spread,
    ticks,
    tooltip,
)
from gathercli.explain.drawing.shapes import Box, element, rect, text_width
from gathercli.explain.terminal.ramps import Scale
from gathercli.text import counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.compute.summary import Histogram

_FOOT: Final = 38
"""The height of the labels and the name of the axis of values."""

_LEAST: Final = 1.5
"""The height of the bar of a few elements, so that none but an empty bin looks empty."""


def histogram_elements(
    histogram: Histogram, box: Box, write: Callable[[float], str], *, names: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the elements of a histogram that fills a box.

    Parameters
    ----------
    write
        Formats an edge.
    names
        The names of the bins in place of their edges.
    """
    counts, most = histogram.counts, max(1, *histogram.counts)
    marks = ticks(most)
    margin = max(text_width(grouped(mark), LABEL, mono=False) for mark in marks) + 24
    area = Box(box.x + margin, box.y + 18, box.width - margin, box.height - 18 - _FOOT)
    for mark in marks:
        y = area.bottom - area.height * mark / most
        yield ruled(area.x, y, area.right, y)
        yield axis_label(area.x - 6, y + 4, grouped(mark), "end")
    yield axis_label(area.x, box.y + 8, "count", "end")
    step = area.width / len(counts)
    edges = [write(edge) for edge in histogram.edges]
    for number, count in enumerate(counts):
        height = max(_LEAST, area.height * count / most) if count else 0.0
        x, bar = area.x + number * step, max(step - 1, step * 0.8)
        place = names[number] if names else _range(edges, number, len(counts))
        title = tooltip(f"{place}: {counted(count, 'element')}")
        if height:
            place_of_bar = Box(x, area.bottom - height, bar, height)
            yield element("g", title, rect(place_of_bar, class_="bar"))
        if step > text_width(grouped(most), LABEL, mono=False) + 4:
            yield axis_label(x + bar / 2, area.bottom - height - 4, grouped(count))
    yield ruled(area.x, area.bottom, area.right, area.bottom, "thick")
    places = [area.x + (number + 0.5) * step for number in range(len(counts))]
    labels = list(names)
    if not names:
        low, high = histogram.edges[0], histogram.edges[-1]
        marks_of_values = round_ticks(low, high, int(area.width / (7 * LABEL)))
        labels = list(map(write, marks_of_values))
        scale = Scale(low, high)
        places = [area.x + scale.place(mark) * area.width for mark in marks_of_values]
    widest = max(text_width(label, LABEL, mono=False) for label in labels)
    for number in spread(len(labels), max(1, int(area.width / (widest + 12)))):
        yield ruled(places[number], area.bottom, places[number], area.bottom + 4)
        yield axis_label(places[number], area.bottom + 16, labels[number])
    yield axis_label(area.x + area.width / 2, box.bottom - 4, "value")


def _range(edges: list[str], number: int, count: int) -> str:
    """Return a bin as an interval; the last one includes both edges."""
    return f"[{edges[number]}, {edges[number + 1]}{']' if number == count - 1 else ')'}"
