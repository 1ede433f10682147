"""The .safetensors format, read with the `safetensors` package and written block by block.

The package checks the header: offsets, sizes, overlaps, gaps. Outside it: names that are repeated,
of which it takes the last, and the elements, which it copies and which are mapped here.
"""

from __future__ import annotations

import json as stdlib_json
import os
from typing import TYPE_CHECKING, Any, Final

from gathercli.core.dtypes import DTYPES, DType, Tensor
from gathercli.core.text import listed, short, some
from gathercli.errors import InputError
from gathercli.io import json
from gathercli.io.content import Layout, check_shape, key_hint
from gathercli.io.foreign import install, missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.io.encode import Named, Target
    from gathercli.io.files import File

MAX_HEADER: Final = 100_000_000
"""Bytes of header accepted, as the package limits them."""

_OWN_FDS: Final = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
_NAMES: Final = {"complex64": "C64", "bfloat16": "BF16", "bool": "BOOL"} | {
    dtype.name: dtype.short.upper()
    for dtype in DTYPES
    if dtype.kind.value in ("int", "uint", "float") and dtype.name != "bfloat16"
}
"""The format's names of the types that it has."""

_TYPES: Final = {_NAMES[dtype.name]: dtype for dtype in DTYPES if dtype.name in _NAMES}


def _refused(what: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(f"{what}: expected {expected}", rule="format", expected=expected, hint=hint)


class Bundle:
    """A .safetensors file; `format` and the members are those of `content.Content`."""

    format = "safetensors"

    def __init__(self, file: File) -> None:
        """Read and check the header."""
        self._file = file
        length = int.from_bytes(file.start(8), "little")
        if length > MAX_HEADER:
            raise _refused(f"the header declares {length} bytes", f"at most {MAX_HEADER}")
        if 8 + length > file.size:
            raise _refused(
                f"the file ends at byte {file.size}, inside its header",
                f"{8 + length} bytes of header",
            )
        self._start = 8 + length
        _check(file)
        try:
            header = json.parse(file.start(self._start)[8:], rule="format")
        except InputError as error:
            error.within("the header")
            raise
        header.pop("__metadata__", None)
        self._tensors: dict[str, dict[str, Any]] = header
        self.names: Sequence[str] = list(header)

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Describe a tensor by the header."""
        import numpy as np

        del declared  # the header names the type
        name = self._chosen(key)
        told = self._tensors[name]
        dtype = _TYPES.get(told["dtype"])
        if dtype is None:
            raise InputError(
                f"the tensor `{name}` is of type {told['dtype']}: expected {listed(_TYPES)}",
                rule="dtype",
                value=told["dtype"],
            )
        shape = tuple(told["shape"])
        check_shape(f"the tensor `{name}` has", shape, dtype.itemsize)
        held = np.dtype(dtype.storage()).newbyteorder("<")
        return Layout(dtype, shape, held, self._start + told["data_offsets"][0])

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """View a tensor; those of a large regular file are mapped."""
        del empty
        return self.layout(key, declared).view(self._file.buffer())

    def _chosen(self, key: str | None) -> str:
        if key is None and len(self.names) == 1:
            return self.names[0]
        if key is not None and key in self._tensors:
            return key
        raise _refused(
            f"the file has {some(f'`{name}`' for name in self.names)}",
            f"the tensor `{short(key)}`" if key else "the name of one",
            key_hint(self._file.name, key, self.names, "tensor"),
        )


def _check(file: File) -> None:
    """Let the package check the header against the bytes."""
    try:
        from safetensors import SafetensorError, deserialize, safe_open
    except ImportError:
        raise InputError(
            missing("safetensors"), rule="format", hint=install("safetensors")
        ) from None
    try:
        if file.regular:
            with safe_open(f"{_OWN_FDS}/{file.fd}", framework="numpy"):
                pass
        else:
            deserialize(file.content())  # type: ignore[no-untyped-call]
    except (SafetensorError, OSError) as error:
        reason = str(error).rpartition("deserializing header: ")[2]
        raise _refused(f"it is no sound .safetensors file ({reason[:200]})", "one") from None


def bundle(results: Sequence[Named], out: Target) -> None:
    """Write a file: the header, then every tensor block by block.

    The package would take all the elements as one string in memory.

    Raises
    ------
    InputError
        ``dtype``: the format has no such type.
    """
    from gathercli.io.encode import raw_file

    header: dict[str, Any] = {}
    end = 0
    for name, result in results:
        start, end = end, end + result.nbytes
        header[name] = {
            "dtype": type_name(result.dtype),
            "shape": list(result.shape),
            "data_offsets": [start, end],
        }
    text = stdlib_json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that the elements are aligned
    out.write(len(text).to_bytes(8, "little") + text)
    for _, result in results:
        raw_file(result, out)


def type_name(dtype: DType) -> str:
    """Name a type as the format does."""
    name = _NAMES.get(dtype.name)
    if name is None:
        raise InputError(
            f"the format has no type {dtype}: expected {listed(_NAMES)}",
            rule="dtype",
            value=dtype.name,
        )
    return name
