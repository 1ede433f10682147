"""TensorProto messages in a model: their headers are read at once, their elements on demand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.arrays.conversion import store
from gathercli.arrays.narrow import unpacked
from gathercli.arrays.tensor import storage_of
from gathercli.errors import InputError
from gathercli.io.formats.content import check_shape, malformed
from gathercli.io.graph import Constant
from gathercli.io.onnx.wire import Span, number_of, signed, span_of
from gathercli.io.stored import decoded, stored
from gathercli.spec.coordinates import Place
from gathercli.spec.dtypes import STRING, DType, Kind, named
from gathercli.spec.shapes import MAX_RANK, product
from gathercli.tensor import Tensor
from gathercli.text import counted, in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.files import File
    from gathercli.io.onnx.wire import WireReader

_TYPE_NAMES: Final = """
float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64
complex128 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4
float4_e2m1fn float8_e8m0fnu uint2 int2 float6_e2m3fn float6_e3m2fn
"""

TYPES: Final = (None, *map(named, _TYPE_NAMES.split()))
"""Our types by the numbers of TensorProto.DataType."""

_DIMS, _TYPE, _SEGMENT, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 3, 8, 9, 13, 14
_FLOATS, _INT32, _STRINGS, _INT64, _DOUBLES, _UINT64 = 4, 5, 6, 7, 10, 11
_FIELDS: Final = {_FLOATS: 4, _INT32: 0, _STRINGS: 0, _INT64: 0, _DOUBLES: 8, _UINT64: 0}
"""The fields of elements, and the bytes of each element; 0 for varints and strings."""

_BLOCK: Final = 1 << 18
"""Bytes of varints to decode at a time: the arrays in between take 50 times as many."""

MAX_DIMS: Final = 256
"""The most dimensions that are read, more than any tensor may have."""

NOT_OPENED: Final = "its elements are in another file, which is not opened"
"""Why the elements of external data are not read."""


def type_or_none(number: object) -> DType | None:
    """Return the type of a number; None if it is unknown."""
    return TYPES[number] if isinstance(number, int) and 0 < number < len(TYPES) else None


def type_of(number: int) -> DType:
    """Return the type of a number; raise InputError for an unknown one."""
    dtype = type_or_none(number)
    if dtype is None:
        raise InputError(
            f"the tensor is of ONNX's type {number}",
            rule="dtype",
            value=number,
            expected=f"1 to {len(TYPES) - 1}",
        )
    return dtype


def tensor_constant(
    wire: WireReader,
    message: Span,
    external: Callable[[str], File] | None,
    limit: int | None = None,
) -> tuple[str, Constant]:
    """Return the name and the constant of a TensorProto.

    Parameters
    ----------
    external
        A function that opens a file beside the model; None if none may be opened.
    limit
        The most bytes of memory of elements that are decoded; None for no limit.

    Raises
    ------
    InputError
        ``format`` or ``dtype``: the message is malformed.
    """
    fields: dict[int, list[int | Span]] = {}
    for field, value in wire.fields(message):
        fields.setdefault(field, []).append(value)
    if _SEGMENT in fields:
        raise malformed("the tensor is a segment of a larger one", "a whole tensor")
    names = [wire.text(span_of(each, "the name of a tensor")) for each in fields.get(_NAME, ())]
    name = names[-1] if names else ""
    dtype = type_of(_number(fields, _TYPE))
    shape = _shape(wire, fields, dtype)
    if _EXTERNAL in fields or _number(fields, _LOCATION):
        entries = [span_of(each, "`external_data`") for each in fields.get(_EXTERNAL, ())]
        return name, _external(wire, dtype, shape, entries, external, limit)
    typed = fields.keys() & _FIELDS.keys()
    if _RAW in fields:
        if typed or dtype is STRING:
            raise malformed(
                "the elements are in `raw_data` and in another field"
                if typed
                else "the strings are in `raw_data`",
                "one field of them" if typed else "`string_data`",
            )
        raw = span_of(fields[_RAW][-1], "`raw_data`")
        return name, stored(lambda: wire.buffer, dtype, shape, raw.start, raw.size, limit)
    field, each = _field(dtype)
    if others := typed - {field}:
        raise malformed(f"the elements of {dtype} are in field {min(others)}", f"field {field}")
    load = partial(_load, wire, dtype, shape, field, each, fields.get(field, []))
    return name, Constant(dtype, shape, load, limit=limit)


def _number(fields: dict[int, list[int | Span]], field: int) -> int:
    """Return the last value of a field, 0 by default."""
    return number_of(fields[field][-1], f"the field {field} of a tensor") if field in fields else 0


def _shape(wire: WireReader, fields: dict[int, list[int | Span]], dtype: DType) -> tuple[int, ...]:
    dims: list[int] = []
    for value in fields.get(_DIMS, ()):
        dims += map(signed, wire.varints(value) if isinstance(value, Span) else (value,))
        if len(dims) > MAX_DIMS:
            break
    if any(size < 0 for size in dims):
        raise malformed(f"the shape is {dims[:MAX_RANK]}", "sizes of 0 or more")
    check_shape("the tensor has", dims, dtype.itemsize)
    return tuple(dims)


def _field(dtype: DType) -> tuple[int, int]:
    """Return the field of a type, unless raw_data is used, and its values for each element."""
    if dtype is STRING:
        return _STRINGS, 1
    if dtype.kind is Kind.COMPLEX:
        return (_FLOATS if dtype.bits == 64 else _DOUBLES), 2
    special = {
        "float32": _FLOATS,
        "float64": _DOUBLES,
        "int64": _INT64,
        "uint64": _UINT64,
        "uint32": _UINT64,
    }
    return special.get(dtype.name, _INT32), 1


def _load(  # noqa: PLR0917  (the parts of a message)
    wire: WireReader,
    dtype: DType,
    shape: tuple[int, ...],
    field: int,
    each: int,
    values: list[int | Span],
) -> Tensor:
    """Read the elements of one of the typed fields."""
    count = product(shape) * each
    if 0 < dtype.bits < 8:
        count = -(-count * dtype.bits // 8)
    if dtype is STRING:
        return _strings(wire, shape, values)
    array = _numbers(wire, field, values)
    if array.size != count:
        raise malformed(
            f"the tensor has {counted(array.size, 'element', exact=True)}",
            f"{count}, for {list(shape)} of {dtype}",
        )
    storage = storage_of(dtype)
    if _FIELDS[field]:
        array = array.view(storage.newbyteorder("<"))
    elif 0 < dtype.bits < 8:
        packed = _checked(array, 0, 255, dtype).astype(np.uint8)
        array = unpacked(packed, product(shape), dtype.bits)
    elif field == _INT64:
        array = array.view(np.int64)
    elif dtype.kind is Kind.FLOAT:  # bit patterns
        bits = _checked(array, 0, 2**dtype.bits - 1, dtype)
        array = bits.astype(f"u{dtype.itemsize}").view(storage)
    else:
        low, high = (0, 1) if dtype.kind is Kind.BOOL else dtype.bounds
        whole = array if field == _UINT64 else array.view(np.int64)
        array = _checked(whole, low, high, dtype).astype(storage)
    return Tensor(dtype, array.reshape(shape))


def _numbers(wire: WireReader, field: int, values: list[int | Span]) -> AnyArray:
    """Decode the values of a field: packed in spans, or one by one."""
    size = _FIELDS[field]
    parts: list[AnyArray] = []
    for value in values:
        if isinstance(value, int):
            parts.append(np.array([value], np.uint64))
        elif size:
            if value.size % size:
                raise malformed(
                    f"the elements have {in_bytes(value.size)}", f"a multiple of {size}"
                )
            parts.append(np.frombuffer(wire.buffer, f"<f{size}", value.size // size, value.start))
        else:
            parts.append(_varints(wire, value))
    if any((part.dtype.kind == "u") != (not size) for part in parts):
        raise malformed("the elements have another wire type", "that of their field")
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, f"<f{size}" if size else np.uint64)


def _varints(wire: WireReader, span: Span) -> AnyArray:
    """Decode packed varints; shape (N,), uint64."""
    raw = np.frombuffer(wire.buffer, np.uint8, span.size, span.start)
    if raw.size and raw[-1] >= 0x80:
        raise malformed("the last number of the elements has no end", "whole numbers")
    numbers = np.empty(np.count_nonzero(raw < 0x80), np.uint64)
    at = done = 0
    while at < raw.size:
        part = raw[at : at + _BLOCK]
        stops = np.flatnonzero(part < 0x80) + 1
        starts = np.concatenate([[0], stops[:-1]])
        lengths = stops - starts[: stops.size]
        if not stops.size or lengths.max() > 10:
            raise malformed("a number of the elements has more than 10 bytes", "10 bytes at most")
        part = part[: stops[-1]]
        shifts = (7 * (np.arange(part.size) - np.repeat(starts, lengths))).astype(np.uint64)
        bits = (part & 0x7F).astype(np.uint64) << shifts
        numbers[done : done + stops.size] = np.add.reduceat(bits, starts)
        at, done = at + part.size, done + stops.size
    return numbers


def _checked(array: AnyArray, low: int, high: int, dtype: DType) -> AnyArray:
    """Raise for an integer of a field that the type cannot hold."""
    wrong = np.flatnonzero((array < low) | (array > high))
    if wrong.size:
        raise InputError(
            f"the element {wrong[0]} is {array[wrong[0]]}, which {dtype} cannot hold",
            rule="dtype",
            where=f"[{wrong[0]}]",
            value=int(array[wrong[0]]),
            expected=f"{low} to {high}",
        )
    return array


def _strings(wire: WireReader, shape: tuple[int, ...], values: list[int | Span]) -> Tensor:
    words = [decoded(wire.bytes(span_of(value, "a string")), at) for at, value in enumerate(values)]
    if len(words) != product(shape):
        raise malformed(
            f"the tensor has {counted(len(words), 'element', exact=True)}", f"{product(shape)}"
        )
    return Tensor(STRING, store(words, STRING, Place("string_data", (len(words),))).reshape(shape))


def _external(  # noqa: PLR0917  (the parts of a message)
    wire: WireReader,
    dtype: DType,
    shape: tuple[int, ...],
    entries: list[Span],
    external: Callable[[str], File] | None,
    limit: int | None,
) -> Constant:
    """Return the constant whose elements are in a file beside the model."""
    settings = dict(_entry(wire, each) for each in entries)
    location = settings.get("location", "")
    if external is None:

        def refuse() -> Tensor:
            raise InputError(
                NOT_OPENED,
                rule="format",
                value=location,
                expected="elements in the model itself",
                hint="`--external-data` reads regular files beside the model",
            )

        return Constant(dtype, shape, refuse, unread=NOT_OPENED)
    if dtype is STRING:
        raise malformed("strings are in another file", "them in the model itself")
    file = external(location)
    size = -(-product(shape) * dtype.bits // 8)
    offset = _integer(settings, "offset", 0)
    length = _integer(settings, "length", size)
    if offset + length > file.size:
        raise malformed(
            f"the elements are at bytes {offset} to {offset + length} of a file of {file.size}",
            "bytes of the file",
        )
    return stored(file.buffer, dtype, shape, offset, length, limit)


def _entry(wire: WireReader, message: Span) -> tuple[str, str]:
    words = {1: "", 2: ""}
    for field, value in wire.fields(message):
        if field in words:
            words[field] = wire.text(span_of(value, "`external_data`"))
    return words[1], words[2]


def _integer(settings: dict[str, Any], name: str, default: int) -> int:
    text = settings.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise malformed(f"the {name} of external data is `{text[:40]}`", "a number of bytes")
    return int(text)
