"""Warn of likely mistakes; each warning is a function.

It returns a message about a checked call, or None. Its name is the name of the warning; its first
line says when the warning applies.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from gathercli.compute.verdicts import MOST_INT32_INDEX, fate, legal
from gathercli.ops import gather
from gathercli.spec.dtypes import BFLOAT16, STRING
from gathercli.spec.op import OffAxis, OutOfRange
from gathercli.spec.shapes import cell, coordinates
from gathercli.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.compute.verdicts import CheckedCall
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op


def warnings(checked: CheckedCall) -> Iterator[tuple[str, str]]:
    """Yield the name and message of each warning that applies."""
    for warning in WARNINGS:
        message = warning(checked)
        if message is not None:
            yield warning.__name__.replace("_", "-"), message


def minus_one(checked: CheckedCall) -> str | None:
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
    low, _ = legal(call, along) or (0, 0)
    does = fate(call, along)(-1)
    if low < 0 or does in ("counted from the end", OutOfRange.WRAP.done):
        return f"takes the last {what}"
    if does == OutOfRange.CLAMP.done:
        return f"takes the first {what}"
    return "fills with zeros" if does == OutOfRange.ZERO.done else "refuses it"


def one_index(checked: CheckedCall) -> str | None:
    """Gather with a 0-D index drops the axis; with one of shape [1] keeps it with size 1."""
    shape, call, out = checked.case.indices.shape, checked.chosen.call, checked.chosen.shape
    if call is None or out is None or not _is_gather(call) or call.batch_dims:
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


def off_axis(checked: CheckedCall) -> str | None:
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
                f"{_names(checked.accepting)} may take that, {_names(equals)} not"
            )
    return None


def indices_type(checked: CheckedCall) -> str | None:
    """Some versions of the family do not take the type of `indices`."""
    return _type_refused(checked, "indices")


def data_type(checked: CheckedCall) -> str | None:
    """Some versions of the family do not take the type of `data`."""
    return _type_refused(checked, "data")


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
    return f"{dtype} {name}: {_names(accepting)} may take them, {_names(others)} not"


def beyond_32_bits(checked: CheckedCall) -> str | None:
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


def openvino_cpu_short_lists(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin checks no bounds where short lists of integers are gathered."""
    case, call = checked.case, checked.chosen.call
    if call is None or not _is_openvino_gather(call) or not checked.chosen.filled:
        return None
    if max(case.data.shape + case.indices.shape) > 64 or call.out_of_range is not OutOfRange.SPEC:
        return None
    if len(case.data.shape) != 1 or len(case.indices.shape) != 1:
        return None
    if case.data.dtype.name not in ("int32", "uint32", "int64", "uint64", "int16", "uint16"):
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU returns whatever lies in memory, not zeros, for 1-D "
        f"{case.data.dtype} data of at most 64 elements"
    )


def openvino_cpu_empty(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin dies where the output is empty."""
    call, shape = checked.chosen.call, checked.chosen.shape
    if call is None or shape is None or not _is_openvino_gather(call) or 0 not in shape:
        return None
    return "OpenVINO 2026.4.1 on the CPU dies (SIGFPE) where static shapes make the output empty"


_INNER: Final = {"float32": 16, "int16": 2, "float16": 1}
"""The most elements after the axis that the plugin copies as a small block, by type."""


def openvino_cpu_batch_of_one(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin dies on a batch of one."""
    call, (data, dtype) = checked.chosen.call, (checked.case.data.shape, checked.case.data.dtype)
    if call is None or not _is_openvino_gather(call) or not call.batch_dims:
        return None
    a, _ = call.normalized
    if prod(data[:a]) != 1 or not 0 < prod(data[a + 1 :]) <= _INNER.get(dtype.name, 0):
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU was seen to die (SIGSEGV) on a batch of one, with static "
        "shapes and indices known at run time"
    )


def onnxruntime_strings(checked: CheckedCall) -> str | None:
    """Strings are gathered in slices of more than one; onnxruntime copies only the first."""
    call, data = checked.chosen.call, checked.case.data
    if call is None or call.op.framework != "onnx" or not _is_gather(call):
        return None
    a, _ = call.normalized
    if data.dtype is not STRING or prod(data.shape[a + 1 :]) < 2:
        return None
    return (
        "onnxruntime 1.31.1 on the CPU copies only the first string of each slice; the others "
        'come out as ""'
    )


def tuple_bounds(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin checks no bounds in GatherND."""
    if not _is_openvino_nd(checked.chosen.op) or not checked.chosen.refuses_index:
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU checks no bounds in GatherND: a negative index counts from "
        "the end, and one outside reads another row or foreign memory"
    )


def empty_tuples(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin fills the output with garbage where tuples have no numbers."""
    call, shape = checked.chosen.call, checked.chosen.shape
    if call is None or shape is None or not _is_openvino_nd(call.op) or 0 in shape:
        return None
    if checked.case.indices.shape[-1]:
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU returns whatever lies in memory where tuples have no numbers"
    )


