"""A tensor in a drawing: its facets beside each other, and the places of its cells and slices."""

from __future__ import annotations

from itertools import product as combinations
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.explain.drawing.frame import HEIGHT, NARROWEST, SPACE, GridFrame, Ruler
from gathercli.explain.drawing.lanes import Lane, Lanes
from gathercli.explain.drawing.routes import Stop, turned
from gathercli.explain.drawing.scene import Caption, GridCell, GridSlice, cell_id, slice_id
from gathercli.explain.drawing.shapes import Box, text_width
from gathercli.explain.panel import OUT
from gathercli.explain.provenance import Fate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gathercli.explain.panel import At, PanelTensor

TEXT: Final = 15
"""The size of the text of cells."""

_BETWEEN: Final = 22
"""The space between facets."""
_SUBTITLE: Final = 20
"""The height of the name of a facet."""
_CORNER: Final = 6
"""The space after it, where arrows come in from above."""


class Excerpt(NamedTuple):
    """A tensor to draw.

    Attributes
    ----------
    tensor
        Its cells.
    upright
        Whether a vector is a column.
    lane
        The space between its cells for the lines that run there; 0 without lines.
    has_entries
        Whether such lines come in to cells, so that there is a space before the first ones.
    from_end
        The dimensions whose coordinates are also written from the end.
    """

    tensor: PanelTensor
    upright: bool = False
    lane: float = 0
    has_entries: bool = False
    from_end: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """The name of the tensor."""
        return self.tensor.name


def cell_text(tensor: PanelTensor, at: tuple[int, ...]) -> str:
    """Write a cell: an index with what it leads to, an output cell or what refuses it."""
    cell = tensor.cells[at]
    if tensor.name != OUT:
        return cell.text + cell.tail
    return "!" if cell.fate is Fate.REFUSED else cell.text


