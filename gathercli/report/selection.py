"""What of a lesson is shown: coordinates, panels, and the letters of what the indices pick."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.report.grid import shown_positions
from gathercli.report.layout import Marks
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.arrays.tensor import AnyArray
    from gathercli.lessons.lesson import Lesson, Unit

WIDTH: Final = 100
"""Columns in which parts are arranged where there is no width."""

ROWS: Final = ((12, 3), (7, 3), (5, 2), (3, 1), (1, 0))
COLUMNS: Final = ((16, 3), (6, 3), (4, 2), (2, 1), (1, 0))
"""How many rows and columns are shown whole, else how many at each edge: the first that fit."""
WIDE: Final = ((64, 24), (64, 18), (48, 12), (40, 8), (24, 5), *COLUMNS)
"""The same of columns, on a terminal wider than `WIDTH`."""

PANELS: Final = 4
FACETS: Final = 4
"""Batches, and facets of a tensor, that are shown at most."""

CELLS: Final = 20_000
BATCHES: Final = 400
"""Cells of the output, and panels, that a window shows at most."""

Window = tuple[slice | None, ...]
"""For each dimension of the output which coordinates are shown; None for as many as fit."""


class Look(NamedTuple):
    """How a picture is drawn.

    Attributes
    ----------
    width
        Columns of the terminal; None where nothing is cut to a width.
    precision
        Significant digits of floats.
    marks
        The characters beside letters and numbers.
    window
        What is shown of the output.
    here
        The output cell that is looked at: it is shown, and marked.
    height
        Lines that there are for the panels; None for as many as they take.
    advice
        What shows cells that are not shown.
    """

    width: int | None
    precision: int = 6
    marks: Marks = Marks()
    window: Window = ()
    here: tuple[int, ...] | None = None
    height: int | None = None
    advice: str = "--window chooses others"


class Shown:
    """What is shown of a lesson.

    Parameters
    ----------
    rows, columns
        Of `ROWS` and of `COLUMNS` or `WIDE`: how many there may be.

    Attributes
    ----------
    lead
        How many leading dimensions are panels.
    out, indices, data
        For every dimension the coordinates that are shown, ascending.
    panels
        The coordinates of the leading dimensions, a panel each.
    letters
        What the shown indices pick, and its letter, in their order.
    """

    def __init__(
        self, lesson: Lesson, look: Look, rows: tuple[int, int], columns: tuple[int, int]
    ) -> None:
        self.lesson, self.look, self._rows, self._columns = lesson, look, rows, columns
        self.lead = lead_of(lesson)
        self.out = [self._chosen(j) for j in range(len(lesson.shape))]
        self.indices: list[Sequence[int]] = [[] for _ in lesson.indices.shape]
        for coords, (_, i) in zip(self.out, lesson.dim_map, strict=True):
            if i is not None:
                self.indices[i] = coords
        self.panels = self._chosen_panels()
        self.letters, picked = self._named()
        self.data = self._chosen_of_data(picked)

    def _chosen(self, j: int) -> Sequence[int]:
        """Choose the coordinates of an output dimension."""
        size, rank = self.lesson.shape[j], len(self.lesson.shape)
        chosen = self.look.window[j] if j < len(self.look.window) else None
        if chosen is not None:
            return range(size)[chosen]
        if j < self.lead:
            return range(size)
        most, edge = self._limits(j - self.lead, rank - self.lead)
        here = None if self.look.here is None else self.look.here[j]
        if j - self.lead < rank - self.lead - 2 and here is None:
            most, edge = self._facet_limits()[j], 1
        return _some(size, most, edge, here)

    def _limits(self, dim: int, rank: int) -> tuple[int, int]:
        """Return how many coordinates of a dimension are shown whole, else how many at an edge."""
        if dim == rank - 1 and rank > 1:
            return self._columns
        if dim >= rank - 2:
            return self._rows
        return (FACETS, 1) if self.look.here is None else (1, 0)

    def _facet_limits(self) -> dict[int, int]:
        """Return how many coordinates of leading output dimensions are shown.

        Facets are many soon: those of the indices come first, of what is left one is shown.
        """
        lesson, most = self.lesson, FACETS
        dims = range(self.lead, len(lesson.shape) - 2)
        limits: dict[int, int] = {}
        for j in sorted(dims, key=lambda j: lesson.dim_map[j][1] is None):
            limits[j] = max(1, min(most, 2 if len(dims) > 1 else FACETS))
            most //= min(limits[j], max(lesson.shape[j], 1))
        return limits

    def _chosen_panels(self) -> list[tuple[int, ...]]:
        lead = self.out[: self.lead]
        if self.look.here is not None:
            return [self.look.here[: self.lead]]
        count = product([len(coords) for coords in lead])
        if count <= PANELS or any(each is not None for each in self.look.window[: self.lead]):
            return list(combinations(*lead))
        first = (0,) * (self.lead - 1)
        return [(*first, 0), _after((*first, 0), lead), tuple(coords[-1] for coords in lead)]

    def _named(self) -> tuple[dict[Unit, str], set[int]]:
        """Give a letter to everything that the shown indices pick, in their order."""
        letters: dict[Unit, str] = {}
        picked: set[int] = set()
        for panel in self.panels:
            coords = self.coordinates(panel, self.indices)
            for at, position in self._pointing(coords):
                unit = self.lesson.unit(at, position)
                if unit is not None:
                    picked.add(position)
                    letters.setdefault(unit, _letter(len(letters)))
        return letters, picked

    def coordinates(
        self, panel: tuple[int, ...], shown: Sequence[Sequence[int]]
    ) -> list[tuple[int, ...]]:
        """List the shown coordinates of a tensor in a panel, row-major."""
        return list(combinations(*([n] for n in panel), *shown[self.lead :]))

    def _pointing(self, coords: list[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], int]]:
        rank = len(self.lesson.indices.shape)
        _, positions = self.lesson.positions(arrays(coords, rank))
        return zip(coords, positions.reshape(-1).tolist(), strict=True)

    def _chosen_of_data(self, picked: set[int]) -> list[Sequence[int]]:
        lesson, shape = self.lesson, self.lesson.data.shape
        axis, _ = lesson.call.places
        shown: list[Sequence[int]] = []
        walked = {d: j for j, (d, _) in enumerate(lesson.dim_map) if d is not None}
        for d, size in enumerate(shape):
            most, edge = self._limits(d - self.lead, len(shape) - self.lead)
            if d == axis:
                shown.append(self._chosen_of_axis(size, most, edge, picked))
                continue
            j = walked[d]
            windowed = j < len(self.look.window) and self.look.window[j] is not None
            larger = size != lesson.shape[j] and not windowed
            shown.append(range(size) if larger and size <= most else self.out[j])
        return shown

    def _chosen_of_axis(self, size: int, most: int, edge: int, picked: set[int]) -> Sequence[int]:
        """Choose positions on the axis: all, or what is picked and the ends."""
        if size <= most:
            return range(size)
        if self.look.here is not None:
            return _some(size, most, edge, self.lesson.trace(*self.look.here).position or 0)
        ends = {0, size - 1} if most > 2 or not picked else set[int]()
        return sorted({*sorted(picked)[:most], *ends})


def _some(size: int, most: int, edge: int, here: int | None) -> Sequence[int]:
    """Choose coordinates of a dimension: all, those at its edges, or those around `here`."""
    if size <= most:
        return range(size)
    if here is not None:
        start = max(0, min(here - edge, size - 2 * edge - 1))
        return range(start, start + 2 * edge + 1)
    return shown_positions(size, most, edge) or [0]


def _after(at: tuple[int, ...], sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the coordinates that follow, row-major."""
    *lead, last = at
    if last + 1 < len(sizes[-1]) or not lead:
        return (*lead, last + 1)
    return (*_after(tuple(lead), sizes[:-1]), 0)


def lead_of(lesson: Lesson) -> int:
    """Count the leading dimensions whose coordinates are those of all three tensors: a panel each.

    Batches, and of elements the dimensions before the axis; but a matrix stays one.
    """
    shared = 0
    for j, walk in enumerate(lesson.dim_map):
        if walk != (j, j):
            break
        shared += 1
    return lesson.call.batch_dims or max(0, min(shared, len(lesson.data.shape) - 2))


def _letter(number: int) -> str:
    """Name the parts of data in the order they are picked: a to z, then aa, ab and so on.

    >>> _letter(0), _letter(25), _letter(26)
    ('a', 'z', 'aa')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def arrays(coords: list[tuple[int, ...]], rank: int) -> tuple[AnyArray, ...]:
    """Turn a tuple a cell into an array a dimension."""
    import numpy as np

    if not coords:
        return tuple(np.zeros(0, np.int64) for _ in range(rank))
    return tuple(np.array(each, np.int64) for each in zip(*coords, strict=True))
