"""The diagnosis of an output: what explains it, and who is known to do that, as text and JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.compute.compare import Tolerance
from gathercli.diagnose.call_hypotheses import FILLS
from gathercli.diagnose.combinations import Candidates
from gathercli.diagnose.index_hypotheses import specified
from gathercli.diagnose.prediction import ObservedOutput
from gathercli.diagnose.search import MovedRow, Search, moved_rows, where
from gathercli.diagnose.ties import SuggestedCall, apart, suggestion
from gathercli.errors import InputError, OperatorError, sentence
from gathercli.frameworks import FrameworkRow, every_framework, every_row
from gathercli.frameworks.versions import family_of, row_of
from gathercli.report.header import TensorType, title
from gathercli.report.terminal import PICTURE_WIDTH, Report
from gathercli.report.versions import hanging
from gathercli.spec.call import Call, Operand
from gathercli.spec.op import Adaptation, Negative, OutOfRange
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import clean, counted, grouped, table_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.cli.slice_options import PictureOptions
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.diagnose.prediction import Hypothesis
    from gathercli.diagnose.search import ScoredHypothesis
    from gathercli.spec.op import Op


class Named(NamedTuple):
    """An explanation in words."""

    names: tuple[str, ...]  # of each departure; none for the right output
    sentences: tuple[str, ...]
    explanation: ScoredHypothesis
    known: tuple[str, ...]  # who is known to do all that

    @property
    def sentence(self) -> str:
        """The departures in one line."""
        return "; ".join(self.sentences) or "the call as the version says"

    @property
    def credits(self) -> str:
        """The first of who is known to do that, as text."""
        more = len(self.known) - MAX_KNOWN
        return "; ".join([*self.known[:MAX_KNOWN], *[f"{more} more"] * (more > 0)])


@dataclass(frozen=True)
class ReportedCells:
    """Cells that are wrong, or not explained: their number, and the first of them."""

    count: int
    at: tuple[int, ...]
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
    blocks: Callable[[], Iterator[AnyArray]]  # yields the cells that are wrong, in order
    explanations: tuple[Named, ...]  # best first; not empty
    # an index that two of the first treat differently, in words; None if there is none
    apart: str | None = None
    suggestion: SuggestedCall | None = (
        None  # a call that tells the first apart, if it was asked for
    )
    # that differ from the output of the version; None if the shapes do, or none does
    wrong_cells: ReportedCells | None = None
    unexplained: ReportedCells | None = None  # by the first explanation; None if it explains all
    # cells whose index the version refuses; None if it refuses none
    refused: RefusedCells | None = None
    where: tuple[str, ...] = ()  # what the wrong cells have in common
    rows: tuple[MovedRow, ...] = ()  # the first wrong rows

    @property
    def best(self) -> Named:
        """The first explanation."""
        return self.explanations[0]

    @property
    def first(self) -> tuple[Named, ...]:
        """The first explanation and those that tie with it."""
        rank = self.best.explanation.rank
        return tuple(each for each in self.explanations if each.explanation.rank == rank)

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
    suggest: bool = False,
    progress: ProgressCallback | None = None,
    **attrs: Any,
) -> Diagnosis:
    """Find what explains an output, `wrong`, of a row, or of a command and one of its versions.

    Elements within `tolerance` are equal; `suggest` looks for a call that tells explanations that
    tie apart. InputError (``diagnosis``) says that no hypothesis gives
    an output of this shape.
    """
    row = row_of(op, version)
    ops.check_one_indexed(row)
    attrs = {name: value for name, value in attrs.items() if value is not None}
    policies: dict[str, Any] = {"negative": negative, "out_of_range": out_of_range}
    refusal = None
    try:
        call = ops.bind(row, *map(Operand.of, tensors), **policies, **attrs)
    except OperatorError as error:
        call, refusal = None, error
    ways: Any = {"negative": Negative(negative), "out_of_range": OutOfRange(out_of_range)}
    asked = Call(row, family_of(row.family), {}, {}, **ways)
    named = dict(zip([each.name for each in row.inputs], tensors, strict=True))
    output = ObservedOutput(wrong, tolerance or Tolerance())
    candidates = Candidates(row, attrs, call, named, output=output, policy=specified(asked))
    search = Search(candidates, output, progress)
    explanations = search.explanations()
    if not explanations:
        raise _no_shape(call, wrong, refusal)
    diagnosis = _diagnosis(search, wrong, refusal, explanations)
    if suggest and diagnosis.likely:
        tied = [each.explanation.hypothesis for each in diagnosis.first]
        suggested, none = suggestion(tied, candidates), "no call that was tried tells them apart"
        words = diagnosis.apart if suggested or len(tied) < 2 else none
        diagnosis = diagnosis._replace(suggestion=suggested, apart=words)
    return diagnosis


def _no_shape(call: Call | None, wrong: Tensor, refusal: OperatorError | None) -> InputError:
    """Return the error for an output whose shape nothing gives."""
    problem = f"no hypothesis gives an output of the shape of `wrong`, {wrong}"
    expected = None if call is None else str(call.shape)
    remark = ", or another by one or two mistakes"
    if refusal is not None:
        problem += f", and the version refuses the call: {refusal.statement}"
        expected, remark = refusal.expected, refusal.remark
    return InputError(problem, rule="diagnosis", value=str(wrong), expected=expected, remark=remark)


def _diagnosis(
    search: Search,
    wrong: Tensor,
    refusal: OperatorError | None,
    explanations: list[ScoredHypothesis],
) -> Diagnosis:
    candidates, base = search.candidates, search.base
    named = tuple(_named(each, candidates) for each in explanations)

    def cells(explanation: ScoredHypothesis) -> ReportedCells | None:
        score = explanation.score
        if score.is_whole:
            return None
        (at,) = map(int, search.wrong_cells(explanation.hypothesis, 1))
        held, predicted = search.both(explanation.hypothesis, at)
        where = coordinates(at, wrong.shape)
        return ReportedCells(score.total - score.explained, where, held, predicted)

    diagnosis = Diagnosis(
        candidates.row,
        candidates.call,
        refusal,
        candidates.tensors,
        wrong,
        lambda: iter(()) if base is None else search.wrong_blocks(base.hypothesis),
        named,
        wrong_cells=base and cells(base),
        unexplained=cells(explanations[0]),
    )
    if base and not base.score.is_whole:
        diagnosis = diagnosis._replace(where=(*where(search),), rows=(*moved_rows(search),))
    if base and base.score.refused:
        refused, legal = base.score.refused, base.score.total - base.score.refused
        right = base.score.explained
        diagnosis = diagnosis._replace(refused=RefusedCells(refused, legal, right))
    tied = [each.explanation.hypothesis for each in diagnosis.first]
    return diagnosis._replace(apart=apart(tied, candidates) if diagnosis.best.names else None)


def _named(explanation: ScoredHypothesis, candidates: Candidates) -> Named:
    h = explanation.hypothesis
    departing = [each for each in h.rows if each.name]
    fill = ""
    if h.treatment.fill != "zero":
        value = FILLS[h.treatment.fill](candidates.storage)
        fill = h.treatment.fill if value is None else str(np.asarray(value, candidates.storage))
    sentences = tuple(each.sentence.replace("{fill}", fill) for each in departing)
    if candidates.row.followed is not None:
        words = (each.replace("indices", "parents") for each in sentences)
        sentences = tuple(re.sub(r"\bindex\b", "parent", each) for each in words)
    return Named(h.names, sentences, explanation, _known(h, candidates))


def _known(h: Hypothesis, candidates: Candidates) -> tuple[str, ...]:
    """Return who is known to do all departures of a hypothesis; nobody if one has none."""
    dtype, rows = next(iter(candidates.tensors.values())).dtype, every_row(candidates.row.family)

    facts = [*(fact for each in every_framework() for fact in each.known), *_FACTS]
    conditions: dict[str, Callable[[FrameworkRow, Adaptation], bool]] = {
        "conversion": lambda _, how: how.index_bits == h.conversion.bits,
        "treatment": lambda row, _: (
            (row.op.negative, row.op.out_of_range.done) == h.treatment.fates
        ),
        "reading": lambda _, how: (
            dtype in how.narrow and how.narrow[dtype].name == h.reading.narrow
        ),
    }

    def names(table: str) -> list[str]:
        does = conditions.get(table)
        doing = [row.name for row in rows if does and does(row, row.op.adapts or Adaptation())]
        is_said = partial(_is_said, table, getattr(h, table).name, candidates)
        calling = _callers(h, candidates) if table == "frame" else ()
        return [*doing, *calling, *(fact["who"] for fact in facts if is_said(fact))]

    named = [names(table) for table, row in zip(h._fields, h.rows, strict=False) if row.name]
    first, *others = named or [[]]
    return tuple(name for name in dict.fromkeys(first) if all(name in each for each in others))


def _is_said(table: str, name: str, candidates: Candidates, fact: Mapping[str, Any]) -> bool:
    """Return whether a fact is of a row of a table, and of a call like that of the candidates."""
    row, (data, indices, *_) = candidates.row, candidates.tensors.values()
    is_short = len(data.shape) == 1 and max(product(data.shape), product(indices.shape)) <= SHORT
    return (
        fact.get(table) in (name, re.sub(r"\d+", "n", name))
        and f"{row.framework}.{row.name}"
        in fact.get("operators", f"{row.framework}.{row.name}").split()
        and data.dtype.name in fact.get("data", data.dtype.name).split()
        and indices.dtype.name in fact.get("indices", indices.dtype.name).split()
        and (is_short or not fact.get("short_list"))
        and not (fact.get("positive") and bool((indices.array < 0).any()))
    )


_FACTS: Final = table_beside(__name__)["known"]  # who makes a mistake, of those without a file
SHORT: Final = 64  # the most elements of a list that a fact calls short


def _callers(h: Hypothesis, candidates: Candidates) -> Sequence[str]:
    """Return who is known to call another operator, axis or batch_dims."""
    if candidates.row.family != h.frame.row.family:
        return ()
    call, attrs = candidates.call, h.frame.attrs
    asked = candidates.attrs if call is None else {"axis": call.axis, "batch_dims": call.batch_dims}
    ignores = attrs.get("axis") == 0 == asked.get("axis") and not attrs.get("batch_dims")
    if ignores and asked.get("batch_dims"):
        return ("TensorFlow 2.21, in tf.gather, which ignores batch_dims where axis is 0",)
    return ("numpy.take without axis",) if h.frame.flat else ()


# Reports

MAX_SHOWN: Final = 6  # the most explanations in a text
MAX_KNOWN: Final = 4  # the most who are known to make a mistake, in a text
MIN_SHOWN: Final = 3  # explanations in a text if the first does not explain all
MAX_IN_JSON: Final = 10  # the most explanations in JSON


def diagnosis_text(diagnosis: Diagnosis, width: int | None) -> Text:
    """Format what explains an output."""
    from rich.text import Text

    text = Text()
    if diagnosis.call is not None:
        text.append_text(title(diagnosis.call, width))
    else:
        text.append(f"{diagnosis.row.full_name}\n", "bold")
    inputs = [f"{name} {tensor}" for name, tensor in diagnosis.tensors.items()]
    text.append(hanging("", "   ".join([*inputs, f"wrong {diagnosis.wrong}"]), width))
    for line in _opening(diagnosis):
        text.append(hanging("", clean(line), width))
    if diagnosis.is_right:
        return text
    text.append("\n")
    if not diagnosis.likely:
        text.append(hanging("", "nothing known explains it", width))
        return text
    explanations = list(shown(diagnosis))
    heads = [share(each) for each in explanations]
    room = max(map(len, heads))
    for head, each in zip(heads, explanations, strict=True):
        text.append(hanging(f"{head:>{room}}  ", clean(each.sentence), width))
        if each.known:
            text.append(hanging(f"{'':>{room}}  known: ", clean(each.credits), width), "dim")
    text.append("\n")
    for line in _closing(diagnosis):
        text.append(hanging("", clean(line), width))
    return text


def _opening(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what is right and what is wrong."""
    data = next(iter(diagnosis.tensors.values()))
    if diagnosis.refusal is not None:
        yield f"the version refuses the call: {diagnosis.refusal.message}"
    elif diagnosis.is_right:
        yield f"right: all of {counted(diagnosis.best.explanation.score.total, 'cell')}"
    elif diagnosis.refused is not None:
        refused, legal, right = diagnosis.refused
        yield (
            f"the version refuses the indices of {counted(refused, 'cell')}; of "
            f"{counted(legal, 'other cell')} {counted(right, 'is right', 'are right')}"
        )
    elif diagnosis.wrong_cells is not None:
        of = f"of {counted(diagnosis.best.explanation.score.total, 'cell')}"
        yield (
            f"{counted(diagnosis.wrong_cells.count, f'{of} differs', f'{of} differ')}; "
            f"{_first(diagnosis.wrong_cells)}"
        )
    elif diagnosis.call is not None:
        yield sentence(f"the shape is {cell(diagnosis.wrong.shape)}", f"{diagnosis.call.shape}")
    if diagnosis.where:
        yield f"wrong: {'; '.join(diagnosis.where)}"
    for row in diagnosis.rows:
        if row.holds is not None:
            yield sentence(f"{row.out} is {row.holds}", row.expected)
    if data.dtype is not diagnosis.wrong.dtype:
        yield sentence(f"the type is {diagnosis.wrong.dtype}", f"{data.dtype}")


