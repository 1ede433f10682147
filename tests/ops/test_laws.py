"""Random calls beside the oracles, and the laws that they obey."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gathercli
from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.result import GatherResult
from gathercli.compute.run import run_arrays as run
from gathercli.compute.tensor import Tensor
from gathercli.ops import FAMILIES
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import dtype
from gathercli.spec.shapes import product
from tests import oracle, oracle_nd
from tests.random_calls import (
    AXIS_ROWS,
    OPAQUE,
    TUPLE_ROWS,
    Case,
    Dice,
    amply,
    any_case,
    as_compared,
    as_dimensions,
    assert_as_the_oracle_says,
    assert_same,
    assert_same_outcome,
    blurred,
    called,
    every_axis_row,
    every_row,
    filled,
    legal_case,
    moderately,
    oracle_answer,
    outcome,
    partly_known,
    seeds,
)

if TYPE_CHECKING:
    from gathercli.spec.op import Op
    from tests.conftest import Array
    from tests.random_calls import Sizes

GATHERS: Final = [op for op in AXIS_ROWS if not op.elementwise]
every_gather = pytest.mark.parametrize("op", GATHERS, ids=str)
every_batched = pytest.mark.parametrize(
    "op", [op for op in (*GATHERS, *TUPLE_ROWS) if op.has_batch_dims], ids=str
)

sizes = st.integers(0, 4)


@every_row
@amply
@given(seed=seeds)
def test_every_row_answers_or_refuses_as_the_oracle_does(op: Op, seed: int) -> None:
    assert_as_the_oracle_says(op, any_case(op, Dice(seed)))


@every_row
@moderately
@given(seed=seeds)
def test_every_legal_call_is_answered_as_the_oracle_does(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))

    assert_same(called(op, case), oracle_answer(op, case))


def test_the_oracles_know_every_row_and_no_other() -> None:
    known = {*oracle.VERSIONS, *oracle_nd.VERSIONS, oracle_nd.GATHER_TREE}

    assert known == {op.full_name for op in gathercli.OPERATORS}


EXTREMES: Final = [
    ("int8", -1),
    ("int8", -128),
    ("int8", 127),
    ("uint8", 255),
    ("int16", -(2**15)),
    ("uint16", 2**16 - 1),
    ("int32", -(2**31)),
    ("int32", 2**31 - 1),
    ("uint32", 2**32 - 1),
    ("int64", 2**32),
    ("int64", -(2**32)),
    ("int64", -(2**63)),
    ("int64", 2**63 - 1),
    ("uint64", 2**63),
    ("uint64", 2**64 - 1),
    ("uint64", 2**64 - 200),
]


@pytest.mark.no_cover
@pytest.mark.parametrize("out_of_range", ["spec", "error", "zero", "clamp", "wrap"])
@pytest.mark.parametrize("negative", ["spec", "wrap", "error"])
@pytest.mark.parametrize("size", [200, 3, 1, 0])
@every_row
def test_extreme_indices_are_treated_as_exact_integers(
    op: Op, size: int, negative: str, out_of_range: str
) -> None:
    attributes = oracle.Attributes(None if op.tuples else 0, 0, negative, out_of_range)
    data: Array = np.arange(2 * size, dtype=np.int16).reshape(2, size)
    data = data if op.tuples else data[0]
    for indices_type, value in EXTREMES:
        indices = np.array([[1, value]] if op.tuples else [value], indices_type)
        assert_as_the_oracle_says(op, Case(data, "int16", indices, indices_type, attributes))


def test_an_int8_minus_one_picks_the_last_of_200_rows() -> None:
    rows = np.arange(200)

    assert gathercli.gather(rows, np.array([-1], np.int8)).tolist() == [199]


def test_a_uint64_2_64_minus_1_is_not_minus_one() -> None:
    assert gathercli.gather([1, 2, 3], np.array([2**64 - 1], np.uint64)).tolist() == [0]


def test_a_big_endian_uint64_2_64_minus_1_is_not_minus_one() -> None:
    assert gathercli.gather([1, 2, 3], np.array([2**64 - 1], ">u8")).tolist() == [0]


@every_gather
@moderately
@given(shape=st.lists(sizes, min_size=1, max_size=4), seed=seeds, drawn=st.data())
def test_gathering_every_index_in_order_gives_the_data(
    op: Op, shape: list[int], seed: int, drawn: st.DataObject
) -> None:
    axis = drawn.draw(st.integers(-len(shape), len(shape) - 1))
    x = filled(tuple(shape), "int32", seed)

    same = gathercli.gather(x, np.arange(x.shape[axis]), axis=axis, version=op.id)

    assert_same(same, x)


@every_gather
@moderately
@given(
    x=st.lists(st.integers(-99, 99), min_size=1, max_size=5),
    i_shape=st.integers(1, 5),
    k_shape=st.lists(sizes, max_size=3).map(tuple),
    drawn=st.data(),
)
def test_gathering_twice_is_gathering_the_gathered_indices(
    op: Op, x: list[int], i_shape: int, k_shape: Sizes, drawn: st.DataObject
) -> None:
    i = np.array(drawn.draw(lists_of(st.integers(0, len(x) - 1), i_shape)))
    k = np.array(drawn.draw(lists_of(st.integers(0, i_shape - 1), product(k_shape))), np.int64)
    k = k.reshape(k_shape)

    once = gathercli.gather(gathercli.gather(x, i, version=op.id), k, version=op.id)

    assert_same(once, gathercli.gather(x, i[k], version=op.id))


@every_batched
@moderately
@given(seed=seeds)
def test_a_batch_is_the_stack_of_plain_gathers(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))
    axis, b = case.attributes.axis, case.attributes.batch_dims
    answer = as_compared(called(op, case))
    batches = case.data.shape[:b]
    if op.flattens_batch:
        answer = answer.reshape((*batches, *answer.shape[min(b, 1) :]))

    for batch in np.ndindex(*batches):
        attributes = oracle.Attributes(None if axis is None else axis - b, 0)
        data, indices = np.asarray(case.data[batch]), np.asarray(case.indices[batch])
        if op.tuples and not indices.ndim:
            continue
        plain = replace(case, data=data, indices=indices, attributes=attributes)
        assert_same(called(op, plain), answer[(*batch, ...)])


@every_gather
@moderately
@given(
    shape=st.lists(sizes, min_size=1, max_size=3),
    picks=st.lists(st.integers(-9, 9), max_size=6),
    seed=seeds,
    drawn=st.data(),
)
def test_zero_filling_is_taking_from_data_with_one_more_slice_of_zeros(
    op: Op, shape: list[int], picks: list[int], seed: int, drawn: st.DataObject
) -> None:
    axis = drawn.draw(st.integers(0, len(shape) - 1))
    x = filled(tuple(shape), "int16", seed)
    s = x.shape[axis]
    padded = np.concatenate([x, np.zeros_like(np.take(x, [0] if s else [], axis))], axis)
    if s == 0:
        padded = np.zeros([1 if d == axis else n for d, n in enumerate(shape)], np.int16)
    into_padded = [k if 0 <= k < s else k + s if -s <= k < 0 else s for k in picks]

    got = gathercli.gather(
        x, np.array(picks, np.int64), axis=axis, version=op.id, negative="wrap", out_of_range="zero"
    )

    assert_same(got, np.take(padded, np.array(into_padded, np.int64), axis))


@every_gather
@moderately
@given(rows=st.integers(1, 5), columns=st.integers(0, 4), count=st.integers(0, 6), drawn=st.data())
def test_gathering_rows_is_multiplying_by_one_hot_rows(
    op: Op, rows: int, columns: int, count: int, drawn: st.DataObject
) -> None:
    x = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns) - 3
    i = np.array(drawn.draw(lists_of(st.integers(0, rows - 1), count)), np.int64)
    one_hot = (i[:, None] == np.arange(rows)).astype(np.float64)
    np.testing.assert_array_equal(gathercli.gather(x, i, version=op.id), one_hot @ x)


def lists_of(elements: st.SearchStrategy[int], size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(elements, min_size=size, max_size=size)


def bound(op: Op, case: Case) -> GatherResult:
    data = Tensor(dtype(case.data_type), case.data)
    indices = Tensor(dtype(case.indices_type), case.indices)
    call = ops.bind(op, Operand.of(data), Operand.of(indices), **asdict(case.attributes))
    output = run(BoundCall(call, data, indices))
    assert isinstance(output, GatherResult)
    return output


def with_fills(case: Case) -> Case:
    """Let a legal call fill its negative indices, and those at the end of the axis, with zeros."""
    axis, b = case.attributes.axis, case.attributes.batch_dims
    addressed = slice(b, b + case.indices.shape[-1]) if axis is None else slice(axis, axis + 1)
    ends = case.indices + (case.indices == np.array(case.data.shape[addressed], np.int64) - 1)
    filling = replace(case.attributes, out_of_range="zero")
    return replace(case, indices=ends, attributes=filling)


@every_row
@moderately
@given(seed=seeds)
def test_reading_data_where_the_sources_point_gives_the_output(op: Op, seed: int) -> None:
    case = with_fills(legal_case(op, Dice(seed)))
    run = bound(op, case)
    whole = run.whole().array
    cells = np.arange(whole.size)
    at = FAMILIES[op.family].sources(
        run.bound.call, {"indices": run._points["indices"].whole()}, cells
    )

    padded = np.append(case.data.reshape(-1), np.zeros(1, whole.dtype))

    assert at.shape == cells.shape
    assert_same(padded[at].reshape(whole.shape), whole)


@every_row
@moderately
@given(seed=seeds, cells=st.integers(1, 9))
def test_the_blocks_side_by_side_are_the_whole(op: Op, seed: int, cells: int) -> None:
    run = bound(op, with_fills(legal_case(op, Dice(seed))))
    blocks = [block.copy() for block in run.blocks(cells)]
    assert all(block.shape == (cells,) for block in blocks[:-1])
    joined = np.concatenate([np.empty(0, run.storage), *blocks])
    assert_same(joined.reshape(run.shape), run.whole().array)


@every_row
@moderately
@given(seed=seeds)
def test_the_inferred_shape_is_the_shape_of_the_run(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))

    inferred = inferred_shape(op, case, case.data.shape, case.indices.shape)

    assert inferred == called(op, case).shape
    assert inferred.sizes == called(op, case).shape


def inferred_shape(op: Op, case: Case, *shapes: Any, **attributes: Any) -> gathercli.Shape:
    how = {"axis": case.attributes.axis, "batch_dims": case.attributes.batch_dims} | attributes
    return gathercli.infer_shape(op.family, *shapes, version=op.id, **how)


@every_row
@amply
@given(seed=seeds)
def test_a_shape_inferred_from_partly_known_shapes_admits_that_of_the_run(
    op: Op, seed: int
) -> None:
    dice = Dice(seed)
    case = legal_case(op, dice)
    data, indices = blurred(case.data.shape, dice), blurred(case.indices.shape, dice)
    if op.tuples and indices is not None and dice.number(0, 2):
        indices[-1] = case.indices.shape[-1]
    axis: int | str | None = case.attributes.axis
    attr = op.attr("axis")
    if attr is not None and attr.is_input and dice.number(0, 2) == 0:
        axis = "unknown"
    b = case.attributes.batch_dims

    inferred = inferred_shape(op, case, oracle.text(data), oracle.text(indices), axis=axis)

    answer = (
        oracle_nd.infer(op.full_name, data, indices, b)
        if op.tuples
        else oracle.infer(op.full_name, data, indices, axis, b)
    )
    shape, symbols = called(op, case).shape, {f"S{n}": n for n in range(300)}
    assert str(inferred) == oracle.text(answer)
    assert oracle.admits(answer, shape, symbols)
    assert oracle.admits(as_dimensions(inferred), shape, symbols)


@every_axis_row
@amply
@given(seed=seeds)
def test_inference_from_any_shapes_is_that_of_the_oracle(op: Op, seed: int) -> None:
    dice = Dice(seed)
    data, indices = partly_known(dice), partly_known(dice)
    axis = dice.one_of((0, 0, 1, 1, 2, -1, -2, -3, 3, "unknown", None))
    batch_dims = dice.one_of((0, 0, 0, 1, 1, 2, -1, -2, 3))

    def inferred() -> str:
        return str(
            gathercli.infer_shape(
                op.family,
                oracle.text(data),
                oracle.text(indices),
                axis=axis,
                batch_dims=batch_dims,
                version=op.id,
            )
        )

    def answer() -> str:
        return oracle.text(oracle.infer(op.full_name, data, indices, axis, batch_dims))

    assert outcome(inferred) == outcome(answer)


@every_axis_row
@moderately
@given(seed=seeds)
def test_the_formula_of_a_row_gives_the_shape_of_the_run(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))
    meaning = {
        "data": case.data.shape,
        "indices": case.indices.shape,
        "axis": case.attributes.axis,
        "batch_dims": case.attributes.batch_dims,
    }

    shape = eval(op.shape, {"__builtins__": {}}, meaning)  # noqa: S307  (the row's own formula)

    assert shape == called(op, case).shape


@every_axis_row
@moderately
@given(seed=seeds)
def test_the_equation_of_a_call_gives_each_cell(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))
    run = bound(op, case)
    whole = run.whole().array
    cell, source = FAMILIES[op.family].equation(run.bound.call).split(" = ")
    names = cell.removeprefix("out").strip("[]").split(", ") if whole.ndim else []
    assert len(names) == whole.ndim
    in_front = case.indices % max(1, case.data.shape[case.attributes.axis or 0])
    for c in np.ndindex(whole.shape):
        meaning = dict(zip(names, c, strict=True), data=case.data, indices=in_front)
        value = eval(source, {"__builtins__": {}}, meaning)  # noqa: S307  (the row's own equation)
        assert np.asarray(value).tobytes() == whole[c].tobytes()


@every_row
@moderately
@given(seed=seeds)
def test_byte_order_and_memory_order_change_nothing(op: Op, seed: int) -> None:
    case = any_case(op, Dice(seed))
    big = np.dtype(case.data.dtype).newbyteorder(">")
    data = case.data if case.data_type in OPAQUE else case.data.astype(big)
    indices = case.indices.astype(case.indices.dtype.newbyteorder(">"))
    if case.indices_type in OPAQUE:
        indices = case.indices

    other = replace(case, data=data.copy(order="F"), indices=indices.copy(order="F"))

    assert_same_outcome(
        outcome(lambda: called(op, other)), outcome(lambda: oracle_answer(op, case))
    )
