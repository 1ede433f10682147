"""Random calls of GatherND and GatherTree beside the oracle, and the laws they obey."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

import gathercli
from tests import oracle, oracle_nd
from tests.test_laws import (
    DATA_TYPES,
    EXTREMES,
    INTEGERS,
    NEGATIVE,
    NO_INDICES,
    OPAQUE,
    OUT_OF_RANGE,
    Case,
    Dice,
    amply,
    any_index,
    as_compared,
    as_dimensions,
    as_passed,
    assert_same,
    assert_same_outcome,
    blurred,
    filled,
    moderately,
    outcome,
    seeds,
)

if TYPE_CHECKING:
    from tests.test_laws import Array, Sizes

ROWS: Final = tuple(oracle_nd.VERSIONS)
BATCHED: Final = tuple(row for row in ROWS if oracle_nd.VERSIONS[row].batch_dims)
every_row = pytest.mark.parametrize("row", ROWS)
every_batched = pytest.mark.parametrize("row", BATCHED)


def version_of(row: str) -> str:
    framework, _, name = row.partition(".")
    return f"{framework}-{name.partition('-')[2]}"


# GatherND


def gather_nd(row: str, data: Array, indices: Array, **options: Any) -> Array:
    result: Array = gathercli.gather_nd(data, indices, version=version_of(row), **options)
    return result


def answer_of(row: str, case: Case) -> Array:
    how = case.attributes
    return gather_nd(
        row,
        as_passed(case.data, case.data_type),
        as_passed(case.indices, case.indices_type),
        batch_dims=how.batch_dims,
        negative=how.negative,
        out_of_range=how.out_of_range,
    )


def expected(row: str, case: Case) -> Array:
    return oracle_nd.run(
        row,
        case.data,
        case.indices,
        case.attributes,
        data_type=case.data_type,
        indices_type=case.indices_type,
    )


def assert_as_the_oracle_says(row: str, case: Case) -> None:
    assert_same_outcome(outcome(lambda: answer_of(row, case)), outcome(lambda: expected(row, case)))


def fitting_shapes(row: str, dice: Dice) -> tuple[Sizes, Sizes, int]:
    """Draw shapes of both inputs that agree, and batch_dims."""
    version = oracle_nd.VERSIONS[row]
    rank = dice.one_of((1, 2, 2, 3, 3, 4))
    data = dice.sizes(rank)
    b = dice.number(0, rank - 1) if version.batch_dims else 0
    k = dice.number(version.depth if dice.number(0, 5) else 1, rank - b)
    if b < rank and dice.number(0, 15) == 0:
        data = tuple(200 if d == b else n for d, n in enumerate(data))
    return data, (*data[:b], *dice.sizes(dice.number(0, 2)), k), b


def flawed_shapes(row: str, dice: Dice) -> tuple[Sizes, Sizes, int]:
    """Draw shapes and batch_dims, where something often does not fit."""
    data, indices, b = fitting_shapes(row, dice)
    flaw = dice.one_of((*("none",) * 12, "b", "b", "depth", "indices", "data", "0-D", "size"))
    if flaw == "b":
        b = dice.number(-2, 5)
    elif flaw == "depth":
        indices = (*indices[:-1], dice.number(0, 5))
    elif flaw == "indices":
        indices = dice.sizes(dice.number(0, 4))
    elif flaw == "data":
        data = dice.sizes(dice.number(0, 4))
    elif flaw == "0-D":
        data, indices = dice.one_of((((), indices), (data, ())))
    elif flaw == "size":
        changed = dice.number(0, 3)
        indices = tuple(
            max(n + (d == changed) * dice.one_of((-1, 1)), 0) for d, n in enumerate(indices)
        )
    return data, indices, b


def any_case(row: str, dice: Dice) -> Case:
    """Draw any call, legal or not."""
    version = oracle_nd.VERSIONS[row]
    data_shape, shape, b = flawed_shapes(row, dice)
    indices_type = dice.one_of(sorted(version.indices_types))
    if dice.number(0, 11) == 0:
        indices_type = dice.one_of((*NO_INDICES, *INTEGERS))
    if indices_type in INTEGERS:
        calm = bool(dice.number(0, 2))
        signed = version.signed and indices_type.startswith("int")
        indices = np.zeros(shape, indices_type)
        for c in np.ndindex(shape):
            axis = b + c[-1] if c else 0
            s = data_shape[axis] if 0 <= axis < len(data_shape) else 3
            if calm and s:
                indices[c] = dice.number(max(-s, -128) if signed else 0, min(s - 1, 127))
            else:
                indices[c] = any_index(s, indices_type, dice)
    else:
        indices = filled(shape, indices_type, seed=0)
    data_type = dice.one_of(DATA_TYPES)
    attributes = oracle.Attributes(None, b, dice.one_of(NEGATIVE), dice.one_of(OUT_OF_RANGE))
    return Case(dice.array(data_shape, data_type), data_type, indices, indices_type, attributes)


def legal_case(row: str, dice: Dice) -> Case:
    """Draw a call that the row answers, without options."""
    data_shape, shape, b = fitting_shapes(row, dice)
    k = shape[-1]
    data_shape = tuple(n or 2 if b <= d < b + k else n for d, n in enumerate(data_shape))
    signed = oracle_nd.VERSIONS[row].signed
    indices = np.zeros(shape, np.int64)
    for c in np.ndindex(shape):
        s = data_shape[b + c[-1]]
        indices[c] = dice.number(-s if signed else 0, s - 1)
    takes_all = row.startswith("openvino.")
    types = DATA_TYPES if takes_all else [t for t in DATA_TYPES if t not in OPAQUE]
    data_type = dice.one_of(types)
    attributes = oracle.Attributes(None, b)
    return Case(dice.array(data_shape, data_type), data_type, indices, "int64", attributes)


def plain_case(row: str, dice: Dice) -> Case:
    """Draw a legal call without batches."""
    while (case := legal_case(row, dice)).attributes.batch_dims:
        pass
    return case


def tuples(indices: Array) -> tuple[Array, ...]:
    """Return the components as numpy's advanced indexing takes them."""
    return tuple(indices[..., j] for j in range(indices.shape[-1]))


