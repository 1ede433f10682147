"""One job: run it, and write down how it ended."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import engine
from gathercli.arrays.compare import Tolerance, read_expected
from gathercli.arrays.run import run
from gathercli.errors import (
    GatherError,
    InputError,
    LimitError,
    MismatchError,
    NoInputError,
    OperatorError,
    OutputError,
    TransferError,
    UsageError,
    refusal_of,
)
from gathercli.io import save
from gathercli.io.formats import encode
from gathercli.io.formats.table import creator, names_chunks
from gathercli.io.source import Inputs
from gathercli.io.write import CheckedStream, Output, make_folder, real_path
from gathercli.jobs.calls import bound, described, row_of
from gathercli.jobs.fingerprints import Fingerprints, digest
from gathercli.jobs.job import INLINE, SHAPE
from gathercli.spec.coordinates import known
from gathercli.spec.dtypes import Kind
from gathercli.spec.rules import RULES
from gathercli.spec.shapes import Shape, as_shape, product
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.chunks import Box
    from gathercli.arrays.result import Result
    from gathercli.jobs.job import Job
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType

OK: Final = "ok"
MISMATCH: Final = "mismatch"
ERROR: Final = "error"


LONGEST: Final = 2000
"""Characters of a message in the report."""

PAUSE: Final = 0.1
"""Seconds before a job is tried again after a fault; twice as many before the next time."""

LONGEST_PAUSE: Final = 5.0
"""Seconds after which they do not grow any more."""


_PART: Final = "\1part "
"""What no name of a file begins with as messages write it."""

_JSON: Final = json.JSONEncoder(separators=(",", ":")).encode


class Settings(NamedTuple):
    """What holds for every job of a batch.

    Attributes
    ----------
    held, file, inline
        How many bytes may be held in memory, and how large a result may be in a file, and in the
        report; None for any.
    threads
        How many may work on one job.
    retries
        How often a job is tried again after a fault of reading or writing.
    anywhere
        Whether outputs may lie outside the folder of their job.
    dry
        Whether shapes are inferred and nothing is run.
    stamped, hashed
        Whether lines say what the files were like, and whether by their content.
    """

    held: int | None = None
    file: int | None = None
    inline: int | None = INLINE
    threads: int = 1
    retries: int = 0
    anywhere: bool = True
    dry: bool = False
    stamped: bool = False
    hashed: bool = False


@dataclass(slots=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    rule, message
        What refused, and how; None when nothing did.
    output
        The file, as the job names it; None when it has none.
    result
        JSON of the typed tensor.
    notes, treated
        What the user should know beside it, of the reading and of the indices; no part of the line.
    """

    id: str
    output: str | None = None
    status: str = OK
    rule: str | None = None
    message: str | None = None
    operator: str | None = None
    shape: list[int | str] | None = None
    dtype: str | None = None
    result: str = "null"
    seconds: float = 0.0
    stamps: Fingerprints | None = None
    notes: list[str] = field(default_factory=list)
    adjustments: tuple[Adjustment, ...] = ()

    def kinds(self) -> dict[str, str]:
        """Name the notes by what they have in common with those of other jobs."""
        return dict(zip(self.notes, self.notes, strict=True)) | {
            each.how: str(each) for each in self.adjustments
        }

    def failed(self, error: GatherError) -> None:
        """Say how the job failed."""
        self.status = MISMATCH if isinstance(error, MismatchError) else ERROR
        self.refused(error)

    def refused(self, error: GatherError) -> None:
        """Say what was refused."""
        message = error.message
        self.rule = error.rule
        self.message = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
        self.operator = self.operator or error.operator

    def __bytes__(self) -> bytes:
        """Write it as JSON, with its end."""
        head: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "rule": self.rule,
            "message": self.message,
            "operator": self.operator,
            "shape": self.shape,
            "dtype": self.dtype,
        }
        tail: dict[str, Any] = {"seconds": round(self.seconds, 6)}
        if self.output is not None:
            head["output"] = self.output
        else:
            head["result"] = 0
        if self.stamps is not None:
            tail["stamp"] = self.stamps.to_json()
        text = _JSON(head)
        if self.output is None:
            text = f"{text[:-2]}{self.result}}}"
        return f"{text[:-1]},{_JSON(tail)[1:]}\n".encode()


