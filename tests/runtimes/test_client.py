"""Processes of runtimes: whatever one does is one observation, and the next call is made."""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.cli.slice_options import Runtime
from gathercli.compute.tensor import Tensor
from gathercli.errors import UsageError
from gathercli.ops.gather import ONNX_13
from gathercli.runtimes.calls import RuntimeCall
from gathercli.runtimes.client import RuntimeProcess, runtimes_of
from gathercli.spec.dtypes import BFLOAT16, INT64, STRING
from tests.runtimes.fakes import ONCE, fake_python

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.cli.slice_options import Observation

INDICES = Tensor(INT64, np.array([1, 0]))
CALL = RuntimeCall("onnxruntime", "Gather-13", ONNX_13)


@pytest.fixture(scope="module")
def process(python: str) -> Iterator[RuntimeProcess]:
    with RuntimeProcess(Runtime("onnxruntime", python), 60) as process:
        yield process


@pytest.fixture(scope="module")
def numpy_process() -> Iterator[RuntimeProcess]:
    (runtime,) = runtimes_of("numpy")
    with RuntimeProcess(runtime, 60) as process:
        yield process


def observed(process: RuntimeProcess, kind: int) -> Observation:
    data = Tensor(INT64, np.array([[kind], [7]]))
    return CALL.run(process, {"data": data, "indices": INDICES}, {"axis": 0})


@pytest.mark.parametrize(
    ("kind", "problem", "message"),
    [
        (2, "dies", "by SIGSEGV"),
        (5, "refuses", "ValueError: no such thing in x.cpp"),
        (7, "dies", "with status 3"),
    ],
)
def test_a_failure_is_one_observation_and_the_next_call_is_made(
    kind: int, problem: str, message: str, process: RuntimeProcess
) -> None:
    failed, fine = observed(process, kind), observed(process, 0)

    assert failed[:4] == ("9.9.9", None, problem, message)
    assert fine.tensor is not None
    assert (fine.problem, fine.tensor.array.tolist()) == (None, [[7], [0]])


def test_a_call_that_dies_after_another_one_is_judged_by_itself(python: str) -> None:
    with RuntimeProcess(Runtime("onnxruntime", python), 60) as process:
        seen = [observed(process, 10) for _ in range(2)]
        alone = observed(process, 2)

    assert [(each.problem, each.tensor and each.tensor.array.tolist()) for each in seen] == [
        (None, [[7], [10]])
    ] * 2
    assert (alone.problem, alone.message) == ("dies", "by SIGSEGV")


def test_a_call_that_hangs_is_ended(python: str) -> None:
    with RuntimeProcess(Runtime("onnxruntime", python), seconds=8) as process:
        seen = observed(process, 1)

    assert seen[:4] == ("9.9.9", None, "hangs", "no answer within 8 s")


def test_what_a_runtime_prints_is_no_answer(process: RuntimeProcess) -> None:
    seen = observed(process, 3)

    assert seen.tensor is not None
    assert (seen.problem, seen.tensor.array.tolist()) == (None, [[7], [3]])


def test_three_runs_that_differ_are_unsteady(process: RuntimeProcess) -> None:
    seen = observed(process, 4)

    assert seen.tensor is not None
    values = [each.array.tolist() for each in (seen.tensor, *seen.others)]
    assert (seen.problem, values) == ("unsteady", [[[0], [0]], [[1], [1]], [[2], [2]]])


