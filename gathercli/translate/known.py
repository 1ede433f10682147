"""What runtimes are known to do wrong on legal models, so that a report can name it.

Each was observed on processors in late 2026: OpenVINO 2026.4, onnxruntime 1.31, TensorFlow 2.21,
torch 2.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.spec.dtypes import BFLOAT16, FLOAT64, STRING, Kind
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.translate.proof import ProvenCall
    from gathercli.translate.translation import Translation


class KnownMistake(NamedTuple):
    """A mistake of a runtime: what it does, and on which calls."""

    runtime: str
    doc: str
    concerns: Callable[[Translation, ProvenCall], bool]


def _beyond_32_bits(translation: Translation, each: ProvenCall) -> bool:
    names = [row.name for row in translation.call.op.inputs if row.values]
    arrays = [each.tensors[name].array for name in names]
    low, high = -(2**31), 2**31 - 1
    return any(np.any((a < low) | (a > high)) for a in arrays if a.dtype.kind in "iu" and a.size)


def _is_empty(_: Translation, each: ProvenCall) -> bool:
    sizes = [product(tensor.shape) for tensor in each.tensors.values()]
    return 0 in sizes or (each.expected is not None and not each.expected.array.size)


def _is_empty_tuple(translation: Translation, each: ProvenCall) -> bool:
    return translation.call.op.tuples and _is_empty(translation, each)


def _is_refused(translation: Translation, each: ProvenCall) -> bool:
    return each.expected is None and bool(translation.program.notes)


def _is_tiny(translation: Translation, each: ProvenCall) -> bool:
    first, *others = each.tensors.values()
    is_list = len(first.shape) == 1 and first.dtype.integral
    return is_list and translation.program.steps[-1].primitive == "gather" and bool(others)


def _is_single_batch(translation: Translation, each: ProvenCall) -> bool:
    data = next(iter(each.tensors.values()))
    step = next((s for s in translation.program.steps if s.primitive == "gather"), None)
    batch_dims = step.settings["batch_dims"] if step else 0
    return batch_dims > 0 and product(data.shape[: step.settings["axis"] if step else 0]) == 1


def _strings(_: Translation, each: ProvenCall) -> bool:
    return next(iter(each.tensors.values())).dtype is STRING


def _unregistered(_: Translation, each: ProvenCall) -> bool:
    dtype = next(iter(each.tensors.values())).dtype
    return dtype is BFLOAT16 or dtype.kind is Kind.COMPLEX


def _lacks_whole_type(translation: Translation, each: ProvenCall) -> bool:
    """Return whether beams are integers of 16 bits, for which onnxruntime has no Where."""
    dtype = next(iter(each.tensors.values())).dtype
    is_tree = translation.call.op.followed is not None
    return is_tree and dtype.integral and dtype.bits == 16


def _sums_nothing(translation: Translation, each: ProvenCall) -> bool:
    is_sum = any(step.primitive == "total" for step in translation.program.steps)
    return is_sum and not each.tensors["indices"].array.size


def _is_taken_for_bytes(_: Translation, each: ProvenCall) -> bool:
    dtype = next(iter(each.tensors.values())).dtype
    return dtype.bits == 2 or (dtype.bits == 4 and not dtype.integral)


def _strings_by_tuples(translation: Translation, each: ProvenCall) -> bool:
    return translation.call.op.tuples and _strings(translation, each)


def _no_length(_: Translation, each: ProvenCall) -> bool:
    lengths = each.tensors.get("max_seq_len")
    return lengths is not None and bool(np.any(lengths.values() <= 0))


def _is_narrow(translation: Translation, each: ProvenCall) -> bool:
    """Return whether data is larger than indices beside the axis."""
    if not translation.call.op.elementwise or translation.call.op.followed is not None:
        return False
    data, indices = each.tensors.values()
    axis, _ = translation.call.normalized
    sizes = enumerate(zip(data.shape, indices.shape, strict=True))
    return any(one != other for at, (one, other) in sizes if at != axis)


def _is_narrow_onnx(translation: Translation, each: ProvenCall) -> bool:
    return ".onnx" in translation.files and _is_narrow(translation, each)


def _is_elements_refused(translation: Translation, each: ProvenCall) -> bool:
    return translation.call.op.elementwise and each.expected is None


def _is_float64(_: Translation, each: ProvenCall) -> bool:
    return next(iter(each.tensors.values())).dtype is FLOAT64


def _is_wide_integer(_: Translation, each: ProvenCall) -> bool:
    dtype = next(iter(each.tensors.values())).dtype
    return dtype.integral and dtype.bits == 64


def _has_wide_index(translation: Translation, each: ProvenCall) -> bool:
    """Return whether the type of indices has values that 32 bits do not."""
    names = [row.name for row in translation.call.op.inputs if row.values and not row.copied]
    dtypes = [each.tensors[name].dtype for name in names]
    return any(dtype.integral and dtype.bounds[1] >= 2**31 for dtype in dtypes)


def _is_wide(translation: Translation, each: ProvenCall) -> bool:
    first = next(iter(each.tensors.values())).dtype
    is_wide = first.bits == 64 and first.kind is not Kind.COMPLEX
    return is_wide or _has_wide_index(translation, each)


KNOWN: Final = (
    KnownMistake("openvino", "it computes float64 as float32", _is_float64),
    KnownMistake("openvino", "it need not refuse an illegal index", _is_refused),
    KnownMistake("openvino", "it cuts indices to 32 bits", _beyond_32_bits),
    KnownMistake("openvino", "it computes integers of 64 bits as int32", _is_wide_integer),
    KnownMistake("openvino", "it dies or leaves memory as it is where a size is 0", _is_empty),
    KnownMistake("openvino", "it checks no bounds on short lists of integers", _is_tiny),
    KnownMistake("openvino", "it dies on batches of one", _is_single_batch),
    KnownMistake("openvino", "it leaves memory as it is for a length of 0", _no_length),
    KnownMistake("onnxruntime", "it gathers only the first string of a slice", _strings),
    KnownMistake("onnxruntime", "it lacks the type", _unregistered),
    KnownMistake("onnxruntime", "it lacks the type", _lacks_whole_type),
    KnownMistake("onnxruntime", "it keeps the axis of a sum of nothing", _sums_nothing),
    KnownMistake("openvino", "it takes packed elements for bytes", _is_taken_for_bytes),
    KnownMistake("openvino", "its GatherND lacks strings", _strings_by_tuples),
    KnownMistake("openvino", "it refuses smaller indices beside the axis", _is_narrow_onnx),
    KnownMistake("onnx.reference", "it refuses smaller indices beside the axis", _is_narrow),
    KnownMistake("onnx.reference", "it wraps illegal indices of elements", _is_elements_refused),
    KnownMistake("onnx.reference", "it checks no indices of an empty result", _is_empty),
    KnownMistake("tensorflow", "tf.gather_nd refuses a legal index of no slice", _is_empty_tuple),
    KnownMistake("torch", "it refuses no index where the slices have no elements", _is_empty),
)


CUTS: Final = (
    KnownMistake(
        "openvino",
        "it cuts indices to 32 bits, and may die of a constant one of 2^31 or more",
        _has_wide_index,
    ),
    KnownMistake("jax", "it cuts 64 bits to 32 unless `jax_enable_x64` is set", _is_wide),
)
"""What runtimes do to types, whether or not an element of a call shows it."""


_SAID: Final = (_is_refused, _is_empty_tuple)
"""What the notes of the program say, too."""


def known_notes(translation: Translation, given: ProvenCall) -> list[str]:
    """Return what the runtime of a target is known to do wrong on such a call."""
    runtime = translation.target.runtimes[0]
    rows = [m for m in (*KNOWN, *CUTS) if m.runtime == runtime and m.concerns not in _SAID]
    found = [m for m in rows if m.concerns(translation, given)]
    return [f"{runtime}, as was seen: {m.doc}" for m in found]


def known_mistake(runtime: str, translation: Translation, each: ProvenCall) -> str | None:
    """Return what a runtime is known to do wrong on such a call; None if that is nothing."""
    return next(
        (m.doc for m in KNOWN if m.runtime == runtime and m.concerns(translation, each)), None
    )
