"""The shapes that the `onnx` package infers in a process of its own."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from gathercli.io.graphs.wire import Span, WireReader
from gathercli.models import facts
from gathercli.models.facts import ABSENT_STATUS, Facts
from tests.modelfiles import BOOL, FLOAT, INT64, constants, onnx_model, value


def model(rows: int = 500) -> onnx.ModelProto:
    """Return a model whose hidden value is not declared."""
    nodes = [
        helper.make_node("MatMul", ["w", "x"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gather", ["r", "i"], ["out"]),
    ]
    weights = constants(w=np.zeros((rows, 64), np.float32))
    inputs = [value("x", FLOAT, [64, "n"]), value("i", INT64, ["m"])]
    return onnx_model(nodes, inputs, [value("out", FLOAT, None)], weights)


def inferred(proto: onnx.ModelProto) -> tuple[dict[str, str], str | None]:
    """Return the inferred values as text, and the note."""
    bodies, note = facts_of(proto)
    values = bodies[0].values if bodies else {}
    return {name: str(each.operand) for name, each in values.items()}, note


def facts_of(proto: onnx.ModelProto) -> tuple[dict[int, Facts], str | None]:
    """Return the facts of a model by number of a body, and the note."""
    reader = WireReader(proto.SerializeToString())
    graph = next(part for field, part in reader.fields(reader.whole) if field == 7)
    assert isinstance(graph, Span)
    return facts.infer_facts(reader, graph)


def answer(**fields: Any) -> bytes:
    """Return an answer of the process with some fields of the only body."""
    body = {"values": {}, "constants": {}, "bounds": {}, "attributes": {}, **fields}
    return json.dumps({"failed": False, "exhausted": False, "bodies": {"0": body}}).encode()


def test_the_shapes_of_hidden_values_are_inferred() -> None:
    assert inferred(model()) == ({"r": "f32[500,n]", "i": "i64[m]", "out": "f32[m,n]"}, None)


def test_the_elements_of_large_tensors_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def run(*_: object, **options: Any) -> Any:
        sizes.append(len(options["input"]))
        return subprocess.CompletedProcess([], 0, answer(), b"")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(facts, "WHOLE_BYTES", 1000)
    whole = model()
    big = numpy_helper.from_array(np.zeros(10_000), "k")
    whole.graph.node.append(helper.make_node("Constant", [], ["k"], value=big))

    inferred(whole)

    assert len(whole.SerializeToString()) > 200_000
    assert sizes[0] < 500


@pytest.mark.parametrize(
    ("status", "out", "note"),
    [
        (ABSENT_STATUS, b"", "`python -m pip install 'gathercli[onnx]'` infers more"),
        (1, b"", "onnx's shape inference failed"),
        (-9, b"", "onnx's shape inference failed"),
        (0, b"{", "onnx's shape inference failed"),
        (0, b"[" * 100_000, "onnx's shape inference failed"),
        (0, b"[]", "onnx's shape inference failed"),
        (0, b"{}", "onnx's shape inference failed"),
        (0, answer(values={"y": 1}), "onnx's shape inference failed"),
        (0, answer(values={"y": [1, 2]}), "onnx's shape inference failed"),
        (0, answer(bounds={"y": [[1], "a"]}), "onnx's shape inference failed"),
        (0, answer(constants={"y": [7, [2], ["AAAA"], 0, 1]}), "onnx's shape inference failed"),
        (0, answer(constants={"y": [99, [], [], 0, 1]}), "onnx's shape inference failed"),
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
    ended = subprocess.CompletedProcess([], 0, answer(values={"y": [1, [1.5, [], 2]]}), b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)

    values, _ = inferred(model())

    assert values == {"y": "f32[?,?,2]"}


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (OSError(), "onnx's shape inference could not be started"),
        (subprocess.TimeoutExpired("x", 1), "onnx's shape inference took too long"),
    ],
)
def test_a_process_that_does_not_end_gives_a_note(
    monkeypatch: pytest.MonkeyPatch, error: Exception, note: str
) -> None:
    def run(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(subprocess, "run", run)

    assert inferred(model()) == ({}, note)


@pytest.mark.parametrize("rest", [b"", b"[1, "])
def test_what_a_process_knew_before_it_was_stopped_is_used(
    monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    known = answer(values={"y": [1, [2]]}) + b"\n"

    def run(*_: object, **__: object) -> Any:
        raise subprocess.TimeoutExpired("x", 1, known + rest)

    monkeypatch.setattr(subprocess, "run", run)

    values, note = inferred(model())

    assert values == {"y": "f32[2]"}
    assert note == "onnx's shape inference took too long"


def test_a_model_that_is_large_without_its_weights_is_not_inferred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts, "MOST_MODEL_BYTES", 10)

    assert inferred(model())[1] == "the model is too large for onnx's shape inference"


def test_the_values_of_each_body_are_its_own() -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        node = helper.make_node(operator, ["x"], ["d"])
        return helper.make_graph(
            [node, helper.make_node("Shape", ["d"], [name])], name, [], [value(name, INT64, None)]
        )

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "Transpose"), else_branch=branch("e", "Relu")
    )
    proto = onnx_model(
        [node], [value("x", FLOAT, [2, "N"]), value("c", BOOL, [])], [value("y", INT64, None)]
    )

    bodies, _ = facts_of(proto)

    shapes = {str(bodies[n].values["d"].shape) for n in (1, 2)}
    assert shapes == {"[N,2]", "[2,N]"}
