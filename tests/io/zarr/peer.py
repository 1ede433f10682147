"""The package zarr as a peer, and short ways to read, write and alter arrays."""

from __future__ import annotations

import json
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

import numcodecs
import numpy as np
import pytest
import zarr
from zarr import codecs as zc

from gathercli.compute.chunks import everything, tiled
from gathercli.compute.storage import dtype_of, slices, storage_of
from gathercli.errors import GatherError
from gathercli.io.folders import Folder
from gathercli.io.formats.content import UNSAID
from gathercli.io.source import Inputs
from gathercli.io.zarr.created import Creation
from gathercli.io.zarr.stored import Zarr, ZarrArray, writer_at
from gathercli.spec.dtypes import BFLOAT16, PLAIN, STRING, DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Array


DTYPES: Final = tuple(dtype for dtype in PLAIN if dtype is not BFLOAT16)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
both = pytest.mark.parametrize("version", [2, 3], ids=["v2", "v3"])
X: Final = np.arange(35, dtype=np.int32).reshape(5, 7)
SHAPES: Final = (((5, 7), (2, 3)), ((), ()), ((0, 3), (1, 2)), ((4,), (9,)), ((1, 1, 3), (1, 1, 1)))

PACKERS: Final[dict[str, tuple[int, dict[str, Any]]]] = {
    "zstd": (3, {"compressors": zc.ZstdCodec(level=3, checksum=True)}),
    "gzip": (3, {"compressors": zc.GzipCodec()}),
    "blosc(lz4)+shuffle": (3, {"compressors": zc.BloscCodec(cname="lz4", shuffle="shuffle")}),
    "blosc(zstd)+bitshuffle": (
        3,
        {"compressors": zc.BloscCodec(cname="zstd", shuffle="bitshuffle", typesize=4)},
    ),
    "blosc(zlib)": (3, {"compressors": zc.BloscCodec(cname="zlib", shuffle="noshuffle")}),
    "zstd+crc32c": (3, {"compressors": [zc.ZstdCodec(), zc.Crc32cCodec()]}),
    "crc32c+gzip": (3, {"compressors": [zc.Crc32cCodec(), zc.GzipCodec()]}),
    "none": (3, {"compressors": None}),
    "transpose+zstd": (3, {"filters": zc.TransposeCodec(order=(1, 0))}),
    "2 zstd": (2, {"compressors": numcodecs.Zstd(level=2)}),
    "2 gzip": (2, {"compressors": numcodecs.GZip()}),
    "2 zlib": (2, {"compressors": numcodecs.Zlib()}),
    "2 lz4": (2, {"compressors": numcodecs.LZ4()}),
    "2 blosc(lz4)+shuffle": (2, {"compressors": numcodecs.Blosc()}),
    "2 blosc(blosclz)": (2, {"compressors": numcodecs.Blosc("blosclz", shuffle=0)}),
    "2 none": (2, {"compressors": None}),
    "2 shuffle+zlib": (2, {"filters": numcodecs.Shuffle(4), "compressors": numcodecs.Zlib()}),
    "2 delta+lz4": (
        2,
        {"filters": numcodecs.Delta("<i4", astype="i1"), "compressors": numcodecs.LZ4()},
    ),
}
every_packer = pytest.mark.parametrize("packer", PACKERS)


def peer_writes(path: str, array: Array, **options: Any) -> zarr.Array[Any]:
    """Let the package write an array, by default of version 3 and in chunks of [2,3]."""
    defaults: Any = {"zarr_format": 3, "chunks": (2, 3), "shape": array.shape} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns of strings in version 3
        peer_array = zarr.create_array(path, dtype=array.dtype, overwrite=True, **defaults)
        if array.size:
            peer_array[...] = array
    return peer_array


def peer_reads(path: str) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer_array = zarr.open_array(path, mode="r")
        elements: Array = np.asarray(peer_array[...]).astype(peer_array.dtype)
    return elements


def open_array(path: str, key: str | None = None, *, limit: int | None = None) -> ZarrArray:
    array = Zarr(Folder(path, path, limit)).chunked(key, UNSAID)
    assert isinstance(array, ZarrArray)
    return array


