"""GatherTree as panels: one a batch, with a letter a beam."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from itertools import product as combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.explain.panel import (
    NO_TARGETS,
    OUT,
    Link,
    Panel,
    PanelCell,
    PanelChoice,
    PanelTensor,
    Placement,
    Stance,
    letter_of,
)
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import MOST_PANELS, shown
from gathercli.report.grid import GridWriter
from gathercli.spec.dtypes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.explain.beam_provenance import BeamProvenance, BeamTrace
    from gathercli.explain.panel import Look, Path
    from gathercli.explain.selection import Limits

MOST_BEAM_LETTERS: Final = 3
"""The largest number of letters beside a cell on several paths."""

_MANY_READERS: Final = "a+n read by a and n other beams"
"""The meaning of the letter of a cell on more paths."""

_MOST_BEAM_ARROWS: Final = 16
"""The most arrows of a drawing, but for those of one beam."""

_BEAM_LANE: Final = 30
"""The space between cells for arrows."""


class BeamSelection(PanelChoice):
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
        look: Look,
        rows: Limits,
        columns: Limits,
        *,
        whole: bool = False,
    ) -> None:
        self.provenance, self.look = provenance, look
        self.limits, self.lead_shape = (rows[0], columns[0]), provenance.shape[1:2]
        self._here = None if whole else look.here
        self.tokens = Tokens(provenance, look)
        self.steps = self._chosen(0, rows)
        self.batches = self._chosen(1, (MOST_PANELS, 1 if self._here is None else 0))
        self.panels = [(b,) for b in self.batches]
        self.beams = self._chosen(2, columns)
        self.cells = len(self.steps) * len(self.batches) * len(self.beams)
        pairs = list(combinations(self.batches, self.beams))
        self.letters = {pair: letter_of(n) for n, pair in enumerate(pairs)}
        self.colors = {pair: n for n, pair in enumerate(pairs)}
        self.users: dict[tuple[int, int, int], list[int]] = {}
        for (b, w), t in combinations(pairs, self.steps):
            beam = provenance.beam(t, b, w)
            if beam is not None:
                self.users.setdefault((t, b, beam), []).append(w)
        sources = map(self.sources, self.batches)
        self.coordinates = [self.steps, self.batches, self.beams, *sources]

    def _chosen(self, j: int, limits: Limits) -> Sequence[int]:
        """Choose the coordinates of an output dimension."""
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
        return sorted(used | ends)

    def letters_of(self, b: int, beams: Sequence[int]) -> str:
        """Return the letters of beams; of many the first, and the number of the others."""
        if len(beams) > MOST_BEAM_LETTERS:
            return f"{self.letters[b, beams[0]]}+{len(beams) - 1}"
        return "".join(self.letters[b, w] for w in beams)


def beam_panel(selection: BeamSelection, b: int) -> Panel:
    """Read a batch of GatherTree: its tensors, and the beams that pass their cells.

    A path climbs `parent_ids` from its last step; the tokens at the same places of `step_ids` go to
    the column of the beam in the output.
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
        selection, b, OUT, selection.beams, lambda t, w: _out_cell(selection, traces[t, w])
    )
    out = out._replace(place=Placement.COLUMN, has_entries=True)
    length = f"max_seq_len {selection.tokens.length(b)}"
    users = selection.users.items()
    has_many = any(len(by) > MOST_BEAM_LETTERS for (_, batch, _), by in users if batch == b)
    return Panel(
        (),  # of the tensors, which are a batch each
        (step_ids, parent_ids, out),
        traces,
        title=[(f"batch {b}", "bold"), (f"   {length}", "")],
        whole_traces=list(traces.values()),
        path=partial(_path, provenance, b),
        links=partial(_links, selection, b, (step_ids, parent_ids, out)),
        linkable=len({w for _, w in traces}),
        stance=Stance.LEVEL,
        heading=f"batch {b}: {length}",
        remarks=[_MANY_READERS] if has_many else [],
    )


def _tensor(
    selection: BeamSelection,
    b: int,
    name: str,
    beams: Sequence[int],
    cell: Callable[[int, int], PanelCell],
) -> PanelTensor:
    provenance, here = selection.provenance, selection.look.here
    steps, _, width = provenance.shape
    coordinates = selection.steps, beams
    if here is not None:  # the current cell of the output, and that of the token that it copies
        here = {"step_ids": provenance.trace(*here).step_ids, OUT: here}.get(name)
    return PanelTensor(
        name,
        (steps, width),
        (),
        coordinates,
        [()],
        {(t, beam): cell(t, beam) for t, beam in combinations(*coordinates)},
        Placement.CELL,
        here=None if here is None or here[1] != b else (here[0], here[2]),
        floats=provenance.step_ids.dtype.kind is Kind.FLOAT,
        named=lambda at: (at[0], b, at[1]),
        titles=[(f"{name}[:,{b},:]", "title")],
        title_words=[name],
        lane=_BEAM_LANE,
    )


