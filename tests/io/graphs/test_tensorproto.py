from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from gathercli.spec.dtypes import PLAIN, DType, Kind
from tests.io.formats.test_formats import specials
from tests.io.formats.test_safetensorsfile import assert_one_error
from tests.tensorfiles import amply, assert_tensor_or_error, bits, encoded, often, read, tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


every_type = pytest.mark.parametrize("held", PLAIN, ids=str)
NUMBERS: Final = {"float32": "FLOAT", "float64": "DOUBLE"}


def number(held: DType) -> int:
    """Return ONNX's number of a type."""
    return int(TensorProto.DataType.Value(NUMBERS.get(held.name, held.name.upper())))


def message(**fields: Any) -> bytes:
    """Make a message by hand; of one int16 pair where a field is not given."""
    known: dict[str, Any] = {"dims": [2], "data_type": TensorProto.INT16}
    known |= {"raw_data": b"\1\0\2\0"} if fields.keys().isdisjoint(DATA) else {}
    return bytes(TensorProto(**(known | fields)).SerializeToString())


DATA: Final = (
    "raw_data",
    "int32_data",
    "int64_data",
    "float_data",
    "double_data",
    "uint64_data",
    "string_data",
)


def strings(name: str, *words: bytes) -> TensorProto:
    held = TensorProto.STRING
    return TensorProto(name=name, dims=[len(words)], data_type=held, string_data=words)


GOOD: Final = message(name="pair")


def peer_array(array: Any, held: DType) -> Any:
    """View an array as the peers hold its type."""
    if held.name == "bfloat16":
        return array.astype(np.uint16, copy=False).view(ml_dtypes.bfloat16)
    return array.astype(object) if held.kind is Kind.STRING else array


# What the package writes and reads


@every_type
@amply
@given(draw=st.data())
def test_what_from_array_wrote_is_read_bit_by_bit(
    draw: st.DataObject, held: DType, tmp_path: Path
) -> None:
    tensor = draw.draw(tensors(held))
    raw = numpy_helper.from_array(peer_array(tensor.array, held), "x").SerializeToString()
    back = read(raw, tmp_path)
    assert (back.dtype, back.shape) == (held, tensor.shape)
    if held.kind is Kind.STRING:
        assert back.array.tolist() == tensor.array.tolist()
    else:
        assert bits(back) == bits(tensor)


@every_type
@amply
@given(draw=st.data())
def test_what_we_write_is_read_by_to_array_bit_by_bit(draw: st.DataObject, held: DType) -> None:
    tensor = draw.draw(tensors(held))
    proto = TensorProto.FromString(encoded(tensor, "pb"))
    assert (proto.name, proto.data_type) == ("output", number(held))
    array = numpy_helper.to_array(proto)
    assert array.shape == tensor.shape
    if held.kind is Kind.STRING:
        assert array.tolist() == [] or array.astype(str).tolist() == tensor.array.tolist()
    else:
        assert array.tobytes() == bits(tensor)


@every_type
def test_what_make_tensor_put_into_typed_fields_is_read(held: DType, tmp_path: Path) -> None:
    tensor = specials(held)
    if held.kind in (Kind.FLOAT, Kind.COMPLEX):  # Python's floats carry no payload of NaN
        tensor = type(tensor)(held, tensor.array[: 3 if held.kind is Kind.FLOAT else 1])
    values = peer_array(tensor.array, held)
    values = values.tolist() if held.name != "bfloat16" else values.astype(np.float32).tolist()
    for shape in ((len(values),), (len(values), 1)):
        proto = helper.make_tensor("x", number(held), shape, values)
        assert not proto.HasField("raw_data")
        back = read(proto.SerializeToString(), tmp_path)
        assert (back.dtype, back.shape) == (held, shape)
        assert back.array.ravel().tolist() == tensor.array.tolist()


