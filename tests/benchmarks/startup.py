"""Measure the start-up of the command beside a numpy one-liner: whole processes, tiny work."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.benchmarks.files import GATHERCLI, TAKE
from tests.benchmarks.measure import Row, Timed, interleaved

if TYPE_CHECKING:
    from pathlib import Path

FILES = "import numpy as np; np.save('d.npy', np.ones((4, 3))); np.save('i.npy', np.array([0, 3]))"
LINER = "one-liner"

CASES: dict[str, tuple[list[str], float | None]] = {
    "gather, file to file": ([GATHERCLI, "gather", "d.npy", "i.npy", "-o", "r.npy"], 1.15),
    "gather, literals": ([GATHERCLI, "gather", "[1,2,3,4,5]", "[3,1,-2]"], 1.15),
    "--help": ([GATHERCLI, "--help"], 0.9),
    "shape, literals": ([GATHERCLI, "shape", "gather", "[2,?]", "[3]"], 0.9),
    "--version": ([GATHERCLI, "--version"], 0.3),
    "completion": ([GATHERCLI, "completion", "bash"], 0.3),
    "python -c pass": ([sys.executable, "-c", "pass"], None),
}


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time the commands, a process each."""
    subprocess.run([sys.executable, "-c", FILES], cwd=folder, check=True)

    def ran(command: list[str]) -> Timed:
        return Timed(lambda: subprocess.run(command, cwd=folder, check=True, capture_output=True))

    cases = {name: case for name, case in CASES.items() if only in name}
    ways = {name: ran(command) for name, (command, _) in cases.items()}
    ways[LINER] = ran([sys.executable, "-c", TAKE.format(axis=0)])
    seconds = interleaved(ways, rounds)
    return [
        Row(name, {"ours": seconds[name], LINER: seconds[LINER]}, {LINER: goal} if goal else {})
        for name, (_, goal) in cases.items()
    ]
