"""The options of runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.declarations import RUNNING, flag, option
from gathercli.cli.slice_options import RuntimeOptions
from gathercli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Final

    from gathercli.batch.batch_run import BatchRequest, ReportOptions, RunOptions
    from gathercli.cli.slice_options import Addition, Runtime, StartedRuntimes
    from gathercli.compute.compare import Comparison
    from gathercli.compute.verdicts import Case
    from gathercli.runtimes.verdict import Runtimes


# The most seconds of an import and of a call, unless the user says otherwise.
CALL_SECONDS: Final = 60.0

ALLOW_ABSENT: Final = flag(
    RUNNING,
    "--allow-absent",
    help="Exit with 0 though a named runtime cannot be called.",
    rare=True,
)


def check_seconds(seconds: float) -> None:
    """Raise if `--timeout` is no positive number."""
    if not 0 < seconds < float("inf"):
        raise UsageError(f"is {seconds:g}", subject="--timeout", expected="seconds, more than 0")


def example(_: Sequence[str]) -> str:
    """Return the runtime that a hint names: everybody has it."""
    return "numpy"


def known() -> Iterable[str]:
    """Return the names of the runtimes."""
    from gathercli.runtimes.declared import NAMES

    return NAMES


class NamedRuntimes(RuntimeOptions):
    """The options that name runtimes."""

    names: str | None = option(
        RUNNING,
        "--with",
        metavar="LIST",
        help="Call these runtimes too, comma-separated: {known}; torch=/venv/bin/python names its "
        "Python.",
        known=known,
    )

    allow_absent: bool = ALLOW_ABSENT
    timeout: float | None = None  # an option of subclasses

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
        if self.names is None and self.allow_absent:
            raise UsageError(
                "is given without `--with`",
                subject="--allow-absent",
                expected="the runtimes it allows for",
            )
        if self.names is None:
            return []
        from gathercli.runtimes.client import runtimes_of

        return runtimes_of(self.names)

    @property
    def seconds(self) -> float:
        """The most seconds of an import, and of a call."""
        return CALL_SECONDS if self.timeout is None else self.timeout

    def started(self) -> StartedRuntimes:
        """Return the processes of the runtimes, which the context starts; none without them."""
        return super().started() if self.names is None else self.processes()

    def processes(self) -> Runtimes:
        """Return the processes of the runtimes that are named, which the context starts."""
        from gathercli.runtimes.verdict import Runtimes

        return Runtimes(self.chosen(), self.seconds)


class TimedRuntimes(NamedRuntimes):
    """The runtimes to call, and the time that each has."""

    timeout: float | None = option(
        RUNNING,
        "--timeout",
        metavar="S",
        kind=float,
        help="Seconds that the import of a runtime of --with, and each call, may take; default 60.",
        rare=True,
    )

    def chosen(self) -> list[Runtime]:
        """Return the runtimes; none without the option."""
        runtimes = super().chosen()
        if self.timeout is not None and self.names is None:
            raise UsageError(
                "is given without `--with`",
                subject="--timeout",
                expected="the runtimes that it limits",
            )
        check_seconds(self.seconds)
        return runtimes

    def compared(
        self, comparison: Comparison, case: Case, attrs: Mapping[str, Any], *, named: bool
    ) -> Addition:
        """Call the runtimes with the inputs of a comparison."""
        if self.names is None:
            return super().compared(comparison, case, attrs, named=named)
        from gathercli.runtimes.verdict import Expected, addition

        ops = [each.op for each in comparison.verdicts if each.bound is not None or named]
        expected = Expected(comparison, case)
        with self.processes() as processes:
            verdicts = list(processes.verdicts(ops, case.tensors, attrs, expected))
            called = {each.call.runtime for each in verdicts}
            idle = [each for each in processes.present if each.runtime.name not in called]
            names = [each.full_name for each in idle]
            absences = processes.absences
        return addition(verdicts, absences, names, allow_absent=self.allow_absent)


class BatchRuntimes(NamedRuntimes):
    """The runtimes that do jobs, one after the other, and write no output.

    They stand in the place of `batch.batch_run.JobRuntimeOptions`.
    """

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
                    subject=getattr(type(group), name).names[0],
                    expected="one of them",
                )

    def status(self, request: BatchRequest) -> int | None:
        """Do the jobs in runtimes and return the exit status; None if no runtime is named."""
        if self.names is None:
            return None
        from gathercli.runtimes.batch import RuntimeBatch

        with self.processes() as processes:
            return RuntimeBatch(processes, request, allow_absent=self.allow_absent).run()
