"""What a picture shows of a lesson, and the characters that it does so with."""

from __future__ import annotations

from typing import Final, NamedTuple


class Marks(NamedTuple):
    """The marks of a picture, in Unicode or in ASCII.

    Attributes
    ----------
    arrow, times
        Between an index and its position; before the number of reads of a cell.
    rows, columns
        In place of hidden rows and columns.
    nowhere, refused, hidden
        Labels of cells that are filled, refused, or read by hidden indices only.
    ascii
        Whether to print ASCII alone.
    """

    arrow: str = " → "
    times: str = "\N{MULTIPLICATION SIGN}"
    rows: str = "⋮"
    columns: str = "…"
    nowhere: str = "·"
    refused: str = "!"
    hidden: str = "+"
    ascii: bool = False


ASCII: Final = Marks(" -> ", "*", ":", "..", ".", ascii=True)

Window = tuple[slice | None, ...]
"""The coordinates to show of each output dimension; None for as many as fit."""


class Look(NamedTuple):
    """The appearance of a picture.

    Attributes
    ----------
    width
        The columns of the terminal; None for no limit.
    precision
        The significant digits of floats.
    marks
        The characters beside letters and numbers.
    window
        The output coordinates to show.
    here
        The output cell to mark.
    height
        The lines for the panels; None for no limit.
    advice
        A hint on how to see hidden cells.
    """

    width: int | None
    precision: int = 6
    marks: Marks = Marks()
    window: Window = ()
    here: tuple[int, ...] | None = None
    height: int | None = None
    advice: str = "--window chooses others"
