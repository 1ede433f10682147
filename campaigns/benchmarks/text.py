"""Measure JSON of a million numbers beside the standard library, in memory."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from campaigns.benchmarks.measure import Row, Timed, interleaved
from gathercli.compute.tensor import Tensor
from gathercli.io import save
from gathercli.io.source import Inputs
from gathercli.io.stream import ByteTarget
from gathercli.spec.dtypes import dtype

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

STANDARD = "json"
READ = {"f8": 2 / 7, "f4": 2 / 7, "i8": 1 / 2}
WRITTEN = {"f8": 1 / 20, "f4": 1 / 20, "i8": 1 / 12}


class Forgotten(ByteTarget):
    """Takes what is written and keeps none of it."""

    def write(self, part: bytes | memoryview) -> None:
        del part


def ours(path: Path) -> npt.NDArray[Any]:
    with Inputs(None) as inputs:
        return inputs.tensor(f"@{path}", "data").array


def theirs(path: Path) -> npt.NDArray[Any]:
    with path.open(encoding="utf-8") as file:
        return np.array(json.load(file))


def dumped(array: npt.NDArray[Any]) -> str:
    return json.dumps(array.tolist())


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time reading from a file, and writing to nowhere."""
    random = np.random.default_rng(0)
    arrays = {
        "float64": random.random(1_000_000),
        "float64, 1000 rows": random.random((1_000, 1_000)),
        "float32": random.random(1_000_000).astype("f4"),
        "int64": random.integers(-(10**6), 10**6, 1_000_000),
    }
    rows = []
    for name, array in arrays.items():
        if only not in name:
            continue
        path = folder / "numbers.json"
        path.write_text(json.dumps(array.tolist()), encoding="utf-8")
        if not np.array_equal(ours(path), theirs(path)):
            raise SystemExit(f"{name}: the standard library reads something else")
        tensor = Tensor(dtype(array.dtype.name), array)
        write = partial(save.write, "json", [("output", tensor)], Forgotten())
        seconds = interleaved(
            {
                "read": Timed(partial(ours, path)),
                "json read": Timed(partial(theirs, path)),
                "written": Timed(write),
                "json written": Timed(partial(dumped, array)),
            },
            rounds,
        )
        for what, goals in (("read", READ), ("written", WRITTEN)):
            found = {"ours": seconds[what], STANDARD: seconds[f"json {what}"]}
            rows.append(
                Row(f"{name}, {what}", found, {STANDARD: round(goals[array.dtype.str[1:]], 3)})
            )
    return rows
