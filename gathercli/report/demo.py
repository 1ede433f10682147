"""A lesson of `demo` as a screen: an explanation, the command, the picture, further commands."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from gathercli.report.words import error_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.errors import GatherError


def listing(pairs: Sequence[tuple[str, str]]) -> Text:
    """List the names and titles of lessons."""
    text = Text()
    widest = max(len(name) for name, _ in pairs)
    for name, title in pairs:
        text.append(name.ljust(widest), "cyan").append(f"   {title}\n")
    return text


def others(names: Sequence[str], width: int) -> Text:
    """List the lessons after the first."""
    words = f"More lessons: {', '.join(names)}; `gathercli demo --all` shows them in turn."
    return Text("\n" + "\n".join(wrap(words, width, break_on_hyphens=False)) + "\n", "dim")


class Screen(NamedTuple):
    """The content of a lesson.

    Attributes
    ----------
    title, says
        The heading, and the explanation below it.
    command, picture, refusal
        The command, the picture that it draws, and the error that it prints, if any.
    tries
        Further commands, and a remark on each.
    source
        The source of the example.
    """

    title: str
    says: str
    command: str
    picture: Text
    refusal: GatherError | None
    tries: Sequence[tuple[str, str]]
    source: str | None


def screen_text(screen: Screen, width: int) -> Text:
    """Lay out a lesson, with sentences wrapped at `width` and colours in the picture alone."""
    text = Text()
    text.append(f"{screen.title}\n", "bold")
    text.append("\n".join(wrap(screen.says, width, break_on_hyphens=False)) + "\n\n")
    text.append("$ ", "dim").append(_folded(screen.command, width, "    ") + "\n", "bold")
    text.append_text(screen.picture)
    if screen.refusal is not None:
        text.append("\n" + error_text(screen.refusal, color=False, width=width))
    if screen.source:
        lines = wrap(f"This is {screen.source}.", width, break_on_hyphens=False)
        text.append("\n" + "\n".join(lines) + "\n", "dim")
    text.append("\nTry\n", "bold")
    for line, shows in screen.tries:
        between = "   " if len(line) + len(shows) + 7 <= width else "\n      "
        text.append("  " + _folded(line, width, "      "))
        text.append(f"{between}{shows}\n", "dim")
    return text


def _folded(command: str, width: int, indent: str) -> str:
    """Break a command line into lines that can be pasted.

    An option stays with its value; a literal longer than a line breaks after a row if possible,
    or else after a comma.
    """
    room, lines = width - len(indent) - 2, [""]
    for word in re.findall(r"--?[A-Za-z][\w-]* [^-'\s]\S*|\S+", command):
        if len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f"{' ' * bool(lines[-1])}{word}"
            continue
        if len(word) <= room:
            lines[-1] += " \\"
            lines.append(word)
            continue
        lines[-1] += " "
        for part in re.findall(r".+?\],|.+", word):
            pieces = [part] if len(part) <= room else re.findall(r"[^,]+,?", part)
            for piece in pieces:
                if len(lines[-1]) + len(piece) > room:
                    lines.append("")
                lines[-1] += piece
    return f"\n{indent}".join(lines)
