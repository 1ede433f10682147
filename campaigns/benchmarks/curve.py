"""Measure how cost grows: time and anonymous memory by the size of the output, and of the indices.

A row is one command, its seconds the median of the rounds. Anonymous memory (what swap would have
to hold) is looked at every two milliseconds of a run of its own.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import numpy as np

from campaigns.benchmarks.files import GATHERCLI
from campaigns.benchmarks.measure import Row, Timed, interleaved

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = {f"output of {size} MB": size for size in (1, 10, 100, 1_000, 4_000)}
INDICES = {f"10^{n} indices": 10**n for n in (1, 3, 5, 7)}
SPARSE = "1000 rows of a sparse 20 GB"
CASES = ("tiny", *OUTPUTS, *INDICES, SPARSE)
WIDTH = 256
SPARSE_ROWS = 20_000_000


def memory(command: list[str], folder: Path) -> float:
    """Run a command; return the megabytes of anonymous memory at its peak."""
    most = 0
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
    return most / 1000


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
    for name, size in OUTPUTS.items():
        np.save(folder / f"o{size}.npy", random.integers(0, shape[0], size * 1_000_000 // 1024))
        jobs[name] = "d.npy", f"o{size}.npy"
    for name, count in INDICES.items():
        np.save(folder / f"i{count}.npy", random.integers(0, 1_000_000, count))
        jobs[name] = "column.npy", f"i{count}.npy"
    np.save(folder / "column.npy", np.arange(1_000_000, dtype="f4"))
    np.save(folder / "i_sparse.npy", random.integers(0, SPARSE_ROWS, 1_000))
    jobs[SPARSE] = "sparse.npy", "i_sparse.npy"
    jobs = {name: job for name, job in jobs.items() if only in name or name == "tiny"}
    commands = {name: [GATHERCLI, "gather", *job, "-o", "ours.npy"] for name, job in jobs.items()}

    def settled() -> None:
        """Let the disk have what the last run left to be written."""
        (folder / "ours.npy").unlink(missing_ok=True)
        os.sync()
        time.sleep(0.2)

    def timed(command: list[str]) -> Timed:
        return Timed(lambda: subprocess.run(command, cwd=folder, check=True), settled)

    seconds = interleaved({name: timed(command) for name, command in commands.items()}, rounds)
    held = {name: memory(command, folder) for name, command in commands.items()}
    rows = []
    for name, taken in seconds.items():
        also = {"MB of memory": held[name], "MB over tiny": held[name] - held["tiny"]}
        if name.startswith("output") and int(name.split()[2]) >= 100:  # below, noise is larger
            also["ms a MB"] = (taken - seconds["tiny"]) * 1000 / int(name.split()[2])
        goals = {"tiny": 1.2} if "sparse" in name else {}
        rows.append(Row(name, {"ours": taken, "tiny": seconds["tiny"]}, goals, also))
    return rows
