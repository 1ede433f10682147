"""Report a batch to a user: its progress, the result of each job, a summary of failures."""

from __future__ import annotations

import time
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from gathercli.ops import FAMILIES
from gathercli.report.progress import StatusLine, duration
from gathercli.spec.coordinates import cell
from gathercli.text import clean, counted, grouped, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.text import Text

    from gathercli.batch.outcome import BatchTotals, Cause
    from gathercli.io.jobs.job import Job
    from gathercli.report.terminal import Styled

EVERY: Final = 0.1
"""Seconds between two updates of the bar."""

PLAIN: Final = 10.0
"""Seconds between two lines without a terminal."""

BAR: Final = 20
"""Columns of the bar."""

_MARKS: Final = {
    "ok": ("ok", "green"),
    "mismatch": ("mismatch", "yellow"),
    "error": ("error", "red"),
}
_LONGEST: Final = 60


class _Updates(StatusLine):
    """Progress on stderr: a line that is redrawn, or a new line now and then.

    Parameters
    ----------
    write
        A function that writes text to stderr.
    width
        The columns of the terminal; None without one.
    clock
        A function that returns seconds.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        width: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(write, width or 0)
        self._clock = clock
        self._update = clock()

    def _is_due(self) -> bool:
        """Return whether to update, and count this as an update."""
        now = self._clock()
        if now - self._update < (EVERY if self._width else PLAIN):
            return False
        self._update = now
        return True

    def _put(self, text: str, bar: str = "") -> None:
        """Redraw the line with a bar before it, or write a new line."""
        if self._width:
            self.show(bar + text)
        else:
            self._write(text + "\n")


class Validation(_Updates):
    """The progress of the validation of jobs."""

    def __call__(self, done: str, number: int) -> None:
        """Write how many jobs were ``validated`` or ``compared`` if an update is due."""
        if self._is_due():
            self._put(f"{counted(number, 'job')} {done}")


class Bar(_Updates):
    """The progress of a batch."""

    def __init__(
        self,
        tally: BatchTotals,
        write: Callable[[str], object],
        width: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(write, width, clock)
        self._tally = tally
        self._start: float | None = None

    @property
    def estimates(self) -> bool:
        """Whether a job has ended, from which the time left is estimated."""
        return self._start is not None

    def estimate(self, seconds: float) -> None:
        """Start the estimate of the time left with the first job, which took so many seconds."""
        self._start = self._clock() - seconds

    def __call__(self) -> None:
        """Write the progress if an update is due."""
        if self._is_due():
            full = BAR * self._tally.done // self._tally.total
            self._put(self._text(), f"{'█' * full}{'░' * (BAR - full)}  ")

    def _text(self) -> str:
        tally = self._tally
        done, total = tally.done, counted(tally.total, "job")
        text = f"{grouped(done)} of {total}, {grouped(tally.failed)} failed"
        if self._start is None:
            return text
        rate = (done - tally.done_before) / max(self._update - self._start, 1e-3)
        each = grouped(round(rate)) if rate >= 10 else f"{rate:.1f}"
        return text + f", {each}/s, {duration((tally.total - done) / rate)} left"


def column_widths(jobs: Iterable[Job]) -> tuple[int, int]:
    """Return the widths of the columns of ids and of operator versions."""
    ids, operators = 0, set()
    for job in jobs:
        ids = max(ids, len(clean(short(job.id, _LONGEST))))
        operators.add(job.operator)
    rows = (op for name in operators for op in FAMILIES[name].ROWS)
    return ids, max((len(op.full_name) for op in rows), default=0)


def row(line: dict[str, Any], width: int | None, columns: tuple[int, int] = (0, 0)) -> Styled:
    """Format a line of the report as text: the status of a job, its id, its output or error.

    Parameters
    ----------
    width
        The columns of the terminal, at which errors wrap; None without one.
    columns
        The widths of `column_widths`.
    """
    from rich.text import Text

    word, style = _MARKS[line["status"]]
    what = line["message"]
    if what is None or line["status"] == "ok":
        shape = "" if line["shape"] is None else cell(line["shape"])
        what = f"{line['operator'] or '':{columns[1]}}   "
        what += f"{line['rule']}, as expected" if line["rule"] else f"{line['dtype'] or ''}{shape}"
        if line.get("output"):
            what += f"   {line['output']}"
    text = Text().append(f"{word:10}", style)
    name = clean(short(line["id"], _LONGEST)).ljust(columns[0])
    text.append(f"{name}   ", "bold")
    if width is None:
        return text.append(f"{clean(what)}\n")
    if line["status"] == "ok":
        text.append(clean(what)).truncate(width - 1, overflow="ellipsis")
        return text.append("\n")
    beside = len(text) <= width // 2  # else the error is below the id
    indent = "\n" + " " * (len(text) if beside else 10)
    lines = wrap(clean(what), width - len(indent), break_on_hyphens=False)
    return text.append(("" if beside else indent) + indent.join(lines) + "\n")


def summary(
    tally: BatchTotals, seconds: float, remarks: Sequence[str] = (), width: int | None = None
) -> Styled:
    """Count the jobs by status, then list the failures by cause.

    Parameters
    ----------
    remarks
        Lines below the counts.
    width
        The columns of the terminal; None for lines of any length.
    """
    from rich.text import Text

    text = Text()
    for note in tally.notes.values():
        others = note.number - 1
        more = f", likewise in {counted(others, 'more job')}" if others else ""
        line = f"note: {clean(short(note.name, _LONGEST))}: {clean(note.text)}{more}"
        first, *rest = _folded(line, width)
        text.append("note:", "yellow").append("\n".join([first[5:], *rest, ""]))
    text.append(f"{counted(tally.total, 'job')}: ", "bold")
    for at, (words, style) in enumerate(_counts(tally)):
        text.append(", " if at else "").append(words, style)
    text.append(f"   {duration(seconds, exact=True)}")
    text.append(f"   {grouped(tally.done_before)} done before\n" if tally.done_before else "\n")
    text.append("".join(f"{remark}\n" for remark in remarks))
    for cause in sorted(tally.causes.values(), key=lambda each: (each.number, each.first)):
        _add_cause(text, cause, width)
    return text


def _add_cause(text: Text, cause: Cause, width: int | None) -> None:
    """Add the failures of one cause: the first with its message, some others by id."""
    text.append(f"\n{cause.rule}", "bold red").append(f"   {counted(cause.number, 'job')}\n")
    (_, name, message), *others = cause.first
    start = f"  {clean(short(name, _LONGEST))}"
    first, *rest = _folded(f"{start}   {clean(message)}", width)
    text.append(first[: len(start)], "bold").append(f"{first[len(start) :]}\n")
    if others:
        names = ", ".join(clean(short(name, _LONGEST)) for _, name, _ in others)
        more = "…" if cause.number > len(cause.first) else ""
        rest += _folded(f"  likewise {counted(cause.number - 1, 'more job')}: {names}{more}", width)
    text.append("".join(f"{line}\n" for line in rest))


def _folded(line: str, width: int | None) -> list[str]:
    """Wrap a line with a hanging indent."""
    if width is None:
        return [line]
    room = max(width - 1, 20)
    return wrap(line, room, subsequent_indent="    ", break_on_hyphens=False) or [line]


def _counts(tally: BatchTotals) -> Iterator[tuple[str, str]]:
    counts, left = tally.counts, tally.total - tally.done
    yield f"{grouped(counts['ok'])} ok", "green" if counts["ok"] else ""
    if counts["mismatch"]:
        yield counted(counts["mismatch"], "mismatch", "mismatches"), "yellow"
    if counts["error"]:
        yield counted(counts["error"], "error"), "red"
    if left:
        yield f"{grouped(left)} not done", "bold"
