"""One grammar for every tensor argument: what a token names, and how it is opened.

A token is tried as a literal first, then as a file whose format its content tells. Each input is
opened once; regular .npy files are mapped, everything else is held in memory within a limit.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast

from gathercli.errors import GatherError, Hint, InputError, LimitError, TransferError, UsageError
from gathercli.io.files import STDIN, File, Folder, open_file, open_input, unreadable
from gathercli.io.formats.content import Layout, Literal, content
from gathercli.io.formats.table import is_chunked
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import FLOAT64, DType
from gathercli.spec.shapes import Shape, parse
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.formats.content import ChunkedContent, Content

_WORDS: Final = ("true", "false", "NaN", "Infinity")


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
    tick
        Is told how many bytes of a file were read, and of how many.
    awaits
        Is told, before standard input is read, what it should hold.
    guarded
        Whether the process survives that another program shortens a mapped file: what is gone
        reads as zeros, which `recheck` and the end of the context refuse.

    As a context it closes what it opened; tensors that are mapped stay.
    """

    def __init__(
        self,
        max_bytes: int | None,
        notes: list[str] | None = None,
        *,
        folder: str = "",
        progress: ProgressCallback | None = None,
        awaits: Callable[[str], None] | None = None,
        guarded: bool = True,
    ) -> None:
        self._tick, self._awaits, self._guarded, self._role = progress, awaits, guarded, ""
        self.max_bytes = max_bytes
        self.notes = [] if notes is None else notes
        self._folder = folder
        self._files: list[File | Folder] = []
        self.named: dict[str, File | Folder | None] = {}
        """What was asked for, in that order; None for what could not be opened."""
        self._stdin: tuple[File, Content] | None = None

    @staticmethod
    def share_stdin(*tokens: str | None) -> None:
        """Refuse, before anything is read, that tokens want standard input more than once.

        Raises
        ------
        UsageError
            ``usage``: it is wanted twice, and not for two members.
        """
        uses = [token for token in tokens if token and is_stdin(token)]
        if len(uses) > 1 and not all(token[:2] == "-#" and token[2:] for token in uses):
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
        with self._reading(name):
            source = self.open(token, declared=declared or assumed, empty=empty)
            return source.tensor(declared=declared, assumed=assumed, empty=empty)

    def tiles(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType = FLOAT64
    ) -> ChunkedTensor:
        """Open the tensor that a token names, to be read in chunks if it is stored so.

        The parameters and what is raised are those of `tensor`.
        """
        with self._reading(name):
            source = self.open(token, declared=declared, empty=empty)
            return source.tiles(declared=declared, empty=empty)

    def operand(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType = FLOAT64
    ) -> Operand:
        """Describe the tensor that a token names, reading no more than headers of .npy files."""
        with self._reading(name):
            found = self.open(token, declared=declared, empty=empty).layout(declared=declared)
            return Operand(Shape(found.shape), found.dtype)

    def shaped(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType | None = None
    ) -> Operand:
        """Read a shape, or describe the tensor that a token names; what parses as a shape is one.

        Raises
        ------
        InputError
            ``shape-text``, and what `operand` raises.
        """
        try:
            shape = parse(token)
        except InputError as refused:
            # A word in brackets can only be a shape or a nested list, whose shape is then meant.
            flat = token.lstrip().startswith("[") and not token.lstrip().startswith("[[")
            if flat or re.fullmatch(r"[\d,x?_. ]+", token):
                raise InputError(
                    f"`{name}`: {refused.message}",
                    rule=refused.rule,
                    value=token,
                    hint=refused.hint,
                ) from None
            return self.operand(token, name, declared=declared, empty=empty or FLOAT64)
        self.note_file(token, "a shape")
        return Operand(shape, declared)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Say what a tensor is for, to whoever types it, and in what is refused."""
        self._role = name
        try:
            yield
        except UsageError:
            raise
        except GatherError as error:
            if name and not error.message.startswith(f"`{name}`"):
                error.prefix(f"`{name}`")
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.check_mapped()
        finally:
            self.close()

    def check_mapped(self) -> None:
        """Refuse what came of a mapped file of which a part was gone."""
        for file in self._all():
            if isinstance(file, File):
                file.check_mapped()

    def close(self) -> None:
        """Close what was opened; tensors that are mapped stay."""
        self.close_files()
        if self._stdin:
            self._stdin[0].close()

    def close_files(self) -> None:
        """Close all but standard input, of which more may be wanted."""
        for file in self._files:
            file.close()
        self._files.clear()

    def hold(self) -> None:
        """Take down the state of all folders as they are, of which others will read parts."""
        for file in self._files:
            if isinstance(file, Folder):
                file.hold()

    def recheck(self) -> None:
        """Refuse to commit a result whose inputs changed on the way."""
        for file in self._all():
            file.recheck()

    def _all(self) -> list[File | Folder]:
        return [*self._files, *((self._stdin[0],) if self._stdin else ())]

    def open(self, token: str, *, declared: DType | None = None, empty: DType = FLOAT64) -> Source:
        """Tell what a token is: a literal, or a file whose format its content tells.

        Parameters
        ----------
        declared
            The type of a literal that names none.
        empty
            The type of a literal without elements.
        """
        if token == "-" or token.startswith("-#"):
            return Source(*self._opened_stdin(), token[2:] or None)
        if token.startswith("@"):
            return self._named(token[1:])
        if token.startswith("bin:"):
            return self._raw(token)
        tensor = self._literal(token, declared, empty)
        if tensor is None:
            return self._named(token)
        self.note_file(token, "a literal")
        if token.lstrip()[:1] == '"':
            self._check_quoted(token)
        return Source(None, Literal(tensor), None)

    def _literal(self, token: str, declared: DType | None, empty: DType) -> Tensor | None:
        """Read a literal; None when the token is rather the name of a file."""
        if not _may_be_literal(token):
            return None
        from gathercli.io.formats import literal

        try:
            return literal.parse(token, declared=declared, empty=empty, max_bytes=self.max_bytes)
        except InputError:
            if not self._exists(token):
                raise
            return None

    def _check_quoted(self, token: str) -> None:
        """Refuse the name of a file in quotes of its own, which would be a text."""
        from gathercli.io import twins

        if name := twins.quoted_file(token, self._folder):
            raise InputError(
                f"`{token}` is a text, as a file is named without quotes of its own: "
                "expected the name",
                rule="literal",
                value=token,
                hint=Hint("did you mean {source}?", source=name),
            )

    def note_file(self, token: str, what: str) -> None:
        """Say that a file has the name of what was read otherwise."""
        if self._exists(token):
            self.notes.append(f"`{token}` was read as {what}; the file of that name is `@{token}`")

    def _exists(self, name: str) -> bool:
        try:
            return os.path.lexists(os.path.join(self._folder, name))
        except ValueError:  # a NUL in the name
            return False

    def file_of(self, token: str) -> tuple[str | None, str | None]:
        """Find the file that a token names, and the key in it; None for a literal."""
        if token == "-" or token.startswith("-#"):
            return "-", token[2:] or None
        if token.startswith("bin:"):
            from gathercli.io.formats import raw

            return raw.parse(token).path, None
        if not token.startswith("@") and self._literal(token, None, FLOAT64) is not None:
            return None, None
        return self._split(token.removeprefix("@"))

    def _split(self, token: str) -> tuple[str, str | None]:
        """Split the name of a file from the key behind its last ``#``; a whole name comes first."""
        path, mark, key = token.rpartition("#")
        return (token, None) if self._exists(token) or not mark else (path, key or None)

    def _named(self, token: str) -> Source:
        """Open the file `token`, or the file before its last ``#`` and the key behind it."""
        path, key = self._split(token)
        self.named[path] = None
        file = self.named[path] = open_input(path, self._folder, self.max_bytes, self._tick)
        self._own(file)
        with _Naming(file.name):
            return Source(file, content(file), key)

    def _raw(self, token: str) -> Source:
        """Open the file of raw elements that a token describes."""
        from gathercli.io.formats import raw

        told = raw.parse(token)
        self.note_file(token, "raw elements")
        if told.path == "-":
            file = self._stdin_file()
            self._files.append(file)
        else:
            file = self._opened(told.path)
        return Source(file, raw.Raw(file, told), None)

    def _opened(self, path: str) -> File:
        self.named[path] = None
        file = self.named[path] = open_file(path, self._folder, self.max_bytes, self._tick)
        self._own(file)
        return file

    def _own(self, file: File | Folder) -> None:
        if isinstance(file, File):
            file.guarded = self._guarded
        self._files.append(file)

    def _opened_stdin(self) -> tuple[File, Content]:
        if self._stdin is None:
            file = self._stdin_file()
            with _Naming(file.name):
                self._stdin = file, content(file)
        return self._stdin

    def _stdin_file(self) -> File:
        if self._awaits is not None:
            self._awaits(f"`{self._role}`" if self._role else "a tensor")
        try:
            file = File("-", STDIN, self.max_bytes, self._tick)
        except OSError as error:
            raise unreadable("-", error) from None
        file.guarded = self._guarded
        return file


