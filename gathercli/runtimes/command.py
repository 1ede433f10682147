"""The options that name runtimes, and `reproduce`.

`reproduce` writes a folder that shows what a runtime does with a call, to attach to a report.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.call import NamedCall
from gathercli.cli.declarations import OUTPUT, REQUIRED, RUNNING, Answer, Options, flag, option
from gathercli.cli.slice_options import RuntimeOptions, absence_notes
from gathercli.errors import LimitError, OutputError, UsageError, reason_of
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gathercli.batch.batch_run import BatchRequest, ReportOptions, RunOptions
    from gathercli.cli.slice_options import Addition, Runtime, StartedRuntimes
    from gathercli.compute.compare import Comparison
    from gathercli.compute.verdicts import Case
    from gathercli.runtimes.reproduction import Reproduction, ReproductionFile
    from gathercli.runtimes.verdict import Runtimes

# The most seconds of an import and of a call, unless the user says otherwise.
CALL_SECONDS: Final = 60.0

_timeout: Final = partial(option, RUNNING, "--timeout", metavar="S", kind=float, rare=True)


def check_seconds(seconds: float) -> None:
    """Raise if `--timeout` is no positive number."""
    if not 0 < seconds < float("inf"):
        raise UsageError(f"is {seconds:g}", subject="--timeout", expected="seconds, more than 0")


def _without_names(subject: str, expected: str) -> UsageError:
    return UsageError("is given without `--with`", subject=subject, expected=expected)


def example(_: Sequence[str]) -> str:
    """Return the runtime that a hint names: everybody has it."""
    return "numpy"


def known() -> Iterable[str]:
    """Return the names of the runtimes."""
    from gathercli.runtimes.declared import NAMES

    return NAMES


class NamedRuntimes(RuntimeOptions):
    """The options that name runtimes."""

    names: str | None = option(RUNNING, "--with", metavar="LIST", known=known)

    allow_absent: bool = flag(RUNNING, "--allow-absent", rare=True)
    timeout: float | None = None  # an option of subclasses

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
        if self.names is None:
            if self.allow_absent:
                raise _without_names("--allow-absent", "the runtimes it allows for")
            return []
        from gathercli.runtimes.client import runtimes_of

        return runtimes_of(self.names)

    @property
    def seconds(self) -> float:
        """The most seconds of an import, and of a call."""
        return CALL_SECONDS if self.timeout is None else self.timeout

    def started(self) -> StartedRuntimes:
        """Return the processes of the runtimes, which the context starts; none without them."""
        return super().started() if self.names is None else self.processes()

    def processes(self) -> Runtimes:
        """Return the processes of the runtimes that are named, which the context starts."""
        from gathercli.runtimes.verdict import Runtimes

        return Runtimes(self.chosen(), self.seconds)


class TimedRuntimes(NamedRuntimes):
    """The runtimes to call, and the time that each has."""

    timeout: float | None = _timeout()

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
        runtimes = super().chosen()
        if self.timeout is not None and self.names is None:
            raise _without_names("--timeout", "the runtimes that it limits")
        check_seconds(self.seconds)
        return runtimes

    def compared(
        self, comparison: Comparison, case: Case, attrs: Mapping[str, Any], *, named: bool
    ) -> Addition:
        """Call the runtimes with the inputs of a comparison."""
        if self.names is None:
            return super().compared(comparison, case, attrs, named=named)
        from gathercli.runtimes.verdict import Expected, addition

        ops = [each.op for each in comparison.verdicts if each.bound is not None or named]
        expected = Expected(comparison, case)
        with self.processes() as processes:
            verdicts = list(processes.verdicts(ops, case.tensors, attrs, expected))
            called = {each.call.runtime for each in verdicts}
            idle = [each for each in processes.present if each.runtime.name not in called]
            names = [each.full_name for each in idle]
            absences = processes.absences
        return addition(verdicts, absences, names, allow_absent=self.allow_absent)


class BatchRuntimes(NamedRuntimes):
    """The runtimes that do jobs, one after the other, and write no output.

    They stand in the place of `batch.batch_run.JobRuntimeOptions`.
    """

    timeout: float | None = _timeout()

    def check(self, running: RunOptions, reporting: ReportOptions) -> None:
        """Raise if one is wrong, or given with an option that runtimes do not heed."""
        if not self.chosen():
            return
        used = {"timeout", "allow_outside", "report", "fmt"}
        for group in (running, reporting, running.cluster):
            for name in group.changed().keys() - used:
                what = "is given with `--with`, which does jobs one by one and writes no output"
                option = getattr(type(group), name).names[0]
                raise UsageError(what, subject=option, expected="one of them")

    def status(self, request: BatchRequest) -> int | None:
        """Do the jobs in runtimes and return the exit status; None if no runtime is named."""
        if self.names is None:
            return None
        from gathercli.runtimes.batch import RuntimeBatch

        with self.processes() as processes:
            return RuntimeBatch(processes, request, allow_absent=self.allow_absent).run()


# `reproduce`


class ReproductionOptions(Options):
    """The runtime, and the folder."""

    runtime: str = option(OUTPUT, "--for", metavar="RUNTIME", default=REQUIRED, known=known)
    timeout: float = _timeout(default=CALL_SECONDS)
    allow_absent: bool = flag(RUNNING, "--allow-absent", rare=True)
    output: str = option(OUTPUT, "--output", "-o", metavar="DIR", default=REQUIRED, once=True)

    def chosen(self) -> Runtime:
        """Return the runtime."""
        from gathercli.runtimes.client import runtimes_of

        name, mark, python = self.runtime.partition("=")
        name = "onnx.reference" if name == "onnx" else name
        runtime, *others = runtimes_of(name + mark + python, "--for")
        if others:
            raise UsageError(f"is `{clean(self.runtime)}`", subject="--for", expected="one runtime")
        return runtime


def run(call: NamedCall, options: ReproductionOptions) -> Answer:
    """Call the runtime, write the folder, and say what the runtime did."""
    from gathercli.compute.compare import compared
    from gathercli.runtimes.reproduction import saw

    check_seconds(options.timeout)
    runtime = options.chosen()
    with call.open() as opened:
        case, op = opened.case(), opened.op
        comparison = compared([op], case, call.memory.limits.result, named={op})
        if isinstance(comparison.verdicts[0].error, LimitError):
            raise comparison.verdicts[0].error
        seen = _reproduced(runtime, comparison, case, call.operator.attrs.typed, options)
        opened.inputs.recheck()
    text = f"{saw(seen)}\n"
    is_written = bool(seen.files)
    absences = [seen.absence] if seen.absence else []
    return Answer(
        lambda *_: text,
        notes=tuple(absence_notes(absences, "--for", allowed=options.allow_absent)),
        remarks=(f"wrote {clean(options.output)}",) if is_written else (),
        status=int(bool(absences) and not options.allow_absent),
    )


def _reproduced(
    runtime: Runtime,
    comparison: Comparison,
    case: Case,
    attrs: Mapping[str, Any],
    options: ReproductionOptions,
) -> Reproduction:
    """Call the runtime in each of its ways; write the first one with the worst outcome.

    Nothing is written if all agree, or the runtime is missing and may not be.
    """
    from gathercli.runtimes.calls import calls, integers
    from gathercli.runtimes.reproduction import Reproduction, files_of
    from gathercli.runtimes.verdict import Expected, RuntimeOutcome, Runtimes

    check_new(options.output)
    op = comparison.verdicts[0].op
    expected, tensors = Expected(comparison, case), case.named(op)
    made = list(calls(runtime.name, [op], tensors, integers(attrs) or {}))
    if not made or integers(attrs) is None:
        what = f"is `{runtime.name}`, which has no call of {op} with these inputs"
        hint = f"`gathercli ops {op.name}` lists the versions"
        other = "another runtime, or another version"
        raise UsageError(what, subject="--for", value=runtime.name, expected=other, hint=hint)
    with Runtimes([runtime], options.timeout) as processes:
        verdicts = list(processes.verdicts([op], case.tensors, attrs, expected))
        worst_first = list(RuntimeOutcome)
        verdicts.sort(key=lambda each: worst_first.index(each.outcome))
        absence = next(iter(processes.absences), None)
        versions = next((each.versions for each in processes.present), None)
    result = expected.output("A") if comparison.letters[0] else None
    call = verdicts[0].call if verdicts else made[0]
    seen = Reproduction(call, comparison.verdicts[0], tensors, result, verdicts, absence, versions)
    if seen.agrees:
        return seen
    files = files_of(seen.call, seen.tensors, attrs, seen.expected)  # or why there are none
    if absence is not None and not options.allow_absent:
        return seen
    with new_folder(options.output) as folder:
        return _written(folder, seen, files, runtime, options.timeout)


def _written(
    folder: str,
    seen: Reproduction,
    files: Mapping[str, ReproductionFile],
    runtime: Runtime,
    seconds: float,
) -> Reproduction:
    from pathlib import Path

    from gathercli.runtimes.reproduction import SCRIPT, report, run_script

    for name, file in files.items():
        Path(folder, name).write_bytes(file.content)
    seen = seen._replace(files={name: file.doc for name, file in files.items()})
    if seen.absence is None:
        run = run_script(runtime, folder, SCRIPT, seconds, fills=seen.is_unsteady)
        seen = seen._replace(run=run)
    Path(folder, "report.md").write_bytes(report(seen).encode())
    return seen


def check_new(path: str) -> None:
    """Raise if a path exists and is no empty folder."""
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        what = f"`{clean(path)}` exists"
        raise OutputError(what, rule="output", value=path, expected="the name of a new folder")


@contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder, which becomes `path` if all goes well."""
    import shutil  # which a line without a folder does not need

    parent, name = os.path.split(os.path.abspath(path))
    folder = os.path.join(parent, f".{name}.{os.getpid()}.tmp")
    step = "made"
    try:
        os.mkdir(folder)
        step = "written"
        try:
            yield folder
            os.rename(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        what = f"the folder `{clean(path)}` cannot be {step} ({reason_of(error)})"
        expected = "one that can be written"
        raise OutputError(what, rule="output", value=path, expected=expected) from None
