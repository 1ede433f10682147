"""A batch of a gather along an axis as a panel: cells, letters, and what each index picks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from itertools import product as combinations
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.storage import elements_at
from gathercli.compute.tensor import Tensor
from gathercli.explain import panel
from gathercli.explain.gather_provenance import GatherProvenance, Index, Trace, Unit, numbers
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import Selection, arrays, is_in
from gathercli.spec.dtypes import STRING, Kind, described
from gathercli.spec.shapes import Shape, flat_positions

_MOST_ARROWS: Final = 24  # the most arrows of a drawing of many cells
_LANE: Final = 24  # the space between cells for arrows


class Pick(NamedTuple):
    """An index of a picture, and what becomes of it."""

    at: tuple[int, ...]
    k: Index
    position: Index | None  # on the axis or axes; None for none
    fate: Fate
    unit: Unit | None  # the part of `data` that it picks
    color: int | None  # the number of the colour of that
    links: Sequence[panel.Link] = ()  # to the slices that it picks, and on to the output

    @property
    def is_negative(self) -> bool:
        """Whether it, or a number of the tuple, is below 0."""
        return any(n < 0 for n in numbers(self.k))


Picks = dict[tuple[int, ...], Pick]  # the indices of a panel by their coordinates, row-major


def gather_panel(selection: Selection, at: tuple[int, ...]) -> panel.Panel:
    """Read a batch of a gather along an axis: its tensors, and what its indices pick.

    Where coordinates stay, rows and columns of the tensors line up.
    """
    provenance, lead = selection.provenance, selection.lead
    down = _flows_down(selection)
    picks = {pick.at: pick for pick in _picks(selection, at)}
    traces = _traces(selection, at)
    every = [link for pick in picks.values() for link in pick.links]
    enters = {link.names[1] for link in every if _is_cell(link.target, lead)}
    leaves = {link.names[0] for link in every if _is_cell(link.source, lead)}
    is_vector = len(provenance.data.shape) - lead == 1
    lined_up = provenance.picks_cells and not provenance.is_tuple and not is_vector
    tensors = []
    for tensor in (
        _data_tensor(selection, at),
        _indices_tensor(selection, at, picks),
        _out_tensor(selection, at, picks, traces),
    ):
        name = tensor.name
        arrow = "↓" if tensor.upright else "→"  # of the last axis of data
        titles = [(words.replace("→", arrow), kind) for words, kind in _titles(provenance, tensor)]
        drawn = tensor._replace(
            titles=titles,
            # the titles of indices do not reach where arrows leave
            title_part={provenance.name: 1.0, provenance.data_name: 0.5}.get(name, 0.0),
            replaced=provenance.axes if name == provenance.data_name else (),
            lane=_LANE if name in leaves | enters else 0,
            has_entries=name in enters,
        )
        tensors.append(drawn)
    data, indices, out = tensors
    whole, first = {None, *data.cells}, islice(picks.values(), panel.MOST_READ_OUT)
    return panel.Panel(
        at,
        (data, indices, out),
        traces,
        title=_panel_title(selection, at),
        sentences=[_sentence(provenance, pick) for pick in first],
        whole_traces=[each for each in traces.values() if each.data in whole],
        path=partial(_path, provenance, at),
        links=partial(_chosen_links, selection.look, picks, tensors),
        linkable=len(picks),
        flows_down=down,
        stance=panel.Stance.LINED_UP if lined_up else panel.Stance.CENTRED,
        # With tuples all that a tuple names, if a number in one of them counts from the end.
        from_end=frozenset(provenance.axes if any(link.from_end for link in every) else ()),
        points_outside=any(pick.unit is None for pick in picks.values()),
    )


def _is_cell(at: panel.At, lead: int) -> bool:
    """Return whether coordinates are those of a cell of more than a vector."""
    return None not in at and len(at) - lead > 1


def _picks(selection: Selection, at: tuple[int, ...]) -> Iterator[Pick]:
    provenance = selection.provenance
    colors = {unit: n for n, unit in enumerate(selection.letters)}
    coords = selection.coordinates_in(at, selection.indices)
    for cell, (k, flat) in zip(coords, selection.resolved(coords), strict=True):
        position = provenance.place(flat)
        unit = provenance.unit(cell, position)
        color = None if unit is None else colors.get(unit)
        pick = Pick(cell, k, position, provenance.fate(k, flat), unit, color)
        links = _links_to_data(selection, pick)
        links += [] if pick.fate is Fate.REFUSED else _links_to_out(selection, pick)
        yield pick._replace(links=links)


def _traces(selection: Selection, at: tuple[int, ...]) -> dict[tuple[int, ...], Trace]:
    shape = selection.provenance.panel_shape
    coords = selection.coordinates_in(at, selection.out)
    cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
    return dict(zip(coords, selection.provenance.traces(cells), strict=True))


def _tensor(
    selection: Selection, at: tuple[int, ...], name: str, labelled: Iterable[int]
) -> panel.PanelTensor:
    """Return a tensor without cells; its labels depend on the dimensions `labelled`."""
    provenance, lead = selection.provenance, selection.lead
    call, data, is_index = provenance.call, provenance.data, name == provenance.name
    out = described(data.dtype, Shape(provenance.shape).inner())
    shape, coordinates, operand = {
        provenance.data_name: (data.shape, selection.data, call.data),
        provenance.name: (provenance.index_shape, selection.indices, call.inputs[provenance.name]),
        panel.OUT: (provenance.panel_shape, selection.out, out),
    }[name]
    inner, upright = tuple(coordinates[lead:]), _is_upright(selection, name)
    place = _place({d - lead for d in labelled if d >= lead}, len(inner), upright=upright)
    if place is panel.Placement.COLUMN and not selection.letters:
        place = panel.Placement.ROW  # there are no labels to stand above columns
    return panel.PanelTensor(
        name,
        shape,
        at,
        inner,
        list(combinations(*inner[:-2])),
        {},
        place,
        words="" if lead else str(operand),
        here=provenance.ends(selection.current).get(name),
        floats=data.dtype.kind is Kind.FLOAT and not is_index,
        left=data.dtype is STRING and not is_index,
        upright=upright,
    )


def _data_tensor(selection: Selection, at: tuple[int, ...]) -> panel.PanelTensor:
    provenance, marks = selection.provenance, selection.look.marks
    data, reads, units = provenance.data, provenance.reads, provenance.unit_dims
    tensor = _tensor(selection, at, provenance.data_name, units)
    tensor = tensor._replace(facets=selection.facets[at])
    rests = list(combinations(*tensor.coordinates[-2:]))
    coords = [(*at, *facet, *rest) for facet in tensor.facets for rest in rests]
    elements = Tensor(data.dtype, elements_at(data.array, arrays(coords, len(data.shape))))
    colors = {unit: n for n, unit in enumerate(selection.letters)}
    for cell, value in zip(coords, elements.values().tolist(), strict=True):
        unit = tuple(n if d in units else None for d, n in enumerate(cell))
        times = reads.of(unit) if reads else 0
        letter = selection.letters.get(unit, marks.hidden if times else "")
        several = times > 1 and provenance.picks_cells
        tensor.cells[cell] = panel.PanelCell(
            selection.write(value),
            letter=letter,
            color=colors.get(unit),
            mark=f"{letter}{marks.times}{times}" if several else "",
            kinds=("unread",) if reads and not times else (),
        )
    return tensor


def _indices_tensor(selection: Selection, at: tuple[int, ...], picks: Picks) -> panel.PanelTensor:
    name, dims = selection.provenance.name, range(len(selection.indices))
    tensor = _tensor(selection, at, name, dims)
    for cell, pick in picks.items():
        text = panel.index_text(pick.k)
        to = pick.position
        target = panel.NO_TARGETS[pick.fate] if to is None else panel.index_text(to)
        tail = "" if target == text else f"{selection.look.marks.arrow}{target}"
        kinds = ("negative",) if pick.is_negative else ()
        tensor.cells[cell] = _picked(selection, pick, text)._replace(tail=tail, kinds=kinds)
    return tensor


def _out_tensor(
    selection: Selection, at: tuple[int, ...], picks: Picks, traces: dict[tuple[int, ...], Trace]
) -> panel.PanelTensor:
    provenance, lead = selection.provenance, selection.lead
    labelled = {j for j, (_, i) in enumerate(provenance.dim_map) if i is not None}
    tensor = _tensor(selection, at, panel.OUT, labelled)
    for cell, trace in traces.items():
        text = "" if trace.fate is Fate.REFUSED else selection.write(trace.value)
        tensor.cells[cell] = _picked(selection, picks[trace.indices], text)

    def note(cell: tuple[int, ...]) -> str:
        first = [each[0] for each in tensor.coordinates[len(cell) - lead :]]
        return _source(provenance, traces[(*cell, *first)], len(cell))

    # Without panels, each row or facet that comes from one place has a note on it.
    whole = not lead and selection.look.here is None and bool(tensor.shape)
    noted = whole and tensor.place in (panel.Placement.ROW, panel.Placement.FACET)
    return tensor._replace(note=note if noted else None, named=provenance.joined)


def _picked(selection: Selection, pick: Pick, text: str) -> panel.PanelCell:
    """Return a cell that is marked by what an index picks."""
    letter = "" if pick.unit is None else selection.letters.get(pick.unit, "")
    marks = selection.look.marks
    mark = {Fate.FILLED: marks.nowhere, Fate.REFUSED: marks.refused}.get(pick.fate, "")
    return panel.PanelCell(text, letter=letter, color=pick.color, fate=pick.fate, mark=mark)


def _source(provenance: GatherProvenance, trace: Trace, rank: int) -> str:
    """Format the source, as ``data[3,:]``, of cells that share the first `rank` coordinates."""
    if trace.data is None:
        return provenance.fill_words if trace.fate is Fate.FILLED else "refused"
    dims = (d for d, i in provenance.dim_map[rank:] if d is not None and i is None)
    along = set(map(provenance.data_dim, dims))
    return panel.unit_text(tuple(None if d in along else n for d, n in enumerate(trace.data)))


def _panel_title(selection: Selection, at: tuple[int, ...]) -> panel.Line:
    """Return the name of a batch, or of a facet that all tensors share."""
    provenance = selection.provenance
    if not at:
        return []
    name = f"batch {','.join(map(str, at))}"
    if len(provenance.shape) < len(provenance.panel_shape):  # one batch dimension in `out`
        number = flat_positions(at, provenance.panel_shape[: len(at)], none=False)
        name += f"{selection.look.marks.arrow}{number}"
    if not provenance.call.batch_dims:
        name = f"[{','.join(map(str, at))}{',:' * (len(provenance.shape) - len(at))}]"
    return [(name, "bold")]


def _titles(provenance: GatherProvenance, tensor: panel.PanelTensor) -> list[panel.Word]:
    """Return the name of a tensor with its type or batch, then the uses of its axes."""
    name, lead = tensor.name, tensor.lead
    title = f"{name} {tensor.words}"
    if lead:
        at = panel.coordinate_words(tensor.named((*lead, *[None] * len(tensor.inner))))
        title = f"{name}[{at}]" if at else name
    lines = [(title, "title")]
    if name == provenance.name and provenance.is_tuple and provenance.axes:
        axes = ", ".join(f"axis {d}" for d in provenance.axes)
        lines.append((f"tuple: ({axes})", "note"))
    if name == provenance.data_name and not lead:
        lines += provenance.axis_lines
    return lines


def _is_upright(selection: Selection, name: str) -> bool:
    """Return whether a tensor that is a vector is a column: an output as what it comes from."""
    provenance, inner = selection.provenance, selection.provenance.dim_map[selection.lead :]
    rank, down = len(provenance.data.shape), _flows_down(selection)
    if name == panel.OUT and inner and inner[0][1] is None:
        return provenance.data_dim(inner[0][0] or 0) == rank - 2
    return (name != provenance.data_name or rank - selection.lead == 1) and not down


def _path(provenance: GatherProvenance, at: tuple[int, ...], trace: Trace | None) -> panel.Path:
    """Return the cells that a trace joins, one of each tensor."""
    if trace is None or provenance.apart(trace.out)[: len(at)] != at:
        return {}
    return {name: [cell] for name, cell in provenance.ends(trace).items() if cell is not None}


def _links_to_data(selection: Selection, pick: Pick) -> list[panel.Link]:
    """Return the arrows of an index to what it picks; to the place outside if it picks nothing.

    Of ``data[p,k,:]`` with p = 0, 1 and k = 2 these lead to ``(0, 2, None)`` and ``(1, 2, None)``:
    a slice in each facet, whose coordinates there are None for all.
    """
    provenance = selection.provenance
    if pick.unit is None:
        names = provenance.name, panel.OUTSIDE_PLACE
        return [panel.Link(names, pick.at, (), pick.at, pick.color, pick.fate)]
    names = provenance.name, provenance.data_name
    in_facet = _facet_dims(selection, len(provenance.data.shape))
    choices = [
        [n] if n is not None else [None] if d in in_facet else coords
        for d, (n, coords) in enumerate(zip(pick.unit, selection.data, strict=True))
    ]
    from_end = _axes_from_end(provenance, pick)
    return [
        panel.Link(names, pick.at, target, pick.at, pick.color, pick.fate, from_end=from_end)
        for target in combinations(*choices)
    ]


def _links_to_out(selection: Selection, pick: Pick) -> list[panel.Link]:
    """Return the arrows of what an index picks, or of the place outside, to the output.

    ``dim_map`` pairs each dimension j of the output with a dimension of the indices, whose
    coordinate is that of the index, or with one of `data`, whose coordinate is free. An arrow
    joins whole rows or columns where a free dimension is one of both tensors; else there is an
    arrow for each coordinate.
    """
    provenance, lead, unit = selection.provenance, selection.lead, pick.unit
    rank, out_rank = len(provenance.data.shape), len(provenance.panel_shape)
    free = {
        j: provenance.data_dim(d or 0) for j, (d, i) in enumerate(provenance.dim_map) if i is None
    }
    in_facet, in_out_facet = _facet_dims(selection, rank), _facet_dims(selection, out_rank)

    def is_whole(j: int, d: int) -> bool:
        same_direction = rank - d == out_rank - j or out_rank - lead == 1
        return j in in_out_facet and (unit is None or (d in in_facet and same_direction))

    stepped = [j for j, d in free.items() if not is_whole(j, d)]
    links = []
    for coords in combinations(*(selection.out[j] for j in stepped)):
        steps = dict(zip(stepped, coords, strict=True))
        target = tuple(
            steps.get(j) if i is None else pick.at[i] for j, (_, i) in enumerate(provenance.dim_map)
        )
        names = panel.OUTSIDE_PLACE, panel.OUT
        source: panel.At = ()
        if unit is not None:
            in_data = {free[j]: n for j, n in steps.items()}
            names = provenance.data_name, panel.OUT
            source = tuple(in_data.get(d) if n is None else n for d, n in enumerate(unit))
        links.append(panel.Link(names, source, target, pick.at, pick.color, pick.fate))
    return links


def _facet_dims(selection: Selection, rank: int) -> range:
    """Return the dimensions that are rows and columns of the facets of a tensor."""
    return range(max(selection.lead, rank - 2), rank)


def _axes_from_end(provenance: GatherProvenance, pick: Pick) -> tuple[int, ...]:
    """Return the dimensions of `data` on which an index counts from the end."""
    if pick.position is None:
        return ()
    sizes = provenance.data.shape
    each = zip(provenance.axes, numbers(pick.k), numbers(pick.position), strict=True)
    return tuple(d for d, k, n in each if k < 0 and n - k == sizes[d])


def _chosen_links(
    look: panel.Look,
    picks: Picks,
    tensors: Sequence[panel.PanelTensor],
    path: panel.Path,
    share: float,
) -> tuple[list[panel.Link], int]:
    """Choose indices that get arrows: that of the path, one of each kind, and others."""
    by_name = {tensor.name: tensor for tensor in tensors}

    def is_drawn(link: panel.Link) -> bool:
        ends = zip(link.names, (link.source, link.target), strict=True)
        return all(name == panel.OUTSIDE_PLACE or by_name[name].shows(at) for name, at in ends)

    def is_traced(link: panel.Link) -> bool:
        """Return whether an arrow is of the index, and leads to the cell, on the path."""
        ends = path.get(link.names[1])
        return link.at in own and (not ends or is_in(ends[0], link.target))

    is_empty = any(tensor.is_empty for tensor in tensors)
    links = {
        at: drawn
        for at, pick in picks.items()
        if not is_empty and (drawn := list(filter(is_drawn, pick.links)))
    }
    own = path.get(tensors[1].name, [])
    each = max(map(len, links.values()), default=1)
    some = max(1, int(_MOST_ARROWS * share) // each)
    count = look.most_arrows(some, len(links), len(tensors[2].cells), share)
    chosen = set() if look.arrows == "none" else {*own} & links.keys()
    kinds: set[object] = {(Fate.COPIED, False)}
    for at in links:
        kind = picks[at].fate, picks[at].is_negative
        if kind not in kinds and count:
            chosen.add(at)
        kinds.add(kind)
    rest = [at for at in links if at not in chosen]
    room = min(max(0, count - len(chosen)), len(rest))
    chosen.update(rest[n * len(rest) // room] for n in range(room))
    drawn = [link for at in links if at in chosen for link in links[at]]
    return [link._replace(traced=is_traced(link)) for link in drawn], len(chosen)


def _sentence(provenance: GatherProvenance, pick: Pick) -> str:
    """Say what an index picks, and for which part of the output: ``out[0,:]``."""
    name = f"{provenance.name}[{','.join(map(str, pick.at))}]" if pick.at else provenance.name
    at = provenance.joined(tuple(None if i is None else pick.at[i] for _, i in provenance.dim_map))
    to = f"out[{panel.coordinate_words(at)}]" if at else "out"
    if pick.unit is None:
        done = "is refused" if pick.fate is Fate.REFUSED else f"points outside: {to} is zero"
        return f"{name} = {panel.index_text(pick.k)} {done}."
    return f"{name} = {panel.index_text(pick.k)} picks {panel.unit_text(pick.unit)} for {to}."


def _flows_down(selection: Selection) -> bool:
    """Return whether indices stand above `data` instead of beside it.

    So do those that pick columns, and those whose column stays, so that arrows are short.
    """
    provenance, rank = selection.provenance, len(selection.provenance.data.shape)
    if selection.look.down is not None:
        return selection.look.down
    if not provenance.axes:
        return False
    if rank - selection.lead == 1:
        return True
    if provenance.is_tuple:
        return False
    return provenance.axis == rank - (2 if provenance.picks_cells else 1)


def _place(labelled: set[int], rank: int, *, upright: bool) -> panel.Placement:
    if rank < 2:
        return panel.Placement.CELL if labelled and not upright else panel.Placement.ROW
    inner = {d for d in labelled if d >= rank - 2}
    if not inner:
        return panel.Placement.FACET if labelled else panel.Placement.ROW
    if inner == {rank - 2}:
        return panel.Placement.ROW
    return panel.Placement.COLUMN if inner == {rank - 1} else panel.Placement.CELL
