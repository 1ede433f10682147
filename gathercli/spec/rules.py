"""The rules of the operators on attributes, ranks and sizes, one small function each.

A rule takes a `Call` and raises if the row of its operator refuses it. A rank or an axis that is
not known yet refuses nothing. The name of the function is that of the rule, which `ops.bind` adds
to the error with the version; each family of `gathercli.ops` lists its own. Those on types are in
`type_rules`, those on the values of indices in `adjustments`.
"""

from __future__ import annotations

from gathercli.errors import (
    AxisError,
    BatchDimsError,
    ElementsShapeError,
    Hint,
    IndicesDepthError,
    RankError,
    TreeShapeError,
)
from gathercli.spec.call import Call, flattened, version_that
from gathercli.spec.op import OffAxis, Op
from gathercli.spec.shapes import high, low, meet
from gathercli.text import as_written, interval, plain_value, table_beside

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any, Final


_STATEMENTS: Final[dict[str, str]] = {}


def statements() -> dict[str, str]:
    """Return what every rule says, by its name, in the order they are checked."""
    if not _STATEMENTS:
        _STATEMENTS.update(table_beside(__name__))
    return _STATEMENTS


# The rules that read elements; those before them only read shapes, types and attributes.
VALUE_RULES: Final = ("integer-values", "index-negative", "index-range", "index-undefined")


def axis_unsupported(call: Call) -> None:
    """Refuse an axis where the version has none."""
    value = call.raw_axis
    if value is not None:
        what = f"is {as_written(value)}, but {{version}} has no axis"
        raise AxisError(what, subject="axis", value=plain_value(value), expected="none")


def axis_required(call: Call) -> None:
    """Refuse a call without an axis where the version has no default."""
    if call.raw_axis is None:
        what = "{version} requires an axis and none was given"
        hint = Hint("add {axis}, the default of the ONNX versions", axis=0)
        raise AxisError(what, expected=_axes(call), hint=hint)


def axis_type(call: Call) -> None:
    """Refuse an axis that is not one integer."""
    axis, expected = call.op.attr("axis"), "one integer"
    is_input = axis is not None and axis.is_input
    if call.axis_number is not None or (call.axis_is_unknown and is_input and call.shapes_only):
        return
    why = as_written(call.raw_axis)
    if call.axis_is_unknown:
        expected = _axes(call) or "an integer"
        why = "unknown, but for {version} it is an attribute, known beforehand"
        if is_input:
            why = "unknown, but only a shape can be inferred without it"
    what = f"is {why}"
    raise AxisError(what, subject="axis", value=plain_value(call.raw_axis), expected=expected)


def axis_range(call: Call) -> None:
    """Refuse an axis that `data` does not have."""
    axis, rank = call.axis_number, call.rank
    if axis is None or rank is None or -rank <= axis < rank:
        return
    what = (
        f"is {as_written(axis)}, but "
        f"`{'indices' if call.data.shape.rank is None else 'data'}` has rank {rank}"
    )
    hint = Hint("the last dimension is {axis}", axis=-1)
    raise AxisError(what, subject="axis", value=axis, expected=_axes(call), hint=hint)


def batch_dims_unsupported(call: Call) -> None:
    """Refuse batch_dims where the version has none."""
    value = call.raw_batch_dims
    if call.op.has_batch_dims or call.batch_dims_number == 0:
        return
    what = f"is {as_written(value)}, but {{version}} has no batch_dims"
    hint = version_that(call, lambda op: op.has_batch_dims, "has batch_dims")
    value = plain_value(value)
    raise BatchDimsError(what, subject="batch_dims", value=value, expected="0", hint=hint)


# The rules that refuse an attribute which no version of an operator has.
UNSUPPORTED: Final = {"axis": axis_unsupported, "batch_dims": batch_dims_unsupported}


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
    what = f"is {as_written(value if number is None else number)}{why}"
    shown = plain_value(value) if number is None else number
    raise BatchDimsError(what, subject="batch_dims", value=shown, expected=expected)


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
        what, expected = f"is {number}{counted_back}, but {because}", interval(0, highest)
        hint = None
        if rank is None or (batch_dims < rank and _has_batch(call, batch_dims)):
            hint = Hint("{axis} gathers on the first dimension after the batch", axis=batch_dims)
        name = "batch_dims"
        raise BatchDimsError(what, subject=name, value=number, expected=expected, hint=hint)


def _has_batch(call: Call, batch_dims: int) -> bool:
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or indices.rank is None:
        return True
    return all(meet(data[d], indices[d]) is not None for d in range(min(batch_dims, indices.rank)))


