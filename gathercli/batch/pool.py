"""Run the jobs of a queue in processes; one that crashes its process or is too slow fails alone.

Two processes ran 2,000 small jobs 1.3 times as fast as two threads, which share one interpreter,
and 12 jobs of 60 MB as fast except for 0.3 s of start-up.
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import count, takewhile
from time import sleep
from typing import Final, Protocol

from gathercli.batch.outcome import Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.work import GRACE_SECONDS, READY_LINE, Settings, lost_job, remove_unfinished
from gathercli.errors import TransferError, reason_of
from gathercli.io.jobs import read_again

# The most completed jobs that wait for an earlier one before no more begin.
MAX_WAITING_JOBS: Final = 10_000
MAX_WAITING_BYTES: Final = 64 << 20  # the most bytes of their lines


class Workers(Protocol):
    """Workers that run the jobs of a queue: `Pool` or `Cluster`."""

    def feed(self, queue: JobQueue) -> None:
        """Begin a job for each free worker."""

    def wait(self, queue: JobQueue, seconds: float) -> Iterable[Outcome]:
        """Wait at most `seconds` for a job; return all completed ones."""


class JobQueue:
    """A queue of jobs by number; of an ordered one these are 0, 1, …, and `run` yields them so."""

    def __init__(self, numbers: Iterable[int], *, ordered: bool) -> None:
        self._numbers, self._ordered = iter(numbers), ordered
        self._again: deque[int] = deque()
        self.under_way = self._yielded = 0  # the jobs that run, and those before `_waiting`
        self._waiting: dict[int, Outcome] = {}
        self._bytes = 0

    def run(
        self, workers: Workers, ended: Callable[[Outcome], bool], *, every: float = 1.0
    ) -> Iterator[list[Outcome]]:
        """Run the jobs; yield a few that are completed, and none after `every` seconds without any.

        `ended` is called with each completed job in any order and returns whether others may begin.
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
            for outcome in ready:  # which are used by now
                del self._waiting[outcome.number]
                self._bytes -= len(outcome.line)
            self._yielded += len(ready)

    def next(self) -> int | None:
        """Begin a job and return its number; None if there is none, or too many are waiting."""
        if self._again:
            return self._again.popleft()
        begun = self.under_way + len(self._waiting)
        if (self._ordered and begun >= MAX_WAITING_JOBS) or self._bytes >= MAX_WAITING_BYTES:
            return None
        number = next(self._numbers, None)
        if number is not None:
            self.under_way += 1
        return number

    def give_back(self, numbers: Iterable[int]) -> None:
        """Return unfinished jobs to the head of the queue; they still count as running."""
        self._again.extendleft(reversed(list(numbers)))

    def stop(self) -> None:
        """Begin no more jobs except those from `give_back`."""
        self._numbers = iter(())

    def end(self, outcome: Outcome) -> None:
        """Add a completed job."""
        self.under_way -= 1
        self._waiting[outcome.number] = outcome
        self._bytes += len(outcome.line)

    def _ready(self) -> list[Outcome]:
        """Return completed jobs; in an ordered queue, up to the first unfinished one."""
        if not self._ordered:
            return list(self._waiting.values())
        following = takewhile(self._waiting.__contains__, count(self._yielded))
        return [self._waiting[number] for number in following]

    def rest(self) -> list[Outcome]:
        """Return the jobs that were not used or wait for an earlier one, after an interruption."""
        return [self._waiting[number] for number in sorted(self._waiting)]


# Seconds of work sent to a process in advance, so that it does not wait for the next job.
SECONDS_AHEAD: Final = 0.02
MAX_JOBS_AHEAD: Final = 16  # the most jobs sent to a process in advance
# The longest wait in seconds for more answers, while all processes have jobs for longer.
MAX_READ_PAUSE: Final = 0.002
MAX_EARLY_DEATHS: Final = 5  # the most processes that may die before they are ready

_READ_BYTES: Final = 1 << 16
# The program of a worker: set the search path of this process without the working folder.
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from gathercli.batch.work import run_worker; run_worker()"
)


