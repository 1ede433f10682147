"""Words that the rules share."""

from __future__ import annotations

from gathercli.errors import (
    Hint,
)
from gathercli.spec.dtypes import in_words
from gathercli.text import as_written, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Op


def interval(bottom: int, top: int) -> str:
    """Return an interval of integers: ``-2 to 1``."""
    return f"{bottom} to {top}" if bottom < top else str(bottom)


def flat(nested: Any) -> list[int]:
    """Return the integers of nested lists, such as `Operand.integers`."""
    return [n for each in nested for n in flat(each)] if isinstance(nested, list) else [nested]


def types_text(types: tuple[DType, ...]) -> str:
    """Return the names of types: ``int32 or int64``."""
    return listed(in_words(types))


def plain_value(value: object) -> object:
    """Return what was value for JSON: numbers and text as they are."""
    small = type(value) is int and value.bit_length() <= 256
    return value if small or isinstance(value, str) else as_written(value)


def version_that(call: Call, does: Callable[[Op], bool], what: str, **instead: str) -> Hint | None:
    """Name a version of the family that would accept, of the same framework if there is one.

    Parameters
    ----------
    instead
        A setting that would help too.
    """
    willing = [op for op in call.family.ROWS if does(op) and op is not call.op]
    willing.sort(key=lambda op: (op.framework != call.op.framework, -op.version))
    if not willing:
        return None
    ways = ", or ".join(f"{{{name}}}" for name in ("version", *instead))
    return Hint(f"{willing[0].id} {what}: {ways}", version=willing[0].id, **instead)
