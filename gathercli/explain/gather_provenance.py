"""The provenance of the output of a gather along an axis, for `explain`.

The positions come from the family's `sources`. Tests compare the kernel with these, so that an
explanation and a result cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute import check
from gathercli.compute.bound import BoundCall, fill_bytes
from gathercli.compute.storage import AnyArray, elements_at
from gathercli.compute.tensor import Tensor
from gathercli.compute.threads import ProgressCallback
from gathercli.errors import OutOfRangeError, UsageError
from gathercli.explain.provenance import Fate, Provenance
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.dtypes import STRING
from gathercli.spec.op import Negative
from gathercli.spec.shapes import coordinates, flat_positions, product
from gathercli.text import listed

MOST_COUNTED_INDICES: Final = 1 << 24
MOST_DENSE_UNITS: Final = 1 << 22
MOST_SPARSE_INDICES: Final = 1 << 20
"""The largest number of indices for which the reads of each unit of `data` are counted:
`MOST_COUNTED_INDICES` for at most `MOST_DENSE_UNITS` units, else `MOST_SPARSE_INDICES`."""

_READS_BLOCK: Final = 1 << 18  # indices of a block in the count of reads
TRACE_BLOCK: Final = 1 << 14  # output cells of a block
# The part of `data` that an index picks: a coordinate for each dimension, None for all of it.
Unit = tuple[int | None, ...]
# An index or a tuple of indices; also a position on the axis, or on each axis.
Index = int | tuple[int, ...]


class Trace(NamedTuple):
    """The provenance of one output cell."""

    out: tuple[int, ...]  # its coordinates
    indices: tuple[int, ...]  # the coordinates of its index
    k: Index  # the index itself: an integer, or a tuple of integers
    position: Index | None  # on the axis, from 0, or on each axis; None if the index points nowhere
    # the coordinates of the copied cell of `data`; None if there is none
    data: tuple[int, ...] | None
    fate: Fate  # the origin of the value
    value: Any  # None if the index is refused


class Block(NamedTuple):
    """The traces of C output cells, as arrays of shape (C,); `k` is (C, K) for tuples of K.

    Out, indices and data are coordinates, an array for each dimension; those of data, and elements,
    are 0 where nothing is copied.
    """

    out: tuple[AnyArray, ...]
    indices: tuple[AnyArray, ...]
    data: tuple[AnyArray, ...]
    k: AnyArray
    positions: AnyArray  # on the axis of the view, -1 for none
    elements: Tensor

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the coordinates of each cell in out, indices and data, its k and position."""
        tuples = (_tuples(each, len(self.k)) for each in (self.out, self.indices, self.data))
        return zip(*tuples, indices_of(self.k), self.positions.tolist(), strict=True)