@every_row
@amply
@given(seed=seeds)
def test_every_row_answers_or_refuses_as_the_oracle_does(row: str, seed: int) -> None:
    assert_as_the_oracle_says(row, any_case(row, Dice(seed)))


@every_row
@moderately
@given(seed=seeds)
def test_every_legal_call_is_answered_as_the_oracle_does(row: str, seed: int) -> None:
    case = legal_case(row, Dice(seed))

    assert_same(answer_of(row, case), expected(row, case))


@pytest.mark.no_cover
@pytest.mark.parametrize("out_of_range", ["spec", "error", "zero", "clamp", "wrap"])
@pytest.mark.parametrize("negative", ["spec", "wrap", "error"])
@pytest.mark.parametrize("size", [200, 3, 1, 0])
@every_row
def test_extreme_components_are_treated_as_exact_integers(
    row: str, size: int, negative: str, out_of_range: str
) -> None:
    attributes = oracle.Attributes(None, 0, negative, out_of_range)
    data = np.arange(2 * size, dtype=np.int16).reshape(2, size)
    takes = oracle_nd.VERSIONS[row].indices_types
    for indices_type, value in ((t, value) for t, value in EXTREMES if t in takes):
        indices = np.array([[1, value]], indices_type)
        assert_as_the_oracle_says(row, Case(data, "int16", indices, indices_type, attributes))


