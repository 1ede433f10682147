"""What the `zarr` package reads chunks with: codecs that cannot unpack more than a chunk holds.

Every codec is made here, from metadata that was checked: no name of a file reaches a registry of
the package, whose plugins would be code. Only this module and `shards`
import the package.
"""

from __future__ import annotations

import asyncio
import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numcodecs
import numcodecs.blosc
import numcodecs.lz4
import numcodecs.zstd
import numpy as np
import zarr
from zarr import codecs as zarr_codecs
from zarr.abc.codec import BytesBytesCodec
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.array import AsyncArray
from zarr.core.buffer import default_buffer_prototype
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.dtype import parse_dtype
from zarr.storage import LocalStore, StorePath

from gathercli.arrays.chunks import slices
from gathercli.errors import GatherError, InputError
from gathercli.io.files import unreadable
from gathercli.io.links import open_in
from gathercli.io.zarr.meta import COMPRESSORS, FILTERS
from gathercli.spec.shapes import product
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zarr.abc.codec import Codec
    from zarr.abc.store import ByteRequest
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, BufferPrototype

    from gathercli.arrays.chunks import Box
    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.zarr.meta import Spec
    from gathercli.io.zarr.stored import Note

SMALL: Final = 1 << 16
"""Bytes that take less time than handing them to another thread."""

_ZSTD: Final = b"\x28\xb5\x2f\xfd"


# Bytes that unpack to a known size


def _check(found: int, size: int) -> None:
    if found != size:
        raise ValueError(f"it unpacks to {found} bytes")


def _blosc(raw: memoryview, size: int) -> AnyArray:
    if len(raw) < 16:
        raise ValueError(f"it ends at byte {len(raw)}, inside its header")
    told, _, length = struct.unpack_from("<III", raw, 4)
    _check(told, size)
    if length != len(raw):
        raise ValueError(f"it has {len(raw)} bytes and says {length}")
    out = np.empty(size, np.uint8)
    numcodecs.blosc.decompress(raw, out)
    return out


def _zstd(raw: memoryview, size: int) -> AnyArray:
    """Unpack a frame; one that does not say its size is made to say it, so that it cannot lie."""
    if bytes(raw[:4]) != _ZSTD or len(raw) < 6:
        raise ValueError("it does not start as zstd does")
    flags = raw[4]
    single = flags >> 5 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    if width:
        found = int.from_bytes(raw[at : at + width], "little") + (256 if width == 2 else 0)
        _check(found, size)
    else:
        told = size.to_bytes(8, "little")
        raw = memoryview(b"".join((raw[:4], bytes([flags | 0xC0]), raw[5:at], told, raw[at:])))
    out = np.empty(size, np.uint8)
    numcodecs.zstd.decompress(raw, out)
    return out


def _lz4(raw: memoryview, size: int) -> AnyArray:
    _check(int.from_bytes(raw[:4], "little"), size)
    out = np.empty(size, np.uint8)
    numcodecs.lz4.decompress(raw, out)
    return out


def _deflated(raw: memoryview, size: int, bits: int) -> AnyArray:
    unpacker = zlib.decompressobj(bits)
    out = unpacker.decompress(raw, size + 1)
    if len(out) > size:
        raise ValueError(f"it unpacks to more than {size} bytes")
    _check(len(out), size)
    if not unpacker.eof:
        raise ValueError("it is truncated")
    if unpacker.unused_data:
        raise ValueError(f"{len(unpacker.unused_data)} bytes follow its end")
    return np.frombuffer(out, np.uint8)


_UNPACKERS: Final[dict[str, Callable[[memoryview, int], AnyArray]]] = {
    "blosc": _blosc,
    "zstd": _zstd,
    "lz4": _lz4,
    "gzip": lambda raw, size: _deflated(raw, size, 16 + zlib.MAX_WBITS),
    "zlib": lambda raw, size: _deflated(raw, size, zlib.MAX_WBITS),
}


