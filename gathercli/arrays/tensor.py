"""Elements in numpy arrays, with the type they mean.

numpy has no bfloat16, and no float8, int4 or the like: a tensor of such a type is held as unsigned
integers of its bits, so that moving it costs nothing, and becomes an `ml_dtypes` array only where
its values are shown or leave for Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gathercli.arrays.chunks import slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from gathercli.arrays.blocks import BlockSource
    from gathercli.arrays.chunks import Box

    AnyArray = npt.NDArray[Any]
from gathercli.spec.dtypes import BFLOAT16, BOOL, DTYPES, STRING, DType, Kind, described, named

_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.UINT: "u", Kind.FLOAT: "f", Kind.COMPLEX: "c"}


_BY_LAYOUT = {
    (_LETTERS[dtype.kind], dtype.itemsize): dtype
    for dtype in DTYPES
    if dtype.kind in _LETTERS and not dtype.opaque
}
"""By the kind and the bytes of a numpy dtype."""


FEW = 20
"""Elements that a hint writes out."""


def storage_of(dtype: DType) -> np.dtype[Any]:
    """Return the numpy dtype that holds a type, in native byte order."""
    if dtype.opaque:
        return np.dtype(f"u{dtype.itemsize}")
    return np.dtype(np.str_ if dtype is STRING else dtype.name)


def dtype_of(held: np.dtype[Any]) -> DType | None:
    """Name the type of a numpy (or ml_dtypes) dtype, whatever its byte order; None if unknown."""
    if held.kind == "U":
        return STRING
    if held.kind not in "biufcV":
        return None
    found = _BY_LAYOUT.get((held.kind, held.itemsize))  # a name takes numpy long to make
    return found or named(held.name)  # ml_dtypes' types name themselves


class Tensor(NamedTuple):
    """Elements in a numpy array, with the type they mean.

    Attributes
    ----------
    dtype
        What the elements are.
    array
        Shape (D..); `storage_of(dtype)` in either byte order, possibly read-only or mapped.
    typed
        Whether the source declared the type; False when it was inferred from plain text.
    decided
        For inferred types, the path of the element that decided (``$[1][2]``).
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
        """The numpy dtype of the elements in native byte order."""
        return self.array.dtype.newbyteorder("=")

    @property
    def nbytes(self) -> int:
        """Bytes the elements take."""
        return self.array.nbytes

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of what is read at once: all of it."""
        return tuple(max(1, size) for size in self.shape)

    @property
    def in_memory(self) -> Tensor:
        """The tensor itself, which is not read in chunks."""
        return self

    def source(self) -> BlockSource:
        """Return what copies any box of it."""
        from gathercli.arrays.blocks import CopyBlocks

        return CopyBlocks(self)

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Give the bytes in blocks, each with where it belongs."""
        place(self.blocks(), put)

    def read(self, box: Box) -> AnyArray:
        """View a box."""
        part: AnyArray = self.array[slices(box)]
        return part

    @property
    def integers(self) -> Any:
        """Indices that a few elements of another type may be meant as, in nested lists.

        Those of equal value for fractions, the positions of true for a list of booleans; None
        where there are none, or too many to be written.
        """
        if self.dtype.kind not in (Kind.FLOAT, Kind.BOOL) or self.array.size > FEW:
            return None
        if self.dtype.opaque and self.dtype is not BFLOAT16:  # which would load ml_dtypes
            return None
        if self.dtype is BOOL:
            is_list = len(self.shape) == 1
            return [at for at, v in enumerate(self.array.tolist()) if v] if is_list else None
        values = self.values()
        if not all(float(v).is_integer() and abs(v) < 1 << 53 for v in values.reshape(-1).tolist()):
            return None
        return values.astype("int64").tolist()

    def whole(self) -> Tensor:
        """Return all of the result, as `engine.Run.whole` does."""
        return self

    def values(self) -> AnyArray:
        """Return the elements in native byte order, those that numpy lacks as wider ones.

        They are the float32, or the integers of 8 bits, that equal them.
        """
        array = self.array.astype(self.storage, copy=False)
        if self.dtype is BFLOAT16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        if self.dtype.opaque:
            from gathercli.arrays.narrow import values

            return np.asarray(values(self.dtype)[array])
        return array

    def at(self, position: int) -> Any:
        """Return the element at a flat position, as `values` would hold it."""
        from gathercli.spec.coordinates import coordinate

        one = self.array[coordinate(position, self.shape)]
        return Tensor(self.dtype, np.asarray(one, self.array.dtype).reshape(1)).values()[0]

    def blocks(self, cells: int = 1 << 17) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, as `engine.Run` does."""
        for block in row_major(self.array, cells):
            yield block.astype(self.storage, copy=False)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))


def place(blocks: Iterable[AnyArray], put: Callable[[AnyArray, int], None]) -> None:
    """Give the bytes of blocks that follow each other, each with where it starts.

    Parameters
    ----------
    put
        Takes bytes, uint8, which are good until it returns, and where they belong.
    """
    start = 0
    for block in blocks:
        if block.nbytes:
            put(np.ascontiguousarray(block).reshape(-1).view(np.uint8), start)
        start += block.nbytes


def equal(dtype: DType, one: AnyArray, other: AnyArray) -> AnyArray:
    """Tell element by element what is equal; NaN equals NaN, -0.0 equals 0.0.

    Parameters
    ----------
    one, other
        Shape (D..), as `Tensor.values` gives them.
    """
    same: AnyArray = one == other
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        same |= np.isnan(one) & np.isnan(other)
    return same


def row_major(array: AnyArray, cells: int) -> Iterator[AnyArray]:
    """Yield elements in row-major order, flat, never copying more than `cells` at a time."""
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
