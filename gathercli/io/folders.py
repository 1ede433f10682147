"""Input folders: detect their formats, list their files, notice changes, and leaving links."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NoReturn

from gathercli.errors import Hint, NoInputError, reason_of
from gathercli.io.files import Fingerprint, changed, fingerprint_of, unreadable
from gathercli.io.formats.table import BY_SUFFIX, CHUNKED, FORMATS
from gathercli.text import clean, listed, shell_word

if TYPE_CHECKING:
    from gathercli.compute.threads import ProgressCallback


# The most files of a folder watched for changes, at a few hundred bytes each.
MAX_WATCHED: Final = 1 << 17
_MASK: Final = (1 << 56) - 1


class Folder:
    """An input folder, with the members of `File` that apply to it."""

    regular = guarded = external = False
    fd = -1  # a folder has no descriptor

    def __init__(
        self, name: str, path: str, limit: int | None, progress: ProgressCallback | None = None
    ) -> None:
        self.name, self.path, self.limit, self.progress = name, path, limit, progress
        self.notes: list[str] = []
        self._watched: dict[str, int] = {}
        self._whole: Fingerprint | None = None

    @property
    def format(self) -> str:
        """The format; without metadata the first one, as its reader raises the error."""
        return format_of_folder(self.path) or next(iter(CHUNKED.values()))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The result of `fingerprint_folder` at the first access."""
        try:
            return fingerprint_folder(self.path)
        except OSError as error:
            raise unreadable(self.name, error) from None

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return self.fingerprint[0]

    def watch(self, path: str, status: os.stat_result | None) -> None:
        """Let `recheck` compare a file, whose status is None if absent; raise if it changed."""
        now = _digest(status)
        is_full = len(self._watched) >= MAX_WATCHED
        watch = self._watched.get if is_full else self._watched.setdefault
        if watch(path, now) != now:
            raise changed(self.name)

    def watch_all(self) -> None:
        """Let `recheck` compare all files, as other processes read them."""
        self._whole = self.fingerprint

    def check_mapped(self) -> None:
        """Do nothing: no file of a folder is mapped."""

    def recheck(self) -> None:
        """Raise if a watched file changed."""
        if self._whole is not None and fingerprint_folder(self.path) != self._whole:
            raise changed(self.name)
        for path, before in self._watched.items():
            try:
                now = _digest(os.stat(path))
            except OSError:
                now = _digest(None)
            if now != before:
                raise changed(self.name)

    def close(self) -> None:
        """Do nothing: no descriptor is open."""


def fingerprint_folder(path: str) -> Fingerprint:
    """Return the total size of all files below a folder, and a hash of their names and status."""
    from hashlib import blake2b

    size, digest = 0, 0
    for name, status in files_of(path):
        size += status.st_size
        text = f"{status.st_size} {status.st_mtime_ns} ".encode() + os.fsencode(name)
        # Add the hashes, as the order of directory entries is arbitrary.
        digest += int.from_bytes(blake2b(text, digest_size=7).digest())
    return size, digest & _MASK


def files_of(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the relative path and status of each file below a folder; do not follow links."""
    for name, entry in walk(path):
        if not entry.is_dir(follow_symlinks=False):
            yield name, entry.stat(follow_symlinks=False)


def walk(path: str) -> Generator[tuple[str, os.DirEntry[str]]]:
    """Yield the relative path and entry of all that is below a folder; do not follow links.

    The folder being read is open until the next one, so close a walk that ends early.
    """
    folders = [""]
    while folders:
        inner = folders.pop()
        with os.scandir(os.path.join(path, inner)) as entries:
            for entry in entries:
                yield f"{inner}{entry.name}", entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{inner}{entry.name}/")


def _digest(status: os.stat_result | None) -> int:
    return 0 if status is None else hash(fingerprint_of(status))


def format_of_folder(path: str) -> str | None:
    """Detect the format of a folder of chunks by its files; return None for any other path."""
    if not os.path.isdir(path):
        return None
    for name in CHUNKED.values():
        if any(os.path.lexists(os.path.join(path, mark)) for mark in FORMATS[name].marks):
            return name
    return None


def is_plain_folder(path: str) -> bool:
    """Tell whether a path is a folder without chunks."""
    return os.path.isdir(path) and format_of_folder(path) is None


def tensor_files(path: str) -> list[str]:
    """List the files in a folder with the suffix of a readable format, sorted by name."""
    suffixes = tuple(suffix for suffix, name in BY_SUFFIX.items() if FORMATS[name].reader)
    try:
        names = sorted(os.listdir(path))
    except PermissionError as error:
        raise_unlisted(error)
    except OSError:
        return []
    return [name for name in names if name.endswith(suffixes) and not name.startswith(".")]


def raise_unlisted(error: OSError) -> NoReturn:
    """Raise the error for a folder that cannot be searched: whatever it holds, it is not empty."""
    what = f"the folder `{clean(str(error.filename))}` cannot be searched ({reason_of(error)})"
    raise NoInputError(what, value=str(error.filename), expected="a readable folder") from None


def suggest_member(name: str, path: str) -> str:
    """Suggest a tensor file in a folder, and the pattern for all with its suffix."""
    names = tensor_files(path)
    if not names:
        fmt = next(iter(CHUNKED.values()))
        marks = listed(f"`{each}`" for each in FORMATS[fmt].marks)
        return f"a {fmt} folder has {marks}; this has none"
    first = os.path.join(name, names[0])
    suffix = os.path.splitext(first)[1]
    number = sum(each.endswith(suffix) for each in names)
    if number == 1:
        return Hint("it holds {source}", source=first)
    pattern = shell_word(os.path.join(name, "")) + f"*{suffix}"
    text = f"{{source}} is one of its {number} {suffix} files"
    in_python = Hint(text, source=first).python
    return Hint(f"{text}, `{pattern}` are all", source=first, python=in_python)


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

    Raise ValueError if the file is not regular, or a link leads out of the folder.
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
