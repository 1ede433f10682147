"""What runs in the processes of dask: tasks, each some jobs, and what is left of a killed client.

A worker runs the jobs of a task in a process beside it. A plugin of the scheduler notices that the
client is gone, and lets the workers, which see the files, remove its unfinished output.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from distributed import Scheduler, SchedulerPlugin, get_worker
from distributed.protocol.pickle import dumps

from gathercli import __version__
from gathercli.batch.outcome import Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.pool import JobQueue, Pool
from gathercli.batch.work import Settings
from gathercli.errors import GatherError
from gathercli.io.files import free_memory
from gathercli.text import clean

# Seconds after which a task leaves its remaining jobs to other workers.
MAX_TASK_SECONDS: Final = 1.0
# Bytes of lines after which a task leaves its remaining jobs, as dask keeps lines in memory.
MAX_ANSWER_BYTES: Final = 16 << 20
IDLE_SECONDS: Final = 10.0  # seconds after which an idle process ends
CANCEL_INTERVAL: Final = 1.0  # seconds between checks whether a task was cancelled
Answer = tuple[int, str, bytes, dict[str, str]]  # an `Outcome` as plain values


def do(
    version: str, settings: tuple[tuple[Any, ...], bytes], records: list[tuple[int, bytes]]
) -> tuple[float, list[Answer]]:
    """Run the jobs of a task, by number and record; return the seconds, and those that ended.

    Limits of time and memory leave the rest to other workers. Arguments and answers are plain
    values, `settings` those of `Settings` and the folder of relative paths, which another version
    of gathercli can unpickle.
    RuntimeError says that this worker cannot run the jobs, or that the task was cancelled.
    """
    if version != __version__:
        raise _worker_error(f"has gathercli {__version__}, not {version}")
    start, size = time.monotonic(), 0
    answers: list[Answer] = []

    def may_continue(outcome: Outcome) -> bool:
        nonlocal size
        size += len(outcome.line)
        return size < MAX_ANSWER_BYTES and time.monotonic() - start < MAX_TASK_SECONDS

    values, folder = settings
    with _process(Settings(*values)._replace(folder=os.fsdecode(folder))) as process:
        for _, record in records:
            process.jobs.add(record)
        process.jobs.flush()
        queue = JobQueue(range(len(records)), ordered=False)
        for outcomes in queue.run(process.pool, may_continue, every=CANCEL_INTERVAL):
            answers += [(records[outcome.number][0], *outcome[1:]) for outcome in outcomes]
            if not outcomes and not _is_wanted():
                raise RuntimeError("nobody wants this task")
    return time.monotonic() - start, answers


def _worker_error(why: str) -> RuntimeError:
    return RuntimeError(f"the one at {get_worker().address} {why}")


def _is_wanted() -> bool:
    """Return False if the task of this thread was cancelled, or its worker is closing."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    closes = worker.status.name in {"closing", "closed"}
    return not closes and task is not None and task.state != "cancelled"


class _Process(ExitStack):
    """A process for one task after the other, which protects the worker from crashing jobs."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        if not os.path.isdir(folder := settings.folder or ""):
            raise _worker_error(f"has no folder `{clean(folder)}`")
        self.settings, self.timer = settings, threading.Timer(IDLE_SECONDS, self._end)
        self.jobs = self.enter_context(Spool())
        if settings.divided:
            settings = settings._replace(memory=_share())
        self.pool = self.enter_context(Pool(self.jobs, settings, 1))

    def park(self) -> None:
        """Wait `IDLE_SECONDS` seconds for another task, then end."""
        self.jobs.clear()
        self.timer = threading.Timer(IDLE_SECONDS, self._end)
        self.timer.daemon = True
        with _lock:
            _idle.append(self)
            self.timer.start()

    def _end(self) -> None:
        with _lock:
            if self not in _idle:
                return
            _idle.remove(self)
        self.close()


_idle: list[_Process] = []
_lock: Final = threading.Lock()


@contextmanager
def _process(settings: Settings) -> Iterator[_Process]:
    """Provide an idle process of this batch, or a new one."""
    with _lock:
        idle = next((each for each in _idle if each.settings == settings), None)
        if idle is not None:
            _idle.remove(idle)
            idle.timer.cancel()
    process = idle or _Process(settings)
    try:
        yield process
    except BaseException as error:
        process.close()
        if isinstance(error, GatherError):  # the client could not unpickle it
            raise _worker_error(f"says: {error.message}") from None
        if isinstance(error, OSError):  # dask would treat it as a network error
            raise _worker_error(f"says: {error.strerror or error}") from None
        raise
    process.park()


def _share() -> int:
    """Return the memory of a job in bytes: half of the free memory, divided by the threads."""
    worker = get_worker()
    free, limit = free_memory(), worker.memory_manager.memory_limit
    return int(min(free, limit or free) // 2 // worker.state.nthreads)


class Leftover(SchedulerPlugin):
    """A plugin of the scheduler that lets a worker remove a folder when its owner is gone."""

    def __init__(self, owner: str, path: bytes) -> None:
        self.name, self._owner, self._path = f"gathercli-{owner}", owner, path

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Send `remove` to the workers."""
        pack: Any = dumps
        if client == self._owner:
            scheduler.remove_plugin(self.name)
            message = {"op": "run", "function": pack(remove), "args": pack((self._path,))}
            scheduler.loop.add_callback(scheduler.broadcast, msg=message, on_error="ignore")


def remove(path: bytes) -> None:
    """Remove a folder in the background, while others may still write to it.

    It is renamed first: nobody writes to the new name, and only one worker can rename it.
    """
    aside = path.removesuffix(b".tmp") + b".old"
    try:
        os.rename(path, aside)
    except OSError:
        return
    threading.Thread(target=shutil.rmtree, args=(aside,), kwargs={"ignore_errors": True}).start()
