"""Results are computed slab by slab, and indices checked chunk by chunk."""

from __future__ import annotations

import numpy as np
import pytest

from gathercli import engine
from gathercli.arrays import streamed
from gathercli.arrays.blocks import CopyBlocks, GatherBlocks
from gathercli.arrays.bound import BoundCall
from gathercli.arrays.run import run
from gathercli.arrays.tensor import Tensor, dtype_of
from gathercli.errors import GatherError
from gathercli.ops import find
from gathercli.spec.call import Operand
from tests.chunked import Chunks


def test_the_first_refused_index_is_the_first_of_all_not_of_a_chunk() -> None:
    indices = np.zeros((4, 6), np.int64)
    indices[2, 0], indices[1, 5], indices[3, 0] = 50, 60, 70
    data = np.arange(5)
    call = engine.bind(
        find("onnx-13", "gather").op,
        Operand.of(Tensor(dtype_of(data.dtype), data)),  # type: ignore[arg-type]
        Operand.of(Tensor(dtype_of(indices.dtype), indices)),  # type: ignore[arg-type]
        axis=0,
        out_of_range="error",
    )

    made = GatherBlocks(BoundCall(call, Chunks(data, (2,)), Chunks(indices, (4, 2))))

    with pytest.raises(GatherError) as refused:
        run(made.bound, threads=3)
    assert refused.value.where == "[1,5]"
    assert refused.value.value == 60


def test_a_copy_is_made_box_by_box() -> None:
    data = Chunks(np.arange(77).reshape(7, 11), (2, 3))

    made = CopyBlocks(data)

    assert made.choose_chunks() == (2, 3)

    found = streamed.BlockResult(made, 5_000, threads=2)

    assert b"".join(block.tobytes() for block in found.blocks(5)) == data.array.tobytes()
    assert (found.whole().array == data.array).all()
    assert str(found) == "i64[7,11]"
