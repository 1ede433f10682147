"""One job and its line of the report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from tests.batch.test_batch_run import job, lines, statuses, write_jobs

if TYPE_CHECKING:
    from tests.conftest import Run

pytestmark = pytest.mark.usefixtures("one_core")


EXPECTING: Final[list[tuple[dict[str, Any], str, str | None]]] = [
    ({"expect": [7, 5]}, "ok", None),
    ({"expect": [7, 6]}, "mismatch", "expect"),
    ({"expect": [7, 6], "atol": 1}, "ok", None),
    ({"expect": [7, 7], "rtol": 0.25}, "mismatch", "expect"),
    ({"expect": [7, 7], "rtol": 0.3}, "ok", None),
    ({"expect": [7.1, 5]}, "mismatch", "expect"),
    ({"expect": [7.1, 5], "rtol": 0.1}, "ok", None),
    ({"expect": [7.1, 5], "rtol": 0.01}, "mismatch", "expect"),
    ({"expect": "[7.1,5]", "atol": 0.2}, "ok", None),
    ({"expect": [[7, 5]]}, "mismatch", "expect"),
    ({"expect": [7.5, 5]}, "mismatch", "expect"),
    ({"expect": "2xi64=7 5"}, "ok", None),
    ({"expect": "2xi32=7 5"}, "mismatch", "expect"),
    ({"expect": {"dtype": "int32", "shape": [2], "data": [7, 5]}}, "mismatch", "expect"),
    ({"expect": "none.npy"}, "error", "missing"),
    ({"expect_error": True}, "mismatch", "expect"),
    ({"expect_error": "index-range"}, "mismatch", "expect"),
    ({"axis": 1, "expect_error": "axis-range"}, "ok", "axis-range"),
    ({"axis": 1, "expect_error": True}, "ok", "axis-range"),
    ({"axis": 1, "expect_error": "index-range"}, "mismatch", "axis-range"),
    ({"axis": 1, "expect": [7, 5]}, "error", "axis-range"),
    ({"axis": 1}, "error", "axis-range"),
    ({"axis": True, "expect_error": "axis-type"}, "ok", "axis-type"),
    ({"version": "openvino-1", "indices": [3], "expect_error": True}, "ok", "index-range"),
    ({"version": "torch-1", "expect_error": True}, "ok", "version"),
    ({"data": "none.npy", "expect_error": "missing"}, "ok", "missing"),
    ({"data": [[1], [1, 2]], "expect_error": "ragged"}, "ok", "ragged"),
]


def test_a_job_is_as_it_expects_or_says_why_not(run: Run) -> None:
    listed = [job(str(at), **more) for at, (more, _, _) in enumerate(EXPECTING)]
    ran = run("batch", write_jobs(*listed), "-q", "-j", "1")
    found = {json.dumps(EXPECTING[int(name)][0]): how for name, *how in statuses(ran.out)}
    assert found == {json.dumps(more): [status, rule] for more, status, rule in EXPECTING}


def test_another_refusal_than_the_expected_one_says_both(run: Run) -> None:
    ran = run("batch", write_jobs(job("a", axis=1, expect_error="index-range")), "-q")
    assert lines(ran.out)[0]["message"] == (
        "`axis` is 1, but `data` has rank 1: expected -1 to 0 "
        "(expected a refusal by the rule `index-range`)"
    )


def test_a_job_that_should_be_refused_and_is_not_writes_why_and_its_output(run: Run) -> None:
    ran = run("batch", write_jobs(job("a", expect_error=True, output="a.npy")), "-q")
    assert lines(ran.out)[0]["message"] == "the call is legal: expected a refusal"
    assert np.load("a.npy").tolist() == [7, 5]


@pytest.mark.parametrize(
    ("expect", "status"), [("[?,2,3]", "ok"), (["?", 2, 3], "ok"), ("[1,2,3]", "mismatch")]
)
def test_a_shape_job_reports_its_shape_and_compares_it(expect: Any, status: str, run: Run) -> None:
    shape = {"id": "s", "op": "shape", "of": "gather", "data": "[?,1..5,3]", "indices": "[?,2]"}
    ran = run("batch", write_jobs({**shape, "axis": 1, "batch_dims": 1, "expect": expect}), "-q")
    (line,) = lines(ran.out)
    assert (line["status"], line["shape"], line["dtype"], line["result"]) == (
        *(status, ["?", 2, 3], None, None),
    )
