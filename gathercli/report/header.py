"""The lines above every result: the version, the tensors, the output shape step by step."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gathercli.report.terminal import assembled
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, multiply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

    from gathercli.spec.call import Call, TensorLike

# A term of a shape formula: dimensions of an input, or their product.
_TERM = re.compile(
    r"(?P<product>\[product\()?(?P<input>\w+)\[(?P<start>[^]:]*):(?P<stop>[^]:]*)\](?(product)\)\])"
)


def formula(call: Call, out: Shape) -> list[str]:
    """Return the steps of the shape formula with the numbers of a call.

    ``data[:0] + indices[0:] + data[1:]``, ``[] + [3] + []``, ``[3]``
    """
    numbers: dict[str, int | None] = {"batch_dims": 0}  # of a call that has none
    numbers |= {each.name: attr_number(call, each.name)[1] for each in call.op.attrs}
    # For tuples, b is batch_dims, and k the length of a tuple.
    numbers |= {"b": numbers.get("batch_dims", 0), "k": _tuple_length(call)}
    if None in (numbers if call.op.tuples else numbers | {"k": 0}).values():
        return [call.op.shape, str(out)]
    text = _TERM.sub(partial(_with_numbers, numbers), call.op.shape.partition(", k = ")[0])
    if any(operand.shape.rank is None for operand in call.inputs.values()):
        return [text, str(out)]  # the terms are unknown
    terms = [_dims(call, term) for term in _TERM.finditer(text)]
    total = sum(terms, Shape())
    steps = [text, " + ".join(map(str, terms)), str(total)][: 3 if len(terms) > 1 else 2]
    if total != out:  # equal dimensions were narrowed to their intersection
        steps[-1:] = [str(total), f"{out} where both inputs agree"]
    return steps


def _tuple_length(call: Call) -> int | None:
    """Return the length of a tuple of indices; None if it is unknown, or without tuples."""
    if not call.op.tuples or not call.indices.shape.rank:
        return None
    length = call.indices.shape[-1]
    return length if isinstance(length, int) else None


def _with_numbers(numbers: Mapping[str, int | None], term: re.Match[str]) -> str:
    """Substitute numbers in a term; a product of fewer than two dimensions becomes a slice."""
    bounds = [
        str(sum(numbers[word] or 0 if word in numbers else int(word) for word in bound.split("+")))
        if bound
        else ""
        for bound in term.group("start", "stop")
    ]
    dims = f"{term['input']}[{':'.join(bounds)}]"
    return f"[product({dims})]" if term["product"] and int(bounds[1]) > 1 else dims


def _dims(call: Call, term: re.Match[str]) -> Shape:
    start, stop = (int(bound) if bound else None for bound in term.group("start", "stop"))
    dims = call.inputs[term["input"]].shape[start:stop]
    return Shape([multiply(dims)]) if term["product"] else dims


def attr_number(call: Call, name: str) -> tuple[int | None, int | None]:
    """Return an attribute as written and normalised; None if unknown."""
    if name == "axis":
        return call.axis_number, call.axis
    return call.batch_dims_number, call.batch_dims


def attributes(call: Call) -> list[str]:
    """Return the attributes of a call, and the policies other than ``spec``: ``axis -1 → 1``."""
    words = [f"{each.name} {_from_front(*attr_number(call, each.name))}" for each in call.op.attrs]
    return words + [
        f"--{name.replace('_', '-')} {policy}" for name, policy in call.policies.items()
    ]


def header(call: Call, out: Shape, width: int | None) -> Text:
    """Format the version with its attributes and equation, the tensors, the formula.

    A part that does not fit in `width` columns starts a new line.
    """
    text = title(call, width).append_text(tensors(call, out, width))
    return text.append_text(steps(call, out, width))


def title(
    call: Call, width: int | None, *, where: str = "", room: int | None = None, last: str = ""
) -> Text:
    """Format the version with its attributes, and the equation of an output cell.

    The ranges of its letters, `where`, are on a line of their own if `room` is too narrow. With
    `last`, the full name or the ID of the version, that of the operator is first, and the ID leaves
    out attributes that are 0.
    """
    from rich.text import Text

    text = Text().append(call.op.name if last else call.op.full_name, "bold")
    origin = "" if call.version_from is None else f" ({call.version_from})"
    text.append(origin * (not last), "dim")
    for words in attributes(call):
        is_told = last in ("", call.op.full_name) or not words.endswith(" 0")
        text.append(f"   {words}" * is_told)
    last += origin * bool(last)
    equation = call.family.equation(call)
    if width is not None and len(equation) > width:
        # The equation of the row, a line for each clause; its letters have no ranges.
        equation, where = call.op.equation, ""
        if len(equation) > width:
            equation = re.sub(r", (?=[\w()-]+ = )", ",\n", equation)
    for part in filter(None, (equation, last, where)):
        columns = len(text.plain.rpartition("\n")[2]) + 3 + len(part)
        most = width if part is equation else room
        fits = most is None or columns <= most
        text.append(("   " if fits else "\n") + part, "dim")
    return text.append("\n")


def tensors(call: Call, out: Shape, width: int | None) -> Text:
    """Format the types and shapes of the tensors; colours are for the letters of pictures."""
    first, *_ = call.inputs.values()
    operands = {**call.inputs, "out": Operand(out, first.dtype)}
    line = "   ".join(f"{name} {operand}" for name, operand in operands.items())
    joint = "   " if width is None or len(line) <= width else "\n"
    parts: list[tuple[str, str]] = []
    for name, operand in operands.items():
        parts += [((joint if parts else "") + name, "bold"), (f" {operand}", "")]
    return assembled([*parts, ("\n", "")])


def steps(call: Call, out: Shape, width: int | None) -> Text:
    """Format the steps of the shape formula."""
    terms = formula(call, out)
    fits = width is None or len("shape  " + "  =  ".join(terms)) <= width
    joint = "  =  " if fits else "\n    =  "
    return assembled([("shape  ", "dim"), (joint.join(terms) + "\n", "")])


class TensorType(NamedTuple):
    """The shape of a tensor and the type of its elements, with the names of typed JSON."""

    shape: tuple[int | str, ...]  # a text for a size that is not known: ``?``, ``N``, ``1..5``
    datatype: str  # ``INT64``, ``FP32``, …

    @classmethod
    def of(cls, tensor: TensorLike | Operand) -> TensorType:
        """Describe a tensor whose type is known."""
        return cls(tuple(Shape(tensor.shape).to_json()), tensor.dtype.oip if tensor.dtype else "")


def _from_front(number: int | None, normalised: int | None) -> str:
    if number is None:
        return "?"
    return str(number) if normalised in (None, number) else f"{number} → {normalised}"
