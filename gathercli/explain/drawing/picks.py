"""The indices of a batch in a drawing, what each picks, and the arrows that say so."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.cells import elements_at
from gathercli.compute.tensor import Tensor
from gathercli.explain.lesson import numbers
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import arrays
from gathercli.explain.terminal.trace import TARGETS, index_text, writer
from gathercli.spec.coordinates import flat_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.explain.drawing.block import At
    from gathercli.explain.lesson import Index, Trace, Unit
    from gathercli.explain.selection import Selection

OUTSIDE: Final = "outside"
"""The name of the place of indices that point nowhere, in place of a tensor's."""

_SLICES: Final = 20
_CELLS: Final = 12
"""The most arrows of a drawing, if indices pick slices, and if they pick single cells."""


class Pick(NamedTuple):
    """An index of the drawing, and what becomes of it.

    Attributes
    ----------
    at, k, position, fate
        Its coordinates, the index, its place on the axis or axes (None for none), its fate.
    unit, color
        The part of `data` that it picks, and the number of its colour; None for none.
    """

    at: tuple[int, ...]
    k: Index
    position: Index | None
    fate: Fate
    unit: Unit | None
    color: int | None

    @property
    def is_negative(self) -> bool:
        """Whether it, or a number of the tuple, is below 0."""
        return any(n < 0 for n in numbers(self.k))


class Link(NamedTuple):
    """An arrow without its way.

    Attributes
    ----------
    pick
        The index that it is for.
    names, source, target
        The tensors at its ends, and the coordinates there.
    """

    pick: Pick
    names: tuple[str, str]
    source: At
    target: At

    @property
    def lands(self) -> bool:
        """Whether it ends in the output."""
        return self.names[1] == "out"