def constant_tuples(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin dies on constant indices of GatherND that 32 bits do not hold."""
    if not _is_openvino_nd(checked.chosen.op) or not checked.case.census.wide.number:
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU dies (SIGSEGV) on indices beyond 32 bits that are a Constant "
        "of GatherND"
    )


def tuples_of_strings(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin compiles no GatherND of strings."""
    if not _is_openvino_nd(checked.chosen.op) or checked.case.data.dtype is not STRING:
        return None
    return "OpenVINO 2026.4.1 on the CPU does not compile GatherND of strings"


def tuples_of_bfloat16(checked: CheckedCall) -> str | None:
    """OpenVINO gives Python the bits of bfloat16 as float16."""
    if not _is_openvino_nd(checked.chosen.op) or checked.case.data.dtype is not BFLOAT16:
        return None
    return (
        "OpenVINO 2026.4.1 gives Python the bits of bfloat16 results as float16: 3.0 reads as 2.125"
    )


def tuple_batches(checked: CheckedCall) -> str | None:
    """Batch dimensions of GatherND differ, which some runtimes take."""
    error = checked.chosen.error
    if checked.chosen.op.name != "GatherND" or error is None or error.rule != "batch-shape":
        return None
    return (
        "where batch dimensions of GatherND differ, onnxruntime 1.31.1 repeats data if the batches "
        "of indices are a multiple of its own, and OpenVINO 2026.4.1 broadcasts 1 in ONNX models"
    )


def exported_tuples(checked: CheckedCall) -> str | None:
    """PyTorch's exporter writes int32 indices into GatherND, which ONNX does not take."""
    op, dtype = checked.chosen.op, checked.case.indices.dtype
    if (op.framework, op.name) != ("onnx", "GatherND") or dtype.name != "int32":
        return None
    return (
        "PyTorch 2.13 exports int32 indices as they are, and onnxruntime 1.31.1 does not load such "
        "a model: export with int64 indices"
    )


def tree_lengths(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin leaves garbage where a length of GatherTree is 0 or less."""
    inputs = _tree_inputs(checked)
    if inputs is None or (inputs["max_seq_len"].array > 0).all():
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU returns whatever lies in memory for a sequence whose "
        "max_seq_len is 0 or less"
    )


def tree_types(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin computes GatherTree in 32 bits, and takes no 8-bit types."""
    inputs = _tree_inputs(checked)
    if inputs is None:
        return None
    dtype = inputs["step_ids"].dtype
    if dtype.name in ("int8", "uint8"):
        return f"OpenVINO 2026.4.1 on the CPU does not compile GatherTree of {dtype}"
    if dtype.name not in ("int64", "uint64"):
        return None
    arrays = [each.array for each in inputs.values()]
    if all(((array <= MOST_INT32_INDEX) & (array >= ~MOST_INT32_INDEX)).all() for array in arrays):
        return None
    return f"OpenVINO 2026.4.1 on the CPU cuts {dtype} inputs of GatherTree to 32 bits"


def tree_parents(checked: CheckedCall) -> str | None:
    """OpenVINO's CPU plugin hides a wrong parent where it has one thread."""
    if _tree_inputs(checked) is None or not checked.chosen.refuses_index:
        return None
    return (
        "OpenVINO 2026.4.1 on the CPU refuses such a parent too, but with INFERENCE_NUM_THREADS 1 "
        "it returns an unfinished result"
    )


def _tree_inputs(checked: CheckedCall) -> dict[str, Tensor] | None:
    """Return the inputs of GatherTree by name; None for another operator."""
    op = checked.chosen.op
    return dict(checked.case.named(op)) if op.name == "GatherTree" else None


def _is_openvino_gather(call: Call) -> bool:
    return call.op.framework == "openvino" and _is_gather(call)


def _is_openvino_nd(op: Op) -> bool:
    return (op.framework, op.name) == ("openvino", "GatherND")


def _is_gather(call: Call) -> bool:
    return call.op.family == gather.COMMAND


def _names(ops: Sequence[Op]) -> str:
    return listed((op.id for op in ops), "and")


WARNINGS: Final[tuple[Callable[[CheckedCall], str | None], ...]] = (
    minus_one,
    one_index,
    off_axis,
    indices_type,
    data_type,
    beyond_32_bits,
    openvino_cpu_short_lists,
    openvino_cpu_empty,
    openvino_cpu_batch_of_one,
    onnxruntime_strings,
    tuple_bounds,
    empty_tuples,
    constant_tuples,
    tuples_of_strings,
    tuples_of_bfloat16,
    tuple_batches,
    exported_tuples,
    tree_lengths,
    tree_types,
    tree_parents,
)
"""The warnings, in printing order."""
