"""`shape`: the output shape from shapes alone."""

from __future__ import annotations

import re
from typing import Annotated, Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.operator import NamedOperator
from gathercli.cli.options import TensorOptions, TextFormat
from gathercli.report.terminal import rendered

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
) -> Answer:
    """Infer the shape."""
    del fmt  # of which the answer knows nothing
    from gathercli import engine
    from gathercli.io.source import Inputs

    op = operator.row(messages)
    Inputs.share_stdin(shapes.data, shapes.indices)
    with messages.inputs(memory.limits.held) as inputs:
        given, picked = operator.read(op, inputs.shape_or_operand, *shapes.tokens)
    call = operator.bind(op, given, picked, shapes_only=True)
    shape = engine.infer(call)
    indices = shapes.indices
    if _LIST.fullmatch(indices) and re.search(r"(?<!\d)0+(?!\d)|-", indices):
        size = indices.count(",") + 1
        messages.notes.append(
            f"`{indices}` was read as a shape; indices of these values have the shape `[{size}]`"
        )

    def text(width: int | None, color: bool) -> str:
        from gathercli.report.header import header

        return rendered(header(call, shape, width), color=color)

    def as_json() -> str:
        import json

        return json.dumps(shape.to_json(), separators=(",", ":")) + "\n"

    return Answer(text, as_json, plain=f"{shape}\n")
