"""Errors of a file beside a model name the model too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import onnx
import pytest
from onnx import TensorProto, helper

from tests.modelfiles import tour_ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

    Run = Callable[..., Ran]

COMMANDS: Final = (
    "convert {} out.npy",
    "info {}",
    "gather {} 0",
    "check gather {} 0",
    "explain gather {} 0",
    "compare {} 0",
    "translate gather {} 0 --to numpy",
)


def absent(name: str) -> None:
    del name


def linked(name: str) -> None:
    os.symlink("elsewhere", name)


def piped(name: str) -> None:
    os.mkfifo(name)


def save_onnx(location: str) -> None:
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    node = helper.make_node("Gather", ["w", "i"], ["out"])
    ends = [helper.make_tensor_value_info(name, 7, None) for name in ("i", "out")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [weights])
    onnx.save(helper.make_model(graph), "x.onnx")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("put", [absent, linked, piped])
@pytest.mark.parametrize("location", ["weights", "file/weights"])
def test_an_error_of_external_data_names_the_model(
    command: str, put: Callable[[str], None], location: str, folder: Path, run: Run
) -> None:
    save_onnx(location)
    (folder / "file").touch()  # which is no folder
    put("weights")

    ran = run(*command.format("x.onnx#w").split(), "--external-data")

    assert ran.status == 66
    assert "x.onnx: the tensor at byte " in ran.err
    assert ran.err.count("x.onnx: ") == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("put", [linked, piped])
def test_an_error_of_the_bin_names_the_ir(
    command: str, put: Callable[[str], None], folder: Path, run: Run
) -> None:
    tour_ir().save(folder / "x.xml")
    os.unlink("x.bin")
    put("x.bin")

    ran = run(*command.format("x.xml#embeddings").split())

    assert ran.status == 66
    assert "x.xml: the constant " in ran.err
    assert ran.err.count("x.xml: ") == 1
