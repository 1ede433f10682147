"""Draw a batch of GatherTree: parents that lead back, the tokens there, and the output.

A beam has a colour. Its path climbs `parent_ids` from its last step; the tokens at the same places
of `step_ids` go to its column of the output.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gathercli.explain.drawing.block import Excerpt, TensorBlock
from gathercli.explain.drawing.gathers import CHANNEL
from gathercli.explain.drawing.lanes import Lanes
from gathercli.explain.drawing.routes import climb, route
from gathercli.explain.drawing.scene import Arrow, Caption, Grid
from gathercli.explain.drawing.shapes import text_width
from gathercli.explain.provenance import Fate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.explain.beam_panel import BeamPanel
    from gathercli.explain.beams import BeamTrace
    from gathercli.explain.panel import At

_TITLE: Final = 30
_LANE: Final = 30
"""The space between steps, for lines."""
_ARROWS: Final = 16
"""The most arrows of a drawing, but for those of one beam."""


class BeamDrawing:
    """The tensors of a batch of GatherTree: grids, arrows and captions.

    Attributes
    ----------
    width, height
        The size.
    """

    def __init__(self, contents: BeamPanel) -> None:
        self.contents, self.lesson, self._b = contents, contents.lesson, contents.b
        self._traced: BeamTrace | None = None
        self._beams: list[int] = []
        self.blocks = [
            TensorBlock(Excerpt(tensor, lane=_LANE, has_entries=tensor is contents.out), down=False)
            for tensor in (contents.parent_ids, contents.step_ids, contents.out)
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
        selection = self.contents.selection
        self._traced = traced if traced is not None and traced.out[1] == self._b else None
        first = [] if self._traced is None else [self._traced.out[2]]
        most = max(1, int(_ARROWS * share) // max(1, 2 * len(selection.steps)))
        self._beams = [*first, *(w for w in selection.beams if w not in first)][:most]

    @property
    def linked(self) -> int:
        """The number of beams that have arrows."""
        return len(self._beams)

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
        length = self.contents.selection.tokens.write(self.lesson.max_seq_len.values()[self._b])
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
        path = [] if self._traced is None else self._path(self._traced.out[2])
        traced = {
            "step_ids": [(t, beam) for t, _, beam in path],
            "parent_ids": [(t, beam) for t, _, beam in path if t],
            "out": [] if self._traced is None else [(self._traced.out[0], self._traced.out[2])],
        }
        for block in self.blocks:
            for frame in block.frames.values():
                cells = list(block.cells((), traced[block.excerpt.name]))
                captions = list(block.captions((), {}, {}))
                yield Grid(block.excerpt.name, (), frame.inner, cells, [], captions)

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
            if self.contents.traces[target[0] or 0, w].fate is Fate.COPIED
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
            yield Arrow(*ends, route(*stops, down=False), self.contents.color(w), tuple(kinds))

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
            yield Arrow(ids[0], ids[1], d, self.contents.color(w), kinds)
