"""The combinations of hypotheses that give an output of a shape, and their predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations as subsets
from itertools import permutations, product
from typing import Any, Final

import numpy as np

from gathercli.compute.storage import AnyArray
from gathercli.compute.tensor import Tensor
from gathercli.diagnose import call_hypotheses as calls
from gathercli.diagnose import index_hypotheses as indexing
from gathercli.diagnose import output_hypotheses as outputs
from gathercli.diagnose.prediction import (
    CellSource,
    ElementPool,
    Hypothesis,
    ObservedOutput,
    Prediction,
)
from gathercli.spec.call import Call
from gathercli.spec.op import Op
from gathercli.spec.shapes import known
from gathercli.spec.shapes import product as size_of

# Rows in which the first wrong one is looked for, by the number of departures.
PROBED_ROWS: Final = (0, 1 << 18, 1 << 12)
MAX_MOVED: Final = 1 << 22  # the most indices that are tried in other places
MAX_FITTED: Final = 256  # cells from which the numbers of readings follow
ROUNDING: Final = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LEAST_FITTED: Final = 3  # cells that must agree with a number that was fitted to one of them
PROBED_COLUMNS: Final = 16  # cells of a row that are looked at for that
MAX_PROBED: Final = 1 << 14  # indices that are converted to see whether a conversion changes one


class Candidates:
    """The combinations of hypotheses about one output of a call.

    The call is None if the version refuses it; `policy` is what the version does to indices.
    """

    def __init__(
        self,
        row: Op,
        attrs: dict[str, Any],
        call: Call | None,
        tensors: Mapping[str, Tensor],
        *,
        output: ObservedOutput,
        policy: indexing.Treatment,
    ) -> None:
        self.row, self.attrs, self.call, self.tensors = row, attrs, call, dict(tensors)
        self.output, self._policy = output, policy
        data = next(iter(tensors.values()))
        self._pool = ElementPool(
            [data, *(t for (n, t) in tensors.items() if row.input(n).copied and t is not data)]
        )
        self.storage = self._pool.storage
        self._shapes = {name: each.shape for name, each in tensors.items()}
        self._indices = next(tensors[each.name] for each in row.inputs if each.values).array
        self._frames = [
            *calls.frames(call, row, attrs),
            *calls.other_frames(call, row, data.shape, self._indices.ndim),
        ]
        self._layouts = [] if row.followed is not None else list(calls.layouts(data.shape))
        self._readings = list(calls.readings(data.dtype))
        self._sources: dict[Any, CellSource | None] = {}
        self._ordered: dict[str, dict[str, Tensor]] = {}  # the inputs by the order of indices
        self._calls: dict[str, Call | None] = {}
        self._unfitted: dict[tuple[int, ...], list[outputs.OutputPlacement]] = {}
        self._plain: dict[Any, bool] = {}
        self._rows = 0
        self.tail: int | None = None  # the first wrong cell of a large output

    def on(self, tensors: Mapping[str, Tensor]) -> Candidates:
        """Return those about other inputs of the same shapes."""
        call = self.row, self.attrs, self.call
        return Candidates(*call, tensors, output=self.output, policy=self._policy)

    def asked(self) -> Hypothesis | None:
        """Return the call as the version says; None if its output has another shape."""
        if self.call is None:
            return None
        return next(self._unplaced(self._hypothesis(self._frames[0])), None)

    def _hypothesis(self, frame: calls.Frame) -> Hypothesis:
        return Hypothesis(
            frame,
            calls.IN_PLACE,
            indexing.IN_THEIR_PLACES,
            indexing.AS_THEY_ARE,
            self._policy,
            calls.AS_STORED,
            outputs.IN_ORDER,
        )

    @property
    def has_outside(self) -> bool:
        """Whether an index of the call is not from 0 on and on its axis."""
        return self.call is not None and not self._is_plain(self.call)

    def _is_plain(self, call: Call) -> bool:
        """Return whether all indices of a call are from 0 on and on their axes."""
        ((_, axes),) = call.indexed.items()
        key = tuple(each.size for each in axes), call.op.tuples
        if key not in self._plain:
            if call.op.tuples:
                parts = [(self._indices[..., j], each.size) for j, each in enumerate(axes)]
            else:
                parts = [(self._indices, axes[0].size)]
            self._plain[key] = all(_all_plain(part, size) for part, size in parts)
        return self._plain[key]

    def combinations(self, departures: int) -> Iterator[Hypothesis]:
        """Yield the hypotheses with so many departures, each in another table."""
        self._rows = PROBED_ROWS[departures]
        if not departures:
            if self.call is not None:
                yield from self._unplaced(self._hypothesis(self._frames[0]))
            return
        others = self._frames if self.call is None else self._frames[1:]
        tables: dict[str, Sequence[Any]] = {
            "frame": [each for each in others if each.departures <= departures],
            "treatment": self.treatments,
            "order": self._orders,
            "conversion": self._conversions,
            "layout": [each for each in self._layouts if departures == 1 or not each.alone],
            "reading": self._readings,
        }
        for names in subsets([*tables, "placement"], departures):
            if self.call is not None or "frame" in names:
                chosen = {name: tables[name] for name in names if name in tables}
                for each in self._changed(chosen):
                    yield from self._placed(each) if "placement" in names else self._unplaced(each)
        if departures == 1 and self.call is not None:
            asked = self._hypothesis(self._frames[0])
            yield from (asked._replace(reading=each) for each in self._fitted_readings(asked))
        if departures > 1:
            yield from self._of_one_table(tables)
            yield from self._with_fitted_readings()

    def _with_fitted_readings(self) -> Iterator[Hypothesis]:
        for each in self.combinations(1):
            if not each.reading.near and each.frame.departures < 2:
                for fitted in self._fitted_readings(each):
                    again = calls.then(each.reading, fitted) if each.reading.name else fitted
                    yield each._replace(reading=again)

    def _of_one_table(self, tables: Mapping[str, Sequence[Any]]) -> Iterator[Hypothesis]:
        """Yield two departures in one table: an operator with another axis, or one upon another."""
        for frame in tables["frame"]:
            if frame.departures > 1:
                yield from self._unplaced(self._hypothesis(frame))
        if self.call is None:
            return
        for name, again in (("conversion", indexing.then), ("reading", calls.then)):
            rows = (each for each in tables[name] if not getattr(each, "near", 0.0))
            free = [each for each in rows if getattr(each, "other", None) is None]
            twice = {name: [again(*each) for each in permutations(free, 2)]}
            for each in self._changed(twice):
                yield from self._unplaced(each)
        asked = self._hypothesis(self._frames[0])
        for first in outputs.placements(known(self.call.shape), self.output.shape):
            fitted = self._fit(asked._replace(placement=first))
            for fit in (None, fitted):
                for second in outputs.placements(self.output.shape, self.output.shape, fit):
                    yield asked._replace(placement=outputs.then(first, second))

    @cached_property
    def treatments(self) -> list[indexing.Treatment]:
        """The treatments that the operator and the type of the output have."""
        storage, tuples = self.output.storage, self.row.tuples
        fills = [
            each for each in indexing.TREATMENTS if calls.FILLS[each.fill](storage) is not None
        ]
        return [each for each in fills if tuples or each.rest is None]

    @cached_property
    def _most(self) -> float:
        """The largest magnitude of elements that are floats."""
        data = next(iter(self.tensors.values()))
        floats = (np.abs(each) for each in data.blocks() if each.dtype.kind == "f")
        return max((float(each[np.isfinite(each)].max(initial=0)) for each in floats), default=0.0)

    def _fitted_readings(self, hypothesis: Hypothesis) -> Iterator[calls.Reading]:
        """Yield the readings whose numbers follow from what a hypothesis leaves."""
        size = self.output.cells
        if not size or self.storage.kind not in "iuf" or self._shape(hypothesis) is None:
            return
        if (
            hypothesis.placement is outputs.IN_ORDER
            and self._shape(hypothesis) != self.output.shape
        ):
            return
        cells = np.linspace(0, size - 1, min(size, MAX_FITTED)).astype(np.int64)
        values, fates = self.prediction(hypothesis).values(cells)
        held = self.output.held(cells)
        read = fates == indexing.READ
        types = next(iter(self.tensors.values())).dtype.name, self.output.tensor.dtype.name
        near = 4 * max(ROUNDING.get(name, 2.0**-52) for name in types)
        for each in calls.fitted_readings(values[read], held[read], self._most, near):
            with np.errstate(all="ignore"):
                agrees = self.output.agrees(each.function(values[read]), held[read], each.near)
            if int(agrees.sum()) >= max(LEAST_FITTED, int(read.sum()) / 2):
                yield each

    def _changed(self, tables: Mapping[str, Iterable[Any]]) -> Iterator[Hypothesis]:
        """Yield the hypotheses with a row of each of some tables."""
        for rows in product(*tables.values()):
            changes = dict(zip(tables, rows, strict=True))
            hypothesis = self._hypothesis(changes.get("frame", self._frames[0]))._replace(**changes)
            if not self._is_idle(hypothesis):
                yield from self.with_others(hypothesis)

    @cached_property
    def _conversions(self) -> list[indexing.IndexConversion]:
        """The conversions that change an index."""
        sample = self._indices
        if sample.size > MAX_PROBED:
            flat = sample.ravel()
            ends = [flat.min(), flat.max()]
            sample = np.concatenate([flat[:MAX_PROBED], ends]).astype(flat.dtype)
        sample = sample.astype(sample.dtype.newbyteorder("="))
        sizes = {1, *next(iter(self._shapes.values()))}
        return [
            each
            for each in indexing.CONVERSIONS
            if any(not np.array_equal(each.function(sample, s, 1), sample) for s in sizes)
        ]

    @cached_property
    def _orders(self) -> list[indexing.IndexOrder]:
        """The orders of indices that are not their own."""
        rows = self._indices if self.row.tuples else self._indices[..., None]
        if rows.ndim < 2 or not 0 < rows.size <= MAX_MOVED:
            return []
        every = indexing.orders(rows.shape, tuples=self.row.tuples)
        return [each for each in every if not np.array_equal(each.places(rows), rows)]

    def _in_order(self, order: indexing.IndexOrder) -> dict[str, Tensor]:
        if not order.name:
            return self.tensors
        if order.name not in self._ordered:
            rows = self._indices if self.row.tuples else self._indices[..., None]
            name = next(each.name for each in self.row.inputs if each.values)
            placed = order.places(rows).reshape(self._indices.shape)
            moved = Tensor(self.tensors[name].dtype, placed)
            self._ordered[order.name] = self.tensors | {name: moved}
        return self._ordered[order.name]

    def _is_idle(self, hypothesis: Hypothesis) -> bool:
        """Return whether the treatment concerns no index."""
        if not hypothesis.treatment.name or hypothesis.conversion.name:
            return False
        if hypothesis.treatment.other is not None:
            return False
        call = self.bound(hypothesis)
        return call is None or self._is_plain(call)

    def with_others(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        """Yield a hypothesis with each other axis that its rows take."""
        conversion, treatment = hypothesis.conversion, hypothesis.treatment
        sizes = next(iter(self._shapes.values()))
        if conversion.other is None and treatment.other is None:
            yield hypothesis
            return
        call = self.bound(hypothesis)
        if call is None:
            return
        ((_, axes),) = call.indexed.items()
        own = {each.size for each in axes}
        free = {size: axis for axis, size in reversed(list(enumerate(sizes))) if {size} != own}
        nothing: dict[int, int] = {0: -1}
        ones = nothing if conversion.other is None else free
        others = nothing if treatment.other is None else free
        for (one, axis), (other, along) in product(ones.items(), others.items()):
            yield hypothesis._replace(
                conversion=_filled_in(conversion, axis),
                treatment=_filled_in(treatment, along),
                others=(one, other),
            )

    def _unplaced(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        if self._shape(hypothesis) == self.output.shape:
            yield hypothesis

    def _placed(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        """Yield a hypothesis with every placement that has the shape."""
        shape = self._shape(hypothesis)
        if shape is None:
            return
        for each in self._placements(hypothesis, shape):
            yield hypothesis._replace(placement=each)

    def _placements(
        self, hypothesis: Hypothesis, shape: tuple[int, ...]
    ) -> Iterator[outputs.OutputPlacement]:
        if shape not in self._unfitted:
            self._unfitted[shape] = list(outputs.placements(shape, self.output.shape))
        yield from self._unfitted[shape]
        if self.tail is not None and shape == self.output.shape:
            yield outputs.unwritten(self.tail)
        if len(shape) == len(self.output.shape):
            yield from outputs.placements(shape, self.output.shape, self._fit(hypothesis))

    def _fit(self, hypothesis: Hypothesis) -> Callable[[int], AnyArray]:
        """Return a function of an axis to a mask of its rows that differ."""
        prediction = self.prediction(hypothesis)

        def differing(axis: int) -> AnyArray:
            shape = self.output.shape
            right = shape if hypothesis.placement.name else prediction.shape
            if axis < 0:  # of all cells
                axis, right, shape = 0, (size_of(right),), (size_of(shape),)
            rows = min(right[axis], shape[axis], self._rows)
            inner = size_of(shape[axis + 1 :])
            outer = size_of(shape[:axis])
            if not rows or not inner or not outer or right[:axis] != shape[:axis]:
                return np.zeros(0, bool)
            columns = np.linspace(0, inner * outer - 1, PROBED_COLUMNS).astype(np.int64)
            spread = np.array(sorted({*columns.tolist()}))  # `np.unique` imports numpy.ma, 8 ms
            first, s = np.divmod(spread, inner)
            row = np.arange(rows)[:, None]
            at = ((first * shape[axis] + row) * inner + s).reshape(-1)
            to = ((first * right[axis] + row) * inner + s).reshape(-1)
            values, fates = prediction.values(to)
            refused = fates == indexing.REFUSED  # whatever such a cell holds, it is no other row
            agrees = refused | (fates <= indexing.FILLED) & self.output.agrees(
                values, self.output.held(at)
            )
            differs: AnyArray = ~agrees.reshape(rows, -1).all(axis=1)
            return differs

        return differing

    def bound(self, hypothesis: Hypothesis) -> Call | None:
        """Return the call of a hypothesis; None if its operator refuses the shapes."""
        key = repr((hypothesis.frame, hypothesis.layout))
        if key not in self._calls:
            shapes = dict(self._shapes)
            first = next(iter(shapes))
            shapes[first] = hypothesis.layout.shape(shapes[first])
            self._calls[key] = hypothesis.frame.call(shapes)
        return self._calls[key]

    def _shape(self, hypothesis: Hypothesis) -> tuple[int, ...] | None:
        source = self._source(hypothesis)
        return None if source is None else source.shape

    def _source(self, hypothesis: Hypothesis) -> CellSource | None:
        h = hypothesis
        names = h.order.name, h.conversion.name, h.treatment.name, h.others
        key = h.frame.name, h.frame.departures, h.layout.name, *names
        if key not in self._sources:
            call = self.bound(hypothesis)
            tensors = self._in_order(h.order)
            self._sources[key] = None if call is None else CellSource(call, h, tensors)
        return self._sources[key]

    def prediction(self, hypothesis: Hypothesis) -> Prediction:
        """Return the prediction of a hypothesis whose operator takes the shapes."""
        source = self._source(hypothesis)
        if source is None:
            raise LookupError(hypothesis.frame.name)
        return Prediction(hypothesis, source, self._pool, self.output.storage)


def _filled_in(row: Any, axis: int) -> Any:
    if row.other is None:
        return row
    name = row.name.replace("another axis", f"axis {axis}")
    return row._replace(name=name, sentence=row.sentence.format(other=axis), other=axis)


def _all_plain(indices: AnyArray, size: int) -> bool:
    """Return whether all indices are in [0, size), block by block."""
    flat = indices.reshape(-1) if indices.flags.c_contiguous else indices.ravel()
    starts = range(0, flat.size, MAX_PROBED)
    blocks = (indexing.exact(flat[start : start + MAX_PROBED], size) for start in starts)
    return all(bool(((k >= 0) & (k < size)).all()) for k in blocks)
