"""Run one job and return its line of the report; a process of a `Pool` does so for each task.

::

    task    number start stop  a job, and the span of its record in the spool
    answer                     `Outcome.record`

A task is a line of standard input, after one of settings, and answers go to stdout. The process
first writes ``ready``. It ends with its input, or as soon as its parent is gone.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import errors
from gathercli.batch.journal import stamp_of, stamp_of_names
from gathercli.batch.outcome import ERROR, MISMATCH, Line, Outcome, is_fault
from gathercli.cli.main import let_signals_unwind
from gathercli.compute.run import boxes, consume, run, warm_up
from gathercli.compute.tensor import MOST_PACKED_VALUES, Result
from gathercli.io import save
from gathercli.io.descriptors import STDOUT, write_all
from gathercli.io.files import STDIN
from gathercli.io.formats import encode
from gathercli.io.formats.table import names_chunks
from gathercli.io.jobs import INLINE_BYTES, SHAPE, Job, bind, bind_operands, read_again, row_of
from gathercli.io.source import Inputs
from gathercli.io.stream import remove_temporaries, set_owner
from gathercli.io.write import Output, is_stream, make_folder, real_path
from gathercli.spec import rules
from gathercli.spec.call import Call
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import Op
from gathercli.spec.shapes import Shape, as_shape, known, product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from gathercli.compute.run import GatherOutput
    from gathercli.compute.storage import Box


RETRY_PAUSE: Final = 0.1  # seconds before the first retry; the pause doubles with each retry
MAX_RETRY_PAUSE: Final = 5.0  # the longest pause before a retry in seconds
_PART_PREFIX: Final = "\1part "  # a prefix that names of files in messages cannot have


class Settings(NamedTuple):
    """Settings of all jobs of a batch; limits are in bytes, None for none."""

    memory: int | None = None  # that a job may use
    file: int | None = None  # of a result in a file
    inline: int | None = INLINE_BYTES  # of a result in the report
    threads: int = 1  # of a job
    retries: int = 0  # after a failed read or write
    allow_outside: bool = True  # whether outputs may lie outside the folder of their job
    dry: bool = False  # whether to infer shapes only
    stamps: bool = False  # whether lines have a `journal.stamp_of` their files
    digests: bool = False  # and whether it has digests of their contents
    external: bool = False  # whether the tensors of models that are in files beside them are read
    timeout: float | None = None  # seconds of a job
    divided: bool = False  # whether a job has its share of a dask worker's memory, not `memory`
    debug: bool = False  # whether the stderr of processes is shown
    folder: str | None = None  # of relative paths; None for the working folder
    # what names of temporary files show, by which those of a killed process are found
    owner: str = ""


class Part(NamedTuple):
    """A part of the output of a job: the folder for its chunks, their sizes, and a box."""

    path: str
    chunks: tuple[int, ...]
    box: Box

    @classmethod
    def parse(cls, where: str) -> Part | None:
        """Parse the result of `where`; return None for the place of a job in a file."""
        if not where.startswith(_PART_PREFIX):
            return None
        path, chunks, box = json.loads(where.removeprefix(_PART_PREFIX))
        return cls(path, tuple(chunks), tuple((start, stop) for start, stop in box))

    @property
    def where(self) -> str:
        """The part as text, for `Job.where`."""
        return _PART_PREFIX + json.dumps(self)


def line_of(job: Job, settings: Settings) -> Line:
    """Run a job, or write a part of its output; its line contains any error."""
    started = time.perf_counter()
    for attempt in range(settings.retries + 1):
        line = Line(job.id, job.output)
        inputs = Inputs(settings.memory, notes=line.notes, folder=job.folder)
        inputs.external, inputs.pipes = settings.external, not settings.dry
        path = job.output_path
        run = _JobRun(job, settings, line, inputs, path, names_chunks(path))
        error = run.error()
        run.expect(error)
        if line.status != ERROR or not is_fault(error) or attempt == settings.retries:
            break
        time.sleep(min(RETRY_PAUSE * 2**attempt, MAX_RETRY_PAUSE))
    line.seconds = time.perf_counter() - started
    return line


# The most bytes of a job whose shape takes less time than to tell a process of the job.
MAX_INFERRED_BYTES: Final = 1 << 12


def inferred(number: int, job: Job, settings: Settings) -> Outcome | None:
    """Infer the outcome of a small job without files; None if a process must run the job."""
    if len(job.text) > MAX_INFERRED_BYTES or any(isinstance(each, str) for each in job.tensors):
        return None
    return Outcome.of(number, line_of(job, settings))


# The errors that a job may expect.
_REFUSALS: Final = (
    errors.OperatorError,
    errors.InputError,
    errors.LimitError,
    errors.NoInputError,
    errors.UsageError,
)
# The rules that a dry run checks; it does not read elements.
_DRY_RULES: Final = {"version", "missing", *rules.statements()} - {*rules.VALUE_RULES}


class _JobRun(NamedTuple):
    """A run of a job, which fills the line of the job in the report."""

    job: Job
    settings: Settings
    line: Line
    inputs: Inputs
    path: str  # of the output; blank without one
    is_chunked: bool  # whether the output is a folder of chunks

    @property
    def most_bytes(self) -> int | None:
        """The limit of the result in bytes; None for a folder of chunks, limited by the disk."""
        if not self.path:
            return self.settings.inline
        return None if self.is_chunked else self.settings.file

    @property
    def within(self) -> str | None:
        """The real path of a folder that must contain the output, if one must."""
        return None if self.settings.allow_outside else real_path(self.job.folder)

    def error(self) -> errors.GatherError | None:
        """Run the job once; return its error, if any."""
        settings, inputs = self.settings, self.inputs
        part = Part.parse(self.job.where)
        try:
            with inputs:
                try:
                    if part is not None:
                        self._write_part(part)
                    elif settings.dry or self.job.op == SHAPE:
                        self._infer()
                    else:
                        self._compute()
                finally:
                    if settings.stamps:
                        self.line.stamp = stamp_of(inputs, self.job, digests=settings.digests)
        except Exception as raised:  # noqa: BLE001  (one job's fault is one failed job)
            error = errors.refusal_of(raised)
            if error is not raised:  # where it was raised decides its cause
                error.__traceback__, error.__context__ = raised.__traceback__, raised
            return error
        return None

    def expect(self, error: errors.GatherError | None) -> None:
        """Compare the error of the run with the expected one; set the status of the line."""
        line, rule = self.line, self.job.expect_error
        expected = "a refusal" if rule is True else f"a refusal by the rule `{rule}`"
        if error is None:
            is_dry = self.settings.dry and self.job.op != SHAPE
            if rule is not None and not (is_dry and rule not in _DRY_RULES):
                what = "the call is legal"
                line.fail(errors.MismatchError(what, rule="expect", expected=expected))
        elif rule is None or not isinstance(error, _REFUSALS):
            line.fail(error)
        else:
            line.explain(error)
            if rule not in (True, error.rule):
                line.status = MISMATCH
                line.message = f"{line.message} (expected {expected})"

    def _row(self) -> Op:
        """Return the version of the job, which its line names."""
        op = row_of(self.job, self.line.notes)
        self.line.operator = op.full_name
        return op

    def _infer(self) -> None:
        """Infer the shape; compare it with the expected one."""
        job, line = self.job, self.line
        call = bind_operands(job, self._row(), self.inputs)
        line.shape, line.dtype = call.shape.to_json(), call.data.dtype and call.data.dtype.name
        if job.op != SHAPE:
            self._check_dry(call)
        elif job.expect is not None:
            _check_shape(call.shape, as_shape(job.expect))

    def _check_dry(self, call: Call) -> None:
        """Check the size, the expected shape and the output of a dry run."""
        job, shape, dtype = self.job, known(call.shape), call.data.dtype
        size = product(shape) * (dtype.itemsize if dtype else 1)
        if self.most_bytes is not None and size > self.most_bytes:
            what = f"the result takes {in_bytes(size)}"
            raise errors.LimitError.over(what, size, self.most_bytes)
        # Pairs may stand for complex numbers, which changes the shape.
        is_complex = dtype is not None and dtype.kind is Kind.COMPLEX
        if job.expect is not None and (not is_complex or isinstance(job.expect, dict)):
            _check_shape(Shape(shape), Shape(job.described("expect", self.inputs).shape))
        if self.path and not self.is_chunked:
            Output(self.path)

    def _compute(self) -> None:
        """Run the call and write its result; many indices are read once, if nothing forbids it."""
        job, inputs, settings = self.job, self.inputs, self.settings
        limits: Any = {
            "max_bytes": self.most_bytes,
            "memory": settings.memory,
            "threads": settings.threads,
        }
        op = self._row()
        try:
            bound = bind(job, op, inputs)
            # Of few indices all are checked first, and nobody asks for the folder.
            is_new = job.expect is None and "/" in self.path and not self.is_chunked
            many = is_new and product(bound.indices.shape) > MOST_PACKED_VALUES
            if many and os.path.isdir(os.path.dirname(self.path)) and not is_stream(self.path):

                def recheck() -> None:
                    inputs.recheck()
                    self.line.shape = self.line.dtype = None  # `_finish` has set them

                consume(bound, self._finish, recheck=recheck, **limits)
                return
            result = run(bound, **limits)
        except errors.LimitError as error:
            if job.output is None and error.lifted_by is not None:
                error.remark += ", which `--max-bytes` raises, or an `output` for a file"
            raise
        self._finish(result)

    def _finish(self, result: GatherOutput) -> None:
        """Write a result, and compare it with the expected one."""
        line, job = self.line, self.job
        line.shape, line.dtype = list(result.shape), result.dtype.name
        line.adjustments = result.adjustments
        if job.expect is not None:  # which is read before the output, as that may replace it
            from gathercli.compute.compare import Tolerance, read_expected

            tolerance = Tolerance(job.rtol, job.atol)
            expected = read_expected(
                lambda dtype: job.tensor("expect", self.inputs, assumed=dtype),
                result.dtype,
                tolerance,
            )
        if not self.path:
            line.result = encode.typed_json(result)
            self.inputs.recheck()
        else:
            self._write(result)
        if job.expect is not None and (error := tolerance.difference(result, expected)) is not None:
            raise error

    def _write(self, result: Result) -> None:
        """Write the output to a file, or in chunks to a folder, atomically."""
        path, settings, results = self.path, self.settings, [("output", result)]
        fmt = save.format_of(path)
        if self.is_chunked:
            with save.creator(fmt)(path, self.inputs, within=self.within) as array:
                make_folder(array.folder)
                array.write(result, memory=settings.memory, threads=settings.threads)
                array.commit()
            return
        with Output(path, self.inputs, within=self.within) as output:
            output.open(save.least_sum(fmt, results), parents=True)
            save.write(fmt, results, output.stream, max_bytes=settings.memory)
            output.commit()

    def _write_part(self, part: Part) -> None:
        from gathercli.io.zarr import created, stored

        blocks = boxes(bind(self.job, row_of(self.job, []), self.inputs))
        writer = stored.writer_at(part.path)
        created.fill(blocks, writer, part.chunks, part.box, self.settings.threads)
        self.inputs.recheck()


def _check_shape(shape: Shape, expected: Shape) -> None:
    if str(shape) != str(expected):
        raise errors.MismatchError(f"the shape is {shape}", rule="expect", expected=str(expected))


def remove_unfinished(job: Job, settings: Settings) -> None:
    """Remove the unfinished output of a job whose process was killed."""
    if job.output is not None:
        path = os.path.join(settings.folder or "", job.output_path.rstrip("/"))
        remove_temporaries(os.path.dirname(path), settings.owner, os.path.basename(path))


def lost_job(
    record: bytes, number: int, settings: Settings, why: tuple[str, str], seconds: float = 0.0
) -> Outcome:
    """Clear up after a job whose process died; return its failure, `why` a rule and a message."""
    job = read_again(record)
    remove_unfinished(job, settings)
    line = Line(job.id, job.output, ERROR, *why, seconds=seconds)
    with suppress(errors.GatherError):
        line.operator = row_of(job, []).full_name
    if settings.stamps:
        line.stamp = stamp_of_names(job, digests=settings.digests)
    return Outcome.of(number, line)


READY_LINE: Final = b"ready\n"
GRACE_SECONDS: Final = 2.0  # seconds after SIGTERM for a process to remove its temporary files
# A job that imports all modules before other jobs are timed.
_WARM_UP_JOB: Final = Job(id="first", op="gather", inputs={"data": [0], "indices": [0]})


def run_worker() -> None:
    """Run the jobs of all tasks; the argument is the file of the spool."""
    fd = int(sys.argv[1])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent may ignore it
    let_signals_unwind()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    requests, answers = _take_over(STDIN), _take_over(STDOUT)
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    warm_up()  # before jobs are timed

    line_of(_WARM_UP_JOB, Settings())
    gc.freeze()  # what is there stays, and need not be looked at again and again
    try:
        with open(requests, "rb") as tasks:
            if not (line := tasks.readline()):  # the parent has no job
                return
            settings = Settings(*json.loads(line))
            set_owner(settings.owner)
            write_all(answers, READY_LINE)
            for task in tasks:
                if not task.endswith(b"\n"):  # the parent died as it wrote
                    break
                number, start, stop = map(int, task.split())
                write_all(answers, answer(number, os.pread(fd, stop - start, start), settings))
    except ConnectionError:  # the parent is gone
        os._exit(1)


def _take_over(fd: int) -> int:
    """Move a standard stream to another descriptor, as a job may read ``/dev/stdin``."""
    stream = os.dup(fd)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, fd)
    os.close(null)
    return stream


def _end_with(fd: int) -> None:
    """End this process when its parent is gone, even during a job."""
    end = select.poll()
    end.register(fd, 0)
    end.poll()
    main_thread = threading.main_thread().ident
    if main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(143)


def answer(number: int, record: bytes, settings: Settings) -> bytes:
    """Run a job and return its answer."""
    return Outcome.of(number, line_of(read_again(record), settings)).record()
