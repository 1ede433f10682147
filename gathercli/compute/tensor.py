"""Tensors in memory: a type, a shape, and the elements as bytes, as a NumPy array, or both.

Readers of short text and ordinary files keep the bytes, from which `small` computes; the array is
made when it is first used, and NumPy is first imported then. NumPy has no bfloat16, float8 or
int4: arrays of such types store the same bits as unsigned integers.
"""

from __future__ import annotations

from itertools import takewhile

from gathercli.spec.call import FEW
from gathercli.spec.dtypes import BFLOAT16, BOOL, DType, Kind, described
from gathercli.spec.shapes import product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol, Self

    import numpy as np

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray

    class ChunkedTensor(Protocol):
        """A tensor that is read box by box."""

        @property
        def dtype(self) -> DType:
            """The type of the elements."""

        @property
        def decided_by(self) -> str | None:
            """The path of the element that determined the type, as in `Tensor`."""

        @property
        def storage(self) -> np.dtype[Any]:
            """The NumPy dtype of the elements, in native byte order."""

        @property
        def shape(self) -> tuple[int, ...]:
            """The sizes of the dimensions."""

        @property
        def chunks(self) -> tuple[int, ...]:
            """The sizes of a chunk, each at least 1."""

        @property
        def in_memory(self) -> Tensor | None:
            """The tensor itself if it is in memory or mapped; None if it is read in chunks."""

        def read(self, box: Box) -> AnyArray:
            """Return the elements of a box, in any byte order."""


class Tensor:
    """A tensor in memory or mapped.

    Parameters
    ----------
    dtype
        The type of the elements.
    array
        Shape (D..); dtype `storage_of(dtype)` in either byte order, possibly read-only or mapped.
    typed
        Whether the source states the type; False if it was inferred from plain text.
    decided_by
        The path of the element that determined an inferred type (``$[1][2]``).

    Attributes
    ----------
    shape
        The sizes of the dimensions.
    raw
        The elements row-major and little-endian, if they were read as bytes; else None.
    """

    __slots__ = ("_array", "decided_by", "dtype", "raw", "shape", "typed")

    dtype: DType
    shape: tuple[int, ...]
    raw: memoryview | None

    def __init__(
        self, dtype: DType, array: AnyArray, typed: bool = True, decided_by: str | None = None
    ) -> None:
        self.dtype, self.shape, self.raw = dtype, array.shape, None
        self._array: AnyArray | None = array
        self.typed, self.decided_by = typed, decided_by

    @classmethod
    def of_bytes(
        cls,
        dtype: DType,
        shape: tuple[int, ...],
        raw: Any,
        typed: bool = True,
        decided_by: str | None = None,
    ) -> Self:
        """Return a tensor of `raw`, a buffer of its elements, row-major and little-endian."""
        tensor = cls.__new__(cls)
        tensor.dtype, tensor.shape, tensor.raw = dtype, shape, memoryview(raw)
        tensor._array = None  # noqa: SLF001  (its own)
        tensor.typed, tensor.decided_by = typed, decided_by
        return tensor

    @property
    def array(self) -> AnyArray:
        """The elements, as in the constructor; a read-only view of the bytes if there are any."""
        if self._array is None:
            from gathercli.compute.storage import view

            self._array = view(self.dtype, self.shape, self.raw)
        return self._array

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements in native byte order."""
        return self.array.dtype.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self.array.nbytes if self.raw is None else self.raw.nbytes

    @property
    def chunks(self) -> tuple[int, ...]:
        """The sizes of a chunk; a tensor in memory is a single one."""
        return tuple(max(1, size) for size in self.shape)

    @property
    def in_memory(self) -> Tensor:
        """The tensor itself."""
        return self

    @property
    def integers(self) -> Any:
        """The indices that a few elements may mean, as nested lists, for hints.

        Integers stand for themselves, whole floats for equal integers, and a list of booleans for
        the positions of true. None for other elements, or more than `FEW`.
        """
        listed = product([*takewhile(bool, self.shape)])  # of shape (10**9, 0), 10**9 empty lists
        numbers = self.dtype.integral or self.dtype.kind in (Kind.FLOAT, Kind.BOOL)
        if not numbers or listed > FEW:
            return None
        if self.dtype.opaque and self.dtype is not BFLOAT16:  # decoding would load ml_dtypes
            return None
        if self.dtype is BOOL and len(self.shape) != 1:
            return None
        flat = self._flat()
        if self.dtype is BOOL:
            return [at for at, value in enumerate(flat) if value]
        if not self.dtype.integral:
            if not all(value.is_integer() and abs(value) < 1 << 53 for value in flat):
                return None
            flat = list(map(int, flat))
        return nested(flat, self.shape)

    def _flat(self) -> list[Any]:
        """Return the elements in row-major order, floats as Python's."""
        if self.raw is not None:
            from gathercli.compute.elements import unpack

            return unpack(self.dtype, self.raw)
        return list(self.values().reshape(-1).tolist())

    def read(self, box: Box) -> AnyArray:
        """Return a view of a box."""
        from gathercli.compute.chunks import slices

        part: AnyArray = self.array[slices(box)]
        return part

    def whole(self) -> Tensor:
        """Return the tensor itself, as a `Result` does."""
        return self

    def values(self) -> AnyArray:
        """Return the elements in native byte order.

        Those of types that NumPy lacks become float32 or 8-bit integers of equal value.
        """
        from gathercli.compute.storage import values

        return values(self.dtype, self.array)

    def at(self, position: int) -> Any:
        """Return the element at a flat position, as `values` does."""
        from gathercli.compute.storage import values
        from gathercli.spec.coordinates import coordinate

        at = coordinate(position, self.shape)
        return values(self.dtype, self.array[(*at, None)])[0]

    def blocks(self, cells: int = 1 << 17) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, up to `cells` at a time."""
        from gathercli.compute.storage import row_major

        for block in row_major(self.array, cells):
            yield block.astype(self.storage, copy=False)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the bytes to `put` in blocks, each with its offset."""
        from gathercli.compute.storage import place

        place(self.blocks(), put)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))


def load(tensor: ChunkedTensor) -> Tensor:
    """Read a whole tensor into memory, in native byte order."""
    import numpy as np

    from gathercli.compute.chunks import everything

    return Tensor(tensor.dtype, np.asarray(tensor.read(everything(tensor.shape)), tensor.storage))


def nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Nest a list of elements in row-major order, as ``numpy.ndarray.tolist`` does.

    >>> nested([1, 2, 3, 4], (2, 2)), nested([5], ()), nested([], (2, 0))
    ([[1, 2], [3, 4]], 5, [[], []])
    """
    if not shape:
        return flat[0]
    size, *rest = shape
    if not rest:
        return flat
    width = product(rest)
    return [nested(flat[at * width : (at + 1) * width], tuple(rest)) for at in range(size)]
