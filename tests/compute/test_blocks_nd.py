"""Slices at tuples from chunks equal those of the oracle; every chunk is read once for a box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gathercli import ops
from gathercli.compute import streamed
from gathercli.compute.blocks import (
    CHUNK_BYTES,
    CHUNK_COPIES,
    INDEX_BYTES,
    PART_BYTES,
    TUPLE_BYTES,
    GatherBlocks,
)
from gathercli.compute.bound import BoundCall
from gathercli.compute.chunks import slices
from gathercli.compute.run import run_arrays as run
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, TransferError
from gathercli.ops.versions import find
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import INT64
from gathercli.spec.shapes import product
from tests import oracle, oracle_nd
from tests.chunked import Chunks
from tests.compute.test_kernel import unneeded


class Case(NamedTuple):
    call: Any
    data: Chunks
    indices: Chunks
    attributes: oracle.Attributes
    out_chunks: tuple[int, ...]

    def wanted(self) -> Any:
        """Return the output of the oracle, or the rule by which it refuses the call."""
        types: dict[str, Any] = {"data_type": "float64", "indices_type": "int64"}
        tensors = self.data.array, self.indices.array
        try:
            return oracle_nd.run(self.call.op.full_name, *tensors, self.attributes, **types)
        except oracle.Refused as refused:
            return refused.rule


def bound(data: Any, indices: Any, version: str = "openvino-8", **attributes: Any) -> BoundCall:
    """Bind a call of tensors, in chunks or in memory."""
    op = find(version, "gather-nd").op
    call = ops.bind(op, Operand.of(data), Operand.of(indices), **attributes)
    return BoundCall(call, data, indices)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a call of any version, with tuples that may be negative or outside their axes."""
    version = draw(st.sampled_from(["openvino-5", "openvino-8", "onnx-11", "onnx-13"]))
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6]), min_size=1, max_size=4)))
    lead = draw(st.lists(st.integers(0, 4), max_size=2))
    b = draw(st.integers(0, len(shape) - 1)) if version != "onnx-11" else 0
    k = draw(st.integers(0 if version.startswith("openvino") else 1, len(shape) - b))
    inner = (*shape[:b], *lead, k)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    outside = draw(st.sampled_from([(0, 0), (1, 0), (2, 2)]))
    components = [
        rng.integers(-n * outside[0], max(n, 1) + outside[1], inner[:-1]) for n in shape[b : b + k]
    ]
    indices = np.stack(components, -1) if k else np.zeros(inner, np.int64)
    if draw(st.booleans()) and indices.ndim > 1:
        indices = np.sort(indices, axis=-2)

    def chunks(rank: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))

    attributes: dict[str, Any] = {
        "negative": draw(st.sampled_from(["spec", "wrap", "error"])),
        "out_of_range": draw(st.sampled_from(["spec", "zero", "clamp", "wrap"])),
        **({"batch_dims": b} if version != "onnx-11" else {}),
    }
    data = Chunks(rng.random(shape), chunks(len(shape)))
    picked = Chunks(indices, chunks(len(inner)))
    call = bound(data, picked, version, **attributes).call
    oracle_attributes = oracle.Attributes(**{"batch_dims": 0, **attributes})
    return Case(call, data, picked, oracle_attributes, chunks(len(call.shape)))


@settings(max_examples=200)
@given(
    cases(), st.sampled_from([None, 400_000, 500_000]), st.integers(1, 3), st.sampled_from("dib")
)
def test_chunks_give_what_the_oracle_gives(
    case: Case, memory: int | None, threads: int, in_chunks: str
) -> None:
    order: Any = "F" if memory else "C"
    data, indices = (
        each
        if in_chunks in (key, "b")
        else Tensor(each.dtype, unneeded(np.asarray(each.array, order=order)))
        for key, each in (("d", case.data), ("i", case.indices))
    )
    both = BoundCall(case.call, data, indices)
    wanted = case.wanted()
    if isinstance(wanted, str):
        with pytest.raises(GatherError) as caught:
            run(both, memory=memory, threads=threads)
        assert caught.value.rule == wanted
        return

    output: Any = run(both, memory=memory, threads=threads)

    tensors = (Tensor(each.dtype, each.array) for each in (case.data, case.indices))
    whole = run(BoundCall(case.call, *tensors))
    assert output.adjustments == whole.adjustments
    assert output.shape == wanted.shape
    assert output.whole().array.tobytes() == wanted.tobytes()
    assert b"".join(block.tobytes() for block in output.blocks(3)) == wanted.tobytes()
    blocks = GatherBlocks(both)
    _, boxes = streamed.cut_boxes(blocks, case.out_chunks, memory, threads)
    out = np.full(wanted.shape, -1.0)
    for box in boxes:
        case.data.reads.clear()
        out[slices(box)] = blocks.block(box, threads)
        assert max(case.data.reads.values(), default=1) == 1
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("version", "attributes", "changed"),
    [
        ("onnx-13", {}, 9),
        ("openvino-5", {}, -1),
        ("openvino-8", {"negative": "error"}, -1),
    ],
)
def test_tuples_that_turn_illegal_after_they_were_checked_are_refused(
    version: str, attributes: dict[str, Any], changed: int
) -> None:
    data = Chunks(np.arange(12).reshape(3, 4), (2, 2))
    indices = Chunks(np.array([[0, 1], [2, 3], [1, 1]]), (2, 1))
    output = run(bound(data, indices, version, **attributes))

    indices.array[1, 1] = changed

    with pytest.raises(TransferError) as caught:
        output.whole()
    assert caught.value.rule == "unreadable"
    assert caught.value.message == (
        "`indices` changed while they were read: expected them to stay as they were"
    )


