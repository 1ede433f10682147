"""Run jobs on the workers of a dask scheduler, which share the paths of this machine.

::

    Cluster   ->  task      the records of a few jobs
    do(task)  ->  answers   a thread of a worker runs them in a process of a `Pool`
    Cluster   ->  Outcome   their lines, as from a local `Pool`

The network carries text and numbers, no tensors. Only this module, `scheduler` and `dask_task` use
a network. Dask's protocol loads pickles: whoever can reach the scheduler can run
code on the client and the workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from gathercli import __version__
from gathercli.batch.outcome import OK, Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.pool import JobQueue
from gathercli.batch.scheduler import MAX_WAIT, Address, connect
from gathercli.batch.work import Part, Settings, lost_job
from gathercli.compute.chunks import cells
from gathercli.compute.storage import Box
from gathercli.errors import GatherError, InputError, LimitError, NoInputError, TransferError
from gathercli.io.jobfile import JobEntry
from gathercli.text import clean, short

if TYPE_CHECKING:
    from distributed import Future

    from gathercli.cli.messages import Messages
    from gathercli.cli.options import Limits


# Bytes of memory for each thread of a worker, unless `--max-bytes` is set.
WORKER_MEMORY: Final = 1 << 30
TASK_SECONDS: Final = 0.25  # seconds of work in a task, as each has an overhead of milliseconds
MAX_TASK_JOBS: Final = 256  # the most jobs in a task
TASKS_AHEAD: Final = 3  # tasks submitted for each thread of the workers
# Seconds without an answer after which the scheduler is considered dead.
STOPPED_AFTER: Final = 20.0
COUNT_INTERVAL: Final = 1.0  # seconds between two counts of the threads of the workers


class Cluster:
    """A context that connects to the workers of a scheduler.

    If a worker dies, others take over its jobs. If the workers of a task die more often than the
    scheduler allows, its jobs are repeated one by one to find the culprit. `spare` returns how many
    more jobs may fail before the batch stops; `say` shows the user a message.
    """

    def __init__(
        self,
        jobs: Spool,
        settings: Settings,
        address: Address,
        *,
        spare: Callable[[], float],
        say: Callable[[str], object],
    ) -> None:
        self._jobs, self._settings, self._spare, self._say = jobs, settings, spare, say
        self._answers: SimpleQueue[tuple[Future, Any]] = SimpleQueue()
        self._tasks: dict[Future, list[int]] = {}
        self._suspects: deque[int] = deque()  # jobs of tasks that killed their workers
        self._suspect: int | None = None  # the suspect that runs now, without any other task
        self._mean = TASK_SECONDS  # moving average of the seconds of a job
        self._threads, self._next_count = 0, 0.0
        self._is_checked = False  # whether the versions of the first workers were compared
        # The time when the last worker left; infinite after the message to the user.
        self._empty_since: float | None = None
        with ExitStack() as stack:
            if not settings.debug:  # dask's log
                stack.callback(logging.disable, logging.root.manager.disable)
                logging.disable()
            self._client = stack.enter_context(connect(address))
            quiet = settings._replace(debug=False)  # which is for the log of this process
            self._task_settings = tuple(quiet), os.fsencode(os.getcwd())
            self._stack = stack.pop_all()

    @property
    def threads(self) -> int:
        """The number of jobs that the workers run at a time, counted now and then; at least 1."""
        if (now := time.monotonic()) >= self._next_count:
            self._next_count = now + COUNT_INTERVAL
            self._count_threads(now)
        return max(self._threads, 1)

    @contextmanager
    def removing(self, path: str) -> Iterator[None]:
        """Let the workers remove a folder if this process is killed."""
        from gathercli.batch.dask_task import Leftover

        leftover = Leftover(self._client.id, os.fsencode(path))
        with suppress(Exception):  # the jobs run without plugins too
            self._call(self._client.register_plugin, leftover)
        try:
            yield
        finally:
            with suppress(Exception):
                self._call(self._client.unregister_scheduler_plugin, leftover.name)

    def _call(self, method: Any, *args: object, seconds: float = MAX_WAIT, **options: Any) -> Any:
        """Call a method of the client, which waits forever by itself."""
        return self._client.sync(method, *args, callback_timeout=seconds, **options)

    def feed(self, queue: JobQueue) -> None:
        """Submit tasks."""
        from gathercli.batch.dask_task import do

        threads = self.threads
        while len(self._tasks) < TASKS_AHEAD * threads and (group := self._group(queue, threads)):
            records = [(number, self._jobs.record(number)) for number in group]
            future = self._client.submit(do, __version__, self._task_settings, records, pure=False)
            self._tasks[future] = group
            loop: Any = self._client.loop
            loop.add_callback(self._watch, future)

    def _group(self, queue: JobQueue, threads: int) -> list[int]:
        """Take the jobs of a task from the queue; a suspect runs alone, after all other tasks."""
        if self._suspect is not None or (self._suspects and self._tasks):
            return []
        if self._suspects:
            self._suspect = self._suspects.popleft()
            return [self._suspect]
        # Even if all running jobs fail, at most one for each thread exceeds the limit.
        under_way = sum(map(len, self._tasks.values()))
        most = max(threads, self._spare() + 1) - under_way
        size = min(MAX_TASK_JOBS, most, max(1, int(TASK_SECONDS / self._mean)))
        group: list[int] = []
        while len(group) < size and (number := queue.next()) is not None:
            group.append(number)
        return group

    def _count_threads(self, now: float) -> None:
        """Count the threads of the workers; warn if there have been none for some time.

        Raise TransferError (``scheduler``) if the scheduler is gone, or a worker has another
        version.
        """
        if self._client.status != "running":
            raise _disconnected()
        try:
            workers = self._call(self._client.nthreads, seconds=STOPPED_AFTER)
        except OSError:
            raise _disconnected() from None
        if workers and not self._is_checked:
            self._is_checked = True
            self._check_versions()
        self._threads = sum(workers.values())
        if self._threads:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now - self._empty_since > MAX_WAIT:
            self._say("the scheduler has no workers: waiting for one")
            self._empty_since = float("inf")

    def _check_versions(self) -> None:
        """Compare the versions of workers before any job; those that join later check theirs."""
        get_versions = self._client.get_versions
        try:
            versions = self._call(get_versions, seconds=STOPPED_AFTER, packages=["gathercli"])
        except Exception:  # noqa: BLE001  (a worker died, or is busy: its first task checks)
            return
        for address, worker in versions["workers"].items():
            version = worker["packages"].get("gathercli")
            if version != __version__:
                what = "no gathercli" if version is None else f"gathercli {version}"
                raise _worker_error(RuntimeError(f"the one at {address} has {what}"))

    async def _watch(self, future: Future) -> None:
        """Wait for the answer of a task, in dask's thread, and put it into `_answers`."""
        answer: Any
        try:
            answer = await self._client.gather(future, asynchronous=True)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (`_jobs_of` raises it)
            answer = error
        future.release()  # otherwise dask repeats the task if its worker dies
        self._answers.put((future, answer))

    def wait(self, queue: JobQueue, seconds: float) -> Iterator[Outcome]:
        """Wait at most `seconds` for a task; yield the jobs of all completed tasks."""
        while True:
            try:
                future, answer = self._answers.get(block=seconds > 0, timeout=seconds)
            except Empty:
                if self._client.status != "running":
                    raise _disconnected() from None
                return
            yield from self._jobs_of(self._tasks.pop(future), answer, queue)
            seconds = 0.0

    def _jobs_of(self, group: list[int], answer: Any, queue: JobQueue) -> Iterator[Outcome]:
        """Yield the completed jobs of a task; others become suspects or return to the queue."""
        from distributed.scheduler import KilledWorker

        suspect, self._suspect = self._suspect, None
        if isinstance(answer, tuple):
            seconds, answers = answer
            self._mean += (seconds / len(answers) - self._mean) / 2
            yield from (Outcome(*each) for each in answers)
            ended = {number for number, *_ in answers}
            queue.give_back([number for number in group if number not in ended])
        elif isinstance(answer, KilledWorker) and group != [suspect]:
            self._suspects += group
        elif isinstance(answer, KilledWorker):
            why = "died", "the workers that did it died, one after the other"
            yield lost_job(self._jobs.record(group[0]), group[0], self._settings, why)
        elif isinstance(answer, OSError | CancelledError | asyncio.CancelledError):
            raise _disconnected()
        else:
            raise _worker_error(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._call(self._client.cancel, list(self._tasks), force=True)
        with suppress(Exception):
            self._stack.close()


def _disconnected() -> TransferError:
    what = "the scheduler went away"
    expected = "it to stay until all jobs are done"
    hint = "a batch with `--report FILE` is gone on with by `--resume`"
    return TransferError(what, rule="scheduler", expected=expected, hint=hint)


def _worker_error(error: Exception) -> TransferError:
    reason = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
    what = f"a worker cannot do the jobs ({clean(short(reason))})"
    expected = f"gathercli {__version__} and the files of this machine"
    hint = "`pip install 'gathercli[cluster]'` where the scheduler and the workers run"
    return TransferError(what, rule="scheduler", expected=expected, hint=hint)


# The class of a worker's error by its rule; `InputError` for all others.
_REFUSALS: Final[dict[str, type[GatherError]]] = {
    "limit": LimitError,
    **dict.fromkeys(("missing", "unreadable"), NoInputError),
    **dict.fromkeys(("output", "died"), TransferError),
}


@contextmanager
def chunk_workers(
    job: dict[str, Any], address: Address, limits: Limits, messages: Messages
) -> Iterator[ChunkWorkers]:
    """Connect to the workers of a scheduler for the output of a job as in a file."""
    memory = limits.memory if limits.explicit else WORKER_MEMORY
    settings = Settings(memory=memory, debug=messages.debug)
    with (
        Spool() as spool,
        Cluster(spool, settings, address, spare=lambda: 0, say=messages.announce) as cluster,
    ):
        yield ChunkWorkers(memory, json.dumps(job).encode(), spool, cluster)


class ChunkWorkers(NamedTuple):
    """The workers of a scheduler, which make the chunks of one output."""

    memory: int | None  # of each thread of a worker in bytes; None for no limit
    job: bytes
    spool: Spool
    cluster: Cluster

    @property
    def threads(self) -> int:
        """The number of boxes computed at a time."""
        return self.cluster.threads

    def write(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
        """Compute boxes and write their chunks to `path`; yield the number of elements in each."""
        folder = os.getcwd()
        for box in boxes:
            part = Part(os.path.abspath(path), tuple(chunks), box)
            self.spool.add(JobEntry(part.where, folder, self.job).record())
        self.spool.flush()
        queue = JobQueue(range(len(boxes)), ordered=False)
        # On an error, the cluster cancels its tasks before the folder is removed.
        with self.cluster, self.cluster.removing(os.path.abspath(path)):
            for outcomes in queue.run(self.cluster, _is_ok):
                for outcome in outcomes:
                    if not _is_ok(outcome):
                        raise _error_of(json.loads(outcome.line))
                    yield cells(boxes[outcome.number])


def _is_ok(outcome: Outcome) -> bool:
    return outcome.status == OK


def _error_of(line: dict[str, Any]) -> GatherError:
    """Return the error described by a line of the report."""
    kind = _REFUSALS.get(line["rule"], InputError)
    return kind(line["message"], rule=line["rule"], hint="a worker of the scheduler refused it")
