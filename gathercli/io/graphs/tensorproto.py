"""TensorProto messages, and files of one (.pb).

Their headers are read at once, their elements on demand. A file whose elements are in another one,
which may have any path, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gathercli.compute.conversion import store
from gathercli.compute.storage import AnyArray, storage_of, unpacked
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError, LimitError
from gathercli.io.files import File
from gathercli.io.formats.content import Content, ElementTypes, Layout, check_shape, malformed
from gathercli.io.formats.foreign import conversion_hint
from gathercli.io.formats.npy import NamedResult, raw_file
from gathercli.io.graphs.graph import Constant, decoded, raw_elements, stored
from gathercli.io.graphs.wire import (
    Span,
    WireReader,
    encoded,
    encoded_fields,
    length_head,
    number_of,
    signed,
    span_of,
)
from gathercli.io.stream import ByteTarget
from gathercli.spec.dtypes import DTYPES, STRING, DType, Kind, in_words, named
from gathercli.spec.shapes import MAX_RANK, Place, product
from gathercli.text import clean, counted, in_bytes, listed

_TYPE_NAMES: Final = """
float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64
complex128 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4
float4_e2m1fn float8_e8m0fnu uint2 int2 float6_e2m3fn float6_e3m2fn
"""

# Our types by the numbers of TensorProto.DataType.
ONNX_TYPES: Final = (None, *map(named, _TYPE_NAMES.split()))
_DIMS, _TYPE, _SEGMENT, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 3, 8, 9, 13, 14
_FLOATS, _INT32, _STRINGS, _INT64, _DOUBLES, _UINT64 = 4, 5, 6, 7, 10, 11
# The names of the fields of elements.
_ELEMENT_FIELDS: Final = {
    _FLOATS: "float_data",
    _INT32: "int32_data",
    _STRINGS: "string_data",
    _INT64: "int64_data",
    _DOUBLES: "double_data",
    _UINT64: "uint64_data",
}
# The field of a type, unless raw_data is used; that of all others is int32_data.
_FIELDS_OF_TYPES: Final = {
    **dict.fromkeys(("float32", "complex64"), _FLOATS),
    **dict.fromkeys(("float64", "complex128"), _DOUBLES),
    **dict.fromkeys(("uint32", "uint64"), _UINT64),
    "int64": _INT64,
    "string": _STRINGS,
}
# The bytes of each element in the fields that have no varints and no strings.
_FIELD_SIZES: Final = {_FLOATS: 4, _DOUBLES: 8}
# Bits of elements that share an entry of `int32_data`; of those of 6 bits, each has one.
_PACKED_BITS: Final = (2, 4)
# Bytes of varints to decode at a time: the arrays in between take 50 times as many.
_VARINT_BLOCK: Final = 1 << 18
MAX_DIMS: Final = 256  # the most dimensions that are read, more than any tensor may have
# Why the elements of external data are not read.
NOT_OPENED: Final = "its elements are in another file, which is not opened"


def type_or_none(number: object) -> DType | None:
    """Return the type of a number; None if it is unknown."""
    return ONNX_TYPES[number] if isinstance(number, int) and 0 < number < len(ONNX_TYPES) else None


def type_of(number: int) -> DType:
    """Return the type of a number; raise InputError for an unknown one."""
    dtype = type_or_none(number)
    if dtype is None:
        what = f"the tensor is of ONNX's type {number}"
        raise InputError(what, rule="dtype", value=number, expected=listed(in_words(DTYPES)))
    return dtype


class TensorProto:
    """A message whose header was read; raise InputError or LimitError if it is malformed."""

    def __init__(self, wire: WireReader, message: Span) -> None:
        fields: dict[int, list[int | Span]] = {}
        for field, value in wire.fields(message):
            fields.setdefault(field, []).append(value)
        if _SEGMENT in fields:
            raise malformed("the tensor is a segment of a larger one", "a whole tensor")
        self.wire = wire
        names = [wire.text(span_of(each, "the name of a tensor")) for each in fields.get(_NAME, ())]
        self.name = names[-1] if names else ""
        self.dtype = type_of(_number(fields, _TYPE))
        self.shape = _shape(wire, fields, self.dtype)
        self.marked = bool(_number(fields, _LOCATION))
        self.entries: list[Span] | None = None
        if _EXTERNAL in fields or self.marked:
            self.entries = [span_of(each, "`external_data`") for each in fields.get(_EXTERNAL, ())]
            return
        typed = [field for field in _ELEMENT_FIELDS if field in fields]
        self._field = _FIELDS_OF_TYPES.get(self.dtype.name, _INT32)
        self._values = fields.get(self._field, [])
        self._raw = span_of(fields[_RAW][-1], "`raw_data`") if _RAW in fields else None
        if self._raw and typed:
            what = f"the elements are in raw_data and in {_ELEMENT_FIELDS[typed[0]]}"
            raise malformed(what, "one of them")
        if self._raw and self.dtype is STRING:
            raise malformed("the strings are in raw_data", "string_data")
        if other := [field for field in typed if field != self._field]:
            what = f"the elements are in the field {_ELEMENT_FIELDS[other[0]]}"
            raise malformed(what, f"{_ELEMENT_FIELDS[self._field]} for {self.dtype}")

    def constant(self, external: Callable[[str], File] | None = None) -> Constant:
        """Return the constant; `external` opens a file beside the model, None opens none."""
        wire, dtype, shape = self.wire, self.dtype, self.shape
        if self.entries is not None:
            settings = dict(_entry(wire, each) for each in self.entries)
            return self._external(settings, external)
        if self._raw:
            start, stop = self._raw
            return stored(lambda: wire.buffer, dtype, shape, start, stop - start, wire.limit)
        return Constant(dtype, shape, self._load, limit=wire.limit)

    def _external(
        self, settings: dict[str, str], external: Callable[[str], File] | None
    ) -> Constant:
        """Return the constant whose elements are in a file beside the model."""
        dtype, shape, location = self.dtype, self.shape, settings.get("location", "")
        if external is None:

            def refuse() -> Tensor:
                expected = "elements in the model itself"
                hint = "`--external-data` reads regular files beside the model"
                raise InputError(NOT_OPENED, value=location, expected=expected, hint=hint)

            return Constant(dtype, shape, refuse, unread=NOT_OPENED)
        if dtype is STRING:
            raise malformed("strings are in another file", "them in the model itself")
        file = external(location)
        offset = _integer(settings, "offset", 0)
        length = _integer(settings, "length", -(-product(shape) * dtype.bits // 8))
        if offset + length > file.size:
            raise malformed(
                f"the elements are at bytes {offset} to {offset + length} of a file of {file.size}",
                "bytes of the file",
            )
        return stored(file.buffer, dtype, shape, offset, length, self.wire.limit)

    @property
    def is_empty(self) -> bool:
        """Whether the message lacks all elements of its shape."""
        return not (self._raw or self._values) and product(self.shape) > 0

    def check_count(self) -> None:
        """Raise for a number of values that is not that of the shape, before any is decoded."""
        if self.entries is not None or self._raw:
            return
        number, size = 0, _FIELD_SIZES.get(self._field)
        for value in self._values:
            if isinstance(value, int) or self._field == _STRINGS:
                number += 1
            else:
                number += value.size // size if size else _count(self.wire, value)
        count = product(self.shape) * (2 if self.dtype.kind is Kind.COMPLEX else 1)
        if self.dtype.bits in _PACKED_BITS:
            count = -(-count * self.dtype.bits // 8)
        if number != count:
            what = f"the field {_ELEMENT_FIELDS[self._field]} has"
            values = counted(number, "value", exact=True)
            raise malformed(f"{what} {values}", f"{count}, for {list(self.shape)}")

    def _load(self) -> Tensor:
        """Read the elements of one of the typed fields."""
        self.check_count()
        dtype, shape = self.dtype, self.shape
        if dtype is STRING:
            name = _ELEMENT_FIELDS[_STRINGS]
            words = [
                decoded(self.wire.bytes(span_of(value, "a string")), f"{name}[{at}]")
                for at, value in enumerate(self._values)
            ]
            return Tensor(STRING, store(words, STRING, Place(name, (len(words),))).reshape(shape))
        array, storage = self._numbers(), storage_of(dtype)
        if self._field in _FIELD_SIZES:
            array = array.view(storage.newbyteorder("<"))
        elif dtype.bits in _PACKED_BITS:
            packed = self._checked(array, 0, 255).astype("u1")
            array = unpacked(packed, product(shape), dtype.bits)
        elif dtype.kind is Kind.FLOAT:  # bit patterns
            bits = self._checked(array, 0, 2**dtype.bits - 1)
            array = bits.astype(f"u{dtype.itemsize}").view(storage)
        else:
            low, high = (0, 1) if dtype.kind is Kind.BOOL else dtype.bounds
            whole = array if self._field == _UINT64 else array.view("i8")
            array = self._checked(whole, low, high).astype(storage, copy=False)
        return Tensor(dtype, array.reshape(shape))

    def _numbers(self) -> AnyArray:
        """Decode the values of a field: packed in spans, or one by one."""
        import numpy as np

        size = _FIELD_SIZES.get(self._field)
        parts: list[AnyArray] = []
        for value in self._values:
            if isinstance(value, int):
                parts.append(np.array([value], np.uint64))
            elif size is None:
                parts.append(_varints(self.wire, value))
            elif value.size % size:
                what = f"the elements have {in_bytes(value.size)}"
                raise malformed(what, f"a multiple of {size}")
            else:
                count = value.size // size
                parts.append(np.frombuffer(self.wire.buffer, f"<f{size}", count, value.start))
        if any((part.dtype.kind == "u") == (size is not None) for part in parts):
            raise malformed("the elements have another wire type", "that of their field")
        if not parts:
            parts.append(np.empty(0, f"<f{size}" if size else np.uint64))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _checked(self, array: AnyArray, low: int, high: int) -> AnyArray:
        """Raise for an integer of a field that the type cannot hold."""
        wrong = ((array < low) | (array > high)).argmax() if array.size else 0
        if array.size and not low <= array[wrong] <= high:
            where, value = f"{_ELEMENT_FIELDS[self._field]}[{wrong}]", int(array[wrong])
            if self._field != _UINT64:
                value = signed(value % 2**64)
            what = f"the value at `{where}` is {value}, which {self.dtype} cannot hold"
            expected = f"{low} to {high}"
            raise InputError(what, rule="dtype", where=where, value=value, expected=expected)
        return array


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


def _count(wire: WireReader, span: Span) -> int:
    import numpy as np

    raw = np.frombuffer(wire.buffer, np.uint8, span.size, span.start)
    blocks = (raw[at : at + _VARINT_BLOCK] for at in range(0, raw.size, _VARINT_BLOCK))
    return sum(int(np.count_nonzero(block < 0x80)) for block in blocks)


def _varints(wire: WireReader, span: Span) -> AnyArray:
    """Decode packed varints; shape (N,), uint64."""
    import numpy as np

    raw = np.frombuffer(wire.buffer, np.uint8, span.size, span.start)
    if raw.size and raw[-1] >= 0x80:
        raise malformed("the last number of the elements has no end", "whole numbers")
    numbers = np.empty(_count(wire, span), np.uint64)
    at = done = 0
    while at < raw.size:
        part = raw[at : at + _VARINT_BLOCK]
        # A byte below 0x80 ends a number; one that the block cuts is left to the next block.
        stops = np.flatnonzero(part < 0x80) + 1
        starts = np.concatenate([[0], stops[:-1]])
        lengths = stops - starts[: stops.size]
        if not stops.size or lengths.max() > 10:
            raise malformed("a number of the elements has more than 10 bytes", "10 bytes at most")
        part = part[: stops[-1]]
        # Byte k of a number has its bits from 7 k on; those of a tenth byte pass 2^64 and drop out.
        shifts = (7 * (np.arange(part.size) - np.repeat(starts, lengths))).astype(np.uint64)
        bits = (part & 0x7F).astype(np.uint64) << shifts
        numbers[done : done + stops.size] = np.add.reduceat(bits, starts)
        at, done = at + part.size, done + stops.size
    return numbers


def _entry(wire: WireReader, message: Span) -> tuple[str, str]:
    words = {1: "", 2: ""}
    for field, value in wire.fields(message):
        if field in words:
            words[field] = wire.text(span_of(value, "`external_data`"))
    return words[1], words[2]


def _integer(settings: dict[str, str], name: str, default: int) -> int:
    text = settings.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise malformed(f"the {name} of external data is `{text[:40]}`", "a number of bytes")
    return int(text)


# Writing


def tensor_head(name: str, dtype: DType, shape: tuple[int, ...]) -> bytes:
    """Return what precedes the raw elements, which are little-endian, of a message."""
    size = -(-product(shape) * dtype.bits // 8)
    return _described(dtype, shape) + encoded(_NAME, name) + length_head(_RAW, size)


def tensor_message(name: str, tensor: Tensor) -> bytes:
    """Return the message of a tensor."""
    if tensor.dtype is not STRING:
        return tensor_head(name, tensor.dtype, tensor.shape) + raw_elements(tensor)
    words = ((_STRINGS, str(each)) for each in tensor.array.reshape(-1))
    return _described(STRING, tensor.shape) + encoded_fields(*words, (_NAME, name))


def _described(dtype: DType, shape: tuple[int, ...]) -> bytes:
    return encoded_fields(*((_DIMS, size) for size in shape), (_TYPE, ONNX_TYPES.index(dtype)))


MAX_MESSAGE_BYTES: Final = 2**31 - 1  # the size limit of a protobuf message, in bytes


class ProtoFile(Content):
    """A TensorProto file."""

    format = "pb"

    def __init__(self, file: File) -> None:
        """Read the header."""
        most = MAX_MESSAGE_BYTES
        size = file.length(most if file.limit is None else min(most, file.limit))
        if size > most:
            raise malformed(f"the file has {in_bytes(size)}", f"at most {most}, as ONNX's messages")
        super().__init__(file)
        raw = file.content() if file.has_more else file.buffer()  # the first one raises
        wire = WireReader(raw, file.limit)
        self._proto = TensorProto(wire, wire.whole)
        name = self._proto.name
        self.names = [name] if name else None

    def layout(self, key: str | None, types: ElementTypes) -> Layout:
        """Describe the tensor."""
        del types  # the message has the type
        constant = self._constant(key)
        if constant.dtype is STRING:
            return Layout(STRING, constant.shape, constant.tensor().array.dtype)
        return Layout(constant.dtype, constant.shape)

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Read the tensor: a view of the file, unless its elements are packed or converted."""
        del types
        constant = self._constant(key)
        constant.check_memory(self._file)
        return constant.tensor()

    def _constant(self, key: str | None) -> Constant:
        """Return the constant after a check of the number of its elements."""
        proto = self._proto
        if key is not None and key != proto.name:
            what = f"the file holds one tensor, `{clean(proto.name)}`, and no `{clean(key)}`"
            raise malformed(what, "no key")
        if proto.entries is not None:
            raise malformed(
                "the tensor keeps its elements in another file, which is never opened",
                "elements in the file itself",
                conversion_hint("external", self._file.name) if proto.marked else None,
            )
        if proto.is_empty:
            raise malformed(
                "the file is truncated: it ends without elements", f"those of {list(proto.shape)}"
            )
        proto.check_count()
        return proto.constant()


def proto_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write one tensor; raise LimitError if it exceeds the size of a message."""
    ((name, result),) = results
    if result.dtype not in ONNX_TYPES:
        what = f"the format has no type {result.dtype}"
        expected = listed(each.name for each in DTYPES if each in ONNX_TYPES)
        raise InputError(what, rule="dtype", value=result.dtype.name, expected=expected)
    if result.nbytes > MAX_MESSAGE_BYTES - 10_000:
        what = f"the tensor takes {in_bytes(result.nbytes)}"
        expected = "less than 2^31, as much as a protobuf message holds"
        hint = "npy and safetensors have no such limit"
        raise LimitError(what, value=result.nbytes, expected=expected, hint=hint)
    if result.dtype.bits < 8:
        out.write(tensor_message(name, result.whole()))
    else:
        out.write(tensor_head(name, result.dtype, result.shape))
        raw_file(results, out)
