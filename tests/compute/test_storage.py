"""Types that NumPy lacks, of 8 bits or less, and arrays however they lie in memory."""

from __future__ import annotations

import json
import re
import shlex
import tracemalloc
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from onnx import TensorProto, helper, numpy_helper

import gathercli
from gathercli.compute import native, storage
from gathercli.compute.conversion import as_bits
from gathercli.compute.storage import one_axis
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.spec.dtypes import DTYPES, DType, Kind, dtype
from tests.cases import drawn
from tests.compute.test_kernel import LAYOUTS, unneeded
from tests.test_layers import loaded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Run


Array = npt.NDArray[Any]

NARROW: Final = [element_type for element_type in DTYPES if element_type.narrow]
FLOATS: Final = [element_type for element_type in NARROW if element_type.kind is Kind.FLOAT]
every_type = pytest.mark.parametrize("element_type", NARROW, ids=str)
every_float = pytest.mark.parametrize("element_type", FLOATS, ids=str)
TAKEN: Final = "float8, float6, float4, int4 and int2 types"


def theirs(element_type: DType) -> Any:
    return getattr(ml_dtypes, element_type.name)


def codes(element_type: DType) -> Any:
    return np.arange(2**element_type.bits, dtype=np.uint8)


def array(element_type: DType, *values: float) -> Any:
    return np.array(values, np.float32).astype(theirs(element_type))


# What the bits mean


@every_type
def test_every_byte_has_the_value_that_ml_dtypes_gives_it(element_type: DType) -> None:
    ours = Tensor(element_type, codes(element_type)).values()

    assert ours.dtype == {Kind.FLOAT: "f4", Kind.INT: "i1", Kind.UINT: "u1"}[element_type.kind]
    np.testing.assert_array_equal(
        ours, codes(element_type).view(theirs(element_type)).astype(ours.dtype)
    )


@every_type
def test_bits_beyond_those_of_the_type_mean_nothing(element_type: DType) -> None:
    np.testing.assert_array_equal(
        Tensor(element_type, codes(element_type) | np.uint8(256 - 2**element_type.bits)).values(),
        Tensor(element_type, codes(element_type)).values(),
    )


@every_type
def test_every_value_has_its_own_bits(element_type: DType) -> None:
    values = Tensor(element_type, codes(element_type)).values()
    number = values == values  # noqa: PLR0124  (no NaN)

    assert as_bits(values, element_type)[number].tolist() == codes(element_type)[number].tolist()


@every_float
def test_numbers_are_rounded_as_ml_dtypes_does_from_float32(element_type: DType) -> None:
    generator = np.random.default_rng(0)
    wide = generator.normal(size=20_000) * np.exp2(generator.integers(-24, 24, 20_000))
    single = wide.astype(np.float32)

    bits, fits = storage.nearest(single.astype(np.float64), element_type)

    assert fits.any()
    expected = single[fits].astype(theirs(element_type)).view(np.uint8)
    np.testing.assert_array_equal(bits[fits], expected)


@every_float
def test_numbers_halfway_go_to_even_and_others_to_the_nearest(element_type: DType) -> None:
    values = Tensor(element_type, codes(element_type)).values().astype(np.float64)
    known = np.flatnonzero((values > 0) & np.isfinite(values))
    low, high = known[:-1], known[1:]
    middle = (values[low] + values[high]) / 2

    def rounded(wide: Any) -> list[int]:
        bits, fits = storage.nearest(wide, element_type)
        assert fits.all()
        return list(bits)

    assert rounded(middle) == [at if at % 2 == 0 else at + 1 for at in low]
    assert rounded(np.nextafter(middle, 0)) == low.tolist()
    assert rounded(np.nextafter(middle, np.inf)) == high.tolist()


@every_float
def test_numbers_out_of_range_are_reported(element_type: DType) -> None:
    values = Tensor(element_type, codes(element_type)).values().astype(np.float64)
    most = float(values[np.isfinite(values)].max())
    ended = (
        most * 2 if element_type.name == "float8_e8m0fnu" else most + 2.0 ** np.floor(np.log2(most))
    )

    assert storage.nearest(np.array([most]), element_type)[1].all()
    assert not storage.nearest(np.array([ended]), element_type)[1].any()


