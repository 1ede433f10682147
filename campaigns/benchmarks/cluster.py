"""Measure the workers of a dask scheduler on this machine, and gathers from chunk to chunk.

Each way is a whole process that makes its output anew. How often a chunk of the input is read is
how often its file is opened, by whichever process. The peaks of memory are of the command, and of
a worker with the process that it has the work done by; a peer that takes nearly all memory is
stopped. Nothing leaves the machine: the workers share its cores and its disk.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from campaigns.benchmarks import batch
from campaigns.benchmarks.files import GATHERCLI
from campaigns.benchmarks.measure import Row, Timed, interleaved
from campaigns.benchmarks.watch import Opened, Seen, started, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

ALLOWED: Final = "1G"
"""What each of our threads or processes may take: `--max-bytes`."""

CHUNK: Final = (4, 1024, 1024)
"""Of float32: 16 MiB."""

ROW: Final = 4 << 20
KINDS: Final = {"plain": ("random", "sorted", "few"), "packed": ("random",)}
"""The indices of each array, which zarr packs, as it does by itself, or not."""

SHARES: Final = {"plain": 1.0, "packed": 0.125}
"""What share of the size an array has."""

CASES: Final = ("jobs", *(f"{array}, {kind}" for array, kinds in KINDS.items() for kind in kinds))

PARTS: Final = 64
"""Rows that zarr is asked for at a time where it need not hold all of them: 256 MiB."""

OPEN: Final = """\
import sys
import numpy as np
import zarr
data, indices = zarr.open_array("d.zarr", mode="r"), np.load("i.npy")
out = zarr.create_array(
    "out.zarr",
    shape=(len(indices), *data.shape[1:]),
    chunks=data.chunks,
    dtype=data.dtype,
    compressors=data.compressors or None,
)
"""
WHOLE: Final = f"{OPEN}out[:] = data.oindex[indices]\n"
IN_PARTS: Final = f"""{OPEN}
for at in range(0, len(indices), {PARTS}):
    out[at : at + {PARTS}] = data.oindex[indices[at : at + {PARTS}]]
"""
DASK: Final = f"""{OPEN}
import dask
import dask.array
with dask.config.set(scheduler="threads", num_workers=2):
    taken = dask.array.take(dask.array.from_zarr(data), indices, 0)
    dask.array.store(taken.rechunk(out.chunks), out, lock=False)
