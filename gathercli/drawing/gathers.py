"""Draw a lesson of a gather along an axis: indices, `data`, output, and arrows between them."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.drawing.block import At, Excerpt, TensorBlock
from gathercli.drawing.frame import HEIGHT
from gathercli.drawing.routes import Stop, route, turned
from gathercli.drawing.scene import (
    Arrow,
    Caption,
    Grid,
    GridCell,
    GridSlice,
    cell_id,
    slice_id,
)
from gathercli.drawing.shapes import Box, text_width
from gathercli.lessons.lesson import numbers
from gathercli.lessons.provenance import Fate
from gathercli.report.selection import FACETS, arrays
from gathercli.report.trace import TARGETS, index_text, writer
from gathercli.spec.coordinates import flat_positions
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import Shape
from gathercli.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.lessons.lesson import Index, Lesson, Trace, Unit
    from gathercli.report.selection import Selection

CHANNEL: Final = 96
"""The space between tensors, for arrows."""

TITLE: Final = 34
"""The height of the title of a tensor."""
NOWHERE_GAP: Final = 14
"""The space before the place of indices that point nowhere, and beyond an axis for bends."""

LINES: Final = 20
FEW_LINES: Final = 8
"""The most arrows from the indices of a drawing to slices, and to single cells."""


class Pick(NamedTuple):
    """An index of the drawing, and what becomes of it.

    Attributes
    ----------
    at, k, position, fate
        Its coordinates, the index, its place on the axis or axes (None for none), its fate.
    unit, color
        The part of `data` that it picks, and the number of its colour.
    """

    at: tuple[int, ...]
    k: Index
    position: Index | None
    fate: Fate
    unit: Unit | None
    color: int | None


def flows_down(lesson: Lesson, lead: int) -> bool:
    """Return whether indices stand above `data` instead of beside it.

    So do those that pick columns, and those whose column stays, so that arrows are short.
    """
    rank = len(lesson.data.shape)
    if rank - lead == 1:
        return True
    if lesson.is_tuple or not lesson.axes:
        return False
    if lesson.picks_cells:
        return lesson.axis == rank - 2
    return lesson.axis == rank - 1


class Link(NamedTuple):
    """An arrow without its way: the coordinates of its ends in two tensors, and its index."""

    tensors: tuple[str, str]
    source: At
    target: At
    pick: Pick


class PanelDrawing:
    """The tensors of a batch: blocks, cells, slices and arrows.

    Parameters
    ----------
    selection, look
        The coordinates to draw, and the look of numbers.
    panel
        The leading coordinates, shared by all tensors.
    traced
        The cell whose path is strong.
    share
        The share of this panel in `LINES` and `FEW_LINES`, from 0 to 1.
    """

    def __init__(
        self, selection: Selection, panel: tuple[int, ...], traced: Trace | None, share: float
    ) -> None:
        self._selection, self.lesson, self.panel = selection, selection.lesson, panel
        self._lead = selection.lead
        self.down = flows_down(self.lesson, self._lead)
        self._write = writer(self.lesson, selection.look)
        self._colors = {unit: n for n, unit in enumerate(selection.letters)}
        inside = traced is not None and self.lesson.apart(traced.out)[: self._lead] == panel
        self._traced = traced if inside else None
        self.picks = self._read_picks()
        data = Excerpt(
            next(iter(self.lesson.call.inputs)),
            self.lesson.data.shape,
            panel,
            tuple(selection.data[self._lead :]),
            self._data_facets(),
            upright=False,
            texts=self._data_text,
            from_end=self._from_end(),
        )
        indices = Excerpt(
            self.lesson.name,
            self.lesson.index_shape,
            panel,
            tuple(selection.indices[self._lead :]),
            None,
            upright=not self.down,
            texts=self._index_text,
        )
        out = Excerpt(
            "out",
            self.lesson.panel_shape,
            panel,
            tuple(selection.out[self._lead :]),
            None,
            upright=self._out_is_upright(),
            texts=self._out_text,
            named=self.real_out,
        )
        self._values = self._read_values()
        self._traces = self._read_traces()
        self.blocks = [TensorBlock(excerpt, down=self.down) for excerpt in (indices, data, out)]
        self.links = self._choose_links(share)
        lanes = {
            name
            for link in self.links
            for name, end in zip(link.tensors, (link.source, link.target), strict=True)
            if None not in end and len(end) - self._lead > 1
        }
        self.blocks = [
            TensorBlock(
                block.excerpt._replace(has_lanes=block.excerpt.name in lanes), down=self.down
            )
            for block in self.blocks
        ]
        self.indices, self.data, self.out = self.blocks
        self.place(0, 0)

    def _read_picks(self) -> dict[tuple[int, ...], Pick]:
        """Read the indices of the panel."""
        lesson, picks = self.lesson, dict[tuple[int, ...], Pick]()
        coords = self._selection.coordinates(self.panel, self._selection.indices)
        for at, (k, flat) in zip(coords, self._selection.resolved(coords), strict=True):
            position = lesson.place(flat)
            unit = lesson.unit(at, position)
            color = None if unit is None else self._colors.get(unit)
            picks[at] = Pick(at, k, position, lesson.fate(k, flat), unit, color)
        return picks

    def _read_values(self) -> dict[tuple[int, ...], Any]:
        lesson = self.lesson
        coords = self._selection.coordinates(self.panel, self._selection.data)
        part = lesson.data.array[arrays(coords, len(lesson.data.shape))]
        elements = Tensor(lesson.data.dtype, part).values().tolist()
        return dict(zip(coords, elements, strict=True))

    def _read_traces(self) -> dict[tuple[int, ...], Trace]:
        shape = self.lesson.panel_shape
        coords = self._selection.coordinates(self.panel, self._selection.out)
        cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
        return dict(zip(coords, self.lesson.traces(cells), strict=True))

    def _data_text(self, at: tuple[int, ...]) -> str:
        return self._write(self._values[at])

    def _index_text(self, at: tuple[int, ...]) -> str:
        pick = self.picks[at]
        text = index_text(pick.k)
        target = TARGETS[pick.fate] if pick.position is None else index_text(pick.position)
        return text if target == text else f"{text} → {target}"

    def _out_text(self, at: tuple[int, ...]) -> str:
        trace = self._traces[at]
        return "!" if trace.fate is Fate.REFUSED else self._write(trace.value)

    def real_out(self, at: At) -> At:
        """Return coordinates of the output from those with the batch dimensions apart."""
        shape = self.lesson.panel_shape
        merged = len(shape) - len(self.lesson.shape)
        if not merged:
            return at
        head = at[: merged + 1]
        return (flat_positions(head, shape[: merged + 1], none=False), *at[merged + 1 :])

    def _out_is_upright(self) -> bool:
        """Return whether an output that is a vector is a column."""
        inner = self.lesson.dim_map[self._lead :]
        if not inner or inner[0][1] is not None:
            return not self.down
        return self.lesson.data_dim(inner[0][0] or 0) == len(self.lesson.data.shape) - 2

    def _from_end(self) -> frozenset[int]:
        """Return the dimensions of `data` on which indices count from the end."""
        return frozenset(
            d
            for pick in self.picks.values()
            if pick.position is not None
            for d, k, n in zip(
                self.lesson.axes, numbers(pick.k), numbers(pick.position), strict=True
            )
            if k < 0 and n - k == self.lesson.data.shape[d]
        )

    def _data_facets(self) -> list[tuple[int, ...]] | None:
        """Return the first facets of `data` that indices pick; None for all if they are few."""
        every = list(combinations(*self._selection.data[self._lead :][:-2]))
        if len(every) <= FACETS:
            return None
        size = len(every[0])
        heads = [
            pick.unit[self._lead : self._lead + size]
            for pick in self.picks.values()
            if pick.unit is not None
        ]
        picked = [
            each
            for each in every
            if any(all(n in (None, at) for n, at in zip(head, each, strict=True)) for head in heads)
        ]
        return (picked or every)[:FACETS]

    def links_of(self, pick: Pick) -> list[Link]:
        """Return the arrows of an index: to the slices that it picks, and on to the output."""
        lesson, links = self.lesson, list[Link]()
        data, out = (block.excerpt for block in self.blocks[1:])
        free = {j: lesson.data_dim(d or 0) for j, (d, i) in enumerate(lesson.dim_map) if i is None}
        if pick.unit is not None:
            within = [
                [n] if n is not None else [None] if self._is_inner(d, len(pick.unit)) else coords
                for d, (n, coords) in enumerate(zip(pick.unit, self._selection.data, strict=True))
            ]
            for unit in combinations(*within):
                links.append(Link((lesson.name, data.name), pick.at, unit, pick))
        if pick.fate is Fate.REFUSED:
            return links
        runs = {
            j
            for j, d in free.items()
            if self._is_inner(j, len(lesson.panel_shape))
            and (pick.unit is None or self._is_inner(d, len(lesson.data.shape)))
        }
        steps = [j for j in free if j not in runs]
        for coords in combinations(*(self._selection.out[j] for j in steps)):
            fixed = dict(zip(steps, coords, strict=True))
            target = tuple(
                fixed.get(j) if i is None else pick.at[i] for j, (_, i) in enumerate(lesson.dim_map)
            )
            source: At = ()
            if pick.unit is not None:
                at = {free[j]: n for j, n in fixed.items()}
                source = tuple(at.get(d) if n is None else n for d, n in enumerate(pick.unit))
            links.append(Link((data.name, out.name), source, target, pick))
        return links

    def _is_inner(self, d: int, rank: int) -> bool:
        """Return whether a dimension lies within a facet."""
        return d >= max(self._lead, rank - 2)

    def _choose_links(self, share: float) -> list[Link]:
        """Choose the indices that get arrows: the traced, one of each kind, others by distance."""
        picks = self.picks
        if self.data_is_empty:
            return []
        links = {at: self.links_of(pick) for at, pick in picks.items()}
        if any(pick.fate is Fate.REFUSED for pick in picks.values()):
            for at, pick in picks.items():
                if pick.fate is Fate.REFUSED:
                    links[at] = [
                        Link((self.lesson.name, self.blocks[1].excerpt.name), at, (), pick)
                    ]
        most = max(map(len, links.values()), default=1) or 1
        is_few = self.lesson.picks_cells and len(self.lesson.data.shape) - self._lead > 1
        count = max(1, int((FEW_LINES if is_few else LINES) * share) // most)
        chosen: list[tuple[int, ...]] = []
        if self._traced is not None:
            chosen.append(self._traced.indices)
        kinds: set[object] = set()
        for at, pick in picks.items():
            kind = (pick.fate, any(n < 0 for n in numbers(pick.k)))
            if kind not in kinds and kind != (Fate.COPIED, False):
                chosen.append(at)
            kinds.add(kind)
        rest = [at for at in picks if at not in chosen]
        step = max(1, -(-len(rest) // max(1, count - len(chosen))))
        if len(picks) <= count:
            chosen = list(picks)
        elif len(chosen) < count:
            chosen += rest[::step]
        keep = [each for at in dict.fromkeys(chosen) for each in links.get(at, ())]
        return [link for link in keep if self._is_drawn(link)]

    @property
    def data_is_empty(self) -> bool:
        """Whether `data` or the output has no cells to draw."""
        return any(block.is_empty for block in self.blocks)

    def _is_drawn(self, link: Link) -> bool:
        blocks = {block.excerpt.name: block for block in self.blocks}
        ends = zip(link.tensors, (link.source, link.target), strict=True)
        return all(blocks[name].has(at) for name, at in ends if at or link.pick.unit is not None)

    @property
    def has_nowhere(self) -> bool:
        """Whether an index points outside `data`."""
        return any(pick.unit is None for pick in self.picks.values())

    def place(self, x: float, y: float) -> None:
        """Lay out the tensors from an upper left corner: along the flow, centred across it."""
        sizes = [(block.width, block.height) for block in self.blocks]
        ghost = self.data.cell_width if self.down else HEIGHT
        extra = ghost + 2 * NOWHERE_GAP if self.has_nowhere else 0
        if self.down:
            margin = max(text_width(words, 15, mono=False) for words in self._titles()) + 18
            widths = [width + (extra if n == 1 else 0) for n, (width, _) in enumerate(sizes)]
            self.width, at = margin + max(widths), y
            for block, (_, height), width in zip(self.blocks, sizes, widths, strict=True):
                block.move_to(x + margin + (max(widths) - width) / 2, at)
                at += height + CHANNEL
            self.height = at - CHANNEL - y
            self._title_x = x
        else:
            heights = [height + (extra if n == 1 else 0) for n, (_, height) in enumerate(sizes)]
            self.height, at = TITLE + max(heights), x
            for block, (width, _), height, words in zip(
                self.blocks, sizes, heights, self._titles(), strict=True
            ):
                block.move_to(at, y + TITLE + (max(heights) - height) / 2)
                at += max(width, text_width(words, 15, mono=False)) + CHANNEL
            self.width = at - CHANNEL - x
        data = self.data.box
        self.nowhere = None
        if self.has_nowhere and self.down:
            frame = next(iter(self.data.frames.values()), None)
            top = frame.inner.y if frame else data.y
            self.nowhere = Box(data.right + 2 * NOWHERE_GAP, top, ghost, HEIGHT)
        elif self.has_nowhere:
            left = min((frame.inner.x for frame in self.data.frames.values()), default=data.x)
            self.nowhere = Box(left, data.bottom + 2 * NOWHERE_GAP, data.right - left, ghost)

    def _titles(self) -> list[str]:
        lesson, panel = self.lesson, self.panel
        if panel:
            titles = []
            for block in self.blocks:
                rest = len(block.excerpt.shape) - len(panel)
                at = block.excerpt.named((*panel, *[None] * rest))
                titles.append(
                    f"{block.excerpt.name}[{','.join(':' if n is None else str(n) for n in at)}]"
                )
            return titles
        operands = {
            **lesson.call.inputs,
            "out": described(lesson.data.dtype, Shape(lesson.shape).inner()),
        }
        return [f"{block.excerpt.name}  {operands[block.excerpt.name]}" for block in self.blocks]

    def captions(self) -> Iterator[Caption]:
        """Yield the titles of the tensors."""
        for block, words in zip(self.blocks, self._titles(), strict=True):
            box = block.box
            if self.down:
                yield Caption(self._title_x, box.center[1] + 5, words, "title")
            else:
                yield Caption(box.x, box.y - 10, words, "title")
            if block.is_empty:
                yield Caption(
                    box.center[0], box.center[1] + 5, "empty: no elements", "note", "middle"
                )
        if self.nowhere is not None:
            x, y = self.nowhere.center
            yield Caption(x, y + 5, "outside", "note", "middle")

    def grids(self) -> Iterator[Grid]:
        """Yield a grid for each facet of each tensor."""
        slices = self._slices()
        for block, cell in zip(self.blocks, (self._index, self._datum, self._result), strict=True):
            seen: set[Any] = set()
            for facet, frame in block.frames.items():
                cells = [cell(at, box, seen) for at, box in block.cells(facet)]
                inside = [
                    part
                    for part in slices
                    if part.tensor == block.excerpt.name and _is_within(part.box, frame.outer)
                ]
                name, captions = block.excerpt.name, list(block.captions(facet))
                yield Grid(name, (*self.panel, *facet), frame.inner, cells, inside, captions)
        if self.nowhere is not None:
            ghost = GridSlice("outside", self.panel, self.nowhere, None, ("outside",))
            yield Grid("outside", self.panel, self.nowhere, [], [ghost], [])

    def _index(self, at: tuple[int, ...], box: Box, seen: set[Any]) -> GridCell:
        del seen
        pick = self.picks[at]
        kinds = ("negative",) if any(n < 0 for n in numbers(pick.k)) else ()
        if self._traced is not None and self._traced.indices == at:
            kinds = (*kinds, "traced")
        letter = "" if pick.unit is None else self._selection.letters.get(pick.unit, "")
        text = self._index_text(at)
        return GridCell(
            self.lesson.name, at, box, text, pick.color, letter, _fate(pick.fate), kinds
        )

    def _datum(self, at: tuple[int, ...], box: Box, seen: set[Any]) -> GridCell:
        lesson = self.lesson
        units = set(lesson.unit_dims)
        unit = tuple(n if d in units else None for d, n in enumerate(at))
        part = (unit, at[self._lead : -2] if len(at) - self._lead > 2 else ())
        letter = "" if part in seen else self._selection.letters.get(unit, "")
        seen.add(part)
        kinds: tuple[str, ...] = ()
        if lesson.reads is not None and not lesson.reads.of(unit):
            kinds = ("unread",)
        if self._traced is not None and self._traced.data == at:
            kinds = ("traced",)
        name = self.data.excerpt.name
        return GridCell(
            name, at, box, self._data_text(at), self._colors.get(unit), letter, "", kinds
        )

    def _result(self, at: tuple[int, ...], box: Box, seen: set[Any]) -> GridCell:
        trace = self._traces[at]
        pick = self.picks[trace.indices]
        facet = at[self._lead : -2] if len(at) - self._lead > 2 else ()
        part = (trace.indices, facet)
        letter = "" if pick.unit is None else self._selection.letters.get(pick.unit, "")
        if part in seen:
            letter = ""
        seen.add(part)
        kinds = ("traced",) if self._traced is not None and self._traced.out == trace.out else ()
        text = self._out_text(at)
        return GridCell("out", trace.out, box, text, pick.color, letter, _fate(pick.fate), kinds)

    def _is_traced(self, link: Link) -> bool:
        trace = self._traced
        if trace is None or link.pick.at != trace.indices:
            return False
        cells = {"data": trace.data, "out": self.lesson.apart(trace.out)}
        cell = cells["out" if link.tensors[1] == "out" else "data"]
        return cell is None or all(n in (None, at) for n, at in zip(link.target, cell, strict=True))

    def _slices(self) -> list[GridSlice]:
        """Return the slices at ends of arrows, once each."""
        slices: dict[str, GridSlice] = {}
        for link in self.links:
            kinds = ("traced",) if self._is_traced(link) else ()
            if link.pick.unit is None:
                kinds = (*kinds, _fate(link.pick.fate))
            for block, at, leaves in self._ends(link):
                if (
                    at
                    and block is not self.indices
                    and block.end_id(at, leaves=leaves).startswith("slice")
                ):
                    part = block.grid_slice(at, link.pick.color, kinds)
                    if part.id not in slices or kinds:
                        slices[part.id] = part
        return list(slices.values())

    def _ends(self, link: Link) -> list[tuple[TensorBlock, At, bool]]:
        blocks = {block.excerpt.name: block for block in self.blocks}
        source, target = (blocks[name] for name in link.tensors)
        return [(source, link.source, True), (target, link.target, False)]

    def arrows(self) -> Iterator[Arrow]:
        """Yield the arrows, those of an index that points nowhere by way of its place outside."""
        done = set[tuple[str, str]]()
        for link in self.links:
            pick = link.pick
            kinds = ["picks" if link.tensors[1] != "out" else "lands"]
            kinds += [_fate(pick.fate)] if pick.fate is not Fate.COPIED else []
            kinds += ["traced"] if self._is_traced(link) else []
            (source, from_at, _), (target, to_at, _) = self._ends(link)
            if pick.unit is None:
                yield from self._by_nowhere(link, kinds)
                continue
            ends = source.end_id(from_at, leaves=True), target.end_id(to_at, leaves=False)
            if ends in done:
                continue
            done.add(ends)
            bend = None
            if kinds[0] == "picks" and self._bends(pick):
                kinds.append("negative")
                box = self.data.box
                bend = (box.right if self.down else box.bottom) + NOWHERE_GAP
            stops = source.stop(from_at, leaves=True), target.stop(to_at, leaves=False)
            d = route(*stops, down=self.down, bend=bend)
            yield Arrow(*ends, d, pick.color, tuple(kinds))

    def _bends(self, pick: Pick) -> bool:
        if pick.position is None:
            return False
        return any(k < 0 <= n for k, n in zip(numbers(pick.k), numbers(pick.position), strict=True))

    def _by_nowhere(self, link: Link, kinds: list[str]) -> Iterator[Arrow]:
        if self.nowhere is None:
            return
        box = turned(self.nowhere) if self.down else self.nowhere
        ghost, name = Stop(box, box), slice_id("outside", self.panel)
        index = cell_id(self.lesson.name, link.pick.at)
        if kinds[0] == "lands":
            (_, _, _), (target, to_at, _) = self._ends(link)
            d = route(ghost, target.stop(to_at, leaves=False), down=self.down)
            yield Arrow(name, target.end_id(to_at, leaves=False), d, None, tuple(kinds))
            kinds = ["picks", *kinds[1:]]
        d = route(self.indices.stop(link.pick.at, leaves=True), ghost, down=self.down)
        yield Arrow(index, name, d, None, tuple(kinds))


def _fate(fate: Fate) -> str:
    return fate.name.lower()


def _is_within(inner: Box, outer: Box) -> bool:
    x, y = inner.center
    return outer.x <= x <= outer.right and outer.y <= y <= outer.bottom
