"""One grammar for every tensor argument: what a token names, and how it is opened.

A token is tried as a literal first, then as a file whose format its content tells. Each input is
opened once; regular .npy files are mapped, everything else is held in memory within a limit.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import BinaryIO, Final, Self

from gathercli.core.call import Operand
from gathercli.core.dims import Shape
from gathercli.core.dtypes import FLOAT64, DType, Tensor
from gathercli.core.text import clean
from gathercli.errors import (
    GatherError,
    InputError,
    LimitError,
    TransferError,
    UsageError,
)
from gathercli.io import npy
from gathercli.io.files import (
    STDIN,
    File,
    conversion,
    foreign,
    open_file,
    refuse_foreign,
    too_long,
    unreadable,
)

LOOK: Final = 4096
"""Bytes that tell what a file is."""

SMALL: Final = 1 << 16
"""Bytes up to which reading a file is cheaper than mapping it."""

_WORDS: Final = ("true", "false", "NaN", "Infinity")
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")


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
        self._opened: list[File] = []
        self._mapped: list[File] = []
        self._stdin: bytes | None = None
        self._stdin_file: File | None = None

    @staticmethod
    def share_stdin(*tokens: str | None) -> None:
        """Refuse, before anything is read, that tokens want standard input more than once.

        Raises
        ------
        UsageError
            ``usage``: it is wanted twice, and not for two members.
        """
        uses = [token for token in tokens if token == "-" or (token or "").startswith("-#")]
        if len(uses) > 1 and not all(token and token[2:] for token in uses):
            raise UsageError(
                "`-` is used twice, but standard input can be read only once: "
                "expected it for one tensor",
                rule="usage",
                value="-",
                hint="one stream that holds both is `-#data` and `-#indices`",
            )

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
                return _at(found, declared)
            file, key = found
            with _naming(file.name):
                tensor = self._load(file, key, declared or assumed, empty)
                return _at(tensor, declared)
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
                return Operand.of(_at(found, declared))
            file, key = found
            with _naming(file.name):
                start = os.pread(file.fd, npy.PREAMBLE, 0) if file.regular else b""
                if start.startswith(npy.MAGIC) and key is None:
                    header = npy.header(start)
                    npy.check_length(header, file.status.st_size)
                    return _described(header, declared)
                if start.startswith(_ZIP):
                    from gathercli.io.npz import Archive

                    with _stream(file) as stream:
                        return _described(Archive(stream, file.name).header(key), declared)
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
    ) -> Tensor | tuple[File, str | None]:
        """Tell what a token is: the tensor of a literal, or an open file and a key."""
        if token == "-" or token.startswith("-#"):
            key = token[2:] or None
            return self._opened_stdin(), key
        if token.startswith("@"):
            return self._named(token[1:])
        if not _may_be_literal(token):
            return self._named(token)
        from gathercli.io import literal

        try:
            tensor = literal.parse(token, declared=declared, empty=empty, max_bytes=self.max_bytes)
        except InputError:
            if not self._exists(token):
                raise
            tensor = None
        if tensor is None:
            return self._named(token)
        self.note_file(token, "a literal")
        return tensor

    def note_file(self, token: str, what: str) -> None:
        """Say that a file has the name of what was read otherwise."""
        if self._exists(token):
            self.notes.append(f"`{token}` was read as {what}; the file of that name is `@{token}`")

    def _exists(self, name: str) -> bool:
        try:
            return os.path.lexists(os.path.join(self._folder, name))
        except ValueError:  # a NUL in the name
            return False

    def _named(self, token: str) -> tuple[File, str | None]:
        """Open the file `token`, or the file before its last ``#`` and the key behind it."""
        path, mark, key = token.rpartition("#")
        if self._exists(token) or not mark:
            path, key = token, ""
        file = open_file(path, self._folder)
        self._opened.append(file)
        return file, key or None

    def _opened_stdin(self) -> File:
        if self._stdin_file is None:
            try:
                status = os.fstat(STDIN)
                # What another program has read of a redirected file is no part of the tensor.
                at_start = not stat.S_ISREG(status.st_mode) or not os.lseek(STDIN, 0, os.SEEK_CUR)
                self._stdin_file = File("-", STDIN, status, at_start)
            except OSError as error:
                raise unreadable("-", error) from None
        return self._stdin_file

    def _load(self, file: File, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read a tensor from an open file, by the format that its content tells."""
        if file.regular and os.pread(file.fd, len(npy.MAGIC), 0) == npy.MAGIC:
            return self._mapped_npy(file, key, declared)
        start = os.pread(file.fd, LOOK, 0) if file.regular else b""
        if start.startswith(_ZIP):
            return self._member(_stream(file), file.name, key, declared)
        if start.strip():  # what is no text is refused before all of it is read
            refuse_foreign(start, file.name)
        raw = self._bytes(file)
        if raw.startswith(npy.MAGIC):
            _no_key(key, file.name)
            header = npy.header(raw[: npy.PREAMBLE])
            npy.check_length(header, len(raw))
            return npy.tensor(header, raw, declared)
        if raw.startswith(_ZIP):
            from io import BytesIO

            return self._member(BytesIO(raw), file.name, key, declared)
        refuse_foreign(raw, file.name)
        from gathercli.io import json

        try:
            document = json.parse(raw)
        except InputError as error:
            if file.name.endswith(".csv"):
                raise foreign(file.name, "a .csv file", "csv") from None
            listed = raw.lstrip()[:1] in (b"[", b"{")
            if not listed and error.rule == "json" and b"," in raw[:4096].split(b"\n")[0]:
                error.hint = f"a .csv file is converted by {conversion('csv', file.name)}"
            raise
        return json.tensor(
            document,
            key,
            declared=declared,
            empty=empty,
            max_bytes=self.max_bytes,
            name=file.name,
        )

    def _member(
        self, stream: BinaryIO, name: str, key: str | None, declared: DType | None
    ) -> Tensor:
        """Inflate a member of an archive."""
        from gathercli.io.npz import Archive

        with stream:
            return Archive(stream, name).tensor(key, declared, self.max_bytes)

    def _mapped_npy(self, file: File, key: str | None, declared: DType | None) -> Tensor:
        _no_key(key, file.name)
        header = npy.header(os.pread(file.fd, npy.PREAMBLE, 0))
        npy.check_length(header, file.status.st_size)
        self._mapped.append(file)
        if file.status.st_size <= SMALL:
            raw = os.pread(file.fd, SMALL, 0)
            npy.check_length(header, len(raw))
            return npy.tensor(header, raw, declared)
        import mmap

        try:
            mapped = mmap.mmap(file.fd, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise unreadable(file.name, error) from None
        return npy.tensor(header, mapped, declared)

    def _bytes(self, file: File) -> bytes:
        """Read all of a file within the limit; standard input only once."""
        if file.fd == STDIN and self._stdin is not None:
            return self._stdin
        limit = self.max_bytes
        if file.regular and limit is not None and file.status.st_size > limit:
            raise too_long(file.name, file.status.st_size, limit)
        parts: list[bytes] = []
        size, binary = 0, False
        try:
            while part := os.read(file.fd, 1 << 20):
                binary = binary or (not parts and part.startswith((npy.MAGIC, *_ZIP)))
                parts.append(part)
                size += len(part)
                if not binary and b"\0" in part:
                    refuse_foreign(b"".join(parts), file.name)
                if limit is not None and size > limit:
                    raise too_long(file.name, size, limit)
        except OSError as error:
            if not size:
                raise unreadable(file.name, error) from None
            raise TransferError(
                f"reading stopped after {size} bytes ({error.strerror})", rule="unreadable"
            ) from None
        raw = b"".join(parts)
        if file.fd == STDIN:
            self._stdin = raw
        return raw


def _stream(file: File) -> BinaryIO:
    """Read an open file from its start, apart from its descriptor."""
    stream = os.fdopen(os.dup(file.fd), "rb")
    stream.seek(0)
    return stream


def _described(header: npy.Header, declared: DType | None) -> Operand:
    """Describe the tensor of a header, at the type it is declared to have."""
    found = header.dtype(declared)
    if declared is not None:
        from gathercli.io.store import check_kinds

        check_kinds(found, declared)
    return Operand(Shape(header.shape), declared or found)


def _may_be_literal(token: str) -> bool:
    """Tell cheaply whether a token is worth being read as a literal."""
    start = token.lstrip()[:1]
    return start in '+-.0123456789[{"' or any(mark in token for mark in "=:,") or token in _WORDS


def _at(tensor: Tensor, declared: DType | None) -> Tensor:
    """Return a tensor at the type it is declared to have."""
    if declared is None or tensor.dtype is declared:
        return tensor
    from gathercli.io.store import convert

    return convert(tensor, declared)


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


def _no_key(key: str | None, name: str) -> None:
    if key is not None:
        raise InputError(
            f"a .npy file holds one tensor and no member `{clean(key)}`: expected no key",
            rule="npy",
            value=key,
            hint=f"`{shlex.quote(name)}`",
        )
