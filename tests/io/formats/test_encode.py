"""Text of tensors: round trips, and the digits of floats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.io.formats import literal
from gathercli.io.formats.content import ElementTypes
from gathercli.spec.dtypes import DType, dtype
from tests.tensorfiles import amply, assert_same_values, encoded, every_type, read, tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


@every_type
@pytest.mark.parametrize("fmt", ["oip", "literal"])
@amply
@given(draw=st.data())
def test_typed_text_keeps_type_shape_and_values(
    draw: st.DataObject, fmt: str, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    text = encoded(tensor, fmt)
    assert text.endswith(b"\n")
    if fmt == "oip":
        back: Tensor | None = read(text, tmp_path)
    else:
        token = text.decode().removesuffix("\n")
        assert "\n" not in token
        back = literal.parse(token)
    assert back is not None
    assert back.typed
    assert_same_values(back, tensor)


@every_type
@amply
@given(draw=st.data())
def test_plain_json_keeps_values_where_it_can(
    draw: st.DataObject, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    text = encoded(tensor, "json").decode()
    assert text.count("\n") == 1
    assert json.loads(text) is not None
    if 0 in tensor.shape[:-1]:
        return  # plain JSON does not carry such a shape
    back = read(text.encode(), tmp_path, declared=held)
    assert_same_values(back, tensor)


def float_of(pattern: int, name: str) -> Tensor:
    width = {"bfloat16": "u2", "float16": "u2", "float32": "u4", "float64": "u8"}[name]
    held = dtype(name)
    return Tensor(held, np.array([pattern], width).view(storage_of(held)))


@pytest.mark.parametrize(
    ("name", "pattern", "digits"),
    [
        ("float32", 0x3DCCCCCD, "0.1"),
        ("float32", 0x4B800000, "16777216.0"),
        ("float32", 0x00000001, "1e-45"),
        ("float32", 0x7F7FFFFF, "3.4028235e+38"),
        ("float32", 0x80000000, "-0.0"),
        ("float64", 0x3FB999999999999A, "0.1"),
        ("float64", 0x4340000000000000, "9007199254740992.0"),
        ("float64", 0x0000000000000001, "5e-324"),
        ("float64", 0x4415AF1D78B58C40, "1e+20"),
        ("float16", 0x2E66, "0.099975586"),
        ("float16", 0x7BFF, "65504.0"),
        ("float16", 0x0001, "5.9604645e-08"),
        ("bfloat16", 0x3DCD, "0.100097656"),
        ("bfloat16", 0x3F80, "1.0"),
        ("bfloat16", 0x7F7F, "3.3895314e+38"),
    ],
)
def test_floats_have_the_shortest_digits_of_their_type(
    name: str, pattern: int, digits: str
) -> None:
    tensor = float_of(pattern, name)
    assert float(json.loads(encoded(tensor, "json"))[0]) == float(digits)
    assert encoded(tensor, "json").decode().strip("[]\n").replace("e+", "e") == digits.replace(
        "e+", "e"
    )


@pytest.mark.parametrize("pattern", [0x15AE43FD, 0x15AE43FE, 0x95AE43FD])
@pytest.mark.parametrize("fmt", ["json", "oip", "literal"])
def test_a_float32_near_the_middle_of_two_is_not_rounded_twice(
    pattern: int, fmt: str, tmp_path: Path
) -> None:
    tensor = float_of(pattern, "float32")
    raw = encoded(tensor, fmt)
    if fmt == "literal":
        back = literal.parse(raw.decode().strip(), ElementTypes(empty=tensor.dtype), max_bytes=9)
    else:
        back = read(raw, tmp_path, declared=tensor.dtype)
    assert back is not None
    assert back.array.view(np.uint32).tolist() == [pattern]


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_value_of_a_sixteen_bit_float_reads_back(name: str, tmp_path: Path) -> None:
    held = dtype(name)
    tensor = Tensor(held, np.arange(1 << 16, dtype=np.uint16).view(storage_of(held)))
    assert_same_values(read(encoded(tensor, "json"), tmp_path, declared=held), tensor)
    assert_same_values(read(encoded(tensor, "oip"), tmp_path), tensor)


def test_bfloat16_is_rounded_once_and_to_even(run: Run) -> None:
    exact = [1.0, 1.00390625, 1.01171875, 1.00390625 + 2**-40, 3.3895313892515355e38]
    ran = run("gather", json.dumps(exact), "arange:5", "--data-dtype", "bf16", "-f", "npy", "-q")
    assert np.frombuffer(ran.raw[-10:], "<u2").tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F7F]
