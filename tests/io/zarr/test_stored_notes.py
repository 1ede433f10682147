"""Arrays that lack something: chunks that are absent, empty or cut, or the metadata."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run


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


@pytest.mark.parametrize("command", [("gather", "x.zarr", "0"), ("info", "x.zarr")])
def test_a_folder_without_metadata_names_the_files_that_it_lacks(
    command: tuple[str, ...], run: Run
) -> None:
    Path("x.zarr/c").mkdir(parents=True)

    ran = run(*command)

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
