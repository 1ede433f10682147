"""Files as they are found: opened once, read within a limit, mapped where they are large."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from functools import cached_property
from io import RawIOBase
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from gathercli.errors import (
    GatherError,
    Hint,
    InputError,
    LimitError,
    NoInputError,
    TransferError,
    reason_of,
)
from gathercli.io.formats.table import BY_SUFFIX, FORMATS
from gathercli.text import clean, closest, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.mapping import Mapping

STDIN: Final = 0
SMALL: Final = 1 << 16
"""Bytes up to which reading a file is cheaper than mapping it."""

SPOOLED: Final = 64 << 20
"""Bytes of a stream up to which it is held in memory where it need not be."""

MOST_THREADS: Final = 16
"""Threads after which memory is what is short: each has its buffers."""

MOST_NOTED: Final = 1 << 17
"""Files of a folder whose state is held, in a few hundred bytes each."""

NOT_HELD: Final = "a .npy file is mapped and not held"
_TO_HOLD: Final = "the input has {} to be held in memory"
_MIXED: Final = (1 << 56) - 1
_CHUNK: Final = 1 << 20
_LARGE_CHUNK: Final = 64 << 20


class Fingerprint(NamedTuple):
    """The bytes of a file, and the nanoseconds at which they were last written.

    For a folder see `folder_stamp`.
    """

    size: int
    mtime_ns: int


def stamp_of(status: os.stat_result) -> Fingerprint:
    """Take from the state of a file what changes with its content."""
    return Fingerprint(status.st_size, status.st_mtime_ns)


def free_memory() -> int:
    """Return the bytes of memory that are free for use."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cores() -> int:
    """Return how many processors this process may use; more than `MOST_THREADS` are not."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(MOST_THREADS, len(affinity(0)) if affinity else os.cpu_count() or 1)


class File:
    """An open input: a regular file, which can be mapped, or a stream, which is held.

    Parameters
    ----------
    name, fd
        How the user calls it, and its descriptor.
    limit
        How many bytes of it may be held in memory; None for any number.
    tick
        Is told how many bytes were read, and of how many (0 where that is not known).

    Attributes
    ----------
    guarded
        Whether the process survives that a mapped file is shortened, until `recheck` refuses it.
    """

    guarded = False

    def __init__(
        self, name: str, fd: int, limit: int | None, progress: ProgressCallback | None = None
    ) -> None:
        self.name, self.fd, self.limit, self.progress = name, fd, limit, progress
        self._status = os.fstat(fd)
        self.regular = stat.S_ISREG(self._status.st_mode)
        if self.regular and fd == STDIN and os.lseek(fd, 0, os.SEEK_CUR):
            # What another program has read of a redirected file is no part of the tensor.
            self.regular = False
        self._parts: list[bytes] = []
        self._ended = False
        self._read = 0
        self._spooled: Any = None
        self._mappings: list[Mapping] = []
        self.failure: OSError | None = None

    @property
    def stamp(self) -> Fingerprint:
        """What tells whether it has changed since it was opened."""
        return stamp_of(self._status)

    @property
    def size(self) -> int:
        """Its bytes; those of a stream are read to be counted."""
        return self._status.st_size if self.regular else len(self.buffer())

    @property
    def goes_on(self) -> bool:
        """Whether it is a stream of which more may come than was read."""
        return not self.regular and not self._ended

    def length(self, most: int) -> int:
        """Count its bytes; a stream that has more than `most` is read no further, and `goes_on`."""
        if self.regular:
            return self._status.st_size
        if self._spooled is None:
            self._spooled = self._spool(most)
        return min(len(self._spooled), most + 1) if self.goes_on else len(self._spooled)

    def start(self, count: int) -> bytes:
        """Return the first `count` bytes, fewer if there are no more."""
        if self.regular:
            return self._pread(count)
        if self._spooled is not None:
            return bytes(self._spooled[:count])
        while not self._ended and sum(map(len, self._parts)) < count:
            self._more()
        self._parts = [b"".join(self._parts)]
        return self._parts[0][:count]

    def content(self, watch: Callable[[bytes], None] | None = None) -> bytes:
        """Return all bytes, held in memory.

        Parameters
        ----------
        watch
            Is shown every part as it comes, and may refuse to go on.

        Raises
        ------
        LimitError
            ``limit``: there are more than may be held.
        """
        if self.regular and self.limit is not None and self._status.st_size > self.limit:
            raise self.over(_TO_HOLD.format(f"{self._status.st_size} bytes"), self._status.st_size)
        if self._spooled is not None:
            self._parts = [bytes(self._spooled)]
        size = 0
        for part in self._all_parts():
            size += len(part)
            if watch is not None:
                watch(part)
            if self.limit is not None and size > self.limit:
                raise self.over(_TO_HOLD.format(f"{size} bytes or more"), size)
        self._parts = [b"".join(self._parts)]
        return self._parts[0]

    def _all_parts(self) -> Iterator[bytes]:
        yield from tuple(self._parts)
        while not self._ended:
            yield self._more()

    def buffer(self) -> Any:
        """Return all bytes: of a large regular file mapped, of a long stream too, from a spool."""
        if not self.regular:
            if self._spooled is None:
                self._spooled = self._spool()
            return self._spooled
        if self._status.st_size <= SMALL:
            return self._pread(SMALL)
        import mmap

        try:
            mapped = mmap.mmap(self.fd, 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise unreadable(self.name, error) from None
        except ValueError:  # it is shorter than it was
            raise _changed(self.name) from None
        if self.guarded:
            with suppress(ImportError, OSError, MemoryError):  # an interpreter without callbacks
                from gathercli.io.mapping import guard

                self._mappings += filter(None, [guard(mapped)])
        return mapped

    def _spool(self, most: float = inf) -> Any:
        """Read a stream to its end; what is too long for memory goes to an unnamed file.

        Parameters
        ----------
        most
            Bytes that it should have; no more is read than shows that it has more.
        """
        while not self._ended and (size := sum(map(len, self._parts))) <= min(most, SPOOLED):
            self._more()
        if self._ended:
            return self.content()
        if size > most:
            return b"".join(self._parts)
        if self.limit is not None and self.limit < most < inf:
            raise self.over(_TO_HOLD.format(f"{most} bytes"), int(most))
        import mmap
        import tempfile

        size = 0
        try:
            with tempfile.TemporaryFile() as spool:
                while self._parts:
                    size += sum(map(len, self._parts))
                    if self.limit is not None and size > self.limit:
                        raise self.over(f"the input has {size} bytes or more", size)
                    spool.writelines(self._parts)
                    self._parts = []
                    if not self._ended and size <= most:
                        self._more()
                spool.flush()
                return mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ)
        except GatherError:
            raise
        except OSError as error:
            raise TransferError(
                f"{size} bytes of it could not be kept in a temporary file ({reason_of(error)})",
                rule="unreadable",
            ) from None

    def stream(self) -> BinaryIO:
        """Return a seekable stream of all bytes, apart from where the descriptor stands."""
        from io import BufferedReader, BytesIO

        return BufferedReader(_Noting(self)) if self.regular else BytesIO(self.content())

    def check_stream(self) -> None:
        """Refuse a file whose `stream` failed, whatever its reader made of that."""
        if self.failure is not None:
            raise unreadable(self.name, self.failure)

    def close(self) -> None:
        """Close what was opened; what is mapped stays, and so does standard input."""
        if self.fd != STDIN:
            with suppress(OSError):
                os.close(self.fd)

    def check_mapped(self) -> None:
        """Refuse a file of which a part was gone when it was read."""
        if any(each.lost for each in self._mappings):
            raise _changed(self.name)

    def recheck(self) -> None:
        """Refuse a regular file that changed since it was opened."""
        self.check_mapped()
        if not stat.S_ISREG(self._status.st_mode):
            return
        if stamp_of(os.fstat(self.fd)) != self.stamp:
            raise _changed(self.name)

    def _pread(self, count: int) -> bytes:
        raw = b""
        try:
            while len(raw) < count and (part := os.pread(self.fd, count - len(raw), len(raw))):
                raw += part
        except OSError as error:
            raise unreadable(self.name, error) from None
        return raw

    def _more(self) -> bytes:
        """Read the next part."""
        try:
            part = os.read(self.fd, _LARGE_CHUNK if self.regular else _CHUNK)
        except OSError as error:
            size = sum(map(len, self._parts))
            if not size:
                raise unreadable(self.name, error) from None
            raise TransferError(
                f"reading stopped after {size} bytes ({error.strerror})", rule="unreadable"
            ) from None
        self._ended = not part
        self._parts.append(part)
        self._read += len(part)
        if self.progress is not None:
            self.progress("read", self._read, self._status.st_size if self.regular else 0)
        return part

    def over(self, what: str, size: int) -> LimitError:
        """Refuse to hold `size` bytes of memory for it; `what` says for what."""
        instead = "" if self.name == "-" else NOT_HELD
        return LimitError.over(what, size, self.limit or 0, instead=instead)


class Folder:
    """An input that is a folder, with the members of `File` that mean something for it.

    Parameters
    ----------
    name, path
        How the user calls it, and where it is.
    limit
        How many bytes of its content may be held in memory; None for any number.
    tick
        Is told how many bytes were read, and of how many.
    """

    regular = False
    fd = -1
    """None: its files are opened one by one, when they are read."""

    def __init__(
        self, name: str, path: str, limit: int | None, progress: ProgressCallback | None = None
    ) -> None:
        self.name, self.path, self.limit, self.progress = name, path, limit, progress
        self._noted: dict[str, int] = {}
        self._whole: Fingerprint | None = None

    @cached_property
    def stamp(self) -> Fingerprint:
        """The bytes of all its files, and what tells whether any of them has changed."""
        try:
            return folder_stamp(self.path)
        except OSError as error:
            raise unreadable(self.name, error) from None

    @property
    def size(self) -> int:
        """The bytes of all its files."""
        return self.stamp.size

    def note(self, path: str, status: os.stat_result | None) -> None:
        """Take down the state of a file that must stay as it is, of up to `MOST_NOTED` files.

        Parameters
        ----------
        status
            None where there is no such file, which must stay so too.

        Raises
        ------
        TransferError
            ``unreadable``: it was noted in another state.
        """
        now = _state(status)
        if len(self._noted) < MOST_NOTED:
            before = self._noted.setdefault(path, now)
        else:
            before = self._noted.get(path, now)
        if before != now:
            raise _changed(self.name)

    def hold(self) -> None:
        """Take down the state of all files, as others will read them."""
        self._whole = self.stamp

    def recheck(self) -> None:
        """Refuse a folder in which a file that was noted has changed."""
        if self._whole is not None and folder_stamp(self.path) != self._whole:
            raise _changed(self.name)
        for path, before in self._noted.items():
            try:
                now = _state(os.stat(path))
            except OSError:
                now = _state(None)
            if now != before:
                raise _changed(self.name)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def folder_stamp(path: str) -> Fingerprint:
    """Add up the files under a folder, their names, sizes and times; links are not followed.

    Returns
    -------
        All bytes, and in place of a time a number that is another when any file is, or its name.
    """
    from hashlib import blake2b

    size, mixed = 0, 0
    for name, status in files_of(path):
        size += status.st_size
        text = f"{status.st_size} {status.st_mtime_ns} ".encode() + os.fsencode(name)
        # A sum: the order in which a system lists files is its own.
        mixed += int.from_bytes(blake2b(text, digest_size=7).digest())
    return Fingerprint(size, mixed & _MIXED)


def files_of(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names below a folder of all its files, and their state; links are not followed."""
    folders = [""]
    while folders:
        inner = folders.pop()
        with os.scandir(os.path.join(path, inner)) as entries:
            for entry in entries:
                name = f"{inner}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                else:
                    yield name, entry.stat(follow_symlinks=False)


