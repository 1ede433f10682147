"""Arrays are read box by box, each chunk once, and a change on the way is noticed."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr

from gathercli.compute.chunks import everything
from gathercli.compute.storage import slices
from gathercli.errors import LimitError, TransferError
from gathercli.io.folders import Folder
from gathercli.io.source import Inputs
from gathercli.io.zarr.stored import Zarr, ZarrArray
from tests.io.zarr.peer import (
    SHAPES,
    X,
    alter_metadata,
    both,
    create,
    every_dtype,
    files_of,
    identical,
    in_threads,
    open_array,
    peer_reads,
    peer_writes,
    read,
    read_metadata,
    refusal,
    values,
    write_group,
)

if TYPE_CHECKING:
    from gathercli.spec.dtypes import DType
    from tests.conftest import Run


from typing import TYPE_CHECKING, Final

from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


@both
@every_dtype
def test_an_array_of_the_package_is_read_bit_by_bit(
    folder: Path, dtype: DType, version: int
) -> None:
    for shape, chunks in SHAPES:
        array = values(dtype, shape)
        peer_writes("x.zarr", array, zarr_format=version, chunks=chunks)
        assert identical(read("x.zarr"), array)
        assert sorted(os.listdir(folder)) == ["x.zarr"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [">i4", ">f8", ">c8", ">U3", ">u2"])
def test_big_endian_elements_are_read_in_native_order(name: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(name)
    peer_writes("x.zarr", array, zarr_format=2)

    elements = read("x.zarr")

    assert elements.dtype.isnative
    assert (elements == array).all()

    create("y.zarr", elements, (2, 3), open_array("x.zarr"))

    assert read_metadata("y.zarr")["dtype"] == name
    assert (peer_reads("y.zarr") == array).all()


@pytest.mark.usefixtures("folder")
def test_a_box_reads_each_chunk_that_it_meets_once() -> None:
    peer_writes("x.zarr", X)
    reads: Counter[str] = Counter()
    spec = open_array("x.zarr").spec
    zarray = ZarrArray("x.zarr", "x.zarr", spec, lambda path, _: reads.update([path[-3:]]))

    assert identical(zarray.read(((1, 4), (2, 4))), X[1:4, 2:4])
    assert reads == Counter({"0/0": 1, "0/1": 1, "1/0": 1, "1/1": 1})
    assert zarray.read(((2, 2), (0, 7))).shape == (0, 7)
    assert reads.total() == 4

    zarray.read(((0, 1), (0, 1)))

    assert reads["0/0"] == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("version", [2, 3])
def test_only_the_rows_of_a_box_are_read_of_a_chunk_that_is_not_packed(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.arange(70 * 9, dtype=">i4").reshape(70, 9)
    peer_writes("x.zarr", array, chunks=(32, 5), compressors=None, zarr_format=version)
    zarray, sizes, real = open_array("x.zarr"), [], os.preadv

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        count = real(fd, [buffers[0][:40]], offset)  # less than it was asked for
        sizes.append(count)
        return count

    monkeypatch.setattr(os, "preadv", preadv)

    native = array.astype("i4")

    assert identical(np.ascontiguousarray(zarray.read(((33, 36), (1, 4)))), native[33:36, 1:4])
    assert sizes == [40, 20]
    assert identical(np.ascontiguousarray(zarray.read(((68, 70), (3, 9)))), native[68:70, 3:9])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [{}, {"shards": (4, 6)}], ids=["chunks", "shards"])
def test_four_threads_read_one_array(options: dict[str, Any]) -> None:
    array = np.random.default_rng(1).integers(0, 99, (40, 30))
    peer_writes("x.zarr", array, **options)
    zarray = open_array("x.zarr")
    wrong: list[object] = []

    def check(seed: int) -> None:
        for at in np.random.default_rng(seed).integers(0, 30, (15, 2)).tolist():
            box = ((at[0], at[0] + 5), (at[1] // 2, at[1] // 2 + 4))
            if not identical(zarray.read(box), np.ascontiguousarray(array[slices(box)])):
                wrong.append(box)

    in_threads(check)

    assert not wrong


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "packed"])
@pytest.mark.parametrize("shards", [None, (4, 6)], ids=["chunks", "shards"])
def test_a_chunk_that_changes_after_it_was_read_is_noticed(plain: bool, shards: Any) -> None:
    options: dict[str, Any] = {"shards": shards} | ({"compressors": None} if plain else {})
    peer_array = peer_writes("x.zarr", X, **options)
    for each in files_of("x.zarr"):  # so that what is written now is later, whatever the clock
        os.utime(f"x.zarr/{each}", (1, 1))
    with Inputs(None) as inputs:
        tiles = inputs.chunked("x.zarr", "")
        tiles.read(((0, 2), (0, 3)))
        tiles.read(((2, 4), (0, 3)))
        inputs.recheck()
        peer_array[4] = 0  # in another file
        inputs.recheck()
        peer_array[0] = 0
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()
        with pytest.raises(TransferError, match="changed while it was read"):
            tiles.read(((0, 1), (0, 1)))


def test_a_chunk_that_comes_or_goes_after_it_was_read_is_noticed(folder: Path) -> None:
    peer_writes("x.zarr", X)
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
def test_changes_of_the_first_files_alone_are_noticed_where_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.io.folders.MAX_WATCHED", 2)
    peer_array = peer_writes("x.zarr", X)
    os.utime("x.zarr/c/0/0", (1, 1))
    with Inputs(None) as inputs:
        tiles = inputs.chunked("x.zarr", "")
        tiles.read(everything(X.shape))
        peer_array[4] = 0
        inputs.recheck()
        peer_array[0] = 0
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()


@pytest.mark.usefixtures("folder")
def test_nothing_is_allocated_for_an_array_beyond_the_limit() -> None:
    peer_writes("x.zarr", X)
    alter_metadata("x.zarr", shape=[1 << 30, 1 << 20])

    error = refusal("x.zarr")

    assert isinstance(error, LimitError)
    assert error.hint is not None
    assert "--header" in error.hint
    assert open_array("x.zarr").read(((0, 2), (0, 3))).tolist() == X[:2, :3].tolist()


@pytest.mark.usefixtures("folder")
def test_an_array_of_countless_chunks_is_not_read_at_once() -> None:
    peer_writes("x.zarr", np.empty(0, np.uint8), shape=(1 << 30,), chunks=(1,))

    assert "1073741824 chunks of the array are to be read at once" in str(
        refusal("x.zarr", limit=None)
    )
    assert open_array("x.zarr").read(((1 << 29, (1 << 29) + 3),)).tolist() == [0, 0, 0]


@pytest.mark.usefixtures("folder")
def test_code_points_that_are_no_characters_are_refused() -> None:
    peer_writes("x.zarr", np.array(["ab"]), chunks=(1,), zarr_format=2, compressors=None)
    with open("x.zarr/0", "wb") as chunk:
        chunk.write(struct.pack("<2I", 0x61, 0x110000))

    assert "element 0 holds the code point 0x110000" in str(refusal("x.zarr"))


@pytest.mark.usefixtures("folder")
def test_as_many_chunks_are_read_at_once_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.io.zarr.stored.MAX_READ_CHUNKS", 4)
    peer_writes("x.zarr", X)

    assert identical(open_array("x.zarr").read(((0, 4), (0, 6))), X[:4, :6])
    with pytest.raises(LimitError, match="6 chunks of the array are to be read at once"):
        open_array("x.zarr").read(((0, 4), (0, 7)))


@pytest.mark.usefixtures("folder")
def test_progress_counts_the_bytes_of_all_chunks() -> None:
    peer_writes("x.zarr", X)
    done: list[int] = []

    open_array("x.zarr").read(((0, 2), (0, 7)), done.append)

    assert done == [24, 48, 56, 56]


@both
def test_the_arrays_of_a_group_have_names(run: Run, folder: Path, version: int) -> None:
    write_group("g.zarr", version)
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

    assert identical(read("g.zarr"), X)


def test_links_in_a_group_are_not_followed(folder: Path) -> None:
    write_group("g.zarr", 3)
    (folder / "g.zarr/loop").symlink_to(".")
    (folder / "g.zarr/out").symlink_to("/")

    (folder / "g.zarr/a/up").symlink_to("..")

    assert len(Zarr(Folder("g", "g.zarr", None)).names or ()) == 4
    assert refusal("g.zarr", "loop/b").rule == "format"
    assert Folder("g", "g.zarr", None).size < 100_000


@pytest.mark.usefixtures("folder")
def test_a_group_has_a_largest_number_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    write_group("g.zarr", 3)

    monkeypatch.setattr("gathercli.io.zarr.stored.MAX_GROUP_MEMBERS", 3)

    assert "more than 3 members" in str(refusal("g.zarr"))


def test_a_relative_name_starts_at_the_folder_of_the_inputs(folder: Path) -> None:
    (folder / "in").mkdir()
    peer_writes("in/x.zarr", X)
    with Inputs(None, folder="in") as inputs:
        assert identical(inputs.tensor("x.zarr", "").array, X)
        assert isinstance(inputs.files_by_name["x.zarr"], Folder)


def test_a_folder_is_an_array_by_its_metadata_and_not_by_its_name(run: Run, folder: Path) -> None:
    peer_writes("plain", X)

    assert run("shape", "gather", "./plain", "2,3").out == "[2,3,7]\n"
    assert run("shape", "gather", "./plain", "[4]").out == "[4,7]\n"

    (folder / "empty.zarr").mkdir()

    ran = run("info", "empty.zarr")

    assert (ran.status, ran.err) == (
        66,
        "error: `empty.zarr` has no zarr.json or .zarray in it: expected a zarr array or group\n"
        "hint: a zarr folder has `zarr.json`, `.zarray` or `.zgroup`; this has none\n"
        "rule: unreadable\n",
    )


def test_info_shows_how_an_array_is_cut_and_packed(run: Run, folder: Path) -> None:
    peer_writes("x.zarr", X, shards=(4, 6))
    size = sum((folder / "x.zarr" / each).stat().st_size for each in files_of("x.zarr"))

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
def test_an_array_that_changes_after_it_was_read_is_noticed() -> None:
    peer_writes("x.zarr", X)
    with Inputs(None) as inputs:
        inputs.tensor("x.zarr", "")
        inputs.recheck()
        peer_writes("x.zarr", X, chunks=(5, 5))
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()
        shutil.rmtree("x.zarr")
        with pytest.raises(TransferError, match="changed while it was read"):
            inputs.recheck()


DATA: Final = np.arange(4000, dtype="i4").reshape(4, 1000) * 7919 % 1009
CODECS: Final[dict[str, dict[str, Any]]] = {
    "plain": {"compressors": None},
    "gzip": {"compressors": GzipCodec()},
    "zstd": {"compressors": ZstdCodec()},
    "zstd with a sum": {"compressors": ZstdCodec(checksum=True)},
    "blosc": {"compressors": BloscCodec()},
    "sharded": {"compressors": None, "shards": (4, 1000)},
}


def made(**how: Any) -> Path:
    """Write x.zarr, and return the first file of its chunks."""
    array = zarr.create_array("x.zarr", shape=DATA.shape, chunks=(2, 1000), dtype="i4", **how)
    array[:] = DATA
    return Path("x.zarr/c/0/0")


@pytest.mark.parametrize("codec", CODECS)
def test_an_empty_chunk_is_called_empty(codec: str, run: Run) -> None:
    made(**CODECS[codec]).write_bytes(b"")

    ran = run("gather", "x.zarr", "0,")

    assert "(it is empty)" in only_error(ran)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("share", [0.01, 0.3, 0.999])
def test_a_cut_chunk_is_called_cut(codec: str, share: float, run: Run) -> None:
    chunk = made(**CODECS[codec])
    content = chunk.read_bytes()
    chunk.write_bytes(content[: max(1, int(len(content) * share))])

    ran = run("info", "x.zarr")

    assert "it is cut" in ran.err if codec != "sharded" else "x.zarr" in ran.err
    assert ran.status == 65


def test_a_cut_chunk_of_lz4_is_called_cut_or_damaged(run: Run) -> None:
    from numcodecs import LZ4

    zarr.create_array(
        "x.zarr", shape=(100,), chunks=(100,), dtype="i4", zarr_format=2, compressors=LZ4()
    )[:] = np.arange(100)
    chunk = Path("x.zarr/0")
    chunk.write_bytes(chunk.read_bytes()[:-9])

    ran = run("gather", "x.zarr", "0")

    assert "(it is cut or damaged: " in ran.err
    assert ran.status == 65


def test_a_folder_without_metadata_names_the_files_that_it_lacks(run: Run) -> None:
    Path("x.zarr/c").mkdir(parents=True)

    ran = run("gather", "x.zarr", "0")

    assert (
        "`x.zarr` has no zarr.json or .zarray in it: expected a zarr array or group"
        in only_error(ran)
    )


@pytest.mark.parametrize(
    ("removed", "note"),
    [
        (["c/0/0"], "1 chunk is absent and reads as the fill value 5: x.zarr"),
        (["c/0", "c/1"], "2 chunks are absent and read as the fill value 5: x.zarr"),
        ([], None),
    ],
)
def test_absent_chunks_are_a_note(removed: list[str], note: str | None, run: Run) -> None:
    made(compressors=None, fill_value=5)
    for name in removed:
        path = Path("x.zarr", name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    ran = run("gather", "x.zarr", "0,2", "-f", "npy")
    quiet = run("gather", "x.zarr", "0,2", "-f", "npy", "-q")

    assert ran.err == (f"note: {note}\n" if note else "")
    assert (quiet.err, quiet.raw) == ("", ran.raw)


def test_chunks_that_a_shard_lacks_are_a_note(run: Run) -> None:
    array = zarr.create_array(
        "x.zarr", shape=(8,), chunks=(2,), shards=(4,), dtype="f4", fill_value=1.5
    )
    array[:2] = 7

    ran = run("gather", "x.zarr", "0,2,7", "-f", "npy")

    assert ran.err == "note: 2 chunks are absent and read as the fill value 1.5: x.zarr\n"
