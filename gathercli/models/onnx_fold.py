"""The nodes of ONNX that constants come from or pass through."""

from __future__ import annotations

from typing import Any, Final

from gathercli.io.graph import Constant, Value
from gathercli.io.onnx.tensorproto import type_of, type_or_none
from gathercli.models import fold
from gathercli.spec.dtypes import INT64, DType

_AXES_INPUT: Final = 13
"""The opset from which Unsqueeze and Squeeze have their axes as an input."""

FOLDED: Final = ("Constant", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze")
"""The operators that constants come from or pass through."""


def folded(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of a node of `FOLDED`; None if nothing is known of it."""
    if operator == "Constant":
        constant = _constant(attributes)
        return Value.of(name, constant) if constant else None
    if not inputs:
        return None
    value = _passed(operator, name, inputs, attributes, opset) or Value(name, inputs[0].dtype)
    return value.unread_from(inputs)


def _passed(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of a node that its first input passes through."""
    data = inputs[0]
    second = fold.integers(inputs[1]) if len(inputs) > 1 else None
    if operator == "Identity":
        return data._replace(name=name)
    if operator == "Cast":
        return fold.converted(data, name, type_or_none(attributes.get("to")))
    if operator == "Reshape":
        target = second if len(inputs) > 1 else _integers(attributes.get("shape"))
        copies = attributes.get("allowzero", 0) == 0
        return fold.reshaped(data, name, target, zero_copies=copies)
    return _folded_axes(operator, name, inputs, attributes, opset)


def _folded_axes(
    operator: str, name: str, inputs: list[Value], attributes: dict[str, Any], opset: int
) -> Value | None:
    """Return the output of Unsqueeze or Squeeze, whose axes are an input from opset 13 on."""
    axes = _integers(attributes.get("axes"))
    if opset >= _AXES_INPUT and len(inputs) > 1:
        axes = fold.integers(inputs[1])
        if axes is None:
            return None
    change = fold.unsqueezed if operator == "Unsqueeze" else fold.squeezed
    return change(inputs[0], name, axes)


def _integers(value: Any) -> list[int] | None:
    """Return an attribute that is a list of integers; None for any other."""
    return value if isinstance(value, list) else None


def _constant(attributes: dict[str, Any]) -> Constant | None:
    """Return the value of a Constant; None if it is no tensor of numbers."""
    value = attributes.get("value")
    if isinstance(value, Constant):
        return value
    for name, (kind, dtype) in _VALUES.items():
        numbers = attributes.get(name)
        if isinstance(numbers, kind):
            return fold.literal(numbers, dtype)
    return None


_VALUES: Final[dict[str, tuple[type[Any], DType]]] = {
    "value_int": (int, INT64),
    "value_ints": (list, INT64),
    "value_float": (float, type_of(1)),
}
"""The attributes of a Constant that are numbers, and their types."""
