"""Warn of likely mistakes, and of what runtimes get wrong, in a checked call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Final

from gathercli.compute.verdicts import MOST_INT32_INDEX, CheckedCall, fate
from gathercli.ops import gather
from gathercli.spec.call import Call
from gathercli.spec.dtypes import BFLOAT16, STRING
from gathercli.spec.op import FROM_THE_END, OffAxis, Op, OutOfRange
from gathercli.spec.shapes import cell, coordinates
from gathercli.text import counted, listed, table_beside


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
    for fault in table_beside(__name__)["fault"]:
        applies = f"{op.framework}.{op.name}" in fault["operators"]
        if applies and CONDITIONS[fault["when"]](checked):
            yield fault["name"], fault["message"].format(dtype=dtype)


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
        OutOfRange.UNDEFINED.done: "promises nothing for it",
        **{each.done: f"fills with {each.filling}" for each in OutOfRange if each.fills},
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
            others = [v.op for v in checked.family if v.call is None]
            equals = [op for op in others if op.off_axis is OffAxis.EQUAL]
            return (
                f"dimension {d} of `indices` is {m}, smaller than {n} in `data`: only "
                f"{_ids(checked.accepting)} may take that, {_ids(equals)} not"
            )
    return None


def _type_refused(checked: CheckedCall, name: str) -> str | None:
    """List the versions that accept and refuse the type of an input; None if all agree."""
    calls = {each.op: each.call for each in checked.family}
    ops = [*calls]
    tensor = checked.case.named(ops[0]).get(name)
    if tensor is None:
        return None
    dtype = tensor.dtype
    accepting = [op for op in ops if calls[op] is not None or dtype in op.input(name).dtypes]
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


def _fills_a_short_list(checked: CheckedCall) -> bool:
    case, call = checked.case, checked.chosen.call
    return (
        call is not None
        and call.out_of_range is OutOfRange.SPEC
        and checked.chosen.filled > 0
        and len(case.data.shape) == len(case.indices.shape) == 1
        and max(case.data.shape + case.indices.shape) <= 64
        and case.data.dtype.name in ("int32", "uint32", "int64", "uint64", "int16", "uint16")
    )


# The most elements after the axis that OpenVINO copies as a small block, by type.
_INNER: Final = {"float32": 16, "int16": 2, "float16": 1}


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


def _has_no_length(checked: CheckedCall) -> bool:
    lengths = checked.case.named(checked.chosen.op)["max_seq_len"].array
    return not (lengths > 0).all()


def _is_cut_to_32_bits(checked: CheckedCall) -> bool:
    inputs = [each.array for each in checked.case.tensors]
    return checked.case.data.dtype.name in ("int64", "uint64") and not all(
        ((array <= MOST_INT32_INDEX) & (array >= ~MOST_INT32_INDEX)).all() for array in inputs
    )


# The conditions of the faults in the table, by their names there.
CONDITIONS: Final[dict[str, Callable[[CheckedCall], bool]]] = {
    "a short list is filled": _fills_a_short_list,
    "the output is empty": lambda checked: 0 in (checked.chosen.shape or ()),
    "there is one batch": _has_one_batch,
    "slices have several strings": _has_slices_of_strings,
    "an index is refused": lambda checked: checked.chosen.refuses_index,
    "tuples are empty": _has_empty_tuples,
    "an index needs 64 bits": lambda checked: checked.case.census.wide.number > 0,
    "data are strings": lambda checked: checked.case.data.dtype is STRING,
    "data are bfloat16": lambda checked: checked.case.data.dtype is BFLOAT16,
    "batches differ": lambda checked: getattr(checked.chosen.error, "rule", "") == "batch-shape",
    "indices are int32": lambda checked: checked.case.indices.dtype.name == "int32",
    "a length is not positive": _has_no_length,
    "data have 8 bits": lambda checked: checked.case.data.dtype.name in ("int8", "uint8"),
    "an element needs 64 bits": _is_cut_to_32_bits,
}
