"""Chunks are written by any thread or process, as the package zarr reads them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.compute.chunks import everything, slices, tiled
from gathercli.io.zarr.created import Creation
from gathercli.io.zarr.stored import writer_at
from tests.io.zarr.peer import (
    SHAPES,
    X,
    both,
    create,
    dtype_of_array,
    every_dtype,
    identical,
    in_threads,
    open_array,
    peer_reads,
    peer_writes,
    read,
    read_metadata,
    values,
)

if TYPE_CHECKING:
    from gathercli.spec.dtypes import DType


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
def test_four_threads_write_one_array_and_read_no_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
