"""One result in chunks, made by the workers of a real scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr

from gathercli.batch import cluster
from gathercli.batch.work import Part
from tests.batch.dask_cluster import Dask
from tests.io.zarr.test_created_results import read, stored
from tests.processes import PATIENCE, PROGRAM, wait_until

if TYPE_CHECKING:
    from tests.conftest import Run


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def data(folder: Path) -> Any:
    array = np.random.default_rng(1).standard_normal((6, 5, 8)).astype("f4")
    np.save(folder / "x.npy", array)
    stored("x.zarr", array, (2, 3, 4))
    stored("x2.zarr", array, (2, 3, 4), zarr_format=2)
    stored("i.zarr", np.random.default_rng(2).integers(-7, 7, (9, 4)), (4, 2))
    stored("t.zarr", np.random.default_rng(4).integers(-5, 5, (9, 4, 2)), (4, 2, 1))
    stored("b.zarr", np.random.default_rng(5).integers(0, 8, (6, 5, 3, 1)), (4, 2, 2, 1))
    stored("e.zarr", np.random.default_rng(3).integers(-5, 5, (6, 7, 8)), (2, 3, 4))
    return array


@pytest.mark.parametrize(
    "words",
    [
        ("gather", "x.zarr", "i.zarr"),
        ("gather", "x2.zarr", "i.zarr", "--out-of-range", "clamp", "--version", "onnx-13"),
        ("gather", "x.npy", "2,-1,0", "--axis", "1", "--chunks", "3,1,8"),
        ("gather", "x.npy", "[[1,2]]", "--data-dtype", "float64"),
        ("gather", "arange:50x3xi16", "7,3,9", "--chunks", "1,3"),
        ("gather-nd", "x.zarr", "t.zarr"),
        ("gather-nd", "x.npy", "t.zarr", "--chunks", "2,4,3"),
        ("gather-nd", "x.zarr", "b.zarr", "-b", "2", "-V", "openvino-5", "--chunks", "7,2"),
        ("gather-elements", "x.zarr", "e.zarr", "--axis", "1", "--negative", "wrap"),
    ],
    ids=" ".join,
)
def test_workers_write_what_is_written_here(
    run: Run, dask: Dask, data: Any, words: tuple[str, ...]
) -> None:
    del data
    here = run(*words, "-o", "here.zarr")
    there = run(*words, "-o", "there.zarr", "--scheduler", dask.url)
    assert there == here
    assert here.status == 0
    files = [path.relative_to("here.zarr") for path in Path("here.zarr").rglob("*")]
    assert sorted(files) == sorted(
        p.relative_to("there.zarr") for p in Path("there.zarr").rglob("*")
    )
    for path in files:
        one, other = Path("here.zarr", path), Path("there.zarr", path)
        assert one.is_dir() or one.read_bytes() == other.read_bytes()


def test_what_a_worker_refuses_is_refused_here_and_leaves_nothing(
    run: Run, dask: Dask, data: Any
) -> None:
    del data
    before = sorted(os.listdir())
    chunk = next(path for path in Path("x.zarr/c").rglob("*") if path.is_file())
    chunk.write_bytes(b"garbage")
    found = run("gather", "x.zarr", "i.zarr", "-o", "o.zarr", "--scheduler", dask.url)
    assert found.status == 65
    assert "cannot be read" in found.err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x.npy", "0,", "-o", "o.npy"), "`--scheduler` is given, and the output is not in chunks"),
        (("x.npy", "0,"), "`--scheduler` is given, and the output is not in chunks"),
        (("x.npy", "-", "-o", "o.zarr"), "`-` is given with `--scheduler`"),
        (("pipe", "0,", "-o", "o.zarr"), "`pipe` is given with `--scheduler`"),
        (
            ("x.npy", "0,", "-o", "o.zarr", "--threads", "2"),
            "`--threads` is given with a scheduler",
        ),
    ],
)
def test_what_workers_cannot_do_is_a_usage_error(
    run: Run, data: Any, words: tuple[str, ...], message: str
) -> None:
    del data
    os.mkfifo("pipe")
    found = run("gather", *words, "--scheduler", "tcp://127.0.0.1:1")
    assert found.status == 2
    assert message in found.err


def test_nobody_at_the_address_leaves_nothing(
    run: Run, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del data
    monkeypatch.setattr(cluster, "MAX_WAIT", 0.3)
    before = sorted(os.listdir())
    words = ("gather", "x.npy", "0,", "-o", "o.zarr", "--scheduler", "tcp://127.0.0.1:1")
    found = run(*words)
    assert found.status == 74
    assert "cannot be reached" in found.err
    assert sorted(os.listdir()) == before


def large() -> list[str]:
    """Make a call whose result is many boxes; return the words that run it."""
    made = zarr.create_array("x.zarr", shape=(240, 256, 256), chunks=(4, 256, 256), dtype="f8")
    for at in range(0, 240, 40):
        made[at] = at + 1
    words = ["gather", "x.zarr", "arange:240xi64", "-o", "o.zarr", "--max-bytes", "30M"]
    return [*PROGRAM, *words]


def begun() -> bool:
    """Tell whether chunks have been written."""
    return any(path.is_file() for path in Path().glob(".o.zarr.*.tmp/c/**/*"))


def test_a_worker_that_is_killed_loses_no_chunk(tmp_path_factory: pytest.TempPathFactory) -> None:
    words = large()
    with Dask(tmp_path_factory.mktemp("dask")) as own:
        own.add(2)
        own.ready(2)
        process = subprocess.Popen([*words, "--scheduler", own.url])
        wait_until(begun)
        own.kill(own.workers[0])
        assert process.wait(PATIENCE) == 0
    found = read("o.zarr")
    assert (found[::40, 0, 0] == np.arange(0, 240, 40) + 1).all()
    assert found.tobytes() == read("x.zarr").tobytes()
    assert sorted(os.listdir()) == ["o.zarr", "x.zarr"]


def test_an_interrupt_leaves_nothing(dask: Dask) -> None:
    process = subprocess.Popen([*large(), "--scheduler", dask.url])
    wait_until(begun)

    process.send_signal(signal.SIGINT)

    assert process.wait(PATIENCE) == 130
    with dask.client() as client:  # what a worker is at is not written any more
        wait_until(lambda: not any(client.run(threads).values()))
    wait_until(lambda: os.listdir() == ["x.zarr"])


def threads(dask_worker: Any) -> int:
    """Count the threads of a worker that do a task."""
    return len(dask_worker.active_threads)


def test_a_client_that_is_killed_leaves_nothing(dask: Dask) -> None:
    process = subprocess.Popen([*large(), "--scheduler", dask.url])
    wait_until(begun)

    process.kill()

    assert process.wait(PATIENCE) == -signal.SIGKILL
    wait_until(lambda: os.listdir() == ["x.zarr"])


def test_a_client_that_ends_leaves_nothing_with_the_scheduler(run: Run, dask: Dask) -> None:
    with dask.client() as client:
        before = client.run_on_scheduler(plugins)

        run("gather", "arange:5", "0,1", "-o", "o.zarr", "--scheduler", dask.url)

        assert client.run_on_scheduler(plugins) == before


def plugins(dask_scheduler: Any) -> list[str]:
    return sorted(dask_scheduler.plugins)


def test_a_part_is_read_as_it_was_written() -> None:
    part = Part("/a\udcff b", (2, 3), ((0, 2), (3, 6)))
    assert Part.parse(part.where) == part
    assert Part.parse("jobs.jsonl, line 3") is None
