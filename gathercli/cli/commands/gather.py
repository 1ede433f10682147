"""The operator commands: read the tensors, run the call, show or write the result."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.inputs import TensorOptions
from gathercli.cli.messages import Messages
from gathercli.cli.operator import OperatorOptions
from gathercli.cli.options import THREADS, ToleranceOptions
from gathercli.cli.output import OutputOptions
from gathercli.io.formats.table import is_chunked
from gathercli.slices import given
from gathercli.spec.dtypes import E8M0
from gathercli.spec.op import OutOfRange

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from gathercli.cli.limits import Limits
    from gathercli.compute.result import GatherOutput
    from gathercli.compute.tensor import Tensor
    from gathercli.errors import MismatchError
    from gathercli.io.chunkwise import BoxWorkers
    from gathercli.io.source import Inputs
    from gathercli.spec.call import CallContext
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

    class ChunkScheduler(Protocol):
        """What lets other processes make the chunks of an output."""

        def check(self, op: Op, output: OutputOptions, threads: int | None, *tokens: str) -> None:
            """Raise `UsageError` if they cannot run the call or read its inputs."""

        def connect(
            self, job: dict[str, Any], limits: Limits, messages: Messages
        ) -> AbstractContextManager[BoxWorkers]:
            """Connect to them for a call."""


class ExpectOptions(Options):
    """The expected result, and the tolerance of the comparison."""

    expect: str | None = option(
        OUTPUT,
        "--expect",
        metavar="TENSOR",
        help="Compare the result with this tensor; exit 1 where they differ.",
        once=True,
    )
    near: ToleranceOptions

    def read(self, inputs: Inputs, dtype: DType) -> Tensor | MismatchError | None:
        """Read the expected tensor of a result of type `dtype`; None without `--expect`."""
        if (token := self.expect) is None:
            return None
        from gathercli.compute.compare import read_expected

        return read_expected(
            lambda assumed: inputs.tensor(token, "expect", assumed=assumed, empty=dtype),
            dtype,
            self.near.tolerance,
        )


class WorkerOptions(Options):
    """The options by which other processes make the chunks of an output; here none."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group that is given in its place."""
        group: type[Options] | None = given("options", cls.__name__)
        return cls if group is None else group.of(command)

    def chosen(self) -> ChunkScheduler | None:
        """Return what distributes the chunks; raise `UsageError` if an option is wrong."""
        return None


def run(
    command: str,
    operator: OperatorOptions,
    tensors: TensorOptions,
    output: OutputOptions,
    expectation: ExpectOptions,
    others: WorkerOptions,
    messages: Messages,
    threads: int | None = THREADS,
) -> int:
    """Run the call and write the result; only a failed write raises after output began."""
    from gathercli.compute.run import run as gather
    from gathercli.compute.run import unchecked, use_unchecked
    from gathercli.io.files import cores

    scheduler = others.chosen()
    operator.command = command
    op = operator.row(messages)
    progress = messages.progress() if output.may_show_progress else None
    limit, expect = output.limits.memory, expectation.expect
    opened = tensors.opened(op, limit, messages, expect, progress=progress)
    output.check()
    if scheduler is not None:
        scheduler.check(op, output, threads, *tensors.words)
    with messages, opened:
        inputs = opened.inputs
        with (call := operator.context(op)):
            bound = operator.bound(op, call, opened, inputs.chunked)
            output.check_room(bound)
            if scheduler is not None:
                inputs.watch_folders()
        limits: Any = {
            "max_bytes": output.most_bytes,
            "threads": threads or cores(),
            "progress": progress,
        }

        def checked() -> GatherOutput:
            with call:
                return gather(bound, memory=output.limits.memory, **limits)

        def rechecked() -> GatherOutput:
            with call:
                inputs.recheck()
            return checked()

        connect: Callable[[], AbstractContextManager[BoxWorkers | None]] = nullcontext
        if scheduler is not None:
            job = operator.job(opened.tokens)
            connect = partial(scheduler.connect, job, output.limits, messages)
        write = partial(_write, output, expectation, inputs, messages, call, connect)
        reads_once = output.is_new_file and expectation.expect is None
        with call:
            once = unchecked(bound, **limits) if reads_once else None
        mismatch = write(checked()) if once is None else use_unchecked(once, write, rechecked)
    if mismatch is None or not messages.json_errors:
        messages.print()
    if mismatch is not None:
        from gathercli.cli.suggest import diagnosis_hint

        words = [command, *tensors.words, expectation.expect or ""]
        options = operator.typed() | tensors.types.changed() | expectation.near.changed()
        mismatch.hint = mismatch.advice or diagnosis_hint(words, options)
        with call:
            raise mismatch
    return 0


def _write(
    output: OutputOptions,
    expectation: ExpectOptions,
    inputs: Inputs,
    messages: Messages,
    call: CallContext,
    connect: Callable[[], AbstractContextManager[BoxWorkers | None]],
    result: GatherOutput,
) -> MismatchError | None:
    """Write a result, and compare it with the expected one."""
    messages.notes += map(str, result.adjustments)
    filled = any(each.how == OutOfRange.ZERO.done for each in result.adjustments)
    if result.dtype is E8M0 and filled:
        messages.notes.append(f"{E8M0} has no zero: what is filled is 2^-127, all bits zero")
    expectation.near.check()
    expected = expectation.read(inputs, result.dtype)
    mismatch = None
    in_chunks = is_chunked(output.chosen_format)
    if in_chunks and expected is not None:  # the output may replace an input
        mismatch = expectation.near.tolerance.difference(result, expected)
    with connect() as workers, call:
        output.write(result, inputs, messages, workers)
    if not in_chunks and expected is not None:
        mismatch = expectation.near.tolerance.difference(result, expected)
    return mismatch
