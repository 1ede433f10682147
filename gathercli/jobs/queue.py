"""Jobs given out one after the other, and handed on when they have ended: at once, or in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WAITING: Final = 10_000
"""Jobs that may have ended before an earlier one has; the rest wait for that one."""

HELD: Final = 64 << 20
"""Bytes of their lines."""


class Done(NamedTuple):
    """A job that has ended: its number, status, line of report, and notes by their kind."""

    number: int
    status: str
    line: bytes
    notes: dict[str, str]


class JobQueue:
    """Jobs that are to be done, under way, or done and kept waiting.

    Parameters
    ----------
    numbers
        All jobs, in their order.
    keeps
        Whether they are handed on in this order.
    """

    def __init__(self, numbers: Iterable[int], *, keeps: bool) -> None:
        self._rest, self._keeps = iter(numbers), keeps
        self._again: deque[int] = deque()
        self._given: deque[int] = deque()
        self._under_way = 0
        self._held: dict[int, Done] = {}
        self._bytes = 0

    @property
    def under_way(self) -> bool:
        """Whether any job was given out and has not ended."""
        return self._under_way > 0

    def run(
        self,
        feed: Callable[[], bool],
        wait: Callable[[], Iterable[Done]],
        ended: Callable[[Done], bool],
    ) -> Iterator[Done | None]:
        """Have the jobs done; yield those that are handed on, and None when none has ended.

        Parameters
        ----------
        feed
            Gives jobs out; whether any is under way.
        wait
            Waits a while, and returns those that have ended.
        ended
            Is told of every job when it ends, in whatever order; whether others may begin.
        """
        while feed():
            found = list(wait())
            for done in found:
                self.end(done)
                if not ended(done):
                    self.stop()
            if not found:
                yield None
            yield from self.ready()

    def next(self) -> int | None:
        """Give out a job; None if there is none, or too many wait for an earlier one."""
        if self._again:
            return self._again.popleft()
        if len(self._given) >= WAITING or self._bytes >= HELD:
            return None
        number = next(self._rest, None)
        if number is not None:
            self._under_way += 1
            if self._keeps:
                self._given.append(number)
        return number

    def give_back(self, numbers: Iterable[int]) -> None:
        """Take jobs back that were given out; they are the next."""
        self._again.extendleft(reversed(list(numbers)))

    def stop(self) -> None:
        """Give out no more jobs than were before."""
        self._rest = iter(())

    def end(self, done: Done) -> None:
        """Take a job that has ended."""
        self._under_way -= 1
        self._held[done.number] = done
        self._bytes += len(done.line)

    def ready(self) -> Iterator[Done]:
        """Hand on what has ended and no earlier job keeps waiting."""
        while (number := self._first()) is not None:
            done = self._held.pop(number)
            self._bytes -= len(done.line)
            if self._keeps:
                self._given.popleft()
            yield done

    def _first(self) -> int | None:
        """Return the next to be handed on."""
        if not self._keeps:
            return next(iter(self._held), None)
        return self._given[0] if self._given and self._given[0] in self._held else None

    def waiting(self) -> Iterator[Done]:
        """Hand on what has ended and waits for an earlier one, which will not end any more."""
        for number in sorted(self._held):
            yield self._held.pop(number)
