"""Processes that do jobs, each given a few ahead; their deaths, and the time jobs may take.

Processes, not threads: two of them did 2,000 small jobs 1.3 times as fast as two threads, which
share one interpreter, and 12 jobs of 60 MB as fast but for the 0.3 s in which they start. And a job
that kills its process, or takes too long, is the only one that is lost.
"""

from __future__ import annotations

import json
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from gathercli.errors import GatherError, TransferError, reason_of
from gathercli.jobs.calls import row_of
from gathercli.jobs.fingerprints import Fingerprints
from gathercli.jobs.queue import Done, JobQueue
from gathercli.jobs.work import ERROR, Line
from gathercli.jobs.worker import GRACE, READY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.jobs.plan import Spool, Text
    from gathercli.jobs.work import Settings

AHEAD: Final = 0.02
"""Seconds of work that a process is given beforehand, so that it need not wait for more."""

MOST_AHEAD: Final = 4
"""Jobs that it is given beforehand at most."""

MOST_STARTS: Final = 5
"""Processes that may end before they begin."""

_PART: Final = 1 << 20
_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from gathercli.jobs.worker import run; run()"
)
"""Imports what the process that starts it would import, and nothing from the working folder."""


class _Worker:
    """A process, and the jobs it was given and has not done."""

    def __init__(self, jobs: Spool, settings: Settings, *, folder: str | None, debug: bool) -> None:
        path = json.dumps([folder for folder in sys.path if folder])
        # Not pipes, which a job could open again as /dev/fd/3.
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603  (this program itself)
                [sys.executable, "-I", "-c", _START, path, str(jobs.fd), json.dumps(settings)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=None if debug else subprocess.DEVNULL,
                pass_fds=(jobs.fd,),
                cwd=folder,
                process_group=0,  # an interrupt from the keyboard is for who started it
            )
        self.tasks: deque[int] = deque()
        self.since = self.began = 0.0
        """When the first of them was given, or the one before it ended; when it began."""
        self.late: int | None = None
        """The job for which it was killed."""
        self.ready = False
        self._held = bytearray()

    @property
    def out(self) -> int:
        """The descriptor from which its answers come."""
        return int(self._socket.fileno())

    def give(self, number: int, span: tuple[int, int]) -> None:
        """Give it a job; a process that has died is noticed elsewhere."""
        if not self.tasks:
            self.since = self.began = time.monotonic()
        self.tasks.append(number)
        with suppress(ConnectionError):
            self._socket.sendall(b"%d %d %d\n" % (number, *span))

    def read(self) -> bytes:
        """Wait for what it answers; nothing when it has ended."""
        try:
            return self._socket.recv(_PART)
        except ConnectionError:  # it was killed with jobs before it
            return b""

    def take(self, part: bytes) -> Iterator[Done]:
        """Read what it answers."""
        self._held += part
        if not self.ready and self._held.startswith(READY):
            self.ready = True
            self.began = time.monotonic()
            del self._held[: len(READY)]
        while (end := self._held.find(b"\n") + 1) and self.ready:
            number, status, length, notes = self._held[:end].split(b" ", 3)
            stop = end + int(length)
            if len(self._held) < stop:
                return
            line = bytes(self._held[end:stop])
            del self._held[:stop]
            self.tasks.popleft()
            yield Done(int(number), status.decode(), line, json.loads(notes))

    @property
    def at_work(self) -> bool:
        """Whether it is doing a job: it has begun, was not killed, and no answer is on the way."""
        return self.ready and bool(self.tasks) and self.late is None and not self._held

    def is_busy(self, wanted: int, now: float) -> bool:
        """Tell whether it has more jobs than `wanted`, or one that others should not wait for."""
        return len(self.tasks) > wanted or (bool(self.tasks) and now - self.since > AHEAD)

    def restart(self) -> float:
        """Note that the next job begins now; return the seconds since that was last noted."""
        before, self.since = self.began, time.monotonic()
        self.began = self.since
        return self.since - before

    def end(self) -> int:
        """End it, whatever it does, and return its status."""
        self.process.kill()
        self._socket.close()
        return self.process.wait()


