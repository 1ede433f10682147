"""A new array is absent or whole, and replaces the old one at once."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numcodecs
import numpy as np
import pytest
from zarr import codecs as zc

from gathercli.errors import InputError, OutputError, TransferError
from gathercli.io.zarr.created import Creation, exchange
from gathercli.io.zarr.stored import writer_at
from gathercli.spec.dtypes import BFLOAT16, STRING
from tests.io.zarr.peer import (
    X,
    both,
    create,
    dtype_of_array,
    files_of,
    identical,
    open_array,
    peer_reads,
    peer_writes,
    read,
    write_group,
)

if TYPE_CHECKING:
    from tests.conftest import Run


import subprocess
from typing import TYPE_CHECKING

from gathercli.compute.chunks import everything, tiled
from gathercli.compute.storage import slices
from tests.io.zarr.peer import SHAPES, every_dtype, in_threads, read_metadata, values

if TYPE_CHECKING:
    from gathercli.spec.dtypes import DType


@pytest.fixture
def _unswapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a file system where two names cannot change places."""
    monkeypatch.setattr("gathercli.io.zarr.created.exchange", lambda *_: False)


@pytest.mark.usefixtures("folder")
def test_an_array_gets_its_name_only_when_it_is_whole() -> None:
    with Creation("x.zarr") as creation:
        creation.open(X.shape, dtype_of_array(X), (2, 3))
        assert os.path.dirname(creation.temporary) == os.getcwd()
        assert os.path.basename(creation.temporary).startswith(".x.zarr.")
        assert os.listdir(".") == [os.path.basename(creation.temporary)]
        writer_at(creation.temporary).write(((0, 2), (0, 3)), X[:2, :3])

    assert os.listdir(".") == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_interrupted_creation_leaves_nothing(error: type[BaseException]) -> None:
    peer_writes("x.zarr", X)

    def interrupted() -> None:
        with Creation("x.zarr") as creation:
            creation.open(X.shape, dtype_of_array(X), (2, 3))
            writer_at(creation.temporary).write(((0, 2), (0, 3)), X[:2, :3])
            raise error

    with pytest.raises(error):
        interrupted()
    assert os.listdir(".") == ["x.zarr"]
    assert identical(read("x.zarr"), X)


