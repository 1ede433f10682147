"""A translation in a runtime: the same calls as in its proof, in a process of the runtime."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.translate.code import function_name
from gathercli.translate.known import known_mistake
from gathercli.translate.proof import ProofOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.cli.runtimes import Observation, RuntimeCaller
    from gathercli.compute.tensor import Tensor
    from gathercli.translate.proof import ProvenCall
    from gathercli.translate.translation import Translation

THREADS: Final = 2
"""The threads of a model: with more than one, OpenVINO loses no exception."""

MOST_ENDS: Final = 3
"""After so many deaths, or calls without an answer, a runtime is called no more."""

NAME: Final = "translation"
"""The stem of the files that a runtime reads."""


class RuntimeProof(NamedTuple):
    """What a runtime did on calls.

    Attributes
    ----------
    runtime, version
        The runtime, and its version.
    outcomes
        The number of calls by outcome: those of `ProofOutcome`, ``dies``, ``hangs``,
        ``unsteady`` or ``unsupported``.
    known
        What it is known to do wrong, with the number of calls that differ by it.
    first
        The number of the first other call that differs, and what the runtime did with it, for
        people; None if there is none.
    """

    runtime: str
    version: str
    outcomes: Mapping[str, int]
    known: Mapping[str, int]
    first: tuple[int, str] | None

    @property
    def agreeing(self) -> int:
        """The number of calls on which the runtime agrees with the version."""
        return sum(self.outcomes.get(each.value, 0) for each in _AGREES)


_AGREES: Final = (ProofOutcome.EQUAL, ProofOutcome.BOTH_REFUSE)


def run_in(
    process: RuntimeCaller, translation: Translation, calls: Sequence[ProvenCall]
) -> RuntimeProof:
    """Make the calls of a proof in a runtime that can be called."""
    counts: Counter[str] = Counter()
    known: Counter[str] = Counter()
    first, version, ends = None, "", 0
    for number, each in enumerate(calls):
        seen = observe(translation, each.tensors, process)
        if seen.problem == "absent":  # it was there, but could not be restarted
            break
        outcome = judged(each, seen)
        counts[outcome] += 1
        version = seen.version or version
        if outcome not in _AGREED:
            mistake = known_mistake(process.runtime.name, translation, each)
            if mistake:
                known[mistake] += 1
            elif first is None:
                first = number, _described(outcome, seen)
        ends += outcome in ("dies", "hangs")
        if ends >= MOST_ENDS:
            break
    return RuntimeProof(process.runtime.name, version, counts, known, first)


_AGREED: Final = tuple(each.value for each in _AGREES)


def observe(
    translation: Translation, tensors: Mapping[str, Tensor], process: RuntimeCaller
) -> Observation:
    """Run the files of a translation on tensors."""
    files = {f"{NAME}{suffix}": content for suffix, content in translation.files.items()}
    arguments = ", ".join(tensors)
    code = f"{function_name(translation.call)}({arguments})" if ".py" in translation.files else ""
    return process.call(tensors, code=code, model=files, threads=THREADS)


def judged(each: ProvenCall, seen: Observation) -> str:
    """Return what a runtime did, beside what the version does."""
    if seen.problem is not None and seen.problem != "refuses":
        return seen.problem
    if seen.tensor is None:
        return _refusal(each, seen)
    if each.expected is None:
        return ProofOutcome.GIVES.value
    is_equal = each.gives(seen.tensor)
    return str((ProofOutcome.EQUAL if is_equal else ProofOutcome.DIFFERS).value)


def _refusal(each: ProvenCall, seen: Observation) -> str:
    """Return what a refusal is; an index may have another value in the translation."""
    if seen.reason is None:
        return "unsupported"
    agrees = each.rule in seen.reason.rules
    return str((ProofOutcome.BOTH_REFUSE if agrees else ProofOutcome.REFUSES).value)


def _described(outcome: str, seen: Observation) -> str:
    return f"{outcome}: {seen.message}" if seen.message else outcome
