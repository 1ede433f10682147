"""Jobs done by the workers of a dask scheduler, which see the same files at the same paths.

::

    Cluster   ->  task      the texts of as many jobs as are worth one
    do(task)  ->  answers   a thread of a worker has a process do them, as `Pool` does here
    Cluster   ->  Done      their lines, as if they had been done here

Text and numbers travel, tensors do not. This and its neighbours `leftovers`, `scheduler` and `task`
are all that uses a network, and dask's protocol, which loads pickles: whoever can reach the
scheduler can run code on all of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli import __version__
from gathercli.errors import TransferError
from gathercli.jobs.dask_task import EVERY, Given, do
from gathercli.jobs.pool import lost
from gathercli.jobs.queue import Done, JobQueue
from gathercli.jobs.scheduler import WAIT, Address, connected
from gathercli.text import clean, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Future

    from gathercli.jobs.plan import Spool
    from gathercli.jobs.work import Settings

TASK: Final = 0.25
"""Seconds of work that are worth a task, which costs some milliseconds."""

MOST: Final = 256
"""Jobs of a task."""

AHEAD: Final = 3
"""Tasks for every thread of the cluster that the scheduler is given beforehand."""

STOPPED: Final = 20.0
"""Seconds after which a scheduler that says nothing has gone away."""

BRIEF: Final = 2.0
"""Seconds in which workers must say their version, else their first task will tell."""

COMPARED: Final = 10.0
"""Seconds until new workers are asked, as they may come and go."""


class Cluster:
    """The workers of a scheduler; as a context it leaves them.

    The jobs of a worker that dies are done by others. Those of a task that was lost more often
    than the scheduler allows are tried again each alone, so that no other is blamed.

    Parameters
    ----------
    divided
        Whether the memory of a worker is divided between its jobs.
    spare
        Tells how many more jobs may fail before none may begin.
    say
        Tells the user what should be known at once.
    debug
        Whether what dask logs is seen.
    """

    def __init__(
        self,
        plan: Spool,
        settings: Settings,
        address: Address,
        *,
        timeout: float | None,
        divided: bool,
        spare: Callable[[], float],
        say: Callable[[str], object],
        debug: bool = False,
    ) -> None:
        self._plan, self._settings, self._spare, self._say = plan, settings, spare, say
        given = Given(settings, divided, timeout, os.fsencode(os.getcwd()))
        self._given = (tuple(settings), *given[1:])
        self._ended: SimpleQueue[tuple[Future, Any]] = SimpleQueue()
        self._tasks: dict[Future, list[int]] = {}
        self._suspects: deque[int] = deque()
        """Jobs of tasks that were lost."""
        self._tried: int | None = None
        """The one of them that is a task now, and the only one."""
        self._under_way = 0
        """Jobs of tasks."""
        self._mean = TASK
        """Seconds that a job takes, about."""
        self._threads, self._looked = 0, 0.0
        self._known: set[str] = set()
        """The workers whose version was compared."""
        self._compare = 0.0
        """When others may be."""
        self._alone: float | None = None
        """Since when there are no workers; infinite once that was said."""
        with ExitStack() as stack:
            if not debug:  # what matters is said here
                stack.callback(logging.disable, logging.root.manager.disable)
                logging.disable()
            self._client = stack.enter_context(connected(address))
            self._loop: Any = self._client.loop
            self._open = stack.pop_all()

    @property
    def threads(self) -> int:
        """How many jobs the workers do at a time, as far as is known."""
        self._look()
        return max(self._threads, 1)

    def run(
        self, order: JobQueue, ended: Callable[[Done], bool], *, every: float = EVERY
    ) -> Iterator[Done | None]:
        """Do jobs, as `Pool.run` does."""
        return order.run(lambda: self._feed(order), lambda: self._wait(order, every), ended)

    @contextmanager
    def removing(self, path: str) -> Iterator[None]:
        """Have the workers remove a folder if this process goes away without a word."""
        from distributed.protocol.pickle import dumps

        from gathercli.jobs.leftovers import Leftover

        leftover = Leftover(self._client.id, os.fsencode(path))
        asked: Any = self._client.scheduler
        with suppress(Exception):  # a scheduler that takes no plugins does the jobs all the same
            self._client.sync(
                asked.register_scheduler_plugin,
                plugin=dumps(leftover),
                name=leftover.name,
                idempotent=False,
                callback_timeout=WAIT,
            )
        try:
            yield
        finally:
            with suppress(Exception):
                forget = asked.unregister_scheduler_plugin
                self._client.sync(forget, name=leftover.name, callback_timeout=WAIT)

    def _feed(self, order: JobQueue) -> bool:
        """Submit tasks; tell whether any job is under way."""
        threads = self.threads
        while len(self._tasks) < AHEAD * threads and (group := self._group(order, threads)):
            records = [(number, self._plan.text(number).record()) for number in group]
            future = self._client.submit(do, __version__, self._given, records, pure=False)
            self._tasks[future] = group
            self._under_way += len(group)
            self._loop.add_callback(self._watch, future)
        return order.under_way

    def _group(self, order: JobQueue, threads: int) -> list[int]:
        """Take as many jobs as are worth a task; one that is suspected alone, after all others."""
        if self._tried is not None or (self._suspects and self._tasks):
            return []
        if self._suspects:
            self._tried = self._suspects.popleft()
            return [self._tried]
        # Whatever becomes of those under way, no more begin than threads do after too many failed.
        most = max(threads, self._spare() + 1) - self._under_way
        wanted = min(MOST, most, max(1, int(TASK / self._mean)))
        group: list[int] = []
        while len(group) < wanted and (number := order.next()) is not None:
            group.append(number)
        return group

    def _look(self) -> None:
        """Count the threads of the workers, now and then, and say it if there are none.

        Raises
        ------
        TransferError
            ``scheduler``: it went away, or a worker has another version, or none: such a one would
            end at its first task.
        """
        now = time.monotonic()
        if now - self._looked < EVERY:
            return
        self._looked = now
        if self._client.status != "running":
            raise _gone()
        try:
            # As `nthreads` asks, which would wait without limit for a scheduler that was stopped.
            asked: Any = self._client.scheduler
            workers = self._client.sync(asked.ncores, workers=None, callback_timeout=STOPPED)
        except OSError:
            raise _gone() from None
        if workers.keys() - self._known and now >= self._compare:
            self._known, self._compare = set(workers), now + COMPARED
            self._check_versions()
        self._threads = sum(workers.values())
        if self._threads:
            self._alone = None
        elif self._alone is None:
            self._alone = now
        elif now - self._alone > WAIT:
            self._say("the scheduler has no workers: waiting for one")
            self._alone = float("inf")

    def _check_versions(self) -> None:
        versions = self._client._get_versions  # noqa: SLF001  (the other waits without limit)
        try:
            found = self._client.sync(versions, packages=["gathercli"], callback_timeout=BRIEF)
        except Exception:  # noqa: BLE001  (a worker died, or is busy: its first task will tell)
            return
        for address, told in found["workers"].items():
            version = told["packages"].get("gathercli")
            if version != __version__:
                what = "no gathercli" if version is None else f"gathercli {version}"
                raise _unable(RuntimeError(f"the one at {address} has {what}"))

    async def _watch(self, future: Future) -> None:
        """Wait for a task in dask's own thread, as its answer may be lost and be made again."""
        answer: Any
        try:
            answer = await self._client.gather(future, asynchronous=True)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (told apart later)
            answer = error
        future.release()  # else dask makes an answer again when the worker that made it dies
        self._ended.put((future, answer))

    def _wait(self, order: JobQueue, every: float) -> Iterator[Done]:
        """Wait until a task ends; return what became of the jobs of all that have."""
        wait = every
        while True:
            try:
                future, answer = self._ended.get(timeout=wait) if wait else self._ended.get_nowait()
            except Empty:
                if self._client.status != "running":
                    raise _gone() from None
                return
            yield from self._taken(self._tasks.pop(future), answer, order)
            wait = 0.0

    def _taken(self, group: list[int], answer: Any, order: JobQueue) -> Iterator[Done]:
        """Return what became of the jobs of a task."""
        from distributed.scheduler import KilledWorker

        self._under_way -= len(group)
        tried, self._tried = self._tried, None
        if isinstance(answer, tuple):
            seconds, answers = answer
            self._mean += (seconds / len(answers) - self._mean) / 2
            yield from (Done(*each) for each in answers)
            ended = {number for number, *_ in answers}
            order.give_back([number for number in group if number not in ended])
        elif isinstance(answer, KilledWorker) and group != [tried]:
            self._suspects += group
        elif isinstance(answer, KilledWorker):
            why = "died", "the workers that did it died, one after the other"
            yield lost(self._plan.text(group[0]), group[0], self._settings, why)
        elif isinstance(answer, OSError | CancelledError | asyncio.CancelledError):
            raise _gone()
        else:
            raise _unable(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # whoever is gone has nothing to be cancelled
            cancel = self._client._cancel  # noqa: SLF001  (the other waits without limit)
            self._client.sync(cancel, list(self._tasks), force=True, callback_timeout=WAIT)
        with suppress(Exception):
            self._open.close()


def _gone() -> TransferError:
    return TransferError(
        "the scheduler went away: expected it to stay until all jobs are done",
        rule="scheduler",
        hint="a batch with `--report FILE` is gone on with by `--resume`",
    )


def _unable(error: Exception) -> TransferError:
    reason = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
    return TransferError(
        f"a worker cannot do the jobs ({clean(short(reason))}): "
        f"expected gathercli {__version__} and the files of this machine",
        rule="scheduler",
        hint="`pip install 'gathercli[cluster]'` where the scheduler and the workers run",
    )
