"""Measure a small gather by the number of its indices, where the loop hands over to the kernel.

Up to `CROSSING` indices the command picks each in plain Python; more of them are worth importing
NumPy. The curve has no step there if both ways take as long.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from campaigns.benchmarks.files import GATHERCLI, TAKE
from campaigns.benchmarks.measure import Row
from gathercli.compute.small import MOST_STEPS

if TYPE_CHECKING:
    from pathlib import Path

CROSSING = MOST_STEPS // 2
"""Indices of one element each: an index and a run."""

COUNTS = (1, 8, 64, 512, 1024, 2048, 4096, CROSSING, CROSSING + 1, 65536, 1 << 20)
LINER = "one-liner"
PASS = "python -c pass"


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time the CPU of whole processes, file to file, interleaved; medians of the rounds."""
    np.save(folder / "d.npy", np.arange(1_000_000.0))
    random = np.random.default_rng(0)
    commands = {PASS: [sys.executable, "-c", "pass"]}
    counts = [count for count in COUNTS if only in str(count)]
    for count in counts:
        np.save(folder / f"i{count}.npy", random.integers(0, 1_000_000, count))
        commands[f"{count}"] = [GATHERCLI, "gather", "d.npy", f"i{count}.npy", "-o", "r.npy"]
        liner = TAKE.format(axis=0).replace("'i.npy'", f"'i{count}.npy'")
        commands[f"{LINER} {count}"] = [sys.executable, "-c", liner]
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(_cpu(command, folder))
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    return [
        Row(
            f"{count} indices",
            {
                "ours": seconds[f"{count}"],
                LINER: seconds[f"{LINER} {count}"],
                PASS: seconds[PASS],
            },
        )
        for count in counts
    ]


def _cpu(command: list[str], folder: Path) -> float:
    """Run a command; return the seconds of CPU it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plot(rows: list[Row], path: Path) -> None:
    """Draw the curve as an SVG, with the crossing marked."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "gathercli", "font.size": 11}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    counts = [int(row.name.split()[0]) for row in rows]
    styles = {"ours": ("gathercli", "#0072b2", "o-"), LINER: ("NumPy one-liner", "#d55e00", "s--")}
    styles[PASS] = PASS, "#777777", ":"
    for way, (label, color, style) in styles.items():
        times = [1000 * row.seconds[way] for row in rows]
        axes.plot(counts, times, style, color=color, label=label, markersize=4)
    axes.axvline(CROSSING, color="#777777", linewidth=0.8)
    axes.annotate(
        "NumPy is imported beyond ",
        (CROSSING, 0),
        (0, 6),
        textcoords="offset points",
        ha="right",
    )
    axes.set(xscale="log", xlabel="indices", ylabel="ms of CPU", ylim=(0, None))
    axes.legend(loc="center left", bbox_to_anchor=(0, 0.68), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None, "Title": "The CPU time of a gather, by indices"})
