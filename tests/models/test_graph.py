"""The nodes of a model under names that are used once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import helper

from gathercli.errors import InputError
from gathercli.models.files import read
from tests.modelfiles import onnx_model

if TYPE_CHECKING:
    from pathlib import Path


def test_nodes_without_a_name_or_with_one_twice_have_another(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["one"]),
        helper.make_node("Gather", ["x", "i"], ["two"], name="same"),
        helper.make_node("Gather", ["x", "i"], ["three"], name="same"),
        helper.make_node("Gather", ["x", "i"], [], name=""),
    ]

    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_model(nodes).SerializeToString())
    model = read(str(path))

    assert [each.name for each in model.nodes] == ["one", "two", "three", "Gather"]
    assert model.node("two") is model.nodes[1]
    with pytest.raises(InputError, match="2 nodes `same`"):
        model.node("same")
