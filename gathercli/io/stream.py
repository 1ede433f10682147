"""Write to descriptors: in order, or into a new file at any position."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress

from gathercli.errors import OutputError, reason_of
from gathercli.io.descriptors import incomplete, write_all
from gathercli.text import in_bytes

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from gathercli.compute.result import Result

ALLOCATED: Final = 1 << 20
"""The smallest output in bytes that is allocated on the disk before it is written."""

AHEAD: Final = 8 << 20
MOST_AHEAD: Final = 64 << 20
"""Bytes to allocate at a time for an output of unknown size; `release` frees the rest."""


class Stream:
    """A descriptor, written in order; errors name its `place`."""

    def __init__(self, fd: int, place: str | None = None) -> None:
        self._fd, self._place = fd, place

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        write_all(self._fd, part, place=self._place)

    def place(self, result: Result) -> bool:
        """Return False: a reader may need the blocks in order."""
        del result
        return False


class NewFile(Stream):
    """A regular file without readers, whose blocks may be written in any order."""

    def __init__(self, fd: int, place: str, *, allocates: bool) -> None:
        super().__init__(fd, place)
        self._allocates = allocates
        self._written = self._allocated = 0

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self._written += len(part)
        if self._allocates and self._written > max(ALLOCATED, self._allocated):
            end = self._written + min(max(AHEAD, self._written), MOST_AHEAD)
            with suppress(OutputError):  # what is written may be less than that
                self._allocate(self._allocated, end - self._allocated)
            self._allocated = end
        super().write(part)

    def place(self, result: Result) -> bool:
        """Let the threads of a result append its elements, each block at its position."""
        with self._named_errors():
            start = os.lseek(self._fd, 0, os.SEEK_CUR)
        self._written = start + result.nbytes
        if self._allocates and result.nbytes >= ALLOCATED:
            self._allocate(start, result.nbytes)
            self._allocated = max(self._allocated, self._written)
        place = self._place
        result.place(lambda part, at: write_all(self._fd, part.data, start + at, place=place))
        with self._named_errors():
            os.lseek(self._fd, self._written, os.SEEK_SET)
        return True

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
                    rule="output",
                    places=[self._place] if self._place else [],
                    value=size,
                    expected="room for it",
                ) from None

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Convert OSError to the error for an incomplete output."""
        try:
            yield
        except OSError as error:
            raise incomplete(error, self._place) from None


def release(fd: int) -> None:
    """Free the space that was allocated behind the position of a descriptor."""
    size = os.lseek(fd, 0, os.SEEK_CUR)
    if size > ALLOCATED and os.fstat(fd).st_size > size:
        os.ftruncate(fd, size)
