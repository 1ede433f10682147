"""Mistakes of two kinds in one output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns import mistakes

if TYPE_CHECKING:
    pass


TWO = 5


CORRUPTED = 4
"""Trials of the campaigns; their commands make more."""


def test_two_mistakes_of_two_kinds_are_named_of_four_in_five() -> None:
    named = sum(mistakes.is_named(mistakes.case(seed, 2)) for seed in range(TWO))

    assert named >= 0.8 * TWO


def test_no_output_with_a_corrupted_cell_is_wholly_explained() -> None:
    verdicts = {mistakes.one_cell(seed) for seed in range(CORRUPTED)}

    assert verdicts == {"in part"}
