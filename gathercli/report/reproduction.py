"""Format the report of a reproduction as Markdown."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, NamedTuple

from gathercli.report.header import header
from gathercli.report.runtimes import FEW, outcome_text, plain
from gathercli.report.verdicts import outcome
from gathercli.runtimes.script import SCRIPT
from gathercli.runtimes.verdict import RuntimeOutcome, shortened
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.lessons.verdicts import Verdict
    from gathercli.runtimes.client import ScriptRun
    from gathercli.runtimes.verdict import RuntimeVerdict
    from gathercli.tensor import Tensor


class Reproduction(NamedTuple):
    """A call that is reproduced.

    Attributes
    ----------
    verdict
        The verdict of the version.
    tensors
        The inputs by name.
    expected
        The result of the version; None if it refuses.
    chosen, others
        The call in the runtime, and its other ways.
    run
        What the script did; None if it was not run.
    files
        The files of the folder with a description.
    """

    verdict: Verdict
    tensors: Mapping[str, Tensor]
    expected: Tensor | None
    chosen: RuntimeVerdict
    others: Sequence[RuntimeVerdict]
    run: ScriptRun | None
    files: Mapping[str, str]


def report(each: Reproduction) -> str:
    """Return the text of report.md."""
    return "".join(f"{line}\n" for line in _lines(each))


def saw(each: Reproduction) -> str:
    """Describe in a line what the runtime did."""
    if each.run is None:
        return f"{each.chosen.call.runtime} was not called: it {_outcome(each.chosen)}"
    name = " ".join(filter(None, (each.chosen.call.runtime, each.chosen.version)))
    return f"{name}, {each.chosen.call.text}: {_outcome(each.chosen)}"


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
    yield f"{op.source}. `{op.equation}`, of the shape `{op.shape}`."
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
    yield "| call | outcome |"
    yield "| --- | --- |"
    for verdict in (each.chosen, *each.others):
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
    if each.run is None:
        yield f"{each.chosen.call.runtime} is not installed here, so the script was not run."
        return
    output = shortened(each.run.error) if each.run.ending else ""
    text = "\n".join(filter(None, (each.run.output.rstrip("\n"), output, each.run.ending)))
    system = f"{platform.system()}, {platform.machine()}"
    yield f"The script, run with {each.chosen.call.runtime} {each.chosen.version} on {system}:"
    yield ""
    yield from _indented("\n".join(map(clean, text.splitlines())))
    if each.chosen.outcome is RuntimeOutcome.UNSTEADY:
        yield ""
        yield "Other runs give other values."


def _indented(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").splitlines():
        yield f"    {line}".rstrip()
