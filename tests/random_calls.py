"""Random calls of each operator, what the package and the oracles answer, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st

import gathercli
from gathercli.compute.storage import storage_of
from gathercli.spec.dtypes import DTYPES
from gathercli.spec.op import IndexRange, OffAxis
from gathercli.spec.shapes import Dim, product
from tests import oracle, oracle_nd
from tests.cases import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.spec.op import Op
    from tests.conftest import Array

    Sizes = tuple[int, ...]

Answer = TypeVar("Answer")
Choice = TypeVar("Choice")

moderately = drawn(60)
amply = drawn(200)
seeds = st.integers(0, 2**64 - 1)
"""One draw a case: hypothesis picks and replays it, numpy spreads it evenly over all choices."""

AXIS_ROWS: Final = [op for op in gathercli.OPERATORS if op.full_name in oracle.VERSIONS]
TUPLE_ROWS: Final = [op for op in gathercli.OPERATORS if op.full_name in oracle_nd.VERSIONS]
"""The versions of Gather and GatherElements, and of GatherND; GatherTree has a judge of its own."""

every_row = pytest.mark.parametrize("op", [*AXIS_ROWS, *TUPLE_ROWS], ids=str)
every_axis_row = pytest.mark.parametrize("op", AXIS_ROWS, ids=str)
every_tuple_row = pytest.mark.parametrize("op", TUPLE_ROWS, ids=str)

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
OPAQUE: Final = {each.name: each for each in DTYPES if each.opaque}
WORDS: Final = ("", "a", "é", "two words", "0", "NaN")
NEGATIVE: Final = ("spec", "spec", "wrap", "error")
OUT_OF_RANGE: Final = ("spec", "spec", "error", "zero", "clamp", "wrap")


@dataclass(frozen=True)
class Case:
    """Arguments of one call; what numpy lacks is there as its bits."""

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
    storage = np.dtype(type_name) if opaque is None else storage_of(opaque)
    array = np.frombuffer(random.bytes(count * storage.itemsize), storage).reshape(shape).copy()
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
    """Return what the package answers."""
    how = case.attributes
    options: dict[str, Any] = {"negative": how.negative, "out_of_range": how.out_of_range}
    if op.attr("axis"):
        options["axis"] = how.axis
    if op.family != "gather-elements":
        options["batch_dims"] = how.batch_dims
    data = as_passed(case.data, case.data_type)
    indices = as_passed(case.indices, case.indices_type)
    function: Callable[..., Array] = getattr(gathercli, op.family.replace("-", "_"))
    return function(data, indices, version=op.id, **options)


def oracle_answer(op: Op, case: Case) -> Array:
    """Return what the oracle answers."""
    judge = oracle_nd.run if op.tuples else oracle.run
    types = {"data_type": case.data_type, "indices_type": case.indices_type}
    return judge(op.full_name, case.data, case.indices, case.attributes, **types)


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
    assert_same_outcome(outcome(lambda: called(op, case)), outcome(lambda: oracle_answer(op, case)))


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


def fitting_shapes(op: Op, dice: Dice) -> tuple[Sizes, Sizes, int | None, int]:
    """Draw shapes of both inputs that agree, and a normalised axis and batch_dims."""
    rank = dice.one_of((1, 1, 2, 2, 3, 3, 4))
    data = dice.sizes(rank)
    axis = dice.number(0, rank - 1)
    b = dice.number(0, axis) if op.has_batch_dims else 0
    along = b if op.tuples else axis
    if dice.number(0, 15) == 0:
        data = tuple(200 if d == along else n for d, n in enumerate(data))
    if op.tuples:
        k = dice.number(op.shortest_tuple if dice.number(0, 5) else 1, rank - b)
        return data, (*data[:b], *dice.sizes(dice.number(0, 2)), k), None, b
    if not op.elementwise:
        return data, data[:b] + dice.sizes(dice.number(0, 4 - b)), axis, b
    at_most = op.off_axis is OffAxis.AT_MOST and dice.number(0, 1)
    beside = [dice.number(0, n) if at_most else n for n in data]
    (on_axis,) = dice.sizes(1)
    return data, tuple(on_axis if d == axis else n for d, n in enumerate(beside)), axis, 0


def flawed_shapes(op: Op, dice: Dice) -> tuple[Sizes, Sizes, int | None, int]:
    """Draw shapes and attributes of which something often does not fit; negative ones too."""
    data, indices, axis, b = fitting_shapes(op, dice)
    if axis is not None:
        axis = dice.one_of((axis, axis - len(data)))
        b = dice.one_of((b, b - len(indices))) if op.has_batch_dims else 0
    flaw = dice.one_of(
        (*("none",) * 14, "axis", "depth", "b", "b", "indices", "data", "0-D", "size", "size")
    )
    if flaw == "axis" and axis is not None:
        axis = dice.number(-len(data) - 2, len(data) + 1)
    elif flaw == "depth" and op.tuples:
        indices = (*indices[:-1], dice.number(0, 5))
    elif flaw == "b" and op.family != "gather-elements":
        b = dice.number(-5, 5)
    elif flaw == "indices":
        indices = dice.sizes(dice.number(0, 4))
    elif flaw == "data":
        data = dice.sizes(dice.number(0, 4))
    elif flaw == "0-D":
        data, indices = dice.one_of((((), indices), (data, ()))) if op.tuples else ((), indices)
    elif flaw == "size":
        changed = dice.number(0, 3)
        indices = tuple(n + (d == changed) * dice.one_of((-1, 1)) for d, n in enumerate(indices))
        indices = tuple(max(n, 0) for n in indices)
    return data, indices, axis, b


def sizes_addressed(
    data: Sizes, indices: Sizes, axis: int | None, b: int
) -> list[tuple[Sizes, int]]:
    """Return the cells of `indices`, and the size of `data` that each counts along; 3 if none."""
    cells = []
    for c in np.ndindex(indices):
        along = axis if axis is not None else b + c[-1] if c else 0
        cells.append((c, data[along] if -len(data) <= along < len(data) else 3))
    return cells


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
    data_shape, shape, axis, b = flawed_shapes(op, dice)
    version = (oracle_nd if op.tuples else oracle).VERSIONS[op.full_name]
    indices_type = dice.one_of(sorted(version.indices_types))
    if dice.number(0, 11) == 0:
        indices_type = dice.one_of((*NO_INDICES, *INTEGERS))
    if indices_type in INTEGERS:
        # Often all legal, so that many calls are answered; else anything, so that rules meet.
        calm = dice.number(0, 1)
        signed = op.index_range is IndexRange.SIGNED and indices_type.startswith("int")
        indices = np.zeros(shape, indices_type)
        for c, s in sizes_addressed(data_shape, shape, axis, b):
            if calm and s:
                indices[c] = dice.number(max(-s, -128) if signed else 0, min(s - 1, 127))
            else:
                indices[c] = any_index(s, indices_type, dice)
    else:
        indices = filled(shape, indices_type, seed=0)
    data_type = dice.one_of(DATA_TYPES)
    attributes = oracle.Attributes(axis, b, dice.one_of(NEGATIVE), dice.one_of(OUT_OF_RANGE))
    return Case(dice.array(data_shape, data_type), data_type, indices, indices_type, attributes)


def legal_case(op: Op, dice: Dice) -> Case:
    """Draw a call that the row answers, without options."""
    data_shape, shape, axis, b = fitting_shapes(op, dice)
    addressed = range(b, b + shape[-1]) if axis is None else (axis,)
    data_shape = tuple(n or 3 if d in addressed else n for d, n in enumerate(data_shape))
    indices = np.zeros(shape, np.int64)
    for c, s in sizes_addressed(data_shape, shape, axis, b):
        indices[c] = dice.number(-s if op.index_range is IndexRange.SIGNED else 0, s - 1)
    data_type = dice.one_of([t.name for t in op.input("data").dtypes if t.name in DATA_TYPES])
    attributes = oracle.Attributes(axis, b)
    return Case(dice.array(data_shape, data_type), data_type, indices, "int64", attributes)


def blurred(shape: Sizes, dice: Dice) -> oracle.Dimensions:
    """Forget some of what is known of a shape; a symbol stands for one size everywhere."""
    if dice.number(0, 9) == 0:
        return None
    return [one_blurred(n, dice) for n in shape]


def one_blurred(n: int, dice: Dice) -> oracle.Dimension:
    least, most = dice.number(0, n), dice.number(n + 1, n + 3)
    options: tuple[oracle.Dimension, ...] = (n, oracle.UNKNOWN, f"S{n}", (least, None))
    return dice.one_of((*options, (least, most)))


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


def oracle_tree(tree: Tree) -> Array:
    return as_compared(oracle_nd.gather_tree(*tree.inputs))


def as_type(values: object, type_name: str) -> Array:
    storage = ml_dtypes.bfloat16 if type_name == "bfloat16" else np.dtype(type_name)
    return np.asarray(values).astype(storage)


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
