"""`shape`: infer the output shape from shapes alone."""

from __future__ import annotations

from gathercli.cli.call import NamedCall, TensorOptions
from gathercli.cli.declarations import Answer
from gathercli.cli.options import TEXT_FORMAT
from gathercli.report.terminal import rendered


class ShapeArguments(TensorOptions):
    """Shapes in place of tensors."""

    help = "A shape ('[2,?,1..5,N]', 2x5, '[...]'), or a tensor, whose header alone is read."
    likewise = "A shape or a tensor, given likewise."


class InferredCall(NamedCall):
    """A call of shapes."""

    tensors: ShapeArguments


def run(call: InferredCall, fmt: str = TEXT_FORMAT) -> Answer:
    """Infer the shape."""
    del fmt  # used by the caller

    with call.open(shows_progress=False) as opened:
        bound = opened.inferred()
    notes = call.messages.notes
    shape = bound.shape
    for each in opened.op.inputs:
        if each.values:
            notes += _doubts(opened.tokens[each.name].text)

    def text(width: int | None, color: bool) -> str:
        from gathercli.report.header import header

        return rendered(header(bound, shape, width), color=color)

    def as_json() -> str:
        import json

        return json.dumps(shape.to_json(), separators=(",", ":")) + "\n"

    return Answer(text, as_json, plain=f"{shape}\n")


def _doubts(word: str) -> list[str]:
    """Return a note if a list, read as a shape, may be meant as indices."""
    numbers = word.split(",")
    are_numbers = word.isascii() and all(each.removeprefix("-").isdigit() for each in numbers)
    is_index = any(each.startswith("-") or not each.strip("0") for each in numbers)
    size = len(numbers)
    if size == 1 or not (are_numbers and is_index):
        return []
    return [f"`{word}` was read as a shape; indices of these values have the shape `[{size}]`"]
