"""Format a translation: its text, how it was proved, and where it is not exact."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gathercli.cli.additions import Absence
from gathercli.report.header import title
from gathercli.report.versions import aligned
from gathercli.text import clean, counted, grouped
from gathercli.translate.proof import ProofOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from gathercli.translate.proof import Proof
    from gathercli.translate.running import RuntimeProof
    from gathercli.translate.translation import Translation


class TranslationReport(NamedTuple):
    """A translation with its proof."""

    translation: Translation
    proof: Proof
    runtimes: Sequence[RuntimeProof]  # what runtimes did with it
    absences: Sequence[Absence]  # those that cannot be called
    known: Sequence[str]  # what the runtime of the target does wrong, if none was called
    paths: Sequence[str]  # the files that were written

    @property
    def notes(self) -> list[str]:
        """Where the translation, or its runtime, is not exact, and what its text lacks."""
        (main, _), *others = self.translation.files.items()
        lacking = [
            f"its constants are in a {suffix} file, which `-o NAME{main}` writes beside it"
            for suffix, content in others
            if content and not self.paths
        ]
        return [*self.translation.program.notes, *self.known, *lacking]


def translation_text(report: TranslationReport, width: int | None) -> Text:
    """Format a translation: its text unless it was written, then the proof and the notes."""
    from rich.text import Text

    translation = report.translation
    # A user chose some of the names in the text.
    lines = [] if report.paths else [*translation.text.splitlines(), ""]
    text = Text("".join(f"{clean(line)}\n" for line in lines))
    text.append_text(title(translation.call, width))
    text.append(aligned(_pairs(report), width))
    for heading in ("proof", "note"):
        text.highlight_regex(rf"(?m)^  {heading}(?=  )", "bold")
    return text


def _pairs(report: TranslationReport) -> Iterator[tuple[str, str]]:
    """Yield the lines below the call, each with its heading."""
    translation = report.translation
    sizes = "for tensors of any size" if translation.any_size else "for tensors of these sizes"
    yield "in", f"{translation.target.title}: {translation.size}, {sizes}"
    yield "proof", proof_text(report.proof)
    for line in runtime_lines(report):
        yield "", line
    for note in report.notes:
        yield "note", note


def proof_text(proof: Proof) -> str:
    """Describe what our own evaluation showed.

    ``equal on the given tensors and on 100 made ones (7 of these both refuse)``
    """
    given, made = proof.outcomes[0], proof.outcomes[1:]
    what = {
        ProofOutcome.EQUAL: "equal on the given tensors",
        ProofOutcome.BOTH_REFUSE: "refuses the given tensors, as the version does,",
        ProofOutcome.OPEN: "may give anything for the given tensors, which the version refuses,",
        ProofOutcome.GIVES: "gives values for the given tensors, which the version refuses,",
    }[given]
    equal = "and" if given is ProofOutcome.EQUAL else "and equal"
    parts = [f"{what} {equal} on {counted(made.count(ProofOutcome.EQUAL), 'made one')}"]
    if number := made.count(ProofOutcome.BOTH_REFUSE):
        parts.append(f"both refuse {number} more")
    if number := made.count(ProofOutcome.OPEN):
        parts.append(f"{grouped(number)} more may give anything where the version refuses")
    if number := made.count(ProofOutcome.GIVES):
        values = counted(number, "more gives values", "more give values")
        parts.append(f"{values} where the version refuses")
    return ", ".join(parts) + ", by our evaluation"


def runtime_lines(report: TranslationReport) -> list[str]:
    """Describe what each runtime showed, or why it cannot be called."""
    absences = (f"{each.runtime} {each.why}" for each in report.absences)
    return [*map(runtime_text, report.runtimes), *absences]


def runtime_text(each: RuntimeProof) -> str:
    """Describe what a runtime showed."""
    total = sum(each.outcomes.values())
    name = f"{each.runtime} {each.version}"
    if each.agreeing == total:
        return clean(f"{name} agrees on {'all ' * (total > 1)}{counted(total, 'call')}")
    parts = [f"{name} agrees on {each.agreeing} of {counted(total, 'call')}"]
    parts += [f"{what}: {counted(count, 'call')}" for what, count in each.known.items()]
    if each.first is not None:
        number, what = each.first
        rest = total - each.agreeing - sum(each.known.values())
        where = "the given tensors" if number == 0 else f"made call {number}"
        differ = counted(rest, "other differs", "others differ")
        parts.append(f"{differ}, first {where}: {what}")
    return clean("; ".join(parts))


def translation_json(report: TranslationReport) -> str:
    """Return a translation as a line of JSON."""
    translation, proof = report.translation, report.proof
    fields: dict[str, Any] = {
        "operator": translation.call.op.full_name,
        "target": translation.target.name,
        "size": translation.size,
        "any_size": translation.any_size,
        "text": translation.text,
        "files": list(report.paths),
        "proof": {
            "given": proof.outcomes[0].value,
            "made": len(proof.outcomes) - 1,
            **{each.value: proof.outcomes[1:].count(each) for each in ProofOutcome},
        },
        "runtimes": [
            {
                "runtime": each.runtime,
                "version": each.version,
                "outcomes": dict(each.outcomes),
                "known": dict(each.known),
                "first": each.first and {"call": each.first[0], "message": each.first[1]},
            }
            for each in report.runtimes
        ]
        + list(map(Absence.json, report.absences)),
        "notes": report.notes,
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
