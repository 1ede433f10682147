"""The shapes that the `onnx` package infers in a process of its own."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from gathercli.io.graphs.wire import Span, WireReader
from gathercli.models import infer_child
from gathercli.models import onnx_model as reader_of_onnx
from gathercli.models.infer_child import ABSENT_STATUS
from tests.modelfiles import FLOAT, constants, onnx_model, value


def model(rows: int = 500) -> onnx.ModelProto:
    """Return a model whose hidden value is not declared."""
    nodes = [
        helper.make_node("MatMul", ["w", "x"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
    ]
    weights = constants(w=np.zeros((rows, 64), np.float32))
    return onnx_model(nodes, [value("x", FLOAT, [64, "n"])], [value("r", FLOAT, None)], weights)


def inferred(proto: onnx.ModelProto) -> tuple[dict[str, str], str | None]:
    """Return the inferred values as text, and the note."""
    reader = WireReader(proto.SerializeToString())
    graph = next(part for field, part in reader.fields(reader.whole) if field == 7)
    assert isinstance(graph, Span)
    values, note = reader_of_onnx.infer_values(reader, graph)
    return {name: str(each.operand) for name, each in values.items()}, note


def test_the_shapes_of_hidden_values_are_inferred() -> None:
    assert inferred(model()) == ({"h": "f32[500,n]", "r": "f32[500,n]"}, None)


def test_the_elements_of_large_tensors_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def run(*_: object, **options: Any) -> Any:
        sizes.append(len(options["input"]))
        return subprocess.CompletedProcess([], 0, b"{}", b"")

    monkeypatch.setattr(subprocess, "run", run)
    whole = model()
    big = numpy_helper.from_array(np.zeros(10_000), "k")
    whole.graph.node.append(helper.make_node("Constant", [], ["k"], value=big))

    inferred(whole)

    assert len(whole.SerializeToString()) > 200_000
    assert sizes[0] < 500


@pytest.mark.parametrize(
    ("status", "out", "note"),
    [
        (ABSENT_STATUS, b"", "`pip install 'gathercli[onnx]'` infers more"),
        (1, b"", "onnx's shape inference failed"),
        (-9, b"", "onnx's shape inference failed"),
        (0, b"{", "onnx's shape inference failed"),
        (0, b"[" * 100_000, "onnx's shape inference failed"),
        (0, b"[]", "onnx's shape inference failed"),
        (0, b'{"y": 1}', "onnx's shape inference failed"),
        (0, b'{"y": [1, 2]}', "onnx's shape inference failed"),
    ],
)
def test_a_process_that_fails_gives_a_note(
    monkeypatch: pytest.MonkeyPatch, status: int, out: bytes, note: str
) -> None:
    ended = subprocess.CompletedProcess([], status, out, b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)

    values, said = inferred(model())

    assert values == {}
    assert note in (said or "")


def test_a_size_that_is_no_integer_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.CompletedProcess([], 0, b'{"y": [1, [1.5, [], 2]]}', b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)

    values, _ = inferred(model())

    assert values == {"y": "f32[?,?,2]"}


@pytest.mark.parametrize("error", [OSError(), subprocess.TimeoutExpired("x", 1)])
def test_a_process_that_does_not_end_gives_a_note(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def run(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(subprocess, "run", run)

    assert inferred(model()) == ({}, "onnx's shape inference took too long")


def test_a_model_that_is_large_without_its_weights_is_not_inferred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader_of_onnx, "MOST_MODEL_BYTES", 10)

    assert inferred(model())[1] == "the model is too large for onnx's shape inference"


def test_the_values_of_bodies_are_listed() -> None:
    body = helper.make_graph([], "b", [], [value("inner", FLOAT, [2, "N", None])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    graph = helper.make_graph([node], "g", [], [value("y", FLOAT, None)])

    values = dict(infer_child._values(graph))

    assert values == {"y": [FLOAT, None], "inner": [FLOAT, [2, "N", None]]}
