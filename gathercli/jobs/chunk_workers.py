"""One output in chunks made by the workers of a cluster: each box of it is a job of its own."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.arrays.chunks import cells
from gathercli.errors import GatherError, InputError, LimitError, NoInputError, TransferError
from gathercli.jobs.cluster import Cluster
from gathercli.jobs.plan import Spool, Text
from gathercli.jobs.queue import Done, JobQueue
from gathercli.jobs.work import OK, Part, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from gathercli.arrays.chunks import Box
    from gathercli.jobs.scheduler import Address

_REFUSALS: Final[dict[str, type[GatherError]]] = {
    "limit": LimitError,
    **dict.fromkeys(("missing", "unreadable"), NoInputError),
    **dict.fromkeys(("output", "died"), TransferError),
}
"""What is raised for a rule that refused on a worker; else it is an input that is refused."""


class ChunkWorkers:
    """The workers of a scheduler, for one output; as a context it leaves them.

    Parameters
    ----------
    job
        The call, as a job file writes it.
    held
        Bytes of memory that a thread of a worker may take; None for any.
    say
        Tells the user what should be known at once.
    """

    def __init__(
        self,
        job: dict[str, Any],
        address: Address,
        *,
        held: int | None,
        say: Callable[[str], object],
        debug: bool = False,
    ) -> None:
        self.held = held
        self._job, self._spool = json.dumps(job).encode(), Spool()
        try:
            self._cluster = Cluster(
                self._spool,
                Settings(held=held),
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
        """How many boxes are made at a time."""
        return self._cluster.threads

    def make(self, path: str, chunks: Sequence[int], boxes: Sequence[Box]) -> Generator[int]:
        """Have boxes made, and their chunks written; yield how many elements each had.

        Parameters
        ----------
        path
            The folder that takes the chunks.

        Raises
        ------
        GatherError
            What a worker was refused.
        """
        folder = os.getcwd()
        for box in boxes:
            part = Part(os.path.abspath(path), tuple(chunks), box)
            self._spool.add(Text(part.where, folder, self._job))
        self._spool.flush()
        # What is queued is cancelled before the folder goes.
        with self._cluster, self._cluster.removing(os.path.abspath(path)):
            for done in self._cluster.run(JobQueue(range(len(boxes)), keeps=False), _is_ok):
                if done is not None:
                    if not _is_ok(done):
                        raise _refusal(json.loads(done.line))
                    yield cells(boxes[done.number])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.__exit__()
        self._spool.__exit__()


def _is_ok(done: Done) -> bool:
    return done.status == OK


def _refusal(line: dict[str, Any]) -> GatherError:
    """Make of a line what refused."""
    kind = _REFUSALS.get(line["rule"], InputError)
    return kind(line["message"], rule=line["rule"], hint="a worker of the scheduler refused it")
