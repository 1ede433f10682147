"""The findings of models: what they say, as lines of text, JSON, JUnit and SARIF."""

from __future__ import annotations

import json
import os
import string
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.batch.outcome import ERROR as ERROR_STATUS
from gathercli.batch.outcome import MISMATCH, OK, SKIPPED
from gathercli.errors import sentence
from gathercli.report.palette import ERROR_STYLE
from gathercli.report.versions import hanging
from gathercli.report.words import cut, error_json
from gathercli.spec import rules
from gathercli.spec.op import FROM_THE_END, REFUSED, OutOfRange
from gathercli.text import clean, counted, grouped, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.errors import GatherError
    from gathercli.models.graph import ModelNode

ERROR: Final = "error"
WARNING: Final = "warning"
# The levels of findings: refused, changed silently, worth knowing. Notes fail no check.
NOTE: Final = "note"
FEWER_BITS: Final = "read in fewer bits"  # the fate of an index that does not fit
UNREAD: Final = "unread"  # the rule of constants that decide, but could not be read
UNPROVEN: Final = "unproven"  # the rule of indices that come at run time, if none may

# The verdicts on a node: every index is inside its axis; nobody knows before the model runs; the
# version refuses what the model decides, or fills; what decides could not be read.
PROVEN, AT_RUN_TIME, REFUSED_NODE = "proven", "at run time", "refused"
FILLS, NOT_READ = "fills", "not read"
WORDS: Final = (PROVEN, AT_RUN_TIME, REFUSED_NODE, FILLS, NOT_READ)

# What a version or a target does with an index, by its fate.
_FATE_WORDS: Final = {
    FROM_THE_END: "counts it from the end",
    REFUSED: "refuses it",
    OutOfRange.ZERO.done: "gives zeros",
    OutOfRange.NAN.done: "gives NaN",
    OutOfRange.EXTREME.done: "gives NaN or an extreme of the type",
    OutOfRange.CLAMP.done: "takes the nearest end",
    OutOfRange.WRAP.done: "takes it modulo the size",
    OutOfRange.UNDEFINED.done: "leaves it undefined",
    FEWER_BITS: "reads it in fewer bits",
}

# The rules that only models have, in words, by name.
MODEL_STATEMENTS: Final = {
    "attribute": "A node has the attributes of its operator alone.",
    "inputs": "A node has the inputs of its operator.",
    "operator": "The target has the operator.",
    "output-dtype": "The declared type of the output is that of `data`.",
    "output-shape": "The declared shape of the output is the one that follows from the inputs.",
    "index-legal": "The target takes the negative indices that the version counts from the end.",
    "index-width": "Every index fits in the bits that hold it.",
    "position-width": "Every position in `data` fits in 32 bits, as kernels count.",
    "batch-dims-most": "The target has as many batch dimensions.",
    "rank-most": "The ranks are within those of the target.",
    "data-width": "The target computes data in all bits of its type.",
    "index-run-time": "The target does the same with an index that comes at run time.",
    UNREAD: "Every constant that decides can be read.",
    UNPROVEN: "Every index is shown to be inside its axis.",
}


class Finding(NamedTuple):
    """One finding, of one node; the fields without a comment are as in `GatherError`."""

    rule: str  # that a version or a target breaks
    problem: str
    level: str = ERROR
    target: str = ""  # whose rule it is; empty for the node's own version
    where: str | None = None
    value: object = None
    expected: str | None = None
    remark: str = ""  # has a field for the ``{target}``
    unsaid: bool = False
    number: int | None = None  # the count of `GatherError`
    does: Mapping[str, str] = {}  # what versions and targets do with an index, by name
    node: str = ""  # its name; empty for what is of several
    operator: str = ""  # its version: ``onnx.Gather-13``

    def on(self, node: ModelNode) -> Finding:
        """Return the finding with the name of its node."""
        return self._replace(node=node.name, operator=f"{node.op or node.operator}")

    @property
    def message(self) -> str:
        """One sentence: what is wrong, and what is expected."""
        remark = self.remark.replace("{target}", self.target)
        return sentence(self.problem, None if self.unsaid else self.expected, remark)

    @property
    def text(self) -> str:
        """The message, with what each version and target does."""
        does = [f"{name} {_FATE_WORDS.get(fate, fate)}" for name, fate in self.does.items()]
        return f"{self.message}{'; ' if does else ''}{listed(does, 'and') if does else ''}"


def finding_of(error: GatherError) -> Finding:
    """Return a refusal as a finding."""
    return Finding(
        error.rule,
        error.statement,
        where=error.where,
        value=error.value,
        expected=error.expected,
        remark=error.remark,
        unsaid=error.unsaid,
        number=error.count,
    )


# Reports

_LEVEL_STYLES: Final = {ERROR: ERROR_STYLE, WARNING: "yellow", NOTE: "cyan"}


