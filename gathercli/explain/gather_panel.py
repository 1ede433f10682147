"""A batch of a gather along an axis as a panel: cells, letters, and what each index picks."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.cells import elements_at
from gathercli.compute.tensor import Tensor
from gathercli.explain.lesson import numbers
from gathercli.explain.panel import (
    OUT,
    TARGETS,
    Panel,
    PanelCell,
    PanelTensor,
    Placement,
    cells_of,
    index_text,
    unit_text,
)
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import arrays
from gathercli.spec.coordinates import flat_positions
from gathercli.spec.dtypes import STRING, Kind, described
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.explain.lesson import Index, Trace, Unit
    from gathercli.explain.panel import At
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
        return self.names[1] == OUT


class GatherPanel(Panel):
    """A batch of a gather along an axis: its tensors, and what its indices pick.

    Parameters
    ----------
    selection
        The coordinates to show.
    at
        The leading coordinates, shared by all tensors.

    Attributes
    ----------
    picks
        The indices by their coordinates, row-major.
    data, indices, out
        The tensors.
    """

    def __init__(self, selection: Selection, at: tuple[int, ...]) -> None:
        self.selection, self.lesson, self.at = selection, selection.lesson, at
        self.lead = selection.lead
        self.data_name = next(iter(self.lesson.call.inputs))
        self._here = self.lesson.ends(selection.current)
        self.picks = dict(self._read_picks())
        self.traces: dict[tuple[int, ...], Trace] = self._read_traces()
        self.data = self._data_tensor()
        self.indices = self._indices_tensor()
        self.out = self._out_tensor()
        self.tensors = [self.data, self.indices, self.out]

    def _read_picks(self) -> Iterator[tuple[tuple[int, ...], Pick]]:
        lesson, colors = self.lesson, {unit: n for n, unit in enumerate(self.selection.letters)}
        coords = self.selection.coordinates(self.at, self.selection.indices)
        for at, (k, flat) in zip(coords, self.selection.resolved(coords), strict=True):
            position = lesson.place(flat)
            unit = lesson.unit(at, position)
            color = None if unit is None else colors.get(unit)
            yield at, Pick(at, k, position, lesson.fate(k, flat), unit, color)

    def _read_traces(self) -> dict[tuple[int, ...], Trace]:
        shape = self.lesson.panel_shape
        coords = self.selection.coordinates(self.at, self.selection.out)
        cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
        return dict(zip(coords, self.lesson.traces(cells), strict=True))

    def _tensor(
        self,
        name: str,
        operand: object,
        shape: tuple[int, ...],
        coordinates: Sequence[Sequence[int]],
        labelled: set[int],
    ) -> PanelTensor:
        """Return a tensor without cells; its labels depend on the dimensions `labelled`."""
        lead = self.lead
        inner = tuple(coordinates[lead:])
        place = _place({d - lead for d in labelled if d >= lead}, len(inner))
        if place is Placement.COLUMN and not self.selection.letters:
            place = Placement.ROW  # there are no labels to stand above columns
        words = "" if lead else str(operand)
        facets = list(combinations(*inner[:-2]))
        tensor = PanelTensor(name, shape, self.at, inner, facets, {}, place, words)
        return tensor._replace(here=self._here.get(name))

    def _data_tensor(self) -> PanelTensor:
        lesson, selection = self.lesson, self.selection
        data, reads, marks, units = (
            lesson.data,
            lesson.reads,
            selection.look.marks,
            lesson.unit_dims,
        )
        operand, facets = lesson.call.inputs[self.data_name], selection.facets(self.at)
        tensor = self._tensor(self.data_name, operand, data.shape, selection.data, {*units})
        coords = cells_of(self.at, tensor.coordinates, facets)
        elements = Tensor(data.dtype, elements_at(data.array, arrays(coords, len(data.shape))))
        colors = {unit: n for n, unit in enumerate(selection.letters)}
        for at, value in zip(coords, elements.values().tolist(), strict=True):
            unit = tuple(n if d in units else None for d, n in enumerate(at))
            times = reads.of(unit) if reads else 0
            letter = selection.letters.get(unit, marks.hidden if times else "")
            several = times > 1 and lesson.picks_cells
            tensor.cells[at] = PanelCell(
                selection.write(value),
                letter=letter,
                color=colors.get(unit),
                mark=f"{letter}{marks.times}{times}" if several else "",
                kinds=("unread",) if reads and not times else (),
            )
        return self._typed(tensor._replace(facets=facets))

    def _indices_tensor(self) -> PanelTensor:
        lesson, name = self.lesson, self.lesson.name
        shape, coordinates = lesson.index_shape, self.selection.indices
        operand, labelled = lesson.call.inputs[name], set(range(len(shape)))
        tensor = self._tensor(name, operand, shape, coordinates, labelled)
        for at, pick in self.picks.items():
            text = index_text(pick.k)
            target = TARGETS[pick.fate] if pick.position is None else index_text(pick.position)
            tail = "" if target == text else f"{self.selection.look.marks.arrow}{target}"
            kinds = ("negative",) if pick.is_negative else ()
            tensor.cells[at] = self._picked(pick, text)._replace(tail=tail, kinds=kinds)
        return tensor

    def _out_tensor(self) -> PanelTensor:
        lesson = self.lesson
        labelled = {j for j, (_, i) in enumerate(lesson.dim_map) if i is not None}
        words = described(lesson.data.dtype, Shape(lesson.shape).inner())
        shape, coordinates = lesson.panel_shape, self.selection.out
        tensor = self._tensor(OUT, words, shape, coordinates, labelled)
        for at, trace in self.traces.items():
            text = "" if trace.fate is Fate.REFUSED else self.selection.write(trace.value)
            tensor.cells[at] = self._picked(self.picks[trace.indices], text)

        def note(at: tuple[int, ...]) -> str:
            first = [each[0] for each in tensor.coordinates[len(at) - self.lead :]]
            return self._source(self.traces[(*at, *first)], len(at))

        # Without panels, each row or facet that comes from one place has a note on it.
        whole = not self.lead and self.selection.look.here is None and bool(shape)
        noted = whole and tensor.place in (Placement.ROW, Placement.FACET)
        across = lesson.out_is_row(self.lead)
        return self._typed(
            tensor._replace(note=note if noted else None, across=across, named=lesson.joined)
        )

    def _typed(self, tensor: PanelTensor) -> PanelTensor:
        """Align the elements of `data`."""
        dtype = self.lesson.data.dtype
        return tensor._replace(floats=dtype.kind is Kind.FLOAT, left=dtype is STRING)

    def _picked(self, pick: Pick, text: str) -> PanelCell:
        """Return a cell that is marked by what an index picks."""
        letter = "" if pick.unit is None else self.selection.letters.get(pick.unit, "")
        marks = self.selection.look.marks
        mark = {Fate.FILLED: marks.nowhere, Fate.REFUSED: marks.refused}.get(pick.fate, "")
        return PanelCell(text, letter=letter, color=pick.color, fate=pick.fate, mark=mark)

    def _source(self, trace: Trace, rank: int) -> str:
        """Format the source of the cells that share the first `rank` coordinates of one.

        ``data[3,:]`` is that of a row.
        """
        if trace.data is None:
            return "zeros" if trace.fate is Fate.FILLED else "refused"
        dims = (d for d, i in self.lesson.dim_map[rank:] if d is not None and i is None)
        along = set(map(self.lesson.data_dim, dims))
        return unit_text(tuple(None if d in along else n for d, n in enumerate(trace.data)))

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
            names: tuple[str, str] = (OUTSIDE, OUT)
            source: At = ()
            if pick.unit is not None:
                in_data = {free[j]: n for j, n in fixed.items()}
                names = self.data_name, OUT
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


def _place(labelled: set[int], rank: int) -> Placement:
    """Return the placement of labels: at the smallest part with only one."""
    if rank < 2:
        return Placement.ROW
    inner = {d for d in labelled if d >= rank - 2}
    if not inner:
        return Placement.FACET if labelled else Placement.ROW
    if inner == {rank - 2}:
        return Placement.ROW
    return Placement.COLUMN if inner == {rank - 1} else Placement.CELL
