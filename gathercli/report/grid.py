"""Lay out a tensor as a grid: aligned columns, coordinates at the edges, counts of hidden cells.

A tensor is shown whole if it fits in `MOST_GRID_ROWS` rows and the width. Otherwise show the first
and last `EDGE` rows, the outermost columns that fit, and two facets of every leading axis. Only
visible cells are formatted. `rich.table.Table` was measured 130 times slower.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from itertools import product as combinations
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rich.cells import cell_len

from gathercli.spec.dtypes import STRING, Kind
from gathercli.spec.shapes import product
from gathercli.text import clean, counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.text import Text

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor

MOST_GRID_ROWS: Final = 40
EDGE: Final = 3
# The most columns to show without a width, so that a row of a million is not formatted.
MOST_GRID_COLUMNS: Final = 1000
NARROWEST_COLUMN: Final = 3  # the smallest width of a column with its blanks
MANY_FACETS: Final = 16
WIDEST_STRING: Final = 24  # the largest width of a string in a cell


def shown_positions(size: int, most: int, edge: int = EDGE) -> list[int]:
    """Return the positions of an axis to show: all up to `most`, else the first and last `edge`."""
    if size <= most:
        return list(range(size))
    return [*range(edge), *range(size - edge, size)]


class GridWriter:
    """A formatter of the elements of a tensor."""

    def __init__(self, tensor: Tensor, precision: int) -> None:
        self._kind, self._precision = tensor.dtype.kind, precision

    def __call__(self, value: Any) -> str:
        """Format a value."""
        kind = self._kind
        if kind is Kind.BOOL:
            return "true" if value else "false"
        if kind is Kind.FLOAT:
            return self._float(float(value))
        if kind is Kind.COMPLEX:
            imag = self._float(float(value.imag))
            sign = "" if imag.startswith("-") else "+"
            return f"{self._float(float(value.real))}{sign}{imag}j"
        if kind is Kind.STRING:
            text = _shortened(str(value)).replace("\\", r"\\").replace('"', r"\"")
            return f'"{clean(text)}"'
        return str(value)

    def _float(self, value: float) -> str:
        return f"{value:.{self._precision}g}" if isfinite(value) else str(value)


def layout(
    tensor: Tensor,
    *,
    width: int | None,
    precision: int,
    full: bool = False,
    rows: int = MOST_GRID_ROWS,
    advice: str = "--full shows all",
) -> Text:
    """Lay out a tensor within a width, if there is one.

    It is shown whole if all its facets have at most `rows` rows; every cell if `full`, in blocks of
    columns that fit. Else `advice` follows the count of hidden cells.
    """
    from rich.text import Text

    text = Text()
    shape = tensor.shape
    if 0 in shape:
        return text.append("empty: no elements\n", "dim")
    values = tensor.values()
    if not shape:
        return text.append(GridWriter(tensor, precision)(values[()]) + "\n")
    grid = values.reshape((*shape[:-2], *((1,) if len(shape) == 1 else ()), *shape[-2:]))
    plan = _Plan(tensor, grid, width, precision, full=full, most=rows)
    plan.write(text)
    if plan.hidden:
        count = f"{plan.hidden} not shown{';' if advice else ''}"
        if width is None or len(count) + 1 + len(advice) <= width:
            lines = [f"{count} {advice}".rstrip()]
        else:
            lines = [*wrap(count, max(width, 20)), advice]
        text.append("\n".join(lines) + "\n", "dim italic")
    return text


def _shortened(text: str) -> str:
    if len(text) <= WIDEST_STRING and cell_len(text) <= WIDEST_STRING:
        return text
    text = text[: WIDEST_STRING - 1]
    while cell_len(text) >= WIDEST_STRING:
        text = text[:-1]
    return text + "…"


class _Column(NamedTuple):
    cells: list[str]  # the heading first
    width: int
    gap: bool  # whether hidden columns precede it


class _Plan:
    """The facets, rows and columns of a tensor to show, and their widths."""

    def __init__(
        self,
        tensor: Tensor,
        grid: AnyArray,
        width: int | None,
        precision: int,
        *,
        full: bool,
        most: int,
    ) -> None:
        self._grid, self._width = grid, width
        self._write = GridWriter(tensor, precision)
        self._align = tensor.dtype.kind is Kind.FLOAT
        self._left = tensor.dtype is STRING
        self._length: Callable[[str], int] = cell_len if self._left else len
        self._flat = tensor.array.ndim == 1
        *lead, rows, size = grid.shape
        whole = full or product(lead) * rows <= most
        every = max(rows, size, *lead, 1)
        self.facets = _facets(lead, whole=whole)
        self._rows = shown_positions(rows, every if whole else 2 * EDGE)
        self._margin = 0 if self._flat else len(str(self._rows[-1]))
        most_columns = MOST_GRID_COLUMNS if width is None else width // NARROWEST_COLUMN + 1
        few = not full and size > most_columns
        self._columns = self._format(shown_positions(size, 2 * EDGE if few else every))
        if not full and (few or len(list(self._blocks())) > 1):
            edge = self._widest_edge(size, most_columns)
            self._columns = self._format(shown_positions(size, 2 * EDGE, edge))
        self.hidden = self._count_hidden(lead, rows, size)

    def _format(self, positions: list[int]) -> list[_Column]:
        """Format the cells of all facets by column, each column with its heading."""
        part = np.concatenate([self._grid[(*at,)][self._rows][:, positions] for at in self.facets])
        columns = []
        for (before, n), values in zip(pairwise([-1, *positions]), part.T, strict=True):
            cells = [self._write(value) for value in values]
            cells = at_the_point(cells) if self._align else cells
            cells.insert(0, f"[{n}]" if self._flat else str(n))
            columns.append(_Column(cells, max(map(self._length, cells)), n != before + 1))
        return columns

    def _widest_edge(self, size: int, most: int) -> int:
        """Return the number of first and of last columns that fit."""
        if self._width is None:
            return EDGE
        edge = max(EDGE, min(most, size - 1) // 2)
        widths = [each.width for each in self._format(shown_positions(size, 2 * EDGE, edge))]
        # Two blanks precede each column but the first of a vector; the mark for hidden columns has
        # three more columns.
        room = self._width - self._margin - 3 + 2 * self._flat
        pairs = zip(widths[:edge], reversed(widths), strict=False)
        used = accumulate(first + last + 4 for first, last in pairs)
        return max(EDGE, sum(each <= room for each in used))

    def _count_hidden(self, lead: Sequence[int], rows: int, columns: int) -> str:
        counts = (
            (len(self.facets), product(lead), "facet"),
            (len(self._rows), rows, "row"),
            (len(self._columns), columns, "element" if self._flat else "column"),
        )
        return ", ".join(
            f"{grouped(size - count)} of {counted(size, noun)}"
            for count, size, noun in counts
            if count < size
        )

    def write(self, text: Text) -> None:
        """Append the grid of every facet, in blocks of columns that fit the width."""
        rows = len(self._rows)
        for at, facet in enumerate(self.facets):
            if facet:
                text.append("\n" if at else "")
                text.append(f"[{','.join(map(str, facet))},:,:]\n", "bold")
            for number, block in enumerate(self._blocks()):
                text.append("\n" if number else "")
                self._write_block(text, block, range(1 + at * rows, 1 + (at + 1) * rows))

    def _blocks(self) -> Iterator[list[_Column]]:
        """Divide the columns into runs that fit the width."""
        block: list[_Column] = []
        used = self._margin
        for column in self._columns:
            used += len(self._before(column, first=not block, heading=True)) + column.width
            if block and self._width is not None and used > self._width:
                yield block
                blanks = self._before(column, first=True, heading=True)
                block, used = [], self._margin + len(blanks) + column.width
            block.append(column)
        yield block

    def _before(self, column: _Column, *, first: bool, heading: bool) -> str:
        """Return the blanks before a column, with a mark for hidden columns."""
        space = "" if first and self._flat else "  "
        return f"{space}{' ' if heading else '…'}  " if column.gap else space

    def _write_block(self, text: Text, block: list[_Column], lines: Sequence[int]) -> None:
        self._write_line(text, block, "", 0)
        for (before, row), line in zip(pairwise([-1, *self._rows]), lines, strict=True):
            if row != before + 1:
                text.append("⋮".rjust(self._margin) + "\n", "dim")
            self._write_line(text, block, "" if self._flat else str(row), line)

    def _write_line(self, text: Text, block: list[_Column], name: str, line: int) -> None:
        """Append a line of the cells of columns, the headings for 0, after the name of its row."""
        parts = [(name.rjust(self._margin), "dim")]
        for column in block:
            blanks = self._before(column, first=column is block[0], heading=not line)
            cell = column.cells[line]
            space = " " * (column.width - self._length(cell))
            padded = cell + space if self._left else space + cell
            parts += [(blanks, "dim"), (padded, "" if line else "dim")]
        parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
        for part, style in parts:
            text.append(part, style)
        text.append("\n")


def _facets(lead: Sequence[int], *, whole: bool) -> list[tuple[int, ...]]:
    """Choose the facets to show: all, two of each leading axis, or only two corners if many."""
    if whole:
        return list(combinations(*map(range, lead)))
    if 2 ** sum(size > 1 for size in lead) > MANY_FACETS:
        return [(0,) * len(lead), tuple(size - 1 for size in lead)]
    return list(combinations(*(sorted({0, size - 1}) for size in lead)))


def at_the_point(column: list[str]) -> list[str]:
    """Pad numbers on the right to align their points."""
    if any("e" in cell for cell in column):
        return column
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in column]
    return [cell + " " * (max(tails) - tail) for cell, tail in zip(column, tails, strict=True)]