def test_dimensions_packed_together_are_read(run: Run) -> None:
    packed = b"\x0a\x02\x02\x01" + message(dims=[])
    assert run("convert", "-", "-", stdin=packed) == (0, "[[1],[2]]\n", "")


def test_zero_dimensions_need_no_field(run: Run) -> None:
    assert run("convert", "-", "-", stdin=message(dims=[], raw_data=b"\5\0")) == (0, "5\n", "")


def test_unknown_fields_and_words_of_documentation_are_passed_over(run: Run) -> None:
    raw = message(doc_string="\x1b[31mred") + b"\xfa\x07\x02hi"
    assert run("convert", "-", "-", stdin=raw) == (0, "[1,2]\n", "")


def test_the_name_of_the_tensor_chooses_it_and_another_does_not(run: Run, folder: Path) -> None:
    (folder / "x.pb").write_bytes(GOOD)
    assert run("gather", "x.pb#pair", "1") == (0, "2\n", "")
    assert run("convert", "x.pb#other", "-") == (
        65,
        "",
        "error: x.pb: the file holds one tensor, `pair`, and no `other`: expected no key\n"
        "rule: format\n",
    )


def test_the_name_that_a_tensor_has_is_written(run: Run, folder: Path) -> None:
    np.savez("x.npz", emb=np.arange(2), other=np.arange(3))
    assert run("convert", "x.npz#emb", "y.pb") == (0, "", "")
    assert TensorProto.FromString((folder / "y.pb").read_bytes()).name == "emb"


# What is malformed


def other_type(name: str, **fields: Any) -> bytes:
    return message(data_type=TensorProto.DataType.Value(name), **fields)


MALFORMED: Final[dict[str, tuple[bytes, str, str]]] = {
    "one byte too few": (message(raw_data=b"abc"), "format", "has 3 bytes of elements: expected 4"),
    "one byte too many": (message(raw_data=b"abcde"), "format", "5 bytes of elements: expected 4"),
    "no elements": (message(int32_data=[]), "format", "truncated: it ends without elements"),
    "one value for two": (message(int32_data=[7]), "format", "has 1 value: expected 2, for [2]"),
    "three values for two": (message(int32_data=[1, 2, 3]), "format", "has 3 values: expected 2"),
    "values for an empty shape": (
        message(dims=[0], int32_data=[1]),
        "format",
        "1 value: expected 0",
    ),
    "bytes for an empty shape": (message(dims=[0], raw_data=b"ab"), "format", "has 2 bytes"),
    "two values for none": (message(dims=[], int32_data=[1, 2]), "format", "expected 1, for []"),
    "values in another field": (message(int64_data=[1, 2]), "format", "in the field int64_data"),
    "floats for integers": (message(float_data=[1, 2]), "format", "in the field float_data"),
    "strings for integers": (message(string_data=[b"a"]), "format", "in the field string_data"),
    "values in two fields": (
        message(int32_data=[1, 2], int64_data=[3, 4]),
        "format",
        "in the field int64_data",
    ),
    "a complex number cut in half": (
        other_type("COMPLEX64", float_data=[1, 2, 3]),
        "format",
        "3 values: expected 4",
    ),
    "strings as raw bytes": (
        other_type("STRING", raw_data=b"ab"),
        "format",
        "in raw_data: expected string_data",
    ),
    "one string for two": (other_type("STRING", string_data=[b"a"]), "format", "expected 2"),
    "a string of no UTF-8": (
        other_type("STRING", string_data=[b"a", b"b\xff"]),
        "format",
        "byte 1 of the string at `string_data[1]` is 0xff",
    ),
    "a string that ends in NUL": (
        other_type("STRING", string_data=[b"a", b"b\0"]),
        "dtype",
        "string_data[1]",
    ),
    "a negative size": (message(dims=[-1], raw_data=b""), "format", "the shape is [-1]"),
    "two negative sizes": (message(dims=[-1, -2]), "format", "the shape is [-1, -2]"),
    "the smallest size": (message(dims=[-(2**63)]), "format", "sizes of 0 or more"),
    "a size of 2^63 - 1": (message(dims=[2**63 - 1], raw_data=b""), "limit", "2^63 bytes"),
    "sizes whose product wraps": (message(dims=[2**32, 2**32], raw_data=b""), "limit", "2^63"),
    "a size hidden by zero": (message(dims=[0, 2**62], raw_data=b""), "limit", "2^63 bytes"),
    "a petabyte in one value": (message(dims=[2**50], int32_data=[1]), "format", "has 1 value"),
    "a rank of 65": (message(dims=[1] * 65, raw_data=b"ab"), "limit", "rank at most 64"),
    "a rank of 1000": (message(dims=[1] * 1000, raw_data=b"ab"), "limit", "at most 64"),
    "a segment": (
        message(segment=TensorProto.Segment(begin=0, end=2)),
        "format",
        "a segment of a larger",
    ),
    "an empty segment": (message(segment=TensorProto.Segment()), "format", "a segment"),
    "text behind it": (GOOD + b"[1,2]", "format", ""),
    "two messages": (GOOD + GOOD, "format", "expected 8, for [2, 2]"),
}
UNKNOWN: Final = {
    f"the type {unknown}": (
        b"\x08\x02\x10" + code + b"\x4a\x04abcd",
        "dtype",
        f"ONNX's type {unknown}: expected bool",
    )
    for unknown, code in ((99, b"\x63"), (127, b"\x7f"))
}


