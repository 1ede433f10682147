from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gathercli
from gathercli.compute.array_run import run
from gathercli.compute.bound import BoundCall
from gathercli.compute.result import GatherResult
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.ops import FAMILIES, engine
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import DTYPES, dtype
from gathercli.spec.op import OffAxis
from gathercli.spec.shapes import Dim, product
from tests import oracle, oracle_nd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from gathercli.spec.op import Op

    Array = npt.NDArray[Any]
    Sizes = tuple[int, ...]

Answer = TypeVar("Answer")
Choice = TypeVar("Choice")

moderately = settings(derandomize=True, max_examples=60)
amply = settings(moderately, max_examples=400)

ROWS: Final = [op for op in gathercli.OPERATORS if op.full_name in oracle.VERSIONS]
"""The versions of Gather and GatherElements; `test_laws_nd` draws calls of the others."""

every_row = pytest.mark.parametrize("op", ROWS, ids=str)
GATHERS: Final = [op for op in ROWS if not op.elementwise]
every_gather = pytest.mark.parametrize("op", GATHERS, ids=str)
BATCHED: Final = [op for op in ROWS if op.has_batch_dims]
every_batched = pytest.mark.parametrize("op", BATCHED, ids=str)

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DATA_TYPES: Final = (
    *INTEGERS,
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "string",
    "float8_e4m3fn",
    "float8_e5m2",
    "int4",
    "uint2",
)
NO_INDICES: Final = (
    *("bool", "float16", "float32", "float64", "bfloat16", "string", "complex64"),
    *("float8_e4m3fn", "int4"),
)
OPAQUE: Final = {held.name: held for held in DTYPES if held.opaque}
WORDS: Final = ("", "a", "é", "two words", "0", "NaN")
NEGATIVE: Final = ("spec", "spec", "wrap", "error")
OUT_OF_RANGE: Final = ("spec", "spec", "error", "zero", "clamp", "wrap")


@dataclass(frozen=True)
class Case:
    """Arguments of one call; what numpy lacks is held as the bits of it."""

    data: Array
    data_type: str
    indices: Array
    indices_type: str
    attributes: oracle.Attributes


def filled(shape: Sizes, type_name: str, seed: int) -> Array:
    """Make an array of random bits."""
    random = np.random.default_rng(seed)
    count = product(shape)
    if type_name == "string":
        return random.choice(np.array(WORDS), count).reshape(shape)
    if type_name == "bool":
        return random.integers(0, 2, count).astype(np.bool_).reshape(shape)
    opaque = OPAQUE.get(type_name)
    held = np.dtype(type_name) if opaque is None else storage_of(opaque)
    array = np.frombuffer(random.bytes(count * held.itemsize), held).reshape(shape).copy()
    return array & (2**opaque.bits - 1) if opaque else array


def as_passed(array: Array, type_name: str) -> Array:
    return array.view(getattr(ml_dtypes, type_name)) if type_name in OPAQUE else array


def as_compared(array: Array) -> Array:
    opaque = OPAQUE.get(array.dtype.name)
    return array if opaque is None else array.view(storage_of(opaque))


def assert_same(got: Array, expected: Array) -> None:
    """Compare shape, type and every bit (so that NaN is itself and -0.0 is not 0.0)."""
    got = as_compared(got)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    assert got.tobytes() == expected.tobytes()


def called(op: Op, case: Case) -> Array:
    given_data = as_passed(case.data, case.data_type)
    given_indices = as_passed(case.indices, case.indices_type)
    how = case.attributes
    if op.family == "gather":
        return gathercli.gather(
            given_data,
            given_indices,
            axis=how.axis,
            batch_dims=how.batch_dims,
            version=op.id,
            negative=how.negative,
            out_of_range=how.out_of_range,
        )
    return gathercli.gather_elements(
        given_data,
        given_indices,
        axis=how.axis,
        version=op.id,
        negative=how.negative,
        out_of_range=how.out_of_range,
    )


