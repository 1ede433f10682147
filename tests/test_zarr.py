from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import tracemalloc
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numcodecs
import numpy as np
import pytest
import zarr
from zarr import codecs as zc

from gathercli.arrays.chunks import everything, slices, tiled
from gathercli.arrays.tensor import dtype_of, storage_of
from gathercli.errors import GatherError, InputError, LimitError, OutputError, TransferError
from gathercli.io import swap
from gathercli.io.folders import Folder
from gathercli.io.source import Inputs
from gathercli.io.zarr import Creation, Zarr, ZarrArray, writer
from gathercli.io.zarr.chunkfiles import ChunkFile
from gathercli.spec.dtypes import BFLOAT16, PLAIN, STRING, DType

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Array = npt.NDArray[Any]

HELD: Final = tuple(held for held in PLAIN if held is not BFLOAT16)
every_held = pytest.mark.parametrize("held", HELD, ids=str)
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


def peer(path: str, array: Array, **options: Any) -> zarr.Array[Any]:
    """Let the package write an array; version 3 and chunks of [2,3] unless told."""
    told: Any = {"zarr_format": 3, "chunks": (2, 3), "shape": array.shape} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns of strings in version 3
        made = zarr.create_array(path, dtype=array.dtype, overwrite=True, **told)
        if array.size:
            made[...] = array
    return made


def peer_reads(path: str) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = zarr.open_array(path, mode="r")
        found: Array = np.asarray(made[...]).astype(made.dtype)
    return found


def stored(path: str, key: str | None = None, *, limit: int | None = None) -> ZarrArray:
    return Zarr(Folder(path, path, limit)).chunked(key)


def read(path: str, key: str | None = None, *, limit: int | None = 1 << 20) -> Array:
    with Inputs(limit) as inputs:
        return inputs.tensor(path if key is None else f"{path}#{key}", "").array


def create(
    path: str, array: Array, chunks: tuple[int, ...], like: ZarrArray | None = None, **options: Any
) -> None:
    with Creation(path, **options) as made:
        made.open(array.shape, held_of(array), chunks, like, storage=array.dtype)
        out = writer(made.temporary)
        for box in tiled(everything(array.shape), chunks):
            out.write(box, array[slices(box)])
        made.commit()


def held_of(array: Array) -> DType:
    found = dtype_of(array.dtype)
    assert found is not None
    return found


def values(held: DType, shape: tuple[int, ...]) -> Array:
    """Make elements of all bits, NaN with payloads and -0.0 among them."""
    count = int(np.prod(shape))
    if held is STRING:
        words = [f"é{at}\U0001f600"[: at % 4] for at in range(count)]
        return np.array(words, "<U4").reshape(shape)
    if held.name == "bool":
        return np.array(np.arange(count) % 3 == 1).reshape(shape)
    bits = np.random.default_rng(held.bits).integers(0, 256, count * held.itemsize)
    return bits.astype(np.uint8).view(storage_of(held)).reshape(shape)


def same(one: Array, other: Array) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def metadata(path: str) -> dict[str, Any]:
    name = next(each for each in ("zarr.json", ".zarray") if os.path.exists(f"{path}/{each}"))
    with open(f"{path}/{name}", encoding="utf-8") as text:
        found: dict[str, Any] = json.load(text)
    return found


def alter(path: str, **members: Any) -> None:
    """Change members of the metadata; ``...`` takes one away."""
    found = metadata(path) | members
    found = {key: value for key, value in found.items() if value is not ...}
    name = "zarr.json" if found.get("node_type") else ".zarray"
    with open(f"{path}/{name}", "w", encoding="utf-8") as text:
        json.dump(found, text)


def refusal(path: str, key: str | None = None, *, limit: int | None = 1 << 20) -> GatherError:
    with pytest.raises(GatherError) as caught:
        read(path, key, limit=limit)
    return caught.value


# What the package wrote and what it reads


@both
@every_held
def test_what_the_package_wrote_is_read_bit_by_bit(folder: Path, held: DType, version: int) -> None:
    for shape, chunks in SHAPES:
        array = values(held, shape)
        peer("x.zarr", array, zarr_format=version, chunks=chunks)
        assert same(read("x.zarr"), array)
        assert sorted(os.listdir(folder)) == ["x.zarr"]


@both
@every_held
def test_what_we_write_is_read_by_the_package_bit_by_bit(
    folder: Path, held: DType, version: int
) -> None:
    peer("like.zarr", values(held, (3,)), zarr_format=version, chunks=(2,))
    for shape, chunks in SHAPES:
        array = values(held, shape)
        for like in (None, stored("like.zarr")):
            create("x.zarr", array, chunks, like)
            assert same(peer_reads("x.zarr"), array)
            assert same(read("x.zarr"), array)
            assert metadata("x.zarr")["zarr_format"] == (3 if like is None else version)
    assert sorted(os.listdir(folder)) == ["like.zarr", "x.zarr"]


@every_packer
def test_every_codec_is_read_and_taken_over(folder: Path, packer: str) -> None:
    version, options = PACKERS[packer]
    peer("x.zarr", X, zarr_format=version, **options)
    found = stored("x.zarr")
    assert (found.spec.version, found.spec.codec_names) == (version, packer.removeprefix("2 "))
    assert same(found.read(everything(X.shape)), X)
    create("y.zarr", X, (2, 3), found)
    told = metadata("y.zarr")
    for key in ("codecs", "filters", "compressor", "order", "dimension_separator"):
        assert told.get(key) == metadata("x.zarr").get(key)
    assert same(peer_reads("y.zarr"), X)
    assert same(read("y.zarr"), X)
    assert sorted(os.listdir(folder)) == ["x.zarr", "y.zarr"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("place", ["start", "end"])
def test_the_chunks_of_shards_are_read_one_by_one(place: Any) -> None:
    made = peer("x.zarr", X, shards={"shape": (4, 6), "index_location": place})
    made[2:4, 3:6] = 0  # such a chunk is absent from its shard
    array = X.copy()
    array[2:4, 3:6] = 0
    found = stored("x.zarr")
    assert (found.chunks, found.spec.grid, found.spec.chunk_nbytes) == ((2, 3), (4, 6), 24)
    assert same(found.read(everything(X.shape)), array)
    assert same(found.read(((1, 5), (2, 7))), array[1:5, 2:7])
    assert same(found.read(((4, 5), (0, 1))), array[4:5, :1])
    create("y.zarr", array, (2, 3), found)
    assert [codec["name"] for codec in metadata("y.zarr")["codecs"]] == ["bytes", "zstd"]
    assert same(peer_reads("y.zarr"), array)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("packer", [name for name in PACKERS if PACKERS[name][0] == 3])
def test_every_codec_is_read_in_shards(packer: str) -> None:
    options = PACKERS[packer][1]
    if packer.startswith("transpose"):  # more than one
        orders = ((1, 2, 0), (0, 2, 1))
        options = options | {"filters": [zc.TransposeCodec(order=order) for order in orders]}
    for name in ("<i4", ">f8", "?", "<U2"):
        array = X.astype(name)[None]
        peer("x.zarr", array, chunks=(1, 2, 3), shards=(1, 4, 6), **options)
        found = stored("x.zarr")
        for box in (everything(array.shape), *tiled(everything(array.shape), (1, 3, 5))):
            assert same(found.read(box), array[slices(box)].astype(found.storage, order="C"))


@pytest.mark.usefixtures("folder")
def test_a_scalar_may_lie_in_a_shard() -> None:
    peer("x.zarr", np.array(7.5), chunks=())
    alter("x.zarr", codecs=sharding(chunk_shape=[]))
    with open("x.zarr/c", "wb") as out:
        out.write(struct.pack("<d2Q", 7.5, 0, 8))
    assert read("x.zarr").tolist() == 7.5


@pytest.mark.usefixtures("folder")
def test_a_damaged_shard_is_refused() -> None:
    draw = np.random.default_rng(5)
    for name, (version, options) in PACKERS.items():
        if version == 2 or name == "transpose+zstd":
            continue
        peer("x.zarr", X, shards=(4, 6), **options)
        with open("x.zarr/c/0/0", "rb") as chunk:
            sound = chunk.read()
        ended = [sound[:-1], sound[:3], b"", sound[70:]]
        places = draw.integers(0, len(sound), 20).tolist()
        ended += (sound[:at] + bytes([sound[at] ^ 0x81]) + sound[at + 1 :] for at in places)
        for number, raw in enumerate(ended):
            with open("x.zarr/c/0/0", "wb") as chunk:
                chunk.write(raw)
            for box in (everything(X.shape), ((0, 1), (0, 1))):
                try:
                    assert stored("x.zarr").read(box).shape
                except InputError as error:
                    assert "x.zarr/c/0/0" in str(error)  # noqa: PT017
                else:
                    assert number > 2


@pytest.mark.usefixtures("folder")
def test_many_small_chunks_of_a_shard_are_read_at_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(1 << 15).astype(np.uint8)
    peer("x.zarr", np.empty(0, np.uint8), shape=array.shape, chunks=(1,), shards=array.shape)
    alter("x.zarr", codecs=sharding(chunk_shape=[1]))
    os.mkdir("x.zarr/c")
    index = np.stack([np.arange(array.size), np.ones(array.size)], 1).astype("<u8")
    with open("x.zarr/c/0", "wb") as out:
        out.write(array.tobytes() + index.tobytes())
    read_at, lengths = os.preadv, []

    def counted(fd: int, buffers: Any, offset: int) -> int:
        lengths.append(len(buffers[0]))
        return read_at(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", counted)

    assert same(read("x.zarr"), array)

    assert lengths == [array.size + index.nbytes]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options",
    [
        {"zarr_format": 2, "order": "F"},
        {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "."}},
        {"chunk_key_encoding": {"name": "default", "separator": "."}},
        {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"serializer": zc.BytesCodec(endian="big")},
    ],
    ids=str,
)
def test_orders_and_names_of_chunks_are_read_and_taken_over(options: dict[str, Any]) -> None:
    peer("x.zarr", X, **options)
    assert same(read("x.zarr"), X)
    create("y.zarr", X, (2, 3), stored("x.zarr"))
    assert sorted(files("y.zarr")) == sorted(set(files("x.zarr")) - {".zattrs"})
    assert same(peer_reads("y.zarr"), X)