class _Worker:
    """A process for the jobs of a spool, and its unfinished ones, of which the first is running.

    `since` is when that was sent or the previous one ended, `began` when the process began it,
    later while it starts; `late` is the job that timed out, for which the process was killed.
    """

    def __init__(self, jobs: Spool, folder: str | None, *, debug: bool) -> None:
        path = json.dumps([folder for folder in sys.path if folder])
        # Not pipes, which a job could open again as /dev/fd/3.
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603  (this program itself)
                [sys.executable, "-I", "-c", _PROGRAM, path, str(jobs.fd)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=None if debug else subprocess.DEVNULL,
                pass_fds=(jobs.fd,),
                cwd=folder,
                process_group=0,  # the parent alone handles an interrupt from the keyboard
            )
        self.tasks: deque[int] = deque()
        self.since = self.began = 0.0
        self.late: int | None = None
        self.ready = False
        self._answers, self._requests = bytearray(), b""

    def begin(self, settings: Settings) -> None:
        """Add the settings of all jobs, which `send` sends before the first job."""
        self._requests = json.dumps(settings).encode() + b"\n"

    def add(self, number: int, span: tuple[int, int]) -> None:
        """Add a job, which `send` sends."""
        if not self.tasks:
            self.since = self.began = time.monotonic()
        self.tasks.append(number)
        self._requests += b"%d %d %d\n" % (number, *span)

    def send(self) -> None:
        """Send the jobs that were added; if the process has died, `read` returns no bytes."""
        requests, self._requests = self._requests, b""
        if requests:
            with suppress(ConnectionError):
                self.socket.sendall(requests)

    def read(self) -> bytes:
        """Wait for bytes of answers; return none if the process has ended."""
        try:
            return self.socket.recv(_READ_BYTES)
        except ConnectionError:  # killed, with unread jobs in its socket
            return b""

    def receive(self, part: bytes) -> Iterator[Outcome]:
        """Append bytes of answers; yield the outcomes of complete answers."""
        answers = self._answers
        answers += part
        if not self.ready and answers.startswith(READY_LINE):
            self.ready = True
            self.began = time.monotonic()
            del answers[: len(READY_LINE)]
        start = 0
        while self.ready and (end := answers.find(b"\n", start) + 1):
            head = answers[start : end - 1].split(b" ", 3)
            stop = end + int(head[2])
            if len(answers) < stop:
                break
            self.tasks.popleft()
            yield Outcome.parse(head, bytes(answers[end:stop]))
            start = stop
        del answers[:start]

    @property
    def at_work(self) -> bool:
        return self.ready and bool(self.tasks) and self.late is None and not self._answers

    def is_busy(self, most: int, now: float) -> bool:
        """Return whether there are more than `most` jobs, or the first one is long."""
        return len(self.tasks) > most or (bool(self.tasks) and now - self.since > SECONDS_AHEAD)

    def restart_clock(self) -> float:
        """Start the clock of the next job; return the seconds of the last."""
        before, self.since = self.began, time.monotonic()
        self.began = self.since
        return self.since - before

    def end(self) -> int:
        """Kill the process and return its status."""
        self.process.kill()
        self.socket.close()
        return self.process.wait()


class EarlyWorkers(AbstractContextManager["EarlyWorkers"]):
    """A context for `count` processes that start while the jobs are still being validated."""

    def __init__(self, count: int, *, debug: bool) -> None:
        self._count, self._debug = count, debug
        self._workers: list[_Worker] = []

    def start(self, jobs: Spool) -> None:
        """Start the processes; what cannot be started now is tried again by a pool."""
        with suppress(OSError):
            for _ in range(self._count):
                self._workers.append(_Worker(jobs, None, debug=self._debug))

    def take(self) -> list[_Worker]:
        """Return the processes, which the caller ends."""
        workers, self._workers = self._workers, []
        return workers

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()


