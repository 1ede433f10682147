"""Positions are grouped by the chunk they lie in, however many axes they count along."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli.compute.chunkgroups import IndexedChunks


@pytest.mark.parametrize(
    ("shape", "chunks", "positions", "groups"),
    [
        ((9,), (3,), [8, -1, 0, 7, 2], [([2, 4], None), ([0, 3], None)]),
        ((9,), (3,), [5, -1, 4], [(None, ((4, 6),))]),
        ((9,), (9,), [-1, -1], []),
        ((9,), (9,), [], []),
        ((), (), [0, 0], [(None, ((0, 1),))]),
        ((4, 6), (2, 6), [13, 23, -1], [(None, ((2, 4), (0, 6)))]),
        ((4, 6), (2, 4), [0, 5, -1, 23, 9, 17], [([0, 4], None), ([1], None), ([3, 5], None)]),
        ((4, 6), (2, 4), [14, 21], [(None, ((2, 4), (2, 4)))]),
        ((2, 3, 4), (2, 2, 4), [8, 20, 3], [([2], None), ([0, 1], None)]),
    ],
)
def test_each_position_is_in_the_group_of_its_chunk(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    positions: list[int],
    groups: list[tuple[list[int] | None, object]],
) -> None:
    indexed = IndexedChunks(shape, chunks)

    parts = list(indexed.groups(np.array(positions, np.int64)))

    assert [(None if p is None else p.tolist(), box) for p, box in parts] == groups


def test_positions_count_row_major_inside_a_box() -> None:
    indexed = IndexedChunks((5, 7, 3), (2, 4, 2))
    positions = np.ravel_multi_index(([2, 3, 2], [4, 6, 5], [1, 0, 1]), (5, 7, 3))

    box = indexed.bounds(positions)

    assert box == ((2, 4), (4, 7), (0, 2))
    assert indexed.inside(positions, box).tolist() == [1, 10, 3]
    assert indexed.number == 3 * 2 * 2
