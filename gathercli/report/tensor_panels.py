"""What is shown of each tensor of a lesson: cells, where they point, and the letters they bear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.arrays.tensor import Tensor
from gathercli.lessons.lesson import Fate, Trace
from gathercli.report.layout import REFUSED, Cell, Line, Placement, TensorPart
from gathercli.report.selection import arrays
from gathercli.report.trace import unit_text, writer
from gathercli.spec.dtypes import STRING, Kind, described
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.lessons.lesson import Unit
    from gathercli.report.selection import Shown

STYLES: Final = ("cyan", "magenta", "green", "yellow", "bright_blue")

TIMES, HIDDEN = "read n times", "read by what is hidden"
"""What the legend has to explain, beside the fates of indices, once it was drawn."""


class Parts:
    """The tensors of a lesson as they are shown, each with its labels.

    Attributes
    ----------
    styles
        Of what has a letter.
    seen
        What a legend has to explain: the fates of shown indices, `TIMES`, `HIDDEN`; once drawn.
    traced
        The ways of the shown output cells; once made.
    """

    def __init__(self, shown: Shown) -> None:
        self._shown, self._lesson, self._look = shown, shown.lesson, shown.look
        self._lead, self._letters = shown.lead, shown.letters
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
        self, title: Line, shape: tuple[int, ...], shown: Sequence[Sequence[int]], tells: set[int]
    ) -> TensorPart:
        """Make a part without cells; `tells` are the dimensions on which labels depend."""
        lead = self._lead
        kept = tuple(shown[lead:])
        place = _place({d - lead for d in tells if d >= lead}, len(kept))
        if place is Placement.COLUMN and not self._letters:
            place = Placement.ROW  # there are no labels to stand above columns
        return TensorPart(title, shape[lead:], kept, place, lambda _: Cell("", ""))

    def _data_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson, tensor = self._lesson, self._lesson.data
        coords = self._shown.coordinates(panel, self._shown.data)
        values = (
            Tensor(tensor.dtype, tensor.array[arrays(coords, len(tensor.shape))]).values().tolist()
        )
        held = dict(zip(coords, values, strict=True))
        units = set(lesson.unit_dims)
        reads, marks = lesson.reads, self._look.marks
        here = self._here()

        def cell(at: tuple[int, ...]) -> Cell:
            whole = (*panel, *at)
            unit = tuple(n if d in units else None for d, n in enumerate(whole))
            times = reads.of(unit) if reads else 0
            label = self._letters.get(unit, marks.hidden if times else "")
            style = self._style(unit) if unit in self._letters else ""
            if reads and not times:
                style = "dim"
            if times > 1 and lesson.picks_cells:
                label += f"{marks.times}{times}"
                self.seen.add(TIMES)
            if times and unit not in self._letters:
                self.seen.add(HIDDEN)
            if here is not None and here.data == whole:
                return Cell(label, f"[{self._write(held[whole])}]", style=f"{style} reverse")
            return Cell(label, self._write(held[whole]), style=style)

        part = self._part(
            self._title("data", lesson.call.data), tensor.shape, self._shown.data, units
        )
        return part._replace(
            cell=cell,
            floats=tensor.dtype.kind is Kind.FLOAT,
            left=tensor.dtype is STRING,
        )

    def _indices_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson, marks = self._lesson, self._look.marks
        coords = self._shown.coordinates(panel, self._shown.indices)
        index, positions = lesson.positions(arrays(coords, len(lesson.indices.shape)))
        held = dict(
            zip(
                coords,
                zip(index.reshape(-1).tolist(), positions.reshape(-1).tolist(), strict=True),
                strict=True,
            )
        )
        here = self._here()

        def cell(at: tuple[int, ...]) -> Cell:
            whole = (*panel, *at)
            k, position = held[whole]
            fate = lesson.fate(k, position)
            label, style = self._label(whole, position, fate)
            self.seen.add(fate)
            where = str(position)
            if fate is not Fate.COPIED:
                where = "none" if fate is Fate.FILLED else "refused"
            tail = "" if where == str(k) and fate is Fate.COPIED else marks.arrow + where
            if here is not None and here.indices == whole:
                return Cell(label, f"[{k}]", tail, f"{style} reverse")
            return Cell(label, str(k), tail, style)

        shape = lesson.indices.shape
        part = self._part(
            self._title("indices", lesson.call.indices),
            shape,
            self._shown.indices,
            set(range(len(shape))),
        )
        return part._replace(cell=cell)

    def _out_part(self, panel: tuple[int, ...]) -> TensorPart:
        lesson = self._lesson
        coords = self._shown.coordinates(panel, self._shown.out)
        traces = {each.out: each for each in self._traces(coords)}
        self.traced += traces.values()
        here = self._look.here

        def cell(at: tuple[int, ...]) -> Cell:
            trace = traces[(*panel, *at)]
            label, style = self._label(trace.indices, _position(trace), trace.fate)
            text = "" if trace.fate is Fate.REFUSED else self._write(trace.value)
            if here == trace.out:
                return Cell(label, f"[{text}]", style=f"{style} reverse")
            return Cell(label, text, style=style)

        def note(at: tuple[int, ...]) -> Line:
            last = [part.shown[-1][0]] if len(at) < len(part.shown) else []
            trace = traces[(*panel, *at, *last)]
            _, style = self._label(trace.indices, _position(trace), trace.fate)
            return [(self._picked(trace), style)]

        tells = {j for j, (_, i) in enumerate(lesson.dim_map) if i is not None}
        dtype = lesson.data.dtype
        title = self._title("out", described(dtype, Shape(lesson.shape).inner()))
        part = self._part(title, lesson.shape, self._shown.out, tells)
        return part._replace(
            cell=cell,
            note=note if self._by_row(part) else None,
            floats=dtype.kind is Kind.FLOAT,
            left=dtype is STRING,
        )

    def _by_row(self, part: TensorPart) -> bool:
        """Tell whether each row of the output says what it was picked from."""
        alone = not self._lead and self._look.here is None
        return alone and part.place is Placement.ROW and bool(part.shape)

    def _traces(self, coords: list[tuple[int, ...]]) -> Iterator[Trace]:
        import numpy as np

        shape = self._lesson.shape
        cells = np.zeros(len(coords), np.int64)
        for at, size in zip(arrays(coords, len(shape)), shape, strict=True):
            cells = cells * size + at
        return self._lesson.traces(cells)

    def _here(self) -> Trace | None:
        return None if self._look.here is None else self._lesson.trace(*self._look.here)

    def _label(self, at: tuple[int, ...], position: int, fate: Fate) -> tuple[str, str]:
        """Return the letter and the style of what an index picks."""
        unit = self._lesson.unit(at, position)
        if unit is not None:
            return self._letters.get(unit, ""), self._style(unit)
        marks = self._look.marks
        return (marks.nowhere, "italic") if fate is Fate.FILLED else (marks.refused, REFUSED)

    def _style(self, unit: Unit) -> str:
        return self.styles.get(unit, "")

    def _picked(self, trace: Trace) -> str:
        """Say what an index picked: ``data[3,:]``."""
        unit = self._lesson.unit(trace.indices, _position(trace))
        if unit is None:
            return "zeros" if trace.fate is Fate.FILLED else "refused"
        return unit_text(unit)


def _position(trace: Trace) -> int:
    return -1 if trace.position is None else trace.position


def _place(tells: set[int], rank: int) -> Placement:
    """Find where labels stand: with the smallest thing that has only one of them."""
    if rank < 2:
        return Placement.ROW
    inner = {d for d in tells if d >= rank - 2}
    if not inner:
        return Placement.FACET if tells else Placement.ROW
    if inner == {rank - 2}:
        return Placement.ROW
    return Placement.COLUMN if inner == {rank - 1} else Placement.CELL
