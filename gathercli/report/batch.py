"""A batch for people: how far it is, what became of its jobs, what failed and why."""

from __future__ import annotations

import time
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from gathercli.report.progress import duration
from gathercli.text import clean, counted, grouped, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.jobs.tally import BatchTotals
    from gathercli.report.terminal import Styled

EVERY: Final = 0.1
"""Seconds between two states of the bar."""

PLAIN: Final = 10.0
"""Seconds between two plain lines, where nobody watches."""

BAR: Final = 20
"""Columns of the bar."""

_MARKS: Final = {
    "ok": ("ok", "green"),
    "mismatch": ("mismatch", "yellow"),
    "error": ("error", "red"),
}
_LONGEST: Final = 60


class Bar:
    """How far a batch is, on stderr: a line that is redrawn, or one now and then.

    Parameters
    ----------
    write
        Takes the characters.
    width
        Columns of the terminal; None where it is none.
    clock
        Counts seconds.
    """

    def __init__(
        self,
        tally: BatchTotals,
        write: Callable[[str], object],
        width: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tally, self._write, self._width, self._clock = tally, write, width, clock
        self._begun = self._drawn = clock()
        self._before = tally.done
        self._shown = 0

    def __call__(self) -> None:
        """Say it, if it is time to."""
        now = self._clock()
        if now - self._drawn < (PLAIN if self._width is None else EVERY):
            return
        self._drawn = now
        if self._width is None:
            self._write(self._text(now) + "\n")
            return
        tally = self._tally
        full = BAR * tally.done // tally.total
        text = f"{'█' * full}{'░' * (BAR - full)}  {self._text(now)}"[: self._width - 1]
        self._write("\r" + text.ljust(self._shown))
        self._shown = len(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            blank = " " * min(self._shown + 2, (self._width or 0) - 1)
            self._write(f"\r{blank}\r")  # and the ^C that a terminal writes behind it
            self._shown = 0

    def _text(self, now: float) -> str:
        tally = self._tally
        done, total = tally.done, counted(tally.total, "job")
        text = f"{grouped(done)} of {total}, {grouped(tally.failed)} failed"
        rate = (done - self._before) / max(now - self._begun, 1e-3)
        if rate:
            each = grouped(round(rate)) if rate >= 10 else f"{rate:.1f}"
            text += f", {each}/s, {duration((tally.total - done) / rate)} left"
        return text


def row(line: dict[str, Any], width: int | None) -> Styled:
    """Write a line of the report for people: how the job ended, its id, its output or why not."""
    from rich.text import Text

    word, style = _MARKS[line["status"]]
    what = line["message"]
    if what is None or line["status"] == "ok":
        shape = line["shape"]
        what = "" if shape is None else f"[{','.join(map(str, shape))}]"
        what = f"{line['operator'] or ''}   {line['dtype'] or ''}{what}"
        if line["rule"]:
            what = f"{line['operator'] or ''}   {line['rule']}, as expected"
        if line.get("output"):
            what += f"   {line['output']}"
    text = Text().append(f"{word:10}", style)
    text.append(f"{clean(short(line['id'], _LONGEST))}   ", "bold")
    text.append(clean(what), style="")
    if width is not None:
        text.truncate(width - 1, overflow="ellipsis")
    return text.append("\n")


def summary(
    tally: BatchTotals, seconds: float, remarks: Sequence[str] = (), width: int | None = None
) -> Styled:
    """Count the jobs by how they ended; those that failed stand last, by cause.

    Parameters
    ----------
    remarks
        What is to be known beside the numbers.
    width
        Columns of a terminal; None where lines may be of any length.
    """
    from rich.text import Text

    text = Text()
    for note in tally.notes.values():
        others = note.number - 1
        more = f", and so in {counted(others, 'more job')}" if others else ""
        said = f"note: {clean(short(note.name, _LONGEST))}: {clean(note.text)}{more}"
        first, *rest = _folded(said, width)
        text.append("note:", "yellow").append("\n".join([first[5:], *rest, ""]))
    text.append(f"{counted(tally.total, 'job')}: ", "bold")
    for at, (words, style) in enumerate(_counts(tally)):
        text.append(", " if at else "").append(words, style)
    text.append(f"   {duration(seconds, exact=True)}")
    text.append(f"   {grouped(tally.kept)} done before\n" if tally.kept else "\n")
    text.append("".join(f"{remark}\n" for remark in remarks))
    for rule, cause in sorted(tally.causes.items(), key=lambda each: each[1].number):
        text.append(f"\n{rule}", "bold red").append(f"   {counted(cause.number, 'job')}\n")
        for _, name, message in cause.first:
            shown = clean(short(name, _LONGEST))
            first, *rest = _folded(f"  {shown}   {clean(message)}", width)
            text.append(first[: 2 + len(shown)], "bold").append(f"{first[2 + len(shown) :]}\n")
            text.append("".join(f"{line}\n" for line in rest))
        if others := cause.number - len(cause.first):
            text.append(f"  and {counted(others, 'more job')}\n")
    return text


def _folded(line: str, width: int | None) -> list[str]:
    """Fold a line between words; what follows is moved in."""
    if width is None:
        return [line]
    indent = " " * 4
    return wrap(line, max(width - 1, 20), subsequent_indent=indent, break_on_hyphens=False) or [
        line
    ]


def _counts(tally: BatchTotals) -> Iterator[tuple[str, str]]:
    counts, left = tally.counts, tally.total - tally.done
    yield f"{grouped(counts['ok'])} ok", "green" if counts["ok"] else ""
    if counts["mismatch"]:
        yield counted(counts["mismatch"], "mismatch", "mismatches"), "yellow"
    if counts["error"]:
        yield counted(counts["error"], "error"), "red"
    if left:
        yield f"{grouped(left)} not done", "bold"
