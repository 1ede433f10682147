"""The rules on the element types, ranks and sizes of the inputs."""

from __future__ import annotations

from gathercli.errors import (
    BatchDimsError,
    DtypeError,
    ElementsShapeError,
    Hint,
    IndicesDepthError,
    RankError,
    TreeShapeError,
)
from gathercli.spec.call import version_that
from gathercli.spec.dtypes import BOOL, DTYPES, PLAIN, Kind, in_words
from gathercli.spec.op import OffAxis
from gathercli.spec.shapes import high, low, meet
from gathercli.text import interval, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any

    from gathercli.spec.call import Call, Operand
    from gathercli.spec.dtypes import DType


def data_dtype(call: Call) -> None:
    """Refuse an element type of `data` that the version does not take."""
    dtype = call.data.dtype
    if dtype is None or dtype in call.op.input("data").dtypes:
        return
    types = call.op.input("data").dtypes
    missing = in_words(each for each in DTYPES if each not in types)
    if not missing:
        expected = listed(in_words(PLAIN))
    elif len(types) < len(missing):
        expected = listed(in_words(types))
    else:
        expected = f"any type but {listed(missing, 'and')}"
    raise DtypeError(
        f"is {dtype}, which {{version}} does not take",
        rule="data-dtype",
        subject="data",
        version=call.op.full_name,
        value=dtype.name,
        expected=expected,
        hint=version_that(call, lambda op: dtype in op.input("data").dtypes, f"takes {dtype}"),
    )


def indices_dtype(call: Call) -> None:
    """Refuse an element type of `indices` that the version does not take."""
    dtype = call.indices.dtype
    if dtype is None or dtype in call.op.input("indices").dtypes:
        return
    where = call.indices.decided_by
    first = f", first at `{where}`" if where not in (None, "$") and not dtype.integral else ""
    error = DtypeError(
        f"is {dtype}{first}, which {{version}} does not take",
        rule="indices-dtype",
        subject="indices",
        version=call.op.full_name,
        where=where,
        value=dtype.name,
        expected=listed(in_words(call.op.input("indices").dtypes)),
        hint=_as_integers(call.indices, dtype),
    )
    if _are_swapped(call):
        error.swapped = "DATA"
        error.hint = Hint(
            "DATA comes first, and then INDICES", python="data come first, and then indices"
        )
    raise error


def tree_dtype(call: Call) -> None:
    """Refuse inputs of GatherTree that are no numbers, or not all of one type."""
    first: tuple[str, DType] | None = None
    for each in call.op.inputs:
        operand = call.inputs[each.name]
        dtype = operand.dtype
        if dtype is None:
            continue
        if dtype not in each.dtypes:
            raise DtypeError(
                f"is {dtype}, which {{version}} does not take",
                rule="tree-dtype",
                subject=each.name,
                version=call.op.full_name,
                where=operand.decided_by,
                value=dtype.name,
                expected="numbers",
            )
        if first is not None and dtype is not first[1]:
            raise DtypeError(
                f"is {dtype}, but `{first[0]}` is {first[1]}",
                rule="tree-dtype",
                subject=each.name,
                where=operand.decided_by,
                value=dtype.name,
                expected="one type for all inputs",
                hint=_as_one_type(call, first[1]),
            )
        first = first or (each.name, dtype)


def _are_swapped(call: Call) -> bool:
    """Tell whether `data` looks like indices, and `indices` like data."""
    data, indices = call.data, call.indices
    if data.dtype is None or indices.dtype is None or indices.decided_by is not None:
        return False
    few, many = data.shape.rank or 0, indices.shape.rank or 0
    if indices.dtype.kind is not Kind.FLOAT or data.dtype not in call.op.input("indices").dtypes:
        return False
    if few != many or indices.integers is None:
        return few <= many
    return call.op.tuples and _fit_swapped(call) and not _point_inside(call)


def _fit_swapped(call: Call) -> bool:
    """Tell whether `data` would be tuples of `indices`, by their length."""
    k, n = call.data.shape[-1:], call.indices.shape.rank or 0
    return all(isinstance(size, int) and size <= n for size in k)


def _point_inside(call: Call) -> bool:
    """Tell whether `indices`, read as integers, are tuples that point into `data`."""
    n, b, k = call.data.shape.sizes, call.batch_dims or 0, call.indices.shape[-1]
    if n is None or not isinstance(k, int):
        return True
    sizes = n[b : b + k]
    return len(sizes) == k and all(
        -sizes[at % k] <= v < sizes[at % k] for at, v in enumerate(_flat(call.indices.integers))
    )


def _as_integers(indices: Operand, dtype: DType) -> Hint | None:
    """Say how indices of another type become integers, if there is a way."""
    if dtype.integral:
        hint = Hint("{indices_dtype} converts them without loss", indices_dtype="int64")
        return hint if dtype.bits < 64 else None
    if indices.integers is not None:
        what = "the positions of true are" if dtype is BOOL else "as integers they are"
        return Hint(f"{what} {{literal}}", literal=str(indices.integers))
    if dtype is BOOL:
        return Hint(
            "the positions of true are indices; numpy.flatnonzero(mask) is them in Python",
            python="the positions of true are indices: `numpy.flatnonzero(mask)`",
        )
    if dtype.kind is Kind.FLOAT and indices.decided_by is None:
        return Hint(
            "{indices_dtype} converts them if every value is whole",
            python='`numpy.asarray(indices, "int64")` converts whole values; '
            "it cuts off fractions, which are not indices",
            indices_dtype="int64",
        )
    return None


def _as_one_type(call: Call, dtype: DType) -> Hint | None:
    """Say how all inputs become one type; return None if a fraction or another type prevents it."""
    others: list[str] = []
    for each in call.op.inputs:
        operand = call.inputs[each.name]
        if operand.dtype is None:
            continue
        if operand.dtype not in each.dtypes or operand.fractional:
            return None
        if operand.dtype is not dtype:
            others.append(each.name)
    convert = "converts it" if len(others) == 1 else "convert them"
    calls = listed([f'`numpy.asarray({name}, "{dtype.name}")`' for name in others], "and")
    return Hint(
        " ".join(f"{{{name}_dtype}}" for name in others) + f" {convert} without loss or not at all",
        python=f"{calls} {convert}",
        **{f"{name}_dtype": dtype.name for name in others},
    ).joined()


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
        error.hint = Hint(
            "MAX_SEQ_LEN comes first, and then END_TOKEN",
            python="max_seq_len comes first, and then end_token",
        )
    elif name == "max_seq_len" and value is not None and isinstance(batches, int):
        numbers = _flat(value)
        numbers *= batches if len(numbers) == 1 else 1
        if len(numbers) == batches and ranks[3] == 0:
            error.hint = Hint("a length for each batch is {literal}", literal=str(numbers))
    elif name == "end_token" and value is not None and len(_flat(value)) == 1:
        error.hint = Hint("one token for all is {literal}", literal=str(_flat(value)[0]))
    elif call.inputs[name].shape.rank == 2:
        both = ranks[:2] == [2, 2]
        if value is None or both or ranks[2:] != [1, 0]:
            shape = call.inputs[name].shape
            size = f"[{shape[0]},1,{shape[1]}]"
            error.hint = Hint(f"the shape of one batch is {size}: steps, batches, beams")
        else:
            error.hint = Hint("as one batch it is {literal}", literal=str([[row] for row in value]))


def _flat(nested: Any) -> list[int]:
    """Return the integers of nested lists, such as `Operand.integers`."""
    return [n for each in nested for n in _flat(each)] if isinstance(nested, list) else [nested]
