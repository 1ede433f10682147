"""`model`: the Gather nodes of models, and the verdict on each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.declarations import INPUT, OUTPUT, Options, argument, flag
from gathercli.cli.messages import Messages
from gathercli.cli.options import EXTERNAL_DATA, TEXT_FORMAT, MemoryOptions
from gathercli.errors import GatherError
from gathercli.io.descriptors import STDOUT
from gathercli.report import terminal
from gathercli.report.words import cut, error_fields
from gathercli.spec.op import FRAMEWORKS
from gathercli.text import as_written, clean, counted, grouped, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.io.graphs.graph import Value
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.verdict import NodeVerdict
    from gathercli.report.terminal import Styled


MODEL_FILES: Final = argument(
    "FILE...",
    "ONNX models, OpenVINO .xml with their .bin beside, or folders with models.",
    kind=list,
)


class ModelOptions(Options):
    """How models are read."""

    external_data: bool = EXTERNAL_DATA
    no_infer: bool = flag(INPUT, "--no-infer", rare=True)

    guarded = True  # whether the process survives the truncation of a mapped file

    def read(self, path: str, memory: MemoryOptions, *, tolerant: bool = False) -> Model:
        """Read a model, whose notes are what the reader has to say."""
        from gathercli.models.files import ReadOptions, read

        options = ReadOptions(
            external=self.external_data,
            infer=not self.no_infer,
            limit=memory.limits.memory,
            guarded=self.guarded,
            tolerant=tolerant,
        )
        return read(path, options)


class ListOptions(Options):
    """What is listed."""

    every: bool = flag(OUTPUT, "--all")
    fmt: str = TEXT_FORMAT


def run(
    reading: ModelOptions,
    memory: MemoryOptions,
    options: ListOptions,
    messages: Messages,
    files: list[str] = MODEL_FILES,
) -> int:
    """List the nodes of models."""
    from gathercli.models.files import models_of, no_model

    paths, status = models_of(files), 0
    if not paths:
        raise no_model(files)
    for path in paths:
        noted = len(messages.notes)
        try:
            model, verdicts = judged(path, reading, memory)
            messages.notes += model.notes
        except GatherError as error:
            if len(paths) == 1:
                raise
            messages.print_error(error)
            status = max(status, error.status)
            if options.fmt == "json":
                terminal.print_text(json.dumps({"file": path, "error": error_fields(error)}) + "\n")
            continue
        if options.fmt == "json":
            terminal.print_text(
                json.dumps(model_json(model, verdicts, tensors=options.every)) + "\n"
            )
        else:
            width, color = terminal.width_of(STDOUT), terminal.wants_color(messages.color, STDOUT)
            text = terminal.rendered(model_text(model, verdicts, width, options.every), color=color)
            terminal.print_text(text if path == paths[0] else f"\n{text}")
        own = *messages.notes[noted:], *dict.fromkeys(each.note for each in model.nodes)
        start = f"{path}: " if len(paths) > 1 else ""
        messages.notes[noted:] = [start + note for note in own if note]
    messages.print()
    return status


def judged(
    path: str, reading: ModelOptions, memory: MemoryOptions
) -> tuple[Model, list[NodeVerdict]]:
    """Read a model; return it, closed, with the verdicts on its nodes."""
    model = reading.read(path, memory)
    try:
        verdicts = verdicts_of(model)
        model.recheck()
    finally:
        model.close()
    return model, verdicts


def verdicts_of(model: Model) -> list[NodeVerdict]:
    """Return the verdicts on the nodes of a model, in order."""
    from gathercli.models.lint import contradictions
    from gathercli.models.verdict import judge

    verdicts = []
    for node in model.nodes:
        verdict = judge(node)
        verdicts.append(verdict._replace(contradictions=tuple(contradictions(verdict))))
        node.forget()
    return verdicts


_NODE_HEADINGS: Final = ("node", "version", "attributes", "inputs", "output", "verdict")
_NODE_LEGEND: Final = (
    "* is constant. proven: every index is inside its axis; at run time: what the model decides is "
    "allowed, an index or a size that comes then decides; fills: indices outside become zeros; not "
    "read: not checked.\n"
)
NODE_STYLES: Final = (
    (r"(?m)^(node|tensor) .*", "bold"),
    (r"(?m)(?<=  )refused: .*", terminal.ERROR_STYLE),
    (r"(?m)(?<=  )(fills|not read)$", "yellow"),
    (r"(?m)(?<=  )proven$", "green"),
)


def model_json(
    model: Model, verdicts: Iterable[NodeVerdict], *, tensors: bool = False
) -> dict[str, Any]:
    """Return a model and its nodes for JSON, with its tensors if `tensors`."""
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
    return fields


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
    model: Model, verdicts: Sequence[NodeVerdict], width: int | None, tensors: bool = False
) -> Styled:
    """Format a model and its nodes: a table, or blocks of lines where that is too wide."""
    from gathercli.report.versions import columns

    parts = [wrapped(heading(model, len(verdicts)), width), *nodes_text(verdicts, width)]
    if tensors:
        lines = [
            (shown(name), f"{constant.dtype.short}{list(constant.shape)}".replace(" ", ""))
            for name, constant in model.tensors.items()
        ]
        parts.append(columns([("tensor", "type and shape"), *lines], None))
    return terminal.highlighted("\n".join(parts), NODE_STYLES)


def nodes_text(verdicts: Sequence[NodeVerdict], width: int | None) -> list[str]:
    """Format nodes: a table, what its words mean, and why some are refused."""
    parts = [_table(verdicts, width), wrapped(_NODE_LEGEND, width)] if verdicts else []
    reasons = "".join(map(_reason, verdicts))
    return [*parts, wrapped(reasons, width)] if reasons else parts


def _table(verdicts: Sequence[NodeVerdict], width: int | None) -> str:
    """Format nodes with the names of their values, without them, or over several lines.

    The first of these that is not wider than `width`.
    """
    for named in (True, False):
        rows = [_row(each, named=named) for each in verdicts]
        if table := fitting([_NODE_HEADINGS, *rows], width):
            return table
    return "\n".join(block(_NODE_HEADINGS, _narrow_row(each, width or 0)) for each in verdicts)


def fitting(rows: Sequence[Sequence[str]], width: int | None) -> str:
    """Format a table, the headings first; empty text if it is wider than `width`."""
    from gathercli.report.versions import columns

    table = columns(rows, None)
    return table if width is None or max(map(len, table.splitlines())) <= width else ""


def block(headings: Sequence[str], row: Sequence[str]) -> str:
    """Format a row over several lines: the first cell, then each other after its heading."""
    name, *fields = row
    size = max(map(len, headings[1:]))
    labels = zip(headings[1:], fields, strict=True)
    return name + "\n" + "".join(f"  {label:<{size}}  {text}\n" for label, text in labels if text)


def wrapped(text: str, width: int | None) -> str:
    """Wrap the lines of a text at words within a width; None does not wrap."""
    from textwrap import wrap

    if width is None:
        return text
    lines = [
        wrap(line, width, break_on_hyphens=False, break_long_words=False, subsequent_indent="  ")
        for line in text.splitlines()
    ]
    return "".join(f"{line}\n" for wrapped in lines for line in wrapped)


def heading(model: Model, number: int) -> str:
    """Say what a model is, and how many of its nodes are of the family."""
    words = [f"{FRAMEWORKS[model.format].title} IR {model.version}"]
    words += (
        f"opset {opset}" if not domain else f"{shown(domain)} {opset}"
        for domain, opset in model.opsets.items()
    )
    words += [f"by {shown(model.producer)}"] if model.producer else []
    of = f"{grouped(number)} of {counted(model.number, 'node')} of the Gather family"
    return f"{clean(model.path)}: {', '.join(words)}; {of}\n"


def _row(verdict: NodeVerdict, *, named: bool) -> tuple[str, ...]:
    """Format a node, with the names of its values in the model if `named`."""
    node = verdict.node
    version = node.op.full_name if node.op else f"{node.framework}.{shown(node.operator)}"
    attributes = " ".join(
        f"{shown(name)} {shown(_plain(value))}" for name, value in node.settings.items()
    )
    inputs = " ".join(
        f"{_named(f'{name}={value.name}', named and value.name)}"
        f"{shown(str(value.operand))}{'*' if value.constant else ''}"
        for name, value in node.named_inputs.items()
    )
    dtype = node.inputs[0].dtype if verdict.call else None
    output = shown(f"{dtype.short if dtype else ''}{verdict.shape}") if verdict.call else ""
    own = node.outputs[0].name if node.outputs else node.name
    output = f"{_named(own, named and own != node.name)}{output}".rstrip()
    return node_name(node), version, clean(attributes), inputs, output, verdict_text(verdict)


def _named(name: str, is_shown: object) -> str:
    """Return the name of a value before its type; nothing unless it `is_shown`."""
    return f"{shown(name)} " if is_shown else ""


def node_name(node: ModelNode) -> str:
    """Return the name of a node, and the one in the model with its place if that differs."""
    name = shown(node.name)
    if node.own_name in ("", node.name):
        return name
    place = f" in {shown('/'.join(node.path))}" if node.path else ""
    return f"{name} ({shown(node.own_name)}{place})"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else as_written(value)


def verdict_text(verdict: NodeVerdict) -> str:
    """Return the verdict on a node, with the rules that refuse it."""
    reasons = [verdict.error, *verdict.contradictions]
    rules = dict.fromkeys(each.rule for each in reasons if each is not None)
    return f"refused: {', '.join(rules)}" if rules else verdict.word


def _narrow_row(verdict: NodeVerdict, width: int) -> tuple[str, ...]:
    """Format a node for a block, with the names of values in lines that have room for them."""
    room = width - len("  attributes  ")
    pairs = zip(_row(verdict, named=False), _row(verdict, named=True), strict=True)
    return tuple(longer if len(longer) <= room else text for text, longer in pairs)


def _reason(verdict: NodeVerdict) -> str:
    """Say what is refused, filled or not checked, a line each; nothing for any other node."""
    from gathercli.models.graph import unread_text

    lines = [verdict.error.message] if verdict.error else list(map(str, verdict.adjustments))
    lines += [each.message for each in verdict.contradictions]
    lines += filter(None, [unread_text(verdict.node)])
    return "".join(f"{shown(verdict.node.name)}: {clean(cut(line))}\n" for line in lines)
