"""Laws of gathering elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gathercli
from tests.ops.test_laws import sizes
from tests.random_calls import AXIS_ROWS, assert_same, filled, moderately, seeds

if TYPE_CHECKING:
    from gathercli.spec.op import Op


@pytest.mark.parametrize("op", [op for op in AXIS_ROWS if op.elementwise], ids=str)
@moderately
@given(shape=st.lists(sizes, min_size=1, max_size=4), seed=seeds, drawn=st.data())
def test_gathering_every_element_in_place_gives_the_data(
    op: Op, shape: list[int], seed: int, drawn: st.DataObject
) -> None:
    axis = drawn.draw(st.integers(0, len(shape) - 1))
    x = filled(tuple(shape), "float32", seed)
    own = np.indices(x.shape)[axis]

    assert_same(gathercli.gather_elements(x, own, axis=axis, version=op.id), x)
