"""Codecs pack and unpack chunks as the package zarr does, and never unpack too much."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numcodecs
import numpy as np
import pytest
from zarr import codecs as zc

from gathercli.compute.chunks import everything
from gathercli.errors import InputError, TransferError
from tests.zarr.peer import (
    BOMB,
    PACKERS,
    X,
    alter_metadata,
    create,
    every_packer,
    identical,
    open_array,
    peer_reads,
    peer_writes,
    read,
    read_metadata,
    refusal,
    write_flat,
    zstd_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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
    "gzip": (
        3,
        {"compressors": zc.GzipCodec()},
        lambda: gzip.compress(bytes(BOMB), 1),
    ),
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
