"""Graphs that are read and written: nodes, values, and the constants that they store.

Elements are raw bytes: in a model, in the file of its weights, or in one beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError, LimitError
from gathercli.io.files import File
from gathercli.io.formats.content import Layout, check_limit, check_shape, malformed
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import DType
from gathercli.spec.shapes import Shape, product
from gathercli.text import in_bytes

# Copies in memory of elements that are converted: the values, the result, their comparison.
CONVERSION_COPIES: Final = 4


class Constant:
    """A tensor that a model stores, or that follows from one; its elements are read on demand.

    `load` reads the tensor, and raises `GatherError` if the elements are malformed. `unread` says
    why they cannot be read: they are in a file that is not opened, or take more memory than
    `limit`; it is empty if they can. `mapped` tells whether the tensor is a view of the file, else
    its elements are held in memory; `depth` is the number of nodes between a stored tensor and this
    one; `default` tells whether they are the default of an input, which a caller may replace.
    """

    __slots__ = (
        *("_load", "_tensor", "counts", "default", "depth"),
        *("dtype", "limit", "mapped", "shape", "unread"),
    )

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        load: Callable[[], Tensor],
        unread: str = "",
        *,
        mapped: bool = False,
        depth: int = 0,
        limit: int | None = None,
        default: bool = False,
    ) -> None:
        self.dtype, self.shape, self.unread, self.mapped = dtype, shape, unread, mapped
        self.depth, self.limit, self.default = depth, limit, default
        self._load = load
        self._tensor: Tensor | None = None
        self.counts: dict[Any, Any] = {}
        if not unread and limit is not None and self.copied > limit:
            self.unread = f"its elements take {in_bytes(self.copied)} of memory, more than {limit}"

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes, one each for the types of less than 8 bits."""
        return product(self.shape) * self.dtype.itemsize

    @property
    def copied(self) -> int:
        """The bytes of memory that reading the elements takes; 0 if they are mapped."""
        return 0 if self.mapped else CONVERSION_COPIES * self.nbytes

    def tensor(self) -> Tensor:
        """Return the tensor, and keep it until `forget`; stored elements are mapped, not copied."""
        if self._tensor is None:
            self._tensor = self.read()
        return self._tensor

    def read(self) -> Tensor:
        """Return the tensor without keeping it; raise LimitError if it takes too much memory."""
        if self._tensor is not None:
            return self._tensor
        what = f"{in_bytes(self.nbytes)} would take {self.copied} when converted"
        check_limit(what, self.copied, self.limit)
        return self._load()

    def check_memory(self, file: File) -> None:
        """Raise LimitError if reading the elements takes more memory than a file may."""
        what = f"{in_bytes(self.nbytes)} would take {self.copied} when converted"
        file.check_memory(what, self.copied)

    def forget(self) -> None:
        """Drop elements that are in memory: the next call of `tensor` reads them again."""
        if not self.mapped:
            self._tensor = None

    def __repr__(self) -> str:
        return f"<Constant {self.dtype.short}{Shape(self.shape)}>"


class Value(NamedTuple):
    """An input or an output of a node."""

    name: str  # in the model; empty for an input that is left out
    dtype: DType | None = None  # None: not known
    shape: Shape = Shape.of_unknown_rank()
    constant: Constant | None = None  # the tensor, if the model decides it
    inferred: bool = False  # else the model declares the shape
    unread: str = ""  # why the elements are not known, though the model decides them; else empty
    source: str = ""  # the input of the model with the same elements, perhaps of another type
    claim: Shape | None = None  # what the model says of a value that its nodes decide
    claimed: bool = False  # whether a size follows from nothing but the claim

    @classmethod
    def of(cls, name: str, constant: Constant) -> Value:
        """Return the value of a constant."""
        shape = Shape(constant.shape)
        return cls(name, constant.dtype, shape, constant, unread=constant.unread)

    @property
    def operand(self) -> Operand:
        """The shape and type, for a call."""
        return Operand(self.shape, self.dtype)


class GraphValue(NamedTuple):
    """A value of a graph: its name, its type, its sizes; None for one that is not known.

    The shape is empty, and `ranked` is False, if the rank is not known.
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...]
    ranked: bool = True


class GraphNode(NamedTuple):
    """An operator with its inputs by name, its results, and its attributes; a body is a graph."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[GraphValue, ...]
    attributes: Mapping[str, Any] = {}
    name: str = ""


class Graph(NamedTuple):
    """Nodes in an order in which they can be run."""

    inputs: tuple[GraphValue, ...]
    outputs: tuple[GraphValue, ...]
    nodes: tuple[GraphNode, ...]
    constants: Mapping[str, Tensor]


def check_held(nbytes: int, limit: int | None) -> None:
    """Raise LimitError if what is read of a model takes more bytes of memory than `limit`."""
    if limit is not None and nbytes > limit:
        what = f"the parts of the model take {in_bytes(nbytes)} or more to be held in memory"
        raise LimitError.over(what, nbytes, limit)


def stored(  # noqa: PLR0917  (a range of a file, and what it stores)
    buffer: Callable[[], Any],
    dtype: DType,
    shape: tuple[int, ...],
    start: int,
    size: int,
    limit: int | None = None,
) -> Constant:
    """Return the constant whose elements are `size` bytes from `start` of a buffer, little-endian.

    `buffer` returns the bytes of a file, mapped if they are many; elements that are unpacked take
    at most `limit` bytes of memory. Raise InputError if the size is not that of the shape.
    """
    check_shape("the tensor has", shape, dtype.itemsize)
    expected = -(-product(shape) * dtype.bits // 8)
    if size != expected:
        what = f"the tensor has {in_bytes(size)} of elements"
        raise malformed(what, f"{expected}, for {list(shape)} of {dtype}")

    def load() -> Tensor:
        if dtype.bits >= 8:
            return Layout(dtype, shape, offset=start).view(buffer())
        import numpy as np

        from gathercli.compute.storage import unpacked

        raw = np.frombuffer(buffer(), np.uint8, size, start)
        return Tensor(dtype, unpacked(raw, product(shape), dtype.bits).reshape(shape))

    return Constant(dtype, shape, load, mapped=dtype.bits >= 8, limit=limit)


def decoded(raw: bytes, where: str) -> str:
    """Decode the string at a place; raise InputError if it is no UTF-8 text."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        what = f"byte {error.start} of the string at `{where}` is 0x{raw[error.start]:02x}"
        raise InputError(what, where=where, expected="UTF-8 text") from None


def raw_elements(tensor: Tensor) -> bytes:
    """Return elements as `stored` reads them; those of less than a byte are packed."""
    from gathercli.compute.storage import packed

    if tensor.dtype.bits < 8:
        return packed(tensor.array.reshape(-1), tensor.dtype.bits)
    return tensor.array.astype(tensor.storage.newbyteorder("<")).tobytes()
