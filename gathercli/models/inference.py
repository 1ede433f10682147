"""The calls of nodes, and the shapes of their outputs, as far as a model decides them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import GatherError, InputError
from gathercli.io.graph import Value
from gathercli.models.fold import FEW
from gathercli.models.graph import OPERATOR_FAMILIES, ModelNode
from gathercli.ops import attributes
from gathercli.ops.engine import bind, infer
from gathercli.spec.shapes import UNKNOWN, Shape
from gathercli.text import counted, listed

if TYPE_CHECKING:
    from gathercli.spec.call import Call, Operand
    from gathercli.spec.op import Op

_ATTRIBUTES: Final = {name: attributes(each) for name, each in OPERATOR_FAMILIES.items()}
"""The attributes that an operator, or a rule of it, knows."""


def axis_of(value: Value | None) -> Any:
    """Return the axis that an input decides: its elements, `FEW` at most, or ``"unknown"``."""
    if value is None or value.constant is None or value.unread:
        return "unknown"
    axis = value.constant.read().values()
    if axis.shape == (1,):
        return axis.tolist()[0]
    return axis.tolist() if axis.size <= FEW else axis.reshape(-1)[:FEW].tolist()


def with_call(node: ModelNode) -> ModelNode:
    """Return a node with its call, unless a rule refuses it."""
    if node.is_template:
        return node
    try:
        return node._replace(call=bound(node))
    except GatherError:
        return node


def infer_output(node: ModelNode) -> Value | None:
    """Return the output with the inferred type and shape; None for a node without a call."""
    call = node.call
    if call is None:
        return None
    name = node.outputs[0].name if node.outputs else ""
    return Value(name, call.data.dtype, infer(call), inferred=True)


def bound(node: ModelNode) -> Call:
    """Bind the call of a node, whose shapes and axis may be unknown.

    Raises
    ------
    GatherError
        A rule refuses the node, it lacks an input, or its opset has no such operator.
    """
    if node.op is None:
        raise node.error or LookupError(node.operator)
    values = node.named_inputs
    absent = [row.name for row in node.op.inputs if row.name not in values]
    if absent:
        raise InputError(
            f"the node has {counted(len(node.inputs), 'input')}",
            rule="format",
            value=len(node.inputs),
            expected=listed((f"`{row.name}`" for row in node.op.inputs), "and"),
        )
    known = _ATTRIBUTES[node.operator] if node.attributes else ()
    attrs = tuple((name, value) for name, value in node.attributes.items() if name in known)
    operands = tuple(value.operand for value in values.values())
    # 1, 1.0 and True are one key, and lists are none.
    same = all(type(value) is int for _, value in attrs)
    return (_bind if same else _bind.__wrapped__)(node.op, operands, attrs)


@lru_cache(1024)
def _bind(op: Op, operands: tuple[Operand, ...], attrs: tuple[tuple[str, Any], ...]) -> Call:
    """Bind a call; nodes with equal operands and integers as attributes share it."""
    return bind(op, *operands, shapes_only=True, **dict(attrs))


def merged(declared: Value, inferred: Value) -> Value:
    """Merge a declared and an inferred value, and keep the declared type.

    A dimension is the declared one unless that is unknown.
    """
    shape, dtype = inferred.shape, declared.dtype or inferred.dtype
    if declared.shape.rank is not None and declared.shape.rank == shape.rank:
        pairs = zip(declared.shape, shape, strict=True)
        shape = Shape(other if one == UNKNOWN else one for one, other in pairs)
    elif declared.shape.rank is not None:
        shape = declared.shape
    same = shape == declared.shape
    unread = declared.unread or inferred.unread
    return inferred._replace(
        name=declared.name, dtype=dtype, shape=shape, inferred=not same, unread=unread
    )
