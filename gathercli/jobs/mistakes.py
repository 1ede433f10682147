"""Mistakes in the jobs of a batch: the first few in full, the others by rule and place."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Final

from gathercli.jobs.jobfile import ITEM, LINE, place_of
from gathercli.text import short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.errors import GatherError

MAX_FULL: Final = 5
"""The most mistakes reported in full."""

MAX_BRIEF: Final = 10_000
"""The most further mistakes reported by place, as there may be millions."""

PLACES: Final = 20
"""The most places listed for a rule; a range of lines counts as one."""


class Mistakes:
    """The mistakes of jobs, in the order of the jobs.

    Attributes
    ----------
    number
        The number of mistakes.
    """

    def __init__(self) -> None:
        self.number = 0
        self._full: list[tuple[int, int, GatherError]] = []
        self._brief: list[tuple[int, int, str, str]] = []

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        self.number += 1
        insort(self._full, (position, self.number, error))
        for more in self._full[MAX_FULL:]:
            insort(self._brief, (*more[:2], more[2].rule, str(more[2].where)))
        del self._full[MAX_FULL:], self._brief[MAX_BRIEF:]

    def check(self) -> None:
        """Raise the first mistake, with the others as attributes; do nothing if there is none."""
        if not self._full:
            return
        first, *others = (error for *_, error in self._full)
        if others:
            first.count, first.others = self.number, others
        by_rule: dict[str, list[str]] = {}
        for _, _, rule, where in self._brief:
            by_rule.setdefault(rule, []).append(where)
        first.rest = {rule: places(wheres) for rule, wheres in by_rule.items()}
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
    words, left = [], PLACES
    for (file, form), ranges in by_file.items():
        numbers = [f"{a}-{b}" if a < b else f"{a}" for a, b in ranges[:left]]
        if numbers:
            several = len(numbers) > 1 or "-" in numbers[0]
            words.append(f"{short(file)}{_FORMS[form, several].format(', '.join(numbers))}")
        left -= len(ranges)
    return "; ".join(words) + ("…" if left < 0 else "")


_FORMS: Final = {
    (LINE, False): ", line {}",
    (LINE, True): ", lines {}",
    (ITEM, False): ", $[{}]",
    (ITEM, True): ", $[{}]",
    ("", False): "",
}
