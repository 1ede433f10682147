"""Jobs begin in their order, once more if they come back, and none too far ahead of another."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from gathercli.batch import queue as module
from gathercli.batch.outcome import Outcome
from gathercli.batch.queue import JobQueue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
    ("name", "limit"), [("MAX_WAITING", 3), ("MAX_WAITING_BYTES", 2 * len(b"line\n"))]
)
def test_no_job_begins_while_too_many_wait_for_an_earlier_one(
    name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, limit)
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


def test_no_job_begins_after_the_one_that_stops_the_queue() -> None:
    class OneByOne(Hands):
        def feed(self, queue: JobQueue) -> None:
            number = queue.next()
            self.begun += [] if number is None else [number]

    hands = OneByOne(*([number] for number in range(9)))

    ended = numbers(JobQueue(range(9), ordered=False).run(hands, lambda done: done.number < 2))

    assert [*chain(*ended)] == hands.begun == [0, 1, 2]
