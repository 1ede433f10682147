"""What a row says of its operator version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.ops import OPERATORS

if TYPE_CHECKING:
    from gathercli.spec.op import Op


@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_an_input_and_an_attribute_are_found_by_their_names(op: Op) -> None:
    assert [op.input(each.name) for each in op.inputs] == list(op.inputs)
    assert [op.attr(each.name) for each in op.attrs] == list(op.attrs)
    assert op.attr("lower") is op.attr("") is None
    assert op.has_batch_dims == ("batch_dims" in {each.name for each in op.attrs})


@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_a_version_has_a_name_an_id_and_the_page_of_its_specification(op: Op) -> None:
    assert f"{op.framework}.{op.name}-{op.version}" == op.full_name == str(op)
    assert (op.id, repr(op)) == (f"{op.framework}-{op.version}", f"<{op.full_name}>")
    assert {op: 1}[op._replace()] == 1
    assert op.page.startswith("https://")
    assert op.name in op.page or f"/{op.family}-{op.version}." in op.page