def files(path: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(folder, name), path)
        for folder, _, names in os.walk(path)
        for name in names
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [">i4", ">f8", ">c8", ">U3", ">u2"])
def test_big_endian_elements_are_read_in_native_order(name: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(name)
    peer("x.zarr", array, zarr_format=2)
    found = read("x.zarr")
    assert found.dtype.isnative
    assert (found == array).all()
    create("y.zarr", found, (2, 3), stored("x.zarr"))
    assert metadata("y.zarr")["dtype"] == name
    assert (peer_reads("y.zarr") == array).all()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("f4", float("nan")),
        ("f8", float("-inf")),
        ("i4", -7),
        ("u8", 2**64 - 1),
        ("?", True),
        ("c8", complex(1, -2)),
        ("<U3", "é"),
        ("f4", -0.0),
    ],
)
@both
def test_absent_chunks_hold_the_fill_value(dtype: str, fill: Any, version: int) -> None:
    peer("x.zarr", np.empty(0, dtype), shape=(3, 4), zarr_format=version, fill_value=fill)
    assert same(read("x.zarr"), np.full((3, 4), fill, dtype))
    assert files("x.zarr") in (["zarr.json"], [".zarray", ".zattrs"], [".zattrs", ".zarray"])


@pytest.mark.usefixtures("folder")
def test_a_fill_value_that_is_null_is_zero() -> None:
    peer("x.zarr", np.empty(0, "<U3"), shape=(2, 3), zarr_format=2)
    alter("x.zarr", fill_value=None)
    assert same(read("x.zarr"), np.zeros((2, 3), "<U3"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("dtype", "fill", "bits"),
    [
        ("f4", "0x7fc00001", b"\x01\x00\xc0\x7f"),  # a NaN that the word does not say
        ("f8", "NaN", struct.pack("<d", float("nan"))),
        ("f2", "-Infinity", struct.pack("<e", float("-inf"))),
        ("c8", ["0x3f800000", "Infinity"], struct.pack("<2f", 1, float("inf"))),
        ("i2", -7.0, struct.pack("<h", -7)),
        ("?", 1, b"\x01"),
    ],
)
def test_a_fill_value_may_be_a_word_or_bits(dtype: str, fill: Any, bits: bytes) -> None:
    peer("x.zarr", np.empty(0, dtype), shape=(1, 2))
    alter("x.zarr", fill_value=fill)

    assert read("x.zarr").tobytes() == bits * 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("fill", ["0x", "nan", "0x7fc0000", "0xzzzzzzzz", [1, 2], {}])
def test_a_fill_value_that_is_no_number_is_refused(fill: Any) -> None:
    peer("x.zarr", np.empty(0, "f4"), shape=(1, 2))
    alter("x.zarr", fill_value=fill)

    assert str(refusal("x.zarr")).startswith("x.zarr: the fill value is ")


@pytest.mark.usefixtures("folder")
def test_what_overflows_is_no_warning() -> None:
    peer("x.zarr", np.empty(0, "f4"), shape=(2, 3))
    alter("x.zarr", fill_value=1e39)
    assert np.isinf(read("x.zarr")).all()
    large = np.full((2, 3), 3e38, "f4")
    delta = numcodecs.Delta("<f4")
    peer("y.zarr", large, zarr_format=2, filters=delta, compressors=None)
    large.tofile("y.zarr/0.0")
    assert np.isinf(read("y.zarr")[1]).all()


@pytest.mark.usefixtures("folder")
def test_a_box_reads_each_chunk_that_it_meets_once() -> None:
    peer("x.zarr", X)
    found = stored("x.zarr")
    assert same(found.read(((1, 4), (2, 4))), X[1:4, 2:4])
    assert found.reads == Counter({(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1})
    assert found.read(((2, 2), (0, 7))).shape == (0, 7)
    assert found.reads.total() == 4
    found.read(((0, 1), (0, 1)))
    assert found.reads[0, 0] == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("version", [2, 3])
def test_of_a_chunk_that_is_not_packed_only_rows_are_read(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.arange(70 * 9, dtype=">i4").reshape(70, 9)
    peer("x.zarr", array, chunks=(32, 5), compressors=None, zarr_format=version)
    found, sizes, real = stored("x.zarr"), [], os.preadv

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        count = real(fd, [buffers[0][:40]], offset)  # less than it was asked for
        sizes.append(count)
        return count

    monkeypatch.setattr(os, "preadv", preadv)
    native = array.astype("i4")
    assert same(np.ascontiguousarray(found.read(((33, 36), (1, 4)))), native[33:36, 1:4])
    assert sizes == [40, 20]
    assert same(np.ascontiguousarray(found.read(((68, 70), (3, 9)))), native[68:70, 3:9])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [{}, {"shards": (4, 6)}], ids=["chunks", "shards"])
def test_four_threads_read_one_array(options: dict[str, Any]) -> None:
    array = np.random.default_rng(1).integers(0, 99, (40, 30))
    peer("x.zarr", array, **options)
    found = stored("x.zarr")
    wrong: list[object] = []

    def check(seed: int) -> None:
        for at in np.random.default_rng(seed).integers(0, 30, (15, 2)).tolist():
            box = ((at[0], at[0] + 5), (at[1] // 2, at[1] // 2 + 4))
            if not same(found.read(box), np.ascontiguousarray(array[slices(box)])):
                wrong.append(box)

    _in_threads(check)
    assert not wrong
    boxes = [
        ((a, a + 5), (b // 2, b // 2 + 4))
        for seed in range(4)
        for a, b in np.random.default_rng(seed).integers(0, 30, (15, 2)).tolist()
    ]
    assert found.reads.total() == sum(len(list(tiled(box, (2, 3)))) for box in boxes)


def _in_threads(job: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=job, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("folder")
def test_four_threads_write_one_array_and_read_nothing_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(ChunkFile, "read", lambda *_: seen.append("read"))
    array = np.random.default_rng(1).integers(0, 99, (13, 10))
    boxes = list(tiled(everything(array.shape), (2, 3)))
    with Creation("x.zarr") as made:
        made.open(array.shape, held_of(array), (2, 3))
        out = writer(made.temporary)

        def write(part: int) -> None:
            for box in boxes[part::4]:
                out.write(box, array[slices(box)])

        _in_threads(write)
        made.commit()
    assert not seen
    assert same(peer_reads("x.zarr"), array)


@pytest.mark.usefixtures("folder")
def test_a_box_of_many_chunks_is_written_at_once() -> None:
    with Creation("x.zarr") as made:
        made.open(X.shape, held_of(X), (2, 3))
        out = writer(made.temporary)
        out.write(((0, 4), (0, 7)), X[:4])
        out.write(((4, 5), (0, 7)), X[4:])
        made.commit()
    assert same(peer_reads("x.zarr"), X)


# Groups and names


def group(path: str, version: Any) -> None:
    root = zarr.create_group(path, zarr_format=version)
    for name in ("b", "a/inner", "a/deep/er", "é"):
        root.create_array(name, shape=X.shape, chunks=(2, 3), dtype=X.dtype)[...] = X + len(name)
    root.create_group("empty")


@both
def test_the_arrays_of_a_group_have_names(run: Run, folder: Path, version: int) -> None:
    group("g.zarr", version)
    (folder / "g.zarr/notes").mkdir()
    names = ["a/deep/er", "a/inner", "b", "é"]
    assert Zarr(Folder("g", "g.zarr", None)).names == names
    for token in ("g.zarr#a/inner", "g.zarr/#a/inner", "g.zarr/a#inner", "@g.zarr/a/inner/"):
        ran = run("gather", token, "1", "--axis", "0", "-f", "json")
        assert (ran.status, json.loads(ran.out)) == (0, (X[1] + 7).tolist())
    info = json.loads(run("info", "g.zarr", "-f", "json").out)
    assert [member["name"] for member in info["members"]] == names
    assert info["members"][0]["chunks"] == [2, 3]
    ran = run("shape", "gather", "g.zarr", "0")
    assert ran.status == 65
    assert "the group has `a/deep/er`, `a/inner`, `b` and `é`: expected the name of one" in ran.err
    for key in ("inner", "a", "../g.zarr/b", "/b", "a/../b", "b\0", "b/", "c"):
        assert refusal("g.zarr", key).rule == "format"


@pytest.mark.usefixtures("folder")
def test_a_group_may_be_empty(run: Run) -> None:
    zarr.create_group("g.zarr")
    assert "no tensors" in run("info", "g.zarr").out
    assert str(refusal("g.zarr")).endswith("the group has no arrays: expected the name of one")


@pytest.mark.usefixtures("folder")
def test_a_group_of_one_array_needs_no_name() -> None:
    root = zarr.create_group("g.zarr")
    root.create_array("a", shape=X.shape, chunks=(2, 3), dtype=X.dtype)[...] = X
    assert same(read("g.zarr"), X)


def test_links_in_a_group_are_not_followed(folder: Path) -> None:
    group("g.zarr", 3)
    (folder / "g.zarr/loop").symlink_to(".")
    (folder / "g.zarr/out").symlink_to("/")
    (folder / "g.zarr/a/up").symlink_to("..")
    assert len(Zarr(Folder("g", "g.zarr", None)).names or ()) == 4
    assert refusal("g.zarr", "loop/b").rule == "format"
    assert Folder("g", "g.zarr", None).size < 100_000


@pytest.mark.usefixtures("folder")
def test_a_group_has_a_largest_number_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    group("g.zarr", 3)
    monkeypatch.setattr("gathercli.io.zarr.MAX_MEMBERS", 3)
    assert "more than 3 members" in str(refusal("g.zarr"))


def test_a_relative_name_starts_at_the_folder_of_the_inputs(folder: Path) -> None:
    (folder / "in").mkdir()
    peer("in/x.zarr", X)
    with Inputs(None, folder="in") as inputs:
        assert same(inputs.tensor("x.zarr", "").array, X)
        assert isinstance(inputs.named["x.zarr"], Folder)


def test_a_folder_is_told_by_what_it_holds(run: Run, folder: Path) -> None:
    peer("plain", X)
    assert run("shape", "gather", "./plain", "2,3").out == "[2,3,7]\n"
    assert run("shape", "gather", "./plain", "[4]").out == "[4,7]\n"
    (folder / "empty.zarr").mkdir()
    ran = run("info", "empty.zarr")
    assert (ran.status, ran.err) == (
        66,
        "error: `empty.zarr` is a directory: expected a file\n"
        "hint: a zarr folder has `zarr.json`, `.zarray` or `.zgroup`; this has none\n"
        "rule: unreadable\n",
    )


def test_info_shows_how_an_array_is_cut_and_packed(run: Run, folder: Path) -> None:
    peer("x.zarr", X, shards=(4, 6))
    size = sum((folder / "x.zarr" / each).stat().st_size for each in files("x.zarr"))
    out = run("info", "x.zarr").out.splitlines()
    assert out[0].startswith("x.zarr   zarr   ")
    assert out[1] == (
        "int32[5,7]   35 elements   140 bytes of data   C order   little-endian   zarr 3   "
        "chunks of [2,3] in shards of [4,6]   codecs zstd"
    )
    assert json.loads(run("info", "x.zarr", "-f", "json", "--header").out) == {
        "file": "x.zarr",
        "format": "zarr",
        "bytes": size,
        "name": None,
        "dtype": "int32",
        "shape": [5, 7],
        "data_bytes": 140,
        "order": "C",
        "byte_order": "little",
        "zarr_format": 3,
        "chunks": [2, 3],
        "shards": [4, 6],
        "codecs": "zstd",
    }
    ran = run("info", "x.zarr", "--max-bytes", "100")
    assert (ran.status, "--header" in ran.err) == (65, True)


@pytest.mark.usefixtures("folder")
def test_a_layout_needs_no_package() -> None:
    peer("x.zarr", X)
    code = """
import sys
from gathercli.cli import main
assert main(["info", "--header", "x.zarr"]) == 0
assert main(["shape", "gather", "x.zarr", "2,3"]) == 0
assert not {"zarr", "numcodecs"} & set(sys.modules)
sys.modules["numcodecs"] = None
assert main(["info", "x.zarr"]) == 65
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the format needs the package numcodecs: expected it to be installed" in ran.stderr
    assert "pip install 'gathercli[zarr]'" in ran.stderr


@pytest.mark.usefixtures("folder")
def test_chunks_that_the_standard_library_unpacks_need_no_package() -> None:
    peer("none.zarr", X, compressors=None)
    peer("gzip.zarr", X, compressors=zc.GzipCodec())
    peer("sum.zarr", X, compressors=zc.Crc32cCodec())
    code = """
import sys
for name in "zarr", "numcodecs", "google_crc32c":
    sys.modules[name] = None
from gathercli.cli import main
assert main(["gather", "none.zarr", "4", "--axis", "1"]) == 0
assert main(["convert", "gzip.zarr", "copy.zarr"]) == 0
assert main(["info", "sum.zarr"]) == 65
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "[4,11,18,25,32]\n"
    assert "the format needs the package google-crc32c: expected it to be installed" in ran.stderr
    assert same(peer_reads("copy.zarr"), X)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "codec",
    [
        {"id": "gzip", "level": 99},
        {"id": "zlib", "level": -9},
        {"id": "blosc", "cname": "lz4", "clevel": 99, "shuffle": 1, "blocksize": 0},
    ],
    ids=lambda codec: codec["id"],
)
def test_a_codec_that_cannot_pack_stops_the_writing(codec: dict[str, Any]) -> None:
    peer("x.zarr", X, zarr_format=2, compressors=None)
    alter("x.zarr", compressor=codec)

    with pytest.raises(TransferError, match=r"^a chunk cannot be packed"):
        create("y.zarr", X, (2, 3), stored("x.zarr"))

    assert os.listdir() == ["x.zarr"]


@pytest.mark.usefixtures("folder")
def test_a_group_that_changes_on_the_way_is_noticed() -> None:
    peer("x.zarr", X)
    with Inputs(None) as inputs:
        inputs.tensor("x.zarr", "")
        inputs.recheck()
        peer("x.zarr", X, chunks=(5, 5))
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()
        shutil.rmtree("x.zarr")
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "packed"])
@pytest.mark.parametrize("shards", [None, (4, 6)], ids=["chunks", "shards"])
def test_a_chunk_that_changes_after_it_was_read_is_noticed(plain: bool, shards: Any) -> None:
    options: dict[str, Any] = {"shards": shards} | ({"compressors": None} if plain else {})
    made = peer("x.zarr", X, **options)
    for each in files("x.zarr"):  # so that what is written now is later, whatever the clock
        os.utime(f"x.zarr/{each}", (1, 1))
    with Inputs(None) as inputs:
        tiles = inputs.chunked("x.zarr", "")
        tiles.read(((0, 2), (0, 3)))
        tiles.read(((2, 4), (0, 3)))
        inputs.recheck()
        made[4] = 0  # in another file
        inputs.recheck()
        made[0] = 0
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()
        with pytest.raises(TransferError, match="changed while it was read"):
            tiles.read(((0, 1), (0, 1)))


def test_a_chunk_that_comes_or_goes_after_it_was_read_is_noticed(folder: Path) -> None:
    peer("x.zarr", X)
    chunk = folder / "x.zarr/c/0/0"
    raw = chunk.read_bytes()
    for comes in (True, False):
        with Inputs(None) as inputs:
            if comes:
                chunk.unlink()
            tiles = inputs.chunked("x.zarr", "")
            tiles.read(((0, 2), (0, 3)))
            inputs.recheck()
            if comes:
                chunk.write_bytes(raw)
            else:
                chunk.unlink()
            with pytest.raises(TransferError, match="changed while it was read"):
                inputs.recheck()
            with pytest.raises(TransferError, match="changed while it was read"):
                tiles.read(((0, 1), (0, 1)))


@pytest.mark.usefixtures("folder")
def test_the_states_of_a_few_files_only_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.io.folders.MAX_WATCHED", 2)
    made = peer("x.zarr", X)
    os.utime("x.zarr/c/0/0", (1, 1))
    with Inputs(None) as inputs:
        tiles = inputs.chunked("x.zarr", "")
        tiles.read(everything(X.shape))
        made[4] = 0
        inputs.recheck()
        made[0] = 0
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()


# Metadata that are refused


def sharding(**told: Any) -> list[dict[str, Any]]:
    inner = {
        "chunk_shape": [2, 3],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    return [{"name": "sharding_indexed", "configuration": inner | told}]


BYTES: Final = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD: Final = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}
GRID: Final = {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}
HOSTILE_3: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "version 4": ({"zarr_format": 4}, "format", "the zarr_format is 4: expected 3"),
    "version True": ({"zarr_format": True}, "format", "zarr_format is true"),
    "no shape": ({"shape": ...}, "format", "the shape is null"),
    "a negative size": ({"shape": [-1, 7]}, "format", "expected a list of sizes from 0 on"),
    "a size of a float": ({"shape": [5.0, 7]}, "format", "the shape is [5.0, 7]"),
    "a size that is true": ({"shape": [True, 7]}, "format", "the shape is [true, 7]"),
    "a huge size": ({"shape": [2**63, 7]}, "format", "the shape is [9223372036854775808, 7]"),
    "a huge shape": ({"shape": [2**40, 2**40]}, "limit", "less than 2^63 bytes"),
    "no chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}},
        "format",
        "the chunk_shape is [0, 3]: expected a list of sizes from 1 on",
    ),
    "another rank": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}},
        "format",
        "the chunk_shape has 1 sizes: expected 2",
    ),
    "a large chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 20, 3]}}},
        "limit",
        "a chunk of the array has 12582912 bytes to be held in memory",
    ),
    "a huge chunk": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**62, 2**62]}}},
        "limit",
        "a chunk of the array has the shape",
    ),
    "an irregular grid": (
        {"chunk_grid": {"name": "rectangular", "configuration": {}}},
        "format",
        "the chunk grid is `rectangular`: expected `regular`",
    ),
    "unknown names of chunks": (
        {"chunk_key_encoding": {"name": "../evil", "configuration": {}}},
        "format",
        "expected `default` or `v2`",
    ),
    "a separator": (
        {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/../"}}},
        "format",
        "the separator is `/../`: expected `.` or `/`",
    ),
    "a storage transformer": (
        {"storage_transformers": [{"name": "x", "configuration": {}}]},
        "format",
        "storage transformers",
    ),
    "an unknown member": ({"extra": 1}, "format", "the metadata has the member `extra`"),
    "an unknown type": ({"data_type": "r24"}, "dtype", "the type is `r24`: expected bool, int8"),
    "bfloat16": ({"data_type": "bfloat16"}, "dtype", "the type is `bfloat16`"),
    "strings of any length": ({"data_type": "string"}, "dtype", "strings of a fixed width"),
    "a date": (
        {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s"}}},
        "dtype",
        'the type is {"name": "numpy.datetime64"',
    ),
    "half a character": (
        {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}},
        "dtype",
        "the strings take 6 bytes: expected a multiple of 4",
    ),
    "no fill value": ({"fill_value": ...}, "format", "the fill value is missing"),
    "a fill value of lists": ({"fill_value": [[1]]}, "format", "the fill value is [[1]]"),
    "a fill value that is too large": (
        {"fill_value": 1 << 31},
        "format",
        "the fill value is 2147483648: expected one of int32",
    ),
    "a fill value of a word": (
        {"fill_value": "x"},
        "format",
        "the fill value is `x`: expected one of int32",
    ),
    "an unknown codec": (
        {"codecs": [BYTES, {"name": "numcodecs.pickle"}]},
        "format",
        "the codec is `numcodecs.pickle`: expected `transpose`, `bytes`",
    ),
    "vlen": ({"codecs": [{"name": "vlen-utf8"}]}, "format", "the codec is `vlen-utf8`"),
    "no codecs": ({"codecs": []}, "format", "the codecs is []"),
    "two compressors": ({"codecs": [BYTES, ZSTD, ZSTD]}, "format", "expected one compressor"),
    "codecs in no order": ({"codecs": [ZSTD, BYTES]}, "format", "the codecs are `zstd` and"),
    "no bytes": ({"codecs": [ZSTD]}, "format", "the codecs are `zstd`: expected `bytes` once"),
    "no byte order": ({"codecs": ["bytes"]}, "format", "expected `little` or `big`"),
    "a codec told nonsense": (
        {"codecs": [BYTES, {"name": "gzip", "configuration": {"level": "9"}}]},
        "format",
        "the codec `gzip` is told that `level` is `9`: expected level",
    ),
    "axes that are none": (
        {"codecs": [{"name": "transpose", "configuration": {"order": [0, 2]}}, BYTES]},
        "format",
        "the codec `transpose` is told [0, 2]: expected 2 axes",
    ),
    "chunks that do not fit": (
        {"codecs": sharding(chunk_shape=[2, 2])},
        "format",
        "expected sizes that divide those of the shard, [2, 3]",
    ),
    "shards in shards": ({"codecs": sharding(codecs=sharding())}, "format", "`bytes` once"),
    "a packed index": (
        {"codecs": sharding(index_codecs=[BYTES, ZSTD])},
        "format",
        "the index codecs are `bytes` and `zstd`",
    ),
    "a shard that is packed": ({"codecs": [*sharding(), ZSTD]}, "format", "alone"),
    "many chunks in a shard": (
        {
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 10, 3 << 10]}},
            "codecs": sharding(chunk_shape=[1, 1]),
        },
        "limit",
        "a shard holds 3145728 chunks: expected at most 32768",
    ),
    "another kind of node": ({"node_type": "plan"}, "format", "the node_type of `zarr.json` is"),
}
HOSTILE_2: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "objects": ({"dtype": "|O"}, "dtype", "the type is `|O`: expected bool"),
    "records": ({"dtype": [["a", "<i4"]]}, "dtype", 'the type is [["a", "<i4"]]'),
    "dates": ({"dtype": "<M8[s]"}, "dtype", "the type is `<M8[s]`"),
    "bytes": ({"dtype": "|S3"}, "dtype", "the type is `|S3`"),
    "long doubles": ({"dtype": "<f16"}, "dtype", "the type is `<f16`"),
    "wide strings": (
        {"dtype": "<U500000000", "fill_value": ""},
        "limit",
        "has 70000000000 bytes to be held",
    ),
    "strings of no width": ({"dtype": "<U0"}, "dtype", "the type is `<U0`"),
    "strings without end": ({"dtype": "<U999999999"}, "dtype", "the type is `<U999999999`"),
    "a pickle": ({"filters": [{"id": "pickle"}]}, "format", "the codec is `pickle`: expected"),
    "vlen": ({"filters": [{"id": "vlen-utf8"}]}, "format", "`shuffle` or `delta`"),
    "filters that are none": ({"filters": {"id": "delta"}}, "format", "the filters are"),
    "an unknown compressor": ({"compressor": {"id": "bz2"}}, "format", "the codec is `bz2`"),
    "a compressor without a name": ({"compressor": {"level": 1}}, "format", "an object with an id"),
    "blosc without a name": ({"compressor": {"id": "blosc"}}, "format", "the cname is null"),
    "blosc with a bad name": (
        {"compressor": {"id": "blosc", "cname": "\x1b[31m"}},
        "format",
        "the cname is `\\x1b[31m`: expected `lz4`, `lz4hc`",
    ),
    "an order": ({"order": "A"}, "format", "the order is `A`: expected `C` or `F`"),
    "a separator": ({"dimension_separator": "-"}, "format", "the dimension_separator is `-`"),
    "no chunks": ({"chunks": [2, 0]}, "format", "the chunks is [2, 0]"),
    "no fill value": ({"fill_value": ...}, "format", "the fill value is missing"),
    "delta of another type": (
        {"filters": [{"id": "delta", "dtype": "<f8"}]},
        "format",
        "the codec `delta` is of the type `<f8`: expected `<i4`",
    ),
    "delta of strings": (
        {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<U9"}]},
        "format",
        "expected a dtype and an astype",
    ),
    "a shuffle of nothing": (
        {"filters": [{"id": "shuffle", "elementsize": 0}]},
        "format",
        "expected an elementsize",
    ),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("version", "members", "rule", "words"),
    [
        *((3, *each) for each in HOSTILE_3.values()),
        *((2, *each) for each in HOSTILE_2.values()),
    ],
    ids=[*HOSTILE_3, *(f"2 {name}" for name in HOSTILE_2)],
)
def test_hostile_metadata_are_refused_by_name(
    version: int, members: dict[str, Any], rule: str, words: str
) -> None:
    peer("x.zarr", X, zarr_format=version)
    alter("x.zarr", **members)
    found = refusal("x.zarr")
    assert found.rule == rule
    assert words in str(found)
    assert len(str(found)) < 500


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"zarr_format":3,"zarr_format":3}', "repeated"),
        ("[]", "no JSON object"),
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("\xff", "expected UTF-8"),
    ],
    ids=["depth", "keys twice", "a list", "nothing", "half", "bytes"],
)
@pytest.mark.parametrize("name", ["zarr.json", ".zarray", ".zgroup"])
def test_metadata_that_are_no_sound_json_are_refused(name: str, text: str, words: str) -> None:
    os.mkdir("x.zarr")
    with open(f"x.zarr/{name}", "wb") as out:
        out.write(text.encode("latin-1"))
    found = refusal("x.zarr")
    assert found.rule == "format"
    assert words in str(found)
    assert f"`{name}`" in str(found)


