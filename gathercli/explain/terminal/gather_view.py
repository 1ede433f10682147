"""Gathers along an axis in characters and as JSON.

In a picture a letter, with a colour on a terminal, marks a part of `data`, the indices that pick it
and the cells it is copied to. Only the cells of the picture are read and formatted.
"""

from __future__ import annotations

from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from gathercli.explain.gather_panel import GatherPanel
from gathercli.explain.lesson import Lesson
from gathercli.explain.panel import unit_text
from gathercli.explain.provenance import Fate
from gathercli.explain.selection import ROW_LIMITS, Selection, lead_of, sizes
from gathercli.explain.terminal.layout import Line, flat, joined, letter_style
from gathercli.explain.terminal.template import LEGEND_LETTERS, PanelView, View
from gathercli.explain.terminal.trace import trace_line, trace_steps, use
from gathercli.report import header
from gathercli.report.palette import REFUSED
from gathercli.spec.coordinates import cell
from gathercli.spec.shapes import Shape, product
from gathercli.text import counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.explain.lesson import Index, Trace
    from gathercli.explain.look import Look
    from gathercli.explain.selection import Limits


class GatherPanels(PanelView[Selection, GatherPanel]):
    """The panels and notes of a selection."""

    def __init__(self, selection: Selection) -> None:
        super().__init__(selection)
        self._lesson, self._lead, self._letters = (
            selection.lesson,
            selection.lead,
            selection.letters,
        )

    def panel(self, at: tuple[int, ...]) -> GatherPanel:
        """Read a panel."""
        return GatherPanel(self.selection, at)

    def panel_title(self, at: tuple[int, ...]) -> Line:
        """Return the name of a batch, or of a facet that all tensors share."""
        lesson = self._lesson
        if not at:
            return []
        name = f"batch {','.join(map(str, at))}"
        if len(lesson.shape) < len(lesson.panel_shape):  # one batch dimension in `out`
            name += f"{self.look.marks.arrow}{flat(at, lesson.panel_shape)}"
        if not lesson.call.batch_dims:
            name = f"[{','.join(map(str, at))}{',:' * (len(lesson.shape) - len(at))}]"
        return [(name, "bold")]

    def tensors(self) -> Text:
        """Format the types and shapes of the tensors, unless their titles do."""
        if not self._lead:
            return Text()
        return header.tensors(self._lesson.call, Shape(self._lesson.shape), self.look.width)

    def notes(self) -> Iterator[Line]:
        """Explain the letters and the marks, then trace examples."""
        lesson = self._lesson
        lines = list(self._legend())
        if examples := list(GATHERS.examples(lesson, self.panels, self._is_shown, self.look)):
            index = "tuple" if lesson.is_tuple else "index"
            lines += [[(f"the {index} {use(lesson, ' of data')}:", "dim")], *examples]
        yield from [[], *lines] if lines else []

    def _legend(self) -> Iterator[Line]:
        """Explain the letters, unless rows of the output have notes, and the marks."""
        lesson, marks, selection = self._lesson, self.look.marks, self.selection
        panels = self.panels
        fates = {cell.fate for panel in panels for cell in panel.indices.cells.values()}
        sources = [cell for panel in panels for cell in panel.data.cells.values()]
        entries: list[tuple[str, str, str]] = []
        if not any(panel.out.note for panel in panels) and len(self._letters) <= LEGEND_LETTERS:
            entries += [
                (letter, unit_text(unit), letter_style(n))
                for n, (unit, letter) in enumerate(self._letters.items())
            ]
        if any(cell.letter == marks.hidden for cell in sources):
            entries.append((marks.hidden, "read by indices that are not shown", ""))
        if Fate.FILLED in fates:
            entries.append((marks.nowhere, "zero-filled", "italic"))
        if Fate.REFUSED in fates:
            entries.append((marks.refused, "refused", REFUSED))
        if any(cell.mark for cell in sources):
            others = ", by what is not shown too" if self.hidden() else ""
            entries.append((f"{marks.times}n", f"read n times{others}", ""))
        if not selection.is_complete:
            entries.append(("", "no letter in indices: what it picks is not shown", "dim"))
        reads = lesson.reads if lesson.data.array.size else None
        if reads is not None and len(reads.units) < product(lesson.unit_sizes):
            entries.append(("", "no letter: not read", "dim"))
        lines: list[Line] = [
            [(mark, style), (f" {meaning}" if mark else meaning, "")]
            for mark, meaning, style in entries
        ]
        yield from joined(lines, self.room)

    def _is_shown(self, trace: Trace) -> bool:
        unit = self._lesson.unit(trace.indices, trace.position)
        return unit is None or unit in self._letters

    def hidden(self) -> str:
        """Describe how much of the output is hidden."""
        selection = self.selection
        lesson, lead = self._lesson, self._lead
        if not lesson.size:
            return ""
        facets = [len(coords) for coords in selection.out[lead:-2]]
        panels, data_facets = selection.panels, selection.facets(selection.panels[0])
        batches = ("batch", "batches") if lesson.call.batch_dims else ("facet", "facets")
        parts = [
            f"{grouped(count)} of {counted(size, *noun)}{of}"
            for count, size, noun, of in (
                (selection.cells, lesson.size, ("cell",), " of out"),
                (len(panels), product(lesson.panel_shape[:lead]), batches, ""),
                (product(facets), product(lesson.panel_shape[lead:-2]), ("facet",), " of out"),
                (len(data_facets), product(lesson.data.shape[lead:-2]), ("facet",), " of data"),
            )
            if count < size
        ]
        if not parts:
            return ""
        text = f"{listed(parts, 'and')} shown"
        if not self.look.window and selection.cells < lesson.size:
            text += f"; {self.look.advice}"
        lines = wrap(text, self.room, break_on_hyphens=False)  # keeps `--window`
        return text if len(parts) == 1 else "\n".join(lines)


