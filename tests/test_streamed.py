"""Results are computed slab by slab, and indices checked chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gathercli.compute import streamed
from gathercli.compute.array_run import run
from gathercli.compute.blocks import CopyBlocks, GatherBlocks
from gathercli.compute.bound import BoundCall
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.ops import engine, find
from gathercli.spec.call import Operand
from tests.chunked import Chunks


def test_the_first_refused_index_is_the_first_of_all_not_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.compute.streamed.BLOCK", 64)
    indices = np.zeros((4, 6), np.int64)
    indices[2, 0], indices[1, 5], indices[3, 0] = 50, 60, 70
    data = np.arange(5)
    call = engine.bind(
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

    found = streamed.BlockResult(made, 5_000, threads=2)

    assert b"".join(block.tobytes() for block in found.blocks(5)) == data.array.tobytes()
    assert (found.whole().array == data.array).all()
    assert str(found) == "i64[7,11]"


def test_each_slab_is_computed_once_for_parts_in_sequence() -> None:
    data = Chunks(np.arange(400_000.0).reshape(40, 10_000), (1, 10_000))
    result = streamed.BlockResult(CopyBlocks(data), 1_500_000)

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
    monkeypatch.setattr("gathercli.compute.streamed.BLOCK", 64)
    data, indices = Chunks(np.zeros(4), (2,)), Chunks(np.zeros(shape, np.int64), chunks)
    operands = (Operand.of(each) for each in (data, indices))
    call = engine.bind(find("openvino-8", "gather").op, *operands, axis=0)

    streamed.check_indices(BoundCall(call, data, indices))

    assert indices.boxes == boxes


def test_an_empty_part_of_a_result_is_an_array_of_its_type() -> None:
    result = streamed.BlockResult(CopyBlocks(Chunks(np.arange(6, dtype="i2"), (2,))), None)

    part = result.parts()(3, 3)

    assert part.shape == (0,)
    assert part.dtype == np.dtype(np.int16)


@pytest.mark.parametrize("threads", [1, 3])
def test_indices_of_all_chunks_are_counted_together(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.compute.streamed.BLOCK", 64)
    array = np.random.default_rng(0).integers(-9, 9, (6, 10))
    data, indices = Chunks(np.zeros(5), (2,)), Chunks(array, (2, 3))
    operands = (Operand.of(each) for each in (data, indices))
    call = engine.bind(
        find("openvino-7", "gather").op, *operands, axis=0, negative="wrap", out_of_range="zero"
    )
    bound = BoundCall(call, data, indices)

    adjustments = streamed.check_indices(bound, threads=threads)

    whole = BoundCall(call, data, Tensor(indices.dtype, array))
    assert adjustments == streamed.check_indices(whole)
    assert len(adjustments) == 2


def test_parts_of_one_element_cross_the_ends_of_slabs() -> None:
    data = Chunks(np.arange(12).reshape(4, 3), (1, 3))
    result = streamed.BlockResult(CopyBlocks(data), 240)

    parts = list(result.blocks(1))

    assert np.concatenate(parts).tolist() == list(range(12))
    assert len(data.boxes) == 4
