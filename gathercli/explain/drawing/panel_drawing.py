"""Draw a panel: its tensors beside each other or below each other, and arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from gathercli.explain.drawing import scene
from gathercli.explain.drawing.block import CELL_HEIGHT, LEAST_WIDTH, End, TensorBlock
from gathercli.explain.panel import OUTSIDE_PLACE, Link, Panel, Path, Stance
from gathercli.explain.provenance import Fate

CHANNEL_SPACE: Final = 104  # the space between tensors, for arrows
SPACE_BEYOND_AXIS: Final = 14  # half the space beyond an axis, before the place outside
_CLIMB_SHIFT: Final = 12  # the distance of the first and last arrow between two cells of a tensor
_TITLE_HEIGHT: Final = 30
# The heights of the title of a tensor, or of a panel, and of a line below it.
_NOTE_HEIGHT: Final = 20
_OUTSIDE_WIDTH: Final = 72


def panel_drawings(panels: Sequence[Panel], *, same: bool) -> list[PanelDrawing]:
    """Lay out panels, with the same columns and coordinates in all unless they are level.

    They have the `same` room for the place of indices that point nowhere, or it where there are
    some.
    """
    from_end = frozenset[int]().union(*(each.from_end for each in panels))
    any_outside = same and any(each.points_outside for each in panels)
    drawings = [
        PanelDrawing(each, from_end, has_outside=any_outside or each.points_outside)
        for each in panels
    ]
    align(drawings)
    return drawings


def align(drawings: Sequence[PanelDrawing], widening: float = 1) -> None:
    """Give the cells of each tensor, and the spaces between them, one width in all panels.

    Cells become wider by a factor.
    """
    widths = [each.cell_widths for each in drawings]
    lanes = [each.lane_widths for each in drawings]
    if not any(each.panel.stance is Stance.LEVEL for each in drawings):
        widths = [[max(each) for each in zip(*widths, strict=True)]] * len(drawings)
        lanes = [[most_lanes(each) for each in zip(*lanes, strict=True)]] * len(drawings)
    for each, cells, spaces in zip(drawings, widths, lanes, strict=True):
        each.measure([2 * round(width * widening / 2) for width in cells], spaces)


def most_lanes(lanes: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the most space between cells, and beside a facet."""
    between, beside = (max(each) for each in zip(*lanes, strict=True))
    return between, beside


class _Way(NamedTuple):
    """An arrow before it is known which others come into the same box."""

    link: Link
    ids: tuple[str, ...]  # of the elements at its ends
    stops: tuple[scene.Stop, ...]
    kinds: tuple[str, ...]


