"""Laws of gathering by tuples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given

import gathercli
from tests.random_calls import (
    TUPLE_ROWS,
    Case,
    Dice,
    as_compared,
    assert_same,
    called,
    every_tuple_row,
    filled,
    legal_case,
    moderately,
    seeds,
)

if TYPE_CHECKING:
    from gathercli.spec.op import Op
    from tests.conftest import Array


every_batched_tuple_row = pytest.mark.parametrize(
    "op", [op for op in TUPLE_ROWS if op.has_batch_dims], ids=str
)


def gather_nd(op: Op, data: Array, indices: Array, **options: Any) -> Array:
    result: Array = gathercli.gather_nd(data, indices, version=op.id, **options)
    return result


def plain_case(op: Op, dice: Dice) -> Case:
    """Draw a legal call without batches."""
    while (case := legal_case(op, dice)).attributes.batch_dims:
        pass
    return case


def tuples(indices: Array) -> tuple[Array, ...]:
    """Return the components as numpy's advanced indexing takes them."""
    return tuple(indices[..., j] for j in range(indices.shape[-1]))


@every_tuple_row
@moderately
@given(seed=seeds)
def test_tuples_of_one_index_gather_along_the_first_axis(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array((dice.number(1, 4), *dice.sizes(dice.number(0, 2))), "int32")
    shape = dice.sizes(dice.number(0, 3))
    i = np.array([dice.number(0, len(x) - 1) for _ in range(int(np.prod(shape)))], np.int64)
    i = i.reshape(shape)

    assert_same(gather_nd(op, x, i[..., None]), gathercli.gather(x, i, axis=0))


@every_batched_tuple_row
@moderately
@given(seed=seeds)
def test_tuples_of_one_index_in_a_batch_gather_along_the_axis_behind_it(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array((*dice.sizes(1), dice.number(1, 4), *dice.sizes(1)), "int32")
    shape = (x.shape[0], *dice.sizes(dice.number(0, 2)))
    i = np.array([dice.number(0, x.shape[1] - 1) for _ in range(int(np.prod(shape)))], np.int64)
    i = i.reshape(shape)

    by_axis = gathercli.gather(x, i, axis=1, batch_dims=1)

    assert_same(gather_nd(op, x, i[..., None], batch_dims=1), by_axis)


@every_tuple_row
@moderately
@given(seed=seeds)
def test_gathering_is_advanced_indexing_by_the_components(op: Op, seed: int) -> None:
    case = plain_case(op, Dice(seed))
    components = tuples(case.indices)
    plain = (
        case.data[components]
        if components
        else np.broadcast_to(case.data, case.indices.shape[:-1] + case.data.shape)
    )

    assert_same(as_compared(called(op, case)), np.asarray(plain, case.data.dtype))


@every_batched_tuple_row
@moderately
@given(seed=seeds)
def test_flattened_batches_differ_from_others_in_their_dimensions_alone(op: Op, seed: int) -> None:
    flattening = next(op for op in TUPLE_ROWS if op.flattens_batch)
    case = legal_case(flattening, Dice(seed))
    case = replace(case, data_type="int32", data=filled(case.data.shape, "int32", seed))
    if case.indices.shape[-1] < op.shortest_tuple:
        return

    whole, flat = called(op, case), called(flattening, case)

    assert whole.tobytes() == flat.tobytes()


@every_tuple_row
@moderately
@given(seed=seeds)
def test_gathering_every_coordinate_in_order_gives_the_data(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(dice.sizes(dice.number(1, 4)), "int32")
    k = dice.number(1, x.ndim)
    own = np.moveaxis(np.indices(x.shape[:k]), 0, -1)

    assert_same(gather_nd(op, x, own), x)


@every_tuple_row
@moderately
@given(seed=seeds)
def test_gathering_twice_is_gathering_the_gathered_tuples(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(tuple(dice.number(1, 4) for _ in range(dice.number(1, 3))), "int32")
    k = dice.number(1, x.ndim)
    lead = tuple(dice.number(1, 4) for _ in range(dice.number(1, 2)))
    i = np.zeros((*lead, k), np.int64)
    for c in np.ndindex(i.shape):
        i[c] = dice.number(0, x.shape[c[-1]] - 1)
    j = np.zeros((*dice.sizes(dice.number(0, 2)), len(lead)), np.int64)
    for c in np.ndindex(j.shape):
        j[c] = dice.number(0, lead[c[-1]] - 1)

    nested = gather_nd(op, gather_nd(op, x, i), j)

    assert_same(nested, gather_nd(op, x, gather_nd(op, i, j)))


@every_tuple_row
@moderately
@given(seed=seeds)
def test_zero_filling_is_gathering_from_data_with_a_margin_of_zeros(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(dice.sizes(dice.number(1, 3)), "int16")
    k = dice.number(1, x.ndim)
    picks = np.zeros((*dice.sizes(dice.number(0, 2)), k), np.int64)
    for c in np.ndindex(picks.shape):
        picks[c] = dice.number(-6, 6)
    padded = np.pad(x, [(0, 1 if d < k else 0) for d in range(x.ndim)])
    sizes = np.array(x.shape[:k], np.int64)
    front = np.where(picks < 0, picks + sizes, picks)
    front = np.where((front < 0) | (front >= sizes), sizes, front)

    got = gather_nd(op, x, picks, negative="wrap", out_of_range="zero")

    assert_same(got, np.asarray(padded[tuples(front)]))


@pytest.mark.parametrize("op", [op for op in TUPLE_ROWS if not op.shortest_tuple], ids=str)
@moderately
@given(seed=seeds)
def test_tuples_of_no_index_copy_the_data(op: Op, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(dice.sizes(dice.number(1, 3)), "float32")
    lead = dice.sizes(dice.number(0, 2))

    got = gather_nd(op, x, np.zeros((*lead, 0), np.int64))

    assert_same(got, np.broadcast_to(x, lead + x.shape))


def test_empty_tuples_take_no_memory_however_many_they_are() -> None:
    tuples = np.zeros((1 << 40, 0), np.int64)

    assert [*gathercli.gather_nd(np.zeros((0, 3)), tuples).shape] == [1 << 40, 0, 3]
    assert gathercli.gather_nd([7, 8], tuples[:3]).tolist() == [[7, 8]] * 3
    with pytest.raises(gathercli.LimitError):
        gathercli.gather_nd([7, 8], np.zeros((1 << 59, 0), np.int64))
