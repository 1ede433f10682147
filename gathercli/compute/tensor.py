"""Results, and tensors in memory: the elements as bytes, as a NumPy array, or both.

Readers of short text and ordinary files keep the bytes, from which `small` computes; the array is
made when it is first used, and NumPy is first imported then. NumPy has no bfloat16, float8 or
int4: arrays of such types store the same bits as unsigned integers.

A few elements are converted between bytes, Python's numbers and text here, without NumPy. Their
types are those that the `struct` module packs, booleans, integers of 8 to 64 bits and floats; and
bfloat16, which is the upper half of a float32.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import takewhile
from struct import error as StructError  # noqa: N812  (a class)
from struct import pack as pack_bytes
from struct import unpack as unpack_bytes

from gathercli.spec.call import MOST_HINT_ELEMENTS
from gathercli.spec.dtypes import BFLOAT16, BOOL, DTYPES, DType, Kind, described
from gathercli.spec.shapes import coordinates, product

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol, Self

    import numpy as np

    from gathercli.compute.storage import AnyArray, Box
    from gathercli.spec.call import TensorLike

    class ChunkedTensor(TensorLike, Protocol):
        """A tensor that is read box by box."""

        @property
        def storage(self) -> np.dtype[Any]:
            """The NumPy dtype of the elements, in native byte order."""

        @property
        def chunks(self) -> tuple[int, ...]:
            """The sizes of a chunk, each at least 1."""

        @property
        def in_memory(self) -> Tensor | None:
            """The tensor itself if it is in memory or mapped; None if it is read in chunks."""

        @property
        def reads_rows(self) -> bool:
            """Whether `read` takes only the rows of a chunk from the first to the last of a box."""

        def read(self, box: Box) -> AnyArray:
            """Return the elements of a box, in any byte order."""


class Result(ABC):
    """Elements of a type and a shape: in memory, converted, or computed part by part."""

    __slots__ = ()

    dtype: DType
    shape: tuple[int, ...]
    raw: memoryview | None  # the elements row-major and little-endian, if they were read as bytes

    if TYPE_CHECKING:

        @property
        def storage(self) -> np.dtype[Any]:
            """The NumPy dtype of the elements in native byte order."""

        @property
        def nbytes(self) -> int:
            """The size of the elements in bytes."""

    @abstractmethod
    def blocks(self) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat; a block is valid until the next."""

    @abstractmethod
    def whole(self) -> Tensor:
        """Return the elements in memory."""

    def place(self, put: Callable[[AnyArray, int], None]) -> None:
        """Pass the bytes to `put` in blocks, in any order, each with its offset.

        The bytes, uint8, are valid until `put` returns.
        """
        import numpy as np

        start = 0
        for block in self.blocks():
            if block.nbytes:
                put(np.ascontiguousarray(block).reshape(-1).view(np.uint8), start)
            start += block.nbytes

    def __str__(self) -> str:
        return described(self.dtype, ",".join(map(str, self.shape)))


