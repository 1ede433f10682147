"""Graphs of ONNX and of OpenVINO: what is written is read again, and `onnx` agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from gathercli.translate.translation import read_onnx
from tests.translate.pairs import PAIRS, Pair, name, translation_of

if TYPE_CHECKING:
    pass


ONNX = [pair for pair in PAIRS if pair.target == "onnx-13"]


@pytest.mark.parametrize("pair", ONNX, ids=name)
def test_the_checker_and_the_parser_of_onnx_accept_the_model_and_its_text(pair: Pair) -> None:
    translation = translation_of(pair.version, pair.tensors, pair.target, **pair.options)
    model = onnx.load_model_from_string(translation.files[".onnx"])

    onnx.checker.check_model(model, full_check=True)

    parsed = onnx.parser.parse_model(translation.text)
    assert [each.op_type for each in parsed.graph.node] == [n.op_type for n in model.graph.node]
    assert [each.name for each in parsed.graph.initializer] == [
        each.name for each in model.graph.initializer
    ]


def test_gather_8_with_batches_and_zeros_is_ten_nodes() -> None:
    translation = translation_of(
        "openvino.Gather-8", "2x3xf64=0; 2x2xi64=0", "onnx-13", axis=1, batch_dims=1
    )

    graph = read_onnx(translation.files[".onnx"])

    assert [node.operator for node in graph.nodes] == [
        "Less",
        "Add",
        "Where",
        "Less",
        "GreaterOrEqual",
        "Or",
        "Where",
        "Concat",
        "Unsqueeze",
        "GatherND",
    ]
    assert translation.size == "10 nodes"


def test_an_index_of_32_bits_is_clamped_without_max_and_min() -> None:
    """Max and Min of onnxruntime take 2^32 - 1 for less than 0."""
    translation = translation_of(
        "onnx.Gather-13", "3xf32=0; 2xi64=0", "onnx-13", out_of_range="clamp"
    )

    graph = read_onnx(translation.files[".onnx"])

    assert {"Max", "Min"}.isdisjoint(node.operator for node in graph.nodes)


def test_onnxruntime_clamps_every_index() -> None:
    runtime = pytest.importorskip("onnxruntime")
    translation = translation_of(
        "onnx.Gather-13", "3xf32=0; 4xi64=0", "onnx-13", out_of_range="clamp"
    )
    session = runtime.InferenceSession(translation.files[".onnx"])
    indices = np.array([2**32 - 1, -(2**32) + 1, 2**31, 1])

    (output,) = session.run(None, {"data": np.array([5, 6, 7], np.float32), "indices": indices})

    assert output.tolist() == [7, 5, 7, 6]


def test_a_graph_of_one_node_takes_any_size_and_keeps_the_length_of_tuples() -> None:
    translation = translation_of("onnx.GatherND-13", "2x3xf32=0; 4x2xi64=0", "onnx-13")

    graph = read_onnx(translation.files[".onnx"])

    assert translation.any_size
    assert [port.shape for port in graph.inputs] == [(None, None), (None, 2)]


def test_the_text_is_that_of_the_graph() -> None:
    translation = translation_of("onnx.Gather-1", "2x3xf32=0; 2xi64=0", "onnx-13", axis=1)

    assert translation.text == (
        "<\n"
        "  ir_version: 8,\n"
        '  opset_import: ["" : 13]\n'
        ">\n"
        "gather (float[2,3] data, int64[2] indices) => (float[2,2] output)\n"
        "<int64 zero = {0},\n"
        " int64 size = {3}>\n"
        "{\n"
        "  less = Less (indices, zero)\n"
        "  position = Where (less, size, indices)\n"
        "  output = Gather <axis = 1> (data, position)\n"
        "}\n"
    )


def test_an_empty_shape_that_reshape_cannot_make_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Reshape-13 of ONNX cannot turn the empty \[2, 3, 0, 0\]"
    ):
        translation_of("openvino.GatherND-5", "2x3x1x0xf32=; 2x3x0x1xi64=", "onnx-13", batch_dims=2)


def test_many_zeros_are_made_when_the_graph_runs() -> None:
    translation = translation_of(
        "onnx.GatherElements-13", "2x2000xf32=0; 2x2000xi64=0", "onnx-13", out_of_range="zero"
    )

    graph = read_onnx(translation.files[".onnx"])

    assert "Expand" in [node.operator for node in graph.nodes]
    assert len(translation.files[".onnx"]) < 1000


def test_strings_of_zeros_have_a_constant_of_strings() -> None:
    translation = translation_of(
        "onnx.GatherElements-13", "2xstr='a'; 1xi64=0", "openvino-8", out_of_range="zero"
    )

    assert translation.graph is not None
    (zeros,) = (
        each for each in translation.graph.constants.values() if each.dtype.name == "string"
    )

    assert zeros.array.tolist() == [""]


def test_constants_are_in_the_bin_once() -> None:
    translation = translation_of("onnx.Gather-1", "2xf32=0; 2xi64=0", "numpy")
    model = translation_of(
        "openvino.GatherElements-6", "2xf32=0; 2xi64=0", "openvino-8", axis=0, out_of_range="clamp"
    )

    numbers = np.frombuffer(model.files[".bin"], "<i8").tolist()

    assert sorted(numbers) == [0, 1]
    assert ".bin" not in translation.files