def unpacked(kind: str, raw: AnyArray, size: int, most: int) -> AnyArray:
    """Unpack a chunk of version 3, of up to `most` bytes, to `size` bytes."""
    if len(raw) > most:
        raise ValueError(f"it has {len(raw)} bytes, more than a chunk can have")
    return _UNPACKERS[kind](raw.data.cast("B"), size)


class Unpacker:
    """A compressor of version 2 that only unpacks, to `size` bytes."""

    codec_id = "gathercli"

    def __init__(self, kind: str, size: int) -> None:
        self._kind, self._size = kind, size

    def decode(self, buf: Any, out: Any = None) -> AnyArray:
        """Unpack a chunk."""
        del out
        return _UNPACKERS[self._kind](memoryview(buf).cast("B"), self._size)

    def encode(self, buf: Any) -> Any:
        """Refuse."""
        del buf
        raise TypeError("what is only read is not written")

    def get_config(self) -> dict[str, Any]:
        """Name the codec."""
        return {"id": self._kind}

    @classmethod
    def from_config(cls, config: Any) -> Self:
        """Refuse."""
        del config
        raise TypeError("it is made from metadata that was checked")


@dataclass(frozen=True)
class Unpacking(BytesBytesCodec):
    """A compressor of version 3 that only unpacks, at most `most` bytes to `size` bytes."""

    kind: str
    size: int
    most: int
    is_fixed_size = False

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        out = unpacked(self.kind, chunk_bytes.as_numpy_array(), self.size, self.most)
        return chunk_spec.prototype.buffer.from_array_like(out)

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        if self.size <= SMALL:
            return self._decode_sync(chunk_bytes, chunk_spec)
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def to_dict(self) -> dict[str, Any]:
        """Name the codec."""
        return {"name": self.kind}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Refuse."""
        del input_byte_length, chunk_spec
        raise TypeError("what is only read is not written")


# The files of chunks


class Files(LocalStore):
    """The chunks of an array: regular files, none larger than a chunk can be.

    Parameters
    ----------
    root, name
        The folder, and how the user calls it.
    spec
        What its metadata says.
    note
        Is told the path and the state of each file that is read.
    """

    def __init__(
        self, root: str, name: str, spec: Spec, note: Note | None = None, *, read_only: bool
    ) -> None:
        super().__init__(root, read_only=read_only)
        self._folder, self._name, self._spec, self._note = root, name, spec, note
        self._real = os.path.realpath(root)

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read a file, or some of its bytes; None if there is none."""
        if self._spec.most <= 2 * SMALL:
            return self.get_sync(key, prototype=prototype, byte_range=byte_range)
        return await asyncio.to_thread(
            self.get_sync, key, prototype=prototype, byte_range=byte_range
        )

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read a file, or some of its bytes; None if there is none."""
        path = os.path.join(self._folder, key)
        try:
            fd, status = open_in(path, self._real)
            try:
                raw = self._read(fd, status.st_size, byte_range)
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(path):
                raise ValueError("it links to nothing") from None
            return None
        except OSError as error:
            raise unreadable(f"{self._name}/{key}", error) from None
        if self._note is not None:
            self._note(path, status)
        return (prototype or default_buffer_prototype()).buffer.from_array_like(raw)

    async def set(self, key: str, value: Buffer) -> None:
        """Write a file, which is absent or whole."""
        await asyncio.to_thread(self._put, key, value)

    def _put(self, key: str, value: Buffer) -> None:
        """Write a file below the folder, which is not made again when it was removed."""
        *folders, _ = key.split("/")
        for depth in range(1, len(folders) + 1):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self._folder, *folders[:depth]))
        path = os.path.join(self._folder, key)
        partial = f"{path}.{os.urandom(6).hex()}.partial"
        try:
            with open(partial, "xb") as file:
                file.write(value.as_buffer_like())
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise

    def _read(self, fd: int, size: int, byte_range: ByteRequest | None) -> AnyArray:
        if size > self._spec.most:
            raise ValueError(f"it has {size} bytes, more than a chunk can have")
        start, stop = _span(byte_range, size)
        if not 0 <= start < stop <= size:
            raise ValueError(f"it has {size} bytes, and none at {start} to {stop}")
        if byte_range is not None and stop - start > max(
            self._spec.packed, self._spec.index_nbytes
        ):
            raise ValueError(f"its part has {stop - start} bytes, more than a chunk can have")
        out = np.empty(stop - start, np.uint8)
        if not _filled(out, fd, start):
            raise ValueError(f"it ends before byte {stop}")
        return out

    def plain(self, key: str, box: Box) -> AnyArray | None:
        """Read of a chunk that is not packed no more than the rows that a box in it needs.

        Returns
        -------
            In the byte order of the file; None if the file is not as it should be: who reads it as
            any other says why.
        """
        spec = self._spec
        if not (spec.plain and box):
            return None
        firsts = (start // size * size for (start, _), size in zip(box, spec.chunks, strict=True))
        first, *rest = ((a - at, b - at) for (a, b), at in zip(box, firsts, strict=True))
        out = np.empty((first[1] - first[0], *spec.chunks[1:]), spec.held)
        raw = out.reshape(-1).view(np.uint8)
        path = os.path.join(self._folder, key)
        try:
            fd, status = open_in(path, self._real)
            try:
                if status.st_size != spec.chunk_nbytes:
                    return None
                if not _filled(raw, fd, first[0] * (raw.size // len(out))):
                    return None
            finally:
                os.close(fd)
        except (OSError, ValueError):
            return None
        if self._note is not None:
            self._note(path, status)
        return out[(slice(None), *slices(tuple(rest)))]


def _filled(raw: AnyArray, fd: int, start: int) -> bool:
    """Read so many bytes from a file; tell whether it has them."""
    done = 0
    while done < len(raw):
        count = os.preadv(fd, [raw[done:].data], start + done)
        if not count:
            return False
        done += count
    return True


def _span(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return the first byte that is asked for, and the first behind."""
    if isinstance(byte_range, RangeByteRequest):
        return byte_range.start, byte_range.end
    if isinstance(byte_range, OffsetByteRequest):
        return byte_range.offset, size
    if isinstance(byte_range, SuffixByteRequest):
        return size - byte_range.suffix, size
    return 0, size


