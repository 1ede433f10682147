"""Format the findings of models as lines of text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.batch.outcome import ERROR as ERROR_STATUS
from gathercli.batch.outcome import MISMATCH, OK, SKIPPED
from gathercli.models.finding import NOTE, UNREAD
from gathercli.report.versions import hanging
from gathercli.report.words import cut, error_json
from gathercli.text import clean, counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.errors import GatherError
    from gathercli.models.finding import Finding
    from gathercli.models.graph import ModelNode

_STYLES: Final = {"error": "red", "warning": "yellow", "note": "cyan"}


class CheckedModel(NamedTuple):
    """A model with its findings.

    Attributes
    ----------
    path
        The model, as passed by the caller.
    nodes
        Its nodes.
    error
        Why the model was not read; None if it was.
    """

    path: str
    nodes: tuple[ModelNode, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: GatherError | None = None


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

    place, rule = f"{clean(path)}: {shown(finding.node)}", f"  [{finding.rule}]"
    words = f"{finding.level}: {clean(cut(finding.text))}{rule}"
    if width is None:
        text = Text.assemble((place, "bold"), ": ", words, "\n")
    else:
        text = Text.assemble((place, "bold"), "\n", hanging("  ", words, width))
    text.highlight_words([f"{finding.level}:"], _STYLES[finding.level])
    return text


def total(checked: Sequence[CheckedModel]) -> str:
    """Format the number of models, nodes and findings."""
    models, nodes = len(checked), sum(len(each.nodes) for each in checked)
    levels = [finding.level for each in checked for finding in merged(each.findings)]
    numbers = [counted(levels.count(level), level) for level in _STYLES if level in levels]
    refused = sum(each.error is not None for each in checked)
    unread = sum(len({f.node for f in each.findings if f.rule == UNREAD}) for each in checked)
    parts = [counted(models, "model"), counted(nodes, "node"), *(numbers or ["no finding"])]
    if unread:
        parts.append(f"{counted(unread, 'node')} not checked")
    return ", ".join(parts) + (f", {refused} not read" if refused else "") + "\n"


def as_json(checked: Sequence[CheckedModel], targets: Sequence[str]) -> str:
    """Format all models as one line of JSON."""
    return (
        json.dumps({"targets": list(targets), "models": [_model(each) for each in checked]}) + "\n"
    )


def _model(checked: CheckedModel) -> dict[str, Any]:
    fields: dict[str, Any] = {"model": checked.path, "nodes": len(checked.nodes)}
    fields["findings"] = [_finding(each) for each in checked.findings]
    if checked.error is not None:
        fields["error"] = json.loads(error_json(checked.error))
    return fields


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
    if checked.error is not None:
        error = checked.error
        yield {
            "id": checked.path,
            "status": ERROR_STATUS,
            "rule": error.rule,
            "message": error.message,
        }
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
