"""Jobs done by the workers of a dask scheduler, which see the same files at the same paths.

::

    Cluster   ->  task      the texts of as many jobs as are worth one
    do(task)  ->  answers   a thread of a worker has a process do them, as `Pool` does here
    Cluster   ->  Done      their lines, as if they had been done here

Text and numbers travel, tensors do not. This is the one module that uses a network, and dask's
protocol, which loads pickles: whoever can reach the scheduler can run code on all of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
import time
import warnings
from collections import deque
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from gathercli import __version__
from gathercli.batch.order import Done, Order
from gathercli.batch.plan import Spool, Text
from gathercli.batch.pool import Pool, lost
from gathercli.batch.work import Settings
from gathercli.core.text import clean, short
from gathercli.errors import GatherError, InputError, NoInputError, TransferError, UsageError
from gathercli.io import json
from gathercli.io.files import check_kind, free_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client, Future, Security


WAIT: Final = 5.0
"""Seconds in which a scheduler must answer, and after which it is said that it has no workers."""

TASK: Final = 0.25
"""Seconds of work that are worth a task, which costs some milliseconds."""

LONG: Final = 4 * TASK
"""Seconds after which a task begins no more of its jobs: others may have time for them."""

LARGE: Final = 16 << 20
"""Bytes of lines after which it begins none either, as they are held on their way."""

MOST: Final = 256
"""Jobs of a task."""

AHEAD: Final = 3
"""Tasks for every thread of the cluster that the scheduler is given beforehand."""

BRIEF: Final = 2.0
"""Seconds in which workers must say their version, else their first task will tell."""

COMPARED: Final = 10.0
"""Seconds until new workers are asked, as they may come and go."""

IDLE: Final = 10.0
"""Seconds after which the process of a thread ends that has nothing to do."""

_EVERY: Final = 1.0
_LARGEST: Final = 1 << 20

Answer = tuple[int, str, bytes, dict[str, str]]
"""What comes back of a job: its number, its status, its line, its notes."""

URL: Final = re.compile(r"(tcp|tls)://[^\s/]+:\d{1,5}", re.ASCII)
"""Where a scheduler may be."""


class Address(NamedTuple):
    """Where the scheduler is, and how it is trusted.

    Attributes
    ----------
    url, file
        ``tcp://host:8786``, or a file that the scheduler has written; one of them.
    ca_file, cert, key
        Files for TLS.
    """

    url: str | None = None
    file: str | None = None
    ca_file: str | None = None
    cert: str | None = None
    key: str | None = None


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


# On a worker


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
        raise RuntimeError(f"it has gathercli {__version__}, not {version}")
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
        order = Order(range(len(records)), keeps=False)
        for done in process.pool.run(order, goes_on, every=_EVERY):
            if done is not None:
                answers.append((records[done.number][0], *done[1:]))
            elif not _is_wanted():
                raise RuntimeError("nobody wants this task")
    return time.monotonic() - begun, answers


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
            raise RuntimeError(f"it has no folder `{clean(folder)}`")
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
        raise RuntimeError(error.message) from None
    except OSError as error:  # which would be taken for one of the network
        process.close()
        raise RuntimeError(error.strerror or str(error)) from None
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


# Here


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
            self._client = stack.enter_context(_connected(address))
            self._loop: Any = self._client.loop
            self._open = stack.pop_all()

    @property
    def threads(self) -> int:
        """How many jobs the workers do at a time, as far as is known."""
        self._look()
        return max(self._threads, 1)

    def run(
        self, order: Order, ended: Callable[[Done], bool], *, every: float = _EVERY
    ) -> Iterator[Done | None]:
        """Do jobs, as `Pool.run` does."""
        while self._feed(order):
            found = list(self._wait(order, every))
            for done in found:
                order.end(done)
                if not ended(done):
                    order.stop()
            if not found:
                yield None
            yield from order.ready()

    def _feed(self, order: Order) -> bool:
        """Submit tasks; tell whether any job is under way."""
        threads = self.threads
        while len(self._tasks) < AHEAD * threads and (group := self._group(order, threads)):
            records = [(number, self._plan.text(number).record()) for number in group]
            future = self._client.submit(do, __version__, self._given, records, pure=False)
            self._tasks[future] = group
            self._under_way += len(group)
            self._loop.add_callback(self._watch, future)
        return order.under_way

    def _group(self, order: Order, threads: int) -> list[int]:
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
        if now - self._looked < _EVERY:
            return
        self._looked = now
        if self._client.status != "running":
            raise _gone()
        try:
            workers = self._client.nthreads()
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

    def _wait(self, order: Order, every: float) -> Iterator[Done]:
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

    def _taken(self, group: list[int], answer: Any, order: Order) -> Iterator[Done]:
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
            self._client.cancel(list(self._tasks), force=True)
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


@contextmanager
def _connected(address: Address) -> Iterator[Client]:
    """Reach the scheduler.

    Raises
    ------
    UsageError
        dask is not installed.
    TransferError
        ``scheduler``: nobody answers.
    """
    try:
        from distributed import Client, Security
    except ImportError as error:
        raise UsageError(
            f"a scheduler needs dask, which is not installed ({error}): expected the extra",
            rule="usage",
            hint="`pip install 'gathercli[cluster]'`",
        ) from None
    url, security = address.url or _url_in(address.file or ""), None
    for path in (address.ca_file, address.cert, address.key):
        if path is not None:
            _check_readable(path)
    try:
        if address.ca_file is not None:
            security = Security(
                tls_ca_file=address.ca_file,
                tls_client_cert=address.cert,
                tls_client_key=address.key,
                require_encryption=True,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions that differ; ours is compared
            kind = asyncio.run(asyncio.wait_for(_kind(url, security), WAIT))
            if kind != "Scheduler":
                raise ValueError(f"it is a {kind.lower()}")  # noqa: TRY301
            client = Client(url, timeout=WAIT, security=security, set_as_default=False)
    except Exception as error:  # noqa: BLE001  (anything may answer, in any words)
        reason = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, TimeoutError) and not str(error):
            reason = f"nobody answered within {WAIT:g} s"
        raise TransferError(
            f"the scheduler `{clean(url)}` cannot be reached ({clean(short(reason))}): "
            "expected one that runs",
            rule="scheduler",
            value=url,
            hint="`dask scheduler` starts one, and says its address",
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=WAIT)


def _check_readable(path: str) -> None:
    """Refuse a file of TLS that is not there, which dask would not name."""
    try:
        check_kind(path, path, "a file for TLS")
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        if isinstance(error, GatherError):
            raise
        raise _unreadable(path, error, "a file for TLS") from None


def _unreadable(path: str, error: Exception, expected: str) -> NoInputError:
    reason = getattr(error, "strerror", None) or str(error)
    return NoInputError(
        f"`{clean(path)}` cannot be read ({clean(reason).lower()}): expected {expected}",
        rule="missing" if isinstance(error, FileNotFoundError) else "unreadable",
        value=path,
    )


async def _kind(url: str, security: Security | None) -> str:
    """Ask who is there: `Client` would wait for ever for one who takes a call and says nothing."""
    from distributed.core import rpc

    arguments = {} if security is None else security.get_connection_args("client")
    async with rpc(url, timeout=WAIT, connection_args=arguments) as other:
        return str((await other.identity())["type"])


def _url_in(path: str) -> str:
    """Read the address from the file of a scheduler."""
    try:
        check_kind(path, path, "the file of a scheduler")
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            found = json.parse(file.read(_LARGEST))
    except NoInputError:
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, "the file of a scheduler") from None
    url = found.get("address") if isinstance(found, dict) else None
    if not isinstance(url, str) or not URL.fullmatch(url):
        raise InputError(
            f"`{clean(path)}` has no address: expected the file of a scheduler",
            rule="json",
            value=path,
        )
    return url
