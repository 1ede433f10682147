"""Where every output cell came from: what `explain` draws, traces and writes as data.

The positions are those of the family's `sources`, which also are what the fast way is held to, so
that explanation and answer cannot disagree.
"""

from __future__ import annotations

import operator
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex

from gathercli import engine
from gathercli.arrays import check, result, threads
from gathercli.arrays.tensor import Tensor
from gathercli.errors import OutOfRangeError, UsageError
from gathercli.ops import FAMILIES
from gathercli.spec.coordinates import coordinates, flat_positions, known
from gathercli.spec.op import Negative, OutOfRange
from gathercli.spec.shapes import Shape, product
from gathercli.text import as_written, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.tensor import AnyArray

COUNTED: Final = 1 << 24
DENSE: Final = 1 << 22
SPARSE: Final = 1 << 20
"""Indices up to which it is counted how often each part of `data` is read: so many where there are
at most `DENSE` parts, fewer where there are more."""

_COUNTED_TOGETHER: Final = 1 << 18
"""Indices that are counted together."""

BLOCK: Final = 1 << 14
"""Output cells looked at together."""

Unit = tuple[int | None, ...]
"""What one index picks: a coordinate of `data` a dimension, None for all of a dimension."""


class Fate(Enum):
    """How an output cell got its value."""

    COPIED = "copied"
    FILLED = "zero-filled"
    REFUSED = "refused"


class Trace(NamedTuple):
    """The way of one output cell.

    Attributes
    ----------
    out
        Its coordinates.
    indices, k
        The coordinates of the index that decided, and that index as it is written.
    position
        Where on the axis it points, from the front; None where it points nowhere.
    data
        The coordinates of the cell of `data` that was copied; None where none was.
    fate, value
        How it got its value, and the value; None where it was refused.
    """

    out: tuple[int, ...]
    indices: tuple[int, ...]
    k: int
    position: int | None
    data: tuple[int, ...] | None
    fate: Fate
    value: Any


