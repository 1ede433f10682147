"""The options by which runtimes do the jobs of `batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.batch.batch_run import JobRuntimeOptions
from gathercli.cli.command import option
from gathercli.cli.groups import RUNNING
from gathercli.errors import UsageError
from gathercli.runtimes.options import NamedRuntimes

if TYPE_CHECKING:
    from gathercli.batch.batch_run import ReportOptions, RunOptions
    from gathercli.batch.plan import Plan
    from gathercli.cli.messages import Messages


class BatchRuntimes(NamedRuntimes, JobRuntimeOptions):
    """The runtimes that do jobs, one after the other, and write no output."""

    timeout: float | None = option(
        RUNNING,
        "--timeout",
        metavar="S",
        kind=float,
        help="Seconds a job may take; after that it has failed. With --with, seconds of the "
        "import of a runtime, and of a call; default 60.",
        rare=True,
    )

    def check(self, running: RunOptions, reporting: ReportOptions) -> None:
        """Raise if one is wrong, or given with an option that runtimes do not heed."""
        if not self.chosen():
            return
        used = {"timeout", "allow_outside", "report", "fmt"}
        for group in (running, reporting, running.cluster):
            for name in group.changed().keys() - used:
                raise UsageError(
                    "is given with `--with`, which does jobs one by one and writes no output",
                    rule="usage",
                    subject=getattr(type(group), name).names[0],
                    expected="one of them",
                )

    def status(
        self,
        plan: Plan,
        running: RunOptions,
        reporting: ReportOptions,
        messages: Messages,
        *,
        external: bool,
    ) -> int | None:
        """Do the jobs in runtimes and return the exit status; None if no runtime is named."""
        if self.names is None:
            return None
        from gathercli.runtimes.batch import RuntimeBatch

        return RuntimeBatch(self, plan, running, reporting, messages, external=external).run()
