"""The names of temporary files and folders, by which those of a killed process are found."""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

_LONGEST: Final = 200
"""The most bytes of a name in that of its temporary file."""

_owner = ""


def set_owner(owner: str) -> None:
    """Let all names of this process show its owner: hexadecimal digits, the same for a batch."""
    global _owner  # noqa: PLW0603  (as the mask of new files, one for a process)
    _owner = owner


def temporary_name(name: str) -> str:
    """Return a new hidden name for a file or folder that will be renamed to `name`."""
    return f".{_short(name)}.{_owner}{os.urandom(6).hex()}.tmp"


def remove_temporaries(folder: str, owner: str, name: str | None = None) -> None:
    """Remove what processes of an owner left in a folder, none of which may run any more.

    Parameters
    ----------
    owner
        Nothing is removed without one.
    name
        The output to which the files belong; None for all outputs.
    """
    import re

    start = ".*" if name is None else re.escape(_short(name))
    pattern = re.compile(rf"\.{start}\.{owner}[0-9a-f]{{12}}\.tmp", re.DOTALL)
    with suppress(OSError):
        for each in os.listdir(folder or ".") if owner else ():
            if pattern.fullmatch(each):
                _remove(os.path.join(folder, each))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def _short(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:_LONGEST])