class Block(NamedTuple):
    """The ways of C output cells, as arrays of shape (C,); coordinates one array a dimension.

    Attributes
    ----------
    out, indices, data
        Coordinates; those of `data` are 0 where nothing is copied.
    k, positions, sources
        The index, where on the axis it points, and the flat position in `data`; -1 for none.
    held
        What the cells hold, of the type of `data`; zeros where nothing is copied.
    """

    out: tuple[AnyArray, ...]
    indices: tuple[AnyArray, ...]
    data: tuple[AnyArray, ...]
    k: AnyArray
    positions: AnyArray
    sources: AnyArray
    held: Tensor

    def ways(self) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield the coordinates of each cell: in the output, the indices and `data`."""
        coords = (self.out, self.indices, self.data)
        return zip(*(_tuples(each, len(self.k)) for each in coords), strict=True)


class Lesson:
    """A call and its tensors, ready to say where each output cell came from.

    Attributes
    ----------
    call, data, indices
        What was called, on what.
    shape
        Of the output.
    refusal
        The first index that is refused, and why; None when all are accepted.
    treated
        What became of indices outside the axis.

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
        call, (data, indices) = bound.call, inputs
        self.call, self.data, self.indices = call, data, indices
        self._family = FAMILIES[call.op.family]
        self.shape = known(engine.infer(call))
        as_gather = self._family.as_gather(call)
        if as_gather is None:
            raise LookupError(f"{call.op} gathers along no axis")
        self.dim_map = tuple(as_gather.dim_map)
        result.check_size(self.shape, data, None)
        self.refusal: OutOfRangeError | None = None
        self.adjustments: tuple[check.Adjustment, ...] = ()
        try:
            (along,) = self._family.indexed_axes(call)
            _, adjustments = check.check_indices(
                call, along, indices.array, threads=threads, progress=progress
            )
            self.adjustments = tuple(adjustments)
        except OutOfRangeError as error:
            call.add_call(error)
            self.refusal = error

    @property
    def size(self) -> int:
        """How many output cells there are."""
        return product(self.shape)

    @property
    def equation(self) -> str:
        """What an output cell is: ``out[i, s] = data[indices[i], s]``."""
        return self._family.equation(self.call)

    def fate(self, k: int, position: int) -> Fate:
        """Tell what an index makes of its cells, from where it points; -1 for nowhere."""
        if position >= 0:
            return Fate.COPIED
        refused = k < 0 and self.call.negative is Negative.ERROR
        fills = self.call.outside is OutOfRange.ZERO and not refused
        return Fate.FILLED if fills else Fate.REFUSED

    @cached_property
    def unit_dims(self) -> tuple[int, ...]:
        """The dimensions of `data` that tell apart what two indices pick: the axis among them."""
        shared = (d for d, i in self.dim_map if d is not None and i is not None)
        return tuple(sorted((*shared, self.call.places[0])))

    @property
    def picks_cells(self) -> bool:
        """Whether an index picks one cell of `data`, not a slice."""
        return len(self.unit_dims) == len(self.data.shape)

    def unit(self, at: Sequence[int], position: int) -> Unit | None:
        """Return what the index at coordinates `at` picks, from where it points; None for nothing.

        >>> from gathercli import explain
        >>> explain("gather", [[1, 2], [3, 4]], [1], axis=1).unit((0,), 1)
        (None, 1)
        """
        if position < 0:
            return None
        unit: list[int | None] = [None] * len(self.data.shape)
        for d, i in self.dim_map:
            if d is not None and i is not None:
                unit[d] = at[i]
        unit[self.call.places[0]] = position
        return tuple(unit)

    def positions(self, at: tuple[AnyArray, ...]) -> tuple[AnyArray, AnyArray]:
        """Return some indices and where on the axis each points, -1 for nowhere.

        Parameters
        ----------
        at
            Coordinates in `indices`, one array a dimension, of shapes that broadcast.
        """
        import numpy as np

        index = np.asarray(self.indices.array[at])
        return index, check.positions(self.call, index)

    def block(self, cells: AnyArray) -> Block:
        """Return the ways of output cells, from their flat positions; shape (C,), int64."""
        import numpy as np

        out = coordinates(cells, self.shape)
        at: list[AnyArray] = [cells] * len(self.indices.shape)
        for coords, (_, i) in zip(out, self.dim_map, strict=True):
            if i is not None:
                at[i] = coords
        index, positions = self.positions(tuple(at))
        index, positions = (np.broadcast_to(each, cells.shape) for each in (index, positions))
        sources = self._family.sources(self.call, {"indices": _Lazy(self)}, cells)
        if self.data.array.size:
            from_data = coordinates(np.maximum(sources, 0), self.data.shape)
            held = self.data.array[from_data]
            held[sources < 0] = np.zeros((), held.dtype)
        else:
            from_data = tuple(np.zeros_like(cells) for _ in self.data.shape)
            held = np.zeros(cells.shape, self.data.array.dtype)
        tensor = Tensor(self.data.dtype, held)
        return Block(out, tuple(at), from_data, index, positions, sources, tensor)

    def traces(self, cells: AnyArray) -> Iterator[Trace]:
        """Yield the ways of output cells, from their flat positions; shape (C,), int64."""
        for start in range(0, len(cells), BLOCK):
            block = self.block(cells[start : start + BLOCK])
            yield from map(
                self._trace,
                block.ways(),
                block.k.tolist(),
                block.positions.tolist(),
                block.held.values().tolist(),
            )

    def _trace(
        self, where: tuple[tuple[int, ...], ...], k: int, position: int, value: Any
    ) -> Trace:
        """Put the way of a cell together; `where` are the coordinates of all three tensors."""
        out, at, data = where
        fate = self.fate(k, position)
        if fate is Fate.COPIED:
            return Trace(out, at, k, position, data, fate, value)
        return Trace(out, at, k, None, None, fate, value if fate is Fate.FILLED else None)

    def trace(self, *at: SupportsIndex) -> Trace:
        """Return the way of the output cell at these coordinates; negative ones from the end.

        Raises
        ------
        UsageError
            The output has no such cell.

        Examples
        --------
        >>> from gathercli import explain
        >>> found = explain("gather", [10, 20, 30], [2, -3]).trace(1)
        >>> found.k, found.position, found.data, found.value
        (-3, 0, (0,), 10)
        """
        import numpy as np

        cell = self.cell(at)
        position = flat_positions(
            [np.asarray(n) for n in cell], self.shape, none=np.zeros((), np.bool_)
        )
        return next(self.traces(position.reshape(1)))

    def cell(self, at: Sequence[SupportsIndex]) -> tuple[int, ...]:
        """Count the coordinates of an output cell from the front.

        Raises
        ------
        UsageError
            The output has no such cell.
        """
        whole = f"the output is {Shape(self.shape)}"
        if len(at) != len(self.shape):
            rank = counted(len(self.shape), "coordinate") if self.shape else "no coordinates"
            raise _no_cell(at, f"{counted(len(at), 'coordinate')}, but {whole}", rank)
        found: list[int] = []
        for d, (given, size) in enumerate(zip(at, self.shape, strict=True)):
            try:
                n = operator.index(given)
            except TypeError:
                raise _no_cell(at, f"coordinate {d} is {as_written(given)}", "an integer") from None
            if not -size <= n < size:
                within = f"{-size} to {size - 1}" if size else "no cell at all"
                raise _no_cell(at, f"coordinate {d} is {n}, but {whole}", within)
            found.append(n % size)
        return tuple(found)

    @cached_property
    def reads(self) -> Reads | None:
        """How often each part of `data` is read; None where there are too many indices to count."""
        import numpy as np

        total, sizes = self.indices.array.size, [self.data.shape[d] for d in self.unit_dims]
        blocks = map(self._keys, range(0, total, _COUNTED_TOGETHER))
        if total <= COUNTED and product(sizes) <= DENSE:
            dense = np.zeros(product(sizes), np.int64)
            for found in blocks:
                dense += np.bincount(found[found >= 0], minlength=dense.size)
            units = np.flatnonzero(dense)
            return Reads(units, dense[units], tuple(sizes))
        if total > SPARSE:
            return None
        found = np.concatenate([np.zeros(0, np.int64), *blocks])
        units, counts = np.unique(found[found >= 0], return_counts=True)
        return Reads(units, counts, tuple(sizes))

    def _keys(self, start: int) -> AnyArray:
        """Return the number of what each index of a block picks; -1 where it picks nothing."""
        import numpy as np

        stop = min(start + _COUNTED_TOGETHER, self.indices.array.size)
        at = coordinates(np.arange(start, stop), self.indices.shape)
        _, positions = self.positions(at)
        positions = positions.reshape(-1)
        held = {d: at[i] for d, i in self.dim_map if d is not None and i is not None}
        held[self.call.places[0]] = positions
        sizes = [self.data.shape[d] for d in self.unit_dims]
        keys: AnyArray = flat_positions(
            [held[d] for d in self.unit_dims], sizes, none=positions < 0
        )
        return keys


