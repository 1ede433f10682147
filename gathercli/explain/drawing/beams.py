"""Draw a batch of GatherTree: parents that lead back, the tokens there, and the output.

A beam has a colour. Its path climbs `parent_ids` from its last step; the tokens at the same places
of `step_ids` go to its column of the output.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.explain.drawing.block import At, Excerpt, TensorBlock
from gathercli.explain.drawing.gathers import CHANNEL
from gathercli.explain.drawing.lanes import Lanes
from gathercli.explain.drawing.routes import climb, route
from gathercli.explain.drawing.scene import Arrow, Caption, Grid, GridCell
from gathercli.explain.drawing.shapes import Box, text_width
from gathercli.explain.provenance import Fate
from gathercli.explain.terminal.beam_panels import FEW
from gathercli.explain.terminal.beam_trace import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.explain.beams import BeamTrace
    from gathercli.explain.terminal.beam_panels import BeamPanels

_TITLE: Final = 30
_LANE: Final = 30
"""The space between steps, for lines."""
_ARROWS: Final = 16
"""The most arrows of a drawing, but for those of one beam."""


class BeamDrawing:
    """The tensors of a batch of GatherTree: grids, arrows and captions.

    Parameters
    ----------
    panels
        The steps, batches and beams to draw.
    b
        The batch.

    Attributes
    ----------
    width, height
        The size.
    traces
        The traces of the output cells, by step and beam.
    """

    def __init__(self, panels: BeamPanels, b: int) -> None:
        self.lesson, self._panels, self._b = panels.lesson, panels, b
        self._tokens = Tokens(self.lesson, panels.look)
        self._traced: BeamTrace | None = None
        self._beams: list[int] = []
        at = np.ix_(panels.steps, [b], panels.beams)
        cells = np.ravel_multi_index(at, self.lesson.shape).reshape(-1)
        self.traces = {(each.out[0], each.out[2]): each for each in self.lesson.traces(cells)}
        sources = panels.sources(b)
        self.blocks = [
            self._block("parent_ids", sources, self._parent_text),
            self._block("step_ids", sources, self._token_text),
            self._block("out", panels.beams, self._out_text),
        ]
        self.place(0, 0)

    def link(self, traced: BeamTrace | None, share: float) -> None:
        """Choose the beams that have arrows: the traced one, and others while they are few.

        Parameters
        ----------
        traced
            The output cell whose path is strong.
        share
            The share of this batch in the arrows of the drawing, from 0 to 1.
        """
        self._traced = traced if traced is not None and traced.out[1] == self._b else None
        first = [] if self._traced is None else [self._traced.out[2]]
        most = max(1, int(_ARROWS * share) // max(1, 2 * len(self._panels.steps)))
        self._beams = [*first, *(w for w in self._panels.beams if w not in first)][:most]

    @property
    def linked(self) -> int:
        """The number of beams that have arrows."""
        return len(self._beams)

    @property
    def has_many(self) -> bool:
        """Whether a cell has more readers than letters."""
        return any(
            len(beams) > FEW for (_, b, _), beams in self._panels.users.items() if b == self._b
        )

    def _block(
        self, name: str, beams: Sequence[int], texts: Callable[[tuple[int, ...]], str]
    ) -> TensorBlock:
        steps, _, width = self.lesson.shape
        excerpt = Excerpt(
            name,
            (steps, width),
            (),
            (self._panels.steps, beams),
            texts,
            lane=_LANE,
            has_entries=name == "out",
            named=lambda at: (at[0], self._b, at[1]),
        )
        return TensorBlock(excerpt, down=False)

    def _parent_text(self, at: tuple[int, ...]) -> str:
        t, beam = at
        text = self._tokens.parent(t, self._b, beam)
        users = self._panels.users.get((t, self._b, beam))
        return text + (self._tokens.target(t, self._b, users[0]) if t and users else "")

    def _token_text(self, at: tuple[int, ...]) -> str:
        return self._tokens.token(at[0], self._b, at[1])

    def _out_text(self, at: tuple[int, ...]) -> str:
        trace = self.traces[at[0], at[1]]
        return "!" if trace.fate is Fate.REFUSED else self._tokens.write(trace.value)

    def place(self, x: float, y: float) -> None:
        """Lay out the tensors side by side from an upper left corner."""
        left = x
        for block in self.blocks:
            block.move_to(left, y + 2 * _TITLE)
            left += max(block.width, text_width(block.excerpt.name, 15, mono=False)) + CHANNEL
        self.width = left - CHANNEL - x
        self.height = 2 * _TITLE + max(block.height for block in self.blocks)
        self._corner = x, y

    def captions(self) -> Iterator[Caption]:
        """Yield the titles of the tensors."""
        x, y = self._corner
        length = self._tokens.write(self.lesson.max_seq_len.values()[self._b])
        yield Caption(x, y + 14, f"batch {self._b}: max_seq_len {length}", "note")
        for block in self.blocks:
            box = block.box
            title = f"{block.excerpt.name}[:,{self._b},:]"
            yield Caption(box.x, box.y - 10, title, "title")
            if block.is_empty:
                center = box.center
                yield Caption(center[0], center[1] + 5, "empty: no elements", "note", "middle")

    def grids(self) -> Iterator[Grid]:
        """Yield the grid of each tensor."""
        makers = self._parent_cell, self._token_cell, self._out_cell
        for block, make in zip(self.blocks, makers, strict=True):
            for frame in block.frames.values():
                cells = [make((at[0], at[1]), box) for at, box in block.cells(())]
                captions = list(block.captions((), {}, {}))
                yield Grid(block.excerpt.name, (), frame.inner, cells, [], captions)

    def _color(self, users: Sequence[int]) -> int | None:
        """Return the number of the colour of a beam, if it is the only one."""
        return self._number(users[0]) if len(users) == 1 else None

    def _number(self, w: int) -> int:
        return list(self._panels.letters).index((self._b, w))

    def _source_cell(self, name: str, at: tuple[int, int], box: Box, text: str) -> GridCell:
        """Return a cell of `step_ids` or `parent_ids`, in the colour of the beam that passes it."""
        t, beam = at
        users = self._panels.users.get((t, self._b, beam), [])
        letter = self._panels.letters_of(self._b, users)
        if not users and self.lesson.read_cells[t, self._b, beam]:
            letter = self._panels.look.marks.hidden
        kinds = [] if users else ["unread"]
        kinds += ["shared"] if len(users) > 1 else []
        place = (t, self._b, beam)
        if self._traced is not None and place in self._path(self._traced.out[2]):
            kinds.append("traced")
        color = self._color(users)
        return GridCell(name, place, box, text, color, letter, kinds=tuple(kinds))

    def _parent_cell(self, at: tuple[int, int], box: Box) -> GridCell:
        cell = self._source_cell("parent_ids", at, box, self._parent_text(at))
        if not at[0]:  # the parents of the first step lead nowhere
            return cell._replace(color=None, letter="", kinds=("unread",))
        fates = {
            self.lesson.fate(at[0] - 1, self._b, w)
            for w in self._panels.users.get((at[0], self._b, at[1]), [])
        }
        for fate in (Fate.FILLED, Fate.REFUSED):
            if fate in fates:
                return cell._replace(fate=fate.name.lower(), color=None)
        return cell

    def _token_cell(self, at: tuple[int, int], box: Box) -> GridCell:
        return self._source_cell("step_ids", at, box, self._token_text(at))

    def _out_cell(self, at: tuple[int, int], box: Box) -> GridCell:
        trace = self.traces[at]
        w = at[1]
        is_traced = self._traced is not None and self._traced.out == trace.out
        return GridCell(
            "out",
            trace.out,
            box,
            self._out_text(at),
            self._number(w) if trace.fate is Fate.COPIED else None,
            self._panels.letters[self._b, w],
            trace.fate.name.lower(),
            ("traced",) if is_traced else (),
        )

    def _path(self, w: int) -> list[tuple[int, int, int]]:
        """Return the places on the path of a beam, to the step of the traced cell."""
        stop = 0 if self._traced is None or self._traced.out[2] != w else self._traced.out[0]
        return [(t, self._b, beam) for t, beam in self.lesson.way(self._b, w) if t >= stop]

    def arrows(self) -> Iterator[Arrow]:
        """Yield the arrows of the chosen beams."""
        parents, steps, out = self.blocks
        lanes = Lanes()
        pairs: list[tuple[int, At, At]] = []
        for w in self._beams:
            pairs += [(w, (t, beam), (t, w)) for t, beam in self.lesson.way(self._b, w)]
        pairs = [
            (w, source, target)
            for w, source, target in pairs
            if steps.has(source) and out.has(target)
            if self.traces[target[0] or 0, w].fate is Fate.COPIED
        ]
        for _, source, target in pairs:
            if steps.needs_lane(source, leaves=True):
                lanes.add(steps.lane(source, leaves=True))
            lanes.add(out.lane(target, leaves=False))
        for w in self._beams:
            yield from self._climbs(parents, w)
        for w, source, target in pairs:
            stops = steps.stop(source, lanes, leaves=True), out.stop(target, lanes, leaves=False)
            ends = steps.end_id(source, leaves=True), out.end_id(target, leaves=False)
            kinds = ["lands"]
            if self._traced is not None and self._traced.out == (target[0], self._b, w):
                kinds.append("traced")
            yield Arrow(*ends, route(*stops, down=False), self._number(w), tuple(kinds))

    def _climbs(self, parents: TensorBlock, w: int) -> Iterator[Arrow]:
        """Yield the arrows from each parent to the beam of the step before."""
        path = list(self.lesson.way(self._b, w))
        traced = self._path(w) if self._traced is not None and self._traced.out[2] == w else []
        for (t, beam), (before, parent) in pairwise(path):
            ends = (t, beam), (before, parent)
            if not all(map(parents.has, ends)):
                continue
            kinds = ("picks", "traced") if (before, self._b, parent) in traced else ("picks",)
            ids = [parents.end_id(end, leaves=True) for end in ends]
            lane = (self._beams.index(w) + 1) / (len(self._beams) + 1)
            d = climb(parents.cell_box(ends[0]), parents.cell_box(ends[1]), lane)
            yield Arrow(ids[0], ids[1], d, self._number(w), kinds)
