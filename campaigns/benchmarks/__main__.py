"""``python -m campaigns.benchmarks``: measure, and print a table for each suite.

The package should be installed as users have it (``pip install '.[bench]'``): an editable one may
compile on every run. The files take up to 18 GB in the folder for temporary files, or `--folder`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path

from campaigns.benchmarks import (
    batch,
    calls,
    cluster,
    curve,
    decades,
    files,
    kernels,
    memory,
    rare,
    startup,
    text,
)
from campaigns.benchmarks.measure import Row, table

SUITES = {
    "startup": "start-up",
    "rare": "errors and rare ways",
    "files": "file to file",
    "kernels": "in memory",
    "calls": "calls from Python, CPU time",
    "text": "JSON of 10^6 numbers",
    "curve": "cost by size",
    "decades": "cells of output",
    "batch": "batch",
    "cluster": "workers and chunks",
    "memory": "larger than memory",
}
MODULES = {"startup": startup, "files": files, "text": text, "curve": curve, "batch": batch}
MODULES |= {"decades": decades, "rare": rare, "calls": calls}
LARGE = {"cluster": cluster, "memory": memory}
CASES = {suite: tuple(module.CASES) for suite, module in MODULES.items()}
CASES |= {"kernels": tuple(kernels.CASES), "cluster": cluster.CASES}
CASES["memory"] = tuple(f"{case.name}, {name}" for case in memory.CASES for name in memory.BUDGETS)
"""The names of the cases of each suite, which `--only` selects from."""

PACKAGES = (
    "gathercli",
    "numpy",
    "orjson",
    "torch",
    "onnxruntime",
    "openvino",
    "zarr",
    "dask",
    "tensorstore",
)


def machine() -> dict[str, str]:
    """Describe where this ran."""
    found = {"processor": processor(), "system": platform.system()}
    found["python"] = platform.python_version()
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Name the processor, its cores that are ours, and its caches, as ``lscpu`` does."""
    try:
        listed = subprocess.run(["lscpu"], capture_output=True, encoding="utf-8", check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^(.+?):\s+(.+)$", listed, re.MULTILINE))
    named = (
        f"{fields.get('Model name', platform.machine())}, family {fields.get('CPU family', '?')}"
    )
    caches = [
        f"{name} {fields[name]}" for name in ("L1d cache", "L2 cache", "L3 cache") if name in fields
    ]
    vectors = [
        name for name in ("avx2", "avx512f", "asimd") if name in fields.get("Flags", "").split()
    ]
    model = f"model {fields.get('Model', '?')}, {len(os.sched_getaffinity(0))} cores"
    return ", ".join([named, model, *caches, " ".join(vectors)])


def suite_of(word: str) -> str:
    """Read the name of a suite: `choices` of any number of words must contain their default."""
    if word not in SUITES:
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(SUITES)}")
    return word


def count(word: str) -> int:
    """Read how many rounds or threads."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not 1 or more")
    return int(word)


def gigabytes(word: str) -> float:
    """Read a size."""
    try:
        size = float(word)
    except ValueError:
        size = 0.0
    if not 0 < size < inf:
        raise argparse.ArgumentTypeError(f"{word!r} is no number above 0")
    return size


def main() -> None:
    """Run the suites that are named, all of them if none is."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.benchmarks")
    parser.add_argument("suites", nargs="*", type=suite_of, metavar="suite")
    parser.add_argument("--rounds", type=count, default=5)
    parser.add_argument("--threads", type=count, default=2, help="in memory")
    parser.add_argument("--only", default="", help="the cases whose name has this in it")
    parser.add_argument("--size", type=gigabytes, default=8.0, help="GB of the array in chunks")
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--plot", type=Path, help="draw the decades into this .svg")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    asked = parser.parse_args()
    suites = asked.suites or list(SUITES)
    if not any(asked.only in name for suite in suites for name in CASES[suite]):
        names = "; ".join(name for suite in suites for name in CASES[suite])
        parser.error(f"no case has {asked.only!r} in its name: expected a part of one of {names}")
    found: dict[str, list[Row]] = {}
    for suite in suites:
        if not any(asked.only in name for name in CASES[suite]):
            continue
        with tempfile.TemporaryDirectory(dir=asked.folder) as name:
            folder = Path(name)
            title = SUITES[suite]
            if suite == "kernels":
                title = f"{title}, threads: {asked.threads}"
                rows = kernels.measure(asked.rounds, asked.threads, asked.only)
            elif suite in LARGE:
                rows = LARGE[suite].measure(asked.rounds, folder, asked.only, asked.size)
            else:
                rows = MODULES[suite].measure(asked.rounds, folder, asked.only)
        found[suite] = rows
        if suite == "decades" and asked.plot:
            decades.plot(rows, asked.plot)
        if not asked.json:
            print(processor())
            print(table(title, rows), end="\n\n", flush=True)
    if asked.json:
        rows_as_data = {suite: [asdict(row) for row in rows] for suite, rows in found.items()}
        json.dump({"machine": machine(), **rows_as_data}, sys.stdout, indent=1)
        print()
    else:
        print(", ".join(f"{name} {what}" for name, what in machine().items()))


if __name__ == "__main__":
    main()
