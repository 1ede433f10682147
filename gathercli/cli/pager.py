"""Long text for a person: through a pager on a terminal, as git's goes."""

from __future__ import annotations

import os
import re
from typing import Final

from gathercli.cli.main import print_text
from gathercli.io.write import STDOUT
from gathercli.report.terminal import DEFAULT_WIDTH, height_of, is_terminal, width_of

_LESS: Final = {"LESS": "FRX"}
"""Quit where it fits the screen, keep colours, leave the screen as it is; LESS takes precedence."""

_NO_PROGRAM: Final = (126, 127)
"""The statuses with which a shell says that it could not run a program."""


def show(text: str) -> None:
    """Print text, through $PAGER where stdout is a terminal with fewer lines.

    Without PAGER it is less, if there is one; empty or ``cat`` it is none.
    """
    command = _command() if is_terminal(STDOUT) and not _fits(text) else ""
    if command in ("", "cat") or _paged(command, text) in _NO_PROGRAM:
        print_text(text)


def _command() -> str:
    from shutil import which

    return os.environ.get("PAGER", "less" if which("less") else "").strip()


def _fits(text: str) -> bool:
    """Tell whether the screen holds all lines, and that of the prompt."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    width = width_of(STDOUT) or DEFAULT_WIDTH
    return sum(max(1, -(-len(line) // width)) for line in plain) < height_of(STDOUT)


def _paged(command: str, text: str) -> int:
    """Show text through a command; return its status.

    A person may leave it before it has read all. What interrupts is meant for it: a handler is not
    inherited, as ignoring the signal would be.
    """
    import signal
    from subprocess import PIPE, Popen

    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with Popen(["/bin/sh", "-c", command], stdin=PIPE, env=_LESS | os.environ) as pager:  # noqa: S603  (the person's own command)
            pager.communicate(text.encode(errors="backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode
