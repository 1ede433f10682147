"""The rules on ranks and sizes."""

from __future__ import annotations

from gathercli.errors import (
    BatchDimsError,
    ElementsShapeError,
    Hint,
    IndicesDepthError,
    RankError,
    TreeShapeError,
)
from gathercli.spec.op import OffAxis
from gathercli.spec.rules.wording import flat, interval, version_that
from gathercli.spec.shapes import high, low, meet

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.spec.call import Call


def data_rank(call: Call) -> None:
    """Refuse 0-D `data`, which has no axis."""
    if call.data.shape.rank == 0:
        raise RankError(
            "is 0-D, so it has no axis",
            rule="data-rank",
            subject="data",
            value=0,
            expected="rank 1 or more",
            hint="a single element is 1-D when it is written as a list, such as `[3]`",
        )


def indices_rank(call: Call) -> None:
    """Refuse `indices` of GatherElements without the rank of `data`, and 0-D tuples."""
    rank, expected = call.indices.shape.rank, call.data.shape.rank
    if rank is None:
        return
    if call.op.tuples:
        if rank == 0:
            raise RankError(
                f"is 0-D, but {call.op.name} takes tuples",
                rule="indices-rank",
                subject="indices",
                value=0,
                expected="rank 1 or more",
                hint="one tuple is 1-D, such as `[2]` or `[0,1]`",
            )
        return
    if rank == 0 or (expected is not None and rank != expected):
        wanted = "1 or more" if expected is None else str(expected)
        raise RankError(
            f"has rank {rank}, but {call.op.name} takes one index per element",
            rule="indices-rank",
            subject="indices",
            value=rank,
            expected=f"rank {wanted}",
            remark=", the rank of `data`",
            hint=Hint("{command} takes indices of any rank", command="gather"),
        )


def indices_depth(call: Call) -> None:
    """Refuse tuples that are too short, or longer than `data` has dimensions."""
    n, indices, b = call.data.shape.rank, call.indices.shape, call.batch_dims or 0
    k = indices[-1] if indices.rank else None
    if n is None or not isinstance(k, int):
        return
    least, most = call.op.shortest_tuple, n - b
    if least <= k <= most:
        return
    expected = interval(least, most)
    why = f"`data` has rank {n}" + (f" and batch_dims is {b}" if b else "")
    if k < least:
        why = f"{call.op} takes no empty ones"
    raise IndicesDepthError(
        f"the last dimension of `indices`, the length of its tuples, is {k}, but {why}",
        rule="indices-depth",
        value=k,
        expected=expected,
        hint=version_that(call, lambda op: op.shortest_tuple <= k, "takes empty tuples")
        if k < least
        else _as_tuples(call),
    )


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
    return Hint(
        "tuples of one number are {literal}; {command} takes numbers along an axis",
        literal=str([[v] for v in values]),
        command="gather",
    )


def batch_shape(call: Call) -> None:
    """Refuse batch dimensions that differ."""
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or indices.rank is None or call.batch_dims is None:
        return
    for d in range(call.batch_dims):
        if meet(data[d], indices[d]) is None:
            raise BatchDimsError(
                f"batch dimension {d} is {data[d]} in `data` and {indices[d]} in `indices`",
                rule="batch-shape",
                where=f"dimension {d}",
                value=str(indices[d]),
                expected=str(data[d]),
                remark=" in both; batch dimensions do not broadcast",
            )


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
        smaller = top is not None and low(indices[d]) <= top
        raise ElementsShapeError(
            f"dimension {d} of `indices` is {indices[d]}, but that of `data` is {data[d]}",
            rule="elements-shape",
            where=f"dimension {d}",
            value=str(indices[d]),
            expected=expected,
            remark=f", as {rule}, and 1 does not broadcast",
            hint=version_that(call, lambda op: op.off_axis is OffAxis.AT_MOST, "takes smaller ones")
            if smaller and off_axis is OffAxis.EQUAL
            else None,
        )


def tree_shape(call: Call) -> None:
    """Refuse inputs of GatherTree whose shapes are not [T,B,W], [T,B,W], [B] and []."""
    (first, steps), *others = ((name, each.shape) for name, each in call.inputs.items())
    for (name, shape), rank in zip([(first, steps), *others], (3, 3, 1, 0), strict=True):
        if shape.rank not in (None, rank):
            error = TreeShapeError(
                f"has rank {shape.rank}",
                rule="tree-shape",
                subject=name,
                where=f"`{name}`",
                value=shape.rank,
                expected=f"rank {rank}",
            )
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
        raise TreeShapeError(
            f"dimension {e} of `{other}` is {its[e]}, but dimension {d} of `{name}` is {shape[d]}",
            rule="tree-shape",
            where=f"dimension {e}",
            value=str(its[e]),
            expected=str(shape[d]),
        )


def _advise(call: Call, error: TreeShapeError, name: str) -> None:
    """Add a hint to the error on the rank of an input of GatherTree."""
    steps, parents, lengths, end = call.inputs.values()
    ranks = [each.shape.rank for each in (steps, parents, lengths, end)]
    batches = steps.shape[1] if ranks[0] == 3 else None
    value = call.inputs[name].integers
    if ranks == [3, 3, 0, 1] and meet(end.shape[0], steps.shape[1]) is not None:
        error.swapped = "MAX_SEQ_LEN"
        hint = Hint("MAX_SEQ_LEN comes first, and then END_TOKEN")
        hint.python = "max_seq_len comes first, and then end_token"
        error.hint = hint
    elif name == "max_seq_len" and value is not None and isinstance(batches, int):
        numbers = flat(value)
        numbers *= batches if len(numbers) == 1 else 1
        if len(numbers) == batches and ranks[3] == 0:
            error.hint = Hint("a length for each batch is {literal}", literal=str(numbers))
    elif name == "end_token" and value is not None and len(flat(value)) == 1:
        error.hint = Hint("one token for all is {literal}", literal=str(flat(value)[0]))
    elif call.inputs[name].shape.rank == 2:
        both = ranks[:2] == [2, 2]
        if value is None or both or ranks[2:] != [1, 0]:
            shape = call.inputs[name].shape
            size = f"[{shape[0]},1,{shape[1]}]"
            error.hint = Hint(f"the shape of one batch is {size}: steps, batches, beams")
        else:
            error.hint = Hint("as one batch it is {literal}", literal=str([[row] for row in value]))
