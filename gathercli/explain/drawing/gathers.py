"""Draw a batch of a gather along an axis: indices, `data`, output, and arrows between them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.explain.drawing.block import Excerpt, TensorBlock
from gathercli.explain.drawing.frame import HEIGHT, LANE, NARROWEST
from gathercli.explain.drawing.lanes import Lanes
from gathercli.explain.drawing.routes import Stop, route, spread, turned
from gathercli.explain.drawing.scene import Arrow, Caption, Grid, GridSlice, slice_id
from gathercli.explain.drawing.shapes import Box, text_width
from gathercli.explain.drawing.titles import lines_up, titles
from gathercli.explain.gather_panel import OUTSIDE, GatherPanel, Link
from gathercli.explain.provenance import Fate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.lesson import Lesson, Trace
    from gathercli.explain.panel import At
    from gathercli.explain.selection import Selection

CHANNEL: Final = 104
"""The space between tensors, for arrows."""
BEYOND: Final = 14
"""The space beyond an axis, for arrows from its end."""

_TITLE: Final = 30
_NOTE: Final = 20
"""The heights of the title of a tensor, and of a line below it."""
_OUTSIDE_WIDTH: Final = 72


def flows_down(lesson: Lesson, lead: int) -> bool:
    """Return whether indices stand above `data` instead of beside it.

    So do those that pick columns, and those whose column stays, so that arrows are short.
    """
    rank = len(lesson.data.shape)
    if not lesson.axes:
        return False
    if rank - lead == 1:
        return True
    if lesson.is_tuple:
        return False
    return lesson.axis == rank - (2 if lesson.picks_cells else 1)


def panel_drawings(selection: Selection) -> list[PanelDrawing]:
    """Lay out the batches of a selection, with the same columns and coordinates in all."""
    contents = [GatherPanel(selection, panel) for panel in selection.panels]
    from_end = frozenset(d for each in contents for d in each.from_end)
    has_outside = any(each.points_outside for each in contents)
    drawings = [PanelDrawing(each, from_end, has_outside=has_outside) for each in contents]
    align(drawings)
    return drawings


def align(drawings: Sequence[PanelDrawing]) -> None:
    """Give the cells of each tensor, and the spaces between them, one width in all batches."""
    widths = [max(each) for each in zip(*(each.cell_widths for each in drawings), strict=True)]
    lanes = [max(each) for each in zip(*(each.lane_widths for each in drawings), strict=True)]
    for each in drawings:
        each.measure(widths, lanes)


class _Way(NamedTuple):
    """An arrow before it is known which others come into the same box.

    Attributes
    ----------
    link, ids, stops
        What it is for; the ids of the elements at its ends, and their places.
    bend
        The place across the flow that it passes, beyond the end of an axis; None for none.
    kinds
        As of `Arrow`.
    """

    link: Link
    ids: tuple[str, ...]
    stops: tuple[Stop, ...]
    bend: float | None
    kinds: tuple[str, ...]


class PanelDrawing:
    """The tensors of a batch: grids, arrows and captions.

    Parameters
    ----------
    contents
        The indices of the batch, and what they pick.
    from_end
        The dimensions of `data` whose coordinates are also written from the end.
    has_outside
        Whether to leave room for the place of indices that point nowhere.

    Attributes
    ----------
    width, height
        The size.
    links
        The arrows, without their ways.
    """

    def __init__(
        self, contents: GatherPanel, from_end: frozenset[int], *, has_outside: bool
    ) -> None:
        self.lesson, self.panel, self._lead = contents.lesson, contents.at, contents.lead
        self.down = flows_down(self.lesson, self._lead)
        self._lines_up = lines_up(self.lesson, self._lead)
        self.contents = contents
        self._traced: Trace | None = None
        self.links: list[Link] = []
        leaves, enters = contents.crossed()
        self._excerpts = [
            each._replace(has_entries=each.name in enters) for each in self._excerpts_of(from_end)
        ]
        self._has_room_outside, self._has_outside = has_outside, contents.points_outside
        spaces = [LANE if each.name in leaves | enters else 0 for each in self._excerpts]
        self.measure([NARROWEST] * len(self._excerpts), spaces)

    @property
    def cell_widths(self) -> list[float]:
        """The width of the cells of each tensor."""
        return [block.cell_width for block in self.blocks]

    @property
    def lane_widths(self) -> list[float]:
        """The space between the cells of each tensor for lines, more if the arrows need it."""
        lanes = self._lanes()
        return [max(block.excerpt.lane, block.lane_width(lanes)) for block in self.blocks]

    def measure(self, widths: Sequence[float], lanes: Sequence[float]) -> None:
        """Lay out the tensors.

        Where coordinates stay, those of all tensors line up.

        Parameters
        ----------
        widths
            The least widths of the cells of each tensor.
        lanes
            The spaces between them for lines, 0 without lines.
        """
        if self._lines_up:
            widths, lanes = ([max(each)] * len(each) for each in (widths, lanes))
        self.blocks = [
            TensorBlock(each._replace(lane=lane), down=self.down, narrowest=width)
            for each, width, lane in zip(self._excerpts, widths, lanes, strict=True)
        ]
        self.indices, self.data, self.out = self.blocks
        self._by_name = {block.excerpt.name: block for block in self.blocks}
        self.place(0, 0)

    def whole_traces(self) -> Iterator[Trace]:
        """Yield the traces of output cells whose source is drawn, or that have none."""
        for trace in self.contents.traces.values():
            if trace.data is None or self.data.has(trace.data):
                yield trace

    def link(self, traced: Trace | None, share: float) -> None:
        """Choose the arrows.

        Parameters
        ----------
        traced
            The output cell whose path is strong.
        share
            The share of this batch in the arrows of the drawing, from 0 to 1.
        """
        out = None if traced is None else self.lesson.apart(traced.out)
        self._traced = traced if out is not None and out[: self._lead] == self.panel else None
        first = None if self._traced is None else self._traced.indices
        self.links = self.contents.links(self._is_drawn, share, first)

    def _excerpts_of(self, from_end: frozenset[int]) -> list[Excerpt]:
        return [
            Excerpt(self.contents.indices, upright=not self.down),
            Excerpt(self.contents.data, from_end=from_end),
            Excerpt(self.contents.out, upright=self._out_is_upright()),
        ]

    def _out_is_upright(self) -> bool:
        """Return whether an output that is a vector is a column: as what it comes from is."""
        inner = self.lesson.dim_map[self._lead :]
        if not inner or inner[0][1] is not None:
            return not self.down
        return self.lesson.data_dim(inner[0][0] or 0) == len(self.lesson.data.shape) - 2

    @property
    def _lead_rank(self) -> int:
        return len(self.lesson.data.shape) - self._lead

    @property
    def is_empty(self) -> bool:
        """Whether a tensor has no cells to draw."""
        return any(block.is_empty for block in self.blocks)

    def _is_drawn(self, link: Link) -> bool:
        ends = zip(link.names, (link.source, link.target), strict=True)
        return not self.is_empty and all(
            name == OUTSIDE or self._by_name[name].has(at) for name, at in ends
        )

    def place(self, x: float, y: float) -> None:
        """Lay out the tensors from an upper left corner: along the flow, centred across it."""
        if self.down:
            self._place_down(x, y)
        else:
            self._place_along(x, y)

    def _place_down(self, x: float, y: float) -> None:
        beside = BEYOND * 2 + _OUTSIDE_WIDTH if self._has_room_outside else 0
        spans = [block.width + (beside if block is self.data else 0) for block in self.blocks]
        words = [each for block in self.blocks for each in titles(self.lesson, self.panel, block)]
        margin = max(text_width(each.text, 15, mono=False) for each in words) + 22
        self.width = margin + max(spans)
        top = y
        for block, span in zip(self.blocks, spans, strict=True):
            left = x + margin
            if self._lines_up:
                left += max(each.label_width for each in self.blocks) - block.label_width
            else:
                left += (max(spans) - span) / 2
            block.move_to(left, top)
            top += block.height + CHANNEL
        self.height, self._words_x = top - CHANNEL - y, x
        data = self.data.box
        # As high as `data`, so that arrows reach it without crossing its cells.
        upper = min((frame.inner.y for frame in self.data.frames.values()), default=data.y)
        right = data.right + 2 * BEYOND
        self.outside = Box(right, upper, _OUTSIDE_WIDTH, data.bottom - upper)

    def _place_along(self, x: float, y: float) -> None:
        beside = BEYOND * 2 + HEIGHT if self._has_room_outside else 0
        spans = [block.height + (beside if block is self.data else 0) for block in self.blocks]
        notes = [titles(self.lesson, self.panel, block) for block in self.blocks]
        title = _TITLE + _NOTE * (max(map(len, notes)) - 1)
        highest = max(block.label_height for block in self.blocks)
        left = x
        for block, span, words in zip(self.blocks, spans, notes, strict=True):
            top = (max(spans) - span) / 2
            if self._lines_up:
                top = highest - block.label_height
            before, after = self._overhang(block, words)
            block.move_to(left + before, y + title + top)
            left += before + block.width + after + CHANNEL
        self.width = left - x - CHANNEL
        lowest = max(block.box.bottom for block in self.blocks) - y
        self.height = max(title + max(spans), lowest)
        data = self.data.box
        start = min((frame.inner.x for frame in self.data.frames.values()), default=data.x)
        width = max(data.right - start, _OUTSIDE_WIDTH)
        self.outside = Box(start, data.bottom + 2 * BEYOND, width, HEIGHT)

    def _overhang(self, block: TensorBlock, words: list[Caption]) -> tuple[float, float]:
        """Return how far a title reaches to the left and right of its tensor.

        That of indices does not reach to the right, where arrows leave.
        """
        widest = max(text_width(each.text, 15, mono=False) for each in words)
        room = max(0.0, widest - block.width)
        before = {id(self.indices): room, id(self.data): room / 2}.get(id(block), 0.0)
        return before, room - before

    def captions(self) -> Iterator[Caption]:
        """Yield the titles of the tensors, and words for what has no cells."""
        for block in self.blocks:
            words, box = titles(self.lesson, self.panel, block), block.box
            x = box.x - self._overhang(block, words)[0]
            y = box.y - 10 - _NOTE * (len(words) - 1)
            if self.down:
                x, y = self._words_x, block.middle + 5 - _NOTE * (len(words) - 1) / 2
            for n, each in enumerate(words):
                yield each._replace(x=x, y=y + _NOTE * n)
            if block.is_empty:
                yield Caption(*block.box.center, "empty: no elements", "note", "middle")
        if self._has_outside:
            x, y = self.outside.center
            yield Caption(x, y + 5, "outside", "note", "middle")

    def grids(self) -> Iterator[Grid]:
        """Yield a grid for each facet of each tensor."""
        slices, ends = self._slices(), self.lesson.ends(self._traced)
        for block in self.blocks:
            name = block.tensor.name
            end = ends.get(name)
            traced = [] if end is None else [end]
            for facet, frame in block.frames.items():
                cells = list(block.cells(facet, traced))
                parts = [each for each in slices if each.tensor == name and each.box in frame]
                captions = list(block.captions(facet, *self._marks(block, facet)))
                yield Grid(name, (*self.panel, *facet), frame.inner, cells, parts, captions)
        if self._has_outside:
            place = GridSlice(OUTSIDE, self.panel, self.outside, None, ("outside",))
            yield Grid(OUTSIDE, self.panel, self.outside, [], [place], [])

    def _marks(
        self, block: TensorBlock, facet: tuple[int, ...]
    ) -> tuple[dict[int, str], dict[int, str]]:
        """Return the kinds of the coordinates of rows and columns on the path of the trace."""
        marks = dict[int, str](), dict[int, str]()
        at = self.lesson.ends(self._traced).get(block.tensor.name)
        if at is None or at[self._lead : max(self._lead, len(at) - 2)] != facet:
            return marks
        for d, n in enumerate(at):
            direction = block.direction(d)
            if direction is None:
                continue
            if block is self.data and d in self.lesson.axes:
                marks[direction][n] = "replaced"
            elif self._lines_up and d != self.lesson.axis:
                marks[direction][n] = "stays"
        return marks

    def _is_traced(self, link: Link) -> bool:
        trace = self._traced
        if trace is None or link.pick.at != trace.indices:
            return False
        cell = self.lesson.apart(trace.out) if link.lands else trace.data
        if link.names[1] == OUTSIDE or cell is None:
            return True
        return all(n in (None, at) for n, at in zip(link.target, cell, strict=True))

    def _ends(self, link: Link) -> Iterator[tuple[TensorBlock | None, At, bool]]:
        """Yield the blocks at the ends, None outside, the coordinates, and whether it leaves."""
        yield self._by_name.get(link.names[0]), link.source, True
        yield self._by_name.get(link.names[1]), link.target, False

    def _slices(self) -> list[GridSlice]:
        """Return the slices at ends of arrows, once each."""
        slices: dict[str, GridSlice] = {}
        for link in self.links:
            kinds = [] if link.pick.fate is Fate.COPIED else [_fate(link.pick.fate)]
            kinds += ["traced"] if self._is_traced(link) else []
            for block, at, leaves in self._ends(link):
                if block is None or not block.is_slice(at, leaves=leaves):
                    continue
                part = block.grid_slice(at, link.pick.color, tuple(kinds))
                if part.id not in slices or "traced" in kinds:
                    slices[part.id] = part
        return list(slices.values())

    def _lanes(self) -> Lanes:
        """Return the use of the spaces between cells."""
        lanes = Lanes()
        for link in self.links:
            for block, at, leaves in self._ends(link):
                if block is not None and block.needs_lane(at, leaves=leaves):
                    lanes.add(block.lane(at, leaves=leaves))
                    if not leaves and self._turns(link):
                        lanes.add(block.lane(at, leaves=leaves, after=True))
        return lanes

    def arrows(self) -> Iterator[Arrow]:
        """Yield the arrows, once each."""
        lanes = self._lanes()
        ways: dict[tuple[str, ...], _Way] = {}
        for link in self.links:
            way = self._way(link, lanes)
            ways.setdefault(way.ids, way)
        groups: dict[str, list[_Way]] = {}
        for way in ways.values():
            groups.setdefault(way.ids[1], []).append(way)
        for group in groups.values():
            levels = [each.stops[0].level if each.bend is None else inf for each in group]
            targets = spread(levels, [each.stops[1] for each in group])
            for way, stop in zip(group, targets, strict=True):
                d = route(way.stops[0], stop, down=self.down, bend=way.bend)
                yield Arrow(way.ids[0], way.ids[1], d, way.link.pick.color, way.kinds)

    def _turns(self, link: Link) -> bool:
        """Whether an arrow bends round the end of an axis along the flow."""
        d = len(self.lesson.data.shape) - (2 if self.down else 1)
        is_cell = None not in link.target and self._lead_rank > 1
        return not link.lands and is_cell and d in self.contents.axes_from_end(link.pick)

    def _way(self, link: Link, lanes: Lanes) -> _Way:
        kinds = ["lands" if link.lands else "picks"]
        kinds += [_fate(link.pick.fate)] if link.pick.fate is not Fate.COPIED else []
        kinds += ["traced"] if self._is_traced(link) else []
        ids, stops = list[str](), list[Stop]()
        for block, at, leaves in self._ends(link):
            if block is None:
                box = turned(self.outside) if self.down else self.outside
                ids.append(slice_id(OUTSIDE, self.panel))
                stops.append(Stop(box, box))
            else:
                ids.append(block.end_id(at, leaves=leaves))
                stops.append(block.stop(at, lanes, leaves=leaves, turns=self._turns(link)))
        bend = None
        if not link.lands and self.contents.axes_from_end(link.pick):
            kinds.append("negative")
            if not self._turns(link):
                bend = stops[1].frame.bottom + BEYOND
        return _Way(link, tuple(ids), tuple(stops), bend, tuple(kinds))


def _fate(fate: Fate) -> str:
    return fate.name.lower()
