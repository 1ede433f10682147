"""The content of a file: detect its format by the first bytes, and open its reader.

The rows of `table` name the reader of each format, a `Content`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from gathercli.compute.tensor import Tensor
from gathercli.errors import Hint, InputError, LimitError
from gathercli.io.files import File
from gathercli.io.formats.table import FORMATS, SNIFF_SIZE, load, row_of, sniff
from gathercli.records import Any, Final, Iterable, NamedTuple, Sequence
from gathercli.spec.dtypes import FLOAT64, DType
from gathercli.spec.shapes import LARGEST, MAX_RANK, product
from gathercli.text import can_be_argument, clean, closest_member, in_bytes, short, some

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np

    from gathercli.compute.chunks import ChunkLayout
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import ChunkedTensor
    from gathercli.io.folders import Folder

_TEXT_READER: Final = "gathercli.io.formats.textfile:read_text"  # of a start of no format


class Layout(NamedTuple):
    """The layout of a tensor in the bytes of its source."""

    dtype: DType
    shape: tuple[int, ...]
    # with the byte order; None: that of `dtype`, little-endian
    file_dtype: np.dtype[Any] | None = None
    offset: int = 0  # of the first element, in bytes
    fortran: bool = False  # whether the first dimension varies fastest
    chunks: ChunkLayout | None = None  # None: the elements are contiguous

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        itemsize = self.dtype.itemsize if self.file_dtype is None else self.file_dtype.itemsize
        return product(self.shape) * itemsize

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype in the source, including the byte order."""
        if self.file_dtype is not None:
            return self.file_dtype
        from gathercli.compute.storage import storage_of

        return storage_of(self.dtype).newbyteorder("<")

    @property
    def end(self) -> int:
        """The offset behind the last element, in bytes."""
        return self.offset + self.nbytes

    def view(self, buffer: Any, *, rule: str = "format") -> Tensor:
        """View the elements in `buffer`, the bytes of the source; raise if it is too short."""
        end = self.end
        if len(buffer) < end:
            raise truncated(len(buffer), in_bytes(end), rule=rule)
        if self.file_dtype is None and not self.fortran:
            raw = memoryview(buffer)[self.offset : end]
            return Tensor.of_bytes(self.dtype, self.shape, raw)
        import numpy as np

        order: Any = "F" if self.fortran else "C"
        array: AnyArray = np.ndarray(self.shape, self.storage, buffer, self.offset, order=order)
        return Tensor(self.dtype, array)


class ElementTypes(NamedTuple):
    """What the caller says of the type of a source."""

    declared: DType | None = None  # a typed source must convert to it without loss
    assumed: DType | None = None  # that of an untyped source if none is declared
    empty: DType = FLOAT64  # that of an untyped list without elements

    @property
    def of_untyped(self) -> DType | None:
        """The type of an untyped source; None to infer it."""
        return self.declared or self.assumed


UNSAID: Final = ElementTypes()


class Content(ABC):
    """The tensors of one source; the base class of the readers of all formats."""

    format: str  # a key of `FORMATS` or `MODELS`
    names: Sequence[str] | None = None  # of the tensors; None for a single one without a name
    # Words of the errors for a key: the subject and verb, the term for a tensor, and for none.
    has = ""
    noun, none, rule = "tensor", "nothing", "format"

    def __init__(self, file: File) -> None:
        self._file = file

    @abstractmethod
    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Read a tensor; `key` is None for the only one."""

    def chunked(self, key: str | None, types: ElementTypes) -> ChunkedTensor:
        """Open a tensor to read box by box if it is stored in chunks, else read it."""
        return self.tensor(key, types)

    def layout(self, key: str | None, types: ElementTypes) -> Layout:
        """Describe a tensor: by its header, or here, for a format without one, by its elements."""
        tensor = self.tensor(key, types)
        storage = tensor.storage if tensor.raw is None else None
        return Layout(tensor.dtype, tensor.shape, storage)

    def find(self, key: str | None, names: Collection[str], source: str = "") -> str:
        """Return the name of a tensor in a file or the folder `source`, by default the only one."""
        if key is None and len(names) == 1:
            (key,) = names
        if key is not None and key in names:
            return key
        held = some(f"`{clean(name)}`" for name in names) if names else self.none
        expected = f"the {self.noun} `{clean(short(key))}`" if key else "the name of one"
        hint = key_hint(source or self._file.name, key, names, self.noun)
        raise malformed(f"{self.has} {held}", expected, hint, rule=self.rule)

    def no_member(self, key: str, hint: str | None = None) -> InputError:
        """Return the error for a key of a source that has one tensor, without a name."""
        what = f"{self.has} no member `{clean(short(key))}`"
        return malformed(what, "no key", hint, rule=self.rule, value=key)


class Literal(Content):
    """A literal or a generator."""

    format = rule = "literal"
    has = "a literal has"

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Return the tensor; raise InputError if `key` is not None."""
        del types  # the parser has used them
        if key is not None:
            raise self.no_member(key)
        return self._tensor


