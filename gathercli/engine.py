"""From what is asked to a call that every rule of shapes and types agreed to.

::

    bind(op, data, indices, axis…)   ->  Call    every rule of shapes and types has agreed
    infer(call)                      ->  Shape   the output shape, even from partly known shapes

Nothing here needs numpy; what computes is in `arrays`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gathercli.errors import UsageError
from gathercli.ops import FAMILIES
from gathercli.spec.call import Call, Operand
from gathercli.spec.op import Negative, Op, OutOfRange
from gathercli.text import listed

if TYPE_CHECKING:
    from gathercli.spec.shapes import Shape

_Choice = TypeVar("_Choice", Negative, OutOfRange)


def bind(
    op: Op,
    *inputs: Operand,
    negative: str = "spec",
    out_of_range: str = "spec",
    shapes_only: bool = False,
    version_from: str | None = None,
    **attrs: Any,
) -> Call:
    """Put a call together and try every rule that shapes, types and attributes decide.

    Parameters
    ----------
    inputs
        The inputs described, in the order in which the version takes them.
    negative, out_of_range
        Values of `Negative` and `OutOfRange`.
    shapes_only
        Whether the call is only inferred, so that an axis that is an input may be unknown.
    version_from
        The variable that named the row, if who calls did not.
    attrs
        The attributes by name: an integer each, or a 0-D or one-element tensor of one; None for
        the version's default; of ``axis`` also ``"unknown"``.

    Raises
    ------
    OperatorError
        The first rule that refuses.
    UsageError
        `negative` or `out_of_range` is none of the choices.
    """
    family = FAMILIES[op.family]
    defaults = {each.name: each.default for each in op.attrs}
    call = Call(
        op,
        family.ROWS,
        {each.name: operand for each, operand in zip(op.inputs, inputs, strict=True)},
        defaults | {name: value for name, value in attrs.items() if value is not None},
        _choice(Negative, "negative", negative),
        _choice(OutOfRange, "out-of-range", out_of_range),
        shapes_only,
        version_from,
    )
    for rule in family.RULES:
        rule(call)
    return call


def _choice(choices: type[_Choice], name: str, given: str) -> _Choice:
    try:
        return choices(given)
    except ValueError:
        expected = listed(choice.value for choice in choices)
        raise UsageError(
            f"`{name}` is `{given}`: expected {expected}",
            rule="usage",
            value=given,
            expected=expected,
        ) from None


def infer(call: Call) -> Shape:
    """Return the output shape of a bound call, as far as the inputs' shapes say."""
    return FAMILIES[call.op.family].infer(call)
