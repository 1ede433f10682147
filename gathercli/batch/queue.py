"""The queue of jobs: waiting to run, running, or completed and waiting for an earlier one."""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gathercli.batch.outcome import Outcome

MAX_WAITING: Final = 10_000
"""The most completed jobs that wait for an earlier one before no more begin."""

MAX_WAITING_BYTES: Final = 64 << 20
"""The most bytes of their lines."""


class Workers(Protocol):
    """Workers that run the jobs of a queue: `Pool` or `Cluster`."""

    def feed(self, queue: JobQueue) -> None:
        """Begin a job for each free worker."""

    def wait(self, queue: JobQueue, seconds: float) -> Iterable[Outcome]:
        """Wait at most `seconds` for a job; return all completed ones."""


class JobQueue:
    """A queue of jobs.

    Parameters
    ----------
    numbers
        The jobs in order.
    ordered
        Whether `run` yields the jobs in this order.
    """

    def __init__(self, numbers: Iterable[int], *, ordered: bool) -> None:
        self._numbers, self._ordered = iter(numbers), ordered
        self._again: deque[int] = deque()
        self._begun: deque[int] = deque()
        """In an ordered queue, the jobs that began and were not yielded yet."""
        self._under_way = 0
        self._waiting: dict[int, Outcome] = {}
        self._bytes = 0

    @property
    def under_way(self) -> bool:
        """Whether any job is running."""
        return self._under_way > 0

    def run(
        self, workers: Workers, ended: Callable[[Outcome], bool], *, every: float = 1.0
    ) -> Iterator[list[Outcome]]:
        """Run the jobs; yield a few that are completed, and none after `every` seconds without any.

        Parameters
        ----------
        ended
            Called with each completed job in any order; returns whether others may begin.
        """
        while True:
            workers.feed(self)
            if not self.under_way:
                return
            batch = list(workers.wait(self, every))
            for outcome in batch:
                self.end(outcome)
                if not ended(outcome):
                    self.stop()
            ready = self._ready()
            if ready or not batch:
                yield ready
            self._remove(ready)

    def next(self) -> int | None:
        """Begin a job and return its number; None if there is none, or too many are waiting."""
        if self._again:
            return self._again.popleft()
        if len(self._begun) >= MAX_WAITING or self._bytes >= MAX_WAITING_BYTES:
            return None
        number = next(self._numbers, None)
        if number is not None:
            self._under_way += 1
            if self._ordered:
                self._begun.append(number)
        return number

    def give_back(self, numbers: Iterable[int]) -> None:
        """Return unfinished jobs to the head of the queue; they still count as running."""
        self._again.extendleft(reversed(list(numbers)))

    def stop(self) -> None:
        """Begin no more jobs except those from `give_back`."""
        self._numbers = iter(())

    def end(self, outcome: Outcome) -> None:
        """Add a completed job."""
        self._under_way -= 1
        self._waiting[outcome.number] = outcome
        self._bytes += len(outcome.line)

    def _ready(self) -> list[Outcome]:
        """Return completed jobs; in an ordered queue, up to the first unfinished one."""
        if not self._ordered:
            return list(self._waiting.values())
        return [
            self._waiting[number] for number in takewhile(self._waiting.__contains__, self._begun)
        ]

    def _remove(self, outcomes: list[Outcome]) -> None:
        """Remove jobs that were yielded."""
        for outcome in outcomes:
            del self._waiting[outcome.number]
            self._bytes -= len(outcome.line)
            if self._ordered:
                self._begun.popleft()

    def rest(self) -> list[Outcome]:
        """Return the jobs that were not used or wait for an earlier one, after an interruption."""
        return [self._waiting[number] for number in sorted(self._waiting)]
