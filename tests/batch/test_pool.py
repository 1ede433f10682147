"""Jobs begin in order and come back; small ones of a dry run are inferred without a process."""

from __future__ import annotations

import json
import re
from collections import deque
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.batch import pool
from gathercli.batch.outcome import Outcome
from gathercli.batch.pool import SECONDS_AHEAD, JobQueue, _Worker
from gathercli.batch.work import MAX_INFERRED_BYTES, READY_LINE, Settings, answer, inferred
from gathercli.io.jobfile import JobEntry
from gathercli.io.jobs import read_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.conftest import Run


class Hands:
    """Workers that take all the jobs they can, and end those they are told to."""

    def __init__(self, *ending: Iterable[int]) -> None:
        self._ending = iter(ending)
        self.begun: list[int] = []

    def feed(self, queue: JobQueue) -> None:
        while (number := queue.next()) is not None:
            self.begun.append(number)

    def wait(self, queue: JobQueue, seconds: float) -> Iterator[Outcome]:
        del queue, seconds
        return (Outcome(number, "ok", b"line\n", {}) for number in next(self._ending))


def test_jobs_that_are_given_back_are_the_next_in_their_order() -> None:
    queue = JobQueue(range(6), ordered=True)
    begun = [queue.next() for _ in range(4)]

    queue.give_back(number for number in begun[1:] if number is not None)

    assert [queue.next() for _ in range(6)] == [1, 2, 3, 4, 5, None]
    assert queue.under_way


def test_jobs_that_are_given_back_begin_even_after_a_stop() -> None:
    queue = JobQueue(range(6), ordered=False)
    queue.next()

    queue.stop()
    queue.give_back([0])

    assert [queue.next(), queue.next()] == [0, None]


def numbers(batches: Iterable[list[Outcome]]) -> list[list[int]]:
    return [[outcome.number for outcome in batch] for batch in batches]


def test_jobs_are_yielded_as_they_end_and_none_where_none_has() -> None:
    queue = JobQueue(range(4), ordered=False)

    ended = queue.run(Hands([2, 1], [], [3, 0]), lambda _: True)

    assert numbers(ended) == [[2, 1], [], [3, 0]]


def test_jobs_of_an_ordered_queue_are_yielded_in_their_order() -> None:
    queue = JobQueue(range(4), ordered=True)

    ended = queue.run(Hands([2, 1], [3, 0]), lambda _: True)

    assert numbers(ended) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("name", "limit"), [("MAX_WAITING_JOBS", 3), ("MAX_WAITING_BYTES", 2 * len(b"line\n"))]
)
def test_no_job_begins_while_too_many_wait_for_an_earlier_one(
    name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, name, limit)
    queue = JobQueue(range(9), ordered=True)
    first = queue.next()
    for number in (queue.next(), queue.next()):
        queue.end(Outcome(number or 0, "ok", b"line\n", {}))

    assert queue.next() is None

    hands = Hands([first or 0], *([number] for number in range(3, 9)))
    ended = chain(*numbers(queue.run(hands, lambda _: True)))
    assert list(ended) == list(range(9))


def test_what_waits_for_an_earlier_job_is_yielded_in_order_when_that_will_not_end() -> None:
    queue = JobQueue(range(4), ordered=True)
    ending = iter([[3, 1], [2]])

    class Interrupted(Hands):
        def wait(self, queue: JobQueue, seconds: float) -> Iterator[Outcome]:
            del queue, seconds
            batch = next(ending, None)
            if batch is None:
                raise KeyboardInterrupt
            return (Outcome(number, "ok", b"", {}) for number in batch)

    with pytest.raises(KeyboardInterrupt):
        list(queue.run(Interrupted(), lambda _: True))

    assert [done.number for done in queue.rest()] == [1, 2, 3]


def test_jobs_whose_use_is_interrupted_are_not_lost() -> None:
    queue = JobQueue(range(3), ordered=False)
    ended = queue.run(Hands([1], [2, 0]), lambda _: True)

    assert numbers([next(ended), next(ended)]) == [[1], [2, 0]]

    assert numbers([queue.rest()]) == [[0, 2]]


def test_no_job_waits_behind_the_long_first_one_of_a_process_that_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_Worker, "__init__", lambda _: None)
    worker = _Worker()  # type: ignore[call-arg]
    worker.tasks, worker.ready, worker._answers, worker._requests = deque(), False, bytearray(), b""
    clock = [10.0, 10.0 + 2 * SECONDS_AHEAD]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    worker.add(0, (0, 1))
    del clock[0]

    assert list(worker.receive(READY_LINE)) == []

    assert worker.is_busy(1, clock[0])


def test_a_late_job_is_ended_while_others_have_inferred_outcomes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[str] = []
    late = SimpleNamespace(at_work=True, began=0.0, tasks=[7], late=None)
    late.process = SimpleNamespace(kill=lambda: killed.append("late"))
    monkeypatch.setattr("time.monotonic", lambda: 10.0)
    workers = pool.Pool(None, SimpleNamespace(timeout=5.0), 0)  # type: ignore[arg-type]
    workers._workers, workers._ended = [late], [Outcome(0, "ok", b"", {})]  # type: ignore[list-item]

    assert [each.number for each in workers.wait(JobQueue((), ordered=True), 60.0)] == [0]

    assert killed == ["late"]


def test_no_job_begins_after_the_one_that_stops_the_queue() -> None:
    class OneByOne(Hands):
        def feed(self, queue: JobQueue) -> None:
            number = queue.next()
            self.begun += [] if number is None else [number]

    hands = OneByOne(*([number] for number in range(9)))

    ended = numbers(JobQueue(range(9), ordered=False).run(hands, lambda done: done.number < 2))

    assert [*chain(*ended)] == hands.begun == [0, 1, 2]


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
    "large": JOB | {"title": "x" * MAX_INFERRED_BYTES},
}


def record(job: dict[str, Any]) -> bytes:
    return JobEntry("job.json", "", json.dumps(job).encode()).record()


def timeless(text: bytes) -> bytes:
    return re.sub(rb'"seconds":[\d.e-]+', b"", text)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("job", WITHOUT_FILES.values(), ids=WITHOUT_FILES)
def test_a_job_without_files_has_the_outcome_that_a_process_gives_it(job: dict[str, Any]) -> None:
    settings = Settings(dry=True, inline=1000)
    head, _, line = answer(0, record(job), settings).partition(b"\n")

    outcome = inferred(0, read_again(record(job)), settings)

    assert outcome is not None
    assert timeless(outcome.line) == timeless(line)
    assert outcome.status == head.split()[1].decode()
    assert outcome.notes == json.loads(head.split(b" ", 3)[3])


@pytest.mark.parametrize("job", WITH_FILES.values(), ids=WITH_FILES)
def test_a_job_with_a_file_or_of_many_bytes_is_left_to_a_process(job: dict[str, Any]) -> None:
    outcome = inferred(0, read_again(record(job)), Settings(dry=True))

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
