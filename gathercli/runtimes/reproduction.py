"""A call that is reproduced: its script run by itself, and the report as Markdown."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gathercli.io.stream import temporary_folder
from gathercli.report.header import header
from gathercli.report.verdicts import outcome
from gathercli.runtimes.client import (
    FILLING,
    MAX_ANSWER_BYTES,
    RUNTIME_PACKAGES,
    ending_of,
    shortened,
    started_worker,
)
from gathercli.runtimes.script import SCRIPT
from gathercli.runtimes.verdict import MAX_SHOWN_ELEMENTS, RuntimeOutcome, outcome_text, plain
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.cli.slice_options import Absence, Runtime
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Verdict
    from gathercli.runtimes.calls import RuntimeCall
    from gathercli.runtimes.client import Versions
    from gathercli.runtimes.verdict import RuntimeVerdict


class ScriptRun(NamedTuple):
    """What a script printed, the last line of its errors, and how it ended; None for status 0."""

    output: str
    error: str
    ending: str | None


def run_script(
    runtime: Runtime, folder: str, name: str, seconds: float, *, fills: bool = False
) -> ScriptRun:
    """Run a script in a folder, with the limits of a call; `fills` memory by `FILLING`."""
    with temporary_folder() as home:
        out, err = (os.path.join(home, each) for each in ("out", "err"))
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = started_worker(
                runtime,
                ("--script", name),
                home,
                FILLING if fills else {},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
            )
        try:
            status: int | None = process.wait(timeout=2 * seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed, errors = (_head(path) for path in (out, err))
    ending = f"hangs: no end within {2 * seconds:g} s" if status is None else None
    if status:
        ending = f"dies {ending_of(status)}"
    return ScriptRun(printed, errors.strip().rpartition("\n")[2], ending)


def _head(path: str) -> str:
    """Return the text of a file, or the first part of a long one."""
    with open(path, "rb") as file:
        return file.read(MAX_ANSWER_BYTES).decode(errors="backslashreplace")


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
    is_run = each.run is not None
    outcomes = ""
    if each.seen:
        rows = [
            f"| {it.call.text} | {_outcome(it).replace('|', chr(92) + '|')} |" for it in each.seen
        ]
        outcomes = "\n".join(["| call | outcome |", "| --- | --- |", *rows, "", ""])
    return (
        Path(__file__)
        .with_name("reproduction.md")
        .read_text(encoding="utf-8")
        .format(
            saw=saw(each),
            script=SCRIPT,
            shows="shows it" if is_run else "calls it where it is installed",
            op=each.verdict.op,
            call=_indented(_call(each)),
            expected=_expected(each),
            printed="\n\n".join(_printed(each)),
            outcomes=outcomes,
            files="\n".join(f"- `{name}`: {what}" for name, what in each.files.items()),
        )
    )


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


def _call(each: Reproduction) -> str:
    """Format the call: with its shapes, if the version accepts these."""
    verdict = each.verdict
    if verdict.call is not None and verdict.shape is not None:
        return header(verdict.call, verdict.shape, None).plain
    return "   ".join((verdict.op.full_name, *(f"{n} {t}" for n, t in each.tensors.items())))


def _expected(each: Reproduction) -> str:
    error = each.verdict.error
    if error is not None:
        return f"So the call is an error, by the rule `{error.rule}`: {clean(error.message)}."
    if each.expected is None:
        return ""
    note = outcome(each.verdict, "every index is legal")
    few = each.expected.array.size <= 8 * MAX_SHOWN_ELEMENTS
    shown = _indented(plain(each.expected) if few else str(each.expected))
    return f"So the result is `expected.npy` ({note}):\n\n{shown}"


def _printed(each: Reproduction) -> Iterator[str]:
    """Yield the paragraphs on what the script printed."""
    if each.run is None or each.versions is None:
        why = "" if each.absence is None else f" {each.absence.why}"
        yield f"The script was not run, as here {each.call.runtime}{why or ' was not called'}."
        return
    output = shortened(each.run.error) if each.run.ending else ""
    text = "\n".join(filter(None, (each.run.output.rstrip("\n"), output, each.run.ending)))
    yield (
        f"The script, run with {each.call.runtime} {each.versions.runtime}, Python\n"
        f"{each.versions.python} and NumPy {each.versions.numpy} on {_machine()}:"
    )
    yield _indented("\n".join(map(clean, text.splitlines())))
    yield "The same versions:"
    yield _indented(_pip(each.call.runtime, each.versions))
    if each.is_unsteady:
        yield (
            "Other runs give other values, as those of memory that is read before it is written.\n"
            "In this run the C library of Linux filled memory:"
        )
        variables = " ".join(f"{name}={value}" for name, value in FILLING.items())
        yield _indented(f"{variables} python {SCRIPT}")


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


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").splitlines())
