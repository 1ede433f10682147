"""GatherTree as panels: one a batch, with a letter a beam."""

from __future__ import annotations

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
    from gathercli.explain.panel import At, Look

MOST_BEAM_LETTERS: Final = 3
"""The largest number of letters beside a cell on several paths."""

MANY_READERS: Final = "a+n read by a and n other beams"
"""The meaning of the letter of a cell on more paths."""


_MOST_BEAM_ARROWS: Final = 16
"""The most arrows of a drawing, but for those of one beam."""


class BeamSelection(PanelChoice):
    """The steps, batches and beams in a picture.

    The coordinates of the output are ascending. A letter is of a beam, by batch and number; the
    users of a cell of `step_ids`, by step, batch and beam, are the beams that pass it. With `whole`
    choose as without a current cell.
    """

    provenance: BeamProvenance
    unknown: Final = "?"  # the mark of a cell with an unknown beam
    is_complete = True

    def __init__(
        self,
        provenance: BeamProvenance,
        look: Look,
        rows: tuple[int, int],
        columns: tuple[int, int],
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
        pairs = [(b, w) for b in self.batches for w in self.beams]
        self.letters = {pair: letter_of(n) for n, pair in enumerate(pairs)}
        self.users = self._find_users()

    def length(self, b: int) -> str:
        """Format the length of a batch."""
        return self.tokens.write(self.provenance.max_seq_len.values()[b])

    def _chosen(self, j: int, limits: tuple[int, int]) -> Sequence[int]:
        """Choose the coordinates of an output dimension."""
        size, window, here = self.provenance.shape[j], self.look.window, self._here
        part = window[j] if j < len(window) else None
        if part is not None:
            return range(size)[part]
        if j == 1 and here is not None:
            return [here[1]]
        return shown(size, *limits, None if here is None else here[j])

    def _find_users(self) -> dict[tuple[int, int, int], list[int]]:
        """Return the beams that pass each cell of `step_ids`, by step, batch and beam."""
        users: dict[tuple[int, int, int], list[int]] = {}
        for b, w in self.letters:
            for t in self.steps:
                beam = self.provenance.beam(t, b, w)
                if beam is not None:
                    users.setdefault((t, b, beam), []).append(w)
        return users

    @property
    def coordinates(self) -> list[Sequence[int]]:
        """The coordinates in the picture: those of the output, and the beams of the inputs."""
        return [self.steps, self.batches, self.beams, *map(self.sources, self.batches)]

    def sources(self, b: int) -> Sequence[int]:
        """Choose the beams of `step_ids` and `parent_ids` to show: all, or every one on a path."""
        size, most = self.provenance.shape[2], self.limits[1]
        if size <= most:
            return range(size)
        used = sorted({beam for t, batch, beam in self.users if batch == b})
        ends = {0, size - 1} if most > 2 or not used else set[int]()
        return sorted({*used, *ends})

    def letters_of(self, b: int, beams: Sequence[int]) -> str:
        """Return the letters of beams; of many the first, and the number of the others."""
        if len(beams) > MOST_BEAM_LETTERS:
            return f"{self.letters[b, beams[0]]}+{len(beams) - 1}"
        return "".join(self.letters[b, w] for w in beams)


class BeamPanel(Panel):
    """A batch of GatherTree: its tensors, and the beams that pass their cells.

    A path climbs `parent_ids` from its last step; the tokens at the same places of `step_ids` go to
    the column of the beam in the output.
    """

    stance = Stance.LEVEL
    lanes = frozenset({"step_ids", "parent_ids", OUT})
    entries = frozenset({OUT})
    lane = 30

    def __init__(self, selection: BeamSelection, b: int) -> None:
        self.selection, self.provenance, self.b = selection, selection.provenance, b
        self.at = ()  # of the tensors, which are a batch each
        at = np.ix_(selection.steps, [b], selection.beams)
        cells = np.ravel_multi_index(at, self.provenance.shape).reshape(-1)
        self.traces: dict[tuple[int, ...], BeamTrace] = {
            (each.out[0], each.out[2]): each for each in self.provenance.traces(cells)
        }
        sources = selection.sources(b)
        self.step_ids = self._tensor("step_ids", sources, Placement.CELL, self._step_cell)
        self.parent_ids = self._tensor("parent_ids", sources, Placement.CELL, self._parent_cell)
        self.out = self._tensor(OUT, selection.beams, Placement.COLUMN, self._out_cell)
        self.tensors = [self.step_ids, self.parent_ids, self.out]
        self.flow = [self.parent_ids, self.step_ids, self.out]
        self.heading = f"batch {b}: max_seq_len {selection.length(b)}"
        users = selection.users.items()
        self.has_many = any(len(by) > MOST_BEAM_LETTERS for (_, at, _), by in users if at == b)
        self.linkable = len({w for _, w in self.traces})

    def titles(self, tensor: PanelTensor) -> list[tuple[str, str]]:
        """Return the name of a tensor with its batch."""
        return [(f"{tensor.name}[:,{self.b},:]", "title")]

    def title_room(self, tensor: PanelTensor) -> tuple[list[str], float]:
        """Return the name of a tensor alone."""
        return [tensor.name], 0

    def path(self, trace: BeamTrace | None) -> dict[str, list[tuple[int, ...]]]:
        """Return the places on the way of a beam, from its last step to that of a cell."""
        if trace is None or trace.out[1] != self.b:
            return {}
        last, _, w = trace.out
        way: list[tuple[int, ...]] = [
            (t, beam) for t, beam in self.provenance.way(self.b, w) if t >= last
        ]
        return {"step_ids": [*way], "parent_ids": [at for at in way if at[0]], OUT: [(last, w)]}

    def links(self, trace: BeamTrace | None, share: float) -> tuple[list[Link], int]:
        """Choose beams that get arrows: that of the trace, and others while they are few."""
        path = self.path(trace)
        first = [w for _, w in path.get(OUT, [])]
        most = max(1, int(_MOST_BEAM_ARROWS * share) // max(1, 2 * len(self.selection.steps)))
        beams = [*first, *(w for w in self.selection.beams if w not in first)][:most]
        links = [link for w in beams for link in self._climbs(w, beams, path if w in first else {})]
        return links + [link for w in beams for link in self._landings(w, path)], len(beams)

    def _landings(self, w: int, path: dict[str, list[tuple[int, ...]]]) -> Iterator[Link]:
        """Yield the arrows from each token of a beam to its output cell."""
        names, at = ("step_ids", OUT), (self.b, w)
        for t, beam in self.provenance.way(self.b, w):
            source, target = (t, beam), (t, w)
            drawn = self.step_ids.shows(source) and self.out.shows(target)
            if drawn and self.traces[target].fate is Fate.COPIED:
                traced = target in path.get(OUT, [])
                yield Link(names, source, target, at, self.color(w), traced=traced)

    def _climbs(
        self, w: int, beams: list[int], path: dict[str, list[tuple[int, ...]]]
    ) -> Iterator[Link]:
        """Yield the arrows from each parent of a beam to its beam of the step before."""
        names, at = ("parent_ids", "parent_ids"), (self.b, w)
        lane = (beams.index(w) + 1) / (len(beams) + 1)
        for source, target in pairwise(self.provenance.way(self.b, w)):
            if self.parent_ids.shows(source) and self.parent_ids.shows(target):
                traced = target in path.get("step_ids", [])
                yield Link(names, source, target, at, self.color(w), traced=traced, lane=lane)

    def color(self, w: int) -> int:
        """Return the number of the colour of a beam."""
        return list(self.selection.letters).index((self.b, w))

    def _tensor(
        self,
        name: str,
        beams: Sequence[int],
        place: Placement,
        cell: Callable[[int, int], PanelCell],
    ) -> PanelTensor:
        steps, _, width = self.provenance.shape
        coordinates = self.selection.steps, beams
        return PanelTensor(
            name,
            (steps, width),
            (),
            coordinates,
            [()],
            {(t, beam): cell(t, beam) for t, beam in combinations(*coordinates)},
            place,
            here=self._here(name),
            floats=self.provenance.step_ids.dtype.kind is Kind.FLOAT,
            named=lambda at: (at[0], self.b, at[1]),
        )

    def _here(self, name: str) -> At | None:
        """Return the current cell of the output, and that of the token that it copies."""
        here = self.selection.look.here
        if here is None:
            return None
        at = {"step_ids": self.provenance.trace(*here).step_ids, OUT: here}.get(name)
        return None if at is None or at[1] != self.b else (at[0], at[2])

    def _source_cell(self, t: int, beam: int, text: str) -> PanelCell:
        """Return a cell of `step_ids` or `parent_ids`, in the colour of the beam that passes it."""
        selection, b = self.selection, self.b
        users = selection.users.get((t, b, beam), [])
        if not users:
            is_read = self.provenance.read_cells[t, b, beam]
            letter = selection.look.marks.hidden if is_read else ""
            return PanelCell(text, letter=letter, kinds=("unread",))
        letter = selection.letters_of(b, users)
        if len(users) > 1:
            return PanelCell(text, letter=letter, kinds=("shared",))
        return PanelCell(text, letter=letter, color=self.color(users[0]))

    def _step_cell(self, t: int, beam: int) -> PanelCell:
        return self._source_cell(t, beam, self.selection.tokens.token(t, self.b, beam))

    def _parent_cell(self, t: int, beam: int) -> PanelCell:
        text = self.selection.tokens.parent(t, self.b, beam)
        if not t:  # the parents of the first step lead nowhere
            return PanelCell(text, kinds=("unread",))
        cell = self._source_cell(t, beam, text)
        users = self.selection.users.get((t, self.b, beam))
        if not users:
            return cell
        # The beams that share a parent share its fate.
        fate = self.provenance.fate(t - 1, self.b, users[0])
        return cell._replace(
            tail=self.selection.tokens.target(t, self.b, users[0]),
            fate=fate if fate in (Fate.FILLED, Fate.REFUSED) else None,
            mark=self.selection.look.marks.refused if fate is Fate.REFUSED else "",
        )

    def _out_cell(self, t: int, w: int) -> PanelCell:
        trace, marks = self.traces[t, w], self.selection.look.marks
        letter, color = self.selection.letters[self.b, w], self.color(w)
        if trace.fate is Fate.REFUSED:
            return PanelCell(marks.refused, letter=letter, color=color, fate=trace.fate)
        ended = marks.nowhere if trace.fate in (Fate.ENDED, Fate.BEYOND) else ""
        tail = self.selection.unknown if trace.fate is Fate.FILLED else ended
        text = self.selection.tokens.write(trace.value)
        return PanelCell(text, tail, letter, color, trace.fate)


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

    def target(self, t: int, b: int, w: int) -> str:
        """Return ``→ 1`` if the parent of beam w at step t is another number, else nothing.

        Return ``→ none`` or ``→ refused`` for a parent that names no beam.
        """
        provenance = self._provenance
        beam, before = provenance.beam(t, b, w), provenance.beam(t - 1, b, w) if t else None
        if not t or beam is None or before == provenance.parent(t, b, beam):
            return ""
        return self._arrow + (
            NO_TARGETS[provenance.fate(t - 1, b, w)] if before is None else str(before)
        )