def _source_cell(selection: BeamSelection, at: tuple[int, int, int], text: str) -> PanelCell:
    """Return a cell of `step_ids` or `parent_ids`, in the colour of the beam that passes it."""
    users = selection.users.get(at, [])
    if not users:
        is_read = selection.provenance.read_cells[at]
        letter = selection.look.marks.hidden if is_read else ""
        return PanelCell(text, letter=letter, kinds=("unread",))
    letter = selection.letters_of(at[1], users)
    if len(users) > 1:
        return PanelCell(text, letter=letter, kinds=("shared",))
    return PanelCell(text, letter=letter, color=selection.colors[at[1], users[0]])


def _step_cell(selection: BeamSelection, b: int, t: int, beam: int) -> PanelCell:
    return _source_cell(selection, (t, b, beam), selection.tokens.token(t, b, beam))


def _parent_cell(selection: BeamSelection, b: int, t: int, beam: int) -> PanelCell:
    text = selection.tokens.parent(t, b, beam)
    if not t:  # the parents of the first step lead nowhere
        return PanelCell(text, kinds=("unread",))
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


def _out_cell(selection: BeamSelection, trace: BeamTrace) -> PanelCell:
    pair, marks = (trace.out[1], trace.out[2]), selection.look.marks
    letter, color = selection.letters[pair], selection.colors[pair]
    if trace.fate is Fate.REFUSED:
        return PanelCell(marks.refused, letter=letter, color=color, fate=trace.fate)
    ended = marks.nowhere if trace.fate in (Fate.ENDED, Fate.BEYOND) else ""
    tail = selection.unknown if trace.fate is Fate.FILLED else ended
    return PanelCell(selection.tokens.write(trace.value), tail, letter, color, trace.fate)


def _path(provenance: BeamProvenance, b: int, trace: BeamTrace | None) -> Path:
    """Return the places on the way of a beam, from its last step to that of a cell."""
    if trace is None or trace.out[1] != b:
        return {}
    last, _, w = trace.out
    way: list[tuple[int, ...]] = [(t, beam) for t, beam in provenance.way(b, w) if t >= last]
    return {"step_ids": way, "parent_ids": [at for at in way if at[0]], OUT: [(last, w)]}


def _links(
    selection: BeamSelection, b: int, tensors: Sequence[PanelTensor], path: Path, share: float
) -> tuple[list[Link], int]:
    """Choose beams that get arrows: that of the path, and others while they are few."""
    first = [w for _, w in path.get(OUT, [])]
    most = max(1, int(_MOST_BEAM_ARROWS * share) // max(1, 2 * len(selection.steps)))
    beams = [*first, *(w for w in selection.beams if w not in first)][:most]
    step_ids, parent_ids, out = tensors

    def climbs(w: int) -> Iterator[Link]:
        """Yield the arrows from each parent of a beam to its beam of the step before."""
        lane = (beams.index(w) + 1) / (len(beams) + 1)
        passed = path.get("step_ids", []) if w in first else []
        for source, target in pairwise(selection.provenance.way(b, w)):
            if parent_ids.shows(source) and parent_ids.shows(target):
                link = Link(("parent_ids",) * 2, source, target, (b, w), selection.colors[b, w])
                yield link._replace(traced=target in passed, lane=lane)

    def landings(w: int) -> Iterator[Link]:
        """Yield the arrows from each token of a beam to its output cell."""
        for t, beam in selection.provenance.way(b, w):
            source, target = (t, beam), (t, w)
            drawn = step_ids.shows(source) and out.shows(target)
            if drawn and selection.provenance.fate(t, b, w) is Fate.COPIED:
                link = Link(("step_ids", OUT), source, target, (b, w), selection.colors[b, w])
                yield link._replace(traced=target in path.get(OUT, []))

    links = [link for each in (climbs, landings) for w in beams for link in each(w)]
    return links, len(beams)


class Tokens:
    """A formatter of the tokens and parents of a provenance."""

    def __init__(self, provenance: BeamProvenance, look: Look) -> None:
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
        named = NO_TARGETS[provenance.fate(t - 1, b, w)] if before is None else str(before)
        return self._arrow + named
