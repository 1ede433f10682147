"""`compare`: the same inputs through every version, and who agrees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gathercli.cli import options as opt
from gathercli.cli.commands.ops import exactly, named
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator, Token, integer, read
from gathercli.errors import VersionError
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.op import Negative, OutOfRange

if TYPE_CHECKING:
    from gathercli.arrays.tensor import Tensor
    from gathercli.lessons.groups import Comparison
    from gathercli.spec.op import Op


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    data: opt.Data,
    indices: opt.Indices,
    axis: opt.Axis = None,
    batch_dims: opt.BatchDims = "0",
    ops: opt.Versions = None,
    negative: opt.NegativeChoice = Negative.SPEC,
    out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
    data_dtype: opt.DataDtype = None,
    indices_dtype: opt.IndicesDtype = None,
    max_bytes: opt.MaxBytes = None,
    fmt: opt.TextFormat = "auto",
    threads: opt.Threads = None,
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    del debug  # main finds it in the words
    messages = Messages(quiet, color, json_errors=json_errors)
    return partial(
        _run,
        Operator("", axis, batch_dims, None, negative.value, out_of_range.value),
        (data, data_dtype),
        (indices, indices_dtype),
        _Asked(ops, Limits.parse(max_bytes), fmt, threads),
        messages,
    )


class _Asked(NamedTuple):
    """What is asked beside the call."""

    ops: str | None
    limits: Limits
    fmt: str
    threads: int | None


def _run(operator: Operator, data: Token, indices: Token, asked: _Asked, messages: Messages) -> int:
    from gathercli.io.source import Inputs
    from gathercli.lessons.groups import compared

    rows = OPERATORS if asked.ops is None else _rows(asked.ops, messages)
    Inputs.share_stdin(data[0], indices[0])
    tick = messages.progress()
    with messages, messages.inputs(asked.limits.held, tick) as inputs:
        given, picked = read(None, inputs.tensor, data, indices)
        case = operator.case(given, picked, asked.threads, tick)
        found = compared(rows, case, asked.limits.file)
        inputs.recheck()
        _print(found, operator, case.data, case.indices, asked.fmt, messages.color)
    messages.print()
    return 0


def _rows(text: str, messages: Messages) -> tuple[Op, ...]:
    """Find the rows of a list of commands, versions and full names, in the order of all rows."""
    chosen: set[Op] = set()
    for name in map(str.strip, text.split(",")):
        if not name:
            raise VersionError(
                f"`--ops` is `{text[:40]}`: expected names with commas between",
                rule="version",
                value=text,
                hint="`--ops gather,onnx-13`",
            )
        if name in FAMILIES:
            chosen |= set(FAMILIES[name].ROWS)
            continue
        found = exactly(name, named(name, "--ops "))
        chosen |= {each.op for each in found}
        messages.notes += [each.note for each in found if each.note]
    return tuple(op for op in OPERATORS if op in chosen)


def _print(
    found: Comparison, operator: Operator, data: Tensor, indices: Tensor, fmt: str, color: str
) -> None:
    from gathercli.io.write import STDOUT
    from gathercli.report.header import tensor_json
    from gathercli.report.terminal import rendered, wants_color, width_of
    from gathercli.report.verdicts import compared_json, compared_text

    if fmt == "json":
        fields = {
            "data": tensor_json(data.dtype, data.shape),
            "indices": tensor_json(indices.dtype, indices.shape),
            "axis": integer(operator.axis),
            "batch_dims": integer(operator.batch_dims),
            "negative": operator.negative,
            "out_of_range": operator.out_of_range,
        }
        print_text(compared_json(found, fields, _values(found, "quoted")))
        return
    asked = f"data {data}   indices {indices}   axis {operator.axis or 'by default'}"
    asked += f"   batch_dims {operator.batch_dims}"
    for option in ("negative", "out_of_range"):
        if (value := getattr(operator, option)) != "spec":
            asked += f"   --{option.replace('_', '-')} {value}"
    text = compared_text(found, asked, _values(found, "bare"), width_of(STDOUT))
    print_text(rendered(text, color=wants_color(color, STDOUT)))


def _values(found: Comparison, nonfinite: str) -> list[tuple[str, str]]:
    """Write the values of each difference with the digits that tell them apart."""
    return [
        ("", "")
        if each.values is None
        else (_written(each.values[0], nonfinite), _written(each.values[1], nonfinite))
        for each in found.differences
    ]


def _written(value: Tensor, nonfinite: str) -> str:
    from gathercli.io.formats.encode import plain_json

    written = plain_json([("value", value)], nonfinite=nonfinite, max_bytes=None)
    return "".join(written).rstrip("\n")
