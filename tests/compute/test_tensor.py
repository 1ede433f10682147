"""Tensors in memory: their blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import dtype
from tests.tensorfiles import often


@given(draw=st.data(), cells=st.integers(1, 20))
@often
def test_blocks_are_in_row_major_order_whatever_the_memory_is(
    draw: st.DataObject, cells: int
) -> None:
    shape = draw.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    array = np.asfortranarray(np.arange(np.prod(shape, dtype=int)).reshape(shape))
    array = array.transpose(draw.draw(st.permutations(range(len(shape)))))
    blocks = list(Tensor(dtype("int64"), array).blocks(cells))
    assert [n for block in blocks for n in block.tolist()] == array.reshape(-1).tolist()
    assert all(block.size <= cells for block in blocks)


def test_an_empty_tensor_of_many_rows_lists_none_of_them_for_a_hint() -> None:
    rows = Tensor(dtype("float32"), np.zeros((1 << 40, 0), np.float32))
    two_rows = Tensor(dtype("float32"), np.zeros((2, 0), np.float32))

    assert rows.integers is None
    assert two_rows.integers == [[], []]
