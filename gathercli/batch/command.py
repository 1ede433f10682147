"""`batch`: thousands of jobs, and a line of report for each."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from gathercli.batch.batch_run import Batch, BatchRequest, ReportOptions, RunOptions, validating
from gathercli.cli.call import TypeOptions, inputs_of
from gathercli.cli.declarations import NO_FILE, Options, argument, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import AttributeOptions, OperatorOptions, ToleranceOptions, choice
from gathercli.errors import UsageError
from gathercli.io.write import is_stream, real_path
from gathercli.ops import FAMILIES, accepted_families
from gathercli.text import clean, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.batch.patterns import FedCall, Patterns
    from gathercli.io.jobfile import JobEntry
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
    name = f"--{name.replace('_', '-')}"
    return option(NO_FILE, name, metavar="PATTERN", help=text, rare=not is_shared)


class SharedAttributes(AttributeOptions):
    """The attributes of all jobs without a file, which `--matrix` also sets."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with its options rare."""
        return super().of(command).replaced(group=NO_FILE, rare=True)


class SharedOperator(OperatorOptions):
    """The version and the policies of all jobs without a file, which `--matrix` also sets."""

    attrs: SharedAttributes

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with its options rare."""
        return super().of(command).replaced(group=NO_FILE, rare=True)


class PatternOptions(Options):
    """Options of jobs without a file."""

    op: str | None = option(
        NO_FILE,
        "--op",
        metavar="OP",
        help=f"The operator of jobs without a file: {listed(FAMILIES)}.",
    )
    inputs: InputPatterns
    output: str | None = option(
        NO_FILE,
        "--output",
        "-o",
        metavar="PATTERN",
        help="The files to write, as 'out/{stem}.npy'; their folders are made.",
        once=True,
    )
    matrix: list[str] | None = option(
        NO_FILE,
        "--matrix",
        metavar="KEY=A,B...",
        kind=list,
        help="Try every combination, as --matrix axis=0,1 version=openvino-8,onnx-13; {axis} "
        "and {version} then stand for the values.",
    )
    operator: SharedOperator
    types: TypeOptions
    expect: str | None = option(
        NO_FILE,
        "--expect",
        metavar="PATTERN",
        help="What results should equal: 'want/{stem}.npy'.",
        once=True,
    )
    near: ToleranceOptions

    def settings(self) -> dict[str, str]:
        """Return the options that set keys of a job, which `--matrix` may also set, by key."""
        types = self.types.changed()
        types.pop("external_data", None)  # which jobs of files may need, too
        return self.operator.typed() | types

    def used(self) -> list[str]:
        """Return the names of the options on the command line."""
        keys = [*self.inputs.changed(), *self.changed(), *self.settings(), *self.near.changed()]
        return [f"--{key.replace('_', '-')}" for key in keys]


def run(
    patterns: PatternOptions,
    running: RunOptions,
    reporting: ReportOptions,
    messages: Messages,
    jobs: list[str] | None = JOBS,
) -> int:
    """Do the jobs, and report on each."""
    from gathercli.batch.journal import check
    from gathercli.batch.plan import Plan
    from gathercli.batch.pool import InferredJobs

    _check(running, reporting)
    running.runtimes.check(running, reporting)
    entries, files = _entries(jobs or [], patterns, running, reporting, messages)
    reserved = _reserved(files, reporting)
    if reporting.path is not None:
        check(reporting.path, resumes=reporting.resumes)
    from_files = bool(files) or "-" in (jobs or [])
    if not from_files:  # the jobs are made of options
        running.allow_outside = True
    with ExitStack() as stack:
        inferred: InferredJobs | None = None
        if running.dry_run and running.address is None:
            inferred = stack.enter_context(InferredJobs(running.settings(1)))
        with validating(messages) as progress:
            plan = Plan(
                entries,
                allow_outside=running.allow_outside,
                reserved=reserved,
                limit=running.memory.limits.memory,
                progress=progress,
                inspect=inferred.infer if inferred is not None else lambda *_: None,
            )
        stack.enter_context(plan)
        external = patterns.types.external_data
        request = BatchRequest(plan, running, reporting, messages, external=external)
        status = running.runtimes.status(request)
        if status is not None:
            return status
        return Batch(request, from_files=from_files, inferred=inferred).run()


def _check(running: RunOptions, reporting: ReportOptions) -> None:
    """Raise if options conflict or have invalid values."""
    _ = running.memory.limits, running.limit  # which raise
    if running.workers is not None and running.address is not None:
        raise UsageError(
            "is given with a scheduler, whose workers do the jobs",
            subject="--workers",
            expected="one of them",
            hint="`dask worker --nthreads N` decides how many jobs it does at a time",
        )
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
            raise UsageError(
                f"`{name}` is given without a report in a file",
                expected="`--report FILE`",
                hint="`--report report.jsonl` keeps what was done",
            )
    if running.timeout is not None and not 0 < running.timeout < float("inf"):
        raise UsageError(
            f"is {running.timeout:g}", subject="--timeout", expected="seconds, more than 0"
        )


def _reserved(files: list[str], reporting: ReportOptions) -> dict[str, str]:
    """Return the files that no job may write; raise if the report is a file of jobs."""
    from gathercli.batch.plan import JOB_FILE

    reserved = dict.fromkeys(map(real_path, files), JOB_FILE)
    for name, path, what in (
        ("--report", reporting.path, "the report"),
        ("--junit", reporting.junit, "the JUnit file"),
    ):
        if path is None:
            continue
        real = real_path(path)
        if real in reserved:
            raise UsageError(
                f"`{name}` is `{clean(path)}`, which is {reserved[real]}",
                value=path,
                expected="another file",
            )
        if not is_stream(path):
            reserved[real] = what
    return reserved


def _entries(
    words: list[str],
    patterns: PatternOptions,
    running: RunOptions,
    reporting: ReportOptions,
    messages: Messages,
) -> tuple[Iterable[JobEntry], list[str]]:
    """Return the jobs and their files, without a report in a folder of jobs."""
    from gathercli.batch.patterns import fed_kind, is_matrix
    from gathercli.io.jobfile import files, read_entries

    if patterns.op is not None:
        for word in words:
            if not patterns.matrix or not is_matrix(word):
                raise UsageError(
                    f"`{clean(word)}` is given beside `--op`",
                    value=word,
                    expected="files of jobs, or `--op`",
                    hint="a pattern is quoted, so that the shell leaves it: `--data 'in/*.npy'`",
                )
        return _announced(_patterns(patterns, words, messages), messages), []
    if words and (kind := fed_kind(words[0], patterns.types.feed)) is not None:
        limit = running.memory.limits.memory
        made = _patterns_of_fed(kind, words[0], patterns, words[1:], limit)
        return _announced(made, messages), []
    if used := patterns.used():
        raise UsageError(
            f"`{used[0]}` is given without `--op`",
            expected="it in the jobs themselves, or `--op`",
            hint="`--op gather --data 'in/*.npy' --indices …` makes jobs without a file",
        )
    if not words or words.count("-") > 1:
        raise UsageError(
            "`-` is given twice" if words else "there are no jobs",
            expected="it once" if words else "files of jobs, or `--op` and `--data`",
            hint="`gathercli batch jobs.jsonl`",
        )
    own = {real_path(path) for path in (reporting.path, reporting.junit) if path}
    paths = [
        path for word in words for path in files(word) if path == word or real_path(path) not in own
    ]
    _check_once(paths)
    return chain.from_iterable(map(read_entries, paths)), [path for path in paths if path != "-"]


def _announced(patterns: Patterns, messages: Messages) -> Iterable[JobEntry]:
    """Return the jobs of a pattern, with a note if it is the name of a file."""
    from gathercli.batch.patterns import literal_note

    note = literal_note(patterns.files)
    if note is not None and not messages.quiet:
        messages.announce(note)
    return patterns.entries()


def _check_once(paths: list[str]) -> None:
    """Raise if a file of jobs is repeated, as all its ids would be."""
    seen: set[str] = set()
    for path in paths:
        normal = os.path.normpath(path)
        if normal in seen:
            raise UsageError(
                f"`{clean(path)}` is given twice",
                value=path,
                expected="it once",
                hint=f"`gathercli batch {shell_word(path)}`",
            )
        seen.add(normal)


def _patterns(options: PatternOptions, words: list[str], messages: Messages) -> Patterns:
    """Validate the options and return their jobs."""
    from gathercli.batch.patterns import FilePattern, Patterns, option_of, settings_of, values_of
    from gathercli.io.jobs import keys_of

    op = options.op or ""
    inputs = options.inputs.changed()
    first, *others = names = keys_of(op).inputs
    if missing := [name for name in names if not inputs.get(name)]:
        raise UsageError(
            f"is given without `{option_of(missing[0])}`", subject="--op", expected=_options(names)
        )
    if op not in FAMILIES:
        from gathercli.ops.unknown import operator_error

        raise operator_error(op, "`--op` is")
    settings = options.settings()
    _check_taken(op, inputs, names)
    _check_taken(op, settings, settings_of(op))
    matrix = _matrix(op, options, words, settings)
    files = FilePattern(first, option_of(first), inputs[first])
    templates = {name: inputs[name] for name in others}
    _check_templates({f"{option_of(name)} ": templates[name] for name in others}, files.option)
    _check_settings(op, settings, matrix)
    if "version" not in {*settings, *matrix}:  # unlike a job of a file, the command has a default
        row = choice(op, None)
        if row.version_from is not None:
            settings["version"] = row.op.id
            messages.announce(row.note or f"{row.op} runs, as {row.version_from} says")
    fixed = values_of(op, settings) | options.near.changed()
    return Patterns(op, files, templates | _outputs(options), fixed, matrix)


def _patterns_of_fed(
    kind: type[FedCall], word: str, options: PatternOptions, words: list[str], limit: int | None
) -> Patterns:
    """Validate the options beside a word that stands for a call and return their jobs."""
    from gathercli.batch.patterns import Patterns, is_matrix, option_of, settings_of, values_of

    if others := [each for each in words if not options.matrix or not is_matrix(each)]:
        raise UsageError(
            f"`{clean(others[0])}` is given beside the node `{clean(word)}`",
            value=others[0],
            expected="files of jobs, or a node",
            hint="a pattern is quoted, so that the shell leaves it: `--feed 'ids/*.npy'`",
        )
    if inputs := options.inputs.changed():
        raise UsageError(
            f"`{option_of(next(iter(inputs)))}` is given beside the node `{clean(word)}`",
            value=word,
            expected="`--feed`",
        )
    node = kind.read(word, options.types.feed or (), limit)
    settings = options.settings()
    settings.pop("feed", None)
    _check_taken(node.op, settings, settings_of(node.op))
    matrix = _matrix(node.op, options, words, settings)
    files = node.files
    templates = {name: text for name, text in node.feeds.items() if name != files.name}
    _check_templates({f"--feed {name}=": text for name, text in templates.items()}, files.option)
    _check_settings(node.op, settings, matrix)
    keys = node.keys({*settings, *matrix})
    fixed = keys | values_of(node.op, settings) | options.near.changed()
    return Patterns(node.op, files, templates | _outputs(options), fixed, matrix)


def _outputs(options: PatternOptions) -> dict[str, str]:
    """Return the templates of outputs and of expected outputs."""
    return {key: value for key in ("output", "expect") if (value := getattr(options, key))}


def _check_taken(op: str, keys: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if the option of a key is none of those `taken` by an operator."""
    from gathercli.batch.patterns import option_of

    if foreign := [key for key in keys if key not in taken]:
        raise UsageError(
            f"`{option_of(foreign[0])}` is given, which {op} does not take",
            expected=_options(taken),
        )