@pytest.mark.usefixtures("folder")
def test_metadata_that_are_no_regular_file_are_refused_at_once() -> None:
    os.mkdir("x.zarr")
    os.mkfifo("x.zarr/zarr.json")
    assert "`zarr.json` is no regular file" in str(refusal("x.zarr"))
    os.unlink("x.zarr/zarr.json")
    os.symlink("/dev/zero", "x.zarr/zarr.json")
    assert "`zarr.json` is no regular file" in str(refusal("x.zarr"))
    os.unlink("x.zarr/zarr.json")
    os.symlink("zarr.json", "x.zarr/zarr.json")
    assert refusal("x.zarr").status == 66
    os.unlink("x.zarr/zarr.json")
    with open("x.zarr/zarr.json", "wb") as out:
        out.truncate(17 << 20)
    assert refusal("x.zarr").rule == "limit"


# Chunks that are refused


def flat(path: str, *, cells: int = 1000, **options: Any) -> str:
    """Write one chunk of `cells` bytes, and return the path of its file."""
    options = {"chunks": (cells,), "fill_value": 9} | options
    peer(path, np.zeros(cells, np.uint8), **options)
    return f"{path}/0" if options.get("zarr_format") == 2 else f"{path}/c/0"


def crc(raw: bytes) -> bytes:
    """Return the four bytes that the codec crc32c adds."""
    return bytes(numcodecs.checksum32.CRC32C(location="end").encode(raw)[-4:])


