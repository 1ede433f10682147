"""The queue of jobs: which is next, which are under way, and which wait for an earlier one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_WAITING: Final = 10_000
"""Jobs that may end before an earlier one does; after that no more begin."""

MAX_WAITING_BYTES: Final = 64 << 20
"""Bytes of their lines."""


class Outcome(NamedTuple):
    """A job that has ended: its number, status, line of report, and notes by their kind."""

    number: int
    status: str
    line: bytes
    notes: dict[str, str]


class Workers(Protocol):
    """What takes jobs from a queue and does them: `Pool` and `Cluster`."""

    def feed(self, queue: JobQueue) -> None:
        """Begin as many jobs as there are free workers."""

    def wait(self, queue: JobQueue, seconds: float) -> Iterable[Outcome]:
        """Wait until a job ends, but at most some seconds; return all that have."""


class JobQueue:
    """Jobs that are to be done, under way, or done and waiting for an earlier one.

    Parameters
    ----------
    numbers
        All jobs, in their order.
    ordered
        Whether `run` yields them in this order.
    """

    def __init__(self, numbers: Iterable[int], *, ordered: bool) -> None:
        self._numbers, self._ordered = iter(numbers), ordered
        self._again: deque[int] = deque()
        self._begun: deque[int] = deque()
        """In an ordered queue, the jobs that have begun and were not yielded."""
        self._under_way = 0
        self._waiting: dict[int, Outcome] = {}
        self._bytes = 0

    @property
    def under_way(self) -> bool:
        """Whether any job has begun and not ended."""
        return self._under_way > 0

    def run(
        self, workers: Workers, ended: Callable[[Outcome], bool], *, every: float = 1.0
    ) -> Iterator[Outcome | None]:
        """Have the jobs done; yield each, and None when none has ended for a while.

        Parameters
        ----------
        ended
            Called with every job as it ends, in any order; returns whether others may begin.
        every
            Seconds after which None is yielded.
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
            if not batch:
                yield None
            yield from self._ready()

    def next(self) -> int | None:
        """Begin a job and return its number; None if there is none, or too many wait."""
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
        """Put jobs that did not end at the head of the queue; they still count as under way."""
        self._again.extendleft(reversed(list(numbers)))

    def stop(self) -> None:
        """Begin no more jobs but those that were given back."""
        self._numbers = iter(())

    def end(self, outcome: Outcome) -> None:
        """Take a job that has ended."""
        self._under_way -= 1
        self._waiting[outcome.number] = outcome
        self._bytes += len(outcome.line)

    def _ready(self) -> Iterator[Outcome]:
        """Yield the jobs that have ended, up to the first whose turn has not come."""
        while (number := self._first()) in self._waiting:
            outcome = self._waiting.pop(number)
            self._bytes -= len(outcome.line)
            if self._ordered:
                self._begun.popleft()
            yield outcome

    def _first(self) -> int:
        """Return the job whose turn it is, or -1."""
        numbers = self._begun if self._ordered else self._waiting
        return next(iter(numbers), -1)

    def rest(self) -> Iterator[Outcome]:
        """Yield the jobs that wait for an earlier one, which will not end any more."""
        for number in sorted(self._waiting):
            yield self._waiting.pop(number)
