"""Run the jobs of a plan, write the report and the summary."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.batch.cluster_options import ClusterOptions
from gathercli.batch.journal import Journal
from gathercli.batch.outcome import OK, BatchTotals, Outcome, digest
from gathercli.batch.plan import MANY_JOBS, Plan
from gathercli.batch.pool import MAX_JOBS_AHEAD, EarlyWorkers, JobQueue, Pool
from gathercli.batch.report import Bar, JUnitReport, column_widths, row, summary
from gathercli.batch.work import Settings, inferred
from gathercli.cli.declarations import REPORT, RUNNING, Options, flag, option
from gathercli.cli.options import TEXT_FORMAT, MemoryOptions
from gathercli.cli.slice_options import RuntimeOptions
from gathercli.errors import GatherError, UsageError
from gathercli.io.descriptors import STDERR, STDOUT, write_all
from gathercli.io.files import cores
from gathercli.io.jobfile import LINE, place_of
from gathercli.io.jobs import INLINE_BYTES, Job
from gathercli.io.stream import remove_temporaries
from gathercli.io.write import Output, is_stream, real_path
from gathercli.report.terminal import is_terminal, print_text, rendered, wants_color, width_of
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from gathercli.batch.cluster import Cluster
    from gathercli.cli.messages import Messages

# The most jobs with a line each in the pretty report; larger batches have a summary alone.
MAX_LINES: Final = 40


class ReportOptions(Options):
    """Options of the report."""

    report: str | None = option(REPORT, "--report", metavar="FILE")
    resume: bool = flag(REPORT, "--resume")
    resume_failed: bool = flag(REPORT, "--resume-failed", rare=True)
    digests: bool = flag(REPORT, "--hash", rare=True)
    junit: str | None = option(REPORT, "--junit", metavar="FILE")
    fmt: str = TEXT_FORMAT.replace(group=REPORT)

    @property
    def path(self) -> str | None:
        """The file of the report; None for stdout."""
        return None if self.report == "-" else self.report

    @property
    def resumes(self) -> bool:
        """Whether the run resumes an earlier report."""
        return self.resume or self.resume_failed


class JobRuntimeOptions(RuntimeOptions):
    """The options by which runtimes do the jobs; here none."""

    def check(self, running: RunOptions, reporting: ReportOptions) -> None:
        """Raise if one is wrong, or given with an option that runtimes do not heed."""

    def status(self, request: BatchRequest) -> int | None:
        """Do the jobs in runtimes and return the exit status; None if no runtime is named."""
        del request
        return None


class RunOptions(Options):
    """Options of the run."""

    dry_run: bool = flag(RUNNING, "--dry-run")
    allow_outside: bool = flag(RUNNING, "--allow-outside", rare=True)
    workers: int | None = option(RUNNING, "--workers", "-j", metavar="N", min=1, kind=int)
    fail_fast: bool = flag(RUNNING, "--fail-fast")
    max_failures: str | None = option(RUNNING, "--max-failures", metavar="N|P%", rare=True)
    retries: int = option(
        RUNNING, "--retries", metavar="N", min=0, max=100, kind=int, default=0, rare=True
    )
    timeout: float | None = option(RUNNING, "--timeout", metavar="S", kind=float, rare=True)
    runtimes: JobRuntimeOptions
    memory: MemoryOptions
    cluster: ClusterOptions

    def most_failures(self, total: int) -> float:
        """Return the most of `total` jobs that may fail; raise UsageError for a wrong option."""
        text = self.max_failures
        if text is None:
            return 0 if self.fail_fast else float("inf")
        match = re.fullmatch(r"(\d{1,12})|(\d{1,3}(?:\.\d{1,6})?)%", text, re.ASCII)
        if match is None or float(match[2] or 0) > 100 or self.fail_fast:
            what, expected = f"is `{clean(text)}`", "a number of jobs, or a percentage"
            if self.fail_fast and match:
                what, expected = f"{what}, beside `--fail-fast`", "one of them"
            name, hint = "--max-failures", "`--max-failures 10` or `--max-failures 5%`"
            raise UsageError(what, subject=name, value=text, expected=expected, hint=hint)
        return int(match[1]) if match[1] else int(float(match[2]) * total / 100)


class BatchRequest(NamedTuple):
    """What a batch is asked for."""

    plan: Plan
    running: RunOptions
    reporting: ReportOptions
    messages: Messages
    external: bool  # whether the tensors of models that are in files beside them are read

    @property
    def is_pretty(self) -> bool:
        """Whether stdout has the pretty report."""
        fmt = self.reporting.fmt
        return self.reporting.path is None and (
            fmt == "pretty" or (fmt == "auto" and is_terminal(STDOUT))
        )


def early_workers(
    running: RunOptions, reporting: ReportOptions, messages: Messages
) -> EarlyWorkers:
    """Return the processes to start while jobs are validated; none if they may not be needed."""
    others = running.dry_run or running.runtimes.changed() or running.cluster.changed()
    count = 0 if others or reporting.resumes else min(running.workers or cores(), MANY_JOBS)
    return EarlyWorkers(count, debug=messages.debug)


def _settings(running: RunOptions, count: int, *, external: bool) -> Settings:
    """Return the settings of jobs of which `count` run at a time."""
    limits = running.memory.limits
    return Settings(
        memory=limits.memory if limits.explicit else (limits.memory or 0) // count,
        file=limits.result,
        inline=limits.memory if limits.explicit else INLINE_BYTES,
        threads=max(1, cores() // count),
        retries=running.retries,
        allow_outside=running.allow_outside,
        dry=running.dry_run,
        external=external,
        timeout=running.timeout,
        divided=not limits.explicit,
    )


def inference(
    running: RunOptions, *, external: bool
) -> Callable[[int, Job], Outcome | None] | None:
    """Return the function that infers the outcome of a small job of a dry run; None for a run."""
    if not running.dry_run or running.cluster.changed():
        return None
    return partial(inferred, settings=_settings(running, cores(), external=external))


class Batch:
    """A run of the jobs of a plan, with processes that may have started."""

    def __init__(self, request: BatchRequest, started: EarlyWorkers, *, from_files: bool) -> None:
        self._plan, self._running, self._reporting, self._messages, self._external = request
        self._started = started
        self._from_files = from_files
        self._pretty = request.is_pretty
        report = self._reporting.path
        # What temporary files show: the same for all runs of a report, one of which runs.
        self._owner = digest(os.fsencode(real_path(report)) if report else os.urandom(8)).hex()
        self._totals = BatchTotals(len(self._plan))
        self._most_failures = self._running.most_failures(len(self._plan))
        self._start = time.monotonic()
        self._stopped = False
        # Lines of the report that go to the same terminal would break the bar.
        lines = self._reporting.path is None and not self._pretty and is_terminal(STDOUT)
        silent = self._messages.is_silent or (lines and is_terminal(STDERR))
        self._bar = Bar(self._messages.write, width_of(STDERR), silent=silent)

    def run(self) -> int:
        """Run the jobs and return the exit status."""
        reporting = self._reporting
        with ExitStack() as stack:
            junit = None
            if reporting.junit is not None:
                junit = stack.enter_context(JUnitReport(reporting.junit))
            with self._bar:
                journal = self._open_journal(stack)
                self._do(journal, junit)
            if junit is not None:
                for number, line in () if journal is None else journal.lines():
                    junit.add(line, *self._place(number))
                junit.write(self._totals, self._seconds)
            remarks = list(self._remarks(journal))
        self._sum_up(*remarks)
        return int(self._totals.failed > 0)

    def _remarks(self, journal: Journal | None) -> Iterator[str]:
        """Yield the remarks of a completed run; sort the report."""
        if self._stopped:
            yield f"too many have failed{_resume_hint(journal)}"
        if self._running.dry_run:
            yield "a dry run: shapes were inferred, nothing was run"
        if journal is None:
            return
        if faults := self._totals.faults:
            jobs = counted(faults, "job")
            yield f"{jobs} failed to read or write: `--resume-failed` does what failed again"
        if journal.foreign:
            yield f"{counted(journal.foreign, 'line')} of other jobs left out of the report"
        try:
            journal.arrange()
        except GatherError as error:  # the report is complete but unsorted
            yield f"the report is not in the order of the jobs: {clean(error.message)}"

    def _place(self, number: int) -> tuple[str, int]:
        """Return the file of a job, if it is from one, and its line there, or 0."""
        if not self._from_files:
            return "", 0
        file, form, at = place_of(self._plan.entry(number).where)
        return file, at if form == LINE else 0

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    def _open_journal(self, stack: ExitStack) -> Journal | None:
        """Open a report file, and read the lines to resume."""
        reporting = self._reporting
        if reporting.path is None or is_stream(reporting.path):
            return None
        journal = Journal(reporting.path, self._plan, resumes=reporting.resumes)
        stack.enter_context(journal)
        if reporting.resumes:
            journal.resume(
                failed=reporting.resume_failed,
                digests=reporting.digests,
                keep=self._totals.keep,
                progress=lambda: self._bar(self._totals),
            )
            for folder in self._plan.output_folders(journal.todo()):
                remove_temporaries(folder, self._owner)  # of a run that was killed
        return journal

    def _do(self, journal: Journal | None, junit: JUnitReport | None) -> None:
        """Run the jobs without a line in the journal, and report them."""
        with ExitStack() as stack:
            write = journal.write if journal is not None else self._line_writer(stack)
            # Lines go to a report file as jobs end, to be sorted later, but to stdout in order.
            numbers = range(len(self._plan)) if journal is None else journal.todo()
            queue = JobQueue(numbers, ordered=journal is None)

            reported: list[Outcome] = []

            def report(outcomes: list[Outcome]) -> None:
                write(outcomes)
                reported[:] = outcomes
                for outcome in outcomes:
                    if outcome.status != OK or outcome.notes:
                        line = json.loads(outcome.line)
                        self._totals.explain(outcome.number, line)
                        self._totals.note(outcome.number, line["id"], outcome.notes)
                    if junit is not None and journal is None:
                        junit.add(outcome.line, *self._place(outcome.number))

            try:
                with self._workers(stamps=journal is not None) as workers:
                    for outcomes in queue.run(workers, self._count):
                        self._bar(self._totals)
                        if outcomes:
                            report(outcomes)
            except (KeyboardInterrupt, SystemExit):
                if journal is not None:
                    journal.cut()
                report([outcome for outcome in queue.rest() if outcome not in reported])
                self._bar.clear()
                self._sum_up(f"interrupted{_resume_hint(journal)}")
                raise

    def _workers(self, *, stamps: bool) -> Pool | Cluster:
        """Connect to the scheduler, or start processes."""
        running = self._running
        count = min(running.workers or cores(), len(self._plan))
        settings = _settings(running, count, external=self._external)._replace(
            stamps=stamps,
            digests=self._reporting.digests,
            debug=self._messages.debug,
            owner=self._owner,
        )
        if (address := running.cluster.address()) is not None:
            from gathercli.batch.cluster import Cluster

            alone = settings._replace(threads=1)
            return Cluster(self._plan, alone, address, spare=self._spare, say=self._remark)
        # A job sent in advance begins even after too many have failed.
        ahead = MAX_JOBS_AHEAD if self._most_failures == float("inf") else 1
        started, inferred = self._started.take(), self._plan.inferred
        return Pool(self._plan, settings, count, started=started, ahead=ahead, inferred=inferred)

    def _spare(self) -> float:
        """Return how many more jobs may fail before the batch stops."""
        totals = self._totals
        return self._most_failures - (totals.failed - totals.failed_before)

    def _remark(self, text: str) -> None:
        self._bar.clear()
        self._messages.announce(text)

    def _count(self, outcome: Outcome) -> bool:
        """Count a completed job; return whether others may begin."""
        self._bar.estimate(outcome.line)
        self._totals.count(outcome.status)
        self._stopped |= self._spare() < 0
        return not self._stopped

    def _line_writer(self, stack: ExitStack) -> Callable[[list[Outcome]], object]:
        """Return the function that writes lines to a stream or prints them."""
        if self._reporting.path is not None:
            output = stack.enter_context(Output(self._reporting.path))
            output.open()
            return lambda outcomes: output.stream.write(_lines(outcomes))
        if not self._pretty:
            return lambda outcomes: write_all(STDOUT, _lines(outcomes))
        if len(self._plan) > MAX_LINES and not self._running.dry_run:
            return lambda _: None
        width, color = width_of(STDOUT), wants_color(self._messages.color, STDOUT)
        numbers = range(min(len(self._plan), MAX_LINES))  # a dry run may have many more
        columns = column_widths(job for _, job in self._plan.read(numbers))

        def show(outcomes: list[Outcome]) -> None:
            self._bar.clear()
            for outcome in outcomes:
                print_text(rendered(row(json.loads(outcome.line), width, columns), color=color))

        return show

    def _sum_up(self, *remarks: str) -> None:
        """Print the summary: on stdout with the pretty report, else on stderr."""
        messages = self._messages
        if messages.is_silent and not self._pretty:
            return
        fd = STDOUT if self._pretty else STDERR
        text = summary(self._totals, self._seconds, remarks, width_of(fd))
        write = print_text if self._pretty else messages.write
        write(rendered(text, color=wants_color(messages.color, fd)))


def _lines(outcomes: list[Outcome]) -> bytes:
    return b"".join([outcome.line for outcome in outcomes])


def _resume_hint(journal: Journal | None) -> str:
    return "" if journal is None else "; `--resume` does the rest"
