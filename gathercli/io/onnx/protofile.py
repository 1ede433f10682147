"""ONNX TensorProto files (.pb), read and written with the `onnx` package.

The package parses and converts. This module rejects external data, which the package would open at
any path, and wrong numbers of elements, which it would broadcast or allocate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.arrays.tensor import storage_of
from gathercli.errors import InputError, LimitError
from gathercli.io.formats.content import Layout, check_shape, malformed
from gathercli.io.formats.foreign import conversion_hint, not_installed
from gathercli.spec.dtypes import BFLOAT16, DTYPES, STRING, DType, Kind, in_words
from gathercli.spec.shapes import product
from gathercli.tensor import Tensor
from gathercli.text import clean, counted, in_bytes, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.files import File
    from gathercli.io.formats.raw import ByteTarget, NamedResult

MAX_BYTES: Final = 2**31 - 1
"""The size limit of a protobuf message, in bytes."""

COPIES: Final = 4
"""Copies of the elements in memory: the file, the message, its fields, the array."""

_NAMES: Final = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float8_e8m0fnu": "FLOAT8E8M0",
    "float6_e2m3fn": "FLOAT6E2M3",
    "float6_e3m2fn": "FLOAT6E3M2",
    "float4_e2m1fn": "FLOAT4E2M1",
}
"""The types whose names in ONNX are not ours in capitals without underscores."""

_PACKED: Final = (2, 4)
"""Bits of elements that share a byte of raw_data or an entry of int32_data."""

_FIELDS: Final = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def _types() -> dict[int, DType]:
    """Map the type numbers of the installed package to our types."""
    from onnx import TensorProto

    numbers = dict(TensorProto.DataType.items())
    names = {_NAMES.get(d.name) or d.name.upper().replace("_", ""): d for d in DTYPES}
    return {numbers[name]: dtype for name, dtype in names.items() if name in numbers}


class Proto:
    """A TensorProto file; `format` and the members are those of `content.Content`."""

    format = "pb"

    def __init__(self, file: File) -> None:
        """Parse the message."""
        try:
            from google.protobuf.message import DecodeError
            from onnx import TensorProto
        except ImportError:
            raise not_installed("onnx", "onnx") from None
        self._file_name = file.name
        allowed = MAX_BYTES if file.limit is None else min(MAX_BYTES, file.limit // COPIES)
        size = file.length(allowed)
        needed = COPIES * size
        if file.limit is not None and needed > file.limit:
            raise file.over(f"{in_bytes(size)} would take {needed} when parsed", needed)
        if size > MAX_BYTES:
            raise malformed(
                f"the file has {in_bytes(size)}", f"at most {MAX_BYTES}, as ONNX's messages"
            )
        raw = file.content()
        self._proto = TensorProto()
        try:
            self._proto.ParseFromString(raw)
        except DecodeError as error:
            _check_fields(raw)
            raise malformed(f"it is not an ONNX tensor ({error})", "a TensorProto") from None
        name: Any = self._proto.name
        if isinstance(name, bytes):  # not UTF-8
            name = name.decode(errors="surrogateescape")
        self._name: str = name
        self.names = [name] if name else None

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Check the fields, and describe the tensor."""
        import numpy as np

        del declared  # the message has the type
        proto = self._proto
        if key is not None and key != self._name:
            raise malformed(
                f"the file holds one tensor, `{clean(self._name)}`, and no `{clean(key)}`", "no key"
            )
        dtype = _types().get(proto.data_type)
        if dtype is None:
            names = {number: name for name, number in proto.DataType.items()}
            raise InputError(
                f"the tensor is of ONNX's type {names.get(proto.data_type, proto.data_type)}",
                rule="dtype",
                value=proto.data_type,
                expected=listed(in_words(DTYPES)),
            )
        if proto.data_location or proto.external_data:
            raise malformed(
                "the tensor keeps its elements in another file, which is never opened",
                "elements in the file itself",
                conversion_hint("external", self._file_name) if proto.data_location else None,
            )
        if proto.HasField("segment"):
            raise malformed("the tensor is a segment of a larger one", "a whole tensor")
        shape = tuple(proto.dims)
        if any(size < 0 for size in shape):
            raise malformed(f"the shape is {list(shape)}", "sizes of 0 or more")
        check_shape("the tensor has", shape, dtype.itemsize)
        self._check_count(dtype, shape)
        file_dtype = self._strings().dtype if dtype is STRING else np.dtype(storage_of(dtype))
        return Layout(dtype, shape, file_dtype)

    def _check_count(self, dtype: DType, shape: tuple[int, ...]) -> None:
        """Raise for a wrong number of elements, or elements in the field of another type."""
        proto, count = self._proto, product(shape)
        fields = [field for field in (*_FIELDS, "string_data") if len(getattr(proto, field))]
        if fields and proto.HasField("raw_data"):
            raise malformed(f"the elements are in raw_data and in {fields[0]}", "one of them")
        if proto.HasField("raw_data") and dtype is not STRING:
            size = -(-count * dtype.bits // 8)
            if len(proto.raw_data) != size:
                raise malformed(
                    f"the tensor has {in_bytes(len(proto.raw_data))} of elements",
                    f"{size}, for {list(shape)} of {dtype}",
                )
            return
        field, each = _field(dtype)
        if dtype.bits in _PACKED:
            count = -(-count * dtype.bits // 8)
        other = [each for each in fields if each != field]
        if other:
            raise malformed(f"the elements are in the field {other[0]}", f"{field} for {dtype}")
        number = len(getattr(proto, field))
        if count and not (fields or proto.HasField("raw_data")):
            raise malformed(
                "the file is truncated: it ends without elements", f"those of {list(shape)}"
            )
        if number != count * each:
            raise malformed(
                f"the field {field} has {counted(number, 'value', exact=True)}",
                f"{count * each}, for {list(shape)}",
            )

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read the elements."""
        import numpy as np
        from onnx import numpy_helper

        del empty
        layout = self.layout(key, declared)
        dtype, shape = layout.dtype, layout.shape
        if dtype is STRING:
            return Tensor(STRING, self._strings().reshape(shape))
        self._check_values(dtype)
        if dtype.narrow:
            return Tensor(dtype, self._bits(dtype, shape))
        try:
            array = numpy_helper.to_array(self._proto)
        except Exception as error:  # noqa: BLE001  (a malformed message: many kinds)
            raise malformed(f"onnx cannot read the elements ({error})", "a sound tensor") from None
        if dtype is BFLOAT16:
            array = array.view(np.uint16)
        return Tensor(dtype, array.reshape(shape))

    def _bits(self, dtype: DType, shape: tuple[int, ...]) -> AnyArray:
        """Read elements of a type that numpy lacks, one byte each."""
        import numpy as np

        from gathercli.arrays.narrow import unpacked

        raw = self._proto.HasField("raw_data")
        data = self._proto.raw_data if raw else bytes(self._proto.int32_data)
        array: AnyArray = np.frombuffer(data, np.uint8)
        if dtype.bits in _PACKED or (raw and dtype.bits < 8):
            array = unpacked(array, product(shape), dtype.bits)
        return array.reshape(shape)

    def _strings(self) -> AnyArray:
        """Decode the strings from UTF-8."""
        from gathercli.arrays.conversion import store
        from gathercli.spec.coordinates import Place

        words = []
        for at, value in enumerate(self._proto.string_data):
            try:
                words.append(value.decode())
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte {error.start} of the string at `string_data[{at}]` is "
                    f"0x{value[error.start]:02x}",
                    rule="format",
                    where=f"string_data[{at}]",
                    expected="UTF-8 text",
                ) from None
        return store(words, STRING, Place("string_data", (len(words),)))

    def _check_values(self, dtype: DType) -> None:
        """Raise for values of int32_data or uint64_data outside the range of the type."""
        field, _ = _field(dtype)
        if self._proto.HasField("raw_data") or field not in ("int32_data", "uint64_data"):
            return
        values = getattr(self._proto, field)
        low, high = dtype.bounds
        if dtype.bits in _PACKED or dtype.kind in (Kind.FLOAT, Kind.BOOL):
            # The values are bit patterns, and packed elements share a byte.
            bits = 1 if dtype.kind is Kind.BOOL else 8 if dtype.bits in _PACKED else dtype.bits
            low, high = 0, 2**bits - 1
        wrong = next((at for at, value in enumerate(values) if not low <= value <= high), None)
        if wrong is not None:
            raise InputError(
                f"the value at `{field}[{wrong}]` is {values[wrong]}, which {dtype} cannot hold",
                rule="dtype",
                where=f"{field}[{wrong}]",
                value=values[wrong],
                expected=f"{low} to {high}",
            )


def _check_fields(raw: bytes) -> None:
    """Raise for a message that is truncated, or has malformed fields."""
    from gathercli.io.onnx.wire import WireReader

    reader = WireReader(raw)
    for _ in reader.fields(reader.whole):
        pass


def _field(dtype: DType) -> tuple[str, int]:
    """Return the field of a type, unless raw_data is used, and its values for each element."""
    if dtype is STRING:
        return "string_data", 1
    if dtype.kind is Kind.COMPLEX:
        return ("float_data" if dtype.bits == 64 else "double_data"), 2
    special = {
        "float32": "float_data",
        "float64": "double_data",
        "int64": "int64_data",
        "uint64": "uint64_data",
        "uint32": "uint64_data",
    }
    return special.get(dtype.name, "int32_data"), 1


def proto_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write one tensor; raise LimitError if it exceeds the size of a message."""
    ((name, result),) = results
    try:
        from onnx import TensorProto
    except ImportError:
        raise not_installed("onnx", "onnx") from None
    numbers = {dtype: number for number, dtype in _types().items()}
    if result.dtype not in numbers:
        raise InputError(
            f"the format has no type {result.dtype}",
            rule="dtype",
            value=result.dtype.name,
            expected=listed(map(str, numbers)),
        )
    proto = TensorProto(dims=result.shape, data_type=numbers[result.dtype], name=name)
    if result.nbytes > MAX_BYTES - 10_000:
        raise LimitError(
            f"the tensor takes {in_bytes(result.nbytes)}",
            rule="limit",
            value=result.nbytes,
            expected="less than 2^31, as much as a protobuf message holds",
            hint="npy and safetensors have no such limit",
        )
    if result.dtype is STRING:
        for block in result.blocks():
            proto.string_data.extend(str(word).encode() for word in block.tolist())
    else:
        raw = (block.astype(block.dtype.newbyteorder("<"), copy=False) for block in result.blocks())
        data = b"".join(block.tobytes() for block in raw)
        if 0 < result.dtype.bits < 8:
            import numpy as np

            from gathercli.arrays.narrow import packed

            data = packed(np.frombuffer(data, np.uint8), result.dtype.bits)
        proto.raw_data = data
    out.write(proto.SerializeToString())
