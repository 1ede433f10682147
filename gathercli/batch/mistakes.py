"""Mistakes in the jobs of a batch: the first of each cause in full, the others by place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.batch.cause import cause_of
from gathercli.io.jobs.jobfile import ITEM, LINE, place_of
from gathercli.text import short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gathercli.errors import GatherError

MAX_PLACES: Final = 10_000
"""The most further mistakes reported by place, as there may be millions."""

PLACES: Final = 20
"""The most places listed for a cause; a range of lines counts as one."""


class _Cause:
    """The mistakes of one cause: their number, the first of them, and places of all."""

    def __init__(self, position: int, error: GatherError) -> None:
        self.number, self.position, self.error = 0, position, error
        self.places: list[tuple[int, str]] = []

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        self.number += 1
        if position < self.position:
            self.position, self.error = position, error
        if len(self.places) < MAX_PLACES:
            self.places.append((position, str(error.where)))

    def summed_up(self) -> GatherError:
        """Return the first mistake, with the number and the places of the others."""
        _, *others = sorted(self.places)
        self.error.number = self.number
        self.error.rest = places(where for _, where in others)
        return self.error


class Mistakes:
    """The mistakes of jobs, by cause."""

    def __init__(self) -> None:
        self._causes: dict[str, _Cause] = {}

    def add(self, position: int, error: GatherError) -> None:
        """Add the mistake of the job at a position in its files."""
        self._causes.setdefault(cause_of(error), _Cause(position, error)).add(position, error)

    def check(self) -> None:
        """Raise the first mistake, with those of other causes; do nothing if there is none."""
        if not self._causes:
            return
        causes = sorted(self._causes.values(), key=lambda cause: cause.position)
        first, *others = [cause.summed_up() for cause in causes]
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
