"""The search for the hypotheses that explain most cells with the fewest departures.

Combinations are tried on a few cells, the best of them on more, and the best of those on all. Cells
that contradict the best join the few, and the search begins again.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.arrays.compare import text_of
from gathercli.arrays.tensor import dtype_of
from gathercli.diagnosis.calls import frames, other_frames
from gathercli.diagnosis.elements import AS_STORED, IN_PLACE, layouts, readings
from gathercli.diagnosis.indices import (
    AS_THEY_ARE,
    CONVERSIONS,
    TREATMENTS,
    CellFate,
)
from gathercli.diagnosis.outputs import IN_ORDER, placements
from gathercli.diagnosis.prediction import CellSource, ElementPool, Hypothesis, Prediction, is_plain
from gathercli.ops import indexed_inputs
from gathercli.spec.dtypes import FLOAT64, STRING
from gathercli.spec.shapes import product as size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gathercli.arrays.compare import Tolerance
    from gathercli.arrays.tensor import AnyArray
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.diagnosis.calls import Frame
    from gathercli.diagnosis.elements import DataLayout
    from gathercli.diagnosis.indices import IndexConversion, Treatment
    from gathercli.diagnosis.outputs import OutputPlacement
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op
    from gathercli.tensor import Tensor

FEW: Final = 192
"""Cells of each kind, right and wrong, that every combination is tried on."""

MORE: Final = 1 << 14
"""Cells that the best combinations are tried on."""

BEST: Final = 48
PROVED: Final = 8
"""The combinations that are tried on more cells, and those on all."""

ROUNDS: Final = 3
"""The searches after cells that contradict the best combination joined the few."""

TOGETHER: Final = 1 << 16
"""Cells that are predicted at once."""

ROWS: Final = (0, 1 << 18, 1 << 12)
"""Rows in which the first wrong one is looked for, by the number of departures."""

COLUMNS: Final = 4
"""Cells of a row that are looked at for that."""


class Score(NamedTuple):
    """How a hypothesis does on some cells.

    Attributes
    ----------
    explained
        The cells that hold what it predicts.
    foreign
        The cells that hold what it cannot predict: memory outside the tensors.
    refused
        The cells that it predicts nothing for, as the version refuses the index.
    total
        All cells.
    """

    explained: int
    foreign: int
    refused: int
    total: int

    def __add__(self, other: object) -> Score:
        """Add the scores on two disjoint sets of cells."""
        if not isinstance(other, Score):
            return NotImplemented
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def is_whole(self) -> bool:
        """Whether every cell holds what is predicted."""
        return self.explained == self.total

    @property
    def is_consistent(self) -> bool:
        """Whether every cell of a legal index holds what is predicted."""
        return self.explained > 0 and self.explained + self.refused == self.total

    def rank(self, departures: int) -> tuple[float, ...]:
        """Return a key that is the smaller the better; foreign cells count half."""
        cells = self.explained + min(self.foreign, self.explained) / 2
        return (not self.is_whole, departures if self.is_whole else 0.4 * departures - cells)


class ProvedHypothesis(NamedTuple):
    """A hypothesis with its score on all cells.

    Attributes
    ----------
    wrong
        The number of cells that differ from the call as the version says; None if its output has
        another shape.
    proves
        Whether its cells prove it: more than one wrong cell, or what was done to an index.
    """

    hypothesis: Hypothesis
    score: Score
    wrong: int | None = None
    proves: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it explains every cell, and not by chance."""
        return self.score.is_whole and self.proves

    @property
    def departures(self) -> int:
        """The departures of the hypothesis."""
        return self.hypothesis.departures


