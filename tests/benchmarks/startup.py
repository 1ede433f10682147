"""Measure the start-up of the command beside a numpy one-liner.

``python tests/benchmarks/startup.py`` prints the table.
Whole processes, interleaved round by round, medians; only the ratios mean anything. The package
should be installed as users have it (``pip install .``): an editable one may compile on every run.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

GATHERCLI = str(Path(sysconfig.get_path("scripts")) / "gathercli")
ONE_LINER = "import numpy as np; np.save('o.npy', np.take(np.load('d.npy'), np.load('i.npy'), 0))"
FILES = "import numpy as np; np.save('d.npy', np.ones((4, 3))); np.save('i.npy', np.array([0, 3]))"

CASES: dict[str, tuple[list[str], float | None]] = {
    "numpy one-liner": ([sys.executable, "-c", ONE_LINER], None),
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "gather, file to file": ([GATHERCLI, "gather", "d.npy", "i.npy", "-o", "r.npy"], 1.15),
    "gather, literals": ([GATHERCLI, "gather", "[1,2,3,4,5]", "[3,1,-2]"], 1.15),
    "--help": ([GATHERCLI, "--help"], 0.9),
    "shape, literals": ([GATHERCLI, "shape", "gather", "[2,?]", "[3]"], 0.9),
    "--version": ([GATHERCLI, "--version"], 0.3),
    "completion": ([GATHERCLI, "completion", "bash"], 0.3),
}


def measure(rounds: int) -> dict[str, float]:
    """Return the median seconds of every case."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", FILES], cwd=folder, check=True)
        for _ in range(rounds):
            for name, (command, _) in CASES.items():
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> None:
    """Print a table of medians and ratios."""
    parser = argparse.ArgumentParser(description="start-up beside a numpy one-liner")
    parser.add_argument("--rounds", type=int, default=11)
    medians = measure(parser.parse_args().rounds)
    base = medians["numpy one-liner"]
    print(f"{'':22} {'ms':>7} {'ratio':>6} {'goal':>6}")
    for name, (_, goal) in CASES.items():
        wanted = f"{goal:6.2f}" if goal else ""
        print(
            f"{name:22} {medians[name] * 1000:7.1f} {medians[name] / base:6.2f} {wanted}".rstrip()
        )


if __name__ == "__main__":
    main()
