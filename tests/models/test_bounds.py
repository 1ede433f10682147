"""Bounds of integers by operator, beside what onnx.reference computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from onnx import helper, numpy_helper

from gathercli.models.bounds import Bounds, Known, bounds_of
from gathercli.models.bounds import Operation as BoundOperation
from gathercli.models.onnx_nodes import NodeEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

OPSET: Final = 18
SEEDS: Final = 40

Draw = tuple[dict[str, Any], list[Any]]
"""The attributes of a node, and what its inputs are: arrays, or `Wide` ones."""


class Wide:
    """An input that comes at run time: what it is in one run, and its bounds."""

    def __init__(
        self, random: np.random.Generator, *shape: int, low: int = -9, high: int = 9
    ) -> None:
        self.value = random.integers(low, high + 1, shape)
        spread = random.integers(0, 4, (2, *shape))
        self.bounds: Bounds | None = Bounds.of(self.value - spread[0], self.value + spread[1])
        if random.random() < 0.3:
            self.bounds = self.bounds.hull
        if random.random() < 0.1:
            self.bounds = None

    @property
    def known(self) -> Known:
        """What is known before it runs."""
        return Known(self.value.dtype, self.value.shape, None, self.bounds)


def ints(*values: int) -> NDArray[np.int64]:
    """Return an array of integers."""
    return np.array(values, np.int64)


def two(random: np.random.Generator) -> Draw:
    """Draw two tensors that broadcast."""
    other = random.choice([0, 1, 2])
    shapes = [(2, 3), (3,), ()]
    return {}, [Wide(random, 2, 3), Wide(random, *shapes[other])]


def over(random: np.random.Generator) -> Draw:
    """Draw a tensor and a divisor that is not 0."""
    low, high = random.choice([(1, 6), (-6, -1)])
    divisor = Wide(random, low=low, high=high)
    divisor.bounds = Bounds.of(low, high)
    return {"fmod": int(random.integers(2))}, [Wide(random, 2, 3), divisor]


def axes(random: np.random.Generator) -> Draw:
    """Draw a tensor of floats, and an axis."""
    data = random.random((3, 4)).astype(np.float32)
    return {"axis": int(random.integers(-2, 2))}, [Loose(data)]


class Loose(Wide):
    """An input of any type of which only the type and the shape are known."""

    def __init__(self, value: NDArray[Any]) -> None:
        self.value, self.bounds = value, None


def quotient(random: np.random.Generator) -> Draw:
    """Draw a dividend, and a divisor that is not 0."""
    return {}, over(random)[1]


def ranged(random: np.random.Generator) -> Draw:
    """Draw a start, a limit and a step."""
    step = int(random.choice([-3, -1, 1, 2]))
    return {}, [Wide(random), Wide(random), np.asarray(step)]


def clipped(random: np.random.Generator) -> Draw:
    """Draw a tensor and ends, of which one may be left out."""
    ends: list[Any] = [np.asarray(-3), Wide(random)]
    ends[int(random.integers(2))] = None if random.random() < 0.5 else np.asarray(2)
    return {}, [Wide(random, 2, 3), *ends]


DRAWS: Final[dict[str, Callable[[np.random.Generator], Draw]]] = {
    "Add": two,
    "Sub": two,
    "Mul": two,
    "Max": two,
    "Min": two,
    "Div": quotient,
    "Mod": over,
    "Neg": lambda r: ({}, [Wide(r, 4)]),
    "Abs": lambda r: ({}, [Wide(r, 4)]),
    "Relu": lambda r: ({}, [Wide(r, 4)]),
    "Clip": clipped,
    "Where": lambda r: ({}, [Loose(r.random(3) < 0.5), Wide(r, 2, 3), Wide(r, 3)]),
    "BitwiseAnd": lambda r: ({}, [Wide(r, 4), np.asarray(6)]),
    "ArgMax": axes,
    "ArgMin": axes,
    "NonZero": lambda r: ({}, [Loose(r.integers(0, 2, (2, 3)))]),
    "Range": ranged,
    "Shape": lambda r: ({"start": int(r.integers(2))}, [Loose(r.random((2, 5, 3)))]),
    "Size": lambda r: ({}, [Loose(r.random((2, 5)))]),
    "ReduceSum": lambda r: ({"keepdims": 0}, [Wide(r, 2, 3), ints(*r.choice([0, 1], 1))]),
    "ReduceMax": lambda r: ({}, [Wide(r, 2, 3), ints(1)]),
    "ReduceMin": lambda r: ({}, [Wide(r, 2, 3)]),
    "CumSum": lambda r: ({"exclusive": int(r.integers(2))}, [Wide(r, 2, 3), np.asarray(1)]),
    "Concat": lambda r: ({"axis": 0}, [Wide(r, 2), ints(5), Wide(r, 1)]),
    "Slice": lambda r: ({}, [Wide(r, 5), ints(4), ints(-9), ints(0), ints(-2)]),
    "Transpose": lambda r: ({"perm": [1, 0]}, [Wide(r, 2, 3)]),
    "Reshape": lambda r: ({}, [Wide(r, 2, 3), ints(3, 2)]),
    "Flatten": lambda r: ({"axis": 0}, [Wide(r, 2, 3)]),
    "Expand": lambda r: ({}, [Wide(r, 3), ints(2, 3)]),
    "Tile": lambda r: ({}, [Wide(r, 3), ints(2)]),
    "Unsqueeze": lambda r: ({}, [Wide(r, 3), ints(0)]),
    "Squeeze": lambda r: ({}, [Wide(r, 1, 3), ints(0)]),
    "Identity": lambda r: ({}, [Wide(r, 3)]),
    "Gather": lambda r: ({"axis": 0}, [Wide(r, 3), Wide(r, 2, low=-3, high=2)]),
    "GatherElements": lambda r: ({"axis": 0}, [Wide(r, 3), ints(2, -1)]),
    "GatherND": lambda r: ({}, [Wide(r, 3), np.array([[2], [0]])]),
    "Compress": lambda r: ({"axis": 0}, [Wide(r, 3), Loose(np.array([True, False, True]))]),
    "Pad": lambda r: ({}, [Wide(r, 3, low=3), ints(1, 1)]),
    "Trilu": lambda r: ({"upper": 1}, [Wide(r, 3, 3, low=2)]),
    "OneHot": lambda r: ({}, [Wide(r, 3), np.asarray(4), ints(5, 7)]),
    "ScatterND": lambda r: ({}, [Wide(r, 3), np.array([[1]]), Wide(r, 1)]),
    "ScatterElements": lambda r: ({"axis": 0}, [Wide(r, 3), ints(1, 2), Wide(r, 2)]),
    "Split": lambda r: ({"axis": 0, "num_outputs": 1}, [Wide(r, 3)]),
    "ConstantOfShape": lambda _: ({"value": numpy_helper.from_array(ints(4))}, [Loose(ints(2, 2))]),
    "Unique": lambda r: ({}, [Wide(r, 5)]),
}


@pytest.mark.parametrize("operator", DRAWS)
def test_what_is_computed_lies_within_the_bounds(operator: str) -> None:
    evaluator = NodeEvaluator({"": OPSET})
    for seed in range(SEEDS):
        attributes, inputs = DRAWS[operator](np.random.default_rng(seed))
        names = ["" if each is None else f"i{n}" for n, each in enumerate(inputs)]
        node = helper.make_node(operator, names, ["y"], **attributes)
        known = [
            None if each is None else each.known if isinstance(each, Wide) else Known.of(each)
            for each in inputs
        ]
        values = [each.value if isinstance(each, Wide) else each for each in inputs]

        (found,) = evaluator.outputs(node, known, [Known()])
        (computed,) = evaluator._run(node, values)

        assert computed is not None
        assert found.dtype == computed.dtype
        low, high = (np.asarray(found.constant),) * 2
        if found.constant is None:
            assert found.bounds is not None
            low, high = found.bounds
        assert (np.broadcast_to(low, computed.shape) <= computed).all(), (seed, found, computed)
        assert (np.broadcast_to(high, computed.shape) >= computed).all(), (seed, found, computed)


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "bounds"),
    [
        ("Mod", {}, [Known(np.dtype(np.int64), (3,)), Known.of(np.asarray(5))], (0, 4)),
        ("ArgMax", {"axis": 1}, [Known(np.dtype(np.float32), ("n", 4))], (0, 3)),
        ("TopK", {"axis": 0}, [Known(np.dtype(np.int64), (3,)), Known.of(ints(1))], (0, 2)),
        ("ArgMax", {}, [Known(np.dtype(np.float32), ("n", 4))], (0, np.inf)),
        ("Cast", {}, [Known(np.dtype(np.uint8), (3,))], (0, 255)),
        ("Cast", {}, [Known(np.dtype(np.float32), (3,))], (-np.inf, np.inf)),
        ("Div", {}, [Known.of(np.asarray(7)), Known(np.dtype(np.int64), ())], (-np.inf, np.inf)),
        ("ScatterND", {"reduction": b"add"}, [Known.of(ints(1))] * 3, (-np.inf, np.inf)),
        ("Unheard", {}, [], (-np.inf, np.inf)),
    ],
)
def test_bounds_are_as_narrow_as_the_operator_allows(
    operator: str, attributes: dict[str, Any], inputs: list[Known], bounds: tuple[float, float]
) -> None:
    output = int(operator == "TopK")

    found = bounds_of(BoundOperation(operator, inputs, attributes, output, np.dtype(np.int64)))

    assert found is not None
    assert (float(found.low.min()), float(found.high.max())) == bounds


@pytest.mark.parametrize(
    ("dtype", "high"), [(np.int8, 127), (np.uint8, 255), (np.bool_, 1), (np.int32, 2**31 - 1)]
)
def test_what_wraps_may_be_anything_of_its_type(dtype: type, high: int) -> None:
    one = Known(np.dtype(np.int64), (), None, Bounds.of(0, 2**40))

    found = bounds_of(BoundOperation("Cast", [one], {}, 0, np.dtype(dtype)))

    assert found is not None
    assert found.high == high


def test_positions_of_what_is_not_zero_have_the_sizes_of_their_rows() -> None:
    dims = (2, 300)
    node = helper.make_node("NonZero", ["x"], ["y"])
    rows = helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0])
    evaluator = NodeEvaluator({"": OPSET})

    (positions,) = evaluator.outputs(node, [Known(np.dtype(np.float32), dims)], [Known()])
    (tuples,) = evaluator.outputs(rows, [positions], [Known()])

    assert tuples.bounds is not None
    assert tuples.bounds.high.tolist() == [[1, 299]]


def test_a_large_output_is_not_computed() -> None:
    node = helper.make_node("Range", ["a", "b", "c"], ["y"])
    inputs = [Known.of(np.asarray(each)) for each in (0, 2 * 10**9, 1)]

    (found,) = NodeEvaluator({"": OPSET}).outputs(node, inputs, [Known()])

    assert (found.constant, found.dims) == (None, (2 * 10**9,))
