"""A lesson of `demo` as a screen: an explanation, a command, its picture, and a question."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LABEL: Final = 10
"""The columns of a label beside its text."""


def listing(pairs: Sequence[tuple[str, str]]) -> Text:
    """List the numbers, names and titles of lessons."""
    text = Text()
    widest = max(len(name) for name, _ in pairs)
    for number, (name, title) in enumerate(pairs, 1):
        text.append(f"{number:2}  {name.ljust(widest)}", "cyan").append(f"   {title}\n")
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
    command, picture
        The command, and the picture that it draws.
    terms
        Labels with their text.
    answer
        The answer to the question, or an empty text.
    tries
        Further commands, and a remark on each.
    """

    title: str
    says: str
    command: str
    picture: Text
    terms: Mapping[str, str]
    answer: Text
    tries: Sequence[tuple[str, str]]


def screen_text(screen: Screen, width: int) -> Text:
    """Lay out a lesson, with sentences wrapped at `width` and colours in the picture alone."""
    text = Text()
    text.append(f"{screen.title}\n", "bold")
    text.append("\n".join(wrap(screen.says, width, break_on_hyphens=False)) + "\n\n")
    text.append_text(_command(screen.command, width)).append_text(screen.picture)
    text.append("\n").append_text(terms_text(screen.terms, width)).append_text(screen.answer)
    if screen.tries:
        text.append("\nTry\n", "bold")
    for line, shows in screen.tries:
        between = "   " if len(line) + len(shows) + 7 <= width else "\n      "
        text.append("  " + _folded(line, width, "      "))
        text.append(f"{between}{shows}\n", "dim")
    return text


def terms_text(terms: Mapping[str, str], width: int) -> Text:
    """Lay out labels with their text beside them; code without blanks stays on its line."""
    text = Text()
    for label, words in terms.items():
        lines = wrap(words, width - _LABEL, break_on_hyphens=False, break_long_words=False)
        text.append(label.ljust(_LABEL), "bold")
        text.append(f"\n{' ' * _LABEL}".join(lines) + "\n")
    return text


def proof_text(proof: str, width: int) -> Text:
    """Lay out commands and their output, wrapped at `width`."""
    text = Text()
    for line in proof.splitlines():
        if line.startswith("$ "):
            text.append_text(_command(line.removeprefix("$ "), width))
        else:
            text.append("\n".join(wrap(line, width, break_on_hyphens=False)) + "\n")
    return text


def _command(line: str, width: int) -> Text:
    return Text().append("$ ", "dim").append(_folded(line, width, "    ") + "\n", "bold")


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
        end = "\\"  # outside the quotes
        for part in re.findall(r".+?\],|.+", word):
            pieces = [part] if len(part) <= room else re.findall(r"[^,]+,?", part)
            for piece in pieces:
                if len(lines[-1]) + len(piece) > room:
                    lines[-1] += end
                    lines.append("")
                lines[-1] += piece
                end = ""
    return f"\n{indent}".join(lines)
