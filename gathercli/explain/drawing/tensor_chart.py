"""Draw a tensor: its summary, a histogram of its values, a heat map of two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.compute.summary import Histogram
from gathercli.explain.drawing.chart import LINE, MARGIN, Chart
from gathercli.explain.drawing.heat_panel import HeatPanel, most_bins
from gathercli.explain.drawing.histogram import histogram_elements
from gathercli.explain.drawing.shapes import Box
from gathercli.explain.heatmap import heat_map
from gathercli.explain.terminal.heat import title_of
from gathercli.report.info import header_words, summary_lines
from gathercli.spec.dtypes import Kind
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.summary import Summary
    from gathercli.compute.tensor import Tensor
    from gathercli.explain.heatmap import Plane
    from gathercli.report.info import Info

WIDTH: Final = 560
HEIGHT: Final = 460
"""The size of each panel."""

_GAP: Final = 56
_BETWEEN: Final = " · "

_MANY: Final = 1000
"""The elements from which a histogram has more bins."""


def tensor_chart(info: Info, tensor: Tensor, summary: Summary, chosen: Plane) -> Chart:
    """Draw a tensor with elements that are numbers.

    Parameters
    ----------
    info
        The description of its file.
    summary
        With the histogram for pictures.
    chosen
        The slice of the heat map.
    """
    from gathercli.report.grid import GridWriter

    write, number = GridWriter(tensor, 6), "{:.4g}".format
    header = _BETWEEN.join(header_words(info.one)) if info.one is not None else ""
    facts = _BETWEEN.join(f"{name} {value}" for name, value in summary_lines(summary, tensor, 6))
    name = clean(info.file + (f"#{info.one.name}" if info.one and info.one.name else ""))
    bins = heat_map(tensor, chosen, most_bins(chosen))
    title = title_of(tensor, bins, chosen).replace("   ", _BETWEEN)
    histogram, names = _bars(summary, tensor, write)
    what = f"{title}, and a histogram of the values" if histogram else title
    chart = Chart(f"{name}: {header}", f"{facts}. {what}.", name, header, facts)
    x, y = MARGIN, chart.box.bottom + 44
    if histogram is not None:
        box = Box(x, y, WIDTH, HEIGHT - 60)
        chart.add_text(x, y - 12, "histogram of the finite values", "title")
        chart.add(box, histogram_elements(histogram, box, number, names=names))
        x += WIDTH + _GAP
    chart.add_text(x, y - 12, title, "title")
    panel = HeatPanel(bins, chosen, number, Box(x, y + LINE / 2, WIDTH, HEIGHT))
    chart.add(panel.box, panel.elements())
    return chart


def _bars(
    summary: Summary, tensor: Tensor, write: Callable[[float], str]
) -> tuple[Histogram | None, list[str]]:
    """Return a histogram, and the names of its bins if each has one value."""
    if tensor.dtype.kind is Kind.BOOL and summary.true is not None:
        false = tensor.array.size - summary.true
        return Histogram((0, 1, 2), (false, summary.true)), ["false", "true"]
    histogram = summary.fine if tensor.array.size >= _MANY else summary.histogram
    if histogram is not None and tensor.dtype.integral:
        first, second, *_ = histogram.edges
        if second - first == 1:
            return histogram, [write(edge) for edge in histogram.edges[:-1]]
    return histogram, []
