"""Run one job and return its line of the report."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.batch.fingerprints import Fingerprints
from gathercli.batch.outcome import ERROR, MISMATCH, Line, is_fault
from gathercli.compute.run import run, unchecked, use_unchecked
from gathercli.errors import (
    GatherError,
    InputError,
    LimitError,
    MismatchError,
    NoInputError,
    OperatorError,
    UsageError,
    refusal_of,
)
from gathercli.io import save
from gathercli.io.formats import encode
from gathercli.io.formats.table import names_chunks
from gathercli.io.jobs.calls import bind, bind_operands, row_of
from gathercli.io.jobs.job import INLINE, SHAPE
from gathercli.io.source import Inputs
from gathercli.io.write import Output, is_stream, make_folder, real_path
from gathercli.ops import engine
from gathercli.spec.coordinates import known
from gathercli.spec.dtypes import Kind
from gathercli.spec.rules import RULES
from gathercli.spec.shapes import Shape, as_shape, product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.compute.chunks import Box
    from gathercli.compute.result import GatherOutput, Result
    from gathercli.io.jobs.job import Job
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType

PAUSE: Final = 0.1
"""Seconds before the first retry; the pause doubles with each retry."""

LONGEST_PAUSE: Final = 5.0
"""The longest pause before a retry in seconds."""

_PART: Final = "\1part "
"""A prefix that names of files in messages cannot have."""


class Settings(NamedTuple):
    """Settings of all jobs of a batch.

    Attributes
    ----------
    memory, file, inline
        The most bytes of memory, of a result in a file, and of one in the report; None for no
        limit.
    threads
        Threads of a job.
    retries
        Retries after a failed read or write.
    allow_outside
        Whether outputs may lie outside the folder of their job.
    dry
        Whether to infer shapes only.
    fingerprints, digests
        Whether lines have `Fingerprints`, and whether these have digests.
    external
        Whether the tensors of models that are in files beside them are read.
    owner
        What the names of temporary files show, by which those of a killed process are found.
    """

    memory: int | None = None
    file: int | None = None
    inline: int | None = INLINE
    threads: int = 1
    retries: int = 0
    allow_outside: bool = True
    dry: bool = False
    fingerprints: bool = False
    digests: bool = False
    external: bool = False
    owner: str = ""


class Part(NamedTuple):
    """A part of the output of a job: the folder for its chunks, their sizes, and a box."""

    path: str
    chunks: tuple[int, ...]
    box: Box

    @classmethod
    def parse(cls, where: str) -> Part | None:
        """Parse the result of `where`; return None for the place of a job in a file."""
        if not where.startswith(_PART):
            return None
        path, chunks, box = json.loads(where.removeprefix(_PART))
        return cls(path, tuple(chunks), tuple((start, stop) for start, stop in box))

    @property
    def where(self) -> str:
        """The part as text, for `JobEntry.where`."""
        return _PART + json.dumps(self)


def line_of(job: Job, text: bytes, settings: Settings, part: Part | None = None) -> Line:
    """Run a job; its line contains any error.

    Parameters
    ----------
    text
        The JSON of the job.
    part
        The part of the output to write; None for the whole output.
    """
    started = time.perf_counter()
    for attempt in range(settings.retries + 1):
        line = Line(job.id, job.output)
        error = _attempt(job, text, settings, line, part)
        _check_expectation(job, settings, line, error)
        if line.status != ERROR or not is_fault(error) or attempt == settings.retries:
            break
        time.sleep(min(PAUSE * 2**attempt, LONGEST_PAUSE))
    line.seconds = time.perf_counter() - started
    return line


def _attempt(
    job: Job, text: bytes, settings: Settings, line: Line, part: Part | None
) -> GatherError | None:
    """Run a job once; return its error, if any."""
    inputs = Inputs(settings.memory, notes=line.notes, folder=job.folder)
    inputs.external, inputs.pipes = settings.external, not settings.dry
    try:
        with inputs:
            try:
                if part is None:
                    _run(job, settings, inputs, line)
                else:
                    _run_part(job, settings, inputs, part)
            finally:
                if settings.fingerprints:
                    line.fingerprints = Fingerprints.of(inputs, job, text, digests=settings.digests)
    except Exception as raised:  # noqa: BLE001  (one job's fault is one failed job)
        error = refusal_of(raised)
        if error is not raised:  # where it was raised decides its cause
            error.__traceback__, error.__context__ = raised.__traceback__, raised
        return error
    return None


def _check_expectation(job: Job, settings: Settings, line: Line, error: GatherError | None) -> None:
    """Compare the error of a job with its expectation; set the status of its line."""
    rule = job.expect_error
    expected = "a refusal" if rule is True else f"a refusal by the rule `{rule}`"
    if error is None:
        unseen = settings.dry and job.op != SHAPE and rule not in _DRY_RULES
        if rule is not None and not unseen:
            line.fail(MismatchError("the call is legal", rule="expect", expected=expected))
    elif rule is None or not isinstance(error, _REFUSALS):
        line.fail(error)
    else:
        line.explain(error)
        if rule not in (True, error.rule):
            line.status = MISMATCH
            line.message = f"{line.message} (expected {expected})"


_REFUSALS: Final = (OperatorError, InputError, LimitError, NoInputError, UsageError)
"""The errors that a job may expect."""

_DRY_RULES: Final = {
    "version",
    "missing",
    "limit",
    *(rule.__name__.replace("_", "-") for rule in RULES),
}
"""The rules that a dry run checks; it does not read elements."""


def _run(job: Job, settings: Settings, inputs: Inputs, line: Line) -> None:
    op = row_of(job, line.notes)
    line.operator = op.full_name
    if settings.dry or job.op == SHAPE:
        call = bind_operands(job, op, inputs)
        shape = engine.infer(call)
        line.shape, line.dtype = shape.to_json(), call.data.dtype and call.data.dtype.name
        if job.op == SHAPE:
            _compare_shapes(job, shape)
        else:
            _check_dry(job, settings, inputs, call)
        return
    limits: Any = {"max_bytes": _most_bytes(job, settings), "threads": settings.threads}
    finish = partial(_finish, job, settings, inputs, line)
    try:
        bound = bind(job, op, inputs)
        once = unchecked(bound, **limits) if job.expect is None and job.output else None
        if once is not None and _is_new_file(job):

            def gather() -> GatherOutput:
                inputs.recheck()
                line.shape = line.dtype = None  # `finish` has set them
                return run(bound, memory=settings.memory, **limits)

            use_unchecked(once, finish, gather)
            return
        result = run(bound, memory=settings.memory, **limits)
    except LimitError as error:
        if job.output is None and error.lifted_by is not None:
            error.remark += ", which `--max-bytes` raises, or an `output` for a file"
        raise
    finish(result)


def _finish(job: Job, settings: Settings, inputs: Inputs, line: Line, result: GatherOutput) -> None:
    """Write a result, and compare it with the expected one."""
    line.shape, line.dtype = list(result.shape), result.dtype.name
    line.adjustments = result.adjustments
    compare = _comparison(job, inputs, result) if job.expect is not None else None
    if job.output is None:
        line.result = encode.typed_json(result)
        inputs.recheck()
    elif names_chunks(job.output):
        _write_chunks(job, result, inputs, settings)
    else:
        _write(job, result, inputs, settings)
    difference = compare() if compare is not None else None
    if difference is not None:
        raise difference


def _comparison(
    job: Job, inputs: Inputs, result: GatherOutput
) -> Callable[[], MismatchError | None]:
    """Read the expected output; return a function that compares the result with it."""
    from gathercli.compute.compare import Tolerance, read_expected

    tolerance = Tolerance(job.rtol, job.atol)
    expected = read_expected(
        lambda dtype: job.tensor("expect", inputs, assumed=dtype), result.dtype, tolerance
    )
    return lambda: tolerance.difference(result, expected)


def _is_new_file(job: Job) -> bool:
    """Return whether the output is a file in an existing folder, named when it is complete."""
    path = os.path.join(job.folder, job.output or "")
    return not names_chunks(path) and os.path.isdir(os.path.dirname(path)) and not is_stream(path)


def _most_bytes(job: Job, settings: Settings) -> int | None:
    """Return the limit of the result in bytes; None for a .zarr output, limited by the disk."""
    if job.output is None:
        return settings.inline
    return None if names_chunks(job.output) else settings.file


def _run_part(job: Job, settings: Settings, inputs: Inputs, part: Part) -> None:
    """Compute and write a part of the output, with checked indices."""
    from gathercli.compute.blocks import GatherBlocks
    from gathercli.io import chunkwise
    from gathercli.io.folders import chunk_format

    blocks = GatherBlocks(bind(job, row_of(job, []), inputs))
    writer = save.creator(chunk_format(part.path)).writer(part.path)
    chunkwise.fill(blocks, writer, part.chunks, part.box, settings.threads)
    inputs.recheck()


def _compare_shapes(job: Job, shape: Shape) -> None:
    if job.expect is None:
        return
    expected = as_shape(job.expect)
    if str(shape) != str(expected):
        raise MismatchError(f"the shape is {shape}", rule="expect", expected=str(expected))


def _check_dry(job: Job, settings: Settings, inputs: Inputs, call: Call) -> None:
    """Check the size, the expected shape and the output of a dry run."""
    shape, dtype = known(engine.infer(call)), call.data.dtype
    most = _most_bytes(job, settings)
    size = product(shape) * (dtype.itemsize if dtype else 1)
    if most is not None and size > most:
        raise LimitError.over(f"the result takes {in_bytes(size)}", size, most)
    if job.expect is not None and not _may_be_pairs(job, dtype):
        expected = Shape(job.described("expect", inputs).shape)
        if expected != shape:
            raise MismatchError(
                f"the shape is {Shape(shape)}", rule="expect", expected=str(expected)
            )
    if job.output is not None and not names_chunks(job.output):
        Output(os.path.join(job.folder, job.output))


def _may_be_pairs(job: Job, dtype: DType | None) -> bool:
    """Return whether `expect` may list complex numbers as pairs, which changes its shape."""
    return dtype is not None and dtype.kind is Kind.COMPLEX and not isinstance(job.expect, dict)


def _output_path(job: Job, settings: Settings) -> tuple[str, str | None]:
    """Return the path of the output, and the real path of a folder that must contain it."""
    within = None if settings.allow_outside else real_path(job.folder)
    return os.path.join(job.folder, job.output or ""), within


def _write_chunks(job: Job, result: Result, inputs: Inputs, settings: Settings) -> None:
    """Write the output in chunks atomically."""
    from gathercli.compute.result import source_of
    from gathercli.io import chunkwise

    path, within = _output_path(job, settings)
    with save.creator(save.format_of(path))(path, within=within) as output:
        make_folder(output.folder)
        chunkwise.write(source_of(result), output, memory=settings.memory, threads=settings.threads)
        inputs.recheck()
        output.commit()


def _write(job: Job, result: Result, inputs: Inputs, settings: Settings) -> None:
    """Write the output atomically."""
    path, within = _output_path(job, settings)
    with Output(path, within=within) as output:
        fmt, results = save.format_of(path), [("output", result)]
        output.open(save.least_sum(fmt, results), parents=True)
        stream = save.CheckedStream(output.stream, inputs)
        save.write(fmt, results, stream, max_bytes=settings.memory)
        inputs.recheck()
        output.commit()