# An array of the package


def array(
    spec: Spec, root: str, name: str, note: Note | None = None, *, writes: bool = False
) -> zarr.Array[Any]:
    """Make an array of the package, which reads chunks with the codecs above, or writes them.

    Parameters
    ----------
    root, name
        The folder of the array, and how the user calls it.
    note
        As for `Files`.

    Raises
    ------
    InputError
        ``format``: the package cannot make anything of the metadata.
    """
    try:
        with np.errstate(all="ignore"):  # a fill value may be too large for the type
            metadata = (_metadata_2 if spec.version == 2 else _metadata_3)(spec, writes=writes)
        store = Files(root, name, spec, note, read_only=not writes)
        config: Any = {"order": "C", "write_empty_chunks": True}
        made: Any = AsyncArray(metadata=metadata, store_path=StorePath(store), config=config)
        return zarr.Array(made)
    except GatherError:
        raise
    except Exception as error:
        raise InputError(
            f"zarr cannot read the metadata ({reason(error)}): expected sound ones", rule="format"
        ) from error


def fill(spec: Spec, made: zarr.Array[Any], shape: Sequence[int]) -> AnyArray:
    """Return the elements of chunks that are absent."""
    storage = spec.held.newbyteorder("=")
    value = made.metadata.fill_value
    return np.zeros(shape, storage) if value is None else np.full(shape, value, storage)


