"""Totals of a batch: the number of jobs by status, and examples of failures."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gathercli.batch.line import ERROR, MISMATCH, OK

MAX_EXAMPLES: Final = 5
"""The most failed jobs listed for a cause."""

MAX_NOTES: Final = 10
"""The most kinds of notes reported."""


class Limit(NamedTuple):
    """The most jobs that may fail: a number, or a percentage."""

    number: float
    percent: bool = False

    def spare(self, failed: int, total: int) -> int:
        """Return how many more jobs may fail; a negative number if too many have.

        >>> Limit(5, percent=True).spare(3, 100), Limit(0).spare(1, 100)
        (2, -1)
        """
        return int(self.number * total / 100 if self.percent else self.number) - failed


@dataclass
class Cause:
    """Failures of one cause: their rule and count; number, id and message of the first few."""

    rule: str
    number: int = 0
    first: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass
class Note:
    """A note of several jobs: their count; number, id and note of the first."""

    number: int
    first: int
    name: str
    text: str


@dataclass
class BatchTotals:
    """The number of jobs by status.

    Attributes
    ----------
    total
        The number of all jobs.
    done_before, failed_before
        The number of jobs from an earlier run, and of the failed ones among them.
    faults
        The number of jobs that the system failed, and that may succeed when done again.
    """

    total: int
    done_before: int = 0
    failed_before: int = 0
    faults: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((OK, MISMATCH, ERROR), 0))
    causes: dict[tuple[str, str], Cause] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of completed jobs."""
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        """The number of jobs with a mismatch or an error."""
        return self.done - self.counts[OK]

    def count(self, status: str) -> None:
        """Count a completed job."""
        self.counts[status] = self.counts.get(status, 0) + 1

    def explain(self, number: int, line: dict[str, Any]) -> None:
        """Add the cause of a failed job from its line."""
        if line["status"] == OK:
            return
        rule = str(line.get("rule"))
        self.faults += line.get("fault") is True
        cause = self.causes.setdefault((rule, str(line.get("cause"))), Cause(rule))
        cause.number += 1
        insort(cause.first, (number, str(line["id"]), str(line.get("message"))))
        del cause.first[MAX_EXAMPLES:]

    def keep(self, number: int, line: dict[str, Any]) -> None:
        """Count a job from an earlier run."""
        self.done_before += 1
        self.failed_before += line["status"] != OK
        self.count(line["status"])
        self.explain(number, line)

    def note(self, number: int, name: str, notes: dict[str, str]) -> None:
        """Count the notes of a job by kind."""
        for kind, text in notes.items():
            note = self.notes.get(kind)
            if note is None:
                if len(self.notes) < MAX_NOTES:
                    self.notes[kind] = Note(1, number, name, text)
                continue
            note.number += 1
            if number < note.first:
                note.first, note.name, note.text = number, name, text
