"""Shards: chunks are read one by one, and no index leads astray."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from zarr import codecs as zc

from gathercli.compute.chunks import everything, slices, tiled
from gathercli.errors import InputError
from tests.zarr.peer import (
    BOMB,
    PACKERS,
    X,
    alter_metadata,
    crc,
    create,
    identical,
    open_array,
    peer_reads,
    peer_writes,
    read,
    read_metadata,
    refusal,
    sharding,
    zstd_runs,
)


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
    "at",
    [[2**64 - 2, 2], [0, 2**63], [10_000, 2], [0, 0], [5, 2**64 - 1], [2**64 - 1, 5]],
    ids=str,
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
