"""`completion`: print a shell's completion script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from gathercli.cli.scripts import script

Shell = Annotated[
    Literal["bash", "zsh", "fish"],
    typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False),
]


def build(name: str) -> Callable[..., Callable[[], int]]:
    """Make the command."""
    del name
    return command


def command(shell: Shell) -> Callable[[], int]:
    """Collect the request."""
    return script(shell)
