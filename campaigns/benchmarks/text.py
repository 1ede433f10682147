"""Measure JSON of a million numbers or words beside the standard library, in memory."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from campaigns.benchmarks.measure import Row, Timed, interleaved
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.io import save
from gathercli.io.source import Inputs
from gathercli.io.stream import ByteTarget
from gathercli.spec.dtypes import STRING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

COUNT = 1_000_000
STANDARD = "json"
READ = {"f": 1 / 5, "i": 1 / 2, "U": 1.0}
WRITTEN = {"f": 1 / 20, "i": 1 / 12, "U": 1 / 10}
"""The largest ratios aimed at, by kind of array."""


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


def floats(random: np.random.Generator) -> npt.NDArray[np.float64]:
    return random.random(COUNT)


def powers(random: np.random.Generator) -> npt.NDArray[Any]:
    return 10.0 ** random.integers(-30, 30, COUNT)


CASES: dict[str, Callable[[np.random.Generator], npt.NDArray[Any]]] = {
    "float64": floats,
    "float64, 1000 rows": lambda random: floats(random).reshape(1_000, -1),
    "float64, exponents": lambda random: floats(random) * powers(random) ** 10,
    "float32": lambda random: floats(random).astype("f4"),
    "float32, exponents": lambda random: (floats(random) * powers(random)).astype("f4"),
    "int64": lambda random: random.integers(-(10**6), 10**6, COUNT),
    "int64, 19 digits": lambda random: random.integers(-(2**63), 2**63, COUNT),
    "words": lambda _: np.array([f"word{n}" for n in range(COUNT)]),
}


def measure(rounds: int, folder: Path, only: str = "") -> list[Row]:
    """Time reading from a file, and writing to nowhere."""
    rows = []
    for name, make in CASES.items():
        if only not in name:
            continue
        array = make(np.random.default_rng(0))
        path = folder / "numbers.json"
        path.write_text(json.dumps(array.tolist()), encoding="utf-8")
        if not np.array_equal(ours(path), theirs(path)):
            raise SystemExit(f"{name}: the standard library reads something else")
        tensor = Tensor(dtype_of(array.dtype) or STRING, array)
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
                Row(f"{name}, {what}", found, {STANDARD: round(goals[array.dtype.kind], 3)})
            )
    return rows
