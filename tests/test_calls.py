"""The binding of calls of jobs: jobs of equal shapes share a call, and are answered as alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from gathercli.jobs import calls
from gathercli.jobs.job import parse
from gathercli.jobs.work import Settings, line_of


def answer(job: dict[str, Any]) -> tuple[Any, ...]:
    line = line_of(parse(job, where="job.json"), b"", Settings())
    return line.status, line.rule, line.message, line.shape, line.dtype, line.result


def alone(job: dict[str, Any]) -> tuple[Any, ...]:
    calls._calls.clear()
    return answer(job)


DATA = {
    "integers": {"shape": [2, 3], "datatype": "INT64", "data": [1, 2, 3, 4, 5, 6]},
    "floats": {"shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]},
    "text": [[1, 2, 3], [4, 5, 6.5]],
}
INDICES = {"inside": [0, 1], "outside": [1, 5], "of one row": [-1], "fractions": [0.5, 1]}
JOBS = [
    {"op": op, "version": version, "data": data, "indices": indices, **attrs}
    for (op, version), data, indices, attrs in product(
        (("gather", "openvino-8"), ("gather", "onnx-13"), ("gather-nd", "openvino-8")),
        DATA.values(),
        INDICES.values(),
        ({}, {"out_of_range": "clamp"}, {"negative": "error"}),
    )
]


def test_jobs_that_share_calls_are_answered_as_each_alone() -> None:
    jobs = [{"axis": 0, **job} if job["op"] == "gather" else job for job in JOBS]
    expected = [alone(job) for job in jobs]

    shared = [answer(job) for job in (*jobs, *jobs)]

    assert shared == [*expected, *expected]


@pytest.mark.parametrize("axis", [1, [1], "unknown"], ids=str)
def test_an_axis_of_another_type_shares_no_call(axis: object) -> None:
    job = {"op": "gather", "data": DATA["floats"], "indices": [0, 1], "axis": axis}
    expected = alone(job)
    answer({**job, "axis": 1})

    line = answer(job)

    assert line == expected


def test_a_thousand_shapes_keep_few_calls() -> None:
    for size in range(1, 1000):
        answer({"op": "gather", "axis": 0, "data": [0] * size, "indices": [0]})

    assert len(calls._calls) <= 64
