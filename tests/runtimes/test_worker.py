"""Every element type goes into every runtime and comes out as the type and the bits it has there.

A runtime that is not installed is skipped by name, as in `test_verdict`.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.ir import ELEMENT_TYPES, precision
from gathercli.ops.gather import ONNX_13, OPENVINO_8
from gathercli.runtimes.calls import RuntimeCall, calls
from gathercli.runtimes.client import RuntimeProcess
from gathercli.runtimes.reproduction import files_of
from gathercli.spec.dtypes import DTYPES, INT64, STRING, Kind
from gathercli.spec.dtypes import dtype as dtype_named
from tests.runtimes.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gathercli.spec.dtypes import DType

INDICES: Final = Tensor(INT64, np.array([3, 0, 0, 1, 4]))  # no multiple of elements in a byte
AXIS: Final = {"axis": 0}

PLAIN: Final = """
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
"""
ALL: Final = " ".join(each.name for each in DTYPES)
NARROW: Final = """
float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn int4 uint4 int2 uint2
"""
TAKES: Final = {
    "openvino": f"{PLAIN} bfloat16 string float8_e4m3fn float8_e5m2 float8_e8m0fnu int4 uint4",
    "onnxruntime": f"{PLAIN} bfloat16 string",
    "onnx.reference": ALL.replace("float8_e3m4 float8_e4m3 float8_e4m3b11fnuz ", ""),
    "torch": f"""{PLAIN} bfloat16 complex64 complex128
    float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""",
    "tensorflow": f"{PLAIN} bfloat16 complex64 complex128 string float8_e4m3fn float8_e5m2",
    "jax": f"{PLAIN} bfloat16 complex64 complex128 {NARROW}",
    "numpy": ALL,
}
"""The types that a runtime gathers; it refuses all others, or `KNOWN` says what it does."""

KNOWN: Final = {("openvino", "uint2"): "differs", ("openvino", "float4_e2m1fn"): "differs"}
"""What a runtime makes of types whose elements it takes for bytes."""


def tensor(dtype: DType) -> Tensor:
    """Return five elements; the highest bit is set in one of a narrow type."""
    if dtype is STRING:
        return Tensor(dtype, np.array(["", "a", "é", "日本", "x" * 40]))
    values = [1, 0, 1, 0, 1] if dtype.kind is Kind.BOOL else [1, 0, 2, 3, 120]
    if dtype.opaque:
        highest = 2**dtype.bits - 1 if dtype.integral else 2 ** (dtype.bits - 1) + 2  # no NaN
        values = [1, 0, 2, highest, 5 % 2**dtype.bits]
    return Tensor(dtype, np.array(values).astype(storage_of(dtype)))


def call_of(runtime: str, data: Tensor) -> RuntimeCall:
    """Return the call of a Gather; of JAX the one that keeps 64 bits."""
    ops = [OPENVINO_8 if runtime == "openvino" else ONNX_13]
    return list(calls(runtime, ops, {"data": data, "indices": INDICES}, AXIS))[:2][
        runtime == "jax" and data.dtype.bits > 64 // (1 + (data.dtype.kind is not Kind.COMPLEX))
    ]


def test_a_jitted_call_of_strings_is_not_made() -> None:
    tensors = {"data": Tensor(STRING, np.empty((0, 3), "U1")), "indices": INDICES}

    texts = [each.text for each in calls("tensorflow", [ONNX_13], tensors, AXIS)]

    assert texts == [
        "tf.gather(data, indices, axis=0, batch_dims=0)",
        "tf.nn.embedding_lookup(data, indices)",
        "tflite('GATHER', data, indices, 0, 0)",
        "tflite('EMBEDDING_LOOKUP', data, indices)",
    ]


SAVED: Final = """
import json, os, re, sys, tempfile
import openvino as ov

names = {}
for word, each in vars(ov.Type).items():
    if isinstance(each, ov.Type):
        port = ov.opset8.parameter([1], each)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.xml")
            ov.save_model(ov.Model([port], [port]), path, compress_to_fp16=False)
            text = open(path).read()
        own = [re.search(f' {name}="(.*?)"', text)[1] for name in ("element_type", "precision")]
        names[own[0]] = own[1]
