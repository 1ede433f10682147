"""Write to descriptors, in order or at any position, and name temporary files by their owner."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod

from gathercli.errors import OutputError, TransferError, reason_of
from gathercli.io.descriptors import incomplete, write_all
from gathercli.records import suppress
from gathercli.text import in_bytes

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any, Final

    from gathercli.compute.tensor import Result


# What is expected where a temporary file cannot be kept.
EXPECTED_ROOM: Final = "a folder with room that can be written, which `TMPDIR` may name"
_MAX_NAME_BYTES: Final = 200  # the most bytes of a name in that of its temporary file
_owner = ""


def set_owner(owner: str) -> None:
    """Let all names of this process show its owner: hexadecimal digits, the same for a batch."""
    global _owner  # noqa: PLW0603  (as the mask of new files, one for a process)
    _owner = owner


def temporary_name(name: str) -> str:
    """Return a new hidden name for a file or folder that will be renamed to `name`."""
    return f".{_short(name)}.{_owner}{os.urandom(6).hex()}.tmp"


def remove_temporaries(folder: str, owner: str, name: str | None = None) -> None:
    """Remove what ended processes of an owner left in a folder, of one output or (None) of all."""
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
    return os.fsdecode(os.fsencode(name)[:_MAX_NAME_BYTES])


def temporary_file() -> IO[bytes]:
    """Return a new unnamed file; raise TransferError if no folder can be written."""
    import tempfile

    file: IO[bytes] = created("file", tempfile.TemporaryFile)
    return file


def created(kind: str, create: Callable[[], Any]) -> Any:
    """Return what a function creates in the folder for temporary files; raise as above."""
    try:
        return create()
    except OSError as error:
        what = f"a temporary {kind} cannot be created ({reason_of(error)})"
        raise TransferError(what, rule="unreadable", expected=EXPECTED_ROOM) from None


# The smallest output in bytes that is allocated on the disk before it is written.
MIN_ALLOCATED: Final = 1 << 20
# Bytes to allocate at a time for an output of unknown size; `release` frees the rest.
MIN_AHEAD: Final = 8 << 20
MOST_AHEAD: Final = 64 << 20


class ByteTarget(ABC):
    """A target of bytes in order."""

    @abstractmethod
    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""

    def place(self, result: Result) -> bool:
        """Let the threads of a result append its elements, in any order, if that is possible."""
        del result
        return False


class Stream(ByteTarget):
    """A descriptor, whose reader may need the bytes in order; errors name its `place`."""

    def __init__(self, fd: int, place: str | None = None) -> None:
        self._fd, self._place = fd, place

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        write_all(self._fd, part, place=self._place)


class NewFile(Stream):
    """A regular file without readers, whose blocks may be written in any order."""

    def __init__(self, fd: int, place: str, *, allocates: bool) -> None:
        super().__init__(fd, place)
        self._allocates = allocates
        self._written = self._allocated = 0

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self._written += len(part)
        if self._allocates and self._written > max(MIN_ALLOCATED, self._allocated):
            end = self._written + min(max(MIN_AHEAD, self._written), MOST_AHEAD)
            with suppress(OutputError):  # what is written may be less than that
                self._allocate(self._allocated, end - self._allocated)
            self._allocated = end
        super().write(part)

    def place(self, result: Result) -> bool:
        """Let the threads of a result append its elements, each block at its position."""
        start = self._seek(0, os.SEEK_CUR)
        self._written = start + result.nbytes
        if self._allocates and result.nbytes >= MIN_ALLOCATED:
            self._allocate(start, result.nbytes)
            self._allocated = max(self._allocated, self._written)
        place = self._place
        result.place(lambda part, at: write_all(self._fd, part.data, start + at, place=place))
        self._seek(self._written, os.SEEK_SET)
        return True

    def _seek(self, offset: int, whence: int) -> int:
        try:
            return os.lseek(self._fd, offset, whence)
        except OSError as error:
            raise incomplete(error, self._place) from None

    def _allocate(self, start: int, size: int) -> None:
        """Allocate space on the disk, if the file system can.

        This detects a full disk before the work. Without it, ext4 allocates the blocks when the
        file replaces another, which takes longer than all the rest.
        """
        posix_fallocate = getattr(os, "posix_fallocate", None)
        if posix_fallocate is None:
            return
        try:
            posix_fallocate(self._fd, start, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise OutputError(
                    f"the result takes {in_bytes(size)} and there is no room for it "
                    f"({reason_of(error)})",
                    places=[self._place] if self._place else [],
                    value=size,
                    expected="room for it",
                ) from None


def release(fd: int) -> None:
    """Free the space that was allocated behind the position of a descriptor."""
    size = os.lseek(fd, 0, os.SEEK_CUR)
    if size > MIN_ALLOCATED and os.fstat(fd).st_size > size:
        os.ftruncate(fd, size)
