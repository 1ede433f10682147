"""`batch`: thousands of jobs, and a line of report for each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from gathercli.batch import patterns
from gathercli.batch.batch_run import (
    Batch,
    BatchRequest,
    ReportOptions,
    RunOptions,
    early_workers,
    inference,
)
from gathercli.batch.journal import check
from gathercli.batch.plan import JOB_FILE, Plan
from gathercli.batch.report import Bar
from gathercli.cli.call import TypeOptions, inputs_of
from gathercli.cli.declarations import NO_FILE, Options, argument, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import (
    AttributeOptions,
    OperatorOptions,
    ToleranceOptions,
    choice,
    option_name,
)
from gathercli.errors import UsageError
from gathercli.io.descriptors import STDERR
from gathercli.io.jobfile import JobEntry, read_entries
from gathercli.io.jobfile import files as files_of
from gathercli.io.jobs import keys_of
from gathercli.io.write import is_stream, real_path
from gathercli.ops import FAMILIES, accepted_families
from gathercli.report.terminal import width_of
from gathercli.text import clean, listed, shell_word

if TYPE_CHECKING:
    from gathercli.spec.call import Family

JOBS: Final = argument(
    "JOBS...",
    "Files of jobs (.jsonl with one per line, .json with a list or a single one), folders of "
    "such files, or - for standard input; or a node of a model, model.onnx#NODE, that --feed "
    "'ids/*.npy' feeds.",
    kind=list,
    default=None,
)


class InputPatterns(Options):
    """Options of the inputs of jobs without a file, from `of`."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return a class with an option for each input of the operators."""
        taking: dict[str, list[Family]] = {}
        for family in accepted_families(command):
            for each in inputs_of(family):
                taking.setdefault(each.name, []).append(family)
        return cls.with_options({name: _pattern_option(name, by) for name, by in taking.items()})


def _pattern_option(name: str, taking: list[Family]) -> Any:
    """Return the option of an input of the operators `taking` it."""
    default = next(iter(FAMILIES.values()))
    is_shared = default in taking
    owners = listed((family.COMMAND for family in taking), "and")
    words = f"the {name}" if is_shared else f"{name.upper()} of {owners}"
    if any(inputs_of(family)[0].name == name for family in taking):
        text = f"The files that are {words}, as 'in/*.npy' or 'in/**/*.npy'; or one tensor."
    elif not is_shared:
        text = f"{words}, likewise a tensor or a pattern with {{stem}}."
    else:
        text = (
            f"The {name} of each: a tensor, or 'idx/{{stem}}.npy'; {{name}} has the suffix too, "
            "{dir} is the folder below the first *."
        )
    return option(NO_FILE, option_name(name), metavar="PATTERN", help=text, rare=not is_shared)


class SharedOptions(Options):
    """Options for all jobs without a file, which `--matrix` also sets."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with its options rare."""
        return super().of(command).replaced(group=NO_FILE, rare=True)


class SharedAttributes(SharedOptions, AttributeOptions):
    """The attributes of all jobs without a file."""


class SharedOperator(SharedOptions, OperatorOptions):
    """The version and the policies of all jobs without a file."""

    attrs: SharedAttributes


class PatternOptions(Options):
    """Options of jobs without a file."""

    op: str | None = option(
        NO_FILE,
        "--op",
        metavar="OP",
        help=f"The operator of jobs without a file: {listed(FAMILIES)}.",
    )
    inputs: InputPatterns
    output: str | None = option(NO_FILE, "--output", "-o", metavar="PATTERN", once=True)
    matrix: list[str] | None = option(NO_FILE, "--matrix", metavar="KEY=A,B...", kind=list)
    operator: SharedOperator
    types: TypeOptions
    expect: str | None = option(NO_FILE, "--expect", metavar="PATTERN", once=True)
    near: ToleranceOptions

    def settings(self) -> dict[str, str]:
        """Return the options that set keys of a job, which `--matrix` may also set, by key."""
        types = self.types.changed()
        types.pop("external_data", None)  # which jobs of files may need, too
        return self.operator.typed() | types

    def used(self) -> list[str]:
        """Return the names of the options on the command line."""
        keys = [*self.inputs.changed(), *self.changed(), *self.settings(), *self.near.changed()]
        return [option_name(key) for key in keys]


