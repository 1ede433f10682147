"""The command of a batch: JUnit, folders that are gone, and dry runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tests.batch.test_batch_run import LINUX, job, lines, many, statuses, write_jobs

if TYPE_CHECKING:
    from tests.conftest import Program, Run

pytestmark = pytest.mark.usefixtures("one_core")


def junit() -> ET.Element:
    """Read the suite of the JUnit file."""
    suite = ET.parse("j.xml").find("testsuite")  # noqa: S314  (written here)
    assert suite is not None
    return suite


def test_junit_counts_and_quotes_what_became_of_the_jobs(run: Run) -> None:
    listed = [job('<"&\x00\x1b', axis=1), job("b", expect=[0, 0]), job("c")]
    assert run("batch", write_jobs(*listed), "-q", "--junit", "j.xml").status == 1
    suite = junit()
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    error, failure, good = suite.findall("testcase")
    assert (error.get("name"), good.get("classname")) == (r'<"&\x00\x1b', "openvino.Gather-8")
    assert [each.tag for case in (error, failure, good) for each in case] == ["error", "failure"]


def test_junit_has_every_job_after_a_run_that_was_resumed(run: Run) -> None:
    write_jobs(job("a"), job("b", axis=1))
    report = ("-q", "--report", "r.jsonl")
    run("batch", "jobs.jsonl", *report)
    write_jobs(job("a"), job("b", axis=1), job("c"))
    run("batch", "jobs.jsonl", *report, "--resume", "--junit", "j.xml")
    suite = junit()
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["3", "0", "1"]
    assert [case.get("name") for case in suite] == ["a", "b", "c"]


def test_junit_names_the_file_and_the_line_of_a_job(run: Run) -> None:
    Path("a.jsonl").write_text("\n".join(["", *(json.dumps(job(name)) for name in "ab")]), "ascii")
    Path("b.json").write_text(json.dumps([job("c")]), "ascii")
    report = ("-q", "--junit", "j.xml")

    for more in ((), ("--report", "r.jsonl")):
        run("batch", "a.jsonl", "b.json", *report, *more)

        suite = junit()
        assert [(case.get("file"), case.get("line")) for case in suite] == [
            ("a.jsonl", "2"),
            ("a.jsonl", "3"),
            ("b.json", None),
        ]


def test_junit_names_no_file_of_jobs_that_options_make(run: Run) -> None:
    np.save("a.npy", np.arange(3))

    ran = run("batch", "--op", "gather", "--data", "*.npy", "--indices", "0,", "--junit", "j.xml")

    assert ran.status == 0
    suite = junit()
    assert [case.get("file") for case in suite] == [None]


@LINUX
def test_a_junit_file_on_a_full_device_is_named(program: Program) -> None:
    many(20)

    ran = program("$G batch jobs.jsonl -q --report r.jsonl --junit /dev/full")

    assert ran.returncode == 74
    assert ran.stderr.startswith(b"error: `/dev/full`: writing stopped (no space")


def test_a_junit_file_that_cannot_be_written_is_refused_before_the_work(run: Run) -> None:
    listed = write_jobs(job("a", output="a.npy"))
    ran = run("batch", listed, "--junit", "none/j.xml", "--report", "r.jsonl")
    assert (ran.status, ran.out, os.listdir()) == (73, "", ["jobs.jsonl"])


REMOVED: Final = "mkdir gone; cd gone; rmdir ../gone"


@pytest.mark.parametrize("more", ["", " --resume"])
@pytest.mark.parametrize("path", ["r.jsonl", "none/r.jsonl"])
def test_a_report_in_a_folder_that_was_removed_is_named(
    path: str, more: str, folder: Path, program: Program
) -> None:
    write_jobs(job("a"))

    ran = program(
        f"mkdir gone; cd gone; rmdir ../gone; $G batch {folder}/jobs.jsonl --report {path}{more}"
    )

    assert (ran.returncode, ran.stdout) == (73, b"")
    assert ran.stderr.decode() == (
        f"error: the report `{path}` cannot be written (there is no such folder): "
        "expected one that is there\n"
        "rule: output\n"
    )


def test_in_a_folder_that_was_removed_a_batch_does_what_lies_elsewhere(
    folder: Path, program: Program
) -> None:
    write_jobs(job("a", output="a.npy"))
    line = '{"id":"b","op":"gather","data":"b.npy","indices":"0,"}'

    ran = program(
        f"{REMOVED}; $G batch {folder}/jobs.jsonl -q --report {folder}/r.jsonl || exit; "
        f"echo '{line}' | $G batch - -q"
    )

    assert (ran.returncode, ran.stderr) == (1, b"")
    assert statuses(Path("r.jsonl").read_bytes()) == [("a", "ok", None)]
    assert statuses(ran.stdout) == [("b", "error", "missing")]


def test_a_dry_run_infers_shapes_from_headers_and_writes_nothing(run: Run) -> None:
    with open("huge.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 20, 1 << 16)}
        )
        file.truncate(file.tell() + (1 << 38))
    listed = [
        job("a", data="huge.npy", output="out/a.npy"),
        job("b", axis=1),
        job("c", data="none.npy"),
        job("d", version="openvino-1", indices=[9], expect_error="index-range"),
        job("e", axis=1, expect_error="axis-range"),
        job("f", axis=1, expect_error="axis-type"),
        job("g", expect=[[1, 2]]),
        job("h", expect_error="axis-range"),
        job("i", expect_error=True),
        {"id": "j", "op": "shape", "of": "gather", "data": "[3]", "indices": "[2]"}
        | {"expect_error": True},
    ]
    ran = run("batch", write_jobs(*listed), "-q", "--dry-run")
    assert statuses(ran.out) == [
        ("a", "ok", None),
        ("b", "error", "axis-range"),
        ("c", "error", "missing"),
        ("d", "ok", None),
        ("e", "ok", "axis-range"),
        ("f", "mismatch", "axis-range"),
        ("g", "mismatch", "expect"),
        ("h", "mismatch", "expect"),
        ("i", "ok", None),
        ("j", "mismatch", "expect"),
    ]
    first = lines(ran.out)[0]
    assert (first["shape"], first["dtype"], ran.status) == ([2, 65536], "float32", 1)
    assert sorted(os.listdir()) == ["huge.npy", "jobs.jsonl"]
