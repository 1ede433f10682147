"""The proof finds a translation that is wrong."""

from __future__ import annotations

import pytest

from gathercli.errors import GatherError
from gathercli.translate.proof import ProofOutcome, calls_of, prove
from gathercli.translate.targets import target
from gathercli.translate.translation import translated
from tests.translate.pairs import bound

ZEROS = ("openvino.Gather-8", "2x3xf32=1 2 3 4 5 6; 2xi64=0 1")


def test_a_wrong_step_is_found() -> None:
    call = bound(*ZEROS)
    translation = translated(call.call, target("numpy"))
    for at, step in enumerate(translation.program.steps):
        if step.primitive == "at_least":  # an index s would read what is behind
            translation.program.steps[at] = step._replace(primitive="less")

    with pytest.raises(GatherError) as refusal:
        prove(translation, calls_of(translation, call))

    assert refusal.value.rule == "bug"


def test_a_wrong_file_is_found() -> None:
    call = bound(*ZEROS)
    translation = translated(call.call, target("onnx-13"))
    other = translated(bound("onnx.Gather-13", ZEROS[1]).call, target("onnx-13"))

    with pytest.raises(GatherError):
        prove(translation._replace(graph=other.graph), calls_of(translation, call))


def test_made_calls_have_legal_and_illegal_indices_and_other_sizes() -> None:
    call = bound("onnx.Gather-13", "2x3xf32=0; 2xi64=0")
    translation = translated(call.call, target("numpy"))

    calls = list(calls_of(translation, call))
    proof = prove(translation, calls)

    assert len(calls) == 101
    assert proof.count(ProofOutcome.EQUAL) > 40
    assert proof.count(ProofOutcome.BOTH_REFUSE) > 20
    assert len({each.tensors["data"].shape for each in calls}) > 8
    assert any((each.tensors["indices"].array < -(2**31)).any() for each in calls)


def test_made_calls_of_a_graph_with_sizes_have_these() -> None:
    call = bound(*ZEROS)
    translation = translated(call.call, target("onnx-13"))

    shapes = {each.tensors["data"].shape for each in calls_of(translation, call, 20)}

    assert shapes == {(2, 3)}
