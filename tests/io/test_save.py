"""Writing results: round trips through binary formats."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import InputError
from gathercli.io import save
from gathercli.io.formats import literal
from gathercli.spec.dtypes import DType, dtype
from tests.tensorfiles import amply, bits, encoded, every_type, read, tensors

if TYPE_CHECKING:
    from pathlib import Path


@every_type
@pytest.mark.parametrize("fmt", ["npy", "npz"])
@amply
@given(draw=st.data())
def test_binary_formats_keep_every_bit(
    draw: st.DataObject, fmt: str, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    raw = encoded(tensor, fmt)
    back = read(raw, tmp_path, declared=held)
    assert (back.dtype, back.shape) == (held, tensor.shape)
    assert bits(back) == bits(tensor)
    loaded = np.load(io.BytesIO(raw), allow_pickle=False)
    if fmt == "npz":
        with loaded:
            assert loaded.files == ["output"]
            loaded = loaded["output"]
    assert loaded.shape == tensor.shape
    assert loaded.tobytes() == tensor.array.tobytes()


@every_type
@pytest.mark.parametrize("fmt", save.STREAMED_FORMATS)
@pytest.mark.parametrize("shape", [(), (0, 2), (1,), (3, 5)])
def test_no_file_is_smaller_than_the_room_it_is_said_to_take(
    fmt: str, held: DType, shape: tuple[int, ...]
) -> None:
    tensor = Tensor(held, np.zeros(shape, storage_of(held)))
    try:
        raw = encoded(tensor, fmt)
    except InputError:
        pytest.skip(f"{fmt} has no such type")

    least = save.least_sum(fmt, [("output", tensor)])

    assert least <= len(raw)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1, 1), (1,) * 32, (1,) * 64])
@pytest.mark.parametrize("fmt", ["npy", "npz", "oip", "literal", "json"])
def test_every_rank_that_numpy_holds_is_written_and_read(
    shape: tuple[int, ...], fmt: str, tmp_path: Path
) -> None:
    tensor = Tensor(dtype("int64"), np.full(shape, 7))
    raw = encoded(tensor, fmt)
    if fmt == "literal":
        back = literal.parse(raw.decode().strip(), max_bytes=9)
    else:
        back = read(raw, tmp_path, declared=dtype("int64"))
    assert back is not None
    assert back.shape == shape
    assert back.array.tolist() == tensor.array.tolist()
