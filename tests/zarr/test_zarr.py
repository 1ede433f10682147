"""Groups and arrays as inputs of the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zarr

from gathercli.errors import TransferError
from gathercli.io.folders import Folder
from gathercli.io.source import Inputs
from gathercli.io.zarr import Zarr
from tests.zarr.peer import (
    X,
    both,
    files_of,
    identical,
    peer_writes,
    read,
    refusal,
    write_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]


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

    monkeypatch.setattr("gathercli.io.zarr.MAX_MEMBERS", 3)

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
