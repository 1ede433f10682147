"""A batch of a gather along an axis as a panel: cells, letters, and what each index picks."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import elements_at
from gathercli.compute.tensor import Tensor
from gathercli.explain.gather_provenance import numbers
from gathercli.explain.panel import (
    NO_TARGETS,
    OUT,
    OUTSIDE_PLACE,
    Link,
    Panel,
    PanelCell,
    PanelTensor,
    Placement,
    Stance,
    cells_of,
    coordinate_words,
    index_text,
    unit_text,
)
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import arrays, is_in
from gathercli.spec.dtypes import STRING, Kind, described
from gathercli.spec.shapes import Shape, flat_positions
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.gather_provenance import GatherProvenance, Index, Trace, Unit
    from gathercli.explain.panel import At
    from gathercli.explain.selection import Selection

_MOST_SLICE_ARROWS: Final = 20
_MOST_CELL_ARROWS: Final = 12
"""The most arrows of a drawing, if indices pick slices, and if they pick single cells."""


class Pick(NamedTuple):
    """An index of a picture, and what becomes of it."""

    at: tuple[int, ...]
    k: Index
    position: Index | None  # on the axis or axes; None for none
    fate: Fate
    unit: Unit | None  # the part of `data` that it picks
    color: int | None  # the number of the colour of that

    @property
    def is_negative(self) -> bool:
        """Whether it, or a number of the tuple, is below 0."""
        return any(n < 0 for n in numbers(self.k))


class GatherPanel(Panel):
    """A batch of a gather along an axis: its tensors, and what its indices pick.

    The picks are by the coordinates of the indices, row-major. Where coordinates stay, rows and
    columns of the tensors line up.
    """

    def __init__(self, selection: Selection, at: tuple[int, ...]) -> None:
        self.selection, self.provenance, self.at = selection, selection.provenance, at
        self.lead = selection.lead
        self.data_name = next(iter(self.provenance.call.inputs))
        self._here = self.provenance.ends(selection.current)
        self.picks = dict(self._read_picks())
        self.traces: dict[tuple[int, ...], Trace] = self._read_traces()
        self.data = self._data_tensor()
        self.indices = self._indices_tensor()
        self.out = self._out_tensor()
        self.tensors = [self.data, self.indices, self.out]
        self._arrange()

    def _arrange(self) -> None:
        """Choose how the tensors are drawn."""
        provenance = self.provenance
        self.flow = [self.indices, self.data, self.out]
        self.linkable = len(self.picks)
        self._is_empty = any(tensor.is_empty for tensor in self.flow)
        self._rank = len(provenance.data.shape) - self.lead
        self.flows_down = _flows_down(provenance, self.lead)
        if provenance.picks_cells and not provenance.is_tuple and self._rank > 1:
            self.stance = Stance.LINED_UP
        upright = {self.indices.name: not self.flows_down, OUT: self._out_is_upright()}
        self.upright = frozenset(name for name, stands in upright.items() if stands)
        links = [link for pick in self.picks.values() for link in self._links_of(pick)]
        self.entries = frozenset(link.names[1] for link in links if self._is_cell(link.target))
        leaves = {link.names[0] for link in links if self._is_cell(link.source)}
        self.lanes = self.entries | leaves
        # With tuples all that a tuple names, if a number in one of them counts from the end.
        counted = any(self._axes_from_end(pick) for pick in self.picks.values())
        self.from_end = frozenset(provenance.axes) if counted else frozenset()
        self.points_outside = any(pick.unit is None for pick in self.picks.values())

    def _out_is_upright(self) -> bool:
        """Return whether an output that is a vector is a column: as what it comes from is."""
        inner = self.provenance.dim_map[self.lead :]
        if not inner or inner[0][1] is not None:
            return not self.flows_down
        return self.provenance.data_dim(inner[0][0] or 0) == len(self.provenance.data.shape) - 2

    def titles(self, tensor: PanelTensor) -> list[tuple[str, str]]:
        """Return the name of a tensor with its type or batch, then the uses of its axes."""
        provenance, name = self.provenance, tensor.name
        if self.at:
            rest = [None] * (len(tensor.shape) - len(self.at))
            at = coordinate_words(tensor.named((*self.at, *rest)))
            lines = [(f"{name}[{at}]" if at else name, "title")]
        else:
            lines = [(f"{name} {tensor.words}", "title")]
        if name == provenance.name and provenance.is_tuple and provenance.axes:
            axes = ", ".join(f"axis {d}" for d in provenance.axes)
            lines.append((f"tuple: ({axes})", "note"))
        if name == self.data_name and not self.at:
            lines += axis_lines(provenance)
        return lines

    def title_room(self, tensor: PanelTensor) -> tuple[list[str], float]:
        """Return the words of a title; those of indices do not reach where arrows leave."""
        words, _ = super().title_room(tensor)
        return words, {self.indices.name: 1.0, self.data_name: 0.5}.get(tensor.name, 0.0)

    def emphasis(self, tensor: PanelTensor) -> dict[int, str]:
        """Return the coordinates that an index replaces, and those that stay."""
        dims, axes = range(len(tensor.shape)), self.provenance.axes
        kinds = dict.fromkeys(axes, "replaced") if tensor.name == self.data_name else {}
        if self.stance is Stance.LINED_UP:
            kinds = {d: "stays" for d in dims if d != self.provenance.axis} | kinds
        return kinds

    def path(self, trace: Trace | None) -> dict[str, list[tuple[int, ...]]]:
        """Return the cells that a trace joins, one of each tensor."""
        if trace is None or self.provenance.apart(trace.out)[: self.lead] != self.at:
            return {}
        return {name: [at] for name, at in self.provenance.ends(trace).items() if at is not None}

    def whole_traces(self) -> Iterator[Trace]:
        """Yield the traces of output cells whose source is in the picture, or that have none."""
        for trace in self.traces.values():
            if trace.data is None or trace.data in self.data.cells:
                yield trace

    def _read_picks(self) -> Iterator[tuple[tuple[int, ...], Pick]]:
        provenance, colors = (
            self.provenance,
            {unit: n for n, unit in enumerate(self.selection.letters)},
        )
        coords = self.selection.coordinates_in(self.at, self.selection.indices)
        for at, (k, flat) in zip(coords, self.selection.resolved(coords), strict=True):
            position = provenance.place(flat)
            unit = provenance.unit(at, position)
            color = None if unit is None else colors.get(unit)
            yield at, Pick(at, k, position, provenance.fate(k, flat), unit, color)

    def _read_traces(self) -> dict[tuple[int, ...], Trace]:
        shape = self.provenance.panel_shape
        coords = self.selection.coordinates_in(self.at, self.selection.out)
        cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
        return dict(zip(coords, self.provenance.traces(cells), strict=True))

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
        provenance, selection = self.provenance, self.selection
        data, reads, marks, units = (
            provenance.data,
            provenance.reads,
            selection.look.marks,
            provenance.unit_dims,
        )
        operand, facets = provenance.call.inputs[self.data_name], selection.facets(self.at)
        tensor = self._tensor(self.data_name, operand, data.shape, selection.data, {*units})
        coords = cells_of(self.at, tensor.coordinates, facets)
        elements = Tensor(data.dtype, elements_at(data.array, arrays(coords, len(data.shape))))
        colors = {unit: n for n, unit in enumerate(selection.letters)}
        for at, value in zip(coords, elements.values().tolist(), strict=True):
            unit = tuple(n if d in units else None for d, n in enumerate(at))
            times = reads.of(unit) if reads else 0
            letter = selection.letters.get(unit, marks.hidden if times else "")
            several = times > 1 and provenance.picks_cells
            tensor.cells[at] = PanelCell(
                selection.write(value),
                letter=letter,
                color=colors.get(unit),
                mark=f"{letter}{marks.times}{times}" if several else "",
                kinds=("unread",) if reads and not times else (),
            )
        return self._typed(tensor._replace(facets=facets))

    def _indices_tensor(self) -> PanelTensor:
        provenance, name = self.provenance, self.provenance.name
        shape, coordinates = provenance.index_shape, self.selection.indices
        operand, labelled = provenance.call.inputs[name], set(range(len(shape)))
        tensor = self._tensor(name, operand, shape, coordinates, labelled)
        for at, pick in self.picks.items():
            text = index_text(pick.k)
            target = NO_TARGETS[pick.fate] if pick.position is None else index_text(pick.position)
            tail = "" if target == text else f"{self.selection.look.marks.arrow}{target}"
            kinds = ("negative",) if pick.is_negative else ()
            tensor.cells[at] = self._picked(pick, text)._replace(tail=tail, kinds=kinds)
        return tensor

    def _out_tensor(self) -> PanelTensor:
        provenance = self.provenance
        labelled = {j for j, (_, i) in enumerate(provenance.dim_map) if i is not None}
        words = described(provenance.data.dtype, Shape(provenance.shape).inner())
        shape, coordinates = provenance.panel_shape, self.selection.out
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
        across = provenance.out_is_row(self.lead)
        return self._typed(
            tensor._replace(note=note if noted else None, across=across, named=provenance.joined)
        )

    def _typed(self, tensor: PanelTensor) -> PanelTensor:
        """Align the elements of `data`."""
        dtype = self.provenance.data.dtype
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
        dims = (d for d, i in self.provenance.dim_map[rank:] if d is not None and i is None)
        along = set(map(self.provenance.data_dim, dims))
        return unit_text(tuple(None if d in along else n for d, n in enumerate(trace.data)))

    def _axes_from_end(self, pick: Pick) -> tuple[int, ...]:
        """Return the dimensions of `data` on which an index counts from the end."""
        if pick.position is None:
            return ()
        sizes = self.provenance.data.shape
        each = zip(self.provenance.axes, numbers(pick.k), numbers(pick.position), strict=True)
        return tuple(d for d, k, n in each if k < 0 and n - k == sizes[d])

    def _links_of(self, pick: Pick) -> list[Link]:
        """Return the arrows of an index: to the slices that it picks, and on to the output."""
        name, provenance = self.provenance.name, self.provenance
        rank, out_rank = len(provenance.data.shape), len(provenance.panel_shape)
        free = {
            j: provenance.data_dim(d or 0)
            for j, (d, i) in enumerate(provenance.dim_map)
            if i is None
        }

        def link(names: tuple[str, str], source: At, target: At) -> Link:
            return Link(names, source, target, pick.at, pick.color, pick.fate)

        if pick.unit is None:
            links = [link((name, OUTSIDE_PLACE), pick.at, ())]
        else:
            # A slice of each facet of `data`: its coordinates within a facet are None for all.
            choices = [
                [n] if n is not None else [None] if self._is_inner(d, rank) else coords
                for d, (n, coords) in enumerate(zip(pick.unit, self.selection.data, strict=True))
            ]
            from_end = self._axes_from_end(pick)
            links = [
                link((name, self.data_name), pick.at, at)._replace(from_end=from_end)
                for at in combinations(*choices)
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
                fixed.get(j) if i is None else pick.at[i]
                for j, (_, i) in enumerate(provenance.dim_map)
            )
            if pick.unit is None:
                links.append(link((OUTSIDE_PLACE, OUT), (), target))
                continue
            in_data = {free[j]: n for j, n in fixed.items()}
            source = tuple(in_data.get(d) if n is None else n for d, n in enumerate(pick.unit))
            links.append(link((self.data_name, OUT), source, target))
        return links

    def _is_inner(self, d: int, rank: int) -> bool:
        """Return whether a dimension lies within a facet."""
        return d >= max(self.lead, rank - 2)

    def _is_cell(self, at: At) -> bool:
        """Return whether coordinates are those of a cell of more than a vector."""
        return None not in at and len(at) - self.lead > 1

    def _is_drawn(self, link: Link) -> bool:
        tensors = {tensor.name: tensor for tensor in self.flow}
        ends = zip(link.names, (link.source, link.target), strict=True)
        return not self._is_empty and all(
            name == OUTSIDE_PLACE or tensors[name].shows(at) for name, at in ends
        )

    def _is_traced(self, link: Link, path: dict[str, list[tuple[int, ...]]]) -> bool:
        """Return whether an arrow is of the index, and leads to the cell, on a path."""
        if link.at not in path.get(self.indices.name, []):
            return False
        ends = path.get(link.names[1])
        return not ends or is_in(ends[0], link.target)

    def links(self, trace: Trace | None, share: float) -> tuple[list[Link], int]:
        """Choose indices that get arrows: that of the trace, one of each kind, and others."""
        links = {
            at: drawn
            for at, pick in self.picks.items()
            if (drawn := list(filter(self._is_drawn, self._links_of(pick))))
        }
        path = self.path(trace)
        is_cell = self.provenance.picks_cells and self._rank > 1
        each = max(map(len, links.values()), default=1)
        count = max(1, int((_MOST_CELL_ARROWS if is_cell else _MOST_SLICE_ARROWS) * share) // each)
        chosen = {*path.get(self.indices.name, [])} & links.keys()
        kinds: set[object] = {(Fate.COPIED, False)}
        for at in links:
            kind = self.picks[at].fate, self.picks[at].is_negative
            if kind not in kinds:
                chosen.add(at)
            kinds.add(kind)
        rest = [at for at in links if at not in chosen]
        room = min(max(0, count - len(chosen)), len(rest))
        chosen.update(rest[n * len(rest) // room] for n in range(room))
        every = [link for at in links if at in chosen for link in links[at]]
        return [each._replace(traced=self._is_traced(each, path)) for each in every], len(chosen)


def _flows_down(provenance: GatherProvenance, lead: int) -> bool:
    """Return whether indices stand above `data` instead of beside it.

    So do those that pick columns, and those whose column stays, so that arrows are short.
    """
    rank = len(provenance.data.shape)
    if not provenance.axes:
        return False
    if rank - lead == 1:
        return True
    if provenance.is_tuple:
        return False
    return provenance.axis == rank - (2 if provenance.picks_cells else 1)


def axis_lines(provenance: GatherProvenance) -> list[tuple[str, str]]:
    """Return which axes of `data` an index names, which the batches share, and which stay."""
    shared = range(provenance.call.batch_dims or 0)
    rest = [d for d in range(len(provenance.data.shape)) if d not in {*shared, *provenance.axes}]
    by = "by tuple" if provenance.is_tuple else "by index"
    kinds: list[tuple[Sequence[int], str, str, str]] = [
        (provenance.axes, by, by, "replaced"),
        (shared, "shared", "shared", "shared"),
        (rest, "stays", "stay", "stays"),
    ]
    lines = []
    for dims, one, many, kind in kinds:
        if len(dims) == 1:
            # its direction in a facet; nothing for one of facets or batches
            arrow = {1: "→ ", 2: "↓ "}.get(len(provenance.data.shape) - dims[0], "")
            arrow = "" if dims[0] in shared else arrow
            lines.append((f"{arrow}axis {dims[0]}: {one}", kind))
        elif dims:
            lines.append((f"axes {listed(map(str, dims), 'and')}: {many}", kind))
    return lines


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
