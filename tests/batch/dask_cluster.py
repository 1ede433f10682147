"""A scheduler and workers of dask: processes that are forked from one that has loaded it."""

from __future__ import annotations

import json
import multiprocessing
import os
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import dask
import distributed

from tests.processes import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerProcess

HERE: Final = "127.0.0.1"

_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "gathercli.batch.dask_task"]
)


class Dask:
    """A scheduler and its workers, each a process, in a folder; as a context it ends them."""

    def __init__(self, folder: Path, *words: str, settings: dict[str, Any] | None = None) -> None:
        self._folder, self._words, self._settings = folder, words, settings or {}
        self.workers: list[ForkServerProcess] = []
        self._number = 0
        self._end = ExitStack()
        self.file = str(folder / "scheduler.json")
        self.scheduler = self._start("scheduler", "--port", "0")
        wait_until(lambda: os.path.exists(self.file) and os.path.getsize(self.file))
        self.url = json.loads(Path(self.file).read_bytes())["address"]

    def _start(self, kind: str, *words: str) -> ForkServerProcess:
        words = ("--host", HERE, *words, *self._words, "--scheduler-file", self.file)
        words = (*words, "--dashboard-address", f"{HERE}:0")
        process = _FORKS.Process(target=_run, args=(kind, words, self._folder, self._settings))
        process.start()
        self._end.callback(process.join)
        self._end.callback(process.kill)
        return process

    def add(self, count: int = 1, *words: str) -> None:
        """Start workers; they join when they are ready."""
        for _ in range(count):
            self._number += 1
            own = "--local-directory", str(self._folder / str(self._number)), *words
            self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny", *own))

    def kill(self, worker: ForkServerProcess) -> None:
        self.workers.remove(worker)
        worker.kill()
        worker.join()

    @contextmanager
    def client(self) -> Iterator[Any]:
        with distributed.Client(self.url, set_as_default=False, timeout=PATIENCE) as client:  # type: ignore[no-untyped-call]
            yield client

    def ready(self, count: int) -> None:
        with self.client() as client:
            client.wait_for_workers(count, timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()


def _run(kind: str, words: tuple[str, ...], folder: Path, settings: dict[str, Any]) -> None:
    """Be a scheduler or a worker, in the process that was forked."""
    os.setpgid(0, 0)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for fd in (1, 2):
        os.dup2(log, fd)
    os.chdir(folder)
    dask.config.set(settings)
    import_module(f"distributed.cli.dask_{kind}").main(words)