"""
PEERS: Final = {"dask take": DASK, "zarr oindex": WHOLE, f"zarr, {PARTS} rows a time": IN_PARTS}


class Workers(NamedTuple):
    """A scheduler, its workers, and the options that lead to it."""

    scheduler: int
    workers: list[int]
    words: list[str]


@contextmanager
def cluster(count: int, folder: Path) -> Iterator[Workers]:
    """Start a scheduler and workers of a thread each."""
    folder.mkdir()
    file = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]

    def words(kind: str, *more: str) -> list[str]:
        return [sys.executable, "-m", f"distributed.cli.dask_{kind}", *here, *more]

    with ExitStack() as stack:
        scheduler = stack.enter_context(started(words("scheduler", "--port", "0"), folder))
        while not (file.exists() and file.stat().st_size):
            time.sleep(0.05)
        workers = []
        for number in range(count):
            own = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder / str(number))]
            workers.append(stack.enter_context(started(words("worker", *own), folder)))
        _wait(json.loads(file.read_bytes())["address"], count)
        yield Workers(scheduler, workers, ["--scheduler-file", str(file)])


def _wait(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(count, timeout=60)


def jobs(rounds: int, folder: Path, clusters: dict[str, Workers]) -> list[Row]:
    """Time the jobs of `batch`, here and on workers."""
    batch.prepare(folder)
    command = [GATHERCLI, "batch", "jobs.jsonl", "--report", "r.jsonl", "-q"]
    seen: dict[str, Seen] = {}

    def forget() -> None:
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "r.jsonl").unlink(missing_ok=True)

    def ran(name: str, words: list[str], others: list[int]) -> Timed:
        def run() -> None:
            seen[name] = watched([*command, *words], folder, others)
            lines = (folder / "r.jsonl").read_text(encoding="utf-8").splitlines()
            if len(lines) != batch.JOBS or not all('"status":"ok"' in line for line in lines):
                raise SystemExit(f"{name}: not every job is done")

        return Timed(run, forget)

    ways = {f"-j {n}": ran(f"-j {n}", ["-j", str(n)], []) for n in (1, 2)}
    for name, each in clusters.items():
        ways[name] = ran(name, each.words, [each.scheduler, *each.workers])
    seconds = interleaved(ways, rounds)
    first = next(iter(ways))
    rows = []
    for name, taken in seconds.items():
        also = {"jobs/s": batch.JOBS / taken, "MB": seen[name].own}
        also |= _of_others(seen[name])
        shown = {name: taken} if name == first else {name: taken, first: seconds[first]}
        rows.append(Row(f"{batch.JOBS} jobs, {name}", shown, {}, also))
    return rows


def _of_others(seen: Seen) -> dict[str, float]:
    if not seen.others:
        return {}
    scheduler, *workers = seen.others
    return {"MB of a worker": max(workers), "MB of the scheduler": scheduler}


def store(path: Path, rows: int, *, packed: bool, chunks: tuple[int, int, int] = CHUNK) -> None:
    """Make an array: every row tells its number, and packs to about a quarter if at all."""
    import zarr

    random = np.random.default_rng(0)
    layer = (chunks[0], *CHUNK[1:])
    kept = random.integers(0, 64, layer) if packed else random.random(layer)
    chunk = kept.astype(np.float32)
    out = zarr.create_array(
        path,
        shape=(rows, *CHUNK[1:]),
        chunks=chunks,
        dtype="float32",
        compressors="auto" if packed else None,
        chunk_key_encoding={"name": "default", "separator": "."},
    )
    numbers = np.arange(layer[0], dtype=np.float32).reshape(-1, 1, 1)
    for start in range(0, rows, layer[0]):
        block = chunk + numbers + start
        out[start : start + layer[0]] = block[: rows - start]


def picked(kind: str, rows: int) -> npt.NDArray[np.int64]:
    """Choose rows: each of them, in no order; half of them, in theirs; a few."""
    random = np.random.default_rng(1)
    if kind == "random":
        return random.permutation(rows)
    if kind == "sorted":
        return np.sort(random.choice(rows, rows // 2, replace=False))
    return random.choice(rows, max(1, rows // 128), replace=False)


def gathers(
    rounds: int, folder: Path, name: str, indices: npt.NDArray[np.int64], ours: dict[str, Workers]
) -> list[Row]:
    """Time one gather along the first axis, by us here and on workers, and by the peers."""
    np.save(folder / "i.npy", indices)
    command = [GATHERCLI, "gather", "d.zarr", "i.npy", "-o", "out.zarr", "-q"]
    command += ["--max-bytes", ALLOWED]
    most = _free() * 0.8
    seen: dict[str, Seen] = {}
    reads: dict[str, float] = {}
    chunks = len(np.unique(indices // CHUNK[0]))

    def ran(way: str, words: list[str], others: list[int]) -> Timed:
        def run() -> None:
            with Opened(folder / "d.zarr") as opened:
                seen[way] = watched(words, folder, others, most)
            reads[way] = sum(n for file, n in opened.counts.items() if file[:1] == "c") / chunks
            if not seen[way].stopped:
                check(folder, indices, way)

        return Timed(run, lambda: settle(folder))

    ways = {"here": ran("here", [*command, "-j", "2"], [])}
    for way, each in ours.items():
        ways[way] = ran(way, [*command, *each.words], [each.scheduler, *each.workers])
    for way, source in PEERS.items():
        if way.split()[0].strip(",") != "dask" or importlib.util.find_spec("dask.array"):
            ways[way] = ran(way, [sys.executable, "-c", source], [])
    seconds = interleaved(ways, rounds)
    rows = []
    for way, taken in seconds.items():
        also = {
            "MB/s": len(indices) * ROW / 1e6 / taken,
            "reads a chunk": reads[way],
            "GB read": seen[way].read,
            "MB": seen[way].own,
        }
        also |= _of_others(seen[way])
        compared = {} if way in PEERS else {p: seconds[p] for p in PEERS if p in seconds}
        compared = {p: s for p, s in compared.items() if not seen[p].stopped}
        ending = ", stopped" if seen[way].stopped else ""
        rows.append(Row(f"{name}, {way}{ending}", {way: taken} | compared, {}, also))
    return rows


def check(folder: Path, indices: npt.NDArray[np.int64], way: str) -> None:
    """Look at the first element of some rows of the output, which tells what row it was."""
    import zarr

    out, data = (zarr.open_array(folder / f"{each}.zarr", mode="r") for each in ("out", "d"))
    if out.shape != (len(indices), *data.shape[1:]):
        raise SystemExit(f"{way}: the shape is {out.shape}")
    for at in {0, len(indices) // 2, len(indices) - 1}:
        if not np.array_equal(out[at], data[int(indices[at])]):
            raise SystemExit(f"{way}: row {at} is another")


def settle(folder: Path) -> None:
    """Forget the output, and let the disk have what the last run left to be written."""
    shutil.rmtree(folder / "out.zarr", ignore_errors=True)
    os.sync()
    time.sleep(0.2)


def _free() -> float:
    """Return the megabytes of memory that are free."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable")) / 1000


def measure(rounds: int, folder: Path, only: str = "", size: float = 8.0) -> list[Row]:
    """Time the jobs, then the gathers of an array of `size` GB."""
    rows: list[Row] = []
    with ExitStack() as stack:
        clusters = {
            name: stack.enter_context(cluster(count, folder / name.replace(" ", "-")))
            for count, name in ((1, "1 worker"), (2, "2 workers"))
        }
        if only in "jobs":
            with inner_folder(folder / "jobs") as inner:
                rows += jobs(rounds, inner, clusters)
        for array, kinds in KINDS.items():
            chosen = {f"{array}, {kind}": kind for kind in kinds}
            chosen = {name: kind for name, kind in chosen.items() if only in name}
            if not chosen:
                continue
            with inner_folder(folder / "arrays") as inner:
                count = max(PARTS, int(size * SHARES[array] * 1e9) // ROW)
                store(inner / "d.zarr", count, packed=array == "packed")
                for name, kind in chosen.items():
                    rows += gathers(rounds, inner, name, picked(kind, count), clusters)
    return rows


@contextmanager
def inner_folder(path: Path) -> Iterator[Path]:
    """Make a folder, which goes with all that is in it."""
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path)
