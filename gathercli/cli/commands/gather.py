"""The operator commands: read the tensors, run the call, show or write the result."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from gathercli.batch.cluster_options import ClusterOptions
from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT
from gathercli.cli.inputs import TensorOptions
from gathercli.cli.messages import Messages
from gathercli.cli.operator import OperatorOptions
from gathercli.cli.options import THREADS, ToleranceOptions
from gathercli.cli.output import OutputOptions
from gathercli.errors import UsageError
from gathercli.io.formats.table import is_chunked
from gathercli.io.write import is_stream, new_name
from gathercli.spec.dtypes import E8M0
from gathercli.spec.op import OutOfRange
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, Final

    from gathercli.batch.chunk_workers import ChunkWorkers
    from gathercli.batch.scheduler import Address
    from gathercli.cli.limits import Limits
    from gathercli.compute.result import GatherOutput
    from gathercli.compute.tensor import Tensor
    from gathercli.errors import MismatchError
    from gathercli.io.source import Inputs
    from gathercli.spec.call import CallContext
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op

EACH: Final = 1 << 30
"""Bytes of memory for each thread of a worker, unless `--max-bytes` is set."""


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


def run(
    command: str,
    operator: OperatorOptions,
    tensors: TensorOptions,
    output: OutputOptions,
    expectation: ExpectOptions,
    cluster: ClusterOptions,
    messages: Messages,
    threads: int | None = THREADS,
) -> int:
    """Run the call and write the result; only a failed write raises after output began."""
    from gathercli.compute.run import run as gather
    from gathercli.compute.run import unchecked, use_unchecked
    from gathercli.io.files import cores

    address = cluster.address()
    operator.command = command
    op = operator.row(messages)
    progress = messages.progress() if output.may_show_progress else None
    limit, expect = output.limits.memory, expectation.expect
    opened = tensors.opened(op, limit, messages, expect, progress=progress)
    output.check()
    if address is not None:
        _check_cluster(op, output, threads, *tensors.words)
    with messages, opened:
        inputs = opened.inputs
        with (call := operator.context(op)):
            bound = operator.bound(op, call, opened, inputs.chunked)
            output.check_room(bound)
            if address is not None:
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

        connect: Callable[[], AbstractContextManager[ChunkWorkers | None]] = nullcontext
        if address is not None:
            connect = partial(
                _workers, operator.job(opened.tokens), address, output.limits, messages
            )
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
    connect: Callable[[], AbstractContextManager[ChunkWorkers | None]],
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


def _check_cluster(op: Op, output: OutputOptions, threads: int | None, *tokens: str) -> None:
    """Raise if the workers of a scheduler cannot run the call or read its inputs."""
    from gathercli.io.source import Inputs

    if op.followed:
        raise UsageError(
            f"is given, and {op} follows `{op.followed.name}` through all steps, so "
            "that no worker can do a part",
            rule="usage",
            subject="--scheduler",
            expected="a run without it",
            hint="`gathercli batch`, of whose jobs each worker does some",
        )
    if output.path is None or not is_chunked(output.chosen_format):
        raise UsageError(
            "is given, and the output is not in chunks, of which each worker makes some",
            rule="usage",
            subject="--scheduler",
            expected="a .zarr output",
            hint=f"`-o {new_name('out', '.zarr')}`; or `gathercli batch`, of whose jobs each "
            "worker does some",
        )
    if threads is not None:
        raise UsageError(
            "is given with a scheduler, whose workers have theirs",
            rule="usage",
            subject="--threads",
            expected="one of them",
            hint="`dask worker --nthreads N` decides how many parts it makes at a time",
        )
    for token in tokens:
        path, _ = Inputs(None).file_of(token)
        if path is not None and (path == "-" or is_stream(path)):
            raise UsageError(
                f"`{clean(path)}` is given with `--scheduler`, whose workers cannot read it",
                rule="usage",
                value=path,
                expected="a file that they see",
            )


def _workers(
    job: dict[str, Any], address: Address, limits: Limits, messages: Messages
) -> ChunkWorkers:
    """Connect to the workers of a scheduler."""
    from gathercli.batch.chunk_workers import ChunkWorkers

    memory = limits.memory if limits.explicit else EACH
    return ChunkWorkers(job, address, memory=memory, say=messages.announce, debug=messages.debug)
