"""Open input files by name."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from gathercli.errors import GatherError, InputError, NoInputError
from gathercli.io.files import File, unreadable
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.folders import Folder


def open_input(
    name: str,
    folder: str,
    limit: int | None,
    progress: ProgressCallback | None = None,
    *,
    pipes: bool = True,
) -> File | Folder:
    """Open a file as `open_file` does, or a folder of chunks."""
    try:
        return open_file(name, folder, limit, progress, pipes=pipes)
    except NoInputError as error:
        path = os.path.join(folder, name)
        if not os.path.isdir(path):
            raise
        from gathercli.io import folders

        if folders.format_of_folder(path) is None:
            from gathercli.io.formats.table import names_chunks

            if names_chunks(name):
                error.problem = f"`{clean(name)}` has no zarr.json or .zarray in it"
                error.expected = "a zarr array or group"
            error.hint = folders.suggest_member(name, path)
            raise
    return folders.Folder(name, path, limit, progress)


def check_kind(path: str, name: str, expected: str = "a file", *, pipes: bool = True) -> None:
    """Raise if `path` is a directory, device or socket, or a pipe that is not to be consumed.

    Opening a device may have effects.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    for test, kind in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISFIFO, "a pipe, which a dry run does not read"),
    ):
        if test(mode) and os.path.realpath(path) != os.path.realpath("/dev/stdin"):
            raise NoInputError(f"`{clean(name)}` is {kind}", value=name, expected=expected)


def open_file(
    name: str,
    folder: str,
    limit: int | None,
    progress: ProgressCallback | None = None,
    *,
    pipes: bool = True,
) -> File:
    """Open a file; `folder` is that of relative names, and `pipes` tells whether pipes are read.

    Raise NoInputError (``missing``, ``unreadable``), or InputError (``literal``) if the file does
    not exist and the name looks like a literal.
    """
    path = os.path.join(folder, name)
    try:
        check_kind(path, name, pipes=pipes)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except GatherError:
        raise
    except (OSError, ValueError) as error:
        from gathercli.io.suggest import missing

        if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
            raise missing(name, folder) from None
        refusal = missing(name, folder) if error.errno == errno.ENAMETOOLONG else None
        if isinstance(refusal, InputError):  # more likely a literal than a name
            raise refusal from None
        raise unreadable(name, error) from None
    try:
        file = File(name, fd, limit, progress)
    except OSError as error:
        with suppress(OSError):
            os.close(fd)
        raise unreadable(name, error) from None
    file.path = path
    return file
