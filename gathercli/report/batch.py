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

    from gathercli.jobs.job import Job
    from gathercli.jobs.tally import BatchTotals
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


class Bar(StatusLine):
    """The progress of a batch on stderr: a line that is redrawn, or a new line now and then.

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
        tally: BatchTotals,
        write: Callable[[str], object],
        width: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(write, width or 0)
        self._tally, self._clock = tally, clock
        self._start = self._update = clock()
        self._before = tally.done

    def __call__(self) -> None:
        """Write the progress if an update is due."""
        now = self._clock()
        if now - self._update < (EVERY if self._width else PLAIN):
            return
        self._update = now
        if not self._width:
            self._write(self._text(now) + "\n")
            return
        full = BAR * self._tally.done // self._tally.total
        self.show(f"{'█' * full}{'░' * (BAR - full)}  {self._text(now)}")

    def _text(self, now: float) -> str:
        tally = self._tally
        done, total = tally.done, counted(tally.total, "job")
        text = f"{grouped(done)} of {total}, {grouped(tally.failed)} failed"
        rate = (done - self._before) / max(now - self._start, 1e-3)
        if rate:
            each = grouped(round(rate)) if rate >= 10 else f"{rate:.1f}"
            text += f", {each}/s, {duration((tally.total - done) / rate)} left"
        return text


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
        more = f", and so in {counted(others, 'more job')}" if others else ""
        line = f"note: {clean(short(note.name, _LONGEST))}: {clean(note.text)}{more}"
        first, *rest = _folded(line, width)
        text.append("note:", "yellow").append("\n".join([first[5:], *rest, ""]))
    text.append(f"{counted(tally.total, 'job')}: ", "bold")
    for at, (words, style) in enumerate(_counts(tally)):
        text.append(", " if at else "").append(words, style)
    text.append(f"   {duration(seconds, exact=True)}")
    text.append(f"   {grouped(tally.done_before)} done before\n" if tally.done_before else "\n")
    text.append("".join(f"{remark}\n" for remark in remarks))
    for rule, cause in sorted(tally.causes.items(), key=lambda each: each[1].number):
        text.append(f"\n{rule}", "bold red").append(f"   {counted(cause.number, 'job')}\n")
        for _, name, message in cause.first:
            start = f"  {clean(short(name, _LONGEST))}"
            first, *rest = _folded(f"{start}   {clean(message)}", width)
            text.append(first[: len(start)], "bold").append(f"{first[len(start) :]}\n")
            text.append("".join(f"{line}\n" for line in rest))
        if others := cause.number - len(cause.first):
            text.append(f"  and {counted(others, 'more job')}\n")
    return text


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
