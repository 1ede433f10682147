"""Results are computed slab by slab, in boxes that fit in memory, and indices checked by chunk."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest

from gathercli import ops
from gathercli.compute import check
from gathercli.compute.blocks import GatherBlocks
from gathercli.compute.bound import BoundCall
from gathercli.compute.chunks import (
    BOX_SHARE,
    CHUNK_COPIES,
    LEAST_BOX_SHARE,
    PROGRAM_BYTES,
    CopyBlocks,
    cut_boxes,
)
from gathercli.compute.result import BlockResult
from gathercli.compute.run import run_arrays as run
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, LimitError
from gathercli.frameworks.versions import find
from gathercli.spec.call import Operand
from tests.chunked import Chunks, gathering


def test_the_first_refused_index_is_the_first_of_all_not_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.compute.check.CHECKED_BYTES", 64)
    indices = np.zeros((4, 6), np.int64)
    indices[2, 0], indices[1, 5], indices[3, 0] = 50, 60, 70
    data = np.arange(5)
    call = ops.bind(
        find("onnx-13", "gather").op,
        Operand.of(Tensor(dtype_of(data.dtype), data)),  # type: ignore[arg-type]
        Operand.of(Tensor(dtype_of(indices.dtype), indices)),  # type: ignore[arg-type]
        axis=0,
        out_of_range="error",
    )

    made = GatherBlocks(BoundCall(call, Chunks(data, (2,)), Chunks(indices, (4, 2))))

    with pytest.raises(GatherError) as refused:
        run(made.bound, threads=3)
    assert refused.value.where == "[1,5]"
    assert refused.value.value == 60


def test_a_copy_is_made_box_by_box() -> None:
    data = Chunks(np.arange(77).reshape(7, 11), (2, 3))

    made = CopyBlocks(data)

    assert made.choose_chunks() == (2, 3)

    found = BlockResult(made, 5_000, threads=2)

    assert b"".join(block.tobytes() for block in found.blocks(5)) == data.array.tobytes()
    assert (found.whole().array == data.array).all()
    assert str(found) == "i64[7,11]"


def test_each_slab_is_computed_once_for_parts_in_sequence() -> None:
    data = Chunks(np.arange(400_000.0).reshape(40, 10_000), (1, 10_000))
    result = BlockResult(CopyBlocks(data), 1_500_000)

    parts = list(result.blocks(7_000))

    assert (np.concatenate(parts) == np.arange(400_000.0)).all()
    assert len(data.boxes) == 40
    assert set(data.reads.values()) == {1}


@pytest.mark.parametrize(
    ("shape", "chunks", "boxes"),
    [
        ((20,), (1,), [((0, 8),), ((8, 16),), ((16, 20),)]),
        ((3, 2), (1, 1), [((0, 3), (0, 2))]),
        ((2, 10), (1, 4), [((i, i + 1), span) for i in (0, 1) for span in ((0, 8), (8, 10))]),
        ((20,), (10,), [((0, 10),), ((10, 20),)]),
    ],
)
def test_indices_are_checked_in_boxes_of_as_many_chunks_as_a_block_has(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    boxes: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.compute.check.CHECKED_BYTES", 64)
    data, indices = Chunks(np.zeros(4), (2,)), Chunks(np.zeros(shape, np.int64), chunks)
    operands = (Operand.of(each) for each in (data, indices))
    call = ops.bind(find("openvino-8", "gather").op, *operands, axis=0)

    check.check_chunks(BoundCall(call, data, indices))

    assert indices.boxes == boxes


def test_an_empty_part_of_a_result_is_an_array_of_its_type() -> None:
    result = BlockResult(CopyBlocks(Chunks(np.arange(6, dtype="i2"), (2,))), None)

    part = result.parts()(3, 3)

    assert part.shape == (0,)
    assert part.dtype == np.dtype(np.int16)


@pytest.mark.parametrize("threads", [1, 3])
def test_indices_of_all_chunks_are_counted_together(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.compute.check.CHECKED_BYTES", 64)
    array = np.random.default_rng(0).integers(-9, 9, (6, 10))
    data, indices = Chunks(np.zeros(5), (2,)), Chunks(array, (2, 3))
    operands = (Operand.of(each) for each in (data, indices))
    call = ops.bind(
        find("openvino-7", "gather").op, *operands, axis=0, negative="wrap", out_of_range="zero"
    )
    bound = BoundCall(call, data, indices)

    adjustments = check.check_chunks(bound, threads=threads)

    whole = BoundCall(call, data, Tensor(indices.dtype, array))
    assert adjustments == check.check_chunks(whole)
    assert len(adjustments) == 2


def test_parts_of_one_element_cross_the_ends_of_slabs() -> None:
    data = Chunks(np.arange(12).reshape(4, 3), (1, 3))
    result = BlockResult(CopyBlocks(data), 240)

    parts = list(result.blocks(1))

    assert np.concatenate(parts).tolist() == list(range(12))
    assert len(data.boxes) == 4


def memory_for(cost: int) -> int:
    """Return a limit that leaves `cost` bytes for a box."""
    return ceil(cost / LEAST_BOX_SHARE)


def test_more_memory_means_fewer_reads() -> None:
    rng = np.random.default_rng(0)
    made, data = gathering(rng.random((256, 512)), rng.integers(0, 256, 2048), (8, 512))
    counts = []
    for memory in (2_000_000, 8_000_000, None):
        data.reads.clear()
        for box in cut_boxes(made, (8, 512), memory, 2)[1]:
            made.block(box, 2)
        counts.append(max(data.reads.values()))

    assert counts[0] > counts[1] > counts[2] == 1


def test_a_limit_too_small_for_the_smallest_box_is_refused() -> None:
    made, _ = gathering(np.zeros((100, 1000)), np.arange(100), (100, 1000))

    with pytest.raises(LimitError, match=r"a chunk of the result.*expected at most 400000 bytes"):
        cut_boxes(made, (100, 1000), 1_000_000, 4)


def test_the_program_has_its_share_of_memory() -> None:
    made, _ = gathering(np.zeros((1000, 1000)), np.zeros(1 << 20, np.int64), (10, 1000))
    _, boxes = cut_boxes(made, (10, 1000), 10**9, 2)

    room = (10**9 - PROGRAM_BYTES) * BOX_SHARE

    assert 0.9 * room < max(made.cost(box, 2) for box in boxes) <= room


def test_fewer_threads_work_where_memory_is_short() -> None:
    made, _ = gathering(np.zeros((8, 100_000)), np.arange(8), (1, 100_000))

    assert cut_boxes(made, (1, 100_000), None, 4)[0] == 4
    assert cut_boxes(made, (1, 100_000), 15_000_000, 4)[0] == 1


def test_half_the_threads_work_where_memory_is_for_half() -> None:
    source, _ = gathering(np.zeros((8, 100_000)), np.arange(8), (1, 100_000))
    chunk = ((0, 1), (0, 100_000))

    threads, boxes = cut_boxes(source, (1, 100_000), memory_for(source.cost(chunk, 2)), 4)

    assert (threads, len(boxes)) == (2, 8)


def test_a_box_may_take_all_memory_there_is_for_it() -> None:
    source, _ = gathering(np.zeros((8, 100_000)), np.arange(8), (1, 100_000))
    one, two = (source.cost(((0, rows), (0, 100_000)), 1) for rows in (1, 2))

    assert len(cut_boxes(source, (1, 100_000), memory_for(two), 1)[1]) == 4
    assert len(cut_boxes(source, (1, 100_000), memory_for(two - 1), 1)[1]) == 8
    assert len(cut_boxes(source, None, memory_for(one), 1)[1]) == 8
    with pytest.raises(LimitError):
        cut_boxes(source, (1, 100_000), memory_for(one - 1), 1)


def test_each_thread_that_writes_a_box_takes_copies_of_its_chunk() -> None:
    source = CopyBlocks(Chunks(np.broadcast_to(0.0, (64, 10)), (1, 10)))
    chunk = 16 * 10 * 8  # larger than those that are read

    boxes = {
        threads: cut_boxes(source, (16, 10), memory_for((2 + 2 * CHUNK_COPIES) * chunk), threads)[1]
        for threads in (1, 2)
    }

    assert boxes[1] == [((0, 64), (0, 10))]
    assert [box[0] for box in boxes[2]] == [(0, 32), (32, 64)]


def test_an_empty_output_needs_no_memory() -> None:
    source, _ = gathering(np.zeros((8, 100_000)), np.zeros(0, np.int64), (8, 100_000))

    assert cut_boxes(source, (1, 100_000), 1, 4) == (1, [])
    assert cut_boxes(source, None, 1, 4) == (1, [])


@pytest.mark.parametrize("least", [1, 3, 4, 8])
def test_there_are_as_few_boxes_as_are_allowed(least: int) -> None:
    source, _ = gathering(np.zeros((8, 10)), np.arange(8), (1, 10))

    _, boxes = cut_boxes(source, (1, 10), None, 1, least=least)

    assert len(boxes) == least


@pytest.mark.parametrize("cells", [100_000, 1 << 25], ids=["small", "large"])
def test_the_limit_that_the_hint_names_is_enough_and_no_larger_than_needed(cells: int) -> None:
    source = CopyBlocks(Chunks(np.broadcast_to(0.0, (2, cells)), (1, cells)))
    with pytest.raises(LimitError) as caught:
        cut_boxes(source, (1, cells), 100_000, 1)
    assert caught.value.hint is not None
    megabytes = int(caught.value.hint.removeprefix("`--max-bytes ").partition("M")[0])

    _, boxes = cut_boxes(source, (1, cells), megabytes * 10**6, 1)

    assert boxes[0] == ((0, 1), (0, cells))
    with pytest.raises(LimitError):
        cut_boxes(source, (1, cells), (megabytes - 1) * 10**6, 1)


def test_a_box_that_is_worth_a_task_grows_along_indices_alone() -> None:
    data = np.broadcast_to(0.0, (1000, 1 << 20))
    large, _ = gathering(data, np.zeros(128, np.int64), (10, 1 << 17))
    small, _ = gathering(data, np.zeros(8, np.int64), (10, 1 << 17))

    boxes = cut_boxes(large, (8, 1 << 17), None, 1)[1], cut_boxes(small, (8, 1 << 17), None, 1)[1]

    assert [box[0] for box in boxes[0]] == [(0, 128)] * 8
    assert boxes[1] == [((0, 8), (0, 1 << 20))]


def test_boxes_that_read_the_same_chunks_follow_each_other() -> None:
    source, _ = gathering(np.zeros((8, 8)), np.zeros((8, 8), np.int64), (1, 4))
    box = ((0, 1), (0, 8), (0, 4))

    _, boxes = cut_boxes(source, (1, 1, 4), memory_for(source.cost(box, 1)), 1)

    assert boxes == [((i, i + 1), (0, 8), (j, j + 4)) for j in (0, 4) for i in range(8)]


def test_a_box_of_a_copy_grows_from_the_last_dimension_on() -> None:
    source = CopyBlocks(Chunks(np.zeros((8, 8)), (1, 1)))
    box = ((0, 2), (0, 8))

    _, boxes = cut_boxes(source, (1, 1), memory_for(source.cost(box, 1)), 1)
    _, slabs = cut_boxes(source, None, memory_for(source.cost(((0, 1), (0, 3)), 1)), 1)

    assert boxes == [((i, i + 2), (0, 8)) for i in (0, 2, 4, 6)]
    assert slabs[:3] == [((0, 1), (0, 3)), ((0, 1), (3, 6)), ((0, 1), (6, 8))]


def test_a_chunk_larger_than_the_output_costs_no_more_elements_than_there_are() -> None:
    source, _ = gathering(np.zeros((8, 1000)), np.arange(8), (1, 1))
    everything = ((0, 8), (0, 1000))

    _, boxes = cut_boxes(source, (1, 1500), memory_for(source.cost(everything, 1)), 1)

    assert boxes == [everything]
