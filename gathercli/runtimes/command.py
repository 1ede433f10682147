"""`reproduce`: a folder that shows what a runtime does with a call, to attach to a report."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gathercli.cli.call import NamedCall
from gathercli.cli.declarations import OUTPUT, REQUIRED, RUNNING, Answer, Options, option
from gathercli.cli.slice_options import absence_notes
from gathercli.errors import LimitError, OutputError, UsageError, reason_of
from gathercli.runtimes.options import ALLOW_ABSENT, CALL_SECONDS, check_seconds, known
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gathercli.cli.slice_options import Runtime
    from gathercli.compute.compare import Comparison
    from gathercli.compute.verdicts import Case
    from gathercli.runtimes.reproduction import Reproduction


class ReproductionOptions(Options):
    """The runtime, and the folder."""

    runtime: str = option(
        OUTPUT,
        "--for",
        metavar="RUNTIME",
        default=REQUIRED,
        help="The runtime: {known}; torch=/venv/bin/python names the Python that has it.",
        known=known,
    )
    timeout: float = option(
        RUNNING,
        "--timeout",
        metavar="S",
        kind=float,
        default=CALL_SECONDS,
        help="Seconds that the import, and each call, may take; default 60.",
        rare=True,
    )
    allow_absent: bool = ALLOW_ABSENT
    output: str = option(
        OUTPUT,
        "--output",
        "-o",
        metavar="DIR",
        default=REQUIRED,
        help="The folder to make.",
        once=True,
    )

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

    Nothing is written if all agree.
    """
    from gathercli.runtimes.calls import calls, integers
    from gathercli.runtimes.reproduction import Reproduction
    from gathercli.runtimes.verdict import WORST_FIRST, Expected, Runtimes

    check_new(options.output)
    op = comparison.verdicts[0].op
    expected, tensors = Expected(comparison, case), case.named(op)
    made = list(calls(runtime.name, [op], tensors, integers(attrs) or {}))
    if not made or integers(attrs) is None:
        raise UsageError(
            f"is `{runtime.name}`, which has no call of {op} with these inputs",
            subject="--for",
            value=runtime.name,
            expected="another runtime, or another version",
            hint=f"`gathercli ops {op.name}` lists the versions",
        )
    with Runtimes([runtime], options.timeout) as processes:
        verdicts = list(processes.verdicts([op], case.tensors, attrs, expected))
        verdicts.sort(key=lambda each: WORST_FIRST.index(each.outcome))
        absence = next(iter(processes.absences), None)
        versions = next((each.versions for each in processes.present), None)
    result = expected.output("A") if comparison.letters[0] else None
    call = verdicts[0].call if verdicts else made[0]
    seen = Reproduction(call, comparison.verdicts[0], tensors, result, verdicts, absence, versions)
    if seen.agrees:
        return seen
    with new_folder(options.output) as folder:
        return _written(folder, seen, runtime, attrs, options.timeout)


def _written(
    folder: str, seen: Reproduction, runtime: Runtime, attrs: Mapping[str, Any], seconds: float
) -> Reproduction:
    """Write the files of a reproduction, run its script, and write the report."""
    from gathercli.runtimes.reproduction import SCRIPT, files_of, report, run_script

    files = files_of(seen.call, seen.tensors, attrs, seen.expected)
    for name, file in files.items():
        _write(os.path.join(folder, name), file.content)
    seen = seen._replace(files={name: file.doc for name, file in files.items()})
    if seen.absence is None:
        run = run_script(runtime, folder, SCRIPT, seconds, fills=seen.is_unsteady)
        seen = seen._replace(run=run)
    _write(os.path.join(folder, "report.md"), report(seen).encode())
    return seen


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def check_new(path: str) -> None:
    """Raise if a path exists and is no empty folder."""
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise OutputError(
            f"`{clean(path)}` exists",
            rule="output",
            value=path,
            expected="the name of a new folder",
        )


@contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder, which becomes `path` if all goes well."""
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
        raise OutputError(
            f"the folder `{clean(path)}` cannot be {step} ({reason_of(error)})",
            rule="output",
            value=path,
            expected="one that can be written",
        ) from None