class Tensor(Result):
    """A tensor in memory or mapped.

    `array` has shape (D..) and dtype `storage_of(dtype)` in either byte order, and may be read-only
    or mapped. `typed` is whether the source states the type; else it was inferred from plain text,
    by the element at the path `decided_by` (``$[1][2]``).
    """

    __slots__ = ("_array", "decided_by", "dtype", "raw", "shape", "typed")

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes an equal tensor, for copies and pickle."""
        return Tensor, (self.dtype, self.array, self.typed, self.decided_by)

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

    reads_rows = True

    @property
    def integers(self) -> Any:
        """The indices that a few elements may mean, as nested lists, for hints.

        Integers stand for themselves, whole floats for equal integers, and a list of booleans for
        the positions of true. None for other elements, or more than `MOST_HINT_ELEMENTS`.
        """
        listed = product([*takewhile(bool, self.shape)])  # of shape (10**9, 0), 10**9 empty lists
        numbers = self.dtype.integral or self.dtype.kind in (Kind.FLOAT, Kind.BOOL)
        if not numbers or listed > MOST_HINT_ELEMENTS:
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
            return unpack(self.dtype, self.raw)
        return list(self.values().reshape(-1).tolist())

    def read(self, box: Box) -> AnyArray:
        """Return a view of a box."""
        from gathercli.compute.storage import slices

        part: AnyArray = self.array[slices(box)]
        return part

    def whole(self) -> Tensor:
        """Return the tensor itself."""
        return self

    def values(self) -> AnyArray:
        """Return the elements in native byte order; of types that NumPy lacks, as equal numbers."""
        from gathercli.compute.storage import values

        return values(self.dtype, self.array)

    def at(self, position: int) -> Any:
        """Return the element at a flat position, as `values` does."""
        from gathercli.compute.storage import values

        at = coordinates(position, self.shape)
        return values(self.dtype, self.array[(*at, None)])[0]

    def blocks(self, cells: int = 1 << 17) -> Iterator[AnyArray]:
        """Yield the elements in row-major order, flat, up to `cells` at a time."""
        from gathercli.compute.storage import row_major

        for block in row_major(self.array, cells):
            yield block.astype(self.storage, copy=False)


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


_CODES = {
    Kind.BOOL: {8: "?"},
    Kind.INT: {8: "b", 16: "h", 32: "i", 64: "q"},
    Kind.UINT: {8: "B", 16: "H", 32: "I", 64: "Q"},
    Kind.FLOAT: {16: "e", 32: "f", 64: "d"},
}

# The format characters of `struct`, of the types that have one.
CODES: dict[DType, str] = {
    dtype: code
    for dtype in DTYPES
    if not dtype.opaque and (code := _CODES.get(dtype.kind, {}).get(dtype.bits))
}


# The most values for which packing one by one is faster than importing NumPy.
MOST_PACKED_VALUES = 1 << 14

_PYTHON_TYPES: dict[Kind, set[type]] = {
    Kind.BOOL: {bool},
    Kind.INT: {int},
    Kind.UINT: {int},
    Kind.FLOAT: {int, float},
}

# The significant bits of a float, by its size: integers of no more are exact.
_SIGNIFICANT_BITS = {16: 11, 32: 24, 64: 53}
# The smallest normal float32: from it on, six digits name at most one value.
_LEAST_NORMAL = 2.0**-126
_LEAST_EXPONENT = -149  # of the smallest float32, a power of two
# The most elements for which writing one by one takes less than importing NumPy.
MOST_TEXTS = 1 << 12


def is_packed(dtype: DType) -> bool:
    """Tell whether elements of a type can be packed and unpacked here."""
    return dtype in CODES or dtype is BFLOAT16


def pack(dtype: DType, values: Sequence[Any], kinds: set[type]) -> bytes | None:
    """Return a few values as little-endian bytes, floats rounded to the nearest of `dtype`.

    `kinds` are the Python types of the values. None for other types, for many values, and if a
    value does not fit or converts with more care.
    """
    code, expected = CODES.get(dtype), _PYTHON_TYPES.get(dtype.kind, set())
    if code is None or len(values) > MOST_PACKED_VALUES or not kinds <= expected:
        return None
    if dtype.kind is Kind.FLOAT and int in kinds:
        exact = 1 << _SIGNIFICANT_BITS[dtype.bits]
        if any(type(value) is int and abs(value) > exact for value in values):
            return None
    try:
        return pack_bytes(f"<{len(values)}{code}", *values)
    except (StructError, OverflowError):  # out of the range of the type
        return None


def unpack(dtype: DType, raw: bytes | memoryview) -> list[Any]:
    """Return the elements of a type that `is_packed` from their little-endian bytes.

    >>> from gathercli.spec.dtypes import INT64
    >>> unpack(INT64, pack(INT64, [1, -2], {int}) or b"")
    [1, -2]
    """
    if dtype is BFLOAT16:
        raw = bytes(byte for at in range(0, len(raw), 2) for byte in (0, 0, *raw[at : at + 2]))
        return list(unpack_bytes(f"<{len(raw) // 4}f", raw))
    code = CODES[dtype]
    return list(unpack_bytes(f"<{len(raw) // dtype.itemsize}{code}", raw))


def element_texts(
    dtype: DType, raw: memoryview | None, nonfinite: Mapping[str, str]
) -> list[str] | None:
    """Write elements, NaN and infinities as in `nonfinite`; None if many, or not `is_packed`."""
    if raw is None or not is_packed(dtype) or raw.nbytes > MOST_TEXTS * dtype.itemsize:
        return None
    values = unpack(dtype, raw)
    if dtype.kind is Kind.BOOL:
        return ["true" if value else "false" for value in values]
    if dtype.kind is not Kind.FLOAT:
        return list(map(str, values))
    write = repr if dtype.bits == 64 else float32_text
    return [nonfinite.get(text, text) for text in map(write, values)]


def float32_text(value: float) -> str:
    """Write a float32 with the shortest digits that read back to it.

    Readers parse a float64 first, which for a few values then rounds to a neighbour: these get all
    digits of their float64.

    >>> float32_text(0.10000000149011612), float32_text(16777216.0), float32_text(1e-45)
    ('0.1', '16777216.0', '1e-45')
    """
    if value - value != 0 or value == 0:  # NaN, an infinity, or a zero
        return repr(value)
    sign = "-" if value < 0 else ""
    return sign + _shortest(abs(value))


def _shortest(value: float) -> str:
    import math  # here: most lines write no floats

    # value = m * 2**e, with as many bits in m as a float32 has
    e = max(math.frexp(value)[1] - _SIGNIFICANT_BITS[32], _LEAST_EXPONENT)
    m, step = int(math.ldexp(value, -e)), math.ldexp(1.0, e)
    is_power = m == 1 << (_SIGNIFICANT_BITS[32] - 1) and e > _LEAST_EXPONENT
    for digits in range(6 if value >= _LEAST_NORMAL else 1, 10):
        text = f"{value:.{digits - 1}e}"
        if abs(float(text) - value) > step:
            continue
        mantissa, _, exponent = text.partition("e")
        number, scale = int(mantissa.replace(".", "")), int(exponent) - digits + 1
        quarter = 10 ** max(-scale, 0) << max(e - 2, 0)  # a quarter of the step of m
        # The values below a power of two are closer than those above: the nearest digits may be
        # too far below it, and the next above it near enough.
        for each in (number, number + 1) if is_power else (number,):
            gap = (each * 10 ** max(scale, 0) << max(2 - e, 0)) - 4 * m * quarter
            room = quarter if is_power and gap < 0 else 2 * quarter
            if abs(gap) < room or (abs(gap) == room and m % 2 == 0):
                nearest = float(f"{each}e{scale}")
                (read_back,) = unpack_bytes("<f", pack_bytes("<f", nearest))
                return repr(nearest if read_back == value else value)
    return repr(value)