def run(
    options: PatternOptions,
    running: RunOptions,
    reporting: ReportOptions,
    messages: Messages,
    jobs: list[str] | None = JOBS,
) -> int:
    """Do the jobs, and report on each."""
    _check(running, reporting)
    running.runtimes.check(running, reporting)
    entries, files = _entries(jobs or [], options, running, reporting, messages)
    reserved = _reserved(files, reporting)
    if reporting.path is not None:
        check(reporting.path, resumes=reporting.resumes)
    from_files = bool(files) or "-" in (jobs or [])
    if not from_files:  # the jobs are made of options
        running.allow_outside = True
    write, width, external = messages.write, width_of(STDERR), options.types.external_data
    with early_workers(running, reporting, messages) as workers:
        with Bar(write, width, silent=messages.is_silent) as bar:
            plan = Plan(
                entries,
                allow_outside=running.allow_outside,
                reserved=reserved,
                limit=running.memory.limits.memory,
                progress=bar.validation,
                has_many=workers.start,
                infer=inference(running, external=external),
            )
        with plan:
            request = BatchRequest(plan, running, reporting, messages, external=external)
            status = running.runtimes.status(request)
            if status is not None:
                return status
            return Batch(request, workers, from_files=from_files).run()


def _check(running: RunOptions, reporting: ReportOptions) -> None:
    _ = running.memory.limits, running.most_failures(1)  # which raise
    if running.workers is not None and running.cluster.address() is not None:
        what = "is given with a scheduler, whose workers do the jobs"
        hint = "`dask worker --nthreads N` decides how many jobs it does at a time"
        raise UsageError(what, subject="--workers", expected="one of them", hint=hint)
    for name, value in (
        ("--report", reporting.path),
        ("--junit", reporting.junit),
        ("--resume", reporting.resume),
        ("--resume-failed", reporting.resume_failed),
    ):
        if value and running.dry_run:
            raise UsageError(
                f"`{name}` is given with `--dry-run`, which does no job", expected="one of them"
            )
    for name, value in (("--resume", reporting.resumes), ("--hash", reporting.digests)):
        if value and (reporting.path is None or is_stream(reporting.path)):
            what = f"`{name}` is given without a report in a file"
            hint = "`--report report.jsonl` keeps what was done"
            raise UsageError(what, expected="`--report FILE`", hint=hint)
    if running.timeout is not None and not 0 < running.timeout < float("inf"):
        expected = "seconds, more than 0"
        raise UsageError(f"is {running.timeout:g}", subject="--timeout", expected=expected)


def _reserved(files: list[str], reporting: ReportOptions) -> dict[str, str]:
    """Return the files that no job may write; raise if the report is a file of jobs."""
    reserved = dict.fromkeys(map(real_path, files), JOB_FILE)
    for name, path, what in (
        ("--report", reporting.path, "the report"),
        ("--junit", reporting.junit, "the JUnit file"),
    ):
        if path is None:
            continue
        real = real_path(path)
        if real in reserved:
            problem = f"`{name}` is `{clean(path)}`, which is {reserved[real]}"
            raise UsageError(problem, value=path, expected="another file")
        if not is_stream(path):
            reserved[real] = what
    return reserved


