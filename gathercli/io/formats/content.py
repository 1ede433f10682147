"""What a file holds: its format, told by its first bytes, and the tensors in it.

The rows of `table` name the reader of each format, a class with the members of `Content`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import Hint, InputError, LimitError
from gathercli.io.formats.table import CHUNKED, FORMATS, load
from gathercli.spec.dtypes import FLOAT64, DType
from gathercli.spec.shapes import LARGEST, MAX_RANK, product
from gathercli.text import clean, meant, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    import numpy as np

    from gathercli.arrays.chunks import ChunkedTensor, ChunkLayout
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.io.files import File, Folder

    class Content(Protocol):
        """The tensors of one source.

        `format` is a key of `FORMATS`; `names` is None when it holds one tensor, which needs no
        name.
        """

        @property
        def format(self) -> str:
            """The name of the format."""

        @property
        def names(self) -> Sequence[str] | None:
            """The names of the tensors."""

        def layout(self, key: str | None, declared: DType | None) -> Layout:
            """Describe the tensor `key`, reading no elements where the format has a header."""

        def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
            """Read the tensor `key`.

            Parameters
            ----------
            key
                Its name; None for the only one.
            declared
                The type, where the source leaves it open.
            empty
                The type of an untyped list without elements.
            """

    class ChunkedContent(Content, Protocol):
        """The tensors of a folder of chunks."""

        def tiles(self, key: str | None) -> ChunkedTensor:
            """Open the tensor `key` to be read box by box."""


LOOK: Final = 4096
"""Bytes that tell what a file is."""

_BARE: Final = "gathercli.io.formats.bare:read"
"""What reads text that is not marked, from a pipe."""


class Layout(NamedTuple):
    """How a tensor lies in the bytes of its source.

    Attributes
    ----------
    dtype, shape
        What its elements are, and the sizes of its dimensions.
    held
        The numpy dtype of the bytes, byte order included.
    offset
        Where the elements start.
    fortran
        Whether the first dimension varies fastest.
    chunked
        How it is cut into chunks; None when it lies in one piece.
    """

    dtype: DType
    shape: tuple[int, ...]
    held: np.dtype[Any]
    offset: int = 0
    fortran: bool = False
    chunked: ChunkLayout | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return product(self.shape) * self.held.itemsize

    def view(self, buffer: Any, *, rule: str = "format") -> Tensor:
        """View the elements in `buffer`, the bytes of the source.

        Raises
        ------
        InputError
            `rule`: it is shorter than its size was, when that was asked.
        """
        import numpy as np

        from gathercli.arrays.tensor import Tensor

        end = self.offset + self.nbytes
        if len(buffer) < end:
            raise InputError(
                f"the file ends at byte {len(buffer)}: expected {end} bytes", rule=rule
            )
        order: Any = "F" if self.fortran else "C"
        array: AnyArray = np.ndarray(self.shape, self.held, buffer, self.offset, order=order)
        return Tensor(self.dtype, array)


class Literal:
    """A literal or a generator; `format` and the members are those of `Content`."""

    format = "literal"
    names = None

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Describe the tensor."""
        tensor = self.tensor(key, declared, FLOAT64)
        return Layout(tensor.dtype, tensor.shape, tensor.storage)

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Return the tensor.

        Raises
        ------
        InputError
            ``literal``: a member is asked for.
        """
        del declared, empty  # both were used when it was parsed
        if key is not None:
            raise InputError(
                f"a literal has no member `{clean(short(key))}`: expected no key",
                rule="literal",
                value=key,
            )
        return self._tensor


def key_hint(name: str, key: str | None, known: Iterable[str], noun: str) -> Hint | None:
    """Say how one of several tensors is named; on standard input perhaps both.

    Parameters
    ----------
    name, key
        What the user calls the source, and the tensor in it that it has not, if one was named.
    known
        The names of those it has.
    noun
        What the format calls them.

    >>> print(key_hint("w.npz", "embeding", ["bias", "embedding"], "member"))
    name the member: `'w.npz#embedding'`
    >>> print(key_hint("-", None, ["data", "indices"], "tensor"))
    name both tensors: `-#data -#indices`
    """
    names = list(known)
    if name == "-" and key is None and {"data", "indices"} <= set(names):
        return Hint(f"name both {noun}s: `-#data -#indices`")
    near = meant(key, names)
    return Hint(f"name the {noun}: {{source}}", source=f"{name}#{near}") if near else None


def check_shape(declares: str, shape: Sequence[int], itemsize: int) -> None:
    """Refuse a shape that nothing can hold.

    Parameters
    ----------
    declares
        Who says so, and the verb: ``the file declares``.

    Raises
    ------
    LimitError
        ``limit``.
    """
    if len(shape) > MAX_RANK or product([n for n in shape if n]) * itemsize > LARGEST:
        sizes = f"{list(shape)}" if len(shape) <= 2 * MAX_RANK else f"of rank {len(shape)}"
        raise LimitError(
            f"{declares} the shape {sizes}: "
            f"expected rank at most {MAX_RANK} and less than 2^63 bytes",
            rule="limit",
        )


def sniff(start: bytes) -> str | None:
    """Tell a format by the first `LOOK` bytes; None where they have no mark that we know."""
    rows = FORMATS.items()
    return next((name for name, row in rows if row.sniff is not None and row.sniff(start)), None)


def _text(file: File) -> str:
    """Refuse a file that is no text; a pipe takes what an argument takes, beside JSON."""
    from gathercli.io.formats.foreign import refuse

    start = file.start(LOOK)
    refuse(file, start)
    piped = file.name == "-" or not file.regular
    return _BARE if piped and start.lstrip()[:1] not in (b"[", b"{") else FORMATS["json"].reader


def content(file: File | Folder) -> Content:
    """Find the reader of an open file or folder.

    Raises
    ------
    InputError
        ``format``, or the rule of the format: the file is malformed.
    """
    from gathercli.io.files import Folder, format_of_folder

    if isinstance(file, Folder):  # whose metadata may be gone by now, as the reader says
        kind = format_of_folder(file.path) or next(iter(CHUNKED.values()))
        reader = FORMATS[kind].reader
    else:
        mark = sniff(file.start(LOOK))
        reader = FORMATS[mark].reader if mark else _text(file)
    opened: Content = load(reader)(file)
    return opened
