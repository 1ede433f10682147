"""The elements that hypotheses predict for any cells, and the output they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.compare import Tolerance
from gathercli.compute.storage import AnyArray, dtype_of, elements_at
from gathercli.compute.storage import values as decoded
from gathercli.compute.tensor import Tensor
from gathercli.diagnose import index_hypotheses as indexing
from gathercli.diagnose.call_hypotheses import FILLS, DataLayout, Frame, Reading
from gathercli.diagnose.output_hypotheses import UNWRITTEN, OutputPlacement
from gathercli.spec.call import Call
from gathercli.spec.dtypes import COMPLEX128, FLOAT64, INT64, STRING
from gathercli.spec.op import IndexedAxis
from gathercli.spec.shapes import coordinates, known, product

MAX_FILLED_RUN: Final = 64  # the most indices before one that may have left its slice


class Hypothesis(NamedTuple):
    """A combination of one row of each table; the name of a row of two has both names."""

    frame: Frame
    layout: DataLayout
    order: indexing.IndexOrder
    conversion: indexing.IndexConversion
    treatment: indexing.Treatment
    reading: Reading
    placement: OutputPlacement
    # sizes of the axes of `data` that the conversion and the treatment take
    others: tuple[int, int] = (0, 0)

    @property
    def rows(self) -> tuple[Any, ...]:
        """The rows of all tables."""
        return self[:-1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what differs from what was asked for."""
        return tuple(name for each in self.rows if each.name for name in each.name.split("; "))

    @property
    def departures(self) -> int:
        """The number of differences."""
        return len(self.names) + max(0, self.frame.departures - 1)

    @property
    def of_indices(self) -> bool:
        """Whether it departs in what was done to indices alone."""
        rest = (self.frame, self.layout, self.reading, self.placement)
        return not any(each.name for each in rest)


class ElementPool:
    """The inputs that the output copies from, one after the other, as flat elements."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.dtype = tensors[0].dtype
        self.shape = tensors[0].shape
        self._arrays = [each.array for each in tensors]
        self.size = sum(each.size for each in self._arrays)
        self.storage = decoded(self.dtype, np.empty(0, self._arrays[0].dtype)).dtype

    def values(self, at: AnyArray) -> AnyArray:
        """Return the elements at flat positions, which are all inside, as `Tensor.values` does."""
        first = self._arrays[0]
        if at.size and (at < first.size).all():
            return decoded(self.dtype, _flat(first, at))
        elements = np.zeros(at.shape, first.dtype)
        for each in self._arrays:
            inside = (at >= 0) & (at < each.size)
            if each.size:
                elements[inside] = _flat(each, at[inside])
            at = at - each.size
        return decoded(self.dtype, elements)


def _flat(array: AnyArray, at: AnyArray) -> AnyArray:
    if array.flags.c_contiguous:
        return array.reshape(-1)[at]
    return elements_at(array, coordinates(at, array.shape))


class _Points:
    """Indices as `sources` reads them: positions, and beside them the fate of each."""

    def __init__(
        self,
        indices: AnyArray,
        axes: Sequence[IndexedAxis],
        hypothesis: Hypothesis,
        *,
        tuples: bool,
        most: int,
    ) -> None:
        self._indices, self._axes, self._hypothesis = indices, axes, hypothesis
        self._tuples, self._most = tuples, most
        self.fates: AnyArray = np.zeros((), int)
        self.before: AnyArray = np.zeros((), bool)
        self.raw: AnyArray = np.zeros((), int)  # the indices that were read last
        self.at_front = False  # whether every distance is 0, in the shape of the positions

    def __getitem__(self, at: tuple[Any, ...]) -> AnyArray:
        """Return the distance of positions from 0; `before` marks those before it."""
        self.raw = elements_at(self._indices, at)
        position, fates = self._resolve(self.raw)
        if self._hypothesis.treatment.keeps and at:
            self._keep(at, position, fates)
        self.fates, self.before = fates, position < 0
        distance: AnyArray = np.where(fates == indexing.READ, np.abs(position), 0)
        return 0 * distance if self.at_front else distance

    def _resolve(self, raw: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the positions of raw indices, (C..) or tuples (C.., K), and their fates."""
        raw = raw.astype(raw.dtype.newbyteorder("="), copy=False)
        conversion, treatment = self._hypothesis.conversion, self._hypothesis.treatment
        one, other = self._hypothesis.others
        position = np.zeros(raw.shape[:-1] if self._tuples else raw.shape, np.int64)
        fates = np.full_like(position, indexing.READ)
        columns = [raw[..., j] for j in range(raw.shape[-1])] if self._tuples else [raw]
        treat = treatment.function
        for along, k in zip(self._axes, columns, strict=True):
            with np.errstate(all="ignore"):
                converted = conversion.function(k, along.size, one)
                each, fate = treat(converted, along.size, other)
            treat = treatment.rest or treat
            each = np.clip(each, -self._most, self._most)
            position = position * along.size + each
            fates = np.maximum(fates, fate)
        return position, fates

    def _keep(self, at: tuple[Any, ...], position: AnyArray, fates: AnyArray) -> None:
        """Give those that are filled the position of the next before them that is not."""
        shape = self._indices.shape[:-1] if self._tuples else self._indices.shape
        flat = np.ravel_multi_index(np.broadcast_arrays(*at), shape).astype(np.int64)
        for _ in range(MAX_FILLED_RUN):
            flat -= 1
            looks = (fates == indexing.FILLED) & (flat >= 0)
            if not looks.any():
                return
            before = elements_at(self._indices, coordinates(flat[looks], shape))
            position[looks], fates[looks] = self._resolve(before)


