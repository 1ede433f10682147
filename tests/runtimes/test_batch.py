"""`batch --with`: jobs in other runtimes, and a line of report for each disagreement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.runtimes.verdict import Runtimes
from tests.conftest import only_error

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


JOBS = [
    {"id": "right", "op": "gather", "version": "onnx-13", "data": [0, 7], "indices": [1]},
    {"id": "dies", "op": "gather", "version": "onnx-13", "data": [2, 7], "indices": [1]},
    {"id": "wrong", "op": "gather", "version": "onnx-13", "data": [6, 7], "indices": [1]},
    {"id": "legal", "op": "gather", "version": "onnx-1", "data": [0, 7], "indices": [-1]},
    {"id": "shape", "op": "shape", "of": "gather", "data": "[2]", "indices": "[1]"},
    {"id": "other", "op": "gather", "version": "openvino-8", "data": [0, 7], "indices": [1]},
]


@pytest.fixture
def jobs(folder: Path) -> str:
    """Write a file of jobs."""
    (folder / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in JOBS))
    return "jobs.jsonl"


def outcomes(text: str) -> list[tuple[str, str, str]]:
    """Return the id, the outcome and the message of each line of a report."""
    lines: list[dict[str, Any]] = list(map(json.loads, text.splitlines()))
    return [(line["id"], line["outcome"], line["message"]) for line in lines]


DISAGREEMENTS = [
    ("dies", "dies", "dies by SIGSEGV"),
    ("wrong", "differs", "differs from the version at [0]: 8 and 7"),
    ("legal", "values", "gives [7], where the version refuses"),
]
SUMMARY = (
    "6 jobs\n"
    "onnxruntime 9.9.9  4 calls: 1 agrees, 1 dies, 1 differs, 1 gives values where the version "
    "refuses\n"
)


def test_disagreements_are_the_report_and_the_rest_is_counted(
    jobs: str, python: str, run: Run
) -> None:
    ran = run("batch", jobs, "--with", f"onnxruntime={python}")

    assert (ran.status, ran.err) == (1, SUMMARY)
    assert outcomes(ran.out) == DISAGREEMENTS


def test_a_line_names_the_job_and_the_call(jobs: str, python: str, run: Run) -> None:
    ran = run("batch", jobs, "--with", f"onnxruntime={python}", "-q")

    assert (ran.status, ran.err) == (1, "")
    assert json.loads(ran.out.splitlines()[1]) == {
        "id": "wrong",
        "runtime": "onnxruntime",
        "version": "9.9.9",
        "call": "Gather-13",
        "operator": "onnx.Gather-13",
        "way": None,
        "row": "onnx.Gather-13",
        "as_row": "departs",
        "known": None,
        "outcome": "differs",
        "shape": [1],
        "dtype": "int64",
        "at": [0],
        "values": [8, 7],
        "message": "differs from the version at [0]: 8 and 7",
    }


def test_the_report_goes_to_a_file(jobs: str, python: str, folder: Path, run: Run) -> None:
    ran = run("batch", jobs, "--with", f"onnxruntime={python}", "--report", "report.jsonl")

    assert (ran.status, ran.out) == (1, "")
    assert outcomes((folder / "report.jsonl").read_text()) == DISAGREEMENTS


def test_a_line_is_in_the_report_as_soon_as_it_is_known(
    jobs: str, python: str, folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    seen, verdicts_of = [], Runtimes.verdicts

    def verdicts(*words: Any, **options: Any) -> Any:
        seen.append(outcomes((folder / "report.jsonl").read_text()))
        return verdicts_of(*words, **options)

    monkeypatch.setattr(Runtimes, "verdicts", verdicts)

    run("batch", jobs, "--with", f"onnxruntime={python}", "--report", "report.jsonl")

    assert seen == [DISAGREEMENTS[:n] for n in (0, 0, 1, 2, 3)]


def test_a_report_on_a_full_device_is_named(jobs: str, python: str, run: Run) -> None:
    ran = run("batch", jobs, "--with", f"onnxruntime={python}", "--report", "/dev/full")

    assert ran.status == 74
    assert only_error(ran).startswith("error: `/dev/full`: writing stopped (no space left")


def test_the_pretty_report_has_a_line_a_disagreement(jobs: str, python: str, run: Run) -> None:
    ran = run("batch", jobs, "--with", f"onnxruntime={python}", "-f", "pretty")

    assert ran.out.startswith("dies  onnxruntime  9.9.9  Gather-13  dies by SIGSEGV\n")
    assert ran.out.endswith(SUMMARY)


def test_runtimes_that_agree_are_a_success_and_nothing_is_written(folder: Path, run: Run) -> None:
    job = {"op": "gather", "version": "onnx-13", "data": [0, 7], "indices": [1], "output": "o.npy"}
    (folder / "job.json").write_text(json.dumps(job))

    ran = run("batch", "job.json", "--with", "numpy", "-q")

    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert not (folder / "o.npy").exists()


def test_an_absent_runtime_is_a_line_of_the_report_and_of_the_summary(
    jobs: str, python: str, run: Run
) -> None:
    ran = run("batch", jobs, "--with", f"torch={python}")

    why = "cannot be started: OSError: libtorch.so: cannot open"
    assert (ran.status, ran.err) == (1, f"6 jobs\ntorch  {why}\n")
    assert json.loads(ran.out) == {
        "id": None,
        "runtime": "torch",
        "version": None,
        "call": None,
        "outcome": "absent",
        "message": why,
    }


def test_a_runtime_without_a_call_is_counted_with_none(folder: Path, python: str, run: Run) -> None:
    (folder / "job.json").write_text('{"op":"gather","data":[0,7],"indices":[1]}')

    ran = run("batch", "job.json", "--with", f"onnxruntime={python}")

    assert (ran.status, ran.out, ran.err) == (0, "", "1 job\nonnxruntime 9.9.9  0 calls\n")


def test_a_job_that_cannot_be_read_has_failed(folder: Path, run: Run) -> None:
    (folder / "job.json").write_text('{"id":"a","op":"gather","data":"no.npy","indices":[1]}')

    ran = run("batch", "job.json", "--with", "numpy")

    assert ran.status == 1
    assert ran.err == f"1 job, 1 failed\nnumpy {np.__version__}  0 calls\n"
    (line,) = map(json.loads, ran.out.splitlines())
    assert (line["id"], line["outcome"], line["rule"]) == ("a", "error", "missing")


@pytest.mark.parametrize("options", [["--dry-run"], ["--workers", "2"], ["--junit", "x.xml"]])
def test_options_of_the_usual_run_are_refused(options: list[str], jobs: str, run: Run) -> None:
    ran = run("batch", jobs, "--with", "numpy", *options)

    assert ran.status == 2
    assert only_error(ran).startswith(f"error: `{options[0]}` is given with `--with`")
