"""The rules on the axis and the number of batch dimensions."""

from __future__ import annotations

from gathercli.errors import AxisError, BatchDimsError, Hint
from gathercli.spec.call import version_that
from gathercli.text import as_written, interval, plain_value

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.call import Call


def axis_unsupported(call: Call) -> None:
    """Refuse an axis where the version has none."""
    value = call.raw_axis
    if value is None:
        return
    raise AxisError(
        f"is {as_written(value)}, but {{version}} has no axis",
        rule="axis-unsupported",
        subject="axis",
        version=call.op.full_name,
        value=plain_value(value),
        expected="none",
    )


def axis_required(call: Call) -> None:
    """Refuse a call without an axis where the version has no default."""
    if call.raw_axis is None:
        raise AxisError(
            "{version} requires an axis and none was given",
            rule="axis-required",
            version=call.op.full_name,
            expected=_axes(call),
            hint=Hint("add {axis}, the default of the ONNX versions", axis=0),
        )


def axis_type(call: Call) -> None:
    """Refuse an axis that is not one integer."""
    is_input, expected = call.op.axis.is_input, "one integer"
    if call.axis_number is not None or (call.axis_is_unknown and is_input and call.shapes_only):
        return
    why = as_written(call.raw_axis)
    if call.axis_is_unknown:
        expected = _axes(call) or "an integer"
        why = "unknown, but for {version} it is an attribute, known beforehand"
        if is_input:
            why = "unknown, but only a shape can be inferred without it"
    raise AxisError(
        f"is {why}",
        rule="axis-type",
        subject="axis",
        version=call.op.full_name,
        value=plain_value(call.raw_axis),
        expected=expected,
    )


def axis_range(call: Call) -> None:
    """Refuse an axis that `data` does not have."""
    axis, rank = call.axis_number, call.rank
    if axis is None or rank is None or -rank <= axis < rank:
        return
    raise AxisError(
        f"is {as_written(axis)}, but "
        f"`{'indices' if call.data.shape.rank is None else 'data'}` has rank {rank}",
        rule="axis-range",
        subject="axis",
        value=axis,
        expected=_axes(call),
        hint=Hint("the last dimension is {axis}", axis=-1),
    )


def batch_dims_unsupported(call: Call) -> None:
    """Refuse batch_dims where the version has none."""
    value = call.raw_batch_dims
    if call.op.has_batch_dims or call.batch_dims_number == 0:
        return
    raise BatchDimsError(
        f"is {as_written(value)}, but {{version}} has no batch_dims",
        rule="batch-dims-unsupported",
        subject="batch_dims",
        version=call.op.full_name,
        value=plain_value(value),
        expected="0",
        hint=version_that(call, lambda op: op.has_batch_dims, "has batch_dims"),
    )


def batch_dims_range(call: Call) -> None:
    """Refuse batch_dims beyond the rank of `indices`; of tuples below 0 or not below both ranks."""
    value, number = call.raw_batch_dims, call.batch_dims_number
    ranks = {name: call.inputs[name].shape.rank for name in ("data", "indices")}
    least = min((rank for rank in ranks.values() if rank is not None), default=None)
    rank = ranks["indices"]
    if number is None:
        why, expected = "", "one integer"
    elif call.op.tuples:
        if number >= 0 and (least is None or number < least):
            return
        name = "data" if ranks["data"] == least else "indices"
        why = f", which is not below the rank of `{name}`, {least}"
        why = ", which is negative" if number < 0 else why
        expected = "0 or more" if least is None else interval(0, least - 1)
    elif rank is None or -rank <= number <= rank:
        return
    else:
        why, expected = f", but `indices` has rank {rank}", interval(-rank, rank)
    raise BatchDimsError(
        f"is {as_written(value if number is None else number)}{why}",
        rule="batch-dims-range",
        subject="batch_dims",
        value=plain_value(value) if number is None else number,
        expected=expected,
    )


def batch_dims_axis(call: Call) -> None:
    """Refuse batch_dims beyond the axis."""
    batch_dims, rank = call.batch_dims, call.rank
    if batch_dims is None:
        return
    if call.axis is not None:
        highest, because = call.axis, f"`axis` is {call.axis_number}"
        if call.axis != call.axis_number:
            because += f", which is {call.axis}"
    elif rank is not None and call.axis_is_unknown:
        highest, because = rank - 1, f"`data` has rank {rank}, so no axis is beyond {rank - 1}"
    else:
        return
    if batch_dims > highest:
        number = call.batch_dims_number
        counted_back = f", which is {batch_dims}" if number != batch_dims else ""
        raise BatchDimsError(
            f"is {number}{counted_back}, but {because}",
            rule="batch-dims-axis",
            subject="batch_dims",
            value=number,
            expected=interval(0, highest),
            hint=Hint("{axis} gathers on the first dimension after the batch", axis=batch_dims)
            if rank is None or batch_dims < rank
            else None,
        )


def _axes(call: Call) -> str | None:
    return None if call.rank is None else interval(-call.rank, call.rank - 1)
