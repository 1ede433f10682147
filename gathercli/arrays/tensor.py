"""Tensors: NumPy arrays with a `DType`.

NumPy has no bfloat16, float8 or int4. Elements of such types are stored as unsigned integers of the
same bits. They become an `ml_dtypes` array only if their values are displayed or returned.
"""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gathercli.arrays.chunks import slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.chunks import Box

    AnyArray = npt.NDArray[Any]
from gathercli.spec.call import FEW
from gathercli.spec.dtypes import BFLOAT16, BOOL, DTYPES, STRING, DType, Kind, described, named

_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.UINT: "u", Kind.FLOAT: "f", Kind.COMPLEX: "c"}

_BY_LAYOUT = {
    (_LETTERS[dtype.kind], dtype.itemsize): dtype
    for dtype in DTYPES
    if dtype.kind in _LETTERS and not dtype.opaque
}
"""Types by the kind and the itemsize of a NumPy dtype."""


def storage_of(dtype: DType) -> np.dtype[Any]:
    """Return the NumPy dtype that stores a type, in native byte order."""
    if dtype.opaque:
        return np.dtype(f"u{dtype.itemsize}")
    return np.dtype(np.str_ if dtype is STRING else dtype.name)


def dtype_of(storage: np.dtype[Any]) -> DType | None:
    """Return the type of a dtype of NumPy or ml_dtypes, in any byte order; None if unknown."""
    if storage.kind == "U":
        return STRING
    if storage.kind not in "biufcV":
        return None
    # NumPy makes the name of a dtype slowly; only those of ml_dtypes are needed.
    return _BY_LAYOUT.get((storage.kind, storage.itemsize)) or named(storage.name)


class Tensor(NamedTuple):
    """A tensor in memory or mapped.

    Attributes
    ----------
    dtype
        The type of the elements.
    array
        Shape (D..); dtype `storage_of(dtype)` in either byte order, possibly read-only or mapped.
    typed
        Whether the source states the type; False if it was inferred from plain text.
    decided
        The path of the element that determined an inferred type (``$[1][2]``).
    """

    dtype: DType
    array: AnyArray
    typed: bool = True
    decided: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.array.shape

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements in native byte order."""
        return self.array.dtype.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self.array.nbytes

    @property
    def chunks(self) -> tuple[int, ...]:
        """The sizes of a chunk: a tensor in memory is one."""
        return tuple(max(1, size) for size in self.shape)

    @property
    def in_memory(self) -> Tensor:
        """The tensor itself."""
        return self

    def source(self) -> BlockSource:
        """Return a source of any box of the tensor."""
        from gathercli.arrays.blocks import CopyBlocks

        return CopyBlocks(self)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the bytes to `put` in blocks, each with its offset."""
        place(self.blocks(), put)

    def read(self, box: Box) -> AnyArray:
        """Return a view of a box."""
        part: AnyArray = self.array[slices(box)]
        return part

    @property
    def integers(self) -> Any:
        """The indices that a few elements may mean, as nested lists, for hints.

        Integers mean themselves, whole floats equal integers, a list of booleans the positions of
        true. None for other elements, or more than `FEW`.
        """
        listed = math.prod(takewhile(bool, self.shape))  # of shape (10**9, 0), 10**9 empty lists
        numbers = self.dtype.integral or self.dtype.kind in (Kind.FLOAT, Kind.BOOL)
        if not numbers or listed > FEW:
            return None
        if self.dtype.opaque and self.dtype is not BFLOAT16:  # decoding would load ml_dtypes
            return None
        if self.dtype is BOOL:
            is_list = len(self.shape) == 1
            return [at for at, v in enumerate(self.array.tolist()) if v] if is_list else None
        if self.dtype.integral:
            return self.array.tolist()
        values = self.values()
        if not all(float(v).is_integer() and abs(v) < 1 << 53 for v in values.reshape(-1).tolist()):
            return None
        return values.astype("int64").tolist()

    def whole(self) -> Tensor:
        """Return the tensor itself, as a `Result` does."""
        return self

    def values(self) -> AnyArray:
        """Return the elements in native byte order.

        Those of types that NumPy lacks become the equal float32 or 8-bit integers.
        """
        array = self.array.astype(self.storage, copy=False)
        if self.dtype is BFLOAT16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        if self.dtype.opaque:
            from gathercli.arrays.narrow import values

            return np.asarray(values(self.dtype)[array])
        return array

    def at(self, position: int) -> Any:
        """Return the element at a flat position, as `values` does."""
        from gathercli.spec.coordinates import coordinate

        one = self.array[coordinate(position, self.shape)]
        return Tensor(self.dtype, np.asarray(one, self.array.dtype).reshape(1)).values()[0]

    def blocks(self, cells: int = 1 << 17) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, up to `cells` at a time."""
        for block in row_major(self.array, cells):
            yield block.astype(self.storage, copy=False)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))


def place(blocks: Iterable[AnyArray], put: Callable[[AnyArray, int], None]) -> None:
    """Pass the bytes of consecutive blocks to `put`, each with its offset.

    Parameters
    ----------
    put
        A function of bytes, uint8, which are valid until it returns, and their offset.
    """
    start = 0
    for block in blocks:
        if block.nbytes:
            put(np.ascontiguousarray(block).reshape(-1).view(np.uint8), start)
        start += block.nbytes


def equal(dtype: DType, one: AnyArray, other: AnyArray) -> AnyArray:
    """Compare element by element; NaN equals NaN, and -0.0 equals 0.0.

    Parameters
    ----------
    one, other
        Shape (D..), as from `Tensor.values`.
    """
    same: AnyArray = one == other
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        same |= np.isnan(one) & np.isnan(other)
    return same


def row_major(array: AnyArray, cells: int) -> Iterator[AnyArray]:
    """Yield elements in row-major order, flat, copying at most `cells` at a time."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        for start in range(0, flat.size, cells):
            yield flat[start : start + cells]
        return
    inner = array[:1].size
    if inner > cells:
        for row in array:
            yield from row_major(row, cells)
        return
    rows = max(1, cells // max(1, inner))
    for start in range(0, len(array), rows):
        yield array[start : start + rows].reshape(-1)
