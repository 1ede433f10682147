"""What indices are is counted in blocks, whatever order they come in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gathercli.arrays.counts import IndexCount

BLOCKS = {0: [0, 0, 5], 3: [6, 0, 7], 6: [0, 0, 0], 9: [8, 8, 8]}
"""Blocks of indices by where they start; what is not 0 is counted."""


def count_indices(*starts: int) -> IndexCount:
    tally = IndexCount()
    for start in starts:
        given = np.array(BLOCKS[start])
        tally.add(given != 0, given, start)
    return tally


def found(tally: IndexCount) -> tuple[int, int, int]:
    return tally.number, tally.first, tally.value


@pytest.mark.parametrize("starts", list(itertools.permutations(BLOCKS)))
def test_the_first_of_all_blocks_is_kept_whichever_comes_first(
    starts: tuple[int, ...],
) -> None:
    assert found(count_indices(*starts)) == (6, 2, 5)
    assert found(count_indices(*(start for start in starts if start))) == (5, 3, 6)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ([0], [3, 9], (6, 2, 5)),
        ([3], [9], (5, 3, 6)),
        ([6], [9], (3, 9, 8)),
        ([], [0], (1, 2, 5)),
        ([6], [], (0, 0, 0)),
    ],
)
def test_of_two_tallies_the_first_is_that_of_the_nearer_one(
    one: list[int], other: list[int], both: tuple[int, int, int]
) -> None:
    assert found(count_indices(*one) | count_indices(*other)) == both
    assert found(count_indices(*other) | count_indices(*one)) == both
