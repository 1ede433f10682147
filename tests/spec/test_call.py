"""What a call says of which not all is known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gathercli
from gathercli.compute.tensor import Tensor
from gathercli.errors import AxisError, BatchDimsError
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES, OPERATORS, bind, gather, gather_elements
from gathercli.spec.call import MOST_HINT_ELEMENTS, Call, Operand, version_that
from gathercli.spec.dtypes import BFLOAT16, BOOL, FLOAT64, INT64, STRING, DType
from gathercli.spec.rules import axis_type
from gathercli.spec.shapes import UNKNOWN, Shape
from gathercli.spec.shapes import parse as parse_shape
from gathercli.text import interval
from tests.rows import newest


def bound(data: str, indices: str, **attributes: Any) -> Call:
    op = find("openvino-8", "gather").op
    operands = Operand(parse_shape(data)), Operand(parse_shape(indices))
    return bind(op, *operands, shapes_only=True, **attributes)


def test_what_is_not_known_of_a_call_is_no_number() -> None:
    unknown = bound("[2,?]", "[3]", axis="unknown")

    assert (unknown.axis, unknown.batch_dims) == (None, 0)
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = unknown.normalized
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = bound("[2,3]", "[...]", axis=1, batch_dims=-1).normalized


def test_a_call_is_for_values_unless_it_says_otherwise() -> None:
    op = find("openvino-8", "gather").op
    operands = Operand(parse_shape("[2]")), Operand(parse_shape("[3]"))
    inputs = dict(zip(("data", "indices"), operands, strict=True))

    with pytest.raises(gathercli.GatherError, match="only a shape can be inferred without it"):
        axis_type(Call(op, FAMILIES[op.family], inputs, {"axis": "unknown"}))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"axis": "x"}, "`axis` is `x`: expected one integer"),
        ({"axis": [0, 0]}, "expected one integer"),
        ({"axis": True}, "expected one integer"),
        ({"axis": 0.0}, "expected one integer"),
        ({"batch_dims": [0]}, "`batch_dims` is [0]: expected one integer"),
        ({"batch_dims": (0,)}, "expected one integer"),
        ({"batch_dims": np.array([0])}, "expected one integer"),
    ],
)
def test_an_attribute_of_another_sort_is_refused(attributes: Any, message: str) -> None:
    with pytest.raises(gathercli.GatherError, match=re.escape(message)):
        gathercli.gather([1, 2], [0], **attributes)


def test_an_attribute_may_be_any_one_integer() -> None:
    for axis in (0, -1, [0], (0,), np.int8(0), np.array(0), np.array([-1]), [np.array(0)]):
        assert gathercli.gather([1, 2], [1], axis=axis).tolist() == [2]
    for batch_dims in (0, np.uint8(0), np.array(0)):
        assert gathercli.gather([1, 2], [1], batch_dims=batch_dims).tolist() == [2]


@pytest.mark.parametrize(
    ("operand", "is_fractional"),
    [
        (Operand(Shape([2])), False),
        (Operand(Shape([2]), None, "$[0]"), False),
        (Operand(Shape([2]), INT64), False),
        (Operand(Shape([2]), BOOL, "$[0]"), False),
        (Operand(Shape([2]), FLOAT64), True),
        (Operand(Shape([2]), BFLOAT16), True),
        (Operand(Shape([2]), FLOAT64, None, [1, 2]), False),
        (Operand(Shape([MOST_HINT_ELEMENTS]), FLOAT64), True),
        (Operand(Shape([MOST_HINT_ELEMENTS + 1]), FLOAT64), False),
        (Operand(Shape([MOST_HINT_ELEMENTS + 1]), FLOAT64, "$[0]"), True),
        (Operand(Shape([UNKNOWN]), FLOAT64), False),
        (Operand(Shape([UNKNOWN]), FLOAT64, "$[0]"), True),
        (Operand(Shape.of_unknown_rank(), FLOAT64), False),
    ],
)
def test_floats_have_a_fraction_if_they_are_few_or_text_has_one(
    operand: Operand, is_fractional: bool
) -> None:
    assert operand.fractional is is_fractional


@pytest.mark.parametrize(
    ("dtype", "text"), [(INT64, "i64[2,?]"), (STRING, "str[2,?]"), (None, "[2,?]")]
)
def test_an_operand_is_written_as_its_type_and_shape(dtype: DType | None, text: str) -> None:
    assert str(Operand(Shape([2, UNKNOWN]), dtype)) == text


@pytest.mark.parametrize("of", [FLOAT64, INT64], ids=str)
def test_of_twenty_elements_the_integers_are_known_and_of_more_not(of: DType) -> None:
    few, more = (Tensor(of, np.zeros(number, of.name)) for number in (20, 21))

    assert Operand.of(few).integers == [0] * 20
    assert Operand.of(more).integers is None


def test_what_describes_a_tensor_stays_as_it_is() -> None:
    operand = Operand(Shape([2]), INT64)

    assert Operand.of(operand) is operand


def test_attributes_that_count_from_an_unknown_rank_are_not_normalized() -> None:
    data, indices = Operand(Shape([2, 3]), INT64), Operand(Shape([2, 3]), INT64)
    unknown = Operand(Shape.of_unknown_rank(), INT64)

    def call(data: Operand, indices: Operand) -> Call:
        return bind(gather.ROWS[0], data, indices, axis=-1, batch_dims=-1, shapes_only=True)

    assert call(data, indices).normalized == (1, 1)
    for lacking in (call(unknown, indices), call(data, unknown)):
        with pytest.raises(LookupError, match="the axis is not known"):
            _ = lacking.normalized


@pytest.mark.parametrize("batch_dims", [[1], (1,), np.array([1]), True, 1.0, "1"], ids=repr)
def test_the_number_of_batch_dimensions_is_no_list(batch_dims: object) -> None:
    data, indices = Operand(Shape([2, 3]), INT64), Operand(Shape([2, 3]), INT64)

    with pytest.raises(BatchDimsError, match="expected one integer"):
        bind(gather.ROWS[0], data, indices, axis=1, batch_dims=batch_dims)

    call = bind(gather.ROWS[0], data, indices, axis=1, batch_dims=np.array(1))
    assert call.batch_dims == 1


@pytest.mark.parametrize(
    ("data", "indices", "rank"), [([2, 3], None, 2), (None, [2, 3], 2), (None, None, None)]
)
def test_the_rank_of_element_wise_calls_is_that_of_either_input(
    data: list[int] | None, indices: list[int] | None, rank: int | None
) -> None:
    inputs = [
        Operand(Shape.of_unknown_rank() if each is None else Shape(each), INT64)
        for each in (data, indices)
    ]

    assert bind(gather_elements.ROWS[0], *inputs, axis=0, shapes_only=True).rank == rank


BY_NAME = {op.full_name: op for op in OPERATORS}


def call_of(version: str) -> Call:
    return bind(BY_NAME[version], Operand(Shape([3]), INT64), Operand(Shape([1]), INT64))


@pytest.mark.parametrize(
    "version", ["openvino.Gather-8", "openvino.Gather-1", "onnx.Gather-13", "onnx.Gather-1"]
)
def test_the_newest_other_version_of_the_framework_is_named_first(version: str) -> None:
    framework = version.partition(".")[0]
    others = [op for op in gather.ROWS if op.framework == framework and str(op) != version]

    hint = version_that(call_of(version), lambda _: True, "does")

    assert hint == f"{others[0].id} does: `-V {others[0].id}`"


def test_a_version_of_another_framework_is_named_if_it_alone_would_do() -> None:
    call = call_of("openvino.Gather-8")

    other = version_that(call, lambda op: op.framework == "onnx", "does")
    more = version_that(call, lambda op: op.version == 7, "does", out_of_range="zero")

    assert other == f"{newest('onnx')} does: `-V {newest('onnx')}`"
    assert more == "openvino-7 does: `-V openvino-7`, or `--out-of-range zero`"
    assert version_that(call, lambda op: op is call.op, "does") is None


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_range_of_an_axis_is_that_of_the_rank(rank: int) -> None:
    for axis in (-rank - 1, rank):
        with pytest.raises(AxisError) as info:
            bind(
                gather.ROWS[0],
                Operand(Shape([2] * rank), INT64),
                Operand(Shape([]), INT64),
                axis=axis,
            )

        assert info.value.expected == interval(-rank, rank - 1)
        assert info.value.value == axis
        assert info.value.hint == "the last dimension is `axis=-1`"
