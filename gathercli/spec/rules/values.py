"""The errors of values: each returns the exception for the first value that a call refuses."""

from __future__ import annotations

from gathercli.errors import (
    Hint,
    OutOfRangeError,
)
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.rules.wording import interval, version_that
from gathercli.text import counted, grouped

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


def integer_values(name: str, value: object, where: str) -> OutOfRangeError:
    """Make the refusal of a value of GatherTree that is no integer."""
    return OutOfRangeError(
        f"`{name}` is {value} at `{where}`, which is not an integer",
        rule="integer-values",
        where=where,
        value=str(value),
        expected="whole numbers",
    )


def index_negative(  # noqa: PLR0917  (the words of the message)
    call: Call, along: IndexedAxis, value: float, where: str, count: int, total: int
) -> OutOfRangeError:
    """Make the refusal of a negative index."""
    legal = _legal(call.legal(along.size))
    return OutOfRangeError(
        f"index {value}{_of(along)} at `{where}` is negative, and `negative` is `error`",
        rule="index-negative",
        where=where,
        value=value,
        expected=legal,
        remark=f" ({_share(count, total)})",
        count=count,
    )


def index_range(  # noqa: PLR0917  (the words of the message)
    call: Call, along: IndexedAxis, value: float, where: str, count: int, total: int
) -> OutOfRangeError:
    """Make the refusal of an index outside the axis."""
    size = along.size
    legal = _legal(call.legal(size))
    hint: Hint | None = None
    fills = version_that(
        call,
        lambda op: op.out_of_range is OutOfRange.ZERO,
        "fills such slices with zeros",
        out_of_range="zero",
    )
    if not size and call.out_of_range in (OutOfRange.CLAMP, OutOfRange.WRAP):
        hint = Hint(
            "an empty axis has nothing to clamp or wrap to; {out_of_range} fills",
            out_of_range="zero",
        )
    elif not size and call.out_of_range is OutOfRange.SPEC:
        hint = fills or Hint(
            "on an empty axis only {out_of_range} gives an answer", out_of_range="zero"
        )
    elif -size <= value < 0 and not call.wraps_negative and call.negative is Negative.SPEC:
        hint = version_that(
            call,
            lambda op: op.index_range is IndexRange.SIGNED,
            "counts negative indices from the end",
        ) or Hint("{negative} counts negative indices from the end", negative="wrap")
    elif call.out_of_range is OutOfRange.SPEC:
        hint = fills or Hint(
            "{out_of_range} fills such cells with zeros, `clamp` and `wrap` move them",
            out_of_range="zero",
        )
    return OutOfRangeError(
        f"index {value}{_of(along)} at `{where}` is outside axis {along.axis} of "
        f"`{call.op.inputs[0].name}`, whose size is {size}",
        rule="index-range",
        where=where,
        value=value,
        expected=legal,
        remark=f" ({_share(count, total)})",
        count=count,
        hint=hint,
    )


def _of(along: IndexedAxis) -> str:
    return "" if along.input == "indices" else f" of `{along.input}`"


def _legal(ends: tuple[int, int] | None) -> str:
    return interval(*ends) if ends else "no index at all, as the axis is empty"


def _share(count: int, total: int) -> str:
    return f"{grouped(count)} of {counted(total, 'index', 'indices')}"
