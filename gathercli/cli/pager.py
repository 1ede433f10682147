"""Show long text on a terminal with a pager, as git does."""

from __future__ import annotations

import os
import re
from typing import Final

from gathercli.io.descriptors import STDOUT
from gathercli.report.terminal import DEFAULT_WIDTH, height_of, is_terminal, print_text, width_of

_LESS: Final = {"LESS": "FRX"}
"""Quit if the text fits, keep colours, do not clear the screen; the user's LESS overrides it."""

_NO_PROGRAM: Final = (126, 127)
"""The exit statuses of a shell that cannot run a program."""


def show(text: str) -> None:
    """Print text, through $PAGER if stdout is a terminal with fewer lines.

    The default is less, if it is installed; an empty PAGER or ``cat`` means none.
    """
    command = _command() if is_terminal(STDOUT) and not _fits(text) else ""
    if command in ("", "cat") or _page(command, text) in _NO_PROGRAM:
        print_text(text)


def _command() -> str:
    from shutil import which

    return os.environ.get("PAGER", "less" if which("less") else "").strip()


def _fits(text: str) -> bool:
    """Return whether all lines and the prompt fit on the screen."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    width = width_of(STDOUT) or DEFAULT_WIDTH
    return sum(max(1, -(-len(line) // width)) for line in plain) < height_of(STDOUT)


def _page(command: str, text: str) -> int:
    """Pipe text to a pager, which may quit early; return its exit status.

    Ctrl-C is for the pager, so this process handles SIGINT with an empty function. The pager would
    inherit an ignored signal.
    """
    import signal
    from subprocess import PIPE, Popen

    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with Popen(["/bin/sh", "-c", command], stdin=PIPE, env=_LESS | os.environ) as pager:  # noqa: S603  (the user's own command)
            pager.communicate(text.encode(errors="backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode
