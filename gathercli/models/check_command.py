"""`check` of models: what their Gather nodes refuse or fill, and what targets change."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from gathercli import __version__
from gathercli.cli.declarations import OPERATOR, OUTPUT, REPORT, Options, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, MemoryOptions
from gathercli.errors import GatherError, NoInputError, UsageError
from gathercli.io.descriptors import STDOUT
from gathercli.io.write import Output
from gathercli.models.command import ModelOptions
from gathercli.models.files import files_below
from gathercli.models.findings import (
    NOTE,
    CheckedModel,
    as_json,
    junit_lines,
    line,
    merged,
    sarif_log,
    total,
)
from gathercli.models.node_call import MODEL_NODE
from gathercli.models.targets import target, target_names
from gathercli.report.terminal import print_text, rendered, wants_color, width_of
from gathercli.slices import MODEL_SUFFIXES
from gathercli.text import clean, listed, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.batch.report import JUnitReport
    from gathercli.models.graph import Model
    from gathercli.models.targets import ConversionTarget

MODEL_WORDS: Final = argument(
    "MODEL...", "ONNX models (.onnx), OpenVINO IR (.xml), or folders with models.", kind=list
)


class ModelCheckOptions(Options):
    """How models are read and checked, and where reports go."""

    to: str | None = option(
        OPERATOR,
        "--to",
        metavar="TARGET,...",
        known=lambda: [name.removesuffix("-OPSET") for name in target_names()],
        help="Also check what changes on the way to a target: " + listed(target_names()) + ".",
    )
    allow_fill: bool = flag(
        OUTPUT,
        "--allow-fill",
        help="Take indices that a version fills with zeros for notes, which fail no check.",
    )
    allow_unread: bool = flag(
        OUTPUT,
        "--allow-unread",
        help="Take constants that cannot be read for notes, which fail no check.",
    )
    require_proven: bool = flag(
        OUTPUT,
        "--require-proven",
        help="Take nodes whose indices are not shown to be inside their axis for errors.",
        rare=True,
    )
    junit: str | None = option(
        REPORT, "--junit", metavar="FILE", help="Also write the nodes as tests in JUnit XML."
    )
    sarif: str | None = option(
        REPORT, "--sarif", metavar="FILE", help="Also write the findings as SARIF 2.1.0."
    )
    fmt: str = TEXT_FORMAT

    def targets(self) -> list[ConversionTarget]:
        """Return the targets that the option names."""
        words = [] if self.to is None else self.to.split(",")
        return list({each.name: each for each in map(target, words)}.values())

    def check(self) -> None:
        """Raise if two reports are one file."""
        paths = [path for path in (self.junit, self.sarif) if path]
        if len(paths) == 2 and os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
            raise UsageError(
                f"is `{self.sarif}`, which is the JUnit file",
                subject="--sarif",
                value=self.sarif,
                expected="another file",
            )


def run(
    options: ModelCheckOptions,
    reading: ModelOptions,
    memory: MemoryOptions,
    messages: Messages,
    models: list[str] = MODEL_WORDS,
) -> int:
    """Check every node of the family in every model."""
    options.check()
    _check_whole(models)
    targets, start = options.targets(), monotonic()
    read = partial(reading.read, memory=memory, messages=messages)
    paths = list(dict.fromkeys(path for word in models for path in files_below(word)))
    checked: list[CheckedModel] = [] if paths else [_no_model(models)]
    with ExitStack() as stack:
        junit = stack.enter_context(_junit_report(options.junit)) if options.junit else None
        sarif = stack.enter_context(Output(options.sarif)) if options.sarif else None
        if sarif is not None:
            sarif.open()
        with messages:
            for path in _with_progress(paths, messages):
                noted = len(messages.notes)
                model = _checked(path, read, options, targets)
                own = (*messages.notes[noted:], *dict.fromkeys(each.note for each in model.nodes))
                messages.notes[noted:] = [f"{path}: {note}" for note in own if note]
                _print(model, options, messages, alone=len(paths) == 1)
                checked.append(model)
        if options.fmt == "json":
            print_text(as_json(checked, [each.name for each in targets]))
        if junit is not None:
            _write_junit(junit, checked, monotonic() - start)
        if sarif is not None:
            sarif.stream.write(sarif_log(checked, __version__).encode())
            sarif.commit()
    errors = [each.error for each in checked if each.error is not None]
    if len(checked) == 1 and errors:
        raise errors[0]
    if options.fmt != "json":
        print_text(total(checked))
    messages.print()
    failing = any(each.level != NOTE for model in checked for each in model.findings)
    return max((error.status for error in errors), default=int(failing))


def _check_whole(words: Sequence[str]) -> None:
    """Raise if a word names a node of a model."""
    for word in words:
        match = MODEL_NODE.fullmatch(word)
        if match and match["name"] and not os.path.exists(word):
            raise UsageError(
                f"`{clean(word)}` names a node",
                value=word,
                expected="whole models",
                hint=f"`{clean(match['path'])}` is the model",
            )


def _no_model(models: Sequence[str]) -> CheckedModel:
    """Return what stands for folders without a model."""
    error = NoInputError(
        f"there is no model in {some(f'`{clean(word)}`' for word in models)}",
        rule="missing",
        expected=f"files that end in {listed(MODEL_SUFFIXES)}",
    )
    return CheckedModel(models[0], error=error)


def _with_progress(paths: Sequence[str], messages: Messages) -> Iterator[str]:
    """Yield the models, and show the bytes of those checked."""
    progress = messages.progress()
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    done = 0
    for path, size in zip(paths, sizes, strict=True):
        if progress is not None:
            progress("checked", done, sum(sizes))
        yield path
        done += size


def _checked(
    path: str,
    read: Callable[[str], Model],
    options: ModelCheckOptions,
    targets: Sequence[ConversionTarget],
) -> CheckedModel:
    """Check a model; the error says why it was not read."""
    from gathercli.models.lint import findings

    allowed = {"allow_fill": options.allow_fill, "allow_unread": options.allow_unread}
    words = Counter[str]()
    try:
        model = read(path)
        try:
            required = options.require_proven
            results = tuple(
                findings(model, targets, **allowed, require_proven=required, words=words)
            )
            model.recheck()
        finally:
            model.close()
    except GatherError as error:
        return CheckedModel(path, error=error)
    return CheckedModel(path, tuple(model.nodes), results, words=words)


def _print(
    model: CheckedModel, options: ModelCheckOptions, messages: Messages, *, alone: bool
) -> None:
    """Print the findings of a model, or why it was not read unless it is `alone`."""
    messages.clear()
    if model.error is not None and not alone:
        messages.print_error(model.error)
    if options.fmt != "json":
        width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
        for each in merged(model.findings):
            print_text(rendered(line(model.path, each, width), color=color))


def _junit_report(path: str) -> JUnitReport:
    """Begin a report, by a module that takes long to import."""
    from gathercli.batch.report import JUnitReport

    return JUnitReport(path)


def _write_junit(junit: JUnitReport, checked: Sequence[CheckedModel], seconds: float) -> None:
    """Write each node as a test, and a model that was not read as an error."""
    from gathercli.batch.outcome import BatchTotals

    totals = BatchTotals(0)
    for model in checked:
        for each in junit_lines(model):
            totals.count(each["status"])
            junit.add(json.dumps(each).encode(), model.path)
    junit.write(totals, seconds)
