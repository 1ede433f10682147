"""Format errors and notes as text for stderr, and errors as one line of JSON."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from gathercli.text import clean, counted

if TYPE_CHECKING:
    from gathercli.errors import GatherError

LONGEST = 2000
"""The largest number of characters of a message."""

_WORDS = r" *(?:`[^`]*`|[^ ])+"
"""The unbreakable pieces of a line: words, and quotations to paste."""
_PARTS = r" *(?:[^ ]| (?! ))+"
"""The pieces of a line with several blanks between them."""

_BOLD_RED, _CYAN, _YELLOW, _DIM, _OFF = "\x1b[1;31m", "\x1b[36m", "\x1b[33m", "\x1b[2m", "\x1b[0m"


def error_text(error: GatherError, *, color: bool, width: int | None = None) -> str:
    """Format an error: the message, the call, a hint, the rule; then its other errors likewise.

    Errors of one rule name it once, at their end. Lines wrap at `width` columns, if there is one.
    """
    lines: list[str] = []
    errors = [error, *error.others]
    several = len({each.rule for each in errors}) > 1
    for each in errors:
        lines += _message(each, color, width)
        if each.rule != "usage" and (several or each is errors[-1]):
            lines.append(_marked(f"rule: {each.rule}", _DIM, "", color, width))
    return "\n".join(lines) + "\n"


def _message(error: GatherError, color: bool, width: int | None) -> list[str]:
    chosen = f" ({error.version_from})" if error.version_from else ""
    call = [error.operator + chosen] if error.operator else []
    call += [f"{name} {each}" for name, each in error.inputs.items()]
    lines = [_marked("error:", _BOLD_RED, error.message, color, width)]
    if call:
        lines.append(_marked(" ", "", "   ".join(call), False, width))
    if error.rest:
        others = counted(error.number - 1, "more job")
        lines.append(_marked("also:", _CYAN, f"{others}: {error.rest}", color, width))
    if error.advice:
        lines.append(_marked("hint:", _CYAN, error.advice, color, width))
    return lines


def cut(line: str) -> str:
    """Shorten a long line in the middle, as its end has the expected value."""
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST * 3 // 4]}…{line[-LONGEST // 4 :]}"


def error_json(error: GatherError) -> str:
    """Format an error as one line of JSON with every field.

    Errors of other causes are in one more field, `others`.
    """
    import json

    fields = error_fields(error)
    if error.others:
        fields["others"] = [*map(error_fields, error.others)]
    return json.dumps(fields) + "\n"


def error_fields(error: GatherError) -> dict[str, Any]:
    """Return the fields of an error for JSON, without further errors."""
    return {
        "error": cut(error.message),
        "status": error.status,
        "rule": error.rule,
        "operator": error.operator,
        "version_from": error.version_from,
        **({"data": None, "indices": None} | error.inputs),
        "where": _plain(error.where),
        "value": _plain(error.value),
        "expected": _plain(error.expected),
        "count": error.count,
        "hint": _plain(error.advice),
        **({"number": error.number, "rest": error.rest} if error.rest else {}),
    }


def _plain(value: object) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else cut(str(value))


def note_text(note: str, *, color: bool, width: int | None = None) -> str:
    """Format a note, with the parameters of `error_text`."""
    return _marked("note:", _YELLOW, note, color, width) + "\n"


def _marked(mark: str, style: str, text: str, color: bool, width: int | None) -> str:
    """Format text after a mark, wrapped with a hanging indent."""
    line = cut(f"{mark} {clean(text)}" if text else mark)
    line = _folded(line, len(mark) + 1, width, _WORDS if mark.strip() else _PARTS)
    return f"{style}{mark}{_OFF}{line[len(mark) :]}" if color else line


def _folded(line: str, indent: int, width: int | None, pieces: str) -> str:
    r"""Wrap a line between pieces; the pattern matches a piece with the blanks before it.

    >>> print(_folded("hint: try `gathercli ops` instead", 6, 22, _WORDS))
    hint: try
          `gathercli ops`
          instead
    """
    if width is None or _columns(line) <= width:
        return line
    lines, used = "", 0
    for piece in re.findall(pieces, line):
        word = piece.lstrip(" ")
        if used > indent and used + _columns(piece) > width:
            lines += "\n" + " " * indent + word
            used = indent + _columns(word)
        else:
            lines += piece
            used += _columns(piece)
    return lines


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
