"""What the stream we write to can show: colour, width."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

Styled: TypeAlias = "Text"
"""Text with styles, which only a report makes."""

STDOUT: Final = 1

DEFAULT_WIDTH: Final = 80
DEFAULT_HEIGHT: Final = 24
"""Columns and lines of a terminal that does not say how many it has."""


def is_terminal(fd: int) -> bool:
    """Tell whether a descriptor is a terminal; a closed one is not."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def wants_color(choice: str, fd: int, environ: Mapping[str, str] = os.environ) -> bool:
    """Decide on colour: the option, then the environment, then the stream.

    Parameters
    ----------
    choice
        ``auto``, ``always`` or ``never``: the value of `--color`.

    >>> wants_color("auto", 1, {"FORCE_COLOR": "1"}), wants_color("auto", 1, {"NO_COLOR": "1"})
    (True, False)
    """
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return is_terminal(fd)


def width_of(fd: int) -> int | None:
    """Return the columns of a terminal; None where nothing is cut to a width.

    COLUMNS comes before what the terminal says, and gives a width to a stdout that is none.
    """
    told = _number("COLUMNS")
    if not is_terminal(fd):
        return told if fd == STDOUT else None
    if told is not None:
        return told
    try:
        return os.get_terminal_size(fd).columns or DEFAULT_WIDTH
    except OSError:
        return DEFAULT_WIDTH


def height_of(fd: int) -> int:
    """Return the lines of a terminal."""
    told = _number("LINES")
    if told is not None:
        return told
    try:
        return os.get_terminal_size(fd).lines or DEFAULT_HEIGHT
    except OSError:
        return DEFAULT_HEIGHT


def _number(name: str) -> int | None:
    """Read a variable that holds a number from 1 on; None where it does not."""
    word = os.environ.get(name, "")
    return (int(word) or None) if word.isdecimal() and len(word) < 6 else None


def rendered(text: Text, *, color: bool) -> str:
    """Turn styled text into the characters to write; plain ones without colour."""
    if not color:
        return text.plain
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        width=1 << 20,
        markup=False,
        highlight=False,
        soft_wrap=True,
    ).print(text, end="")
    return out.getvalue()


def escaped(text: str) -> str:
    """Mark what rich would take for markup as text."""
    from rich.markup import escape

    return escape(text)
