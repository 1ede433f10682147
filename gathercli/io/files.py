"""Files as they are found: opened once, bounded, and named when they are not what is wanted."""

from __future__ import annotations

import os
import re
import shlex
import stat
from typing import Final, NamedTuple

from gathercli.core.text import clean, closest
from gathercli.errors import GatherError, InputError, LimitError, NoInputError, TransferError

STDIN: Final = 0
_HDF: Final = b"\x89HDF\r\n\x1a\n"
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]|c[\w.]+\n[\w.]+\n|\((?:lp|dp)|[\]}]q")
_CONVERSIONS: Final = {
    "pickle": "numpy.save('x.npy', numpy.load({name}, allow_pickle=True))  # runs its code",
    "csv": "numpy.save('x.npy', numpy.loadtxt({name}, delimiter=','))",
    "torch": "numpy.save('x.npy', torch.load({name}, weights_only=True).numpy())",
    "hdf5": "numpy.save('x.npy', h5py.File({name})['NAME'][()])",
}


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


class File(NamedTuple):
    """An open input and what it was when it was opened.

    Attributes
    ----------
    name, fd, status
        How the user calls it, its descriptor, its `fstat`.
    at_start
        Whether none of it had been read before; a redirected standard input may have been.
    """

    name: str
    fd: int
    status: os.stat_result
    at_start: bool = True

    @property
    def regular(self) -> bool:
        """Whether it can be mapped and read at any place."""
        return self.at_start and stat.S_ISREG(self.status.st_mode)

    def recheck(self) -> None:
        """Refuse a file that changed since it was opened."""
        now = os.fstat(self.fd)
        if (now.st_size, now.st_mtime_ns) != (self.status.st_size, self.status.st_mtime_ns):
            raise TransferError(
                f"`{self.name}` changed while it was read: expected it to stay as it was",
                rule="unreadable",
                value=self.name,
            )


def open_file(name: str, folder: str) -> File:
    """Open the file that the user calls `name`."""
    path = os.path.join(folder, name)
    try:
        mode = os.stat(path).st_mode  # before opening: devices act when they are opened
        for test, kind in (
            (stat.S_ISDIR, "a directory"),
            (stat.S_ISCHR, "a device"),
            (stat.S_ISBLK, "a device"),
            (stat.S_ISSOCK, "a socket"),
        ):
            if test(mode) and os.path.realpath(path) != os.path.realpath("/dev/stdin"):
                raise NoInputError(
                    f"`{clean(name)}` is {kind}: expected a file", rule="unreadable", value=name
                )
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return File(name, fd, os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _missing(name, folder) from None
    except OSError as error:
        if isinstance(error, GatherError):
            raise
        raise unreadable(name, error) from None


def _missing(path: str, folder: str) -> GatherError:
    shown = clean(path) if len(path) <= 200 else clean(path[:200]) + "..."
    from gathercli.io import literal

    if literal.looks_literal(path):
        return InputError(
            f"`{shown}` is neither a literal nor the name of a file: "
            "expected a list such as 0,0,4 or '[[0,1],[2,3]]'",
            rule="literal",
            value=path,
        )
    near = _near(path, folder)
    return NoInputError(
        f"there is no file `{shown}`: expected a file, a literal such as 0,0,4, or `-`",
        rule="missing",
        value=path,
        expected="a file, a literal or `-`",
        hint=f"did you mean `{shlex.quote(near)}`?" if near else None,
    )


def _near(path: str, folder: str) -> str | None:
    """Find what was probably meant: a file of nearly that name, or the name without its suffix."""
    from gathercli.io import literal

    inner, name = os.path.split(path)
    maker, colon, rest = name.partition(":")
    if colon and (meant := closest(maker, literal.GENERATORS)):
        return f"{meant}:{rest}"
    try:
        names = sorted(os.listdir(os.path.join(folder, inner) or "."))
    except (OSError, ValueError):
        return None
    whole = [each for each in names if os.path.splitext(each)[0] == name]
    found = whole[0] if whole else closest(name, names, cutoff=0.75)
    return os.path.join(inner, found) if found else None


def unreadable(path: str, error: Exception) -> NoInputError:
    """Refuse an input that is there and cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return NoInputError(
        f"`{clean(path)}` cannot be read ({reason.lower()}): expected a readable file",
        rule="unreadable",
        value=path,
    )


def too_long(name: str, size: int, limit: int) -> LimitError:
    """Refuse an input that takes more memory than may be held."""
    return LimitError(
        f"the input has {size} bytes or more to be held in memory: expected at most {limit}",
        rule="limit",
        value=size,
        expected=f"at most {limit} bytes",
        hint="`--max-bytes 0` lifts the limit; a .npy file is mapped and not held"
        if name != "-"
        else "`--max-bytes 0` lifts the limit",
    )


def refuse_foreign(raw: bytes, name: str) -> None:
    """Refuse what is no text, saying what it is where we know."""
    if not raw.strip():
        raise InputError("the input is empty: expected a tensor", rule="format")
    if _PICKLE.match(raw):
        raise foreign(name, "a pickle, which runs code when it is loaded", "pickle")
    if raw.startswith(_HDF):
        raise foreign(name, "an HDF5 file", "hdf5")
    if b"\0" in raw or raw[0] > 0xF4:
        raise InputError(
            f"the input starts with the bytes {raw[:8].hex(' ')}: expected .npy, .npz or JSON",
            rule="format",
        )


def foreign(name: str, what: str, kind: str) -> InputError:
    """Refuse a format that is known but not read, with the line that converts it."""
    return InputError(
        f"the input is {what}: expected .npy, .npz or JSON",
        rule="format",
        hint=f"convert it: {conversion(kind, name)}",
    )


def conversion(kind: str, name: str) -> str:
    """Write the line that converts a file."""
    modules = {"hdf5": "h5py, numpy", "torch": "numpy, torch"}.get(kind, "numpy")
    path = "/dev/stdin" if name == "-" else clean(name)
    line = _CONVERSIONS[kind].format(name=repr(path))
    return f"`python -c {shlex.quote(f'import {modules}; {line}')}`"