class Part(NamedTuple):
    """A part of the output of a job: the folder that takes its chunks, their sizes, and a box."""

    path: str
    chunks: tuple[int, ...]
    box: Box

    @classmethod
    def parse(cls, where: str) -> Part | None:
        """Read what `where` wrote; None for the place of a job in a file."""
        if not where.startswith(_PART):
            return None
        path, chunks, box = json.loads(where.removeprefix(_PART))
        return cls(path, tuple(chunks), tuple((start, stop) for start, stop in box))

    @property
    def where(self) -> str:
        """What stands where a job would say from which file it is."""
        return _PART + json.dumps(self)


def line_of(job: Job, text: bytes, settings: Settings, part: Part | None = None) -> Line:
    """Do a job; whatever goes wrong is in the line.

    Parameters
    ----------
    text
        The JSON that the job was read from.
    part
        What is made of it, where that is not all.
    """
    started = time.perf_counter()
    for attempt in range(settings.retries + 1):
        line = Line(job.id, job.output)
        fault = _attempt(job, settings, line, part)
        if not fault or attempt == settings.retries:
            break
        time.sleep(min(PAUSE * 2**attempt, LONGEST_PAUSE))
    line.seconds = time.perf_counter() - started
    if line.stamps is not None:
        line.stamps = line.stamps._replace(job=digest(text).hex())
    return line


def _attempt(job: Job, settings: Settings, line: Line, part: Part | None) -> bool:
    """Do a job once; tell whether reading or writing failed, so that it may go better next time."""
    inputs = Inputs(settings.held, notes=line.notes, folder=job.folder)
    error: GatherError | None = None
    try:
        with inputs:
            try:
                if part is None:
                    _run(job, settings, inputs, line)
                else:
                    _run_part(job, settings, inputs, part)
            finally:
                if settings.stamped:
                    line.stamps = Fingerprints.of(inputs, job, hashed=settings.hashed)
    except Exception as raised:  # noqa: BLE001  (one job's fault is one failed job)
        error = refusal_of(raised)
        if error.rule == "missing":  # the place where it was looked for; and no job reads `-`
            path = clean(os.path.join(job.folder, str(error.value)))
            error.message = error.message.partition("there is no file")[0] + (
                f"there is no file `{path}`: expected a file, or a literal such as 0,0,4"
            )
    _judge(job, settings, line, error)
    fault = isinstance(error, TransferError | OutputError) or (
        isinstance(error, NoInputError) and error.rule == "unreadable"
    )
    return fault and line.status == ERROR


def _judge(job: Job, settings: Settings, line: Line, error: GatherError | None) -> None:
    """Compare how a job ended with how it should."""
    wanted = job.expect_error
    if wanted is None:
        if error is not None:
            line.failed(error)
        return
    rule = "a refusal" if wanted is True else f"a refusal by the rule `{wanted}`"
    if error is None:
        if not settings.dry or job.op == SHAPE or wanted in _FORESEEN:
            line.failed(MismatchError(f"the call is legal: expected {rule}", rule="expect"))
    elif not isinstance(error, _REFUSALS):
        line.failed(error)
    else:
        line.refused(error)
        if wanted not in (True, error.rule):
            line.status = MISMATCH
            line.message = f"{line.message} (expected {rule})"


_REFUSALS: Final = (OperatorError, InputError, LimitError, NoInputError, UsageError)
"""What a job may expect: that the call, or a tensor, is refused."""

_FORESEEN: Final = {
    "version",
    "missing",
    "limit",
    *(rule.__name__.replace("_", "-") for rule in RULES),
}
"""The rules that are tried even where nothing is run; indices and contents are not seen there."""


def _run(job: Job, settings: Settings, inputs: Inputs, line: Line) -> None:
    op = row_of(job, line.notes)
    line.operator = op.full_name
    if settings.dry:
        _refuse_pipes(job, inputs)
    if settings.dry or job.op == SHAPE:
        call = described(job, op, inputs)
        shape = engine.infer(call)
        line.shape, line.dtype = shape.to_json(), call.data.dtype and call.data.dtype.name
        if job.op == SHAPE:
            _compare_shapes(job, shape)
        else:
            _foresee(job, settings, inputs, call)
        return
    try:
        result = run(
            bound(job, op, inputs),
            max_bytes=_most_bytes(job, settings),
            memory=settings.held,
            threads=settings.threads,
        )
    except LimitError as error:
        if job.output is None:
            error.message += ", which `--max-bytes` raises, or an `output` for a file"
        raise
    line.shape, line.dtype = list(result.shape), result.dtype.name
    line.adjustments = result.adjustments
    expected = None
    if job.expect is not None:
        expected = read_expected(
            lambda: job.tensor("expect", inputs, assumed=result.dtype), result.dtype
        )
    if job.output is None:
        line.result = "".join(encode.typed(result))
        inputs.recheck()
    elif names_chunks(job.output):
        _write_chunks(job, result, inputs, settings)
    else:
        _write(job, result, inputs, settings)
    difference = expected and Tolerance(job.rtol, job.atol).difference(result, expected)
    if difference is not None:
        raise difference