def _forward(position: AnyArray) -> AnyArray:
    """Follow parents, shape (T, B, W), from the first step on."""
    beams = [_own_beams(position) + 0 * position[0]]
    for parents in position[:-1]:
        beams.append(np.take_along_axis(parents, beams[-1].clip(0), -1))
    return np.stack(beams)


def _own_beams(position: AnyArray) -> AnyArray:
    return np.arange(position.shape[-1])


# What GatherTree mistakes, by the key of its sentence: positions of parents, and lengths.
_PARENTS: Final[dict[str, Callable[[AnyArray], AnyArray]]] = {
    "parents": _own_beams,
    "all": _own_beams,
    "step before": lambda position: np.concatenate([position[:1], position[:-1]]),
    "step after": lambda position: np.concatenate([position[1:], position[-1:]]),
    "first beam": lambda position: position[..., :1],
    "first batch": lambda position: position[:, :1],
}
_LENGTHS: Final[dict[str, Callable[[AnyArray, int], AnyArray]]] = {
    "lengths": np.full_like,
    "all": np.full_like,
    "length short": lambda lengths, _: lengths - 1,
    "length long": lambda lengths, _: lengths + 1,
    "first length": lambda lengths, _: lengths[:1],
}


class CellSource:
    """Where the cells of a call come from, under hypotheses about the call and its indices."""

    def __init__(self, call: Call, hypothesis: Hypothesis, tensors: Mapping[str, Tensor]) -> None:
        self.call, self._hypothesis, self._tensors = call, hypothesis, tensors
        self.shape = known(call.shape)
        data = next(iter(tensors.values()))
        self._size = product(data.shape)
        self._last: tuple[AnyArray, tuple[AnyArray, AnyArray]] | None = None

    def positions(self, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the flat position in the inputs of each cell of the output, and its fate."""
        if self._last is None or self._last[0] is not cells:
            self._last = cells, self._positions(cells)
        return self._last[1]

    def _positions(self, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        call = self.call
        if call.op.followed is not None:
            return self._beam_positions(cells)
        name, points = self._points
        at = call.family.sources(call, {name: points}, cells)
        fates, before = points.fates + 0 * cells, points.before & (cells >= 0)
        if before.any():  # positions are linear in an index: those of -k lie opposite to those of k
            points.at_front = True
            front = call.family.sources(call, {name: points}, cells)
            at = np.where(before, 2 * front - at, at)
        outside = (at < 0) | (at >= self._size)
        beyond = self._hypothesis.treatment.outside
        fates = np.where((fates == indexing.READ) & outside, beyond, fates)
        return np.where(fates == indexing.READ, at, 0), fates

    @property
    def _points(self) -> tuple[str, _Points]:
        ((name, axes),) = self.call.indexed.items()
        tuples, most = self.call.op.tuples, self._size + 1
        array = self._tensors[name].array
        return name, _Points(array, axes, self._hypothesis, tuples=tuples, most=most)

    def indices(self, cells: AnyArray) -> list[tuple[AnyArray, int]]:
        """Return the index of each cell and the size of its axis, for each axis; none of beams."""
        if self.call.op.followed is not None:
            return []
        name, points = self._points
        self.call.family.sources(self.call, {name: points}, cells)
        ((_, axes),) = self.call.indexed.items()
        raw = points.raw if self.call.op.tuples else points.raw[..., None]
        columns = (np.broadcast_to(raw[..., j], cells.shape) for j in range(len(axes)))
        return [
            (indexing.exact(k, each.size), each.size) for k, each in zip(columns, axes, strict=True)
        ]

    def _beam_positions(self, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        name = next(iter(self.call.indexed))
        beams, none = self._beams
        at = self.call.family.sources(self.call, {name: beams}, cells)
        fates = np.where(at < 0, none, indexing.READ)
        return np.where(at < 0, 0, at), fates

    @cached_property
    def _beams(self) -> tuple[AnyArray, int]:
        """The beam of each cell, and the fate of a cell that copies nothing."""
        from gathercli.compute.check import (
            ENDED,
            NO_BEAM,
            follow_beams,
            integers_of,
            parent_indices,
        )

        ((name, (along,)),) = self.call.indexed.items()
        h, tensors = self._hypothesis, dict(self._tensors)
        parents = parent_indices(integers_of(name, tensors[name]), along.size)
        converted = h.conversion.function(parents, along.size, h.others[0])
        position, fates = h.treatment.function(converted, along.size, h.others[1])
        outside = (position < 0) | (position >= along.size)
        position = np.where((fates != indexing.READ) | outside, -1, position)
        position = np.broadcast_to(position, parents.shape)
        none = int(fates.max()) if np.any(fates != indexing.READ) else int(indexing.FOREIGN)
        ignores, steps = h.frame.ignores, parents.shape[0] if parents.ndim else 0
        if ignores in _PARENTS and parents.size:
            changed = np.broadcast_to(_PARENTS[ignores](position), parents.shape)
            ends = tensors[list(tensors)[2]].values().astype(np.int64)[:, None] - 1
            is_last = ignores not in {"parents", "all"} and np.arange(steps)[:, None, None] == ends
            position = np.where(is_last, position, changed)
        length_name = list(tensors)[2]
        if ignores in _LENGTHS and parents.size:
            lengths = _LENGTHS[ignores](tensors[length_name].values().astype(np.int64), steps)
            shape = tensors[length_name].shape
            tensors[length_name] = Tensor(INT64, np.broadcast_to(lengths, shape).clip(0, steps))
        tensors[name] = Tensor(INT64, np.ascontiguousarray(position, np.int64))
        paths = follow_beams(self.call, along, tensors)
        if ignores in {"own column", "forward"} and parents.size:
            if ignores == "forward":
                beams = np.where(paths.beams == ENDED, ENDED, _forward(position))
            else:
                own = np.concatenate([position[1:], paths.beams[-1:]])
                later = np.concatenate([paths.beams[1:], paths.beams[-1:]])
                beams = np.where(later == ENDED, paths.beams, own)
            steps_of, end = next(iter(tensors.values())), [*tensors.values()][3]
            tokens = np.take_along_axis(steps_of.values(), beams.clip(0), 2)
            is_end = (tokens == end.values()) & (beams >= 0)
            first = np.where(is_end.any(axis=0), is_end.argmax(axis=0), steps)
            paths = paths._replace(beams=beams, ends=first)
        if ignores == "padding":
            return np.where(paths.beams == ENDED, NO_BEAM, paths.cells()), int(indexing.FILLED)
        return paths.beams if ignores in {"end", "all"} else paths.cells(), none


class Prediction:
    """The elements that a hypothesis predicts, whose cells come from a source in a pool.

    The dtype of the output has the values of fills; `shape` is that of the right output, before the
    placement.
    """

    def __init__(
        self, hypothesis: Hypothesis, source: CellSource, pool: ElementPool, output: np.dtype[Any]
    ) -> None:
        self.hypothesis, self.source, self._pool = hypothesis, source, pool
        self._output = output
        self.shape = source.shape

    def values(self, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return what cells, flat positions (C,) int64, should hold, and the fate of each."""
        return self.placed(self.hypothesis.placement.cells(cells))

    def placed(self, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return what cells of the right output, as a placement gives them, hold, and the fates."""
        h, placed = self.hypothesis, cells
        empty = placed < 0
        unwritten = np.where(placed == UNWRITTEN, indexing.FOREIGN, indexing.FILLED)
        if empty.all():
            return np.zeros(cells.shape, self._pool.storage), unwritten
        at_cells = np.where(empty, 0, placed) if empty.any() else placed
        at, fates = self.source.positions(at_cells)
        if h.layout.name and self._pool.size:
            at = np.where(fates == indexing.READ, h.layout.moved(at), 0)
            outside = (at < 0) | (at >= self._pool.size)
            fate = indexing.FILLED if h.layout.zeros else indexing.FOREIGN
            fates = np.where((fates == indexing.READ) & outside, fate, fates)
        elements = self._read(np.where((fates == indexing.READ) & ~empty, at, 0))
        filled = (fates == indexing.FILLED) & ~empty
        if filled.any():
            is_text = "U" in (elements.dtype.kind, self._output.kind)
            dtype = elements.dtype if is_text else self._output
            fill = FILLS[h.treatment.fill](dtype)
            if fill is None:
                fates = np.where(filled, indexing.REFUSED, fates)
            else:
                if fill:
                    elements = elements.astype(np.result_type(elements.dtype, dtype))
                elements[filled] = fill
        if empty.any():
            elements[empty] = FILLS["zero"](elements.dtype)
            fates = np.where(empty, unwritten, fates)
        return elements, fates

    def _read(self, at: AnyArray) -> AnyArray:
        """Return the elements at positions that the call reads, as they are read."""
        h, pool = self.hypothesis, self._pool
        if not pool.size:
            return np.zeros(at.shape, pool.storage)
        raw = pool.values(at)
        with np.errstate(all="ignore"):
            elements = np.array(h.reading.function(raw))
            if h.reading.name and raw.dtype == self._output != elements.dtype:
                elements = elements.astype(self._output)  # the output has the type of the data
        return elements


class ObservedOutput:
    """The output that is diagnosed; `storage` is the dtype of its elements as values."""

    def __init__(self, tensor: Tensor, tolerance: Tolerance) -> None:
        self.tensor, self.shape = tensor, tensor.shape
        self.cells = product(tensor.shape)
        self._pool, self._tolerance = ElementPool([tensor]), tolerance
        self._last: tuple[AnyArray, AnyArray] | None = None
        self.storage = self._pool.storage

    def held(self, cells: AnyArray) -> AnyArray:
        """Return what the output holds in some cells."""
        if self._last is None or self._last[0] is not cells:
            self._last = cells, self._pool.values(cells)
        return self._last[1]

    def agrees(self, values: AnyArray, held: AnyArray, near: float = 0.0) -> AnyArray:
        """Return a mask of equal elements; numbers of two types are compared as numbers."""
        kinds = {values.dtype.kind, held.dtype.kind}
        if "U" in kinds and len(kinds) > 1:
            return np.zeros(values.shape, bool)
        tolerance = self._tolerance._replace(rtol=max(near, self._tolerance.rtol))
        if kinds & set("iu") and "f" in kinds and not any(tolerance):
            return _equal_numbers(values, held)
        if "U" in kinds:
            dtype = STRING
        elif kinds & set("fc"):
            dtype = COMPLEX128 if "c" in kinds else FLOAT64
        else:
            dtype = dtype_of(values.dtype) or self.tensor.dtype
        with np.errstate(all="ignore"):  # of values that are bits of others
            agrees: AnyArray = tolerance.near(dtype, values, held)
        return agrees


def _equal_numbers(one: AnyArray, other: AnyArray) -> AnyArray:
    floats, integers = (one, other) if one.dtype.kind == "f" else (other, one)
    ends = np.iinfo(integers.dtype)
    with np.errstate(all="ignore"):
        wide = floats.astype(np.float64)
        inside = (wide >= float(ends.min)) & (wide < 2.0 ** int(ends.max).bit_length())
        whole = inside & (np.trunc(wide) == wide)
        equal: AnyArray = whole & (np.where(whole, wide, 0).astype(integers.dtype) == integers)
    return equal
