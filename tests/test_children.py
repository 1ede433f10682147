"""The processes that commands start, and what they take from the variables and the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import helper

from tests.modelfiles import FLOAT, INT64, onnx_model, value

if TYPE_CHECKING:
    from pathlib import Path

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
