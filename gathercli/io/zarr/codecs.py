"""Pack chunks to bytes and unpack them, by the codecs of the metadata.

A codec is looked up in the tables below, never in a registry: a file must not name a plugin to run.
The unpacked size is known before anything is unpacked, and no codec returns more. A package is
imported when its first codec is needed.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.errors import InputError
from gathercli.io.formats.foreign import install, missing
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.zarr.arrayspec import ArraySpec, Codec

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PACKAGES: Final = {
    "blosc": "numcodecs",
    "zstd": "numcodecs",
    "lz4": "numcodecs",
    "shuffle": "numcodecs",
    "delta": "numcodecs",
    "crc32c": "google_crc32c",
}
"""The packages of the codecs that the standard library lacks."""

_SHUFFLES: Final = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}


@cache
def _package(name: str) -> Any:
    """Import a package.

    Raises
    ------
    InputError
        ``format``: it is not installed.
    """
    try:
        module: Any = import_module(name)
    except ImportError:
        message = missing(name.replace("_", "-"))
        raise InputError(message, rule="format", hint=install("zarr")) from None
    if name == "numcodecs":
        module.blosc.use_threads = False  # its threads share one lock; ours run in parallel
    return module


class ChunkCodec:
    """Packs and unpacks the chunks of an array; several threads may use it at once.

    Raises
    ------
    InputError
        ``format``: the package of a codec is not installed.
    """

    def __init__(self, spec: ArraySpec) -> None:
        self._spec = spec
        self._axes = list(range(len(spec.chunks)))
        self._steps: list[tuple[Codec, int]] = []
        """Each codec in the order of packing, and the bytes that go into it."""
        size = spec.chunk_nbytes
        for codec in spec.pipeline:
            name = codec["name"]
            if name == "transpose":
                self._axes = [self._axes[d] for d in codec["order"]]
            elif name != "bytes":
                if name in _PACKAGES:
                    _package(_PACKAGES[name])
                self._steps.append((codec, size))
                size = _packed_size(codec, size, spec)

    def decode(self, raw: AnyArray) -> AnyArray:
        """Unpack the bytes of a chunk.

        Returns
        -------
            The elements in the shape of a chunk and the byte order of the file.

        Raises
        ------
        ValueError, RuntimeError
            The bytes are no chunk.
        """
        spec = self._spec
        if len(raw) > spec.max_packed:
            raise ValueError(f"it has {len(raw)} bytes, more than a chunk can have")
        for codec, size in reversed(self._steps):
            raw = _DECODERS[codec["name"]](raw, codec, size)
        if raw.nbytes != spec.chunk_nbytes:
            raise ValueError(f"it has {raw.nbytes} bytes")
        stored = raw.view(spec.file_dtype).reshape([spec.chunks[d] for d in self._axes])
        return stored.transpose(np.argsort(self._axes))

    def encode(self, chunk: AnyArray) -> memoryview:
        """Pack the elements of a chunk.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            A codec does not accept its options.
        """
        stored = chunk.transpose(self._axes).astype(self._spec.file_dtype, order="C", copy=False)
        packed: Any = stored.reshape(-1)
        for codec, _ in self._steps:
            packed = _ENCODERS[codec["name"]](packed, codec)
        return memoryview(packed if isinstance(packed, bytes) else packed.view(np.uint8))


def _packed_size(codec: Codec, size: int, spec: ArraySpec) -> int:
    """Return the bytes that a codec makes of `size` bytes; of no use behind a compressor."""
    if codec["name"] == "delta":
        differences = np.dtype(codec.get("astype", codec["dtype"]))
        return product(spec.chunks) * differences.itemsize
    return size + 4 if codec["name"] == "crc32c" else size


def _options(codec: Codec) -> dict[str, Any]:
    return {key: value for key, value in codec.items() if key != "name"}


# Unpacking


def _check(stated: int, size: int) -> None:
    if stated != size:
        raise ValueError(f"it unpacks to {stated} bytes")


def _from_blosc(raw: AnyArray, _: Codec, size: int) -> AnyArray:
    if len(raw) < 16:
        raise ValueError(f"it ends at byte {len(raw)}, inside its header")
    unpacked, _, length = struct.unpack_from("<III", raw.data, 4)
    _check(unpacked, size)
    if length != len(raw):
        raise ValueError(f"it has {len(raw)} bytes and says {length}")
    out = np.empty(size, np.uint8)
    _package("numcodecs").blosc.decompress(raw, out)
    return out


def _from_zstd(array: AnyArray, _: Codec, size: int) -> AnyArray:
    """Unpack a frame; write the expected size into the header of one that states none."""
    raw = array.data
    if bytes(raw[:4]) != _ZSTD or len(raw) < 6:
        raise ValueError("it does not start as zstd does")
    flags = raw[4]
    single = flags >> 5 & 1
    # RFC 8878, 3.1.1.1: flags, a window unless it is a single segment, a dictionary's id, the size
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    if width:
        _check(int.from_bytes(raw[at : at + width], "little") + 256 * (width == 2), size)
    else:
        stated = size.to_bytes(8, "little")
        raw = memoryview(b"".join((raw[:4], bytes([flags | 0xC0]), raw[5:at], stated, raw[at:])))
    out = np.empty(size, np.uint8)  # of the size in the header, so that no frame overruns it
    _package("numcodecs").zstd.decompress(raw, out)
    return out


def _from_lz4(raw: AnyArray, _: Codec, size: int) -> AnyArray:
    _check(int.from_bytes(raw[:4], "little"), size)
    out = np.empty(size, np.uint8)
    _package("numcodecs").lz4.decompress(raw, out)
    return out


def _inflated(raw: AnyArray, size: int, bits: int) -> AnyArray:
    unpacker = zlib.decompressobj(bits)
    out = unpacker.decompress(raw.data, size + 1)
    if len(out) > size:
        raise ValueError(f"it unpacks to more than {size} bytes")
    _check(len(out), size)
    if not unpacker.eof:
        raise ValueError("it is truncated")
    if unpacker.unused_data:
        raise ValueError(f"{len(unpacker.unused_data)} bytes follow its end")
    return np.frombuffer(out, np.uint8)


def without_sum(raw: AnyArray) -> AnyArray:
    """Check the CRC-32C at the end of some bytes, and return the bytes before it.

    Raises
    ------
    ValueError
        It does not match.
    """
    if len(raw) < 4:
        raise ValueError(f"it has {len(raw)} bytes, fewer than its checksum")
    rest, stated = raw[:-4], int.from_bytes(raw[-4:], "little")
    checksum = _package("google_crc32c").value(rest.tobytes())
    if checksum != stated:
        raise ValueError(f"its checksum is 0x{checksum:08x} and it says 0x{stated:08x}")
    return rest


def _filter(codec: Codec) -> Any:
    """Return the filter of `numcodecs` with the options of a codec."""
    package = _package("numcodecs")
    return {"shuffle": package.Shuffle, "delta": package.Delta}[codec["name"]](**_options(codec))


def _unfiltered(raw: AnyArray, codec: Codec, _: int) -> AnyArray:
    elements: AnyArray = _filter(codec).decode(raw)
    return elements.view(np.uint8)


_DECODERS: Final[dict[str, Callable[[AnyArray, Codec, int], AnyArray]]] = {
    "blosc": _from_blosc,
    "zstd": _from_zstd,
    "lz4": _from_lz4,
    "gzip": lambda raw, _, size: _inflated(raw, size, _GZIP),
    "zlib": lambda raw, _, size: _inflated(raw, size, zlib.MAX_WBITS),
    "shuffle": _unfiltered,
    "delta": _unfiltered,
    "crc32c": lambda raw, *_: without_sum(raw),
}
"""What unpacks each codec: a function of the bytes, the codec, and the size they unpack to."""


# Packing


def _to_blosc(elements: Any, codec: Codec) -> Any:
    """Pack by blosc, which takes the item size from `elements` unless the codec states it."""
    options = {"shuffle": -1} | _options(codec)
    options["shuffle"] = _SHUFFLES.get(options["shuffle"], options["shuffle"])
    return _package("numcodecs").Blosc(**options).encode(elements)


def _deflated(elements: Any, codec: Codec, bits: int) -> bytes:
    packer = zlib.compressobj(codec.get("level", 5), wbits=bits)
    return packer.compress(elements) + packer.flush()


def _with_sum(elements: Any, _: Codec) -> bytes:
    raw = bytes(elements)
    checksum: int = _package("google_crc32c").value(raw)
    return raw + checksum.to_bytes(4, "little")


_ENCODERS: Final[dict[str, Callable[[Any, Codec], Any]]] = {
    "blosc": _to_blosc,
    "zstd": lambda raw, codec: _package("numcodecs").Zstd(**_options(codec)).encode(raw),
    "lz4": lambda raw, codec: _package("numcodecs").LZ4(**_options(codec)).encode(raw),
    "gzip": lambda raw, codec: _deflated(raw, codec, _GZIP),
    "zlib": lambda raw, codec: _deflated(raw, codec, zlib.MAX_WBITS),
    "shuffle": lambda raw, codec: _filter(codec).encode(raw),
    "delta": lambda raw, codec: _filter(codec).encode(raw),
    "crc32c": _with_sum,
}
"""What packs by each codec: a function of the elements, or bytes, and the codec."""
