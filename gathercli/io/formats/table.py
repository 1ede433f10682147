"""The formats of files, a row each, from which reading, writing, options and help follow.

A new format is one module and one row here. The module has a reader, a subclass of
`content.Content`, and a writer: for text a function of named results and `encode.TextOptions` that
yields it in pieces of bytes, for a binary format one of named results and a `stream.ByteTarget`. A
reader raises `InputError` for a malformed file, and a writer for a type or shape that the format
cannot store. The row names them, and `load` imports them: a run needs one or two.
"""

from __future__ import annotations

from gathercli.records import Any, Callable, Final, NamedTuple, lru_cache
from gathercli.slices import place

SNIFF_SIZE: Final = 4096  # bytes at the start of a file that show its format
# Bytes that any file of a binary format has more of, or that show its format.
_MIN_FILE_BYTES: Final = 9
NPY: Final = b"\x93NUMPY"
_ZIP_MARKS: Final = (b"PK\x03\x04", b"PK\x05\x06")
# The start of an ONNX TensorProto: its dims, one by one, and its data type.
_PROTO_PATTERN: Final = rb"(?:\x08[\x80-\xff]{0,9}[\0-\x7f])*\x10[\x01-\x7f]"


class Format(NamedTuple):
    """A format."""

    suffix: str  # of its files
    # an example that names a tensor of such a file; blank: another row has one, or it is no file
    argument: str = ""
    title: str = ""  # of a model, what it is called
    about: str = ""  # an explanation of its name in help
    # whether a file with this start has it; None: no start shows it
    sniff: Callable[[bytes], bool] | None = None
    reader: str = ""  # ``package.module:name``; blank: a token or another row chooses it
    writer: str = ""  # as `reader`; for a folder of chunks the class of its outputs
    # as `reader`; a function of a result, the path (None for stdout) and the option that chose the
    # format, which yields notes on what the format does not store
    losses: str = ""
    binary: bool = False  # not text
    ordered: bool = False  # whether its elements have a byte order, which ``info`` shows
    several: bool = False  # whether a file has several tensors
    mapped: bool = False  # whether several tensors of a file are mapped, not read into memory
    packs: bool = False  # whether several elements of less than 8 bits may share a byte
    named: bool = False  # whether it stores the names of tensors
    # patterns of names that it cannot store, each with a description
    unfit: tuple[tuple[str, str], ...] = ()
    # the files that tell a folder of chunks; empty for a format of one file
    marks: tuple[str, ...] = ()

    @property
    def chunked(self) -> bool:
        """Whether it is a folder of chunks."""
        return bool(self.marks)


@lru_cache(maxsize=None)
def load(path: str) -> Any:
    """Import a reader or a writer."""
    module, _, name = path.partition(":")
    # The package `importlib` takes longer to import than most of these modules.
    return getattr(__import__(module, fromlist=[name]), name)


def _is_safetensors(start: bytes) -> bool:
    headed = start[8:9] == b"{" and b"\0" in start[:8]
    return headed and (int.from_bytes(start[:8], "little") < 1 << 32 or not _is_proto(start))


def _is_proto(start: bytes) -> bool:
    packed = start[:1] == b"\x0a" and start[2 + start[1] :][:1] == b"\x10" if start[1:] else False
    if packed:
        return True
    import re

    return re.match(_PROTO_PATTERN, start) is not None


def _is_onnx(start: bytes) -> bool:
    """Look for the version of a ModelProto and one of the fields that follow it."""
    fields = b"\x12\x1a\x22\x28\x32\x3a\x42"
    return len(start) > 2 and start[0] == 8 and 0 < start[1] <= 0x20 and start[2] in fields


def _is_ir(start: bytes) -> bool:
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] != b"<":
        return False
    import re

    return re.match(rb"(?s)<(?:[?!].*?>\s*<)*net[\s>]", start) is not None


_FORMATS: Final = "gathercli.io.formats"

