"""What a worker of a cluster does: the jobs of a task, in a process beside it."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import __version__
from gathercli.errors import GatherError
from gathercli.io.files import free_memory
from gathercli.jobs.plan import Spool, Text
from gathercli.jobs.pool import Pool
from gathercli.jobs.queue import Done, JobQueue
from gathercli.jobs.work import Settings
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator


LONG: Final = 1.0
"""Seconds after which a task begins no more of its jobs: others may have time for them."""

LARGE: Final = 16 << 20
"""Bytes of lines after which it begins none either, as they are held on their way."""

IDLE: Final = 10.0
"""Seconds after which the process of a thread ends that has nothing to do."""

EVERY: Final = 1.0
"""Seconds after which it is looked whether anybody still wants a task."""

Answer = tuple[int, str, bytes, dict[str, str]]
"""What comes back of a job: its number, its status, its line, its notes."""


class Given(NamedTuple):
    """What holds for all tasks of a batch.

    Attributes
    ----------
    settings
        Those of its jobs.
    divided
        Whether a job may hold its share of the memory of the worker, whatever the settings say.
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
    version: str, given: tuple[Any, ...], records: list[tuple[int, bytes]]
) -> tuple[float, list[Answer]]:
    """Do the jobs of a task, or as many as there is time and room for.

    Parameters
    ----------
    version
        That of the program that asks, which must be that of the worker.
    given
        A `Given`.
    records
        The numbers of the jobs, and their texts.

    Returns
    -------
        Seconds, and what became of the jobs.

    Raises
    ------
    RuntimeError
        This worker cannot do them, or nobody wants them any more.
    """
    if version != __version__:
        raise _unable(f"has gathercli {__version__}, not {version}")
    begun, size = time.monotonic(), 0
    answers: list[Answer] = []

    def goes_on(done: Done) -> bool:
        nonlocal size
        size += len(done.line)
        return size < LARGE and time.monotonic() - begun < LONG

    with _process(Given(Settings(*given[0]), *given[1:])) as process:
        for _, record in records:
            process.jobs.add(Text.parse(record))
        process.jobs.flush()
        order = JobQueue(range(len(records)), keeps=False)
        for done in process.pool.run(order, goes_on, every=EVERY):
            if done is not None:
                answers.append((records[done.number][0], *done[1:]))
            elif not _is_wanted():
                raise RuntimeError("nobody wants this task")
    return time.monotonic() - begun, answers


def _unable(why: str) -> RuntimeError:
    """Say what is wrong with this worker, by its address."""
    from distributed import get_worker

    return RuntimeError(f"the one at {get_worker().address} {why}")


def _is_wanted() -> bool:
    """Tell whether the task of this thread was not cancelled, and its worker not told to end."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    ends = worker.status.name in {"closing", "closed"}
    return not ends and task is not None and task.state != "cancelled"


class _Process:
    """A process that does the jobs of one task after the other.

    Not the worker itself does them: it should outlive a job that takes too long, dies, or maps
    more than dask lets a worker hold.
    """

    def __init__(self, given: Given) -> None:
        settings, folder = given.settings, os.fsdecode(given.folder)
        if not os.path.isdir(folder):
            raise _unable(f"has no folder `{clean(folder)}`")
        if given.divided:
            settings = settings._replace(held=_share())
        self.given, self.idle = given, threading.Timer(IDLE, self._end)
        with ExitStack() as stack:
            self.jobs = stack.enter_context(Spool())
            pool = Pool(self.jobs, settings, 1, timeout=given.timeout, folder=folder)
            self.pool = stack.enter_context(pool)
            self.close = stack.pop_all().close

    def rest(self) -> None:
        """Wait for another task, and end if there is none for a while."""
        self.jobs.clear()
        self.idle = threading.Timer(IDLE, self._end)
        self.idle.daemon = True
        with _lock:
            _idle.append(self)
            self.idle.start()

    def _end(self) -> None:
        with _lock:
            if self not in _idle:
                return
            _idle.remove(self)
        self.close()


_idle: list[_Process] = []
_lock: Final = threading.Lock()


@contextmanager
def _process(given: Given) -> Iterator[_Process]:
    """Lend a process of this batch that has nothing to do, or a new one."""
    with _lock:
        found = next((each for each in _idle if each.given == given), None)
        if found is not None:
            _idle.remove(found)
            found.idle.cancel()
    process = found or _Process(given)
    try:
        yield process
    except GatherError as error:  # which would not survive the way
        process.close()
        raise _unable(f"says: {error.message}") from None
    except OSError as error:  # which would be taken for one of the network
        process.close()
        raise _unable(f"says: {error.strerror or error}") from None
    except BaseException:
        process.close()
        raise
    process.rest()


def _share() -> int:
    """Return how much a job may hold: half of what is free here, divided between the threads."""
    from distributed import get_worker

    worker = get_worker()
    free, limit = free_memory(), worker.memory_manager.memory_limit
    return int(min(free, limit or free) // 2 // worker.state.nthreads)