class TensorBlock:
    """A part of a tensor, laid out.

    Parameters
    ----------
    excerpt
        What to draw.
    down
        Whether the drawing flows downwards, so that facets stand beside each other.
    narrowest
        The smallest width of a cell.

    Attributes
    ----------
    frames
        The frame of each facet.
    width, height
        The size.
    """

    def __init__(self, excerpt: Excerpt, *, down: bool, narrowest: float = NARROWEST) -> None:
        self.excerpt, self._down = excerpt, down
        tensor = self.tensor = excerpt.tensor
        lead, rank = len(tensor.lead), len(tensor.inner)
        self.is_empty = tensor.is_empty
        dims: list[int | None] = [*range(lead, lead + rank)]
        if rank < 2:
            dims = [*dims, None] if excerpt.upright else [None, *dims]
        self._dims = [None, None, *dims][-2:]
        self.facets = tensor.facets
        widest = max((text_width(cell_text(tensor, at), TEXT) for at in tensor.cells), default=0)
        # Whole pixels, an even number: positions and centres need no decimals.
        self.cell_width = max(narrowest, 2 * ceil(widest / 2 + 11))
        self.frames = {} if self.is_empty else {facet: self._frame() for facet in self.facets}
        self.has_subtitles = rank > 2
        self._place(0, 0)

    def _frame(self) -> GridFrame:
        tensor, excerpt = self.tensor, self.excerpt
        # The lines of a drawing that flows down run between columns, else between rows.
        spaces: list[float] = [SPACE, SPACE]
        if excerpt.lane:
            spaces[self._down] = excerpt.lane
        lengths = (HEIGHT, self.cell_width)
        rulers = []
        for d, length, space in zip(self._dims, lengths, spaces, strict=True):
            names = None if d is None else tensor.coordinates[d - len(tensor.lead)]
            size = 1 if d is None else tensor.shape[d]
            rulers.append(Ruler(names, size, length, space, from_end=d in excerpt.from_end))
        corner = text_width(self._subtitle(self.facets[-1]), 13, mono=False) + _CORNER
        beside = self._down and len(tensor.inner) > 2
        return GridFrame(*rulers, corner=corner if beside else 0, has_entries=excerpt.has_entries)

    def _subtitle(self, facet: tuple[int, ...]) -> str:
        """Return the name of a facet, and that from the end if it is wanted."""
        tensor, at = self.tensor, (*self.tensor.lead, *facet)
        from_end, name = self.excerpt.from_end, tensor.facet_name(facet)
        if not any(d in from_end for d in range(len(tensor.lead), len(at))):
            return name
        sizes = enumerate(zip(at, tensor.shape, strict=False))
        ends = [n - size if d in from_end else n for d, (n, size) in sizes]
        return f"{name} = [{','.join(map(str, ends))},:,:]"

    @property
    def _subtitle_height(self) -> float:
        return _SUBTITLE if self.has_subtitles else 0

    def _place(self, x: float, y: float) -> None:
        """Set the place of each frame, from that of the block."""
        self.x, self.y = x, y
        below = self._subtitle_height
        right = bottom = 0.0
        along = 0.0
        for frame in self.frames.values():
            left, up = (along, below) if self._down else (0.0, along + below)
            frame.move_to(x + left, y + up)
            right, bottom = max(right, left + frame.width), max(bottom, up + frame.height)
            along = (right if self._down else bottom) + _BETWEEN
        if self.is_empty:
            right, bottom = 190, HEIGHT
        self.width, self.height = right, bottom

    def move_to(self, x: float, y: float) -> None:
        """Set the upper left corner."""
        self._place(x, y)

    @property
    def middle(self) -> float:
        """The y of the middle of the cells."""
        inner = [frame.inner for frame in self.frames.values()] or [self.box]
        return (min(each.y for each in inner) + max(each.bottom for each in inner)) / 2

    @property
    def box(self) -> Box:
        """The place of the block."""
        return Box(self.x, self.y, self.width, self.height)

    def captions(
        self, facet: tuple[int, ...], rows: dict[int, str], columns: dict[int, str]
    ) -> Iterator[Caption]:
        """Yield the coordinates of a facet, and its name.

        Parameters
        ----------
        rows, columns
            Further kinds of coordinates.
        """
        frame = self.frames[facet]
        yield from frame.captions(rows, columns)
        if self.has_subtitles:
            yield Caption(frame.outer.x, frame.outer.y - 8, self._subtitle(facet), "facet")

    def cells(
        self, facet: tuple[int, ...], traced: Collection[tuple[int, ...]]
    ) -> Iterator[GridCell]:
        """Yield the cells of a facet, row-major.

        Parameters
        ----------
        traced
            The coordinates of those on the path of the traced cell.
        """
        tensor, frame = self.tensor, self.frames[facet]
        rows, columns = (range(len(each.starts)) for each in (frame.rows, frame.columns))
        for row, column in combinations(rows, columns):
            coords = [*tensor.lead, *facet]
            for ruler, number in ((frame.rows, row), (frame.columns, column)):
                if ruler.names is not None:
                    coords.append(ruler.names[number])
            at = tuple(coords)
            cell = tensor.cells[at]
            is_placed = cell.fate in (None, Fate.COPIED)
            yield GridCell(
                tensor.name,
                tuple(n for n in tensor.named(at) if n is not None),
                frame.box(row, column),
                cell_text(tensor, at),
                cell.color if is_placed else None,
                cell.letter,
                "" if cell.fate is None else cell.fate.name.lower(),
                (*cell.kinds, "traced") if at in traced else cell.kinds,
            )

    def _numbers(self, at: At) -> tuple[GridFrame, list[int], list[int]] | None:
        """Return the frame, rows and columns of a cell or slice; None if it is not drawn."""
        inner = at[len(self.tensor.lead) :]
        facet = tuple(n for n in inner[: max(0, len(inner) - 2)] if n is not None)
        frame = self.frames.get(facet)
        if frame is None:
            return None
        numbers = []
        for d, ruler in zip(self._dims, (frame.rows, frame.columns), strict=True):
            n = None if d is None else at[d]
            if n is not None and n not in (ruler.names or []):
                return None
            numbers.append(
                [*range(len(ruler.starts))] if n is None else [(ruler.names or []).index(n)]
            )
        return frame, numbers[0], numbers[1]

    def _place_of(self, at: At) -> tuple[GridFrame, list[int], list[int]]:
        place = self._numbers(at)
        if place is None:
            raise LookupError(f"{self.tensor.name} is drawn without {at}")
        return place

    def has(self, at: At) -> bool:
        """Return whether a cell or slice is drawn."""
        return self._numbers(at) is not None

    def is_slice(self, at: At, *, leaves: bool) -> bool:
        """Return whether an arrow ends at a slice instead of a cell.

        So do those that come into vectors, where the slice has the coordinate of a cell.
        """
        return None in at or (not leaves and len(at) - len(self.tensor.lead) < 2)

    def slice_box(self, at: At) -> Box:
        """Return the place of a slice, with the coordinates that arrows come in by."""
        frame, rows, columns = self._place_of(at)
        whole_rows, whole_columns = (d is None or at[d] is None for d in self._dims)
        if None not in at:  # a cell of a vector
            whole_rows, whole_columns = self._down, not self._down
        return frame.around(rows, columns, with_rows=whole_columns, with_columns=whole_rows)

    def grid_slice(self, at: At, color: int | None, kinds: tuple[str, ...] = ()) -> GridSlice:
        """Return a slice to draw."""
        name, named = self.tensor.name, self.tensor.named(at)
        return GridSlice(name, named, self.slice_box(at), color, kinds)

    def cell_box(self, at: At) -> Box:
        """Return the place of a cell."""
        frame, rows, columns = self._place_of(at)
        return frame.box(rows[0], columns[0])

    def end_id(self, at: At, *, leaves: bool) -> str:
        """Return the id of the element at an end of an arrow."""
        named = self.tensor.named(at)
        if self.is_slice(at, leaves=leaves):
            return slice_id(self.tensor.name, named)
        return cell_id(self.tensor.name, [n for n in named if n is not None])

    def needs_lane(self, at: At, *, leaves: bool) -> bool:
        """Return whether an arrow runs between cells to reach the edge of the grid."""
        if self.is_slice(at, leaves=leaves):
            return False
        inner, box = self._turn(self._place_of(at)[0].inner), self._turn(self.cell_box(at))
        return not leaves or box.width < inner.width

    def _turn(self, box: Box) -> Box:
        """Return a box along the flow and across it."""
        return turned(box) if self._down else box

    def lane(self, at: At, *, leaves: bool, after: bool = False) -> Lane:
        """Return the lane of an arrow; `after` is that on the far side of the cell.

        There it lies beyond the lane of a line that leaves the same cell.
        """
        frame, rows, columns = self._place_of(at)
        box = self._turn(frame.box(rows[0], columns[0]))
        space = (frame.columns if self._down else frame.rows).space
        enters = not leaves and not after
        start = box.y - space if enters else box.bottom
        return Lane(self._grid(frame), start, space, enters, box.x - after)

    def _grid(self, frame: GridFrame) -> str:
        return f"{self.tensor.name}{frame.outer}"

    def lane_width(self, lanes: Lanes) -> float:
        """Return the space between cells that lines need; 0 without lines."""
        return lanes.width({self._grid(frame) for frame in self.frames.values()})

    def stop(self, at: At, lanes: Lanes, *, leaves: bool, turns: bool = False) -> Stop:
        """Return the end of an arrow.

        Parameters
        ----------
        leaves
            Whether the arrow leaves it.
        turns
            Whether an arrow that comes in turns round at the far end of the grid.
        """
        outer, above = self._place_of(at)[0].outer, self._subtitle_height if self._down else 0
        frame = self._turn(Box(outer.x, outer.y - above, outer.width, outer.height + above))
        if self.is_slice(at, leaves=leaves):
            return Stop(self._turn(self.slice_box(at)), frame)
        box = self._turn(self.cell_box(at))
        if not self.needs_lane(at, leaves=leaves):
            return Stop(box, frame)
        lane = lanes.place(self.lane(at, leaves=leaves))
        back = None
        if turns and not leaves:
            back = lanes.place(self.lane(at, leaves=leaves, after=True))
        return Stop(box, frame, lane, back)

    def direction(self, d: int) -> int | None:
        """Return 0 for a dimension that is the rows of a facet, 1 for columns, else None."""
        return self._dims.index(d) if d in self._dims else None

    @property
    def label_width(self) -> float:
        """The width of the coordinates of rows, and of the space before the first column."""
        return max((frame.left + frame.lane_left for frame in self.frames.values()), default=0)

    @property
    def label_height(self) -> float:
        """The height of the coordinates of columns, and of the space before the first row."""
        return max((frame.top + frame.lane_top for frame in self.frames.values()), default=0)