def reason(error: BaseException) -> str:
    """Say in one line what the package says."""
    words = str(error).splitlines() or [type(error).__name__]
    return clean(words[0][:200])


def _fill_value(spec: Spec, held: Any) -> Any:
    if spec.fill is None:
        return None if spec.version == 2 else held.default_scalar()
    return held.from_json_scalar(spec.fill, zarr_format=spec.version)


def _metadata_2(spec: Spec, *, writes: bool) -> ArrayV2Metadata:
    """Make metadata of version 2."""
    held: Any = parse_dtype(spec.held, zarr_format=2)
    size = spec.chunk_nbytes
    filters: list[Any] = []
    compressor: Any = None
    for codec in spec.codecs:
        if codec["name"] in FILTERS:
            made: Any = _filter(codec)
            filters.append(made)
            if codec["name"] == "delta":
                size = product(spec.chunks) * np.dtype(made.astype).itemsize
        else:
            compressor = _compressor_2(codec) if writes else Unpacker(codec["name"], size)
    separator: Any = spec.separator
    order: Any = spec.order
    return ArrayV2Metadata(
        shape=spec.shape,
        dtype=held,
        chunks=spec.chunks,
        fill_value=_fill_value(spec, held),
        order=order,
        dimension_separator=separator,
        compressor=compressor,
        filters=filters or None,
    )


def _told(codec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in codec.items() if key != "name"}


def _filter(codec: dict[str, Any]) -> Any:
    kinds = {"shuffle": numcodecs.Shuffle, "delta": numcodecs.Delta}
    return kinds[codec["name"]](**_told(codec))


def _compressor_2(codec: dict[str, Any]) -> Any:
    kinds = {
        "blosc": numcodecs.Blosc,
        "zstd": numcodecs.Zstd,
        "gzip": numcodecs.GZip,
        "zlib": numcodecs.Zlib,
        "lz4": numcodecs.LZ4,
    }
    return kinds[codec["name"]](**_told(codec))


def _metadata_3(spec: Spec, *, writes: bool) -> ArrayV3Metadata:
    """Make metadata of version 3."""
    held: Any = parse_dtype(spec.held.newbyteorder("="), zarr_format=3)
    codecs = _codecs_3(spec.codecs, spec.chunk_nbytes, spec.packed, writes=writes)
    if spec.sharded:
        index = _codecs_3(spec.shard_index, 0, 0, writes=writes)
        place = "start" if spec.index_first else "end"
        codecs = (
            zarr_codecs.ShardingCodec(
                chunk_shape=spec.chunks, codecs=codecs, index_codecs=index, index_location=place
            ),
        )
    keys: Any = {"name": spec.keys, "configuration": {"separator": spec.separator}}
    return ArrayV3Metadata(
        shape=spec.shape,
        data_type=held,
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": spec.grid}},
        chunk_key_encoding=keys,
        fill_value=_fill_value(spec, held),
        codecs=codecs,
        attributes={},
        dimension_names=None,
    )


def _codecs_3(
    codecs: Sequence[dict[str, Any]], size: int, most: int, *, writes: bool
) -> tuple[Codec, ...]:
    """Make codecs; what is before the compressor tells how much that unpacks, of up to `most`."""
    kinds: dict[str, Any] = {
        "bytes": zarr_codecs.BytesCodec,
        "transpose": zarr_codecs.TransposeCodec,
        "crc32c": zarr_codecs.Crc32cCodec,
        "blosc": zarr_codecs.BloscCodec,
        "gzip": zarr_codecs.GzipCodec,
        "zstd": zarr_codecs.ZstdCodec,
    }
    made: list[Any] = []
    for codec in codecs:
        name = codec["name"]
        if name in COMPRESSORS[3] and not writes:
            made.append(Unpacking(name, size, most))
        else:
            made.append(kinds[name](**_told(codec)))
        size += 4 * (name == "crc32c")
    return tuple(made)
