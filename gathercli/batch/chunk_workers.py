"""Compute one output in chunks with the workers of a cluster; each box is a job."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.batch.cluster import Cluster
from gathercli.batch.outcome import OK, Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.queue import JobQueue
from gathercli.batch.work import Part, Settings
from gathercli.compute.chunks import cells
from gathercli.errors import GatherError, InputError, LimitError, NoInputError, TransferError
from gathercli.io.jobs.jobfile import JobEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from gathercli.batch.scheduler import Address
    from gathercli.compute.chunks import Box

_REFUSALS: Final[dict[str, type[GatherError]]] = {
    "limit": LimitError,
    **dict.fromkeys(("missing", "unreadable"), NoInputError),
    **dict.fromkeys(("output", "died"), TransferError),
}
"""The class of a worker's error by its rule; `InputError` for all others."""


class ChunkWorkers:
    """A context that connects to the workers of a scheduler for one output.

    Parameters
    ----------
    job
        The call, as in a job file.
    memory
        Bytes of memory for each thread of a worker; None for no limit.
    say
        Called with messages for the user.
    """

    def __init__(
        self,
        job: dict[str, Any],
        address: Address,
        *,
        memory: int | None,
        say: Callable[[str], object],
        debug: bool = False,
    ) -> None:
        self.memory = memory
        self._job, self._spool = json.dumps(job).encode(), Spool()
        try:
            self._cluster = Cluster(
                self._spool,
                Settings(memory=memory),
                address,
                timeout=None,
                divided=False,
                spare=lambda: 0,
                say=say,
                debug=debug,
            )
        except BaseException:
            self._spool.__exit__()
            raise

    @property
    def threads(self) -> int:
        """The number of boxes computed at a time."""
        return self._cluster.threads

    def write(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
        """Compute boxes and write their chunks to `path`; yield the number of elements in each."""
        folder = os.getcwd()
        for box in boxes:
            part = Part(os.path.abspath(path), tuple(chunks), box)
            self._spool.add(JobEntry(part.where, folder, self._job).record())
        self._spool.flush()
        queue = JobQueue(range(len(boxes)), ordered=False)
        # On an error, the cluster cancels its tasks before the folder is removed.
        with self._cluster, self._cluster.removing(os.path.abspath(path)):
            for outcomes in queue.run(self._cluster, _is_ok):
                for outcome in outcomes:
                    if not _is_ok(outcome):
                        raise _error_of(json.loads(outcome.line))
                    yield cells(boxes[outcome.number])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.__exit__()
        self._spool.__exit__()


def _is_ok(outcome: Outcome) -> bool:
    return outcome.status == OK


def _error_of(line: dict[str, Any]) -> GatherError:
    """Return the error described by a line of the report."""
    kind = _REFUSALS.get(line["rule"], InputError)
    return kind(line["message"], rule=line["rule"], hint="a worker of the scheduler refused it")
