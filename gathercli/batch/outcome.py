"""Outcomes of jobs: the line of each in the report, causes of failures and mistakes, totals."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.errors import GatherError, MismatchError, NoInputError, OutputError, TransferError
from gathercli.io.jobfile import ITEM, LINE, place_of
from gathercli.text import short

if TYPE_CHECKING:
    from gathercli.spec.adjustments import Adjustment


OK: Final = "ok"
MISMATCH: Final = "mismatch"
ERROR: Final = "error"
SKIPPED: Final = "skipped"  # the status of a test that was not run, only in JUnit
MAX_MESSAGE: Final = 2000  # the most characters of a message in the report

_JSON: Final = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_NO_NOTES: Final = b"{}"

# Names and numbers in what was expected: two files of other lengths end too early alike.
_VARYING: Final = re.compile(r"`[^`]*`|\d+(?:[.,]+\d+)*")

# Errors of the system that are of the name in a job, or of what has this name.
_NAME_ERRNOS: Final = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EEXIST, errno.ENXIO),
)

MAX_EXAMPLES: Final = 5  # the most failed jobs listed for a cause
MAX_NOTES: Final = 10  # the most kinds of notes reported
# The most further mistakes reported by place, as there may be millions.
MAX_KEPT_PLACES: Final = 10_000
MAX_LISTED_PLACES: Final = 20  # the most places listed for a cause; a range of lines counts as one


@dataclass(slots=True)
class Line:
    """A line of the report."""

    id: str
    output: str | None = None  # the path in the job; None without one
    status: str = OK
    rule: str | None = None  # that is violated; None for success, as are `message` and `cause`
    message: str | None = None
    cause: str | None = None  # `cause_of` the error
    fault: bool = False  # whether the system failed to read or write
    operator: str | None = None
    shape: list[int | str] | None = None
    dtype: str | None = None
    result: str = "null"  # the typed tensor as JSON
    seconds: float = 0.0
    stamp: dict[str, Any] | None = None  # of the files of the job, as from `journal.stamp_of`
    notes: list[str] = field(default_factory=list)  # on the tensors, which are not in the line
    adjustments: tuple[Adjustment, ...] = ()  # the treatment of illegal indices

    def fail(self, error: GatherError) -> None:
        """Set the status, the rule and the message of an error."""
        self.status = MISMATCH if isinstance(error, MismatchError) else ERROR
        self.explain(error)

    def explain(self, error: GatherError) -> None:
        """Set the rule, the message and the cause of an error, and whether it is a fault."""
        message = error.message
        self.rule, self.cause, self.fault = error.rule, cause_of(error), is_fault(error)
        self.message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"
        self.operator = self.operator or error.operator

    def __bytes__(self) -> bytes:
        """Return the line as JSON with a newline."""
        fields: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "rule": self.rule,
            "message": self.message,
            "operator": self.operator,
            "shape": self.shape,
            "dtype": self.dtype,
        }
        end: dict[str, Any] = {}
        if self.status != OK and self.cause is not None:
            end["cause"] = self.cause
        if self.status != OK and self.fault:
            end["fault"] = True
        if self.adjustments:
            end["adjusted"] = {each.how: each.number for each in self.adjustments}
        if self.stamp is not None:
            end["stamp"] = self.stamp
        if self.output is None:  # the text of the result can be long
            made = f'"result":{self.result}'
        else:
            made = f'"output":{_JSON(self.output)}'
        more = f",{_JSON(end)[1:]}" if end else "}"
        return f'{_JSON(fields)[:-1]},{made},"seconds":{round(self.seconds, 6)}{more}\n'.encode()


class Outcome(NamedTuple):
    """A completed job: number, status, line of the report, and notes by kind, several of one."""

    number: int
    status: str
    line: bytes
    notes: dict[str, str]

    @classmethod
    def of(cls, number: int, line: Line) -> Outcome:
        """Return the outcome of a job by its line."""
        notes = {note: note for note in line.notes}
        notes |= {each.how: str(each) for each in line.adjustments}
        return cls(number, line.status, bytes(line), notes)

    @classmethod
    def parse(cls, head: Sequence[bytes | bytearray], line: bytes) -> Outcome:
        """Parse the result of `record`: the words of its first line, and the rest."""
        number, status, _, notes = head
        kinds = {} if notes == _NO_NOTES else json.loads(notes)
        return cls(int(number), status.decode(), line, kinds)

    @classmethod
    def read_again(cls, record: bytes) -> Outcome:
        """Parse the result of `record`."""
        head, line = record.split(b"\n", 1)
        return cls.parse(head.split(b" ", 3), line)

    def record(self) -> bytes:
        """Serialize the outcome: ``number status length notes`` and the line of that length."""
        notes = json.dumps(self.notes).encode() if self.notes else _NO_NOTES
        head = b"%d %s %d %s\n" % (self.number, self.status.encode(), len(self.line), notes)
        return head + self.line


def digest(text: bytes) -> bytes:
    """Return a digest of 8 bytes."""
    return hashlib.blake2b(text, digest_size=8).digest()


def is_fault(error: GatherError | None) -> bool:
    """Return whether the system failed to read or write, so that the same job may succeed later.

    A name of a directory, of a device or outside the folder is the job's mistake.
    """
    if isinstance(error, NoInputError | OutputError):
        return error.errno is not None and error.errno not in _NAME_ERRNOS
    return isinstance(error, TransferError)


def cause_of(error: GatherError) -> str:
    """Return a digest that the errors of one cause share.

    These break one rule, are raised by the same statements, are of one subject, expect the same but
    for names and numbers, and come from the same error of the system, if any.
    """
    parts: list[object] = [error.rule, error.subject, _VARYING.sub("…", error.expected or "")]
    inner: BaseException | None = error
    while inner is not None:  # an error that is worded anew has the first as its context
        parts += [_statement(inner), getattr(inner, "errno", None)]
        inner = inner.__context__
    return digest(repr(parts).encode(errors="surrogatepass")).hex()


def _statement(error: BaseException) -> tuple[str, int] | None:
    """Return the function that raised an error, and the line in it; None for one not raised."""
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    name = f"{trace.tb_frame.f_globals.get('__name__')}.{code.co_qualname}"
    return name, trace.tb_lineno - code.co_firstlineno


@dataclass
class Alike:
    """Jobs that failed by one cause, or have notes of one kind."""

    number: int = 0
    # The number, id and text of the first few.
    first: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, number: int, name: str, text: str) -> None:
        """Add a job by its number, id and text."""
        self.number += 1
        insort(self.first, (number, name, text))
        del self.first[MAX_EXAMPLES:]


@dataclass
class BatchTotals:
    """The number of jobs by status."""

    total: int  # of all jobs
    done_before: int = 0  # from an earlier run
    failed_before: int = 0  # and the failed ones among them
    faults: int = 0  # jobs that the system failed, and that may succeed when done again
    counts: Counter[str] = field(default_factory=Counter)
    causes: dict[tuple[str, str], Alike] = field(default_factory=dict)
    notes: dict[str, Alike] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of completed jobs."""
        return self.counts.total()

    @property
    def failed(self) -> int:
        """The number of jobs with a mismatch or an error."""
        return self.done - self.counts[OK]

    def count(self, status: str) -> None:
        """Count a completed job."""
        self.counts[status] += 1

    def explain(self, number: int, line: dict[str, Any]) -> None:
        """Add the cause of a failed job from its line."""
        if line["status"] == OK:
            return
        rule = str(line.get("rule"))
        self.faults += line.get("fault") is True
        cause = self.causes.setdefault((rule, str(line.get("cause"))), Alike())
        cause.add(number, str(line["id"]), str(line.get("message")))

    def keep(self, number: int, line: dict[str, Any]) -> None:
        """Count a job from an earlier run."""
        self.done_before += 1
        self.failed_before += line["status"] != OK
        self.count(line["status"])
        self.explain(number, line)

    def note(self, number: int, name: str, notes: dict[str, str]) -> None:
        """Count the notes of a job by kind."""
        for kind, text in notes.items():
            if kind in self.notes or len(self.notes) < MAX_NOTES:
                self.notes.setdefault(kind, Alike()).add(number, name, text)


