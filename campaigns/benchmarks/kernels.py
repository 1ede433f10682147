"""Measure gathering in memory beside numpy and the runtimes that are installed."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from ml_dtypes import bfloat16

from campaigns.benchmarks.measure import Row, Timed, interleaved
from campaigns.benchmarks.peers import installed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Case(NamedTuple):
    """One gather: the shapes, and what the indices are like."""

    op: str
    data: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int = 0
    batch: int = 0
    dtype: str = "f4"
    index_type: str = "i8"
    kind: str = "random"


CASES = {
    "rows of 64 B": Case("gather", (1_000_000, 16), (500_000,)),
    "rows of 1 KiB": Case("gather", (100_000, 256), (60_000,)),
    "rows of 64 KiB": Case("gather", (2_000, 16_384), (1_000,)),
    "rows, int32 indices": Case("gather", (100_000, 256), (60_000,), index_type="i4"),
    "rows, sorted": Case("gather", (1_000_000, 16), (500_000,), kind="sorted"),
    "rows, repeated": Case("gather", (1_000_000, 16), (500_000,), kind="repeated"),
    "rows, negatives": Case("gather", (1_000_000, 16), (500_000,), kind="negative"),
    "rows, zero-filled": Case("gather", (1_000_000, 16), (500_000,), kind="filled"),
    "rows, sorted with repeats": Case("gather", (50_000, 16), (500_000,), kind="sorted"),
    "images of bytes": Case("gather", (10_000, 3_072), (10_000,), dtype="u1"),
    "pixels of 3 bytes": Case("gather", (4_000_000, 3), (2_000_000,), dtype="u1"),
    "rows of bfloat16": Case("gather", (50_000, 768), (16_384,), dtype="bfloat16"),
    "strings of three characters": Case("gather", (300_000,), (1_000_000,), dtype="U3"),
    "one column of bytes": Case("gather", (20_000_000,), (20_000_000,), dtype="u1"),
    "elements of 2 bytes": Case("gather", (5_000_000,), (10_000_000,), dtype="f2"),
    "elements of 8 bytes": Case("gather", (5_000_000,), (5_000_000,), dtype="f8"),
    "elements of 16 bytes": Case("gather", (2_000_000,), (4_000_000,), dtype="c16"),
    "last axis, short": Case("gather", (2_000_000, 16), (8,), 1),
    "last axis, long": Case("gather", (100, 500_000), (200_000,), 1),
    "middle axis": Case("gather", (200, 500, 128), (600,), 1),
    "many small batches": Case("gather", (200_000, 32), (200_000, 64), 1, 1),
    "many small batches of rows": Case("gather", (20_000, 32, 16), (20_000, 40), 1, 1),
    "few large batches": Case("gather", (8, 200_000, 8), (8, 200_000), 1, 1),
    "elements, first axis": Case("elements", (5_000, 4_000), (5_000, 4_000)),
    "elements, middle axis": Case("elements", (100, 500, 400), (100, 500, 400), 1),
    "elements, last axis": Case("elements", (1_000, 20_000), (1_000, 20_000), 1),
    "elements, short last axis": Case("elements", (400_000, 50), (400_000, 50), 1),
    "elements, last, int32": Case("elements", (1_000, 20_000), (1_000, 20_000), 1, index_type="i4"),
    "elements, last, 8 bytes": Case("elements", (1_000, 10_000), (1_000, 10_000), 1, dtype="f8"),
    "elements, last, negatives": Case(
        "elements", (1_000, 20_000), (1_000, 20_000), 1, kind="negative"
    ),
    "tuples, rows of 64 B": Case("tuples", (1_000, 1_000, 16), (500_000, 2)),
    "tuples, rows of 1 KiB": Case("tuples", (400, 250, 256), (60_000, 2)),
    "tuples, rows of 64 B, one index": Case("tuples", (1_000_000, 16), (500_000, 1)),
    "tuples, rows of 1 KiB, one index": Case("tuples", (100_000, 256), (60_000, 1)),
    "tuples, single cells": Case("tuples", (2_000, 2_500), (3_000_000, 2)),
    "tuples, single cells of three": Case("tuples", (100, 200, 250), (2_000_000, 3)),
    "tuples, batched rows of 64 B": Case("tuples", (64, 16_000, 16), (64, 8_000, 1), batch=1),
    "tuples, batched rows of 1 KiB": Case("tuples", (64, 1_600, 256), (64, 1_000, 1), batch=1),
    "tuples, batched cells": Case("tuples", (1_000, 50, 100), (1_000, 2_000, 2), batch=1),
    "tuples, many small batches": Case("tuples", (200_000, 32), (200_000, 16, 1), batch=1),
    "tuples, two batch dimensions": Case("tuples", (200, 100, 64, 4), (200, 100, 50, 1), batch=2),
    "tuples, rows of 64 B, int64": Case("tuples", (1_000, 1_000, 8), (500_000, 2), dtype="i8"),
    "tuples, single cells, int64": Case("tuples", (2_000, 2_500), (3_000_000, 2), dtype="i8"),
    "tuples, single cells, bytes": Case("tuples", (2_000, 2_500), (3_000_000, 2), dtype="u1"),
    "tuples, rows of 64 B, sorted": Case("tuples", (1_000, 1_000, 16), (500_000, 2), kind="sorted"),
    "tuples, rows of 64 B, negatives": Case(
        "tuples", (1_000, 1_000, 16), (500_000, 2), kind="negative"
    ),
    "tuples, rows of 64 B, int32 indices": Case(
        "tuples", (1_000, 1_000, 16), (500_000, 2), index_type="i4"
    ),
    "tuples, a million tiny ones": Case("tuples", (100, 100, 4), (1_000_000, 2)),
    **{
        f"GatherTree, {op} {shape}": Case(op, shape, shape, dtype="i4", index_type="i4")
        for op in ("beams", "mixed beams")
        for shape in ((128, 64, 16), (512, 64, 8), (50, 8, 5), (200, 1, 10))
    },
    "tuples, few of large slices": Case("tuples", (2_000, 2, 16_384), (1_000, 2)),
}


REFUSING = {"tuples": "tensorflow"}
"""The peer that refuses negative indices, if it is not torch."""


def made(case: Case) -> tuple[Array, Array]:
    """Make the tensors of a case."""
    random = np.random.default_rng(0)
    size: Any = case.data[-1 if case.op.endswith("beams") else case.axis]
    if case.op == "tuples":  # of each component
        size = np.array(case.data[case.batch : case.batch + case.indices[-1]])
    data = random.integers(0, 100, case.data).astype(case.dtype)
    low, high = {"negative": (-size, size), "filled": (0, size + size // 10)}.get(
        case.kind, (0 * size, size)
    )
    indices = random.integers(low, high, case.indices)
    if case.kind == "sorted":
        tuples = case.op == "tuples"
        indices = indices[np.lexsort(indices.T[::-1])] if tuples else np.sort(indices)
    elif case.kind == "repeated":
        indices %= 1_000
    return data, indices.astype(case.index_type)


def check(results: dict[str, Any]) -> None:
    """Refuse to time answers that differ."""
    ours = np.asarray(results["gathercli"]).reshape(-1)
    ours = ours.view("i2") if ours.dtype == bfloat16 else ours
    for name, result in results.items():
        one = next(iter(result.values())) if hasattr(result, "to_tuple") else result
        one = one.numpy() if hasattr(one, "numpy") else one
        theirs = np.asarray(one).reshape(-1)
        if not np.array_equal(ours, theirs.view("i2") if theirs.dtype == bfloat16 else theirs):
            raise SystemExit(f"{name} answers differently")


def _settled(way: Callable[[], object]) -> None:
    """Let the threads of the one before fall asleep, which spin on, and warm the caches."""
    time.sleep(0.05)
    way()


def measure(rounds: int, threads: int, only: str = "") -> list[Row]:
    """Time every case: milliseconds of each peer, and of a copy of the output."""
    peers = installed(threads)
    rows = []
    for name, case in CASES.items():
        if only not in name:
            continue
        data, indices = made(case)
        ways: dict[str, Callable[[], object]] = {}
        for peer, make in peers.items():
            if case.kind == "filled" and peer not in ("gathercli", "openvino"):
                continue
            if case.kind == "negative" and peer == REFUSING.get(case.op, "torch"):
                continue
            try:
                way = make(case.op, data, indices, case.axis, case.batch)
            except Exception:  # noqa: BLE001, S112  (a type it does not know)
                continue
            if way is not None:
                ways[peer] = way
        results = {peer: way() for peer, way in ways.items()}
        check(results)
        output = np.array(results["gathercli"])
        ways["np.copyto"] = partial(np.copyto, np.empty_like(output), output)
        timed = {peer: Timed(way, partial(_settled, way)) for peer, way in ways.items()}
        rows.append(Row(name, interleaved(timed, rounds, quiet=True)))
    return rows
