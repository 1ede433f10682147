"""The simplest form of each call: its own operator where that means the same."""

from __future__ import annotations

import pytest

from gathercli.errors import UsageError
from tests.translate.pairs import translation_of

F32 = "2x3xf32=0"


def primitives(version: str, tensors: str, to: str, **options: object) -> list[str]:
    steps = translation_of(version, tensors, to, **options).program.steps
    return [step.primitive for step in steps]


@pytest.mark.parametrize(
    ("version", "to", "options"),
    [
        ("onnx.Gather-13", "onnx-13", {}),
        ("onnx.Gather-13", "torch", {}),
        ("onnx.Gather-13", "numpy", {}),
        ("openvino.Gather-8", "openvino-8", {"axis": 1, "batch_dims": 1}),
        ("openvino.Gather-8", "openvino-8", {"axis": 1}),
    ],
)
def test_an_operator_that_means_the_same_needs_no_step(
    version: str, to: str, options: dict[str, int]
) -> None:
    assert primitives(version, f"{F32}; 2x2xi64=0", to, **options) == ["gather"]


def test_negative_indices_that_a_version_refuses_go_behind_the_axis() -> None:
    steps = primitives("onnx.Gather-1", f"{F32}; 2xi64=0", "onnx-13")

    assert steps == ["size", "constant", "less", "where", "gather"]


def test_zeros_are_a_slice_behind_the_data() -> None:
    steps = primitives("openvino.Gather-8", f"{F32}; 2xi64=0", "numpy")

    assert steps[-3:] == ["zeros", "concat", "gather"]


def test_batches_are_tuples_of_one_where_an_operator_has_none() -> None:
    batches = {"axis": 2, "batch_dims": 1}

    steps = primitives("openvino.Gather-7", "2x3x4xf32=0; 2x2xi64=0", "onnx-13", **batches)

    assert steps[-4:] == ["transpose", "unsqueeze", "gather_nd", "transpose"]


def test_the_last_indices_of_uint64_stay_illegal() -> None:
    translation = translation_of("openvino.Gather-8", f"{F32}; 2xu64=0", "numpy")

    assert "2**63 - 1" in translation.text


def test_data_is_cut_to_indices_where_they_may_be_smaller() -> None:
    equal = primitives("onnx.GatherElements-13", f"{F32}; 2x3xi64=0", "openvino-8")
    smaller = primitives("onnx.GatherElements-13", f"{F32}; 2x2xi64=0", "openvino-8")

    assert "narrow" not in equal
    assert "narrow" in smaller


@pytest.mark.parametrize(
    ("version", "to", "note"),
    [
        ("onnx.Gather-13", "openvino-8", "Gather-8 refuses no index: one outside -s to s-1, which"),
        ("onnx.Gather-1", "openvino-8", "gives an element counted from the end, or zeros"),
        ("onnx.Gather-13", "jax", "a function that jax.jit compiles raises no error"),
        ("onnx.Gather-13", "tensorflow", "a function that XLA compiles raises no error"),
        ("onnx.Gather-13", "torch", "refuses no index where the slices have no elements"),
    ],
)
def test_a_note_says_what_a_target_cannot_do(version: str, to: str, note: str) -> None:
    (text,) = translation_of(version, f"{F32}; 2xi64=0", to).program.notes

    assert note in text


@pytest.mark.parametrize("to", ["onnx-13", "numpy"])
def test_an_exact_translation_has_no_note(to: str) -> None:
    translation = translation_of("openvino.Gather-8", f"{F32}; 2xi64=0", to)

    assert translation.program.notes == []


@pytest.mark.parametrize(
    ("tensors", "to", "version", "options"),
    [
        ("2xstr='a'; 1xi64=0", "torch", "openvino.Gather-8", {}),
        ("2xbf16=1; 1xi64=0", "numpy", "openvino.Gather-8", {}),
        ("2xc64=1; 1xi64=0", "openvino-8", "openvino.Gather-8", {}),
        ("2xu16=1; 1xi32=0", "torch", "openvino.GatherElements-6", {"axis": 0}),
        ("2xf32=1; 1xu64=0", "numpy", "openvino.Gather-8", {"out_of_range": "wrap"}),
        ("2xf32=1; 1xu64=0", "tflite", "openvino.Gather-8", {}),
        ("2xf64=1; 1xi64=0", "tflite", "openvino.Gather-8", {}),
    ],
)
def test_a_type_that_a_target_lacks_is_refused(
    tensors: str, to: str, version: str, options: dict[str, object]
) -> None:
    with pytest.raises(UsageError) as refusal:
        translation_of(version, tensors, to, **options)

    assert refusal.value.rule == "dtype"
