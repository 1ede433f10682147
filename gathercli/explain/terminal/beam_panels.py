"""The tensors of GatherTree as parts of a picture, with a panel per batch and a letter per beam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.explain.provenance import Fate
from gathercli.explain.selection import PANELS, letter_of, shown
from gathercli.explain.terminal.beam_trace import Tokens
from gathercli.explain.terminal.layout import (
    Cell,
    Line,
    Placement,
    TensorPart,
    arrange,
    draw,
    in_rows,
)
from gathercli.explain.terminal.tensor_panels import HIDDEN, marked
from gathercli.report.palette import REFUSED, STYLES
from gathercli.spec.dtypes import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.explain.beams import BeamLesson, BeamTrace
    from gathercli.explain.look import Look

FEW: Final = 3
"""The largest number of letters beside a cell on several paths."""

MANY: Final = "a+n read by a and n other beams"
"""The meaning of the letter of a cell on more paths."""


class BeamPanels:
    """The steps, batches and beams in a picture, and its panels.

    Parameters
    ----------
    rows, columns
        Limits from `ROWS` and from `COLUMNS` or `WIDE`.
    whole
        Whether to choose as without a current cell, as the whole output is shown.

    Attributes
    ----------
    steps, batches, beams
        The output coordinates to show, ascending.
    letters, styles
        The letter and the style of each beam, by batch and number.
    tokens
        The formatter of tokens and parents.
    seen
        The marks to explain in a legend: fates, `HIDDEN`, `MANY`; complete after drawing.
    traced
        The traces of the output cells drawn so far.
    users
        The beams that pass each cell of `step_ids`, by step, batch and beam.
    unknown
        The mark of a cell with an unknown beam.
    """

    unknown: Final = "?"

    def __init__(
        self,
        lesson: BeamLesson,
        look: Look,
        rows: tuple[int, int],
        columns: tuple[int, int],
        *,
        whole: bool = False,
    ) -> None:
        self.lesson, self.look, self._columns = lesson, look, columns
        self._here = None if whole else look.here
        self.tokens = Tokens(lesson, look)
        self.steps = self._chosen(0, rows)
        self.batches = self._chosen(1, (PANELS, 1 if self._here is None else 0))
        self.beams = self._chosen(2, columns)
        pairs = [(b, w) for b in self.batches for w in self.beams]
        self.letters = {pair: letter_of(n) for n, pair in enumerate(pairs)}
        self.styles = {pair: STYLES[n % len(STYLES)] for n, pair in enumerate(pairs)}
        self.seen: set[Fate | str] = set()
        self.traced: list[BeamTrace] = []
        self.users = self._find_users()

    @property
    def cells(self) -> int:
        """The number of output cells in the picture."""
        return len(self.steps) * len(self.batches) * len(self.beams)

    def _chosen(self, j: int, limits: tuple[int, int]) -> Sequence[int]:
        """Choose the coordinates of an output dimension."""
        size, window, here = self.lesson.shape[j], self.look.window, self._here
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
                beam = self.lesson.beam(t, b, w)
                if beam is not None:
                    users.setdefault((t, b, beam), []).append(w)
        return users

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and the tensors of each, below each other if `stacked`."""
        if not self.lesson.shape[1]:
            return [[("empty: no batches", "dim")]]
        gap: list[Line] = [[(self.look.marks.columns, "dim")]]
        blocks: list[list[Line]] = []
        after = 0
        for b in self.batches:
            if b != after:
                blocks.append(gap)
            blocks.append(self._panel(b, stacked=stacked))
            after = b + 1
        if after < self.lesson.shape[1]:
            blocks.append(gap)
        return in_rows(blocks, room)

    def _panel(self, b: int, *, stacked: bool) -> list[Line]:
        length = self.tokens.write(self.lesson.max_seq_len.values()[b])
        title: Line = [(f"batch {b}", "bold"), (f"   max_seq_len {length}", "")]
        parts = [self._step_ids(b), self._parent_ids(b), self._out(b)]
        blocks = [draw(part, self.look.marks) for part in parts]
        return [title, *arrange(parts, blocks, stacked=stacked)]

    @property
    def selection(self) -> list[Sequence[int]]:
        """The coordinates in the picture: those of the output, and the beams of the inputs."""
        return [self.steps, self.batches, self.beams, *map(self.sources, self.batches)]

    def sources(self, b: int) -> Sequence[int]:
        """Choose the beams of `step_ids` and `parent_ids` to show: all, or every one on a path."""
        size, most = self.lesson.shape[2], self._columns[0]
        if size <= most:
            return range(size)
        used = sorted({beam for t, batch, beam in self.users if batch == b})
        ends = {0, size - 1} if most > 2 or not used else set[int]()
        return sorted({*used, *ends})

    def _part(self, name: str, beams: Sequence[int], place: Placement) -> TensorPart:
        """Return the part of a batch without its cells."""
        steps, _, width = self.lesson.shape
        part = TensorPart(
            [(name, "bold")], (steps, width), (self.steps, beams), place, lambda _: Cell("", "")
        )
        return part._replace(floats=self.lesson.step_ids.dtype.kind is Kind.FLOAT)

    def _step_ids(self, b: int) -> TensorPart:
        def cell(at: tuple[int, ...]) -> Cell:
            t, beam = at
            label, style = self._label(t, b, beam)
            here = self.look.here
            is_here = here is not None and here[0] == t and beam == self._beam_here()
            return marked(Cell(label, self.tokens.token(t, b, beam), style=style), is_here)

        return self._part("step_ids", self.sources(b), Placement.CELL)._replace(cell=cell)

    def _beam_here(self) -> int | None:
        """Return the beam of the token that the current cell copies."""
        trace = None if self.look.here is None else self.lesson.trace(*self.look.here)
        return None if trace is None or trace.step_ids is None else trace.beam

    def _parent_ids(self, b: int) -> TensorPart:
        def cell(at: tuple[int, ...]) -> Cell:
            t, beam = at
            label, style = self._label(t, b, beam) if t else ("", "dim")
            text, tail = self.tokens.parent(t, b, beam), ""
            if t and (users := self.users.get((t, b, beam))):
                tail = self.tokens.target(t, b, users[0])
                fate = self.lesson.fate(t - 1, b, users[0])
                if fate in (Fate.REFUSED, Fate.FILLED):
                    self.seen.add(fate)
                if fate is Fate.REFUSED:
                    label, style = self.look.marks.refused, REFUSED
            return Cell(label, text, tail, style)

        return self._part("parent_ids", self.sources(b), Placement.CELL)._replace(cell=cell)

    def _label(self, t: int, b: int, beam: int) -> tuple[str, str]:
        """Return the letters of the beams that use a cell of `step_ids`, and the style."""
        users = self.users.get((t, b, beam), [])
        if not users:
            hidden = bool(self.lesson.read_cells[t, b, beam])
            if hidden:
                self.seen.add(HIDDEN)
            return (self.look.marks.hidden, "") if hidden else ("", "dim")
        if len(users) > FEW:
            self.seen.add(MANY)
        style = self.styles[b, users[0]] if len(users) == 1 else ""
        return self.letters_of(b, users), style

    def letters_of(self, b: int, beams: Sequence[int]) -> str:
        """Return the letters of beams; of many the first, and the number of the others."""
        if len(beams) > FEW:
            return f"{self.letters[b, beams[0]]}+{len(beams) - 1}"
        return "".join(self.letters[b, w] for w in beams)

    def _out(self, b: int) -> TensorPart:
        at = np.ix_(self.steps, [b], self.beams)
        cells = np.ravel_multi_index(at, self.lesson.shape).reshape(-1)
        traces = {(each.out[0], each.out[2]): each for each in self.lesson.traces(cells)}
        self.traced += traces.values()
        tails = {
            Fate.ENDED: self.look.marks.nowhere,
            Fate.BEYOND: self.look.marks.nowhere,
            Fate.FILLED: self.unknown,
        }

        def cell(at: tuple[int, ...]) -> Cell:
            trace = traces[at[0], at[1]]
            self.seen.add(trace.fate)
            label, style = self.letters[b, at[1]], self.styles[b, at[1]]
            if trace.fate is Fate.REFUSED:
                return Cell(label, self.look.marks.refused, style=REFUSED)
            text = self.tokens.write(trace.value)
            content = Cell(label, text, tails.get(trace.fate, ""), style)
            return marked(content, self.look.here == trace.out)

        return self._part("out", self.beams, Placement.COLUMN)._replace(cell=cell)
