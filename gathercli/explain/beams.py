"""GatherTree: each beam, traced back from its last step, and its panels, one a batch.

The elements come from the family's `sources`, as those of the output do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from itertools import product as combinations
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.bound import BoundCall
from gathercli.compute.check import ENDED, NO_BEAM, REFUSED_BEAM, follow_beams
from gathercli.compute.storage import AnyArray
from gathercli.compute.tensor import Tensor
from gathercli.explain import panel
from gathercli.explain.provenance import Fate, Provenance
from gathercli.explain.selection import MOST_PANELS, shown, without_single_gaps
from gathercli.report.grid import GridWriter
from gathercli.spec.dtypes import Kind
from gathercli.spec.shapes import coordinates

BEAM_TRACE_BLOCK: Final = 1 << 12  # output cells of a block
# The fate of a cell without a beam.
_FATES: Final = {ENDED: Fate.BEYOND, NO_BEAM: Fate.FILLED, REFUSED_BEAM: Fate.REFUSED}


class BeamTrace(NamedTuple):
    """The provenance of one output cell: step t on the path of a beam.

    Where the path does not reach step t there is no parent, beam or token.
    """

    out: tuple[int, ...]  # its coordinates
    # the coordinates of the parent that leads to step t; None at the last step
    parent_ids: tuple[int, ...] | None
    parent: int | None  # the parent itself
    beam: int | None  # the beam of the path at step t
    step_ids: tuple[int, ...] | None  # the coordinates of the copied token; None if there is none
    fate: Fate  # the origin of the value
    value: Any  # None if a parent is refused


class BeamProvenance(Provenance[BeamTrace]):
    """The provenance of each output cell of GatherTree.

    `lengths` are the steps of each batch, `ends` the step of the first end token of each beam, T
    for none, shape (B, W). Raise `OutOfRangeError` (``integer-values``) if a value is no integer.
    """

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound.call, bound.shape)
        tensors = bound.loaded()
        self.step_ids, self.parent_ids, self.max_seq_len, self.end_token = tensors.values()
        self._parents = self.parent_ids.values()
        ((axis,),) = self.call.indexed.values()
        paths = follow_beams(self.call, axis, tensors)
        self._beams, self._cells = paths.beams, paths.cells()
        self.lengths, self.ends = paths.lengths.tolist(), paths.ends
        self.refusal, self.adjustments = paths.refusal, tuple(paths.adjustments)

    def beam(self, t: int, b: int, w: int) -> int | None:
        """Return the beam at step t on the path of beam w of batch b; None for none."""
        beam = int(self._beams[t, b, w])
        return None if beam < 0 else beam

    def fate(self, t: int, b: int, w: int) -> Fate:
        """Return the fate of the output cell [t, b, w]."""
        beam = int(self._beams[t, b, w])
        if beam < 0:
            return _FATES[beam]
        return Fate.ENDED if t > self.ends[b, w] else Fate.COPIED

    def parent(self, t: int, b: int, beam: int) -> int:
        """Return the parent of a beam at step t."""
        return int(self._parents[t, b, beam])

    def way(self, b: int, w: int) -> Iterator[tuple[int, int]]:
        """Yield the steps and beams on the path of a beam, from the last step back.

        >>> from gathercli import explain
        >>> ids = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
        >>> list(explain("gather-tree", *ids, [2], 9).way(0, 0))
        [(1, 0), (0, 1)]
        """
        for t in reversed(range(self.lengths[b])):
            beam = self.beam(t, b, w)
            if beam is None:
                return
            yield t, beam

    @cached_property
    def read_cells(self) -> AnyArray:
        """Whether each cell of `step_ids` is on a path; shape (T, B, W)."""
        read = np.zeros(self.shape, bool)
        t, b, w = np.nonzero(self._beams >= 0)
        read[t, b, self._beams[t, b, w]] = True
        return read

    @cached_property
    def _tokens(self) -> AnyArray:
        """The elements that `sources` addresses: `step_ids`, then `end_token`."""
        return np.append(self.step_ids.array, self.end_token.array)

    def elements(self, cells: AnyArray) -> Tensor:
        """Return the values of output cells, flat positions of shape (C,); zeros where filled."""
        sources = self.call.family.sources(self.call, {"parent_ids": self._cells}, cells)
        elements = self._tokens[sources]
        elements[sources < 0] = 0
        return Tensor(self.step_ids.dtype, elements)

    def telling(self, trace: BeamTrace) -> tuple[Any, ...]:
        """Rank a cell that a parent leaves without a beam, then a copied one, then an end token.

        Among these prefer a beam other than the cell's own, then other than 0, then a batch above
        0, then a step before the last, then numbers that all differ and are above 0.
        """
        t, b, w = trace.out
        missing = trace.fate in (Fate.FILLED, Fate.REFUSED)
        kind = 2 if missing else int(trace.fate is Fate.COPIED)
        beam = w if trace.beam is None else trace.beam
        return (
            str(kind),
            kind,
            beam != w,
            beam != 0,
            b > 0,
            t + 1 < self.lengths[b],
            len({t, b, w, beam}),
            sum(n > 0 for n in trace.out),
        )

    def traces(self, cells: AnyArray) -> Iterator[BeamTrace]:
        """Yield the traces of output cells from their flat positions, shape (C,), int64."""
        for start in range(0, len(cells), BEAM_TRACE_BLOCK):
            block = cells[start : start + BEAM_TRACE_BLOCK]
            at = np.stack(coordinates(block, self.shape), axis=1).tolist()
            values = self.elements(block).values().tolist()
            yield from map(self._trace, at, values)

    def _trace(self, at: list[int], value: Any) -> BeamTrace:
        t, b, w = at
        fate, beam = self.fate(t, b, w), self.beam(t, b, w)
        after = self.beam(t + 1, b, w) if t + 1 < self.lengths[b] else None
        return BeamTrace(
            out=(t, b, w),
            parent_ids=None if after is None else (t + 1, b, after),
            parent=None if after is None else self.parent(t + 1, b, after),
            beam=beam,
            step_ids=(t, b, beam) if beam is not None and fate is Fate.COPIED else None,
            fate=fate,
            value=None if fate is Fate.REFUSED else value,
        )


MOST_BEAM_LETTERS: Final = 3  # the largest number of letters beside a cell on several paths
# The meaning of the letter of a cell on more paths.
_MANY_READERS: Final = "A+n read by A and n other beams"
_MOST_BEAM_ARROWS: Final = 16  # the most arrows of a drawing, but for those of one beam
_BEAM_LANE: Final = 30  # the space between cells for arrows


class BeamSelection(panel.PanelChoice):
    """The steps, batches and beams in a picture.

    The coordinates of the output are ascending. A letter is of a beam, by batch and number; the
    users of a cell of `step_ids`, by step, batch and beam, are the beams that pass it. With `whole`
    choose as without a current cell.
    """

    provenance: BeamProvenance
    unknown: Final = "?"  # the mark of a cell with an unknown beam

    def __init__(
        self,
        provenance: BeamProvenance,
        look: panel.Look,
        rows: panel.Limits,
        columns: panel.Limits,
        *,
        whole: bool = False,
    ) -> None:
        self.provenance, self.look = provenance, look
        self.limits, self.lead_shape = (rows[0], columns[0]), provenance.shape[1:2]
        self._here = None if whole else look.here
        self.tokens = Tokens(provenance, look)
        self.steps = self._chosen(0, rows)
        most = look.parts or MOST_PANELS
        self.batches = self._chosen(1, (most, 1 if self._here is None and most > 1 else 0))
        self.panels = [(b,) for b in self.batches]
        self.beams = self._chosen(2, columns)
        self.cells = len(self.steps) * len(self.batches) * len(self.beams)
        pairs = list(combinations(self.batches, self.beams))
        self.letters = {pair: panel.letter_of(n) for n, pair in enumerate(pairs)}
        self.colors = {pair: n for n, pair in enumerate(pairs)}
        self.users: dict[tuple[int, int, int], list[int]] = {}
        for (b, w), t in combinations(pairs, self.steps):
            beam = provenance.beam(t, b, w)
            if beam is not None:
                self.users.setdefault((t, b, beam), []).append(w)
        sources = map(self.sources, self.batches)
        self.coordinates = [self.steps, self.batches, self.beams, *sources]

    def _chosen(self, j: int, limits: panel.Limits) -> Sequence[int]:
        size, window, here = self.provenance.shape[j], self.look.window, self._here
        part = window[j] if j < len(window) else None
        if part is not None:
            return range(size)[part]
        if j == 1 and here is not None:
            return [here[1]]
        return shown(size, *limits, None if here is None else here[j])

    def sources(self, b: int) -> Sequence[int]:
        """Choose the beams of `step_ids` and `parent_ids` to show: all, or every one on a path."""
        size, most = self.provenance.shape[2], self.limits[1]
        if size <= most:
            return range(size)
        used = {beam for t, batch, beam in self.users if batch == b}
        ends = {0, size - 1} if most > 2 or not used else set[int]()
        return without_single_gaps(sorted(used | ends), size, most)

    def letters_of(self, b: int, beams: Sequence[int]) -> str:
        """Return the letters of beams; of many the first, and the number of the others."""
        if len(beams) > MOST_BEAM_LETTERS:
            return f"{self.letters[b, beams[0]]}+{len(beams) - 1}"
        return "".join(self.letters[b, w] for w in beams)


def beam_panel(selection: BeamSelection, b: int) -> panel.Panel:
    """Read a batch of GatherTree: its tensors, and the beams that pass their cells.

    A path climbs the tokens of `step_ids` from its last step, to the beam that the parent at the
    same place names; the tokens go to the column of the beam in the output.
    """
    provenance = selection.provenance
    at = np.ix_(selection.steps, [b], selection.beams)
    cells = np.ravel_multi_index(at, provenance.shape).reshape(-1)
    traces: dict[tuple[int, ...], BeamTrace] = {
        (each.out[0], each.out[2]): each for each in provenance.traces(cells)
    }
    sources = selection.sources(b)
    step_ids = _tensor(selection, b, "step_ids", sources, partial(_step_cell, selection, b))
    parent_ids = _tensor(selection, b, "parent_ids", sources, partial(_parent_cell, selection, b))
    out = _tensor(
        selection, b, panel.OUT, selection.beams, lambda t, w: _out_cell(selection, traces[t, w])
    )._replace(place=panel.Placement.COLUMN)
    length = f"max_seq_len {selection.tokens.length(b)}"
    users = selection.users.items()
    has_many = any(len(by) > MOST_BEAM_LETTERS for (_, batch, _), by in users if batch == b)
    return panel.Panel(
        (),  # of the tensors, which are a batch each
        (step_ids, parent_ids, out),
        traces,
        title=[(f"batch {b}", "bold"), (f"   {length}", "")],
        whole_traces=list(traces.values()),
        path=partial(_path, provenance, b),
        links=partial(_links, selection, b, (step_ids, parent_ids, out)),
        linkable=len({w for _, w in traces}),
        stance=panel.Stance.LEVEL,
        heading=f"batch {b}: {length}",
        remarks=[_MANY_READERS] if has_many else [],
    )


def _tensor(
    selection: BeamSelection,
    b: int,
    name: str,
    beams: Sequence[int],
    cell: Callable[[int, int], panel.PanelCell],
) -> panel.PanelTensor:
    provenance, here = selection.provenance, selection.look.here
    steps, _, width = provenance.shape
    coordinates = selection.steps, beams
    if here is not None:  # the current cell of the output, and that of the token that it copies
        here = {"step_ids": provenance.cell(*here).step_ids, panel.OUT: here}.get(name)
    return panel.PanelTensor(
        name,
        (steps, width),
        (),
        coordinates,
        [()],
        {(t, beam): cell(t, beam) for t, beam in combinations(*coordinates)},
        panel.Placement.CELL,
        here=None if here is None or here[1] != b else (here[0], here[2]),
        floats=provenance.step_ids.dtype.kind is Kind.FLOAT,
        named=lambda at: (at[0], b, at[1]),
        titles=[(f"{name}[:,{b},:]", "title")],
        lane=_BEAM_LANE,
        has_entries=True,  # as in the output, so that a step stands at one height in all
    )


def _source_cell(selection: BeamSelection, at: tuple[int, int, int], text: str) -> panel.PanelCell:
    """Return a cell of `step_ids` or `parent_ids`, in the colour of the beam that passes it."""
    users = selection.users.get(at, [])
    if not users:
        is_read = selection.provenance.read_cells[at]
        letter = selection.look.marks.hidden if is_read else ""
        return panel.PanelCell(text, letter=letter, kinds=("unread",))
    letter = selection.letters_of(at[1], users)
    if len(users) > 1:
        return panel.PanelCell(text, letter=letter, kinds=("shared",))
    return panel.PanelCell(text, letter=letter, color=selection.colors[at[1], users[0]])


def _step_cell(selection: BeamSelection, b: int, t: int, beam: int) -> panel.PanelCell:
    return _source_cell(selection, (t, b, beam), selection.tokens.token(t, b, beam))


def _parent_cell(selection: BeamSelection, b: int, t: int, beam: int) -> panel.PanelCell:
    text = selection.tokens.parent(t, b, beam)
    if not t:  # the parents of the first step lead nowhere
        return panel.PanelCell(text, kinds=("unread",))
    cell = _source_cell(selection, (t, b, beam), text)
    users = selection.users.get((t, b, beam))
    if not users:
        return cell
    # The beams that share a parent share its fate.
    fate = selection.provenance.fate(t - 1, b, users[0])
    return cell._replace(
        tail=selection.tokens.target(t, b, users[0]),
        fate=fate if fate in (Fate.FILLED, Fate.REFUSED) else None,
        mark=selection.look.marks.refused if fate is Fate.REFUSED else "",
    )


def _out_cell(selection: BeamSelection, trace: BeamTrace) -> panel.PanelCell:
    pair, marks = (trace.out[1], trace.out[2]), selection.look.marks
    letter, color = selection.letters[pair], selection.colors[pair]
    if trace.fate is Fate.REFUSED:
        return panel.PanelCell(marks.refused, letter=letter, color=color, fate=trace.fate)
    ended = marks.nowhere if trace.fate in (Fate.ENDED, Fate.BEYOND) else ""
    tail = selection.unknown if trace.fate is Fate.FILLED else ended
    return panel.PanelCell(selection.tokens.write(trace.value), tail, letter, color, trace.fate)


def _path(provenance: BeamProvenance, b: int, trace: BeamTrace | None) -> panel.Path:
    """Return the places on the way of a beam, from its last step to that of a cell."""
    if trace is None or trace.out[1] != b:
        return {}
    last, _, w = trace.out
    way: list[tuple[int, ...]] = [(t, beam) for t, beam in provenance.way(b, w) if t >= last]
    return {"step_ids": way, "parent_ids": [at for at in way if at[0]], panel.OUT: [(last, w)]}


def _links(
    selection: BeamSelection,
    b: int,
    tensors: Sequence[panel.PanelTensor],
    path: panel.Path,
    share: float,
) -> tuple[list[panel.Link], int]:
    """Choose beams that get arrows: that of the path, and others while they are few."""
    first = [w for _, w in path.get(panel.OUT, [])]
    step_ids, _, out = tensors
    room = max(1, int(_MOST_BEAM_ARROWS * share) // max(1, 2 * len(selection.steps)))
    look, rest = selection.look, [w for w in selection.beams if w not in first]
    most = look.most_arrows(room, len(selection.beams), len(out.cells), share) - len(first)
    beams = [] if look.arrows == "none" else [*first, *rest[: max(0, most)]]

    def climbs(w: int) -> Iterator[panel.Link]:
        """Yield the arrows from each parent of a beam to its beam of the step before."""
        lane = (beams.index(w) + 1) / (len(beams) + 1)
        passed = path.get("step_ids", []) if w in first else []
        for source, target in pairwise(selection.provenance.way(b, w)):
            if step_ids.shows(source) and step_ids.shows(target):
                link = panel.Link(("step_ids",) * 2, source, target, (b, w), selection.colors[b, w])
                yield link._replace(traced=target in passed, lane=lane)

    def landings(w: int) -> Iterator[panel.Link]:
        """Yield the arrows from each token of a beam to its output cell."""
        for t, beam in selection.provenance.way(b, w):
            source, target = (t, beam), (t, w)
            drawn = step_ids.shows(source) and out.shows(target)
            if drawn and selection.provenance.fate(t, b, w) is Fate.COPIED:
                names = "step_ids", panel.OUT
                link = panel.Link(names, source, target, (b, w), selection.colors[b, w])
                yield link._replace(traced=target in path.get(panel.OUT, []))

    links = [link for each in (climbs, landings) for w in beams for link in each(w)]
    return links, len(beams)


class Tokens:
    """A formatter of the tokens and parents of a provenance."""

    def __init__(self, provenance: BeamProvenance, look: panel.Look) -> None:
        self._provenance, self._arrow = provenance, look.marks.arrow
        self.write = GridWriter(provenance.step_ids, look.precision)
        self._steps = provenance.step_ids.values()
        self.end = self.write(provenance.end_token.values()[()])

    def token(self, t: int, b: int, beam: int) -> str:
        """Format a token of `step_ids`."""
        return self.write(self._steps[t, b, beam])

    def parent(self, t: int, b: int, beam: int) -> str:
        """Format the parent of a beam at step t."""
        return self.write(self._provenance.parent(t, b, beam))

    def length(self, b: int) -> str:
        """Format the length of a batch."""
        return self.write(self._provenance.max_seq_len.values()[b])

    def target(self, t: int, b: int, w: int) -> str:
        """Return ``→ 1`` if the parent of beam w at step t is another number, else nothing.

        Return ``→ none`` or ``→ refused`` for a parent that names no beam.
        """
        provenance = self._provenance
        beam, before = provenance.beam(t, b, w), provenance.beam(t - 1, b, w) if t else None
        if not t or beam is None or before == provenance.parent(t, b, beam):
            return ""
        named = panel.NO_TARGETS[provenance.fate(t - 1, b, w)] if before is None else str(before)
        return self._arrow + named
