"""Select the coordinates and panels of a picture, and the letters of parts of `data`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from itertools import product as combinations
from typing import Any, Final

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.explain.gather_provenance import GatherProvenance, Index, Unit, indices_of
from gathercli.explain.panel import (
    MOST_ARROWED_CELLS,
    Limits,
    Line,
    Look,
    Panel,
    PanelChoice,
    View,
    Window,
    letter_of,
    writer,
)
from gathercli.explain.provenance import Provenance, telling_traces
from gathercli.report.grid import shown_positions
from gathercli.spec.shapes import coordinates, product

ROW_LIMITS: Final = ((12, 3), (7, 3), (5, 2), (3, 1), (1, 0))
# The limits of rows and columns, by preference.
COLUMN_LIMITS: Final = ((16, 3), (6, 3), (4, 2), (2, 1), (1, 0))
# `COLUMN_LIMITS` on a terminal wider than `PICTURE_WIDTH`.
WIDE_COLUMN_LIMITS: Final = ((64, 24), (64, 18), (48, 12), (40, 8), (24, 5), *COLUMN_LIMITS)
# The most panels, and facets of a tensor, in a picture without a window; twice as many of a small
# output, and few of a large tensor or one with facets that are not shown whole.
MOST_PANELS: Final = 4
MOST_FACETS: Final = 4
FEW_LARGE_PARTS: Final = 2
LARGE_TENSOR: Final = 1000
MOST_EXAMPLES: Final = 3  # the largest number of worked examples below a picture
MOST_AXIS_ROWS: Final = 24  # the most rows of `data` to show on an axis: those that indices pick
MOST_WINDOW_CELLS: Final = 20_000
MOST_WINDOW_PANELS: Final = 400  # the most cells of the output, and panels, in a window
WINDOW_BLOCK: Final = 1 << 12  # cells of a block of a window


class Selection(PanelChoice):
    """The part of a gather in a picture.

    `here` is the current cell, batch dimensions apart; None to choose without it, as with `whole`.
    The `lead` leading dimensions are panels. `out`, `indices` and `data` are the coordinates to
    show of each dimension, ascending; `letters` those of the units that the visible indices pick,
    in their order; `facets` the leading coordinates of the facets of `data` in each panel;
    `current` is the trace of the cell that the look marks.
    """

    provenance: GatherProvenance

    def __init__(
        self,
        provenance: GatherProvenance,
        look: Look,
        rows: Limits,
        columns: Limits,
        *,
        whole: bool = False,
    ) -> None:
        self.provenance, self.look, self._rows, self._columns = provenance, look, rows, columns
        self.limits = rows[0], columns[0]
        self.lead = lead_of(provenance)
        self.lead_shape = provenance.panel_shape[: self.lead]
        self.here = None if look.here is None or whole else provenance.apart(look.here)
        self._window: Window = look.window
        self._batches: slice | None = None  # the window in a merged batch dimension
        if look.window and len(provenance.shape) < len(provenance.panel_shape):
            self._batches, *rest = look.window
            self._window = (*[None] * self.lead, *rest)
        self.out = [self._out_coordinates(j) for j in range(len(provenance.panel_shape))]
        self.indices: list[Sequence[int]] = [[] for _ in provenance.index_shape]
        for coords, (_, i) in zip(self.out, provenance.dim_map, strict=True):
            if i is not None:
                self.indices[i] = coords
        self.panels = self._choose_panels()
        self.cells = len(self.panels) * product([len(coords) for coords in self.out[self.lead :]])
        self.current = None if look.here is None else provenance.cell(*look.here)
        self._source = None if self.current is None else self.current.data
        units = self._units()
        positions = list(dict.fromkeys(units.values()))
        rank = len(provenance.data.shape)
        self.data = [self._data_coordinates(d, positions) for d in range(rank)]
        self.coordinates = [*self.out, *self.data]
        self.facets = {panel: self._choose_facets(panel, units) for panel in self.panels}
        shown_units = [unit for unit in units if self._is_shown(unit)]
        self.letters = {unit: letter_of(n) for n, unit in enumerate(shown_units)}
        self.is_complete = len(shown_units) == len(units)

    def _out_coordinates(self, j: int) -> Sequence[int]:
        size, rank = self.provenance.panel_shape[j], len(self.provenance.panel_shape)
        part = self._window[j] if j < len(self._window) else None
        if part is not None:
            return range(size)[part]
        if j < self.lead:
            return range(size)
        most, edge = self._limits(j - self.lead, rank - self.lead)
        here = None if self.here is None else self.here[j]
        if j - self.lead < rank - self.lead - 2 and here is None:
            most = self._facet_limits()[j]
            edge = min(1, most - 1)
        return shown(size, most, edge, here)

    def _limits(self, dim: int, rank: int) -> tuple[int, int]:
        """Return the most coordinates of a dimension to show whole, and the number at an edge."""
        if dim == rank - 1 and (rank > 1 or self.provenance.out_is_row(self.lead)):
            return self._columns
        if dim >= rank - 2:
            return self._rows
        return (MOST_FACETS, 1) if self.here is None else (1, 0)

    def _few(self, most: int, *shapes: Sequence[int]) -> int:
        """Return `most`, or fewer if a tensor of these shapes is large, or its facets are cut."""
        rows, columns = self.limits
        if product(self.provenance.panel_shape) <= MOST_ARROWED_CELLS:
            most = 2 * most
        for shape in shapes:
            *lead, last = shape[self.lead :][-2:] or [1]
            whole = last <= (columns if lead else rows) and max(lead, default=0) <= rows
            if not whole or product(shape) > LARGE_TENSOR:
                most = min(most, FEW_LARGE_PARTS)
        return min(most, self.look.parts or most)

    def _facet_limits(self) -> dict[int, int]:
        """Return the most coordinates of each output dimension before the last two.

        Their product is at most `MOST_FACETS`; dimensions of the indices come first.
        """
        provenance = self.provenance
        dims = range(self.lead, len(provenance.panel_shape) - 2)
        most = self._few(MOST_FACETS, provenance.panel_shape)
        limits: dict[int, int] = {}
        for j in sorted(dims, key=lambda j: provenance.dim_map[j][1] is None):
            is_few = len(dims) > 1 and FEW_LARGE_PARTS < most <= MOST_FACETS
            limits[j] = max(1, min(most, 2 if is_few else most))
            most //= min(limits[j], max(provenance.panel_shape[j], 1))
        return limits

    def _choose_panels(self) -> list[tuple[int, ...]]:
        lead = self.out[: self.lead]
        if self.here is not None:
            return [self.here[: self.lead]]
        if self._batches is not None:
            sizes = self.provenance.panel_shape[: self.lead]
            return [coordinates(n, sizes) for n in range(product(sizes))[self._batches]]
        count = product([len(coords) for coords in lead])
        provenance = self.provenance
        most = self._few(MOST_PANELS, provenance.data.shape, provenance.panel_shape)
        if count <= most or any(each is not None for each in self._window[: self.lead]):
            return list(combinations(*lead))
        return [tuple(coords[n] for coords in lead) for n in (0, -1)[:most]]

    def _units(self) -> dict[Unit, int]:
        """Return the units that the selected indices pick, and their positions, in order."""
        units: dict[Unit, int] = {}
        for panel in self.panels:
            coords = self.coordinates_in(panel, self.indices)
            for at, (_, position) in zip(coords, self.resolved(coords), strict=True):
                unit = self.provenance.unit(at, self.provenance.place(position))
                if unit is not None:
                    units[unit] = position
        return units

    @cached_property
    def write(self) -> Callable[[Any], str]:
        """The formatter of elements of `data`."""
        return writer(self.provenance.data, self.look)

    @property
    def depends_on_rows(self) -> bool:
        """Whether fewer rows of indices would need less of `data`, other than fewer rows."""
        columns = self.data[-1] if self.data else ()
        is_wide = len(columns) > self.limits[1] + 1
        return not self.look.window and (is_wide or not self.is_complete)

    def _choose_facets(self, at: tuple[int, ...], units: Iterable[Unit]) -> list[tuple[int, ...]]:
        """Choose facets of `data`: all, or the first that indices pick."""
        lead, shape = self.lead, self.provenance.data.shape
        every = list(combinations(*self.data[lead:-2]))
        most = self._few(MOST_FACETS, shape)
        if self.look.window or len(every) <= most:
            return every
        current = [] if self._source is None else [self._source[lead:-2]]
        picked = dict.fromkeys(current)
        for unit in units:
            if len(picked) >= most:
                break
            if is_in(at, unit[:lead]):
                within = unit[lead : lead + len(every[0])]
                picked |= dict.fromkeys(each for each in every if is_in(each, within))
        return sorted(list(picked)[:most]) or every[:1]

    def _is_shown(self, unit: Unit) -> bool:
        pairs = zip(unit, self.data, strict=True)
        if any(n is not None and n not in coords for n, coords in pairs):
            return False
        depth = max(0, len(unit) - self.lead - 2)
        within = unit[self.lead : self.lead + depth]
        return any(
            is_in(each, within)
            for panel, facets in self.facets.items()
            if is_in(panel, unit[: self.lead])
            for each in facets
        )

    def resolved(self, coords: list[tuple[int, ...]]) -> list[tuple[Index, int]]:
        """Return the indices at coordinates, and the position of each, or -1."""
        k, positions = self.provenance.positions(arrays(coords, len(self.indices)))
        indices = indices_of(k.reshape(len(coords), *k.shape[positions.ndim :]))
        return list(zip(indices, positions.reshape(-1).tolist(), strict=True))

    def coordinates_in(
        self, panel: tuple[int, ...], dims: Sequence[Sequence[int]]
    ) -> list[tuple[int, ...]]:
        """List the coordinates of a tensor in a panel, row-major."""
        return list(combinations(*([n] for n in panel), *dims[self.lead :]))

    def _data_coordinates(self, d: int, positions: list[int]) -> Sequence[int]:
        """Choose the coordinates of a dimension of `data`, on the axis those that indices pick."""
        provenance, size = self.provenance, self.provenance.data.shape[d]
        most, _ = self._limits(d - self.lead, len(provenance.data.shape) - self.lead)
        if d in provenance.axes:
            on_axis = dict.fromkeys(provenance.on_axes(position)[d] for position in positions)
            return self._axis_coordinates(d, most, list(on_axis))
        view_dims = [dim for dim, _ in provenance.dim_map]
        on_data = [None if dim is None else provenance.data_dim(dim) for dim in view_dims]
        j = on_data.index(d)
        windowed = j < len(self._window) and self._window[j] is not None
        # GatherElements may read only the first part of a dimension of `data`.
        larger = size != provenance.panel_shape[j] and not windowed
        return range(size) if larger and size <= most else self.out[j]

    def _axis_coordinates(self, d: int, most: int, positions: list[int]) -> Sequence[int]:
        """Choose positions on an axis: all, or those that indices pick and the ends."""
        shape = self.provenance.data.shape
        size, depth = shape[d], len(shape) - d
        if size <= most:
            return range(size)
        if self._source is not None:  # the current cell comes first
            positions = [self._source[d], *positions]
        room = most if depth == 1 and len(shape) - self.lead > 1 else size
        has_ends = most > 2 and depth < 3 and self.here is None
        ends = {0, size - 1} if has_ends or not positions else set[int]()
        if depth > 2:
            most = size  # the facets are chosen later
        elif depth == 1 and len(shape) - self.lead > 1:
            most = max(most, COLUMN_LIMITS[0][0])
        else:
            most = MOST_AXIS_ROWS
        chosen = list(dict.fromkeys(positions))[: size if self.look.window else most]
        chosen = sorted({*chosen, *ends})
        return chosen if depth > 2 else without_single_gaps(chosen, size, room)


def sizes(columns: Sequence[Limits]) -> list[tuple[tuple[int, Limits], tuple[int, Limits]]]:
    """Return numbered limits of rows and columns, larger ones first."""
    pairs = combinations(enumerate(ROW_LIMITS), enumerate(columns))
    return sorted(pairs, key=lambda pair: pair[0][0] + pair[1][0])


def shown(size: int, most: int, edge: int, here: int | None) -> Sequence[int]:
    """Choose coordinates of a dimension: all, those at its edges, or those around `here`."""
    if size <= most:
        return range(size)
    if here is not None:
        start = max(0, min(here - edge, size - 2 * edge - 1))
        return range(start, start + 2 * edge + 1)
    if size == 2 * edge + 1:  # a mark hides two at least
        return [*range(edge), *range(edge + 2, size)]
    return shown_positions(size, most, edge) or [0]


def without_single_gaps(coords: list[int], size: int, most: int) -> list[int]:
    """Add each coordinate that is hidden alone, unless there would be more than `most`."""
    alone = [n + 1 for n, after in pairwise([-1, *coords, size]) if after == n + 2]
    return coords if len(coords) + len(alone) > most else sorted([*coords, *alone])


def is_in(at: Sequence[int], unit: Unit) -> bool:
    """Return whether a unit with these leading coordinates includes the part at `at`."""
    return all(n in (None, position) for n, position in zip(unit, at, strict=True))


def lead_of(provenance: GatherProvenance) -> int:
    """Return the number of leading dimensions that are panels, shared by all three tensors.

    These are batch dimensions, and for GatherElements those before the axis and a matrix.
    """
    pairs = enumerate(provenance.dim_map)
    shared = next((j for j, pair in pairs if pair != (j, j)), len(provenance.dim_map))
    return provenance.call.batch_dims or max(0, min(shared, len(provenance.data.shape) - 2))


def arrays(coords: list[tuple[int, ...]], rank: int) -> tuple[AnyArray, ...]:
    """Transpose coordinates of cells into an array for each dimension."""
    return tuple(np.array(coords, np.int64).reshape(len(coords), rank).T)


def told(view: View, look: Look) -> list[Any]:
    """Return the most telling traces in a wide picture; a drawing marks the way of the first."""
    selection = view.select(look._replace(here=None), ROW_LIMITS[0], COLUMN_LIMITS[0])
    return _telling(view, [view.panel(selection, at) for at in selection.panels])


def _telling(view: View, panels: Sequence[Panel]) -> list[Any]:
    whole = [trace for panel in panels for trace in panel.whole_traces]
    every = [trace for panel in panels for trace in panel.traces.values()]
    return telling_traces(view.provenance, whole or every)


def examples(view: View, look: Look, panels: Sequence[Panel]) -> list[Line]:
    """Trace up to three cells in the order of the output: those told, if any is in the panels."""
    shown = {trace.out for panel in panels for trace in panel.traces.values()}
    traces = [trace for trace in told(view, look) if trace.out in shown] or _telling(view, panels)
    first = sorted(traces[:MOST_EXAMPLES], key=lambda trace: trace.out)
    return [[("  ", ""), *view.trace_line(trace, look)] for trace in first]


def window_cells(provenance: Provenance[Any], window: Window) -> Iterator[AnyArray]:
    """Yield the flat positions of the output cells in a window, row-major, in blocks (C,)."""
    ranges = [
        range(size)[window[j] or slice(None)] if j < len(window) else range(size)
        for j, size in enumerate(provenance.shape)
    ]
    count = product([len(each) for each in ranges])
    for start in range(0, count, WINDOW_BLOCK):
        rest = np.arange(start, min(start + WINDOW_BLOCK, count))
        cells, step = np.zeros_like(rest), 1
        for each, size in zip(reversed(ranges), reversed(provenance.shape), strict=True):
            cells += (rest % len(each) + each.start) * step
            rest, step = rest // len(each), step * size
        yield cells
