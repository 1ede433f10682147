"""`gather` and `gather-elements`: read, run, show or write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli import options as opt
from gathercli.cli.limits import Limits
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator
from gathercli.cli.scheduler import address_of
from gathercli.cli.sink import OutputOptions, View, WriteOptions
from gathercli.errors import UsageError
from gathercli.io.write import is_stream, new_name
from gathercli.spec.dtypes import E8M0
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.arrays.compare import Tolerance
    from gathercli.arrays.tensor import Tensor
    from gathercli.errors import MismatchError
    from gathercli.io.source import Inputs
    from gathercli.jobs.chunk_workers import ChunkWorkers
    from gathercli.jobs.scheduler import Address
    from gathercli.spec.dtypes import DType


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command of an operator."""

    def command(
        data: opt.Data,
        indices: opt.Indices,
        axis: opt.Axis = None,
        batch_dims: opt.BatchDims = "0",
        version: opt.Version = None,
        negative: opt.NegativeChoice = Negative.SPEC,
        out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
        data_dtype: opt.DataDtype = None,
        indices_dtype: opt.IndicesDtype = None,
        max_bytes: opt.MaxBytes = None,
        output: opt.OutputPath = None,
        chunks: opt.Chunks = None,
        fmt: opt.Format = "auto",
        force_format: opt.ForceFormat = False,
        no_clobber: opt.NoClobber = False,
        fsync: opt.Fsync = False,
        nonfinite: opt.Nonfinite = "quoted",
        expect: opt.Expect = None,
        rtol: opt.Rtol = 0.0,
        atol: opt.Atol = 0.0,
        threads: opt.Threads = None,
        scheduler: opt.Scheduler = None,
        scheduler_file: opt.SchedulerFile = None,
        tls_ca_file: opt.CaFile = None,
        tls_cert: opt.Certificate = None,
        tls_key: opt.CertificateKey = None,
        full: opt.Full = False,
        precision: opt.Precision = 6,
        color: opt.Color = "auto",
        quiet: opt.Quiet = False,
        json_errors: opt.JsonErrors = False,
        debug: opt.Debug = False,
    ) -> Callable[[], int]:
        address = address_of(scheduler, scheduler_file, tls_ca_file, tls_cert, tls_key)
        limits, view = Limits.parse(max_bytes), View(full, precision, color)
        return partial(
            _run,
            Operator(name, axis, batch_dims, version, negative.value, out_of_range.value),
            (data, data_dtype),
            (indices, indices_dtype),
            OutputOptions(
                output,
                fmt,
                force_format,
                WriteOptions(no_clobber, fsync),
                nonfinite,
                limits,
                view,
                opt.chunks_of(chunks, output, fmt),
            ),
            threads,
            _Expected(expect, rtol, atol),
            address,
            Messages(quiet, color, json_errors=json_errors, debug=debug),
        )

    return command


EACH: Final = 1 << 30
"""Bytes that each thread of a worker may take, if nothing else is said."""


class _Expected(NamedTuple):
    """What `--expect` says, and how near the result must be to it."""

    given: str | None
    rtol: float
    atol: float

    @property
    def tolerance(self) -> Tolerance:
        """How near.

        Raises
        ------
        UsageError
            It is not finite.
        """
        from gathercli.arrays.compare import Tolerance

        for option, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if not isfinite(tolerance):
                raise UsageError(
                    f"`--{option}` is {tolerance}: expected a number from 0 on",
                    rule="usage",
                    value=str(tolerance),
                )
        return Tolerance(self.rtol, self.atol)

    def read(self, inputs: Inputs, dtype: DType) -> Tensor | MismatchError | None:
        """Read the tensor, if one is expected of a result of this type."""
        if self.given is None:
            return None
        from gathercli.arrays.compare import hoped

        token = self.given
        return hoped(lambda: inputs.tensor(token, "expect", assumed=dtype, empty=dtype), dtype)


def _run(
    operator: Operator,
    data: tuple[str, str | None],
    indices: tuple[str, str | None],
    sink: OutputOptions,
    threads: int | None,
    expectation: _Expected,
    address: Address | None,
    messages: Messages,
) -> int:
    """Do what was asked: everything that can be refused is, before the first byte of output."""
    from gathercli.arrays.run import run
    from gathercli.io.files import cores
    from gathercli.io.source import Inputs

    op = operator.row(messages)
    sink.check()
    if address is not None:
        _check_cluster(sink, threads, data[0], indices[0])
    Inputs.share_stdin(data[0], indices[0], expectation.given)
    tick = messages.progress() if sink.leaves_terminal else None
    with messages, messages.inputs(sink.limits.held, tick) as inputs:
        bound = operator.bound(op, inputs.tiles, data, indices)
        if address is not None:
            inputs.hold()
        result = run(
            bound,
            max_bytes=sink.most_bytes,
            memory=sink.limits.held,
            threads=threads or cores(),
            progress=tick,
        )
        messages.notes += map(str, result.adjustments)
        filled = any(each.how == OutOfRange.ZERO.done for each in result.adjustments)
        if result.dtype is E8M0 and filled:
            messages.notes.append(f"{E8M0} has no zero: what is filled is 2^-127, all bits zero")
        near, expected = expectation.tolerance, expectation.read(inputs, result.dtype)
        mismatch = None
        in_chunks = sink.chosen == "zarr"
        if in_chunks and expected is not None:  # the output may replace what it is made of
            mismatch = near.difference(result, expected)
        with ExitStack() as stack:
            crew = None
            if address is not None:
                job = operator.job(data, indices)
                crew = stack.enter_context(_crew(job, address, sink.limits, messages))
            sink.write(result, inputs, messages, crew)
        if not in_chunks and expected is not None:
            mismatch = near.difference(result, expected)
    if mismatch is None or not messages.json_errors:
        messages.print()
    if mismatch is not None:
        raise mismatch
    return 0


def _check_cluster(sink: OutputOptions, threads: int | None, *tokens: str) -> None:
    """Refuse what the workers of a scheduler cannot do."""
    from gathercli.io.source import Inputs

    if sink.path is None or sink.chosen != "zarr":
        raise UsageError(
            "`--scheduler` is given, and the output is not in chunks, of which each worker makes "
            "some: expected a .zarr output",
            rule="usage",
            hint=f"`-o {new_name('out', '.zarr')}`; or `gathercli batch`, of whose jobs each "
            "worker does some",
        )
    if threads is not None:
        raise UsageError(
            "`--threads` is given with a scheduler, whose workers have theirs: expected one of "
            "them",
            rule="usage",
            hint="`dask worker --nthreads N` decides how many parts it makes at a time",
        )
    for token in tokens:
        path, _ = Inputs(None).file_of(token)
        if path is not None and (path == "-" or is_stream(path)):
            raise UsageError(
                f"`{clean(path)}` is given with `--scheduler`, whose workers cannot read it: "
                "expected a file that they see",
                rule="usage",
                value=path,
            )


def _crew(
    job: dict[str, Any], address: Address, limits: Limits, messages: Messages
) -> ChunkWorkers:
    """Reach the workers of a scheduler."""
    from gathercli.jobs.chunk_workers import ChunkWorkers

    held = limits.held if limits.typed else EACH
    return ChunkWorkers(job, address, held=held, say=messages.remark, debug=messages.debug)
