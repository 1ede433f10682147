"""What is known of an input before its elements are."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli.compute.tensor import Tensor
from gathercli.errors import BatchDimsError
from gathercli.ops import gather, gather_elements
from gathercli.ops.engine import bind
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


@pytest.mark.parametrize("of", [FLOAT64, INT64], ids=str)
def test_of_twenty_elements_the_integers_are_known_and_of_more_not(of: DType) -> None:
    few, more = (Tensor(of, np.zeros(number, of.name)) for number in (20, 21))

    assert Operand.of(few).integers == [0] * 20
    assert Operand.of(more).integers is None


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
    ("data", "indices", "rank"),
    [([2, 3], None, 2), (None, [2, 3], 2), (None, None, None)],
)
def test_the_rank_of_element_wise_calls_is_that_of_either_input(
    data: list[int] | None, indices: list[int] | None, rank: int | None
) -> None:
    inputs = [
        Operand(Shape.of_unknown_rank() if each is None else Shape(each), INT64)
        for each in (data, indices)
    ]

    assert bind(gather_elements.ROWS[0], *inputs, axis=0, shapes_only=True).rank == rank
