"""The operators, and the binding of their calls.

To add a version, add a row to the file of its family and to the ``ROWS`` there; a newer opset than
`spec.op.FRAMEWORKS` knows goes there. To add an operator, add a file like `gather.py` and list it
in `_FAMILIES` below.
"""

from __future__ import annotations

from gathercli.errors import Hint, OperatorError, UsageError
from gathercli.ops import gather, gather_elements, gather_nd, gather_tree
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import BOOL, STRING
from gathercli.spec.op import (
    FRAMEWORKS,
    OTHER_NAMES,
    OUT_OF_RANGE_CHOICES,
    Negative,
    Op,
    OutOfRange,
)
from gathercli.spec.rules import UNSUPPORTED
from gathercli.text import closest, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Final, TypeVar

    from gathercli.spec.call import Family

    _Choice = TypeVar("_Choice", Negative, OutOfRange)

_FAMILIES: tuple[Family, ...] = (gather, gather_elements, gather_nd, gather_tree)
# The operators by the name of their command.
FAMILIES: Final[dict[str, Family]] = {family.COMMAND: family for family in _FAMILIES}
# Every operator version, newest first in each framework.
OPERATORS: Final[tuple[Op, ...]] = tuple(op for family in _FAMILIES for op in family.ROWS)


def version_named(full_name: str) -> Op:
    """Return the version with a full name, which exists."""
    return next(op for op in OPERATORS if op.full_name == full_name)


def version_list(rows: Iterable[Op]) -> str:
    """List the versions of rows by framework, oldest first.

    >>> version_list(FAMILIES["gather"].ROWS)
    'OpenVINO 1, 7, 8; ONNX 1, 11, 13'
    """
    numbers: dict[str, list[int]] = {}
    for op in rows:
        numbers.setdefault(op.framework, []).append(op.version)
    return "; ".join(
        f"{FRAMEWORKS[name].title} {', '.join(map(str, sorted(own)))}"
        for name, own in numbers.items()
    )


def summary(family: Family) -> str:
    """Describe an operator in one line, with its versions."""
    return f"{family.SUMMARY}: {version_list(family.ROWS)}."


def accepted_families(command: str) -> tuple[Family, ...]:
    """Return the operator of a command, or those that a command takes: all, or some to compare."""
    if command in FAMILIES:
        return (FAMILIES[command],)
    return _COMPARABLE if command == "compare" else _FAMILIES


def _named_inputs(family: Family) -> list[str]:
    return [each.name for each in family.ROWS[0].inputs]


# The operators that take the same inputs: those of the first.
_COMPARABLE: Final = tuple(
    each for each in _FAMILIES if _named_inputs(each) == _named_inputs(_FAMILIES[0])
)


def attributes(family: Family) -> dict[str, bool]:
    """Return the attributes an operator accepts, and whether any of its versions has each.

    An attribute of no version is accepted if a rule of the operator reports it.
    """
    names = dict.fromkeys(each.name for op in OPERATORS for each in op.attrs)
    supported = {name: any(op.attr(name) for op in family.ROWS) for name in names}
    return {
        name: has for name, has in supported.items() if has or UNSUPPORTED.get(name) in family.RULES
    }


def check_one_indexed(op: Op) -> None:
    """Raise for an operator with several inputs of indices, unless it follows one of them."""
    names = [each.name for each in op.inputs if each.values]
    if op.followed is None and len(names) > 1:
        what = f"{op} reads indices from {listed(map('`{}`'.format, names), 'and')}"
        raise UsageError(what, value=op.full_name, expected="an operator with one input of indices")


def bind(
    op: Op,
    *inputs: Operand,
    negative: str = "spec",
    out_of_range: str = "spec",
    shapes_only: bool = False,
    version_from: str | None = None,
    **attrs: Any,
) -> Call:
    """Return a call that no rule of shapes, types and attributes refuses, or raise `OperatorError`.

    The error has the name of the rule, the version and the call. The inputs are in the order of the
    row. An attribute is an integer, or a 0-D or one-element tensor; None for the default of the
    version; for ``axis`` also ``"unknown"``. A policy that does not exist raises `UsageError`.
    """
    family = FAMILIES[op.family]
    values = {each.name: each.default for each in op.attrs}
    values |= {name: value for name, value in attrs.items() if value is not None}
    operands = {each.name: operand for each, operand in zip(op.inputs, inputs, strict=True)}
    if op.adapts is not None:
        from gathercli.spec.adapt import adapted

        adapted(op, op.adapts, operands, values)
    call = Call(
        op,
        family,
        operands,
        values,
        negative=_choice(Negative, "negative", negative, [each.value for each in Negative]),
        out_of_range=_choice(OutOfRange, "out_of_range", out_of_range, OUT_OF_RANGE_CHOICES),
        shapes_only=shapes_only,
        version_from=version_from,
    )
    try:
        for rule in family.RULES:
            rule(call)
    except OperatorError as error:
        error.rule, error.version, error.refused = rule_name(rule), op.full_name, call
        raise
    _check_fill(call)
    return call


def rule_name(rule: Callable[[Call], None]) -> str:
    """Return the name of a rule: ``axis-range`` of `axis_range`."""
    return rule.__name__.replace("_", "-")


def _check_fill(call: Call) -> None:
    """Raise for a type of data without the value that cells are to be filled with."""
    dtype, policy = call.data.dtype, call.out_of_range
    if dtype is None or policy not in (OutOfRange.NAN, OutOfRange.EXTREME):
        return
    is_number = dtype.integral or dtype is BOOL
    has_none = dtype is STRING or dtype.lacks_nan
    if has_none or (policy is OutOfRange.NAN and is_number):
        near = OutOfRange.ZERO if has_none else OutOfRange.EXTREME
        what = f"`out_of_range` is `{policy.value}`, which {dtype} does not have"
        expected = "zero, clamp, wrap or error" if has_none else "extreme or zero"
        hint = Hint("{out_of_range} has a value of each type", out_of_range=near.value)
        raise UsageError(what, value=policy.value, expected=expected, hint=hint)


def _choice(kind: type[_Choice], name: str, value: str, choices: Sequence[str]) -> _Choice:
    if value in choices:
        return kind(value)
    near = OTHER_NAMES.get(str(value).lower())
    near = near if near in choices else closest(str(value).lower(), choices)
    what = f"`{name}` is `{value}`"
    hint = f'did you mean `{name}="{near}"`?' if near else None
    raise UsageError(what, value=value, expected=listed(choices), hint=hint)