@pytest.mark.parametrize(
    ("name", "seconds", "why"),
    [
        ("torch", 60, "cannot be started: OSError: libtorch.so: cannot open"),
        ("jax", 60, "cannot be started: its import ends by SIGILL"),
        ("tensorflow", 60, "cannot be started: its import ends with status 0"),
        (
            "openvino",
            60,
            "cannot be started: AttributeError: module 'openvino' has no attribute '__version__'",
        ),
        ("onnx.reference", 2, "cannot be started: its import takes more than 2 s"),
    ],
)
def test_a_runtime_that_cannot_be_imported_is_absent_for_good(
    name: str, seconds: float, why: str, python: str
) -> None:
    tensors = {"data": INDICES, "indices": INDICES}

    with RuntimeProcess(Runtime(name, python), seconds) as process:
        seen = [process.call(tensors, code="data[indices]") for _ in range(2)]
        absence = process.absence()

    assert [each[:4] for each in seen] == [(None, None, "absent", why)] * 2
    assert absence == (name, why)


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("#!/nowhere/python\n", "No such file or directory"),
        ("#!/bin/sh\n", "its Python ends with status 0"),
        ("#!/bin/sh\nexit 3\n", "its Python ends with status 3"),
        ("#!/bin/sh\nsleep 1000\n", "its Python takes more than 2 s"),
        ("#!/bin/sh\necho '{}' >/dev/fd/$4\n", "its Python gives another answer than a Python"),
    ],
)
def test_a_wrong_interpreter_is_an_absent_runtime(text: str, ended: str, tmp_path: Path) -> None:
    (tmp_path / "python").write_text(text)
    (tmp_path / "python").chmod(0o700)

    seconds = 2 if "sleep" in text else 60
    with RuntimeProcess(Runtime("jax", str(tmp_path / "python")), seconds) as process:
        absence = process.absence()

    assert absence == ("jax", f"cannot be started: {ended}")


def test_a_runtime_that_cannot_be_started_again_keeps_its_last_verdict(tmp_path: Path) -> None:
    runtime = Runtime("jax", fake_python(tmp_path / "venv", {"jax": ONCE}))
    tensors = {"data": INDICES, "indices": INDICES}

    with RuntimeProcess(runtime, 60) as process:
        first, second = (process.call(tensors, code="data") for _ in range(2))
        absence = process.absence()

    why = "cannot be started: OSError: only once"
    assert first[:4] == ("1", None, "dies", "by SIGABRT")
    assert second[:4] == (None, None, "absent", why)
    assert absence == ("jax", why)


def test_a_runtime_without_numpy_cannot_be_started(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    site = sysconfig.get_path("purelib", "venv", {"base": str(tmp_path / "venv")})
    Path(site, "jax.py").write_text("__version__ = '1'")

    with RuntimeProcess(Runtime("jax", str(tmp_path / "venv" / "bin" / "python")), 60) as process:
        absence = process.absence()

    why = "cannot be started: ModuleNotFoundError: No module named 'numpy'"
    assert absence == ("jax", why)


def test_the_versions_are_those_of_the_process(process: RuntimeProcess) -> None:
    assert process.absence() is None

    assert process.versions == ("9.9.9", sys.version.split()[0], np.__version__)


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor(BFLOAT16, np.array([[16256, 16384]], dtype=np.uint16)),
        Tensor(STRING, np.array([["a", "bc"]])),
        Tensor(INT64, np.array([[1, 2]], dtype=">i8")),
    ],
    ids=str,
)
def test_tensors_of_every_type_go_and_come_back(
    tensor: Tensor, numpy_process: RuntimeProcess
) -> None:
    tensors = {"data": tensor, "indices": INDICES}

    seen = numpy_process.call(tensors, code="data[:, indices]")

    assert seen.tensor is not None
    assert seen.tensor.dtype is tensor.dtype
    assert seen.tensor.array.tolist() == tensor.array[:, [1, 0]].tolist()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("np.zeros(1 << 35, 'u1')", "MemoryError: Unable to allocate 32.0 GiB"),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "OSError: no network here"),
    ],
)
def test_memory_is_limited_and_the_network_is_out_of_reach(
    code: str, message: str, numpy_process: RuntimeProcess
) -> None:
    seen = numpy_process.call({"data": INDICES}, code=code)

    assert seen.problem == "refuses"
    assert seen.message.startswith(message)


def test_no_temporary_file_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (runtime,) = runtimes_of("numpy")

    with RuntimeProcess(runtime, 60) as process:
        process.call({"data": INDICES}, code="data")
        inside = len(list(tmp_path.iterdir()))

    assert (inside, list(tmp_path.iterdir())) == (1, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`--with` is ``: expected"),
        ("pytorch", "`--with` names `pytorch`: expected"),
        ("numpy,numpy", "`--with` names `numpy` twice: expected"),
        ("torch=/nowhere", "`--with` names the Python `/nowhere` for torch: expected"),
    ],
)
def test_an_unknown_runtime_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        runtimes_of(text)

    assert caught.value.message.startswith(message)