def _entries(
    words: list[str],
    options: PatternOptions,
    running: RunOptions,
    reporting: ReportOptions,
    messages: Messages,
) -> tuple[Iterable[JobEntry], list[str]]:
    """Return the jobs and their files, without a report in a folder of jobs."""
    reader = (
        patterns.fed_reader(words[0], options.types.feed) if words and options.op is None else None
    )
    if options.op is not None or reader is not None:
        limit = running.memory.limits.memory
        made = _patterns(options, words, reader, limit, messages)
        if (note := patterns.literal_note(made.files)) is not None and not messages.quiet:
            messages.announce(note)
        return made.entries(), []
    if used := options.used():
        what = f"`{used[0]}` is given without `--op`"
        hint = "`--op gather --data 'in/*.npy' --indices …` makes jobs without a file"
        raise UsageError(what, expected="it in the jobs themselves, or `--op`", hint=hint)
    if not words or words.count("-") > 1:
        what = "`-` is given twice" if words else "there are no jobs"
        expected = "it once" if words else "files of jobs, or `--op` and `--data`"
        raise UsageError(what, expected=expected, hint="`gathercli batch jobs.jsonl`")
    own = {real_path(path) for path in (reporting.path, reporting.junit) if path}
    paths = [
        path
        for word in words
        for path in files_of(word)
        if path == word or real_path(path) not in own
    ]
    _check_once(paths)
    return chain.from_iterable(map(read_entries, paths)), [path for path in paths if path != "-"]


def _check_once(paths: list[str]) -> None:
    """Raise if a file of jobs is repeated, as all its ids would be."""
    seen: set[str] = set()
    for path in paths:
        normal = os.path.normpath(path)
        if normal in seen:
            what = f"`{clean(path)}` is given twice"
            hint = f"`gathercli batch {shell_word(path)}`"
            raise UsageError(what, value=path, expected="it once", hint=hint)
        seen.add(normal)


def _patterns(
    options: PatternOptions,
    words: list[str],
    reader: patterns.FedReader | None,
    limit: int | None,
    messages: Messages,
) -> patterns.Patterns:
    """Return the jobs of `--op`, or of the word that `reader` reads within `limit` bytes."""
    subject, kind, example = "`--op`", "`--op`", "`--data 'in/*.npy'`"
    if reader is not None:
        word, *words = words
        subject, kind, example = f"the node `{clean(word)}`", "a node", "`--feed 'ids/*.npy'`"
    if others := [each for each in words if not options.matrix or "=" not in each]:
        what = f"`{clean(others[0])}` is given beside {subject}"
        hint = f"a pattern is quoted, so that the shell leaves it: {example}"
        raise UsageError(what, value=others[0], expected=f"files of jobs, or {kind}", hint=hint)
    settings = options.settings()
    if reader is None:
        call, start = _chosen_call(options), "--{} "
    else:
        if inputs := options.inputs.changed():
            what = f"`{option_name(next(iter(inputs)))}` is given beside {subject}"
            raise UsageError(what, value=word, expected="`--feed`")
        call, start = reader(word, settings.pop("feed", ()), limit), "--feed {}="
    op, files, feeds, keys = call
    patterns.check_taken(op, settings, patterns.settings_of(op))
    matrix = patterns.matrix_of(op, [*(options.matrix or ()), *words], settings)
    templates = {name: text for name, text in feeds.items() if name != files.name}
    patterns.check_templates(templates, start, files.option)
    patterns.check_settings(op, settings, matrix)
    given = {*settings, *matrix}
    if reader is None and "version" not in given:  # unlike a job of a file, with a default
        row = choice(op, None)
        if row.version_from is not None:
            settings["version"] = row.op.id
            messages.announce(row.note or f"{row.op} runs, as {row.version_from} says")
    fixed = keys(given) | patterns.values_of(op, settings) | options.near.changed()
    outputs = {key: value for key in ("output", "expect") if (value := getattr(options, key))}
    return patterns.Patterns(op, files, templates | outputs, fixed, matrix)


def _chosen_call(options: PatternOptions) -> patterns.PatternCall:
    op, inputs = options.op or "", options.inputs.changed()
    names = keys_of(op).inputs
    if missing := [name for name in names if not inputs.get(name)]:
        what = f"is given without `{option_name(missing[0])}`"
        raise UsageError(what, subject="--op", expected=patterns.options_of(names))
    if op not in FAMILIES:
        from gathercli.frameworks.unknown import operator_error

        raise operator_error(op, "`--op` is")
    patterns.check_taken(op, inputs, names)
    files = patterns.FilePattern(names[0], option_name(names[0]), inputs[names[0]])
    return patterns.PatternCall(op, files, {name: inputs[name] for name in names}, lambda _: {})
