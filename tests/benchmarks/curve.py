"""Measure how cost grows: time and anonymous memory by the size of the output, and of the indices.

A row is one command, its seconds the median of the rounds. Anonymous memory (what swap would have
to hold) is looked at every two milliseconds.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING

import numpy as np

from tests.benchmarks.files import GATHERCLI
from tests.benchmarks.measure import Row

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = (1, 10, 100, 1_000, 4_000)
INDICES = (10, 1_000, 100_000, 10_000_000)
WIDTH = 256
SPARSE_ROWS = 20_000_000


def watched(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds and the megabytes of anonymous memory at its peak."""
    start, most = time.perf_counter(), 0
    with subprocess.Popen(command, cwd=folder) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as lines:
                    found = [line.split()[1] for line in lines if line.startswith("RssAnon")]
            except OSError:
                found = []
            most = max(most, *map(int, found or ["0"]))
            time.sleep(0.002)
        if process.returncode:
            raise SystemExit(f"{command} failed")
    return time.perf_counter() - start, most / 1000


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Run gathers from tiny to large."""
    shape = (1_000_000, WIDTH)
    np.save(folder / "few.npy", np.arange(3))
    np.save(folder / "small.npy", np.ones((4, WIDTH), "f4"))
    data = np.lib.format.open_memmap(folder / "d.npy", mode="w+", dtype="f4", shape=shape)
    for start in range(0, shape[0], 10_000):
        data[start : start + 10_000] = start
    del data
    sparse = np.lib.format.open_memmap(
        folder / "sparse.npy", mode="w+", dtype="f4", shape=(SPARSE_ROWS, WIDTH)
    )
    del sparse
    random = np.random.default_rng(0)
    jobs = {"tiny": ("small.npy", "few.npy")}
    for size in OUTPUTS:
        np.save(folder / f"o{size}.npy", random.integers(0, shape[0], size * 1_000_000 // 1024))
        jobs[f"output of {size} MB"] = "d.npy", f"o{size}.npy"
    for count in INDICES:
        np.save(folder / f"i{count}.npy", random.integers(0, 1_000_000, count))
        jobs[f"10^{len(str(count)) - 1} indices"] = "column.npy", f"i{count}.npy"
    np.save(folder / "column.npy", np.arange(1_000_000, dtype="f4"))
    np.save(folder / "i_sparse.npy", random.integers(0, SPARSE_ROWS, 1_000))
    jobs["1000 rows of a sparse 20 GB"] = "sparse.npy", "i_sparse.npy"
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, (data_name, index_name) in jobs.items():
            if only in name or name == "tiny":
                command = [GATHERCLI, "gather", data_name, index_name, "-o", "ours.npy"]
                found[name].append(watched(command, folder))
                (folder / "ours.npy").unlink()
    rows = []
    for name, taken in found.items():
        if not taken:
            continue
        seconds = statistics.median(each[0] for each in taken)
        tiny = statistics.median(each[0] for each in found["tiny"])
        least = max(each[1] for each in found["tiny"])
        most = max(each[1] for each in taken)
        also = {"MB of memory": most, "MB over tiny": most - least}
        if name.startswith("output"):
            also["ms a MB"] = (seconds - tiny) * 1000 / int(name.split()[2])
        goals = {"tiny": 1.2} if "sparse" in name else {}
        rows.append(Row(name, {"ours": seconds, "tiny": tiny}, goals, also))
    return rows
