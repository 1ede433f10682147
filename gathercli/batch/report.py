"""Report a batch to a user: its progress, each result, a summary of failures; or as JUnit XML."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Self

from gathercli.batch.outcome import ERROR, MISMATCH, OK, SKIPPED, Alike, BatchTotals
from gathercli.io.stream import temporary_file
from gathercli.io.write import Output
from gathercli.ops import FAMILIES
from gathercli.report.terminal import ERROR_STYLE, Styled
from gathercli.report.words import StatusLine, duration
from gathercli.spec.shapes import cell
from gathercli.text import clean, counted, grouped, short

if TYPE_CHECKING:
    from rich.text import Text

    from gathercli.io.jobs import Job


BAR_INTERVAL: Final = 0.1  # seconds between two updates of the bar
LINE_INTERVAL: Final = 10.0  # seconds between two lines without a terminal
BAR_WIDTH: Final = 20  # columns of the bar

_STATUS_STYLES: Final = {OK: "green", MISMATCH: "yellow", ERROR: ERROR_STYLE}
_MAX_ID_LENGTH: Final = 60


class Bar(StatusLine, AbstractContextManager["Bar"]):
    """A context of progress on stderr: a line that is redrawn, without `width` one now and then."""

    _start: float | None = None

    def __init__(
        self,
        write: Callable[[str], object],
        width: int | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        silent: bool = False,
    ) -> None:
        super().__init__(write, width or 0)
        self._clock, self._silent = clock, silent
        self._update = clock()

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _is_due(self) -> bool:
        """Return whether to update, and count this as an update."""
        now = self._clock()
        pause = BAR_INTERVAL if self._width else LINE_INTERVAL
        if self._silent or now - self._update < pause:
            return False
        self._update = now
        return True

    def _put(self, text: str, bar: str = "") -> None:
        """Redraw the line with a bar before it, or write a new line."""
        if self._width:
            self.show(bar + text)
        else:
            self._write(text + "\n")

    def validation(self, done: str, number: int) -> None:
        """Write how many jobs were ``validated`` or ``compared`` if an update is due."""
        if self._is_due():
            self._put(f"{counted(number, 'job')} {done}")

    def estimate(self, line: bytes) -> None:
        """Start the estimate of the time left with the first job that ended, by its line."""
        if self._start is None:
            self._start = self._clock() - float(json.loads(line)["seconds"])

    def __call__(self, totals: BatchTotals) -> None:
        """Write the progress if an update is due."""
        if not self._is_due():
            return
        done, total, text = totals.done, totals.total, ""
        full = BAR_WIDTH * done // total
        if self._start is not None:
            rate = (done - totals.done_before) / max(self._update - self._start, 1e-3)
            each = grouped(round(rate)) if rate >= 10 else f"{rate:.1f}"
            text = f", {each}/s, {duration((total - done) / rate)} left"
        text = f"{grouped(done)} of {counted(total, 'job')}, {grouped(totals.failed)} failed{text}"
        self._put(text, f"{'█' * full}{'░' * (BAR_WIDTH - full)}  ")


def column_widths(jobs: Iterable[Job]) -> tuple[int, int]:
    """Return the widths of the columns of ids and of operator versions."""
    ids, operators = 0, set()
    for job in jobs:
        ids = max(ids, len(clean(short(job.id, _MAX_ID_LENGTH))))
        operators.add(job.operator)
    rows = (op for name in operators for op in FAMILIES[name].ROWS)
    return ids, max((len(op.full_name) for op in rows), default=0)


def row(line: dict[str, Any], width: int | None, columns: tuple[int, int] = (0, 0)) -> Styled:
    """Format a line of the report as text: the status of a job, its id, its output or error.

    Errors wrap at the `width` of the terminal, None without one; `columns` are `column_widths`.
    """
    from rich.text import Text

    status, what = line["status"], line["message"]
    if what is None or status == OK:
        shape = "" if line["shape"] is None else cell(line["shape"])
        what = f"{line['operator'] or '':{columns[1]}}   "
        what += f"{line['rule']}, as expected" if line["rule"] else f"{line['dtype'] or ''}{shape}"
        if line.get("output"):
            what += f"   {line['output']}"
    text = Text().append(f"{status:10}", _STATUS_STYLES[status])
    name = clean(short(line["id"], _MAX_ID_LENGTH)).ljust(columns[0])
    text.append(f"{name}   ", "bold")
    if width is None:
        return text.append(f"{clean(what)}\n")
    if status == OK:
        text.append(clean(what)).truncate(width - 1, overflow="ellipsis")
        return text.append("\n")
    beside = len(text) <= width // 2  # else the error is below the id
    indent = "\n" + " " * (len(text) if beside else 10)
    lines = wrap(clean(what), width - len(indent), break_on_hyphens=False)
    return text.append(("" if beside else indent) + indent.join(lines) + "\n")


def summary(
    tally: BatchTotals, seconds: float, remarks: Sequence[str] = (), width: int | None = None
) -> Styled:
    """Count the jobs by status, with remarks below, then list the failures by cause.

    `width` is the columns of the terminal; None for lines of any length.
    """
    from rich.text import Text

    text = Text()
    for note in tally.notes.values():
        (_, name, what), *_ = note.first
        others = note.number - 1
        more = f", likewise in {counted(others, 'more job')}" if others else ""
        line = f"note: {clean(short(name, _MAX_ID_LENGTH))}: {clean(what)}{more}"
        first, *rest = _folded(line, width)
        text.append("note:", "yellow").append("\n".join([first[5:], *rest, ""]))
    text.append(f"{counted(tally.total, 'job')}: ", "bold")
    for at, (words, style) in enumerate(_counts(tally)):
        text.append(", " if at else "").append(words, style)
    text.append(f"   {duration(seconds, exact=True)}")
    text.append(f"   {grouped(tally.done_before)} done before\n" if tally.done_before else "\n")
    text.append("".join(f"{remark}\n" for remark in remarks))
    causes = tally.causes.items()
    for (rule, _), cause in sorted(causes, key=lambda each: (each[1].number, each[1].first)):
        _add_cause(text, rule, cause, width)
    return text


def _add_cause(text: Text, rule: str, cause: Alike, width: int | None) -> None:
    """Add the failures of one cause: the first with its message, some others by id."""
    text.append(f"\n{rule}", "bold red").append(f"   {counted(cause.number, 'job')}\n")
    (_, name, message), *others = cause.first
    start = f"  {clean(short(name, _MAX_ID_LENGTH))}"
    first, *rest = _folded(f"{start}   {clean(message)}", width)
    text.append(first[: len(start)], "bold").append(f"{first[len(start) :]}\n")
    if others:
        names = ", ".join(clean(short(name, _MAX_ID_LENGTH)) for _, name, _ in others)
        more = "…" if cause.number > len(cause.first) else ""
        rest += _folded(f"  likewise {counted(cause.number - 1, 'more job')}: {names}{more}", width)
    text.append("".join(f"{line}\n" for line in rest))


def _folded(line: str, width: int | None) -> list[str]:
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
        yield counted(counts["error"], "error"), ERROR_STYLE
    if left:
        yield f"{grouped(left)} not done", "bold"


_JUNIT_FOOT: Final = "</testsuite>\n</testsuites>\n"


class JUnitReport:
    """A context for a JUnit file; its cases are in an unnamed file until all are counted."""

    def __init__(self, path: str) -> None:
        self._output = Output(path)
        self._open = ExitStack()

    def add(self, line: bytes, file: str = "", at: int = 0) -> None:
        """Add a job by its line of the report, its file, and the line there if that is known."""
        case = _case(json.loads(line), file, at)
        self._cases.write(case.encode(errors="backslashreplace"))

    def write(self, totals: BatchTotals, seconds: float) -> None:
        """Write the file."""
        self._cases.seek(0)
        stream = self._output.stream
        stream.write(_head(totals, seconds).encode())
        while part := self._cases.read(1 << 20):
            stream.write(part)
        stream.write(_JUNIT_FOOT.encode())
        self._output.commit()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._output).open()
            self._cases = stack.enter_context(temporary_file())
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _case(line: dict[str, Any], file: str, at: int) -> str:
    kind = line.get("operator") or "gathercli"
    seconds = float(line.get("seconds") or 0)
    head = f'<testcase classname={_quoted(kind)} name={_quoted(line["id"])} time="{seconds:.6f}"'
    head += (f" file={_quoted(file)}" if file else "") + (f' line="{at}"' if at else "")
    if line["status"] == OK:
        text = _quoted(line["remark"])[1:-1] if line.get("remark") else ""
        return f"  {head}><system-out>{text}</system-out></testcase>\n" if text else f"  {head}/>\n"
    if line["status"] == SKIPPED:
        return f"  {head}><skipped message={_quoted(line.get('message'))}/></testcase>\n"
    tag = "failure" if line["status"] == MISMATCH else "error"
    why = f"<{tag} type={_quoted(line.get('rule'))} message={_quoted(line.get('message'))}/>"
    return f"  {head}>{why}</testcase>\n"


def _head(totals: BatchTotals, seconds: float) -> str:
    counts = totals.counts
    skipped = f' skipped="{counts[SKIPPED]}"' if SKIPPED in counts else ""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites>\n<testsuite name="gathercli" tests="{totals.done}" '
        f'failures="{counts[MISMATCH]}" errors="{counts[ERROR]}"{skipped} time="{seconds:.3f}">\n'
    )


def _quoted(value: object) -> str:
    """Quote an attribute; escape characters that XML lacks."""
    from xml.sax.saxutils import quoteattr  # which loads urllib and ssl

    return quoteattr(clean(str(value)).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff"))
