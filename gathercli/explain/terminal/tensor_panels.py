"""The tensors of a lesson as parts of a picture: cells, positions, letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gathercli.compute.cells import elements_at
from gathercli.compute.tensor import Tensor
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import arrays
from gathercli.explain.terminal.layout import Cell, Line, Placement, TensorPart
from gathercli.explain.terminal.trace import TARGETS, index_text, unit_text, writer
from gathercli.report.palette import REFUSED, STYLES
from gathercli.spec.coordinates import flat_positions
from gathercli.spec.dtypes import STRING, Kind, described
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.lesson import Index, Trace
    from gathercli.explain.selection import Selection

TIMES, HIDDEN = "read n times", "read by what is hidden"
"""Marks to explain in a legend, in addition to the fates of indices."""


class Parts:
    """The tensors of a selection as parts of a picture.

    Attributes
    ----------
    styles
        The style of each unit with a letter.
    seen
        The marks to explain in a legend: fates, `TIMES`, `HIDDEN`; complete after drawing.
    traced
        The traces of the output cells drawn so far.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._lesson, self._look = selection.lesson, selection.look
        self._lead, self._letters = selection.lead, selection.letters
        self._write = writer(self._lesson, self._look)
        self.styles = {unit: STYLES[n % len(STYLES)] for n, unit in enumerate(self._letters)}
        self.seen: set[Fate | str] = set()
        self.traced: list[Trace] = []

    def of(self, panel: tuple[int, ...]) -> list[TensorPart]:
        """Return the parts of a panel: `data`, indices, output."""
        return [self._data_part(panel), self._indices_part(panel), self._out_part(panel)]

    def _title(self, name: str, tensor: object) -> Line:
        return [(name, "bold"), ("" if self._lead else f" {tensor}", "")]

    def _part(
        self,
        title: Line,
        shape: tuple[int, ...],
        coordinates: Sequence[Sequence[int]],
        labelled: set[int],
    ) -> TensorPart:
        """Return a part without cells; its labels depend on the dimensions `labelled`."""
        lead = self._lead
        inner = tuple(coordinates[lead:])
        place = _place({d - lead for d in labelled if d >= lead}, len(inner))
        if place is Placement.COLUMN and not self._letters:
            place = Placement.ROW  # there are no labels to stand above columns
        return TensorPart(title, shape[lead:], inner, place, lambda _: Cell("", ""))

    def _data_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson = self._lesson
        dtype, array = lesson.data.dtype, lesson.data.array
        coords = self._selection.coordinates(panel, self._selection.data)
        elements = Tensor(dtype, elements_at(array, arrays(coords, array.ndim))).values().tolist()
        values = dict(zip(coords, elements, strict=True))
        units = set(lesson.unit_dims)
        reads, marks = lesson.reads, self._look.marks
        here = self._here()

        def cell(inner: tuple[int, ...]) -> Cell:
            at = (*panel, *inner)
            unit = tuple(n if d in units else None for d, n in enumerate(at))
            times = reads.of(unit) if reads else 0
            label = self._letters.get(unit, marks.hidden if times else "")
            style = "dim" if reads and not times else self.styles.get(unit, "")
            if times > 1 and lesson.picks_cells:
                label += f"{marks.times}{times}"
                self.seen.add(TIMES)
            if times and unit not in self._letters:
                self.seen.add(HIDDEN)
            return marked(
                Cell(label, self._write(values[at]), style=style),
                here is not None and here.data == at,
            )

        name, operand = next(iter(lesson.call.inputs.items()))
        part = self._part(self._title(name, operand), array.shape, self._selection.data, units)
        return part._replace(
            cell=cell,
            lead=panel,
            facets=self._selection.facets(panel),
            floats=dtype.kind is Kind.FLOAT,
            left=dtype is STRING,
        )

    def _indices_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson, marks = self._lesson, self._look.marks
        rank = len(lesson.index_shape)
        coords = self._selection.coordinates(panel, self._selection.indices)
        resolved = dict(zip(coords, self._selection.resolved(coords), strict=True))
        here = self._here()

        def cell(inner: tuple[int, ...]) -> Cell:
            at = (*panel, *inner)
            k, position = resolved[at]
            fate = lesson.fate(k, position)
            place = lesson.place(position)
            label, style = self._label(at, place, fate)
            self.seen.add(fate)
            text = index_text(k)
            target = TARGETS[fate] if place is None else index_text(place)
            tail = "" if target == text else f"{marks.arrow}{target}"
            return marked(Cell(label, text, tail, style), here is not None and here.indices == at)

        name = lesson.name
        title = self._title(name, lesson.call.inputs[name])
        part = self._part(title, lesson.index_shape, self._selection.indices, {*range(rank)})
        return part._replace(cell=cell, lead=panel)

    def _out_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson = self._lesson
        coords = self._selection.coordinates(panel, self._selection.out)
        traces = dict(zip(coords, self._traces(coords), strict=True))
        self.traced += traces.values()

        def cell(inner: tuple[int, ...]) -> Cell:
            trace = traces[(*panel, *inner)]
            label, style = self._label(trace.indices, trace.position, trace.fate)
            text = "" if trace.fate is Fate.REFUSED else self._write(trace.value)
            return marked(Cell(label, text, style=style), self._look.here == trace.out)

        def note(inner: tuple[int, ...]) -> Line:
            first = [each[0] for each in part.coordinates[len(inner) :]]
            at = (*panel, *inner)
            return [(self._source(traces[(*at, *first)], len(at)), "")]

        labelled = {j for j, (_, i) in enumerate(lesson.dim_map) if i is not None}
        dtype = lesson.data.dtype
        title = self._title("out", described(dtype, Shape(lesson.shape).inner()))
        part = self._part(title, lesson.panel_shape, self._selection.out, labelled)
        # Without panels, each row or facet that comes from one place has a note on it.
        whole = not self._lead and self._look.here is None and bool(part.shape)
        return part._replace(
            cell=cell,
            note=note if whole and part.place in (Placement.ROW, Placement.FACET) else None,
            lead=lesson.joined(panel),
            across=lesson.out_is_row(self._lead),
            floats=dtype.kind is Kind.FLOAT,
            left=dtype is STRING,
        )

    def _traces(self, coords: list[tuple[int, ...]]) -> Iterator[Trace]:
        shape = self._lesson.panel_shape
        cells = flat_positions(arrays(coords, len(shape)), shape, none=np.zeros(len(coords), bool))
        return self._lesson.traces(cells)

    def _here(self) -> Trace | None:
        return None if self._look.here is None else self._lesson.trace(*self._look.here)

    def _label(self, at: tuple[int, ...], position: Index | None, fate: Fate) -> tuple[str, str]:
        """Return the letter and the style of the unit that an index picks."""
        unit = self._lesson.unit(at, position)
        if unit is not None:
            return self._letters.get(unit, ""), self.styles.get(unit, "")
        marks = self._look.marks
        return (marks.nowhere, "italic") if fate is Fate.FILLED else (marks.refused, REFUSED)

    def _source(self, trace: Trace, rank: int) -> str:
        """Format the source of the cells that share the first `rank` coordinates of one.

        ``data[3,:]`` is that of a row.
        """
        if trace.data is None:
            return "zeros" if trace.fate is Fate.FILLED else "refused"
        dims = (d for d, i in self._lesson.dim_map[rank:] if d is not None and i is None)
        along = set(map(self._lesson.data_dim, dims))
        return unit_text(tuple(None if d in along else n for d, n in enumerate(trace.data)))


def marked(cell: Cell, here: bool) -> Cell:
    """Mark a cell if it is the current one."""
    return cell._replace(here=here)


def _place(labelled: set[int], rank: int) -> Placement:
    """Return the placement of labels: at the smallest part with only one."""
    if rank < 2:
        return Placement.ROW
    inner = {d for d in labelled if d >= rank - 2}
    if not inner:
        return Placement.FACET if labelled else Placement.ROW
    if inner == {rank - 2}:
        return Placement.ROW
    return Placement.COLUMN if inner == {rank - 1} else Placement.CELL
