"""The operator commands: read the tensors, run the call, show or write the result."""

from __future__ import annotations

from gathercli.cli.call import CallOptions, OpenCall
from gathercli.cli.declarations import OUTPUT, Options, SliceOptions, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import THREADS, Limits, ToleranceOptions
from gathercli.cli.output import OutputOptions
from gathercli.io.files import cores
from gathercli.io.formats.table import is_chunked
from gathercli.records import Mapping, Sequence, partial, suppress
from gathercli.slices import given_names
from gathercli.spec.dtypes import E8M0, DType
from gathercli.spec.op import Op, OutOfRange

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gathercli.compute.run import GatherOutput
    from gathercli.compute.tensor import Tensor
    from gathercli.errors import MismatchError
    from gathercli.io.source import Inputs
    from gathercli.io.zarr.created import BoxWorkers


class ExpectOptions(Options):
    """The expected result, and the tolerance of the comparison."""

    expect: str | None = option(OUTPUT, "--expect", metavar="TENSOR", once=True)
    near: ToleranceOptions

    def read(self, inputs: Inputs, dtype: DType) -> Tensor | MismatchError | None:
        """Read the expected tensor of a result of type `dtype`; None without `--expect`."""
        if (token := self.expect) is None:
            return None
        from gathercli.compute.compare import read_expected
        from gathercli.io.formats.content import ElementTypes

        return read_expected(
            lambda assumed: inputs.tensor(token, "expect", ElementTypes(None, assumed, dtype)),
            dtype,
            self.near.tolerance,
        )


class WorkerOptions(SliceOptions):
    """The options by which other processes make the chunks of an output; here none."""

    role = "workers"

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group of the slice, which depends on the command."""
        group = super().of(command)
        return group if group is cls else group.of(command)

    @property
    def are_used(self) -> bool:
        """Whether other processes are asked for."""
        return False

    def check(self, op: Op, output: OutputOptions, threads: int | None, *tokens: str) -> None:
        """Raise `UsageError` if an option is wrong, or they cannot do their part of a call."""

    def connect(
        self, call: OpenCall, limits: Limits, messages: Messages
    ) -> AbstractContextManager[BoxWorkers | None]:
        """Connect to the processes that are asked for."""
        del call, limits, messages
        return suppress()  # nothing


class Execution(Options):
    """A call to run, and what becomes of its result."""

    call: CallOptions
    output: OutputOptions
    expectation: ExpectOptions
    others: WorkerOptions
    messages: Messages
    threads: int | None = THREADS


def run(line: Execution) -> int:
    """Run the call and write the result; only a failed write raises after output began."""
    call, output, expectation = line.call, line.output, line.expectation
    with call.open(expectation.expect, shows_progress=output.may_show_progress) as opened:
        output.check()
        line.others.check(opened.op, output, line.threads, *call.tensors.words)
        mismatch = _run(line, opened)
    if mismatch is None or not line.messages.json_errors:
        line.messages.print()
    if mismatch is not None:
        tensors = call.tensors
        words = [call.operator.command, *tensors.words, expectation.expect or ""]
        options = call.operator.typed() | tensors.types.changed() | expectation.near.changed()
        mismatch.hint = mismatch.advice or _diagnosis_hint(words, options)
        with opened.context:
            raise mismatch
    return 0


def _run(line: Execution, opened: OpenCall) -> MismatchError | None:
    """Read the inputs, run the call and write the result, once more if an input was wrong."""
    from gathercli.compute.run import consume

    output, inputs = line.output, opened.inputs
    bound = opened.bound(inputs.chunked)
    with opened.context:
        output.check_room(bound)
    if line.others.are_used:
        inputs.watch_folders()
    reads_again = output.is_new_file and line.expectation.expect is None
    return consume(
        bound,
        partial(_write, line, opened),
        recheck=inputs.recheck if reads_again else None,
        context=opened.context,
        max_bytes=output.most_bytes,
        memory=output.memory.limits.memory,
        threads=line.threads or cores(),
        progress=opened.progress,
    )


def _write(line: Execution, opened: OpenCall, result: GatherOutput) -> MismatchError | None:
    """Write a result, and compare it with the expected one."""
    output, messages, near = line.output, line.messages, line.expectation.near
    messages.notes += map(str, result.adjustments)
    filled = any(each.how == OutOfRange.ZERO.done for each in result.adjustments)
    if result.dtype is E8M0 and filled:
        messages.notes.append(f"{E8M0} has no zero: what is filled is 2^-127, all bits zero")
    expected = line.expectation.read(opened.inputs, result.dtype)

    def difference() -> MismatchError | None:
        return None if expected is None else near.tolerance.difference(result, expected)

    in_chunks = is_chunked(output.chosen_format)
    mismatch = difference() if in_chunks else None  # the output may replace an input
    connected = line.others.connect(opened, output.memory.limits, messages)
    with connected as workers, opened.context:
        output.write(result, opened.inputs, messages, workers)
    return mismatch if in_chunks else difference()


def _diagnosis_hint(words: Sequence[str], options: Mapping[str, object]) -> str | None:
    """Return the line that diagnoses an expected output, the last word; None if no slice does."""
    if "diagnose" not in given_names("commands"):
        return None
    from gathercli.cli.hints import shell_line

    typed = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    line = shell_line(["diagnose", *words, *typed])
    is_read_again = not any(word == "-" or word.startswith("-#") for word in words)
    command = line if line is not None and is_read_again else "gathercli diagnose"
    return f"`{command}` names what explains the expected tensor"