def _tuples(coords: tuple[AnyArray, ...], count: int) -> list[tuple[int, ...]]:
    """Turn an array a dimension into a tuple a cell."""
    return list(zip(*(each.tolist() for each in coords), strict=True)) if coords else [()] * count


def _no_cell(at: Sequence[object], why: str, expected: str) -> UsageError:
    cell = ",".join(map(str, at))
    return UsageError(
        f"the output has no cell [{cell}]: {why}: expected {expected}",
        rule="usage",
        value=cell,
        expected=expected,
    )


class Reads(NamedTuple):
    """How often parts of `data` are read.

    Attributes
    ----------
    units, counts
        Those that are read, numbered row-major along `Lesson.unit_dims` and sorted; how often.
    sizes
        Of those dimensions.
    """

    units: AnyArray
    counts: AnyArray
    sizes: tuple[int, ...]

    def of(self, unit: Unit) -> int:
        """Return how often a part is read."""
        import numpy as np

        key = 0
        for n, size in zip((n for n in unit if n is not None), self.sizes, strict=True):
            key = key * size + n
        at = int(np.searchsorted(self.units, key))
        return int(self.counts[at]) if at < len(self.units) and self.units[at] == key else 0


class _Lazy:
    """All positions of a lesson's indices, made where they are asked for."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self.ndim = len(lesson.indices.shape)

    def __getitem__(self, at: tuple[AnyArray, ...]) -> AnyArray:
        return self._lesson.positions(at)[1]
