"""What became of the jobs so far: how many of each sort, and some of those that failed."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gathercli.jobs.work import ERROR, MISMATCH, OK

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
        return failed <= self._most(total)

    def spare(self, failed: int, total: int) -> int:
        """Tell how many more may fail.

        >>> Limit(5, percent=True).spare(3, 100), Limit(0).spare(1, 100)
        (2, -1)
        """
        return int(self._most(total)) - failed

    def _most(self, total: int) -> float:
        return self.number * total / 100 if self.percent else self.number


@dataclass
class Cause:
    """Jobs that failed by one rule: how many, and number, id and message of the first."""

    number: int = 0
    first: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass
class Note:
    """A note that jobs have in common: how many, and number, id and words of the first."""

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

    def explain(self, number: int, line: dict[str, Any]) -> None:
        """Keep why a job failed, by its number among all."""
        if line["status"] == OK:
            return
        cause = self.causes.setdefault(str(line.get("rule")), Cause())
        cause.number += 1
        insort(cause.first, (number, str(line["id"]), str(line.get("message"))))
        del cause.first[NAMED:]

    def keep(self, number: int, line: dict[str, Any]) -> None:
        """Count a job that an earlier run did."""
        self.kept += 1
        self.failed_before += line["status"] != OK
        self.count(line["status"])
        self.explain(number, line)

    def note(self, number: int, name: str, notes: dict[str, str]) -> None:
        """Keep the notes of a job, by their kind."""
        for kind, text in notes.items():
            known = self.notes.get(kind)
            if known is None:
                if len(self.notes) < NOTES:
                    self.notes[kind] = Note(1, number, name, text)
                continue
            known.number += 1
            if number < known.first:
                known.first, known.name, known.text = number, name, text
