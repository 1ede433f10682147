"""The drawing of a lesson as geometry: what stands where, without colours or markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.explain.drawing.shapes import Box


class GridCell(NamedTuple):
    """A cell of a tensor.

    Attributes
    ----------
    tensor, at
        The name of the tensor, and the coordinates of the cell in it; a tuple of indices is one
        cell, at the coordinates before its dimension.
    box, text
        Its place, and its value.
    color, letter
        The number of the colour of the part of `data` that it comes from or picks, from 0, and the
        letter of that part; None and nothing for a cell of no part.
    fate
        ``copied``, ``filled``, ``refused``, ``ended`` or ``beyond``; nothing in an input that is
        not indices.
    kinds
        Further words: ``negative`` for an index below 0, ``unread`` for a cell that no index
        picks, ``traced`` on the path of the traced cell.
    """

    tensor: str
    at: tuple[int, ...]
    box: Box
    text: str
    color: int | None = None
    letter: str = ""
    fate: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its element."""
        return cell_id(self.tensor, self.at)


class GridSlice(NamedTuple):
    """A rectangle around cells of a tensor and their coordinate: what arrows point at.

    Attributes
    ----------
    tensor, at
        The name of the tensor; the coordinates of the cells, None for all of a dimension.
    box, color
        Its place; the number of its colour.
    kinds
        As of `GridCell`, and ``outside`` for the place of indices that point nowhere.
    """

    tensor: str
    at: tuple[int | None, ...]
    box: Box
    color: int | None = None
    kinds: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its element."""
        return slice_id(self.tensor, self.at)


class Caption(NamedTuple):
    """A line of text.

    Attributes
    ----------
    x, y
        The point on the baseline where it is anchored.
    text, kind
        The words; their role: ``title``, ``coordinate``, ``gap`` and others, a class of the SVG.
    anchor
        ``start``, ``middle`` or ``end``.
    spans
        Pieces of the text with a role of their own: start, stop, role.
    """

    x: float
    y: float
    text: str
    kind: str
    anchor: str = "start"
    spans: Sequence[tuple[int, int, str]] = ()


class Grid(NamedTuple):
    """A matrix or a vector: a tensor, or a facet of it.

    Attributes
    ----------
    tensor, facet
        The name of the tensor; the leading coordinates of the facet.
    box
        The place of the cells.
    cells, slices, captions
        What is in it and around it.
    """

    tensor: str
    facet: tuple[int, ...]
    box: Box
    cells: Sequence[GridCell]
    slices: Sequence[GridSlice]
    captions: Sequence[Caption]


class Arrow(NamedTuple):
    """A line from a cell or slice to another.

    Attributes
    ----------
    source, target
        The ids of their elements.
    d
        The path: a line from the edge of the one to the edge of the other, then its head.
    color
        The number of its colour; None for an index that points nowhere.
    kinds
        ``picks`` from an index, ``lands`` to the output; ``negative`` if it bends round the end of
        the axis; ``filled`` or ``refused``; ``traced`` on the path of the traced cell.
    """

    source: str
    target: str
    d: str
    color: int | None = None
    kinds: tuple[str, ...] = ()


class Scene(NamedTuple):
    """A drawing.

    Attributes
    ----------
    width, height
        Its size in pixels.
    title, description
        What it shows, in words.
    grids, arrows, captions
        Its parts.
    faint
        Whether to draw all but the path of the traced cell faintly.
    """

    width: float
    height: float
    title: str
    description: str
    grids: Sequence[Grid]
    arrows: Sequence[Arrow]
    captions: Sequence[Caption]
    faint: bool = False

    @property
    def cells(self) -> Iterator[GridCell]:
        """The cells of all grids."""
        return (cell for grid in self.grids for cell in grid.cells)


def cell_id(tensor: str, at: Sequence[int]) -> str:
    """Return the id of a cell: ``data-2-0``."""
    return "-".join([tensor, *map(str, at)])


def slice_id(tensor: str, at: Sequence[int | None]) -> str:
    """Return the id of a slice: ``slice-data-2-_``."""
    return "-".join(["slice", tensor, *("_" if n is None else str(n) for n in at)])
