"""A lesson as a picture and in words: letters say which part of `data` an index picks.

The same letter, and colour where there is colour, marks a part of `data`, the index that picks it
and where it lands. Only what is shown is read and formatted.
"""

from __future__ import annotations

from itertools import islice
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.core.dims import Shape, product
from gathercli.core.dtypes import STRING, Kind, Tensor
from gathercli.core.positions import at as cell_of
from gathercli.core.text import counted, grouped
from gathercli.lesson import Fate, Lesson, Trace, Unit
from gathercli.report import header
from gathercli.report.grid import Writer, shown_positions
from gathercli.report.panels import (
    GAP,
    Cell,
    Line,
    Marks,
    Part,
    Place,
    append,
    beside,
    drawn,
    widest,
    width,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from gathercli.core.dtypes import AnyArray

WIDTH: Final = 100
"""Columns in which parts are arranged where there is no width."""

ROWS: Final = 12
EDGE: Final = 3
COLUMNS: Final = ((16, 3), (6, 3), (4, 2), (2, 1), (1, 1))
"""How many columns are shown whole, else how many at each edge: the first pair that fits."""

PANELS: Final = 4
FACETS: Final = 3
LEGEND: Final = 8
"""Batches, facets of a tensor and letters that are shown or explained at most."""

STYLES: Final = ("cyan", "magenta", "green", "yellow", "blue")
_REFUSED: Final = "bold red"

Window = tuple[slice | None, ...]
"""For each dimension of the output which coordinates are shown; None for as many as fit."""


class Look(NamedTuple):
    """How a picture is drawn.

    Attributes
    ----------
    width
        Columns of the terminal; None where nothing is cut to a width.
    precision
        Significant digits of floats.
    marks
        The characters beside letters and numbers.
    window
        What is shown of the output.
    here
        The output cell that is looked at: it is shown, and marked.
    """

    width: int | None
    precision: int = 6
    marks: Marks = Marks()
    window: Window = ()
    here: tuple[int, ...] | None = None


def picture(lesson: Lesson, look: Look) -> Text:
    """Draw where every output cell came from."""
    call, out = lesson.call, Shape(lesson.shape)
    text = header.title(call, look.width, where=_where(lesson))
    if _lead(lesson):
        text.append_text(header.tensors(call, out, look.width))
    text.append("\n")
    view, lines = _fitting(lesson, look)
    append(text, lines)
    notes = [*view.legend(), *view.examples()]
    if notes:
        text.append("\n")
        append(text, notes)
    text.append("\n")
    text.append_text(header.steps(call, out, look.width))
    text.append("read   ", "dim")
    text.append(_read(lesson) + "\n")
    if hidden := view.hidden():
        text.append(hidden + "\n", "dim italic")
    return text


def _where(lesson: Lesson) -> str:
    """Say what each letter of the equation runs through."""
    names = _letters(lesson)
    if 0 in lesson.shape:
        return ""
    runs = (f"{name} in 0..{size - 1}" for name, size in zip(names, lesson.shape, strict=True))
    return f"for {', '.join(runs)}" if names else ""


def _letters(lesson: Lesson) -> list[str]:
    """Name the output's coordinates as the equation does."""
    left = lesson.equation.partition(" = ")[0]
    return left.removeprefix("out").strip("[]").split(", ") if "[" in left else []


def _read(lesson: Lesson) -> str:
    noun = "cell" if lesson.picks_cells else "slice"
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    if lesson.reads is None:
        return f"not counted: there are {grouped(lesson.indices.array.size)} indices"
    return f"{grouped(len(lesson.reads.units))} of {counted(total, noun)} of data"


def _lead(lesson: Lesson) -> int:
    """Count the leading dimensions whose coordinates are those of all three tensors: a panel each.

    Batches, and of elements the dimensions before the axis; but a matrix stays one.
    """
    shared = 0
    for j, walk in enumerate(lesson.walks):
        if walk != (j, j):
            break
        shared += 1
    return lesson.call.batch_dims or max(0, min(shared, len(lesson.data.shape) - 2))


def _fitting(lesson: Lesson, look: Look) -> tuple[_View, list[Line]]:
    """Choose how much is shown, and how it is arranged, so that it fits the width."""
    room = WIDTH if look.width is None else look.width
    for columns in COLUMNS:
        view = _View(lesson, look, columns)
        for stacked in (False, True):
            lines = view.lines(room, stacked=stacked)
            most = 2 * room if stacked and look.width is None else room
            if widest(lines) <= most:
                return view, lines
    return view, lines


class _View:
    """What is shown of a lesson, where a row may have so many columns."""

    def __init__(self, lesson: Lesson, look: Look, columns: tuple[int, int]) -> None:
        self._lesson, self._look, self._columns = lesson, look, columns
        self._lead = _lead(lesson)
        self._write = Writer(lesson.data, look.precision)
        if look.marks.ascii:
            write = self._write
            self._write = lambda value: _ascii(write(value))  # type: ignore[assignment]
        self._out = [self._shown(j) for j in range(len(lesson.shape))]
        self._indices: list[list[int]] = [[] for _ in lesson.indices.shape]
        for coords, (_, i) in zip(self._out, lesson.walks, strict=True):
            if i is not None:
                self._indices[i] = coords
        self._panels = self._chosen_panels()
        self._letters, picked = self._named()
        self._styles = {unit: STYLES[n % len(STYLES)] for n, unit in enumerate(self._letters)}
        self._data = self._shown_of_data(picked)

    # What is shown

    def _shown(self, j: int) -> list[int]:
        """Choose the coordinates of an output dimension."""
        size, rank = self._lesson.shape[j], len(self._lesson.shape)
        chosen = self._look.window[j] if j < len(self._look.window) else None
        if chosen is not None:
            return list(range(size)[chosen])
        if j < self._lead:
            return list(range(size))
        most, edge = self._limits(j - self._lead, rank - self._lead)
        if j - self._lead < rank - self._lead - 2:
            most, edge = self._facet_limits()[j], 1
        here = self._look.here
        if most == 1 and size > 1:
            return [0 if here is None else here[j]]
        if here is not None and size > most:
            start = max(0, min(here[j] - edge, size - 2 * edge))
            return list(range(start, min(size, start + 2 * edge + 1)))
        return shown_positions(size, most, edge)

    def _limits(self, dim: int, rank: int) -> tuple[int, int]:
        """Return how many coordinates of a dimension are shown whole, else how many at an edge."""
        if dim == rank - 1 and rank > 1:
            return self._columns
        return (ROWS, EDGE) if dim >= rank - 2 else (FACETS, 1)

    def _facet_limits(self) -> dict[int, int]:
        """Return how many coordinates of leading output dimensions are shown.

        Facets are many soon: those of the indices come first, of what is left one is shown.
        """
        lesson, most = self._lesson, FACETS + 1
        dims = range(self._lead, len(lesson.shape) - 2)
        limits: dict[int, int] = {}
        for j in sorted(dims, key=lambda j: lesson.walks[j][1] is None):
            limits[j] = max(1, min(most, 2 if len(dims) > 1 else FACETS))
            most //= min(limits[j], max(lesson.shape[j], 1))
        return limits

    def _chosen_panels(self) -> list[tuple[int, ...]]:
        lead = self._out[: self._lead]
        count = product([len(coords) for coords in lead])
        whole = count <= PANELS or any(each is not None for each in self._look.window[: self._lead])
        if self._look.here is not None and not whole:
            return [self._look.here[: self._lead]]
        if whole:
            return list(combinations(*lead))
        return [*islice(combinations(*lead), 2), tuple(coords[-1] for coords in lead)]

    def _named(self) -> tuple[dict[Unit, str], set[int]]:
        """Give a letter to everything that the shown indices pick, in their order."""
        letters: dict[Unit, str] = {}
        picked: set[int] = set()
        for panel in self._panels:
            coords = self._coordinates(panel, self._indices)
            for at, position in self._pointing(coords):
                unit = self._lesson.unit(at, position)
                if unit is not None:
                    picked.add(position)
                    letters.setdefault(unit, _letter(len(letters)))
        return letters, picked

    def _coordinates(
        self, panel: tuple[int, ...], shown: Sequence[Sequence[int]]
    ) -> list[tuple[int, ...]]:
        return list(combinations(*([n] for n in panel), *shown[self._lead :]))

    def _pointing(self, coords: list[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], int]]:
        rank = len(self._lesson.indices.shape)
        _, positions = self._lesson.positions(_arrays(coords, rank))
        return zip(coords, positions.reshape(-1).tolist(), strict=True)

    def _shown_of_data(self, picked: set[int]) -> list[list[int]]:
        lesson, shape = self._lesson, self._lesson.data.shape
        axis, _ = lesson.call.places
        shown: list[list[int]] = []
        walked = {d: j for j, (d, _) in enumerate(lesson.walks) if d is not None}
        for d, size in enumerate(shape):
            most, _ = self._limits(d - self._lead, len(shape) - self._lead)
            if d == axis:
                whole = d < self._lead or size <= most
                ends = {0, size - 1} if size and (most > 2 or not picked) else set[int]()
                some = {*sorted(picked)[:most], *ends}
                shown.append(list(range(size)) if whole else sorted(some))
                continue
            j = walked[d]
            windowed = j < len(self._look.window) and self._look.window[j] is not None
            larger = size != lesson.shape[j] and not windowed
            shown.append(list(range(size)) if larger and size <= most else self._out[j])
        return shown

    # How it is drawn

    def lines(self, room: int, *, stacked: bool) -> list[Line]:
        """Arrange the panels, and in each the tensors, below each other if `stacked`."""
        blocks = [self._panel(panel, stacked=stacked) for panel in self._panels]
        lines: list[Line] = []
        row: list[list[Line]] = []
        for block in blocks:
            if row and sum(map(widest, row)) + widest(block) + GAP * len(row) > room:
                lines += [*beside(row), []]
                row = []
            row.append(block)
        return lines + beside(row)

    def _panel(self, panel: tuple[int, ...], *, stacked: bool) -> list[Line]:
        parts = [self._data_part(panel), self._indices_part(panel), self._out_part(panel)]
        heads = 0 if stacked else max(part.heads for part in parts)
        blocks = [drawn(part, self._look.marks, heads) for part in parts]
        if stacked:
            lines = [line for block in blocks for line in ([], *block)][1:]
        else:
            lines = beside(blocks)
        if not panel:
            return lines
        name = f"batch {','.join(map(str, panel))}"
        if not self._lesson.call.batch_dims:
            name = f"[{','.join(map(str, panel))}{',:' * (len(self._lesson.shape) - len(panel))}]"
        return [[(name, "bold")], *lines]

    def _title(self, name: str, style: str, tensor: Any) -> Line:
        return [(name, style), ("" if self._lead else f" {tensor}", "")]

    def _part(
        self, title: Line, shape: tuple[int, ...], shown: Sequence[Sequence[int]], tells: set[int]
    ) -> Part:
        """Make a part without cells; `tells` are the dimensions on which labels depend."""
        lead = self._lead
        kept = tuple(shown[lead:])
        place = _place({d - lead for d in tells if d >= lead}, len(kept))
        return Part(title, shape[lead:], kept, place, lambda _: Cell("", ""))

    def _data_part(self, panel: tuple[int, ...]) -> Part:
        lesson, tensor = self._lesson, self._lesson.data
        coords = self._coordinates(panel, self._data)
        values = (
            Tensor(tensor.dtype, tensor.array[_arrays(coords, len(tensor.shape))]).values().tolist()
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
            if here is not None and here.data == whole:
                style += " reverse"
            return Cell(label, self._write(held[whole]), style=style)

        part = self._part(
            self._title("data", "bold", lesson.call.data), tensor.shape, self._data, units
        )
        return part._replace(
            cell=cell,
            floats=tensor.dtype.kind is Kind.FLOAT,
            left=tensor.dtype is STRING,
        )

    def _indices_part(self, panel: tuple[int, ...]) -> Part:
        lesson, marks = self._lesson, self._look.marks
        coords = self._coordinates(panel, self._indices)
        index, positions = lesson.positions(_arrays(coords, len(lesson.indices.shape)))
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
            where = str(position)
            if fate is not Fate.COPIED:
                where = "none" if fate is Fate.FILLED else "refused"
            tail = "" if where == str(k) and fate is Fate.COPIED else marks.arrow + where
            if here is not None and here.indices == whole:
                style += " reverse"
            return Cell(label, str(k), tail, style)

        shape = lesson.indices.shape
        part = self._part(
            self._title("indices", "bold", lesson.call.indices),
            shape,
            self._indices,
            set(range(len(shape))),
        )
        return part._replace(cell=cell)

    def _out_part(self, panel: tuple[int, ...]) -> Part:
        lesson = self._lesson
        coords = self._coordinates(panel, self._out)
        traces = {each.out: each for each in self._traces(coords)}
        here = self._look.here

        def cell(at: tuple[int, ...]) -> Cell:
            trace = traces[(*panel, *at)]
            label, style = self._label(trace.indices, _or_nowhere(trace), trace.fate)
            refused = trace.fate is Fate.REFUSED
            if here == trace.out:
                style += " reverse"
            text = self._look.marks.refused if refused else self._write(trace.value)
            return Cell("" if refused else label, text, style=style)

        def note(at: tuple[int, ...]) -> Line:
            last = [part.shown[-1][0]] if len(at) < len(part.shown) else []
            trace = traces[(*panel, *at, *last)]
            _, style = self._label(trace.indices, _or_nowhere(trace), trace.fate)
            return [(self._picked(trace), style)]

        tells = {j for j, (_, i) in enumerate(lesson.walks) if i is not None}
        tensor = Tensor(lesson.data.dtype, lesson.data.array[:0])
        described = f"{tensor.dtype.short}[{Shape(lesson.shape).inner()}]"
        part = self._part(self._title("out", "bold", described), lesson.shape, self._out, tells)
        return part._replace(
            cell=cell,
            note=note if self._by_row(part) else None,
            floats=tensor.dtype.kind is Kind.FLOAT,
            left=tensor.dtype is STRING,
        )

    def _by_row(self, part: Part) -> bool:
        """Tell whether each row of the output says what it was picked from."""
        return not self._lead and part.place is Place.ROW and bool(part.shape)

    def _traces(self, coords: list[tuple[int, ...]]) -> Iterator[Trace]:
        import numpy as np

        shape = self._lesson.shape
        cells = np.zeros(len(coords), np.int64)
        for at, size in zip(_arrays(coords, len(shape)), shape, strict=True):
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
        return (marks.nowhere, "italic") if fate is Fate.FILLED else (marks.refused, _REFUSED)

    def _style(self, unit: Unit) -> str:
        return self._styles.get(unit, "")

    def _picked(self, trace: Trace) -> str:
        """Say what an index picked: ``data[3,:]``."""
        unit = self._lesson.unit(trace.indices, _or_nowhere(trace))
        if unit is None:
            return "zeros" if trace.fate is Fate.FILLED else "refused"
        return _unit_text(unit)

    # What is said below

    def legend(self) -> Iterator[Line]:
        """Say what the letters stand for, unless the rows of the output do, and the marks."""
        lesson, marks = self._lesson, self._look.marks
        words: list[tuple[str, str, str]] = []
        by_row = self._out_part(self._panels[0]).note is not None if self._panels else True
        if not by_row and len(self._letters) <= LEGEND:
            words += [
                (letter, _unit_text(unit), self._style(unit))
                for unit, letter in self._letters.items()
            ]
        seen = self._labels()
        if marks.hidden in seen:
            words.append((marks.hidden, "read by indices that are not shown", ""))
        if marks.nowhere in seen:
            words.append((marks.nowhere, "zero-filled", "italic"))
        if marks.refused in seen:
            words.append((marks.refused, "refused", _REFUSED))
        if any(marks.times in label for label in seen):
            words.append((f"{marks.times}2", "read twice", ""))
        if 0 not in lesson.data.shape and _is_dimmed(lesson):
            words.append(("", "no letter: not read", "dim"))
        room, line = self._look.width or WIDTH, Line()
        for mark, said, style in words:
            more: Line = [(mark, style), (f" {said}" if mark else said, "")]
            if line and width(line) + 3 + width(more) > room:
                yield line
                line = []
            line = [*line, ("   ", ""), *more] if line else more
        if line:
            yield line

    def _labels(self) -> set[str]:
        found: set[str] = set()
        for panel in self._panels:
            for part in (self._data_part(panel), self._indices_part(panel)):
                if 0 not in part.shape:
                    for at in combinations(*part.shown):
                        label = part.cell(at).label
                        found |= {label, label[:1]} if label else set()
        return found

    def examples(self) -> Iterator[Line]:
        """Trace the cells that show the most: one with a plain index, one with each other sort."""
        lesson = self._lesson
        if 0 in lesson.shape or not all(self._out):
            return
        coords = [at for panel in self._panels for at in self._coordinates(panel, self._out)]
        found: dict[str, Trace] = {}
        for trace in self._traces(coords):
            sort = "plain" if trace.position == trace.k else trace.fate.value
            if sort not in found or (sort == "plain" and not any(found[sort].out)):
                found[sort] = trace
        yield [(f"the index takes the place of coordinate {lesson.call.places[0]} of data:", "dim")]
        for trace in list(found.values())[:3]:
            yield [("  ", ""), *said(lesson, trace, self._look)]

    def hidden(self) -> str:
        """Say how much of the output is not shown."""
        shown = len(self._panels) * product([len(coords) for coords in self._out[self._lead :]])
        if shown >= self._lesson.size:
            return ""
        text = f"{grouped(shown)} of {counted(self._lesson.size, 'cell')} of out shown"
        return text if self._look.window or self._look.here else f"{text}; --window chooses others"


def _is_dimmed(lesson: Lesson) -> bool:
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    return lesson.reads is not None and len(lesson.reads.units) < total


def _or_nowhere(trace: Trace) -> int:
    return -1 if trace.position is None else trace.position


def _letter(number: int) -> str:
    """Name the parts of data in the order they are picked: a to z, then aa, ab and so on.

    >>> _letter(0), _letter(25), _letter(26)
    ('a', 'z', 'aa')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def _place(tells: set[int], rank: int) -> Place:
    """Find where labels stand: with the smallest thing that has only one of them."""
    if rank < 2:
        return Place.ROW
    inner = {d for d in tells if d >= rank - 2}
    if not inner:
        return Place.FACET if tells else Place.ROW
    if inner == {rank - 2}:
        return Place.ROW
    return Place.COLUMN if inner == {rank - 1} else Place.CELL


def _unit_text(unit: Unit) -> str:
    return f"data[{','.join(':' if n is None else str(n) for n in unit)}]"


def _arrays(coords: list[tuple[int, ...]], rank: int) -> tuple[AnyArray, ...]:
    """Turn a tuple a cell into an array a dimension."""
    import numpy as np

    if not coords:
        return tuple(np.zeros(0, np.int64) for _ in range(rank))
    return tuple(np.array(each, np.int64) for each in zip(*coords, strict=True))


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


def coordinates_text(at: Sequence[int]) -> str:
    """Write coordinates: ``[0,1]``."""
    return f"[{','.join(map(str, at))}]"


def said(lesson: Lesson, trace: Trace, look: Look) -> Line:
    """Trace a cell in one line: ``out[0,1] = data[indices[0], 1] = data[3,1] = 20``."""
    axis, _ = lesson.call.places
    index = cell_of("indices", [",".join(map(str, trace.indices))] if trace.indices else [])
    others = _others(lesson, trace)
    pointed = _pointed(trace, look.marks)
    line: Line = [(cell_of("out", [",".join(map(str, trace.out))] if trace.out else []), "")]
    for replaced in (index, pointed):
        line.append((" = data[", ""))
        for d in range(len(lesson.data.shape)):
            line.append(("," if d else "", ""))
            line.append((replaced, "bold") if d == axis else (str(others[d]), ""))
        line.append(("]", ""))
    if trace.fate is Fate.REFUSED:
        return [*line, (": refused", _REFUSED)]
    value = Writer(lesson.data, look.precision)(trace.value)
    return [*line, (f" = {_ascii(value) if look.marks.ascii else value}", "")]


def _others(lesson: Lesson, trace: Trace) -> dict[int, int]:
    """Return the coordinates of `data` that an output cell shares: all but that of the axis."""
    return {d: at for (d, _), at in zip(lesson.walks, trace.out, strict=True) if d is not None}


def _pointed(trace: Trace, marks: Marks) -> str:
    """Write an index and where it points, where that is not the same."""
    if trace.position == trace.k:
        return str(trace.k)
    where = "none" if trace.position is None else str(trace.position)
    return f"{trace.k}{marks.arrow}{where}"


def told(lesson: Lesson, trace: Trace, look: Look) -> Iterator[Line]:
    """Trace a cell step by step, in words and coordinates."""
    call = lesson.call
    axis, _ = call.places
    s, k = call.size, trace.k
    name = f"out{coordinates_text(trace.out)}" if trace.out else "out"
    runs = ", ".join(f"{n} = {at}" for n, at in zip(_letters(lesson), trace.out, strict=True))
    yield [(name, "bold"), (f"   {runs}" if runs else "", "")]
    where = f"indices{coordinates_text(trace.indices)}" if trace.indices else "indices"
    yield [(f"  {where} is {k}", "")]
    if trace.position is None:
        done = "zeros" if trace.fate is Fate.FILLED else "a refusal"
        yield [(f"  {k} points nowhere on axis {axis}, whose size is {s}: {done}", "")]
    elif k < 0 and trace.position == k + s:
        yield [
            (
                f"  it counts from the end of axis {axis}, whose size is {s}: {k} + {s} = "
                f"{trace.position}",
                "",
            )
        ]
    elif trace.position != k:
        yield [
            (
                f"  it is outside axis {axis}, whose size is {s}: "
                f"{call.outside.done} to {trace.position}",
                "",
            )
        ]
    else:
        yield [(f"  it is a position on axis {axis}, whose size is {s}", "")]
    if trace.data is not None:
        yield [
            (f"  it takes the place of coordinate {axis}: data{coordinates_text(trace.data)}", "")
        ]
    yield [("  ", ""), *said(lesson, trace, look)]


def lines_text(lines: Iterator[Line]) -> Text:
    """Make a text of lines."""
    from rich.text import Text

    text = Text()
    append(text, lines)
    return text


def summary_json(lesson: Lesson) -> dict[str, Any]:
    """Return what is known of a lesson beside its cells, for JSON."""
    call, reads = lesson.call, lesson.reads
    found: dict[str, Any] = {"operator": call.op.full_name, "axis": call.axis_number}
    if call.op.batch_dims:
        found["batch_dims"] = call.batch_dims_number
    for name, value in (("negative", call.negative), ("out_of_range", call.out_of_range)):
        if value.value != "spec":
            found[name] = value.value
    for name, tensor in (("data", lesson.data), ("indices", lesson.indices)):
        found[name] = {"shape": list(tensor.shape), "datatype": tensor.dtype.oip}
    found["output"] = {"shape": list(lesson.shape), "datatype": lesson.data.dtype.oip}
    found["equation"] = lesson.equation
    found["formula"] = header.formula(call, Shape(lesson.shape))
    total = product([lesson.data.shape[d] for d in lesson.unit_dims])
    found["read"] = {
        "dimensions": list(lesson.unit_dims),
        "parts": None if reads is None else len(reads.units),
        "of": total,
    }
    found["refused"] = None if lesson.refusal is None else lesson.refusal.message
    return found
