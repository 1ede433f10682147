"""`compare`: the outputs of every version for the same inputs, by agreement."""

from __future__ import annotations

import re
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from gathercli.cli.call import CallOptions
from gathercli.cli.commands.ops import exactly, named
from gathercli.cli.declarations import OPERATOR, Answer, Options, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import TEXT_FORMAT, THREADS, OperatorOptions
from gathercli.cli.slice_options import PictureOptions, RuntimeOptions
from gathercli.errors import UsageError, VersionError
from gathercli.frameworks import every_row
from gathercli.frameworks.equivalents import framework_named
from gathercli.frameworks.versions import VersionMatch
from gathercli.ops import FAMILIES, accepted_families
from gathercli.report.terminal import PICTURE_WIDTH, rendered
from gathercli.spec.call import CallContext
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    from gathercli.cli.slice_options import Addition
    from gathercli.compute.compare import Comparison
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Case
    from gathercli.report.terminal import Styled
    from gathercli.report.verdicts import ComparisonText
    from gathercli.spec.op import Op

# The most elements of an output to format: more than a line has room for.
MOST_ELEMENTS: Final = 512

# The versions with the same inputs.
COMPARED: Final = tuple(op for family in accepted_families("compare") for op in family.ROWS)


def every_op() -> list[Op]:
    """Return the versions to compare, then those of other frameworks by family."""
    others = (row for each in accepted_families("compare") for row in every_row(each.COMMAND))
    return [*COMPARED, *(row.op for row in others)]


