"""A chunk file is a regular file in the folder of the array, and no larger than it can be."""

from __future__ import annotations

import os
from pathlib import Path

from tests.zarr.peer import (
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

    assert "it is no regular file" in str(refusal("x.zarr"))

    chunk.rmdir()

    chunk.symlink_to("0")

    assert refusal("x.zarr").status == 66


def test_a_chunk_that_is_far_too_long_is_not_read(folder: Path) -> None:
    path = folder / write_flat("x.zarr")

    os.truncate(path, 1 << 40)

    assert "more than a chunk can have" in str(refusal("x.zarr"))
