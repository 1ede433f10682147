"""What a file holds: its format, told by its first bytes, and the tensors in it.

Every format is a class with the members of `Content`, in the module named after it. A new one is a
module, a row in `_READERS` and its mark in `sniff`.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import Hint, InputError, LimitError
from gathercli.spec.dtypes import FLOAT64, DType
from gathercli.spec.shapes import LARGEST, MAX_RANK, product
from gathercli.text import clean, meant, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    import numpy as np

    from gathercli.arrays.chunks import ChunkLayout
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.io.files import File, Folder

    class Content(Protocol):
        """The tensors of one source.

        `format` is ``npy``, ``npz``, ``json``, ``oip``, ``safetensors``, ``pb``, ``zarr``,
        ``bin`` or ``literal``; `names` is None when it holds one tensor, which needs no name.
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


LOOK: Final = 4096
"""Bytes that tell what a file is."""

NPY: Final = b"\x93NUMPY"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_PROTO: Final = rb"(?:\x08[\x80-\xff]{0,9}[\0-\x7f])*\x10[\x01-\x7f]"
"""How an ONNX TensorProto starts: its dims, one by one, and its data type."""

_READERS: Final = {
    "npy": ("formats.npy", "Npy"),
    "npz": ("formats.npz", "Archive"),
    "safetensors": ("formats.safetensorsfile", "Bundle"),
    "pb": ("formats.onnxproto", "Proto"),
    "json": ("formats.jsontext", "Document"),
    "zarr": ("zarr", "Zarr"),
    "text": ("formats.bare", "read"),
}


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
    if start.startswith(NPY):
        return "npy"
    if start.startswith(_ZIP):
        return "npz"
    if start[:1] in (b"[", b"{") and b"\0" not in start[:16]:
        return "json"
    return _sniff_headed(start)


def _sniff_headed(start: bytes) -> str | None:
    """Tell the formats that have no mark of their own by the form of their first bytes."""
    length = int.from_bytes(start[:8], "little")
    headed = start[8:9] == b"{" and b"\0" in start[:8]
    if headed and length < 1 << 32:
        return "safetensors"
    packed = start[:1] == b"\x0a" and start[2 + start[1] :][:1] == b"\x10" if start[1:] else False
    if packed or re.match(_PROTO, start):
        return "pb"
    return "safetensors" if headed else None  # with a length that lies


def _text(file: File) -> str:
    """Refuse a file that is no text; a pipe takes what an argument takes, beside JSON."""
    from gathercli.io.formats.foreign import refuse

    start = file.start(LOOK)
    refuse(file, start)
    piped = file.name == "-" or not file.regular
    return "text" if piped and start.lstrip()[:1] not in (b"[", b"{") else "json"


def content(file: File | Folder) -> Content:
    """Find the reader of an open file or folder.

    Raises
    ------
    InputError
        ``format``, or the rule of the format: the file is malformed.
    """
    from gathercli.io.files import Folder

    kind = "zarr" if isinstance(file, Folder) else sniff(file.start(LOOK)) or _text(file)
    module, reader = _READERS[kind]
    made: Content = getattr(import_module(f"gathercli.io.{module}"), reader)(file)
    return made
