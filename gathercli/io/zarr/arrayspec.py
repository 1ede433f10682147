"""An array: its metadata, the same for both versions of the format, and the codecs of its chunks.

Codecs are looked up in the table below, not in a registry, so that a file cannot run a plugin. The
decoded size is known in advance, and no codec returns more. A package is imported on first use.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.chunks import ChunkLayout
from gathercli.compute.storage import AnyArray, Box, storage_of
from gathercli.io.formats.content import Layout
from gathercli.io.formats.foreign import not_installed
from gathercli.spec.dtypes import BOOL, STRING, DType, Kind
from gathercli.spec.shapes import product
from gathercli.text import in_bytes

Codec = dict[str, Any]  # the name of a codec, under the key ``name``, and its options
SLACK_BYTES: Final = 1 << 10  # bytes that headers and checksums may add to a chunk


class ArraySpec(NamedTuple):
    """The metadata of an array."""

    version: int  # of the format: 2 or 3
    dtype: DType
    file_dtype: np.dtype[Any]  # of the elements in the files
    shape: tuple[int, ...]
    grid: tuple[int, ...]  # the shape of a file, and
    chunks: tuple[int, ...]  # of a chunk; they differ for a shard
    # of a chunk, in the order of encoding; in version 2 the filters and the compressor
    codecs: tuple[Codec, ...]
    fill: Any  # the fill value as JSON; None for zero
    order: str = "C"  # the memory order of version 2, ``C`` or ``F``
    key_encoding: str = "v2"  # of chunk files: ``default`` or ``v2``,
    separator: str = "."  # with ``.`` or ``/``
    shard_index: tuple[Codec, ...] = ()  # ``bytes`` and maybe ``crc32c``, of the index of a shard,
    index_first: bool = False  # and whether it precedes the chunks
    attributes: dict[str, Any] | None = None  # the user's attributes,
    dimension_names: list[str | None] | None = None  # and the names of the dimensions, in version 3

    @property
    def sharded(self) -> bool:
        """Whether files are shards, each with an index of its chunks."""
        return bool(self.shard_index)

    @property
    def chunk_nbytes(self) -> int:
        """The size of an unpacked chunk in bytes."""
        return product(self.chunks) * self.file_dtype.itemsize

    @property
    def chunks_per_file(self) -> tuple[int, ...]:
        """The number of chunks in a file along each dimension."""
        return tuple(whole // part for whole, part in zip(self.grid, self.chunks, strict=True))

    @property
    def index_nbytes(self) -> int:
        """The size of the index of a shard in bytes."""
        checksums = len(self.shard_index) - 1
        return 16 * product(self.chunks_per_file) + 4 * checksums if self.sharded else 0

    @property
    def max_packed(self) -> int:
        """The largest valid packed chunk in bytes; incompressible data grow a little."""
        return self.chunk_nbytes + self.chunk_nbytes // 8 + SLACK_BYTES

    @property
    def max_file(self) -> int:
        """The largest valid file in bytes."""
        return self.max_packed * product(self.chunks_per_file) + self.index_nbytes

    @property
    def fortran(self) -> bool:
        """Whether the first dimension varies fastest in the files."""
        axes = list(range(len(self.shape)))
        return self.order == "F" or any(
            codec["name"] == "transpose" and codec["order"] == axes[::-1] != axes
            for codec in self.codecs
        )

    @property
    def plain(self) -> bool:
        """Whether files are unpacked chunks in row-major order."""
        packed = any(codec["name"] != "bytes" for codec in self.codecs)
        return not (packed or self.sharded or self.order == "F" or self.dtype is STRING)

    @property
    def codec_names(self) -> str:
        """A summary of the codecs: ``blosc(lz4)+shuffle``, ``none``."""
        return "+".join(_brief(each) for each in self.codecs if each["name"] != "bytes") or "none"

    @property
    def layout(self) -> Layout:
        """The layout of the elements in the files."""
        shards = self.grid if self.sharded else None
        chunked = ChunkLayout(self.version, self.chunks, shards, self.codec_names)
        return Layout(self.dtype, self.shape, self.file_dtype, 0, self.fortran, chunked)

    def fill_array(self, shape: Sequence[int]) -> AnyArray:
        """Return an array of the fill value, in native byte order."""
        dtype = self.file_dtype.newbyteorder("=")
        if self.fill is None:
            return np.zeros(shape, dtype)
        with np.errstate(over="ignore"):  # the value may be too large for the type
            return np.full(shape, parse_fill(self.fill, self.dtype), dtype)

    def inside_chunk(self, box: Box) -> Box:
        """Translate a box within one chunk to coordinates of the chunk."""
        return tuple(
            (start % size, stop - start + start % size)
            for (start, stop), size in zip(box, self.chunks, strict=True)
        )

    def key(self, box: Box) -> str:
        """Return the relative path of the file that has the first cell of a box."""
        names = list(map(str, grid_coordinates(box, self.grid)))
        if self.key_encoding == "default":
            return self.separator.join(["c", *names])
        return self.separator.join(names) or "0"


def grid_coordinates(box: Box, chunks: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates in the grid of the chunk that contains the first cell of a box."""
    return tuple(start // size for (start, _), size in zip(box, chunks, strict=True))


def parse_fill(value: Any, dtype: DType) -> Any:
    """Convert a fill value from JSON; raise ValueError or OverflowError if it does not fit."""
    if dtype is STRING:
        if isinstance(value, str):
            return value
    elif dtype.kind is Kind.COMPLEX:
        if isinstance(value, list) and len(value) == 2:
            return complex(_number(value[0]), _number(value[1]))
    elif dtype.kind is Kind.FLOAT:
        return _number(value)
    elif isinstance(value, bool | int) or (isinstance(value, float) and value.is_integer()):
        return np.array(int(value), np.int8 if dtype is BOOL else storage_of(dtype))[()]
    raise ValueError("no value of the type")


def _number(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("0x") and len(value) in (6, 10, 18):
        return np.frombuffer(bytes.fromhex(value[2:]), f">f{len(value) // 2 - 1}")[0]
    if value in ("NaN", "Infinity", "-Infinity") or isinstance(value, bool | int | float):
        return float(value)
    raise ValueError("no number")


def zero_fill(dtype: DType) -> Any:
    """Return the fill value of a new array, as JSON."""
    special: dict[Kind, Any] = {Kind.STRING: "", Kind.BOOL: False, Kind.COMPLEX: [0.0, 0.0]}
    return special.get(dtype.kind, 0)


# Codecs

# The numbers of the shuffles of blosc, in version 2, and their names, in version 3.
_SHUFFLES: Final = {-1: "autoshuffle", 0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
_SHUFFLE_NUMBERS: Final = {name: number for number, name in _SHUFFLES.items()}
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


def _brief(codec: Codec) -> str:
    """Return the name of a codec; for blosc also its compressor and shuffle."""
    if codec["name"] != "blosc":
        return str(codec["name"])
    shuffle = codec.get("shuffle", 0)
    if isinstance(shuffle, int):
        shuffle = _SHUFFLES.get(shuffle, "noshuffle")
    return f"blosc({codec['cname']})" + ("" if shuffle == "noshuffle" else f"+{shuffle}")


def options_of(codec: Codec) -> dict[str, Any]:
    """Return the options of a codec."""
    return {key: value for key, value in codec.items() if key != "name"}


@cache
def _package(name: str) -> Any:
    """Import a package; raise InputError if it is not installed."""
    try:
        module: Any = import_module(name)
    except ImportError:
        raise not_installed(name.replace("_", "-"), "zarr") from None
    if name == "numcodecs":
        module.blosc.use_threads = False  # its threads share one lock; ours run in parallel
    return module


class ChunkCodec:
    """A thread-safe coder of the chunks of an array; raise InputError if a package is missing."""

    def __init__(self, spec: ArraySpec) -> None:
        self._spec = spec
        axes = list(range(len(spec.chunks)))
        self._axes = axes[::-1] if spec.order == "F" else axes
        # The codecs in the order of encoding, each with the size of its input in bytes.
        self._steps: list[tuple[Codec, int]] = []
        size = spec.chunk_nbytes
        for codec in spec.codecs:
            name = codec["name"]
            if name == "transpose":
                self._axes = [self._axes[d] for d in codec["order"]]
            elif name != "bytes":
                if (package := _CODECS[name].package) is not None:
                    _package(package)
                self._steps.append((codec, size))
                size = _packed_size(codec, size, spec)

    def decode(self, raw: AnyArray) -> AnyArray:
        """Decode a chunk in the file's byte order; raise ValueError, RuntimeError if malformed."""
        spec = self._spec
        if len(raw) > spec.max_packed:
            raise ValueError(f"it has {in_bytes(len(raw))}, more than a chunk can have")
        for codec, size in reversed(self._steps):
            raw = _CODECS[codec["name"]].decode(raw, codec, size)
        if raw.nbytes != spec.chunk_nbytes:
            cut = "it is cut: " if raw.nbytes < spec.chunk_nbytes else ""
            raise ValueError(f"{cut}it has {in_bytes(raw.nbytes)}")
        stored = raw.view(spec.file_dtype).reshape([spec.chunks[d] for d in self._axes])
        return stored.transpose(np.argsort(self._axes))

    def encode(self, chunk: AnyArray) -> memoryview:
        """Encode a chunk; a codec raises ValueError, TypeError or RuntimeError for bad options."""
        stored = chunk.transpose(self._axes).astype(self._spec.file_dtype, order="C", copy=False)
        packed: Any = stored.reshape(-1)
        for codec, _ in self._steps:
            packed = _CODECS[codec["name"]].encode(packed, codec)
        return memoryview(packed if isinstance(packed, bytes) else packed.view(np.uint8))


def _packed_size(codec: Codec, size: int, spec: ArraySpec) -> int:
    """Return the size of the output of a codec; it is meaningless after a compressor."""
    if codec["name"] == "delta":
        differences = np.dtype(codec.get("astype", codec["dtype"]))
        return product(spec.chunks) * differences.itemsize
    return size + 4 if codec["name"] == "crc32c" else size


def _check_header(raw: AnyArray, size: int) -> None:
    if len(raw) < size:
        raise ValueError(f"it is cut at byte {len(raw)}, inside its header")


def _check_size(actual: int, size: int) -> None:
    if actual != size:
        raise ValueError(f"it unpacks to {in_bytes(actual)}")


def _decompressed(module: str, raw: AnyArray | memoryview, size: int) -> AnyArray:
    """Decompress bytes whose header was checked, so that they do not overrun `size`."""
    out = np.empty(size, np.uint8)
    getattr(_package("numcodecs"), module).decompress(raw, out)
    return out


def _from_blosc(raw: AnyArray, _: Codec, size: int) -> AnyArray:
    _check_header(raw, 16)
    unpacked, _, length = raw[4:16].view("<u4").tolist()
    _check_size(unpacked, size)
    if length > len(raw):
        raise ValueError(f"it is cut: it has {len(raw)} of {in_bytes(length)}")
    if length != len(raw):
        raise ValueError(f"it has {in_bytes(len(raw))} and says {length}")
    return _decompressed("blosc", raw, size)


def _from_zstd(array: AnyArray, _: Codec, size: int) -> AnyArray:
    """Decode a frame; add the expected size to a header without one."""
    raw = array.data
    if bytes(raw[:4]) != _ZSTD_MAGIC[: len(raw)]:
        raise ValueError("it does not start as zstd does")
    _check_header(array, 6)
    flags = raw[4]
    single = flags >> 5 & 1
    # RFC 8878, 3.1.1.1: flags, a window unless it is a single segment, a dictionary's id, the size
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    _check_blocks(raw, at + width, 4 * (flags >> 2 & 1))
    if width:
        _check_size(int.from_bytes(raw[at : at + width], "little") + 256 * (width == 2), size)
    else:
        field = size.to_bytes(8, "little")
        raw = memoryview(b"".join((raw[:4], bytes([flags | 0xC0]), raw[5:at], field, raw[at:])))
    return _decompressed("zstd", raw, size)


def _check_blocks(raw: memoryview, at: int, checksum: int) -> None:
    """Raise if a zstd frame, whose blocks begin at `at`, ends too early: RFC 8878, 3.1.1.2."""
    last = False
    while not last:
        header = int.from_bytes(raw[at : at + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == 1 else size)  # 1 repeats one byte
        if last:
            at += checksum
        if at > len(raw):
            raise ValueError(f"it is cut: it has {in_bytes(len(raw))}, and a block ends at {at}")


def _from_lz4(raw: AnyArray, _: Codec, size: int) -> AnyArray:
    _check_header(raw, 4)
    _check_size(int.from_bytes(raw[:4], "little"), size)
    try:
        return _decompressed("lz4", raw, size)
    except RuntimeError as error:
        raise ValueError(f"it is cut or damaged: {error}") from error


def _inflate(bits: int, raw: AnyArray, _: Codec, size: int) -> AnyArray:
    unpacker = zlib.decompressobj(bits)
    out = unpacker.decompress(raw.data, size + 1)
    if len(out) > size:
        raise ValueError(f"it unpacks to more than {in_bytes(size)}")
    if not unpacker.eof:
        raise ValueError("it is cut")
    _check_size(len(out), size)
    if unpacker.unused_data:
        raise ValueError(f"its end is followed by {in_bytes(len(unpacker.unused_data))}")
    return np.frombuffer(out, np.uint8)


def _deflate(bits: int, elements: Any, codec: Codec) -> bytes:
    packer = zlib.compressobj(codec.get("level", 5), wbits=bits)
    return packer.compress(elements) + packer.flush()


def strip_checksum(raw: AnyArray) -> AnyArray:
    """Remove the CRC-32C at the end of `raw`; raise ValueError if it does not match."""
    if len(raw) < 4:
        raise ValueError(f"it has {in_bytes(len(raw))}, fewer than its checksum")
    rest, expected = raw[:-4], int.from_bytes(raw[-4:], "little")
    checksum = _package("google_crc32c").value(rest.tobytes())
    if checksum != expected:
        raise ValueError(f"its checksum is 0x{checksum:08x} and it says 0x{expected:08x}")
    return rest


def _append_checksum(elements: Any, _: Codec) -> bytes:
    raw = bytes(elements)
    checksum: int = _package("google_crc32c").value(raw)
    return raw + checksum.to_bytes(4, "little")


def _coder(name: str, codec: Codec) -> Any:
    """Return the codec of a class of `numcodecs`.

    Blosc shuffles by default, and without ``typesize`` uses the item size of the elements.
    """
    options = options_of(codec)
    if name == "Blosc":
        shuffle = options.get("shuffle", -1)
        options["shuffle"] = _SHUFFLE_NUMBERS.get(shuffle, shuffle)
    return getattr(_package("numcodecs"), name)(**options)


class CodecRow(NamedTuple):
    """How a codec is done."""

    package: str | None  # outside the standard library
    decode: Callable[[AnyArray, Codec, int], AnyArray]  # bytes, the codec and the decoded size
    encode: Callable[[Any, Codec], Any]  # elements or bytes, and the codec


def _numcodecs(name: str, decode: Callable[[AnyArray, Codec, int], AnyArray]) -> CodecRow:
    return CodecRow("numcodecs", decode, lambda raw, codec: _coder(name, codec).encode(raw))


def _filter(name: str) -> CodecRow:
    """Return the row of a filter, whose decoded size follows from its input."""
    return _numcodecs(name, lambda raw, codec, _: _coder(name, codec).decode(raw).view(np.uint8))


_CODECS: Final = {
    "blosc": _numcodecs("Blosc", _from_blosc),
    "zstd": _numcodecs("Zstd", _from_zstd),
    "lz4": _numcodecs("LZ4", _from_lz4),
    "gzip": CodecRow(None, partial(_inflate, _GZIP_BITS), partial(_deflate, _GZIP_BITS)),
    "zlib": CodecRow(None, partial(_inflate, zlib.MAX_WBITS), partial(_deflate, zlib.MAX_WBITS)),
    "shuffle": _filter("Shuffle"),
    "delta": _filter("Delta"),
    "crc32c": CodecRow("google_crc32c", lambda raw, *_: strip_checksum(raw), _append_checksum),
}
