"""Names from a file may have millions of characters, of which few are shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import helper

from tests.modelfiles import FLOAT, constants, onnx_model, value

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from tests.conftest import Ran

    Run = Callable[..., Ran]

LONG = 100_000
MOST = 8_000
"""The most characters of a line."""


def with_long_names(indices: list[int]) -> onnx.ModelProto:
    """Return a model whose nodes, tensors, attributes, dimensions and producer have long names."""
    names = {letter: letter * LONG for letter in "abcdenopsx"}
    given = constants(**{names["c"]: np.array(indices)})
    nodes = [
        helper.make_node("Gather", [names["d"], names["c"]], [names[out]], name=names[name])
        for out, name in ("on", "ba")
    ]
    nodes[1].attribute.append(helper.make_attribute(names["x"], 1))
    data = value(names["d"], FLOAT, [3, names["s"]])
    model = onnx_model(nodes, [data], [], given)
    model.producer_name = names["p"]
    model.opset_import.append(helper.make_opsetid(names["e"], 1))
    return model


@pytest.mark.parametrize("indices", [[7], [-1], [0]])
@pytest.mark.parametrize(
    "words",
    [
        ["check", "m.onnx"],
        ["check", "m.onnx", "-f", "pretty"],
        ["check", "m.onnx", "--to", "tensorrt"],
        ["model", "m.onnx"],
        ["model", "m.onnx", "--tensors"],
        ["info", "m.onnx"],
        ["info", "m.onnx", "--header"],
        ["gather", "m.onnx"],
        ["gather", "m.onnx#none"],
        ["explain", "m.onnx"],
        ["compare", "m.onnx"],
        ["translate", "m.onnx", "--to", "numpy"],
        ["diagnose", "m.onnx", "[1]"],
    ],
)
def test_a_line_of_text_has_few_characters_of_a_name(
    words: list[str], indices: list[int], run: Run, folder: Path
) -> None:
    (folder / "m.onnx").write_bytes(with_long_names(indices).SerializeToString())

    ran = run(*words)

    assert max(map(len, [*ran.out.splitlines(), *ran.err.splitlines()])) < MOST


@pytest.mark.parametrize("command", ["check", "model"])
def test_json_has_the_whole_name(command: str, run: Run, folder: Path) -> None:
    (folder / "m.onnx").write_bytes(with_long_names([7]).SerializeToString())

    ran = run(command, "m.onnx", "-f", "json")

    assert "n" * LONG in ran.out
