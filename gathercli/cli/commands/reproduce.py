"""`reproduce`: a folder that shows what a runtime does with a call, to attach to a report."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gathercli.cli.answer import Answer
from gathercli.cli.command import REQUIRED, Options, option
from gathercli.cli.groups import OUTPUT, RUNNING
from gathercli.cli.inputs import TensorOptions, read
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.operator import NamedOperator
from gathercli.cli.runtimes import DEFAULT_SECONDS, check_seconds
from gathercli.errors import OutputError, UsageError, reason_of
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.lessons.verdicts import Case
    from gathercli.report.reproduction import Reproduction
    from gathercli.runtimes.client import Runtime
    from gathercli.spec.op import Op


class ReproductionOptions(Options):
    """The runtime, and the folder."""

    runtime: str = option(
        RUNNING,
        "--for",
        metavar="RUNTIME",
        default=REQUIRED,
        help="The runtime: onnxruntime, openvino, onnx, torch, tensorflow, jax or numpy; "
        "torch=/venv/bin/python names the Python that has it.",
    )
    timeout: float = option(
        RUNNING,
        "--timeout",
        metavar="S",
        kind=float,
        default=DEFAULT_SECONDS,
        help="Seconds that a call may take; default 60.",
    )
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
            raise UsageError(
                f"`--for` is `{clean(self.runtime)}`: expected one runtime", rule="usage"
            )
        return runtime


def run(
    operator: NamedOperator,
    tensors: TensorOptions,
    memory: MemoryOptions,
    options: ReproductionOptions,
    messages: Messages,
) -> Answer:
    """Call the runtime, write the folder, and say what the runtime did."""
    from gathercli.io.source import Inputs
    from gathercli.ops import family_of
    from gathercli.report.reproduction import saw

    check_seconds(options.timeout)
    runtime = options.chosen()
    op = operator.row(messages)
    tokens = tensors.tokens(family_of(op.family))
    Inputs.check_stdin(*tensors.words, names=tokens)
    with messages, messages.inputs(memory.limits.memory) as inputs:
        with operator.context(op) as context:
            read_tensors = read(context, inputs.tensor, tokens, op.inputs)
        case = operator.case(read_tensors, None, messages.progress())
        with new_folder(options.output) as folder:
            seen = _reproduce(folder, runtime, op, case, operator, options.timeout)
            inputs.recheck()
    text = f"{saw(seen)}\n"
    return Answer(lambda *_: text, remarks=(f"wrote {clean(options.output)}",))


def _reproduce(
    folder: str,
    runtime: Runtime,
    op: Op,
    case: Case,
    operator: NamedOperator,
    seconds: float,
) -> Reproduction:
    """Call the runtime in each of its ways; write the first one with the worst outcome."""
    from gathercli.lessons.groups import compared
    from gathercli.report.reproduction import Reproduction, report
    from gathercli.runtimes.client import run_script
    from gathercli.runtimes.script import SCRIPT, files_of
    from gathercli.runtimes.verdict import WORST_FIRST, RuntimeOutcome, Runtimes, expected_of

    comparison = compared([op], case, named={op})
    expected = expected_of(comparison, case)
    with Runtimes([runtime], seconds) as processes:
        verdicts = list(processes.verdicts([op], case.tensors, operator.attrs.typed, expected))
    if not verdicts:
        raise UsageError(
            f"`--for` is `{runtime.name}`, which has no call of {op} with these inputs: "
            "expected another runtime, or another version",
            rule="usage",
            value=runtime.name,
            hint=f"`gathercli ops {op.name}` lists the versions",
        )
    chosen = min(verdicts, key=lambda each: WORST_FIRST.index(each.outcome))
    result = expected.outputs("A") if comparison.letters[0] else None
    files = files_of(chosen.call, case.named(op), operator.attrs.typed, result)
    for name, file in files.items():
        _write(os.path.join(folder, name), file.content)
    is_there = chosen.outcome is not RuntimeOutcome.ABSENT
    seen = Reproduction(
        comparison.verdicts[0],
        case.named(op),
        result,
        chosen,
        [each for each in verdicts if each is not chosen],
        run_script(runtime, folder, SCRIPT, seconds) if is_there else None,
        {name: file.doc for name, file in files.items()},
    )
    _write(os.path.join(folder, "report.md"), report(seen).encode())
    return seen


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


@contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder, which becomes `path` if all goes well.

    Raises
    ------
    OutputError
        `path` exists and is no empty folder, or cannot be made.
    """
    parent, name = os.path.split(os.path.abspath(path))
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise OutputError(
            f"`{clean(path)}` exists: expected the name of a new folder", rule="output", value=path
        )
    try:
        folder = os.path.join(parent, f".{name}.{os.getpid()}.tmp")
        os.mkdir(folder)
    except OSError as error:
        raise OutputError(
            f"the folder `{clean(path)}` cannot be made ({reason_of(error)}): "
            "expected one that can be written",
            rule="output",
            value=path,
        ) from None
    try:
        yield folder
        os.rename(folder, path)
    except OSError as error:
        raise OutputError(
            f"the folder `{clean(path)}` cannot be written ({reason_of(error)}): "
            "expected one that can be written",
            rule="output",
            value=path,
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
