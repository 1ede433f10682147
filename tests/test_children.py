"""The processes that commands start, and what they take from the variables and the folder."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from onnx import helper

from gathercli.models.evaluation import CPU_SECONDS
from tests.modelfiles import BOOL, FLOAT, INT64, constants, onnx_model, value
from tests.processes import PATIENCE, is_gone, start, wait_until

if TYPE_CHECKING:
    import subprocess

    import onnx

    from tests.conftest import Run

MODULES = ("sitecustomize", "usercustomize", "onnx", "numpy", "json", "gathercli", "resource")
"""Modules that a process would load from a folder on its search path."""

COMMANDS = (
    ("check", "open.onnx"),
    ("batch", "jobs.jsonl"),
    ("compare", "[1,2]", "[0]", "--with", "numpy"),
    ("translate", "gather", "[1,2]", "[0]", "--to", "numpy", "--with", "numpy"),
    ("reproduce", "gather", "[1,2]", "[0]", "--for", "numpy", "-o", "out"),
)
"""Every command that starts a process of Python."""


@pytest.fixture
def traps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put modules that tell where they were loaded into the folder, and on PYTHONPATH."""
    loaded = folder / "loaded"
    loaded.mkdir()
    for name in MODULES:
        text = f"import os\nopen({str(loaded / name)!r}, 'w').close()\nraise ImportError\n"
        (folder / f"{name}.py").write_text(text)
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Gather", ["h", "i"], ["y"], name="pick"),
    ]
    inputs = [value("x", FLOAT, [4]), value("i", INT64, [1])]
    model = onnx_model(nodes, inputs, [value("y", FLOAT, None)])
    (folder / "open.onnx").write_bytes(model.SerializeToString())
    (folder / "jobs.jsonl").write_text('{"op":"gather","data":[1,2],"indices":[0]}\n')
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYTHONSTARTUP", str(folder / "json.py"))
    return loaded


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_process_loads_nothing_from_pythonpath_or_the_folder(
    words: tuple[str, ...], run: Run, traps: Path
) -> None:
    ran = run(*words)

    assert list(traps.iterdir()) == []
    assert (ran.status, "infer" in ran.err) == (0, False)


def slow_model() -> onnx.ModelProto:
    """Return a model whose constants take long to evaluate: loops in each other."""
    body = [
        helper.make_node("Add", ["k", "k"], ["i"]),
        helper.make_node("Gather", ["x", "i"], ["y"]),
        helper.make_node("Identity", ["going"], ["goes"]),
    ]
    for _ in range(3):
        entries = [value("n", INT64, []), value("going", BOOL, [])]
        graph = helper.make_graph(body, "g", entries, [value("goes", BOOL, [])])
        loop = helper.make_node("Loop", ["trips", ""], [], body=graph)
        body = [loop, helper.make_node("Identity", ["going"], ["goes"])]
    tensors = constants(k=[1], trips=60)
    return onnx_model([loop], [value("x", FLOAT, [4])], [], tensors)


def below(process: subprocess.Popen[bytes]) -> list[int]:
    """List the processes that the threads of a process have started."""
    lists = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text("ascii").split()]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no list of children")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_check_that_is_stopped(folder: Path, number: int) -> None:
    names = ["a.onnx", "b.onnx", "c.onnx"]
    for name in names:
        (folder / name).write_bytes(slow_model().SerializeToString())

    with start("check", *names, "-j", "2") as process:
        pids = wait_until(lambda: len(found := below(process)) == 2 and found)
        wait_until(lambda: all(cpu_seconds(pid) > 0.5 for pid in pids))  # so that they evaluate
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
        used: list[float] = []

        def are_gone() -> bool:
            used.extend(map(cpu_seconds, pids))
            return all(map(is_gone, pids))

        wait_until(are_gone)

    assert max(used) < CPU_SECONDS / 2
