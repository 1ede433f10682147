"""The outcomes of a dry run that need no process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.batch.outcome import Outcome
from gathercli.batch.plan import Spool
from gathercli.batch.work import line_of

if TYPE_CHECKING:
    from gathercli.batch.work import Settings
    from gathercli.io.jobs.job import Job

SMALL: Final = 1 << 12
"""The most bytes of a job whose shape takes less time than to tell a process of the job."""


class InferredJobs(Spool):
    """A context for the outcomes of small jobs of a dry run, inferred as they are validated.

    A job with a file may take long, much memory, or its process with it, and is not inferred here.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def infer(self, job: Job, text: bytes) -> None:
        """Infer the outcome of the next job, whose JSON is `text`, or leave it to a process."""
        if len(text) > SMALL or any(isinstance(value, str) for value in job.tensors):
            self.add(b"")
        else:
            self.add(Outcome.of(len(self), line_of(job, text, self._settings)).record())

    def outcome(self, number: int) -> Outcome | None:
        """Return the outcome of a job; None if a process must run it."""
        head, _, line = self.record(number).partition(b"\n")
        return Outcome.parse(head.split(b" ", 3), line) if head else None
