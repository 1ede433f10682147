"""More memory never costs more: no more boxes, and so no more reads of a chunk."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.blocks import GatherBlocks
from gathercli.compute.chunks import (
    ALONE_BYTES,
    LEAST_TASK_BYTES,
    CopyBlocks,
    cells,
    cut_boxes,
    everything,
)
from gathercli.compute.storage import Room
from gathercli.errors import LimitError
from gathercli.spec.shapes import product
from tests.chunked import Chunks, gathering

BUDGETS = (10**8, 3 * 10**8, 10**9, 4 * 10**9, 10**11, None)


def cut(
    source: GatherBlocks, memory: int | None, threads: int, least: int = 1
) -> tuple[int, int] | None:
    """Return the threads and the number of boxes; None for too little memory."""
    try:
        used, boxes = cut_boxes(source, source.choose_chunks(), memory, threads, least=least)
    except LimitError:
        return None
    return used, len(boxes)


@st.composite
def sources(draw: st.DrawFn) -> GatherBlocks:
    """Draw a gather of chunks of any size along any axis, whose boxes are never computed."""
    rank = draw(st.integers(1, 3))
    chunks = tuple(draw(st.sampled_from([1, 7, 64, 1024])) for _ in range(rank))
    counts = tuple(draw(st.sampled_from([1, 2, 5, 30])) for _ in range(rank))
    shape = tuple(size * count for size, count in zip(chunks, counts, strict=True))
    indices = np.broadcast_to(np.int64(0), draw(st.sampled_from([1, 40, 5000, 10**6])))
    data = np.broadcast_to(np.float32(0), shape)
    source, held = gathering(data, indices, chunks, draw(st.integers(0, rank - 1)))
    held.reads_rows = draw(st.booleans())
    return GatherBlocks(source.bound)


@given(
    sources(),
    st.lists(st.integers(10**6, 6 * 10**9), min_size=2, max_size=6),
    st.sampled_from([1, 2, 3, 8]),
    st.sampled_from([1, 1, 8]),
)
def test_more_memory_never_means_more_boxes_or_a_refusal(
    source: GatherBlocks, memories: list[int], threads: int, least: int
) -> None:
    plans = [cut(source, memory, threads, least) for memory in sorted(memories)]

    for less, more in pairwise(plans):
        if less is not None:
            assert more is not None
            assert more[1] <= less[1]


@given(sources(), st.lists(st.integers(10**6, 6 * 10**9), min_size=2, max_size=6))
def test_two_threads_work_with_all_memory_with_which_they_did(
    source: GatherBlocks, memories: list[int]
) -> None:
    plans = [cut(source, memory, 2) for memory in sorted(memories)]

    used = [plan[0] for plan in plans if plan is not None]

    assert used == sorted(used)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("reads_rows", [False, True])
def test_a_box_of_rows_that_are_read_alone_is_no_larger_than_helps(
    threads: int, reads_rows: bool
) -> None:
    data = Chunks(np.broadcast_to(np.float32(0), (1907, 1024, 1024)), (4, 1024, 1024))
    made, held = gathering(data.array, np.zeros(1907, np.int64), data.chunks)
    held.reads_rows = reads_rows
    source = GatherBlocks(made.bound)
    chunk = product(data.chunks) * 4
    sizes: list[int] = []

    for memory in BUDGETS[2:]:
        _, boxes = cut_boxes(source, data.chunks, memory, threads)
        sizes.append(max(map(cells, boxes)) * 4)

    most = max(LEAST_TASK_BYTES, 2 * threads * chunk)
    assert all(size <= most for size in sizes) == reads_rows
    assert source.reads_alone == reads_rows


def test_short_rows_are_read_with_those_between_them_so_that_larger_boxes_help() -> None:
    rows = np.broadcast_to(np.float32(0), (1 << 16, ALONE_BYTES // 4 - 1))
    made, held = gathering(rows, np.zeros(1 << 16, np.int64), (64, rows.shape[1]))
    held.reads_rows = True

    source = GatherBlocks(made.bound)

    assert not source.reads_alone
    less, more = (cut(source, memory, 1) for memory in (10**9, 4 * 10**9))
    assert less is not None
    assert more is not None
    assert more[1] < less[1]


def test_a_chunk_is_read_no_more_often_with_more_memory() -> None:
    rng = np.random.default_rng(0)
    made, data = gathering(rng.random((512, 64)), rng.permutation(512), (8, 64))
    reads: list[Counter[tuple[int, ...]]] = []

    for memory in range(200_000, 2_000_000, 100_000):
        data.reads.clear()
        for box in cut_boxes(made, (8, 64), memory, 2)[1]:
            made.block(box, 2)
        reads.append(Counter(data.reads))

    assert [each.total() for each in reads] == sorted((e.total() for e in reads), reverse=True)
    assert reads[0].total() > 2 * reads[-1].total()


def test_boxes_take_turns_in_a_room_and_leave_nothing_in_it() -> None:
    indices = np.array([3, 99, 1, -99, 0, 2])
    made, data = gathering(np.arange(1.0, 41).reshape(4, 10), indices, (2, 10))
    room = Room()
    expected = np.where((abs(indices) < 4)[:, None], data.array[indices % 4], 0)

    for start in range(0, 6, 2):
        block = made.block(((start, start + 2), (0, 10)), 1, room)
        assert block.tolist() == expected[start : start + 2].tolist()

    larger = made.block(everything(made.shape), 2, room)
    copied = CopyBlocks(data).block(((1, 3), (0, 10)), 1, room)
    assert np.shares_memory(larger, copied)
    assert copied.tolist() == data.array[1:3].tolist()


def test_the_smallest_box_needs_no_memory_for_a_second_thread() -> None:
    made, _ = gathering(np.zeros((8, 100_000)), np.arange(8), (1, 100_000))
    alone = made.cost(((0, 1), (0, 100_000)), 1)

    plan = cut(made, ceil(alone / 0.4), 2)

    assert plan == (1, 8)


@pytest.mark.parametrize(("chunks", "boxes"), [(None, 26), ((1, 100_000), 24)])
def test_threads_leave_a_box_a_quarter_of_what_the_smallest_leaves(
    chunks: tuple[int, int] | None, boxes: int
) -> None:
    made, _ = gathering(np.zeros((256, 100_000)), np.arange(256), (1, 100_000))
    memory = ceil(made.cost(((0, 64), (0, 100_000)), 1) / 0.4)

    alone, many = (cut_boxes(made, chunks, memory, threads)[1] for threads in (1, 64))

    assert (len(alone), len(many)) == (4, boxes)


def test_a_box_without_memory_for_a_second_thread_is_not_an_element() -> None:
    made, _ = gathering(np.zeros((1000, 200)), np.arange(1000), (100, 200))

    threads, boxes = cut_boxes(made, None, 1_600_000, 2)

    assert threads == 1
    assert len(boxes) < 200
