"""Nodes under names that are used once; constants behind casts, and of other shapes."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper

from gathercli.errors import InputError
from gathercli.io.graphs.graph import Value
from gathercli.models import facts
from gathercli.models.files import read
from gathercli.spec.dtypes import BOOL, INT64, STRING, DType, dtype
from gathercli.spec.shapes import Shape, parse
from tests.modelfiles import onnx_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def stored(values: Any, kind: DType = INT64) -> Value:
    """Return the value of a constant."""
    return Value.of("x", facts.literal(values, kind))


def elements(value: Value) -> Any:
    """Return the elements of a constant value; None if it is not constant."""
    return value.constant.tensor().values().tolist() if value.constant else None


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (stored([1, -1]), "int32", [1, -1]),
        (stored([2**32 + 5, -1]), "int32", [5, -1]),
        (stored([-1]), "uint8", [255]),
        (stored([1.9, -1.9], dtype("float32")), "int64", [1, -1]),
        (stored([0, 2]), "bool", [False, True]),
        (stored([True, False], BOOL), "int32", [1, 0]),
        (stored([True], BOOL), "float32", [1.0]),
        (stored([3]), "float16", [3.0]),
        (stored([3]), "bfloat16", [3.0]),
        (stored([3]), "int4", [3]),
        (stored([3]), "int64", [3]),
    ],
)
def test_a_cast_converts_as_c_does(value: Value, kind: str, expected: list[Any]) -> None:
    result = facts.converted(value, "y", dtype(kind))

    assert (result.name, result.dtype, elements(result)) == ("y", dtype(kind), expected)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (stored([1]), STRING),
        (stored([1]), dtype("complex64")),
        (stored([1]), None),
        (Value("x", INT64, Shape([2])), dtype("int32")),
    ],
)
def test_a_cast_of_other_kinds_is_not_constant(value: Value, kind: DType | None) -> None:
    result = facts.converted(value, "y", kind)

    assert (result.constant, result.dtype) == (None, kind)
    assert result.shape == value.shape


@pytest.mark.parametrize(
    ("shape", "target", "zero_copies", "expected"),
    [
        ("[2,3]", [3, -1], True, "[3,2]"),
        ("[2,3]", [0, 3], True, "[2,3]"),
        ("[0,3]", [0, 3], False, "[0,3]"),
        ("[2,3]", [-1], True, "[6]"),
        ("[2,3]", [], True, "[...]"),
        ("[1]", [], True, "[]"),
        ("[2,3]", [4, -1], True, "[...]"),
        ("[2,3]", [-1, -1], True, "[...]"),
        ("[2,3]", [-2, 3], True, "[...]"),
        ("[2,3]", [2, 3, 0], True, "[2,3,?]"),
        ("[N,3]", [5, -1], True, "[5,?]"),
        ("[2,3]", None, True, "[...]"),
    ],
)
def test_a_reshape_has_the_shape_that_its_target_says(
    shape: str, target: list[int] | None, zero_copies: bool, expected: str
) -> None:
    value = Value("x", INT64, parse(shape))

    result = facts.reshaped(value, "y", target, zero_copies=zero_copies)

    assert str(result.shape) == expected


def test_a_reshape_keeps_the_elements() -> None:
    result = facts.reshaped(stored([[1, 2, 3], [4, 5, 6]]), "y", [3, -1], zero_copies=True)

    assert elements(result) == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [([0], "[1,N,3]"), ([-1], "[N,3,1]"), ([0, 2], "[1,N,1,3]"), ([3], "[...]"), ([0, 0], "[...]")],
)
def test_an_unsqueeze_adds_dimensions_at_axes_of_the_output(axes: list[int], expected: str) -> None:
    value = Value("x", INT64, parse("[N,3]"))

    assert str(facts.unsqueezed(value, "y", axes).shape) == expected
    assert str(facts.unsqueezed(value, "y", None).shape) == "[...]"


@pytest.mark.parametrize(
    ("axes", "expected"),
    [([0], "[3,1]"), ([-1], "[1,3]"), ([1], "[...]"), ([5], "[...]"), (None, "[3]"), ([], "[3]")],
)
def test_a_squeeze_removes_dimensions_of_one(axes: list[int] | None, expected: str) -> None:
    value = Value("x", INT64, parse("[1,3,1]"))

    assert str(facts.squeezed(value, "y", axes).shape) == expected


def test_the_dimensions_of_an_unknown_rank_stay_unknown() -> None:
    value = Value("x", INT64)

    assert str(facts.squeezed(value, "y", [0]).shape) == "[...]"
    assert str(facts.unsqueezed(value, "y", [0]).shape) == "[...]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (stored([1, 2]), [1, 2]),
        (stored([1.5], dtype("float32")), None),
        (stored(np.zeros(2000)), None),
        (Value("x"), None),
        (None, None),
    ],
)
def test_few_constant_integers_may_decide_a_shape(
    value: Value | None, expected: list[int] | None
) -> None:
    assert facts.integers(value) == expected


@pytest.mark.parametrize("kinds", [("int32", "int64"), (None,)], ids=["casts", "reshapes"])
def test_constants_behind_too_many_nodes_are_not_followed(kinds: Sequence[str | None]) -> None:
    value, known = stored([7]), []
    for _, kind in zip(range(2000), cycle(kinds), strict=False):
        value = (
            facts.converted(value, "y", dtype(kind))
            if kind
            else facts.reshaped(value, "y", [-1], zero_copies=True)
        )
        known.append(elements(value))

    assert known == [[7]] * facts.MOST_FOLDS + [None] * (2000 - facts.MOST_FOLDS)
    assert value.shape == Shape([1])


@pytest.mark.parametrize(
    "value",
    [
        facts.reshaped(stored([5]), "y", [1] * 65, zero_copies=True),
        facts.reshaped(Value("x", INT64), "y", [1] * 65, zero_copies=True),
        facts.unsqueezed(stored([5]), "y", list(range(64))),
    ],
)
def test_a_rank_that_no_tensor_has_is_an_unknown_shape(value: Value) -> None:
    assert value.shape.rank is None
    assert value.constant is None


def test_nodes_without_a_name_or_with_one_twice_have_another(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["one"]),
        helper.make_node("Gather", ["x", "i"], ["two"], name="same"),
        helper.make_node("Gather", ["x", "i"], ["three"], name="same"),
        helper.make_node("Gather", ["x", "i"], [], name=""),
    ]

    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_model(nodes).SerializeToString())
    model = read(str(path))

    assert [each.name for each in model.nodes] == ["one", "two", "three", "Gather"]
    assert model.node("two") is model.nodes[1]
    with pytest.raises(InputError, match="2 nodes `same`"):
        model.node("same")
