"""What became of jobs, summed up."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.batch.outcome import Alike, BatchTotals
from gathercli.batch.report import summary
from tests.batch.test_batch_run import job, write_jobs

if TYPE_CHECKING:
    from tests.conftest import Run

pytestmark = pytest.mark.usefixtures("one_core")


def _short_npy() -> bytes:
    """Return a .npy file without the end of its elements."""
    with BytesIO() as file:
        np.save(file, np.arange(9))
        return file.getvalue()[:-8]


def test_notes_are_summed_up_over_the_jobs(run: Run) -> None:
    listed = [job(name, indices=[9]) for name in "abc"]
    ran = run("batch", write_jobs(*listed), "-j", "1")
    assert ran.status == 0
    assert ran.err.startswith(
        "note: a: 1 of 1 index outside -3..2, zero-filled; first 9 at [0], "
        "likewise in 2 more jobs\n"
        "3 jobs: 3 ok   "
    )


def test_a_note_is_that_of_the_first_job_whichever_ended_first() -> None:
    totals = BatchTotals(3)

    for number, name in ((2, "c"), (0, "a"), (1, "b")):
        totals.note(number, name, {"kind": f"note of {name}"})

    first = [(at, name, f"note of {name}") for at, name in enumerate("abc")]
    assert totals.notes == {"kind": Alike(3, first)}


def test_the_summary_names_failures_last_by_their_cause(run: Run) -> None:
    listed = [job("a"), job("b", axis=1), job("c", axis=2), job("d", data="none.npy")]
    ran = run("batch", write_jobs(*listed))
    first, *rest = ran.err.splitlines()
    assert first.startswith("4 jobs: 1 ok, 3 errors   ")
    assert [line.split("   ")[0] for line in rest] == [
        *("", "missing", "  d", "", "axis-range", "  b", "  likewise 1 more job: c")
    ]


def test_failures_of_one_rule_with_different_causes_are_told_apart(run: Run) -> None:
    for name in "abcdefg":
        Path(f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00")
    Path("short.npy").write_bytes(_short_npy())
    ends = [job(name, data=f"{name}.npy") for name in "abcdefg"]

    ran = run("batch", write_jobs(*ends, job("h", data="short.npy")))

    causes = ran.err.split("\n\n")[1:]
    assert [cause.splitlines()[0] for cause in causes] == ["npy   1 job", "npy   7 jobs"]
    assert causes[0].splitlines()[1].startswith("  h   ")
    assert causes[1].splitlines()[1].startswith("  a   ")
    assert causes[1].splitlines()[2:] == ["  likewise 6 more jobs: b, c, d, e…"]


def test_causes_of_as_many_jobs_stand_in_the_order_of_the_jobs_whichever_ended_first() -> None:
    totals = BatchTotals(3)

    for number, name in ((2, "c"), (0, "a"), (1, "b")):
        totals.explain(number, {"id": name, "status": "error", "rule": name, "message": name})

    causes = summary(totals, 1.0).plain.split("\n\n")[1:]
    assert [cause[0] for cause in causes] == ["a", "b", "c"]


def test_the_causes_of_an_earlier_run_are_told_apart_too(run: Run) -> None:
    listed = [job("a", indices=[7], version="onnx-13"), job("b", indices=[9], version="onnx-13")]
    words = ("batch", write_jobs(*listed, job("c", data="x.npy")), "--report", "r.jsonl")
    first = run(*words)

    again = run(*words, "--resume")

    assert [each.splitlines()[0] for each in again.err.split("\n\n")[1:]] == [
        "missing   1 job",
        "index-range   2 jobs",
    ]
    assert again.err.split("\n\n")[1:] == first.err.split("\n\n")[1:]


def test_the_summary_goes_to_stdout_where_a_person_reads_it(run: Run) -> None:
    ran = run("batch", write_jobs(job("a"), job("b", axis=1)), "-f", "pretty")
    assert ran.err == ""
    assert ran.out.startswith(
        "ok        a   openvino.Gather-8   int64[2]\nerror     b   `axis` is 1"
    )
    assert "2 jobs: 1 ok, 1 error   " in ran.out


def test_the_lines_of_jobs_are_aligned_behind_the_longest_id(run: Run) -> None:
    ran = run("batch", write_jobs(job("a"), job("longer")), "-f", "pretty", "--dry-run")

    assert ran.out.startswith(
        "ok        a        openvino.Gather-8   int64[2]\n"
        "ok        longer   openvino.Gather-8   int64[2]\n"
    )


def test_the_shapes_of_different_operators_are_aligned(run: Run) -> None:
    elements = job("b", op="gather-elements", data=[1], indices=[0], axis=0)

    ran = run("batch", write_jobs(job("a"), elements), "-f", "pretty", "--dry-run")

    first, second, *_ = ran.out.splitlines()
    assert first.index("int64[2]") == second.index("int64[1]")


@pytest.mark.parametrize("name", ["b", "a-very-long-name-of-a-job-of-forty-letters"])
def test_errors_wrap_below_themselves_on_a_narrow_screen(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    ran = run("batch", write_jobs(job(name, axis=1)), "-f", "pretty")

    lines = ran.out.partition("1 job:")[0].splitlines()
    assert max(map(len, lines)) < 60
    text = " ".join(line.strip() for line in lines)
    assert text.endswith("`axis` is 1, but `data` has rank 1: expected -1 to 0")


@pytest.mark.parametrize("option", ["-q", "--json-errors"])
def test_nothing_is_summed_up_for_a_program(option: str, run: Run) -> None:
    ran = run("batch", write_jobs(job("a", indices=[9])), option)
    assert (ran.status, ran.err) == (0, "")
