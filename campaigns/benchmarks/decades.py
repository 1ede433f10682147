"""Measure a gather from file to file at each decade of output cells, from 1 to 10^9.

Rows of up to 100 cells, float32, are gathered at random from a table of ten times as many rows, at
most a million. Beside the command run one-liners of NumPy and of PyTorch, and awk on the same
numbers as text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from campaigns.benchmarks.files import GATHERCLI, TAKE
from campaigns.benchmarks.measure import Row, Timed, interleaved

if TYPE_CHECKING:
    from pathlib import Path

CASES = {f"10^{n} cells": 10**n for n in range(10)}
MOST_TEXT = 10**6
"""The most cells that awk gathers: it takes some ten times as long for each decade."""

LINER, TORCH, AWK = "NumPy one-liner", "PyTorch one-liner", "awk, text"
WAYS = {
    LINER: [sys.executable, "-c", TAKE.format(axis=0)],
    TORCH: [
        sys.executable,
        "-c",
        "import numpy as np, torch; d, i = (torch.from_numpy(np.load(n)) for n in ('d.npy', "
        "'i.npy')); np.save('two.npy', torch.index_select(d, 0, i).numpy())",
    ],
    AWK: [
        "sh",
        "-c",
        "awk 'NR==FNR {row[NR-1] = $0; next} {print row[$1]}' d.txt i.txt > three.txt",
    ],
}


def prepare(cells: int, folder: Path) -> None:
    """Make the files of a decade."""
    random = np.random.default_rng(0)
    width = min(cells, 100)
    count = cells // width
    rows = min(10 * count, 1_000_000)
    data = np.arange(rows * width, dtype="f4").reshape(rows, width)
    indices = random.integers(0, rows, count)
    np.save(folder / "d.npy", data)
    np.save(folder / "i.npy", indices)
    if cells <= MOST_TEXT:
        np.savetxt(folder / "d.txt", data, "%.9g")
        np.savetxt(folder / "i.txt", indices, "%d")


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time every decade: whole processes, the inputs in the cache, a new file of output."""
    has_torch = not subprocess.run([sys.executable, "-c", "import torch"], check=False).returncode
    rows = []
    for name, cells in CASES.items():
        if only not in name:
            continue
        prepare(cells, folder)
        commands = {"gathercli": [GATHERCLI, "gather", "d.npy", "i.npy", "-o", "ours.npy"], **WAYS}
        if cells > MOST_TEXT:
            del commands[AWK]
        if not has_torch:
            del commands[TORCH]
        ways = {way: _timed(command, folder, cells) for way, command in commands.items()}
        for way in ways.values():
            way.run()
        if not np.array_equal(
            *(np.load(folder / n, mmap_mode="r") for n in ("ours.npy", "one.npy"))
        ):
            raise SystemExit(f"{name}: the one-liner answers differently")
        rows.append(Row(name, interleaved(ways, rounds if cells < 10**8 else min(rounds, 3))))
    return rows


def _timed(command: list[str], folder: Path, cells: int) -> Timed:
    """Run a command without its output of before; let the disk have what large ones left."""

    def forget() -> None:
        for output in ("ours.npy", "one.npy", "two.npy", "three.txt"):
            (folder / output).unlink(missing_ok=True)
        if cells >= 10**7:
            os.sync()

    return Timed(lambda: subprocess.run(command, cwd=folder, check=True), forget)


def plot(rows: list[Row], path: Path) -> None:
    """Draw the curves as an SVG, with our time relative to NumPy's one-liner at each decade."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "gathercli", "font.size": 11}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    styles = {
        "gathercli": ("#0072b2", "o-"),
        LINER: ("#d55e00", "s--"),
        TORCH: ("#009e73", "^-."),
        AWK: ("#777777", "x:"),
    }
    for way, (color, style) in styles.items():
        points = [
            (10 ** int(row.name.split()[0][3:]), row.seconds[way])
            for row in rows
            if way in row.seconds
        ]
        if points:
            axes.plot(*zip(*points, strict=True), style, color=color, label=way, markersize=4)
    for row in rows:
        place = 10 ** int(row.name.split()[0][3:]), row.ours
        axes.annotate(
            f"{row.ratios()[LINER]:.2f}",
            place,
            (0, -14),
            textcoords="offset points",
            ha="center",
            color=styles["gathercli"][0],
            fontsize=9,
        )
    axes.set(xscale="log", yscale="log", xlabel="cells of output", ylabel="seconds")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(styles), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None, "Title": "The time of a gather, by cells"})