def read(path: str, key: str | None = None, *, limit: int | None = 1 << 20) -> Array:
    with Inputs(limit) as inputs:
        return inputs.tensor(path if key is None else f"{path}#{key}", "").array


def create(
    path: str, array: Array, chunks: tuple[int, ...], like: ZarrArray | None = None, **options: Any
) -> None:
    with Creation(path, **options) as creation:
        creation.open(array.shape, dtype_of_array(array), chunks, like, storage=array.dtype)
        out = writer_at(creation.temporary)
        for box in tiled(everything(array.shape), chunks):
            out.write(box, array[slices(box)])
        creation.commit()


def dtype_of_array(array: Array) -> DType:
    dtype = dtype_of(array.dtype)
    assert dtype is not None
    return dtype


def values(dtype: DType, shape: tuple[int, ...]) -> Array:
    """Return elements of random bits, NaN with payloads and -0.0 among them."""
    count = int(np.prod(shape))
    if dtype is STRING:
        words = [f"é{at}\U0001f600"[: at % 4] for at in range(count)]
        return np.array(words, "<U4").reshape(shape)
    if dtype.name == "bool":
        return np.array(np.arange(count) % 3 == 1).reshape(shape)
    bits = np.random.default_rng(dtype.bits).integers(0, 256, count * dtype.itemsize)
    return bits.astype(np.uint8).view(storage_of(dtype)).reshape(shape)


def identical(one: Array, other: Array) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def read_metadata(path: str) -> dict[str, Any]:
    name = next(each for each in ("zarr.json", ".zarray") if os.path.exists(f"{path}/{each}"))
    with open(f"{path}/{name}", encoding="utf-8") as text:
        members: dict[str, Any] = json.load(text)
    return members


def alter_metadata(path: str, **members: Any) -> None:
    """Change members of the metadata; ``...`` removes one."""
    members = read_metadata(path) | members
    members = {key: value for key, value in members.items() if value is not ...}
    name = "zarr.json" if members.get("node_type") else ".zarray"
    with open(f"{path}/{name}", "w", encoding="utf-8") as text:
        json.dump(members, text)


def refusal(path: str, key: str | None = None, *, limit: int | None = 1 << 20) -> GatherError:
    with pytest.raises(GatherError) as caught:
        read(path, key, limit=limit)
    return caught.value


def files_of(path: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(folder, name), path)
        for folder, _, names in os.walk(path)
        for name in names
    ]


def write_group(path: str, version: Any) -> None:
    root = zarr.create_group(path, zarr_format=version)
    for name in ("b", "a/inner", "a/deep/er", "é"):
        root.create_array(name, shape=X.shape, chunks=(2, 3), dtype=X.dtype)[...] = X + len(name)
    root.create_group("empty")


def sharding(**options: Any) -> list[dict[str, Any]]:
    inner = {
        "chunk_shape": [2, 3],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    return [{"name": "sharding_indexed", "configuration": inner | options}]


BYTES: Final = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD: Final = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}


def crc(raw: bytes) -> bytes:
    """Return the four bytes that the codec crc32c adds."""
    return bytes(numcodecs.checksum32.CRC32C(location="end").encode(raw)[-4:])


def zstd_runs(size: int, *, stated: int | None = None) -> bytes:
    """Return a frame of runs, made by hand; its header has no size unless `stated`."""
    width = b"" if stated is None else stated.to_bytes(8, "little")
    out = b"\x28\xb5\x2f\xfd" + (b"\0" if stated is None else b"\xc0") + b"\x58" + width
    while size:
        run = min(size, 1 << 17)
        size -= run
        out += (run << 3 | 2 | (not size)).to_bytes(3, "little") + b"\x07"
    return out


BOMB: Final = 200 << 20


def write_flat(path: str, *, cells: int = 1000, **options: Any) -> str:
    """Write one chunk of `cells` bytes, and return the path of its file."""
    options = {"chunks": (cells,), "fill_value": 9} | options
    peer_writes(path, np.zeros(cells, np.uint8), **options)
    return f"{path}/0" if options.get("zarr_format") == 2 else f"{path}/c/0"


def in_threads(job: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=job, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
