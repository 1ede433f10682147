"""Small jobs of a dry run without files: inferred where they are validated, as a process would."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.batch import pool
from gathercli.batch.inferred import SMALL, InferredJobs
from gathercli.batch.work import Settings
from gathercli.batch.worker import answer
from gathercli.io.jobs.job import parse
from gathercli.io.jobs.jobfile import JobEntry

if TYPE_CHECKING:
    from gathercli.batch.outcome import Outcome
    from tests.tensorfiles import Run

JOB = {"id": "a", "op": "gather", "axis": 0, "data": [1, 2, 3], "indices": [2, 0]}

WITHOUT_FILES: dict[str, dict[str, Any]] = {
    "legal": JOB,
    "index out of range": JOB | {"indices": [9]},
    "axis out of range": JOB | {"axis": 1},
    "ragged": JOB | {"data": [[1, 2], [3]]},
    "integers beyond 64 bits": JOB | {"data": [2**63, -1]},
    "mixed kinds": JOB | {"data": [1, True]},
    "fractions as indices": JOB | {"indices": [0.5]},
    "typed": JOB | {"data": {"shape": [2], "datatype": "BF16", "data": [1, 2]}},
    "typed of another size": JOB | {"data": {"shape": [3], "datatype": "INT8", "data": [1, 2]}},
    "value beyond its type": JOB | {"data": [1, 300], "data_dtype": "int8"},
    "result beyond the limit": JOB | {"indices": [[0] * 50] * 4},
    "expected shape": JOB | {"expect": [[1]]},
    "expected refusal": JOB | {"axis": 1, "expect_error": "axis-range"},
    "other refusal than expected": JOB | {"axis": 1, "expect_error": "axis-type"},
    "output is a folder": JOB | {"output": "."},
    "shape job": {"id": "a", "op": "shape", "of": "gather", "data": [3], "indices": ["N"]},
    "version with a note": JOB | {"version": "onnx-14"},
}

WITH_FILES: dict[str, dict[str, Any]] = {
    "data": JOB | {"data": "d.npy"},
    "indices": JOB | {"indices": "i.npy"},
    "expected output": JOB | {"expect": "e.npy"},
    "large": JOB | {"title": "x" * SMALL},
}


def inferred(job: dict[str, Any], settings: Settings) -> Outcome | None:
    with InferredJobs(settings) as jobs:
        jobs.infer(parse(job, where="job.json"), json.dumps(job).encode())
        jobs.flush()
        return jobs.outcome(0)


def timeless(text: bytes) -> bytes:
    return re.sub(rb'"seconds":[\d.e-]+', b"", text)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("job", WITHOUT_FILES.values(), ids=WITHOUT_FILES)
def test_a_job_without_files_has_the_outcome_that_a_process_gives_it(job: dict[str, Any]) -> None:
    settings = Settings(dry=True, inline=1000)
    entry = JobEntry("job.json", "", json.dumps(job).encode())
    head, _, line = answer(0, entry.record(), settings).partition(b"\n")

    outcome = inferred(job, settings)

    assert outcome is not None
    assert timeless(outcome.line) == timeless(line)
    assert outcome.status == head.split()[1].decode()
    assert outcome.notes == json.loads(head.split(b" ", 3)[3])


@pytest.mark.parametrize("job", WITH_FILES.values(), ids=WITH_FILES)
def test_a_job_with_a_file_or_of_many_bytes_is_left_to_a_process(job: dict[str, Any]) -> None:
    outcome = inferred(job, Settings(dry=True))

    assert outcome is None


def test_a_dry_run_of_jobs_without_files_starts_no_process(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("jobs.jsonl").write_text("".join(f"{json.dumps(JOB | {'id': n})}\n" for n in "abc"))
    monkeypatch.delattr(pool, "_Worker")

    ran = run("batch", "jobs.jsonl", "--dry-run", "-q")

    assert [json.loads(line)["shape"] for line in ran.out.splitlines()] == [[2]] * 3


def test_the_lines_of_a_dry_run_are_in_order_wherever_they_were_inferred(run: Run) -> None:
    np.save("d.npy", np.arange(3))
    names = [f"{n:02}" for n in range(50)]
    listed = [JOB | {"id": n} | ({"data": "d.npy"} if n[1] in "137" else {}) for n in names]
    Path("jobs.jsonl").write_text("".join(f"{json.dumps(job)}\n" for job in listed))

    ran = run("batch", "jobs.jsonl", "--dry-run", "-q")

    assert [json.loads(line)["id"] for line in ran.out.splitlines()] == names


def test_a_dry_run_ends_at_the_first_failure_if_told(run: Run) -> None:
    listed = [JOB, JOB | {"id": "b", "axis": 1}, JOB | {"id": "c"}]
    Path("jobs.jsonl").write_text("".join(f"{json.dumps(job)}\n" for job in listed))

    ran = run("batch", "jobs.jsonl", "--dry-run", "--fail-fast", "-q")

    assert [json.loads(line)["id"] for line in ran.out.splitlines()] == ["a", "b"]
