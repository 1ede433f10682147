"""Element types: their names, kinds and sizes."""

from __future__ import annotations

from gathercli.errors import InputError, UsageError
from gathercli.records import Any, Enum, Iterable, NamedTuple


class Kind(Enum):
    """The kind of a type's values."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    COMPLEX = "complex"
    STRING = "string"
    OTHER = "other"


class DType(NamedTuple):
    """One element type."""

    name: str
    short: str
    oip: str  # its name in the Open Inference Protocol
    kind: Kind
    bits: int  # of an element, stored in whole bytes; 0 for strings, as their width varies
    opaque: bool = False  # whether numpy lacks it and stores its bits as unsigned integers

    @property
    def narrow(self) -> bool:
        """Whether it is a type of `ml_dtypes` of 8 bits or less."""
        return self.opaque and self.bits <= 8

    @property
    def lacks_nan(self) -> bool:
        """Whether it is a type of floats without NaN."""
        return self.kind is Kind.FLOAT and self.bits < 8

    @property
    def integral(self) -> bool:
        """Whether it is an integer type; boolean is not."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and largest value of an integer type."""
        if self.kind is Kind.UINT:
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    @property
    def itemsize(self) -> int:
        """The bytes of an element; for strings, those of one character."""
        return -(-self.bits // 8) if self.bits else 4

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)  # that of all fields would take a tenth of a small call

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes it, for copies and pickle: there is one object of each type."""
        return (named, (self.name,)) if named(self.name) is self else (DType, (*self,))


BOOL = DType("bool", "bool", "BOOL", Kind.BOOL, 8)
INT64 = DType("int64", "i64", "INT64", Kind.INT, 64)
UINT64 = DType("uint64", "u64", "UINT64", Kind.UINT, 64)
BFLOAT16 = DType("bfloat16", "bf16", "BF16", Kind.FLOAT, 16, opaque=True)
FLOAT64 = DType("float64", "f64", "FP64", Kind.FLOAT, 64)
COMPLEX128 = DType("complex128", "c128", "COMPLEX128", Kind.COMPLEX, 128)
# The scales of blocks: powers of two. There is no zero: all bits 0 are 2^-127.
E8M0 = DType("float8_e8m0fnu", "f8e8m0fnu", "FP8_E8M0FNU", Kind.FLOAT, 8, opaque=True)

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
    DType("float8_e3m4", "f8e3m4", "FP8_E3M4", Kind.FLOAT, 8, opaque=True),
    DType("float8_e4m3", "f8e4m3", "FP8_E4M3", Kind.FLOAT, 8, opaque=True),
    DType("float8_e4m3b11fnuz", "f8e4m3b11fnuz", "FP8_E4M3B11FNUZ", Kind.FLOAT, 8, opaque=True),
    DType("float8_e4m3fn", "f8e4m3fn", "FP8_E4M3FN", Kind.FLOAT, 8, opaque=True),
    DType("float8_e4m3fnuz", "f8e4m3fnuz", "FP8_E4M3FNUZ", Kind.FLOAT, 8, opaque=True),
    DType("float8_e5m2", "f8e5m2", "FP8_E5M2", Kind.FLOAT, 8, opaque=True),
    DType("float8_e5m2fnuz", "f8e5m2fnuz", "FP8_E5M2FNUZ", Kind.FLOAT, 8, opaque=True),
    E8M0,
    DType("float6_e2m3fn", "f6e2m3fn", "FP6_E2M3FN", Kind.FLOAT, 6, opaque=True),
    DType("float6_e3m2fn", "f6e3m2fn", "FP6_E3M2FN", Kind.FLOAT, 6, opaque=True),
    DType("float4_e2m1fn", "f4e2m1fn", "FP4_E2M1FN", Kind.FLOAT, 4, opaque=True),
    DType("int4", "i4", "INT4", Kind.INT, 4, opaque=True),
    DType("uint4", "u4", "UINT4", Kind.UINT, 4, opaque=True),
    DType("int2", "i2", "INT2", Kind.INT, 2, opaque=True),
    DType("uint2", "u2", "UINT2", Kind.UINT, 2, opaque=True),
)
EXACT = 2**53  # the largest integer up to which all are exact in float64
# All types but the narrow ones.
PLAIN: tuple[DType, ...] = tuple(dtype for dtype in DTYPES if not dtype.narrow)
NARROW = ("float8", "float6", "float4", "int4", "int2 types")  # the narrow types in a message

_BY_NAME = {name: dtype for dtype in DTYPES for name in (dtype.name, dtype.short)}

_BY_OIP = {dtype.oip: dtype for dtype in DTYPES} | {"STRING": STRING}


def named(name: str) -> DType | None:
    """Return the type with a name or short name; None if there is none."""
    return _BY_NAME.get(name)


def dtype(name: str) -> DType:
    """Return the type with a name or short name; raise `UsageError` if there is none."""
    known = named(name)
    if known is None:
        from gathercli.text import closest

        near = closest(name, _BY_NAME)
        what = f"unknown dtype `{name}`"
        expected = f"one of {' '.join(d.name for d in PLAIN)}, or one such as float8_e4m3fn, int4"
        hint = f"did you mean `{near}`?" if near else None
        raise UsageError(what, rule="dtype", value=name, expected=expected, hint=hint)
    return known


def dtype_in_json(name: object, where: str) -> DType:
    """Return the type of a datatype in typed JSON: a name of the protocol or of this module."""
    known = (_BY_OIP.get(name) or _BY_NAME.get(name)) if isinstance(name, str) else None
    if known is None:
        import json

        what, plain = f"unknown datatype {json.dumps(name)} at `{where}`", (d.oip for d in PLAIN)
        expected = f"one of {' '.join(plain)} STRING, or one such as FP8_E4M3FN, INT4"
        raise InputError(what, rule="json", where=where, value=name, expected=expected)
    return known


def in_words(types: Iterable[DType]) -> list[str]:
    """Return the names of types; `NARROW` replaces the full set of narrow types.

    >>> from gathercli.text import listed
    >>> listed(in_words(DTYPES[-16:]), "and")
    'string, float8, float6, float4, int4 and int2 types'
    """
    types = list(types)
    names = [dtype.name for dtype in types if not dtype.narrow]
    narrow = [dtype.name for dtype in types if dtype.narrow]
    whole = len(narrow) == len(DTYPES) - len(PLAIN)
    return [*names, *(NARROW if whole else narrow)]


def foreign(dtype: object) -> DType:
    """Return a type for a dtype that the rules of every operator refuse."""
    return DType(str(dtype), str(dtype), "", Kind.OTHER, 0)


def described(dtype: DType | None, sizes: str) -> str:
    """Return type and shape as one word, ``i64[2,5]``; the shape alone if the type is unknown."""
    return f"{dtype.short if dtype else ''}[{sizes}]"
