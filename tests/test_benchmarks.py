"""The benchmarks run; what they measure is no test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.measure import Row, table

ROOT = Path(__file__).parents[1]


def test_a_suite_prints_its_figures_as_data() -> None:
    words = ["startup", "--rounds", "1", "--only=--version", "--json"]
    command = [sys.executable, "-m", "tests.benchmarks", *words]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    found = json.loads(printed)
    assert set(found) == {"machine", "startup"}
    (row,) = found["startup"]
    assert row["name"] == "--version"
    assert row["goals"] == {"one-liner": 0.3}
    assert all(seconds > 0 for seconds in row["seconds"].values())


def test_a_table_gives_our_time_and_its_ratio_to_that_of_others() -> None:
    rows = [
        Row("rows", {"gathercli": 0.5, "numpy": 1.0, "cp": 0.25}, {"cp": 0.9}),
        Row("one", {"gathercli": 0.001, "numpy": 0.004}, {}, {"MB": 12.0}),
    ]
    assert table("a suite", rows) == (
        "a suite     ms  / numpy        / cp  MB\n"
        "rows     500.0     0.50  2.00 (0.9)\n"
        "one        1.0     0.25              12"
    )