class CheckedModel(NamedTuple):
    """A model with its findings."""

    path: str  # as the caller passes it
    nodes: tuple[ModelNode, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: GatherError | None = None  # why the model was not read; None if it was
    words: Mapping[str, int] = {}  # the number of nodes by verdict


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, those on indices that several targets read differently as one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for n, each in enumerate(findings):
        same = (each.where, each.value, each.expected, each.number)
        groups.setdefault(
            (each.node, each.rule, *(same if each.rule == "index-legal" else (n,))), []
        ).append(each)
    for first, *others in groups.values():
        yield first._replace(
            target=listed([first.target, *(each.target for each in others)], "and"),
            does={name: fate for each in (first, *others) for name, fate in each.does.items()},
        )


def line(path: str, finding: Finding, width: int | None = None) -> Text:
    """Format a finding as one line with the model and the node first; wrap it within a width."""
    from rich.text import Text

    place, rule = clean(path), f"  [{finding.rule}]"
    if finding.node:
        place += f": {shown(finding.node)}"
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
    levels = [finding.level for each in checked for finding in merged(each.findings)]
    numbers = [counted(levels.count(level), level) for level in _LEVEL_STYLES if level in levels]
    refused = sum(each.error is not None for each in checked)
    verdicts = verdict_counts(checked)
    words = ", ".join(f"{grouped(number)} {word}" for word, number in verdicts.items())
    parts = [counted(models, "model"), counted(nodes, "node") + (f": {words}" if words else "")]
    return (
        ", ".join(parts)
        + "; "
        + ", ".join(numbers or ["no finding"])
        + (f", {counted(refused, 'model')} not read\n" if refused else "\n")
    )


def verdict_counts(checked: Sequence[CheckedModel]) -> dict[str, int]:
    """Return the number of nodes by verdict, in the order of `WORDS`."""
    numbers = {word: sum(each.words.get(word, 0) for each in checked) for word in WORDS}
    return {word: number for word, number in numbers.items() if number}


def as_json(checked: Sequence[CheckedModel], targets: Sequence[str]) -> str:
    """Format all models as one line of JSON."""
    models = [
        {
            "model": each.path,
            "nodes": len(each.nodes),
            "verdicts": dict(each.words),
            "findings": [_finding(finding) for finding in each.findings],
            **({"error": json.loads(error_json(each.error))} if each.error else {}),
        }
        for each in checked
    ]
    return json.dumps({"targets": list(targets), "models": models}) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    value = finding.value
    plain = value if isinstance(value, int | float | None) else str(value)
    return {
        "node": finding.node,
        "operator": finding.operator,
        "rule": finding.rule,
        "level": finding.level,
        "target": finding.target or None,
        "message": finding.text,
        "where": finding.where,
        "value": plain,
        "expected": finding.expected,
        "count": finding.number,
        "does": dict(finding.does),
    }


def junit_lines(checked: CheckedModel) -> Iterator[dict[str, Any]]:
    """Yield each node as a line of a batch's report, or one line for a model that was not read."""
    if (error := checked.error) is not None:
        fields = {"rule": error.rule, "message": error.message}
        yield {"id": checked.path, "status": ERROR_STATUS, **fields}
        return
    findings: dict[str, list[Finding]] = {}
    for each in checked.findings:
        if each.level != NOTE or each.rule == UNREAD:
            findings.setdefault(each.node, []).append(each)
    for node in checked.nodes:
        own = findings.get(node.name, [])
        broken = [each for each in own if each.level != NOTE]
        yield {
            "id": f"{checked.path}#{node.name}",
            "operator": f"{node.op or node.operator}",
            "status": MISMATCH if broken else SKIPPED if own else OK,
            "rule": ", ".join(dict.fromkeys(each.rule for each in broken or own)),
            "message": "; ".join(each.text for each in broken or own),
        }


# SARIF 2.1.0, which code hosts show beside the code

_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_VERSION: Final = "2.1.0"

# What stands for itself in the path of a URI.
_PLAIN_BYTES: Final = (string.ascii_letters + string.digits + "-._~/").encode()

_ALL_STATEMENTS: Final = {
    "version": "The operator has the version.",
    **rules.STATEMENTS,
    **MODEL_STATEMENTS,
}


def sarif_log(checked: Sequence[CheckedModel], release: str) -> str:
    """Return a SARIF log of one run, by gathercli of a release."""
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
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
        "results": [_result(path, each, names.index(each.rule)) for path, each in pairs],
        "columnKind": "utf16CodeUnits",
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": _SARIF_VERSION, "runs": [run]}) + "\n"


def _rule(name: str) -> dict[str, Any]:
    text = {"text": _ALL_STATEMENTS.get(name, name)}
    return {"id": name, "shortDescription": text, "fullDescription": text, "help": text}


def _result(path: str, finding: Finding, index: int) -> dict[str, Any]:
    node, location = clean(finding.node), _location(path)
    if node:
        name = {"name": node, "fullyQualifiedName": f"{clean(path)}#{node}"}
        location["logicalLocations"] = [name]
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": f"{node}{': ' if node else ''}{clean(finding.text)}"},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": _digest(path, finding)},
    }


def _location(path: str) -> dict[str, Any]:
    """Return the place of a model; a binary file has no lines but the first."""
    place = {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": 1}}
    return {"physicalLocation": place}


def _uri(path: str) -> str:
    """Return a path as a URI, relative to the working folder if it lies below it."""
    relative = os.path.relpath(path)
    above = relative.startswith("..")
    name = os.fsencode(os.path.abspath(path) if above else relative)
    text = "".join(chr(each) if each in _PLAIN_BYTES else f"%{each:02X}" for each in name)
    return f"file://{text}" if above else text


def _digest(path: str, finding: Finding) -> str:
    """Return what identifies a finding in later runs: the node and the rule, not the values."""
    from hashlib import blake2b  # loads OpenSSL

    words = (_uri(path), finding.node, finding.operator, finding.rule, finding.target)
    return blake2b("\0".join(words).encode(errors="backslashreplace"), digest_size=8).hexdigest()


def _notification(path: str, error: GatherError) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": error.rule},
        "message": {"text": clean(error.message)},
        "locations": [_location(path)],
    }
