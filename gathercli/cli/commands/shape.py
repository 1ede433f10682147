"""`shape`: the output shape from shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gathercli.cli import options as opt
from gathercli.cli.limits import Limits
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import Operator, Token
from gathercli.io.write import STDOUT
from gathercli.report.terminal import is_terminal, rendered, wants_color, width_of
from gathercli.spec.op import Negative, OutOfRange

_SHAPE_HELP = "A shape ('[2,?,1..5,N]', 2x5, '[...]'), or a tensor, whose header alone is read."

DataShape = Annotated[str, typer.Argument(metavar="DATA", help=_SHAPE_HELP, show_default=False)]
IndicesShape = Annotated[
    str,
    typer.Argument(
        metavar="INDICES", help="A shape or a tensor, given in the same ways.", show_default=False
    ),
]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(
    op: opt.OpName,
    data: DataShape,
    indices: IndicesShape,
    axis: opt.Axis = None,
    batch_dims: opt.BatchDims = "0",
    version: opt.Version = None,
    negative: opt.NegativeChoice = Negative.SPEC,
    out_of_range: opt.OutOfRangeChoice = OutOfRange.SPEC,
    data_dtype: opt.DataDtype = None,
    indices_dtype: opt.IndicesDtype = None,
    max_bytes: opt.MaxBytes = None,
    fmt: opt.TextFormat = "auto",
    color: opt.Color = "auto",
    quiet: opt.Quiet = False,
    json_errors: opt.JsonErrors = False,
    debug: opt.Debug = False,
) -> Callable[[], int]:
    """Collect the request."""
    del debug  # main finds it in the words
    return partial(
        _run,
        Operator(op, axis, batch_dims, version, negative.value, out_of_range.value),
        (data, data_dtype),
        (indices, indices_dtype),
        Limits.parse(max_bytes),
        fmt,
        Messages(quiet, color, json_errors=json_errors),
    )


def _run(
    operator: Operator, data: Token, indices: Token, limits: Limits, fmt: str, messages: Messages
) -> int:
    from gathercli import engine
    from gathercli.io.source import Inputs

    op = operator.row(messages)
    Inputs.share_stdin(data[0], indices[0])
    with messages.inputs(limits.held) as inputs:
        given, picked = operator.read(op, inputs.shaped, data, indices)
    call = operator.bind(op, given, picked, shapes_only=True)
    shape = engine.infer(call)
    if fmt == "json":
        import json

        print_text(json.dumps(shape.to_json(), separators=(",", ":")) + "\n")
    elif fmt == "pretty" or (fmt == "auto" and is_terminal(STDOUT)):
        from gathercli.report.header import header

        text = header(call, shape, width_of(STDOUT))
        print_text(rendered(text, color=wants_color(messages.color, STDOUT)))
    else:
        print_text(f"{shape}\n")
    messages.print()
    return 0
