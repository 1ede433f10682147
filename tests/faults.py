"""Input and output that fails: the Nth call that the program makes of the system, or its size.

Every function of `os` that asks something of the system is wrapped, whether the program uses it
yet or not, and `mmap.mmap`, `open` and the streams of `os.fdopen` as well. Only calls that the
program makes count, itself or through a thin layer of the standard library.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import sys
from contextlib import ExitStack
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

PROGRAM: Final = "gathercli"
THIN: Final = frozenset(
    {"os", "posixpath", "genericpath", "shutil", "tempfile", "pathlib", "zipfile", "numpy"}
)
"""Modules through which the program reaches the system."""

HARMLESS: Final = frozenset(
    {
        *("_exit", "abort", "cpu_count", "fspath", "getpid", "getppid", "getuid", "geteuid"),
        *("getgid", "getegid", "isatty", "kill", "putenv", "strerror", "sysconf", "times", "umask"),
        *("unsetenv", "urandom", "get_terminal_size", "register_at_fork", "sched_getaffinity"),
    }
)
"""Functions that do not fail, or whose failure says something (that this is no terminal)."""

_COMMON: Final = (errno.EIO, errno.EACCES, errno.ENOMEM, errno.EIO)
_FULL: Final = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAMING: Final = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS)
ERRORS: Final[dict[str, tuple[int, int, int, int]]] = {
    "open": (errno.EIO, errno.EMFILE, errno.EACCES, errno.EROFS),
    "dup": (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EMFILE),
    "mmap": (errno.ENOMEM, errno.EACCES, errno.EAGAIN, errno.ENODEV),
    "read": (errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EIO),
    "pread": (errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EIO),
    # EINVAL is left out: it is what a damaged archive gets that leads to before its own start.
    "lseek": (errno.EIO, errno.ESTALE, errno.EOVERFLOW, errno.EIO),
    "fstat": (errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EOVERFLOW),
    "write": _FULL,
    "pwrite": _FULL,
    "ftruncate": _FULL,
    "posix_fallocate": _FULL,
    "copy_file_range": _FULL,
    "close": _FULL,
    "fsync": _FULL,
    "fdatasync": _FULL,
    "link": _NAMING,
    "replace": _NAMING,
    "rename": _NAMING,
    "unlink": _NAMING,
    "access": (errno.EACCES,) * 4,
    "fchmod": (errno.EIO, errno.EPERM, errno.EROFS, errno.EIO),
    "getcwd": (errno.ENOENT, errno.EACCES, errno.ENOMEM, errno.ENOENT),
}
"""How a call can fail, by the name of the function; `_COMMON` for every other."""

VARIETIES: Final = len(_COMMON)


class Faults:
    """Makes calls of the system fail, as a context.

    Parameters
    ----------
    at
        Which call fails, counted from 1; 0 for none.
    variety
        Which of the ways in which it can fail.
    forever
        Whether every later call fails as well, but for those on the standard streams.
    short
        Whether reads and writes move only a part of what they are asked to.
    unnamed
        Whether the system has files without a name.
    only
        Which calls count; None for all.
    instead, after
        What happens instead of an error, and whether after the call or before it.

    Attributes
    ----------
    calls, failed, number
        The names of the calls that counted; the name of the first that was made to fail, and the
        number of the error of the last.
    """

    def __init__(
        self,
        at: int = 0,
        variety: int = 0,
        *,
        forever: bool = False,
        short: bool = False,
        unnamed: bool = True,
        only: Callable[[str, tuple[Any, ...]], bool] | None = None,
        instead: Callable[[], None] | None = None,
        after: bool = False,
    ) -> None:
        self.at, self.variety, self.forever, self.short = at, variety, forever, short
        self.unnamed, self.only, self.instead, self.after = unnamed, only, instead, after
        self.calls: list[str] = []
        self.failed: str | None = None
        self.number = 0
        self._moved = 0
        self._patches = ExitStack()
        self._raw_read, self._raw_close, self._raw_seek = os.read, os.close, os.lseek

    def __enter__(self) -> Self:
        for name, real in list(vars(os).items()):
            if isinstance(real, BuiltinFunctionType) and name not in HARMLESS:
                self._replace(os, name, self._wrapped(name, real))
        self._replace(mmap, "mmap", self._wrapped("mmap", mmap.mmap))
        self._replace(os, "fdopen", self._fdopen(os.fdopen))
        self._replace(builtins, "open", self._open(open))
        if not self.unnamed and hasattr(os, "O_TMPFILE"):
            self._patches.callback(setattr, os, "O_TMPFILE", os.O_TMPFILE)
            delattr(os, "O_TMPFILE")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._patches.close()

    def _replace(self, module: Any, name: str, function: Callable[..., Any]) -> None:
        self._patches.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, function)

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **rest: Any) -> Any:
            if not _by_the_program():
                return real(*args, **rest)
            return self.call(name, real, *args, **rest)

        return call

    def call(self, name: str, real: Callable[..., Any], *args: Any, **rest: Any) -> Any:
        """Make a call that counts, or fail."""
        if self.only is not None and not self.only(name, args):
            return real(*args, **rest)
        self.calls.append(name)
        if self._fails(args):
            self.failed = self.failed or name
            if self.instead is not None:
                return self._do_instead(real, args, rest)
            if name == "close":  # the descriptor is gone all the same
                real(*args)
            self.number = ERRORS.get(name, _COMMON)[self.variety]
            if name == "access":
                return False
            raise OSError(self.number, os.strerror(self.number))
        if self.short and name in ("read", "pread"):
            return real(args[0], self._part(args[1]), *args[2:])
        if self.short and name in ("write", "pwrite"):
            return real(args[0], memoryview(args[1])[: self._part(len(args[1]))], *args[2:])
        return real(*args, **rest)

    def _do_instead(
        self, real: Callable[..., Any], args: tuple[Any, ...], rest: dict[str, Any]
    ) -> Any:
        assert self.instead is not None
        if not self.after:
            self.instead()
        try:
            return real(*args, **rest)
        finally:
            if self.after:
                self.instead()

    def _fails(self, args: tuple[Any, ...]) -> bool:
        if self.forever and self.at and len(self.calls) > self.at:
            return args[:1] not in ((0,), (1,), (2,))
        return len(self.calls) == self.at

    def _part(self, size: int) -> int:
        """Say how much is moved: one byte, and every other time more of them."""
        self._moved += 1
        return min(size, 1 if self._moved % 2 else 1000)

    def _fdopen(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def fdopen(fd: int, mode: str = "r", *args: Any, **rest: Any) -> Any:
            if mode != "rb" or not _by_the_program():
                return real(fd, mode, *args, **rest)
            return io.BufferedReader(_Stream(self, fd))

        return fdopen

    def _open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(file: Any, mode: str = "r", *args: Any, **rest: Any) -> Any:
            if mode not in ("r", "rb") or not _by_the_program():
                return real(file, mode, *args, **rest)
            fd = file if isinstance(file, int) else os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            raw = io.BufferedReader(_Stream(self, fd))
            return raw if mode == "rb" else io.TextIOWrapper(raw, *args, **rest)

        # The frame of `os.open` above is this module's, so the call is counted here.
        def counted(file: Any, *args: Any, **rest: Any) -> Any:
            if not _by_the_program():
                return real(file, *args, **rest)
            return self.call("open", opened, file, *args, **rest)

        return counted

    def read(self, fd: int, size: int) -> bytes:
        """Read for a stream of the program."""
        return bytes(self.call("read", self._raw_read, fd, size))

    def seek(self, fd: int, offset: int, whence: int) -> int:
        """Seek for a stream of the program."""
        return int(self.call("lseek", self._raw_seek, fd, offset, whence))

    def tell(self, fd: int) -> int:
        """Say where a stream stands, which does not count: Python's buffers ask in passing."""
        return self._raw_seek(fd, 0, os.SEEK_CUR)

    def close(self, fd: int) -> None:
        """Close for a stream of the program."""
        self.call("close", self._raw_close, fd)


class _Stream(io.RawIOBase):
    """A file that the program reads through Python's own buffers."""

    def __init__(self, faults: Faults, fd: int) -> None:
        self._faults, self._fd = faults, fd

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def readinto(self, into: Any) -> int:
        part = self._faults.read(self._fd, len(into))
        into[: len(part)] = part
        return len(part)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._faults.seek(self._fd, offset, whence)

    def tell(self) -> int:
        return self._faults.tell(self._fd)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._faults.close(self._fd)


def _by_the_program() -> bool:
    """Tell whether the call being made comes from the program, directly or nearly so."""
    frame = sys._getframe(2)
    while frame is not None:
        root = frame.f_globals.get("__name__", "").partition(".")[0]
        if root == PROGRAM:
            return True
        if root not in THIN and frame.f_globals is not globals():
            return False
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False