def test_nothing_is_rounded_twice() -> None:
    (bits,), _ = storage.nearest(np.array([1.0625 + 2.0**-40]), dtype("float8_e4m3fn"))

    assert Tensor(dtype("float8_e4m3fn"), np.array([bits])).values() == [1.125]
    assert np.array([1.0625 + 2.0**-40]).astype(ml_dtypes.float8_e4m3fn).astype(float) == [1.0]


@pytest.mark.parametrize("bits", [2, 4, 6])
@pytest.mark.parametrize("count", [0, 1, 3, 7, (1 << 16) + 5])
def test_packing_and_unpacking_restores_the_elements(bits: int, count: int) -> None:
    elements = np.random.default_rng(1).integers(0, 2**bits, count).astype(np.uint8)

    raw = storage.packed(elements, bits)

    assert len(raw) == -(-count * bits // 8)
    np.testing.assert_array_equal(
        storage.unpacked(np.frombuffer(raw, np.uint8), count, bits), elements
    )


# Operators


@every_type
def test_openvino_gathers_narrow_types_and_fills_with_zero_bits(element_type: DType) -> None:
    data = (
        array(element_type, 1, 0.5, 1)
        if element_type.kind is Kind.FLOAT
        else array(element_type, 1, 0, 1)
    )

    out = gathercli.gather(data, [1, -3, 9])
    whole = np.empty(3, theirs(element_type))
    filled = gathercli.gather(data, [1, -3, 9], out=whole)
    cells = gathercli.gather_elements(data, [2, 1], axis=0)

    assert (out.dtype, cells.dtype) == (data.dtype, data.dtype)
    assert out.view(np.uint8).tolist() == [*data.view(np.uint8)[[1, 0]], 0]
    assert filled is whole
    assert whole.tobytes() == out.tobytes()
    assert cells.tobytes() == data[[2, 1]].tobytes()


@every_type
@pytest.mark.parametrize("version", ["onnx-13", "onnx-11", "onnx-1"])
def test_onnx_refuses_narrow_types_and_names_the_version_that_takes_them(
    version: str, element_type: DType, run: Run
) -> None:
    more = "" if version == "onnx-13" else "bfloat16, "
    name = {"onnx-13": "Gather-13", "onnx-11": "Gather-11", "onnx-1": "Gather-1"}[version]

    ran = run("gather", f"1x{element_type.short}=1", "0,", "-V", version)

    assert (ran.status, ran.out) == (65, "")
    assert ran.err == (
        f"error: `data` is {element_type}, which onnx.{name} does not take: "
        f"expected any type but {more}{TAKEN}\n"
        f"  onnx.{name}   data {element_type.short}[1]   indices i64[1]\n"
        f"hint: openvino-8 takes {element_type}: `-V openvino-8`\n"
        "rule: data-dtype\n"
    )
    assert run("gather", f"1x{element_type.short}=1", "0,", "-V", "openvino-8").status == 0


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2"])
def test_narrow_types_are_no_indices_until_they_are_converted(name: str, run: Run) -> None:
    ran = run("gather", "[5,6]", f"2x{name}=1 0")
    (option,) = re.findall("hint: `(.*)` converts them without loss", ran.err)

    assert f"error: `indices` is {name}, which openvino.Gather-8 does not take" in ran.err
    assert run("gather", "[5,6]", f"2x{name}=1 0", *option.split()).out == "[6,5]\n"


def test_a_type_without_zero_states_the_value_that_fills(run: Run) -> None:
    ran = run("gather", "2xf8e8m0fnu=2 4", "1,7")

    assert ran.out == "[4.0,5.877472e-39]\n"
    assert ran.err == (
        "note: 1 of 2 indices outside -2..1, zero-filled; first 7 at [1]\n"
        "note: float8_e8m0fnu has no zero: what is filled is 2^-127, all bits zero\n"
    )


def test_jobs_and_expectations_take_narrow_types(run: Run, folder: Path) -> None:
    data = {"dtype": "float8_e4m3fn", "shape": [2], "data": [1.0, 448.0]}
    job = {"id": "a", "op": "gather", "data": data, "indices": [1], "expect": [448]}
    (folder / "jobs.jsonl").write_text(json.dumps(job) + "\n")

    assert run("batch", "jobs.jsonl", "-q").status == 0
    assert run("gather", "2xi4=1 -8", "1,", "--expect", "1xi4=-8").status == 0
    assert "has -8 at `[0]`: expected 7" in run("gather", "2xi4=1 -8", "1,", "--expect", "[7]").err


# Text


def test_floats_are_written_with_the_digits_of_the_float32_that_equals_them(run: Run) -> None:
    ran = run("convert", "4xf8e5m2=0.1 nan -inf 57344", "-", "--to", "oip")

    assert json.loads(ran.out)["outputs"] == [
        {
            "name": "output",
            "shape": [4],
            "datatype": "FP8_E5M2",
            "data": [0.09375, "NaN", "-Infinity", 57344.0],
        }
    ]


REFUSED: Final = {
    "a number beyond the range": ("1xf8e4m3fn=465.0", "465.0", "a number within the range of"),
    "an integer of more bits": ("1xf8e4m3fn=17", "17", "an integer that float8_e4m3fn holds"),
    "infinity where there is none": ("1xf8e4m3fn=inf", "inf", "a number within the range of"),
    "NaN where there is none": ("1xf4e2m1fn=nan", "nan", "a number within the range of"),
    "zero where there is none": ("1xf8e8m0fnu=0", "0", "a number within the range of"),
    "a negative number where there is none": ("1xf8e8m0fnu=-1.0", "-1.0", "a number within"),
    "an integer that is too large": ("1xi4=8", "8", "-8 to 7"),
    "a negative integer": ("1xu2=-1", "-1", "0 to 3"),
    "a fraction": ("1xi2=0.5", "0.5", "an integer"),
}


@pytest.mark.parametrize(("token", "value", "expected"), REFUSED.values(), ids=REFUSED)
def test_text_that_a_type_cannot_hold_is_refused(
    token: str, value: str, expected: str, run: Run
) -> None:
    ran = run("convert", token, "-")

    assert (ran.status, ran.out) == (65, "")
    assert f"the value at `$` is {value}, which " in ran.err
    assert f" cannot hold: expected {expected}" in ran.err


def test_generators_make_narrow_types(run: Run) -> None:
    assert run("convert", "arange:4xi4", "-").out == "[0,1,2,3]\n"
    assert run("convert", "zeros:2xfloat4_e2m1fn", "-").out == "[0.0,0.0]\n"
    assert (
        run("convert", "rand:9xu2,high=4", "-").out == run("convert", "rand:9xu8,high=4", "-").out
    )

    for element_type in FLOATS:
        if element_type.name != "float8_e8m0fnu":
            drawn = json.loads(run("convert", f"rand:99x{element_type.short}", "-").out)
            assert 0 <= min(drawn) < 0.5 <= max(drawn) < 1
    for name in ("arange", "rand", "zeros"):
        ran = run("convert", f"{name}:2xf8e8m0fnu", "-")
        assert ran.err == (
            "error: float8_e8m0fnu has no zero: expected a type that has one\nrule: literal\n"
        )


def test_the_hint_of_a_generator_is_within_the_type(run: Run) -> None:
    ran = run("convert", "rand:3xi2", "-")
    (token,) = re.findall("hint: `(.*)`", ran.err)

    assert token == "rand:3xi2,high=2"
    assert run("convert", token, "-").status == 0


@every_type
def test_lossy_rounds_to_the_nearest_within_the_range(element_type: DType, run: Run) -> None:
    text = run("convert", "[1.2,0.9]", "-", "--dtype", element_type.name, "--lossy")
    beyond = run("convert", "[1,1e39]", "-", "--dtype", element_type.name, "--lossy")

    assert [round(float(each)) for each in json.loads(text.out)] == [1, 1]
    assert beyond.status == 65
    assert "expected one that is within its range" in beyond.err


# Files


@pytest.mark.parametrize(
    "element_type", [dtype("float8_e4m3fn"), dtype("float8_e5m2"), dtype("int4")], ids=str
)
def test_a_npy_file_of_ml_dtypes_is_read_if_its_type_is_declared(
    element_type: DType, run: Run, folder: Path
) -> None:
    np.save(folder / "x.npy", array(element_type, 1, 0, -1))

    output = json.loads(run("info", "x.npy", "--data-dtype", element_type.name, "-f", "json").out)
    ours = run("convert", "x.npy", "y.npy", "--data-dtype", element_type.name)

    assert (output["dtype"], output["min"]["value"]) == (element_type.name, -1)
    assert ours.err == (
        f"note: {element_type} is written as <V1, which numpy reads as a byte an element; "
        f"`--data-dtype {element_type}` reads it here\n"
    )
    assert run("gather", "y.npy", "2", "--data-dtype", element_type.name).out in ("-1\n", "-1.0\n")


def test_bytes_of_an_unknown_type_are_refused_with_one_that_reads_them(
    run: Run, folder: Path
) -> None:
    np.save(folder / "x.npy", array(dtype("float8_e4m3fn"), 1, 2))

    ran = run("gather", "x.npy", "1")
    (option,) = re.findall("hint: .*: `(.*)` reads it", ran.err)

    assert ran.err == (
        "error: `data`: x.npy: the type is |V1, a byte of unknown meaning: "
        "expected a declared type\n"
        "  openvino.Gather-8\n"
        "hint: float8_e4m3fn is saved like this: `--data-dtype float8_e4m3fn` reads it\n"
        "rule: npy\n"
    )
    assert run("gather", "x.npy", "1", *shlex.split(option)).out == "2.0\n"
    assert run("gather", "x.npy", "1", "--data-dtype", "bfloat16").status == 65


def safetensors(name: str, count: int, data: bytes) -> bytes:
    header = {"a": {"dtype": name, "shape": [count], "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


SAFETENSORS: Final = {
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}


@pytest.mark.parametrize(("name", "ours"), SAFETENSORS.items())
def test_safetensors_have_floats_of_8_bits(name: str, ours: str, run: Run, folder: Path) -> None:
    data = array(dtype(ours), 1, 4, 2).tobytes()
    (folder / "x.safetensors").write_bytes(safetensors(name, 3, data))

    output = json.loads(run("info", "x.safetensors", "-f", "json").out)
    again = run("convert", "x.safetensors#a", "y.safetensors")

    assert (output["dtype"], output["shape"], output["max"]["value"]) == (ours, [3], 4)
    assert run("gather", "x.safetensors", "1,2").out == "[4.0,2.0]\n"
    assert again == (0, "", "")
    assert (folder / "y.safetensors").read_bytes().endswith(data)


def test_safetensors_have_two_floats_of_4_bits_in_a_byte(run: Run, folder: Path) -> None:
    (folder / "x.safetensors").write_bytes(safetensors("F4", 4, b"\x21\x7f"))

    assert run("convert", "x.safetensors", "-").out == "[0.5,1.0,-6.0,6.0]\n"
    assert run("convert", "x.safetensors", "y.safetensors") == (0, "", "")
    assert (folder / "y.safetensors").read_bytes().endswith(b"\x21\x7f")
    assert run("convert", "3xf4e2m1fn=1", "z.safetensors").err == (
        "error: `output` has 3 elements of float4_e2m1fn, of which a byte holds two: "
        "expected an even number\nrule: dtype\n"
    )


NAMES: Final = {
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
    "float8_e8m0fnu": "FLOAT8E8M0",
    "float6_e2m3fn": "FLOAT6E2M3",
    "float6_e3m2fn": "FLOAT6E3M2",
    "float4_e2m1fn": "FLOAT4E2M1",
    "int4": "INT4",
    "uint4": "UINT4",
    "int2": "INT2",
    "uint2": "UINT2",
}
ONNX: Final[dict[str, int]] = {
    name: getattr(TensorProto, each) for name, each in NAMES.items() if hasattr(TensorProto, each)
}
"""The number of each type in ONNX; older releases lack some."""


@pytest.mark.parametrize("raw", [True, False], ids=["raw_data", "int32_data"])
@pytest.mark.parametrize(("name", "number"), ONNX.items(), ids=ONNX)
def test_onnx_tensors_are_read_as_onnx_reads_them(
    name: str, number: int, raw: bool, run: Run, folder: Path
) -> None:
    elements = codes(dtype(name))[:-1].view(theirs(dtype(name)))
    proto = numpy_helper.from_array(elements, "w")
    if not raw:
        proto = helper.make_tensor("w", number, elements.shape, elements.astype(np.float32))
        elements = numpy_helper.to_array(proto)
        assert len(proto.int32_data) > 0
    (folder / "x.pb").write_bytes(proto.SerializeToString())

    output = gathercli.load(folder / "x.pb")

    assert proto.data_type == number
    assert output.dtype == elements.dtype
    assert output.tobytes() == elements.tobytes()
    assert json.loads(run("info", "x.pb", "-f", "json").out)["dtype"] == name


@pytest.mark.parametrize("name", ONNX)
def test_onnx_reads_what_is_written(name: str, folder: Path) -> None:
    elements = codes(dtype(name))[:-1].view(theirs(dtype(name))).reshape(1, -1)

    gathercli.save("x.pb", elements)
    proto = TensorProto.FromString((folder / "x.pb").read_bytes())

    assert numpy_helper.to_array(proto).dtype == elements.dtype
    assert numpy_helper.to_array(proto).tobytes() == elements.tobytes()


MALFORMED: Final[dict[str, tuple[Any, str]]] = {
    "a byte too few": (
        TensorProto(dims=[3], data_type=22, raw_data=b"1"),
        "the tensor has 1 byte of elements: expected 2, for [3] of int4",
    ),
    "a byte too many": (
        TensorProto(dims=[3], data_type=25, raw_data=b"12"),
        "the tensor has 2 bytes of elements: expected 1, for [3] of uint2",
    ),
    "an entry too many": (
        TensorProto(dims=[2], data_type=22, int32_data=[1, 2]),
        "the field int32_data has 2 values: expected 1, for [2]",
    ),
    "an entry that is no byte": (
        TensorProto(dims=[2], data_type=22, int32_data=[256]),
        "the value at `int32_data[0]` is 256, which int4 cannot hold: expected 0 to 255",
    ),
    "an entry of more bits": (
        TensorProto(dims=[1], data_type=27, int32_data=[64]),
        "the value at `int32_data[0]` is 64, which float6_e2m3fn cannot hold: expected 0 to 63",
    ),
    "an entry of more bits than a byte": (
        TensorProto(dims=[1], data_type=17, int32_data=[256]),
        "the value at `int32_data[0]` is 256, which float8_e4m3fn cannot hold: expected 0 to 255",
    ),
}


@pytest.mark.parametrize(("proto", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_onnx_tensor_is_refused(
    proto: Any, message: str, run: Run, folder: Path
) -> None:
    if proto.data_type not in TensorProto.DataType.values():
        pytest.skip("this release of onnx lacks the type")
    (folder / "x.pb").write_bytes(proto.SerializeToString())

    ran = run("convert", "x.pb", "-")

    assert (ran.status, ran.out) == (65, "")
    assert f": {message}\n" in ran.err


def test_zarr_has_no_narrow_types(run: Run) -> None:
    ran = run("gather", "2xi4=1", "0", "-o", "x.zarr")

    assert ran.err.startswith("error: zarr has no type int4: expected another type of data\n")


# Around them


def test_a_gather_of_narrow_types_does_not_load_ml_dtypes(folder: Path) -> None:
    np.save(folder / "x.npy", array(dtype("float8_e5m2"), 1, 2))

    words = ["gather", "x.npy", "[1]", "-o", "y.npy", "--data-dtype", "float8_e5m2", "-q"]
    modules = loaded(f"from gathercli.cli import main\nassert main({words!r}) == 0")

    assert "ml_dtypes" not in modules
    assert gathercli.load("y.npy", dtype="float8_e5m2").tolist() == [2]


def test_python_saves_loads_and_explains_narrow_types(folder: Path) -> None:
    pytest.importorskip("gathercli.explain")
    data = array(dtype("int4"), -8, 7)

    gathercli.save(folder / "x.json", data)

    assert (folder / "x.json").read_text() == "[-8,7]\n"
    assert gathercli.load(folder / "x.json", dtype="int4").dtype == ml_dtypes.int4
    assert gathercli.explain("gather", data, [0]).cell(0).value == -8
    assert "data i4[2]" in repr(gathercli.explain("gather", data, [0]))
    assert gathercli.gather([data, data], 0).dtype == ml_dtypes.int4


CUBE: Array = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("array", "axis", "shape", "steps"),
    [
        (CUBE, 0, (6, 4), None),
        (CUBE[:, :2], 1, (2, 8), None),
        (CUBE[:, :2], 0, (5, 4), [3, 1]),
        (CUBE.T, 0, (12, 2), [1, 4]),
        (CUBE.transpose(1, 0, 2), 0, (6, 4), [1, 3]),
        (np.broadcast_to(CUBE[:, :1], (2, 3, 4)), 0, (2, 4), [1, 0]),
        (CUBE.transpose(1, 0, 2)[:1], 0, (2, 4), None),
        (CUBE.transpose(1, 0, 2)[:, :1], 0, (3, 4), None),
    ],
)
def test_two_axes_are_viewed_as_one_where_they_lie(
    array: Array, axis: int, shape: tuple[int, ...], steps: list[int] | None
) -> None:
    merged = (*array.shape[:axis], array.shape[axis] * array.shape[axis + 1])
    view, stepped = one_axis(array, axis, 2, (*merged, *array.shape[axis + 2 :]))

    assert view.shape == shape
    assert stepped == steps
    assert np.shares_memory(view, CUBE)


@pytest.mark.parametrize(
    "array",
    [
        CUBE[::-1],
        CUBE.T[::-1],
        CUBE.T[:, ::-1],
        CUBE.T[:0],
        CUBE.T[:, :, :0],
        np.ndarray((2, 3), np.int32, bytes(40), 0, (5, 12)),
    ],
)
def test_axes_that_run_backwards_or_between_elements_or_are_empty_are_merged_row_major(
    array: Array,
) -> None:
    view, steps = one_axis(array, 0, 2, (array.shape[0] * array.shape[1], *array.shape[2:]))

    assert steps is None
    assert view.tolist() == array.reshape(view.shape).tolist()


def test_data_in_fortran_order_is_gathered_without_a_copy_of_it() -> None:
    data = np.asfortranarray(np.arange(1 << 20).reshape(16, 256, 256))

    tracemalloc.start()
    got = gathercli.gather_nd(data, [[3, 250], [0, 1]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (got == data[[3, 0], [250, 1]]).all()
    assert peak < data.nbytes / 2


def test_tuples_that_are_outside_give_zeros_from_data_in_fortran_order() -> None:
    data = np.asfortranarray(np.arange(1, 13).reshape(3, 4))

    got = gathercli.gather_nd(data, [[2, 1], [3, 0], [0, 9], [0, 3]], out_of_range="zero")

    assert got.tolist() == [10, 0, 0, 4]


SIZES: Final = st.sampled_from((0, 1, 1, 2, 3))
TYPES: Final = st.sampled_from(("u1", "f2", "<i4", ">f4", "<f8", ">c16", "<U3", ">U2"))
INDEX_TYPES: Final = st.sampled_from(("i4", "i8", ">i4", ">i8"))
LAYOUT_NAMES: Final = st.sampled_from([*LAYOUTS, "read-only"])


def read_only(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def in_layout(array: Array, layout: str) -> Array:
    """Lay elements out otherwise; those of a broadcast array are all like the first row."""
    if layout == "read-only":
        return read_only(array)
    return LAYOUTS[layout](array) if array.ndim else array


@st.composite
def calls(draw: st.DrawFn) -> tuple[Callable[..., Array], list[Array], dict[str, Any]]:
    """Make a call of any family, each input in_layout out in its own way."""
    shape = draw(st.lists(SIZES, min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    more = draw(st.lists(SIZES, max_size=2))
    numbers = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    family = draw(st.sampled_from(("gather", "gather_elements", "gather_nd", "gather_tree")))
    if family == "gather_tree":
        steps = [*shape, 1, 1, 1][:3]
        parents = numbers.integers(0, max(1, steps[2]), steps)
        made = [numbers.integers(0, 9, steps), parents, np.full(steps[1], steps[0])]
        inputs = [each.astype(draw(st.sampled_from((">i4", "<i4")))) for each in made]
        inputs = [each.astype(inputs[0].dtype) for each in inputs]
        end = np.asarray(9, inputs[0].dtype)
        return gathercli.gather_tree, [*(in_layout(e, draw(LAYOUT_NAMES)) for e in inputs), end], {}
    data = np.arange(np.prod(shape)).reshape(shape).astype(draw(TYPES))
    wanted, how, low, high = more, {"axis": axis}, -shape[axis], max(1, shape[axis])
    if family == "gather_elements":
        wanted = [n if d != axis else draw(SIZES) for d, n in enumerate(shape)]
    elif family == "gather_nd":
        wanted, how, low, high = [*more, draw(st.integers(1, len(shape)))], {}, 0, 1
    indices = numbers.integers(low, high, wanted).astype(draw(INDEX_TYPES))
    inputs = [in_layout(data, draw(LAYOUT_NAMES)), in_layout(indices, draw(LAYOUT_NAMES))]
    return getattr(gathercli, family), inputs, how


def outcome(call: Callable[..., Array], *inputs: Array, **how: Any) -> tuple[Any, ...]:
    """Return the type, shape and bytes of the output, or the rule of the refusal."""
    try:
        output = call(*inputs, **how)
    except GatherError as error:
        return (error.rule,)
    return output.dtype.newbyteorder("="), output.shape, output.tobytes()


@pytest.mark.no_cover
@pytest.mark.parametrize("kernel", ["C", "numpy"])
def test_no_layout_of_inputs_changes_an_answer(kernel: str) -> None:
    fill = native.fill if kernel == "C" else None

    @drawn(200)
    @given(made=calls(), threads=st.sampled_from((1, 3)))
    def check(made: tuple[Callable[..., Array], list[Array], dict[str, Any]], threads: int) -> None:
        call, inputs, how = made
        plain = [each.astype(each.dtype, "C", copy=True) for each in inputs]

        with patch.object(native, "fill", fill):
            answer = outcome(call, *inputs, **how, threads=threads)

        assert answer == outcome(call, *plain, **how)

    check()


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("step", [-8, 1 << 62, 3, 0], ids="step {}".format)
@pytest.mark.parametrize("kernel", ["C", "numpy"])
def test_the_stride_of_an_axis_without_a_second_element_is_never_used(
    kernel: str, step: int, size: int
) -> None:
    data = as_strided(np.full(1, 7.0), (size,), (step,))
    indices = as_strided(np.zeros(1, np.int64), (size,), (step,))

    with patch.object(native, "fill", native.fill if kernel == "C" else None):
        answer = gathercli.gather(data, indices)

    assert answer.tolist() == [7.0] * size


def test_an_array_of_one_element_may_be_reversed() -> None:
    assert gathercli.gather(np.zeros(1)[::-1], [0]).tolist() == [0.0]
    assert gathercli.gather(np.arange(3.0)[::-1][2:], np.zeros(1, int)[::-1]).tolist() == [0.0]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, unneeded])
def test_an_output_is_stored_and_saved_whatever_its_unneeded_strides(
    layout: Callable[[Array], Array], tmp_path: Path
) -> None:
    out = np.zeros((1, 1))[::-1, ::-1]
    source = layout(np.full((1, 1), 5.0))

    gathercli.gather(source, [0], out=out)
    gathercli.save(tmp_path / "x.npy", source)

    assert out.tolist() == [[5.0]]
    assert np.load(tmp_path / "x.npy").tolist() == [[5.0]]
