"""Chunks: their files and shards, below the folder of an array, and the codecs that pack them.

A shard has several chunks and an index of their offsets. Codecs are looked up in the tables below,
not in a registry, so that a file cannot run a plugin. The decoded size is known in advance, and no
codec returns more. A package is imported on first use.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.chunks import inside, sizes, slices, tiled
from gathercli.io.files import unreadable
from gathercli.io.folders import check_place, open_in
from gathercli.io.formats.foreign import not_installed
from gathercli.spec.shapes import product
from gathercli.text import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from gathercli.compute.chunks import Box
    from gathercli.compute.storage import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec, Codec

    FileCallback: TypeAlias = Callable[[str, os.stat_result | None], None]


class ChunkFile:
    """The open file of a chunk or a shard."""

    def __init__(self, fd: int, size: int, spec: ArraySpec) -> None:
        self._fd, self.size, self._spec = fd, size, spec
        self._content: AnyArray | None = None

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def read(self) -> AnyArray:
        """Read the whole file and cache it for `part`; raise ValueError for a wrong size."""
        self._check_size()
        if self._content is None:
            self._content = self._bytes(0, self.size)
        return self._content

    def part(self, start: int, length: int) -> AnyArray:
        """Read bytes of a shard; a negative start counts from the end.

        Raise ValueError if the range is outside the file, or longer than a chunk.
        """
        self._check_size()
        first = start + self.size if start < 0 else start
        stop = first + length
        # `start` and `length` come from the index in the file, so they may have any value.
        if not 0 <= first < stop <= self.size:
            raise ValueError(f"it has {in_bytes(self.size)}, and none at {first} to {stop}")
        if length > max(self._spec.max_packed, self._spec.index_nbytes):
            raise ValueError(f"its part has {in_bytes(length)}, more than a chunk can have")
        return self._bytes(first, length) if self._content is None else self._content[first:stop]

    def rows(self, first: int, stop: int) -> AnyArray:
        """Read rows of an `ArraySpec.plain` chunk."""
        rows = np.empty((stop - first, *self._spec.chunks[1:]), self._spec.file_dtype)
        raw = rows.reshape(-1).view(np.uint8)
        self._fill(raw, first * (raw.size // len(rows)))
        return rows

    def _check_size(self) -> None:
        if not self.size and self._spec.chunk_nbytes:
            raise ValueError("it is empty")
        if self.size > self._spec.max_file:
            raise ValueError(f"it has {in_bytes(self.size)}, more than a chunk can have")

    def _bytes(self, start: int, length: int) -> AnyArray:
        out = np.empty(length, np.uint8)
        self._fill(out, start)
        return out

    def _fill(self, raw: AnyArray, start: int) -> None:
        done = 0
        while done < len(raw):  # a read may be short
            count = os.preadv(self._fd, [raw[done:].data], start + done)
            if not count:
                raise ValueError(f"it is cut before byte {start + len(raw)}")
            done += count


class ChunkFiles:
    """The chunk files in the folder of an array, which is `name` in messages.

    `on_read` is called with the path and status of each file before it is read; None for an absent
    one.
    """

    def __init__(
        self, folder: str, name: str, spec: ArraySpec, on_read: FileCallback | None = None
    ) -> None:
        self._folder, self._name, self._spec, self._on_read = folder, name, spec, on_read
        self._real = os.path.realpath(folder)
        self._checked_folder = ""  # the last folder accepted by `_check_absent`

    def open(self, key: str) -> ChunkFile | None:
        """Open a file for reading; return None if it is absent.

        Raise ValueError if the file is not regular, or a link is broken or leads out of the folder,
        and NoInputError if it cannot be read.
        """
        path = os.path.join(self._folder, key)
        try:
            fd, status = open_in(path, self._real)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(path):
                raise ValueError("it links to nothing") from None
            self._check_absent(os.path.dirname(path))
            if self._on_read is not None:
                self._on_read(path, None)
            return None
        except OSError as error:
            raise unreadable(f"{self._name}/{key}", error) from None
        try:
            if self._on_read is not None:
                self._on_read(path, status)
        except BaseException:
            os.close(fd)
            raise
        return ChunkFile(fd, status.st_size, self._spec)

    def _check_absent(self, folder: str) -> None:
        """Raise if a file is absent because a link leads out of the folder of the array."""
        if folder != self._checked_folder:
            check_place(os.path.realpath(folder), self._real)
            self._checked_folder = folder

    def write(self, key: str, content: memoryview) -> None:
        """Write a file atomically; do not create the folder of the array, which may be gone."""
        *folders, _ = key.split("/")
        for depth in range(1, len(folders) + 1):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self._folder, *folders[:depth]))
        path = os.path.join(self._folder, key)
        partial = f"{path}.{os.urandom(6).hex()}.partial"
        try:
            with open(partial, "xb") as file:
                file.write(content)
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise


_ABSENT_CHUNK: Final = (1 << 64) - 1


def read(
    spec: ArraySpec, codec: ChunkCodec, file: ChunkFile, box: Box, absent: Callable[[Box], None]
) -> AnyArray:
    """Read a box within one shard; raise ValueError or RuntimeError if the shard is damaged.

    `absent` is called with the part of the box in each chunk that the shard lacks.
    """
    if sizes(box) == spec.grid:  # read the file once: its chunks are contiguous
        file.read()
    index = _index(spec, file)
    out = spec.fill_array(sizes(box))
    for part in tiled(box, spec.chunks):
        dims = zip(part, spec.chunks, spec.chunks_per_file, strict=True)
        coordinates = tuple(first // size % count for (first, _), size, count in dims)
        start, length = index[coordinates].tolist()
        if start == length == _ABSENT_CHUNK:
            absent(part)
            continue
        chunk = codec.decode(file.part(start, length))
        out[slices(inside(part, box))] = chunk[slices(spec.inside_chunk(part))]
    return out


def _index(spec: ArraySpec, file: ChunkFile) -> AnyArray:
    """Read the start and length of each chunk in bytes: shape (chunks_per_file.., 2)."""
    length = spec.index_nbytes
    raw = file.part(0 if spec.index_first else -length, length)
    if len(spec.shard_index) > 1:
        raw = strip_checksum(raw)
    return raw.view("<u8").reshape(*spec.chunks_per_file, 2)


_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
# The packages of codecs outside the standard library.
_CODEC_PACKAGES: Final = {
    "blosc": "numcodecs",
    "zstd": "numcodecs",
    "lz4": "numcodecs",
    "shuffle": "numcodecs",
    "delta": "numcodecs",
    "crc32c": "google_crc32c",
}

_SHUFFLE_NUMBERS: Final = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}


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
    """A thread-safe encoder and decoder of the chunks of an array.

    Raise InputError (``format``) if the package of a codec is not installed.
    """

    def __init__(self, spec: ArraySpec) -> None:
        self._spec = spec
        self._axes = list(range(len(spec.chunks)))
        # The codecs in the order of encoding, each with the size of its input in bytes.
        self._steps: list[tuple[Codec, int]] = []
        size = spec.chunk_nbytes
        for codec in spec.pipeline:
            name = codec["name"]
            if name == "transpose":
                self._axes = [self._axes[d] for d in codec["order"]]
            elif name != "bytes":
                if name in _CODEC_PACKAGES:
                    _package(_CODEC_PACKAGES[name])
                self._steps.append((codec, size))
                size = _packed_size(codec, size, spec)

    def decode(self, raw: AnyArray) -> AnyArray:
        """Decode a chunk to elements in the byte order of the file.

        Raise ValueError or RuntimeError if the bytes are malformed.
        """
        spec = self._spec
        if len(raw) > spec.max_packed:
            raise ValueError(f"it has {in_bytes(len(raw))}, more than a chunk can have")
        for codec, size in reversed(self._steps):
            raw = _DECODERS[codec["name"]](raw, codec, size)
        if raw.nbytes < spec.chunk_nbytes:
            raise ValueError(f"it is cut: it has {in_bytes(raw.nbytes)}")
        if raw.nbytes != spec.chunk_nbytes:
            raise ValueError(f"it has {in_bytes(raw.nbytes)}")
        stored = raw.view(spec.file_dtype).reshape([spec.chunks[d] for d in self._axes])
        return stored.transpose(np.argsort(self._axes))

    def encode(self, chunk: AnyArray) -> memoryview:
        """Encode a chunk; a codec raises ValueError, TypeError or RuntimeError for bad options."""
        stored = chunk.transpose(self._axes).astype(self._spec.file_dtype, order="C", copy=False)
        packed: Any = stored.reshape(-1)
        for codec, _ in self._steps:
            packed = _ENCODERS[codec["name"]](packed, codec)
        return memoryview(packed if isinstance(packed, bytes) else packed.view(np.uint8))


def _packed_size(codec: Codec, size: int, spec: ArraySpec) -> int:
    """Return the size of the output of a codec; it is meaningless after a compressor."""
    if codec["name"] == "delta":
        differences = np.dtype(codec.get("astype", codec["dtype"]))
        return product(spec.chunks) * differences.itemsize
    return size + 4 if codec["name"] == "crc32c" else size


def _options(codec: Codec) -> dict[str, Any]:
    return {key: value for key, value in codec.items() if key != "name"}


# Decoders


def _check_size(actual: int, size: int) -> None:
    if actual != size:
        raise ValueError(f"it unpacks to {in_bytes(actual)}")


def _from_blosc(raw: AnyArray, _: Codec, size: int) -> AnyArray:
    if len(raw) < 16:
        raise ValueError(f"it is cut at byte {len(raw)}, inside its header")
    unpacked, _, length = struct.unpack_from("<III", raw.data, 4)
    _check_size(unpacked, size)
    if length > len(raw):
        raise ValueError(f"it is cut: it has {len(raw)} of {in_bytes(length)}")
    if length != len(raw):
        raise ValueError(f"it has {in_bytes(len(raw))} and says {length}")
    out = np.empty(size, np.uint8)
    _package("numcodecs").blosc.decompress(raw, out)
    return out


def _from_zstd(array: AnyArray, _: Codec, size: int) -> AnyArray:
    """Decode a frame; add the expected size to a header without one."""
    raw = array.data
    if bytes(raw[:4]) != _ZSTD_MAGIC[: len(raw)]:
        raise ValueError("it does not start as zstd does")
    if len(raw) < 6:
        raise ValueError(f"it is cut at byte {len(raw)}, inside its header")
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
    out = np.empty(size, np.uint8)  # matches the header, so that no frame overruns it
    _package("numcodecs").zstd.decompress(raw, out)
    return out


def _check_blocks(raw: memoryview, at: int, checksum: int) -> None:
    """Raise if a zstd frame ends before its last block, or the bytes of its checksum.

    The first block is at `at`: RFC 8878, 3.1.1.2.
    """
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
    if len(raw) < 4:
        raise ValueError(f"it is cut at byte {len(raw)}, inside its header")
    _check_size(int.from_bytes(raw[:4], "little"), size)
    out = np.empty(size, np.uint8)
    try:
        _package("numcodecs").lz4.decompress(raw, out)
    except RuntimeError as error:
        raise ValueError(f"it is cut or damaged: {error}") from error
    return out


def _inflate(raw: AnyArray, size: int, bits: int) -> AnyArray:
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


def strip_checksum(raw: AnyArray) -> AnyArray:
    """Remove the CRC-32C at the end of `raw`; raise ValueError if it does not match."""
    if len(raw) < 4:
        raise ValueError(f"it has {in_bytes(len(raw))}, fewer than its checksum")
    rest, expected = raw[:-4], int.from_bytes(raw[-4:], "little")
    checksum = _package("google_crc32c").value(rest.tobytes())
    if checksum != expected:
        raise ValueError(f"its checksum is 0x{checksum:08x} and it says 0x{expected:08x}")
    return rest


def _filter(codec: Codec) -> Any:
    """Return the `numcodecs` filter of a codec."""
    package = _package("numcodecs")
    return {"shuffle": package.Shuffle, "delta": package.Delta}[codec["name"]](**_options(codec))


def _unfilter(raw: AnyArray, codec: Codec, _: int) -> AnyArray:
    elements: AnyArray = _filter(codec).decode(raw)
    return elements.view(np.uint8)


# The decoder of each codec, called with the bytes, the codec and the decoded size.
_DECODERS: Final[dict[str, Callable[[AnyArray, Codec, int], AnyArray]]] = {
    "blosc": _from_blosc,
    "zstd": _from_zstd,
    "lz4": _from_lz4,
    "gzip": lambda raw, _, size: _inflate(raw, size, _GZIP_BITS),
    "zlib": lambda raw, _, size: _inflate(raw, size, zlib.MAX_WBITS),
    "shuffle": _unfilter,
    "delta": _unfilter,
    "crc32c": lambda raw, *_: strip_checksum(raw),
}


# Encoders


def _to_blosc(elements: Any, codec: Codec) -> Any:
    """Encode with blosc; without ``typesize`` it uses the item size of `elements`."""
    options = {"shuffle": -1} | _options(codec)
    options["shuffle"] = _SHUFFLE_NUMBERS.get(options["shuffle"], options["shuffle"])
    return _package("numcodecs").Blosc(**options).encode(elements)


def _deflate(elements: Any, codec: Codec, bits: int) -> bytes:
    packer = zlib.compressobj(codec.get("level", 5), wbits=bits)
    return packer.compress(elements) + packer.flush()


def _append_checksum(elements: Any, _: Codec) -> bytes:
    raw = bytes(elements)
    checksum: int = _package("google_crc32c").value(raw)
    return raw + checksum.to_bytes(4, "little")


# The encoder of each codec, called with the elements or bytes, and the codec.
_ENCODERS: Final[dict[str, Callable[[Any, Codec], Any]]] = {
    "blosc": _to_blosc,
    "zstd": lambda raw, codec: _package("numcodecs").Zstd(**_options(codec)).encode(raw),
    "lz4": lambda raw, codec: _package("numcodecs").LZ4(**_options(codec)).encode(raw),
    "gzip": lambda raw, codec: _deflate(raw, codec, _GZIP_BITS),
    "zlib": lambda raw, codec: _deflate(raw, codec, zlib.MAX_WBITS),
    "shuffle": lambda raw, codec: _filter(codec).encode(raw),
    "delta": lambda raw, codec: _filter(codec).encode(raw),
    "crc32c": _append_checksum,
}
