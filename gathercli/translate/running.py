"""A translation in a runtime: the calls of its proof, and what runtimes are known to do wrong.

Each mistake was observed on legal models, on processors in late 2026: OpenVINO 2026.4, onnxruntime
1.31, TensorFlow 2.21, torch 2.13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.cli.slice_options import Observation
from gathercli.compute.tensor import Tensor
from gathercli.spec.dtypes import BFLOAT16, FLOAT64, STRING, Kind
from gathercli.spec.shapes import product
from gathercli.translate.code import function_name
from gathercli.translate.program import Step
from gathercli.translate.proof import AGREEING, ProofOutcome, ProvenCall, RuntimeProof, outcome_of
from gathercli.translate.translation import Translation

if TYPE_CHECKING:
    from gathercli.cli.slice_options import RuntimeCaller

# After so many deaths, or calls without an answer, a runtime is called no more.
MOST_ENDS: Final = 3
FILE_STEM: Final = "translation"  # the stem of the files that a runtime reads


def run_in(
    process: RuntimeCaller, translation: Translation, calls: Sequence[ProvenCall]
) -> RuntimeProof:
    """Make the calls of a proof in a runtime that can be called."""
    counts: Counter[str] = Counter()
    known: Counter[str] = Counter()
    first, version, ends = None, "", 0
    for number, each in enumerate(calls):
        seen = observe(translation, each.tensors, process)
        if seen.problem == "absent":  # it was there, but could not be restarted
            break
        outcome = judged(each, seen)
        counts[outcome] += 1
        version = seen.version or version
        if outcome not in AGREEING:
            mistake = known_mistake(process.runtime.name, translation, each)
            if mistake:
                known[mistake] += 1
            elif first is None:
                first = number, f"{outcome}: {seen.message}" if seen.message else outcome
        ends += outcome in ("dies", "hangs")
        if ends >= MOST_ENDS:
            break
    return RuntimeProof(process.runtime.name, version, counts, known, first)


def observe(
    translation: Translation, tensors: Mapping[str, Tensor], process: RuntimeCaller
) -> Observation:
    """Run the files of a translation on tensors."""
    files = {f"{FILE_STEM}{suffix}": content for suffix, content in translation.files.items()}
    target, code = translation.target, ""
    if target.suffix == ".py":
        files = {f"{FILE_STEM}.py": translation.text.encode() + target.functions.encode()}
        function = function_name(translation.call)
        code = target.call.format(function=function, inputs=", ".join(tensors))
    return process.call(tensors, code=code, model=files)


def judged(each: ProvenCall, seen: Observation) -> str:
    """Return what a runtime did, beside what the version does.

    A refusal agrees if its rule is that of the version: an index may have another value in the
    translation.
    """
    if seen.problem is not None and seen.problem != "refuses":
        return seen.problem
    if (tensor := seen.tensor) is not None:
        return outcome_of(each, lambda _: tensor).value
    if seen.reason is None:
        return "unsupported"
    agrees = each.rule in seen.reason.rules
    return ProofOutcome.BOTH_REFUSE.value if agrees else ProofOutcome.REFUSES.value


class TranslatedCall:
    """A call of a translation, as the rows of mistakes ask for it."""

    def __init__(self, translation: Translation, each: ProvenCall) -> None:
        self.translation, self.each = translation, each
        self.op = translation.call.op
        self.data = next(iter(each.tensors.values()))
        self.dtype = self.data.dtype
        self.is_wide = self.dtype.bits == 64
        self.indices = [each.tensors[row.name] for row in self.op.inputs if row.values]
        self.is_refused = each.expected is None
        results = [] if each.expected is None else [each.expected]
        self.is_empty = any(0 in tensor.shape for tensor in (*each.tensors.values(), *results))

    def step(self, primitive: str) -> Step | None:
        """Return the first step with a primitive."""
        steps = self.translation.program.steps
        return next((step for step in steps if step.primitive == primitive), None)


def _is_beyond_32_bits(call: TranslatedCall) -> bool:
    low, high = -(2**31), 2**31 - 1
    arrays = (each.array for each in call.indices)
    return any(np.any((a < low) | (a > high)) for a in arrays if a.dtype.kind in "iu" and a.size)


def _has_wide_index(call: TranslatedCall) -> bool:
    """Return whether the type of indices has values that 32 bits do not."""
    rows = (row for row in call.op.inputs if row.values and not row.copied)
    dtypes = (call.each.tensors[row.name].dtype for row in rows)
    return any(dtype.integral and dtype.bounds[1] >= 2**31 for dtype in dtypes)


def _is_tiny(call: TranslatedCall) -> bool:
    is_list = len(call.data.shape) == 1 and call.dtype.integral
    is_last = call.translation.program.steps[-1].primitive == "gather"
    return is_list and is_last and len(call.each.tensors) > 1


def _is_single_batch(call: TranslatedCall) -> bool:
    settings = step.settings if (step := call.step("gather")) else {"axis": 0, "batch_dims": 0}
    return settings["batch_dims"] > 0 and product(call.data.shape[: settings["axis"]]) == 1


def _has_no_length(call: TranslatedCall) -> bool:
    lengths = call.each.tensors.get("max_seq_len")
    return lengths is not None and bool(np.any(lengths.values() <= 0))


def _is_narrow(call: TranslatedCall) -> bool:
    """Return whether data is larger than indices beside the axis."""
    if not call.op.elementwise or call.op.followed is not None:
        return False
    data, indices = call.each.tensors.values()
    axis, _ = call.translation.call.normalized
    sizes = enumerate(zip(data.shape, indices.shape, strict=True))
    return any(one != other for at, (one, other) in sizes if at != axis)


def _is_in_doubt(call: TranslatedCall) -> bool:
    return call.is_refused and bool(call.translation.program.notes)


def _is_empty_tuple(call: TranslatedCall) -> bool:
    return call.op.tuples and call.is_empty


def _lacks_type(call: TranslatedCall) -> bool:
    """Return whether onnxruntime lacks the type of data; it has no Where for beams of 16 bits."""
    dtype = call.dtype
    is_beam = call.op.followed is not None and dtype.integral and dtype.bits == 16
    return is_beam or dtype is BFLOAT16 or dtype.kind is Kind.COMPLEX


# What each runtime, or a target in it, does wrong, and on which calls.
_MISTAKES: Final[dict[str, dict[str, Callable[[TranslatedCall], bool]]]] = {
    "openvino": {
        "it computes float64 as float32": lambda c: c.dtype is FLOAT64,
        "it need not refuse an illegal index": _is_in_doubt,
        "it cuts indices to 32 bits": _is_beyond_32_bits,
        "it computes integers of 64 bits as int32": lambda c: c.dtype.integral and c.is_wide,
        "it dies or leaves memory as it is where a size is 0": lambda c: c.is_empty,
        "it checks no bounds on short lists of integers": _is_tiny,
        "it dies on batches of one": _is_single_batch,
        "it leaves memory as it is for a length of 0": _has_no_length,
        "it takes packed elements for bytes": lambda c: (
            c.dtype.bits == 2 or (c.dtype.bits == 4 and not c.dtype.integral)
        ),
        "its GatherND lacks strings": lambda c: c.op.tuples and c.dtype is STRING,
        "it refuses smaller indices beside the axis": lambda c: (
            ".onnx" in c.translation.files and _is_narrow(c)
        ),
    },
    "onnxruntime": {
        "it gathers only the first string of a slice": lambda c: c.dtype is STRING,
        "it lacks the type": _lacks_type,
        "it keeps the axis of a sum of nothing": lambda c: (
            c.step("total") is not None and not c.each.tensors["indices"].array.size
        ),
    },
    "onnx.reference": {
        "it refuses smaller indices beside the axis": _is_narrow,
        "it wraps illegal indices of elements": lambda c: c.op.elementwise and c.is_refused,
        "it checks no indices of an empty result": lambda c: c.is_empty,
    },
    "tflite": {
        "it need not refuse an illegal index": _is_in_doubt,
        "its interpreter takes no tensor without elements": lambda c: c.is_empty,
    },
    "tensorflow": {"tf.gather_nd refuses a legal index of no slice": _is_empty_tuple},
    "torch": {"it refuses no index where the slices have no elements": lambda c: c.is_empty},
}

# What runtimes do to types, whether or not an element of a call shows it.
_TYPE_CUTS: Final[dict[str, dict[str, Callable[[TranslatedCall], bool]]]] = {
    "openvino": {
        "it cuts indices to 32 bits, and may die of a constant one of 2^31 or more": _has_wide_index
    },
    "jax": {
        "it cuts 64 bits to 32 unless `jax_enable_x64` is set": lambda c: (
            (c.is_wide and c.dtype.kind is not Kind.COMPLEX) or _has_wide_index(c)
        )
    },
}

_IN_NOTES: Final = (_is_in_doubt, _is_empty_tuple)  # what the notes of the program say, too


def known_notes(translation: Translation, each: ProvenCall) -> list[str]:
    """Return what the runtime of a target is known to do wrong on such a call."""
    target, call = translation.target, TranslatedCall(translation, each)
    runtime = target.name if target.name in _MISTAKES else target.runtimes[0]
    return [
        f"{runtime}, as was seen: {what}"
        for rows in (_MISTAKES, _TYPE_CUTS)
        for what, concerns in rows.get(runtime, {}).items()
        if concerns not in _IN_NOTES and concerns(call)
    ]


def known_mistake(runtime: str, translation: Translation, each: ProvenCall) -> str | None:
    """Return what a runtime is known to do wrong on such a call; None if that is nothing."""
    call = TranslatedCall(translation, each)
    rows = _MISTAKES.get(translation.target.name, _MISTAKES.get(runtime, {})).items()
    return next((what for what, concerns in rows if concerns(call)), None)
