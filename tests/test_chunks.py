"""Boxes are cut where chunks end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
    found = list(cuts((start, start + length), size))

    covered = [at for first, last in found for at in range(first, last)]

    assert covered == list(range(start, start + length))
    assert all(first // size == (last - 1) // size for first, last in found)


def test_boxes_count_their_cells() -> None:
    assert cells(everything((3, 4))) == 12
    assert sizes(((1, 3), (2, 2))) == (2, 0)
    assert list(tiled((), ())) == [()]
