"""Tensors: NumPy arrays with a `DType`.

NumPy has no bfloat16, float8 or int4. Elements of such types are stored as unsigned integers of the
same bits. They become an `ml_dtypes` array only if their values are displayed or returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gathercli.spec.dtypes import BFLOAT16, DTYPES, STRING, DType, Kind, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    AnyArray = npt.NDArray[Any]

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


def view(dtype: DType, shape: tuple[int, ...], raw: memoryview | None) -> AnyArray:
    """View bytes, row-major and little-endian, as an array; read-only if the buffer is."""
    # by its name a dtype is the native one where that is little-endian, and prints as it
    return np.ndarray(shape, storage_of(dtype).newbyteorder("<").str, raw)


def values(dtype: DType, stored: AnyArray) -> AnyArray:
    """Return stored elements in native byte order, as `Tensor.values` does.

    Parameters
    ----------
    stored
        Shape (D..), of dtype `storage_of(dtype)` in either byte order.
    """
    array = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    if dtype is BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    if dtype.opaque:
        from gathercli.compute.narrow import values as narrow_values

        return np.asarray(narrow_values(dtype)[array])
    return array


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
