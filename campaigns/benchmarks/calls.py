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
MOST_BEYOND = 15
"""Microseconds that a call of lists may take beyond making arrays of them."""

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
    return [
        _row(f"{name}{library}", case, ways, rounds)
        for name, case in CASES.items()
        if only in name
        for library, ways in _ways(case).items()
    ]


def _row(name: str, case: Case, ways: dict[str, Callable[[], object]], rounds: int) -> Row:
    """Time the ways of a case, of which the first is ours."""
    number = CALLS if np.prod(case.indices) < LEAST_LARGE // 20 else 20
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
    goals = {way: GOALS[way] if number == CALLS else 1.0 for way in ways if way in GOALS}
    also = {}
    if case.lists:  # the goal is a difference
        beyond = (seconds["gathercli"] - seconds["np.asarray"]) / number
        also[f"us beyond asarray ({MOST_BEYOND})"] = beyond * 1e6
    return Row(f"{name}, {number} calls", seconds, goals, also)


def _ways(case: Case) -> dict[str, dict[str, Callable[[], object]]]:
    """Return the same calls by ours and by each library, which take turns with the shapes."""
    random = np.random.default_rng(0)
    arrays = [random.random(shape, "f4") for shape in case.data]
    indices = random.integers(0, case.data[0][0], case.indices)
    if case.lists:
        nested, at = arrays[0].tolist(), indices.tolist()
        return {
            "": {
                "gathercli": lambda: gathercli.gather(nested, at),
                "np.asarray": lambda: (np.asarray(nested), np.asarray(at)),
            }
        }
    ours, theirs = cycle(arrays), cycle(arrays)
    ways: dict[str, dict[str, Callable[[], object]]] = {
        "": {
            "gathercli": lambda: gathercli.gather(next(ours), indices),
            "np.take": lambda: np.take(next(theirs), indices, 0),
        }
    }
    try:
        import torch
    except ImportError:
        return ways
    tensors: list[Any] = [torch.from_numpy(array) for array in arrays]
    there: Any = torch.from_numpy(indices)
    mine, its = cycle(tensors), cycle(tensors)
    ways[" of torch"] = {
        "gathercli": lambda: gathercli.gather(next(mine), there),
        "torch.index_select": lambda: torch.index_select(next(its), 0, there),
    }
    return ways