def _state(status: os.stat_result | None) -> int:
    """Put into a few bytes what changes with a file."""
    return 0 if status is None else hash(stamp_of(status))


def _changed(name: str) -> TransferError:
    return TransferError(
        f"`{name}` changed while it was read: expected it to stay as it was",
        rule="unreadable",
        value=name,
    )


class _Noting(RawIOBase):
    """Reads a regular file apart from where its descriptor stands, and notes what failed."""

    def __init__(self, file: File) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read at any place."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into `buffer`."""
        try:
            part = os.pread(self._file.fd, len(buffer), self._place)
        except OSError as error:
            self._file.failure = error
            raise
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.size}[whence]
        if start + place < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._place = start + place
        return self._place


def format_of_folder(path: str) -> str | None:
    """Tell the format of a folder of chunks by the files in it; None if it is none."""
    if not os.path.isdir(path):
        return None
    for name, row in FORMATS.items():
        if any(os.path.lexists(os.path.join(path, mark)) for mark in row.marks):
            return name
    return None


def open_input(
    name: str, folder: str, limit: int | None, progress: ProgressCallback | None = None
) -> File | Folder:
    """Open the file that the user calls `name`, or the folder if it is one that can be read.

    The parameters and what is raised are those of `open_file`.
    """
    path = os.path.join(folder, name)
    try:
        if format_of_folder(path) is not None:
            return Folder(name, path, limit, progress)
    except ValueError:  # a NUL in the name
        pass
    try:
        return open_file(name, folder, limit, progress)
    except NoInputError as error:
        if error.rule == "unreadable" and os.path.isdir(path):
            error.hint = _held_by(name, path)
        raise