@dataclass
class _Cause:
    """The mistakes of one cause: the first and its position, their number, and places of all."""

    position: int
    error: GatherError
    number: int = 0
    places: list[tuple[int, str]] = field(default_factory=list)


class Mistakes:
    """The mistakes of jobs, by cause."""

    def __init__(self) -> None:
        self._causes: dict[str, _Cause] = {}

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        cause = self._causes.setdefault(cause_of(error), _Cause(position, error))
        cause.number += 1
        if position < cause.position:
            cause.position, cause.error = position, error
        if len(cause.places) < MAX_KEPT_PLACES:
            cause.places.append((position, str(error.where)))

    def check(self) -> None:
        """Raise the first mistake, with those of other causes; do nothing if there is none."""
        causes = sorted(self._causes.values(), key=lambda cause: cause.position)
        for cause in causes:
            cause.error.number = cause.number
            cause.error.rest = places(where for _, where in sorted(cause.places)[1:])
        if causes:
            first, *others = [cause.error for cause in causes]
            total = sum(cause.number for cause in causes)
            first.others, first.count = others, total if total > 1 else None
            raise first


def places(wheres: Iterable[str]) -> str:
    """Summarize the places of jobs.

    >>> places(["a.jsonl, line 3", "a.jsonl, line 4", "a.jsonl, line 9", "b.json, $[0]", "c.json"])
    'a.jsonl, lines 3-4, 9; b.json, $[0]; c.json'
    """
    by_file: dict[tuple[str, str], list[list[int]]] = {}
    for file, form, number in map(place_of, wheres):
        ranges = by_file.setdefault((file, form), [])
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words, left = [], MAX_LISTED_PLACES
    for (file, form), ranges in by_file.items():
        numbers = [f"{a}-{b}" if a < b else f"{a}" for a, b in ranges[:left]]
        if numbers:
            several = len(numbers) > 1 or "-" in numbers[0]
            words.append(f"{short(file)}{_PLACE_FORMS[form, several].format(', '.join(numbers))}")
        left -= len(ranges)
    return "; ".join(words) + ("…" if left < 0 else "")


_PLACE_FORMS: Final = {
    (LINE, False): ", line {}",
    (LINE, True): ", lines {}",
    (ITEM, False): ", $[{}]",
    (ITEM, True): ", $[{}]",
    ("", False): "",
}
