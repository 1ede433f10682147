"""Format verdicts on runtimes as text and as JSON, and the report of a reproduction as Markdown."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli.additions import Absence, Addition, absence_notes
from gathercli.io.formats.encode import TextOptions, plain_json
from gathercli.report.header import header
from gathercli.report.verdicts import columns, outcome
from gathercli.runtimes.client import FILLING, RUNTIME_PACKAGES
from gathercli.runtimes.refusals import shortened
from gathercli.runtimes.script import SCRIPT
from gathercli.runtimes.verdict import RuntimeOutcome
from gathercli.spec.shapes import Shape, cell
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Verdict
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.runtimes.client import ScriptRun, Versions
    from gathercli.runtimes.verdict import RuntimeVerdict


MAX_SHOWN_ELEMENTS: Final = 8
"""The most elements of a result that is shown whole."""


RUNTIME_HEADINGS: Final = ("runtime", "call", "shape", "group", "outcome")

_OUTCOME_STYLES: Final = (
    (r"(?m)^runtime .*", "bold"),
    (r"(?<=  )agrees\b", "green"),
    (r"(?<=  )(differs|gives)\b", "yellow"),
    (r"(?<=  )(dies|does not take the call|refuses|unsteady)\b", "red"),
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
    rows += [(each.runtime, "-", "", "-", each.why) for each in absences]
    rows += [(clean(name), "-", "", "-", "has no call of these versions") for name in idle]

    def text(width: int | None) -> Text:
        from rich.text import Text

        text = Text("\n" + columns(rows, width))
        for pattern, style in _OUTCOME_STYLES:
            text.highlight_regex(pattern, style)
        return text

    fields = [*map(runtime_json, verdicts), *map(Absence.json, absences)]
    notes = tuple(absence_notes(absences, allowed=allow_absent))
    return Addition(
        {"runtimes": fields}, rows, text, notes, int(bool(absences) and not allow_absent)
    )


def runtime_words(each: RuntimeVerdict) -> tuple[str, ...]:
    """Return the words of a call in a runtime in a table with `RUNTIME_HEADINGS`."""
    runtime = " ".join(filter(None, (each.call.runtime, each.version)))
    shape = "" if each.result is None else str(Shape(each.result.shape))
    words = (runtime, each.call.text, shape, each.letter or _no_group(each), outcome_text(each))
    return tuple(map(clean, words))


def _no_group(each: RuntimeVerdict) -> str:
    """Return the word for no group: `none` for values, which no version gives, else a dash."""
    return "-" if each.result is None else "none"


def outcome_text(each: RuntimeVerdict, reference: str | None = None) -> str:
    """Describe what a runtime did, in a line.

    `reference` names the version if the call was compared with it alone, not with every version.
    """
    what = _what(each, reference)
    if each.dtype is not None and each.result is not None:
        what += f", as {each.result.dtype} in place of {each.dtype}"
    return what


_OUTCOME_TEXTS: Final = {
    RuntimeOutcome.HANGS: "hangs: {message}",
    RuntimeOutcome.DIES: "dies {message}",
    RuntimeOutcome.UNSTEADY: "unsteady: three runs differ",
    RuntimeOutcome.REFUSES: "refuses: {message}",
    RuntimeOutcome.UNSUPPORTED: "does not take the call: {message}",
    RuntimeOutcome.VALUES: "gives {result}, where {owner} refuses",
}
"""The outcomes without a group."""


def _what(each: RuntimeVerdict, reference: str | None) -> str:
    owner = "every version" if each.call.op is None and reference is None else "the version"
    reference = reference or each.reference
    if each.outcome is RuntimeOutcome.UNSTEADY and each.at is not None:
        values = listed(map(plain, each.values or ()), "and")
        return f"{_OUTCOME_TEXTS[each.outcome]} at {cell(each.at)}: {values}"
    if each.outcome in _OUTCOME_TEXTS:
        result = _shown(each.result)
        return _OUTCOME_TEXTS[each.outcome].format(message=each.message, result=result, owner=owner)
    if each.outcome is RuntimeOutcome.AGREES:
        refusal = f"refuses, as {owner} does: {each.message}"
        return refusal if each.result is None else "agrees"
    if each.reference == each.letter:
        return "agrees in values"
    if each.values is None or each.at is None:
        return f"differs from {reference} in shape"
    one, other = (plain(value) for value in each.values)
    return f"differs from {reference} at {cell(each.at)}: {one} and {other}"


def _shown(result: Tensor | None) -> str:
    return "values" if result is None or result.array.size > MAX_SHOWN_ELEMENTS else plain(result)


def plain(tensor: Tensor, nonfinite: str = "bare") -> str:
    """Return a tensor as JSON on a line."""
    return b"".join(plain_json([("value", tensor)], TextOptions(nonfinite))).decode().rstrip("\n")


def runtime_json(each: RuntimeVerdict, reference: str | None = None) -> dict[str, Any]:
    """Return a verdict as fields of an object; `reference` as in `outcome_text`."""
    values = each.values and [json.loads(plain(value, "quoted")) for value in each.values]
    return {
        "runtime": each.call.runtime,
        "version": each.version,
        "call": each.call.text,
        "operator": each.call.op and each.call.op.full_name,
        "way": each.call.way or None,
        "outcome": each.outcome.value,
        "group": each.letter,
        "shape": None if each.result is None else list(each.result.shape),
        "dtype": None if each.result is None else each.result.dtype.name,
        "differs_from": each.reference,
        "at": each.at,
        "values": values,
        "message": outcome_text(each, reference),
    }


class Reproduction(NamedTuple):
    """A call that is reproduced."""

    call: RuntimeCall
    verdict: Verdict  # of the version
    tensors: Mapping[str, Tensor]
    expected: Tensor | None  # None if the version refuses
    # the call and its other ways, the worst first; none without the runtime
    seen: Sequence[RuntimeVerdict]
    absence: Absence | None = None  # why the runtime cannot be called
    versions: Versions | None = None
    files: Mapping[str, str] = {}  # of the folder with a description; none if nothing was written
    run: ScriptRun | None = None  # what the script did; None if it was not run

    @property
    def agrees(self) -> bool:
        """Whether the runtime was called, and agrees in each of its ways."""
        return bool(self.seen) and not any(each.disagrees for each in self.seen)

    @property
    def is_unsteady(self) -> bool:
        """Whether the runtime was called, and its result changes from run to run."""
        return bool(self.seen) and self.seen[0].outcome is RuntimeOutcome.UNSTEADY


def report(each: Reproduction) -> str:
    """Return the text of report.md."""
    return "".join(f"{line}\n" for line in _lines(each))


def saw(each: Reproduction) -> str:
    """Describe in a line what the runtime did."""
    if not each.seen:
        why = "was not called" if each.absence is None else each.absence.why
        return f"{each.call.runtime} {why}"
    name = " ".join(filter(None, (each.call.runtime, each.seen[0].version)))
    if each.agrees:
        ways = listed((clean(verdict.call.text) for verdict in each.seen), "and")
        return f"{name} agrees, so nothing is written: {ways}"
    return f"{name}, {each.call.text}: {_outcome(each.seen[0])}"


def _outcome(verdict: RuntimeVerdict) -> str:
    return clean(outcome_text(verdict, "the specification"))


def _lines(each: Reproduction) -> Iterator[str]:
    op = each.verdict.op
    yield f"# {saw(each)}"
    yield ""
    if each.run is None:
        yield f"`python {SCRIPT}` in this folder calls it where it is installed."
    else:
        yield f"`python {SCRIPT}` in this folder shows it."
    yield ""
    yield "## What the specification says"
    yield ""
    yield f"[{op.source}]({op.page}). `{op.equation}`, of the shape `{op.shape}`."
    yield f"Legal indices on an axis of size s are {op.index_range.value};"
    yield f"an index from -s to -1 is {op.negative}, any other one {op.out_of_range.done}."
    yield ""
    yield "With the numbers of this call:"
    yield ""
    yield from _indented(_call(each))
    yield ""
    yield from _expected(each)
    yield ""
    yield "## What came out"
    yield ""
    yield from _printed(each)
    yield ""
    if each.seen:
        yield "| call | outcome |"
        yield "| --- | --- |"
        for verdict in each.seen:
            yield f"| {verdict.call.text} | {_outcome(verdict).replace('|', chr(92) + '|')} |"
        yield ""
    yield "## Files"
    yield ""
    for name, what in each.files.items():
        yield f"- `{name}`: {what}"


def _call(each: Reproduction) -> str:
    """Format the call: with its shapes, if the version accepts these."""
    verdict = each.verdict
    if verdict.call is not None and verdict.shape is not None:
        return header(verdict.call, verdict.shape, None).plain
    return "   ".join((verdict.op.full_name, *(f"{n} {t}" for n, t in each.tensors.items())))


def _expected(each: Reproduction) -> Iterator[str]:
    error = each.verdict.error
    if error is not None:
        yield f"So the call is an error, by the rule `{error.rule}`: {clean(error.message)}."
    elif each.expected is not None:
        note = outcome(each.verdict, "every index is legal")
        yield f"So the result is `expected.npy` ({note}):"
        yield ""
        few = each.expected.array.size <= 8 * MAX_SHOWN_ELEMENTS
        yield from _indented(plain(each.expected) if few else str(each.expected))


def _printed(each: Reproduction) -> Iterator[str]:
    if each.run is None or each.versions is None:
        why = "" if each.absence is None else f" {each.absence.why}"
        yield f"The script was not run, as here {each.call.runtime}{why or ' was not called'}."
        return
    output = shortened(each.run.error) if each.run.ending else ""
    text = "\n".join(filter(None, (each.run.output.rstrip("\n"), output, each.run.ending)))
    yield f"The script, run with {each.call.runtime} {each.versions.runtime}, Python"
    yield f"{each.versions.python} and NumPy {each.versions.numpy} on {_machine()}:"
    yield ""
    yield from _indented("\n".join(map(clean, text.splitlines())))
    yield ""
    yield "The same versions:"
    yield ""
    yield from _indented(_pip(each.call.runtime, each.versions))
    if each.is_unsteady:
        yield ""
        yield "Other runs give other values, as those of memory that is read before it is written."
        yield "In this run the C library of Linux filled memory:"
        yield ""
        variables = " ".join(f"{name}={value}" for name, value in FILLING.items())
        yield from _indented(f"{variables} python {SCRIPT}")


def _pip(runtime: str, versions: Versions) -> str:
    """Return the line that installs a runtime and NumPy; of a local version the public part."""
    packages = {RUNTIME_PACKAGES[runtime]: versions.runtime, "numpy": versions.numpy}
    words = (f"{name}=={version.partition('+')[0]}" for name, version in packages.items())
    return f"pip install {clean(' '.join(words))}"


def _machine() -> str:
    """Return the system and the processor."""
    processor = platform.processor()
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
        processor = next(names, processor)
    return clean(", ".join(filter(None, (platform.system(), platform.machine(), processor))))


def _indented(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").splitlines():
        yield f"    {line}".rstrip()
