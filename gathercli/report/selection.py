"""Select the coordinates and panels of a picture, and the letters of parts of `data`."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.lessons.lesson import indices_of
from gathercli.report.grid import shown_positions
from gathercli.report.layout import Marks
from gathercli.spec.coordinates import coordinate
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.arrays.tensor import AnyArray
    from gathercli.lessons.lesson import Index, Lesson, Unit
    from gathercli.lessons.provenance import Provenance

WIDTH: Final = 100
"""The columns of a picture without a terminal."""

ROWS: Final = ((12, 3), (7, 3), (5, 2), (3, 1), (1, 0))
COLUMNS: Final = ((16, 3), (6, 3), (4, 2), (2, 1), (1, 0))
"""The most rows and columns to show whole, and the number at each edge otherwise; by preference."""
WIDE: Final = ((64, 24), (64, 18), (48, 12), (40, 8), (24, 5), *COLUMNS)
"""`COLUMNS` on a terminal wider than `WIDTH`."""

PANELS: Final = 4
FACETS: Final = 4
"""The most panels, and facets of a tensor, in a picture without a window."""

CELLS: Final = 20_000
BATCHES: Final = 400
"""The most cells of the output, and panels, in a window."""

BLOCK: Final = 1 << 12
"""Cells of a block of a window."""

Window = tuple[slice | None, ...]
"""The coordinates to show of each output dimension; None for as many as fit."""


class Look(NamedTuple):
    """The appearance of a picture.

    Attributes
    ----------
    width
        The columns of the terminal; None for no limit.
    precision
        The significant digits of floats.
    marks
        The characters beside letters and numbers.
    window
        The output coordinates to show.
    here
        The output cell to mark.
    height
        The lines for the panels; None for no limit.
    advice
        A hint on how to see hidden cells.
    """

    width: int | None
    precision: int = 6
    marks: Marks = Marks()
    window: Window = ()
    here: tuple[int, ...] | None = None
    height: int | None = None
    advice: str = "--window chooses others"


class Selection:
    """The part of a lesson in a picture.

    Parameters
    ----------
    rows, columns
        Limits from `ROWS` and from `COLUMNS` or `WIDE`.

    Attributes
    ----------
    lead
        The number of leading dimensions that are panels.
    out, indices, data
        The coordinates to show of each dimension, ascending.
    panels
        The coordinates of the leading dimensions for each panel.
    letters
        The letter of each unit that the visible indices pick, in their order.
    """

    def __init__(
        self, lesson: Lesson, look: Look, rows: tuple[int, int], columns: tuple[int, int]
    ) -> None:
        self.lesson, self.look, self._rows, self._columns = lesson, look, rows, columns
        self.lead = lead_of(lesson)
        self.here = None if look.here is None else lesson.apart(look.here)
        self._window: Window = look.window
        self._batches: slice | None = None  # the window in a merged batch dimension
        if look.window and len(lesson.shape) < len(lesson.panel_shape):
            self._batches, *rest = look.window
            self._window = (*[None] * self.lead, *rest)
        self.out = [self._out_coordinates(j) for j in range(len(lesson.panel_shape))]
        self.indices: list[Sequence[int]] = [[] for _ in lesson.index_shape]
        for coords, (_, i) in zip(self.out, lesson.dim_map, strict=True):
            if i is not None:
                self.indices[i] = coords
        self.panels = self._choose_panels()
        self.letters: dict[Unit, str] = {}
        positions = self._add_letters()
        self.data = [self._data_coordinates(d, positions) for d in range(len(lesson.data.shape))]

    def _out_coordinates(self, j: int) -> Sequence[int]:
        """Choose the coordinates of an output dimension."""
        size, rank = self.lesson.panel_shape[j], len(self.lesson.panel_shape)
        part = self._window[j] if j < len(self._window) else None
        if part is not None:
            return range(size)[part]
        if j < self.lead:
            return range(size)
        most, edge = self._limits(j - self.lead, rank - self.lead)
        here = None if self.here is None else self.here[j]
        if j - self.lead < rank - self.lead - 2 and here is None:
            most, edge = self._facet_limits()[j], 1
        return shown(size, most, edge, here)

    def _limits(self, dim: int, rank: int) -> tuple[int, int]:
        """Return the most coordinates of a dimension to show whole, and the number at an edge."""
        if dim == rank - 1 and rank > 1:
            return self._columns
        if dim >= rank - 2:
            return self._rows
        return (FACETS, 1) if self.look.here is None else (1, 0)

    def _facet_limits(self) -> dict[int, int]:
        """Return the most coordinates of each output dimension before the last two.

        Their product is at most `FACETS`; dimensions of the indices come first.
        """
        lesson, most = self.lesson, FACETS
        dims = range(self.lead, len(lesson.panel_shape) - 2)
        limits: dict[int, int] = {}
        for j in sorted(dims, key=lambda j: lesson.dim_map[j][1] is None):
            limits[j] = max(1, min(most, 2 if len(dims) > 1 else FACETS))
            most //= min(limits[j], max(lesson.panel_shape[j], 1))
        return limits

    def _choose_panels(self) -> list[tuple[int, ...]]:
        lead = self.out[: self.lead]
        if self.here is not None:
            return [self.here[: self.lead]]
        if self._batches is not None:
            sizes = self.lesson.panel_shape[: self.lead]
            return [coordinate(n, sizes) for n in range(product(sizes))[self._batches]]
        count = product([len(coords) for coords in lead])
        if count <= PANELS or any(each is not None for each in self._window[: self.lead]):
            return list(combinations(*lead))
        first = (0,) * (self.lead - 1)
        return [(*first, 0), _after((*first, 0), lead), tuple(coords[-1] for coords in lead)]

    def _add_letters(self) -> set[int]:
        """Assign a letter to each unit that the selected indices pick; return their positions."""
        axis_positions: set[int] = set()
        for panel in self.panels:
            coords = self.coordinates(panel, self.indices)
            for at, (_, position) in zip(coords, self.resolved(coords), strict=True):
                unit = self.lesson.unit(at, self.lesson.place(position))
                if unit is not None:
                    axis_positions.add(position)
                    self.letters.setdefault(unit, letter_of(len(self.letters)))
        return axis_positions

    def resolved(self, coords: list[tuple[int, ...]]) -> list[tuple[Index, int]]:
        """Return the indices at coordinates, and the position of each, or -1."""
        k, positions = self.lesson.positions(arrays(coords, len(self.indices)))
        indices = indices_of(k.reshape(len(coords), *k.shape[positions.ndim :]))
        return list(zip(indices, positions.reshape(-1).tolist(), strict=True))

    def coordinates(
        self, panel: tuple[int, ...], dims: Sequence[Sequence[int]]
    ) -> list[tuple[int, ...]]:
        """List the coordinates of a tensor in a panel, row-major."""
        return list(combinations(*([n] for n in panel), *dims[self.lead :]))

    def _data_coordinates(self, d: int, positions: set[int]) -> Sequence[int]:
        """Choose the coordinates of a dimension of `data`, on the axis those that indices pick."""
        lesson, size = self.lesson, self.lesson.data.shape[d]
        most, edge = self._limits(d - self.lead, len(lesson.data.shape) - self.lead)
        if d in lesson.axes:
            on_axis = {lesson.on_axes(position)[d] for position in positions}
            return self._axis_coordinates(d, most, edge, on_axis)
        view_dims = [dim for dim, _ in lesson.dim_map]
        j = next(j for j, v in enumerate(view_dims) if v is not None and lesson.data_dim(v) == d)
        windowed = j < len(self._window) and self._window[j] is not None
        # GatherElements may read only the first part of a dimension of `data`.
        larger = size != lesson.panel_shape[j] and not windowed
        coords = range(size) if larger and size <= most else self.out[j]
        # The rows of a 1-D output are columns of `data`, where fewer may fit.
        turned = len(lesson.panel_shape) - self.lead == 1 and d > self.lead and not windowed
        if not turned or len(coords) <= most or self.look.here is not None:
            return coords
        return [coords[n] for n in shown(len(coords), most, edge, None)]

    def _axis_coordinates(self, d: int, most: int, edge: int, positions: set[int]) -> Sequence[int]:
        """Choose positions on an axis: all, or those that indices pick and the ends."""
        size = self.lesson.data.shape[d]
        if size <= most:
            return range(size)
        if self.look.here is not None:
            data = self.lesson.trace(*self.look.here).data
            return shown(size, most, edge, data[d] if data else 0)
        ends = {0, size - 1} if most > 2 or not positions else set[int]()
        return sorted({*sorted(positions)[:most], *ends})


def shown(size: int, most: int, edge: int, here: int | None) -> Sequence[int]:
    """Choose coordinates of a dimension: all, those at its edges, or those around `here`."""
    if size <= most:
        return range(size)
    if here is not None:
        start = max(0, min(here - edge, size - 2 * edge - 1))
        return range(start, start + 2 * edge + 1)
    return shown_positions(size, most, edge) or [0]


def _after(at: tuple[int, ...], sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the next coordinates, row-major."""
    *lead, last = at
    if last + 1 < len(sizes[-1]) or not lead:
        return (*lead, last + 1)
    return (*_after(tuple(lead), sizes[:-1]), 0)


