"""Boxes are cut where chunks end, and positions grouped by the chunk they lie in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.blocks import IndexedChunks
from gathercli.compute.chunks import ChunkGrid, cells, cuts, everything, sizes, tiled


def test_a_part_of_countless_chunks_is_computed_by_its_number() -> None:
    tiling = ChunkGrid(((1, 10**12), (5, 10**12)), (3, 1))

    assert tiling.number == (10**12 // 3 + 1) * (10**12 - 5)
    assert tiling.part(0) == ((1, 3), (5, 6))
    assert tiling.part(tiling.number - 1) == ((10**12 - 1, 10**12), (10**12 - 1, 10**12))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 4)), max_size=3))
def test_numbered_parts_are_those_of_a_tiled_box(dims: list[tuple[int, int, int]]) -> None:
    box = tuple((start, start + length) for start, length, _ in dims)
    chunks = tuple(size for *_, size in dims)

    tiling = ChunkGrid(box, chunks)

    assert [tiling.part(at) for at in range(tiling.number)] == list(tiled(box, chunks))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9))
def test_cuts_cover_a_span_once(start: int, length: int, size: int) -> None:
    spans = list(cuts((start, start + length), size))

    covered = [at for first, last in spans for at in range(first, last)]

    assert covered == list(range(start, start + length))
    assert all(first // size == (last - 1) // size for first, last in spans)


def test_boxes_count_their_cells() -> None:
    assert cells(everything((3, 4))) == 12
    assert sizes(((1, 3), (2, 2))) == (2, 0)
    assert list(tiled((), ())) == [()]


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