def _most_bytes(job: Job, settings: Settings) -> int | None:
    """Return how large the result may be; a .zarr output is limited by the disk alone."""
    if job.output is None:
        return settings.inline
    return None if names_chunks(job.output) else settings.file


def _run_part(job: Job, settings: Settings, inputs: Inputs, part: Part) -> None:
    """Compute and write a part of the output, all of whose indices were checked."""
    from gathercli.arrays.blocks import GatherBlocks
    from gathercli.io import chunkwise

    blocks = GatherBlocks(bound(job, row_of(job, []), inputs))
    writer = creator(save.format_of(job.output or "")).writer(part.path)
    chunkwise.fill(blocks, writer, part.chunks, part.box, settings.threads)
    inputs.recheck()


def _refuse_pipes(job: Job, inputs: Inputs) -> None:
    """Refuse to wait for what a pipe will hold where only headers are looked at."""
    for token in job.tensors if job.op != SHAPE else ():
        path = inputs.file_of(token)[0] if isinstance(token, str) else None
        full = os.path.join(job.folder, path or "")
        if path is not None and os.path.exists(full) and stat.S_ISFIFO(os.stat(full).st_mode):
            raise NoInputError(
                f"`{clean(path)}` is a pipe, which a dry run does not read: expected a file",
                rule="unreadable",
                value=path,
            )


def _compare_shapes(job: Job, shape: Shape) -> None:
    if job.expect is None:
        return
    expected = as_shape(job.expect)
    if str(shape) != str(expected):
        raise MismatchError(f"the shape is {shape}: expected {expected}", rule="expect")


def _foresee(job: Job, settings: Settings, inputs: Inputs, call: Call) -> None:
    """Try what can be tried before a run: the size, the shape that is expected, the output."""
    shape, dtype = known(engine.infer(call)), call.data.dtype
    most = _most_bytes(job, settings)
    size = product(shape) * (dtype.itemsize if dtype else 1)
    if most is not None and size > most:
        raise LimitError.over(f"the result takes {size} bytes", size, most)
    if job.expect is not None and not _folds(job, dtype):
        expected = job.operand("expect", inputs).shape
        if expected != shape:
            raise MismatchError(f"the shape is {Shape(shape)}: expected {expected}", rule="expect")
    if job.output is not None and not names_chunks(job.output):
        Output(os.path.join(job.folder, job.output))


def _folds(job: Job, dtype: DType | None) -> bool:
    """Tell whether a list of pairs may stand for complex numbers, in another shape."""
    return dtype is not None and dtype.kind is Kind.COMPLEX and not isinstance(job.expect, dict)


def _place(job: Job, settings: Settings) -> tuple[str, str | None]:
    """Return the path of the output, and the folder out of which no link may lead."""
    within = None if settings.anywhere else real_path(job.folder)
    return os.path.join(job.folder, job.output or ""), within


def _write_chunks(job: Job, result: Result, inputs: Inputs, settings: Settings) -> None:
    """Write the output in chunks, as `_write` does."""
    from gathercli.io import chunkwise

    path, within = _place(job, settings)
    with creator(save.format_of(path))(path, within=within) as output:
        make_folder(output.folder)
        chunkwise.write(result.source(), output, held=settings.held, threads=settings.threads)
        inputs.recheck()
        output.commit()


def _write(job: Job, result: Result, inputs: Inputs, settings: Settings) -> None:
    """Write the output; it gets its name only when all of it is there."""
    path, within = _place(job, settings)
    with Output(path, within=within) as output:
        make_folder(os.path.dirname(path))
        output.open(result.nbytes)
        stream = CheckedStream(output.stream, inputs)
        save.write(save.format_of(path), [("output", result)], stream, max_bytes=settings.held)
        inputs.recheck()
        output.commit()