def _axes(call: Call) -> str | None:
    return None if call.rank is None else interval(-call.rank, call.rank - 1)


def call_rank(call: Call) -> None:
    """Refuse ranks, an axis, batch_dims or empty `data` that the call of a framework refuses."""
    op, data, indices = call.op, call.data.shape, call.indices.shape
    for error, subject, number, least, most in (
        (RankError, "data", data.rank, op.least_rank, op.most_rank),
        (RankError, "indices", indices.rank, op.least_index_rank, op.most_index_rank),
        (BatchDimsError, "batch_dims", call.batch_dims, 0, op.most_batch_dims),
        (AxisError, "axis", call.axis, op.only_axis, op.only_axis),
    ):
        if number is None or (least or number) <= number <= (number if most is None else most):
            continue
        expected = (
            str(most) if least == most else f"{least} or more" if least else f"{most} or less"
        )
        rank = "rank " * (error is RankError)
        what = f"{'has' if rank else 'is'} {rank}{number}, which {{version}} does not take"
        raise error(what, subject=subject, value=number, expected=f"{rank}{expected}")
    sizes, numbers = data.sizes, indices.sizes
    if not op.full or sizes is None or numbers is None or 0 in numbers[: -1 if op.tuples else None]:
        return
    b = call.batch_dims or 0
    axes = range(b, b + numbers[-1]) if op.tuples and numbers else [call.axis]
    for axis, size in enumerate(sizes):
        if not size and (op.full == "data" or axis in axes):
            what = f"has no elements on axis {axis}, where {{version}} takes no index"
            expected = f"elements on {'every' if op.full == 'data' else 'the'} axis"
            raise RankError(what, subject="data", value=str(data), expected=expected)


def data_rank(call: Call) -> None:
    """Refuse 0-D `data`, which has no axis."""
    if call.data.shape.rank == 0:
        what = "is 0-D, so it has no axis"
        hint = "a single element is 1-D when it is written as a list, such as `[3]`"
        raise RankError(what, subject="data", value=0, expected="rank 1 or more", hint=hint)


def indices_rank(call: Call) -> None:
    """Refuse `indices` of GatherElements without the rank of `data`, and 0-D tuples."""
    rank, expected = call.indices.shape.rank, call.data.shape.rank
    if rank is None or (rank > 0 and (call.op.tuples or expected in (None, rank))):
        return
    of: Any = {"subject": "indices", "version": call.op.full_name, "value": rank}
    if call.op.tuples:
        what = f"is 0-D, but {_named(call.op)} takes tuples"
        hint = "one tuple is 1-D, such as `[2]` or `[0,1]`"
        raise RankError(what, expected="rank 1 or more", hint=hint, **of)
    what = f"has rank {rank}, but {_named(call.op)} takes one index per element"
    wanted = f"rank {'1 or more' if expected is None else expected}"
    hint = Hint("{command} takes indices of any rank", command="gather")
    raise RankError(what, expected=wanted, remark=", the rank of `data`", hint=hint, **of)


def _named(op: Op) -> str:
    """Return the name of an operator, which another framework's call has with its module."""
    return "{version}" if op.text else op.name


def indices_depth(call: Call) -> None:
    """Refuse tuples that are too short, or longer than `data` has dimensions."""
    n, indices, b = call.data.shape.rank, call.indices.shape, call.batch_dims or 0
    k = indices[-1] if indices.rank else None
    if n is None or not isinstance(k, int):
        return
    least, most = call.op.shortest_tuple, n - b
    if least <= k <= most:
        return
    if k < least:
        why = f"{call.op} takes no empty ones"
        hint = version_that(call, lambda op: op.shortest_tuple <= k, "takes empty tuples")
    else:
        why = f"`data` has rank {n}" + (f" and batch_dims is {b}" if b else "")
        hint = _as_tuples(call)
    what = f"the last dimension of `indices`, the length of its tuples, is {k}, but {why}"
    raise IndicesDepthError(what, value=k, expected=interval(least, most), hint=hint)


def _as_tuples(call: Call) -> Hint | None:
    """Suggest tuples of one number in place of a list of numbers."""
    indices, axis = call.indices, call.data.shape[:1].sizes
    if indices.shape.rank != 1 or call.batch_dims or not axis:
        return None
    values = indices.integers
    if values is None:
        return Hint("{command} takes numbers along an axis", command="gather")
    bottom, top = call.legal(axis[0]) or (0, -1)
    if not all(bottom <= v <= top for v in values):
        return None
    hint = "tuples of one number are {literal}; {command} takes numbers along an axis"
    return Hint(hint, literal=str([[v] for v in values]), command="gather")


