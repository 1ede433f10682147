"""The binding of calls of jobs: jobs of equal shapes share a call, and are answered as alone."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest

from gathercli import ops
from gathercli.batch.work import Settings, line_of
from gathercli.io import jobs as job_files
from tests.jobs import parse


def answer(job: dict[str, Any], *, dry: bool = False) -> tuple[Any, ...]:
    line = line_of(parse(job, where="job.json"), Settings(dry=dry))
    return line.status, line.rule, line.message, line.shape, line.dtype, line.result


def alone(job: dict[str, Any], *, dry: bool = False) -> tuple[Any, ...]:
    job_files._calls.clear()
    return answer(job, dry=dry)


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


@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
def test_jobs_that_share_calls_are_answered_as_each_alone(dry: bool) -> None:
    jobs = [{"axis": 0, **job} if job["op"] == "gather" else job for job in JOBS]
    expected = [alone(job, dry=dry) for job in jobs]

    shared = [answer(job, dry=dry) for job in (*jobs, *jobs)]

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

    assert len(job_files._calls) <= 64


@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
def test_the_rules_are_tried_once_for_all_jobs_of_the_same_shapes(
    monkeypatch: pytest.MonkeyPatch, dry: bool
) -> None:
    bind = Mock(wraps=ops.bind)
    monkeypatch.setattr(ops, "bind", bind)
    job_files._calls.clear()

    lines = [
        answer({"op": "gather", "axis": 0, "data": [n, 6, 7], "indices": [n % 3]}, dry=dry)
        for n in range(20)
    ]

    assert {line[0] for line in lines} == {"ok"}
    assert bind.call_count == 1


def test_a_shape_job_shares_no_call_with_a_job_of_tensors() -> None:
    tensors = {"op": "gather", "data": DATA["floats"], "indices": [0, 1], "axis": 0}
    shapes = {"op": "shape", "of": "gather", "data": [2, 3], "indices": "2xi64", "axis": 0}
    expected = alone(shapes)
    answer(tensors, dry=True)

    line = answer(shapes)

    assert line == expected
