"""The proof of a translation: what it computes on the given tensors and on made ones."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.compute.array_run import run
from gathercli.compute.bound import BoundCall
from gathercli.compute.compare import are_equal
from gathercli.errors import GatherError, OperatorError
from gathercli.translate.made import MadeCall, made_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gathercli.compute.tensor import Tensor
    from gathercli.translate.translation import Translation

MADE: Final = 100
"""The number of made calls."""


class ProofOutcome(Enum):
    """What a translation does on a call, beside what the version does."""

    EQUAL = "equal"
    BOTH_REFUSE = "both refuse"
    GIVES = "gives values where the version refuses"
    OPEN = "may give anything where the version refuses"
    REFUSES = "refuses where the version gives values"
    DIFFERS = "differs"


class ProvenCall(NamedTuple):
    """A call and what the version says of it: its output, or None and the rule that refuses."""

    tensors: Mapping[str, Tensor]
    expected: Tensor | None
    rule: str | None = None

    def gives(self, result: Tensor) -> bool:
        """Return whether the version gives this output, of the same type."""
        wanted = self.expected
        return wanted is not None and wanted.dtype is result.dtype and are_equal(result, wanted)


class Proof(NamedTuple):
    """The outcomes by number, the first call being the given one."""

    outcomes: tuple[ProofOutcome, ...]

    def count(self, outcome: ProofOutcome) -> int:
        """Return the number of calls with an outcome."""
        return self.outcomes.count(outcome)


def calls_of(
    translation: Translation,
    given: BoundCall,
    count: int = MADE,
    *,
    seed: int = 0,
    bits: int = 64,
) -> Iterator[ProvenCall]:
    """Yield the given call, and made ones: of other sizes if the translation serves these."""
    yield _proven(MadeCall(given.call, given.loaded()))
    resizes = translation.any_size
    for made in made_calls(given.call, count, resizes=resizes, seed=seed, bits=bits):
        yield _proven(made)


def _proven(made: MadeCall) -> ProvenCall:
    try:
        expected = run(BoundCall(made.call, *made.tensors.values())).whole()
    except OperatorError as error:
        return ProvenCall(made.tensors, None, error.rule)
    return ProvenCall(made.tensors, expected)


def prove(translation: Translation, calls: Iterable[ProvenCall]) -> Proof:
    """Evaluate a translation on calls.

    Raises
    ------
    GatherError
        ``bug``: it is not exact, and no note says so.
    """
    outcomes = tuple(outcome_of(each, translation.evaluate) for each in calls)
    if not translation.program.refuses:  # what our evaluation refuses, the target may not
        open_ = {ProofOutcome.BOTH_REFUSE: ProofOutcome.OPEN}
        outcomes = tuple(open_.get(each, each) for each in outcomes)
    allowed = {ProofOutcome.EQUAL, ProofOutcome.BOTH_REFUSE, ProofOutcome.OPEN}
    if translation.program.notes:
        allowed.add(ProofOutcome.GIVES)
    for number, each in enumerate(outcomes):
        if each not in allowed:
            call = translation.call
            raise GatherError(
                f"a bug in gathercli: the translation of {call.op} to {translation.target.name} "
                f"{each.value} on call {number}",
                rule="bug",
                hint="please report it with the command line",
            )
    return Proof(outcomes)


def outcome_of(
    each: ProvenCall, evaluate: Callable[[Mapping[str, Tensor]], Tensor]
) -> ProofOutcome:
    """Compare a translation with the version on a call."""
    try:
        result = evaluate(each.tensors)
    except OperatorError:
        refuses = each.expected is None
        return ProofOutcome.BOTH_REFUSE if refuses else ProofOutcome.REFUSES
    if each.expected is None:
        return ProofOutcome.GIVES
    return ProofOutcome.EQUAL if each.gives(result) else ProofOutcome.DIFFERS