FORMATS: Final = {
    "npy": Format(
        ".npy",
        ".npy",
        sniff=lambda start: start.startswith(NPY),
        reader=f"{_FORMATS}.npy:Npy",
        writer=f"{_FORMATS}.npy:npy_file",
        losses=f"{_FORMATS}.npy:losses",
        binary=True,
        ordered=True,
    ),
    "npz": Format(
        ".npz",
        ".npz#name",
        sniff=lambda start: start.startswith(_ZIP_MARKS),
        reader=f"{_FORMATS}.npz:Archive",
        writer=f"{_FORMATS}.npz:npz_file",
        losses=f"{_FORMATS}.npy:losses",
        binary=True,
        ordered=True,
        several=True,
        named=True,
        unfit=(("\0", "a NUL"),),
    ),
    "json": Format(
        ".json",
        ".json#name",
        sniff=lambda start: start[:1] in (b"[", b"{") and b"\0" not in start[:16],
        reader=f"{_FORMATS}.textfile:Document",
        writer=f"{_FORMATS}.encode:plain_json",
        losses=f"{_FORMATS}.encode:json_losses",
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
        mapped=True,
        named=True,
        unfit=((r"\A__metadata__\Z", "what the format keeps for itself"),),
    ),
    "pb": Format(
        ".pb",
        ".pb",
        about="ONNX",
        sniff=_is_proto,
        reader="gathercli.io.graphs.tensorproto:ProtoFile",
        writer="gathercli.io.graphs.tensorproto:proto_file",
        binary=True,
        packs=True,
        named=True,
    ),
    "bin": Format(
        ".bin",
        "bin:2x3xf32@x.bin",
        about="raw bytes",
        writer=f"{_FORMATS}.npy:raw_file",
        losses=f"{_FORMATS}.npy:raw_losses",
        binary=True,
        ordered=True,
    ),
    "zarr": Format(
        ".zarr",
        ".zarr#name",
        reader="gathercli.io.zarr.stored:Zarr",
        writer="gathercli.io.zarr.created:Creation",
        losses="gathercli.io.zarr.stored:losses",
        binary=True,
        ordered=True,
        marks=("zarr.json", ".zarray", ".zgroup"),
    ),
}

# The formats of models, whose tensors are read and never written.
MODELS: Final = {
    "onnx": Format(
        ".onnx",
        ".onnx#name",
        title="ONNX model",
        sniff=_is_onnx,
        reader=place("formats", "onnx"),
        binary=True,
        several=True,
        mapped=True,
    ),
    "openvino": Format(
        ".xml",
        ".xml#name",
        title="OpenVINO IR",
        sniff=_is_ir,
        reader=place("formats", "openvino"),
        binary=True,
        several=True,
        mapped=True,
    ),
}


def row_of(name: str) -> Format:
    """Return the row of a format that is read."""
    return FORMATS.get(name) or MODELS[name]


# The format of each suffix, in the order of the rows.
BY_SUFFIX: Final = {f.suffix: name for name, f in FORMATS.items() if f.argument}
# The formats of folders of chunks, by suffix.
CHUNKED: Final = {f.suffix: name for name, f in FORMATS.items() if f.chunked}
_CHUNKED_SUFFIXES: Final = tuple(CHUNKED)
ARGUMENTS: Final = tuple(f.argument for f in (*FORMATS.values(), *MODELS.values()) if f.argument)


def names_chunks(path: str) -> bool:
    """Tell whether an output of this name would be a folder of chunks."""
    return path.rstrip("/").lower().endswith(_CHUNKED_SUFFIXES)


def is_chunked(fmt: str) -> bool:
    """Tell whether a format is a folder of chunks."""
    return fmt in FORMATS and FORMATS[fmt].chunked


def beginning(start: bytes, name: str) -> str | None:
    """Return the binary format of which a file is a start too short to show it, by its suffix."""
    for magic, fmt in ((NPY, "npy"), *((each, "npz") for each in _ZIP_MARKS)):
        if magic.startswith(start) and (len(start) > 1 or start > b"\x7f"):
            return fmt
    fmt = BY_SUFFIX.get("." + name.rpartition(".")[2].lower(), "")
    known = fmt and FORMATS[fmt].binary and FORMATS[fmt].sniff is not None
    return fmt if known and start.strip() and len(start) < _MIN_FILE_BYTES else None


def sniff(start: bytes) -> str | None:
    """Detect the format by the first `SNIFF_SIZE` bytes; return None for unknown ones."""
    for rows in (FORMATS, MODELS):
        for name, row in rows.items():
            if row.sniff is not None and row.sniff(start):
                return name
    return None
