"""Element types: the names people use for them, and how numpy holds them.

numpy has no bfloat16: such a tensor is held as the uint16 of its bits, so that moving it costs
nothing, and becomes an `ml_dtypes` array only where its values are shown or leave for Python.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from gathercli.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    AnyArray = npt.NDArray[Any]


class Kind(Enum):
    """What a type's values are."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    COMPLEX = "complex"
    STRING = "string"
    OTHER = "other"


class DType(NamedTuple):
    """One element type.

    Attributes
    ----------
    name, short, oip
        Its name here, its short name, and the Open Inference Protocol's.
    bits
        Bits an element takes; 0 for strings, whose width is each tensor's own.
    """

    name: str
    short: str
    oip: str
    kind: Kind
    bits: int

    @property
    def integral(self) -> bool:
        """Whether it holds integers; booleans are no integers."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        if self.kind is Kind.UINT:
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    @property
    def itemsize(self) -> int:
        """Bytes an element takes; for strings, those of one character."""
        return self.bits // 8 if self.bits else 4

    def storage(self) -> np.dtype[Any]:
        """Return the numpy dtype that holds this type, in native byte order."""
        import numpy as np

        if self is BFLOAT16:
            return np.dtype(np.uint16)
        return np.dtype(np.str_ if self is STRING else self.name)

    def __str__(self) -> str:
        return self.name


BOOL = DType("bool", "bool", "BOOL", Kind.BOOL, 8)
INT64 = DType("int64", "i64", "INT64", Kind.INT, 64)
UINT64 = DType("uint64", "u64", "UINT64", Kind.UINT, 64)
BFLOAT16 = DType("bfloat16", "bf16", "BF16", Kind.FLOAT, 16)
FLOAT64 = DType("float64", "f64", "FP64", Kind.FLOAT, 64)
COMPLEX128 = DType("complex128", "c128", "COMPLEX128", Kind.COMPLEX, 128)
STRING = DType("string", "str", "BYTES", Kind.STRING, 0)

DTYPES: tuple[DType, ...] = (
    BOOL,
    DType("int8", "i8", "INT8", Kind.INT, 8),
    DType("int16", "i16", "INT16", Kind.INT, 16),
    DType("int32", "i32", "INT32", Kind.INT, 32),
    INT64,
    DType("uint8", "u8", "UINT8", Kind.UINT, 8),
    DType("uint16", "u16", "UINT16", Kind.UINT, 16),
    DType("uint32", "u32", "UINT32", Kind.UINT, 32),
    UINT64,
    DType("float16", "f16", "FP16", Kind.FLOAT, 16),
    BFLOAT16,
    DType("float32", "f32", "FP32", Kind.FLOAT, 32),
    FLOAT64,
    DType("complex64", "c64", "COMPLEX64", Kind.COMPLEX, 64),
    COMPLEX128,
    STRING,
)
_BY_NAME = {name: dtype for dtype in DTYPES for name in (dtype.name, dtype.short)}
_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.UINT: "u", Kind.FLOAT: "f", Kind.COMPLEX: "c"}
_BY_LAYOUT = {
    (_LETTERS[dtype.kind], dtype.itemsize): dtype
    for dtype in DTYPES
    if dtype.kind in _LETTERS and dtype is not BFLOAT16
}
"""By the kind and the bytes of a numpy dtype."""

_BY_OIP = {dtype.oip: dtype for dtype in DTYPES} | {"STRING": STRING}


def named(name: str) -> DType | None:
    """Find a type by name or short name; None when there is no such type."""
    return _BY_NAME.get(name)


def dtype(name: str) -> DType:
    """Find a type by name or short name.

    Raises
    ------
    UsageError
        ``dtype``: no type has this name.
    """
    found = named(name)
    if found is None:
        from gathercli.core.text import closest

        near = closest(name, _BY_NAME)
        raise UsageError(
            f"unknown dtype `{name}`: expected one of {' '.join(d.name for d in DTYPES)}",
            rule="dtype",
            value=name,
            hint=f"did you mean `{near}`?" if near else None,
        )
    return found


def dtype_in_json(name: object, where: str) -> DType:
    """Find a type by the name a typed JSON tensor gives it, the protocol's or ours."""
    found = (_BY_OIP.get(name) or _BY_NAME.get(name)) if isinstance(name, str) else None
    if found is None:
        import json

        raise InputError(
            f"unknown datatype {json.dumps(name)} at `{where}`: "
            f"expected one of {' '.join(_BY_OIP)}",
            rule="json",
            where=where,
            value=name,
        )
    return found


def dtype_of(held: np.dtype[Any]) -> DType | None:
    """Name the type of a numpy (or ml_dtypes) dtype, whatever its byte order; None if unknown."""
    if held.kind == "U":
        return STRING
    if held.kind not in "biufcV":
        return None
    if held.kind == "V":
        return _BY_NAME.get(held.name)  # ml_dtypes' bfloat16 names itself
    return _BY_LAYOUT.get((held.kind, held.itemsize))  # a name takes numpy long to make


FEW = 20
"""Elements that a hint writes out."""


class Tensor(NamedTuple):
    """Elements in a numpy array, with the type they mean.

    Attributes
    ----------
    dtype
        What the elements are.
    array
        Shape (D..); `dtype.storage()` in either byte order, possibly read-only or mapped.
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
    def integers(self) -> Any:
        """Indices that a few elements without a type may be meant as, in nested lists.

        Those of equal value for fractions, the positions of true for a list of booleans; None
        where there are none, or too many to be written.
        """
        if self.typed or self.dtype.kind not in (Kind.FLOAT, Kind.BOOL) or self.array.size > FEW:
            return None
        if self.dtype is BOOL:
            is_list = len(self.shape) == 1
            return [at for at, v in enumerate(self.array.tolist()) if v] if is_list else None
        flat = self.array.reshape(-1).tolist()
        if not all(v.is_integer() and abs(v) < 1 << 53 for v in flat):
            return None
        return self.array.astype("int64").tolist()

    def whole(self) -> Tensor:
        """Return all of the result, as `engine.Run.whole` does."""
        return self

    def values(self) -> AnyArray:
        """Return the elements in native byte order, bfloat16 as the float32 that equal them."""
        import numpy as np

        array = self.array.astype(self.storage, copy=False)
        if self.dtype is BFLOAT16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array

    def at(self, position: int) -> Any:
        """Return the element at a flat position, as `values` would hold it."""
        import numpy as np

        from gathercli.core.positions import coordinate

        one = self.array[coordinate(position, self.shape)]
        return Tensor(self.dtype, np.asarray(one, self.array.dtype).reshape(1)).values()[0]

    def blocks(self, cells: int = 1 << 17) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, as `engine.Run` does."""
        for block in row_major(self.array, cells):
            yield block.astype(self.storage, copy=False)

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))


def equal(dtype: DType, one: AnyArray, other: AnyArray) -> AnyArray:
    """Tell element by element what is equal; NaN equals NaN, -0.0 equals 0.0.

    Parameters
    ----------
    one, other
        Shape (D..), as `Tensor.values` gives them.
    """
    import numpy as np

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


def foreign(held: object) -> DType:
    """Make a type of what no operator takes, so that the operator's rule refuses it by name."""
    return DType(str(held), str(held), "", Kind.OTHER, 0)


def described(dtype: DType | None, sizes: str) -> str:
    """Write a type and a shape as one word, ``i64[2,5]``; just the shape when no type is known."""
    return f"{dtype.short if dtype else ''}[{sizes}]"
