"""The grammar of tensor arguments: parse a token and open its file.

A token that is no literal is the name of a file, whose format is detected from its content. Each
input is opened once; regular files of plain elements are mapped, others are read into memory up to
a limit.
"""

from __future__ import annotations

import errno
import os

from gathercli import errors
from gathercli.io.files import STDIN, File, check_kind, unreadable
from gathercli.io.formats.content import UNSAID, ElementTypes, Layout, Literal, MemberHint, content
from gathercli.records import Any, Callable, ErrorContext, Final, NamedTuple, Self, suppress
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, parse
from gathercli.text import clean, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeVar

    from gathercli.compute.tensor import ChunkedTensor, Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.folders import Folder
    from gathercli.io.formats.content import Content
    from gathercli.io.formats.npy import RawDescription

    _AnyFile = TypeVar("_AnyFile", bound="File | Folder")

_LITERAL_WORDS: Final = ("true", "false", "NaN", "Infinity")


class Reference(NamedTuple):
    """What a token names: a tensor in a file, or a literal."""

    path: str | None  # None for a literal
    key: str | None = None
    literal: Tensor | None = None
    raw: RawDescription | None = None


def reference_of(
    token: str,
    folder: str = "",
    types: ElementTypes = UNSAID,
    max_bytes: int | None = None,
    notes: list[str] | None = None,
) -> Reference:
    """Parse a token; a name is relative to `folder`, the rest is of a literal."""
    if token == "-" or token.startswith("-#"):
        return Reference("-", token[2:] or None)
    if token.startswith("bin:"):
        from gathercli.io.formats.npy import parse_raw

        raw = parse_raw(token)
        return Reference(raw.path, raw=raw)
    start = token.lstrip()[:1]
    marked = "=" in token or ":" in token or "," in token
    may_be_literal = start in '+-.0123456789[{"' or marked or token in _LITERAL_WORDS
    if may_be_literal and not token.startswith("@"):
        from gathercli.io.formats import literal

        try:
            if (tensor := literal.parse(token, types, max_bytes, notes)) is not None:
                return Reference(None, literal=tensor)
        except errors.InputError as error:
            if not _exists(token, folder):
                if error.rule == "literal" and literal.is_document(token):
                    from gathercli.io.suggest import suggest

                    error.hint = suggest(token, "") or error.advice
                raise
    return Reference(*_split(token.removeprefix("@"), folder))


def _split(token: str, folder: str) -> tuple[str, str | None]:
    """Split a token into file and key at its last ``#`` behind a file, if `token` is none."""
    path, mark, key = token.rpartition("#")
    if not mark or _exists(token, folder):
        return token, None
    if "#" in path and not _exists(path, folder):  # a key may hold the mark
        file, inner = _split(path, folder)
        if inner is not None and _exists(file, folder):
            return file, f"{inner}#{key}"
    return path, key or None


def _exists(name: str, folder: str) -> bool:
    try:
        return os.path.lexists(os.path.join(folder, name))
    except ValueError:  # a NUL in the name
        return False


def is_stdin(token: str) -> bool:
    """Tell whether a token names standard input."""
    raw = token.startswith("bin:") and token.endswith("@-")
    return token == "-" or token.startswith("-#") or raw


def check_stdin(*tokens: str | None, names: Collection[str] = ("data", "indices")) -> None:
    """Raise if several tokens name standard input, unless each names a member, as of `names`."""
    uses = [token for token in tokens if token and is_stdin(token)]
    if len(uses) > 1 and not all(token[:2] == "-#" and token[2:] for token in uses):
        what = "`-` is used twice, but standard input can be read only once"
        word = "both" if len(names) == 2 else "all"
        hint = f"one stream that holds {word} is " + listed((f"`-#{it}`" for it in names), "and")
        raise errors.UsageError(what, value="-", expected="it for one tensor", hint=hint)


