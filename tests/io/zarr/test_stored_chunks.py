"""A chunk file is a regular file in the folder of the array, and no larger than it can be."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import struct
import subprocess
import sys
import tracemalloc
import zlib
from mmap import PAGESIZE, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numcodecs
import numpy as np
import pytest
from zarr import codecs as zc

from gathercli.compute.chunks import everything, tiled
from gathercli.compute.storage import slices
from gathercli.errors import InputError, TransferError
from gathercli.io.zarr.stored import ZarrArray, writer_at
from tests.io.zarr.peer import (
    BOMB,
    PACKERS,
    X,
    alter_metadata,
    crc,
    create,
    every_packer,
    identical,
    in_threads,
    open_array,
    peer_reads,
    peer_writes,
    read,
    read_metadata,
    refusal,
    sharding,
    write_flat,
    zstd_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_chunk_that_is_no_regular_file_is_refused_at_once(folder: Path) -> None:
    chunk = folder / write_flat("x.zarr")
    chunk.unlink()

    os.mkfifo(chunk)

    assert "the chunk `x.zarr/c/0` cannot be read" in str(refusal("x.zarr"))

    for target in ("/dev/zero", "/", "nowhere"):
        chunk.unlink()
        chunk.symlink_to(target)
        assert "the chunk `x.zarr/c/0` cannot be read" in str(refusal("x.zarr"))
    chunk.unlink()

    chunk.mkdir()

    assert "it is not a regular file" in str(refusal("x.zarr"))

    chunk.rmdir()

    chunk.symlink_to("0")

    assert refusal("x.zarr").status == 66


def test_a_chunk_that_is_far_too_long_is_not_read(folder: Path) -> None:
    path = folder / write_flat("x.zarr")

    os.truncate(path, 1 << 40)

    assert "more than a chunk can have" in str(refusal("x.zarr"))


@pytest.mark.parametrize(
    "options", [{}, {"shards": (1000,), "chunks": (10,)}], ids=["chunk", "shard"]
)
def test_a_file_may_have_as_many_bytes_as_its_chunks_at_most(
    options: dict[str, Any], folder: Path
) -> None:
    path = folder / write_flat("x.zarr", **options)
    most = open_array("x.zarr").spec.max_file

    os.truncate(path, most + 1)

    with pytest.raises(InputError, match=f"it has {most + 1} bytes, more than a chunk can have"):
        open_array("x.zarr").read(((0, 10),))

    os.truncate(path, most)

    with pytest.raises(InputError) as caught:
        open_array("x.zarr").read(((0, 10),))
    assert "more than a chunk can have" not in str(caught.value)


@pytest.mark.usefixtures("folder")
def test_a_file_that_ends_while_it_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write_flat("x.zarr")
    monkeypatch.setattr(os, "preadv", lambda *_: 0)

    assert "it is cut before byte" in str(refusal("x.zarr"))


def test_a_chunk_is_not_absent_because_its_folder_links_elsewhere(folder: Path) -> None:
    write_flat("x.zarr")
    (folder / "elsewhere").mkdir()
    (folder / "x.zarr/c/0").unlink()
    (folder / "x.zarr/c").rmdir()

    assert (read("x.zarr") == 9).all()

    (folder / "x.zarr/c").symlink_to("../elsewhere")

    assert "the chunk `x.zarr/c/0` cannot be read" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
def test_a_refusal_to_go_on_leaves_no_file_open() -> None:
    write_flat("x.zarr")

    def refuse(*_: object) -> None:
        raise TransferError("changed")

    array = ZarrArray("x.zarr", "x.zarr", open_array("x.zarr").spec, refuse)
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(TransferError, match="changed"):
        array.read(((0, 1),))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_chunk_that_cannot_get_its_name_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flat("x.zarr")
    array = writer_at("x.zarr")

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)

    with pytest.raises(TransferError, match="no space"):
        array.write(((0, 1000),), np.zeros(1000, np.uint8))
    assert os.listdir(folder / "x.zarr/c") == ["0"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("place", ["start", "end"])
def test_the_chunks_of_shards_are_read_one_by_one(place: Any) -> None:
    peer_array = peer_writes("x.zarr", X, shards={"shape": (4, 6), "index_location": place})
    peer_array[2:4, 3:6] = 0  # such a chunk is absent from its shard
    array = X.copy()
    array[2:4, 3:6] = 0

    zarray = open_array("x.zarr")

    assert (zarray.chunks, zarray.spec.grid, zarray.spec.chunk_nbytes) == ((2, 3), (4, 6), 24)
    assert identical(zarray.read(everything(X.shape)), array)
    assert identical(zarray.read(((1, 5), (2, 7))), array[1:5, 2:7])
    assert identical(zarray.read(((4, 5), (0, 1))), array[4:5, :1])

    create("y.zarr", array, (2, 3), zarray)

    assert [codec["name"] for codec in read_metadata("y.zarr")["codecs"]] == ["bytes", "zstd"]
    assert identical(peer_reads("y.zarr"), array)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("packer", [name for name in PACKERS if PACKERS[name][0] == 3])
def test_every_codec_is_read_in_shards(packer: str) -> None:
    options = PACKERS[packer][1]
    if packer.startswith("transpose"):  # more than one
        orders = ((1, 2, 0), (0, 2, 1))
        options = options | {"filters": [zc.TransposeCodec(order=order) for order in orders]}
    for name in ("<i4", ">f8", "?", "<U2"):
        array = X.astype(name)[None]
        peer_writes("x.zarr", array, chunks=(1, 2, 3), shards=(1, 4, 6), **options)
        zarray = open_array("x.zarr")
        for box in (everything(array.shape), *tiled(everything(array.shape), (1, 3, 5))):
            assert identical(zarray.read(box), array[slices(box)].astype(zarray.storage, order="C"))


@pytest.mark.usefixtures("folder")
def test_a_scalar_may_lie_in_a_shard() -> None:
    peer_writes("x.zarr", np.array(7.5), chunks=())
    alter_metadata("x.zarr", codecs=sharding(chunk_shape=[]))
    with open("x.zarr/c", "wb") as out:
        out.write(struct.pack("<d2Q", 7.5, 0, 8))

    assert read("x.zarr").tolist() == 7.5


@pytest.mark.usefixtures("folder")
def test_a_damaged_shard_is_refused() -> None:
    draw = np.random.default_rng(5)
    for name, (version, options) in PACKERS.items():
        if version == 2 or name == "transpose+zstd":
            continue
        peer_writes("x.zarr", X, shards=(4, 6), **options)
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
                    assert open_array("x.zarr").read(box).shape
                except InputError as error:
                    assert "x.zarr/c/0/0" in str(error)  # noqa: PT017
                else:
                    assert number > 2


@pytest.mark.usefixtures("folder")
def test_a_whole_shard_is_read_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(1 << 15).astype(np.uint8)
    peer_writes("x.zarr", np.empty(0, np.uint8), shape=array.shape, chunks=(1,), shards=array.shape)
    alter_metadata("x.zarr", codecs=sharding(chunk_shape=[1]))
    os.mkdir("x.zarr/c")
    index = np.stack([np.arange(array.size), np.ones(array.size)], 1).astype("<u8")
    with open("x.zarr/c/0", "wb") as out:
        out.write(array.tobytes() + index.tobytes())
    read_at, lengths = os.preadv, []

    def counted(fd: int, buffers: Any, offset: int) -> int:
        lengths.append(len(buffers[0]))
        return read_at(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", counted)

    assert identical(read("x.zarr"), array)

    assert lengths == [array.size + index.nbytes]


def test_a_bomb_in_a_shard_does_not_unpack(folder: Path) -> None:
    peer_writes("x.zarr", np.zeros(4, np.uint8), chunks=(2,), shards=(4,), fill_value=9)
    bomb = zstd_runs(BOMB)
    index = struct.pack("<4Q", 0, len(bomb), 0, len(bomb))
    index += crc(index)
    (folder / "x.zarr/c/0").write_bytes(bomb + index)
    tracemalloc.start()
    try:
        error = refusal("x.zarr")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20
    assert "the chunk `x.zarr/c/0` cannot be read" in str(error)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("size", [100_000, 2_000])  # the index is longer than the latter
def test_a_chunk_of_a_shard_is_no_longer_than_a_chunk_can_be(
    folder: Path, whole: bool, size: int
) -> None:
    peer_writes("x.zarr", np.zeros(4096, np.uint8), chunks=(16,), shards=(4096,), fill_value=9)
    index = struct.pack("<2Q", 0, size) * 256
    index += crc(index)

    (folder / "x.zarr/c/0").write_bytes(zstd_runs(16).ljust(size, b"\0") + index)

    with pytest.raises(InputError, match=f"{size} bytes, more than a chunk can have"):
        open_array("x.zarr").read(((0, 4096 if whole else 16),))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "at", [[2**64 - 2, 2], [0, 2**63], [10_000, 2], [0, 0], [5, 2**64 - 1], [2**64 - 1, 5]], ids=str
)
@pytest.mark.parametrize("whole", [True, False])
def test_an_index_that_points_outside_its_shard_is_refused(at: list[int], whole: bool) -> None:
    peer_writes("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,), compressors=None)
    index = struct.pack("<4Q", 0, 2, *at)
    index += crc(index)
    with open("x.zarr/c/0", "wb") as out:
        out.write(b"\1\2\3\4" + index)

    zarray = open_array("x.zarr")

    assert zarray.read(((0, 1),)).tolist() == [1]
    with pytest.raises(InputError, match="and none at"):
        zarray.read(((0, 4),) if whole else ((2, 4),))


@pytest.mark.usefixtures("folder")
def test_a_chunk_of_a_shard_that_is_not_packed_has_the_bytes_of_its_elements() -> None:
    peer_writes("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,), compressors=None)
    index = struct.pack("<4Q", 0, 3, 0, 2)
    with open("x.zarr/c/0", "wb") as out:
        out.write(b"\1\2\3\4" + index + crc(index))

    assert "the chunk `x.zarr/c/0` cannot be read (it has 3 bytes)" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("whole", [True, False])
def test_an_index_with_another_checksum_is_refused(whole: bool) -> None:
    peer_writes("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,), compressors=None)
    raw = Path("x.zarr/c/0").read_bytes()

    Path("x.zarr/c/0").write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))

    with pytest.raises(InputError, match="its checksum is 0x"):
        open_array("x.zarr").read(((0, 4 if whole else 1),))


@pytest.mark.usefixtures("folder")
def test_a_file_shorter_than_its_index_is_refused() -> None:
    peer_writes("x.zarr", np.arange(4, dtype=np.uint8), chunks=(2,), shards=(4,))

    Path("x.zarr/c/0").write_bytes(b"123")

    assert "(it has 3 bytes, and none at -33 to 3)" in str(refusal("x.zarr"))


@every_packer
def test_every_codec_is_read_and_used_for_a_copy(folder: Path, packer: str) -> None:
    version, options = PACKERS[packer]
    peer_writes("x.zarr", X, zarr_format=version, **options)

    zarray = open_array("x.zarr")

    assert (zarray.spec.version, zarray.spec.codec_names) == (version, packer.removeprefix("2 "))
    assert identical(zarray.read(everything(X.shape)), X)

    create("y.zarr", X, (2, 3), zarray)
    document = read_metadata("y.zarr")
    for key in ("codecs", "filters", "compressor", "order", "dimension_separator"):
        assert document.get(key) == read_metadata("x.zarr").get(key)

    assert identical(peer_reads("y.zarr"), X)
    assert identical(read("y.zarr"), X)
    assert sorted(os.listdir(folder)) == ["x.zarr", "y.zarr"]


@pytest.mark.usefixtures("folder")
def test_chunks_that_the_standard_library_unpacks_need_no_package() -> None:
    peer_writes("none.zarr", X, compressors=None)
    peer_writes("gzip.zarr", X, compressors=zc.GzipCodec())
    peer_writes("sum.zarr", X, compressors=zc.Crc32cCodec())
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
    assert identical(peer_reads("copy.zarr"), X)


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
    peer_writes("x.zarr", X, zarr_format=2, compressors=None)
    alter_metadata("x.zarr", compressor=codec)

    with pytest.raises(TransferError, match=r"^a chunk cannot be packed"):
        create("y.zarr", X, (2, 3), open_array("x.zarr"))

    assert os.listdir() == ["x.zarr"]


def blosc_runs(size: int) -> bytes:
    raw: bytes = numcodecs.Blosc("lz4", blocksize=1 << 18).encode(np.zeros(size, np.uint8))
    return raw


BOMBS: Final[dict[str, tuple[int, dict[str, Any], Callable[[], bytes]]]] = {
    "gzip": (3, {"compressors": zc.GzipCodec()}, lambda: gzip.compress(bytes(BOMB), 1)),
    "zstd": (3, {}, lambda: zstd_runs(BOMB)),
    "zstd with its size": (3, {}, lambda: zstd_runs(BOMB, stated=BOMB)),
    "zstd with a lie": (3, {}, lambda: zstd_runs(BOMB, stated=1000)),
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
    path = write_flat("x.zarr", zarr_format=version, **options)
    with open(path, "wb") as out:
        out.write(bomb())
    # The check of sizes would stop most of them before they are unpacked.
    monkeypatch.setattr("gathercli.io.zarr.arrayspec.ArraySpec.max_packed", 1 << 30)
    tracemalloc.start()
    try:
        error = refusal("x.zarr", limit=1 << 30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    size = os.path.getsize(path)

    assert peak < 3 * size + (4 << 20)
    assert error.rule == "format"
    assert f"the chunk `x.zarr/{path[7:]}` cannot be read" in str(error)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("version", [2, 3])
def test_a_zstd_frame_need_not_say_its_size(version: int) -> None:
    packer = zc.ZstdCodec() if version == 3 else numcodecs.Zstd()
    path = write_flat("x.zarr", cells=300_000, zarr_format=version, compressors=packer)
    with open(path, "wb") as out:
        out.write(zstd_runs(300_000))

    assert (read("x.zarr") == 7).all()

    for size in (299_999, 300_001):
        with open(path, "wb") as out:
            out.write(zstd_runs(size))
        assert refusal("x.zarr").rule == "format"


@pytest.mark.usefixtures("folder")
@every_packer
def test_a_damaged_chunk_is_refused_by_the_name_of_its_file(packer: str) -> None:
    version, options = PACKERS[packer]
    peer_writes("x.zarr", X, zarr_format=version, **options)
    path = "x.zarr/c/0/1" if version == 3 else "x.zarr/0.1"
    with open(path, "rb") as chunk:
        sound = chunk.read()
    for raw in (b"", b"x", sound[:-1], sound[: len(sound) // 2], sound + b"x", b"\xff" * 99):
        with open(path, "wb") as chunk:
            chunk.write(raw)
        error = refusal("x.zarr")
        assert (error.rule, error.status) == ("format", 65)
        assert f"the chunk `{path}` cannot be read" in str(error)
        assert "expected 24 bytes of elements" in str(error)


@pytest.mark.usefixtures("folder")
def test_random_damage_is_refused_or_read() -> None:
    draw = np.random.default_rng(5)
    for version, options in PACKERS.values():
        peer_writes("x.zarr", X, zarr_format=version, **options)
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


@pytest.mark.usefixtures("folder")
def test_an_overflow_is_no_warning() -> None:
    peer_writes("x.zarr", np.empty(0, "f4"), shape=(2, 3))

    alter_metadata("x.zarr", fill_value=1e39)

    assert np.isinf(read("x.zarr")).all()

    large = np.full((2, 3), 3e38, "f4")
    delta = numcodecs.Delta("<f4")
    peer_writes("y.zarr", large, zarr_format=2, filters=delta, compressors=None)

    large.tofile("y.zarr/0.0")

    assert np.isinf(read("y.zarr")[1]).all()


@pytest.mark.usefixtures("folder")
def test_a_name_of_a_file_loads_no_plugin() -> None:
    peer_writes("x.zarr", X)
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("cells", [200, 255, 256, 1000, 65_791, 65_792])
def test_the_size_in_a_zstd_header_has_any_width(cells: int, version: int) -> None:
    packer = zc.ZstdCodec() if version == 3 else numcodecs.Zstd()
    array = np.random.default_rng(0).integers(0, 9, cells).astype(np.uint8)

    peer_writes("x.zarr", array, chunks=(cells,), zarr_format=version, compressors=packer)

    assert identical(read("x.zarr"), array)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_zstd_frame_may_name_no_dictionary_in_any_width(width: int) -> None:
    path = write_flat("x.zarr")
    frame = zstd_runs(1000)
    flags = bytes([{1: 1, 2: 2, 4: 3}[width]])

    Path(path).write_bytes(frame[:4] + flags + frame[5:6] + bytes(width) + frame[6:])

    assert (read("x.zarr") == 7).all()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (0, 2, 1)], ids=str)
def test_three_axes_are_transposed_and_back(order: tuple[int, ...]) -> None:
    array = np.arange(4 * 5 * 6).reshape(4, 5, 6)

    peer_writes("x.zarr", array, chunks=(2, 3, 4), filters=zc.TransposeCodec(order=order))
    create("y.zarr", array, (2, 3, 4), open_array("x.zarr"))

    assert identical(read("x.zarr"), array)
    assert identical(peer_reads("y.zarr"), array)


@pytest.fixture
def _large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every array larger than what may wait for the disk."""
    monkeypatch.setattr("gathercli.io.zarr.stored.free_memory", lambda: 0)
    monkeypatch.setattr("gathercli.io.zarr.stored.PAST_CACHE_BYTES", 2 * PAGESIZE)
    try:
        os.close(os.open(folder / "direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
    except (AttributeError, OSError):
        pytest.skip("this system or file system writes nothing past the cache")


def is_written(cells: int, behind: int = 0) -> bool:
    """Write one chunk of bytes, and return whether they are what its file has, the only one.

    They begin so many bytes behind a page.
    """
    elements = np.frombuffer(mmap(-1, behind + cells), np.uint8)[behind:]
    elements[:] = np.random.default_rng(0).integers(0, 256, cells, np.uint8)
    file = Path(write_flat("x.zarr", cells=cells, compressors=None))
    writer_at("x.zarr").write(((0, cells),), elements)
    return file.read_bytes() == elements.tobytes() and os.listdir(file.parent) == [file.name]


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("behind", [0, 1, 512])
@pytest.mark.parametrize("past", [0, 1, PAGESIZE])
@pytest.mark.parametrize("pages", [1, 2, 5])
def test_a_chunk_of_a_large_array_is_written_past_the_cache(
    pages: int, past: int, behind: int
) -> None:
    assert is_written(pages * PAGESIZE + past, behind)


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("count", [1, 512, PAGESIZE, PAGESIZE + 7])
def test_a_write_past_the_cache_may_be_short(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = os.write, 0

    def short(fd: int, part: memoryview) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            return write(fd, part)
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_DIRECT)
        written = write(fd, part[:count])
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)
        return written

    monkeypatch.setattr(os, "write", short)

    assert is_written(5 * PAGESIZE + 3)
    assert calls > 1


@pytest.mark.usefixtures("_large")
def test_threads_write_past_the_cache_at_once() -> None:
    size = 3 * PAGESIZE + 5
    array = np.random.default_rng(0).integers(0, 256, 16 * size, np.uint8)
    create("x.zarr", array, (size,))
    writer = writer_at("x.zarr")

    def write(part: int) -> None:
        for start in range(part * size, array.size, 4 * size):
            writer.write(((start, start + size),), array[start : start + size])

    in_threads(write)

    assert identical(read("x.zarr"), array)


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_file_system_that_cannot_write_past_the_cache_writes_as_any(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = os.write, 0

    def refused(fd: int, part: memoryview) -> int:
        nonlocal calls
        calls += 1
        if calls == step:
            raise OSError(errno.EINVAL, "refused")
        return write(fd, part)

    monkeypatch.setattr(os, "write", refused)

    assert is_written(5 * PAGESIZE + 3)
    assert calls == step


@pytest.mark.usefixtures("_large")
def test_a_disk_that_is_full_past_the_cache_stops_the_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)

    with pytest.raises(TransferError, match="no space left on device"):
        is_written(5 * PAGESIZE)

    assert os.listdir("x.zarr/c") == ["0"]


@pytest.mark.usefixtures("folder")
def test_an_array_that_fits_is_written_to_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.io.zarr.stored.PAST_CACHE_BYTES", PAGESIZE)
    monkeypatch.setattr(os, "write", lambda *_: pytest.fail("past the cache"))

    assert is_written(5 * PAGESIZE)
