"""The generated texts: help for a pipe, completion scripts, the manual; reading one loads nothing.

A line of a page of the manual is a heading after ``# ``, a paragraph, a term, or its meaning after
``:   ``; those between fences are printed as they are. ``python -m man.generate`` writes all.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from gathercli.report.terminal import STDOUT, assembled, is_terminal, rendered

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

HELP: Final = os.path.join(os.path.dirname(__file__), "help")
SCRIPTS: Final = os.path.join(os.path.dirname(__file__), "completions")
MANUAL: Final = os.path.join(os.path.dirname(__file__), "manual")

# The pages about topics other than commands.
TOPICS: Final = ("formats", "jobs", "operators", "planning")

_FENCE: Final = "```"
_MEANING: Final = ":   "
_STYLES: Final = {"heading": "bold", "term": "cyan", "console": "green"}


def help_text(*command: str) -> str | None:
    """Return the help of a command, or of the program; None if it must be made.

    That of a terminal is made, of a width in COLUMNS, and of no command.
    """
    if is_terminal(STDOUT) or sys.stdout is None or "COLUMNS" in os.environ:
        return None
    # The word becomes a part of the name of a file, which some systems find in upper case, too.
    if not all(word.replace("-", "").isalpha() and word.islower() for word in command):
        return None
    try:
        return _read(HELP, help_name(*command))
    except OSError:
        return None


def help_name(*command: str) -> str:
    """Return the name of the file with the help of a command, or of the program."""
    return "-".join(("gathercli", *command)) + ".txt"


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    return _read(SCRIPTS, f"gathercli.{shell}")


def manual(name: str) -> str:
    """Return a file of the manual."""
    return _read(MANUAL, f"{name}.md")


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def page(topic: str | None) -> str:
    """Return the page of a command or a topic; of the program for None."""
    return manual(f"gathercli-{topic}" if topic else "gathercli")


def examples(topic: str) -> list[tuple[str, str]]:
    """Return what the examples of a command show, and their lines; `topic` is its name.

    Those of its form for models have the topic ``check-models``.
    """
    return terms(manual("examples"), topic)


def terms(text: str, heading: str) -> list[tuple[str, str]]:
    """Return the terms under a heading with their meanings."""
    section = f"\n{text}".partition(f"\n# {heading}\n")[2].partition("\n# ")[0]
    pairs = pairwise(section.splitlines())
    return [(term, line[len(_MEANING) :]) for term, line in pairs if line.startswith(_MEANING)]


def page_text(page: str, width: int, *, color: bool) -> str:
    """Format a page as text, in colour or plain."""
    lines = styled_lines(page, width)
    if not color:  # which needs no rich
        return "".join(f"{line}\n" for _, line in lines)
    styled = ((f"{line}\n", _STYLES.get(style, "")) for style, line in lines)
    return rendered(assembled(styled), color=True)


def styled_lines(page: str, width: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of a page, each after its style: heading, term, console or body."""
    from textwrap import wrap

    fenced = False
    for line, following in pairwise([*page.splitlines(), ""]):
        if line == _FENCE:
            fenced = not fenced
        elif fenced:
            yield "console", f"    {line}".rstrip()
        elif line.startswith("# "):
            yield "heading", line[2:]
        elif following.startswith(_MEANING):
            yield "term", f"    {line}"
        else:
            indent = 12 if line.startswith(_MEANING) else 4
            room = max(width - indent, 1)
            for part in wrap(line.removeprefix(_MEANING), room, break_on_hyphens=False) or [""]:
                yield "body", f"{' ' * indent}{part}".rstrip()
