"""`model`: the Gather nodes of a model, and the verdict on each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.declarations import INPUT, OUTPUT, Options, argument, flag
from gathercli.cli.messages import Messages
from gathercli.cli.options import EXTERNAL_DATA, TEXT_FORMAT, MemoryOptions
from gathercli.io.descriptors import STDOUT
from gathercli.report.palette import ERROR_STYLE
from gathercli.report.terminal import highlighted, print_text, rendered, wants_color, width_of
from gathercli.report.words import cut, error_fields
from gathercli.spec.op import FRAMEWORKS
from gathercli.text import as_written, clean, counted, grouped, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.io.graphs.graph import Value
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.verdict import NodeVerdict


MODEL_FILE: Final = argument("FILE", "An ONNX model, or an OpenVINO .xml with its .bin beside.")


class ModelOptions(Options):
    """How models are read."""

    external_data: bool = EXTERNAL_DATA
    no_infer: bool = flag(
        INPUT,
        "--no-infer",
        help="Do not let the onnx package infer shapes that are not known.",
        rare=True,
    )

    def read(
        self, path: str, memory: MemoryOptions, messages: Messages, *, tolerant: bool = False
    ) -> Model:
        """Read a model, and note what the reader has to say."""
        from gathercli.models.files import ReadOptions, read

        options = ReadOptions(
            external=self.external_data,
            infer=not self.no_infer,
            limit=memory.limits.memory,
            guarded=True,
            tolerant=tolerant,
        )
        model = read(path, options)
        messages.notes += model.notes
        return model


class ListOptions(Options):
    """What is listed."""

    every: bool = flag(OUTPUT, "--all", help="List the tensors that the model stores, too.")
    fmt: str = TEXT_FORMAT


def run(
    reading: ModelOptions,
    memory: MemoryOptions,
    options: ListOptions,
    messages: Messages,
    file: str = MODEL_FILE,
) -> int:
    """List the nodes of a model."""
    from gathercli.models.lint import contradictions
    from gathercli.models.verdict import judge

    model = reading.read(file, memory, messages)
    try:
        verdicts = []
        for node in model.nodes:
            verdict = judge(node)
            verdicts.append(verdict._replace(contradictions=tuple(contradictions(verdict))))
            node.forget()
        model.recheck()
    finally:
        model.close()
    if options.fmt == "json":
        print_text(model_json(model, verdicts, tensors=options.every))
    else:
        width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
        print_text(model_text(model, verdicts, tensors=options.every, width=width, color=color))
    messages.notes += dict.fromkeys(each.note for each in model.nodes if each.note)
    messages.print()
    return 0


_NODE_HEADINGS: Final = ("node", "version", "attributes", "inputs", "output", "verdict")
_NODE_LEGEND: Final = (
    "* is constant. proven: every index is inside its axis; at run time: what the model decides is "
    "allowed, indices are not known; fills: indices outside become zeros; not read: not checked.\n"
)
_NODE_STYLES: Final = (
    (r"(?m)^(node|tensor) .*", "bold"),
    (r"(?m)(?<=  )refused: .*", ERROR_STYLE),
    (r"(?m)(?<=  )(fills|not read)$", "yellow"),
    (r"(?m)(?<=  )proven$", "green"),
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
            {"name": name, "dtype": each.dtype.name, "shape": list(each.shape)}
            for name, each in model.tensors.items()
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


def model_text(
    model: Model,
    verdicts: Sequence[NodeVerdict],
    *,
    tensors: bool,
    width: int | None,
    color: bool,
) -> str:
    """Format a model and its nodes: a table, or blocks of lines where that is too wide."""
    from gathercli.report.versions import columns

    rows = [_row(each) for each in verdicts]
    parts = [_wrapped(_heading(model, len(rows)), width)]
    if rows:
        table = columns([_NODE_HEADINGS, *rows], None)
        fits = width is None or max(map(len, table.splitlines())) <= width
        parts += [table if fits else "\n".join(map(_block, rows)), _wrapped(_NODE_LEGEND, width)]
    if reasons := "".join(map(_reason, verdicts)):
        parts.append(_wrapped(reasons, width))
    if tensors:
        lines = [
            (shown(name), f"{constant.dtype.short}{list(constant.shape)}".replace(" ", ""))
            for name, constant in model.tensors.items()
        ]
        parts.append(columns([("tensor", "type and shape"), *lines], None))
    text = "\n".join(parts)
    return rendered(highlighted(text, _NODE_STYLES), color=True) if color else text


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
    words = [f"{FRAMEWORKS[model.format].title} IR {model.version}"]
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
    dtype = node.inputs[0].dtype if verdict.call else None
    output = shown(f"{dtype.short if dtype else ''}{verdict.shape}") if verdict.call else ""
    return _name(node), version, clean(attributes), inputs, output, _word(verdict)


def _name(node: ModelNode) -> str:
    """Return the name of a node, and the one in the model with its place if that differs."""
    name = shown(node.name)
    if node.own_name in ("", node.name):
        return name
    place = f" in {shown('/'.join(node.path))}" if node.path else ""
    return f"{name} ({shown(node.own_name)}{place})"


def _plain(value: object) -> str:

    return value if isinstance(value, str) else as_written(value)


def _word(verdict: NodeVerdict) -> str:
    reasons = [verdict.error, *verdict.contradictions]
    rules = dict.fromkeys(each.rule for each in reasons if each is not None)
    return f"refused: {', '.join(rules)}" if rules else verdict.word


def _block(row: Sequence[str]) -> str:
    """Format a node over several lines."""
    name, *fields = row
    labels = zip(_NODE_HEADINGS[1:], fields, strict=True)
    return name + "\n" + "".join(f"  {label:<10}  {text}\n" for label, text in labels if text)


def _reason(verdict: NodeVerdict) -> str:
    """Say what is refused, filled or not checked, a line each; nothing for any other node."""
    from gathercli.models.graph import unread_text

    lines = [verdict.error.message] if verdict.error else list(map(str, verdict.adjustments))
    lines += [each.message for each in verdict.contradictions]
    lines += filter(None, [unread_text(verdict.node)])
    return "".join(f"{shown(verdict.node.name)}: {clean(cut(line))}\n" for line in lines)