class Search:
    """The search of one wrong output.

    Parameters
    ----------
    row, attrs
        The row and the attributes that were asked for.
    call
        The call; None if the version refuses it.
    tensors
        The inputs by name.
    wrong
        The output.
    """

    def __init__(
        self,
        row: Op,
        attrs: dict[str, Any],
        call: Call | None,
        tensors: Mapping[str, Tensor],
        wrong: Tensor,
        *,
        tolerance: Tolerance,
        policy: Treatment,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.call, self.wrong, self.tensors = call, wrong, dict(tensors)
        self._tolerance, self._progress = tolerance, progress
        self._policy = policy
        data = next(iter(tensors.values()))
        self._pool = ElementPool(
            [data, *(t for (n, t) in tensors.items() if row.input(n).copied and t is not data)]
        )
        self._output = ElementPool([wrong])
        self._shapes = {name: each.shape for name, each in tensors.items()}
        self.cells = size_of(wrong.shape)
        self._sources: dict[Any, CellSource | None] = {}
        self._calls: dict[Any, Call | None] = {}
        self._fixed: dict[Any, list[OutputPlacement]] = {}
        indices = next(tensors[each.name] for each in row.inputs if each.values)
        self._indices = indices.array
        asked = list(frames(call, row, attrs))
        self.frames: list[Frame] = [
            *asked,
            *other_frames(call, row, data.shape, len(indices.shape)),
        ]
        self._layouts = [] if row.one_type else list(layouts(len(data.shape)))
        self._readings = list(readings(data.dtype))
        self._few = np.empty(0, np.int64)
        self._fixed_plain: dict[Any, bool] = {}
        self._right: ProvedHypothesis | None = None
        self._rows = 0

    # Explanations

    def explanations(self) -> list[ProvedHypothesis]:
        """Return the best hypotheses with their scores on all cells, best first.

        Returns
        -------
            Empty if no hypothesis gives an output of this shape.
        """
        base = self._base()
        right = self._right = None if base is None else self.prove(base)
        if right is not None and right.score.is_whole:
            return [right]
        wrong = None if right is None else right.score.total - right.score.explained
        self._few = self._chosen(base)
        best: list[ProvedHypothesis] = []
        for _ in range(ROUNDS):
            best = self._round(wrong, right)
            if not best or best[0].score.is_whole or self.cells <= len(self._few):
                break
            contrary = self._contrary(best[0].hypothesis)
            if not contrary.size or np.isin(contrary, self._few).all():
                break
            self._few = np.union1d(self._few, contrary)
        return best

    def _base(self) -> Hypothesis | None:
        """Return the call as the version says; None if its output has another shape."""
        if self.call is None:
            return None
        hypothesis = self._hypothesis(self.frames[0])
        prediction = self.prediction(hypothesis)
        fits = prediction is not None and prediction.shape == self.wrong.shape
        return hypothesis if fits else None

    def _hypothesis(self, frame: Frame) -> Hypothesis:
        return Hypothesis(frame, IN_PLACE, AS_THEY_ARE, self._policy, AS_STORED, IN_ORDER)

    def _round(self, wrong: int | None, right: ProvedHypothesis | None) -> list[ProvedHypothesis]:
        """Search on the few cells, and prove the best."""
        few: list[tuple[Hypothesis, Score]] = []
        for departures in (0, 1, 2):
            tried = self._tried(self._combinations(departures))
            few = sorted([*few, *tried], key=lambda pair: pair[1].rank(pair[0].departures))[:BEST]
            if few and few[0][1].is_whole:
                break
        if not few:
            return [] if right is None else [right]
        proved = [self._explained(each, wrong) for each in self._best(few)]
        if right is not None:
            proved.append(right)
        unique = {_key(each.hypothesis): each for each in reversed(proved)}
        proved = list(reversed(unique.values()))
        proved.sort(key=lambda each: each.score.rank(each.departures))
        return proved

    def _tried(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Score]]:
        """Try hypotheses, and every treatment of refused indices with the consistent ones."""
        held = self._held(self._few)
        scored: list[tuple[Hypothesis, Score]] = []
        consistent: list[tuple[Hypothesis, Score]] = []
        for each in hypotheses:
            prediction = self.prediction(each)
            if prediction is not None:
                score = self._score(prediction, self._few, held)
                scored.append((each, score))
                if score.refused and score.is_consistent and not each.treatment.name:
                    consistent.append((each, score))
        consistent.sort(key=lambda pair: -pair[1].explained)
        treated = (
            one
            for each, _ in consistent[:PROVED]
            for row in TREATMENTS
            for one in self._with_others(each._replace(treatment=row))
        )
        scored += self._ranked(treated, self._few, BEST)
        scored.sort(key=lambda pair: pair[1].rank(pair[0].departures))
        return scored[:BEST]

    def _best(self, few: list[tuple[Hypothesis, Score]]) -> list[Hypothesis]:
        """Return the hypotheses to prove."""
        if self.cells > MORE:
            more = self._more()
            few = self._ranked((each for each, _ in few), more, BEST)
        best = few[0][1].rank(few[0][0].departures)
        tied = [each for each, score in few if score.rank(each.departures) == best]
        if self.cells <= MORE:
            return [each for each, _ in few]
        return (tied or [])[:PROVED] + [
            each for each, score in few[:PROVED] if score.rank(each.departures) != best
        ][: max(0, 3 - len(tied))]

    def _explained(self, hypothesis: Hypothesis, wrong: int | None) -> ProvedHypothesis:
        explanation = self.prove(hypothesis)
        proves = wrong is None or wrong > 1 or (hypothesis.of_indices and self._has_outside)
        return explanation._replace(wrong=wrong, proves=proves)

    @property
    def _has_outside(self) -> bool:
        """Whether an index of the call is not plain."""
        if self.call is None:
            return False
        return not self._plain(self.call)

    def _plain(self, call: Call) -> bool:
        """Return whether all indices of a call are from 0 on and on their axes."""
        ((_, axes),) = indexed_inputs(call).items()
        key = tuple(each.size for each in axes), call.op.tuples
        if key not in self._fixed_plain:
            if call.op.tuples:
                parts = [(self._indices[..., j], each.size) for j, each in enumerate(axes)]
            else:
                parts = [(self._indices, axes[0].size)]
            self._fixed_plain[key] = all(_all_plain(part, size) for part, size in parts)
        return self._fixed_plain[key]

    @property
    def storage(self) -> np.dtype[Any]:
        """The dtype of the elements as values."""
        return self._pool.storage

    def base(self) -> ProvedHypothesis | None:
        """Return the call as the version says with its score; None if the shapes differ."""
        return self._right

    def both(self, hypothesis: Hypothesis, at: int) -> tuple[str, str | None]:
        """Return what a cell holds and what is predicted, as text; None if nothing is."""
        cells = np.array([at])
        prediction = self.prediction(hypothesis)
        held = text_of(self._held(cells)[0])
        if prediction is None:
            return held, None
        values, fates = prediction.values(cells)
        return held, text_of(values[0]) if fates[0] <= CellFate.FILLED else None

    # Combinations

    def _combinations(self, departures: int) -> Iterator[Hypothesis]:
        """Yield the hypotheses with so many departures, each in another table."""
        self._rows = ROWS[departures]
        if not departures:
            if self.call is not None:
                yield from self._unplaced(self._hypothesis(self.frames[0]))
            return
        others = self.frames if self.call is None else self.frames[1:]
        tables: dict[str, Iterable[Any]] = {
            "frame": [each for each in others if each.departures <= departures],
            "treatment": TREATMENTS,
            "conversion": self._conversions(),
            "layout": self._layouts,
            "reading": self._readings,
        }
        for names in combinations([*tables, "placement"], departures):
            if self.call is not None or "frame" in names:
                chosen = {name: tables[name] for name in names if name in tables}
                for each in self._changed(chosen):
                    yield from self._placed(each) if "placement" in names else self._unplaced(each)
        if departures > 1:  # an operator with another axis is two departures in one table
            for frame in tables["frame"]:
                if frame.departures == departures:
                    yield from self._unplaced(self._hypothesis(frame))

    def _changed(self, tables: Mapping[str, Iterable[Any]]) -> Iterator[Hypothesis]:
        """Yield the hypotheses with a row of each of some tables."""
        for rows in product(*tables.values()):
            changes = dict(zip(tables, rows, strict=True))
            hypothesis = self._hypothesis(changes.get("frame", self.frames[0]))._replace(**changes)
            if not self._is_idle(hypothesis):
                yield from self._with_others(hypothesis)

    def _conversions(self) -> list[IndexConversion]:
        """Return the conversions that change an index."""
        sample = self._indices
        if sample.size > MORE:
            flat = sample.reshape(-1) if sample.flags.c_contiguous else sample.ravel()
            sample = np.concatenate([flat[:MORE], [flat.min(), flat.max()]]).astype(flat.dtype)
        sample = sample.astype(sample.dtype.newbyteorder("="))
        return [
            each
            for each in CONVERSIONS
            if (each.fortran and self._indices.ndim > 1)
            or (not each.fortran and not np.array_equal(each.function(sample, 1, 1), sample))
        ]

    def _is_idle(self, hypothesis: Hypothesis) -> bool:
        """Return whether the treatment concerns no index."""
        if not hypothesis.treatment.name or hypothesis.conversion.name:
            return False
        if hypothesis.treatment.other is not None:
            return False
        call = self._call(hypothesis)
        return call is None or self._plain(call)

    def _with_others(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        """Yield a hypothesis with each other axis that its rows take."""
        conversion, treatment = hypothesis.conversion, hypothesis.treatment
        sizes = next(iter(self._shapes.values()))
        if conversion.other is None and treatment.other is None:
            yield hypothesis
            return
        call = self._call(hypothesis)
        if call is None:
            return
        ((_, axes),) = indexed_inputs(call).items()
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
        """Yield a hypothesis whose output has the shape."""
        shape = self._shape(hypothesis)
        if shape == self.wrong.shape:
            yield hypothesis

    def _placed(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        """Yield a hypothesis with every placement that has the shape."""
        shape = self._shape(hypothesis)
        if shape is None:
            return
        if shape not in self._fixed:
            self._fixed[shape] = list(placements(shape, self.wrong.shape))
        for each in self._fixed[shape]:
            yield hypothesis._replace(placement=each)
        if len(shape) == len(self.wrong.shape):
            prediction = self.prediction(hypothesis)
            if prediction is not None:
                for each in placements(shape, self.wrong.shape, self._fit(prediction)):
                    yield hypothesis._replace(placement=each)

    def _fit(self, prediction: Prediction) -> Callable[[int], AnyArray]:
        """Return a function of an axis to a mask of its rows that differ."""

        def differing(axis: int) -> AnyArray:
            right, shape = prediction.shape, self.wrong.shape
            rows = min(right[axis], shape[axis], self._rows)
            inner = size_of(shape[axis + 1 :])
            outer = size_of(shape[:axis])
            if not rows or not inner or not outer or right[:axis] != shape[:axis]:
                return np.zeros(0, bool)
            spread = np.unique(np.linspace(0, inner * outer - 1, COLUMNS).astype(np.int64))
            first, s = np.divmod(spread, inner)
            row = np.arange(rows)[:, None]
            at = ((first * shape[axis] + row) * inner + s).reshape(-1)
            to = ((first * right[axis] + row) * inner + s).reshape(-1)
            values, fates = prediction.values(to)
            refused = fates == CellFate.REFUSED  # whatever such a cell holds, it is no other row
            agrees = refused | (fates <= CellFate.FILLED) & self._agrees(values, self._held(at))
            differs: AnyArray = ~agrees.reshape(rows, -1).all(axis=1)
            return differs

        return differing

    # Predictions

    def _call(self, hypothesis: Hypothesis) -> Call | None:
        """Return the call of a hypothesis; None if its operator refuses the shapes."""
        key = hypothesis.frame, hypothesis.layout
        return self._bound(key, *key)

    def bound(self, hypothesis: Hypothesis) -> Call | None:
        """Return the call of a hypothesis; None if its operator refuses the shapes."""
        return self._call(hypothesis)

    def _bound(self, key: object, frame: Frame, layout: DataLayout) -> Call | None:
        name = repr(key)
        if name not in self._calls:
            shapes = dict(self._shapes)
            first = next(iter(shapes))
            shapes[first] = layout.shape(shapes[first])
            self._calls[name] = frame.call(shapes)
        return self._calls[name]

    def _shape(self, hypothesis: Hypothesis) -> tuple[int, ...] | None:
        """Return the shape of the output before the placement."""
        source = self._source(hypothesis)
        return None if source is None else source.shape

    def _source(self, hypothesis: Hypothesis) -> CellSource | None:
        h = hypothesis
        names = h.conversion.name, h.treatment.name, h.others
        key = h.frame.name, h.frame.departures, h.layout.name, *names
        if key not in self._sources:
            call = self._call(hypothesis)
            self._sources[key] = None if call is None else CellSource(call, h, self.tensors)
        return self._sources[key]

    def prediction(self, hypothesis: Hypothesis) -> Prediction | None:
        """Return the prediction of a hypothesis; None if its operator refuses the shapes."""
        source = self._source(hypothesis)
        if source is None:
            return None
        return Prediction(hypothesis, source, self._pool, self._output.storage)

    # Scores

    def _ranked(
        self, hypotheses: Iterable[Hypothesis], cells: AnyArray, most: int
    ) -> list[tuple[Hypothesis, Score]]:
        """Return the best hypotheses on some cells, in the order of the tables where they tie."""
        held = self._held(cells)
        scored = []
        for each in hypotheses:
            prediction = self.prediction(each)
            if prediction is not None:
                score = self._score(prediction, cells, held)
                scored.append((each, score))
        scored.sort(key=lambda pair: pair[1].rank(pair[0].departures))
        return scored[:most]

    def _score(self, prediction: Prediction, cells: AnyArray, held: AnyArray) -> Score:
        values, fates = prediction.values(cells)
        predicts = fates <= CellFate.FILLED
        agrees = predicts & self._agrees(values, held)
        foreign, refused = (
            int((fates == each).sum()) for each in (CellFate.FOREIGN, CellFate.REFUSED)
        )
        return Score(int(agrees.sum()), foreign, refused, len(cells))

    def prove(self, hypothesis: Hypothesis) -> ProvedHypothesis:
        """Score a hypothesis on all cells."""
        prediction = self.prediction(hypothesis)
        score = Score(0, 0, 0, 0)
        if prediction is not None:
            for cells in self._blocks():
                score += self._score(prediction, cells, self._held(cells))
        return ProvedHypothesis(hypothesis, score)

    def wrong_cells(self, hypothesis: Hypothesis, most: int) -> AnyArray:
        """Return up to `most` cells that a hypothesis does not explain, in order."""
        chosen = list(self._unexplained(hypothesis, most))
        return np.concatenate(chosen)[:most] if chosen else np.empty(0, np.int64)

    def _contrary(self, hypothesis: Hypothesis) -> AnyArray:
        return self.wrong_cells(hypothesis, FEW)

    def _unexplained(self, hypothesis: Hypothesis, most: int) -> Iterator[AnyArray]:
        prediction, number = self.prediction(hypothesis), 0
        if prediction is None:
            return
        for cells in self._blocks():
            values, fates = prediction.values(cells)
            agrees = (fates <= CellFate.FILLED) & self._agrees(values, self._held(cells))
            yield cells[~agrees]
            number += int((~agrees).sum())
            if number >= most:
                return

    def _blocks(self) -> Iterator[AnyArray]:
        """Yield all cells, block by block."""
        for start in range(0, self.cells, TOGETHER):
            stop = min(start + TOGETHER, self.cells)
            yield np.arange(start, stop)
            if self._progress is not None:
                size = self.wrong.array.itemsize
                self._progress("compared", stop * size, self.cells * size)

    def _held(self, cells: AnyArray) -> AnyArray:
        """Return what the output holds in some cells."""
        return self._output.values(cells)

    def _agrees(self, values: AnyArray, held: AnyArray) -> AnyArray:
        """Return a mask of equal elements; numbers of two types are compared as numbers."""
        if (values.dtype.kind == "U") != (held.dtype.kind == "U"):
            return np.zeros(values.shape, bool)
        kinds = {values.dtype.kind, held.dtype.kind}
        if kinds & set("iu") and "f" in kinds and not any(self._tolerance):
            return _equal_numbers(values, held)
        if values.dtype.kind == "U":
            dtype = STRING
        elif {values.dtype.kind, held.dtype.kind} & set("fc"):
            dtype = FLOAT64 if "c" not in (values.dtype.kind, held.dtype.kind) else self._pool.dtype
        else:
            dtype = dtype_of(values.dtype) or self._pool.dtype
        near: AnyArray = self._tolerance.near(dtype, values, held)
        return near

    # Samples

    def _chosen(self, base: Hypothesis | None) -> AnyArray:
        """Return cells spread over the output, and wrong ones of the base."""
        if self.cells <= 2 * FEW:
            return np.arange(self.cells)
        dice = np.random.default_rng(0)
        spread = dice.integers(0, self.cells, FEW)
        ends = np.array([0, self.cells - 1])
        wrong = np.empty(0, np.int64)
        if base is not None:
            wrong = self.wrong_cells(base, MORE)
            if wrong.size > FEW:
                wrong = wrong[np.unique(np.linspace(0, wrong.size - 1, FEW).astype(np.int64))]
        return np.unique(np.concatenate([ends, spread, wrong]))

    def _more(self) -> AnyArray:
        """Return the few cells and many more, spread over the output."""
        dice = np.random.default_rng(1)
        return np.union1d(self._few, dice.integers(0, self.cells, MORE))


def _key(hypothesis: Hypothesis) -> tuple[object, ...]:
    """Return the names of a hypothesis; the sizes of other axes are in them."""
    return tuple(getattr(each, "name", None) for each in hypothesis)


def _filled_in(row: Any, axis: int) -> Any:
    """Return a row with its other axis, in its name and its sentence."""
    if row.other is None:
        return row
    return row._replace(
        name=row.name.replace("another axis", f"axis {axis}"),
        sentence=row.sentence.format(other=axis),
        other=axis,
    )


def _all_plain(indices: AnyArray, size: int) -> bool:
    """Return whether all indices are in [0, size), block by block."""
    flat = indices.reshape(-1) if indices.flags.c_contiguous else indices.ravel()
    return all(is_plain(flat[start : start + MORE], size) for start in range(0, flat.size, MORE))


def _equal_numbers(one: AnyArray, other: AnyArray) -> AnyArray:
    """Compare integers and floats exactly, element by element."""
    floats, integers = (one, other) if one.dtype.kind == "f" else (other, one)
    ends = np.iinfo(integers.dtype)
    with np.errstate(all="ignore"):
        wide = floats.astype(np.float64)
        inside = (wide >= float(ends.min)) & (wide < 2.0 ** int(ends.max).bit_length())
        whole = inside & (np.trunc(wide) == wide)
        equal: AnyArray = whole & (np.where(whole, wide, 0).astype(integers.dtype) == integers)
    return equal
