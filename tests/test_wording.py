"""Words that the refusals of calls share."""

from __future__ import annotations

from typing import Any

import pytest

from gathercli.errors import AxisError, DtypeError
from gathercli.ops import OPERATORS, gather
from gathercli.ops.engine import bind
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import BOOL, DTYPES, INT64, dtype
from gathercli.spec.rules.wording import flat, interval, plain_value, types_text, version_that
from gathercli.spec.shapes import Shape

BY_NAME = {op.full_name: op for op in OPERATORS}


def call_of(version: str) -> Call:
    return bind(BY_NAME[version], Operand(Shape([3]), INT64), Operand(Shape([1]), INT64))


@pytest.mark.parametrize(
    ("bottom", "top", "text"), [(-2, 1, "-2 to 1"), (0, 0, "0"), (0, 1, "0 to 1")]
)
def test_an_interval_of_one_number_is_that_number(bottom: int, top: int, text: str) -> None:
    assert interval(bottom, top) == text


@pytest.mark.parametrize(
    ("nested", "numbers"), [(5, [5]), ([], []), ([[1, 2], [3]], [1, 2, 3]), ([[], [4]], [4])]
)
def test_nested_integers_are_listed(nested: Any, numbers: list[int]) -> None:
    assert flat(nested) == numbers


def test_types_are_listed_with_or() -> None:
    assert types_text((dtype("int32"), INT64)) == "int32 or int64"


@pytest.mark.parametrize("value", [0, -1, "x", "", 2**256 - 1, 1 - 2**256])
def test_a_number_and_a_text_are_values_as_they_are(value: object) -> None:
    assert plain_value(value) is value


@pytest.mark.parametrize("value", [True, 1.5, [1], None, 2**256, -(2**256)], ids=str)
def test_any_other_value_is_written_as_text(value: object) -> None:
    assert isinstance(plain_value(value), str)


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("openvino.Gather-8", "openvino-7 does: `-V openvino-7`"),
        ("openvino.Gather-1", "openvino-8 does: `-V openvino-8`"),
        ("onnx.Gather-13", "onnx-11 does: `-V onnx-11`"),
        ("onnx.Gather-1", "onnx-13 does: `-V onnx-13`"),
    ],
)
def test_the_newest_other_version_of_the_framework_is_named_first(version: str, hint: str) -> None:
    assert version_that(call_of(version), lambda _: True, "does") == hint


def test_a_version_of_another_framework_is_named_if_it_alone_would_do() -> None:
    call = call_of("openvino.Gather-8")

    other = version_that(call, lambda op: op.framework == "onnx", "does")
    more = version_that(call, lambda op: op.version == 7, "does", out_of_range="zero")

    assert other == "onnx-13 does: `-V onnx-13`"
    assert more == "openvino-7 does: `-V openvino-7`, or `--out-of-range zero`"
    assert version_that(call, lambda op: op is call.op, "does") is None


@pytest.mark.parametrize("of", [each for each in DTYPES if each.integral], ids=str)
def test_only_integers_of_less_than_64_bits_are_advised_to_become_int64(of: Any) -> None:
    row = gather.ROWS[0]
    narrow = row._replace(inputs=(row.inputs[0], row.inputs[1]._replace(dtypes=(BOOL,))))

    with pytest.raises(DtypeError) as info:
        bind(narrow, Operand(Shape([3]), INT64), Operand(Shape([1]), of), axis=0)

    hint = '`numpy.asarray(indices, "int64")` converts them without loss'
    assert info.value.hint == (hint if of.bits < 64 else None)


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
