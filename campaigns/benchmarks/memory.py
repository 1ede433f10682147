"""Measure gathers from chunk to chunk by how much memory they may take, beside peers with as much.

Each way is a whole process that makes its output anew. A peer has no limit that it keeps by itself,
so it is asked for as many rows at a time as its memory holds, and its peak says what it took. How
often a chunk is read is how often its file is opened.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from campaigns.benchmarks import cluster
from campaigns.benchmarks.cluster import CHUNK, OPEN, ROW
from campaigns.benchmarks.files import GATHERCLI
from campaigns.benchmarks.measure import Row, Timed, interleaved
from campaigns.benchmarks.watch import Opened, Seen, watched

if TYPE_CHECKING:
    from pathlib import Path

BUDGETS: Final = {"300M": 300 * 10**6, "1G": 10**9, "4G": 4 * 10**9}
"""What each way may take: `--max-bytes`."""


class Case(NamedTuple):
    """An array; its share of the size; and whether its files are out of the system's cache."""

    name: str
    chunks: tuple[int, int, int] = CHUNK
    packed: bool = False
    share: float = 1.0
    cold: bool = False


CASES: Final = (
    Case("plain"),
    Case("cold", cold=True),
    Case("narrow", (64, 128, 128)),
    Case("packed", packed=True, share=0.25),
)

PROGRAM: Final = 150 * 10**6
"""Bytes that a peer takes before it reads anything."""

IN_PARTS: Final = f"{OPEN}rows = int(sys.argv[1])\nfor at in range(0, len(indices), rows):\n"
OINDEX: Final = f"{IN_PARTS}    out[at : at + rows] = data.oindex[indices[at : at + rows]]\n"
DASK: Final = f"""\
import dask
import dask.array
dask.config.set(scheduler="threads", num_workers=2)
{IN_PARTS}
    taken = dask.array.take(dask.array.from_zarr(data), indices[at : at + rows], 0)
    out[at : at + rows] = taken.compute()
"""
TENSORSTORE: Final = """\
import sys
import numpy as np
import tensorstore as ts
indices, rows = np.load("i.npy"), int(sys.argv[1])
limits = {"cache_pool": {"total_bytes_limit": int(sys.argv[2])}}
limits |= {name: {"limit": 2} for name in ("data_copy_concurrency", "file_io_concurrency")}
def opened(name, **more):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": name}}
    return ts.open(spec, context=ts.Context(limits), **more).result()
data = opened("d.zarr")
out = opened(
    "out.zarr",
    create=True,
    dtype=data.dtype,
    shape=(len(indices), *data.shape[1:]),
    chunk_layout=data.chunk_layout,
    codec=data.codec,
)
for at in range(0, len(indices), rows):
    taken = data[indices[at : at + rows]].read().result()
    out[at : at + len(taken)].write(taken).result()
"""
PEERS: Final = {"zarr oindex": OINDEX, "dask take": DASK, "tensorstore": TENSORSTORE}
MODULES: Final = {"zarr oindex": "zarr", "dask take": "dask", "tensorstore": "tensorstore"}


def rows_in(budget: int, chunks: tuple[int, ...]) -> int:
    """Return how many rows a peer is asked for at a time: whole chunks of the output, if any fit.

    Beside them it holds a copy of them, and chunks that it reads.
    """
    rows = max(1, (budget - PROGRAM) // 3 // ROW)
    return rows // chunks[0] * chunks[0] or rows


def forget(folder: Path) -> None:
    """Take the files of the array out of the system's cache."""
    for path in (folder / "d.zarr").rglob("c*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def warm(folder: Path) -> None:
    """Read the files of the array, as far as the system's cache has room."""
    for path in (folder / "d.zarr").rglob("c*"):
        if path.is_file():
            path.read_bytes()


def gathers(rounds: int, folder: Path, case: Case, budgets: dict[str, int]) -> list[Row]:
    """Time one gather of all rows in any order, by us and by the peers, with each budget."""
    indices = np.load(folder / "i.npy")
    starts = indices // case.chunks[0]
    chunks = len(np.unique(starts)) * (CHUNK[1] // case.chunks[1]) * (CHUNK[2] // case.chunks[2])
    seen: dict[str, Seen] = {}
    reads: dict[str, float] = {}

    def before() -> None:
        cluster.settle(folder)
        (forget if case.cold else warm)(folder)

    def timed(way: str, words: list[str]) -> Timed:
        def run() -> None:
            with Opened(folder / "d.zarr") as opened:
                seen[way] = watched(words, folder)
            reads[way] = sum(n for file, n in opened.counts.items() if file[:1] == "c") / chunks
            cluster.check(folder, indices, way)

        return Timed(run, before)

    command = [GATHERCLI, "gather", "d.zarr", "i.npy", "-o", "out.zarr", "-q"]
    peers = [way for way in PEERS if importlib.util.find_spec(MODULES[way])]
    ways: dict[str, Timed] = {}
    for name, budget in budgets.items():
        for threads in ("1", "2"):
            words = [*command, "--max-bytes", name, "-j", threads]
            ways[f"{name}, -j {threads}"] = timed(f"{name}, -j {threads}", words)
        for way in peers:
            held = [str(rows_in(budget, case.chunks)), str((budget - PROGRAM) // 3)]
            ways[f"{name}, {way}"] = timed(
                f"{name}, {way}", [sys.executable, "-c", PEERS[way], *held]
            )
    seconds = interleaved(ways, rounds)
    rows = []
    for way, taken in seconds.items():
        name, _, who = way.partition(", ")
        also = {
            "MB/s": len(indices) * ROW / 1e6 / taken,
            "reads a chunk": reads[way],
            "GB read": seen[way].read,
            "MB": seen[way].own,
        }
        compared = {} if who in PEERS else {peer: seconds[f"{name}, {peer}"] for peer in peers}
        rows.append(Row(f"{case.name}, {way}", {way: taken} | compared, {}, also))
    return rows


def measure(rounds: int, folder: Path, only: str = "", size: float = 8.0) -> list[Row]:
    """Time the gathers of arrays of up to `size` GB; `only` is in the name of a case and budget."""
    rows: list[Row] = []
    for case in CASES:
        budgets = {name: each for name, each in BUDGETS.items() if only in f"{case.name}, {name}"}
        if not budgets:
            continue
        with cluster.inner_folder(folder / "arrays") as inner:
            count = max(case.chunks[0], int(size * case.share * 1e9) // ROW)
            cluster.store(inner / "d.zarr", count, packed=case.packed, chunks=case.chunks)
            np.save(inner / "i.npy", cluster.picked("random", count))
            rows += gathers(rounds, inner, case, budgets)
    return rows
