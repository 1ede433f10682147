"""`completion`: print a shell's completion script, and what it asks for while a user types.

The scripts run ``gathercli __names KIND WORD`` to complete the word after ``#``: the name of a
tensor in a file, or the id of a job; each printed line is one. Only the headers of files are read,
if a format has any; a model offers its nodes, too. An unreadable file has no names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from gathercli.cli.declarations import Answer, argument
from gathercli.cli.generated import script
from gathercli.text import clean

SHELL: Final = argument("SHELL", "bash, zsh or fish.", choices=("bash", "zsh", "fish"))


def run(shell: str = SHELL) -> Answer:
    """Return the script."""
    return Answer(lambda *_: script(shell))


# The largest number of bytes of text to read for a completion.
MOST_COMPLETION_BYTES: Final = 16 << 20


def completions(kind: str, word: str) -> str:
    """Return the completions of `word`, ``FILE#PART``, one a line; `kind` is a key of `KINDS`."""
    with suppress(Exception):
        return "".join(f"{each}\n" for each in _words(kind, word))
    return ""


def _words(kind: str, word: str) -> list[str]:
    path, mark, _ = word.rpartition("#")
    while mark and not os.path.lexists(_file(path)) and "#" in path:  # an id may contain one too
        path, mark, _ = path.rpartition("#")
    mode = os.stat(_file(path)).st_mode
    if not mark or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading a pipe would empty it
        return []
    # A name with control characters cannot be a line of the completion script.
    return [f"{path}#{name}" for name in KINDS[kind](_file(path)) if name and clean(name) == name]


def _file(path: str) -> str:
    return os.path.expanduser(path.removeprefix("@"))


def _members(path: str) -> Iterable[str]:
    from gathercli.io.source import Inputs

    with Inputs(MOST_COMPLETION_BYTES) as inputs:
        content = inputs.open(f"@{path}").content
        return [*(content.names or ()), *getattr(content, "nodes", ())]


def _ids(path: str) -> Iterable[str]:
    from gathercli.io.jobs import SHAPE, jobs

    if os.path.getsize(path) > MOST_COMPLETION_BYTES:
        return ()
    return [job.id for job in jobs(path) if job.op != SHAPE]


KINDS: Final[dict[str, Callable[[str], Iterable[str]]]] = {"tensor": _members, "job": _ids}