def check_counts(op: Op, case: Case) -> Array:
    return oracle.run(
        op.full_name,
        case.data,
        case.indices,
        case.attributes,
        data_type=case.data_type,
        indices_type=case.indices_type,
    )


def outcome(call: Callable[[], Answer]) -> Answer | str:
    """Return the answer of a call, or the rule that refuses it."""
    try:
        return call()
    except (oracle.Refused, gathercli.OperatorError) as refusal:
        return refusal.rule


def assert_same_outcome(got: Array | str, expected: Array | str) -> None:
    if isinstance(got, str) or isinstance(expected, str):
        assert isinstance(got, str)
        assert got == expected
    else:
        assert_same(got, expected)


def assert_as_the_oracle_says(op: Op, case: Case) -> None:
    assert_same_outcome(outcome(lambda: called(op, case)), outcome(lambda: check_counts(op, case)))


sizes = st.integers(0, 4)
seeds = st.integers(0, 2**64 - 1)
"""One draw a case: hypothesis picks and replays it, numpy spreads it evenly over all choices."""


class Dice:
    """Evenly random choices, repeated by the seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def number(self, first: int, last: int) -> int:
        return first + int(self.random.integers(last - first + 1))

    def one_of(self, options: Sequence[Choice]) -> Choice:
        return options[self.number(0, len(options) - 1)]

    def sizes(self, count: int) -> Sizes:
        return tuple(self.one_of((0, 1, 1, 2, 2, 2, 3, 3, 4)) for _ in range(count))

    def array(self, shape: Sizes, type_name: str) -> Array:
        return filled(shape, type_name, self.number(0, 2**32))


def fitting_shapes(op: Op, dice: Dice) -> tuple[Sizes, Sizes, int, int]:
    """Draw shapes of both inputs that agree, and a normalised axis and batch_dims."""
    rank = dice.one_of((1, 1, 2, 2, 3, 3, 4))
    data = dice.sizes(rank)
    axis = dice.number(0, rank - 1)
    if dice.number(0, 15) == 0:
        data = tuple(200 if d == axis else n for d, n in enumerate(data))
    if not op.elementwise:
        b = dice.number(0, axis) if op.has_batch_dims else 0
        return data, data[:b] + dice.sizes(dice.number(0, 4 - b)), axis, b
    at_most = op.off_axis is OffAxis.AT_MOST and dice.number(0, 1)
    beside = [dice.number(0, n) if at_most else n for n in data]
    (on_axis,) = dice.sizes(1)
    return data, tuple(on_axis if d == axis else n for d, n in enumerate(beside)), axis, 0


def flawed_shapes(op: Op, dice: Dice) -> tuple[Sizes, Sizes, int, int]:
    """Draw shapes and attributes of which something often does not fit; negative ones too."""
    data, indices, axis, b = fitting_shapes(op, dice)
    axis = dice.one_of((axis, axis - len(data)))
    b = dice.one_of((b, b - len(indices))) if op.has_batch_dims else 0
    flaw = dice.one_of(
        (*("none",) * 14, "axis", "b", "b", "indices", "data", "0-D", "size", "size")
    )
    if flaw == "axis":
        axis = dice.number(-len(data) - 2, len(data) + 1)
    elif flaw == "b" and op.family == "gather":
        b = dice.number(-5, 5)
    elif flaw == "indices":
        indices = dice.sizes(dice.number(0, 4))
    elif flaw == "data":
        data = dice.sizes(dice.number(0, 4))
    elif flaw == "0-D":
        data = ()
    elif flaw == "size":
        changed = dice.number(0, 3)
        indices = tuple(n + (d == changed) * dice.one_of((-1, 1)) for d, n in enumerate(indices))
        indices = tuple(max(n, 0) for n in indices)
    return data, indices, axis, b


def any_index(s: int, type_name: str, dice: Dice) -> int:
    """Draw an index that is mostly legal, or one of the values on which arithmetic breaks."""
    bottom, top = int(np.iinfo(type_name).min), int(np.iinfo(type_name).max)
    kind = dice.number(0, 9)
    if kind < 6 and s:
        return min(dice.number(0, s - 1), top)
    if kind < 8 and s:
        return max(dice.number(-s, -1), bottom) if bottom < 0 else 0
    odd = [-1, -s, -s - 1, s, s - 1, s + 1, 2 * s + 1, -20, 127, 2**31, 2**32, 2**32 + 1]
    odd += [-(2**31), bottom, top, top - 1, 2**63]
    return dice.one_of([k for k in odd if bottom <= k <= top])


def any_case(op: Op, dice: Dice) -> Case:
    """Draw any call, legal or not."""
    data_shape, indices_shape, axis, b = flawed_shapes(op, dice)
    takes = sorted(oracle.VERSIONS[op.full_name].indices_types)
    indices_type = dice.one_of(takes)
    if dice.number(0, 11) == 0:
        indices_type = dice.one_of((*NO_INDICES, *INTEGERS))
    if indices_type in INTEGERS:
        s = data_shape[axis] if -len(data_shape) <= axis < len(data_shape) else 3
        # Often all legal, so that many calls are answered; else anything, so that rules meet.
        calm = dice.number(0, 1) and s
        low = -s if op.index_range.name == "SIGNED" and indices_type.startswith("int") else 0
        low, high = max(low, -128), min(s - 1, 127)
        values = [
            dice.number(low, high) if calm else any_index(s, indices_type, dice)
            for _ in range(product(indices_shape))
        ]
        indices = np.array(values, indices_type).reshape(indices_shape)
    else:
        indices = filled(indices_shape, indices_type, seed=0)
    data_type = dice.one_of(DATA_TYPES)
    attributes = oracle.Attributes(axis, b, dice.one_of(NEGATIVE), dice.one_of(OUT_OF_RANGE))
    return Case(dice.array(data_shape, data_type), data_type, indices, indices_type, attributes)


def legal_case(op: Op, dice: Dice) -> Case:
    """Draw a call that the row answers, without options."""
    data_shape, indices_shape, axis, b = fitting_shapes(op, dice)
    if data_shape[axis] == 0:
        data_shape = tuple(3 if d == axis else n for d, n in enumerate(data_shape))
    s = data_shape[axis]
    bottom = -s if op.index_range.name == "SIGNED" else 0
    values = [dice.number(bottom, s - 1) for _ in range(product(indices_shape))]
    data_type = dice.one_of([t.name for t in op.input("data").dtypes])
    return Case(
        dice.array(data_shape, data_type),
        data_type,
        np.array(values, "int64").reshape(indices_shape),
        "int64",
        oracle.Attributes(axis, b),
    )


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

    assert_same(called(op, case), check_counts(op, case))


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
    attributes = oracle.Attributes(0, 0, negative, out_of_range)
    data = np.arange(size, dtype=np.int16)
    for indices_type, value in EXTREMES:
        indices = np.array([value], indices_type)
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


@pytest.mark.parametrize("op", [op for op in ROWS if op.elementwise], ids=str)
@moderately
@given(shape=st.lists(sizes, min_size=1, max_size=4), seed=seeds, drawn=st.data())
def test_gathering_every_element_in_place_gives_the_data(
    op: Op, shape: list[int], seed: int, drawn: st.DataObject
) -> None:
    axis = drawn.draw(st.integers(0, len(shape) - 1))
    x = filled(tuple(shape), "float32", seed)
    own = np.indices(x.shape)[axis]

    assert_same(gathercli.gather_elements(x, own, axis=axis, version=op.id), x)


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
    axis, b = case.attributes.axis or 0, case.attributes.batch_dims
    got = as_compared(called(op, case))
    for batch in np.ndindex(*case.data.shape[:b]):
        data = as_passed(case.data[batch], case.data_type)
        plain = gathercli.gather(data, case.indices[batch], axis=axis - b, version=op.id)
        assert_same(plain, got[(*batch, ...)])


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
        x,
        np.array(picks, np.int64),
        axis=axis,
        version=op.id,
        negative="wrap",
        out_of_range="zero",
    )

    assert_same(got, np.take(padded, np.array(into_padded, np.int64), axis))


@every_gather
@moderately
@given(
    rows=st.integers(1, 5),
    columns=st.integers(0, 4),
    count=st.integers(0, 6),
    drawn=st.data(),
)
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
    call = engine.bind(
        op,
        Operand.of(data),
        Operand.of(indices),
        axis=case.attributes.axis,
        batch_dims=case.attributes.batch_dims,
        negative=case.attributes.negative,
        out_of_range=case.attributes.out_of_range,
    )
    output = run(BoundCall(call, data, indices))
    assert isinstance(output, GatherResult)
    return output


def with_fills(case: Case) -> Case:
    """Let a legal call fill its negative indices, and those at the end of the axis, with zeros."""
    ends = case.indices + (case.indices == case.data.shape[case.attributes.axis or 0] - 1)
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
    at = FAMILIES[op.family].sources(run.bound.call, {"indices": run.positions()}, cells)

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

    inferred = gathercli.infer_shape(
        op.family,
        case.data.shape,
        case.indices.shape,
        axis=case.attributes.axis,
        batch_dims=case.attributes.batch_dims,
        version=op.id,
    )

    assert inferred == called(op, case).shape
    assert inferred.sizes == called(op, case).shape


def blurred(shape: Sizes, dice: Dice) -> oracle.Dimensions:
    """Forget some of what is known of a shape; a symbol stands for one size everywhere."""
    if dice.number(0, 9) == 0:
        return None
    return [one_blurred(n, dice) for n in shape]


def one_blurred(n: int, dice: Dice) -> oracle.Dimension:
    least, most = dice.number(0, n), dice.number(n + 1, n + 3)
    options: tuple[oracle.Dimension, ...] = (n, oracle.UNKNOWN, f"S{n}", (least, None))
    return dice.one_of((*options, (least, most)))


@every_row
@amply
@given(seed=seeds)
def test_a_shape_inferred_from_partly_known_shapes_admits_that_of_the_run(
    op: Op, seed: int
) -> None:
    dice = Dice(seed)
    case = legal_case(op, dice)
    data, indices = blurred(case.data.shape, dice), blurred(case.indices.shape, dice)
    axis: int | str | None = case.attributes.axis
    if op.axis.is_input and dice.number(0, 2) == 0:
        axis = "unknown"
    b = case.attributes.batch_dims
    inferred = gathercli.infer_shape(
        op.family, oracle.text(data), oracle.text(indices), axis=axis, batch_dims=b, version=op.id
    )
    expected = oracle.infer(op.full_name, data, indices, axis, b)
    assert str(inferred) == oracle.text(expected)
    symbols = {f"S{n}": n for n in range(300)}
    assert oracle.admits(expected, called(op, case).shape, symbols)
    assert oracle.admits(as_dimensions(inferred), called(op, case).shape, symbols)


def as_dimensions(shape: gathercli.Shape) -> oracle.Dimensions:
    if shape.rank is None:
        return None
    return [(dim.name or (dim.low, dim.high)) if isinstance(dim, Dim) else dim for dim in shape]


def partly_known(dice: Dice) -> oracle.Dimensions:
    if dice.number(0, 7) == 0:
        return None
    options: tuple[oracle.Dimension, ...] = (0, 1, 2, 2, 3, "N", "M", (2, None), (1, 3), (3, 5))
    rank = dice.one_of((0, 1, 1, 2, 2, 2, 3, 3))
    return [dice.one_of((oracle.UNKNOWN, *options, oracle.UNKNOWN)) for _ in range(rank)]


@every_row
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

    def expected() -> str:
        return oracle.text(oracle.infer(op.full_name, data, indices, axis, batch_dims))

    assert outcome(inferred) == outcome(expected)


@every_row
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


@every_row
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

    assert_same_outcome(outcome(lambda: called(op, other)), outcome(lambda: check_counts(op, case)))
