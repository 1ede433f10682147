"""Format the nodes of a model and the verdicts on them, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gathercli.report.terminal import rendered
from gathercli.report.words import cut, error_fields
from gathercli.text import clean, counted, grouped, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.io.graph import Constant, Value
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.verdict import NodeVerdict

_FRAMEWORKS: Final = {"onnx": "ONNX", "openvino": "OpenVINO"}
_HEADINGS: Final = ("node", "version", "attributes", "inputs", "output", "verdict")
_LEGEND: Final = (
    "* is constant. legal: what the model decides is allowed; fills: constant indices outside "
    "become zeros; unread, unknown: not checked. Indices that come at run time are not known.\n"
)
_STYLES: Final = (
    (r"(?m)^(node|tensor) .*", "bold"),
    (r"(?m)(?<=  )refused: .*", "red"),
    (r"(?m)(?<=  )(fills|unread|unknown)$", "yellow"),
    (r"(?m)(?<=  )legal$", "green"),
)


def model_json(model: Model, verdicts: Iterable[NodeVerdict], *, tensors: bool) -> str:
    """Format a model and its nodes as a line of JSON, with its tensors if `tensors`."""
    fields: dict[str, Any] = {
        "file": model.path,
        "format": model.format,
        "version": model.version,
        "producer": model.producer,
        "opsets": model.opsets,
        "total": model.number,
        "nodes": [node_json(each) for each in verdicts],
    }
    if tensors:
        fields["tensors"] = [
            _tensor_json(name, constant) for name, constant in model.tensors.items()
        ]
    return json.dumps(fields) + "\n"


def node_json(verdict: NodeVerdict) -> dict[str, Any]:
    """Return a node and the verdict on it, for JSON."""
    node = verdict.node
    outputs = [
        _value_json(each) | {"inferred": verdict.shape.to_json()} for each in node.outputs[:1]
    ]
    return {
        "name": node.name,
        "own_name": node.own_name,
        "path": list(node.path),
        "operator": node.operator,
        "opset": node.opset,
        "version": node.op.full_name if node.op else None,
        "attributes": {
            name: value if isinstance(value, int | list) else _plain(value)
            for name, value in node.settings.items()
        },
        "inputs": {
            name: _value_json(value) | {"constant": value.constant is not None}
            for name, value in node.named_inputs.items()
        },
        "outputs": outputs,
        "verdict": verdict.word,
        "checked": list(verdict.checked),
        "adjustments": [str(each) for each in verdict.adjustments],
        "unread": dict(node.unread),
        "error": error_fields(verdict.error) if verdict.error else None,
        "contradictions": [
            {"rule": each.rule, "message": each.message} for each in verdict.contradictions
        ],
    }


def _value_json(value: Value) -> dict[str, Any]:
    return {
        "value": value.name,
        "dtype": value.dtype.name if value.dtype else None,
        "shape": value.shape.to_json(),
    }


def _tensor_json(name: str, constant: Constant) -> dict[str, Any]:
    return {"name": name, "dtype": constant.dtype.name, "shape": list(constant.shape)}


def model_text(
    model: Model,
    verdicts: Sequence[NodeVerdict],
    *,
    tensors: bool,
    width: int | None,
    color: bool,
) -> str:
    """Format a model and its nodes: a table, or blocks of lines where that is too wide."""
    rows = [_row(each) for each in verdicts]
    parts = [_wrapped(_heading(model, len(rows)), width)]
    if rows:
        table = _table([_HEADINGS, *rows])
        fits = width is None or max(map(len, table.splitlines())) <= width
        parts += [table if fits else "\n".join(map(_block, rows)), _wrapped(_LEGEND, width)]
    if reasons := "".join(map(_reason, verdicts)):
        parts.append(_wrapped(reasons, width))
    if tensors:
        lines = [
            (shown(name), f"{constant.dtype.short}{list(constant.shape)}".replace(" ", ""))
            for name, constant in model.tensors.items()
        ]
        parts.append(_table([("tensor", "type and shape"), *lines]))
    return _colored("\n".join(parts), color=color)


def _wrapped(text: str, width: int | None) -> str:
    """Wrap the lines of a text at words within a width; None does not wrap."""
    from textwrap import wrap

    if width is None:
        return text
    lines = [
        wrap(line, width, break_on_hyphens=False, break_long_words=False, subsequent_indent="  ")
        for line in text.splitlines()
    ]
    return "".join(f"{line}\n" for wrapped in lines for line in wrapped)


def _heading(model: Model, number: int) -> str:
    words = [f"{_FRAMEWORKS[model.format]} IR {model.version}"]
    words += (
        f"opset {opset}" if not domain else f"{shown(domain)} {opset}"
        for domain, opset in model.opsets.items()
    )
    words += [f"by {shown(model.producer)}"] if model.producer else []
    of = f"{grouped(number)} of {counted(model.number, 'node')} of the Gather family"
    return f"{clean(model.path)}: {', '.join(words)}; {of}\n"


def _row(verdict: NodeVerdict) -> tuple[str, ...]:
    node = verdict.node
    version = node.op.full_name if node.op else f"{node.framework}.{shown(node.operator)}"
    attributes = " ".join(
        f"{shown(name)} {shown(_plain(value))}" for name, value in node.settings.items()
    )
    inputs = " ".join(
        f"{shown(str(value.operand))}{'*' if value.constant else ''}"
        for value in node.named_inputs.values()
    )
    output = shown(f"{_type_of(node)}{verdict.shape}") if verdict.call else ""
    return (
        _name(node),
        version,
        clean(attributes),
        inputs,
        output,
        _word(verdict),
    )


def _name(node: ModelNode) -> str:
    """Return the name of a node, and the one in the model with its place if that differs."""
    name = shown(node.name)
    if node.own_name in ("", node.name):
        return name
    place = f" in {shown('/'.join(node.path))}" if node.path else ""
    return f"{name} ({shown(node.own_name)}{place})"


def _plain(value: object) -> str:
    from gathercli.text import as_written

    return value if isinstance(value, str) else as_written(value)


def _type_of(node: ModelNode) -> str:
    data = node.inputs[0].dtype
    return data.short if data else ""


def _word(verdict: NodeVerdict) -> str:
    reasons = [verdict.error, *verdict.contradictions]
    rules = dict.fromkeys(each.rule for each in reasons if each is not None)
    return f"refused: {', '.join(rules)}" if rules else verdict.word


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def _block(row: Sequence[str]) -> str:
    """Format a node over several lines."""
    name, *fields = row
    labels = zip(_HEADINGS[1:], fields, strict=True)
    return name + "\n" + "".join(f"  {label:<10}  {text}\n" for label, text in labels if text)


def _reason(verdict: NodeVerdict) -> str:
    """Say what is refused, filled or not checked, a line each; nothing for a legal node."""
    from gathercli.models.verdict import unread

    lines = [verdict.error.message] if verdict.error else list(map(str, verdict.adjustments))
    lines += [each.message for each in verdict.contradictions]
    lines += filter(None, [unread(verdict.node)])
    return "".join(f"{shown(verdict.node.name)}: {clean(cut(line))}\n" for line in lines)


def _colored(text: str, *, color: bool) -> str:
    if not color:
        return text
    from rich.text import Text

    styled = Text(text)
    for pattern, style in _STYLES:
        styled.highlight_regex(pattern, style)
    return rendered(styled, color=True)