class PanelDrawing:
    """The tensors of a panel: grids, arrows and captions, and the size of all.

    The coordinates of the dimensions `from_end` of `data` are also written from the end; with
    `has_outside` there is room for the place of indices that point nowhere.
    """

    def __init__(self, panel: Panel, from_end: frozenset[int], *, has_outside: bool) -> None:
        self.panel, self._from_end, self._has_room_outside = panel, from_end, has_outside
        self._down = panel.flows_down
        self._path: Path = {}
        self.links: list[Link] = []
        self.linked = 0
        self.channel = float(CHANNEL_SPACE)
        spaces = [(each.lane, 0.0) for each in panel.flow]
        self.measure([LEAST_WIDTH] * len(spaces), spaces)

    @property
    def lane_widths(self) -> list[tuple[float, float]]:
        """The spaces in each tensor for lines, as of a block, more if the arrows need it."""
        lanes = self._lanes()
        return [block.lane_widths(lanes) for block in self.blocks]

    @property
    def cell_widths(self) -> list[float]:
        """The width of the cells of each tensor."""
        return [block.cell_width for block in self.blocks]

    def measure(self, widths: Sequence[float], lanes: Sequence[tuple[float, float]]) -> None:
        """Lay out the tensors, whose cells are so wide at least, with spaces for lines or 0."""
        if self.panel.stance is Stance.LINED_UP:
            widths = [max(widths)] * len(widths)
        if self.panel.stance is not Stance.CENTRED:
            lanes = [most_lanes(lanes)] * len(lanes)
        self.blocks = [
            TensorBlock(
                self.panel,
                tensor,
                self._from_end if tensor is self.panel.tensors[0] else frozenset(),
                lanes=each,
                narrowest=width,
            )
            for tensor, width, each in zip(self.panel.flow, widths, lanes, strict=True)
        ]
        self._by_name = {block.tensor.name: block for block in self.blocks}
        self._data = self._by_name[self.panel.tensors[0].name]
        self.place(0, 0)

    def link(self, trace: Any, share: float) -> None:
        """Choose the arrows, and the trace whose path is strong, as `Panel.links` does."""
        self._path = self.panel.path(trace)
        self.links, self.linked = self.panel.links(self._path, share)

    def place(self, x: float, y: float) -> None:
        """Lay out the tensors from an upper left corner: along the flow, centred across it."""
        self.corner = x, y
        if self._down:
            self._place_down(x, y)
        else:
            self._place_along(x, y)

    def _starts(self, spans: Sequence[float]) -> list[float]:
        """Return where the tensors begin across the flow, by their sizes."""
        if self.panel.stance is Stance.LINED_UP:
            labels = [each.label_space for each in self.blocks]
            return [max(labels) - label for label in labels]
        level = self.panel.stance is Stance.LEVEL
        return [0 if level else (max(spans) - span) / 2 for span in spans]

    def _place_down(self, x: float, y: float) -> None:
        beside = SPACE_BEYOND_AXIS * 2 + _OUTSIDE_WIDTH if self._has_room_outside else 0
        spans = [each.width + (beside if each is self._data else 0) for each in self.blocks]
        words = [words for each in self.panel.flow for words, _ in each.titles]
        margin = max(scene.text_width(each, 15, mono=False) for each in words) + 22
        self.width = margin + max(spans)
        top = y
        for block, start in zip(self.blocks, self._starts(spans), strict=True):
            block.move_to(x + margin + start, top)
            top += block.height + self.channel
        self.height = top - self.channel - y
        data = self._data.box
        # As high as `data`, so that arrows reach it without crossing its cells.
        upper = min((frame.inner.y for frame in self._data.frames.values()), default=data.y)
        right = data.right + 2 * SPACE_BEYOND_AXIS
        self.outside = scene.Box(right, upper, _OUTSIDE_WIDTH, data.bottom - upper)

    def _place_along(self, x: float, y: float) -> None:
        beside = SPACE_BEYOND_AXIS * 2 + CELL_HEIGHT if self._has_room_outside else 0
        spans = [each.height + (beside if each is self._data else 0) for each in self.blocks]
        notes = max(len(each.titles) for each in self.panel.flow)
        title = _TITLE_HEIGHT * (1 + bool(self.panel.heading)) + _NOTE_HEIGHT * (notes - 1)
        left = x
        for block, start in zip(self.blocks, self._starts(spans), strict=True):
            before, after = self._overhang(block)
            block.move_to(left + before, y + title + start)
            left += before + block.width + after + self.channel
        self.width = left - x - self.channel
        lowest = max(block.box.bottom for block in self.blocks) - y
        self.height = max(title + max(spans), lowest)
        data = self._data.box
        start = min((frame.inner.x for frame in self._data.frames.values()), default=data.x)
        width = max(data.right - start, _OUTSIDE_WIDTH)  # to the left: arrows leave on the right
        y = data.bottom + 2 * SPACE_BEYOND_AXIS
        self.outside = scene.Box(data.right - width, y, width, CELL_HEIGHT)

    def _overhang(self, block: TensorBlock) -> tuple[float, float]:
        """Return how far a title reaches to the left and right of its tensor."""
        part = block.tensor.title_part
        words = (scene.text_width(each, 15, mono=False) for each, _ in block.tensor.titles)
        room = max(0.0, max(words) - block.width)
        return room * part, room * (1 - part)

    def captions(self) -> Iterator[scene.Caption]:
        """Yield the titles of the tensors, and words for what has no cells."""
        left, top = self.corner
        if self.panel.heading:
            yield scene.Caption(left, top + 14, self.panel.heading, "note")
        for block in self.blocks:
            titles, box = block.tensor.titles, block.box
            x = box.x - self._overhang(block)[0]
            y = box.y - 10 - _NOTE_HEIGHT * (len(titles) - 1)
            if self._down:
                inner = [frame.inner for frame in block.frames.values()] or [box]
                middle = (min(each.y for each in inner) + max(each.bottom for each in inner)) / 2
                x, y = left, middle + 5 - _NOTE_HEIGHT * (len(titles) - 1) / 2
            for n, (words, kind) in enumerate(titles):
                yield scene.Caption(x, y + _NOTE_HEIGHT * n, words, kind)
            if block.is_empty:
                x, y = block.box.center
                y += 5 * bool(self.panel.heading)
                yield scene.Caption(x, y, "empty: no elements", "note", "middle")
        if self.panel.points_outside:
            x, y = self.outside.center
            yield scene.Caption(x, y + 5, OUTSIDE_PLACE, "note", "middle")

    def grids(self) -> Iterator[scene.Grid]:
        """Yield a grid for each facet of each tensor."""
        slices, at = self._slices(), self.panel.at
        for block in self.blocks:
            name = block.tensor.name
            traced = self._path.get(name, [])
            for facet, frame in block.frames.items():
                cells = list(block.cells(facet, traced))
                parts = [each for each in slices if each.tensor == name and each.box in frame]
                captions = list(block.captions(facet, *self._marks(block, facet, traced)))
                yield scene.Grid(name, (*at, *facet), frame.inner, cells, parts, captions)
        if self.panel.points_outside:
            place = scene.GridSlice(OUTSIDE_PLACE, at, self.outside, None, ("outside",))
            yield scene.Grid(OUTSIDE_PLACE, at, self.outside, [], [place], [])

    def _marks(
        self, block: TensorBlock, facet: tuple[int, ...], traced: Sequence[tuple[int, ...]]
    ) -> tuple[set[int], set[int]]:
        """Return the rows and columns of the trace whose coordinates are by an index."""
        marks = set[int](), set[int]()
        for at in traced:
            for d in block.tensor.replaced:
                if block.tensor.facet_of(at) == facet and d in block.dims:
                    marks[block.dims.index(d)].add(at[d])
        return marks

    def _ends(self, link: Link) -> Iterator[End | None]:
        """Yield the ends of an arrow, None outside."""
        for n, at in enumerate((link.source, link.target)):
            block = self._by_name.get(link.names[n])
            yield None if block is None else End(block, at, leaves=n == 0)

    def _slices(self) -> list[scene.GridSlice]:
        slices: dict[str, scene.GridSlice] = {}
        for link in self.links:
            kinds = tuple(_kinds(link))
            for end in self._ends(link):
                if end is not None and end.is_slice and (end.id not in slices or link.traced):
                    slices[end.id] = end.grid_slice(link.color, kinds)
        return list(slices.values())

    def _lanes(self) -> scene.Lanes:
        """Return the use of the spaces between cells."""
        lanes = scene.Lanes()
        for link in self.links:
            if link.climbs:
                lanes.add(self._climb_lane(link))
                continue
            for end in self._ends(link):
                if end is not None and end.needs_lane:
                    lanes.add(end.lane())
        return lanes

    def arrows(self) -> Iterator[scene.Arrow]:
        """Yield the arrows: those within a tensor, then the others once each."""
        lanes = self._lanes()
        ways: dict[tuple[str, ...], _Way] = {}
        for link in self.links:
            if link.climbs:
                yield self._climb(link, lanes)
            else:
                way = self._way(link, lanes)
                ways.setdefault(way.ids, way)
        groups: dict[str, list[_Way]] = {}
        for way in ways.values():
            groups.setdefault(way.ids[1], []).append(way)
        for group in groups.values():
            levels = [each.stops[0].level for each in group]
            targets = scene.spread(levels, [each.stops[1] for each in group])
            for way, stop in zip(group, targets, strict=True):
                d = scene.route(way.stops[0], stop, down=self._down)
                yield scene.Arrow(way.ids[0], way.ids[1], d, way.link.color, way.kinds)

    def _climb(self, link: Link, lanes: scene.Lanes) -> scene.Arrow:
        source, target = (
            End(self._by_name[link.names[0]], at, leaves=True) for at in (link.source, link.target)
        )
        shift, lane = (link.lane - 0.5) * _CLIMB_SHIFT, lanes.place(self._climb_lane(link))
        d = scene.climb(source.box, target.box, shift, lane)
        return scene.Arrow(source.id, target.id, d, link.color, ("picks", *_kinds(link)))

    def _climb_lane(self, link: Link) -> scene.Lane:
        """Return the lane across of an arrow within a tensor, below those that leave it."""
        source = End(self._by_name[link.names[0]], link.source, leaves=False)
        return source.lane(source.box.x + link.lane)

    def _way(self, link: Link, lanes: scene.Lanes) -> _Way:
        kinds = ["lands" if link.lands else "picks", *_kinds(link)]
        ids, stops = list[str](), list[scene.Stop]()
        for end in self._ends(link):
            if end is None:
                frame = box = scene.turned(self.outside) if self._down else self.outside
                if self._data.subtitle_height:  # lines come in before the names of facets
                    start = self._data.y if self._down else self._data.x
                    frame = box._replace(x=start, width=box.right - start)
                ids.append(scene.slice_id(OUTSIDE_PLACE, self.panel.at))
                stops.append(scene.Stop(box, frame))
            else:
                ids.append(end.id)
                stops.append(end.stop(lanes))
        if not link.lands and link.from_end:
            kinds.append("negative")
        return _Way(link, tuple(ids), tuple(stops), tuple(kinds))


def _kinds(link: Link) -> Iterator[str]:
    """Yield the kinds that an arrow and the slices at its ends share."""
    if link.fate is not Fate.COPIED:
        yield link.fate.name.lower()
    if link.traced:
        yield "traced"
