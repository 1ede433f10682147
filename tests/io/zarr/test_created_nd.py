"""Slices at tuples, and beams followed back, on .zarr: the same results as on .npy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr

from tests.io.test_stream import anonymous
from tests.io.zarr.test_created_results import DATA, both, indices, read, stored, write_data

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.fixture
def data(folder: Path) -> Any:
    return write_data(folder)


@pytest.mark.no_cover
@pytest.mark.parametrize("source", ["x2.zarr", "x3.zarr", "xs.zarr", "x.npy"])
@pytest.mark.parametrize(
    ("batch_dims", "depth"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (2, 1)]
)
def test_tuples_of_any_length_and_batch_dims_read_and_write_chunks(
    run: Run, data: Any, source: str, batch_dims: int, depth: int
) -> None:
    del data
    indices("i", (*DATA[:batch_dims], 4, depth), -5, 5)
    both(run, "gather-nd", source, "i", f"--batch-dims={batch_dims}")


@pytest.mark.parametrize("version", ["openvino-5", "openvino-8", "onnx-12", "onnx-13"])
@pytest.mark.parametrize(
    "words", [(), ("--negative=wrap", "--out-of-range=zero"), ("--out-of-range=clamp",)]
)
def test_every_version_of_gather_nd_reads_and_writes_chunks(
    run: Run, data: Any, version: str, words: tuple[str, ...]
) -> None:
    del data
    indices("i", (*DATA[:2], 3, 1), -9, 9)
    both(run, "gather-nd", "x3.zarr", "i", "--version", version, "--batch-dims=2", *words)


def test_an_output_whose_batches_are_one_has_its_own_chunks(run: Run, data: Any) -> None:
    at = np.random.default_rng(0).integers(0, 7, (5, 6, 2, 1))
    stored("i.zarr", at, (2, 4, 1, 1))
    words = ("-V", "openvino-5", "-b", "2", "-o", "o.zarr", "--chunks", "7,2")

    assert run("gather-nd", "x3.zarr", "i.zarr", *words).status == 0

    assert zarr.open_array("o.zarr", mode="r").chunks == (7, 2)
    wanted = np.take_along_axis(data, at[..., 0], 2).reshape(30, 2)
    assert (read("o.zarr") == wanted).all()


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("x3.zarr", "i.zarr"), "json"),
        (("x.npy", "i.zarr", "-f", "npy"), "npy"),
        (("x3.zarr", "i.npy", "-f", "npy", "--max-bytes", "100M"), "npy"),
    ],
    ids=" ".join,
)
def test_a_pipe_takes_what_a_file_does(data: Any, words: tuple[str, ...], out: str) -> None:
    del data
    indices("i", (40, 2), -5, 5)
    program = (sys.executable, "-m", "gathercli", "gather-nd")

    piped = subprocess.run([*program, *words], capture_output=True, check=True).stdout

    subprocess.run([*program, "x.npy", "i.npy", "-o", f"want.{out}"], check=True)
    assert piped == Path(f"want.{out}").read_bytes()


@pytest.fixture
def beams(folder: Path) -> Any:
    """Make the inputs of a tree as .npy and, but for the last, as .zarr."""
    rng = np.random.default_rng(0)
    arrays = rng.integers(0, 3, (7, 4, 3)), rng.integers(0, 3, (7, 4, 3)), np.array([7, 2, 0, 5])
    for name, array in zip("spl", arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
        stored(folder / f"{name}.zarr", array, (3, 2, 2)[: array.ndim], zarr_format=2)
    return arrays


def test_beams_are_followed_in_chunks_as_in_whole_tensors(run: Run, beams: Any) -> None:
    del beams
    assert run("gather-tree", "s.npy", "p.npy", "l.npy", "1", "-o", "want.npy").status == 0

    for kind in ("npy", "zarr"):
        for out in ("o.zarr", "o.npy"):
            words = (*(f"{name}.{kind}" for name in "spl"), "1", "-o", out)
            assert run("gather-tree", *words).status == 0

        assert (read("o.zarr") == np.load("want.npy")).all()
        assert Path("o.npy").read_bytes() == Path("want.npy").read_bytes()

    made = zarr.open_array("o.zarr", mode="r")
    assert made.chunks == (3, 2, 2)
    assert made.metadata.zarr_format == 2


def test_a_parent_that_is_refused_leaves_no_output(run: Run, beams: Any) -> None:
    del beams
    zarr.open_array("p.zarr", mode="r+")[5, 0] = 9

    found = run("gather-tree", "s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr")

    assert found.status == 65
    assert "rule: index-range" in found.err
    assert not [name for name in os.listdir() if name.startswith((".o", "o"))]


def test_a_tree_that_memory_cannot_take_is_refused(run: Run, beams: Any) -> None:
    del beams
    words = ("gather-tree", "s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr", "--max-bytes")
    cells = 7 * 4 * 3
    size = cells * (8 + 8) + (2 * cells + 4) * 8

    found = run(*words, str(size - 1))

    assert found.status == 65
    assert f"the result takes {size} bytes of memory with what is read for it" in found.err
    assert run(*words, str(size)).status == 0


def test_no_worker_follows_a_part_of_the_beams(run: Run, beams: Any) -> None:
    del beams

    words = ("s.zarr", "p.zarr", "l.zarr", "1", "-o", "o.zarr")
    found = run("gather-tree", *words, "--scheduler", "tcp://127.0.0.1:1")

    assert found.status == 2
    assert "follows `parent_ids` through all steps" in found.err


def test_jobs_of_tuples_and_of_trees_write_chunks(run: Run, data: Any, beams: Any) -> None:
    del beams
    steps = {"step_ids": "s.zarr", "parent_ids": "p.zarr", "max_seq_len": "l.npy", "end_token": 1}
    listed: list[dict[str, Any]] = [
        {"id": "a", "op": "gather-nd", "data": "x3.zarr", "indices": [[1, 2], [4, 0]]},
        {"id": "b", "op": "gather-tree", **steps},
    ]
    Path("j.jsonl").write_text(
        "".join(json.dumps(job | {"output": f"{job['id']}.zarr"}) + "\n" for job in listed)
    )

    assert run("batch", "j.jsonl", "-q").status == 0

    assert (read("a.zarr") == data[[1, 4], [2, 0]]).all()
    assert read("b.zarr").shape == (7, 4, 3)


@pytest.mark.parametrize("output", ["o.npy", "o.zarr"])
def test_memory_does_not_grow_with_the_tuples(folder: Path, output: str) -> None:
    stored(folder / "x.zarr", np.ones((300, 400, 8), "f4"), (50, 50, 8))
    at = np.random.default_rng(0).integers(0, 300, (4_000_000, 2), np.int32)
    stored(folder / "few.zarr", at[:10], (10, 2))
    stored(folder / "many.zarr", at, (100_000, 1))
    options = ["-o", output, "--max-bytes", "130M", "-j", "1", "-q"]

    few, many = (
        anonymous(["gather-nd", "x.zarr", f"{name}.zarr", *options], folder)
        for name in ("few", "many")
    )

    assert many <= few + 60