def lead_of(lesson: Lesson) -> int:
    """Return the number of leading dimensions that are panels, shared by all three tensors.

    These are batch dimensions, and for GatherElements those before the axis and a matrix.
    """
    pairs = enumerate(lesson.dim_map)
    shared = next((j for j, pair in pairs if pair != (j, j)), len(lesson.dim_map))
    return lesson.call.batch_dims or max(0, min(shared, len(lesson.data.shape) - 2))


def letter_of(number: int) -> str:
    """Return the letter for a number: a to z, then aa, ab and so on.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('a', 'z', 'aa')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def arrays(coords: list[tuple[int, ...]], rank: int) -> tuple[AnyArray, ...]:
    """Transpose coordinates of cells into an array for each dimension."""
    if not coords:
        return tuple(np.zeros(0, np.int64) for _ in range(rank))
    return tuple(np.array(each, np.int64) for each in zip(*coords, strict=True))


def window_cells(lesson: Provenance[Any], window: Window) -> Iterator[AnyArray]:
    """Yield the flat positions of the output cells in a window, row-major, in blocks (C,)."""
    ranges = [
        range(size)[window[j] or slice(None)] if j < len(window) else range(size)
        for j, size in enumerate(lesson.shape)
    ]
    count = product([len(each) for each in ranges])
    for start in range(0, count, BLOCK):
        rest = np.arange(start, min(start + BLOCK, count))
        cells, step = np.zeros_like(rest), 1
        for each, size in zip(reversed(ranges), reversed(lesson.shape), strict=True):
            cells += (rest % len(each) + each.start) * step
            rest, step = rest // len(each), step * size
        yield cells