def zstd_runs(size: int, *, told: int | None = None) -> bytes:
    """Write a frame of runs by hand; it does not say its size unless `told`."""
    width = b"" if told is None else told.to_bytes(8, "little")
    out = b"\x28\xb5\x2f\xfd" + (b"\0" if told is None else b"\xc0") + b"\x58" + width
    while size:
        run = min(size, 1 << 17)
        size -= run
        out += (run << 3 | 2 | (not size)).to_bytes(3, "little") + b"\x07"
    return out


def blosc_runs(size: int) -> bytes:
    raw: bytes = numcodecs.Blosc("lz4", blocksize=1 << 18).encode(np.zeros(size, np.uint8))
    return raw


BOMB: Final = 200 << 20
BOMBS: Final[dict[str, tuple[int, dict[str, Any], Callable[[], bytes]]]] = {
    "gzip": (
        3,
        {"compressors": zc.GzipCodec()},
        lambda: gzip.compress(bytes(BOMB), 1),
    ),
    "zstd": (3, {}, lambda: zstd_runs(BOMB)),
    "zstd with its size": (3, {}, lambda: zstd_runs(BOMB, told=BOMB)),
    "zstd with a lie": (3, {}, lambda: zstd_runs(BOMB, told=1000)),
    "blosc": (3, {"compressors": zc.BloscCodec()}, lambda: blosc_runs(BOMB)),
    "2 gzip": (2, {"compressors": numcodecs.GZip()}, lambda: gzip.compress(bytes(BOMB), 1)),
    "2 zlib": (2, {"compressors": numcodecs.Zlib()}, lambda: zlib.compress(bytes(BOMB), 1)),
    "2 lz4": (
        2,
        {"compressors": numcodecs.LZ4()},
        lambda: bytes(numcodecs.LZ4().encode(np.zeros(BOMB, np.uint8))),
    ),
    "2 zstd": (2, {"compressors": numcodecs.Zstd()}, lambda: zstd_runs(BOMB)),
    "2 blosc": (2, {"compressors": numcodecs.Blosc()}, lambda: blosc_runs(BOMB)),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", BOMBS)
def test_a_chunk_never_unpacks_to_more_than_it_holds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, options, bomb = BOMBS[name]
    path = flat("x.zarr", zarr_format=version, **options)
    with open(path, "wb") as out:
        out.write(bomb())
    # The check of sizes would stop most of them before they are unpacked.
    monkeypatch.setattr("gathercli.io.zarr.arrayspec.ArraySpec.max_packed", 1 << 30)
    tracemalloc.start()
    try:
        found = refusal("x.zarr", limit=1 << 30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = os.path.getsize(path)
    assert peak < 3 * size + (4 << 20)
    assert found.rule == "format"
    assert f"the chunk `x.zarr/{path[7:]}` cannot be read" in str(found)


def test_a_bomb_in_a_shard_does_not_unpack(folder: Path) -> None:
    peer("x.zarr", np.zeros(4, np.uint8), chunks=(2,), shards=(4,), fill_value=9)
    bomb = zstd_runs(BOMB)
    index = struct.pack("<4Q", 0, len(bomb), 0, len(bomb))
    index += crc(index)
    (folder / "x.zarr/c/0").write_bytes(bomb + index)
    tracemalloc.start()
    try:
        found = refusal("x.zarr")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert "the chunk `x.zarr/c/0` cannot be read" in str(found)


@pytest.mark.parametrize("whole", [True, False])
def test_a_chunk_of_a_shard_is_no_longer_than_a_chunk_can_be(folder: Path, whole: bool) -> None:
    peer("x.zarr", np.zeros(4096, np.uint8), chunks=(16,), shards=(4096,), fill_value=9)
    size = 100_000  # within what the shard may have
    index = struct.pack("<2Q", 0, size) * 256
    index += crc(index)
    (folder / "x.zarr/c/0").write_bytes(zstd_runs(16).ljust(size, b"\0") + index)
    with pytest.raises(InputError, match="100000 bytes, more than a chunk can have"):
        stored("x.zarr").read(((0, 4096 if whole else 16),))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("version", [2, 3])
def test_a_zstd_frame_need_not_say_its_size(version: int) -> None:
    packer = zc.ZstdCodec() if version == 3 else numcodecs.Zstd()
    path = flat("x.zarr", cells=300_000, zarr_format=version, compressors=packer)
    with open(path, "wb") as out:
        out.write(zstd_runs(300_000))
    assert (read("x.zarr") == 7).all()
    for size in (299_999, 300_001):
        with open(path, "wb") as out:
            out.write(zstd_runs(size))
        assert refusal("x.zarr").rule == "format"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "at",
    [[2**64 - 2, 2], [0, 2**63], [10_000, 2], [0, 0], [5, 2**64 - 1], [2**64 - 1, 5]],
    ids=str,
)
@pytest.mark.parametrize("whole", [True, False])
def test_the_index_of_a_shard_may_lie_anywhere(at: list[int], whole: bool) -> None:
    peer("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,), compressors=None)
    index = struct.pack("<4Q", 0, 2, *at)
    index += crc(index)
    with open("x.zarr/c/0", "wb") as out:
        out.write(b"\1\2\3\4" + index)
    found = stored("x.zarr")
    assert found.read(((0, 1),)).tolist() == [1]
    with pytest.raises(InputError, match="cannot be read"):
        found.read(((0, 4),) if whole else ((2, 4),))


@pytest.mark.usefixtures("folder")
def test_a_chunk_of_a_shard_that_is_not_packed_has_the_bytes_of_its_elements() -> None:
    peer("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,), compressors=None)
    index = struct.pack("<4Q", 0, 3, 0, 2)
    with open("x.zarr/c/0", "wb") as out:
        out.write(b"\1\2\3\4" + index + crc(index))
    assert "the chunk `x.zarr/c/0` cannot be read (it has 3 bytes)" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
@every_packer
def test_a_damaged_chunk_is_refused_by_the_name_of_its_file(packer: str) -> None:
    version, options = PACKERS[packer]
    peer("x.zarr", X, zarr_format=version, **options)
    path = "x.zarr/c/0/1" if version == 3 else "x.zarr/0.1"
    with open(path, "rb") as chunk:
        sound = chunk.read()
    for raw in (b"", b"x", sound[:-1], sound[: len(sound) // 2], sound + b"x", b"\xff" * 99):
        with open(path, "wb") as chunk:
            chunk.write(raw)
        found = refusal("x.zarr")
        assert (found.rule, found.status) == ("format", 65)
        assert f"the chunk `{path}` cannot be read" in str(found)
        assert "expected 24 bytes of elements" in str(found)


@pytest.mark.usefixtures("folder")
def test_random_damage_is_refused_or_read() -> None:
    draw = np.random.default_rng(5)
    for version, options in PACKERS.values():
        peer("x.zarr", X, zarr_format=version, **options)
        path = "x.zarr/c/0/1" if version == 3 else "x.zarr/0.1"
        with open(path, "rb") as chunk:
            sound = bytearray(chunk.read())
        for _ in range(20):
            raw = bytearray(sound)
            for at in draw.integers(0, len(raw), 2).tolist():
                raw[at] = int(draw.integers(0, 256))
            with open(path, "wb") as chunk:
                chunk.write(raw)
            try:
                assert read("x.zarr").shape == (5, 7)
            except InputError as error:
                assert path in str(error)  # noqa: PT017


def test_a_chunk_that_is_no_regular_file_is_refused_at_once(folder: Path) -> None:
    chunk = folder / flat("x.zarr")
    chunk.unlink()
    os.mkfifo(chunk)
    assert "the chunk `x.zarr/c/0` cannot be read" in str(refusal("x.zarr"))
    for target in ("/dev/zero", "/", "nowhere"):
        chunk.unlink()
        chunk.symlink_to(target)
        assert "the chunk `x.zarr/c/0` cannot be read" in str(refusal("x.zarr"))
    chunk.unlink()
    chunk.mkdir()
    assert "it is no regular file" in str(refusal("x.zarr"))
    chunk.rmdir()
    chunk.symlink_to("0")
    assert refusal("x.zarr").status == 66


def test_a_chunk_that_is_far_too_long_is_not_read(folder: Path) -> None:
    path = folder / flat("x.zarr")
    os.truncate(path, 1 << 40)
    assert "more than a chunk can have" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
def test_code_points_that_are_no_characters_are_refused() -> None:
    peer("x.zarr", np.array(["ab"]), chunks=(1,), zarr_format=2, compressors=None)
    with open("x.zarr/0", "wb") as chunk:
        chunk.write(struct.pack("<2I", 0x61, 0x110000))
    assert "element 0 holds the code point 0x110000" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
def test_nothing_is_allocated_for_an_array_beyond_the_limit() -> None:
    peer("x.zarr", X)
    alter("x.zarr", shape=[1 << 30, 1 << 20])
    found = refusal("x.zarr")
    assert isinstance(found, LimitError)
    assert found.hint is not None
    assert "--header" in found.hint
    assert stored("x.zarr").read(((0, 2), (0, 3))).tolist() == X[:2, :3].tolist()


@pytest.mark.usefixtures("folder")
def test_an_array_of_countless_chunks_is_not_read_at_once() -> None:
    peer("x.zarr", np.empty(0, np.uint8), shape=(1 << 30,), chunks=(1,))
    assert "1073741824 chunks of the array are to be read at once" in str(
        refusal("x.zarr", limit=None)
    )
    assert stored("x.zarr").read(((1 << 29, (1 << 29) + 3),)).tolist() == [0, 0, 0]


@pytest.mark.usefixtures("folder")
def test_a_name_of_a_file_loads_no_plugin() -> None:
    peer("x.zarr", X)
    code = """
import sys
from importlib.metadata import EntryPoint
def load(self):
    raise SystemExit(f"loaded {self}")
from gathercli.io.source import Inputs
import zarr
EntryPoint.load = load
Inputs(None).tensor("x.zarr", "")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# Creating


@pytest.fixture
def _unswapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a file system where two names cannot change places."""
    monkeypatch.setattr("gathercli.io.swap.exchange", lambda *_: False)


@pytest.mark.usefixtures("folder")
def test_an_array_is_there_only_when_it_is_whole() -> None:
    with Creation("x.zarr") as made:
        made.open(X.shape, held_of(X), (2, 3))
        assert os.path.dirname(made.temporary) == os.getcwd()
        assert os.path.basename(made.temporary).startswith(".x.zarr.")
        assert os.listdir(".") == [os.path.basename(made.temporary)]
        writer(made.temporary).write(((0, 2), (0, 3)), X[:2, :3])
    assert os.listdir(".") == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_nothing_remains_of_what_was_interrupted(error: type[BaseException]) -> None:
    peer("x.zarr", X)

    def interrupted() -> None:
        with Creation("x.zarr") as made:
            made.open(X.shape, held_of(X), (2, 3))
            writer(made.temporary).write(((0, 2), (0, 3)), X[:2, :3])
            raise error

    with pytest.raises(error):
        interrupted()
    assert os.listdir(".") == ["x.zarr"]
    assert same(read("x.zarr"), X)


@pytest.mark.usefixtures("folder", "_unswapped")
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("late", [True, False])
def test_a_signal_between_two_renames_leaves_one_array(
    step: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer("x.zarr", X)
    rename, calls = os.rename, Counter[str]()

    def interrupted(source: str, target: str) -> None:
        calls["rename"] += 1
        if late or calls["rename"] != step:
            rename(source, target)
        if calls["rename"] == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            create("x.zarr", X + 1, (2, 3))
    assert os.listdir(".") == ["x.zarr"]
    assert same(read("x.zarr"), X + 1 if (late and step == 2) else X)


@pytest.mark.usefixtures("folder")
def test_an_array_is_replaced_as_a_whole() -> None:
    peer("x.zarr", X, zarr_format=2)
    create("x.zarr/", X + 1, (5, 5), stored("x.zarr"))
    assert os.listdir(".") == ["x.zarr"]
    assert same(peer_reads("x.zarr"), X + 1)
    assert sorted(files("x.zarr")) == [".zarray", "0.0", "0.1"]


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names do not change places")
def test_an_array_is_replaced_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    peer("x.zarr", X)
    monkeypatch.setattr(os, "rename", lambda *_: pytest.fail("there is a moment without the array"))

    create("x.zarr", X + 1, (2, 3))

    assert os.listdir(".") == ["x.zarr"]
    assert same(peer_reads("x.zarr"), X + 1)


@pytest.mark.usefixtures("folder", "_unswapped")
def test_an_array_is_replaced_where_names_cannot_change_places() -> None:
    peer("x.zarr", X)

    create("x.zarr", X + 1, (2, 3))

    assert os.listdir(".") == ["x.zarr"]
    assert same(peer_reads("x.zarr"), X + 1)


@pytest.mark.usefixtures("folder")
def test_names_change_places_or_nothing_happens() -> None:
    Path("a").write_text("a")
    Path("b").mkdir()

    assert not swap.exchange("a", "none")
    assert sorted(os.listdir(".")) == ["a", "b"]
    assert swap.exchange("a", "b")
    assert (os.path.isdir("a"), Path("b").read_text()) == (True, "a")


@pytest.mark.usefixtures("folder", "_unswapped")
@pytest.mark.parametrize("step", [1, 2])
def test_the_old_array_stays_when_the_new_one_cannot_take_its_place(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer("x.zarr", X)
    rename, calls = os.rename, Counter[str]()

    def failing(source: str, target: str) -> None:
        calls["rename"] += 1
        if calls["rename"] == step:
            raise OSError(28, "No space left on device")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(TransferError, match="could not be finished"):
            create("x.zarr", X + 1, (2, 3))
    assert os.listdir(".") == ["x.zarr"]
    assert same(read("x.zarr"), X)


def test_only_an_array_is_replaced(folder: Path) -> None:
    (folder / "file").write_text("x")
    (folder / "folder").mkdir()
    group("group", 3)
    group("group2", 2)
    peer("array", X)
    (folder / "link").symlink_to("array")
    os.mkfifo(folder / "fifo")
    (folder / "bad").mkdir()
    (folder / "bad/zarr.json").write_text("{")
    (folder / "fake").mkdir()
    (folder / "fake/zarr.json").write_text('{"node_type":"array"}')
    before = sorted(os.listdir(folder))
    for name, words in {
        "file": "it is a file",
        "folder": "it is a folder, and no zarr array",
        "group": "it is a folder, and no zarr array",
        "group2": "it is a folder, and no zarr array",
        "bad": "it is a folder, and no zarr array",
        "fake": "it is a folder, and no zarr array",
        "array/..": "its last part names no folder",
        "array/.": "its last part names no folder",
        "/": "its last part names no folder",
        "array/x.zarr": "it lies in the array",
        "array/c/0/none/x.zarr": "it lies in the array",
        "folder/../array/c/x.zarr": "it lies in the array",
        "link": "it is a symbolic link",
        "link/": "it is a symbolic link",
        "fifo": "it is a device or a pipe",
        "/dev/stdout": "it is a device or a pipe",
        "": "the name is empty",
        "a\0b": "a NUL in its name",
        "file/x": "not a directory",
    }.items():
        with pytest.raises(OutputError) as caught:
            Creation(name)
        assert words in str(caught.value)
        assert caught.value.rule == "output"
    with pytest.raises(OutputError, match="it exists"):
        Creation("array", no_clobber=True)
    with Creation("none/x.zarr") as made, pytest.raises(OutputError, match="no such file"):
        made.open(X.shape, held_of(X), (2, 3))
    assert sorted(os.listdir(folder)) == before


@pytest.mark.usefixtures("folder")
def test_a_name_that_leads_through_what_is_replaced_is_settled_beforehand(run: Run) -> None:
    peer("x.zarr", X)
    assert run("gather", "x.zarr", "0,1", "-o", "x.zarr/../x.zarr").status == 0
    assert os.listdir(".") == ["x.zarr"]
    assert same(read("x.zarr"), X[:2])
    assert run("convert", "x.zarr", "x.zarr/..", "--to", "zarr").status == 0
    assert same(read("x.zarr"), X[:2])
    assert run("gather", "x.zarr", "0,1", "-o", "x.zarr/c/0/y.zarr").status == 73
    assert os.listdir(".") == ["x.zarr"]


@both
def test_nothing_is_created_inside_an_array(folder: Path, version: int) -> None:
    peer("x.zarr", X, zarr_format=version)
    for name in ("x.zarr/y.zarr", "x.zarr/c/0/y.zarr"):
        with pytest.raises(OutputError, match="it lies in the array"):
            Creation(name)
    (folder / "bad").mkdir()
    (folder / "bad/zarr.json").write_text("{")  # of what it is nobody can say
    create("bad/x.zarr", X, (2, 3))
    group("g.zarr", version)
    create("g.zarr/new", X, (2, 3))
    assert same(read("g.zarr#new"), X) if version == 3 else os.path.isdir("g.zarr/new")


@pytest.mark.usefixtures("folder", "_unswapped")
def test_an_array_that_cannot_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    peer("x.zarr", X)
    rename, calls = os.rename, Counter[str]()

    def failing(source: str, target: str) -> None:
        calls["rename"] += 1
        if calls["rename"] > 1:
            raise OSError(28, "No space left on device")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(TransferError, match="could not be put back") as caught:
            create("x.zarr", X + 1, (2, 3))
    (left,) = os.listdir(".")
    assert str(caught.value) == (
        "`x.zarr` could not be put back (no space left on device): "
        f"the array that was there is now `{os.getcwd()}/{left}`"
    )
    assert same(read(left), X)


@pytest.mark.parametrize("name", ["c/thesis.tex", "c/0/sub.zarr/zarr.json", "c/0/0.txt"])
def test_an_array_that_holds_anything_else_is_not_replaced(folder: Path, name: str) -> None:
    peer("x.zarr", X)
    (folder / "x.zarr" / name).parent.mkdir(exist_ok=True)
    (folder / "x.zarr" / name).write_text("mine")
    with pytest.raises(OutputError, match="which is no part of an array"):
        Creation("x.zarr")
    assert (folder / "x.zarr" / name).read_text() == "mine"


def test_all_of_an_array_is_looked_at_before_it_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.io.zarr.created.MAX_NAMES", 2)
    peer("x.zarr", X)
    (folder / "x.zarr/c/0/thesis.tex").write_text("mine")
    with pytest.raises(OutputError, match="holds `c/0/thesis"):
        create("x.zarr", X + 1, (2, 3))
    assert os.listdir(".") == ["x.zarr"]
    assert (folder / "x.zarr/c/0/thesis.tex").read_text() == "mine"


@pytest.mark.usefixtures("folder")
def test_chunks_are_on_the_disk_before_they_get_a_name_if_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(fd: int) -> None:
        seen.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    def renamed(source: str, target: str) -> None:
        seen.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    create("x.zarr", X, (5, 4))
    assert seen == ["rename"]
    seen.clear()
    create("y.zarr", X, (5, 4), fsync=True)
    assert sorted(seen[:4]) == ["0", "0", "1", "c"]
    assert seen[4] == "zarr.json"
    assert seen[5].startswith(".y.zarr.")
    assert seen[6:] == ["rename", os.path.basename(os.getcwd())]


@pytest.mark.parametrize("step", ["beforehand", "opened", "committed"])
def test_an_array_is_not_created_through_a_link_that_comes_meanwhile(
    step: str, folder: Path
) -> None:
    for name in ("out", "elsewhere"):
        (folder / name).mkdir()

    def swapped(when: str) -> None:
        if when == step:
            (folder / "out").rename("moved")
            (folder / "out").symlink_to("elsewhere")

    def interfere() -> None:
        swapped("beforehand")
        with Creation("out/x.zarr", within=str(folder / "out")) as made:
            swapped("opened")
            made.open(X.shape, held_of(X), (2, 3))
            swapped("committed")
            made.commit()

    with pytest.raises((OutputError, TransferError)):
        interfere()
    assert os.listdir("elsewhere") == []


@pytest.mark.parametrize("words", [["--fsync"], []])
def test_a_command_puts_chunks_on_the_disk_where_that_is_asked_for(
    words: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", seen.append)

    assert run("gather", "[5,6]", "[1,0]", "-o", "x.zarr", *words).status == 0

    assert bool(seen) == bool(words)


@pytest.mark.usefixtures("folder")
def test_what_appears_meanwhile_is_not_replaced() -> None:
    for no_clobber in (True, False):
        with Creation("x.zarr", no_clobber=no_clobber) as made:
            made.open(X.shape, held_of(X), (2, 3))
            with open("x.zarr", "w", encoding="utf-8") as out:
                out.write("mine")
            with pytest.raises(OutputError, match="it exists" if no_clobber else "it is a file"):
                made.commit()
        assert os.listdir(".") == ["x.zarr"]
        os.unlink("x.zarr")


@pytest.mark.usefixtures("folder")
def test_zarr_has_no_bfloat16() -> None:
    with pytest.raises(InputError, match="zarr has no type bfloat16") as caught:
        Creation("x.zarr").open((1,), BFLOAT16, (1,))
    assert caught.value.rule == "dtype"


@pytest.mark.usefixtures("folder")
def test_the_codecs_of_another_type_or_rank_are_fitted() -> None:
    transposed = {"filters": zc.TransposeCodec(order=(1, 0)), "compressors": zc.BloscCodec()}
    peer("x.zarr", X, **transposed)
    peer("y.zarr", X, zarr_format=2, filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)])
    wide = np.arange(24.0).reshape(2, 3, 4)
    for like in ("x.zarr", "y.zarr"):
        for array in (wide, wide[0], wide.astype(np.int32), np.array(3), np.array(["a", "bcd"])):
            create("z.zarr", array, (2,) * array.ndim, stored(like))
            assert same(peer_reads("z.zarr"), array)


@pytest.mark.usefixtures("folder")
def test_strings_are_as_wide_as_those_of_the_array_that_is_followed() -> None:
    words = np.array(["a", "bcd"])
    peer("x.zarr", words, chunks=(1,))
    with Creation("y.zarr") as made:
        made.open((2,), STRING, (2,), stored("x.zarr"))
        writer(made.temporary).write(((0, 2),), words)
        made.commit()
    assert same(peer_reads("y.zarr"), words)


@pytest.mark.usefixtures("folder")
def test_another_process_writes_by_the_path_alone() -> None:
    with Creation("x.zarr") as made:
        made.open(X.shape, held_of(X), (2, 7))
        code = """
import sys
import numpy as np
from gathercli.io import swap
from gathercli.io.zarr import writer
x = np.arange(35, dtype=np.int32).reshape(5, 7)
for start in (0, 2, 4):
    writer(sys.argv[1]).write(((start, min(start + 2, 5)), (0, 7)), x[start : start + 2])
"""
        subprocess.run([sys.executable, "-c", code, made.temporary], check=True)
        made.commit()
    assert same(peer_reads("x.zarr"), X)


@pytest.mark.usefixtures("folder")
def test_a_disk_that_is_full_stops_the_writing() -> None:
    code = """
import resource, signal, sys
import numpy as np
from gathercli.spec.dtypes import dtype
from gathercli.errors import TransferError
from gathercli.io import swap
from gathercli.io.zarr import Creation, writer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Creation("x.zarr") as made:
    made.open((1 << 16,), dtype("uint8"), (1 << 16,))
    out = writer(made.temporary)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        out.write(((0, 1 << 16),), np.random.default_rng(0).integers(0, 256, 1 << 16, "u1"))
    except TransferError as error:
        sys.exit(0 if "file too large" in str(error) else 1)
sys.exit(2)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert os.listdir(".") == []
