"""What became of the jobs so far: how many of each sort, and some of those that failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gathercli.batch.work import ERROR, MISMATCH, OK

NAMED: Final = 5
"""Failed jobs of a cause that are named."""

NOTES: Final = 10
"""Kinds of notes that are kept."""


class Limit(NamedTuple):
    """How many jobs may fail: a number, or a share in percent."""

    number: float
    percent: bool = False

    def allows(self, failed: int, total: int) -> bool:
        """Tell whether so many failed jobs are few enough."""
        return failed <= (self.number * total / 100 if self.percent else self.number)


@dataclass
class Cause:
    """Jobs that failed by one rule: how many, and the id and message of the first."""

    number: int = 0
    first: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Note:
    """A note that jobs have in common: how many, and the id and words of the first."""

    number: int
    name: str
    text: str


@dataclass
class Tally:
    """Jobs by how they ended.

    Attributes
    ----------
    total
        How many there are.
    kept, failed_before
        Those that an earlier run did, and how many of them failed.
    """

    total: int
    kept: int = 0
    failed_before: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((OK, MISMATCH, ERROR), 0))
    causes: dict[str, Cause] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Those that have ended."""
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        """Those that did not end well."""
        return self.done - self.counts[OK]

    def count(self, status: str) -> None:
        """Count a job that has ended."""
        self.counts[status] += 1

    def explain(self, line: dict[str, Any]) -> None:
        """Keep why a job failed."""
        if line["status"] == OK:
            return
        cause = self.causes.setdefault(str(line.get("rule")), Cause())
        cause.number += 1
        if len(cause.first) < NAMED:
            cause.first.append((str(line["id"]), str(line.get("message"))))

    def keep(self, line: dict[str, Any]) -> None:
        """Count a job that an earlier run did."""
        self.kept += 1
        self.failed_before += line["status"] != OK
        self.count(line["status"])
        self.explain(line)

    def note(self, name: str, notes: dict[str, str]) -> None:
        """Keep the notes of a job, by their kind."""
        for kind, text in notes.items():
            if kind in self.notes:
                self.notes[kind].number += 1
            elif len(self.notes) < NOTES:
                self.notes[kind] = Note(1, name, text)
