"""`completion`: print a shell's completion script."""

from __future__ import annotations

from typing import Annotated, Literal

from gathercli.cli.answer import Answer
from gathercli.cli.command import argument
from gathercli.cli.generated import script

Shell = Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", "bash, zsh or fish.")]


def run(shell: Shell) -> Answer:
    """Return the script."""
    return Answer(lambda *_: script(shell))
