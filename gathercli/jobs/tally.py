"""Totals of a batch: how many jobs ended how, and some of those that failed."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gathercli.jobs.line import ERROR, MISMATCH, OK

MAX_EXAMPLES: Final = 5
"""Failed jobs that are listed for a cause."""

MAX_NOTES: Final = 10
"""Kinds of notes that are reported."""


class Limit(NamedTuple):
    """How many jobs may fail: a number, or a share in percent."""

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
    """Jobs that failed by one rule: their count; number, id and message of the first few."""

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
    """Jobs by how they ended.

    Attributes
    ----------
    total
        All jobs.
    kept, failed_before
        Jobs that an earlier run did, and those of them that failed.
    """

    total: int
    kept: int = 0
    failed_before: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((OK, MISMATCH, ERROR), 0))
    causes: dict[str, Cause] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Jobs that have ended."""
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        """Jobs that ended in a mismatch or an error."""
        return self.done - self.counts[OK]

    def count(self, status: str) -> None:
        """Count a job that has ended."""
        self.counts[status] += 1

    def explain(self, number: int, line: dict[str, Any]) -> None:
        """Note why a job failed, from its line."""
        if line["status"] == OK:
            return
        cause = self.causes.setdefault(str(line.get("rule")), Cause())
        cause.number += 1
        insort(cause.first, (number, str(line["id"]), str(line.get("message"))))
        del cause.first[MAX_EXAMPLES:]

    def keep(self, number: int, line: dict[str, Any]) -> None:
        """Count a job that an earlier run did."""
        self.kept += 1
        self.failed_before += line["status"] != OK
        self.count(line["status"])
        self.explain(number, line)

    def note(self, number: int, name: str, notes: dict[str, str]) -> None:
        """Count the notes of a job, by their kind."""
        for kind, text in notes.items():
            note = self.notes.get(kind)
            if note is None:
                if len(self.notes) < MAX_NOTES:
                    self.notes[kind] = Note(1, number, name, text)
                continue
            note.number += 1
            if number < note.first:
                note.first, note.name, note.text = number, name, text
