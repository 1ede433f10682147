"""`completion`: print a shell's completion script."""

from __future__ import annotations

from typing import Final

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument
from gathercli.cli.generated import script

SHELL: Final = argument("SHELL", "bash, zsh or fish.", choices=("bash", "zsh", "fish"))


def run(shell: str = SHELL) -> Answer:
    """Return the script."""
    return Answer(lambda *_: script(shell))