@pytest.mark.parametrize(
    ("chunks", "tuples", "boxes"),
    [
        ((4, 4), [[5, 6], [7, 5], [4, 7]], [((4, 8), (5, 8))]),
        ((4, 8), [[5, 6], [7, 5]], [((5, 8), (0, 8))]),  # whole behind the first axis
        ((4, 4), [[0, 0], [3, 7], [1, 2]], [((0, 2), (0, 3)), ((3, 4), (7, 8))]),
    ],
)
def test_of_each_chunk_only_the_box_of_its_tuples_is_read(
    chunks: tuple[int, ...], tuples: list[list[int]], boxes: list[Any]
) -> None:
    data = Chunks(np.arange(64).reshape(8, 8), chunks)
    indices = Tensor(INT64, np.array(tuples))
    blocks = GatherBlocks(bound(data, indices))

    out = blocks.block(((0, len(tuples)),))

    assert out.tolist() == [data.array[i, j] for i, j in tuples]
    assert data.boxes == boxes


def test_sorted_tuples_read_every_chunk_once_in_any_number_of_boxes() -> None:
    data = Chunks(np.random.default_rng(0).random((40, 10, 100)), (4, 10, 100))
    indices = Tensor(INT64, np.argwhere(np.ones((40, 10), bool)).repeat(5, 0))
    blocks = GatherBlocks(bound(data, indices))

    _, boxes = streamed.cut_boxes(blocks, (200, 100), 3_000_000, 1)

    assert len(boxes) > 1

    for box in boxes:
        blocks.block(box)

    assert set(data.reads.values()) == {1}


def test_batches_that_are_one_in_the_output_read_every_chunk_once_for_a_box() -> None:
    data = Chunks(np.random.default_rng(0).random((4, 6, 5, 2)), (3, 4, 2, 2))
    indices = Chunks(np.random.default_rng(0).integers(0, 5, (4, 6, 3, 1)), (2, 5, 2, 1))
    blocks = GatherBlocks(bound(data, indices, "openvino-5", batch_dims=2))

    out = blocks.block(((4, 21), (0, 3), (0, 2)))

    wanted = np.take_along_axis(data.array, indices.array, 2).reshape(24, 3, 2)
    assert out.tolist() == wanted[4:21].tolist()
    assert set(data.reads.values()) == {1}


def test_of_data_that_is_no_view_of_one_axis_little_is_copied() -> None:
    array = np.asfortranarray(np.arange(6_000_000).reshape(2000, 3000))
    indices = Tensor(INT64, np.array([[1999, 2999], [0, 5], [7, 2000]]))

    blocks = GatherBlocks(bound(Tensor(INT64, array), indices))

    assert product(blocks.chunks) * 8 <= CHUNK_BYTES
    assert blocks.block(((0, 3),)).tolist() == [5_999_999, 5, 23_000]


def test_tuples_that_are_filled_stay_zero_where_batches_are_one_in_the_output() -> None:
    data = Chunks(np.arange(12).reshape(3, 2, 2) + 1, (2, 1, 2))
    at = np.array([[0, 9], [1, -9], [7, 1]])[..., None]
    attributes: dict[str, Any] = {"batch_dims": 2, "negative": "wrap", "out_of_range": "zero"}

    output = run(bound(data, Chunks(at, (2, 2, 1)), "openvino-5", **attributes))

    assert output.whole().array.tolist() == [1, 0, 6, 0, 0, 12]


def test_the_cost_of_a_box_has_the_components_of_its_tuples_and_a_copy_of_a_chunk() -> None:
    data = Chunks(np.zeros((40, 50, 4)), (10, 10, 4))
    indices = Tensor(INT64, np.zeros((1000, 2), np.int64))
    blocks = GatherBlocks(bound(data, indices))
    box = ((0, 1000), (0, 4))

    cost = blocks.cost(box, 1)

    output, chunk, chunks = 1000 * 4 * 8, 10 * 10 * 4 * 8, 4 * 5
    tuples = 1000 * (INDEX_BYTES + TUPLE_BYTES + 2 * 8) + chunks * PART_BYTES
    assert cost == output + tuples + (CHUNK_COPIES + 1) * chunk + output
    assert blocks.cost(box, 3) - cost == 2 * ((CHUNK_COPIES + 1) * chunk + output)
