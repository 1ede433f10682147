"""`batch`: thousands of jobs, and a line of report for each."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gathercli.cli import options as opt
from gathercli.cli.commands import batchoptions as own
from gathercli.cli.commands.jobs import Batch, Reporting, Running
from gathercli.cli.limits import Limits
from gathercli.cli.messages import Messages
from gathercli.cli.operator import choice, integer
from gathercli.cli.scheduler import address_of
from gathercli.errors import UsageError
from gathercli.io.write import is_stream, real_path
from gathercli.ops import FAMILIES, no_operator
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.cli.commands.patterns import Patterns
    from gathercli.jobs.jobfile import Written
    from gathercli.jobs.tally import Limit


class _Given(NamedTuple):
    """Options that make jobs without a file, as typed; None or False where they were not."""

    op: str | None
    data: str | None
    indices: str | None
    output: str | None
    expect: str | None
    matrix: list[str]
    axis: str | None
    batch_dims: str | None
    version: str | None
    negative: str | None
    out_of_range: str | None
    data_dtype: str | None
    indices_dtype: str | None
    rtol: float
    atol: float

    def used(self) -> list[str]:
        """Name the options that were typed."""
        return [f"--{key.replace('_', '-')}" for key, v in self._asdict().items() if v]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    jobs: own.Jobs = None,
    op: own.Op = None,
    data: own.DataPattern = None,
    indices: own.IndicesPattern = None,
    output: own.OutputPattern = None,
    matrix: own.Matrix = None,
    axis: opt.Axis = None,
    batch_dims: opt.BatchDims = "0",
    version: opt.Version = None,
    negative: opt.NegativeChoice = Negative.SPEC,
    out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
    data_dtype: opt.DataDtype = None,
    indices_dtype: opt.IndicesDtype = None,
    expect: own.ExpectPattern = None,
    rtol: opt.Rtol = 0.0,
    atol: opt.Atol = 0.0,
    dry_run: own.DryRun = False,
    allow_outside: own.AllowOutside = False,
    workers: own.Workers = None,
    fail_fast: own.FailFast = False,
    max_failures: own.MaxFailures = None,
    retries: own.Retries = 0,
    timeout: own.Timeout = None,
    max_bytes: opt.MaxBytes = None,
    scheduler: opt.Scheduler = None,
    scheduler_file: opt.SchedulerFile = None,
    tls_ca_file: opt.CaFile = None,
    tls_cert: opt.Certificate = None,
    tls_key: opt.CertificateKey = None,
    report: own.Report = None,
    resume: own.Resume = False,
    resume_failed: own.ResumeFailed = False,
    hashed: own.Hash = False,
    junit: own.Junit = None,
    fmt: opt.TextFormat = "auto",
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    given = _Given(
        op=op,
        data=data,
        indices=indices,
        output=output,
        expect=expect,
        matrix=matrix or [],
        axis=axis,
        batch_dims=None if batch_dims == "0" else batch_dims,
        version=version,
        negative=None if negative is Negative.SPEC else negative.value,
        out_of_range=None if out_of_range is OutOfRange.SPEC else out_of_range.value,
        data_dtype=data_dtype,
        indices_dtype=indices_dtype,
        rtol=rtol,
        atol=atol,
    )
    limits, limit = Limits.parse(max_bytes), _limit(max_failures, fail_fast=fail_fast)
    return partial(
        _run,
        jobs or [],
        given,
        Running(
            limits=limits,
            dry=dry_run,
            anywhere=allow_outside,
            workers=workers,
            limit=limit,
            retries=retries,
            timeout=timeout,
            debug=debug,
            address=address_of(scheduler, scheduler_file, tls_ca_file, tls_cert, tls_key),
        ),
        Reporting(
            path=None if report == "-" else report,
            fmt=fmt,
            junit=junit,
            resume=resume,
            failed=resume_failed,
            hashed=hashed,
        ),
        Messages(quiet, color, json_errors=json_errors, debug=debug),
    )


def _limit(text: str | None, *, fail_fast: bool) -> Limit | None:
    """Read how many jobs may fail."""
    from gathercli.jobs.tally import Limit

    if text is None:
        return Limit(0) if fail_fast else None
    found = re.fullmatch(r"(\d{1,12})|(\d{1,3}(?:\.\d{1,6})?)%", text, re.ASCII)
    if found is None or float(found[2] or 0) > 100 or fail_fast:
        raise UsageError(
            f"`--max-failures` is `{clean(text)}`"
            + (", beside `--fail-fast`: expected one of them" if fail_fast and found else "")
            + ("" if fail_fast and found else ": expected a number of jobs, or a percentage"),
            rule="usage",
            value=text,
            hint="`--max-failures 10` or `--max-failures 5%`",
        )
    return Limit(int(found[1])) if found[1] else Limit(float(found[2]), percent=True)


def _run(
    words: list[str], given: _Given, running: Running, reporting: Reporting, messages: Messages
) -> int:
    from gathercli.jobs.journal import check
    from gathercli.jobs.plan import Plan

    _check(running, reporting)
    written, files = _sources(words, given, reporting, messages)
    taken = _taken(files, reporting)
    if reporting.path is not None:
        check(reporting.path, resumes=reporting.resumes)
    running = running._replace(anywhere=running.anywhere or given.op is not None)
    with Plan(written, anywhere=running.anywhere, taken=taken) as plan:
        return Batch(plan, running, reporting, messages).run()


def _check(running: Running, reporting: Reporting) -> None:
    """Refuse options that contradict each other."""
    if running.workers is not None and running.address is not None:
        raise UsageError(
            "`--workers` is given with a scheduler, whose workers do the jobs: "
            "expected one of them",
            rule="usage",
            hint="`dask worker --nthreads N` decides how many jobs it does at a time",
        )
    about = (
        ("--report", reporting.path),
        ("--junit", reporting.junit),
        ("--resume", reporting.resume),
        ("--resume-failed", reporting.failed),
    )
    wrong = next((name for name, given in about if given), None) if running.dry else None
    if wrong:
        raise UsageError(
            f"`{wrong}` is given with `--dry-run`, which does no job: expected one of them",
            rule="usage",
        )
    for name, given in (("--resume", reporting.resumes), ("--hash", reporting.hashed)):
        if given and (reporting.path is None or is_stream(reporting.path)):
            raise UsageError(
                f"`{name}` is given without a report in a file: expected `--report FILE`",
                rule="usage",
                hint="`--report report.jsonl` keeps what was done",
            )
    if running.timeout is not None and not 0 < running.timeout < float("inf"):
        raise UsageError(
            f"`--timeout` is {running.timeout:g}: expected seconds, more than 0", rule="usage"
        )


def _taken(files: list[str], reporting: Reporting) -> dict[str, str]:
    """Name the files that no job may write; nor may the report be one that holds jobs."""
    from gathercli.jobs.paths import JOB_FILE

    taken = dict.fromkeys(map(real_path, files), JOB_FILE)
    for name, path, what in (
        ("--report", reporting.path, "the report"),
        ("--junit", reporting.junit, "the JUnit file"),
    ):
        if path is None:
            continue
        real = real_path(path)
        if real in taken:
            raise UsageError(
                f"`{name}` is `{clean(path)}`, which is {taken[real]}: expected another file",
                rule="usage",
                value=path,
            )
        if not is_stream(path):
            taken[real] = what
    return taken


def _sources(
    words: list[str], given: _Given, reporting: Reporting, messages: Messages
) -> tuple[Iterable[Written], list[str]]:
    """Find the jobs, and the files that hold them; a report in a folder of jobs is none."""
    from gathercli.cli.commands.patterns import is_matrix
    from gathercli.jobs.jobfile import files, written

    if given.op is not None:
        for word in words:
            if not given.matrix or not is_matrix(word):
                raise UsageError(
                    f"`{clean(word)}` is given beside `--op`: expected files of jobs, or `--op`",
                    rule="usage",
                    value=word,
                    hint="a pattern is quoted, so that the shell leaves it: `--data 'in/*.npy'`",
                )
        return _patterns(given, words, messages).written(), []
    if used := given.used():
        raise UsageError(
            f"`{used[0]}` is given without `--op`: expected it in the jobs themselves, or `--op`",
            rule="usage",
            hint="`--op gather --data 'in/*.npy' --indices …` makes jobs without a file",
        )
    if not words or words.count("-") > 1:
        what = "`-` is given twice: expected it once" if words else "there are no jobs: expected "
        raise UsageError(
            what + ("" if words else "files of jobs, or `--op` and `--data`"),
            rule="usage",
            hint="`gathercli batch jobs.jsonl`",
        )
    own = {real_path(path) for path in (reporting.path, reporting.junit) if path}
    found = [
        path for word in words for path in files(word) if path == word or real_path(path) not in own
    ]
    return chain.from_iterable(map(written, found)), [path for path in found if path != "-"]


def _patterns(given: _Given, words: list[str], messages: Messages) -> Patterns:
    """Take the options for what they say of every job."""
    from gathercli.cli.commands.patterns import (
        INTEGERS,
        SETTINGS,
        Patterns,
        check_setting,
        matrix_of,
    )

    op, data, indices = given.op, given.data, given.indices
    if not op or not data or not indices:
        missing = "--indices" if data else "--data"
        raise UsageError(
            f"`--op` is given without `{missing}`: expected `--data` and `--indices`",
            rule="usage",
        )
    if op not in FAMILIES:
        raise no_operator(op, "`--op` is")
    chosen = {key: v for key in SETTINGS if (v := getattr(given, key)) is not None}
    matrix = matrix_of([*given.matrix, *words])
    if twice := chosen.keys() & matrix.keys():
        name = f"--{min(twice).replace('_', '-')}"
        raise UsageError(
            f"`{name}` is given, and in `--matrix` too: expected it once", rule="usage"
        )
    for key, values in [*((key, [v]) for key, v in chosen.items()), *matrix.items()]:
        for value in values:
            check_setting(op, key, value)
    if "version" not in {*chosen, *matrix}:  # which jobs of a file would leave to the default
        row = choice(op, None)
        if row.version_from is not None:
            chosen["version"] = row.op.id
            messages.remark(row.note or f"{row.op} runs, as {row.version_from} says")
    fixed = {key: integer(v) if key in INTEGERS else v for key, v in chosen.items()}
    fixed |= {key: v for key in ("rtol", "atol") if (v := getattr(given, key))}
    filled = {key: v for key in ("indices", "output", "expect") if (v := getattr(given, key))}
    return Patterns(op, data, filled, fixed, matrix)
