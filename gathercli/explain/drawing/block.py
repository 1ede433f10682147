"""A tensor in a drawing: its facets beside each other, and the places of its cells and slices."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product as combinations
from math import ceil
from typing import Final

from gathercli.explain.drawing import scene
from gathercli.explain.panel import OUT, At, Panel, PanelTensor, Placement
from gathercli.explain.provenance import Fate

CELL_HEIGHT: Final = 38  # the height of a cell
LEAST_WIDTH: Final = 44  # the smallest width of a cell
CELL_SPACE: Final = 10  # the space between other cells
_HIDDEN_SPACE: Final = 24  # the space in place of hidden rows or columns
_COORDINATE_SIZE: Final = 12  # the size of the text of a coordinate
# The space between coordinates and cells, and about that to the rectangle of a slice.
_LABEL_SPACE: Final = 8
_SLICE_BORDER: Final = 3  # the space between the cells of a slice and its rectangle
# The most cells of a tensor that have a letter each; of more those of a row or column share one.
_MOST_LETTERED_CELLS: Final = 100
_FACET_SPACE: Final = 22  # the space between facets
_SUBTITLE_HEIGHT: Final = 20  # the height of the name of a facet
_CORNER_SPACE: Final = 6  # the space after it, where arrows come in from above


class Ruler:
    """One direction of a frame: coordinates, and where each begins.

    The coordinates, ascending, are None for a direction of one cell that has none; `from_end` tells
    whether each is also written from the end; `space` lies between two cells and around them.
    """

    def __init__(
        self,
        coordinates: Sequence[int] | None,
        size: int,
        length: float,
        space: float,
        *,
        from_end: bool = False,
    ) -> None:
        self.names = None if coordinates is None else list(coordinates)
        self.size, self.length, self.space, self.from_end = size, length, space, from_end
        self.label_rows = 0 if coordinates is None else 2 if from_end else 1  # those of each cell
        self.starts: list[float] = []
        self.gaps: list[float] = []
        at, last = 0.0, -1
        for n in (*([0] if self.names is None else self.names), size):
            if n != last + 1:
                self.gaps.append(at + _HIDDEN_SPACE / 2)
                at += _HIDDEN_SPACE + space
            if n < size:
                self.starts.append(at)
                at += length + space
            last = n
        self.total = max(at - space, 0)

    @property
    def label_width(self) -> float:
        """The width of the widest coordinate."""
        words = [word for n in self.names or [] for word in self.words(n)]
        return max((scene.text_width(word, _COORDINATE_SIZE) for word in words), default=0)

    def words(self, n: int) -> list[str]:
        """Return a coordinate, and that from the end if it is wanted."""
        return [str(n), str(n - self.size)] if self.from_end else [str(n)]


class GridFrame:
    """The places of the cells of a matrix or vector, with labels above and to the left.

    The labels of rows are at least `corner` wide. With `has_entries` lines come in to cells, so
    that there is a space before the first ones. The margin, to the sides and above and below, is
    for lines too. `width` and `height` include the labels and the margin.
    """

    def __init__(
        self,
        rows: Ruler,
        columns: Ruler,
        *,
        margin: tuple[float, float],
        corner: float = 0,
        has_entries: bool = False,
    ) -> None:
        self._margin = margin
        self.rows, self.columns = rows, columns
        self._x = self._y = 0.0
        self._step = ceil(rows.label_width) + 8
        self._label_width = self._step * rows.label_rows + _LABEL_SPACE if rows.label_rows else 0
        self.left = max(self._label_width, ceil(corner))
        self.top = 15.0 * columns.label_rows + _LABEL_SPACE if columns.label_rows else 0
        self.lane_left = columns.space if has_entries and columns.space > CELL_SPACE else 0
        self.lane_top = rows.space if has_entries and rows.space > CELL_SPACE else 0
        after, below = (each.space if each.space > CELL_SPACE else 0 for each in (columns, rows))
        self.width = self.left + self.lane_left + columns.total + after + 2 * margin[0]
        self.height = self.top + self.lane_top + rows.total + below + 2 * margin[1]

    def move_to(self, x: float, y: float) -> None:
        """Set the upper left corner."""
        self._x, self._y = x, y

    @property
    def outer(self) -> scene.Box:
        """The place of the frame with its labels."""
        return scene.Box(self._x, self._y, self.width, self.height)

    @property
    def inner(self) -> scene.Box:
        """The place of the cells."""
        x, y = self._x + self._margin[0], self._y + self._margin[1]
        x, y = x + self.left + self.lane_left, y + self.top + self.lane_top
        return scene.Box(x, y, self.columns.total, self.rows.total)

    def box(self, row: int, column: int) -> scene.Box:
        """Return the place of a cell by the numbers of its row and column in the frame."""
        inner = self.inner
        return scene.Box(
            inner.x + self.columns.starts[column],
            inner.y + self.rows.starts[row],
            self.columns.length,
            self.rows.length,
        )

    def __contains__(self, box: scene.Box) -> bool:
        """Return whether the middle of a box lies in the frame."""
        (x, y), outer = box.center, self.outer
        return outer.x <= x <= outer.right and outer.y <= y <= outer.bottom

    def around(
        self, rows: Sequence[int], columns: Sequence[int], *, with_rows: bool, with_columns: bool
    ) -> scene.Box:
        """Return the place of rows and columns by number, with or without their coordinates."""
        first, last = self.box(rows[0], columns[0]), self.box(rows[-1], columns[-1])
        x, y = first.x, first.y
        if with_rows and self.rows.names is not None:
            x = self.inner.x - self._label_width - self.lane_left
        if with_columns and self.columns.names is not None:
            y = self.inner.y - self.top - self.lane_top
        x, y = x - _SLICE_BORDER, y - _SLICE_BORDER
        return scene.Box(x, y, last.right + _SLICE_BORDER - x, last.bottom + _SLICE_BORDER - y)

    def captions(self, rows: Collection[int], columns: Collection[int]) -> Iterator[scene.Caption]:
        """Yield the coordinates, bold of some rows and columns, and marks of what is hidden."""
        inner = self.inner
        for number, n in enumerate(self.columns.names or []):
            x = inner.x + self.columns.starts[number] + self.columns.length / 2
            for level, word in enumerate(self.columns.words(n)):
                y = inner.y - self.lane_top - 6 - 15 * level
                yield scene.Caption(x, y, word, _kind(level, bold=n in columns), "middle")
        for number, n in enumerate(self.rows.names or []):
            y = inner.y + self.rows.starts[number] + self.rows.length / 2 + 4
            for level, word in enumerate(self.rows.words(n)):
                x = inner.x - self.lane_left - _LABEL_SPACE - self._step * level
                yield scene.Caption(x, y, word, _kind(level, bold=n in rows), "end")
        for gap in self.rows.gaps:
            x = inner.x - self.lane_left - 6
            yield scene.Caption(x, inner.y + gap + 5, "⋮", "gap", "end")
        for gap in self.columns.gaps:
            y = inner.y - self.lane_top - 6
            yield scene.Caption(inner.x + gap, y, "⋯", "gap", "middle")


def _kind(level: int, *, bold: bool) -> str:
    return f"coordinate{' from-end' * (level > 0)}{' replaced' * bold}"


def cell_text(tensor: PanelTensor, at: tuple[int, ...]) -> str:
    """Write a cell: an index with what it leads to, an output cell or what refuses it."""
    cell = tensor.cells[at]
    if tensor.name != OUT:
        return cell.text + cell.tail
    return "!" if cell.fate is Fate.REFUSED else cell.text


class TensorBlock:
    """A tensor, laid out: the frame of each facet, and the size of all.

    Where the panel flows down, facets stand beside each other. Its cells are `narrowest` wide at
    least; lines run between them, and beside a facet, in lanes so wide, 0 without lines. The
    coordinates of the dimensions `from_end` are also written from the end.
    """

    def __init__(
        self,
        panel: Panel,
        tensor: PanelTensor,
        from_end: frozenset[int],
        *,
        lanes: tuple[float, float],
        narrowest: float = LEAST_WIDTH,
    ) -> None:
        self.tensor, self._from_end = tensor, from_end
        self.space, self.margin = lanes
        self.down = panel.flows_down
        lead, rank = len(tensor.lead), len(tensor.inner)
        self.is_empty = tensor.is_empty
        dims: list[int | None] = [*range(lead, lead + rank)]
        if rank < 2:
            dims = [*dims, None] if tensor.upright else [None, *dims]
        self.dims = [None, None, *dims][-2:]
        self.facets = tensor.facets
        widest = max(
            (scene.text_width(cell_text(tensor, at), tensor.text_size) for at in tensor.cells),
            default=0,
        )
        # Whole pixels, an even number: positions and centres need no decimals.
        self.cell_width = max(narrowest, 2 * ceil(widest / 2 + 11))
        self.frames = {} if self.is_empty else {facet: self._frame() for facet in self.facets}
        self.subtitle_height = _SUBTITLE_HEIGHT if rank > 2 else 0
        self.move_to(0, 0)

    def _frame(self) -> GridFrame:
        tensor = self.tensor
        # The lines of a drawing that flows down run between columns, else between rows.
        spaces: list[float] = [CELL_SPACE, CELL_SPACE]
        if self.space:
            spaces[self.down] = self.space
        lengths = (CELL_HEIGHT, self.cell_width)
        rulers = []
        for d, length, space in zip(self.dims, lengths, spaces, strict=True):
            names = None if d is None else tensor.coordinates[d - len(tensor.lead)]
            size = 1 if d is None else tensor.shape[d]
            rulers.append(Ruler(names, size, length, space, from_end=d in self._from_end))
        name = 0.0
        if len(tensor.inner) > 2:
            name = scene.text_width(self._subtitle(self.facets[-1]), 13, mono=False) + _CORNER_SPACE
        margin = (self.margin, 0.0) if self.down else (0.0, self.margin)
        frame = GridFrame(
            *rulers, margin=margin, corner=name if self.down else 0, has_entries=tensor.has_entries
        )
        frame.width = max(frame.width, name)
        return frame

    def _subtitle(self, facet: tuple[int, ...]) -> str:
        """Return the name of a facet, and that from the end if it is wanted."""
        tensor, at = self.tensor, (*self.tensor.lead, *facet)
        from_end, name = self._from_end, tensor.facet_name(facet)
        if not any(d in from_end for d in range(len(tensor.lead), len(at))):
            return name
        sizes = enumerate(zip(at, tensor.shape, strict=False))
        ends = [n - size if d in from_end else n for d, (n, size) in sizes]
        return f"{name} = [{','.join(map(str, ends))},:,:]"

    def move_to(self, x: float, y: float) -> None:
        """Set the upper left corner, and with it the place of each frame."""
        x, y = round(x), round(y)
        self.x, self.y = x, y
        below = self.subtitle_height
        right = bottom = 0.0
        along = 0.0
        for frame in self.frames.values():
            left, up = (along, below) if self.down else (0.0, along + below)
            frame.move_to(x + left, y + up)
            right, bottom = max(right, left + frame.width), max(bottom, up + frame.height)
            along = (right if self.down else bottom) + _FACET_SPACE
        if self.is_empty:
            right, bottom = 190, CELL_HEIGHT
        self.width, self.height = right, bottom

    @property
    def box(self) -> scene.Box:
        """The place of the block."""
        return scene.Box(self.x, self.y, self.width, self.height)

    def captions(
        self, facet: tuple[int, ...], rows: Collection[int], columns: Collection[int]
    ) -> Iterator[scene.Caption]:
        """Yield the coordinates of a facet, bold of some rows and columns, and its name."""
        frame = self.frames[facet]
        yield from frame.captions(rows, columns)
        if self.subtitle_height:
            x = frame.outer.x + (self.margin if self.down else 0)
            yield scene.Caption(x, frame.outer.y - 8, self._subtitle(facet), "facet")

    def cells(
        self, facet: tuple[int, ...], traced: Collection[tuple[int, ...]]
    ) -> Iterator[scene.GridCell]:
        """Yield the cells of a facet, row-major; those at `traced` are on the traced path."""
        tensor, frame = self.tensor, self.frames[facet]
        many, place = len(tensor.cells) > _MOST_LETTERED_CELLS, tensor.place
        rows, columns = (
            [() if each.names is None else (each.names[n],) for n in range(len(each.starts))]
            for each in (frame.rows, frame.columns)
        )
        for (row, y), (column, x) in combinations(enumerate(rows), enumerate(columns)):
            at = (*tensor.lead, *facet, *y, *x)
            cell = tensor.cells[at]
            is_placed = cell.fate in (None, Fate.COPIED)
            repeats = (row and place is not Placement.ROW) or (
                column and place is not Placement.COLUMN
            )
            is_lettered = not (many and repeats) or place is Placement.CELL
            yield scene.GridCell(
                tensor.name,
                tuple(n for n in tensor.named(at) if n is not None),
                frame.box(row, column),
                cell_text(tensor, at),
                cell.color if is_placed else None,
                cell.letter if is_lettered else "",
                "" if cell.fate is None else cell.fate.name.lower(),
                (*cell.kinds, "traced") if at in traced else cell.kinds,
            )

    def place_of(self, at: At) -> tuple[GridFrame, list[int], list[int]]:
        """Return the frame, rows and columns of a cell or slice that the picture shows."""
        frame = self.frames[self.tensor.facet_of(at)]
        numbers = []
        for d, ruler in zip(self.dims, (frame.rows, frame.columns), strict=True):
            n = None if d is None else at[d]
            every = [*range(len(ruler.starts))]
            numbers.append(every if n is None else [(ruler.names or []).index(n)])
        return frame, numbers[0], numbers[1]

    def turn(self, box: scene.Box) -> scene.Box:
        """Return a box along the flow and across it."""
        return scene.turned(box) if self.down else box

    def lane_widths(self, lanes: scene.Lanes) -> tuple[float, float]:
        """Return the space that lines need between cells, and beside a facet; 0 without lines."""
        between, beside = (
            lanes.width({self.grid(frame, beside=each) for frame in self.frames.values()})
            for each in (False, True)
        )
        return max(self.space, between), max(self.margin, beside)

    def grid(self, frame: GridFrame, *, beside: bool) -> str:
        """Return what tells the spaces within a frame, or those beside it, apart."""
        return f"{self.tensor.name}{frame.outer}{beside}"

    @property
    def label_space(self) -> float:
        """The space of coordinates and lines before the first cell across the flow."""
        spaces = (
            (each.left + each.lane_left, each.top + each.lane_top) for each in self.frames.values()
        )
        return max((across if self.down else above for across, above in spaces), default=0)


class End:
    """An end of an arrow that leaves a tensor, or comes into it: a cell, or a slice.

    Arrows that come into vectors end at slices, which have the coordinate of a cell.
    """

    def __init__(self, block: TensorBlock, at: At, *, leaves: bool) -> None:
        self._block, self._at, self.leaves = block, at, leaves
        self._tensor, self._named = block.tensor, block.tensor.named(at)
        self._frame, self._rows, self._columns = block.place_of(at)
        self._cell = self._frame.box(self._rows[0], self._columns[0])
        self.is_slice = None in at or (not leaves and len(at) - len(block.tensor.lead) < 2)

    @property
    def id(self) -> str:
        """The id of its element."""
        if self.is_slice:
            return scene.slice_id(self._tensor.name, self._named)
        return scene.cell_id(self._tensor.name, [n for n in self._named if n is not None])

    @property
    def box(self) -> scene.Box:
        """The place of the cell, or of the slice with the coordinates that arrows come in by."""
        if not self.is_slice:
            return self._cell
        whole_rows, whole_columns = (d is None or self._at[d] is None for d in self._block.dims)
        if None not in self._at:  # a cell of a vector
            whole_rows, whole_columns = self._block.down, not self._block.down
        return self._frame.around(
            self._rows, self._columns, with_rows=whole_columns, with_columns=whole_rows
        )

    def grid_slice(self, color: int | None, kinds: tuple[str, ...]) -> scene.GridSlice:
        """Return the slice to draw."""
        return scene.GridSlice(self._tensor.name, self._named, self.box, color, kinds)

    @property
    def needs_lane(self) -> bool:
        """Whether the arrow runs between cells, or past slices, to reach the edge of the grid."""
        d = self._block.dims[0 if self._block.down else 1]
        if self.is_slice:
            return d is not None and self._at[d] is not None
        along = self._frame.rows if self._block.down else self._frame.columns
        return not self.leaves or len(along.starts) > 1

    def lane(self, order: float | None = None) -> scene.Lane:
        """Return the lane of the arrow, in the order of cells or another."""
        block, frame, box = self._block, self._frame, self._block.turn(self.box)
        space = (frame.columns if block.down else frame.rows).space
        start = box.bottom if self.leaves else box.y - space
        if self.is_slice:
            outer, space = block.turn(frame.outer), block.margin
            start = outer.bottom - space if self.leaves else outer.y
        grid = block.grid(frame, beside=self.is_slice)
        order = box.x if order is None else order
        return scene.Lane(grid, start, space, not self.leaves, order)

    def stop(self, lanes: scene.Lanes) -> scene.Stop:
        """Return where the arrow ends."""
        block, outer = self._block, self._frame.outer
        above = block.subtitle_height if block.down else 0
        frame = block.turn(scene.Box(outer.x, outer.y - above, outer.width, outer.height + above))
        if not self.needs_lane:
            return scene.Stop(block.turn(self.box), frame)
        return scene.Stop(block.turn(self.box), frame, lanes.place(self.lane()))