class Pool(AbstractContextManager["Pool"]):
    """A context for up to `count` processes that run the jobs of a spool; some may have started.

    Up to `ahead` jobs are sent to a process at a time; those with an outcome in `inferred` need
    none.
    """

    def __init__(
        self,
        jobs: Spool,
        settings: Settings,
        count: int,
        *,
        started: Iterable[_Worker] = (),
        ahead: int = MAX_JOBS_AHEAD,
        inferred: Spool | None = None,
    ) -> None:
        self._jobs, self._settings, self._count = jobs, settings, count
        self._inferred, self._ended = inferred, list[Outcome]()
        self._ahead, self._timeout = ahead, settings.timeout
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._early_deaths = 0  # the number of processes that died before they were ready
        self._mean = SECONDS_AHEAD  # moving average of the seconds of a job
        self._pause = 0.0  # seconds to wait before the next answers are read
        for worker in started:
            self._add(worker)

    def feed(self, queue: JobQueue) -> None:
        """Send jobs to processes with few, and start processes."""
        depth = max(1, min(self._ahead, int(SECONDS_AHEAD / self._mean)))
        try:
            self._share(queue, depth)
        finally:
            for worker in self._workers:
                worker.send()
        fewest = self._fewest()
        # Each answer wakes this process, which takes longer than to read a few at once.
        self._pause = min(MAX_READ_PAUSE, self._mean * fewest / 2) if fewest > 1 else 0.0

    def _fewest(self) -> int:
        """Return the number of jobs of the process with the fewest."""
        return min((len(worker.tasks) for worker in self._workers), default=0)

    def _share(self, queue: JobQueue, depth: int) -> None:
        """Share jobs between processes, so that each has `depth` if there are enough."""
        now, fewest = time.monotonic(), self._fewest() if len(self._workers) == self._count else 0
        for most in range(fewest, depth):  # one job for each process, then a second one for each, …
            for at in range(self._count):
                if at < len(self._workers) and self._workers[at].is_busy(most, now):
                    continue
                number = self._next(queue)
                if number is None:
                    return
                if at >= len(self._workers) and not self._start():
                    queue.give_back([number])
                    return
                self._workers[at].add(number, self._jobs.span(number))

    def _next(self, queue: JobQueue) -> int | None:
        """Begin a job that needs a process, and end up to `ahead` others before it."""
        while len(self._ended) < self._ahead and (number := queue.next()) is not None:
            record = b"" if self._inferred is None else self._inferred.record(number)
            if not record:
                return number
            self._ended.append(Outcome.read_again(record))
        return None

    def _start(self) -> bool:
        """Start a process; return False if that fails and there are others."""
        try:
            worker = _Worker(self._jobs, self._settings.folder, debug=self._settings.debug)
        except OSError as error:
            if not self._workers:
                what = f"no process could be started for the jobs ({reason_of(error)})"
                raise TransferError(what, rule="output") from None
            self._count = len(self._workers)
            return False
        self._add(worker)
        return True

    def _add(self, worker: _Worker) -> None:
        worker.begin(self._settings)
        self._workers.append(worker)
        self._selector.register(worker.socket, selectors.EVENT_READ, worker)

    def wait(self, queue: JobQueue, seconds: float) -> Iterator[Outcome]:
        """Wait at most `seconds` for a job; yield all completed ones."""
        if self._ended:
            yield from self._ended
            self._ended.clear()
            seconds = 0
        if self._timeout is not None:
            now = time.monotonic()
            began = [worker.began for worker in self._workers if worker.at_work]
            seconds = min([seconds, *(max(each + self._timeout - now, 0) for each in began)])
        if self._pause and seconds:
            sleep(self._pause)
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            part = worker.read()
            ended = list(worker.receive(part))
            if ended:
                self._mean += (worker.restart_clock() / len(ended) - self._mean) / 8
            yield from ended
            if not part:
                yield from self._remove_dead(worker, queue)
        self._kill_late()

    def _kill_late(self) -> None:
        """Kill processes whose job exceeds the time limit."""
        if self._timeout is None:
            return
        now = time.monotonic()
        for worker in self._workers:
            if worker.at_work and now - worker.began >= self._timeout:
                worker.late = worker.tasks[0]
                worker.process.kill()

    def _remove_dead(self, worker: _Worker, queue: JobQueue) -> Iterator[Outcome]:
        """Remove a dead process: its running job has failed, its others return to the queue."""
        self._selector.unregister(worker.socket)
        self._workers.remove(worker)
        with suppress(subprocess.TimeoutExpired):  # it closed its output and is about to end
            worker.process.wait(GRACE_SECONDS)
        status = worker.end()
        if not worker.ready:
            self._early_deaths += 1
            if self._early_deaths > MAX_EARLY_DEATHS:
                what = f"processes for the jobs ended before they began, with {_ending(status)}"
                raise TransferError(what, rule="output", hint="`--debug` shows what they say")
            queue.give_back(worker.tasks)
            return
        # A job that ended just before its process was killed is not late.
        if worker.tasks and worker.late in (None, worker.tasks[0]):
            why = "died", f"its process ended with {_ending(status)}"
            if worker.late is not None:
                why = "timeout", f"it took longer than the {self._timeout:g} s of `--timeout`"
            number, seconds = worker.tasks.popleft(), time.monotonic() - worker.began
            record = self._jobs.record(number)
            yield lost_job(record, number, self._settings, why, seconds)
        queue.give_back(worker.tasks)

    def __exit__(self, *_: object) -> None:
        busy = [worker for worker in self._workers if worker.tasks]
        for worker in busy:
            worker.process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for worker in busy:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(deadline - time.monotonic(), 0))
        for worker in self._workers:
            worker.end()
        for worker in busy:  # which may not have had the time to
            job = read_again(self._jobs.record(worker.tasks[0]))
            remove_unfinished(job, self._settings)
        self._selector.close()


def _ending(status: int) -> str:
    """Describe the exit status of a process.

    >>> _ending(-9), _ending(1)
    ('SIGKILL', 'status 1')
    """
    return signal.Signals(-status).name if status < 0 else f"status {status}"
