"""The formats of files, a row each: what is read, written, offered and described follows it.

A new format is one module and one row here. The module has a reader, a class whose members are
those of `content.Content`, and a writer: of text a function of the named results and
`encode.TextOptions` that yields it, of bytes one of the named results and what takes them. Both
are named and not imported, since a run needs one or two of them.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

NPY: Final = b"\x93NUMPY"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_PROTO: Final = rb"(?:\x08[\x80-\xff]{0,9}[\0-\x7f])*\x10[\x01-\x7f]"
"""How an ONNX TensorProto starts: its dims, one by one, and its data type."""


class Format(NamedTuple):
    """A format.

    Attributes
    ----------
    suffix
        What the name of a file of this format ends with.
    argument
        How a command line names a tensor of such a file; blank where another row says so, or it
        is no file.
    about
        What it is, where its name does not say that.
    sniff
        Whether a file that starts with these bytes is of this format; None where nothing tells.
    reader, writer
        The module and what it has, as ``package.module:name``; blank where a token or another row
        picks the reader, or where `io.chunkwise` writes.
    binary
        Whether it is no text.
    ordered
        Whether the byte order of its elements is told by ``info``.
    several
        Whether it holds several tensors.
    named
        Whether it keeps the names of tensors.
    unfit
        Patterns of names that it cannot keep, and what they are or have.
    marks
        Of a folder of chunks: the files that tell it; empty for what is one file.
    """

    suffix: str
    argument: str = ""
    about: str = ""
    sniff: Callable[[bytes], bool] | None = None
    reader: str = ""
    writer: str = ""
    binary: bool = False
    ordered: bool = False
    several: bool = False
    named: bool = False
    unfit: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def chunked(self) -> bool:
        """Whether it is a folder of chunks."""
        return bool(self.marks)


def load(place: str) -> Any:
    """Import a reader or a writer."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _is_npy(start: bytes) -> bool:
    return start.startswith(NPY)


def _is_npz(start: bytes) -> bool:
    return start.startswith(_ZIP)


def _is_json(start: bytes) -> bool:
    return start[:1] in (b"[", b"{") and b"\0" not in start[:16]


def _is_safetensors(start: bytes) -> bool:
    """Tell it by the length of a header and a brace, even by a length that lies."""
    headed = start[8:9] == b"{" and b"\0" in start[:8]
    return headed and (int.from_bytes(start[:8], "little") < 1 << 32 or not _is_proto(start))


def _is_proto(start: bytes) -> bool:
    packed = start[:1] == b"\x0a" and start[2 + start[1] :][:1] == b"\x10" if start[1:] else False
    return packed or re.match(_PROTO, start) is not None


_FORMATS: Final = "gathercli.io.formats"

FORMATS: Final = {
    "npy": Format(
        ".npy",
        ".npy",
        sniff=_is_npy,
        reader=f"{_FORMATS}.npy:Npy",
        writer=f"{_FORMATS}.encode:npy_file",
        binary=True,
        ordered=True,
    ),
    "npz": Format(
        ".npz",
        ".npz#name",
        sniff=_is_npz,
        reader=f"{_FORMATS}.npz:Archive",
        writer=f"{_FORMATS}.encode:npz",
        binary=True,
        ordered=True,
        several=True,
        named=True,
        unfit=(("\0", "a NUL"),),
    ),
    "json": Format(
        ".json",
        ".json#name",
        sniff=_is_json,
        reader=f"{_FORMATS}.jsontext:Document",
        writer=f"{_FORMATS}.encode:plain_json",
        several=True,
        named=True,
    ),
    "oip": Format(".json", writer=f"{_FORMATS}.encode:oip", several=True, named=True),
    "literal": Format(".txt", writer=f"{_FORMATS}.encode:literal"),
    "safetensors": Format(
        ".safetensors",
        ".safetensors#name",
        sniff=_is_safetensors,
        reader=f"{_FORMATS}.safetensorsfile:Bundle",
        writer=f"{_FORMATS}.safetensorsfile:bundle",
        binary=True,
        ordered=True,
        several=True,
        named=True,
        unfit=((r"\A__metadata__\Z", "what the format keeps for itself"),),
    ),
    "pb": Format(
        ".pb",
        ".pb",
        about="ONNX",
        sniff=_is_proto,
        reader=f"{_FORMATS}.onnxproto:Proto",
        writer=f"{_FORMATS}.onnxproto:proto_file",
        binary=True,
        named=True,
    ),
    "bin": Format(
        ".bin",
        "bin:2x3xf32@x.bin",
        about="raw bytes",
        writer=f"{_FORMATS}.encode:raw_file",
        binary=True,
        ordered=True,
    ),
    "zarr": Format(
        ".zarr",
        ".zarr#name",
        reader="gathercli.io.zarr:Zarr",
        binary=True,
        ordered=True,
        marks=("zarr.json", ".zarray", ".zgroup"),
    ),
}

BY_SUFFIX: Final = {f.suffix: name for name, f in FORMATS.items() if f.argument}
"""The format that a suffix names, in the order of the rows."""

CHUNKED: Final = {f.suffix: name for name, f in FORMATS.items() if f.chunked}
"""The formats that are folders of chunks, by their suffixes."""

ARGUMENTS: Final = tuple(f.argument for f in FORMATS.values() if f.argument)


def names_chunks(path: str) -> bool:
    """Tell whether an output of this name is a folder of chunks."""
    return path.rstrip("/").lower().endswith(tuple(CHUNKED))


def is_chunked(fmt: str) -> bool:
    """Tell whether a format is a folder of chunks."""
    return fmt in FORMATS and FORMATS[fmt].chunked