def batch_shape(call: Call) -> None:
    """Refuse batch dimensions that differ."""
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or indices.rank is None or call.batch_dims is None:
        return
    for d in range(call.batch_dims):
        if meet(data[d], indices[d]) is None:
            own, other = str(data[d]), str(indices[d])
            what = f"batch dimension {d} is {own} in `data` and {other} in `indices`"
            place, remark = f"dimension {d}", " in both; batch dimensions do not broadcast"
            raise BatchDimsError(what, where=place, value=other, expected=own, remark=remark)


def elements_shape(call: Call) -> None:
    """Refuse `indices` of GatherElements that do not fit `data` beside the axis."""
    data, indices, off_axis = call.data.shape, call.indices.shape, call.op.off_axis
    if off_axis is None or data.rank is None or indices.rank is None:
        return
    for d in range(data.rank):
        top = high(data[d])
        if off_axis is OffAxis.EQUAL:
            fits, expected = meet(data[d], indices[d]) is not None, f"{data[d]}"
            rule = f"only axis {call.axis_number} may differ"
        else:
            fits, expected = top is None or low(indices[d]) <= top, f"0 to {top}"
            rule = f"only on axis {call.axis_number} may `indices` be larger"
        if d == call.axis or fits:
            continue
        hint, value = None, str(indices[d])
        if top is not None and low(indices[d]) <= top and off_axis is OffAxis.EQUAL:
            hint = version_that(
                call, lambda op: op.off_axis is OffAxis.AT_MOST, "takes smaller ones"
            )
        what = f"dimension {d} of `indices` is {value}, but that of `data` is {data[d]}"
        place, remark = f"dimension {d}", f", as {rule}, and 1 does not broadcast"
        raise ElementsShapeError(
            what, where=place, value=value, expected=expected, remark=remark, hint=hint
        )


def tree_shape(call: Call) -> None:
    """Refuse inputs of GatherTree whose shapes are not [T,B,W], [T,B,W], [B] and []."""
    (first, steps), *others = ((name, each.shape) for name, each in call.inputs.items())
    for (name, shape), rank in zip([(first, steps), *others], (3, 3, 1, 0), strict=True):
        if shape.rank not in (None, rank):
            what, place, expected = f"has rank {shape.rank}", f"`{name}`", f"rank {rank}"
            value = shape.rank
            error = TreeShapeError(what, subject=name, where=place, value=value, expected=expected)
            _advise(call, error, name)
            raise error
    (second, parents), (third, lengths), _ = others
    pairs = [(first, steps, d, second, parents, d) for d in range(3)]
    pairs += [
        (name, shape, 1, third, lengths, 0) for name, shape in ((first, steps), (second, parents))
    ]
    for name, shape, d, other, its, e in pairs:
        if shape.rank is None or its.rank is None or meet(shape[d], its[e]) is not None:
            continue
        its_size, size, place = str(its[e]), str(shape[d]), f"dimension {e}"
        what = f"{place} of `{other}` is {its_size}, but dimension {d} of `{name}` is {size}"
        raise TreeShapeError(what, where=place, value=its_size, expected=size)


def _advise(call: Call, error: TreeShapeError, name: str) -> None:
    """Add a hint to the error on the rank of an input of GatherTree."""
    steps, parents, lengths, end = call.inputs.values()
    ranks = [each.shape.rank for each in (steps, parents, lengths, end)]
    batches = steps.shape[1] if ranks[0] == 3 else None
    value = call.inputs[name].integers
    if ranks == [3, 3, 0, 1] and meet(end.shape[0], steps.shape[1]) is not None:
        error.swapped = "MAX_SEQ_LEN"
        python = "max_seq_len comes first, and then end_token"
        error.hint = Hint("MAX_SEQ_LEN comes first, and then END_TOKEN", python=python)
    elif name == "max_seq_len" and value is not None and isinstance(batches, int):
        numbers = flattened(value)
        numbers *= batches if len(numbers) == 1 else 1
        if len(numbers) == batches and ranks[3] == 0:
            error.hint = Hint("a length for each batch is {literal}", literal=str(numbers))
    elif name == "end_token" and value is not None and len(flattened(value)) == 1:
        error.hint = Hint("one token for all is {literal}", literal=str(flattened(value)[0]))
    elif call.inputs[name].shape.rank == 2:
        both = ranks[:2] == [2, 2]
        if value is None or both or ranks[2:] != [1, 0]:
            shape = call.inputs[name].shape
            size = f"[{shape[0]},1,{shape[1]}]"
            error.hint = Hint(f"the shape of one batch is {size}: steps, batches, beams")
        else:
            error.hint = Hint("as one batch it is {literal}", literal=str([[row] for row in value]))
