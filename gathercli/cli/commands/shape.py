"""`shape`: the output shape from shapes alone."""

from __future__ import annotations

import re
from typing import Annotated, Final

from gathercli.cli.command import argument
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.main import print_text
from gathercli.cli.messages import Messages
from gathercli.cli.operator import NamedOperator
from gathercli.cli.options import TensorOptions, TextFormat
from gathercli.io.write import STDOUT
from gathercli.report.terminal import is_terminal, rendered, wants_color, width_of

_SHAPE_HELP = "A shape ('[2,?,1..5,N]', 2x5, '[...]'), or a tensor, whose header alone is read."

_LIST: Final = re.compile(r"-?\d+(?:,-?\d+)+", re.ASCII)
"""A list that may be the shape of indices, or indices."""


class ShapeArguments(TensorOptions):
    """Shapes, in the place of tensors."""

    data: Annotated[str, argument("DATA", _SHAPE_HELP)]
    indices: Annotated[str, argument("INDICES", "A shape or a tensor, given in the same ways.")]


def run(
    operator: NamedOperator,
    shapes: ShapeArguments,
    memory: MemoryOptions,
    messages: Messages,
    fmt: TextFormat = "auto",
) -> int:
    """Infer the shape, and print it."""
    from gathercli import engine
    from gathercli.io.source import Inputs

    op = operator.row(messages)
    Inputs.share_stdin(shapes.data, shapes.indices)
    with messages.inputs(memory.limits.held) as inputs:
        given, picked = operator.read(op, inputs.shaped, *shapes.tokens)
    call = operator.bind(op, given, picked, shapes_only=True)
    shape = engine.infer(call)
    indices = shapes.indices
    if _LIST.fullmatch(indices) and re.search(r"(?<!\d)0+(?!\d)|-", indices):
        size = indices.count(",") + 1
        messages.notes.append(
            f"`{indices}` was read as a shape; indices of these values have the shape `[{size}]`"
        )
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