class GatherProvenance(Provenance[Trace]):
    """The provenance of each output cell of a gather along an axis.

    `indices` is the input called `name`, indexed along the axes `along`; an index `is_tuple` if it
    has a number for each. The call is a gather along one `axis` of a `view` of `data`; `axes` are
    the dimensions of `data` that are merged in it. `index_shape` lacks the dimension of the tuples.

    Raise `LimitError` if the output would have more dimensions, or elements, than there can be, and
    `UsageError` if the operator gathers along no axis.
    """

    def __init__(self, bound: BoundCall, *, progress: ProgressCallback | None = None) -> None:
        inputs, self.changes_inputs = bound.in_memory, bound.changes_inputs
        if inputs is None:
            raise LookupError("a provenance needs tensors in memory")
        call = bound.call
        tensors = dict(zip(call.inputs, inputs, strict=True))
        super().__init__(call, bound.shape)
        as_gather = self.call.family.as_gather(call)
        if as_gather is None:
            what = f"{call.op} gathers along no axis"
            raise UsageError(what, expected="an operator with a picture")
        self.axis, self.dim_map = as_gather.axis, tuple(as_gather.dim_map)
        self.view = as_gather.view
        indexed = call.indexed
        self.name, self.along = next(iter(indexed.items()))
        self.is_tuple = are_tuples(self.along)
        self.axes = range(self.axis, self.axis + len(self.along))
        self.data_name, self.data, self.indices = next(iter(tensors)), inputs[0], tensors[self.name]
        self.index_shape = self.indices.shape[: -1 if self.is_tuple else None]
        self.panel_shape = tuple(
            self.index_shape[i] if i is not None else self.view[d or 0] for d, i in self.dim_map
        )
        dtype = self.data.array.dtype
        filling = fill_bytes(call, self.data.dtype)[: dtype.itemsize]
        filled = np.frombuffer(filling, dtype.newbyteorder("<")) if any(filling) else None
        self.fill = np.zeros((), dtype) if filled is None else filled[0]
        self.fill_words = "the empty string" if self.data.dtype is STRING else call.outside.filling
        bound.check_size(None)
        try:
            for name, axes in indexed.items():
                indices = tensors[name].array
                _, adjustments = check.check_input(call, axes, indices, progress=progress)
                self.adjustments += tuple(adjustments)
        except OutOfRangeError as error:
            self.refusal = error

    def fate(self, k: Index, position: int) -> Fate:
        """Return the fate of the cells of an index `k` with this position on the axis or -1."""
        if position >= 0:
            return Fate.COPIED
        negative = any(number < 0 for number in numbers(k))
        refused = negative and self.call.negative is Negative.ERROR
        fills = self.call.outside.fills and not refused
        return Fate.FILLED if fills else Fate.REFUSED

    def telling(self, trace: Trace) -> tuple[Any, ...]:
        """Rank an index that counts from the end or is moved, then one outside, then any other.

        Among these prefer a position other than the index's own coordinate, then other than 0,
        then batches and coordinates that stay above 0, then numbers that all differ and are
        above 0, so that each can be found in `data`.
        """
        kind = 1 if trace.position is None else 2 * (trace.position != trace.k)
        shared = [i for d, i in self.dim_map if d is not None and i is not None]
        own = {n for i, n in enumerate(trace.indices) if i not in shared}
        places = numbers(trace.k if trace.position is None else trace.position)
        return (
            trace.fate.value if kind == 1 else str(kind),
            kind,
            own.isdisjoint(places),
            0 not in places,
            sum(trace.indices[i] > 0 for i in shared),
            len({*trace.out, *places}),
            sum(n > 0 for n in trace.out),
        )

    @cached_property
    def unit_dims(self) -> tuple[int, ...]:
        """The dimensions of `data` in which units have a coordinate."""
        shared = (d for d, i in self.dim_map if d is not None and i is not None)
        return tuple(sorted((*shared, *self.axes)))

    @cached_property
    def unit_sizes(self) -> tuple[int, ...]:
        """The sizes of `unit_dims`; their product is the number of units."""
        return tuple(self.data.shape[d] for d in self.unit_dims)

    @property
    def picks_cells(self) -> bool:
        """Whether an index picks one cell of `data` instead of a slice."""
        return len(self.unit_dims) == len(self.data.shape)

    def data_dim(self, d: int) -> int:
        """Return the dimension of `data` for a dimension of the view other than the axis."""
        return d if d < self.axis else d + len(self.axes) - 1

    def out_is_row(self, lead: int) -> bool:
        """Return whether the output without `lead` dimensions is a vector along a row of `data`."""
        inner, last = self.dim_map[lead:], len(self.data.shape) - 1
        if len(inner) != 1 or inner[0][1] is not None or last <= lead:
            return False
        return self.data_dim(inner[0][0] or 0) == last

    def apart(self, out: Sequence[int]) -> tuple[int, ...]:
        """Return the coordinates of an output cell with the batch dimensions apart."""
        if len(out) == len(self.panel_shape):
            return tuple(out)
        return coordinates(flat_positions(out, self.shape, none=False), self.panel_shape)

    def joined(self, at: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return coordinates of the output from those with the batch dimensions apart."""
        count = len(self.panel_shape) - len(self.shape) + 1
        if count == 1:
            return at
        return (flat_positions(at[:count], self.panel_shape[:count], none=False), *at[count:])

    def ends(self, trace: Trace | None) -> dict[str, tuple[int, ...] | None]:
        """Return the cells that a trace joins, one of each tensor, batch dimensions apart."""
        if trace is None:
            return {}
        return {self.data_name: trace.data, self.name: trace.indices, "out": self.apart(trace.out)}

    def unit(self, at: Sequence[int], position: Index | None) -> Unit | None:
        """Return the unit that the index at `at` picks; None if it points nowhere."""
        if position is None:
            return None
        unit = self._shared(at) | dict(zip(self.axes, numbers(position), strict=True))
        return tuple(unit.get(d) for d in range(len(self.data.shape)))

    def _shared(self, at: Sequence[Any]) -> dict[int, Any]:
        """Return the coordinate, or array of coordinates, on each of `unit_dims` but `axes`."""
        return {d: at[i] for d, i in self.dim_map if d is not None and i is not None}

    def on_axes(self, position: Any) -> dict[int, Any]:
        """Return the coordinate, or array of coordinates, of a position on each of `axes`."""
        sizes = [max(1, along.size) for along in self.along]
        return dict(zip(self.axes, coordinates(position, sizes), strict=True))

    def positions(self, at: tuple[AnyArray, ...]) -> tuple[AnyArray, AnyArray]:
        """Return indices, and their positions on the axis of the view, -1 for none.

        Their coordinates are an array for each dimension of `index_shape`, broadcast.
        """
        k = elements_at(self.indices.array, at)
        resolved = self._components(k)
        nowhere = np.zeros(k.shape[: -1 if self.is_tuple else None], bool)
        for each in resolved:
            nowhere |= each < 0
        sizes = [along.size for along in self.along]
        return k, np.asarray(flat_positions(resolved, sizes, none=nowhere))

    def components(self, k: Index) -> list[int]:
        """Return the position of each number of an index on its axis, or -1."""
        return [int(each) for each in self._components(np.array(k, self.indices.array.dtype))]

    def _components(self, k: AnyArray) -> list[AnyArray]:
        each = [k[..., j] for j in range(len(self.along))] if self.is_tuple else [k]
        return [
            check.positions(self.call, along, numbers)
            for along, numbers in zip(self.along, each, strict=True)
        ]

    def block(self, cells: AnyArray) -> Block:
        """Return the traces of output cells from their flat positions, shape (C,), int64."""
        at: list[AnyArray] = [cells] * len(self.index_shape)
        out = coordinates(cells, self.panel_shape)
        for coords, (_, i) in zip(out, self.dim_map, strict=True):
            if i is not None:
                at[i] = coords
        k, positions = self.positions(tuple(at))
        k = np.broadcast_to(k, (*cells.shape, *k.shape[positions.ndim :]))
        positions = np.broadcast_to(positions, cells.shape)
        sources = self.call.family.sources(self.call, {self.name: _Positions(self)}, cells)
        array = self.data.array
        if array.size:
            from_data = coordinates(np.maximum(sources, 0), self.data.shape)
            elements = elements_at(array, from_data)
            elements[sources < 0] = self.fill
        else:
            from_data = tuple(np.zeros_like(cells) for _ in self.data.shape)
            elements = np.full(cells.shape, self.fill, array.dtype)
        out = coordinates(cells, self.shape)
        return Block(out, tuple(at), from_data, k, positions, Tensor(self.data.dtype, elements))

    def traces(self, cells: AnyArray) -> Iterator[Trace]:
        """Yield the traces of output cells from their flat positions, shape (C,), int64."""
        for start in range(0, len(cells), TRACE_BLOCK):
            block = self.block(cells[start : start + TRACE_BLOCK])
            yield from map(self._trace, block.rows(), block.elements.values().tolist())

    def _trace(self, row: tuple[Any, ...], value: Any) -> Trace:
        out, at, data, k, position = row
        fate = self.fate(k, position)
        if fate is Fate.COPIED:
            return Trace(out, at, k, self.place(position), data, fate, value)
        return Trace(out, at, k, None, None, fate, value if fate is Fate.FILLED else None)

    def place(self, position: int) -> Index | None:
        """Return the position on the axis, of tuples on each axis; None for -1."""
        if position < 0:
            return None
        return tuple(self.on_axes(position).values()) if self.is_tuple else position

    @cached_property
    def reads(self) -> Reads | None:
        """The number of reads of each unit; None if there are too many indices to count."""
        total, count = product(self.index_shape), product(self.unit_sizes)
        blocks = map(self._unit_numbers, range(0, total, _READS_BLOCK))
        if total <= MOST_COUNTED_INDICES and count <= MOST_DENSE_UNITS:
            dense = np.zeros(count, np.int64)
            for numbers in blocks:
                dense += np.bincount(numbers, minlength=count)
            units = np.flatnonzero(dense)
            return Reads(units, dense[units], self.unit_sizes)
        if total > MOST_SPARSE_INDICES:
            return None
        every = np.concatenate([np.zeros(0, np.int64), *blocks])
        units, counts = np.unique(every, return_counts=True)
        return Reads(units, counts, self.unit_sizes)

    @cached_property
    def axis_lines(self) -> list[tuple[str, str]]:
        """Which axes of `data` an index names, which the batches share, and which stay."""
        shared = range(self.call.batch_dims or 0)
        rest = [d for d in range(len(self.data.shape)) if d not in {*shared, *self.axes}]
        by = "by tuple" if self.is_tuple else "by index"
        kinds: list[tuple[Sequence[int], str, str, str]] = [
            (self.axes, by, by, "replaced"),
            (shared, "shared", "shared", "shared"),
            (rest, "stays", "stay", "stays"),
        ]
        lines = []
        for dims, one, many, kind in kinds:
            if len(dims) == 1:
                # its direction in a facet; nothing for one of facets or batches
                arrow = {1: "→ ", 2: "↓ "}.get(len(self.data.shape) - dims[0], "")
                arrow = "" if dims[0] in shared else arrow
                lines.append((f"{arrow}axis {dims[0]}: {one}", kind))
            elif dims:
                lines.append((f"axes {listed(map(str, dims), 'and')}: {many}", kind))
        return lines

    def _unit_numbers(self, start: int) -> AnyArray:
        """Return the number of the unit of each index of a block, without those of none."""
        stop = min(start + _READS_BLOCK, product(self.index_shape))
        at = coordinates(np.arange(start, stop), self.index_shape)
        positions = np.broadcast_to(self.positions(at)[1], (stop - start,))
        unit = self._shared(at) | self.on_axes(positions)
        coords = [unit[d] for d in self.unit_dims]
        units: AnyArray = flat_positions(coords, self.unit_sizes, none=positions < 0)
        return units[units >= 0]


def numbers(k: Index) -> tuple[int, ...]:
    """Return an index as a tuple."""
    return k if isinstance(k, tuple) else (k,)


def indices_of(k: AnyArray) -> list[Index]:
    """Return indices, shape (C,), or tuples of K, shape (C, K), as integers or tuples."""
    return k.tolist() if k.ndim == 1 else list(map(tuple, k.tolist()))


def _tuples(coords: tuple[AnyArray, ...], count: int) -> list[tuple[int, ...]]:
    """Transpose arrays, one for each dimension, into `count` tuples of coordinates."""
    return list(zip(*(each.tolist() for each in coords), strict=True)) if coords else [()] * count


class Reads(NamedTuple):
    """The numbers of reads of the units of `data`."""

    units: AnyArray  # those that are read, as flat positions in `sizes`, ascending
    counts: AnyArray  # their reads
    sizes: tuple[int, ...]  # `GatherProvenance.unit_sizes`

    def of(self, unit: Unit) -> int:
        """Return the number of reads of a unit."""
        number = flat_positions([n for n in unit if n is not None], self.sizes, none=False)
        at = int(np.searchsorted(self.units, number))
        return int(self.counts[at]) if at < len(self.units) and self.units[at] == number else 0


class _Positions:
    """The positions of the indices of a provenance, computed on access."""

    def __init__(self, provenance: GatherProvenance) -> None:
        self._provenance = provenance

    def __getitem__(self, at: tuple[AnyArray, ...]) -> AnyArray:
        return self._provenance.positions(at)[1]
