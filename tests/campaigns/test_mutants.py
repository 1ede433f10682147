"""The mutants are of the code as it is."""

from __future__ import annotations

import ast
import re

import pytest

from campaigns.mutation.by_hand import BY_HAND
from campaigns.mutation.equivalent import EQUIVALENT
from campaigns.mutation.mutants import TARGETS, by_hand, definitions, source_of


@pytest.mark.parametrize(("path", "before", "after"), BY_HAND)
def test_a_mutant_made_by_hand_changes_one_place(path: str, before: str, after: str) -> None:
    assert before != after
    assert source_of(path).count(before) == 1


@pytest.mark.parametrize(("path", "before", "after", "why"), EQUIVALENT)
def test_a_mutant_that_nobody_can_notice_is_one_and_says_why(
    path: str, before: str, after: str, why: str
) -> None:
    assert before != after
    assert source_of(path).count(before) == 1
    assert why.endswith(".")
    compile(source_of(path).replace(before, after), path, "exec")


@pytest.mark.parametrize("path", sorted({path for path, _, _ in BY_HAND}))
def test_a_mutant_made_by_hand_is_a_program(path: str) -> None:
    for mutant in by_hand(path):
        compile(mutant.source, path, "exec")


@pytest.mark.parametrize(("path", "names"), TARGETS.items())
def test_every_target_is_in_its_file(path: str, names: str) -> None:
    defined = [name for name, _ in definitions(ast.parse(source_of(path)).body)]

    for each in re.split(r"\|(?![^(]*\))", names):
        assert any(re.fullmatch(each, name) for name in defined), each
