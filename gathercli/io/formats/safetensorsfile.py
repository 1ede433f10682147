"""The .safetensors format, read with the `safetensors` package and written block by block.

The package checks the offsets and sizes in the header. This module also rejects repeated names,
of which the package returns the last, and maps the elements, which the package copies.
"""

from __future__ import annotations

import json as stdlib_json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gathercli.compute.storage import storage_of, unpacked
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.io.files import File
from gathercli.io.formats import content
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.foreign import not_installed
from gathercli.spec.dtypes import DTYPES, DType
from gathercli.spec.shapes import product
from gathercli.text import clean, counted, in_bytes, listed

if TYPE_CHECKING:
    from gathercli.io.formats.npy import NamedResult
    from gathercli.io.stream import ByteTarget

MAX_JSON_HEADER: Final = 100_000_000  # the longest header in bytes; the limit of the package
_FD_FOLDER: Final = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
# The type names of the format.
_TYPE_NAMES: Final[dict[str, str]] = {
    "complex64": "C64",
    "bfloat16": "BF16",
    "bool": "BOOL",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2": "F8_E5M2",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "float4_e2m1fn": "F4",
} | {
    dtype.name: dtype.short.upper()
    for dtype in DTYPES
    if dtype.kind.value in ("int", "uint", "float") and not dtype.opaque
}

_OFFSETS_PATTERN: Final = rb'"data_offsets"\s*:\s*\[\s*\d+\s*,\s*(\d{1,19})\s*\]'
_NIBBLE_BITS: Final = 4  # bits of elements stored in pairs, the first in the lower half of the byte
_TYPES_BY_NAME: Final = {
    _TYPE_NAMES[dtype.name]: dtype for dtype in DTYPES if dtype.name in _TYPE_NAMES
}


class Bundle(content.Content):
    """A .safetensors file."""

    format = "safetensors"
    has = "the file has"

    def __init__(self, file: File) -> None:
        """Read and check the header."""
        super().__init__(file)
        length = int.from_bytes(file.start(8), "little")
        if length > MAX_JSON_HEADER:
            raise content.malformed(
                f"the header declares {in_bytes(length)}", f"at most {MAX_JSON_HEADER}"
            )
        self._start = 8 + length
        start = file.start(self._start)
        if len(start) < self._start:
            expected = f"{in_bytes(self._start)} of header"
            raise content.truncated(len(start), expected, inside="its header")
        ends = (int(match[1]) for match in re.finditer(_OFFSETS_PATTERN, start[8:]))
        _check(file, self._start + max(ends, default=0))
        try:
            header = json.parse(file.start(self._start)[8:], rule="format")
        except InputError as error:
            error.prefix("the header")
            raise
        header.pop("__metadata__", None)
        self._tensors: dict[str, dict[str, Any]] = header
        self.names = list(header)

    def layout(self, key: str | None, types: content.ElementTypes) -> content.Layout:
        """Describe a tensor by the header."""
        import numpy as np

        del types  # the header has the type
        name = self.find(key, self._tensors)
        entry = self._tensors[name]
        dtype = _TYPES_BY_NAME.get(entry["dtype"])
        if dtype is None:
            what = f"the tensor `{name}` is of type {entry['dtype']}"
            expected = listed(_TYPES_BY_NAME)
            raise InputError(what, rule="dtype", value=entry["dtype"], expected=expected)
        shape = tuple(entry["shape"])
        content.check_shape(f"the tensor `{name}` has", shape, dtype.itemsize)
        file_dtype = np.dtype(storage_of(dtype)).newbyteorder("<")
        return content.Layout(dtype, shape, file_dtype, self._start + entry["data_offsets"][0])

    def tensor(self, key: str | None, types: content.ElementTypes) -> Tensor:
        """View a tensor; a large regular file is mapped."""
        layout = self.layout(key, types)
        dtype, shape = layout.dtype, layout.shape
        if dtype.bits != _NIBBLE_BITS:
            return layout.view(self._file.buffer())

        packed = layout._replace(shape=(-(-product(shape) // 2),)).view(self._file.buffer())
        return Tensor(dtype, unpacked(packed.array, product(shape), dtype.bits).reshape(shape))


def _check(file: File, size: int) -> None:
    """Let the package check the header against the file, which has `size` bytes by its header."""
    length = file.length(size)  # a stream may have no end
    try:
        from safetensors import SafetensorError, deserialize, safe_open
    except ImportError:
        raise not_installed("safetensors", "safetensors") from None
    try:
        if file.regular:
            with safe_open(f"{_FD_FOLDER}/{file.fd}", framework="numpy"):
                pass
        else:
            deserialize(bytes(file.buffer()))  # type: ignore[no-untyped-call]
    except (SafetensorError, OSError) as error:
        if length < size:
            raise content.truncated(length, in_bytes(size), inside="its elements") from None
        reason = str(error).rpartition("deserializing header: ")[2]
        raise content.malformed(
            f"it is not a sound .safetensors file ({reason[:200]})", "one"
        ) from None


def bundle(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write the header, then each tensor block by block; the package would copy all of them."""
    from gathercli.io.formats.npy import raw_file

    header: dict[str, Any] = {}
    end = 0
    for name, result in results:
        packed = result.dtype.bits == _NIBBLE_BITS
        if packed and result.nbytes % 2:
            what = (
                f"`{name}` has {counted(result.nbytes, 'element')} of {result.dtype}, of "
                "which a byte holds two"
            )
            raise InputError(what, rule="dtype", value=result.nbytes, expected="an even number")
        start, end = end, end + -(-result.nbytes // (1 + packed))
        header[name] = {
            "dtype": type_name(result.dtype, name if len(results) > 1 else None),
            "shape": list(result.shape),
            "data_offsets": [start, end],
        }
    text = stdlib_json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # align the elements
    out.write(len(text).to_bytes(8, "little") + text)
    for name, result in results:
        if result.dtype.bits == _NIBBLE_BITS:
            from gathercli.compute import storage

            out.write(storage.packed(result.whole().array.reshape(-1), result.dtype.bits))
        else:
            raw_file([(name, result)], out)


def type_name(dtype: DType, tensor: str | None = None) -> str:
    """Return the name of a type in the format; an error names the `tensor`, if one of several."""
    name = _TYPE_NAMES.get(dtype.name)
    if name is None:
        what, places = f"the format has no type {dtype}", () if tensor is None else (clean(tensor),)
        expected = listed(_TYPE_NAMES)
        raise InputError(what, rule="dtype", places=places, value=dtype.name, expected=expected)
    return name