BAD: Final = MALFORMED | UNKNOWN


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_message_is_one_error_from_a_file_and_a_pipe(
    case: str, run: Run, folder: Path
) -> None:
    raw, rule, words = BAD[case]
    (folder / "x").write_bytes(raw)
    for command in (("convert", "x", "-"), ("info", "x"), ("info", "--header", "x")):
        ran = run(*command)
        if "--header" in command and ran.status == 0:
            continue  # what is wrong with a value is not seen there
        line = assert_one_error(ran, rule)
        assert line.startswith("error: x: ")
        assert words in line
    line = assert_one_error(run("convert", "-", "-", stdin=raw), rule)
    assert line.startswith("error: standard input: ")
    assert os.listdir(folder) == ["x"]


def test_a_message_without_a_type_is_refused(run: Run, folder: Path) -> None:
    for raw in (b"\x08\x02\x10\0\x4a\4abcd", b"\x10\0", b"\x08\x02", b"\x08\x02\x4a\4abcd"):
        (folder / "x.pb").write_bytes(raw)
        ran = run("convert", "x.pb", "-")
        assert_one_error(ran, ran.err.rpartition("rule: ")[2].strip())


@pytest.mark.parametrize(
    ("name", "values", "at", "bounds"),
    [
        ("INT8", [127, 128], 1, "-128 to 127"),
        ("INT8", [-129, 0], 0, "-128 to 127"),
        ("UINT8", [0, -1], 1, "0 to 255"),
        ("INT16", [-32769, 32768], 0, "-32768 to 32767"),
        ("UINT16", [65535, 65536], 1, "0 to 65535"),
        ("BOOL", [1, 2], 1, "0 to 1"),
        ("BOOL", [-1, 0], 0, "0 to 1"),
        ("FLOAT16", [0, 65536], 1, "0 to 65535"),
        ("BFLOAT16", [-1, 0], 0, "0 to 65535"),
        ("UINT32", [0, 2**32], 1, "0 to 4294967295"),
    ],
)
def test_a_value_that_its_type_would_cut_is_refused(
    name: str, values: list[int], at: int, bounds: str, run: Run
) -> None:
    field = "uint64_data" if name == "UINT32" else "int32_data"
    ran = run("convert", "-", "-", stdin=other_type(name, **{field: values}))
    held = {"BOOL": "bool"}.get(name, name.lower())
    assert ran == (
        65,
        "",
        f"error: standard input: the value at `{field}[{at}]` is {values[at]}, which {held} "
        f"cannot hold: expected {bounds}\nrule: dtype\n",
    )