class MemberHint(Hint):
    """A hint that names the first member of a source, whatever the input it is for."""

    __slots__ = ("members", "noun", "source")
    members: list[str]
    noun: str
    source: str

    def for_input(self, name: str) -> Hint:
        """Return the hint that names the member with the name of an input, if there is one."""
        hint = key_hint(self.source, name, [name], self.noun) if name in self.members else None
        return hint or self


def key_hint(name: str, key: str | None, known: Iterable[str], noun: str) -> Hint | None:
    """Suggest the name of a tensor in a source, or on standard input of data and indices.

    `key` is an unknown name or None, `noun` the term of the format for a tensor.

    >>> print(key_hint("w.npz", "embeding", ["bias", "embedding"], "member"))
    name the member: `'w.npz#embedding'`
    >>> print(key_hint("-", None, ["data", "indices"], "tensor"))
    name both tensors: `-#data -#indices`
    """
    names = [each for each in known if can_be_argument(each)]
    if name == "-" and key is None and {"data", "indices"} <= set(names):
        return Hint(f"name both {noun}s: `-#data -#indices`")
    near = closest_member(key, names)
    if near is None:
        return None
    text, source = f"name the {noun}: {{source}}", f"{name}#{near}"
    if key:
        return Hint(text, source=source)
    hint = MemberHint(text, source=source)
    hint.members, hint.noun, hint.source = names, noun, name
    return hint


def check_pointer(start: bytes) -> None:
    """Raise if a file starts as a pointer of Git LFS does."""
    if start.startswith(b"version https://git-lfs"):
        raise malformed("it is a pointer of Git LFS", "the file itself", "`git lfs pull` gets it")


def malformed(
    what: str, expected: str, hint: str | None = None, *, rule: str = "format", value: Any = None
) -> InputError:
    """Return the error for a source that violates its format, or one of its rules."""
    return InputError(what, rule=rule, value=value, expected=expected, hint=hint)


def truncated(size: int, expected: str, *, inside: str = "", rule: str = "format") -> InputError:
    """Return the error for a file that ends too early after `size` bytes, `inside` a part of it."""
    part = inside and f", inside {inside}"
    return malformed(f"the file is truncated: it ends at byte {size}{part}", expected, rule=rule)


def check_number(what: str, number: int, most: int) -> None:
    """Raise LimitError if a source has more of something than is read of any; `what` says so."""
    if number > most:
        raise LimitError(what, value=number, expected=f"at most {most}")


def check_limit(what: str, size: int, limit: int | None, instead: str = "") -> None:
    """Raise LimitError if `size` bytes of memory are more than `limit`; `what` needs them."""
    if limit is not None and size > limit:
        raise LimitError.over(what, size, limit, instead=instead)


def check_shape(declares: str, shape: Sequence[int], itemsize: int) -> None:
    """Raise LimitError for a shape that is too large; `declares` begins the message."""
    if len(shape) > MAX_RANK or product([n for n in shape if n]) * itemsize > LARGEST:
        sizes = f"{list(shape)}" if len(shape) <= 2 * MAX_RANK else f"of rank {len(shape)}"
        what = f"{declares} the shape {sizes}"
        raise LimitError(what, expected=f"rank at most {MAX_RANK} and less than 2^63 bytes")


def content(file: File | Folder) -> Content:
    """Open the reader of a file or folder; it raises InputError for a malformed one."""
    if isinstance(file, File):
        start = file.start(SNIFF_SIZE)
        check_pointer(start)
        fmt = sniff(start)
        path = row_of(fmt).reader if fmt else _TEXT_READER
        if not path:  # no slice reads it
            from gathercli.io.formats.foreign import READ_FORMATS, describe

            raise malformed(f"the input is {describe(file.name, start)}", READ_FORMATS)
    else:
        path = FORMATS[file.format].reader
    reader: Content = load(path)(file)
    return reader