class Pool:
    """Processes that do the jobs of a plan; as a context it ends them.

    Parameters
    ----------
    count
        How many there are.
    timeout
        Seconds that a job may take; None for any time.
    ahead
        How many jobs each may be given at most that it has not done.
    folder
        Where relative paths start, if not in the working folder.
    debug
        Whether what they write on stderr is seen.
    """

    def __init__(
        self,
        jobs: Spool,
        settings: Settings,
        count: int,
        *,
        timeout: float | None = None,
        ahead: int = MOST_AHEAD,
        folder: str | None = None,
        debug: bool = False,
    ) -> None:
        self._jobs, self._settings, self._count = jobs, settings, count
        self._ahead, self._folder = ahead, folder
        self._timeout, self._debug = timeout, debug
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._starts = 0
        """Processes that ended before they began."""
        self._mean = AHEAD
        """Seconds that a job takes, about."""

    def run(
        self, order: JobQueue, ended: Callable[[Done], bool], *, every: float = 1.0
    ) -> Iterator[Done | None]:
        """Do jobs; yield those that have ended, and None when nothing has for a while.

        Parameters
        ----------
        order
            The jobs.
        ended
            Is told of every job when it ends, in whatever order; whether others may begin.
        every
            Seconds after which None is yielded.
        """
        return order.run(lambda: self._feed(order), lambda: self._wait(order, every), ended)

    def _feed(self, order: JobQueue) -> bool:
        """Give jobs to processes that have few; tell whether any job is under way."""
        depth = max(1, min(self._ahead, int(AHEAD / self._mean)))
        now = time.monotonic()
        for wanted in range(depth):
            for at in range(self._count):
                if at < len(self._workers) and self._workers[at].is_busy(wanted, now):
                    continue
                number = order.next()
                if number is None:
                    return order.under_way
                if at >= len(self._workers) and not self._start():
                    order.give_back([number])
                    return True
                self._workers[at].give(number, self._jobs.span(number))
        return order.under_way

    def _start(self) -> bool:
        """Start a process, if the system has room for one more beside those there are."""
        try:
            worker = _Worker(self._jobs, self._settings, folder=self._folder, debug=self._debug)
        except OSError as error:
            if not self._workers:
                raise TransferError(
                    f"no process could be started for the jobs ({reason_of(error)})", rule="output"
                ) from None
            self._count = len(self._workers)
            return False
        self._workers.append(worker)
        self._selector.register(worker.out, selectors.EVENT_READ, worker)
        return True

    def _wait(self, order: JobQueue, every: float) -> Iterator[Done]:
        """Wait until a job ends; return all that have."""
        now = time.monotonic()
        wait = every
        if self._timeout is not None:
            busy = [worker.began for worker in self._workers if worker.at_work]
            wait = min([every, *(max(began + self._timeout - now, 0) for began in busy)])
        for key, _ in self._selector.select(wait):
            worker: _Worker = key.data
            part = worker.read()
            found = list(worker.take(part))
            if found:
                self._mean += (worker.restart() / len(found) - self._mean) / 8
            yield from found
            if not part:
                yield from self._buried(worker, order)
        self._kill_late()

    def _kill_late(self) -> None:
        """End processes whose job has taken too long."""
        if self._timeout is None:
            return
        now = time.monotonic()
        for worker in self._workers:
            if worker.at_work and now - worker.began >= self._timeout:
                worker.late = worker.tasks[0]
                worker.process.kill()

    def _buried(self, worker: _Worker, order: JobQueue) -> Iterator[Done]:
        """Take a dead process away; the job it was at has failed, the others begin again."""
        self._selector.unregister(worker.out)
        self._workers.remove(worker)
        with suppress(subprocess.TimeoutExpired):  # it has closed its output, and is ending
            worker.process.wait(GRACE)
        status = worker.end()
        if not worker.ready:
            self._starts += 1
            if self._starts > MOST_STARTS:
                raise TransferError(
                    f"processes for the jobs ended before they began, with {_ending(status)}",
                    rule="output",
                    hint="`--debug` shows what they say",
                )
            order.give_back(worker.tasks)
            return
        if worker.tasks and worker.late in (None, worker.tasks[0]):
            yield self._died(worker, worker.tasks.popleft(), status)
        order.give_back(worker.tasks)

    def _died(self, worker: _Worker, number: int, status: int) -> Done:
        """Write the line of a job whose process is gone."""
        why = "died", f"its process ended with {_ending(status)}"
        if worker.late is not None:
            why = "timeout", f"it took longer than the {self._timeout:g} s of `--timeout`"
        seconds = time.monotonic() - worker.began
        return lost(self._jobs.text(number), number, self._settings, why, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        busy = [worker for worker in self._workers if worker.tasks]
        for worker in busy:
            worker.process.terminate()
        deadline = time.monotonic() + GRACE
        for worker in busy:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(deadline - time.monotonic(), 0))
        for worker in self._workers:
            worker.end()
        self._selector.close()


def lost(
    found: Text, number: int, settings: Settings, why: tuple[str, str], seconds: float = 0.0
) -> Done:
    """Write the line of a job that could not write its own; `why` is a rule and a message."""
    job = found.job()
    line = Line(job.id, job.output, ERROR, *why, seconds=seconds)
    with suppress(GatherError):
        line.operator = row_of(job, []).full_name
    if settings.stamped:
        line.stamps = Fingerprints.seen(job, found.text, hashed=settings.hashed)
    return Done(number, ERROR, bytes(line), {})


def _ending(status: int) -> str:
    """Say how a process ended.

    >>> _ending(-9), _ending(1)
    ('SIGKILL', 'status 1')
    """
    return signal.Signals(-status).name if status < 0 else f"status {status}"
