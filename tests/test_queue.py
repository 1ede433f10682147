"""Jobs are given out in their order, and once more where they come back."""

from __future__ import annotations

from gathercli.jobs.queue import JobQueue


def test_jobs_that_are_given_back_are_the_next_in_their_order() -> None:
    queue = JobQueue(range(6), ordered=True)
    given = [queue.next() for _ in range(4)]

    queue.give_back(number for number in given[1:] if number is not None)

    assert [queue.next() for _ in range(6)] == [1, 2, 3, 4, 5, None]
    assert queue.under_way


def test_jobs_that_are_given_back_are_given_out_even_after_a_stop() -> None:
    queue = JobQueue(range(6), ordered=False)
    queue.next()

    queue.stop()
    queue.give_back([0])

    assert [queue.next(), queue.next()] == [0, None]
