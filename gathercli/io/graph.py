"""Graphs that are read and written: nodes, values, and the constants that they store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import LimitError
from gathercli.spec.call import Operand
from gathercli.spec.shapes import Shape, product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gathercli.compute.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.spec.dtypes import DType

MOST_NODES: Final = 400_000
"""The most nodes of a model."""

MAX_DEPTH: Final = 64
"""The deepest body in a body."""

COPIES: Final = 4
"""Copies in memory of elements that are converted: the values, the result, their comparison."""


class Constant:
    """A tensor that a model stores, or that follows from one; its elements are read on demand.

    Parameters
    ----------
    dtype, shape
        The type and the shape.
    load
        A function that reads the tensor; it raises `GatherError` if the elements are malformed.
    unread
        Why the elements cannot be read: they are in a file that is not opened, or take more memory
        than `limit`. Empty if they can.
    mapped
        Whether the tensor is a view of the file; else its elements are held in memory.
    depth
        The number of nodes between a stored tensor and this one.
    limit
        The most bytes of memory that the elements may take; None for no limit.

    Attributes
    ----------
    default
        Whether the elements are the default of an input of the model, which a caller may replace.
    counts
        The counts of the elements as indices, by policies: many nodes may have the same indices.
    """

    __slots__ = (
        "_load",
        "_tensor",
        "counts",
        "default",
        "depth",
        "dtype",
        "limit",
        "mapped",
        "shape",
        "unread",
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
        return 0 if self.mapped else COPIES * self.nbytes

    def tensor(self) -> Tensor:
        """Return the tensor, and keep it until `forget`; stored elements are mapped, not copied."""
        if self._tensor is None:
            self._tensor = self.read()
        return self._tensor

    def read(self) -> Tensor:
        """Return the tensor without keeping it.

        Raises
        ------
        LimitError
            The elements take more memory than `limit`.
        """
        if self._tensor is not None:
            return self._tensor
        if self.limit is not None and self.copied > self.limit:
            what = f"{in_bytes(self.nbytes)} would take {self.copied} when converted"
            raise LimitError.over(what, self.copied, self.limit)
        return self._load()

    def check_memory(self, file: File) -> None:
        """Raise LimitError if reading the elements takes more memory than a file may."""
        if file.limit is not None and self.copied > file.limit:
            what = f"{in_bytes(self.nbytes)} would take {self.copied} when converted"
            raise file.over(what, self.copied)

    def forget(self) -> None:
        """Drop elements that are in memory: the next call of `tensor` reads them again."""
        if not self.mapped:
            self._tensor = None

    def __repr__(self) -> str:
        return f"<Constant {self.dtype.short}{Shape(self.shape)}>"


class Value(NamedTuple):
    """An input or an output of a node.

    Attributes
    ----------
    name
        The name in the model; empty for an input that is left out.
    dtype, shape
        The type, or None if it is not known, and the shape.
    constant
        The tensor, if the model decides it.
    inferred
        Whether the shape was inferred; else the model declares it.
    unread
        Why the elements are not known, though the model decides them; empty if that is not so.
    """

    name: str
    dtype: DType | None = None
    shape: Shape = Shape.of_unknown_rank()
    constant: Constant | None = None
    inferred: bool = False
    unread: str = ""

    @classmethod
    def of(cls, name: str, constant: Constant) -> Value:
        """Return the value of a constant."""
        shape = Shape(constant.shape)
        return cls(name, constant.dtype, shape, constant, unread=constant.unread)

    def unread_from(self, inputs: Iterable[Value]) -> Value:
        """Return the output of a node that could be constant, but for `inputs` that are unread."""
        inputs = list(inputs)
        reasons = [each.unread for each in inputs if each.unread]
        decided = all(each.unread or each.constant for each in inputs)
        return self._replace(unread=reasons[0]) if reasons and decided else self

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
    """Nodes in an order in which they can be run.

    Attributes
    ----------
    inputs, outputs
        The inputs, and the results.
    constants
        The constants by name.
    """

    inputs: tuple[GraphValue, ...]
    outputs: tuple[GraphValue, ...]
    nodes: tuple[GraphNode, ...]
    constants: Mapping[str, Tensor]


def check_held(nbytes: int, limit: int | None) -> None:
    """Raise LimitError if what is read of a model takes more bytes of memory than `limit`."""
    if limit is not None and nbytes > limit:
        what = f"the parts of the model take {in_bytes(nbytes)} or more to be held in memory"
        raise LimitError.over(what, nbytes, limit)


class Budget:
    """Counts of what is read of a model: bytes of memory and nodes, each within its limit."""

    held = number = 0

    @property
    def limit(self) -> int | None:
        """The most bytes of memory; None for no limit."""
        return None

    def hold(self, nbytes: int) -> None:
        """Count bytes of memory; raise LimitError if there are more than `limit`."""
        self.held += nbytes
        check_held(self.held, self.limit)

    def count_node(self) -> None:
        """Count a node; raise LimitError if there are too many."""
        self.number += 1
        if self.number > MOST_NODES:
            raise LimitError(
                f"the model has more than {MOST_NODES} nodes", rule="limit", expected="fewer"
            )
