"""Measure the start-up of the command: whole processes, tiny work.

Beside it run a numpy one-liner and a Python that does nothing. The second is the steadier measure,
and so is CPU time, which other programs of the machine disturb less.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from campaigns.benchmarks.files import GATHERCLI, TAKE
from campaigns.benchmarks.measure import Row, interleaved_processes

if TYPE_CHECKING:
    from pathlib import Path

FILES = "import numpy as np; np.save('d.npy', np.ones((4, 3))); np.save('i.npy', np.array([0, 3]))"
LINER, PASS = "one-liner", "python -c pass"

GATHER = [{LINER: 0.25, PASS: 2.1}] * 2
"""The largest ratios aimed at: of the time on the clock, and of CPU time."""

ERROR = [{PASS: 3.0}] * 2
STATUSES = {"unknown option": 2, "unknown command": 2, "missing argument": 2}

CASES: dict[str, tuple[list[str], list[dict[str, float]]]] = {
    "gather, file to file": (["gather", "d.npy", "i.npy", "-o", "r.npy"], GATHER),
    "gather, literals": (["gather", "[1,2,3,4,5]", "[3,1,-2]"], GATHER),
    "shape, literals": (["shape", "gather", "[[1,2],[3,4]]", "[0]"], [{PASS: 2.7}] * 2),
    "shape, shapes": (["shape", "gather", "[2,?]", "[3]"], [{PASS: 2.7}] * 2),
    "unknown option": (["gather", "[1,2,3]", "[0]", "--axsi", "0"], ERROR),
    "unknown command": (["gathr", "[1,2,3]", "[0]"], ERROR),
    "missing argument": (["gather", "[1,2,3]"], ERROR),
    "--help": (["--help"], [{PASS: 1.8}] * 2),
    "gather --help": (["gather", "--help"], [{PASS: 1.8}] * 2),
    "--version": (["--version"], [{PASS: 1.5}] * 2),
    "completion": (["completion", "bash"], [{PASS: 1.5}] * 2),
}


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time the commands, a process each: a row on the clock, and one of CPU time."""
    subprocess.run([sys.executable, "-c", FILES], cwd=folder, check=True)
    cases = {name: case for name, case in CASES.items() if only in name}
    commands = {name: [GATHERCLI, *words] for name, (words, _) in cases.items()}
    commands[LINER] = [sys.executable, "-c", TAKE.format(axis=0)]
    commands[PASS] = [sys.executable, "-c", "pass"]

    wall, cpu = interleaved_processes(commands, rounds, folder, STATUSES)

    rows = []
    for name, (_, goals) in cases.items():
        for title, seconds, goal in zip((name, f"{name}, CPU"), (wall, cpu), goals, strict=True):
            beside = {"ours": seconds[name], LINER: seconds[LINER], PASS: seconds[PASS]}
            rows.append(Row(title, beside, goal))
    return rows
