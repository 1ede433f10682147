"""The folder that repeats what a runtime did."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from gathercli.compute.tensor import Tensor
from gathercli.ops.gather import ONNX_13
from gathercli.runtimes.calls import calls
from gathercli.runtimes.reproduction import script
from gathercli.spec.dtypes import dtype
from tests.runtimes.test_command import files

if TYPE_CHECKING:
    from tests.conftest import Run


def test_the_script_runs_by_itself(folder: Path, run: Run) -> None:
    ran = run("reproduce", "gather", "[10.5,20]", "0,5", "--for", "numpy", "-o", "out")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"numpy {np.__version__}, np.take(data, indices, axis=0): refuses: ")
    assert files(folder / "out") == {
        "reproduce.py",
        "data.npy",
        "indices.npy",
        "expected.npy",
        "report.md",
    }
    done = subprocess.run(
        [sys.executable, "-I", "reproduce.py"], cwd=folder / "out", capture_output=True, check=False
    )
    assert done.stdout.decode().splitlines() == [
        f"numpy {np.__version__}",
        "expected float64 (2,) [10.5, 0.0]",
    ]
    assert b"IndexError: index 5 is out of bounds" in done.stderr


def test_the_report_cites_the_specification_and_shows_what_was_printed(
    folder: Path, run: Run
) -> None:
    run("reproduce", "gather", "[10,20]", "[5]", "--for", "numpy", "-o", "out")

    text = (folder / "out" / "report.md").read_text()
    for part in (
        "refuses: IndexError: index 5 is out of bounds for axis 0 with size 2\n",
        "[OpenVINO operation set, Gather-8](https://docs.openvino.ai/",
        "gather-8.html). `out[p, i, s] = ",
        "    openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]\n",
        "So the result is `expected.npy` (1 zero-filled, first 5 at [0]):\n\n    [0]\n",
        "    expected int64 (1,) [0]\n",
        "    IndexError: index 5 is out of bounds for axis 0 with size 2\n    dies with status 1\n",
        "- `indices.npy`: indices, i64[1]\n",
        f"Python\n{sys.version.split()[0]} and NumPy {np.__version__} on {platform.system()}, ",
        f"    pip install numpy=={np.__version__}\n",
    ):
        assert part in text
    assert str(folder) not in text
    assert sys.prefix not in text


@pytest.mark.parametrize(
    ("kind", "outcome", "printed"),
    [
        (2, "dies by SIGSEGV", "    expected int64 (1,) [7]\n    dies by SIGSEGV\n"),
        (6, "differs from the specification at [0]: 8 and 7", "    equal    False\n"),
    ],
)
def test_the_script_shows_a_mistake(
    kind: int, outcome: str, printed: str, python: str, run: Run
) -> None:
    words = ("reproduce", "gather", f"[{kind},7]", "1,", "-V", "onnx-13", "-o", "out")

    ran = run(*words, "--for", f"onnxruntime={python}")

    assert ran.out == f"onnxruntime 9.9.9, Gather-13: {outcome}\n"
    assert printed in Path("out", "report.md").read_text()
    assert "model.onnx" in files(Path("out"))


def test_the_model_of_onnx_is_what_the_package_writes(folder: Path, run: Run) -> None:
    words = ("reproduce", "gather-elements", "2x3xf32=0", "1x2xi32=0", "-a", "-2", "-V", "onnx-11")

    ran = run(*words, "--for", "onnx", "-o", "out")

    model = onnx.load(folder / "out" / "model.onnx")
    node = onnx.helper.make_node("GatherElements", ["data", "indices"], ["output"], axis=-2)
    onnx.checker.check_model(model)
    assert "GatherElements-11: refuses: ValueError" in ran.out
    assert model.graph.node[0] == node
    assert model.opset_import[0].version == 11
    assert [d.dim_value for d in model.graph.input[1].type.tensor_type.shape.dim] == [1, 2]


@pytest.mark.parametrize("name", ["openvino", "onnxruntime"])
def test_our_own_reader_reads_the_model(name: str, python: str, run: Run) -> None:
    version = "openvino-8" if name == "openvino" else "onnx-13"
    words = ("gather-nd", "2x3xf32=0", "1x2xi64=0", "-V", version)
    run("reproduce", *words, "--for", f"{name}={python}", "-o", "out", "--allow-absent")

    ran = run("model", f"out/model.{'xml' if name == 'openvino' else 'onnx'}")

    assert ran.status == 0
    assert "f32[2,3]" in ran.out
    assert "i64[1,2]" in ran.out


def test_jax_is_run_as_it_is_and_with_64_bits_where_these_matter() -> None:
    small, large, fits, outside = (
        Tensor(dtype(name), np.array(values))
        for name, values in (
            ("float32", [1.5]),
            ("int64", [1]),
            ("int64", [0]),
            ("int64", [-(2**31) - 1]),
        )
    )

    ways = [
        [
            (call.way, call.is_wide)
            for call in calls("jax", [ONNX_13], {"data": data, "indices": indices}, {})
        ]
        for data, indices in ((small, fits), (large, fits), (small, outside))
    ]

    plain, wide, xla = ("", False), ("x64", True), ("", True)
    assert ways == [
        [plain, plain, xla],
        [plain, wide, plain, wide, xla],
        [plain, wide, plain, wide, xla],
    ]


def test_a_script_has_64_bits_in_jax_only_if_its_call_has_them() -> None:
    tensors = {name: Tensor(dtype("int64"), np.array([0])) for name in ("data", "indices")}

    plain, wide, *_ = (script(each, tensors, None) for each in calls("jax", [ONNX_13], tensors, {}))

    line = 'jax.config.update("jax_enable_x64", True)\n'
    assert (line in plain, line in wide) == (False, True)
