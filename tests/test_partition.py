"""Boxes are as large as memory allows."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli.arrays import partition
from gathercli.errors import LimitError
from tests.chunked import gathering


def test_more_memory_means_fewer_reads() -> None:
    rng = np.random.default_rng(0)
    made, data = gathering(rng.random((256, 512)), rng.integers(0, 256, 2048), (8, 512))
    counts = []
    for held in (2_000_000, 8_000_000, None):
        data.reads.clear()
        for box in partition.cut_boxes(made, (8, 512), held, 2)[1]:
            made.block(box, 2)
        counts.append(max(data.reads.values()))

    assert counts[0] > counts[1] > counts[2] == 1


def test_a_limit_too_small_for_the_smallest_box_is_refused() -> None:
    made, _ = gathering(np.zeros((100, 1000)), np.arange(100), (100, 1000))

    with pytest.raises(LimitError, match=r"a chunk of the result.*expected at most 400000 bytes"):
        partition.cut_boxes(made, (100, 1000), 1_000_000, 4)


def test_the_program_has_its_share_of_memory() -> None:
    made, _ = gathering(np.zeros((1000, 1000)), np.zeros(1 << 20, np.int64), (10, 1000))
    _, boxes = partition.cut_boxes(made, (10, 1000), 10**9, 2)

    room = (10**9 - partition.PROGRAM) * partition.SHARE

    assert 0.9 * room < max(made.cost(box, 2) for box in boxes) <= room


def test_fewer_threads_work_where_memory_is_short() -> None:
    made, _ = gathering(np.zeros((8, 100_000)), np.arange(8), (1, 100_000))

    assert partition.cut_boxes(made, (1, 100_000), None, 4)[0] == 4
    assert partition.cut_boxes(made, (1, 100_000), 15_000_000, 4)[0] == 1
