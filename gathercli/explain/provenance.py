"""The provenance of output cells: what that of a gather and that of beams share."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar

import numpy as np

from gathercli.errors import OutOfRangeError, UsageError
from gathercli.spec.shapes import Shape, flat_positions, product
from gathercli.text import as_written, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.adjustments import Adjustment
    from gathercli.spec.call import Call


CellTrace = TypeVar("CellTrace")  # the provenance of one output cell


class Fate(Enum):
    """The origin of the value of an output cell."""

    COPIED = "copied"
    FILLED = "zero-filled"
    REFUSED = "refused"
    ENDED = "ended"
    BEYOND = "beyond"


class Provenance(ABC, Generic[CellTrace]):
    """A call that can trace each cell of its output to its source.

    `panel_shape` is the shape of the output with the batch dimensions apart; `refusal` the error
    for the first refused index, None if all are accepted; `adjustments` the treatment of indices
    outside the axis.
    """

    def __init__(self, call: Call, shape: tuple[int, ...]) -> None:
        self.call, self.shape, self.panel_shape = call, shape, shape
        self.refusal: OutOfRangeError | None = None
        self.adjustments: tuple[Adjustment, ...] = ()

    @property
    def size(self) -> int:
        """The number of output cells."""
        return product(self.shape)

    @property
    def equation(self) -> str:
        """The equation of an output cell: ``out[i, s] = data[indices[i], s]``."""
        return self.call.family.equation(self.call)

    @property
    def letters(self) -> list[str]:
        """The names of the output's coordinates in the equation, batch dimensions apart."""
        left = self.equation.partition(" = ")[0]
        return re.findall(r"[a-z]\d*", left.removeprefix("out"))

    @abstractmethod
    def traces(self, cells: AnyArray) -> Iterator[CellTrace]:
        """Yield the traces of output cells from their flat positions, shape (C,), int64."""

    @abstractmethod
    def telling(self, trace: CellTrace) -> tuple[Any, ...]:
        """Return the kind of a cell, and the rank of its trace as a worked example; more is better.

        An example tells nothing if another rule would give the same cell: ``out[1] = data[1]``.
        """

    def cell(self, *at: SupportsIndex) -> CellTrace:
        """Return the trace of an output cell; negative coordinates count from the end.

        Raises
        ------
        UsageError
            The output has no such cell.

        Examples
        --------
        >>> from gathercli import explain
        >>> trace = explain("gather", [10, 20, 30], [2, -3]).cell(1)
        >>> trace.k, trace.position, trace.data, trace.value
        (-3, 0, (0,), 10)
        """
        position = flat_positions(self.normalized(at), self.shape, none=False)
        return next(self.traces(np.array([position])))

    def normalized(self, at: Sequence[SupportsIndex]) -> tuple[int, ...]:
        """Return the coordinates of an output cell, negative ones normalised.

        Raise `UsageError` if the output has no such cell.
        """
        shape = f"the output is {Shape(self.shape)}"
        if len(at) != len(self.shape):
            rank = counted(len(self.shape), "coordinate") if self.shape else "no coordinates"
            raise _no_cell(at, f"{counted(len(at), 'coordinate')}, but {shape}", rank)
        cell: list[int] = []
        for d, (value, size) in enumerate(zip(at, self.shape, strict=True)):
            try:
                n = operator.index(value)
            except TypeError:
                raise _no_cell(at, f"coordinate {d} is {as_written(value)}", "an integer") from None
            if not -size <= n < size:
                legal = f"{-size} to {size - 1}" if size else "no cell at all"
                raise _no_cell(at, f"coordinate {d} is {n}, but {shape}", legal)
            cell.append(n % size)
        return tuple(cell)


def _no_cell(at: Sequence[object], why: str, expected: str) -> UsageError:
    cell = ",".join(map(str, at))
    return UsageError(f"the output has no cell [{cell}]: {why}", value=cell, expected=expected)


def telling_traces(
    provenance: Provenance[CellTrace], traces: Iterable[CellTrace]
) -> list[CellTrace]:
    """Return the most telling trace of each kind of cell, the most telling kind first."""
    best: dict[str, tuple[tuple[Any, ...], CellTrace]] = {}
    for trace in traces:
        kind, *rest = provenance.telling(trace)
        rank = tuple(rest)
        if kind not in best or rank > best[kind][0]:
            best[kind] = rank, trace
    return [trace for _, trace in sorted(best.values(), key=lambda pair: pair[0], reverse=True)]
