"""What ran, on what, and how the output shape comes about: the lines above every result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gathercli.ops import FAMILIES
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.shapes import AnyDim

_TERM = re.compile(r"(data|indices)\[(\d*):(\d*)\]")


def formula(call: Call, out: Shape) -> list[str]:
    """Write the shape formula of the row with this call's numbers, step by step.

    ``data[:0] + indices[0:] + data[1:]``, ``[] + [3] + []``, ``[3]``
    """
    if call.axis is None or call.batch_dims is None:
        return [call.op.shape, str(out)]
    text = call.op.shape.replace("axis+1", str(call.axis + 1)).replace("axis", str(call.axis))
    text = text.replace("batch_dims", str(call.batch_dims))
    if call.data.shape.rank is None or call.indices.shape.rank is None:
        return [text, str(out)]
    terms = [_slice(call, *found.groups()) for found in _TERM.finditer(text)]
    whole = sum(terms, Shape())
    steps = [text, " + ".join(map(str, terms)), str(whole)][: 3 if len(terms) > 1 else 2]
    if whole != out:  # dimensions that must be equal were narrowed to what both allow
        steps[-1:] = [str(whole), f"{out} where both inputs agree"]
    return steps


def _slice(call: Call, name: str, start: str, stop: str) -> Shape:
    shape = (call.data if name == "data" else call.indices).shape
    return shape[int(start or 0) : int(stop) if stop else None]


def header(call: Call, out: Shape, width: int | None) -> Text:
    """Write the row that ran with its attributes and equation, the tensors, the formula.

    Parameters
    ----------
    width
        Columns; what does not fit beside the rest goes to a line of its own.
    """
    text = title(call, width)
    text.append_text(tensors(call, out, width))
    return text.append_text(steps(call, out, width))


def title(call: Call, width: int | None, *, where: str = "", room: int | None = None) -> Text:
    """Write the row that ran with its attributes, and what an output cell is.

    Parameters
    ----------
    where
        What is added to the equation, on a line of its own where `room` asks for that.
    """
    from rich.text import Text

    text = Text()
    text.append(call.op.full_name, "bold")
    if call.version_from is not None:
        text.append(f" ({call.version_from})", "dim")
    attributes = f"   axis {_axis(call)}"
    if call.op.has_batch_dims:
        attributes += f"   batch_dims {_from_front(call.batch_dims_number, call.batch_dims)}"
    for option, value in (("negative", call.negative), ("out-of-range", call.out_of_range)):
        if value.value != "spec":
            attributes += f"   --{option} {value.value}"
    text.append(attributes)
    equation = FAMILIES[call.op.family].equation(call)
    if width is not None and len(equation) > width:
        equation, where = call.op.equation, ""  # whose letters are others
    for part in filter(None, (equation, where)):
        used = len(text.plain.rpartition("\n")[2])
        most = width if part is equation else room
        fits = most is None or used + 3 + len(part) <= most
        text.append(("   " if fits else "\n") + part, "dim")
    return text.append("\n")


def tensors(call: Call, out: Shape, width: int | None) -> Text:
    """Write the types and shapes of the tensors.

    The names have no colour: colours are those of letters in the pictures below.
    """
    from rich.text import Text

    text = Text()
    named = [
        ("data", call.data),
        ("indices", call.indices),
        ("out", Operand(out, call.data.dtype)),
    ]
    words = [f"{name} {operand}" for name, operand in named]
    joint = "   " if width is None or len("   ".join(words)) <= width else "\n"
    for at, (name, operand) in enumerate(named):
        text.append((joint if at else "") + name, "bold")
        text.append(f" {operand}")
    return text.append("\n")


def steps(call: Call, out: Shape, width: int | None) -> Text:
    """Write the shape formula with its numbers."""
    from rich.text import Text

    text = Text()
    terms = formula(call, out)
    fits = width is None or len("shape  " + "  =  ".join(terms)) <= width
    text.append("shape  ", "dim")
    return text.append(("  =  " if fits else "\n    =  ").join(terms) + "\n")


def tensor_json(dtype: DType | None, shape: Sequence[AnyDim]) -> dict[str, Any]:
    """Describe a tensor for JSON, in the words of the typed form."""
    found: dict[str, Any] = {"shape": Shape(shape).to_json()}
    return found if dtype is None else found | {"datatype": dtype.oip}


def _axis(call: Call) -> str:
    number = call.axis_number
    return "?" if number is None else _from_front(number, call.axis)


def _from_front(given: int | None, normalised: int | None) -> str:
    if normalised is None or normalised == given:
        return str(given)
    return f"{given} → {normalised}"
