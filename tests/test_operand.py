"""What is known of an input before its elements are."""

from __future__ import annotations

import pytest

from gathercli.engine import bind
from gathercli.ops import gather
from gathercli.spec.call import FEW, Call, Operand
from gathercli.spec.dtypes import BFLOAT16, BOOL, FLOAT64, INT64, STRING, DType
from gathercli.spec.shapes import UNKNOWN, Shape


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
        (Operand(Shape([FEW]), FLOAT64), True),
        (Operand(Shape([FEW + 1]), FLOAT64), False),
        (Operand(Shape([FEW + 1]), FLOAT64, "$[0]"), True),
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


def test_what_describes_a_tensor_stays_as_it_is() -> None:
    operand = Operand(Shape([2]), INT64)

    assert Operand.of(operand) is operand


def test_a_call_of_other_inputs_is_the_same_in_all_else() -> None:
    tensors = [Operand(Shape([2, 3]), INT64), Operand(Shape([1]), INT64)]
    call = bind(
        gather.ROWS[0],
        *tensors,
        axis=1,
        negative="wrap",
        out_of_range="clamp",
        shapes_only=True,
        version_from="GATHERCLI_VERSION",
    )
    inputs = dict(zip(call.inputs, tensors[::-1], strict=True))

    found = call.with_inputs(inputs)

    assert found.inputs is inputs
    for name in ("op", "family", "attrs", "negative", "out_of_range", "shapes_only"):
        assert getattr(found, name) is getattr(call, name)
    assert found.version_from == "GATHERCLI_VERSION"


def test_the_size_of_an_axis_may_not_be_known() -> None:
    data, indices = Operand(Shape([2, UNKNOWN]), INT64), Operand(Shape([1]), INT64)

    def call(axis: int | str) -> Call:
        return bind(gather.ROWS[0], data, indices, axis=axis, shapes_only=True)

    assert call(0).size == 2
    with pytest.raises(LookupError, match="the size of the axis is not known"):
        _ = call(1).size
    with pytest.raises(LookupError, match="the axis is not known"):
        _ = call("unknown").size
