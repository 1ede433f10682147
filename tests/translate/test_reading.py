"""Translations read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.io.graphs.ir import ELEMENT_TYPES, IrFiles
from gathercli.models.files import read
from gathercli.translate.translation import read_ir_graph
from tests.translate.pairs import PAIRS, Pair, name, translation_of

if TYPE_CHECKING:
    from pathlib import Path

    from gathercli.spec.dtypes import DType


OPENVINO = [pair for pair in PAIRS if pair.target == "openvino-8"]


@pytest.mark.parametrize("pair", OPENVINO, ids=name)
def test_the_reader_of_models_finds_the_operator(pair: Pair, tmp_path: Path) -> None:
    translation = translation_of(pair.version, pair.tensors, pair.target, **pair.options)
    for suffix, content in translation.files.items():
        (tmp_path / f"model{suffix}").write_bytes(content)

    model = read(str(tmp_path / "model.xml"))

    model.close()
    assert [node.op and node.op.framework for node in model.nodes] == ["openvino"]
    assert model.nodes[0].call is not None


@pytest.mark.parametrize("dtype", ELEMENT_TYPES, ids=str)
def test_every_type_of_openvino_is_written_and_read(dtype: DType) -> None:
    value = {"string": "'a'", "bool": "true"}.get(dtype.name, "1")
    translation = translation_of(
        "openvino.GatherElements-6",
        f"3x{dtype.short}={value}; 1xi64=0",
        "openvino-8",
        axis=0,
        out_of_range="zero",
    )
    graph = read_ir_graph(IrFiles(translation.text, translation.files[".bin"]))

    assert graph.inputs[0].dtype is dtype
    (zero,) = (each for each in graph.constants.values() if each.dtype is dtype and each.shape)
    assert zero.array.tolist() == [type(zero.array.flat[0].item())()]
