"""A task of dask: some jobs, which a process beside the worker does."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import __version__
from gathercli.errors import GatherError
from gathercli.io.files import free_memory
from gathercli.jobs.plan import Spool
from gathercli.jobs.pool import Pool
from gathercli.jobs.queue import Done, JobQueue
from gathercli.jobs.work import Settings
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator


LONG: Final = 1.0
"""Seconds after which a task begins no more of its jobs, which other workers may do."""

LARGE: Final = 16 << 20
"""Bytes of lines after which it begins none either, as dask holds them in memory."""

IDLE: Final = 10.0
"""Seconds after which an idle process ends."""

EVERY: Final = 1.0
"""Seconds between checks whether a task was cancelled."""

Answer = tuple[int, str, bytes, dict[str, str]]
"""A `Done` as plain values."""


class TaskSettings(NamedTuple):
    """Settings of all tasks of a batch.

    Attributes
    ----------
    settings
        Those of the jobs.
    divided
        Whether a job may take its share of the memory of the worker, in place of `settings.memory`.
    timeout
        Seconds that a job may take.
    folder
        Where relative paths start.
    """

    settings: Settings
    divided: bool
    timeout: float | None
    folder: bytes


def do(
    version: str, settings: tuple[Any, ...], records: list[tuple[int, bytes]]
) -> tuple[float, list[Answer]]:
    """Do the jobs of a task, or as many as there is time and memory for.

    Arguments and answers are plain values: another version of gathercli can unpickle them.

    Parameters
    ----------
    version
        The version of the client, which must be that of the worker.
    settings
        `TaskSettings`.
    records
        The numbers of the jobs, and their records.

    Returns
    -------
        Seconds, and the jobs that have ended.

    Raises
    ------
    RuntimeError
        This worker cannot do them, or the task was cancelled.
    """
    if version != __version__:
        raise _unable(f"has gathercli {__version__}, not {version}")
    begun, size = time.monotonic(), 0
    answers: list[Answer] = []

    def may_continue(done: Done) -> bool:
        nonlocal size
        size += len(done.line)
        return size < LARGE and time.monotonic() - begun < LONG

    with _process(TaskSettings(Settings(*settings[0]), *settings[1:])) as process:
        for _, record in records:
            process.jobs.add(record)
        process.jobs.flush()
        queue = JobQueue(range(len(records)), ordered=False)
        for done in queue.run(process.pool, may_continue, every=EVERY):
            if done is not None:
                answers.append((records[done.number][0], *done[1:]))
            elif not _is_wanted():
                raise RuntimeError("nobody wants this task")
    return time.monotonic() - begun, answers


def _unable(why: str) -> RuntimeError:
    """Return the error that names this worker by its address."""
    from distributed import get_worker

    return RuntimeError(f"the one at {get_worker().address} {why}")


def _is_wanted() -> bool:
    """Return whether the task of this thread is not cancelled, and its worker not closing."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    closes = worker.status.name in {"closing", "closed"}
    return not closes and task is not None and task.state != "cancelled"


class _Process:
    """A process that does the jobs of one task after the other.

    The worker itself should outlive a job that takes too long, kills its process, or maps more
    memory than dask allows a worker.
    """

    def __init__(self, task_settings: TaskSettings) -> None:
        settings, folder = task_settings.settings, os.fsdecode(task_settings.folder)
        if not os.path.isdir(folder):
            raise _unable(f"has no folder `{clean(folder)}`")
        if task_settings.divided:
            settings = settings._replace(memory=_share())
        self.settings, self.timer = task_settings, threading.Timer(IDLE, self._end)
        with ExitStack() as stack:
            self.jobs = stack.enter_context(Spool())
            pool = Pool(self.jobs, settings, 1, timeout=task_settings.timeout, folder=folder)
            self.pool = stack.enter_context(pool)
            self.close = stack.pop_all().close

    def rest(self) -> None:
        """Wait for another task; end if none comes for a while."""
        self.jobs.clear()
        self.timer = threading.Timer(IDLE, self._end)
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
def _process(settings: TaskSettings) -> Iterator[_Process]:
    """Lend an idle process of this batch, or a new one."""
    with _lock:
        idle = next((each for each in _idle if each.settings == settings), None)
        if idle is not None:
            _idle.remove(idle)
            idle.timer.cancel()
    process = idle or _Process(settings)
    try:
        yield process
    except GatherError as error:  # the client could not unpickle it
        process.close()
        raise _unable(f"says: {error.message}") from None
    except OSError as error:  # dask would take it for one of the network
        process.close()
        raise _unable(f"says: {error.strerror or error}") from None
    except BaseException:
        process.close()
        raise
    process.rest()


def _share() -> int:
    """Return the memory of a job: half of what is free here, divided between the threads."""
    from distributed import get_worker

    worker = get_worker()
    free, limit = free_memory(), worker.memory_manager.memory_limit
    return int(min(free, limit or free) // 2 // worker.state.nthreads)
