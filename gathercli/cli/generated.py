"""The generated texts: help for a pipe, completion scripts, the manual; reading one loads nothing.

``python -m man.generate`` writes them.
"""

from __future__ import annotations

import os
import sys

from gathercli.report.terminal import STDOUT, is_terminal

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

HELP: Final = os.path.join(os.path.dirname(__file__), "help")
SCRIPTS: Final = os.path.join(os.path.dirname(__file__), "completions")
MANUAL: Final = os.path.join(os.path.dirname(__file__), "manual")


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
    """Return a file of the manual, as `gathercli.cli.pages` reads it."""
    return _read(MANUAL, f"{name}.md")


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()
