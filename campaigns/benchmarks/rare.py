"""Measure errors and rare ways as whole processes with tiny work: what they load is what they cost.

Beside each run a Python that does nothing and, where NumPy is needed, one that imports it with a
single thread of BLAS, as the command does; to this are added three of the first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from campaigns.benchmarks.files import GATHERCLI
from campaigns.benchmarks.measure import Row, interleaved_processes, run

MODEL = Path(__file__).parents[2] / "fixtures" / "tour" / "encoder.onnx"
FILES = """
import numpy as np
np.save("d.npy", np.ones((4, 3)))
np.save("i.npy", np.array([0, 3]))
np.save("c.npy", np.ones((4, 3), complex))
np.save("s.npy", np.array(["a", "bc", "d"]))
np.savez("d.npz", d=np.ones((4, 3)), i=np.array([0, 3]))
"""
IMPORT = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
PASS, NUMPY, BESIDE = "python -c pass", "import numpy", "numpy + 3 passes"
MOST_PASSES, PASSES_MORE = 6.0, 3


class Case(NamedTuple):
    """The words of a command, its exit status, and whether it needs NumPy."""

    words: list[str]
    numpy: bool = False
    status: int = 0


def case(line: str, status: int = 0, *, numpy: bool = False) -> Case:
    """Make a case of words without blanks."""
    return Case(line.split(" "), numpy, status)


CASES = {
    "unknown command": case("gathr [1,2,3] 0,", 2),
    "unknown option": case("gather [1,2,3] 0, --axsi 0", 2),
    "unknown version": case("gather [1,2,3] 0, -V onxn", 2),
    "call of numpy": case("np.take [10,20,30] [2,-1] 0", 2),
    "missing argument": case("gather [1,2,3]", 2),
    "missing file": case("gather missing.npy 0,", 66),
    "malformed literal": case("gather [1,2 0,", 65),
    "refused index": case("gather [1,2,3] 9, -V onnx", 65),
    "refused axis": case("gather [1,2,3] 0, -a 5", 65),
    ".npz": case("gather d.npz#d d.npz#i"),
    ".json": case("gather d.json i.npy"),
    ".pb": case("gather d.pb i.npy", numpy=True),
    ".safetensors": case("gather d.safetensors i.npy", numpy=True),
    ".zarr": case("gather d.zarr i.npy", numpy=True),
    "gather-nd": case("gather-nd [[1,2],[3,4]] [[0,1]]"),
    "gather-tree": case("gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[1,0]]] [2] 9", numpy=True),
    "complex": case("gather c.npy 0,", numpy=True),
    "strings": case("gather s.npy 0,", numpy=True),
    "bfloat16": case("gather 3xbf16=1 0,", numpy=True),
    "--expect": case("gather [1,2,3] 0, --expect [1]", numpy=True),
    "pretty": case("gather d.npy i.npy -f pretty", numpy=True),
    "check": case("check gather [1,2,3] [0,9]", 1, numpy=True),
    "check of a model": case(f"check {MODEL}", 1, numpy=True),
    "compare": case("compare [1,2,3] [0,9]", numpy=True),
    "explain": case("explain gather [1,2,3] [0,2]", numpy=True),
    "explain, .svg": case("explain gather [1,2,3] [0,2] --save e.svg", numpy=True),
    "model": case(f"model {MODEL}", numpy=True),
    "info": case("info d.npy", numpy=True),
    "ops": case("ops"),
    "ops --like": case("ops --like torch.gather"),
    "man": case("man gather"),
    "convert": case("convert d.npy - --to literal", numpy=True),
    "diagnose": case("diagnose gather arange:5xf32 3,8,-20 3,4,0", numpy=True),
    "translate": case("translate gather [[1,2],[3,4]] [0] --to torch", numpy=True),
    "demo": case("demo", numpy=True),
    "demo --list": case("demo --list"),
}


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time the commands, a process each: a row on the clock, and one of CPU time."""
    subprocess.run([sys.executable, "-c", FILES], cwd=folder, check=True)
    for suffix in ("json", "pb", "safetensors", "zarr"):
        run([GATHERCLI, "convert", "d.npy", f"d.{suffix}"], folder)
    cases = {name: each for name, each in CASES.items() if only in name}
    commands = {name: [GATHERCLI, *each.words] for name, each in cases.items()}
    commands[PASS] = [sys.executable, "-c", "pass"]
    commands[NUMPY] = [sys.executable, "-c", IMPORT]
    statuses = {name: each.status for name, each in cases.items()}

    measured = interleaved_processes(commands, rounds, folder, statuses)

    rows = []
    for name, each in cases.items():
        for title, seconds in zip((name, f"{name}, CPU"), measured, strict=True):
            beside = {"ours": seconds[name], PASS: seconds[PASS]}
            if each.numpy:
                beside[BESIDE] = seconds[NUMPY] + PASSES_MORE * seconds[PASS]
            rows.append(Row(title, beside, {BESIDE: 1.0} if each.numpy else {PASS: MOST_PASSES}))
    return rows
