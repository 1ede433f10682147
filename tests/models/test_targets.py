"""The targets of a conversion."""

from __future__ import annotations

import pytest

from gathercli.errors import UsageError
from gathercli.models.targets import every_target, target, target_names
from gathercli.ops import FAMILIES

EVERY = {each.name: each for each in every_target()}


def test_a_target_is_one_of_the_table_an_opset_or_the_newest() -> None:
    assert all(target(name).name == name for name in EVERY)
    assert target(" ONNX-12 ").name == "onnx-12"
    assert target("onnx").name == target("onnx-28").name


@pytest.mark.parametrize("name", ["", "onnx-", "onnx-0", "onnx-999", "onnx-1.2", "tensorrt-10"])
def test_a_name_of_no_target_is_refused_with_all_names(name: str) -> None:
    with pytest.raises(UsageError, match="no target") as refusal:
        target(name)

    assert all(each in refusal.value.message for each in target_names())


def test_a_misspelt_target_is_suggested() -> None:
    with pytest.raises(UsageError) as refusal:
        target("tensort")

    assert refusal.value.hint == "did you mean `tensorrt`?"


@pytest.mark.parametrize("name", EVERY)
def test_a_target_says_from_where_it_is_known(name: str) -> None:
    each = EVERY[name]

    assert each.evidence in ("probed", "read")
    assert all(each.sources)
    assert each.operators.keys() <= FAMILIES.keys()
    assert all(op.op.family == command for command, op in each.operators.items())


def test_an_opset_has_the_operators_of_its_time() -> None:
    assert set(target("onnx-10").operators) == {"gather"}
    assert str(target("onnx-12").operators["gather-nd"].op) == "onnx.GatherND-12"
