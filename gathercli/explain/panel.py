"""The model that every picture paints: the tensors of a batch, cell by cell.

A letter, with a colour, marks a part of the data, the indices that pick it and the cells it is
copied to. Painters for terminals and drawings read these cells and decide nothing about them.
"""

from __future__ import annotations

from enum import Enum
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.explain.provenance import Fate
from gathercli.report.grid import GridWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.explain.lesson import Index, Unit
    from gathercli.explain.look import Look

OUT: Final = "out"
"""The name of the output."""

TARGETS: Final = {Fate.FILLED: "none", Fate.REFUSED: "refused"}
"""The target of an index or a parent that points nowhere."""

At = tuple[int | None, ...]
"""Coordinates of a cell, or of a slice: None for all of a dimension."""


class Placement(Enum):
    """The placement of a tensor's labels: at the smallest part with only one."""

    FACET = "facet"
    ROW = "row"
    COLUMN = "column"
    CELL = "cell"


class PanelCell(NamedTuple):
    """An element of a tensor.

    Attributes
    ----------
    text, tail
        Its value, nothing if refused; where an index or a parent leads, if that is another number.
    letter, color
        The letter of the part of `data`, or those of beams, and the number of its colour, from 0.
    fate
        What becomes of an index or an output cell; None in other tensors.
    mark
        What a terminal writes in place of the letter.
    kinds
        ``negative`` for an index below 0, ``unread`` for a cell that nothing in the picture reads,
        ``shared`` for one on several paths.
    """

    text: str
    tail: str = ""
    letter: str = ""
    color: int | None = None
    fate: Fate | None = None
    mark: str = ""
    kinds: tuple[str, ...] = ()


class PanelTensor(NamedTuple):
    """The part of a tensor in a picture.

    Attributes
    ----------
    name, shape
        The tensor; its sizes, where a tuple of indices is one cell.
    lead
        The leading coordinates, which all of its cells share.
    coordinates
        The coordinates of the other dimensions to show, ascending.
    facets
        The coordinates of those before the last two.
    cells
        The cells by their coordinates, `lead` included.
    place
        The placement of the labels in a terminal.
    words
        Its dtype and shape, if its title has room for them.
    note
        A function from the coordinates of a row or facet to its note; None without notes.
    here
        The current cell; None if it is elsewhere.
    across
        Whether a vector is a row.
    floats, left
        Whether to align the points of a column; whether to align values to the left.
    named
        A function from coordinates to those of the whole tensor, if they differ.
    """

    name: str
    shape: tuple[int, ...]
    lead: tuple[int, ...]
    coordinates: tuple[Sequence[int], ...]
    facets: list[tuple[int, ...]]
    cells: dict[tuple[int, ...], PanelCell]
    place: Placement
    words: str = ""
    note: Callable[[tuple[int, ...]], str] | None = None
    here: At | None = None
    across: bool = False
    floats: bool = False
    left: bool = False
    named: Callable[[At], At] = lambda at: at

    @property
    def inner(self) -> tuple[int, ...]:
        """Its sizes without those of `lead`."""
        return self.shape[len(self.lead) :]

    @property
    def is_empty(self) -> bool:
        """Whether it has no cells to show."""
        return 0 in self.inner or not all(map(len, self.coordinates))

    def facet_name(self, facet: At) -> str:
        """Write the coordinates of a facet in the whole tensor: ``[2,:,:]``."""
        at = self.named((*self.lead, *facet, None, None))
        return f"[{','.join(':' if n is None else str(n) for n in at)}]"


class Panel:
    """A batch in a picture.

    Attributes
    ----------
    tensors
        The tensors, the output last.
    traces
        The traces of the output cells, with the batch dimensions apart, row-major.
    """

    tensors: list[PanelTensor]
    traces: dict[tuple[int, ...], Any]


class PanelChoice:
    """The part of a lesson in a picture.

    Attributes
    ----------
    look
        What it is chosen for.
    limits
        The most rows and columns to show whole.
    panels, lead_shape
        The leading coordinates of each panel, and the sizes of those dimensions.
    is_complete
        Whether all that the visible indices pick is in the picture.
    """

    look: Look
    limits: tuple[int, int]
    panels: list[tuple[int, ...]]
    lead_shape: tuple[int, ...]
    is_complete: bool


def cells_of(
    lead: tuple[int, ...], coordinates: Sequence[Sequence[int]], facets: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """List the coordinates of the cells of facets, row-major."""
    rests = list(combinations(*coordinates[-2:]))
    return [(*lead, *facet, *rest) for facet in facets for rest in rests]


def writer(tensor: Tensor, look: Look) -> Callable[[Any], str]:
    """Return a function that formats elements of a tensor."""
    write = GridWriter(tensor, look.precision)
    if not look.marks.ascii:
        return write
    return lambda value: write(value).encode("ascii", "backslashreplace").decode()


def index_text(k: Index) -> str:
    """Format an index: ``-1``, or a tuple: ``(1,2)``."""
    return f"({','.join(map(str, k))})" if isinstance(k, tuple) else str(k)


def unit_text(unit: Unit) -> str:
    """Format the part of `data` that an index picks: ``data[3,:]``."""
    return f"data[{','.join(':' if n is None else str(n) for n in unit)}]"


def letter_of(number: int) -> str:
    """Return the letter for a number: a to z, then aa, ab and so on.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('a', 'z', 'aa')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name
