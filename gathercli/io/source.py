"""The grammar of tensor arguments: parse a token, and open the file it names.

A token is a literal if it parses as one, else the name of a file, whose content tells its format.
Each input is opened once; regular .npy files are mapped, others are read into memory up to a limit.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast

from gathercli.errors import GatherError, Hint, InputError, LimitError, TransferError, UsageError
from gathercli.io.files import STDIN, File, open_file, open_input, unreadable
from gathercli.io.formats.content import Layout, Literal, content
from gathercli.io.formats.table import is_chunked
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import FLOAT64, DType
from gathercli.spec.shapes import Shape, parse
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.io.folders import Folder
    from gathercli.io.formats.content import ChunkedContent, Content

    _AnyFile = TypeVar("_AnyFile", bound="File | Folder")

_WORDS: Final = ("true", "false", "NaN", "Infinity")


class Inputs:
    """The tensors of one command.

    Parameters
    ----------
    max_bytes
        The bytes of memory each may take; None for no limit. Mapped files take none.
    notes
        A list to which notes for the user are appended.
    folder
        The folder relative names start from; the working folder if empty.
    progress
        Called with the bytes of a file read so far and the total.
    awaits
        Called before standard input is read, with the role of the tensor it should hold.
    guarded
        Whether the process survives that another program shortens a mapped file: the missing part
        reads as zeros, which `recheck` and the end of the context refuse.

    The context closes all files at its end; mapped tensors stay valid.
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
        self._progress, self._awaits, self._guarded, self._role = progress, awaits, guarded, ""
        self.max_bytes = max_bytes
        self.notes = [] if notes is None else notes
        self._folder = folder
        self._files: list[File | Folder] = []
        self.named: dict[str, File | Folder | None] = {}
        """The files by name, in the order of the tokens; None for one that cannot be opened."""
        self._stdin: tuple[File, Content] | None = None

    @staticmethod
    def check_stdin(*tokens: str | None) -> None:
        """Raise if several tokens name standard input, unless each names a member of it.

        Raises
        ------
        UsageError
            ``usage``.
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
            The argument.
        name
            The role of the tensor: ``data``, ``indices``.
        declared
            The type of an untyped source; a typed source must convert to it without loss.
        assumed
            The type of an untyped source; a typed source keeps its own.
        empty
            The type of an untyped list without elements.

        Raises
        ------
        InputError, NoInputError, LimitError, TransferError
            ``missing``, ``unreadable``, ``format``, ``npy``, ``npz``, ``json``,
            ``ragged``, ``literal``, ``dtype``, ``limit``.
        """
        with self._reading(name):
            source = self.open(token, declared=declared or assumed, empty=empty)
            return source.tensor(declared=declared, assumed=assumed, empty=empty)

    def chunked(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType = FLOAT64
    ) -> ChunkedTensor:
        """Open the tensor that a token names; one that is stored in chunks is read chunk by chunk.

        The parameters and the errors are those of `tensor`.
        """
        with self._reading(name):
            source = self.open(token, declared=declared, empty=empty)
            return source.chunked(declared=declared, empty=empty)

    def operand(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType = FLOAT64
    ) -> Operand:
        """Describe the tensor that a token names; of a file with a header read that alone."""
        with self._reading(name):
            layout = self.open(token, declared=declared, empty=empty).layout(declared=declared)
            return Operand(Shape(layout.shape), layout.dtype)

    def shape_or_operand(
        self, token: str, name: str, *, declared: DType | None = None, empty: DType | None = None
    ) -> Operand:
        """Parse a token as a shape; if it is none, describe the tensor that it names.

        Raises
        ------
        InputError
            ``shape-text``, and the errors of `operand`.
        """
        try:
            shape = parse(token)
        except InputError as error:
            # A token in brackets can only be a shape or a nested list, the shape of which counts.
            flat = token.lstrip().startswith("[") and not token.lstrip().startswith("[[")
            if flat or re.fullmatch(r"[\d,x?_. ]+", token):
                message = f"`{name}`: {error.message}"
                raise InputError(message, rule=error.rule, value=token, hint=error.hint) from None
            return self.operand(token, name, declared=declared, empty=empty or FLOAT64)
        self.note_file(token, "a shape")
        return Operand(shape, declared)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Name the role of a tensor in the prompt and in errors."""
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
        """Raise if a file was shortened while a mapping of it was read."""
        for file in self._all():
            file.check_mapped()

    def close(self) -> None:
        """Close all files; mapped tensors stay valid."""
        self.close_files()
        if self._stdin:
            self._stdin[0].close()

    def close_files(self) -> None:
        """Close all but standard input, whose other members may be read later."""
        for file in self._files:
            file.close()
        self._files.clear()

    def watch_folders(self) -> None:
        """Have `recheck` compare all files of the folders, for readers in other processes."""
        for file in self._files:
            file.watch_all()

    def recheck(self) -> None:
        """Raise if an input changed since it was opened."""
        for file in self._all():
            file.recheck()

    def _all(self) -> list[File | Folder]:
        return [*self._files, *((self._stdin[0],) if self._stdin else ())]

    def open(self, token: str, *, declared: DType | None = None, empty: DType = FLOAT64) -> Source:
        """Read a literal, or open the file that a token names.

        Parameters
        ----------
        declared
            The type of an untyped literal.
        empty
            The type of an untyped literal without elements.
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
        """Read a literal; None if the token is the name of a file."""
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
        """Raise if a text in quotes is the name of a file."""
        from gathercli.io.suggest import quoted_file

        if name := quoted_file(token, self._folder):
            raise InputError(
                f"`{token}` is a text, as a file is named without quotes of its own: "
                "expected the name",
                rule="literal",
                value=token,
                hint=Hint("did you mean {source}?", source=name),
            )

    def note_file(self, token: str, what: str) -> None:
        """Add a note if a token that was read as something else is also the name of a file."""
        if self._exists(token):
            self.notes.append(f"`{token}` was read as {what}; the file of that name is `@{token}`")

    def _exists(self, name: str) -> bool:
        try:
            return os.path.lexists(os.path.join(self._folder, name))
        except ValueError:  # a NUL in the name
            return False

    def file_of(self, token: str) -> tuple[str | None, str | None]:
        """Return the name of the file in a token, and the key; None for a literal."""
        if token == "-" or token.startswith("-#"):
            return "-", token[2:] or None
        if token.startswith("bin:"):
            from gathercli.io.formats import raw

            return raw.parse(token).path, None
        if not token.startswith("@") and self._literal(token, None, FLOAT64) is not None:
            return None, None
        return self._split(token.removeprefix("@"))

    def _split(self, token: str) -> tuple[str, str | None]:
        """Split a token at its last ``#`` into file and key, unless all of it names a file."""
        path, mark, key = token.rpartition("#")
        return (token, None) if self._exists(token) or not mark else (path, key or None)

    def _named(self, token: str) -> Source:
        """Open a file, or a member of one: ``FILE#KEY``."""
        path, key = self._split(token)
        file = self._opened(path, open_input)
        with _name_errors(file):
            return Source(file, content(file), key)

    def _raw(self, token: str) -> Source:
        """Open the file of raw elements that a token describes."""
        from gathercli.io.formats import raw

        description = raw.parse(token)
        self.note_file(token, "raw elements")
        if description.path == "-":
            file = self._stdin_file()
            self._files.append(file)
        else:
            file = self._opened(description.path, open_file)
        return Source(file, raw.Raw(file, description), None)

    def _opened(self, path: str, opener: Callable[..., _AnyFile]) -> _AnyFile:
        self.named[path] = None
        file = self.named[path] = opener(path, self._folder, self.max_bytes, self._progress)
        file.guarded = self._guarded
        self._files.append(file)
        return file

    def _opened_stdin(self) -> tuple[File, Content]:
        if self._stdin is None:
            file = self._stdin_file()
            with _name_errors(file):
                self._stdin = file, content(file)
        return self._stdin

    def _stdin_file(self) -> File:
        if self._awaits is not None:
            self._awaits(f"`{self._role}`" if self._role else "a tensor")
        try:
            file = File("-", STDIN, self.max_bytes, self._progress)
        except OSError as error:
            raise unreadable("-", error) from None
        file.guarded = self._guarded
        return file


