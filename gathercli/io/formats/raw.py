"""Raw elements without a header: ``bin:4x3xbf16@raw.bin``, little-endian, row-major."""

from __future__ import annotations

import sys

from gathercli.errors import Hint, InputError
from gathercli.io.formats.content import Layout, check_shape, no_member
from gathercli.records import NamedTuple
from gathercli.spec.dtypes import STRING, DType, described, named
from gathercli.spec.shapes import product
from gathercli.text import clean, in_bytes, shell_word

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final, Protocol, TypeAlias

    from gathercli.compute.result import Result
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.io.formats.content import ElementTypes

    class ByteTarget(Protocol):
        """A target of bytes in order, or of a whole result written by threads."""

        def write(self, part: bytes | memoryview, /) -> object:
            """Append bytes."""

        def place(self, result: Result, /) -> bool:
            """Let the threads of a result append its elements; return False if impossible."""


# The name of a tensor in a file of several, and the tensor.
NamedResult: TypeAlias = "tuple[str, Result]"
SHORT_RESULT_BYTES: Final = 1 << 17  # bytes of elements that are written at once
RAW_PREFIX: Final = "bin:"
_RAW_PATTERN: Final = r"(?as)bin:(x|(?:\d+x)*)([a-z]\w*)@(.+)"


class Description(NamedTuple):
    """The shape, the type and the file of a token."""

    shape: tuple[int, ...]
    dtype: DType
    path: str


def parse(token: str) -> Description:
    """Parse ``bin:SHAPExTYPE@FILE``; raise InputError, or LimitError for a large shape."""
    import re

    match = re.fullmatch(_RAW_PATTERN, token)
    if match is None:
        raise InputError(
            f"`{clean(token[:80])}` does not say what the bytes are",
            rule="literal",
            value=token[:80],
            expected="shape, type and file, as in `bin:4x3xbf16@raw.bin`",
        )
    dims, name, path = match.groups()
    dtype = named(name)
    if dtype is None or dtype is STRING:
        raise InputError(
            f"`{name[:40]}` in `{clean(token[:80])}` is not a type of raw bytes",
            rule="literal",
            value=name,
            expected="one such as f32, i64 or bf16",
        )
    shape = tuple(int(size[:30]) for size in dims.split("x") if size)
    check_shape(f"`{clean(token[:80])}` declares", shape, dtype.itemsize)
    return Description(shape, dtype, path)


class Raw:
    """A file of elements; `format` and the members are those of `content.Content`."""

    format = "bin"
    names = None

    def __init__(self, file: File, description: Description) -> None:
        self._file, self._description = file, description

    def layout(self, key: str | None, types: ElementTypes) -> Layout:
        """Check the size of the file against the token."""
        del types  # the token has the type
        shape, dtype, _ = self._description
        if key is not None:
            raise no_member("raw bytes hold one tensor and", key)
        layout = Layout(dtype, shape)
        size = self._file.length(layout.nbytes)
        if size != layout.nbytes:
            more = " or more" if self._file.has_more else ""
            raise InputError(
                f"the file has {in_bytes(size)}{more}",
                value=size,
                expected=f"{layout.nbytes}, for {described(dtype, ','.join(map(str, shape)))}",
                hint=None if more else self._advice(size),
            )
        return layout

    def _advice(self, size: int) -> str | None:
        """Suggest a first dimension that matches the size of the file, if possible."""
        (first, *rest), dtype = self._description.shape or (1,), self._description.dtype
        row = product(rest) * dtype.itemsize
        if not row or size % row or first == size // row:
            return None
        sizes = "x".join(map(str, (size // row, *rest, dtype.short)))
        return Hint(
            "{source} has that many", source=f"{RAW_PREFIX}{sizes}@{self._description.path}"
        )

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """View the elements; those of a large regular file are mapped."""
        layout = self.layout(key, types)
        return layout.view(self._file.buffer() if layout.nbytes else b"")


def raw_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write the elements of one tensor, little-endian and without a header.

    Raise InputError (``dtype``) for strings, which have no fixed size that a reader could know.
    """
    ((_, result),) = results
    if result.dtype is STRING:
        raise InputError(
            "strings cannot be written as raw bytes",
            rule="dtype",
            value=result.dtype.name,
            expected="numbers or booleans",
        )
    if sys.byteorder == "little":
        write_elements(result, out)
        return
    for block in result.blocks():
        for part in _bytes(block.astype(block.dtype.newbyteorder("<"), copy=False)):
            out.write(part)


def write_elements(result: Result, out: ByteTarget, header: bytes = b"") -> None:
    """Write a header and the bytes of the elements in memory, by threads if `out` allows that."""
    if result.raw is not None and result.nbytes <= SHORT_RESULT_BYTES and sys.byteorder == "little":
        out.write(header + result.raw)
        return
    if header:
        out.write(header)
    if out.place(result):
        return
    for block in result.blocks():
        for part in _bytes(block):
            out.write(part)


def _bytes(block: AnyArray) -> Iterator[memoryview]:
    """Yield the bytes of a block, if it has any."""
    import numpy as np

    if block.size and block.dtype.itemsize:
        yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def losses(result: Result, path: str | None, option: str) -> Iterator[str]:
    """Yield the token that reads a file, which has neither the shape nor the type."""
    del option
    sizes = "x".join((*map(str, result.shape), result.dtype.short))
    token = shell_word(f"{RAW_PREFIX}{sizes}@{path or '-'}")
    yield f"raw bytes carry neither type nor shape; `{token}` reads them"
