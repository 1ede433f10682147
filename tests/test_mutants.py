"""The mutants made by hand are of the code as it is."""

from __future__ import annotations

import pytest

from tests.mutation.by_hand import BY_HAND
from tests.mutation.mutants import by_hand, source_of


@pytest.mark.parametrize(("path", "before", "after"), BY_HAND)
def test_a_mutant_made_by_hand_changes_one_place(path: str, before: str, after: str) -> None:
    assert before != after
    assert source_of(path).count(before) == 1


@pytest.mark.parametrize("path", sorted({path for path, _, _ in BY_HAND}))
def test_a_mutant_made_by_hand_is_a_program(path: str) -> None:
    for mutant in by_hand(path):
        compile(mutant.source, path, "exec")
