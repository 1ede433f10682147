"""Gathers along an axis in words, in pictures and as JSON.

In a picture a letter, with a colour on a terminal, marks a part of `data`, the indices that pick it
and the cells it is copied to. Only the cells of the picture are read and formatted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from rich.text import Text

from gathercli.compute.storage import AnyArray
from gathercli.explain.gather_panel import gather_panel
from gathercli.explain.gather_provenance import GatherProvenance, Index, Trace, numbers
from gathercli.explain.panel import (
    MOST_LEGEND_LETTERS,
    MOST_READ_OUT,
    REFUSED_STYLE,
    Ends,
    Limits,
    Line,
    Look,
    Marks,
    Panel,
    PictureParts,
    View,
    index_text,
    unit_text,
    writer,
)
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import ROW_LIMITS, Selection, examples, lead_of, sizes
from gathercli.explain.terminal.layout import joined, letter_style
from gathercli.report import header
from gathercli.spec.shapes import Shape, cell, product
from gathercli.spec.shapes import at as cell_of
from gathercli.text import counted, grouped, listed


class GatherView(View):
    """The words and pictures of a gather along an axis."""

    part = "part of data"
    linked = ("index", "indices")
    choice = Selection
    stacks_widely = True

    def __init__(self, provenance: GatherProvenance) -> None:
        self.provenance: GatherProvenance = provenance
        joins = len(provenance.panel_shape) - len(provenance.shape)
        self.panel_dims = range(lead_of(provenance) - joins)
        self.axis_words = [words for words, _ in provenance.axis_lines]
        replaced = re.finditer(rf"{provenance.name}(?:\[[^]]*])?", provenance.equation)
        self.spans = [(*each.span(), "replaced") for each in replaced]
        if provenance.axes:
            self.emphasis = ["bold: by index"]

    def attempts(
        self, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[Selection, Sequence[bool]]]:
        """Yield choices of ever fewer columns, and of fewer rows if need be."""
        ways = (False, True)
        if look.here is not None:
            whole = self.select(look, ROW_LIMITS[0], columns[0], whole=True)
            if whole.is_complete and whole.cells == self.provenance.size:
                yield whole, ways
        limits = sizes(columns)
        if look.height is None:
            limits.sort(key=lambda pair: pair[0][0] > 0)
        before: Selection | None = None
        for number, ((_, rows), (_, most)) in enumerate(limits):
            is_narrowest = number == len(columns) and look.height is None
            if is_narrowest and before and not before.depends_on_rows:
                return
            selection = self.select(look, rows, most)
            if before is None or before.coordinates != selection.coordinates:
                yield selection, ways
            before = selection

    def panel(self, selection: Selection, at: tuple[int, ...]) -> Panel:
        """Read a panel."""
        return gather_panel(selection, at)

    def tensors(self, selection: Selection, room: int) -> Text:
        """Format the types and shapes of the tensors, unless their titles do."""
        del room
        if not selection.lead:
            return Text()
        shape = Shape(self.provenance.shape)
        return header.tensors(self.provenance.call, shape, selection.look.width)

    def notes(self, selection: Selection, panels: Sequence[Panel], room: int) -> Iterator[Line]:
        """Explain the letters and the marks, then trace examples."""
        lines = list(joined(self._legend(selection, panels), room))
        if traced := examples(self, selection.look, panels):
            index = "tuple" if self.provenance.is_tuple else "index"
            lines += [[(f"the {index} {self._use(' of data')}:", "dim")], *traced]
        yield from [[], *lines] if lines else []

    def _legend(self, selection: Selection, panels: Sequence[Panel]) -> Iterator[Line]:
        """Explain the letters, unless rows of the output have notes, and the marks."""
        provenance, marks, letters = self.provenance, selection.look.marks, selection.letters
        fates = {cell.fate for panel in panels for cell in panel.tensors[1].cells.values()}
        sources = [cell for panel in panels for cell in panel.tensors[0].cells.values()]
        if (
            not any(panel.tensors[2].note for panel in panels)
            and len(letters) <= MOST_LEGEND_LETTERS
        ):
            for n, (unit, letter) in enumerate(letters.items()):
                yield [(letter, letter_style(n)), (f" {unit_text(unit)}", "")]
        if any(cell.letter == marks.hidden for cell in sources):
            yield [(f"{marks.hidden} read by indices that are not shown", "")]
        if Fate.FILLED in fates:
            yield [(marks.nowhere, "italic"), (f" {self.provenance.call.outside.done}", "")]
        if Fate.REFUSED in fates:
            yield [(marks.refused, REFUSED_STYLE), (" refused", "")]
        if any(cell.mark for cell in sources):
            hidden = self.hidden(selection, self.parts(selection, drawn=False))
            others = ", by what is not shown too" if hidden else ""
            yield [(f"{marks.times}n read n times{others}", "")]
        if not selection.is_complete:
            yield [("no letter in indices: what it picks is not shown", "")]
        reads = provenance.reads if provenance.data.array.size else None
        if reads is not None and len(reads.units) < product(provenance.unit_sizes):
            yield [("no letter: not read", "")]

    def parts(self, selection: Selection, *, drawn: bool) -> PictureParts:
        """Count the cells, batches and facets in a picture."""
        provenance, lead = self.provenance, selection.lead
        if not (provenance.size or drawn):
            return []
        panels, shapes = selection.panels, (provenance.panel_shape, provenance.data.shape)
        batches = ("batch", "batches") if provenance.call.batch_dims else ("facet", "facets")
        out, data = (product(shape[lead:-2]) for shape in shapes)
        facets = product([len(coords) for coords in selection.out[lead:-2]])
        parts: PictureParts = [
            (selection.cells, provenance.size, ("cell of out", "cells of out")),
            (len(panels), product(provenance.panel_shape[:lead]), batches),
        ]
        if not drawn:
            parts.append((facets, out, ("facet of out", "facets of out")))
        if panels:
            shown = len(selection.facets[panels[0]])
            parts.append((shown, data, ("facet of data", "facets of data")))
        return parts

    def reads(self) -> str:
        """Say how much of the data is read."""
        provenance = self.provenance
        if not provenance.data.array.size:
            return "nothing: data is empty"
        if provenance.reads is None:
            indices = counted(product(provenance.index_shape), "index", "indices")
            return f"not counted: there are {indices}"
        noun = "cell" if provenance.picks_cells else "slice"
        units = grouped(len(provenance.reads.units))
        return f"{units} of {counted(product(provenance.unit_sizes), noun)} of data"

    def reads_json(self) -> dict[str, Any]:
        """Return how many units of the data are read, for JSON."""
        reads = self.provenance.reads
        return {
            "dimensions": self.provenance.unit_dims,
            "parts": None if reads is None else len(reads.units),
            "of": product(self.provenance.unit_sizes),
        }

    def cells_json(self, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
        from gathercli.io.formats.encode import json_texts

        block = self.provenance.block(cells)
        return map(partial(_cell_json, self.provenance), block.rows(), json_texts(block.elements))

    def ends(self, trace: Trace) -> Ends:
        """Return the index of a cell, and its source."""
        data = None if trace.data is None else (self.provenance.data_name, trace.data)
        return Ends((self.provenance.name, trace.indices), data, numbers(trace.k))

    def sentences(self, panels: Sequence[Panel]) -> Iterator[str]:
        """Say what each index picks, and count the others."""
        every = chain.from_iterable(panel.sentences for panel in panels)
        said = list(islice(every, MOST_READ_OUT))
        yield from said
        rest = product(self.provenance.index_shape) - len(said) if panels else 0
        if rest > 0:
            yield f"{counted(rest, 'more index', 'more indices')}."

    def trace_line(self, trace: Trace, look: Look) -> Line:
        """Trace a cell in one line: ``out[0,1] = data[indices[0], 1] = data[3,1] = 20``."""
        provenance = self.provenance
        pairs = zip(provenance.dim_map, provenance.apart(trace.out), strict=True)
        out = {d: n for (d, _), n in pairs if d is not None}
        line: Line = [(_cell("out", trace.out), "")]
        for index in (_cell(provenance.name, trace.indices), self._resolved(trace, look.marks)):
            line.append((" = data[", ""))
            for d in range(len(provenance.view)):
                line.append(("," if d else "", ""))
                line.append((index, "bold") if d == provenance.axis else (str(out[d]), ""))
            line.append(("]", ""))
        if trace.fate is Fate.REFUSED:
            return [*line, (": ", ""), ("refused", REFUSED_STYLE)]
        return [*line, (f" = {writer(provenance.data, look)(trace.value)}", "")]

    def trace_steps(self, trace: Trace, look: Look) -> Iterator[Line]:
        """Trace a cell step by step, in words and coordinates."""
        provenance = self.provenance
        pairs = zip(provenance.letters, provenance.apart(trace.out), strict=True)
        runs = ", ".join(f"{name} = {at}" for name, at in pairs)
        yield [(_cell("out", trace.out), "bold"), (f"   {runs}" if runs else "", "")]
        yield [(f"  {_cell(provenance.name, trace.indices)} is {index_text(trace.k)}", "")]
        for meaning in self._meanings(trace):
            yield [(f"  {meaning}", "")]
        if trace.position is not None and trace.data is not None:
            index = index_text(trace.position) if provenance.is_tuple else "it"
            yield [(f"  {index} {self._use()}: {_cell('data', trace.data)}", "")]
        yield [("  ", ""), *self.trace_line(trace, look)]

    def _places(self, trace: Trace) -> Sequence[int]:
        """Return the position of each number of an index, or -1."""
        if trace.position is None:
            return self.provenance.components(trace.k)
        return numbers(trace.position)

    def _resolved(self, trace: Trace, marks: Marks) -> str:
        """Format an index, with the position of each of its numbers that differs."""
        words = [
            str(k) if k == at >= 0 else f"{k}{marks.arrow}{'none' if at < 0 else at}"
            for k, at in zip(numbers(trace.k), self._places(trace), strict=True)
        ]
        return f"({','.join(words)})" if self.provenance.is_tuple else words[0]

    def _use(self, of: str = "") -> str:
        """Describe which coordinates of `data` an index replaces, and of an element which stay."""
        provenance = self.provenance
        if not provenance.axes:
            batch = "its batch of " if provenance.call.batch_dims else ""
            return f"has no numbers, so it picks all of {batch}data"
        text = f"takes the place of {_coordinates(provenance.axes)}{of}"
        staying = [d for d in provenance.unit_dims if d not in provenance.axes]
        if not provenance.call.op.elementwise or not staying:
            return text
        return f"{text}; {_coordinates(staying)} {'stays' if len(staying) == 1 else 'stay'}"

    def _meanings(self, trace: Trace) -> Iterator[str]:
        provenance, call = self.provenance, self.provenance.call
        places = self._places(trace)
        each = zip(numbers(trace.k), places, provenance.axes, provenance.along, strict=True)
        for k, position, dim, along in each:
            axis, it = f"axis {dim}, whose size is {along.size}", k if provenance.is_tuple else "it"
            if position < 0:
                done = provenance.fill_words if trace.fate is Fate.FILLED else "refused"
                yield f"{k} points nowhere on {axis}: {done}"
            elif position == k:
                yield f"{it} is a position on {axis}"
            elif call.wraps_negative and k < 0 and position == k + along.size:
                yield f"{it} counts from the end of {axis}: {k} + {along.size} = {position}"
            else:
                yield f"{it} is outside {axis}: {call.outside.done} to {position}"


def _coordinates(dims: Sequence[int]) -> str:
    return f"{'coordinate' if len(dims) == 1 else 'coordinates'} {listed(map(str, dims), 'and')}"


def _cell(tensor: str, at: Sequence[int]) -> str:
    """Format a cell with its coordinates: ``data[3,1]``."""
    return cell_of(tensor, [",".join(map(str, at))] if at else [])


def _cell_json(provenance: GatherProvenance, row: tuple[Any, ...], value: str) -> str:
    out, at, data, k, position = row
    fate = provenance.fate(k, position)
    copied = fate is Fate.COPIED
    return (
        f'{{"out":{cell(out)},"indices":{cell(at)},"index":{_index_json(k)},'
        f'"position":{_index_json(provenance.place(position))},'
        f'"data":{cell(data) if copied else "null"},"fate":"{fate.value}",'
        f'"value":{"null" if fate is Fate.REFUSED else value}}}'
    )


def _index_json(k: Index | None) -> str:
    if k is None:
        return "null"
    return cell(k) if isinstance(k, tuple) else str(k)