def test_every_message_that_is_cut_short_is_refused(run: Run, folder: Path) -> None:
    typed = helper.make_tensor("x", TensorProto.INT64, [2, 1], [5, 300]).SerializeToString()
    for whole in (GOOD, typed):
        assert run("convert", "-", "-", stdin=whole).status == 0
        kept = whole[: whole.index(b"\x42")]  # the name comes last in one of them
        for length in range(len(whole)):
            (folder / "x.pb").write_bytes(whole[:length])
            ran = run("convert", "x.pb", "-")
            if ran.status == 0:
                assert whole[:length] == kept
                continue
            assert_one_error(ran, ran.err.rpartition("rule: ")[2].strip())


@often
@given(st.data())
def test_a_sound_message_with_some_bytes_changed_is_a_tensor_or_one_error(
    draw: st.DataObject,
) -> None:
    words = strings("w", b"a", b"bc").SerializeToString()
    halves = helper.make_tensor("h", TensorProto.FLOAT16, [2], [1.0, 2.0]).SerializeToString()
    raw = bytearray(draw.draw(st.sampled_from((GOOD, words, halves))))
    changes = st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)
    for at, byte in draw.draw(changes):
        raw[at] = byte
    assert_tensor_or_error(bytes(raw[: draw.draw(st.integers(0, len(raw)))]))


@often
@given(st.binary(max_size=60).map(lambda tail: b"\x08\x02\x10\x05" + tail))
def test_any_bytes_behind_a_shape_and_a_type_are_a_tensor_or_one_error(raw: bytes) -> None:
    assert_tensor_or_error(raw)


def test_a_model_is_told_from_a_tensor(run: Run, folder: Path) -> None:
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(np.arange(2), "w")])
    model = helper.make_model(graph)
    (folder / "m.onnx").write_bytes(model.SerializeToString())

    ran = run("convert", "m.onnx", "-")

    assert (ran.status, ran.out) == (0, "[0,1]\n")


# Text from the message


def test_no_text_of_a_message_goes_raw_to_the_terminal(run: Run, folder: Path) -> None:
    red = "\x1b[31m\x9b\u202e"
    words = strings(red, red.encode())
    proto = TensorProto(dims=[1], data_type=TensorProto.INT8, name=red, raw_data=b"a")
    elsewhere = TensorProto(dims=[1], data_type=TensorProto.INT8, name=red)
    elsewhere.external_data.add(key=red, value=red)
    files = {"w": words, "n": proto, "e": elsewhere}
    for name, each in files.items():
        (folder / name).write_bytes(each.SerializeToString())
    for name in files:
        for command in (
            ("info", name),
            ("info", name, "-f", "json"),
            ("info", f"{name}#x"),
            ("convert", name, "-", "--to", "literal"),
            ("convert", name, "-", "--to", "oip"),
            ("convert", name, "-", "--dtype", "i8"),
            ("gather", name, "0", "-f", "pretty"),
        ):
            ran = run(*command, "--color", "never")
            assert not any(sign in ran.out + ran.err for sign in red[0] + red[-2:])
    assert json.loads(run("convert", "w", "-").out) == [red]


# Writing


def test_a_tensor_larger_than_a_message_is_refused_before_it_is_held(
    run: Run, folder: Path
) -> None:
    with open(folder / "x.bin", "wb") as file:
        file.truncate(2**31)
    ran = run("convert", "bin:2147483648xi8@x.bin", "y.pb")
    assert ran == (
        65,
        "",
        "error: the tensor takes 2147483648 bytes: expected less than 2^31, "
        "as much as a protobuf message holds\n"
        "hint: npy and safetensors have no such limit\nrule: limit\n",
    )
    assert os.listdir(folder) == ["x.bin"]
