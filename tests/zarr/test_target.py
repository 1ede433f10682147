"""Only an array is replaced, and nothing is created inside one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gathercli.errors import OutputError
from gathercli.io.zarr import Creation
from tests.zarr.peer import (
    X,
    both,
    create,
    dtype_of_array,
    identical,
    peer_writes,
    read,
    write_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]


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
    monkeypatch.setattr("gathercli.io.zarr.created.MAX_NAMES", 2)
    peer_writes("x.zarr", X)

    (folder / "x.zarr/c/0/thesis.tex").write_text("mine")

    with pytest.raises(OutputError, match="holds `c/0/thesis"):
        create("x.zarr", X + 1, (2, 3))
    assert os.listdir(".") == ["x.zarr"]
    assert (folder / "x.zarr/c/0/thesis.tex").read_text() == "mine"