class ComparedOperators(OperatorOptions):
    """Every operator, or those of a list in place of a version."""

    version: str | None = option(
        OPERATOR,
        "--ops",
        metavar="LIST",
        help="Only these, with commas: commands (gather), versions (onnx-13), names "
        "(torch.gather).",
    )
    frameworks: str | None = option(
        OPERATOR,
        "--of",
        metavar="LIST",
        help="Only these frameworks: openvino,onnx,torch.",
        known=lambda: dict.fromkeys(op.framework for op in every_op()),
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group itself, as its versions are a list."""
        del command
        return cls

    @cached_property
    def chosen(self) -> VersionMatch:
        """The first version, which has the inputs of all; no environment variable names one."""
        return VersionMatch(COMPARED[0])

    def context(self) -> CallContext:
        """Return a context that names no operator."""
        return CallContext(None)


class ComparedCall(CallOptions):
    """A call of every version."""

    operator: ComparedOperators


def run(
    call: ComparedCall,
    running: RuntimeOptions,
    pictures: PictureOptions,
    messages: Messages,
    fmt: str = TEXT_FORMAT,
    threads: int | None = THREADS,
) -> Answer:
    """Call every version, and group those with equal output; then call the runtimes."""
    from gathercli.compute.compare import compared

    running.chosen()
    operators = call.operator
    rows, by_name = _rows(operators, messages)
    opened = call.open()
    with pictures.opened() as saved, opened:
        case = opened.case(threads)
        comparison = compared(rows, case, call.memory.limits.result, by_name)
        is_named = operators.version is not None
        added = running.compared(comparison, case, operators.attrs.typed, named=is_named)
        line = _json(comparison, operators, case, added) if fmt == "json" else ""
        said = _said(comparison, operators, case, shows=bool(saved.files or not line))

        def text(width: int | None) -> Styled:
            shown = said.text(width)
            return shown if added.text is None else shown.append_text(added.text(width))

        if saved.files:
            tables = [each for each in (said.table(), added.rows) if each]
            pictures.draw(
                saved.files,
                " · ".join(said.inputs.split("   ")),
                [(each[0], each[1:]) for each in tables],
                said.lines(PICTURE_WIDTH),
                partial(text, PICTURE_WIDTH),
            )
        opened.inputs.recheck()
        saved.commit()
    return Answer(
        lambda width, color: rendered(text(width), color=color),
        lambda: line,
        notes=() if line else added.notes,
        remarks=saved.remarks,
        status=added.status,
    )


def _rows(options: ComparedOperators, messages: Messages) -> tuple[list[Op], set[Op]]:
    """Return the rows of the frameworks and names in two lists, in the order of all rows.

    With them, those that are named by themselves or by their command.
    """
    text, rows = options.version, _of(options.frameworks)
    if text is None:
        return rows, set()
    chosen: set[Op] = set()
    by_name: set[Op] = set()
    for name in map(str.strip, re.split(r",(?![^(\[]*[)\]])", text)):  # but not at that of x[i, j]
        if not name:
            raise VersionError(
                f"is `{text[:40]}`",
                rule="version",
                subject="--ops",
                value=text,
                expected="names with commas between",
                hint="`--ops gather,onnx-13`",
            )
        if name in FAMILIES:
            by_name |= {*FAMILIES[name].ROWS, *(op for op in rows if op.family == name)}
            continue
        matches = exactly(name, named(name, "--ops "))
        ops = {each.op for each in matches}
        if len(ops) == 1:
            by_name |= ops
        chosen |= ops & set(rows) or ops
        messages.notes += [each.note for each in matches if each.note]
    chosen |= by_name
    families = {op.family for op in COMPARED}
    other = next((op for op in chosen if op.family not in families), None)
    if other is not None:
        names = listed((each.name.upper() for each in other.inputs), "and")
        what = f"names {other}, which takes {names}"
        expected = "versions of DATA and INDICES"
        raise VersionError(what, rule="version", subject="--ops", value=text, expected=expected)
    if not chosen.intersection(rows):
        what = f"is `{clean(options.frameworks or '')}`, and `--ops` names nothing of theirs"
        expected = listed(sorted({op.framework for op in chosen}), "or")
        raise UsageError(what, subject="--of", value=options.frameworks, expected=expected)
    return [op for op in rows if op in chosen], by_name


def _of(text: str | None) -> list[Op]:
    """Return the rows of the frameworks in a list, or of all."""
    rows = every_op()
    if text is None:
        return rows
    known = dict.fromkeys(op.framework for op in rows)
    names = []
    for name in map(str.strip, text.split(",")):
        of = framework_named(name)
        if of is None or of.name not in known or name.lower() not in (of.name, *of.short):
            near = of.name if of and of.name in known else closest(name, known)
            what = f"names `{clean(name[:40])}`"
            hint = f"did you mean `{near}`?" if near else None
            raise UsageError(what, subject="--of", value=name, expected=listed(known), hint=hint)
        names.append(of.name)
    return [op for op in rows if op.framework in names]


def _json(comparison: Comparison, operator: OperatorOptions, case: Case, added: Addition) -> str:
    from gathercli.report.header import tensor_json
    from gathercli.report.verdicts import compared_json

    fields = {
        "data": tensor_json(case.data.dtype, case.data.shape),
        "indices": tensor_json(case.indices.dtype, case.indices.shape),
        **operator.attrs.typed,
        "negative": operator.negative,
        "out_of_range": operator.out_of_range,
    }
    return compared_json(comparison, fields, _values(comparison, "quoted"), added.fields)


def _said(
    comparison: Comparison, operator: OperatorOptions, case: Case, *, shows: bool
) -> ComparisonText:
    """Format the inputs, the attributes, and if `shows` the elements of the text."""
    from gathercli.compute.compare import first_elements
    from gathercli.io.formats.encode import json_texts
    from gathercli.report.verdicts import ComparisonText

    call = f"data {case.data}   indices {case.indices}"
    used = {attr.name for verdict in comparison.verdicts for attr in verdict.op.attrs}
    for name, value in operator.attrs.typed.items():
        if name in used or value is not None:
            call += f"   {f'default {name}' if value is None else f'{name} {value}'}"
    for name in ("negative", "out_of_range"):
        if (value := getattr(operator, name)) != "spec":
            call += f"   --{name.replace('_', '-')} {value}"
    if not shows:
        return ComparisonText(comparison, call)
    groups = comparison.group_calls
    outputs = [json_texts(first_elements(group, case, MOST_ELEMENTS)) for group in groups]
    return ComparisonText(comparison, call, _values(comparison, "bare"), outputs)


def _values(comparison: Comparison, nonfinite: str) -> list[tuple[str, str]]:
    """Format both values of each difference with full precision."""
    from gathercli.io.formats.encode import TextOptions, plain_json

    def text(value: Tensor) -> str:
        return (
            b"".join(plain_json([("value", value)], TextOptions(nonfinite))).decode().rstrip("\n")
        )

    return [
        ("", "") if each.values is None else (text(each.values[0]), text(each.values[1]))
        for each in comparison.differences
    ]
