"""The real paths of open files, so that no link leads out of a folder."""

from __future__ import annotations

import os
import stat
import sys


def place_of(fd: int, path: str) -> str:
    """Return the real path of an open file; that of `path` if the system does not tell it."""
    try:
        if sys.platform == "darwin":
            import fcntl

            raw = fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(raw.partition(b"\0")[0])
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return os.path.realpath(path)


def lies_in(place: str, folder: str) -> bool:
    """Tell whether a real path is that of a folder, or below it."""
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")


def open_in(path: str, folder: str) -> tuple[int, os.stat_result]:
    """Open a regular file in a folder; links may lead to other files in it.

    Parameters
    ----------
    folder
        The real path of the folder.

    Returns
    -------
        The descriptor, and the status of the file.

    Raises
    ------
    ValueError
        It is no regular file, or is outside of the folder.
    """
    _check_kind(os.stat(path))  # opening a device has effects, a FIFO would wait for its writer
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
        raise ValueError("it is no regular file")


def check_place(place: str, folder: str) -> None:
    """Raise ValueError if a real path is not in a folder, itself a real path."""
    if not lies_in(place, folder):
        raise ValueError("it links out of its folder")
