"""Translations in runtimes, and the mistakes that these are known to make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.runtimes.client import RuntimeProcess
from gathercli.translate.proof import calls_of
from gathercli.translate.running import judged, known_mistake, known_notes, observe
from gathercli.translate.targets import target
from gathercli.translate.translation import translated
from tests.runtimes.peers import PEERS
from tests.translate.pairs import PAIRS, bound, name, trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.translate.pairs import Pair


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
    (own,) = calls_of(translation, call, 0)

    assert known_mistake(runtime, translation, own) == mistake


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
    (own,) = calls_of(translation, call, 0)

    said = known_notes(translation, own)

    assert len(said) == len(notes)
    assert all(part in note for part, note in zip(notes, said, strict=True))


CALLS = 12


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[str, RuntimeProcess]]:
    started: dict[str, RuntimeProcess] = {}
    yield started
    for each in started.values():
        each.close()


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_a_translation_is_equal_in_its_runtime(
    pair: Pair, processes: dict[str, RuntimeProcess]
) -> None:
    if pair.runtime not in PEERS:
        pytest.skip(f"GATHERCLI_PEERS does not name {pair.runtime}")
    if pair.runtime not in processes:
        processes[pair.runtime] = RuntimeProcess(PEERS[pair.runtime], 60)
    process = processes[pair.runtime]
    translation, calls, _ = trials(pair, CALLS)
    seen = [observe(translation, calls[0].tensors, process)]
    if seen[0].problem == "absent":
        pytest.skip(f"{pair.runtime} is not installed")

    seen += [observe(translation, each.tensors, process) for each in calls[1:]]

    for each, one in zip(calls, seen, strict=True):
        assert judged(each, one) in ("equal", "both refuse"), (one, each.tensors)
