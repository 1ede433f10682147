"""Gathers along an axis in words, in pictures and as JSON.

In a picture a letter, with a colour on a terminal, marks a part of `data`, the indices that pick it
and the cells it is copied to. Only the cells of the picture are read and formatted.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from gathercli.explain.gather_panel import GatherPanel, axis_lines
from gathercli.explain.gather_provenance import GatherProvenance, numbers
from gathercli.explain.panel import coordinate_words, index_text, unit_text, writer
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import ROW_LIMITS, Selection, lead_of, sizes
from gathercli.explain.terminal.layout import Line, flat, joined, letter_style
from gathercli.explain.view import MOST_LEGEND_LETTERS, MOST_READ_OUT, Ends, View
from gathercli.report import header
from gathercli.report.palette import REFUSED_STYLE
from gathercli.spec.shapes import Shape, cell, product
from gathercli.spec.shapes import at as cell_of
from gathercli.text import counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.gather_panel import Pick
    from gathercli.explain.gather_provenance import Index, Trace
    from gathercli.explain.panel import Look, Marks
    from gathercli.explain.selection import Limits
    from gathercli.explain.view import PictureParts


def trace_line(provenance: GatherProvenance, trace: Trace, look: Look) -> Line:
    """Trace a cell in one line: ``out[0,1] = data[indices[0], 1] = data[3,1] = 20``."""
    pairs = zip(provenance.dim_map, provenance.apart(trace.out), strict=True)
    out = {d: n for (d, _), n in pairs if d is not None}
    line: Line = [(_cell("out", trace.out), "")]
    for index in (_cell(provenance.name, trace.indices), _resolved(provenance, trace, look.marks)):
        line.append((" = data[", ""))
        for d in range(len(provenance.view)):
            line.append(("," if d else "", ""))
            line.append((index, "bold") if d == provenance.axis else (str(out[d]), ""))
        line.append(("]", ""))
    if trace.fate is Fate.REFUSED:
        return [*line, (": ", ""), ("refused", REFUSED_STYLE)]
    return [*line, (f" = {writer(provenance.data, look)(trace.value)}", "")]


def _resolved(provenance: GatherProvenance, trace: Trace, marks: Marks) -> str:
    """Format an index, with the position of each of its numbers that differs."""
    pairs = zip(numbers(trace.k), _places(provenance, trace), strict=True)
    words = [
        str(k) if k == position >= 0 else f"{k}{marks.arrow}{'none' if position < 0 else position}"
        for k, position in pairs
    ]
    return f"({','.join(words)})" if provenance.is_tuple else words[0]


def _places(provenance: GatherProvenance, trace: Trace) -> Sequence[int]:
    """Return the position of each number of an index, or -1."""
    return provenance.components(trace.k) if trace.position is None else numbers(trace.position)


def trace_steps(provenance: GatherProvenance, trace: Trace, look: Look) -> Iterator[Line]:
    """Trace a cell step by step, in words and coordinates."""
    pairs = zip(provenance.letters, provenance.apart(trace.out), strict=True)
    runs = ", ".join(f"{name} = {at}" for name, at in pairs)
    yield [(_cell("out", trace.out), "bold"), (f"   {runs}" if runs else "", "")]
    yield [(f"  {_cell(provenance.name, trace.indices)} is {index_text(trace.k)}", "")]
    for meaning in _meanings(provenance, trace):
        yield [(f"  {meaning}", "")]
    if trace.position is not None and trace.data is not None:
        index = index_text(trace.position) if provenance.is_tuple else "it"
        yield [(f"  {index} {use(provenance)}: {_cell('data', trace.data)}", "")]
    yield [("  ", ""), *trace_line(provenance, trace, look)]


def use(provenance: GatherProvenance, of: str = "") -> str:
    """Describe which coordinates of `data` an index replaces, and of an element which stay.

    ``takes the place of coordinate 0 of data; coordinate 1 stays``
    """
    if not provenance.axes:
        batch = "its batch of " if provenance.call.batch_dims else ""
        return f"has no numbers, so it picks all of {batch}data"
    text = f"takes the place of {_coordinates(provenance.axes)}{of}"
    staying = [d for d in provenance.unit_dims if d not in provenance.axes]
    if not provenance.call.op.elementwise or not staying:
        return text
    return f"{text}; {_coordinates(staying)} {'stays' if len(staying) == 1 else 'stay'}"


def _coordinates(dims: Sequence[int]) -> str:
    return f"{'coordinate' if len(dims) == 1 else 'coordinates'} {listed(map(str, dims), 'and')}"


def _meanings(provenance: GatherProvenance, trace: Trace) -> Iterator[str]:
    """Explain the position of each number of an index."""
    call = provenance.call
    each = zip(
        numbers(trace.k), _places(provenance, trace), provenance.axes, provenance.along, strict=True
    )
    for k, position, dim, along in each:
        axis, it = f"axis {dim}, whose size is {along.size}", k if provenance.is_tuple else "it"
        if position < 0:
            done = "zeros" if trace.fate is Fate.FILLED else "refused"
            yield f"{k} points nowhere on {axis}: {done}"
        elif position == k:
            yield f"{it} is a position on {axis}"
        elif call.wraps_negative and k < 0 and position == k + along.size:
            yield f"{it} counts from the end of {axis}: {k} + {along.size} = {position}"
        else:
            yield f"{it} is outside {axis}: {call.outside.done} to {position}"


def _cell(tensor: str, at: Sequence[int]) -> str:
    """Format a cell with its coordinates: ``data[3,1]``."""
    return cell_of(tensor, [",".join(map(str, at))] if at else [])


class GatherView(View[GatherProvenance, Selection, GatherPanel]):
    """The words and pictures of a gather along an axis."""

    part = "part of data"
    linked = ("index", "indices")
    trace_line = staticmethod(trace_line)
    trace_steps = staticmethod(trace_steps)

    def select(
        self, provenance: GatherProvenance, look: Look, rows: Limits, columns: Limits
    ) -> Selection:
        """Choose what to show within limits of rows and columns."""
        return Selection(provenance, look, rows, columns)

    def attempts(
        self, provenance: GatherProvenance, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[Selection, Sequence[bool]]]:
        """Yield choices of ever fewer columns, and of fewer rows if need be."""
        for selection in _selections(provenance, look, columns):
            yield selection, (False, True)

    def panel(self, selection: Selection, at: tuple[int, ...]) -> GatherPanel:
        """Read a panel."""
        return GatherPanel(selection, at)

    def panel_dims(self, provenance: GatherProvenance) -> range:
        """Return the output dimensions that are panels of a picture."""
        return range(lead_of(provenance) - len(provenance.panel_shape) + len(provenance.shape))

    def panel_title(self, selection: Selection, at: tuple[int, ...]) -> Line:
        """Return the name of a batch, or of a facet that all tensors share."""
        provenance = selection.provenance
        if not at:
            return []
        name = f"batch {','.join(map(str, at))}"
        if len(provenance.shape) < len(provenance.panel_shape):  # one batch dimension in `out`
            name += f"{selection.look.marks.arrow}{flat(at, provenance.panel_shape)}"
        if not provenance.call.batch_dims:
            name = f"[{','.join(map(str, at))}{',:' * (len(provenance.shape) - len(at))}]"
        return [(name, "bold")]

    def tensors(self, selection: Selection, room: int) -> Text:
        """Format the types and shapes of the tensors, unless their titles do."""
        del room
        provenance = selection.provenance
        if not selection.lead:
            return Text()
        return header.tensors(provenance.call, Shape(provenance.shape), selection.look.width)

    def room(self, look: Look, room: int) -> int:
        """Return more room for tensors below each other where there is no terminal."""
        return room if look.width else 2 * room

    def notes(
        self, selection: Selection, panels: Sequence[GatherPanel], room: int
    ) -> Iterator[Line]:
        """Explain the letters and the marks, then trace examples."""
        provenance = selection.provenance
        lines = list(joined(self._legend(selection, panels), room))
        if examples := self.examples(selection, panels):
            index = "tuple" if provenance.is_tuple else "index"
            lines += [[(f"the {index} {use(provenance, ' of data')}:", "dim")], *examples]
        yield from [[], *lines] if lines else []

    def _legend(self, selection: Selection, panels: Sequence[GatherPanel]) -> Iterator[Line]:
        """Explain the letters, unless rows of the output have notes, and the marks."""
        provenance, marks, letters = selection.provenance, selection.look.marks, selection.letters
        fates = {cell.fate for panel in panels for cell in panel.indices.cells.values()}
        sources = [cell for panel in panels for cell in panel.data.cells.values()]
        if not any(panel.out.note for panel in panels) and len(letters) <= MOST_LEGEND_LETTERS:
            for n, (unit, letter) in enumerate(letters.items()):
                yield [(letter, letter_style(n)), (f" {unit_text(unit)}", "")]
        if any(cell.letter == marks.hidden for cell in sources):
            yield [(f"{marks.hidden} read by indices that are not shown", "")]
        if Fate.FILLED in fates:
            yield [(marks.nowhere, "italic"), (" zero-filled", "")]
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

    def is_followed(self, selection: Selection, trace: Trace) -> bool:
        """Return whether the part that an index picks is in the picture, if it picks one."""
        unit = selection.provenance.unit(trace.indices, trace.position)
        return unit is None or unit in selection.letters

    def parts(self, selection: Selection, *, drawn: bool) -> PictureParts:
        """Count the cells, batches and facets in a picture."""
        provenance, lead = selection.provenance, selection.lead
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
            shown = len(selection.facets(panels[0]))
            parts.append((shown, data, ("facet of data", "facets of data")))
        return parts

    def reads(self, provenance: GatherProvenance) -> str:
        """Say how much of the data is read."""
        if not provenance.data.array.size:
            return "nothing: data is empty"
        noun = "cell" if provenance.picks_cells else "slice"
        if provenance.reads is None:
            indices = counted(product(provenance.index_shape), "index", "indices")
            return f"not counted: there are {indices}"
        units = grouped(len(provenance.reads.units))
        return f"{units} of {counted(product(provenance.unit_sizes), noun)} of data"

    def reads_json(self, provenance: GatherProvenance) -> dict[str, Any]:
        """Return how many units of the data are read, for JSON."""
        return {
            "dimensions": provenance.unit_dims,
            "parts": None if provenance.reads is None else len(provenance.reads.units),
            "of": product(provenance.unit_sizes),
        }

    def cells_json(self, provenance: GatherProvenance, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
        from gathercli.io.formats.encode import json_texts

        block = provenance.block(cells)
        return map(partial(_cell_json, provenance), block.rows(), json_texts(block.elements))

    def ends(self, provenance: GatherProvenance, trace: Trace) -> Ends:
        """Return the index of a cell, and its source."""
        data = None if trace.data is None else (next(iter(provenance.call.inputs)), trace.data)
        return Ends((provenance.name, trace.indices), data, numbers(trace.k))

    def sentences(
        self, provenance: GatherProvenance, panels: Sequence[GatherPanel]
    ) -> Iterator[str]:
        """Say what each index picks, and count the others."""
        picks = [pick for panel in panels for pick in panel.picks.values()][:MOST_READ_OUT]
        yield from (_sentence(provenance, pick) for pick in picks)
        rest = product(provenance.index_shape) - len(picks) if panels else 0
        if rest > 0:
            yield f"{counted(rest, 'more index', 'more indices')}."

    def spans(self, provenance: GatherProvenance) -> Iterator[tuple[int, int, str]]:
        """Yield the coordinates in the equation that an index replaces, and those that stay."""
        equation = provenance.equation
        start = equation.find("= data[") + len("= data[")
        stays = provenance.picks_cells and not (provenance.is_tuple or provenance.call.batch_dims)
        depth, begin = 0, start
        for at in range(start, len(equation)):
            each = equation[at]
            if depth == 0 and each in ",]":
                word = equation[begin:at]
                left = begin + len(word) - len(word.lstrip())
                if word.lstrip().startswith(provenance.name):
                    yield left, at, "replaced"
                elif stays and word.strip():
                    yield left, at, "stays"
                begin = at + 1
                if each == "]":
                    return
            depth += (each == "[") - (each == "]")

    def axis_words(self, provenance: GatherProvenance) -> list[str]:
        """Return which axes an index names, which the batches share, and which stay."""
        return [words for words, _ in axis_lines(provenance)]

    def emphasis(self, provenance: GatherProvenance) -> list[str]:
        """Return what emphasis in the equation means."""
        stays = any(kind == "stays" for *_, kind in self.spans(provenance))
        return ["bold: by index", *["underlined: stays"] * stays] if provenance.axes else []


GATHERS: Final = GatherView()


def _selections(
    provenance: GatherProvenance, look: Look, most: Sequence[Limits]
) -> Iterator[Selection]:
    """Yield selections by preference: of ever fewer columns, and of fewer rows if need be."""
    if look.here is not None:
        whole = Selection(provenance, look, ROW_LIMITS[0], most[0], whole=True)
        if whole.is_complete and whole.cells == provenance.size:
            yield whole
    limits = sizes(most)
    if look.height is None:
        limits.sort(key=lambda pair: pair[0][0] > 0)
    before: Selection | None = None
    for number, ((_, rows), (_, columns)) in enumerate(limits):
        if number == len(most) and look.height is None and before and not before.depends_on_rows:
            return
        selection = Selection(provenance, look, rows, columns)
        if before is None or (before.out, before.data) != (selection.out, selection.data):
            yield selection
        before = selection


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


def _sentence(provenance: GatherProvenance, pick: Pick) -> str:
    """Say what an index picks, and for which part of the output: ``out[0,:]``."""
    name = f"{provenance.name}[{','.join(map(str, pick.at))}]" if pick.at else provenance.name
    at = provenance.joined(tuple(None if i is None else pick.at[i] for _, i in provenance.dim_map))
    to = f"out[{coordinate_words(at)}]" if at else "out"
    if pick.unit is None:
        done = "is refused" if pick.fate is Fate.REFUSED else f"points outside: {to} is zero"
        return f"{name} = {index_text(pick.k)} {done}."
    return f"{name} = {index_text(pick.k)} picks {unit_text(pick.unit)} for {to}."
