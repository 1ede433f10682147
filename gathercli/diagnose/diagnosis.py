"""The diagnosis of an output: what explains it, and who is known to do that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.compute.compare import Tolerance
from gathercli.diagnose.call_hypotheses import FILLS
from gathercli.diagnose.combinations import Candidates
from gathercli.diagnose.index_hypotheses import specified
from gathercli.diagnose.prediction import ObservedOutput
from gathercli.diagnose.search import Search
from gathercli.errors import InputError, OperatorError
from gathercli.ops import indexed_inputs
from gathercli.ops.portability import TARGETS
from gathercli.ops.versions import family_of, find
from gathercli.spec.call import Call, Operand
from gathercli.spec.op import Negative, OutOfRange
from gathercli.spec.shapes import cell, coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.compute.tensor import Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.diagnose.prediction import Hypothesis
    from gathercli.diagnose.search import ProvedHypothesis, Score
    from gathercli.spec.op import Op


class Named(NamedTuple):
    """An explanation in words."""

    names: tuple[str, ...]  # of each departure; none for the right output
    sentences: tuple[str, ...]
    explanation: ProvedHypothesis
    known: tuple[str, ...]  # who is known to do all that

    @property
    def sentence(self) -> str:
        """The departures in one line."""
        return "; ".join(self.sentences) or "the call as the version says"


class WrongCells(NamedTuple):
    """Cells that a hypothesis does not explain: their number, and the first of them."""

    number: int
    where: str  # the coordinates of the first
    value: str  # what it holds
    expected: str | None  # None if the version refuses its index or it lies outside `data`


class RefusedCells(NamedTuple):
    """The numbers of cells whose index the version refuses, of the others, and of right ones."""

    refused: int
    legal: int
    right: int


class Diagnosis(NamedTuple):
    """What explains an output."""

    row: Op  # that was asked for
    call: Call | None  # None if the rules of its row refuse it
    refusal: OperatorError | None  # why they do
    tensors: dict[str, Tensor]  # the inputs by name
    wrong: Tensor  # the output
    explanations: tuple[Named, ...]  # best first; not empty
    # an index that two of the first treat differently, in words; None if there is none
    apart: str | None = None
    # that differ from the output of the version; None if the shapes do, or none does
    wrong_cells: WrongCells | None = None
    unexplained: WrongCells | None = None  # by the first explanation; None if it explains all
    # cells whose index the version refuses; None if it refuses none
    refused: RefusedCells | None = None

    @property
    def best(self) -> Named:
        """The first explanation."""
        return self.explanations[0]

    @property
    def first(self) -> tuple[Named, ...]:
        """The first explanation and those that tie with it."""
        best = self.best.explanation
        key = best.score.rank(best.departures)
        return tuple(
            each
            for each in self.explanations
            if each.explanation.score.rank(each.explanation.departures) == key
        )

    @property
    def likely(self) -> tuple[Named, ...]:
        """The explanations that explain more than chance; empty if the best does not."""
        if self.best.explanation.by_chance:
            return ()
        return tuple(each for each in self.explanations if not each.explanation.by_chance)

    @property
    def is_right(self) -> bool:
        """Whether the output is that of the version."""
        return self.is_whole and not self.best.names

    @property
    def is_whole(self) -> bool:
        """Whether the first explanation explains every cell."""
        return self.best.explanation.is_whole


def diagnose(
    op: str | Op,
    *tensors: Tensor,
    wrong: Tensor,
    version: str | None = None,
    tolerance: Tolerance | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
    progress: ProgressCallback | None = None,
    **attrs: Any,
) -> Diagnosis:
    """Find what explains an output, `wrong`, of a row, or of a command and one of its versions.

    Elements within `tolerance` are equal. InputError (``diagnosis``) says that no hypothesis gives
    an output of this shape.
    """
    if isinstance(op, str):
        row = find(version, op).op if version else family_of(op).ROWS[0]
    else:
        row = op
    attrs = {name: value for name, value in attrs.items() if value is not None}
    policies: dict[str, Any] = {"negative": negative, "out_of_range": out_of_range}
    refusal = None
    try:
        call = ops.bind(row, *map(Operand.of, tensors), **policies, **attrs)
    except OperatorError as error:
        call, refusal = None, error
    asked = Call(
        row,
        family_of(row.family),
        {},
        {},
        negative=Negative(negative),
        out_of_range=OutOfRange(out_of_range),
    )
    named = dict(zip([each.name for each in row.inputs], tensors, strict=True))
    output = ObservedOutput(wrong, tolerance or Tolerance())
    candidates = Candidates(row, attrs, call, named, output=output, policy=specified(asked))
    search = Search(candidates, output, progress)
    explanations = search.explanations()
    if not explanations:
        raise _no_shape(call, wrong, refusal)
    return _Words(row, search, candidates, wrong).diagnosis(explanations, refusal)


def _no_shape(call: Call | None, wrong: Tensor, refusal: OperatorError | None) -> InputError:
    """Return the error for an output whose shape nothing gives."""
    problem = f"no hypothesis gives an output of the shape of `wrong`, {wrong}"
    if refusal is not None:
        return InputError(
            f"{problem}, and the version refuses the call: {refusal.statement}",
            rule="diagnosis",
            value=str(wrong),
            expected=refusal.expected,
            remark=refusal.remark,
        )
    return InputError(
        problem,
        rule="diagnosis",
        value=str(wrong),
        expected=None if call is None else str(call.shape),
        remark=", or another by one or two mistakes",
    )


class _Words:
    """Explanations in words."""

    def __init__(self, row: Op, search: Search, candidates: Candidates, wrong: Tensor) -> None:
        self._row, self._search, self._candidates, self._wrong = row, search, candidates, wrong

    def diagnosis(
        self, explanations: list[ProvedHypothesis], refusal: OperatorError | None
    ) -> Diagnosis:
        named = tuple(map(self._named, explanations))
        search = self._search
        diagnosis = Diagnosis(
            self._row, self._candidates.call, refusal, self._candidates.tensors, self._wrong, named
        )
        tied = [each.explanation.hypothesis for each in diagnosis.first]
        base = search.base()
        return diagnosis._replace(
            apart=self._apart(tied) if diagnosis.best.names else None,
            wrong_cells=base and self._wrong_cells(base),
            unexplained=self._wrong_cells(explanations[0]),
            refused=_refused(base.score) if base and base.score.refused else None,
        )

    def _wrong_cells(self, explanation: ProvedHypothesis) -> WrongCells | None:
        score, search = explanation.score, self._search
        if score.is_whole:
            return None
        (cell_at,) = search.wrong_cells(explanation.hypothesis, 1)
        held, predicted = search.both(explanation.hypothesis, int(cell_at))
        where = cell(coordinates(int(cell_at), self._wrong.shape))
        return WrongCells(score.total - score.explained, where, held, predicted)

    def _named(self, explanation: ProvedHypothesis) -> Named:
        h = explanation.hypothesis
        rows: tuple[Any, ...] = (
            h.frame,
            h.layout,
            h.conversion,
            h.treatment,
            h.reading,
            h.placement,
        )
        departing = [each for each in rows if each.name]
        fill = ""
        if h.treatment.fill != "zero":
            dtype = self._candidates.storage
            value = FILLS[h.treatment.fill](dtype)
            fill = str(np.asarray(value, dtype)) if value is not None else h.treatment.fill
        sentences = tuple(each.sentence.replace("{fill}", fill) for each in departing)
        return Named(tuple(each.name for each in departing), sentences, explanation, self._known(h))

    def _known(self, h: Hypothesis) -> tuple[str, ...]:
        """Return who is known to do all departures of a hypothesis; nobody if one has none."""
        each = [
            names
            for departs, names in (
                (bool(h.frame.name), _called_by(h, self._candidates.call)),
                (bool(h.layout.name), []),
                (bool(h.conversion.name), self._converted_by(h)),
                (bool(h.treatment.name), self._treated_by(h)),
                (bool(h.reading.name), self._read_by(h)),
                (bool(h.placement.name), _placed_by(h, self._candidates.storage)),
            )
            if departs
        ]
        if not each:
            return ()
        return tuple(name for name in dict.fromkeys(each[0]) if all(name in more for more in each))

    def _targets(self, condition: Callable[[Any, Any], bool]) -> Iterator[str]:
        family = self._row.family
        for target in TARGETS.values():
            operator = target.operators.get(family)
            if operator is not None and condition(target, operator):
                yield target.title

    def _treated_by(self, h: Hypothesis) -> list[str]:
        fates = h.treatment.fates
        targets = self._targets(
            lambda _, each: fates is not None and (each.negative, each.outside) == fates
        )
        return [*h.treatment.known, *targets]

    def _converted_by(self, h: Hypothesis) -> list[str]:
        bits = h.conversion.bits
        targets = self._targets(lambda target, _: bits > 0 and target.index_bits == bits)
        return [*h.conversion.known, *targets]

    def _read_by(self, h: Hypothesis) -> list[str]:
        dtype = next(iter(self._candidates.tensors.values())).dtype
        narrow = h.reading.narrow

        def is_narrow(target: Any, operator: Any) -> bool:
            del operator
            return dtype in target.narrow and target.narrow[dtype].name == narrow

        return [*h.reading.known, *self._targets(is_narrow)]

    # Ties

    def _apart(self, tied: list[Hypothesis]) -> str | None:
        """Return what would tell the first of tied hypotheses from another."""
        if len(tied) < 2:
            return None
        first, *others = tied
        for other in others:
            one = first._replace(conversion=other.conversion, treatment=other.treatment)
            if one._replace(others=other.others) == other:
                probe = self._index(first, other)
                if probe is not None:
                    return probe
        return "data whose elements all differ, or another shape, may tell them apart"

    def _index(self, one: Hypothesis, other: Hypothesis) -> str | None:
        call = self._candidates.bound(one)
        if call is None:
            return None
        ((_, axes),) = indexed_inputs(call).items()
        along = next((each for each in axes if each.size), None)
        if along is None:
            return None
        s = along.size
        ends = [0, -1, s - 1, s, -s, -s - 1, 2 * s, -2 * s - 1, 127, 128, 255, 256, 1 << 16]
        ends += [n for h in (one, other) for n in h.others if n]
        ends += [1 << 31, 1 << 32, (1 << 32) + 1, -(1 << 31) - 1]
        for k in ends:
            outcomes = []
            for h in (one, other):
                converted = h.conversion.function(np.array([k]), s, h.others[0])
                at, fates = h.treatment.function(converted, s, h.others[1])
                fill = h.treatment.fill if int(fates.reshape(-1)[0]) else ""
                kept = h.treatment.keeps and bool(fill)
                outcomes.append((int(np.ravel(at)[0]), int(np.ravel(fates)[0]), fill, kept))
            if outcomes[0] != outcomes[1]:
                where = f" on axis {along.axis}, of size {s}," if len(axes) > 1 else ""
                return f"an index of {k}{where} would tell them apart"
        return None


def _refused(score: Score) -> RefusedCells:
    return RefusedCells(score.refused, score.total - score.refused, score.explained)


def _called_by(h: Hypothesis, call: Call | None) -> list[str]:
    """Return who is known to call another operator, axis or batch_dims."""
    if call is None or call.family is not family_of(h.frame.row.family):
        return []
    is_first = h.frame.attrs.get("axis", 0) == 0 == call.axis
    if is_first and not h.frame.attrs.get("batch_dims") and call.batch_dims:
        return ["tf.gather, which ignores batch_dims where axis is 0"]
    if h.frame.flat:
        return ["numpy.take without axis"]
    return []


def _placed_by(h: Hypothesis, storage: np.dtype[Any]) -> list[str]:
    if storage.kind == "U" and h.placement.name.startswith("first of"):
        return ["onnxruntime, in Gather of strings"]
    return []
