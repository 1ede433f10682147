"""Results from chunks equal those from whole tensors; every chunk is read once for a box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli import ops
from gathercli.compute.blocks import (
    INDEX_BYTES,
    PART_BYTES,
    SCATTERED_CELLS,
    TUPLE_BYTES,
    GatherBlocks,
)
from gathercli.compute.bound import BoundCall
from gathercli.compute.chunks import (
    CHUNK_BYTES,
    CHUNK_COPIES,
    CopyBlocks,
    chunk_sizes,
    cut_boxes,
    everything,
)
from gathercli.compute.run import run_arrays as run
from gathercli.compute.storage import dtype_of, slices
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, LimitError, TransferError
from gathercli.frameworks.versions import find
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import INT64
from gathercli.spec.shapes import product
from tests import oracle, oracle_nd
from tests.cases import drawn
from tests.chunked import Chunks, gathering
from tests.compute.test_kernel import unneeded


class Case(NamedTuple):
    call: Any
    data: Chunks
    indices: Chunks
    out_chunks: tuple[int, ...]


def bound(
    data: Any, indices: Any, version: str = "openvino-8", command: str = "gather-nd", **given: Any
) -> BoundCall:
    """Bind a call of tensors, in chunks or in memory."""
    call = ops.bind(find(version, command).op, Operand.of(data), Operand.of(indices), **given)
    return BoundCall(call, data, indices)


@st.composite
def gathers(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw data, indices that may be negative or outside the axis, a version and attributes."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    axis = draw(st.integers(0, len(shape) - 1))
    attributes = {"axis": axis}
    if draw(st.booleans()):
        command, version = "gather-elements", draw(st.sampled_from(["openvino-6", "onnx-13"]))
        inner = [*shape[:axis], draw(st.integers(0, 9)), *shape[axis + 1 :]]
    else:
        command = "gather"
        versions = ["openvino-1", "openvino-7", "openvino-8", "onnx-1", "onnx-13"]
        version, b = draw(st.sampled_from(versions)), 0
        if version in ("openvino-7", "openvino-8"):
            b = attributes["batch_dims"] = draw(st.integers(0, axis))
        inner = shape[:b] + draw(st.lists(st.integers(0, 5), max_size=2))
    n = shape[axis]
    low, high = draw(st.sampled_from([(0, n), (-n, n), (-n - 3, n + 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    data = rng.integers(0, 1 << 30, shape).astype(draw(st.sampled_from(["<i4", "<f8", "<u2"])))
    indices = rng.integers(low, high, inner).astype(draw(st.sampled_from(["<i4", "<i8"])))
    if draw(st.booleans()):
        indices = np.sort(indices, axis=-1) if indices.ndim else indices
    return data, indices, version, command, attributes


@st.composite
def tuple_gathers(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw data, tuples that may be negative or outside their axes, a version and attributes."""
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
    attributes = {"batch_dims": b} if version != "onnx-11" else {}
    return rng.random(shape), indices, version, "gather-nd", attributes


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a call of any version on chunks of any sizes."""

    def chunks(rank: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))

    data, indices, version, command, attributes = draw(st.one_of(gathers(), tuple_gathers()))
    attributes |= {
        "negative": draw(st.sampled_from(["spec", "wrap", "error"])),
        "out_of_range": draw(st.sampled_from(["spec", "zero", "clamp", "wrap"])),
    }
    tensors = Chunks(data, chunks(data.ndim)), Chunks(indices, chunks(indices.ndim))
    call = bound(*tensors, version, command, **attributes).call
    return Case(call, *tensors, chunks(len(call.shape)))


def outcome(make: Any) -> tuple[Any, Any]:
    """Return a run, or what it was refused with."""
    try:
        return make(), None
    except GatherError as error:
        return None, (type(error), error.rule, error.message, error.where)


def by_loops(call: Any, data: Any, indices: Any) -> tuple[Any, Any]:
    """Return the bytes of the output of loops, or the rule by which they refuse the call."""
    attributes = oracle.Attributes(
        **{"batch_dims": 0, **call.attrs},
        negative=call.negative.value,
        out_of_range=call.out_of_range.value,
    )
    types: dict[str, Any] = {"data_type": "float64", "indices_type": "int64"}
    try:
        return oracle_nd.run(call.op.full_name, data, indices, attributes, **types).tobytes(), None
    except oracle.Refused as refused:
        return None, refused.rule


@drawn(400)
@given(
    cases(),
    st.sampled_from([None, 300_000, 400_000, 500_000]),
    st.integers(1, 3),
    st.sampled_from(["data", "indices", "both"]),
)
def test_chunks_give_what_whole_tensors_give(
    case: Case, memory: int | None, threads: int, in_chunks: str
) -> None:
    order: Any = "F" if memory else "C"
    tensors = [Tensor(each.dtype, each.array) for each in (case.data, case.indices)]
    mixed = BoundCall(
        case.call,
        *(
            each
            if in_chunks in (name, "both")
            else Tensor(each.dtype, unneeded(np.asarray(each.array, order=order)))
            for name, each in (("data", case.data), ("indices", case.indices))
        ),
    )
    whole, refused = outcome(lambda: run(BoundCall(case.call, *tensors)))

    output, refusal = outcome(lambda: run(mixed, memory=memory, threads=threads))

    assert refusal == refused
    expected = None if whole is None else whole.whole().array
    if case.call.op.tuples:
        found = expected if expected is None else expected.tobytes()
        rule = None if refused is None else refused[1]
        assert by_loops(case.call, case.data.array, case.indices.array) == (found, rule)
    if output is None or expected is None:
        return
    assert output.adjustments == whole.adjustments
    assert output.shape == expected.shape
    assert output.whole().array.tobytes() == expected.tobytes()
    assert b"".join(block.tobytes() for block in output.blocks(3)) == expected.tobytes()

    blocks = GatherBlocks(mixed)
    cut, too_little = outcome(lambda: cut_boxes(blocks, case.out_chunks, memory, threads))
    if cut is None:
        assert too_little[:2] == (LimitError, "limit")
        return
    _, boxes = cut
    seen = np.zeros(expected.shape, np.int64)
    made = np.zeros(expected.shape, expected.dtype)
    for box in boxes:
        case.data.reads.clear()
        made[slices(box)] = blocks.block(box, threads)
        seen[slices(box)] += 1
        assert max(case.data.reads.values(), default=1) == 1
        for (start, stop), size, end in zip(box, case.out_chunks, expected.shape, strict=True):
            assert start % size == 0
            assert stop % size == 0 or stop == end

    assert (seen == 1).all()
    assert made.tobytes() == expected.tobytes()


def test_few_indices_read_only_the_chunks_they_are_in() -> None:
    made, data = gathering(np.arange(1000).reshape(100, 10), np.array([3, 99, 4]), (10, 10))

    output = run(made.bound).whole().array

    assert (output == data.array[[3, 99, 4]]).all()
    assert dict(data.reads) == {(0, 0): 1, (9, 0): 1}


def test_sorted_indices_read_every_chunk_once_in_any_number_of_boxes() -> None:
    indices = np.repeat(np.arange(100), 5)
    made, data = gathering(np.arange(100_000).reshape(100, 1000), indices, (10, 1000))

    _, boxes = cut_boxes(made, (50, 1000), 6_000_000, 1)

    assert len(boxes) > 1

    for box in boxes:
        made.block(box)

    assert set(data.reads.values()) == {1}


@pytest.mark.parametrize(
    ("command", "version", "attributes", "changed"),
    [
        ("gather", "onnx-13", {}, 9),
        ("gather", "openvino-1", {}, -1),
        ("gather", "openvino-8", {"negative": "error"}, -1),
        ("gather", "openvino-8", {"out_of_range": "error"}, 9),
        ("gather-nd", "onnx-13", {}, 9),
        ("gather-nd", "openvino-5", {}, -1),
        ("gather-nd", "openvino-8", {"negative": "error"}, -1),
    ],
)
def test_indices_that_turn_illegal_after_they_were_checked_are_refused(
    command: str, version: str, attributes: dict[str, Any], changed: int
) -> None:
    if command == "gather":
        attributes = attributes | {"axis": 0}
    data = Chunks(np.arange(12).reshape(3, 4), (2, 2))
    indices = Chunks(np.array([[0, 1], [2, 2], [1, 1]]), (2, 1))
    output = run(bound(data, indices, version, command, **attributes))

    indices.array[1, 1] = changed

    with pytest.raises(TransferError) as caught:
        output.whole()
    assert caught.value.rule == "unreadable"
    assert caught.value.message == (
        "`indices` changed while they were read: expected them to stay as they were"
    )


def test_indices_that_change_to_filled_ones_are_filled() -> None:
    data, indices = Chunks(np.arange(6) + 1, (2,)), Chunks(np.array([0, 5, 3]), (2,))
    operands = (Operand.of(Tensor(each.dtype, each.array)) for each in (data, indices))
    call = ops.bind(find("openvino-8", "gather").op, *operands, axis=0)
    output = run(BoundCall(call, data, indices))

    indices.array[1] = 9

    assert output.whole().array.tolist() == [1, 0, 4]


def test_batch_dims_with_a_different_row_of_indices_each() -> None:
    rng = np.random.default_rng(3)
    data, indices = rng.random((6, 7, 5)), rng.integers(-9, 9, (6, 4))
    made, source = gathering(data, indices, (2, 3, 5), axis=1, batch_dims=1)
    output = run(made.bound, threads=2).whole().array
    kept = (indices >= -7) & (indices < 7)
    at = np.where(kept, indices, 0)

    wanted = np.take_along_axis(data, at[:, :, None], 1) * kept[:, :, None]

    assert (output == wanted).all()
    assert max(source.reads.values()) == 1


def test_more_chunks_than_small_integers_count() -> None:
    data = np.arange(70_000)

    made, _ = gathering(data, np.array([69_999, 0, 40_000, 1]), (1,))

    assert run(made.bound).whole().array.tolist() == [69_999, 0, 40_000, 1]


@pytest.mark.parametrize(
    ("shape", "fixed", "chosen"),
    [
        ((1000, 64), (None, None), (16, 64)),
        ((1000, 64), (None, 8), (128, 8)),
        ((3, 0), (None, None), (3, 1)),
        ((), (), ()),
        ((10**9,), (None,), (1024,)),
        ((5, 7), (100, 100), (5, 7)),
    ],
)
def test_chunks_are_chosen_from_the_last_dimension_on(
    shape: tuple[int, ...], fixed: tuple[int | None, ...], chosen: tuple[int, ...]
) -> None:
    assert chunk_sizes(shape, fixed, 4, 4096) == chosen


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_tensor_of_any_byte_order_gives_native_blocks(order: Any) -> None:
    array = np.asarray(np.arange(60.0).reshape(5, 4, 3), ">f8", order=order)
    indices = np.array([[3, -1], [0, 9]], ">i4")
    given, picked = (
        Tensor(dtype_of(each.dtype), each)  # type: ignore[arg-type]
        for each in (array, indices)
    )
    for axis in range(3):
        call = ops.bind(
            find("openvino-8", "gather").op, Operand.of(given), Operand.of(picked), axis=axis
        )
        made = GatherBlocks(BoundCall(call, given, picked))
        block = made.block(everything(made.shape))
        assert block.dtype.isnative
        assert block.tobytes() == run(BoundCall(call, given, picked)).whole().array.tobytes()

    assert CopyBlocks(given).block(((1, 3), (0, 4), (2, 3))).tolist() == array[1:3, :, 2:].tolist()


@pytest.mark.parametrize(
    ("shape", "inner", "axis", "batch_dims"),
    [
        ((40,), (90,), 0, 0),
        ((40, 3), (90,), 0, 0),
        ((3, 40), (3, 30), 1, 1),
        ((2, 40, 3), (2, 30), 1, 1),
    ],
    ids=["flat", "rows", "flat with batch_dims", "rows with batch_dims"],
)
def test_elements_are_copied_piece_by_piece(
    shape: tuple[int, ...],
    inner: tuple[int, ...],
    axis: int,
    batch_dims: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.compute.blocks.SCATTERED_CELLS", 7)
    rng = np.random.default_rng(0)
    data, indices = rng.random(shape), rng.integers(0, 40, inner)
    chunks = tuple(4 if d == axis else n for d, n in enumerate(shape))

    blocks, _ = gathering(data, indices, chunks, axis, batch_dims=batch_dims)

    pairs = zip(data, indices, strict=True) if batch_dims else [(data, indices)]
    expected = np.stack([np.take(one, other, 0) for one, other in pairs]).reshape(blocks.shape)
    assert (blocks.block(everything(blocks.shape)) == expected).all()


def test_elements_with_an_index_each_are_copied_piece_by_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gathercli.compute.blocks.SCATTERED_CELLS", 7)
    rng = np.random.default_rng(0)
    data, indices = rng.random((3, 40, 2)), rng.integers(0, 40, (3, 30, 2))
    chunks = Chunks(data, (3, 4, 2))
    points = Tensor(dtype_of(indices.dtype), indices)  # type: ignore[arg-type]
    op = find("onnx-13", "gather-elements").op
    call = ops.bind(op, Operand.of(chunks), Operand.of(points), axis=1)

    blocks = GatherBlocks(BoundCall(call, chunks, points))

    expected = np.take_along_axis(data, indices, 1)
    assert (blocks.block(everything(blocks.shape)) == expected).all()


@pytest.mark.parametrize(
    ("indices", "spans"),
    [
        ([13, 99, 11], [(11, 14)]),  # 99 is filled
        ([7, 99, 5], [(5, 8)]),
        ([19, 20], [(19, 20), (20, 21)]),
        ([25, 3, 24, 99, 3], [(3, 4), (24, 26)]),
    ],
)
def test_of_each_chunk_only_the_span_of_its_positions_is_read(
    indices: list[int], spans: list[tuple[int, int]]
) -> None:
    blocks, data = gathering(np.arange(60).reshape(30, 2), np.array(indices), (10, 2))

    blocks.block(everything(blocks.shape))

    assert data.boxes == [(span, (0, 2)) for span in spans]


def test_the_cost_of_a_box_has_its_indices_its_chunks_and_those_of_each_thread() -> None:
    blocks, data = gathering(np.zeros((100, 4)), np.zeros(1000, np.int64), (10, 4))
    few, all_chunks = (((0, count), (0, 4)) for count in (3, 1000))

    costs = blocks.cost(few, 1), blocks.cost(few, 3), blocks.cost(all_chunks, 1)

    chunk, piece = 10 * 4 * 8, 8 + 8 * 2
    each = [
        CHUNK_COPIES * chunk + min(count * 4 * 8, SCATTERED_CELLS * piece) for count in (3, 1000)
    ]
    assert costs[0] == 3 * (4 * 8 + INDEX_BYTES + PART_BYTES) + each[0]
    assert costs[1] - costs[0] == 2 * each[0]
    assert costs[2] == 1000 * (4 * 8 + INDEX_BYTES) + 10 * PART_BYTES + each[1]
    assert CopyBlocks(data).cost(few, 3) == 3 * 4 * 8 + 3 * CHUNK_COPIES * chunk


def test_the_cost_of_a_box_has_the_chunks_of_its_indices_if_they_take_more() -> None:
    data, indices = Chunks(np.zeros(4), (2,)), Chunks(np.zeros(1 << 20, np.int64), (1 << 20,))
    operands = (Operand.of(each) for each in (data, indices))
    call = ops.bind(find("openvino-8", "gather").op, *operands, axis=0)

    cost = GatherBlocks(BoundCall(call, data, indices)).cost(((0, 2),), 1)

    assert cost == 2 * 8 + CHUNK_COPIES * (8 << 20)


def test_the_chunks_of_an_output_are_as_large_as_those_of_the_data() -> None:
    blocks, _ = gathering(np.zeros((100, 40)), np.zeros((5, 1000), np.int64), (10, 20))

    assert blocks.choose_chunks() == (1, 10, 20)


# Tuples


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

    _, boxes = cut_boxes(blocks, (200, 100), 3_000_000, 1)

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
