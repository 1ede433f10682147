"""The jobs of a plan done, reported and summed up."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from functools import cached_property
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Final, Self

from gathercli.cli.command import Options, option
from gathercli.cli.groups import REPORT, RUNNING
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.main import print_text
from gathercli.cli.options import TextFormat
from gathercli.cli.scheduler import ClusterOptions
from gathercli.errors import GatherError, UsageError
from gathercli.io.files import cores
from gathercli.io.write import STDERR, STDOUT, Output, is_stream, write_all
from gathercli.jobs.job import INLINE
from gathercli.jobs.journal import Journal
from gathercli.jobs.pool import MOST_AHEAD, Pool
from gathercli.jobs.queue import JobQueue
from gathercli.jobs.tally import BatchTotals
from gathercli.jobs.work import OK, Settings
from gathercli.report.terminal import is_terminal, rendered, wants_color, width_of
from gathercli.text import clean, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gathercli.cli.messages import Messages
    from gathercli.jobs.cluster import Cluster
    from gathercli.jobs.plan import Plan
    from gathercli.jobs.queue import Done
    from gathercli.jobs.scheduler import Address
    from gathercli.jobs.tally import Limit
    from gathercli.report.batch import Bar

SHOWN: Final = 40
"""Jobs of which a person is shown a line each."""


class ReportOptions(Options):
    """Where the report goes, and what is done of an earlier one."""

    report: Annotated[
        str | None,
        option(
            REPORT,
            "--report",
            metavar="FILE",
            help="Write the lines of report here as jobs end, not to stdout; usable after a kill.",
        ),
    ] = None
    resume: Annotated[
        bool,
        option(
            REPORT,
            "--resume",
            help="Do what the report does not have yet, or what has changed since.",
        ),
    ] = False
    resume_failed: Annotated[
        bool, option(REPORT, "--resume-failed", help="Resume, and also do what has failed.")
    ] = False
    hashed: Annotated[
        bool,
        option(
            REPORT,
            "--hash",
            help="Note the content of files in the report and compare it, not their times.",
        ),
    ] = False
    junit: Annotated[
        str | None,
        option(REPORT, "--junit", metavar="FILE", help="Also write the report as JUnit XML."),
    ] = None
    fmt: TextFormat = "auto"

    @property
    def path(self) -> str | None:
        """The file of the report; None for stdout."""
        return None if self.report == "-" else self.report

    @property
    def resumes(self) -> bool:
        """Whether an earlier report is gone on with."""
        return self.resume or self.resume_failed


class RunOptions(Options):
    """How jobs are done."""

    dry_run: Annotated[
        bool,
        option(
            RUNNING,
            "--dry-run",
            help="Validate all jobs and infer their shapes from headers; run and write nothing.",
        ),
    ] = False
    allow_outside: Annotated[
        bool,
        option(RUNNING, "--allow-outside", help="Let jobs of a file write outside its folder."),
    ] = False
    workers: Annotated[
        int | None,
        option(
            RUNNING,
            "--workers",
            "-j",
            metavar="N",
            min=1,
            help="How many processes do jobs; default as many as there are cores.",
        ),
    ] = None
    fail_fast: Annotated[
        bool, option(RUNNING, "--fail-fast", help="Begin no job after one has failed.")
    ] = False
    max_failures: Annotated[
        str | None,
        option(
            RUNNING,
            "--max-failures",
            metavar="N|P%",
            help="Begin no job after more than N, or P percent of all, have failed.",
        ),
    ] = None
    retries: Annotated[
        int,
        option(
            RUNNING,
            "--retries",
            metavar="N",
            min=0,
            max=100,
            help="Do a job up to N times again after a fault of reading or writing; default 0.",
        ),
    ] = 0
    timeout: Annotated[
        float | None,
        option(
            RUNNING,
            "--timeout",
            metavar="S",
            help="Seconds a job may take; after that it has failed.",
        ),
    ] = None
    memory: MemoryOptions
    cluster: ClusterOptions

    @cached_property
    def limit(self) -> Limit | None:
        """How many jobs may fail."""
        from gathercli.jobs.tally import Limit

        text = self.max_failures
        if text is None:
            return Limit(0) if self.fail_fast else None
        found = re.fullmatch(r"(\d{1,12})|(\d{1,3}(?:\.\d{1,6})?)%", text, re.ASCII)
        if found is None or float(found[2] or 0) > 100 or self.fail_fast:
            both = self.fail_fast and found
            raise UsageError(
                f"`--max-failures` is `{clean(text)}`"
                + (", beside `--fail-fast`: expected one of them" if both else "")
                + ("" if both else ": expected a number of jobs, or a percentage"),
                rule="usage",
                value=text,
                hint="`--max-failures 10` or `--max-failures 5%`",
            )
        return Limit(int(found[1])) if found[1] else Limit(float(found[2]), percent=True)

    @cached_property
    def address(self) -> Address | None:
        """Where the scheduler is whose workers do the jobs, if there is one."""
        return self.cluster.address()


class Batch:
    """A run of the jobs of a plan."""

    def __init__(
        self, plan: Plan, running: RunOptions, reporting: ReportOptions, messages: Messages
    ) -> None:
        self._plan, self._running, self._reporting = plan, running, reporting
        self._messages = messages
        self._tally = BatchTotals(len(plan))
        self._begun = time.monotonic()
        self._stopped = False
        self._bar: Bar | None = None

    def run(self) -> int:
        """Do the jobs, and return the status."""
        with ExitStack() as stack:
            junit = self._reporting.junit
            cases = stack.enter_context(Cases(junit)) if junit is not None else None
            self._bar = self._made_bar()
            journal: Journal | None = None
            working = False
            try:
                journal = self._journal(stack)
                working = True
                self._do(journal, cases)
            except (KeyboardInterrupt, SystemExit):
                self._clear()
                if working:
                    again = "; `--resume` does the rest" if journal else ""
                    self._sum_up(f"interrupted{again}")
                raise
            finally:
                self._clear()
            if cases is not None:
                lines = () if journal is None else journal.lines()
                cases.write(lines, self._tally, self._seconds)
            remarks = list(self._remarks(journal))
        self._sum_up(*remarks)
        return int(self._tally.failed > 0)

    def _remarks(self, journal: Journal | None) -> Iterator[str]:
        """Say what is to be known of a run that came to its end."""
        if self._stopped:
            again = "; `--resume` does the rest" if journal else ""
            yield f"too many have failed{again}"
        if self._running.dry_run:
            yield "a dry run: shapes were inferred, nothing was run"
        if journal is None:
            return
        if journal.strange:
            yield f"{counted(journal.strange, 'line')} of other jobs left out of the report"
        try:
            journal.arrange()
        except GatherError as error:  # all that was done is in it
            yield f"the report is not in the order of the jobs: {clean(error.message)}"

    def _clear(self) -> None:
        """Take the bar away, before something else is said."""
        if self._bar:
            self._bar.clear()

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    @property
    def _pretty(self) -> bool:
        """Whether stdout is for a person."""
        fmt = self._reporting.fmt
        return self._reporting.path is None and (
            fmt == "pretty" or (fmt == "auto" and is_terminal(STDOUT))
        )

    def _journal(self, stack: ExitStack) -> Journal | None:
        """Open the report, if it is a file, and see what it has."""
        reporting = self._reporting
        if reporting.path is None or is_stream(reporting.path):
            return None
        journal = stack.enter_context(
            Journal(reporting.path, self._plan, resumes=reporting.resumes)
        )
        if reporting.resumes:
            journal.resume(
                failed=reporting.resume_failed,
                hashed=reporting.hashed,
                tell=self._tally.keep,
                progress=self._bar or (lambda: None),
            )
        return journal

    def _do(self, journal: Journal | None, cases: Cases | None) -> None:
        """Do the jobs that are to be done, and hand on their lines in order."""
        with ExitStack() as stack:
            hand_on = journal.write if journal is not None else self._shown(stack)
            pool = self._pool(stamped=journal is not None)
            stack.enter_context(pool)
            # A file is put in order at the end, so that what has ended is in it at once.
            numbers = range(len(self._plan)) if journal is None else journal.todo()
            order = JobQueue(numbers, keeps=journal is None)

            def report(done: Done) -> None:
                if done.status != OK or done.notes:
                    line = json.loads(done.line)
                    self._tally.explain(done.number, line)
                    self._tally.note(done.number, line["id"], done.notes)
                hand_on(done.number, done.line)
                if cases is not None and journal is None:
                    cases.add(done.line)

            try:
                for done in pool.run(order, self._ended):
                    if self._bar:
                        self._bar()
                    if done is not None:
                        report(done)
            except (KeyboardInterrupt, SystemExit):
                for done in order.waiting():
                    report(done)
                raise

    def _pool(self, *, stamped: bool) -> Pool | Cluster:
        running, limits = self._running, self._running.memory.limits
        divided = limits.memory is not None and not limits.explicit
        count = min(running.workers or cores(), len(self._plan))
        settings = Settings(
            held=(limits.memory or 0) // count if divided else limits.memory,
            file=limits.result,
            inline=limits.memory if limits.explicit else INLINE,
            threads=max(1, cores() // count),
            retries=running.retries,
            anywhere=running.allow_outside,
            dry=running.dry_run,
            stamped=stamped,
            hashed=self._reporting.hashed,
        )
        if running.address is not None:
            from gathercli.jobs.cluster import Cluster

            return Cluster(
                self._plan,
                settings._replace(threads=1),
                running.address,
                timeout=running.timeout,
                divided=divided,
                spare=self._spare,
                say=self._remark,
                debug=self._messages.debug,
            )
        return Pool(
            self._plan,
            settings,
            count,
            timeout=running.timeout,
            # What has been given out begins, even after too many have failed.
            ahead=MOST_AHEAD if running.limit is None else 1,
            debug=self._messages.debug,
        )

    def _spare(self) -> float:
        """Tell how many more jobs may fail before none may begin."""
        tally, limit = self._tally, self._running.limit
        if limit is None:
            return float("inf")
        return limit.spare(tally.failed - tally.failed_before, tally.total)

    def _remark(self, text: str) -> None:
        """Say something that the user should know at once."""
        self._clear()
        self._messages.remark(text)

    def _ended(self, done: Done) -> bool:
        """Count a job that has ended; tell whether others may begin."""
        tally, limit = self._tally, self._running.limit
        tally.count(done.status)
        if limit is not None and not limit.allows(tally.failed - tally.failed_before, tally.total):
            self._stopped = True
        return not self._stopped

    def _shown(self, stack: ExitStack) -> Callable[[int, bytes], object]:
        """Return what shows a line where there is no report file."""
        if self._reporting.path is not None:
            output = stack.enter_context(Output(self._reporting.path))
            output.open()
            return lambda _, line: output.stream.write(line)
        if not self._pretty:
            return lambda _, line: write_all(STDOUT, line)
        if len(self._plan) > SHOWN and not self._running.dry_run:
            return lambda *_: None
        width, color = width_of(STDOUT), wants_color(self._messages.color, STDOUT)

        def show(_: int, line: bytes) -> None:
            from gathercli.report.batch import row

            self._clear()
            print_text(rendered(row(json.loads(line), width), color=color))

        return show

    def _made_bar(self) -> Bar | None:
        """Make what tells how far it is: not over lines that run through the terminal."""
        messages = self._messages
        lines = self._reporting.path is None and not self._pretty and is_terminal(STDOUT)
        if messages.quiet or messages.json_errors or (lines and is_terminal(STDERR)):
            return None
        from gathercli.report.batch import Bar

        return Bar(self._tally, messages.write, width_of(STDERR))

    def _sum_up(self, *remarks: str) -> None:
        """Say what became of the jobs: on stdout to a person who reads it, else on stderr."""
        messages = self._messages
        if not self._pretty and (messages.quiet or messages.json_errors):
            return
        from gathercli.report.batch import summary

        fd = STDOUT if self._pretty else STDERR
        text = summary(self._tally, self._seconds, remarks, width_of(fd))
        shown = rendered(text, color=wants_color(messages.color, fd))
        if self._pretty:
            print_text(shown)
        else:
            messages.write(shown)


class Cases:
    """The test cases of JUnit XML, kept in an unnamed file until their number is known.

    As a context it opens the file they will be in, so that it is refused before any work.
    """

    def __init__(self, path: str) -> None:
        self._output = Output(path)
        self._open = ExitStack()

    def add(self, line: bytes) -> None:
        """Add a job by its line of report."""
        from gathercli.report.junit import case

        self._spool.write(case(json.loads(line)).encode(errors="backslashreplace"))

    def write(self, lines: Iterable[bytes], tally: BatchTotals, seconds: float) -> None:
        """Write the file, adding what has not been."""
        from gathercli.report.junit import FOOT, head

        for line in lines:
            self.add(line)
        self._spool.seek(0)
        stream = self._output.stream
        stream.write(head(tally, seconds).encode())
        while part := self._spool.read(1 << 20):
            stream.write(part)
        stream.write(FOOT.encode())
        self._output.commit()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._output).open()
            self._spool = stack.enter_context(TemporaryFile())
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