@pytest.mark.usefixtures("folder", "_unswapped")
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("late", [True, False])
def test_a_signal_between_two_renames_leaves_one_array(
    step: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer_writes("x.zarr", X)
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
    assert identical(read("x.zarr"), X + 1 if (late and step == 2) else X)


@pytest.mark.usefixtures("folder")
def test_an_array_is_replaced_as_a_whole() -> None:
    peer_writes("x.zarr", X, zarr_format=2)

    create("x.zarr/", X + 1, (5, 5), open_array("x.zarr"))

    assert os.listdir(".") == ["x.zarr"]
    assert identical(peer_reads("x.zarr"), X + 1)
    assert sorted(files_of("x.zarr")) == [".zarray", "0.0", "0.1"]


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names do not change places")
def test_an_array_is_replaced_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    peer_writes("x.zarr", X)
    monkeypatch.setattr(os, "rename", lambda *_: pytest.fail("there is a moment without the array"))

    create("x.zarr", X + 1, (2, 3))

    assert os.listdir(".") == ["x.zarr"]
    assert identical(peer_reads("x.zarr"), X + 1)


@pytest.mark.usefixtures("folder", "_unswapped")
def test_an_array_is_replaced_where_names_cannot_change_places() -> None:
    peer_writes("x.zarr", X)

    create("x.zarr", X + 1, (2, 3))

    assert os.listdir(".") == ["x.zarr"]
    assert identical(peer_reads("x.zarr"), X + 1)


@pytest.mark.usefixtures("folder", "_unswapped")
@pytest.mark.parametrize("step", [1, 2])
def test_the_old_array_stays_when_the_new_one_cannot_take_its_place(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer_writes("x.zarr", X)
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
    assert identical(read("x.zarr"), X)


@pytest.mark.usefixtures("folder", "_unswapped")
def test_an_array_that_cannot_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    peer_writes("x.zarr", X)
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
    assert identical(read(left), X)


@pytest.mark.usefixtures("folder")
def test_fsync_writes_chunks_to_the_disk_before_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_array_is_not_created_through_a_link_that_appears(step: str, folder: Path) -> None:
    for name in ("out", "elsewhere"):
        (folder / name).mkdir()

    def swapped(when: str) -> None:
        if when == step:
            (folder / "out").rename("moved")
            (folder / "out").symlink_to("elsewhere")

    def interfere() -> None:
        swapped("beforehand")
        with Creation("out/x.zarr", within=str(folder / "out")) as creation:
            swapped("opened")
            creation.open(X.shape, dtype_of_array(X), (2, 3))
            swapped("committed")
            creation.commit()

    with pytest.raises((OutputError, TransferError)):
        interfere()
    assert os.listdir("elsewhere") == []


@pytest.mark.parametrize("words", [["--fsync"], []])
def test_the_option_fsync_writes_chunks_to_the_disk(
    words: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", seen.append)

    assert run("gather", "[5,6]", "[1,0]", "-o", "x.zarr", *words).status == 0

    assert bool(seen) == bool(words)


@pytest.mark.usefixtures("folder")
def test_a_file_that_appears_before_the_commit_is_not_replaced() -> None:
    for no_clobber in (True, False):
        with Creation("x.zarr", no_clobber=no_clobber) as creation:
            creation.open(X.shape, dtype_of_array(X), (2, 3))
            with open("x.zarr", "w", encoding="utf-8") as out:
                out.write("mine")
            with pytest.raises(OutputError, match="it exists" if no_clobber else "it is a file"):
                creation.commit()
        assert os.listdir(".") == ["x.zarr"]
        os.unlink("x.zarr")


@pytest.mark.usefixtures("folder")
def test_zarr_has_no_bfloat16() -> None:
    with pytest.raises(InputError, match="zarr has no type bfloat16") as caught:
        Creation("x.zarr").open((1,), BFLOAT16, (1,))
    assert caught.value.rule == "dtype"


@pytest.mark.usefixtures("folder")
def test_codecs_are_adapted_to_another_type_or_rank() -> None:
    transposed = {"filters": zc.TransposeCodec(order=(1, 0)), "compressors": zc.BloscCodec()}
    peer_writes("x.zarr", X, **transposed)
    peer_writes("y.zarr", X, zarr_format=2, filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)])
    wide = np.arange(24.0).reshape(2, 3, 4)
    for like in ("x.zarr", "y.zarr"):
        for array in (wide, wide[0], wide.astype(np.int32), np.array(3), np.array(["a", "bcd"])):
            create("z.zarr", array, (2,) * array.ndim, open_array(like))
            assert identical(peer_reads("z.zarr"), array)


@pytest.mark.usefixtures("folder")
def test_strings_are_as_wide_as_those_of_the_array_like_which_they_are_written() -> None:
    words = np.array(["a", "bcd"])
    peer_writes("x.zarr", words, chunks=(1,))
    with Creation("y.zarr") as creation:
        creation.open((2,), STRING, (2,), open_array("x.zarr"))
        writer_at(creation.temporary).write(((0, 2),), words)
        creation.commit()

    assert identical(peer_reads("y.zarr"), words)


def test_only_an_array_is_replaced(folder: Path) -> None:
    (folder / "file").write_text("x")
    (folder / "folder").mkdir()
    write_group("group", 3)
    write_group("group2", 2)
    peer_writes("array", X)
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

    with Creation("none/x.zarr") as creation, pytest.raises(OutputError, match="no such file"):
        creation.open(X.shape, dtype_of_array(X), (2, 3))

    assert sorted(os.listdir(folder)) == before


@pytest.mark.usefixtures("folder")
def test_a_path_through_the_array_to_replace_is_resolved_first(run: Run) -> None:
    peer_writes("x.zarr", X)

    assert run("gather", "x.zarr", "0,1", "-o", "x.zarr/../x.zarr").status == 0
    assert os.listdir(".") == ["x.zarr"]
    assert identical(read("x.zarr"), X[:2])
    assert run("convert", "x.zarr", "x.zarr/..", "--to", "zarr").status == 0
    assert identical(read("x.zarr"), X[:2])
    assert run("gather", "x.zarr", "0,1", "-o", "x.zarr/c/0/y.zarr").status == 73
    assert os.listdir(".") == ["x.zarr"]


@both
def test_nothing_is_created_inside_an_array(folder: Path, version: int) -> None:
    peer_writes("x.zarr", X, zarr_format=version)
    for name in ("x.zarr/y.zarr", "x.zarr/c/0/y.zarr"):
        with pytest.raises(OutputError, match="it lies in the array"):
            Creation(name)
    (folder / "bad").mkdir()
    (folder / "bad/zarr.json").write_text("{")  # of what it is nobody can say
    create("bad/x.zarr", X, (2, 3))
    write_group("g.zarr", version)

    create("g.zarr/new", X, (2, 3))

    assert identical(read("g.zarr#new"), X) if version == 3 else os.path.isdir("g.zarr/new")


@pytest.mark.parametrize("name", ["c/thesis.tex", "c/0/sub.zarr/zarr.json", "c/0/0.txt"])
def test_an_array_that_holds_anything_else_is_not_replaced(folder: Path, name: str) -> None:
    peer_writes("x.zarr", X)
    (folder / "x.zarr" / name).parent.mkdir(exist_ok=True)

    (folder / "x.zarr" / name).write_text("mine")

    with pytest.raises(OutputError, match="which is not part of an array"):
        Creation("x.zarr")
    assert (folder / "x.zarr" / name).read_text() == "mine"


def test_every_file_of_an_array_is_checked_before_it_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.io.zarr.created.MAX_CHECKED_NAMES", 2)
    peer_writes("x.zarr", X)

    (folder / "x.zarr/c/0/thesis.tex").write_text("mine")

    with pytest.raises(OutputError, match="holds `c/0/thesis"):
        create("x.zarr", X + 1, (2, 3))
    assert os.listdir(".") == ["x.zarr"]
    assert (folder / "x.zarr/c/0/thesis.tex").read_text() == "mine"


@pytest.mark.usefixtures("folder")
def test_two_names_change_places_or_nothing_happens() -> None:
    Path("a").write_text("a")
    Path("b").mkdir()

    assert not exchange("a", "none")
    assert sorted(os.listdir(".")) == ["a", "b"]
    assert exchange("a", "b")
    assert (os.path.isdir("a"), Path("b").read_text()) == (True, "a")


@both
@every_dtype
def test_the_package_reads_a_new_array_bit_by_bit(folder: Path, dtype: DType, version: int) -> None:
    peer_writes("like.zarr", values(dtype, (3,)), zarr_format=version, chunks=(2,))
    for shape, chunks in SHAPES:
        array = values(dtype, shape)
        for like in (None, open_array("like.zarr")):
            create("x.zarr", array, chunks, like)
            assert identical(peer_reads("x.zarr"), array)
            assert identical(read("x.zarr"), array)
            assert read_metadata("x.zarr")["zarr_format"] == (3 if like is None else version)

    assert sorted(os.listdir(folder)) == ["like.zarr", "x.zarr"]


@pytest.mark.usefixtures("folder")
def test_four_threads_write_one_array_and_read_no_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(os, "preadv", lambda *_: seen.append("read"))
    array = np.random.default_rng(1).integers(0, 99, (13, 10))
    boxes = list(tiled(everything(array.shape), (2, 3)))
    with Creation("x.zarr") as creation:
        creation.open(array.shape, dtype_of_array(array), (2, 3))
        out = writer_at(creation.temporary)

        def write(part: int) -> None:
            for box in boxes[part::4]:
                out.write(box, array[slices(box)])

        in_threads(write)
        creation.commit()

    assert not seen
    assert identical(peer_reads("x.zarr"), array)


@pytest.mark.usefixtures("folder")
def test_another_process_writes_by_the_path_alone() -> None:
    with Creation("x.zarr") as creation:
        creation.open(X.shape, dtype_of_array(X), (2, 7))
        code = """
import sys
import numpy as np
from gathercli.io.zarr.stored import writer_at
x = np.arange(35, dtype=np.int32).reshape(5, 7)
for start in (0, 2, 4):
    writer_at(sys.argv[1]).write(((start, min(start + 2, 5)), (0, 7)), x[start : start + 2])
"""
        subprocess.run([sys.executable, "-c", code, creation.temporary], check=True)
        creation.commit()

    assert identical(peer_reads("x.zarr"), X)


@pytest.mark.usefixtures("folder")
def test_a_disk_that_is_full_stops_the_writing() -> None:
    code = """
import resource, signal, sys
import numpy as np
from gathercli.spec.dtypes import dtype
from gathercli.errors import TransferError
from gathercli.io.zarr.stored import writer_at
from gathercli.io.zarr.created import Creation
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Creation("x.zarr") as creation:
    creation.open((1 << 16,), dtype("uint8"), (1 << 16,))
    out = writer_at(creation.temporary)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        out.write(((0, 1 << 16),), np.random.default_rng(0).integers(0, 256, 1 << 16, "u1"))
    except TransferError as error:
        sys.exit(0 if "file too large" in str(error) else 1)
sys.exit(2)
"""

    subprocess.run([sys.executable, "-c", code], check=True)

    assert os.listdir(".") == []
