"""What may follow ``#``, for the completion scripts: members of a file of tensors, ids of jobs.

The scripts run ``gathercli __names KIND WORD`` and offer the lines it prints. Only headers are read
where a format has one; of what cannot be read nothing is said.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gathercli.cli.main import print_text
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LARGEST: Final = 16 << 20
"""Bytes of text that are read while a person waits."""


def request(kind: str, word: str) -> Callable[[], int]:
    """Make the request that prints the words that `word`, ``FILE#PART``, may become.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    """

    def run() -> int:
        with suppress(Exception):
            print_text("".join(f"{each}\n" for each in words(kind, word)))
        return 0

    return run


def words(kind: str, word: str) -> list[str]:
    """List the words that name something in the file of `word`; ``@`` before it stays."""
    path, mark, _ = word.rpartition("#")
    while mark and not os.path.lexists(_file(path)) and "#" in path:  # an id may hold one too
        path, mark, _ = path.rpartition("#")
    mode = os.stat(_file(path)).st_mode
    if not mark or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe is not to be read
        return []
    # A line and a screen hold nothing else than what is printed as it is.
    return [f"{path}#{name}" for name in KINDS[kind](_file(path)) if name and clean(name) == name]


def _file(path: str) -> str:
    return os.path.expanduser(path.removeprefix("@"))


def _members(path: str) -> Iterable[str]:
    from gathercli.io.source import Inputs

    with Inputs(LARGEST) as inputs:
        return inputs.open(f"@{path}").content.names or ()


def _ids(path: str) -> Iterable[str]:
    from gathercli.jobs.job import SHAPE, jobs

    if os.path.getsize(path) > LARGEST:
        return ()
    return [job.id for job in jobs(path) if job.op != SHAPE]


KINDS: Final[dict[str, Callable[[str], Iterable[str]]]] = {"tensor": _members, "job": _ids}
