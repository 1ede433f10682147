"""Run jobs on the workers of a dask scheduler, which share the paths of this machine.

::

    Cluster   ->  task      the records of a few jobs
    do(task)  ->  answers   a thread of a worker runs them in a process of a `Pool`
    Cluster   ->  Outcome   their lines, as from a local `Pool`

The network carries text and numbers, no tensors. Only this module and `dask_task` use a network.
Dask's protocol loads pickles: whoever can reach the scheduler can run code on the client and the
workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from gathercli import __version__, errors
from gathercli.batch.outcome import OK, Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.pool import JobQueue
from gathercli.batch.work import Part, Settings, lost_job
from gathercli.compute.chunks import cells
from gathercli.compute.storage import Box
from gathercli.io.files import check_kind, unreadable
from gathercli.io.formats import jsontext
from gathercli.io.formats.foreign import install_line
from gathercli.io.jobfile import JobEntry
from gathercli.text import clean, short

if TYPE_CHECKING:
    from distributed import Client, Future, Security

    from gathercli.cli.messages import Messages
    from gathercli.cli.options import Limits


# Seconds to wait for an answer of the scheduler, and for a worker before a message.
MAX_WAIT: Final = 5.0
TLS_PROBE_SECONDS: Final = 2.0  # seconds to wait for the answer to the first bytes of TLS

TLS: Final = "tls://"

_MAX_FILE_BYTES: Final = 1 << 20

# The valid addresses of a scheduler.
URL: Final = re.compile(r"(tcp|tls)://[^\s/]+:\d{1,5}", re.ASCII)

# Bytes of memory for each thread of a worker, unless `--max-bytes` is set.
WORKER_MEMORY: Final = 1 << 30
TASK_SECONDS: Final = 0.25  # seconds of work in a task, as each has an overhead of milliseconds
MAX_TASK_JOBS: Final = 256  # the most jobs in a task
TASKS_AHEAD: Final = 3  # tasks submitted for each thread of the workers
# Seconds without an answer after which the scheduler is considered dead.
STOPPED_AFTER: Final = 20.0
COUNT_INTERVAL: Final = 1.0  # seconds between two counts of the threads of the workers


class Address(NamedTuple):
    """The address of a scheduler: a URL or a file that has it, and files for TLS."""

    url: str | None = None  # ``tcp://host:8786``
    file: str | None = None  # from ``--scheduler-file`` of dask
    ca_file: str | None = None
    cert: str | None = None
    key: str | None = None


def check_url(url: str, ca_file: str | None) -> None:
    """Raise if a URL is invalid, or the scheduler speaks TLS and no files for it are given."""
    if not URL.fullmatch(url):
        what = f"is `{clean(url)}`"
        url_of = "tcp://HOST:PORT or tls://HOST:PORT"
        hint = "`--scheduler tcp://127.0.0.1:8786`"
        raise errors.UsageError(what, subject="--scheduler", value=url, expected=url_of, hint=hint)
    if url.startswith(TLS) and ca_file is None:
        what = f"the scheduler `{clean(url)}` speaks TLS, and `--tls-ca-file` is not given"
        hint = "`--tls-ca-file ca.pem --tls-cert cert.pem --tls-key key.pem`"
        raise errors.UsageError(what, value=url, expected="the files for TLS", hint=hint)


@contextmanager
def connect(address: Address) -> Iterator[Client]:
    """Connect to a scheduler; UsageError: dask is not installed, TransferError: no answer."""
    try:
        from distributed import Client, Security
    except ImportError as error:
        what = f"a scheduler needs dask, which is not installed ({error})"
        hint = f"`{install_line('distributed', 'cluster')}`"
        raise errors.UsageError(what, expected="the extra", hint=hint) from None
    url, security = address.url or _read_url(address.file or ""), None
    ca_file, cert, key = address[2:]
    check_url(url, ca_file)
    for path in (ca_file, cert, key):
        if path is not None:
            with _opened(path, "a file for TLS"):
                pass
    try:
        if ca_file is not None:
            security = Security(
                tls_ca_file=ca_file,
                tls_client_cert=cert,
                tls_client_key=key,
                require_encryption=True,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about versions; `Cluster` compares ours
            kind = asyncio.run(asyncio.wait_for(_server_type(url, security), MAX_WAIT))
            if kind != "Scheduler":
                raise ValueError(f"it is a {kind.lower()}")  # noqa: TRY301
            client = Client(url, timeout=MAX_WAIT, security=security, set_as_default=False)
    except Exception as error:  # noqa: BLE001  (any server may answer)
        reason = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, TimeoutError) and not str(error):
            reason = f"nobody answered within {MAX_WAIT:g} s"
        raise _unreachable(url, reason) from None
    try:
        yield client
    finally:
        client.close(timeout=MAX_WAIT)


def _unreachable(url: str, reason: str) -> errors.TransferError:
    """Return the error for a scheduler that cannot be reached, or speaks TLS and should not."""
    expected, hint = "one that runs", "`dask scheduler` starts one, and says its address"
    speaks = _speaks_tls(url)
    if speaks is True and not url.startswith(TLS):
        reason, expected = "it speaks TLS", "tls:// and the files for TLS"
        hint = (
            f"`--scheduler {TLS}{url.partition('://')[2]} "
            "--tls-ca-file ca.pem --tls-cert cert.pem --tls-key key.pem`"
        )
    elif speaks is False and url.startswith(TLS):
        reason, expected = "it does not speak TLS", "tcp:// without files for TLS"
        hint = f"`--scheduler tcp://{url.partition('://')[2]}`"
    what = f"the scheduler `{clean(url)}` cannot be reached ({clean(short(reason))})"
    return errors.TransferError(what, rule="scheduler", value=url, expected=expected, hint=hint)


def _speaks_tls(url: str) -> bool | None:
    """Return whether the server at an address answers as TLS does; None if none is there."""
    import ssl

    host, _, port = url.partition("://")[2].rpartition(":")
    try:
        ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=TLS_PROBE_SECONDS)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as of a missing certificate
    except (ConnectionResetError, TimeoutError):
        return False
    except (OSError, ValueError, OverflowError):
        return None
    return True


@contextmanager
def _opened(path: str, expected: str) -> Iterator[BinaryIO]:
    """Open a file; an error, also of its content, names it, as dask's would not."""
    try:
        check_kind(path, path, expected)
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            yield file
    except errors.NoInputError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error, expected) from None


