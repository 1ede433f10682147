"""Check the real paths of open files, so that no link leads out of a folder."""

from __future__ import annotations

import os
import stat
import sys


def place_of(fd: int, path: str) -> str:
    """Return the real path of an open file; resolve `path` if the system does not know."""
    try:
        if sys.platform == "darwin":
            import fcntl

            raw = fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(raw.partition(b"\0")[0])
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return os.path.realpath(path)


def lies_in(place: str, folder: str) -> bool:
    """Tell whether a real path is a folder or lies below it."""
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")


def open_in(path: str, folder: str) -> tuple[int, os.stat_result]:
    """Open a regular file below `folder`, a real path; return its descriptor and status.

    Raises
    ------
    ValueError
        The file is not regular, or a link leads out of the folder.
    """
    _check_kind(os.stat(path))  # opening a device may have effects, a FIFO would wait for a writer
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        _check_kind(status)
        check_place(place_of(fd, path), folder)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def _check_kind(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")


def check_place(place: str, folder: str) -> None:
    """Raise ValueError if the real path `place` is not below the real path `folder`."""
    if not lies_in(place, folder):
        raise ValueError("it links out of its folder")
