"""Format the report of a reproduction as Markdown."""

from __future__ import annotations

import platform
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gathercli.report.header import header
from gathercli.report.verdicts import outcome
from gathercli.runtimes.client import FILLED, PACKAGES
from gathercli.runtimes.refusals import shortened
from gathercli.runtimes.report import FEW, outcome_text, plain
from gathercli.runtimes.script import SCRIPT
from gathercli.runtimes.verdict import RuntimeOutcome
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.cli.runtimes import Absence
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Verdict
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.runtimes.client import ScriptRun, Versions
    from gathercli.runtimes.verdict import RuntimeVerdict


class Reproduction(NamedTuple):
    """A call that is reproduced.

    Attributes
    ----------
    call
        The call in the runtime.
    verdict
        The verdict of the version.
    tensors
        The inputs by name.
    expected
        The result of the version; None if it refuses.
    seen
        The verdicts on the call, and on its other ways, the worst first; none without the runtime.
    absence, versions
        Why the runtime cannot be called, or its versions.
    files
        The files of the folder with a description; none if nothing was written.
    run
        What the script did; None if it was not run.
    """

    call: RuntimeCall
    verdict: Verdict
    tensors: Mapping[str, Tensor]
    expected: Tensor | None
    seen: Sequence[RuntimeVerdict]
    absence: Absence | None = None
    versions: Versions | None = None
    files: Mapping[str, str] = {}
    run: ScriptRun | None = None

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
        few = each.expected.array.size <= 8 * FEW
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
        variables = " ".join(f"{name}={value}" for name, value in FILLED.items())
        yield from _indented(f"{variables} python {SCRIPT}")


def _pip(runtime: str, versions: Versions) -> str:
    """Return the line that installs a runtime and NumPy; of a local version the public part."""
    packages = {PACKAGES[runtime]: versions.runtime, "numpy": versions.numpy}
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
