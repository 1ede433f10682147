"""Where every output cell came from: what `explain` draws, traces and writes as data.

The positions come from the family's `sources`, to which tests hold the kernel too, so that an
explanation and an answer cannot disagree.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.arrays import check, result, threads
from gathercli.arrays.tensor import Tensor
from gathercli.errors import OutOfRangeError
from gathercli.lessons.beams import BeamLesson
from gathercli.lessons.provenance import Fate, Provenance
from gathercli.ops import FAMILIES, indexed_inputs
from gathercli.spec.coordinates import coordinates, flat_positions
from gathercli.spec.op import Negative, OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.tensor import AnyArray

COUNTED: Final = 1 << 24
DENSE: Final = 1 << 22
SPARSE: Final = 1 << 20
"""The most indices for which the reads of each part of `data` are counted: `COUNTED` if there are
at most `DENSE` parts, else `SPARSE`."""

_READS_BLOCK: Final = 1 << 18
"""Indices of a block when reads are counted."""

BLOCK: Final = 1 << 14
"""Output cells of a block."""

Unit = tuple[int | None, ...]
"""The part of `data` that one index picks: a coordinate a dimension, None for all of it."""


class Trace(NamedTuple):
    """The way of one output cell.

    Attributes
    ----------
    out
        Its coordinates.
    indices, k
        The coordinates of its index, and the index itself.
    position
        The position on the axis, from 0; None if the index points nowhere.
    data
        The coordinates of the cell of `data` that was copied; None if none was.
    fate, value
        How the cell got its value, and the value; None if the index was refused.
    """

    out: tuple[int, ...]
    indices: tuple[int, ...]
    k: int
    position: int | None
    data: tuple[int, ...] | None
    fate: Fate
    value: Any


class Block(NamedTuple):
    """The ways of C output cells, as arrays of shape (C,).

    Attributes
    ----------
    out, indices, data
        Coordinates, an array a dimension; those of `data` are 0 where nothing is copied.
    k, positions
        The indices, and their positions on the axis; -1 for none.
    elements
        The values of the cells; zeros where nothing is copied.
    """

    out: tuple[AnyArray, ...]
    indices: tuple[AnyArray, ...]
    data: tuple[AnyArray, ...]
    k: AnyArray
    positions: AnyArray
    elements: Tensor

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield for each cell its coordinates in out, indices and data, k and the position."""
        tuples = (_tuples(each, len(self.k)) for each in (self.out, self.indices, self.data))
        return zip(*tuples, self.k.tolist(), self.positions.tolist(), strict=True)


