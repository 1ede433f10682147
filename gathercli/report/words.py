"""Refusals and notes in words: for people on stderr, or as one line of JSON."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from gathercli.core.text import clean

if TYPE_CHECKING:
    from gathercli.errors import GatherError

LONGEST = 2000
"""Characters of a message that are shown."""

_BOLD_RED, _CYAN, _YELLOW, _DIM, _OFF = "\x1b[1;31m", "\x1b[36m", "\x1b[33m", "\x1b[2m", "\x1b[0m"


def error_text(error: GatherError, *, color: bool) -> str:
    """Write a refusal: the message, the call it came up in, a hint, the rule."""
    met = [
        error.operator,
        error.data and f"data {error.data}",
        error.indices and f"indices {error.indices}",
    ]
    lines = [_marked("error:", _BOLD_RED, color) + " " + clean(error.message)]
    if any(met):
        lines.append("  " + clean("   ".join(part for part in met if part)))
    if error.hint:
        lines.append(_marked("hint:", _CYAN, color) + " " + clean(error.hint))
    if error.rule != "usage":
        lines.append(_marked(f"rule: {error.rule}", _DIM, color))
    return "\n".join(map(_cut, lines)) + "\n"


def _cut(line: str) -> str:
    """Keep what strangers made long from filling the screen; its end says what was expected."""
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST * 3 // 4]}…{line[-LONGEST // 4 :]}"


def error_json(error: GatherError) -> str:
    """Write a refusal as one line of JSON, with every field present."""
    import json

    fields = {
        "error": _cut(error.message),
        "status": error.status,
        "rule": error.rule,
        "operator": error.operator,
        "data": error.data,
        "indices": error.indices,
        "where": _plain(error.where),
        "value": _plain(error.value),
        "expected": _plain(error.expected),
        "count": error.count,
        "hint": _plain(error.hint),
    }
    return json.dumps(fields) + "\n"


def _plain(value: object) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else _cut(str(value))


def note_text(note: str, *, color: bool) -> str:
    """Write a note."""
    return _marked("note:", _YELLOW, color) + " " + clean(note) + "\n"


def _marked(word: str, style: str, color: bool) -> str:
    return f"{style}{word}{_OFF}" if color else word