def _matrix(
    op: str, options: PatternOptions, words: list[str], settings: dict[str, str]
) -> dict[str, list[str]]:
    """Return the values of `--matrix`; raise if `settings` have one of its keys."""
    from gathercli.batch.patterns import matrix_of, option_of

    matrix = matrix_of(op, [*(options.matrix or ()), *words])
    if twice := settings.keys() & matrix.keys():
        raise UsageError(
            f"`{option_of(min(twice))}` is given, and in `--matrix` too", expected="it once"
        )
    return matrix


def _check_settings(op: str, settings: dict[str, str], matrix: dict[str, list[str]]) -> None:
    """Raise for an invalid value of a setting."""
    from gathercli.batch.patterns import check_setting

    _check_version(settings.get("version", ""))
    for key, values in [*((key, [v]) for key, v in settings.items()), *matrix.items()]:
        for value in values:
            check_setting(op, key, value)


def _check_version(version: str) -> None:
    """Raise if there are several versions, which `--matrix` takes."""
    if "," in version:
        raise UsageError(
            f"is `{clean(version)}`",
            rule="version",
            subject="--version",
            value=version,
            expected="one version",
            hint=f"`--matrix version={shell_word(version)}` tries each of them",
        )


def _check_templates(templates: dict[str, str], finder: str) -> None:
    """Raise if an input beside that of `finder` is a pattern such as ``idx/*.npy``.

    `templates` has them by their options up to the value: ``--indices `` or ``--feed indices=``.
    """
    for start, text in templates.items():
        if "*" in text and not os.path.lexists(text):
            template = re.sub(r"\*\*/\*|\*+", "{stem}", text, count=1)
            raise UsageError(
                f"`{start.rstrip(' =')}` is `{clean(text)}`, but only `{finder}` takes a pattern",
                value=text,
                expected="one tensor, or a name with {stem}",
                hint=f"`{start}{shell_word(template)}` is a file for each file of `{finder}`",
            )


def _options(keys: Iterable[str]) -> str:
    """List the options of `keys` for a message."""
    from gathercli.batch.patterns import option_of

    return listed((f"`{option_of(key)}`" for key in keys), "and")