def _first(cells: ReportedCells) -> str:
    return sentence(f"the first is {cells.value} at {cell(cells.at)}", cells.expected)


def shown(diagnosis: Diagnosis) -> Iterator[Named]:
    """Yield the explanations of a text: the first, and the next where they do not explain all."""
    if diagnosis.is_whole:
        return islice(diagnosis.first, MAX_SHOWN)
    return islice(diagnosis.likely, max(MIN_SHOWN, min(MAX_SHOWN, len(diagnosis.first))))


def share(each: Named) -> str:
    """Return how many cells of all it explains: ``12 of 12``."""
    score = each.explanation.score
    return f"{grouped(score.explained)} of {grouped(score.total)}"


def _closing(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what ties, what is foreign and what is unexplained."""
    first, score = diagnosis.first, diagnosis.best.explanation.score
    if len(first) > 1:
        others = len(first) - MAX_SHOWN
        more = f" ({grouped(others)} more not shown)" if others > 0 else ""
        yield f"the first {grouped(len(first))} tie{more}: {diagnosis.apart}"
    if diagnosis.suggestion is not None:
        yield from diagnosis.suggestion.lines(each.sentence for each in first[:MAX_SHOWN])
    if diagnosis.unexplained is not None:
        number = diagnosis.unexplained.count
        yield (
            f"{counted(number, 'cell is', 'cells are')} not explained; "
            f"{_first(diagnosis.unexplained)}"
        )
    elif not diagnosis.is_whole:
        number = first[0].explanation.wrong or 0
        what = "" if number < 2 else " of two mistakes"
        yield f"only {counted(number, 'cell differs', 'cells differ')}, which proves nothing{what}"
    if score.foreign:
        yield (
            f"of them {counted(score.foreign, 'holds', 'hold')} foreign memory: the index points "
            "outside of all elements"
        )


@dataclass(frozen=True)
class LikelyCause:
    """What may have made the output."""

    names: tuple[str, ...]  # of each departure from the version; none for the right output
    sentence: str
    explained: int  # cells
    foreign: int  # cells that hold memory outside of the tensors
    total: int
    departures: int
    known: tuple[str, ...]  # who is known to do all that
    first: bool  # whether it is the best, or ties with it

    @classmethod
    def of(cls, each: Named, *, is_first: bool) -> LikelyCause:
        """Report on an explanation."""
        score, departures = each.explanation.score, each.explanation.hypothesis.departures
        counts = score.explained, score.foreign, score.total, departures
        return cls(each.names, each.sentence, *counts, each.known, is_first)


@dataclass(frozen=True, repr=False, eq=False)
class DiagnosisReport(Report):
    """What explains an output that is wrong."""

    spread = "attributes", "inputs"

    operator: str
    attributes: dict[str, int | None]
    inputs: dict[str, TensorType]
    wrong: TensorType
    verdict: str  # unexplained, right, named, in part
    refusal: str | None  # why the version refuses the call
    refused: RefusedCells | None
    differing: ReportedCells | None
    where: tuple[str, ...]  # what the wrong cells have in common
    rows: tuple[MovedRow, ...]  # the first wrong rows, and which of `data` they are
    unexplained: ReportedCells | None
    explanations: tuple[LikelyCause, ...]  # best first
    tied: int
    apart: str | None  # an index that tells those that tie apart
    suggestion: SuggestedCall | None  # a call that does, if it was asked for
    _diagnosis: Diagnosis

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> DiagnosisReport:
        """Report on a diagnosis."""
        likely = diagnosis.likely
        first = diagnosis.first if likely else ()
        return cls(
            diagnosis.row.full_name,
            {each.name: getattr(diagnosis.call, each.name, None) for each in diagnosis.row.attrs},
            {name: TensorType.of(tensor) for name, tensor in diagnosis.tensors.items()},
            TensorType.of(diagnosis.wrong),
            _verdict(diagnosis),
            None if diagnosis.refusal is None else diagnosis.refusal.message,
            diagnosis.refused,
            diagnosis.wrong_cells,
            diagnosis.where,
            diagnosis.rows,
            diagnosis.unexplained if likely else diagnosis.wrong_cells,
            tuple(LikelyCause.of(each, is_first=each in first) for each in likely[:MAX_IN_JSON]),
            len(first),
            diagnosis.apart if likely else None,
            diagnosis.suggestion,
            diagnosis,
        )

    def styled(self, width: int | None) -> Text:
        """Write what explains it, and who is known to do that."""
        return diagnosis_text(self._diagnosis, width)

    def draw(self, files: Sequence[Any], pictures: PictureOptions) -> None:
        """Write the picture of where the wrong cells are into open files."""
        array, blocks = self._diagnosis.wrong.array, self._diagnosis.blocks()
        lines = self.plain(PICTURE_WIDTH).splitlines()
        pictures.draw(files, array, blocks, lines, partial(self.styled, PICTURE_WIDTH))


def _verdict(diagnosis: Diagnosis) -> str:
    if not diagnosis.likely:
        return "unexplained"
    return "right" if diagnosis.is_right else "named" if diagnosis.is_whole else "in part"
