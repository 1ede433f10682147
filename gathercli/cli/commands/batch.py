"""`batch`: thousands of jobs, and a line of report for each."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from gathercli.cli.command import Options, argument, option
from gathercli.cli.commands.jobs import Batch, ReportOptions, RunOptions
from gathercli.cli.groups import NO_FILE
from gathercli.cli.messages import Messages
from gathercli.cli.operator import OperatorOptions, TypeOptions, choice, integer
from gathercli.cli.options import ToleranceOptions
from gathercli.errors import UsageError
from gathercli.io.write import is_stream, real_path
from gathercli.ops import FAMILIES, no_operator
from gathercli.text import clean, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.cli.commands.patterns import Patterns
    from gathercli.jobs.jobfile import WrittenJob


Jobs = Annotated[
    list[str] | None,
    argument(
        "JOBS...",
        "Files of jobs (.jsonl with one a line, .json with a list or a single one), folders of "
        "such files, or - for standard input.",
    ),
]


class PatternOptions(Options):
    """Options that make jobs without a file."""

    op: Annotated[
        str | None,
        option(
            NO_FILE,
            "--op",
            metavar="OP",
            help="The operator, gather or gather-elements, of jobs that are made of --data and "
            "what is below.",
        ),
    ] = None
    data: Annotated[
        str | None,
        option(
            NO_FILE,
            "--data",
            metavar="PATTERN",
            help="The files that are the data, as 'in/*.npy' or 'in/**/*.npy'; or one tensor.",
        ),
    ] = None
    indices: Annotated[
        str | None,
        option(
            NO_FILE,
            "--indices",
            metavar="PATTERN",
            help="The indices of each: a tensor, or 'idx/{stem}.npy'; {name} has the suffix too, "
            "{dir} is the folder below the first *.",
        ),
    ] = None
    output: Annotated[
        str | None,
        option(
            NO_FILE,
            "--output",
            "-o",
            metavar="PATTERN",
            help="The files to write, as 'out/{stem}.npy'; their folders are made.",
        ),
    ] = None
    matrix: Annotated[
        list[str] | None,
        option(
            NO_FILE,
            "--matrix",
            metavar="KEY=A,B...",
            help="Try every combination, as --matrix axis=0,1 version=openvino-8,onnx-13; {axis} "
            "and {version} then stand for the values.",
        ),
    ] = None
    operator: OperatorOptions
    types: TypeOptions
    expect: Annotated[
        str | None,
        option(
            NO_FILE,
            "--expect",
            metavar="PATTERN",
            help="What the results should equal, as 'want/{stem}.npy'.",
        ),
    ] = None
    near: ToleranceOptions

    def settings(self) -> dict[str, str]:
        """Return the keys of a job that were given, of those that `--matrix` may set."""
        given = self.operator.typed() | self.types.given()
        return {key: getattr(value, "value", value) for key, value in given.items()}

    def used(self) -> list[str]:
        """Name the options that were given."""
        keys = [*self.given(), *self.settings(), *self.near.given()]
        return [f"--{key.replace('_', '-')}" for key in keys]


def run(
    patterns: PatternOptions,
    running: RunOptions,
    reporting: ReportOptions,
    messages: Messages,
    jobs: Jobs = None,
) -> int:
    """Do the jobs, and report on each."""
    from gathercli.jobs.journal import check
    from gathercli.jobs.plan import Plan

    _check(running, reporting)
    written, files = _sources(jobs or [], patterns, reporting, messages)
    taken = _taken(files, reporting)
    if reporting.path is not None:
        check(reporting.path, resumes=reporting.resumes)
    running.allow_outside = running.allow_outside or patterns.op is not None
    with Plan(written, anywhere=running.allow_outside, taken=taken) as plan:
        return Batch(plan, running, reporting, messages).run()


def _check(running: RunOptions, reporting: ReportOptions) -> None:
    """Refuse options that contradict each other, and what is no limit or address."""
    _ = running.memory.limits, running.limit
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
        ("--resume-failed", reporting.resume_failed),
    )
    wrong = next((name for name, given in about if given), None) if running.dry_run else None
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


def _taken(files: list[str], reporting: ReportOptions) -> dict[str, str]:
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
    words: list[str], given: PatternOptions, reporting: ReportOptions, messages: Messages
) -> tuple[Iterable[WrittenJob], list[str]]:
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
    _check_once(found)
    return chain.from_iterable(map(written, found)), [path for path in found if path != "-"]


def _check_once(paths: list[str]) -> None:
    """Refuse a file of jobs that is named twice, whose ids would all be there twice."""
    seen: set[str] = set()
    for path in paths:
        place = os.path.normpath(path)
        if place in seen:
            raise UsageError(
                f"`{clean(path)}` is given twice: expected it once",
                rule="usage",
                value=path,
                hint=f"`gathercli batch {shell_word(path)}`",
            )
        seen.add(place)


def _patterns(given: PatternOptions, words: list[str], messages: Messages) -> Patterns:
    """Take the options for what they say of every job."""
    from gathercli.cli.commands.patterns import (
        INTEGERS,
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
    chosen = given.settings()
    matrix = matrix_of([*(given.matrix or ()), *words])
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
    fixed |= given.near.given()
    filled = {key: v for key in ("indices", "output", "expect") if (v := getattr(given, key))}
    return Patterns(op, data, filled, fixed, matrix)
