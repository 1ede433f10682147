"""Measure gathering from file to file beside numpy's one-liner and the copying of the output."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from campaigns.benchmarks.measure import Row, Timed, interleaved

GATHERCLI = str(Path(sysconfig.get_path("scripts")) / "gathercli")
TAKE = "import numpy as np; np.save('one.npy', np.take(np.load('d.npy'), np.load('i.npy'), {axis}))"
ALONG = (
    "import numpy as np; i = np.load('i.npy'); np.save('one.npy', "
    "np.take_along_axis(np.load('d.npy'), i{wide}, {axis}))"
)


class Case(NamedTuple):
    """One gather: shapes of float32 data and int64 indices, axis, batches, and the goals.

    `copy` and `liner` are the largest ratios to the copy and to the one-liner that are aimed at.
    """

    op: str
    data: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int = 0
    batch: int = 0
    copy: float | None = 0.9
    liner: float = 0.4

    @property
    def one_liner(self) -> str:
        if self.op == "gather" and not self.batch:
            return TAKE.format(axis=self.axis)
        wide = "[..., None]" * (len(self.data) - len(self.indices))
        return ALONG.format(axis=self.axis, wide=wide)

    @property
    def command(self) -> list[str]:
        rest = ["-V", "onnx-13"] if self.op == "gather-elements" else ["-b", str(self.batch)]
        words = [GATHERCLI, self.op, "d.npy", "i.npy", "-a", str(self.axis)]
        return [*words, *rest, "-o", "ours.npy"]


CASES = {
    "rows of 1 KB, 512 MB of 1 GB": Case("gather", (1_000_000, 256), (500_000,), liner=0.35),
    "short last axis, 512 MB of 1 GB": Case("gather", (16_000_000, 16), (8,), 1, liner=0.42),
    "batched, 512 MB of 1 GB": Case("gather", (1_000, 16_000, 16), (1_000, 8_000), 1, 1),
    "batched, 134 MB of 268 MB": Case(
        "gather", (64, 32_768, 32), (64, 16_384), 1, 1, copy=None, liner=0.3
    ),
    "rows of 1 KB, 1 GB of 2 GB": Case("gather", (2_000_000, 256), (1_000_000,), copy=None),
    "wide last axis, 512 MB of 1 GB": Case("gather", (256, 1_000_000), (500_000,), 1),
    "elements, last axis, 80 MB": Case(
        "gather-elements", (1_000, 20_000), (1_000, 20_000), 1, copy=None, liner=0.45
    ),
    "elements, first axis, 80 MB": Case(
        "gather-elements", (1_000, 20_000), (1_000, 20_000), copy=None, liner=0.26
    ),
}


def prepare(case: Case, folder: Path) -> None:
    """Make the files of a case: data a million numbers at a time, so that any size goes."""
    random = np.random.default_rng(0)
    data = np.lib.format.open_memmap(
        folder / "d.npy", mode="w+", dtype=np.float32, shape=case.data
    ).reshape(-1)
    for start in range(0, data.size, 1 << 20):
        data[start : start + (1 << 20)] = np.arange(start, min(start + (1 << 20), data.size))
    del data
    np.save(folder / "i.npy", random.integers(0, case.data[case.axis], case.indices))


def ran(command: list[str], folder: Path, *, fresh: str | None = None) -> Timed:
    """Make what runs a command, the file `fresh` not there before.

    It matters: ext4 writes a file out at once where it replaces another.
    """

    def run() -> None:
        subprocess.run(command, cwd=folder, check=True)

    def forget() -> None:
        if fresh is not None:
            (folder / fresh).unlink(missing_ok=True)

    return Timed(run, before=forget)


def same(one: Path, other: Path) -> bool:
    """Compare two files without holding them."""
    return subprocess.run(["cmp", "-s", one, other], check=False).returncode == 0


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time every case: whole processes, the caches warm."""
    rows = []
    for name, case in CASES.items():
        if only not in name:
            continue
        prepare(case, folder)
        copy = ["cp", "--reflink=never", "ours.npy"]
        ways = {
            "gathercli": ran(case.command, folder),
            "one-liner": ran([sys.executable, "-c", case.one_liner], folder),
            "cp": ran([*copy, "copy.npy"], folder),
            "gathercli, new file": ran([*case.command[:-1], "new.npy"], folder, fresh="new.npy"),
            "cp, new file": ran([*copy, "new2.npy"], folder, fresh="new2.npy"),
        }
        for way in ("gathercli", "one-liner"):
            ways[way].run()
        if not same(folder / "ours.npy", folder / "one.npy"):
            raise SystemExit(f"{name}: the one-liner answers differently")
        subprocess.run(["sync"], check=True)
        time.sleep(0.2)
        goals = {"one-liner": case.liner} | ({"cp": case.copy} if case.copy else {})
        rows.append(_row(name, interleaved(ways, rounds), goals))
    return rows


def _row(name: str, seconds: dict[str, float], goals: dict[str, float]) -> Row:
    """Put what replaced a file, and what made a new one, in one row."""
    new = "gathercli, new file"
    shown = {way: seconds[way] for way in ("gathercli", "one-liner", "cp")}
    also = {
        "ms, new file": seconds[new] * 1000,
        "/ cp, new file": seconds[new] / seconds["cp, new file"],
    }
    return Row(name, shown, goals, also)