def is_plain_folder(path: str) -> bool:
    """Tell whether a path is a folder that is no tensor itself."""
    return os.path.isdir(path) and format_of_folder(path) is None


def tensor_files(path: str) -> list[str]:
    """List the names in a folder whose suffix names a format that needs no more to be read."""
    suffixes = tuple(suffix for suffix, name in BY_SUFFIX.items() if FORMATS[name].reader)
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    return [name for name in names if name.endswith(suffixes) and not name.startswith(".")]


def _held_by(name: str, path: str) -> str:
    """Name a tensor in a folder, and the pattern of all that have its suffix."""
    names = tensor_files(path)
    if not names:
        name, row = next((name, row) for name, row in FORMATS.items() if row.marks)
        return f"a {name} folder has {listed(f'`{each}`' for each in row.marks)}; this has none"
    one = os.path.join(name, names[0])
    suffix = os.path.splitext(one)[1]
    number = sum(each.endswith(suffix) for each in names)
    if number == 1:
        return Hint("it holds {source}", source=one)
    pattern = shell_word(os.path.join(name, "")) + f"*{suffix}"
    said = f"{{source}} is one of its {number} {suffix} files"
    hint = Hint(f"{said}, `{{pattern}}` are all".replace("{pattern}", pattern), source=one)
    hint.python = Hint(said, source=one).python
    return hint


