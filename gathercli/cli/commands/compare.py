"""`compare`: the outputs of every version for the same inputs, by agreement."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import Options, option
from gathercli.cli.commands.ops import exactly, named
from gathercli.cli.groups import OPERATOR
from gathercli.cli.inputs import TensorOptions, TypeOptions, inputs_of, read
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.operator import OperatorOptions
from gathercli.cli.options import TEXT_FORMAT, THREADS
from gathercli.cli.pictures import PictureOptions
from gathercli.cli.runtimes import RuntimeOptions
from gathercli.errors import VersionError
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.call import CallContext
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from gathercli.cli.runtimes import Addition
    from gathercli.compute.groups import Comparison
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import Case
    from gathercli.report.terminal import Styled
    from gathercli.report.verdicts import Elements
    from gathercli.spec.op import Op

FIRST: Final = next(iter(FAMILIES.values()))
MOST_ELEMENTS: Final = 512
"""The most elements of an output to format: more than a line has room for."""

COMPARED: Final = tuple(
    op
    for op in OPERATORS
    if [each.name for each in op.inputs] == [each.name for each in inputs_of(FIRST)]
)
"""The versions with the same inputs as the first."""


class ComparedTypes(TypeOptions):
    """The types of the inputs of all compared versions."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of the first operator."""
        del command
        return super().of(FIRST.COMMAND)


class ComparedTensors(TensorOptions):
    """The inputs of all compared versions."""

    types: ComparedTypes

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of the first operator."""
        del command
        return super().of(FIRST.COMMAND)


class ComparedOperators(OperatorOptions):
    """Every operator, or those of a list in place of a version."""

    version: str | None = option(
        OPERATOR,
        "--ops",
        metavar="LIST",
        help="Only these, with commas between: commands (gather), versions (onnx-13), full "
        "names (openvino.Gather-8).",
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group itself, as its versions are a list."""
        del command
        return cls


def run(
    operators: ComparedOperators,
    tensors: ComparedTensors,
    memory: MemoryOptions,
    running: RuntimeOptions,
    pictures: PictureOptions,
    messages: Messages,
    fmt: str = TEXT_FORMAT,
    threads: int | None = THREADS,
) -> Answer:
    """Call every version, and group those with equal output; then call the runtimes."""
    from gathercli.compute.groups import compared

    running.chosen()
    rows, by_name = _rows(operators.version, messages)
    progress = messages.progress()
    opened = tensors.opened(FIRST.ROWS[0], memory.limits.memory, messages, progress=progress)
    with ExitStack() as stack:
        outputs = pictures.opened(stack)
        stack.enter_context(messages)
        inputs = stack.enter_context(opened).inputs
        with CallContext(None) as call:
            read_tensors = read(call, opened, inputs.tensor)
        case = operators.case(read_tensors, threads, progress)
        comparison = compared(rows, case, memory.limits.result, by_name)
        is_named = operators.version is not None
        added = running.compared(comparison, case, operators.attrs.typed, named=is_named)
        answer = _answer(comparison, operators, case, added, fmt)
        if outputs:
            pictures.draw(outputs, *_picture(comparison, operators, case, added))
        inputs.recheck()
        for output in outputs:
            output.commit()
    return answer._replace(
        remarks=tuple(f"wrote {clean(output.path)}" for output in outputs),
        status=added.status,
    )


def _rows(text: str | None, messages: Messages) -> tuple[tuple[Op, ...], set[Op]]:
    """Return the rows of a list of commands, versions and full names, in the order of all rows.

    Returns
    -------
        The rows; and the subset that the list names by itself or by its command.
    """
    if text is None:
        return COMPARED, set()
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
            by_name |= set(FAMILIES[name].ROWS)
            continue
        matches = exactly(name, named(name, "--ops "))
        ops = {each.op for each in matches}
        if len(ops) == 1:
            by_name |= ops
        chosen |= ops & set(COMPARED) or ops
        messages.notes += [each.note for each in matches if each.note]
    chosen |= by_name
    other = next((op for op in OPERATORS if op in chosen and op not in COMPARED), None)
    if other is not None:
        names = listed((each.name.upper() for each in other.inputs), "and")
        raise VersionError(
            f"names {other}, which takes {names}",
            rule="version",
            subject="--ops",
            value=text,
            expected="versions of DATA and INDICES",
        )
    return tuple(op for op in COMPARED if op in chosen), by_name