class GatherView(View[Lesson, GatherPanels]):
    """The words and pictures of a gather along an axis."""

    trace_line = staticmethod(trace_line)
    trace_steps = staticmethod(trace_steps)

    def attempts(
        self, lesson: Lesson, look: Look, columns: Sequence[Limits]
    ) -> Iterator[tuple[GatherPanels, Sequence[bool]]]:
        """Yield views of ever fewer columns, and of fewer rows if need be."""
        for selection in _selections(lesson, look, columns):
            yield GatherPanels(selection), (False, True)

    def stacked_room(self, look: Look, room: int) -> int:
        """Return more room for tensors below each other where there is no terminal."""
        return room if look.width else 2 * room

    def panel_dims(self, lesson: Lesson) -> range:
        """Return the output dimensions that are panels of a picture."""
        return range(lead_of(lesson) - len(lesson.panel_shape) + len(lesson.shape))

    def reads(self, lesson: Lesson) -> str:
        """Say how much of the data is read."""
        if not lesson.data.array.size:
            return "nothing: data is empty"
        noun = "cell" if lesson.picks_cells else "slice"
        if lesson.reads is None:
            indices = counted(product(lesson.index_shape), "index", "indices")
            return f"not counted: there are {indices}"
        units = grouped(len(lesson.reads.units))
        return f"{units} of {counted(product(lesson.unit_sizes), noun)} of data"

    def reads_json(self, lesson: Lesson) -> dict[str, Any]:
        """Return how many units of the data are read, for JSON."""
        return {
            "dimensions": lesson.unit_dims,
            "parts": None if lesson.reads is None else len(lesson.reads.units),
            "of": product(lesson.unit_sizes),
        }

    def cells_json(self, lesson: Lesson, cells: AnyArray) -> Iterator[str]:
        """Yield the JSON of output cells from their flat positions, shape (C,), int64."""
        from gathercli.io.formats.encode import json_texts

        block = lesson.block(cells)
        return map(partial(_cell_json, lesson), block.rows(), json_texts(block.elements))


GATHERS: Final = GatherView()


def _selections(lesson: Lesson, look: Look, most: Sequence[Limits]) -> Iterator[Selection]:
    """Yield selections by preference: of ever fewer columns, and of fewer rows if need be."""
    if look.here is not None:
        whole = Selection(lesson, look, ROW_LIMITS[0], most[0], whole=True)
        if whole.is_complete and whole.cells == lesson.size:
            yield whole
    limits = sizes(most)
    if look.height is None:
        limits.sort(key=lambda pair: pair[0][0] > 0)
    before: Selection | None = None
    for number, ((_, rows), (_, columns)) in enumerate(limits):
        if number == len(most) and look.height is None and before and not before.depends_on_rows:
            return
        selection = Selection(lesson, look, rows, columns)
        if before is None or (before.out, before.data) != (selection.out, selection.data):
            yield selection
        before = selection


def _cell_json(lesson: Lesson, row: tuple[Any, ...], value: str) -> str:
    out, at, data, k, position = row
    fate = lesson.fate(k, position)
    copied = fate is Fate.COPIED
    return (
        f'{{"out":{cell(out)},"indices":{cell(at)},"index":{_index_json(k)},'
        f'"position":{_index_json(lesson.place(position))},'
        f'"data":{cell(data) if copied else "null"},"fate":"{fate.value}",'
        f'"value":{"null" if fate is Fate.REFUSED else value}}}'
    )


def _index_json(k: Index | None) -> str:
    if k is None:
        return "null"
    return cell(k) if isinstance(k, tuple) else str(k)