class Source(NamedTuple):
    """What a token names.

    Attributes
    ----------
    file
        The open file or folder; None for a literal.
    content, key
        Its tensors, and which one is meant; None for the only one.
    """

    file: File | Folder | None
    content: Content
    key: str | None

    def tensor(
        self,
        *,
        declared: DType | None = None,
        assumed: DType | None = None,
        empty: DType = FLOAT64,
    ) -> Tensor:
        """Read the tensor; the parameters are those of `Inputs.tensor`."""
        with self._naming():
            return _at(self.content.tensor(self.key, declared or assumed, empty), declared)

    def tiles(self, *, declared: DType | None = None, empty: DType = FLOAT64) -> ChunkedTensor:
        """Read the tensor, or open it to be read in chunks, as `Inputs.tiles` does."""
        if is_chunked(self.content.format):
            with self._naming():
                stored = cast("ChunkedContent", self.content).tiles(self.key)
            if declared in (None, stored.dtype):
                return stored
        return self.tensor(declared=declared, empty=empty)

    def layout(self, *, declared: DType | None = None, assumed: DType | None = None) -> Layout:
        """Describe the tensor; the parameters are those of `Inputs.tensor`."""
        with self._naming():
            found = self.content.layout(self.key, declared or assumed)
            if declared is None:
                return found
            from gathercli.arrays.conversion import check_kinds

            check_kinds(found.dtype, declared)
            return found._replace(dtype=declared)

    def __str__(self) -> str:
        name = "the literal" if self.file is None else clean(self.file.name)
        return name if self.key is None else f"{name}#{self.key}"

    def name(self, error: GatherError) -> None:
        """Say in which source a refusal came up."""
        if self.file is not None:
            error.prefix(str(self))

    def _naming(self) -> _Naming:
        return _Naming(self.file.name if self.file else None)


def is_stdin(token: str) -> bool:
    """Tell whether a token names standard input."""
    raw = token.startswith("bin:") and token.endswith("@-")
    return token == "-" or token.startswith("-#") or raw


def _may_be_literal(token: str) -> bool:
    """Tell cheaply whether a token is worth being read as a literal."""
    start = token.lstrip()[:1]
    return start in '+-.0123456789[{"' or any(mark in token for mark in "=:,") or token in _WORDS


def _at(tensor: Tensor, declared: DType | None) -> Tensor:
    """Return a tensor at the type it is declared to have."""
    if declared is None or tensor.dtype is declared:
        return tensor
    from gathercli.arrays.conversion import convert

    return convert(tensor, declared)


class _Naming:
    """Say in which file a refusal came up, if it was in one."""

    def __init__(self, name: str | None) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._name and isinstance(error, OSError) and not isinstance(error, GatherError):
            raise unreadable(self._name, error) from None
        if self._name and isinstance(error, InputError | LimitError | TransferError):
            error.prefix("standard input" if self._name == "-" else clean(self._name))
