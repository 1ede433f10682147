"""Warn of likely mistakes, and of what runtimes get wrong, in a checked call."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.compute.verdicts import MOST_INT32_INDEX, fate
from gathercli.ops import gather
from gathercli.spec.dtypes import BFLOAT16, STRING
from gathercli.spec.op import FROM_THE_END, OffAxis, OutOfRange
from gathercli.spec.shapes import cell, coordinates
from gathercli.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.compute.verdicts import CheckedCall
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op


def warnings(checked: CheckedCall) -> Iterator[tuple[str, str]]:
    """Yield the name and message of each warning that applies."""
    mistakes = {
        "minus-one": _minus_one(checked),
        "one-index": _one_index(checked),
        "off-axis": _off_axis(checked),
        "indices-type": _type_refused(checked, "indices"),
        "data-type": _type_refused(checked, "data"),
        "beyond-32-bits": _beyond_32_bits(checked),
    }
    yield from ((name, message) for name, message in mistakes.items() if message)
    op, dtype = checked.chosen.op, checked.case.data.dtype
    for fault in FAULTS:
        if f"{op.framework}.{op.name}" in fault.operators.split() and fault.happens(checked):
            yield fault.name, fault.message.format(dtype=dtype)


def _minus_one(checked: CheckedCall) -> str | None:
    """-1 is the only negative index, and may mean "none"."""
    census, call = checked.case.census, checked.chosen.call
    number = census.ones.number
    if not number or number != census.negative.number:
        return None
    text = f"{counted(number, 'index is', 'indices are')} -1 and no other is negative"
    if call is None:
        return f'{text}: -1 may be meant as "none"'
    return f'{text}: if -1 means "none", know that {call.op} {_fate_of_minus_one(call)}'


def _fate_of_minus_one(call: Call) -> str:
    what = "slice" if not call.op.elementwise else "element"
    along, *others = call.family.indexed_axes(call)
    if others:
        what = "position of its axis"
    does = {
        FROM_THE_END: f"takes the last {what}",
        OutOfRange.WRAP.done: f"takes the last {what}",
        OutOfRange.CLAMP.done: f"takes the first {what}",
        OutOfRange.ZERO.done: "fills with zeros",
    }
    return does.get(fate(call, along)(-1), "refuses it")


def _one_index(checked: CheckedCall) -> str | None:
    """Gather with a 0-D index drops the axis; with one of shape [1] keeps it with size 1."""
    shape, call, out = checked.case.indices.shape, checked.chosen.call, checked.chosen.shape
    if call is None or out is None or call.op.family != gather.COMMAND or call.batch_dims:
        return None
    if shape not in ((), (1,)):
        return None
    rank = len(out)
    if shape:
        return (
            f"`indices` has shape [1], so dimension {call.axis} of the result stays, of size 1 "
            f"(rank {rank}); a 0-D index would drop it (rank {rank - 1})"
        )
    return (
        f"`indices` is 0-D, so the result has no dimension for the axis (rank {rank}); "
        f"indices of shape [1] would keep one of size 1 (rank {rank + 1})"
    )


def _off_axis(checked: CheckedCall) -> str | None:
    """`indices` are smaller than `data` beside the axis, which only one framework allows."""
    call = next((each.call for each in checked.family if each.call), None)
    if call is None or call.op.off_axis is None:
        return None
    data, indices = checked.case.data.shape, checked.case.indices.shape
    for d, (n, m) in enumerate(zip(data, indices, strict=True)):
        if d != call.axis and m < n:
            equals = [v.op for v in checked.family if v.op.off_axis is OffAxis.EQUAL]
            return (
                f"dimension {d} of `indices` is {m}, smaller than {n} in `data`: only "
                f"{_ids(checked.accepting)} may take that, {_ids(equals)} not"
            )
    return None


def _type_refused(checked: CheckedCall, name: str) -> str | None:
    """List the versions that accept and refuse the type of an input; None if all agree.

    The operator may have no input of this name.
    """
    ops = [each.op for each in checked.family]
    tensor = checked.case.named(ops[0]).get(name)
    if tensor is None:
        return None
    dtype = tensor.dtype
    accepting = [op for op in ops if dtype in op.input(name).dtypes]
    others = [op for op in ops if op not in accepting]
    if not accepting or not others:
        return None
    return f"{dtype} {name}: {_ids(accepting)} may take them, {_ids(others)} not"


def _beyond_32_bits(checked: CheckedCall) -> str | None:
    """An index or the axis goes beyond 2^31-1, where runtimes cut indices to 32 bits."""
    wide = checked.case.census.wide
    if wide.number:
        where = coordinates(wide.first, checked.case.indices.shape)
        return (
            f"{counted(wide.number, 'index does', 'indices do')} not fit 32 bits, first "
            f"{wide.value} at {cell(where)}: runtimes that cut them to 32 bits take another"
        )
    call = checked.chosen.call
    for along in call.family.indexed_axes(call) if call else ():
        if along.size > MOST_INT32_INDEX + 1:
            return (
                f"the axis has {counted(along.size, 'position')}: runtimes that cut indices to 32 "
                "bits reach only some of them"
            )
    return None


def _ids(ops: Sequence[Op]) -> str:
    return listed((op.id for op in ops), "and")


class Fault(NamedTuple):
    """What a runtime does otherwise for some calls of an operator version."""

    name: str  # of the warning
    operators: str  # with their frameworks: ``onnx.GatherND``
    happens: Callable[[CheckedCall], bool]
    message: str  # {dtype} is the type of `data`


def _zero_fills_a_short_list(checked: CheckedCall) -> bool:
    case, call = checked.case, checked.chosen.call
    return (
        call is not None
        and call.out_of_range is OutOfRange.SPEC
        and checked.chosen.filled > 0
        and len(case.data.shape) == len(case.indices.shape) == 1
        and max(case.data.shape + case.indices.shape) <= 64
        and case.data.dtype.name in ("int32", "uint32", "int64", "uint64", "int16", "uint16")
    )


def _has_empty_output(checked: CheckedCall) -> bool:
    return checked.chosen.shape is not None and 0 in checked.chosen.shape


_INNER: Final = {"float32": 16, "int16": 2, "float16": 1}
"""The most elements after the axis that OpenVINO copies as a small block, by type."""


def _has_one_batch(checked: CheckedCall) -> bool:
    call, data = checked.chosen.call, checked.case.data
    if call is None or not call.batch_dims:
        return False
    a, _ = call.normalized
    inner = prod(data.shape[a + 1 :])
    return prod(data.shape[:a]) == 1 and 0 < inner <= _INNER.get(data.dtype.name, 0)


def _has_slices_of_strings(checked: CheckedCall) -> bool:
    call, data = checked.chosen.call, checked.case.data
    return (
        call is not None and data.dtype is STRING and prod(data.shape[call.normalized[0] + 1 :]) > 1
    )


def _has_empty_tuples(checked: CheckedCall) -> bool:
    shape = checked.chosen.shape
    return shape is not None and 0 not in shape and not checked.case.indices.shape[-1]


def _mixes_batches(checked: CheckedCall) -> bool:
    return checked.chosen.error is not None and checked.chosen.error.rule == "batch-shape"


def _has_no_length(checked: CheckedCall) -> bool:
    lengths = checked.case.named(checked.chosen.op)["max_seq_len"].array
    return not (lengths > 0).all()


def _is_cut_to_32_bits(checked: CheckedCall) -> bool:
    inputs = [each.array for each in checked.case.tensors]
    return checked.case.data.dtype.name in ("int64", "uint64") and not all(
        ((array <= MOST_INT32_INDEX) & (array >= ~MOST_INT32_INDEX)).all() for array in inputs
    )


_OPENVINO: Final = "OpenVINO 2026.4.1 on the CPU"
_ONNXRUNTIME: Final = "onnxruntime 1.31.1"

FAULTS: Final = (
    Fault(
        "openvino-cpu-short-lists",
        "openvino.Gather",
        _zero_fills_a_short_list,
        f"{_OPENVINO} returns whatever lies in memory, not zeros, for 1-D {{dtype}} data of at "
        "most 64 elements",
    ),
    Fault(
        "openvino-cpu-empty",
        "openvino.Gather",
        _has_empty_output,
        f"{_OPENVINO} dies (SIGFPE) where static shapes make the output empty",
    ),
    Fault(
        "openvino-cpu-batch-of-one",
        "openvino.Gather",
        _has_one_batch,
        f"{_OPENVINO} was seen to die (SIGSEGV) on a batch of one, with static shapes and indices "
        "known at run time",
    ),
    Fault(
        "onnxruntime-strings",
        "onnx.Gather",
        _has_slices_of_strings,
        f"{_ONNXRUNTIME} on the CPU copies only the first string of each slice; the others come "
        'out as ""',
    ),
    Fault(
        "tuple-bounds",
        "openvino.GatherND",
        lambda checked: checked.chosen.refuses_index,
        f"{_OPENVINO} checks no bounds in GatherND: a negative index counts from the end, and one "
        "outside reads another row or foreign memory",
    ),
    Fault(
        "empty-tuples",
        "openvino.GatherND",
        _has_empty_tuples,
        f"{_OPENVINO} returns whatever lies in memory where tuples have no numbers",
    ),
    Fault(
        "constant-tuples",
        "openvino.GatherND",
        lambda checked: checked.case.census.wide.number > 0,
        f"{_OPENVINO} dies (SIGSEGV) on indices beyond 32 bits that are a Constant of GatherND",
    ),
    Fault(
        "tuples-of-strings",
        "openvino.GatherND",
        lambda checked: checked.case.data.dtype is STRING,
        f"{_OPENVINO} does not compile GatherND of strings",
    ),
    Fault(
        "tuples-of-bfloat16",
        "openvino.GatherND",
        lambda checked: checked.case.data.dtype is BFLOAT16,
        "OpenVINO 2026.4.1 gives Python the bits of bfloat16 results as float16: 3.0 reads as "
        "2.125",
    ),
    Fault(
        "tuple-batches",
        "openvino.GatherND onnx.GatherND",
        _mixes_batches,
        f"where batch dimensions of GatherND differ, {_ONNXRUNTIME} repeats data if the batches of "
        "indices are a multiple of its own, and OpenVINO 2026.4.1 broadcasts 1 in ONNX models",
    ),
    Fault(
        "exported-tuples",
        "onnx.GatherND",
        lambda checked: checked.case.indices.dtype.name == "int32",
        f"PyTorch 2.13 exports int32 indices as they are, and {_ONNXRUNTIME} does not load such a "
        "model: export with int64 indices",
    ),
    Fault(
        "tree-lengths",
        "openvino.GatherTree",
        _has_no_length,
        f"{_OPENVINO} returns whatever lies in memory for a sequence whose max_seq_len is 0 or "
        "less",
    ),
    Fault(
        "tree-types",
        "openvino.GatherTree",
        lambda checked: checked.case.data.dtype.name in ("int8", "uint8"),
        f"{_OPENVINO} does not compile GatherTree of {{dtype}}",
    ),
    Fault(
        "tree-types",
        "openvino.GatherTree",
        _is_cut_to_32_bits,
        f"{_OPENVINO} cuts {{dtype}} inputs of GatherTree to 32 bits",
    ),
    Fault(
        "tree-parents",
        "openvino.GatherTree",
        lambda checked: checked.chosen.refuses_index,
        f"{_OPENVINO} refuses such a parent too, but with INFERENCE_NUM_THREADS 1 it returns an "
        "unfinished result",
    ),
)
"""The faults that were met in runtimes, in printing order."""
