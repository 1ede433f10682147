"""Parse the slices of a window: ``0:3,:,10:20``."""

from __future__ import annotations

import re

from gathercli.errors import UsageError
from gathercli.text import clean


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


def unreadable(option: str, text: str | None, expected: str) -> UsageError:
    """Return the error for an option whose text does not parse."""
    return UsageError(
        f"`{option}` is `{clean((text or '')[:80])}`: expected {expected}", rule="usage", value=text
    )
