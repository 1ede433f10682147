"""Bind the inputs and attributes of a call, and infer the shape of its output.

::

    bind(op, data, indices, axis…)   ->  Call    after every rule of shapes and types
    infer(call)                      ->  Shape   also from partly known shapes

This module does not import numpy; `arrays` computes.
"""

from __future__ import annotations

from gathercli.errors import OperatorError, UsageError
from gathercli.ops import FAMILIES
from gathercli.spec.call import Call, Operand
from gathercli.spec.op import OTHER_NAMES, Negative, Op, OutOfRange
from gathercli.text import closest, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeVar

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
    """Return a call after trying every rule that shapes, types and attributes decide.

    Parameters
    ----------
    inputs
        The shapes and types of the inputs, in the order of the row.
    negative, out_of_range
        Values of `Negative` and `OutOfRange`.
    shapes_only
        Whether only the shape is inferred, so that an axis that is an input may be unknown.
    version_from
        The environment variable that named the version, if one did.
    attrs
        The attributes by name: an integer, or a 0-D or one-element tensor; None for the default of
        the version; for ``axis`` also ``"unknown"``.

    Raises
    ------
    OperatorError
        A rule refuses the call.
    UsageError
        `negative` or `out_of_range` is not one of its choices.
    """
    family = FAMILIES[op.family]
    defaults = {each.name: each.default for each in op.attrs}
    call = Call(
        op,
        family,
        {each.name: operand for each, operand in zip(op.inputs, inputs, strict=True)},
        defaults | {name: value for name, value in attrs.items() if value is not None},
        negative=_choice(Negative, "negative", negative),
        out_of_range=_choice(OutOfRange, "out_of_range", out_of_range),
        shapes_only=shapes_only,
        version_from=version_from,
    )
    try:
        for rule in family.RULES:
            rule(call)
    except OperatorError as error:
        error.refused = call
        raise
    return call


def broken_rules(call: Call) -> Iterator[str]:
    """Yield the name of each rule that a refused call breaks.

    A rule that takes for granted what an earlier one refuses is left out.
    """
    for rule in call.family.RULES:
        try:
            rule(call)
        except OperatorError as error:
            yield error.rule
        except (AttributeError, IndexError, TypeError, ValueError):
            continue


def _choice(choices: type[_Choice], name: str, value: str) -> _Choice:
    try:
        return choices(value)
    except ValueError:
        names = [choice.value for choice in choices]
        expected = listed(names)
        near = OTHER_NAMES.get(str(value).lower())
        near = near if near in names else closest(str(value).lower(), names)
        raise UsageError(
            f"`{name}` is `{value}`",
            rule="usage",
            value=value,
            expected=expected,
            hint=f'did you mean `{name}="{near}"`?' if near else None,
        ) from None


def infer(call: Call) -> Shape:
    """Return the output shape, as far as the shapes of the inputs are known."""
    return call.shape