class Source(NamedTuple):
    """A literal, or a tensor in an open file.

    Attributes
    ----------
    file
        The file or folder; None for a literal.
    content, key
        Its tensors, and the name of one; None for the only one.
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
        with _name_errors(self.file):
            tensor = self.content.tensor(self.key, declared or assumed, empty)
            if declared is None or tensor.dtype is declared:
                return tensor
            from gathercli.arrays.conversion import convert

            return convert(tensor, declared)

    def chunked(self, *, declared: DType | None = None, empty: DType = FLOAT64) -> ChunkedTensor:
        """Open the tensor as `Inputs.chunked` does."""
        if is_chunked(self.content.format):
            with _name_errors(self.file):
                tensor = cast("ChunkedContent", self.content).chunked(self.key)
            if declared in (None, tensor.dtype):
                return tensor
        return self.tensor(declared=declared, empty=empty)

    def layout(self, *, declared: DType | None = None, assumed: DType | None = None) -> Layout:
        """Describe the tensor; the parameters are those of `Inputs.tensor`."""
        with _name_errors(self.file):
            layout = self.content.layout(self.key, declared or assumed)
            if declared is None:
                return layout
            from gathercli.arrays.conversion import check_kinds

            check_kinds(layout.dtype, declared)
            return layout._replace(dtype=declared)

    def __str__(self) -> str:
        name = "the literal" if self.file is None else clean(self.file.name)
        return name if self.key is None else f"{name}#{self.key}"

    def name(self, error: GatherError) -> None:
        """Add the name of this source to an error."""
        if self.file is not None:
            error.prefix(str(self))


def is_stdin(token: str) -> bool:
    """Tell whether a token names standard input."""
    raw = token.startswith("bin:") and token.endswith("@-")
    return token == "-" or token.startswith("-#") or raw


def _may_be_literal(token: str) -> bool:
    """Tell whether a token can be a literal, without parsing it."""
    start = token.lstrip()[:1]
    return start in '+-.0123456789[{"' or any(mark in token for mark in "=:,") or token in _WORDS


@contextmanager
def _name_errors(file: File | Folder | None) -> Iterator[None]:
    """Add the name of a file to the errors of its reader."""
    try:
        yield
    except (InputError, LimitError, TransferError) as error:
        if file is not None:
            error.prefix("standard input" if file.name == "-" else clean(file.name))
        raise
    except OSError as error:
        if file is None or isinstance(error, GatherError):
            raise
        raise unreadable(file.name, error) from None
