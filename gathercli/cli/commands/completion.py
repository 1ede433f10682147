"""`completion`: print a shell's completion script."""

from __future__ import annotations

from typing import Annotated, Literal

from gathercli.cli.command import argument
from gathercli.cli.scripts import print_script

Shell = Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", "bash, zsh or fish.")]


def run(shell: Shell) -> int:
    """Print the script."""
    return print_script(shell)
