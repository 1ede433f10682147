"""The output cells that show best what a call does: the worked examples of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.provenance import CellTrace, Provenance

MOST_TELLING_CELLS: Final = 1 << 11
"""The largest number of cells of an output to choose from."""


def telling_traces(
    lesson: Provenance[CellTrace], traces: Iterable[CellTrace] | None = None
) -> list[CellTrace]:
    """Return the most telling trace of each kind of cell, the most telling kind first.

    Parameters
    ----------
    traces
        The traces to choose from; None for those of up to `MOST_TELLING_CELLS` of the output.

    >>> from gathercli import explain
    >>> lesson = explain("gather", [10, 20, 30], [0, 1, 0, -1, 7])
    >>> [trace.out for trace in telling_traces(lesson)]
    [(3,), (4,), (2,)]
    """
    best: dict[str, tuple[tuple[Any, ...], CellTrace]] = {}
    for trace in lesson.traces(_spread(lesson.size)) if traces is None else traces:
        kind, *rest = lesson.telling(trace)
        rank = tuple(rest)
        if kind not in best or rank > best[kind][0]:
            best[kind] = rank, trace
    return [trace for _, trace in sorted(best.values(), key=lambda pair: pair[0], reverse=True)]


def _spread(size: int) -> AnyArray:
    """Return flat positions of an output: all, or the first and evenly spaced ones."""
    if size <= MOST_TELLING_CELLS:
        return np.arange(size)
    half = MOST_TELLING_CELLS // 2
    return np.union1d(np.arange(half), np.linspace(0, size - 1, half, dtype=np.int64))
