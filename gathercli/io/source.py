"""One grammar for every tensor argument: what a token names, and how it is opened.

A token is tried as a literal first, then as a file whose format its content tells. Each input is
opened once; regular .npy files are mapped, everything else is held in memory within a limit.
"""

from __future__ import annotations

import mmap
import os
import re
import shlex
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from gathercli.core.call import Operand
from gathercli.core.dims import Shape
from gathercli.core.dtypes import FLOAT64, DType, Tensor
from gathercli.core.text import clean, closest
from gathercli.errors import (
    GatherError,
    InputError,
    LimitError,
    NoInputError,
    TransferError,
    UsageError,
)
from gathercli.io import json, literal, npy
from gathercli.io.values import convert

if TYPE_CHECKING:
    from gathercli.io.npz import Archive

STDIN: Final = 0
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_HDF: Final = b"\x89HDF\r\n\x1a\n"
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]")
_CONVERSIONS: Final = {
    "pickle": "numpy.save('x.npy', numpy.load({name}, allow_pickle=True))  # runs its code",
    "csv": "numpy.save('x.npy', numpy.loadtxt({name}, delimiter=','))",
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


class _File(NamedTuple):
    """An open input and what it was when it was opened."""

    name: str
    fd: int
    status: os.stat_result

    @property
    def regular(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)

    def recheck(self) -> None:
        now = os.fstat(self.fd)
        if (now.st_size, now.st_mtime_ns) != (self.status.st_size, self.status.st_mtime_ns):
            raise TransferError(
                f"`{self.name}` changed while it was read: expected it to stay as it was",
                rule="unreadable",
                value=self.name,
            )


class Inputs:
    """The tensors of one command.

    Parameters
    ----------
    max_bytes
        How much memory each may take; None lifts the limit. Mapped files take none.
    notes
        A list that takes what the user should know of how the tokens were read.
    folder
        Where relative names of files start; the working folder if empty.

    As a context it closes what it opened; tensors that are mapped stay.
    """

    def __init__(
        self, max_bytes: int | None, notes: list[str] | None = None, *, folder: str = ""
    ) -> None:
        self.max_bytes = max_bytes
        self.notes = [] if notes is None else notes
        self._folder = folder
        self._opened: list[_File] = []
        self._mapped: list[_File] = []
        self._stdin: bytes | None = None
        self._stdin_uses: list[str | None] = []

    def tensor(
        self,
        token: str,
        name: str,
        *,
        declared: DType | None = None,
        assumed: DType | None = None,
        empty: DType = FLOAT64,
    ) -> Tensor:
        """Read the tensor that a token names.

        Parameters
        ----------
        token
            What the user typed.
        name
            What it is for: ``data``, ``indices``.
        declared
            Its type, where the source leaves it open; a typed source must convert without loss.
        assumed
            Its type where the source leaves it open; a typed source keeps its own.
        empty
            The type of an untyped list without elements.

        Raises
        ------
        InputError, NoInputError, LimitError, TransferError
            See cli: ``missing``, ``unreadable``, ``format``, ``npy``, ``npz``, ``json``,
            ``ragged``, ``literal``, ``dtype``, ``limit``.
        """
        try:
            found = self._read(token, declared or assumed, empty)
            if isinstance(found, Tensor):
                return found if declared is None else convert(found, declared, name)
            file, key = found
            with _naming(file.name):
                tensor = self._load(file, key, declared or assumed, empty)
                return tensor if declared is None else convert(tensor, declared, name)
        except GatherError as error:
            _prefix(error, name)
            raise

    def operand(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType = FLOAT64
    ) -> Operand:
        """Describe the tensor that a token names, reading no more than headers of .npy files."""
        try:
            found = self._read(token, declared, empty)
            if isinstance(found, Tensor):
                return Operand.of(found if declared is None else convert(found, declared, name))
            file, key = found
            with _naming(file.name):
                start = os.pread(file.fd, npy.PREAMBLE, 0) if file.regular else b""
                if start.startswith(npy.MAGIC) and key is None:
                    header = npy.header(start)
                    npy.check_length(header, file.status.st_size)
                    return Operand(Shape(header.shape), declared or header.dtype(declared))
                return Operand.of(self._load(file, key, declared, empty))
        except GatherError as error:
            _prefix(error, name)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._opened:
            os.close(file.fd)
        self._opened.clear()
        self._mapped.clear()

    def recheck(self) -> None:
        """Refuse to commit a result whose mapped inputs changed on the way."""
        for file in self._mapped:
            file.recheck()

    def _read(
        self, token: str, declared: DType | None, empty: DType
    ) -> Tensor | tuple[_File, str | None]:
        """Tell what a token is: the tensor of a literal, or an open file and a key."""
        if token == "-" or token.startswith("-#"):
            key = token[2:] or None
            self._stdin_uses.append(key)
            if len(self._stdin_uses) > 1 and None in self._stdin_uses:
                raise UsageError(
                    "`-` is used twice, but standard input can be read only once: "
                    "expected it for one tensor",
                    rule="usage",
                    value=token,
                    hint="one stream that holds both is `-#data` and `-#indices`",
                )
            return self._opened_stdin(), key
        if token.startswith("@"):
            return self._named(token[1:])
        try:
            tensor = literal.parse(token, declared=declared, empty=empty, max_bytes=self.max_bytes)
        except InputError:
            if not self._exists(token):
                raise
            tensor = None
        if tensor is None:
            return self._named(token)
        if self._exists(token):
            self.notes.append(
                f"`{token}` was read as a literal; the file of that name is `@{token}`"
            )
        return tensor

    def _exists(self, name: str) -> bool:
        try:
            return os.path.lexists(os.path.join(self._folder, name))
        except ValueError:  # a NUL in the name
            return False

    def _named(self, token: str) -> tuple[_File, str | None]:
        """Open the file `token`, or the file before its last ``#`` and the key behind it."""
        path, mark, key = token.rpartition("#")
        if self._exists(token) or not mark:
            path, key = token, ""
        file = _open(path, self._folder)
        self._opened.append(file)
        return file, key or None

    def _opened_stdin(self) -> _File:
        try:
            return _File("-", STDIN, os.fstat(STDIN))
        except OSError as error:
            raise _unreadable("-", error) from None

    def _load(self, file: _File, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read a tensor from an open file, by the format that its content tells."""
        if file.regular and os.pread(file.fd, len(npy.MAGIC), 0) == npy.MAGIC:
            return self._mapped_npy(file, key, declared)
        raw = self._bytes(file)
        if raw.startswith(npy.MAGIC):
            _no_key(key, file.name)
            header = npy.header(raw[: npy.PREAMBLE])
            npy.check_length(header, len(raw))
            return npy.tensor(header, raw, declared)
        if raw.startswith(_ZIP):
            return _archive(raw, file.name).tensor(key, declared, self.max_bytes)
        _refuse_foreign(raw, file.name)
        try:
            document = json.parse(raw)
        except InputError as error:
            if file.name.endswith(".csv"):
                raise _foreign(file.name, "a .csv file", "csv") from None
            if not error.hint and error.rule == "json" and b"," in raw[:4096].split(b"\n")[0]:
                error.hint = f"a .csv file is converted by {_conversion('csv', file.name)}"
            raise
        return json.tensor(
            document,
            key,
            declared=declared,
            empty=empty,
            max_bytes=self.max_bytes,
            name=shlex.quote(file.name),
        )

    def _mapped_npy(self, file: _File, key: str | None, declared: DType | None) -> Tensor:
        _no_key(key, file.name)
        header = npy.header(os.pread(file.fd, npy.PREAMBLE, 0))
        npy.check_length(header, file.status.st_size)
        try:
            mapped = mmap.mmap(file.fd, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise _unreadable(file.name, error) from None
        self._mapped.append(file)
        return npy.tensor(header, mapped, declared)

    def _bytes(self, file: _File) -> bytes:
        """Read all of a file within the limit; standard input only once."""
        if file.fd == STDIN and self._stdin is not None:
            return self._stdin
        limit = self.max_bytes
        if file.regular and limit is not None and file.status.st_size > limit:
            raise _too_long(file.name, file.status.st_size, limit)
        parts: list[bytes] = []
        size = 0
        try:
            while part := os.read(file.fd, 1 << 20):
                parts.append(part)
                size += len(part)
                if limit is not None and size > limit:
                    raise _too_long(file.name, size, limit)
        except OSError as error:
            if not size:
                raise _unreadable(file.name, error) from None
            raise TransferError(
                f"reading stopped after {size} bytes ({error.strerror})", rule="unreadable"
            ) from None
        raw = b"".join(parts)
        if file.fd == STDIN:
            self._stdin = raw
        return raw


class _naming:  # noqa: N801  (reads as a phrase)
    """Say in which file a refusal came up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError | LimitError | TransferError):
            source = "standard input" if self._name == "-" else clean(self._name)
            _set_message(error, f"{source}: {error.message}")


def _prefix(error: GatherError, name: str) -> None:
    if not isinstance(error, UsageError) and not error.message.startswith(f"`{name}`"):
        _set_message(error, f"`{name}`: {error.message}")


def _set_message(error: GatherError, message: str) -> None:
    error.message = message
    error.args = (message,)


def _open(name: str, folder: str) -> _File:
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
        return _File(name, fd, os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _missing(name, folder) from None
    except OSError as error:
        if isinstance(error, GatherError):
            raise
        raise _unreadable(name, error) from None


def _missing(path: str, folder: str) -> GatherError:
    shown = clean(path) if len(path) <= 200 else clean(path[:200]) + "..."
    if literal.looks_literal(path):
        return InputError(
            f"`{shown}` is neither a literal nor the name of a file: "
            "expected a list such as 0,0,4 or '[[0,1],[2,3]]'",
            rule="literal",
            value=path,
        )
    inner, name = os.path.split(path)
    try:
        near = closest(name, os.listdir(os.path.join(folder, inner) or "."))
    except (OSError, ValueError):
        near = None
    return NoInputError(
        f"there is no file `{shown}`: expected a file, a literal such as 0,0,4, or `-`",
        rule="missing",
        value=path,
        hint=f"did you mean `{shlex.quote(os.path.join(inner, near))}`?" if near else None,
    )


def _unreadable(path: str, error: Exception) -> NoInputError:
    reason = getattr(error, "strerror", None) or str(error)
    return NoInputError(
        f"`{clean(path)}` cannot be read ({reason.lower()}): expected a readable file",
        rule="unreadable",
        value=path,
    )


def _too_long(name: str, size: int, limit: int) -> LimitError:
    return LimitError(
        f"the input has {size} bytes or more to be held in memory: expected at most {limit}",
        rule="limit",
        value=size,
        expected=f"at most {limit} bytes",
        hint="`--max-bytes 0` lifts the limit; a .npy file is mapped and not held"
        if name != "-"
        else "`--max-bytes 0` lifts the limit",
    )


def _no_key(key: str | None, name: str) -> None:
    if key is not None:
        raise InputError(
            f"a .npy file holds one tensor and no member `{clean(key)}`: expected no key",
            rule="npy",
            value=key,
            hint=f"`{shlex.quote(name)}`",
        )


def _archive(raw: bytes, name: str) -> Archive:
    from io import BytesIO

    from gathercli.io.npz import Archive

    return Archive(BytesIO(raw), shlex.quote(name))


def _refuse_foreign(raw: bytes, name: str) -> None:
    """Refuse what is no text, saying what it is where we know."""
    if not raw.strip():
        raise InputError("the input is empty: expected a tensor", rule="format")
    if _PICKLE.match(raw):
        raise _foreign(name, "a pickle, which runs code when it is loaded", "pickle")
    if raw.startswith(_HDF):
        raise _foreign(name, "an HDF5 file", "hdf5")
    if b"\0" in raw[:4096] or raw[0] > 0xF4:
        raise InputError(
            f"the input starts with the bytes {raw[:8].hex(' ')}: expected .npy, .npz or JSON",
            rule="format",
        )


def _foreign(name: str, what: str, kind: str) -> InputError:
    return InputError(
        f"the input is {what}: expected .npy, .npz or JSON",
        rule="format",
        hint=f"convert it: {_conversion(kind, name)}",
    )


def _conversion(kind: str, name: str) -> str:
    module = "import numpy, h5py" if kind == "hdf5" else "import numpy"
    line = _CONVERSIONS[kind].format(name=repr(clean(name)))
    return f"`python -c {shlex.quote(f'{module}; {line}')}`"