class Lesson(Provenance[Trace]):
    """Where each output cell of a gather along an axis came from.

    Attributes
    ----------
    data, indices
        The first input, which is gathered, and the input of the indices.
    along
        What the indices count along.
    axis, dim_map
        The call as a gather along one axis of `data`.

    Raises
    ------
    LimitError
        The output would have more dimensions, or elements, than there can be.
    """

    def __init__(
        self,
        bound: BoundCall,
        *,
        threads: int = 1,
        progress: threads.ProgressCallback | None = None,
    ) -> None:
        inputs = bound.in_memory
        if inputs is None:
            raise LookupError("a lesson looks at tensors in memory")
        call = bound.call
        tensors = dict(zip(call.inputs, inputs, strict=True))
        super().__init__(call, bound.shape)
        as_gather = self._family.as_gather(call)
        if as_gather is None:
            raise LookupError(f"{call.op} gathers along no axis")
        self.axis, self.dim_map = as_gather.axis, tuple(as_gather.dim_map)
        indexed = indexed_inputs(call)
        self.along = next(iter(indexed.values()))[0]
        self.data, self.indices = inputs[0], tensors[self.along.input]
        result.check_size(self.shape, self.data, None)
        try:
            for name, axes in indexed.items():
                _, adjustments = check.check_indices(
                    call, axes, tensors[name].array, threads=threads, progress=progress
                )
                self.adjustments += tuple(adjustments)
        except OutOfRangeError as error:
            self.refusal = error

    def fate(self, k: int, position: int) -> Fate:
        """Return the fate of the cells of an index `k` with this position on the axis, or -1."""
        if position >= 0:
            return Fate.COPIED
        refused = k < 0 and self.call.negative is Negative.ERROR
        fills = self.call.outside is OutOfRange.ZERO and not refused
        return Fate.FILLED if fills else Fate.REFUSED

    @cached_property
    def unit_dims(self) -> tuple[int, ...]:
        """The dimensions of `data` in which the units of two indices differ, with the axis."""
        shared = (d for d, i in self.dim_map if d is not None and i is not None)
        return tuple(sorted((*shared, self.axis)))

    @cached_property
    def unit_sizes(self) -> tuple[int, ...]:
        """The sizes of those dimensions; their product is the number of units."""
        return tuple(self.data.shape[d] for d in self.unit_dims)

    @property
    def picks_cells(self) -> bool:
        """Whether an index picks one cell of `data`, not a slice."""
        return len(self.unit_dims) == len(self.data.shape)

    def unit(self, at: Sequence[int], position: int) -> Unit | None:
        """Return the part of `data` that the index at `at` picks; None for position -1.

        >>> from gathercli import explain
        >>> explain("gather", [[1, 2], [3, 4]], [1], axis=1).unit((0,), 1)
        (None, 1)
        """
        if position < 0:
            return None
        unit = self._unit_coordinates(at, position)
        return tuple(unit.get(d) for d in range(len(self.data.shape)))

    def _unit_coordinates(self, at: Sequence[Any], position: Any) -> dict[int, Any]:
        """Return the coordinate of a unit, or an array of them, for each of `unit_dims`."""
        shared = {d: at[i] for d, i in self.dim_map if d is not None and i is not None}
        return shared | {self.axis: position}

    def positions(self, at: tuple[AnyArray, ...]) -> tuple[AnyArray, AnyArray]:
        """Return indices, and the position on the axis of each, or -1.

        Parameters
        ----------
        at
            Coordinates in `indices`, one array a dimension, of shapes that broadcast.
        """
        k = np.asarray(self.indices.array[at])
        return k, check.positions(self.call, self.along, k)

    def block(self, cells: AnyArray) -> Block:
        """Return the ways of output cells, from their flat positions; shape (C,), int64."""
        out = coordinates(cells, self.shape)
        at: list[AnyArray] = [cells] * len(self.indices.shape)
        for coords, (_, i) in zip(out, self.dim_map, strict=True):
            if i is not None:
                at[i] = coords
        k, positions = (np.broadcast_to(x, cells.shape) for x in self.positions(tuple(at)))
        sources = self._family.sources(self.call, {self.along.input: _Positions(self)}, cells)
        array = self.data.array
        if array.size:
            from_data = coordinates(np.maximum(sources, 0), self.data.shape)
            elements = array[from_data]
            elements[sources < 0] = np.zeros((), array.dtype)
        else:
            from_data = tuple(np.zeros_like(cells) for _ in self.data.shape)
            elements = np.zeros(cells.shape, array.dtype)
        return Block(out, tuple(at), from_data, k, positions, Tensor(self.data.dtype, elements))

    def traces(self, cells: AnyArray) -> Iterator[Trace]:
        """Yield the ways of output cells, from their flat positions; shape (C,), int64."""
        for start in range(0, len(cells), BLOCK):
            block = self.block(cells[start : start + BLOCK])
            yield from map(self._trace, block.rows(), block.elements.values().tolist())

    def _trace(self, row: tuple[Any, ...], value: Any) -> Trace:
        out, at, data, k, position = row
        fate = self.fate(k, position)
        if fate is Fate.COPIED:
            return Trace(out, at, k, position, data, fate, value)
        return Trace(out, at, k, None, None, fate, value if fate is Fate.FILLED else None)

    @cached_property
    def reads(self) -> Reads | None:
        """How often each unit is read; None if there are too many indices to count."""
        total, count = self.indices.array.size, product(self.unit_sizes)
        blocks = map(self._unit_numbers, range(0, total, _READS_BLOCK))
        if total <= COUNTED and count <= DENSE:
            dense = np.zeros(count, np.int64)
            for numbers in blocks:
                dense += np.bincount(numbers, minlength=count)
            units = np.flatnonzero(dense)
            return Reads(units, dense[units], self.unit_sizes)
        if total > SPARSE:
            return None
        units, counts = np.unique(
            np.concatenate([np.zeros(0, np.int64), *blocks]), return_counts=True
        )
        return Reads(units, counts, self.unit_sizes)

    def _unit_numbers(self, start: int) -> AnyArray:
        """Return the number of the unit of each index of a block that points somewhere."""
        stop = min(start + _READS_BLOCK, self.indices.array.size)
        at = coordinates(np.arange(start, stop), self.indices.shape)
        positions = self.positions(at)[1].reshape(-1)
        unit = self._unit_coordinates(at, positions)
        coords = [unit[d] for d in self.unit_dims]
        numbers: AnyArray = flat_positions(coords, self.unit_sizes, none=positions < 0)
        return numbers[numbers >= 0]


def lesson_of(
    bound: BoundCall, *, progress: threads.ProgressCallback | None = None
) -> Provenance[Any]:
    """Return the lesson of a bound call, by what its operator does.

    Raises
    ------
    LimitError
        The output would have more dimensions, or elements, than there can be.
    """
    as_gather = FAMILIES[bound.call.op.family].as_gather(bound.call)
    lesson = BeamLesson if as_gather is None else Lesson
    return lesson(bound, progress=progress)


def _tuples(coords: tuple[AnyArray, ...], count: int) -> list[tuple[int, ...]]:
    """Turn an array a dimension into a tuple a cell, `count` of them."""
    return list(zip(*(each.tolist() for each in coords), strict=True)) if coords else [()] * count


class Reads(NamedTuple):
    """How often the units of `data` are read.

    Attributes
    ----------
    units, counts
        The units that are read, as flat positions in `sizes`, ascending; how often.
    sizes
        `Lesson.unit_sizes`.
    """

    units: AnyArray
    counts: AnyArray
    sizes: tuple[int, ...]

    def of(self, unit: Unit) -> int:
        """Return how often a unit is read."""
        number = flat_positions([n for n in unit if n is not None], self.sizes, none=False)
        at = int(np.searchsorted(self.units, number))
        return int(self.counts[at]) if at < len(self.units) and self.units[at] == number else 0


class _Positions:
    """The positions of a lesson's indices; only those at the coordinates asked for are computed."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson

    def __getitem__(self, at: tuple[AnyArray, ...]) -> AnyArray:
        return self._lesson.positions(at)[1]