def _answer(
    comparison: Comparison,
    operator: OperatorOptions,
    case: Case,
    added: Addition,
    fmt: str,
) -> Answer:
    """Return the answer of a comparison; format its values while the inputs are open."""
    from gathercli.report.header import tensor_json
    from gathercli.report.terminal import rendered
    from gathercli.report.verdicts import compared_json

    data, indices = case.data, case.indices
    if fmt == "json":
        fields = {
            "data": tensor_json(data.dtype, data.shape),
            "indices": tensor_json(indices.dtype, indices.shape),
            **operator.attrs.typed,
            "negative": operator.negative,
            "out_of_range": operator.out_of_range,
        }
        line = compared_json(comparison, fields, _values(comparison, "quoted"), added.fields)
        return Answer(lambda *_: line, lambda: line)
    call = _call_text(comparison, operator, case)
    elements = _elements(comparison, case)

    def text(width: int | None, color: bool) -> str:
        return rendered(_text(comparison, call, elements, added, width), color=color)

    return Answer(text, notes=added.notes)


def _call_text(comparison: Comparison, operator: OperatorOptions, case: Case) -> str:
    """Format the inputs and the attributes."""
    call = f"data {case.data}   indices {case.indices}"
    used = {attr.name for verdict in comparison.verdicts for attr in verdict.op.attrs}
    for name, value in operator.attrs.typed.items():
        if name in used or value is not None:
            call += f"   {f'default {name}' if value is None else f'{name} {value}'}"
    for name in ("negative", "out_of_range"):
        if (value := getattr(operator, name)) != "spec":
            call += f"   --{name.replace('_', '-')} {value}"
    return call


def _text(
    comparison: Comparison,
    call: str,
    elements: Elements,
    added: Addition,
    width: int | None,
) -> Styled:
    from gathercli.report.verdicts import compared_text

    answer = compared_text(comparison, call, elements, width)
    if added.text is not None:
        answer.append_text(added.text(width))
    return answer


def _picture(
    comparison: Comparison, operator: OperatorOptions, case: Case, added: Addition
) -> tuple[Any, ...]:
    """Return the call, the tables and the lines of a picture, and what writes its characters."""
    from gathercli.report import verdicts as report
    from gathercli.report.terminal import PICTURE_WIDTH

    call, elements = _call_text(comparison, operator, case), _elements(comparison, case)
    tables: list[Any] = [(report.COMPARED_HEADINGS, report.compared_rows(comparison))]
    if added.rows:
        tables.append((added.rows[0], added.rows[1:]))
    lines = [": ".join(each) for each in report.compared_reasons(comparison)]
    lines += ["".join(each) for each in report.compared_results(comparison, elements.differences)]
    lines += report.compared_outputs(comparison, elements.outputs, PICTURE_WIDTH)
    text = partial(_text, comparison, call, elements, added, PICTURE_WIDTH)
    return " · ".join(call.split("   ")), tables, lines, text


def _elements(comparison: Comparison, case: Case) -> Elements:
    """Format the elements of a comparison that its text shows."""
    from gathercli.compute.groups import first_elements
    from gathercli.io.formats.encode import json_texts
    from gathercli.report.verdicts import Elements

    groups = comparison.group_calls
    outputs = [json_texts(first_elements(group, case, MOST_ELEMENTS)) for group in groups]
    return Elements(_values(comparison, "bare"), outputs)


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
