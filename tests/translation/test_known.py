"""Known mistakes of runtimes are named on the calls that show them, and on no others."""

from __future__ import annotations

import pytest

from gathercli.translation.known import known_mistake
from gathercli.translation.proof import calls_of
from gathercli.translation.targets import target
from gathercli.translation.translation import translated
from tests.translation.pairs import bound

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
