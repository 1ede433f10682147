"""Known mistakes of runtimes are named on the calls that show them, and on no others."""

from __future__ import annotations

import pytest

from gathercli.translate.known import known_mistake, known_notes
from gathercli.translate.proof import calls_of
from gathercli.translate.targets import target
from gathercli.translate.translation import translated
from tests.translate.pairs import bound

ND = ("openvino.GatherND-8", "onnx-13")


@pytest.mark.parametrize(
    ("runtime", "pair", "tensors", "mistake"),
    [
        ("onnxruntime", ND, "2x1xf32=0; 0x1xi64=", "it keeps the axis of a sum of nothing"),
        ("onnxruntime", ND, "2x1xf32=0; 3x1xi64=0", None),
        (
            "openvino",
            ("openvino.Gather-8", "openvino-8"),
            "2x3xu2=0; 1xi64=0",
            "it takes packed elements for bytes",
        ),
        ("openvino", ("openvino.Gather-8", "openvino-8"), "2x3xi4=0; 1xi64=0", None),
        ("openvino", ("openvino.Gather-8", "openvino-8"), "2x3xf32=0; 1xi64=0", None),
        (
            "onnxruntime",
            ("openvino.GatherTree-1", "onnx-13"),
            "1x1x1xi16=0; 1x1x1xi16=0; 1xi16=1; xi16=0",
            "it lacks the type",
        ),
    ],
)
def test_a_known_mistake_is_named_where_it_shows(
    runtime: str, pair: tuple[str, str], tensors: str, mistake: str | None
) -> None:
    version, to = pair
    options = {"out_of_range": "zero"} if pair is ND else {}
    call = bound(version, tensors, **options)
    translation = translated(call.call, target(to))
    (given,) = calls_of(translation, call, 0)

    assert known_mistake(runtime, translation, given) == mistake


@pytest.mark.parametrize(
    ("version", "to", "tensors", "notes"),
    [
        ("openvino.Gather-8", "openvino-8", "2x3xf32=0; 1xi32=0", []),
        ("openvino.Gather-8", "openvino-8", "2xf64=0; 1xi32=0", ["computes float64 as float32"]),
        ("openvino.GatherElements-6", "openvino-8", "2xi64=0; 1xi32=0", ["of 64 bits as int32"]),
        ("openvino.GatherND-8", "openvino-8", "2xf32=0; 1x1xi64=0", ["cuts indices to 32 bits"]),
        ("openvino.GatherND-8", "openvino-8", "2xf32=0; 1x1xu32=0", ["cuts indices to 32 bits"]),
        ("openvino.Gather-8", "openvino-8", "2x0xf32=; 1xi32=0", ["where a size is 0"]),
        ("openvino.Gather-8", "onnx-13", "1x2xstr='a'; 1xi32=0", ["only the first string"]),
        ("openvino.Gather-8", "jax", "2xf64=0; 1xi32=0", ["unless `jax_enable_x64`"]),
        ("openvino.Gather-8", "jax", "2xf32=0; 1xi64=0", ["unless `jax_enable_x64`"]),
        ("openvino.Gather-8", "jax", "2xf32=0; 1xi32=0", []),
        ("openvino.Gather-8", "numpy", "2xf64=0; 1xi64=0", []),
    ],
)
def test_what_is_known_of_a_runtime_is_noted_without_calling_it(
    version: str, to: str, tensors: str, notes: list[str]
) -> None:
    options = {"axis": 0} if "Elements" in version else {}
    call = bound(version, tensors, **options)
    translation = translated(call.call, target(to))
    (given,) = calls_of(translation, call, 0)

    said = known_notes(translation, given)

    assert len(said) == len(notes)
    assert all(part in note for part, note in zip(notes, said, strict=True))
