"""Measure calls in memory from Python: what a call of any length costs beside the array's own."""

from __future__ import annotations

import statistics
import time
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gathercli
from campaigns.benchmarks.measure import Row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALLS = 1_000
"""The calls of a small case that are timed together."""

GOALS = {"np.take": 3.0, "torch.index_select": 5.0}
LEAST_LARGE = 100_000
"""The cells from which nothing should be faster."""


class Case(NamedTuple):
    """The shapes of calls, which take turns."""

    data: tuple[tuple[int, ...], ...]
    indices: tuple[int, ...]
    lists: bool = False


CASES = {
    "10 rows of 4": Case(((20, 4),), (10,)),
    "10 rows of 4, new lengths": Case(tuple((n, 4) for n in range(20, 200)), (10,)),
    "100 elements": Case(((50,),), (100,)),
    "lists, 10 rows of 4": Case(((20, 4),), (10,), lists=True),
    "10^5 cells of rows": Case(((5_000, 16),), (6_250,)),
    "10^5 elements": Case(((50_000,),), (100_000,)),
    "10^6 elements": Case(((500_000,),), (1_000_000,)),
}


def measure(rounds: int, folder: Path, only: str) -> list[Row]:
    """Time every case in CPU time: milliseconds of so many calls of each way, interleaved."""
    del folder
    rows = []
    for name, case in CASES.items():
        if only not in name:
            continue
        ways, number = _ways(case), CALLS if np.prod(case.indices) < LEAST_LARGE // 20 else 20
        goals = {way: GOALS.get(way, 1.0) if number == CALLS else 1.0 for way in ways}
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(2 * rounds + 1):
            for way, call in ways.items():
                call()
                time.sleep(0.01)
                start = time.process_time()
                for _ in range(number):
                    call()
                taken[way].append(time.process_time() - start)
        seconds = {way: statistics.median(times) for way, times in taken.items()}
        also = {}
        if case.lists:  # the goal is a difference
            goals = {}
            also["us beyond asarray"] = (
                (seconds["gathercli"] - seconds["np.asarray"]) / number * 1e6
            )
        rows.append(Row(f"{name}, {number} calls", seconds, goals, also))
    return rows


def _ways(case: Case) -> dict[str, Callable[[], object]]:
    """Return the same calls by each library, which take turns with the shapes."""
    random = np.random.default_rng(0)
    arrays = [random.random(shape, "f4") for shape in case.data]
    indices = random.integers(0, case.data[0][0], case.indices)
    turns = {way: cycle(arrays) for way in ("ours", "numpy")}
    if case.lists:
        nested, at = arrays[0].tolist(), indices.tolist()
        return {
            "gathercli": lambda: gathercli.gather(nested, at),
            "np.asarray": lambda: (np.asarray(nested), np.asarray(at)),
        }
    ways: dict[str, Callable[[], object]] = {
        "gathercli": lambda: gathercli.gather(next(turns["ours"]), indices),
        "np.take": lambda: np.take(next(turns["numpy"]), indices, 0),
    }
    try:
        import torch
    except ImportError:
        return ways
    tensors: list[Any] = [torch.from_numpy(array) for array in arrays]
    there: Any = torch.from_numpy(indices)
    theirs, ours = cycle(tensors), cycle(tensors)
    ways["torch.index_select"] = lambda: torch.index_select(next(theirs), 0, there)
    ways["gathercli of torch"] = lambda: gathercli.gather(next(ours), there)
    return ways
