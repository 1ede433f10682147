"""A chunk file is a regular file in the folder of the array, and no larger than it can be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gathercli.errors import InputError
from gathercli.io.zarr.chunkfiles import ChunkFiles
from tests.zarr.peer import (
    open_array,
    read,
    refusal,
    write_flat,
)


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
        raise LookupError

    files = ChunkFiles("x.zarr", "x.zarr", open_array("x.zarr").spec, refuse)
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(LookupError):
        files.open("c/0")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_chunk_that_cannot_get_its_name_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flat("x.zarr")
    files = ChunkFiles("x.zarr", "x.zarr", open_array("x.zarr").spec)

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)

    with pytest.raises(OSError, match="No space"):
        files.write("c/1", memoryview(b"x"))
    assert os.listdir(folder / "x.zarr/c") == ["0"]
