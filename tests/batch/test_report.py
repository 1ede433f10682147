"""The progress of a batch: what the validation says, and when the time left is estimated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gathercli.batch import report as batch
from gathercli.batch.outcome import OK, BatchTotals
from gathercli.batch.plan import Plan
from gathercli.batch.report import Bar
from gathercli.io.jobfile import read_entries

if TYPE_CHECKING:
    from tests.conftest import Run


pytestmark = pytest.mark.usefixtures("one_core")


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_estimated_from_the_first_job_that_ended() -> None:
    clock, written = Clock(), list[str]()
    totals = BatchTotals(102)
    bar = Bar(written.append, None, clock)
    clock.now += 500  # until a worker comes
    bar(totals)
    bar.estimate(b'{"seconds":2.0}')
    totals.count(OK)
    totals.count(OK)
    clock.now += 18

    bar(totals)

    assert written == [
        "0 of 102 jobs, 0 failed\n",
        "2 of 102 jobs, 0 failed, 0.1/s, 16 min 40 s left\n",
    ]


def test_jobs_done_before_do_not_shorten_the_time_left() -> None:
    clock, written = Clock(), list[str]()
    totals = BatchTotals(100)
    bar = Bar(written.append, None, clock)
    for number in range(80):
        totals.keep(number, {"status": OK})
    bar.estimate(b'{"seconds":0.0}')
    totals.count(OK)
    clock.now += 10

    bar(totals)

    assert written == ["81 of 100 jobs, 0 failed, 0.1/s, 3 min 10 s left\n"]


def test_the_validation_says_how_far_it_is() -> None:
    clock, written = Clock(), list[str]()
    bar = Bar(written.append, None, clock)

    for number in range(1, 41):
        clock.now += 1
        bar.validation("validated", number * 1000)

    assert written == [f"{number} 000 jobs validated\n" for number in (10, 20, 30, 40)]


def test_jobs_are_counted_as_they_are_validated_and_compared(folder: Path) -> None:
    job = {"op": "gather", "data": "a.npy", "indices": [0], "output": "o/a.npy"}
    text = "".join(json.dumps({**job, "output": f"{n}.npy"}) + "\n" for n in range(3))
    Path("j.jsonl").write_text(text + json.dumps({**job, "data": "o"}) + "\n", "ascii")
    steps: list[tuple[str, int]] = []

    with Plan(read_entries("j.jsonl"), progress=lambda *step: steps.append(step)) as plan:
        list(plan.read(range(2)))

    validated = [step for step in steps if step[0] == "validated"]
    assert validated == [("validated", number) for number in range(1, 5)]
    assert [step for step in steps if step[0] == "compared"] != []
    assert steps.index(("compared", 1)) > steps.index(("validated", 4))
    assert folder.is_dir()


VALIDATED = "1 job validated\n2 jobs validated\n3 jobs validated\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [([], VALIDATED), (["--dry-run"], VALIDATED), (["-q"], ""), (["--json-errors"], "")],
)
def test_a_batch_says_how_far_the_validation_is_unless_it_is_quiet(
    words: list[str], said: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "LINE_INTERVAL", 0.0)
    job = {"op": "gather", "data": [1, 2], "indices": [0]}
    Path("j.jsonl").write_text(f"{json.dumps(job)}\n" * 3, "ascii")

    ran = run("batch", "j.jsonl", *words)

    assert ran.err[: len(VALIDATED)] == said