async def _server_type(url: str, security: Security | None) -> str:
    """Return the type of the server; `Client` has no timeout for one that does not answer."""
    from distributed.core import rpc

    arguments = {} if security is None else security.get_connection_args("client")
    async with rpc(url, timeout=MAX_WAIT, connection_args=arguments) as other:
        return str((await other.identity())["type"])


def _read_url(path: str) -> str:
    expected = "the file of a scheduler"
    with _opened(path, expected) as file:
        document = jsontext.parse(file.read(_MAX_FILE_BYTES))
    url = document.get("address") if isinstance(document, dict) else None
    if not isinstance(url, str) or not URL.fullmatch(url):
        what = f"`{clean(path)}` has no address"
        raise errors.InputError(what, rule="json", value=path, expected=expected)
    return url


class Cluster(AbstractContextManager["Cluster"]):
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

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._call(self._client.cancel, list(self._tasks), force=True)
        with suppress(Exception):
            self._stack.close()


def _disconnected() -> errors.TransferError:
    what = "the scheduler went away"
    expected = "it to stay until all jobs are done"
    hint = "a batch with `--report FILE` is gone on with by `--resume`"
    return errors.TransferError(what, rule="scheduler", expected=expected, hint=hint)


def _worker_error(error: Exception) -> errors.TransferError:
    reason = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
    what = f"a worker cannot do the jobs ({clean(short(reason))})"
    expected = f"gathercli {__version__} and the files of this machine"
    hint = "`pip install 'gathercli[cluster]'` where the scheduler and the workers run"
    return errors.TransferError(what, rule="scheduler", expected=expected, hint=hint)


# The class of a worker's error by its rule; `InputError` for all others.
_REFUSALS: Final[dict[str, type[errors.GatherError]]] = {
    "limit": errors.LimitError,
    **dict.fromkeys(("missing", "unreadable"), errors.NoInputError),
    **dict.fromkeys(("output", "died"), errors.TransferError),
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
                        line = json.loads(outcome.line)
                        kind = _REFUSALS.get(line["rule"], errors.InputError)
                        hint = "a worker of the scheduler refused it"
                        raise kind(line["message"], rule=line["rule"], hint=hint)
                    yield cells(boxes[outcome.number])


def _is_ok(outcome: Outcome) -> bool:
    return outcome.status == OK
