"""Parse the slices of a window: ``0:3,:,10:20``."""

from __future__ import annotations

import re

from gathercli.errors import UsageError
from gathercli.text import clean, counted

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Sequence


def slices_of(option: str, text: str) -> tuple[slice, ...]:
    """Parse slices, one a dimension; a number is one coordinate.

    Parameters
    ----------
    option
        The name of the option, for the error.

    Raises
    ------
    UsageError
        ``usage``: the text is no list of slices.
    """
    words = text.strip().removeprefix("[").removesuffix("]").split(",")
    slices = []
    for word in words:
        parts = re.fullmatch(r"\s*([+-]?\d{1,18})?\s*(:)?\s*([+-]?\d{1,18})?\s*", word, re.ASCII)
        if not parts or not (parts[1] or parts[2]) or (parts[3] and not parts[2]):
            raise unreadable(option, text, "slices such as 0:3,:,10:20")
        start, stop = (None if parts[n] is None else int(parts[n]) for n in (1, 3))
        if not parts[2] and start is not None:
            stop = start + 1 or None
        slices.append(slice(start, stop))
    return tuple(slices)


def check_window(window: Sequence[slice | None], shape: Sequence[int], noun: str) -> None:
    """Raise if a window has more slices than a tensor has dimensions, or one is empty.

    Parameters
    ----------
    noun
        The tensor, for the error.

    Raises
    ------
    UsageError
        ``usage``.
    """
    if len(window) > len(shape):
        raise UsageError(
            f"has {counted(len(window), 'slice')}, but the {noun} has rank {len(shape)}",
            rule="usage",
            subject="--window",
            expected="at most one a dimension",
        )
    for j, (part, size) in enumerate(zip(window, shape, strict=False)):
        if size and not len(range(size)[part or slice(None)]):
            raise UsageError(
                f"chooses nothing of dimension {j}, whose size is {size}",
                rule="usage",
                subject="--window",
                expected=f"some of 0 to {size - 1}",
            )


def unreadable(option: str, text: str | None, expected: str) -> UsageError:
    """Return the error for an option whose text does not parse."""
    return UsageError(
        f"is `{clean((text or '')[:80])}`",
        rule="usage",
        subject=option,
        value=text,
        expected=expected,
    )
