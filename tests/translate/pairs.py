"""Pairs of a source version and a target, each with a call that made ones are like."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.io.source import Inputs
from gathercli.ops import OPERATORS
from gathercli.spec.call import Operand
from gathercli.translate.proof import calls_of
from gathercli.translate.running import known_mistake
from gathercli.translate.targets import target
from gathercli.translate.translation import translated

if TYPE_CHECKING:
    from gathercli.translate.proof import ProvenCall
    from gathercli.translate.translation import Translation

INDEX_BITS: Final = {"openvino": 32}
"""The bits of made indices for a runtime that cuts longer ones, which is known."""


class Pair(NamedTuple):
    """A call of a version, as tensor arguments and options, and a target with a runtime."""

    version: str
    tensors: str
    target: str
    runtime: str
    options: dict[str, Any]


def _pair(version: str, tensors: str, to: str, runtime: str = "", **options: Any) -> Pair:
    return Pair(version, tensors, to, runtime or to, options)


_DATA: Final = "2x3x4xf32=" + " ".join(map(str, range(24)))
_BATCHES: Final = f"{_DATA}; 2x2xi32=0 1 1 2"
_CELLS: Final = f"{_DATA}; 1x2x4xi64=0"
_TUPLES: Final = f"{_DATA}; 2x2x1xi64=0"
_FLAT: Final = f"{_DATA}; 2x3x2x1xi64=0"
_BEAMS: Final = (
    "3x2x2xi32=1 2 3 4 5 1 2 3 4 5 1 2; 3x2x2xi32=0 1 0 1 1 0 1 0 1 1 0 0; 2xi32=3 2; xi32=5"
)

PAIRS: Final = (
    _pair("openvino.Gather-8", _BATCHES, "onnx-13", "onnxruntime", axis=2, batch_dims=1),
    _pair("openvino.Gather-7", _BATCHES, "onnx-13", "onnxruntime", axis=1, batch_dims=1),
    _pair("onnx.Gather-1", f"{_DATA}; 2xi64=0", "onnx-13", "onnxruntime", axis=1),
    _pair("openvino.GatherElements-6", "2x3xi64=0; 2x2xi32=0", "onnx-13", "onnxruntime", axis=1),
    _pair("openvino.GatherND-5", _FLAT, "onnx-13", "onnxruntime", batch_dims=2),
    _pair(
        "openvino.GatherND-8", _TUPLES, "onnx-13", "onnxruntime", batch_dims=1, out_of_range="zero"
    ),
    _pair("openvino.GatherTree-1", _BEAMS, "onnx-13", "onnxruntime"),
    _pair("onnx.Gather-13", f"{_DATA}; 2x2xi64=0", "openvino-8", "openvino", axis=1),
    _pair("openvino.Gather-8", _BATCHES, "openvino-8", "openvino", axis=1, batch_dims=1),
    _pair("onnx.GatherElements-13", _CELLS, "openvino-8", "openvino", axis=1),
    _pair("onnx.GatherND-13", _TUPLES, "openvino-8", "openvino", batch_dims=1),
    _pair("onnx.GatherND-13", _TUPLES, "openvino-8", "openvino", out_of_range="zero"),
    _pair("openvino.GatherND-5", _FLAT, "openvino-8", "openvino", batch_dims=2),
    _pair("openvino.GatherTree-1", _BEAMS, "openvino-8", "openvino"),
    *(
        _pair(*call, to, **options)
        for to in ("torch", "tensorflow", "jax", "numpy")
        for call, options in (
            (("openvino.Gather-8", _BATCHES), {"axis": 2, "batch_dims": 1}),
            (("onnx.Gather-13", f"{_DATA}; 2x2xi64=0"), {"axis": 1}),
            (("onnx.GatherElements-13", _CELLS), {"axis": 1}),
            (("openvino.GatherND-5", _FLAT), {"batch_dims": 2}),
            (("openvino.GatherND-8", _TUPLES), {"out_of_range": "zero"}),
            (("openvino.GatherTree-1", _BEAMS), {}),
        )
    ),
    _pair("openvino.Gather-8", _BATCHES, "tflite", "tensorflow", axis=2, batch_dims=1),
    _pair("onnx.GatherElements-13", _CELLS, "tflite", "tensorflow", axis=1),
    _pair("openvino.GatherND-8", _TUPLES, "tflite", "tensorflow", out_of_range="zero"),
    _pair("openvino.GatherTree-1", _BEAMS, "tflite", "tensorflow"),
)


def name(pair: Pair) -> str:
    """Return the name of a test: the version, the target, and the options."""
    options = "".join(f" {key}={value}" for key, value in pair.options.items())
    return f"{pair.version} to {pair.target}{options}"


def bound(version: str, tensors: str, **options: Any) -> BoundCall:
    """Bind the call of tensor arguments, with semicolons between."""
    op = next(each for each in OPERATORS if each.full_name == version)
    with Inputs(None, notes=[]) as inputs:
        read = [inputs.tensor(word.strip(), "input") for word in tensors.split(";")]
    return BoundCall(ops.bind(op, *map(Operand.of, read), **options), *read)


def translation_of(version: str, tensors: str, to: str, **options: Any) -> Translation:
    """Translate the call of tensor arguments."""
    return translated(bound(version, tensors, **options).call, target(to))


class Trials(NamedTuple):
    """A translation and calls, without those on which the runtime is known to be wrong.

    Attributes
    ----------
    known
        What it does on these, and how many were left out.
    """

    translation: Translation
    calls: list[ProvenCall]
    known: Counter[str]


def trials(pair: Pair, count: int) -> Trials:
    """Return the translation of a pair, and as many calls."""
    call = bound(pair.version, pair.tensors, **pair.options)
    translation = translated(call.call, target(pair.target))
    bits = INDEX_BITS.get(pair.runtime, 64)
    calls: list[ProvenCall] = []
    known: Counter[str] = Counter()
    for each in calls_of(translation, call, 4 * count, bits=bits):
        if mistake := known_mistake(pair.runtime, translation, each):
            known[mistake] += 1
        else:
            calls.append(each)
        if len(calls) == count:
            break
    return Trials(translation, calls, known)