class Inputs:
    """The tensors of one command; the end of the context closes all files but mapped tensors.

    A tensor takes at most `max_bytes` of memory; mapped files need none. Notes for the user are
    appended to `notes`; `folder` is that of relative names. `progress` is called as that of `File`,
    `prompt` with the role of the tensor before standard input is read. If `guarded`, the process
    survives the truncation of a mapped file: the missing part reads as zeros, and `recheck` and the
    end of the context raise.
    """

    external = False
    pipes = True

    def __init__(
        self,
        max_bytes: int | None,
        notes: list[str] | None = None,
        *,
        folder: str = "",
        progress: ProgressCallback | None = None,
        prompt: Callable[[str], None] | None = None,
        guarded: bool = True,
    ) -> None:
        self._progress, self._prompt, self._guarded, self._role = progress, prompt, guarded, ""
        self.max_bytes = max_bytes
        self.notes = [] if notes is None else notes
        self._folder = folder
        self._files: list[File | Folder] = []  # that are open, standard input among them
        # The files by name, in the order of the tokens; None for one that failed to open.
        self.files_by_name: dict[str, File | Folder | None] = {}
        self._stdin: tuple[File, Content] | None = None

    def tensor(self, token: str, name: str, types: ElementTypes = UNSAID) -> Tensor:
        """Read the tensor of a token; `name` is its role, such as ``data``, in errors."""
        with self._reading(name):
            return self.open(token, types).tensor()

    def chunked(self, token: str, name: str, types: ElementTypes = UNSAID) -> ChunkedTensor:
        """Open the tensor of a token as `tensor` does, but read stored chunks on demand."""
        with self._reading(name):
            return self.open(token, types).chunked()

    def operand(self, token: str, name: str, types: ElementTypes = UNSAID) -> Operand:
        """Describe the tensor of a token; read only the header of a file that has one."""
        with self._reading(name):
            layout = self.open(token, types).layout()
            return Operand(Shape(layout.shape), layout.dtype)

    def shape_or_operand(self, token: str, name: str, types: ElementTypes = UNSAID) -> Operand:
        """Parse a token as a shape, else describe its tensor as `operand` does."""
        try:
            shape = parse(token)
        except errors.InputError as error:
            # A token in brackets is a shape or a nested list.
            flat = token.lstrip().startswith("[") and not token.lstrip().startswith("[[")
            if flat or all(each.isdecimal() or each in ",x?_. " for each in token):
                error.value = token
                error.name(name)
                raise
            try:
                return self.operand(token, name, types)
            except errors.NoInputError as error:
                if error.rule == "missing":
                    error.expected = "a file, or a shape such as [2,3]"
                raise
        self.note_file(token, "a shape")
        return Operand(shape, types.declared)

    def _reading(self, name: str) -> ErrorContext:
        """Return a context that adds the role of a tensor to the prompt and to errors."""
        self._role = name
        return ErrorContext(_name_role, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.check_mapped()
        finally:
            self.close()

    def check_mapped(self) -> None:
        """Raise if a file was truncated while it was mapped."""
        for file in self._files:
            file.check_mapped()

    def close(self) -> None:
        """Close all files; mapped tensors stay valid."""
        self._stdin = None
        self.close_files()

    def close_files(self) -> None:
        """Close all files but standard input, of which other members may be read later."""
        kept = [self._stdin[0]] if self._stdin else []
        for file in self._files:
            if file not in kept:
                file.close()
        self._files[:] = kept

    def watch_folders(self) -> None:
        """Let `recheck` compare all files of the folders, as other processes read them."""
        for file in self._files:
            if not isinstance(file, File):
                file.watch_all()

    def recheck(self) -> None:
        """Raise if an input changed since it was opened."""
        for file in self._files:
            file.recheck()

    def open(self, token: str, types: ElementTypes = UNSAID) -> Source:
        """Parse a literal or open the file of a token."""
        if token == "-" or token.startswith("-#"):
            return Source(*self._open_stdin(), token[2:] or None, types)
        path, key, literal, raw = reference_of(
            token, self._folder, types, self.max_bytes, self.notes
        )
        if literal is not None:
            self.note_file(token, "a literal")
            if token.lstrip()[:1] == '"':
                from gathercli.io.suggest import check_quoted

                check_quoted(token, self._folder)
            return Source(None, Literal(literal), None, types)
        if raw is not None:
            from gathercli.io.formats.npy import Raw

            self.note_file(token, "raw elements")
            stdin = raw.path == "-"
            stream = self._new_stdin() if stdin else self._open_file(raw.path)
            return Source(stream, Raw(stream, raw), None, types)
        file = self._open_input(path or "")
        try:
            return Source(file, content(file), key, types)
        except BaseException as error:
            _name_file(file, error)
            raise

    def note_file(self, token: str, what: str) -> None:
        """Add a note if a token that was read as `what` is also the name of a file."""
        if _exists(token, self._folder):
            self.notes.append(f"`{token}` was read as {what}; the file of that name is `@{token}`")

    def _open_file(self, name: str) -> File:
        self.files_by_name[name] = None
        file = open_file(name, self._folder, self.max_bytes, self._progress, pipes=self.pipes)
        file.external = self.external
        return self._added(file, name)

    def _open_input(self, name: str) -> File | Folder:
        """Open a file or a folder of chunks."""
        try:
            return self._open_file(name)
        except errors.NoInputError as error:
            path = os.path.join(self._folder, name)
            if not os.path.isdir(path):
                raise
            from gathercli.io import folders

            if folders.format_of_folder(path) is None:
                from gathercli.io.formats.table import names_chunks

                if names_chunks(name):
                    error.problem = f"`{clean(name)}` has no zarr.json or .zarray in it"
                    error.expected = "a zarr array or group"
                error.hint = folders.suggest_member(name, path)
                raise
        return self._added(folders.Folder(name, path, self.max_bytes, self._progress), name)

    def _added(self, file: _AnyFile, name: str | None = None) -> _AnyFile:
        file.guarded, file.notes = self._guarded, self.notes
        self._files.append(file)
        if name is not None:
            self.files_by_name[name] = file
        return file

    def _open_stdin(self) -> tuple[File, Content]:
        if self._stdin is None:
            file = self._new_stdin()
            with ErrorContext(_name_file, file):
                self._stdin = file, content(file)
        return self._stdin

    def _new_stdin(self) -> File:
        if self._prompt is not None:
            self._prompt(f"`{self._role}`" if self._role else "a tensor")
        try:
            return self._added(File("-", STDIN, self.max_bytes, self._progress))
        except OSError as error:
            raise unreadable("-", error) from None


class Source(NamedTuple):
    """A literal, or a tensor in an open file."""

    file: File | Folder | None  # None for a literal
    content: Content
    key: str | None = None  # the name of a tensor in the file; None for the only one
    types: ElementTypes = UNSAID

    def tensor(self) -> Tensor:
        """Read the tensor."""
        tensor: Tensor = self._read(self.content.tensor)
        return tensor

    def chunked(self) -> ChunkedTensor:
        """Open the tensor as `Inputs.chunked` does."""
        tensor: ChunkedTensor = self._read(self.content.chunked)
        return tensor

    def _read(self, read: Callable[[str | None, ElementTypes], Any]) -> Any:
        """Read the tensor by a method of its content, and convert it to the declared type."""
        try:  # a context would take a hundredth of a small job
            tensor, declared = read(self.key, self.types), self.types.declared
            if declared is None or tensor.dtype is declared:
                return tensor
            from gathercli.compute.conversion import convert

            return convert(tensor, declared)
        except BaseException as error:
            _name_file(self.file, error)
            raise

    def layout(self) -> Layout:
        """Describe the tensor; read only the header of a file that has one."""
        with ErrorContext(_name_file, self.file):
            layout, declared = self.content.layout(self.key, self.types), self.types.declared
            if declared is None:
                return layout
            from gathercli.compute.conversion import check_kinds

            check_kinds(layout.dtype, declared)
            return layout._replace(dtype=declared)

    def __str__(self) -> str:
        name = "the literal" if self.file is None else clean(self.file.name)
        return name if self.key is None else f"{name}#{self.key}"

    def name(self, error: errors.GatherError) -> None:
        """Prefix an error with the name of this source."""
        if self.file is not None:
            error.prefix(str(self))


def open_file(
    name: str,
    folder: str,
    limit: int | None,
    progress: ProgressCallback | None = None,
    *,
    pipes: bool = True,
) -> File:
    """Open a file; `folder` is that of relative names, and `pipes` tells whether pipes are read.

    Raise NoInputError (``missing``, ``unreadable``), or InputError (``literal``) if the file does
    not exist and the name looks like a literal.
    """
    path = os.path.join(folder, name) if folder else name
    try:
        check_kind(path, name, pipes=pipes)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except errors.GatherError:
        raise
    except (OSError, ValueError) as error:
        from gathercli.io.suggest import missing

        if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
            raise missing(name, folder) from None
        refusal = missing(name, folder) if error.errno == errno.ENAMETOOLONG else None
        if isinstance(refusal, errors.InputError):  # more likely a literal than a name
            raise refusal from None
        raise unreadable(name, error) from None
    try:
        file = File(name, fd, limit, progress)
    except OSError as error:
        with suppress(OSError):
            os.close(fd)
        raise unreadable(name, error) from None
    file.path = path
    return file


def _name_role(name: str, error: BaseException) -> None:
    if not isinstance(error, errors.GatherError) or isinstance(error, errors.UsageError):
        return
    if name:
        error.name(name)
    if isinstance(error.advice, MemberHint):
        error.hint = error.advice.for_input(name)


def _name_file(file: File | Folder | None, error: BaseException) -> None:
    if file is None:
        return
    if isinstance(error, errors.InputError | errors.LimitError | errors.TransferError):
        error.prefix("standard input" if file.name == "-" else clean(file.name))
    elif isinstance(error, errors.NoInputError) and isinstance(file, File):
        if error.value != file.name:  # it is of a file beside
            error.prefix(clean(file.name))
    elif isinstance(error, OSError) and not isinstance(error, errors.GatherError):
        raise unreadable(file.name, error) from None