def check_kind(path: str, name: str, expected: str = "a file") -> None:
    """Refuse, before it is opened, what is no file: devices act when they are opened.

    Raises
    ------
    NoInputError
        ``unreadable``: `path`, which the user calls `name`, is a directory, a device or a socket.
    """
    mode = os.stat(path).st_mode
    for test, kind in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode) and os.path.realpath(path) != os.path.realpath("/dev/stdin"):
            raise NoInputError(
                f"`{clean(name)}` is {kind}: expected {expected}", rule="unreadable", value=name
            )


def open_file(
    name: str, folder: str, limit: int | None, progress: ProgressCallback | None = None
) -> File:
    """Open the file that the user calls `name`.

    Parameters
    ----------
    folder
        Where a relative name starts.
    limit
        How many bytes of it may be held in memory.
    tick
        Is told how many bytes were read.

    Raises
    ------
    NoInputError
        ``missing`` or ``unreadable``.
    InputError
        ``literal``: there is no such file, and the name looks like a literal.
    """
    path = os.path.join(folder, name)
    try:
        check_kind(path, name)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _missing(name, folder) from None
    except OSError as error:
        if isinstance(error, GatherError):
            raise
        if error.errno == errno.ENAMETOOLONG:  # rather a literal than a name
            refusal = _missing(name, folder)
            if isinstance(refusal, InputError):
                raise refusal from None
        raise unreadable(name, error) from None
    try:
        return File(name, fd, limit, progress)
    except OSError as error:
        with suppress(OSError):
            os.close(fd)
        raise unreadable(name, error) from None


def _missing(path: str, folder: str) -> GatherError:
    shown = clean(path) if len(path) <= 200 else clean(path[:200]) + "..."
    from gathercli.io import twins
    from gathercli.io.formats import literal

    hint = twins.hint(path, folder)
    if literal.looks_literal(path):
        return InputError(
            f"`{shown}` is neither a literal nor the name of a file: "
            "expected a list such as 0,0,4 or '[[0,1],[2,3]]'",
            rule="literal",
            value=path,
            hint=hint,
        )
    if hint is None and (near := _near(path, folder)):
        hint = Hint("did you mean {source}?", source=near)
    what = f"there is no file `{shown}`" if path.strip() else "the name of the file is empty"
    return NoInputError(
        f"{what}: expected a file, or a literal such as 0,0,4",
        rule="missing",
        value=path,
        expected="a file or a literal",
        hint=hint,
    )


def _near(path: str, folder: str) -> str | None:
    """Find what was probably meant: a file of nearly that name, or the name without its suffix."""
    inner, name = os.path.split(path)
    try:
        names = sorted(os.listdir(os.path.join(folder, inner) or "."))
    except (OSError, ValueError):
        return None
    stems = {each: os.path.splitext(each)[0].lower() for each in names[:1000]}
    whole = [each for each in names if os.path.splitext(each)[0] == name]
    stem = os.path.splitext(name)[0].lower()
    like = [each for each in stems if closest(stem, [stems[each]])]  # whatever the suffix
    found = whole[0] if whole else closest(name, like, cutoff=0.75)
    return os.path.join(inner, found) if found else None


def unreadable(path: str, error: Exception) -> NoInputError:
    """Refuse an input that is there and cannot be read."""
    return NoInputError(
        f"`{clean(path)}` cannot be read ({reason_of(error)}): expected a readable file",
        rule="unreadable",
        value=path,
    )
