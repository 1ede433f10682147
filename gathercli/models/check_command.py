"""`check` of models: what their Gather nodes refuse or fill, and what targets change.

The command comes first, then its reports: lines of text, JSON, JUnit and SARIF.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import __version__
from gathercli.batch.outcome import ERROR as ERROR_STATUS
from gathercli.batch.outcome import MISMATCH, OK, SKIPPED
from gathercli.cli.declarations import OPERATOR, OUTPUT, REPORT, Options, argument, flag, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, MemoryOptions
from gathercli.errors import GatherError, UsageError
from gathercli.io.descriptors import STDOUT
from gathercli.io.files import cores
from gathercli.io.write import Output
from gathercli.models import verdict
from gathercli.models.command import ModelOptions, node_name
from gathercli.models.files import (
    IR_ROOT,
    as_uri,
    models_of,
    no_model,
    path_in_repository,
    repository_root,
    root_of,
)
from gathercli.models.lint import findings, unproven
from gathercli.models.node_call import MODEL_NODE
from gathercli.models.targets import ConversionTarget, across_targets, target, target_names
from gathercli.report import terminal
from gathercli.report.versions import hanging
from gathercli.report.words import cut, error_fields
from gathercli.spec import rules
from gathercli.text import clean, counted, grouped, listed, shown, some

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.batch.report import JUnitReport
    from gathercli.models.graph import ModelNode
    from gathercli.report.terminal import Styled

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
    allow_fill: bool = flag(OUTPUT, "--allow-fill")
    allow_unread: bool = flag(OUTPUT, "--allow-unread")
    require_proven: bool = flag(OUTPUT, "--require-proven", rare=True)
    junit: str | None = option(REPORT, "--junit", metavar="FILE")
    sarif: str | None = option(REPORT, "--sarif", metavar="FILE")
    threads: int | None = option(REPORT, "--threads", "-j", metavar="N", min=1, kind=int)
    fmt: str = TEXT_FORMAT

    def targets(self) -> list[ConversionTarget]:
        """Return the targets that the option names."""
        if self.to is None:
            return []
        words = [each for each in self.to.split(",") if each.strip()] or [self.to]
        return list({each.name: each for each in map(target, words)}.values())

    def check(self) -> None:
        """Raise if two reports are one file, or one is the pipe."""
        for name in ("junit", "sarif"):
            if getattr(self, name) == "-":
                what, expected = "is `-`, but stdout has the findings", "the name of a file"
                raise UsageError(what, subject=f"--{name}", value="-", expected=expected)
        paths = [path for path in (self.junit, self.sarif) if path]
        if len(paths) == 2 and os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
            what = f"is `{self.sarif}`, which is the JUnit file"
            raise UsageError(what, subject="--sarif", value=self.sarif, expected="another file")


def run(
    options: ModelCheckOptions,
    reading: ModelOptions,
    memory: MemoryOptions,
    messages: Messages,
    models: list[str] = MODEL_WORDS,
) -> int:
    """Check every node of the family in every model."""
    options.check()
    targets, start = options.targets(), monotonic()
    paths, checked = paths_of(models, messages.notes), list[CheckedModel]()
    noted: dict[str, list[str]] = {}  # the models of each note
    if paths is None:
        paths, checked = [], [CheckedModel(models[0], error=no_model(models))]
    check = partial(check_file, reading=reading, memory=memory, options=options, targets=targets)
    with ExitStack() as stack:
        junit = stack.enter_context(_junit_report(options.junit)) if options.junit else None
        sarif = stack.enter_context(Output(options.sarif)) if options.sarif else None
        if sarif is not None:
            sarif.open()
        with messages:
            for model in all_checked(check, paths, options.threads, messages):
                for note in model.notes:
                    noted.setdefault(note, []).append(model.path)
                _print(model, options, messages, alone=len(paths) == 1)
                checked.append(model)
        messages.notes += [f"{some(names, 3)}: {note}" for note, names in noted.items()]
        if options.fmt == "json":
            report = ModelCheck.of(checked, [each.name for each in targets])
            terminal.print_text(json.dumps(report.to_json()) + "\n")
        if junit is not None:
            _write_junit(junit, checked, monotonic() - start)
        if sarif is not None:
            sarif.stream.write(sarif_log(checked, __version__).encode())
            sarif.commit()
    errors = [each.error for each in checked if each.error is not None]
    if len(checked) == 1 and errors:
        raise errors[0]
    if options.fmt != "json":
        terminal.print_text(total(checked))
    messages.print()
    failing = any(each.level != verdict.NOTE for model in checked for each in model.findings)
    return max((error.status for error in errors), default=int(failing))


def paths_of(words: Sequence[str], notes: list[str]) -> list[str] | None:
    """Return the models that words name, files or folders; None if there is no file at all.

    Raise UsageError if a word names a node of a model.
    """
    for word in words:
        match = MODEL_NODE.fullmatch(word)
        if match and match["name"] and not os.path.exists(word):
            what, hint = f"`{clean(word)}` names a node", f"`{clean(match['path'])}` is the model"
            raise UsageError(what, value=word, expected="whole models", hint=hint)
    named = models_of(words)
    others = {path: root for path in named if (root := root_of(path)) not in ("", IR_ROOT)}
    notes += [f"{path} is no model: its root is <{root}>" for path, root in others.items()]
    return [path for path in named if path not in others] if named else None


def all_checked(
    check: Callable[[str], CheckedModel],
    paths: Sequence[str],
    threads: int | None,
    messages: Messages,
) -> Iterator[CheckedModel]:
    """Yield the models in order, and show their bytes; some are checked at a time."""
    from concurrent.futures import ThreadPoolExecutor

    progress, done, count = messages.progress(), 0, min(threads or cores(), len(paths))
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    pool = ThreadPoolExecutor(count) if count > 1 else None  # each waits for a process
    models = map(check, paths) if pool is None else pool.map(check, paths)
    try:
        for size in sizes:
            if progress is not None:
                progress("checked", done, sum(sizes))
            yield next(models)
            done += size
    finally:
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def check_file(
    path: str,
    reading: ModelOptions,
    memory: MemoryOptions,
    options: ModelCheckOptions,
    targets: Sequence[ConversionTarget],
) -> CheckedModel:
    """Check a model; the error says why it was not read."""
    allowed = {"allow_fill": options.allow_fill, "allow_unread": options.allow_unread}
    judged: dict[str, verdict.Judged] = {}
    try:
        model = reading.read(path, memory, tolerant=True)
        try:
            required = options.require_proven
            results = tuple(
                findings(model, targets, **allowed, require_proven=required, judged=judged)
            )
            model.recheck()
        finally:
            model.close()
    except GatherError as error:
        return CheckedModel(path, error=error)
    notes = (*model.notes, *dict.fromkeys(each.note for each in model.nodes if each.note))
    return CheckedModel(path, tuple(model.nodes), results, judged=judged, notes=notes)


def _print(
    model: CheckedModel, options: ModelCheckOptions, messages: Messages, *, alone: bool
) -> None:
    """Print the findings of a model, or why it was not read unless it is `alone`."""
    messages.clear()
    if model.error is not None and not alone:
        messages.print_error(model.error)
    if options.fmt != "json":
        width, color = terminal.width_of(STDOUT), terminal.wants_color(messages.color, STDOUT)
        levels = (verdict.ERROR, verdict.WARNING) if messages.quiet else _LEVEL_STYLES
        for each in model.lines(width, levels):
            terminal.print_text(terminal.rendered(each, color=color))


def _junit_report(path: str) -> JUnitReport:
    from gathercli.batch.report import JUnitReport

    return JUnitReport(path)


def _write_junit(junit: JUnitReport, checked: Sequence[CheckedModel], seconds: float) -> None:
    """Write each node as a test, and a model that was not read as an error."""
    from gathercli.batch.outcome import BatchTotals

    totals = BatchTotals(0)
    for model in checked:
        path = path_in_repository(model.path)
        for each in junit_lines(model._replace(path=path)):
            totals.count(each["status"])
            junit.add(json.dumps(each).encode(), path)
    junit.write(totals, seconds)


# Reports

_LEVEL_STYLES: Final = {
    verdict.ERROR: terminal.ERROR_STYLE,
    verdict.WARNING: "yellow",
    verdict.NOTE: "cyan",
}


class CheckedModel(NamedTuple):
    """A model with its findings."""

    path: str  # as the caller passes it
    nodes: tuple[ModelNode, ...] = ()
    findings: tuple[verdict.Finding, ...] = ()
    error: GatherError | None = None  # why the model was not read; None if it was
    judged: Mapping[str, verdict.Judged] = {}  # the nodes, by name
    notes: tuple[str, ...] = ()  # of the reader, and on how rows were found

    @property
    def words(self) -> Mapping[str, int]:
        """The number of nodes by verdict."""
        return Counter(each.word for each in self.judged.values())

    def lines(self, width: int | None, levels: Container[str] = _LEVEL_STYLES) -> Iterator[Text]:
        """Format the findings of some levels."""
        names = {each.name: node_name(each) for each in self.nodes}
        for each in across_targets(each for each in self.findings if each.level in levels):
            yield line(self.path, each._replace(node=names.get(each.node, shown(each.node))), width)


def line(path: str, finding: verdict.Finding, width: int | None = None) -> Text:
    """Format a finding as one line with the model and the node first; wrap it within a width."""
    from rich.text import Text

    place, rule = clean(path), f"  [{finding.rule}]"
    if finding.node:
        place += f": {clean(finding.node)}"
    words = f"{finding.level}: {clean(cut(finding.text))}{rule}"
    if width is None:
        text = Text.assemble((place, "bold"), ": ", words, "\n")
    else:
        text = Text.assemble((place, "bold"), "\n", hanging("  ", words, width))
    text.highlight_words([f"{finding.level}:"], _LEVEL_STYLES[finding.level])
    return text


def total(checked: Sequence[CheckedModel]) -> str:
    """Format the number of models, nodes and findings."""
    models, nodes = len(checked), sum(len(each.nodes) for each in checked)
    levels = [finding.level for each in checked for finding in across_targets(each.findings)]
    numbers = [counted(levels.count(level), level) for level in _LEVEL_STYLES if level in levels]
    refused = sum(each.error is not None for each in checked)
    verdicts = {word: sum(each.words.get(word, 0) for each in checked) for word in verdict.WORDS}
    words = ", ".join(f"{grouped(number)} {word}" for word, number in verdicts.items() if number)
    parts = [counted(models, "model"), counted(nodes, "node") + (f": {words}" if words else "")]
    unread = f", {counted(refused, 'model')} not read" if refused else ""
    return f"{', '.join(parts)}; {', '.join(numbers or ['no finding'])}{unread}\n"


@dataclass(frozen=True)
class ModelVerdict:
    """A model with its findings."""

    model: str
    nodes: int
    verdicts: dict[str, int]  # the number of nodes by verdict
    judged: list[dict[str, Any]]  # each node with its verdict, and what is open at run time
    findings: tuple[verdict.ModelFinding, ...]
    error: dict[str, Any] | None = None  # why it was not read

    @classmethod
    def of(cls, each: CheckedModel) -> ModelVerdict:
        """Describe a model."""
        judged = list(map(_judged, each.nodes, each.judged.values()))
        found = tuple(map(verdict.ModelFinding.of, each.findings))
        error = error_fields(each.error) if each.error else None
        return cls(each.path, len(each.nodes), dict(each.words), judged, found, error)

    def to_json(self) -> dict[str, Any]:
        """Return the fields, without the error of a model that was read."""
        return {name: value for name, value in vars(self).items() if name != "error" or value}


@dataclass(frozen=True, repr=False, eq=False)
class ModelCheck(terminal.Report):
    """What the nodes of models refuse or fill, and what targets change."""

    targets: tuple[str, ...]
    models: tuple[ModelVerdict, ...]
    _checked: Sequence[CheckedModel]

    @classmethod
    def of(cls, checked: Sequence[CheckedModel], targets: Iterable[str]) -> ModelCheck:
        """Report on models."""
        return cls(tuple(targets), tuple(map(ModelVerdict.of, checked)), checked)

    @property
    def status(self) -> int:
        """The exit status of the command: 0 if no finding is an error or a warning."""
        levels = {each.level for model in self.models for each in model.findings}
        return int(bool(levels - {"note"}) or any(each.error for each in self.models))

    def styled(self, width: int | None) -> Styled:
        """Write a line for each finding, and their number."""
        text = terminal.assembled(())
        for model in self._checked:
            if model.error is not None:
                text.append(f"{model.path}: {model.error.message}\n", terminal.ERROR_STYLE)
            for each in model.lines(width):
                text.append_text(each)
        return text.append(total(self._checked))


def _judged(node: ModelNode, judged: verdict.Judged) -> dict[str, Any]:
    """Return the verdict on a node for JSON, and what is open of one at run time."""
    what = judged.verdict and vars(verdict.ModelFinding.of(unproven(judged.verdict)))
    operator = f"{node.op or node.operator}"
    return {"node": node.name, "operator": operator, "verdict": judged.word, "open": what}


def junit_lines(checked: CheckedModel) -> Iterator[dict[str, Any]]:
    """Yield each node as a line of a batch's report, then what is wrong with the model itself.

    That is why it was not read, or the tensors that are malformed.
    """
    if (error := checked.error) is not None:
        fields = {"rule": error.rule, "message": error.message}
        yield {"id": checked.path, "status": ERROR_STATUS, **fields}
        return
    findings: dict[str, list[verdict.Finding]] = {}
    for each in checked.findings:
        if each.level != verdict.NOTE or each.rule == verdict.UNREAD:
            findings.setdefault(each.node, []).append(each)
    for node in checked.nodes:
        own, judged = findings.get(node.name, []), checked.judged.get(node.name, verdict.Judged(""))
        if not own and judged.word == verdict.NOT_READ:
            own = [
                verdict.Finding(verdict.UNREAD, "a tensor that it needs is malformed", verdict.NOTE)
            ]
        broken = [each for each in own if each.level != verdict.NOTE]
        yield {
            "id": f"{checked.path}#{node.name}",
            "operator": f"{node.op or node.operator}",
            "status": MISMATCH if broken else SKIPPED if own else OK,
            "rule": ", ".join(dict.fromkeys(each.rule for each in broken or own)),
            "message": "; ".join(each.text for each in broken or own),
            "remark": f"{judged.word}: {unproven(judged.verdict).message}"
            if judged.verdict
            else "",
        }
    for each in findings.get("", ()):
        fields = {"rule": each.rule, "message": each.message}
        yield {"id": checked.path, "status": MISMATCH, **fields}


# SARIF 2.1.0, which code hosts show beside the code

_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_VERSION: Final = "2.1.0"
_SOURCE_ROOT: Final = "%SRCROOT%"  # the name that code hosts know

_INDEX_RANGE: Final = "An index is outside its axis. The message has the legal ones."
_CALL_STATEMENTS: Final = {"version": "The operator has the version.", **rules.statements()}


def sarif_log(checked: Sequence[CheckedModel], release: str) -> str:
    """Return a SARIF log of one run, by gathercli of a release."""
    checked = [each._replace(path=path_in_repository(each.path)) for each in checked]
    pairs = [(model.path, each) for model in checked for each in model.findings]
    names = list(dict.fromkeys(each.rule for _, each in pairs))
    failed = [_notification(each.path, each.error) for each in checked if each.error is not None]
    run = {
        "tool": {
            "driver": {
                "name": "gathercli",
                "version": release,
                "rules": [_rule(name) for name in names],
            }
        },
        "originalUriBaseIds": {_SOURCE_ROOT: {"uri": as_uri(os.path.join(repository_root(), ""))}},
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
        "results": [_result(path, each, names.index(each.rule)) for path, each in pairs],
        "columnKind": "utf16CodeUnits",
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": _SARIF_VERSION, "runs": [run]}) + "\n"


def _rule(name: str) -> dict[str, Any]:
    """Describe a rule: what is wrong, and then what to do or what is asked for."""
    default = f"A call breaks a rule. {_CALL_STATEMENTS.get(name, name)}"
    text = {"index-range": _INDEX_RANGE, **verdict.MODEL_STATEMENTS}.get(name, default)
    wrong, full = text[: text.index(". ") + 1], {"text": text}
    return {"id": name, "shortDescription": {"text": wrong}, "fullDescription": full, "help": full}


def _result(path: str, finding: verdict.Finding, index: int) -> dict[str, Any]:
    node, location = clean(finding.node), _location(path)
    if names := list(map(clean, [finding.node] if node else finding.nodes)):
        location["logicalLocations"] = [
            {"name": name, "fullyQualifiedName": f"{clean(path)}#{name}"} for name in names
        ]
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": f"{node}{': ' if node else ''}{clean(finding.text)}"},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": _digest(path, finding)},
    }


def _location(path: str) -> dict[str, Any]:
    artifact = {"uri": as_uri(path), **({} if os.path.isabs(path) else {"uriBaseId": _SOURCE_ROOT})}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 1}}}


def _digest(path: str, finding: verdict.Finding) -> str:
    """Return what identifies a finding in later runs: the node and the rule, not the values."""
    from hashlib import blake2b  # loads OpenSSL

    name = finding.node or finding.where or ""  # a malformed tensor has a place alone
    words = (as_uri(path), name, finding.operator, finding.rule, finding.target)
    return blake2b("\0".join(words).encode(errors="backslashreplace"), digest_size=8).hexdigest()


def _notification(path: str, error: GatherError) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": error.rule},
        "message": {"text": clean(error.message)},
        "locations": [_location(path)],
    }
