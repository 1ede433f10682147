"""The examples of ``examples.md``: three for the help of each command, and more for the manual.

Each command has fenced lines: ``# DESCRIPTION``, ``$ COMMAND``, and the output, or ``...`` if that
is too long for a page. Examples without a description are for the manual alone. A test runs each
and compares its output.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from gathercli.cli.manual.prose import sections_of_all
from gathercli.report.manual import Console

HELPFUL: Final = 3
"""The number of first examples in the help of a command."""

_EXAMPLE: Final = re.compile(r"(?:^# (.*)\n)?^\$ (.*)\n?((?:^(?![#$] ).*\n?)*)", re.MULTILINE)


class Example(NamedTuple):
    """A command line and its output.

    Attributes
    ----------
    shows
        A description; empty for the manual's own examples.
    output
        The output of the command; None if it is too long.
    """

    shows: str
    command: str
    output: str | None

    @classmethod
    def read_all(cls, text: str) -> tuple[Example, ...]:
        """Read the examples of a command."""
        return tuple(
            cls(shows or "", command, None if output.startswith("...") else output.rstrip("\n"))
            for shows, command, output in _EXAMPLE.findall(text)
        )


EXAMPLES: Final = {
    command: Example.read_all("\n".join(each.text for each in blocks if isinstance(each, Console)))
    for command, blocks in sections_of_all("examples").items()
}


def console(command: str) -> str:
    """Format the examples of a command for the manual; nothing if it has none."""
    lines = ((f"$ {each.command}", each.output) for each in EXAMPLES.get(command, ()))
    return "\n".join(part for pair in lines for part in pair if part)