json.dump(names, sys.stdout)
"""
"""A script that saves a model of every type of OpenVINO, and prints how it names them."""


def test_every_type_is_named_as_openvino_saves_it() -> None:
    if "openvino" not in PEERS:
        pytest.skip("openvino is not named")
    done = subprocess.run(
        [PEERS["openvino"].python, "-I", "-c", SAVED], capture_output=True, check=False
    )
    if b"ModuleNotFoundError" in done.stderr:
        pytest.skip("openvino is not installed")

    saved = json.loads(done.stdout)

    ours = {name: precision(dtype) for dtype, name in ELEMENT_TYPES.items()}
    assert {word: saved.get(word) for word in ours} == ours
    assert saved.keys() - ours == {"dynamic", "nf4", "u1", "u3", "u6"}


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, RuntimeProcess]]:
    """Keep the processes of runtimes for all tests."""
    processes: dict[str, RuntimeProcess] = {}
    yield processes
    for each in processes.values():
        each.close()


DRIVER: Final = """
import os, runpy, sys

for folder in sys.argv[1:]:
    os.chdir(folder)
    print("#", os.path.basename(folder), flush=True)
    runpy.run_path("reproduce.py")
"""
"""A script that runs those of reproductions one after another, as imports take seconds."""


@pytest.mark.parametrize("runtime", TAKES)
def test_the_script_shows_the_type_and_the_elements(runtime: str, tmp_path: Path) -> None:
    if runtime not in PEERS:
        pytest.skip(f"{runtime} is not named")
    names = TAKES[runtime].split()
    for name in names:
        data = tensor(dtype_named(name))
        expected = Tensor(data.dtype, data.array[INDICES.array])
        call, tensors = call_of(runtime, data), {"data": data, "indices": INDICES}
        (tmp_path / name).mkdir()
        for file, content in files_of(call, tensors, AXIS, expected).items():
            (tmp_path / name / file).write_bytes(content.content)

    done = subprocess.run(
        [PEERS[runtime].python, "-I", "-W", "ignore", "-c", DRIVER, *(tmp_path / n for n in names)],
        capture_output=True,
        check=False,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )

    if b"ModuleNotFoundError" in done.stderr:
        pytest.skip(f"{runtime} is not installed")
    shown = {}
    for part in done.stdout.decode().split("# ")[1:]:
        name, *lines = part.splitlines()
        words = [line.split(maxsplit=2)[1:] for line in lines]
        shown[name] = {line.split()[0]: rest for line, rest in zip(lines, words, strict=True)}
    assert list(shown) == names, done.stderr.decode()
    assert {name for name, lines in shown.items() if lines["equal"] != ["True"]} == set()
    assert {
        name for name, lines in shown.items() if lines["result"][1] != lines["expected"][1]
    } == (set())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("runtime", TAKES)
def test_a_type_comes_out_as_it_went_in(
    runtime: str, dtype: DType, started: dict[str, RuntimeProcess]
) -> None:
    if runtime not in PEERS:
        pytest.skip(f"{runtime} is not named")
    if runtime not in started:
        started[runtime] = RuntimeProcess(PEERS[runtime], 60)
    data = tensor(dtype)

    seen = call_of(runtime, data).run(started[runtime], {"data": data, "indices": INDICES}, AXIS)

    if seen.problem == "absent":
        pytest.skip(f"{runtime} is not installed")
    if dtype.name not in TAKES[runtime].split():
        wanted = KNOWN.get((runtime, dtype.name), "refuses")
        assert wanted == (seen.problem or "differs"), seen
        return
    assert seen.tensor is not None, seen
    assert seen.tensor.dtype is dtype
    assert seen.tensor.array.tolist() == data.array[INDICES.array].tolist()
    assert seen.problem is None


@pytest.mark.parametrize("runtime", [name for name in TAKES if "string" in TAKES[name].split()])
def test_strings_come_out_of_an_empty_result_as_strings(
    runtime: str, started: dict[str, RuntimeProcess]
) -> None:
    if runtime not in PEERS:
        pytest.skip(f"{runtime} is not named")
    if runtime not in started:
        started[runtime] = RuntimeProcess(PEERS[runtime], 60)
    data = Tensor(STRING, np.empty((5, 0), "U1"))

    seen = call_of(runtime, data).run(started[runtime], {"data": data, "indices": INDICES}, AXIS)

    if seen.problem == "absent":
        pytest.skip(f"{runtime} is not installed")
    assert seen.tensor is not None, seen
    assert (seen.tensor.dtype, seen.tensor.shape) == (STRING, (5, 0))