class PanelPicks:
    """The indices of a batch, and what they pick.

    Parameters
    ----------
    selection
        The coordinates to draw.
    panel
        The leading coordinates, shared by all tensors.

    Attributes
    ----------
    picks
        The indices by their coordinates, row-major.
    traces
        The traces of the output cells, with the batch dimensions apart, row-major.
    """

    def __init__(self, selection: Selection, panel: tuple[int, ...]) -> None:
        self.selection, self.lesson, self.panel = selection, selection.lesson, panel
        self.lead = selection.lead
        self.data_name = next(iter(self.lesson.call.inputs))
        self._write = writer(self.lesson, selection.look)
        self.colors = {unit: n for n, unit in enumerate(selection.letters)}
        self.picks = dict(self._read_picks())
        self._values = self._read_values()
        self.traces = self._read_traces()

    def _read_picks(self) -> Iterator[tuple[tuple[int, ...], Pick]]:
        lesson = self.lesson
        coords = self.selection.coordinates(self.panel, self.selection.indices)
        for at, (k, flat) in zip(coords, self.selection.resolved(coords), strict=True):
            position = lesson.place(flat)
            unit = lesson.unit(at, position)
            color = None if unit is None else self.colors.get(unit)
            yield at, Pick(at, k, position, lesson.fate(k, flat), unit, color)

    def _read_values(self) -> dict[tuple[int, ...], Any]:
        data = self.lesson.data
        coords = self.selection.coordinates(self.panel, self.selection.data)
        elements = Tensor(data.dtype, elements_at(data.array, arrays(coords, len(data.shape))))
        return dict(zip(coords, elements.values().tolist(), strict=True))

    def _read_traces(self) -> dict[tuple[int, ...], Trace]:
        shape = self.lesson.panel_shape
        coords = self.selection.coordinates(self.panel, self.selection.out)
        cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
        return dict(zip(coords, self.lesson.traces(cells), strict=True))

    def data_text(self, at: tuple[int, ...]) -> str:
        """Format a cell of `data`."""
        return self._write(self._values[at])

    def index_text(self, at: tuple[int, ...]) -> str:
        """Format an index, with its position if that is another number."""
        pick = self.picks[at]
        text = index_text(pick.k)
        target = TARGETS[pick.fate] if pick.position is None else index_text(pick.position)
        return text if target == text else f"{text} → {target}"

    def out_text(self, at: tuple[int, ...]) -> str:
        """Format a cell of the output, with the batch dimensions apart."""
        trace = self.traces[at]
        return "!" if trace.fate is Fate.REFUSED else self._write(trace.value)

    def axes_from_end(self, pick: Pick) -> list[int]:
        """Return the dimensions of `data` on which an index counts from the end."""
        if pick.position is None:
            return []
        sizes = self.lesson.data.shape
        each = zip(self.lesson.axes, numbers(pick.k), numbers(pick.position), strict=True)
        return [d for d, k, n in each if k < 0 and n - k == sizes[d]]

    @property
    def from_end(self) -> frozenset[int]:
        """The dimensions of `data` that an index of the batch may count from the end.

        With tuples these are all that a tuple names, if a number in one of them is negative.
        """
        dims = frozenset(d for pick in self.picks.values() for d in self.axes_from_end(pick))
        return frozenset(self.lesson.axes) if dims else dims

    @property
    def points_outside(self) -> bool:
        """Whether an index of the batch picks nothing."""
        return any(pick.unit is None for pick in self.picks.values())

    @property
    def data_facets(self) -> list[tuple[int, ...]]:
        """The facets of `data` in the drawing: all, or the first that indices pick."""
        return self.selection.facets(self.panel)

    def links_of(self, pick: Pick) -> list[Link]:
        """Return the arrows of an index: to the slices that it picks, and on to the output."""
        name, lesson = self.lesson.name, self.lesson
        rank, out_rank = len(lesson.data.shape), len(lesson.panel_shape)
        free = {j: lesson.data_dim(d or 0) for j, (d, i) in enumerate(lesson.dim_map) if i is None}
        if pick.unit is None:
            links = [Link(pick, (name, OUTSIDE), pick.at, ())]
        else:
            # A slice of each facet of `data`: its coordinates within a facet are None for all.
            choices = [
                [n] if n is not None else [None] if self._is_inner(d, rank) else coords
                for d, (n, coords) in enumerate(zip(pick.unit, self.selection.data, strict=True))
            ]
            links = [
                Link(pick, (name, self.data_name), pick.at, at) for at in combinations(*choices)
            ]
        if pick.fate is Fate.REFUSED:
            return links
        # One arrow carries the dimensions that are rows, or columns, of both tensors.
        runs = {
            j
            for j, d in free.items()
            if self._is_inner(j, out_rank)
            and (rank - d == out_rank - j or out_rank - self.lead == 1 or pick.unit is None)
            and (self._is_inner(d, rank) or pick.unit is None)
        }
        steps = [j for j in free if j not in runs]
        for coords in combinations(*(self.selection.out[j] for j in steps)):
            fixed = dict(zip(steps, coords, strict=True))
            target = tuple(
                fixed.get(j) if i is None else pick.at[i] for j, (_, i) in enumerate(lesson.dim_map)
            )
            names: tuple[str, str] = (OUTSIDE, "out")
            source: At = ()
            if pick.unit is not None:
                in_data = {free[j]: n for j, n in fixed.items()}
                names = self.data_name, "out"
                source = tuple(in_data.get(d) if n is None else n for d, n in enumerate(pick.unit))
            links.append(Link(pick, names, source, target))
        return links

    def _is_inner(self, d: int, rank: int) -> bool:
        """Return whether a dimension lies within a facet."""
        return d >= max(self.lead, rank - 2)

    def crossed(self) -> tuple[set[str], set[str]]:
        """Return the tensors whose single cells arrows leave, and those that arrows come into.

        These arrows run between cells.
        """
        links = [link for pick in self.picks.values() for link in self.links_of(pick)]
        leaves = {link.names[0] for link in links if self._is_cell(link.source)}
        return leaves, {link.names[1] for link in links if self._is_cell(link.target)}

    def _is_cell(self, at: At) -> bool:
        """Return whether coordinates are those of a cell of more than a vector."""
        return None not in at and len(at) - self.lead > 1

    def links(
        self, is_drawn: Callable[[Link], bool], share: float, first: tuple[int, ...] | None
    ) -> list[Link]:
        """Choose the indices that get arrows; return these.

        Parameters
        ----------
        is_drawn
            A function that tells whether both ends of an arrow are in the drawing.
        share
            The share of this batch in the arrows of the drawing, from 0 to 1.
        first
            The coordinates of an index to choose in any case.
        """
        links = {
            at: drawn
            for at, pick in self.picks.items()
            if (drawn := list(filter(is_drawn, self.links_of(pick))))
        }
        is_cell = self.lesson.picks_cells and len(self.lesson.data.shape) - self.lead > 1
        each = max(map(len, links.values()), default=1)
        count = max(1, int((_CELLS if is_cell else _SLICES) * share) // each)
        chosen = {first} & links.keys()
        kinds: set[object] = {(Fate.COPIED, False)}
        for at in links:
            kind = self.picks[at].fate, self.picks[at].is_negative
            if kind not in kinds:
                chosen.add(at)
            kinds.add(kind)
        rest = [at for at in links if at not in chosen]
        room = min(max(0, count - len(chosen)), len(rest))
        chosen.update(rest[n * len(rest) // room] for n in range(room))
        return [link for at in links if at in chosen for link in links[at]]