@every_row
@moderately
@given(seed=seeds)
def test_tuples_of_one_index_gather_along_the_first_axis(row: str, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array((dice.number(1, 4), *dice.sizes(dice.number(0, 2))), "int32")
    shape = dice.sizes(dice.number(0, 3))
    i = np.array([dice.number(0, len(x) - 1) for _ in range(int(np.prod(shape)))], np.int64)
    i = i.reshape(shape)

    assert_same(gather_nd(row, x, i[..., None]), gathercli.gather(x, i, axis=0))


@every_batched
@moderately
@given(seed=seeds)
def test_tuples_of_one_index_in_a_batch_gather_along_the_axis_behind_it(
    row: str, seed: int
) -> None:
    dice = Dice(seed)
    x = dice.array((*dice.sizes(1), dice.number(1, 4), *dice.sizes(1)), "int32")
    shape = (x.shape[0], *dice.sizes(dice.number(0, 2)))
    i = np.array([dice.number(0, x.shape[1] - 1) for _ in range(int(np.prod(shape)))], np.int64)
    i = i.reshape(shape)

    by_axis = gathercli.gather(x, i, axis=1, batch_dims=1)

    assert_same(gather_nd(row, x, i[..., None], batch_dims=1), by_axis)


@every_row
@moderately
@given(seed=seeds)
def test_gathering_is_advanced_indexing_by_the_components(row: str, seed: int) -> None:
    case = plain_case(row, Dice(seed))
    components = tuples(case.indices)
    plain = (
        case.data[components]
        if components
        else np.broadcast_to(case.data, case.indices.shape[:-1] + case.data.shape)
    )

    assert_same(as_compared(answer_of(row, case)), np.asarray(plain, case.data.dtype))


@every_batched
@moderately
@given(seed=seeds)
def test_a_batch_is_the_stack_of_plain_gathers(row: str, seed: int) -> None:
    case = legal_case(row, Dice(seed))
    b = case.attributes.batch_dims
    got = as_compared(answer_of(row, case))
    batches = case.data.shape[:b]
    if oracle_nd.VERSIONS[row].flattens:
        got = got.reshape((*batches, *got.shape[min(b, 1) :]))

    for batch in np.ndindex(*batches):
        if case.indices[batch].ndim:
            data = as_passed(case.data[batch], case.data_type)
            assert_same(gather_nd(row, data, case.indices[batch]), got[(*batch, ...)])


@every_batched
@moderately
@given(seed=seeds)
def test_versions_5_and_8_of_openvino_differ_in_the_batch_dimensions_alone(
    row: str, seed: int
) -> None:
    case = legal_case("openvino.GatherND-5", Dice(seed))
    case = replace(case, data_type="int32", data=filled(case.data.shape, "int32", seed))
    if case.indices.shape[-1] < oracle_nd.VERSIONS[row].depth:
        return

    whole, flat = answer_of(row, case), answer_of("openvino.GatherND-5", case)

    assert whole.tobytes() == flat.tobytes()


@every_row
@moderately
@given(seed=seeds)
def test_gathering_every_coordinate_in_order_gives_the_data(row: str, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(dice.sizes(dice.number(1, 4)), "int32")
    k = dice.number(1, x.ndim)
    own = np.moveaxis(np.indices(x.shape[:k]), 0, -1)

    assert_same(gather_nd(row, x, own), x)


@every_row
@moderately
@given(seed=seeds)
def test_gathering_twice_is_gathering_the_gathered_tuples(row: str, seed: int) -> None:
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

    nested = gather_nd(row, gather_nd(row, x, i), j)

    assert_same(nested, gather_nd(row, x, gather_nd(row, i, j)))


@every_row
@moderately
@given(seed=seeds)
def test_zero_filling_is_gathering_from_data_with_a_margin_of_zeros(row: str, seed: int) -> None:
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

    got = gather_nd(row, x, picks, negative="wrap", out_of_range="zero")

    assert_same(got, np.asarray(padded[tuples(front)]))


@pytest.mark.parametrize("row", ["openvino.GatherND-5", "openvino.GatherND-8"])
@moderately
@given(seed=seeds)
def test_tuples_of_no_index_copy_the_data(row: str, seed: int) -> None:
    dice = Dice(seed)
    x = dice.array(dice.sizes(dice.number(1, 3)), "float32")
    lead = dice.sizes(dice.number(0, 2))

    got = gather_nd(row, x, np.zeros((*lead, 0), np.int64))

    assert_same(got, np.broadcast_to(x, lead + x.shape))


@every_row
@moderately
@given(seed=seeds)
def test_byte_order_and_memory_order_change_nothing(row: str, seed: int) -> None:
    case = any_case(row, Dice(seed))
    big = np.dtype(case.data.dtype).newbyteorder(">")
    data = case.data if case.data_type in OPAQUE else case.data.astype(big)
    indices = case.indices.astype(case.indices.dtype.newbyteorder(">"))
    if case.indices_type in OPAQUE:
        indices = case.indices
    other = replace(case, data=data.copy(order="F"), indices=indices.copy(order="F"))

    assert_same_outcome(
        outcome(lambda: answer_of(row, other)), outcome(lambda: expected(row, case))
    )


@every_row
@amply
@given(seed=seeds)
def test_a_shape_inferred_from_partly_known_shapes_admits_that_of_the_run(
    row: str, seed: int
) -> None:
    dice = Dice(seed)
    case = legal_case(row, dice)
    b = case.attributes.batch_dims
    data, indices = blurred(case.data.shape, dice), blurred(case.indices.shape, dice)
    if indices is not None and dice.number(0, 2):
        indices[-1] = case.indices.shape[-1]

    inferred = gathercli.infer_shape(
        "gather-nd",
        oracle.text(data),
        oracle.text(indices),
        batch_dims=b,
        version=version_of(row),
    )

    answer = oracle_nd.infer(row, data, indices, b)
    symbols = {f"S{n}": n for n in range(300)}
    assert str(inferred) == oracle.text(answer)
    assert oracle.admits(answer, answer_of(row, case).shape, symbols)
    assert oracle.admits(as_dimensions(inferred), answer_of(row, case).shape, symbols)


# GatherTree

TREE_TYPES: Final = sorted(oracle_nd.TREE_TYPES)
FRACTIONAL: Final = tuple(t for t in TREE_TYPES if "float" in t)


@dataclass(frozen=True)
class Tree:
    """Arguments of one call of GatherTree, of plain types or bfloat16."""

    step_ids: Array
    parent_ids: Array
    max_seq_len: Array
    end_token: Array

    @property
    def inputs(self) -> tuple[Array, Array, Array, Array]:
        return self.step_ids, self.parent_ids, self.max_seq_len, self.end_token


def gather_tree(tree: Tree) -> Array:
    result: Array = gathercli.gather_tree(*tree.inputs)
    return result


def expected_tree(tree: Tree) -> Array:
    return as_compared(oracle_nd.gather_tree(*tree.inputs))


def as_type(values: object, type_name: str) -> Array:
    held = ml_dtypes.bfloat16 if type_name == "bfloat16" else np.dtype(type_name)
    return np.asarray(values).astype(held)


def legal_tree(dice: Dice, type_name: str) -> Tree:
    """Draw a call that is answered, with values in the unused places that would be refused."""
    t, b, w = (dice.one_of((0, 1, 2, 2, 3, 4)) for _ in range(3))
    tokens = [dice.number(0, 6) for _ in range(t * b * w)]
    parents = np.array([dice.number(0, max(w - 1, 0)) for _ in tokens], np.int64).reshape(t, b, w)
    lengths = [dice.number(0, t + 2) for _ in range(b)]
    for batch, length in enumerate(lengths):
        parents[min(length, t) :, batch] = dice.number(0, 99)
    parents[:1] = dice.number(0, 99)
    return Tree(
        as_type(tokens, type_name).reshape(t, b, w),
        as_type(parents, type_name),
        as_type(lengths, type_name),
        as_type(dice.number(0, 8), type_name),
    )


def any_tree(dice: Dice) -> Tree:
    """Draw any call, legal or not."""
    type_name = dice.one_of(TREE_TYPES)
    tree = legal_tree(dice, type_name)
    inputs = dict(zip(INPUTS, tree.inputs, strict=True))
    name = dice.one_of(INPUTS)
    array = inputs[name].copy()
    spot = tuple(dice.number(0, n - 1) for n in array.shape) if array.size else None
    flaw = dice.one_of(
        (*("none",) * 3, "parent", "parent", "type", "kind", "value", "value", "shape")
    )
    if flaw == "parent" and (parents := inputs["parent_ids"].copy()).size:
        width = parents.shape[2]
        at = tuple(dice.number(0, n - 1) for n in parents.shape)
        negative = () if type_name.startswith("uint") else (-1, -width)
        parents[at] = dice.one_of((width, width + 1, 100, *negative))
        inputs["parent_ids"] = parents
    elif flaw == "type":
        inputs[name] = as_type(array, dice.one_of(TREE_TYPES))
    elif flaw == "kind":
        kind = dice.one_of(("bool", "complex64", "str"))
        inputs = {each: value.astype(np.float64).astype(kind) for each, value in inputs.items()}
    elif flaw == "value" and spot is not None:
        values: tuple[float, ...] = (0,) if type_name.startswith("uint") else (-1,)
        if type_name in FRACTIONAL:
            values = (*values, 0.5, float("nan"), float("inf"), -0.0)
        array[spot] = dice.one_of(values)
        inputs[name] = array
    elif flaw == "shape":
        inputs[name] = np.ones([n + dice.number(0, 1) for n in array.shape], array.dtype)
        if dice.number(0, 2) == 0:
            inputs[name] = np.ones(dice.sizes(dice.number(0, 4)), array.dtype)
    return Tree(**inputs)


INPUTS: Final = ("step_ids", "parent_ids", "max_seq_len", "end_token")


@amply
@given(seed=seeds)
def test_a_tree_is_gathered_or_refused_as_by_the_oracle(seed: int) -> None:
    tree = any_tree(Dice(seed))

    assert_same_outcome(outcome(lambda: gather_tree(tree)), outcome(lambda: expected_tree(tree)))


@pytest.mark.parametrize("type_name", TREE_TYPES)
@moderately
@given(seed=seeds)
def test_every_numeric_type_gives_the_same_tree(type_name: str, seed: int) -> None:
    tree = legal_tree(Dice(seed), type_name)
    wide = Tree(*(as_type(array, "int64") for array in tree.inputs))

    assert_same(as_type(gather_tree(tree), "int64"), gather_tree(wide))


@moderately
@given(seed=seeds)
def test_a_batch_of_trees_is_the_stack_of_single_ones(seed: int) -> None:
    tree = legal_tree(Dice(seed), "int64")
    whole = gather_tree(tree)

    for batch in range(tree.step_ids.shape[1]):
        one = slice(batch, batch + 1)
        single = Tree(
            tree.step_ids[:, one], tree.parent_ids[:, one], tree.max_seq_len[one], tree.end_token
        )
        assert_same(gather_tree(single), whole[:, one].copy())


@moderately
@given(seed=seeds)
def test_beams_that_are_their_own_parents_stay_what_they_are(seed: int) -> None:
    dice = Dice(seed)
    x = dice.array((dice.number(0, 4), dice.number(0, 3), dice.number(1, 4)), "int64")
    own = np.broadcast_to(np.arange(x.shape[2]), x.shape)
    end = np.int64(0) if not (x == 0).any() else x.max() + 1

    got = gather_tree(Tree(x, own, np.full(x.shape[1], len(x)), np.asarray(end)))

    assert_same(got, x)


@moderately
@given(seed=seeds)
def test_a_tree_without_end_tokens_is_gather_elements_by_the_beams_followed_back(
    seed: int,
) -> None:
    dice = Dice(seed)
    tree = legal_tree(dice, "int64")
    steps, parents = tree.step_ids, tree.parent_ids
    full = replace(
        tree,
        parent_ids=parents % max(1, steps.shape[2]),
        max_seq_len=np.full(steps.shape[1], len(steps)),
        end_token=np.array(-1),
    )
    beams = np.empty_like(steps)
    at = np.broadcast_to(np.arange(steps.shape[2]), steps.shape[1:])
    for step in reversed(range(len(steps))):
        beams[step] = at
        at = np.take_along_axis(full.parent_ids[step], at, axis=1)

    by_beams = gathercli.gather_elements(steps, beams, axis=2)

    assert_same(gather_tree(full), by_beams)


@moderately
@given(seed=seeds)
def test_behind_the_first_end_token_and_the_length_all_is_the_end_token(seed: int) -> None:
    tree = legal_tree(Dice(seed), "int64")
    got = gather_tree(tree)

    ended = np.maximum.accumulate(got == tree.end_token, axis=0)
    beyond = np.arange(len(got))[:, None] >= tree.max_seq_len
    np.testing.assert_array_equal(got == tree.end_token, ended)
    assert (got[beyond] == tree.end_token).all()


@moderately
@given(seed=seeds)
def test_the_shape_of_a_tree_inferred_from_partly_known_shapes_admits_that_of_the_run(
    seed: int,
) -> None:
    dice = Dice(seed)
    tree = legal_tree(dice, "int64")
    shapes = [blurred(array.shape, dice) for array in tree.inputs]

    inferred = gathercli.infer_shape("gather-tree", *map(oracle.text, shapes))

    steps, parents, lengths, end = shapes
    answer = oracle_nd.infer_tree(steps, parents, lengths, end)
    symbols = {f"S{n}": n for n in range(300)}
    assert str(inferred) == oracle.text(answer)
    assert oracle.admits(answer, gather_tree(tree).shape, symbols)


def test_empty_tuples_take_no_memory_however_many_they_are() -> None:
    tuples = np.zeros((1 << 40, 0), np.int64)

    assert gathercli.gather_nd(np.zeros((0, 3)), tuples).shape == (1 << 40, 0, 3)
    assert gathercli.gather_nd([7, 8], tuples[:3]).tolist() == [[7, 8]] * 3
    with pytest.raises(gathercli.LimitError):
        gathercli.gather_nd([7, 8], np.zeros((1 << 59, 0), np.int64))
