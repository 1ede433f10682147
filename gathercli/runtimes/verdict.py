"""The verdict on a runtime: which group of versions it agrees with, or where it differs.

A verdict is formatted as a line of a table and as JSON.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from gathercli.cli.slice_options import Absence, Addition, StartedRuntimes, absence_notes
from gathercli.compute.compare import Comparison, are_equal, compared, difference_at
from gathercli.compute.run import run
from gathercli.compute.tensor import Tensor
from gathercli.compute.verdicts import Case, illegal, number_illegal
from gathercli.errors import LimitError, OperatorError
from gathercli.io.formats.encode import json_text
from gathercli.ops import bind, rule_name
from gathercli.report.terminal import ERROR_STYLE, highlighted
from gathercli.report.versions import columns
from gathercli.runtimes.calls import RuntimeCall, attributes_of, calls, integers
from gathercli.runtimes.client import RuntimeProcess
from gathercli.runtimes.declared import Mistake, known_mistake, mistakes_of
from gathercli.spec.call import Call, Operand
from gathercli.spec.op import INTEGERS, Op, OutOfRange
from gathercli.spec.shapes import Shape, cell, coordinates
from gathercli.text import clean, listed, table_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.cli.slice_options import Observation, Reason, Runtime
    from gathercli.spec.dtypes import DType

_TYPES: Final = frozenset({"data-dtype", "indices-dtype"})  # the rules on element types


class RuntimeOutcome(Enum):
    """What a runtime did, compared with the version, or all of an operator; the worst first."""

    DIES = "dies"
    HANGS = "hangs"
    UNSTEADY = "unsteady"
    DIFFERS = "differs"
    VALUES = "values"  # it gives values where the version refuses
    REFUSES = "refuses"  # it refuses what the version takes, by a rule of its own
    # It refuses for a reason that is no rule's, or another's than the version's.
    UNSUPPORTED = "unsupported"
    AGREES = "agrees"


class Expected:
    """What the versions of a comparison make of its inputs."""

    def __init__(self, comparison: Comparison, case: Case) -> None:
        self._case, self._outputs = case, dict[str, Tensor]()
        self._bound = {each.letter: each.bound for each in comparison.group_calls}
        self._verdicts = {each.op: each for each in comparison.verdicts}
        # The group of equal outputs of each version, None if it refuses; a version whose result is
        # larger than a limit of ours is left out.
        self.letters = {
            each.op: letter
            for each, letter in zip(comparison.verdicts, comparison.letters, strict=True)
            if not isinstance(each.error, LimitError)
        }

    def of_row(self, call: RuntimeCall, attrs: Mapping[str, int]) -> Expected:
        """Return what the row of a call makes of the same inputs."""
        tensors, own = self._case.tensors, dict[str, Any](attributes_of(call.row, attrs))
        case = Case(lambda row: bind(row, *map(Operand.of, tensors), **own), *tensors)
        return Expected(compared([call.row], case, named={call.row}), case)

    def gives(self, letter: str, result: Tensor) -> bool:
        """Return whether a group has an output with these elements."""
        return self.shape_of(letter) == result.shape and are_equal(result, self.output(letter))

    def type_of(self, letter: str) -> DType:
        """Return the type of the output of a group."""
        return self._bound[letter].data.dtype

    def shape_of(self, letter: str) -> tuple[int, ...]:
        """Return the shape of the output of a group."""
        return self._bound[letter].shape

    def output(self, letter: str) -> Tensor:
        """Return the output of a group, of a size that was checked."""
        if letter not in self._outputs:
            self._outputs[letter] = run(self._bound[letter], threads=self._case.threads).whole()
        return self._outputs[letter]

    def rule(self, op: Op) -> str:
        """Return the rule by which a version refuses the call; empty if it does not."""
        return getattr(self._verdicts[op].error, "rule", "")

    def tensors(self, op: Op) -> dict[str, Tensor]:
        """Return the tensors by their names in a version."""
        return dict(zip((each.name for each in op.inputs), self._case.tensors, strict=True))

    def groups(self, ops: Iterable[Op]) -> list[str]:
        """Return the groups of versions, each once."""
        letters = dict.fromkeys(self.letters[op] for op in ops if op in self.letters)
        return [letter for letter in letters if letter is not None]

    def refuses(self, op: Op, reason: Reason) -> bool:
        """Return whether a version refuses the call for a reason: by any rule that it breaks."""
        verdict, case = self._verdicts[op], self._case
        error = verdict.error
        if isinstance(error, OperatorError) and error.refused is not None:
            return _breaks(error.refused, case, reason)
        if error is None or error.rule not in reason.rules:
            return False
        if verdict.call is None or not verdict.refuses_index:
            return True
        return _may_mean(verdict.call, case, reason)


def _breaks(call: Call, case: Case, reason: Reason) -> bool:
    broken = set(_broken_rules(call))
    if broken.intersection(reason.rules):
        return True
    # Where types alone are refused, the indices lie inside or outside the axes nevertheless.
    has_indices = call.indices.dtype in INTEGERS and not call.op.followed
    if "index-range" not in reason.rules or not broken <= _TYPES or not has_indices:
        return False
    refuses = call.outside is OutOfRange.ERROR and number_illegal(call, case) > 0
    return refuses and _may_mean(call, case, reason)


def _broken_rules(call: Call) -> Iterator[str]:
    """Yield the name of each rule that a refused call breaks.

    A rule that takes for granted what an earlier one refuses is left out.
    """
    for rule in call.family.RULES:
        try:
            rule(call)
        except OperatorError:
            yield rule_name(rule)
        except (AttributeError, IndexError, TypeError, ValueError):
            continue


def _may_mean(call: Call, case: Case, reason: Reason) -> bool:
    """Return whether an index that a call refuses is the one that a runtime does."""
    if reason.indices:
        refused = OutOfRange.ERROR.done
        return any(
            each.does == refused and each.value in reason.indices for each in illegal(call, case)
        )
    # Without a name, it may be an index that the version takes and the runtime does not.
    return reason.takes_negative or not (call.wraps_negative and _wraps(call, case))


def _wraps(call: Call, case: Case) -> bool:
    """Return whether an index is on the axis once the size is added."""
    return any(
        each.wrapped.number
        for name, axes in call.indexed.items()
        for each in case.counts(call.op, name, axes)
    )


class RuntimeVerdict(NamedTuple):
    """The verdict on a call in a runtime."""

    call: RuntimeCall
    outcome: RuntimeOutcome
    version: str | None = None  # of the runtime
    letter: str | None = None  # the group whose output it equals; None if there is none
    result: Tensor | None = None  # None if there is none
    # the group that it differs from; None if it refuses, or no version gives values
    reference: str | None = None
    at: tuple[int, ...] | None = None  # the first cell that differs; None if the shapes do
    # there, in the runtime and in the group, or each value once of runs that differ
    values: tuple[Tensor, ...] | None = None
    dtype: str | None = None  # that the output should have, if it has another
    message: str = ""  # what it said, or how it ended
    departs: bool = False  # whether it does otherwise than its row says
    known: Mistake | None = None  # what it is known to do otherwise

    @property
    def row_word(self) -> str:
        """Whether the runtime does as the row of the call says."""
        return ("known" if self.known else "departs") if self.departs else "agrees"

    @property
    def disagrees(self) -> bool:
        """Whether the runtime does something else than the version, or than any version."""
        return self.outcome is not RuntimeOutcome.AGREES


class Runtimes(StartedRuntimes):
    """Processes of runtimes, with `seconds` for each call; a context that ends them."""

    def __init__(self, runtimes: Iterable[Runtime], seconds: float) -> None:
        self._processes = [RuntimeProcess(each, seconds) for each in runtimes]

    @property
    def absences(self) -> list[Absence]:
        """Why runtimes cannot be called; none for those that can."""
        return [each for each in (process.absence() for process in self._processes) if each]

    @property
    def present(self) -> list[RuntimeProcess]:
        """The processes of those that can be called."""
        return [each for each in self._processes if each.absence() is None]

    def __enter__(self) -> Self:
        for each in self._processes:  # imports take seconds, and more than one core
            each.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for each in self._processes:
            each.close(patience=0 if kind else 1)

    def verdicts(
        self,
        ops: Sequence[Op],
        tensors: Sequence[Tensor],
        attrs: Mapping[str, Any],
        expected: Expected,
    ) -> Iterator[RuntimeVerdict]:
        """Yield the verdict on every call of every runtime that corresponds to one of `ops`.

        The tensors are in the order of the versions, the attributes as the user wrote them.
        """
        numbers = integers(attrs)
        ops = [op for op in ops if op in expected.letters]
        if numbers is None or not ops:
            return
        named = {each.name: tensor for each, tensor in zip(ops[0].inputs, tensors, strict=True)}
        for process in self.present:
            for call in calls(process.runtime.name, ops, named, numbers):
                seen = call.run(process, named, numbers)
                if seen.problem == "absent":  # it was there, but could not be restarted
                    break
                yield beside_row(judge(call, seen, expected), seen, expected, numbers)


def beside_row(
    verdict: RuntimeVerdict, seen: Observation, expected: Expected, attrs: Mapping[str, int]
) -> RuntimeVerdict:
    """Add whether a runtime does as the row of a call says; both may refuse for other reasons."""
    call, own = verdict.call, expected.of_row(verdict.call, attrs)
    rule = own.rule(call.row)
    outcome = judge(call, seen, own).outcome
    if outcome is RuntimeOutcome.AGREES or (rule and seen.problem == "refuses"):
        return verdict
    known = known_mistake(
        mistakes_of(call.row.framework, call.runtime),
        expected.tensors(call.row),
        seen.tensor,
        **{"axis": None, "batch_dims": 0, **attributes_of(call.row, attrs)},
        row=call.row.name,
        way=call.way,
        refused=rule,
        problem=seen.problem or "",
    )
    return verdict._replace(departs=True, known=known)


def judge(call: RuntimeCall, seen: Observation, expected: Expected) -> RuntimeVerdict:
    """Compare what a runtime did with what the versions do, or its own rows without any."""
    every = [op for op in expected.letters if op.family == call.row.family]
    own = [op for op in every if not op.text]
    own = own or [op for op in every if op.framework == call.row.framework] or every
    if call.op is not None:
        own = [call.op]
    groups = expected.groups(own)
    verdict = RuntimeVerdict(call, RuntimeOutcome.REFUSES, seen.version, message=seen.message)
    if seen.tensor is None:
        outcome = RuntimeOutcome(seen.problem)
        if outcome is RuntimeOutcome.REFUSES:
            outcome = _refusal(call, seen.reason, own, expected)
        return verdict._replace(outcome=outcome)
    result = seen.tensor
    letters = sorted(expected.groups(expected.letters))
    letter = next((each for each in letters if expected.gives(each, result)), None)
    if seen.problem is not None:
        verdict = verdict._replace(outcome=RuntimeOutcome(seen.problem), result=result)
        return _unsteady(verdict, result, seen.others)
    verdict = verdict._replace(result=result, letter=letter)
    if letter in groups:
        wanted = expected.type_of(letter)
        if wanted is result.dtype:
            return verdict._replace(outcome=RuntimeOutcome.AGREES)
        return verdict._replace(outcome=RuntimeOutcome.DIFFERS, reference=letter, dtype=wanted.name)
    if not groups:
        return verdict._replace(outcome=RuntimeOutcome.VALUES)
    reference = next(
        (each for each in groups if expected.shape_of(each) == result.shape), groups[0]
    )
    return _differing(verdict, result, reference, expected)


def _refusal(
    call: RuntimeCall, reason: Reason | None, own: Sequence[Op], expected: Expected
) -> RuntimeOutcome:
    """Return what a refusal is: of versions that refuse too, one must do so for the same reason."""
    if reason is None or call.masks:
        return RuntimeOutcome.UNSUPPORTED
    if expected.groups(own):
        return RuntimeOutcome.REFUSES
    agrees = any(expected.refuses(op, reason) for op in own)
    return RuntimeOutcome.AGREES if agrees else RuntimeOutcome.UNSUPPORTED


def _unsteady(verdict: RuntimeVerdict, result: Tensor, others: Sequence[Tensor]) -> RuntimeVerdict:
    """Add the first cell that differs from run to run, and its values."""
    if any(each.shape != result.shape for each in others):
        return verdict
    found = [difference_at(result, each) for each in others]
    first = min((at for at in found if at is not None), default=None)
    if first is None:  # the bits of NaN differ
        return verdict
    cells = [_cell(each, first) for each in (result, *others)]
    values = {each.array.tobytes(): each for each in cells}
    return verdict._replace(at=coordinates(first, result.shape), values=tuple(values.values()))


def _differing(
    verdict: RuntimeVerdict, result: Tensor, reference: str, expected: Expected
) -> RuntimeVerdict:
    wanted = expected.type_of(reference)
    dtype = None if wanted is result.dtype else wanted.name
    verdict = verdict._replace(outcome=RuntimeOutcome.DIFFERS, reference=reference, dtype=dtype)
    if expected.shape_of(reference) != result.shape:
        return verdict
    output = expected.output(reference)
    first = difference_at(result, output)
    values = _cell(result, first or 0), _cell(output, first or 0)
    return verdict._replace(at=coordinates(first or 0, result.shape), values=values)


def _cell(tensor: Tensor, position: int) -> Tensor:
    return Tensor(tensor.dtype, np.array(tensor.array.reshape(-1)[position]))


# Words

MAX_SHOWN_ELEMENTS: Final = 8  # the most elements of a result that is shown whole

RUNTIME_HEADINGS: Final = ("runtime", "call", "shape", "group", "its row", "outcome")

_OUTCOME_STYLES: Final = (
    (r"(?m)^runtime .*", "bold"),
    (r"(?<=  )agrees\b", "green"),
    (r"(?<=  )(differs|gives)\b", "yellow"),
    (r"(?<=  )(dies|does not take the call|refuses|unsteady)\b", ERROR_STYLE),
)


def addition(
    verdicts: Sequence[RuntimeVerdict],
    absences: Sequence[Absence],
    idle: Iterable[str],
    *,
    allow_absent: bool,
) -> Addition:
    """Return what calls in runtimes add to an answer; `idle` runtimes had no call."""
    rows = [RUNTIME_HEADINGS, *map(runtime_words, verdicts)]
    rows += [(each.runtime, "-", "", "-", "-", each.why) for each in absences]
    rows += [(clean(name), "-", "", "-", "-", "has no call of these versions") for name in idle]

    def text(width: int | None) -> Text:
        return highlighted("\n" + columns(rows, width), _OUTCOME_STYLES)

    fields = [*map(runtime_json, verdicts), *map(Absence.json, absences)]
    notes = tuple(absence_notes(absences, allowed=allow_absent))
    return Addition(
        {"runtimes": fields}, rows, text, notes, int(bool(absences) and not allow_absent)
    )


def runtime_words(each: RuntimeVerdict) -> tuple[str, ...]:
    """Return the words of a call in a runtime in a table with `RUNTIME_HEADINGS`."""
    runtime = " ".join(filter(None, (each.call.runtime, each.version)))
    shape = "" if each.result is None else str(Shape(each.result.shape))
    said = outcome_text(each)
    if each.known is not None:
        said += f"; known of {each.known.release}: {each.known.what}"
    # Values that no version gives are of no group.
    group = each.letter or ("-" if each.result is None else "none")
    return tuple(map(clean, (runtime, each.call.text, shape, group, each.row_word, said)))


def outcome_text(each: RuntimeVerdict, reference: str | None = None) -> str:
    """Describe what a runtime did, in a line.

    `reference` names the version if the call was compared with it alone, not with every version.
    """
    what = _what(each, reference)
    if each.dtype is not None and each.result is not None:
        what += f", as {each.result.dtype} in place of {each.dtype}"
    return what


OUTCOME_WORDS: Final = table_beside(__name__)  # by the values of `RuntimeOutcome`


def _what(each: RuntimeVerdict, reference: str | None) -> str:
    owner = "every version" if each.call.op is None and reference is None else "the version"
    reference = reference or each.reference
    text: str | None = OUTCOME_WORDS[each.outcome.value].get("text")
    if each.outcome is RuntimeOutcome.UNSTEADY and each.at is not None:
        values = listed(map(json_text, each.values or ()), "and")
        return f"{text} at {cell(each.at)}: {values}"
    if text is not None:
        return text.format(message=each.message, result=_shown(each.result), owner=owner)
    if each.outcome is RuntimeOutcome.AGREES:
        refusal = f"refuses, as {owner} does: {each.message}"
        return refusal if each.result is None else "agrees"
    if each.reference == each.letter:
        return "agrees in values"
    if each.values is None or each.at is None:
        return f"differs from {reference} in shape"
    one, other = (json_text(value) for value in each.values)
    return f"differs from {reference} at {cell(each.at)}: {one} and {other}"


def _shown(result: Tensor | None) -> str:
    if result is None or result.array.size > MAX_SHOWN_ELEMENTS:
        return "values"
    return json_text(result)


def runtime_json(each: RuntimeVerdict, reference: str | None = None) -> dict[str, Any]:
    """Return a verdict as fields of an object; `reference` as in `outcome_text`."""
    values = each.values and [json.loads(json_text(value, "quoted")) for value in each.values]
    return {
        "runtime": each.call.runtime,
        "version": each.version,
        "call": each.call.text,
        "operator": each.call.op and each.call.op.full_name,
        "way": each.call.way or None,
        "row": each.call.row.full_name,
        "as_row": each.row_word,
        "known": each.known and each.known.what,
        "outcome": each.outcome.value,
        "group": each.letter,
        "shape": None if each.result is None else list(each.result.shape),
        "dtype": None if each.result is None else each.result.dtype.name,
        "differs_from": each.reference,
        "at": each.at,
        "values": values,
        "message": outcome_text(each, reference),
    }
