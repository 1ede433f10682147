"""Input files: opened once, read within a limit, mapped where they are large."""

from __future__ import annotations

import errno
import os
import stat
from io import RawIOBase

from gathercli.errors import GatherError, LimitError, NoInputError, TransferError, reason_of
from gathercli.records import TypeAlias, suppress
from gathercli.text import clean, in_bytes

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO, Final

    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.mapping import Mapping

STDIN: Final = 0
SMALL_FILE_BYTES: Final = 1 << 16  # the largest file in bytes that is cheaper to read than to map
# The most bytes of a stream in memory; a longer one is copied to a temporary file.
BUFFERED_BYTES: Final = 64 << 20
MAX_THREADS: Final = 16  # the most threads, as each needs memory for its buffers
MAPPED_HINT: Final = "a .npy file is mapped and not held"
_UNBOUNDED: Final = float("inf")
_STREAM_PART: Final = 1 << 20
_FILE_PART: Final = 64 << 20


# The size of a file in bytes, and its modification time in nanoseconds; or of a folder.
Fingerprint: TypeAlias = "tuple[int, int]"


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """Return the fingerprint of a file from its status."""
    return status.st_size, status.st_mtime_ns


def free_memory() -> int:
    """Return the bytes of memory that are available."""
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cores() -> int:
    """Return the number of processors this process may use, at most `MAX_THREADS`."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(MAX_THREADS, len(affinity(0)) if affinity else os.cpu_count() or 1)


class File:
    """An open input: a regular file, which can be mapped, or a stream, which is buffered.

    At most `limit` bytes are read into memory; `progress` is called with ``"read"``, the bytes read
    so far and the total, 0 if it is unknown.
    """

    guarded = external = _ended = False
    failure: OSError | None = None
    _small: bytes | None = None
    _read = 0
    _spool: Any = None

    def __init__(
        self, name: str, fd: int, limit: int | None, progress: ProgressCallback | None = None
    ) -> None:
        self.name, self.fd, self.limit, self.progress = name, fd, limit, progress
        self.notes: list[str] = []
        self._status = os.fstat(fd)
        self.fingerprint = fingerprint_of(self._status)  # when it was opened
        self.regular = stat.S_ISREG(self._status.st_mode)
        if self.regular and fd == STDIN and os.lseek(fd, 0, os.SEEK_CUR):
            # Another program has read the beginning of the redirected file.
            self.regular = False
        self._parts: list[bytes] = []
        self._mappings: list[Mapping] = []
        self.path = name
        self.beside: list[File] = []

    @property
    def size(self) -> int:
        """The size in bytes; a stream is read to its end."""
        return self._status.st_size if self.regular else len(self.buffer())

    @property
    def has_more(self) -> bool:
        """Whether a stream has unread bytes."""
        return not self.regular and not self._ended

    def length(self, expected: int) -> int:
        """Return the size in bytes; read at most a little more than `expected` of a stream."""
        if self.regular:
            return self._status.st_size
        if self._spool is None:
            self._spool = self._read_stream(expected)
        return min(len(self._spool), expected + 1) if self.has_more else len(self._spool)

    def start(self, count: int) -> bytes:
        """Return the first `count` bytes, fewer for a shorter file."""
        if self.regular:
            return self._pread(count)
        if self._spool is not None:
            return bytes(self._spool[:count])
        while not self._ended and self._read < count:
            self._read_part()
        self._parts = [b"".join(self._parts)]
        return self._parts[0][:count]

    def content(self, watch: Callable[[bytes], None] | None = None) -> bytes:
        """Read all bytes, at most `limit`; `watch` is called with each part, and may raise."""
        if self.regular:
            size = self._status.st_size
            self.check_memory(f"the input has {in_bytes(size)} to be held in memory", size)
        if self._spool is not None:
            self._parts = [bytes(self._spool)]
        size = 0
        for part in self._all_parts():
            size += len(part)
            if watch is not None:
                watch(part)
            self.check_memory(f"the input has {in_bytes(size)} or more to be held in memory", size)
        self._parts = [b"".join(self._parts)]
        return self._parts[0]

    def _all_parts(self) -> Iterator[bytes]:
        yield from tuple(self._parts)
        while not self._ended:
            yield self._read_part()

    def buffer(self) -> Any:
        """Return all bytes; map a large regular file, or the spool of a long stream."""
        if not self.regular:
            if self._spool is None:
                self._spool = self._read_stream()
            return self._spool
        if self._status.st_size <= SMALL_FILE_BYTES:
            return self._pread(SMALL_FILE_BYTES)
        import mmap

        try:
            memory = mmap.mmap(self.fd, 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise unreadable(self.name, error) from None
        except ValueError:  # the file was truncated
            raise changed(self.name) from None
        if self.guarded:
            with suppress(ImportError, OSError, MemoryError):  # an interpreter without callbacks
                from gathercli.io.mapping import guard

                self._mappings += filter(None, [guard(memory)])
        return memory

    def _read_stream(self, expected: float = _UNBOUNDED) -> Any:
        """Read a stream to its end, or a little beyond `expected` bytes; a long one is mapped."""
        while not self._ended and self._read <= min(expected, BUFFERED_BYTES):
            self._read_part()
        if self._ended:
            return self.content()
        if self._read > expected:
            return b"".join(self._parts)
        if expected < _UNBOUNDED:
            size = int(expected)
            self.check_memory(f"the input has {in_bytes(size)} to be held in memory", size)
        import mmap

        from gathercli.io.stream import EXPECTED_ROOM, temporary_file

        size = 0
        try:
            with temporary_file() as spool:
                while self._parts:
                    size += sum(map(len, self._parts))
                    self.check_memory(f"the input has {in_bytes(size)} or more", size)
                    spool.writelines(self._parts)
                    self._parts = []
                    if not self._ended and size <= expected:
                        self._read_part()
                spool.flush()
                return mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ)
        except GatherError:
            raise
        except OSError as error:
            what = (
                f"{in_bytes(size)} of it could not be kept in a temporary file ({reason_of(error)})"
            )
            raise TransferError(what, rule="unreadable", expected=EXPECTED_ROOM) from None

    def stream(self) -> BinaryIO:
        """Return a seekable stream of all bytes with its own position."""
        from io import BufferedReader, BytesIO

        return BufferedReader(_RawFile(self)) if self.regular else BytesIO(self.content())

    def check_stream(self) -> None:
        """Raise if a read from `stream` failed, even if its reader caught the error."""
        if self.failure is not None:
            raise unreadable(self.name, self.failure)

    def close(self) -> None:
        """Close the descriptor unless it is standard input; mappings stay valid."""
        if self.fd != STDIN:
            with suppress(OSError):
                os.close(self.fd)
        for each in self.beside:
            each.close()

    def check_mapped(self) -> None:
        """Raise if the file was truncated while it was mapped."""
        for mapping in self._mappings:
            if mapping.lost:
                raise changed(self.name)
        for each in self.beside:
            each.check_mapped()

    def recheck(self) -> None:
        """Raise if a regular file changed since it was opened."""
        self.check_mapped()
        regular = stat.S_ISREG(self._status.st_mode)
        if regular and fingerprint_of(os.fstat(self.fd)) != self.fingerprint:
            raise changed(self.name)
        for each in self.beside:
            each.recheck()

    def _pread(self, count: int) -> bytes:
        """Return the first `count` bytes; those of a small file are read once."""
        # A size of 0 may mean that it is unknown, as in /proc.
        if not 0 < self._status.st_size <= SMALL_FILE_BYTES:
            return self._read_start(count)
        if self._small is None:
            self._small = self._read_start(self._status.st_size)
        return self._small[:count]

    def _read_start(self, count: int) -> bytes:
        raw = b""
        try:
            while len(raw) < count and (part := os.pread(self.fd, count - len(raw), len(raw))):
                raw += part
        except OSError as error:
            raise unreadable(self.name, error) from None
        return raw

    def _read_part(self) -> bytes:
        try:
            part = os.read(self.fd, _FILE_PART if self.regular else _STREAM_PART)
        except OSError as error:
            size = sum(map(len, self._parts))
            if not size:
                raise unreadable(self.name, error) from None
            what = f"reading stopped after {in_bytes(size)} ({error.strerror})"
            raise TransferError(what, rule="unreadable") from None
        self._ended = not part
        self._parts.append(part)
        self._read += len(part)
        if self.progress is not None:
            self.progress("read", self._read, self._status.st_size if self.regular else 0)
        return part

    def check_memory(self, what: str, size: int) -> None:
        """Raise LimitError if `size` bytes of memory are more than `limit`; `what` needs them."""
        if self.limit is not None and size > self.limit:
            instead = "" if self.name == "-" else MAPPED_HINT
            raise LimitError.over(what, size, self.limit, instead=instead)


class _RawFile(RawIOBase):
    """A reader of a regular file with its own position; it records a failed read."""

    def __init__(self, file: File) -> None:
        self._file, self._position = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            part = os.pread(self._file.fd, len(buffer), self._position)
        except OSError as error:
            self._file.failure = error
            raise
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = start + offset
        return self._position


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


def unreadable(path: str, error: Exception, expected: str = "a readable file") -> NoInputError:
    """Return the error for an input that cannot be read, with the ``errno`` of `error`."""
    refusal = NoInputError(
        f"`{clean(path)}` cannot be read ({reason_of(error)})",
        rule="missing" if isinstance(error, FileNotFoundError) else "unreadable",
        value=path,
        expected=expected,
    )
    refusal.errno = getattr(error, "errno", None)
    return refusal


def new_name(stem: str, suffix: str) -> str:
    """Return the name of a file that does not exist, for hints."""
    names = (f"{stem}{more}{suffix}" for more in ("", *(f"-{n}" for n in range(1, 1000))))
    return next((each for each in names if not os.path.lexists(each)), f"{stem}-1000{suffix}")


def changed(name: str) -> TransferError:
    """Return the error for an input that changed while it was read."""
    what = f"`{name}` changed while it was read"
    return TransferError(what, rule="unreadable", value=name, expected="it to stay as it was")
