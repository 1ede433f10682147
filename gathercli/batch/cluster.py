"""Jobs done by the workers of a dask scheduler, which see the same files.

Text and numbers travel, tensors do not: a task is the text of some jobs, its answer their lines.
This is the one module that uses a network, and dask's protocol, which loads pickles; so whoever
can reach the scheduler can run code on all of it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from gathercli import __version__
from gathercli.batch.order import Done, Order
from gathercli.batch.plan import Spool, Text
from gathercli.batch.pool import Pool, lost
from gathercli.batch.work import Settings, line_of
from gathercli.core.text import clean, short
from gathercli.errors import InputError, NoInputError, TransferError, UsageError
from gathercli.io import json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client, Future

    from gathercli.batch.plan import Plan

_LARGEST: Final = 1 << 20
WAIT: Final = 5.0
"""Seconds in which a scheduler must answer."""

TASK: Final = 0.25
"""Seconds of work that are worth a task."""

MOST: Final = 256
"""Jobs of a task."""

AHEAD: Final = 3
"""Tasks for every thread of the cluster that the scheduler is given beforehand."""

Record = tuple[int, str, str]
"""What travels of a job: its number, where its paths start, its text."""

Answer = tuple[int, str, str, dict[str, str]]
"""What comes back: its number, its status, its line, its notes."""


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

    def __str__(self) -> str:
        return self.url or self.file or ""


def do(
    records: list[Record], settings: list[Any], timeout: float | None, version: str
) -> tuple[float, list[Answer]]:
    """Do some jobs, on a worker.

    Parameters
    ----------
    timeout
        Seconds that each may take; a process of its own then does them, as it may be killed.
    version
        That of the program that asks, which must be that of the worker.

    Returns
    -------
        Seconds, and what became of the jobs.
    """
    if version != __version__:
        raise RuntimeError(f"it has gathercli {__version__}, not {version}")
    begun = time.monotonic()
    chosen = Settings(*settings)
    if timeout is None:
        answers = [_answer(*record, chosen) for record in records]
    else:
        answers = list(_timed(records, chosen, timeout))
    return time.monotonic() - begun, answers


def _answer(number: int, folder: str, text: str, settings: Settings) -> Answer:
    found = Text("", folder, text.encode())
    done = line_of(found.job(), found.text, settings)
    return number, done.status, bytes(done).decode(), done.kinds()


def _timed(records: list[Record], settings: Settings, timeout: float) -> Iterator[Answer]:
    with Spool() as jobs:
        for _, folder, text in records:
            jobs.add(Text("", folder, text.encode()))
        jobs.flush()
        with Pool(jobs, settings, 1, timeout=timeout) as pool:
            order = Order(range(len(jobs)), keeps=False)
            for done in pool.run(order, lambda _: True):
                if done is not None:
                    yield records[done.number][0], done.status, done.line.decode(), done.notes


class Cluster:
    """The workers of a scheduler; as a context it leaves them.

    The jobs of a worker that dies are done by others. A task that was lost more often than the
    scheduler allows is divided, so that the job which kills workers is the only one to fail.
    """

    def __init__(
        self,
        plan: Plan,
        settings: Settings,
        address: Address,
        *,
        timeout: float | None = None,
        ahead: int = AHEAD,
    ) -> None:
        self._plan, self._settings, self._timeout, self._ahead = plan, settings, timeout, ahead
        self._client = _connected(address)
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._tasks: dict[Future, list[int]] = {}
        self._alone: list[int] = []
        """Jobs of tasks that were lost, each of which is now a task."""
        self._mean = TASK

    def run(
        self, order: Order, ended: Callable[[Done], bool], *, every: float = 1.0
    ) -> Iterator[Done | None]:
        """Do jobs, as `Pool.run` does."""
        while self._feed(order):
            found = self._wait(every)
            for done in found:
                order.end(done)
                if not ended(done):
                    order.stop()
            if not found:
                yield None
            yield from order.ready()

    def _feed(self, order: Order) -> bool:
        """Submit tasks; tell whether any job is under way."""
        threads = sum(self._client.nthreads().values()) or 1
        while len(self._tasks) < self._ahead * threads:
            group = [self._alone.pop()] if self._alone else self._group(order)
            if not group:
                break
            records = [self._record(number) for number in group]
            future = self._client.submit(
                do, records, list(self._settings), self._timeout, __version__, pure=False
            )
            self._tasks[future] = group
            future.add_done_callback(self._ended.put)
        return order.under_way

    def _record(self, number: int) -> Record:
        found = self._plan.text(number)
        return number, os.path.abspath(found.folder), found.text.decode()

    def _group(self, order: Order) -> list[int]:
        """Take as many jobs as are worth a task."""
        wanted = max(1, min(MOST, int(TASK / self._mean)))
        group: list[int] = []
        while len(group) < wanted and (number := order.next()) is not None:
            group.append(number)
        return group

    def _wait(self, every: float) -> list[Done]:
        """Wait until a task ends; return what became of the jobs of all that have."""
        found: list[Done] = []
        wait: float | None = every
        while True:
            try:
                future = self._ended.get(timeout=wait) if wait else self._ended.get_nowait()
            except Empty:
                if self._client.status != "running":
                    raise _gone() from None
                return found
            found += self._taken(future)
            wait = None

    def _taken(self, future: Future) -> Iterator[Done]:
        """Return what became of the jobs of a task."""
        group = self._tasks.pop(future)
        if future.status == "finished":
            seconds, answers = future.result()
            self._mean += (seconds / len(group) - self._mean) / 2
            for number, status, line, notes in answers:
                yield Done(number, status, line.encode(), notes)
            return
        if future.status != "error":
            raise _gone()
        from distributed.scheduler import KilledWorker

        error = future.exception()
        if not isinstance(error, KilledWorker):
            raise TransferError(
                f"a worker could not do its jobs ({type(error).__name__}: {error}): "
                f"expected one with gathercli {__version__}",
                rule="scheduler",
                hint="`pip install 'gathercli[cluster]'` where the workers run",
            )
        if len(group) > 1:
            self._alone += group
            return
        why = "died", "the workers that ran it died, one after the other"
        yield lost(self._plan.text(group[0]), group[0], self._settings, why)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # whoever is gone has nothing to be cancelled
            self._client.cancel(list(self._tasks), force=True)
        with suppress(Exception):
            self._client.close(timeout=WAIT)


def _gone() -> TransferError:
    return TransferError(
        "the scheduler went away: expected it to stay",
        rule="scheduler",
        hint="with `--report FILE`, `--resume` does the rest",
    )


def _connected(address: Address) -> Client:
    """Reach the scheduler.

    Raises
    ------
    UsageError
        dask is not installed.
    TransferError
        ``scheduler``: nobody answers.
    """
    try:
        import logging

        from distributed import Client, Security
    except ImportError as error:
        raise UsageError(
            f"a scheduler needs dask, which is not installed ({error}): expected the extra",
            rule="usage",
            hint="`pip install 'gathercli[cluster]'`",
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said here
    url = address.url or _url_in(address.file or "")
    security = None
    if address.ca_file or address.cert or address.key:
        security = Security(
            tls_ca_file=address.ca_file,
            tls_client_cert=address.cert,
            tls_client_key=address.key,
            require_encryption=True,
        )
    try:
        return Client(url, timeout=WAIT, security=security, set_as_default=False, name="gathercli")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise TransferError(
            f"the scheduler `{clean(url)}` cannot be reached ({clean(short(reason))}): "
            "expected one such as tcp://host:8786",
            rule="scheduler",
            value=url,
        ) from None


def _url_in(path: str) -> str:
    """Read the address from the file of a scheduler."""
    try:
        with open(path, "rb") as file:
            found = json.parse(file.read(_LARGEST))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NoInputError(
            f"`{clean(path)}` cannot be read ({reason}): expected the file of a scheduler",
            rule="missing" if isinstance(error, FileNotFoundError) else "unreadable",
            value=path,
        ) from None
    url = found.get("address") if isinstance(found, dict) else None
    if not isinstance(url, str):
        raise InputError(
            f"`{clean(path)}` has no address: expected the file of a scheduler",
            rule="json",
            value=path,
        )
    return url
