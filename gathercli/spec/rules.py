"""The rules of the operators, one small function each, in the order they are tried.

A rule looks at a `Call`, reads fields of its row and raises when the row refuses; a fact that is
not known yet (a rank, an axis) refuses nothing. The function's name is the rule's name; `SAID`
says the rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.errors import (
    AxisError,
    BatchDimsError,
    DtypeError,
    ElementsShapeError,
    Hint,
    IndicesDepthError,
    OutOfRangeError,
    RankError,
    TreeShapeError,
)
from gathercli.spec.dtypes import BOOL, DTYPES, PLAIN, Kind, in_words
from gathercli.spec.op import IndexRange, Negative, OffAxis, OutOfRange
from gathercli.spec.shapes import high, low, meet
from gathercli.text import as_written, counted, grouped, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.call import Call, Operand
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import IndexedAxis, Op


def data_dtype(call: Call) -> None:
    """Refuse an element type of `data` that the version does not take."""
    found = call.data.dtype
    if found is None or found in call.op.input("data").dtypes:
        return
    missing = in_words(d for d in DTYPES if d not in call.op.input("data").dtypes)
    expected = f"any type but {listed(missing, 'and')}" if missing else _types(PLAIN)
    raise DtypeError(
        f"`data` is {found}, which {call.op} does not take: expected {expected}",
        rule="data-dtype",
        value=found.name,
        expected=_types(call.op.input("data").dtypes),
        hint=_version_that(call, lambda op: found in op.input("data").dtypes, f"takes {found}"),
    )


def indices_dtype(call: Call) -> None:
    """Refuse an element type of `indices` that the version does not take."""
    found = call.indices.dtype
    if found is None or found in call.op.input("indices").dtypes:
        return
    where = call.indices.decided
    first = f", first at `{where}`" if where not in (None, "$") and not found.integral else ""
    error = DtypeError(
        f"`indices` is {found}{first}, which {call.op} does not take: "
        f"expected {_types(call.op.input('indices').dtypes)}",
        rule="indices-dtype",
        where=where,
        value=found.name,
        expected=_types(call.op.input("indices").dtypes),
        hint=_as_integers(call.indices, found),
    )
    if _are_swapped(call):
        error.swapped, error.hint = True, Hint("DATA comes first, and then INDICES")
        error.hint.python = "data come first, and then indices"
    raise error


def _are_swapped(call: Call) -> bool:
    """Tell whether `data` looks like indices, and `indices` like data."""
    data, indices = call.data, call.indices
    if data.dtype is None or indices.dtype is None or indices.decided is not None:
        return False
    few, many = data.shape.rank or 0, indices.shape.rank or 0
    likely = few < many or (few == many and indices.integers is None)
    return (
        likely
        and indices.dtype.kind is Kind.FLOAT
        and data.dtype in call.op.input("indices").dtypes
    )


def _as_integers(indices: Operand, found: DType) -> Hint | None:
    """Say how indices of another type become integers, if there is a way."""
    if found.integral:
        narrow = found.bits < 64
        said = "{indices_dtype} converts them without loss"
        return Hint(said, indices_dtype="int64") if narrow else None
    if indices.integers is not None:
        what = "the positions of true are" if found is BOOL else "as integers they are"
        return Hint(f"{what} {{literal}}", literal=str(indices.integers))
    if found is BOOL:
        hint = Hint("the positions of true are indices; numpy.flatnonzero(mask) is them in Python")
        hint.python = "the positions of true are indices: `numpy.flatnonzero(mask)`"
        return hint
    if found.kind is Kind.FLOAT and indices.decided is None:
        hint = Hint("{indices_dtype} converts them if every value is whole", indices_dtype="int64")
        hint.python = (
            '`numpy.asarray(indices, "int64")` converts whole values; '
            "it cuts off fractions, which are no indices"
        )
        return hint
    return None


def data_rank(call: Call) -> None:
    """Refuse 0-D `data`, which has no axis."""
    if call.data.shape.rank == 0:
        raise RankError(
            "`data` is 0-D, so it has no axis: expected rank 1 or more",
            rule="data-rank",
            value=0,
            expected="rank 1 or more",
            hint="a single element is 1-D when it is written as a list, such as `[3]`",
        )


def indices_rank(call: Call) -> None:
    """Refuse `indices` of GatherElements without the rank of `data`, and 0-D tuples."""
    found, expected = call.indices.shape.rank, call.data.shape.rank
    if found is None:
        return
    if call.op.tuples:
        if found == 0:
            raise RankError(
                f"`indices` is 0-D, but {call.op.name} takes tuples: expected rank 1 or more",
                rule="indices-rank",
                value=0,
                expected="rank 1 or more",
                hint="one tuple is 1-D, such as `[2]` or `[0,1]`",
            )
        return
    if found == 0 or (expected is not None and found != expected):
        wanted = "1 or more" if expected is None else str(expected)
        raise RankError(
            f"`indices` has rank {found}, but {call.op.name} takes one index an element: "
            f"expected rank {wanted}, the rank of `data`",
            rule="indices-rank",
            value=found,
            expected=f"rank {wanted}",
            hint=Hint("{command} takes indices of any rank", command="gather"),
        )


def axis_unsupported(call: Call) -> None:
    """Refuse an axis where the version has none."""
    given = call.axis_given
    if given is None:
        return
    raise AxisError(
        f"`axis` is {as_written(given)}, but {call.op} has no axis: expected none",
        rule="axis-unsupported",
        value=_plain(given),
        expected="none",
    )


def axis_required(call: Call) -> None:
    """Refuse a call without an axis where the version has no default."""
    if call.axis_given is None:
        raise AxisError(
            f"{call.op} requires an axis and none was given{_expected_axes(call)}",
            rule="axis-required",
            expected=_axes(call),
            hint=Hint("add {axis}, the default of the ONNX versions", axis=0),
        )


def axis_type(call: Call) -> None:
    """Refuse an axis that is not one integer."""
    given = call.axis_given
    if call.axis_is_unknown:
        if call.op.axis.is_input and call.shapes_only:
            return
        why = (
            "only a shape can be inferred without it"
            if call.op.axis.is_input
            else f"for {call.op} it is an attribute, known beforehand"
        )
        raise AxisError(
            f"`axis` is unknown, but {why}{_expected_axes(call) or ': expected an integer'}",
            rule="axis-type",
            value=given,
            expected="an integer",
        )
    if call.axis_number is None:
        raise AxisError(
            f"`axis` is {as_written(given)}: expected one integer",
            rule="axis-type",
            value=_plain(given),
            expected="one integer",
        )


def axis_range(call: Call) -> None:
    """Refuse an axis that `data` does not have."""
    axis, rank = call.axis_number, call.rank
    if axis is None or rank is None or -rank <= axis < rank:
        return
    raise AxisError(
        f"`axis` is {as_written(axis)}, but "
        f"`{'indices' if call.data.shape.rank is None else 'data'}` has rank {rank}"
        f"{_expected_axes(call)}",
        rule="axis-range",
        value=axis,
        expected=_axes(call),
        hint=Hint("the last dimension is {axis}", axis=-1),
    )


def batch_dims_unsupported(call: Call) -> None:
    """Refuse batch_dims where the version has none."""
    given = call.batch_dims_given
    if call.op.has_batch_dims or call.batch_dims_number == 0:
        return
    raise BatchDimsError(
        f"`batch_dims` is {as_written(given)}, but {call.op} has no batch_dims: expected 0",
        rule="batch-dims-unsupported",
        value=_plain(given),
        expected="0",
        hint=_version_that(call, lambda op: op.has_batch_dims, "has batch_dims"),
    )


def batch_dims_range(call: Call) -> None:
    """Refuse batch_dims beyond the rank of `indices`."""
    number, rank = call.batch_dims_number, call.indices.shape.rank
    if number is None:
        raise BatchDimsError(
            f"`batch_dims` is {as_written(call.batch_dims_given)}: expected one integer",
            rule="batch-dims-range",
            value=_plain(call.batch_dims_given),
            expected="one integer",
        )
    if call.op.tuples:
        _check_batch_of_tuples(call, number)
    elif rank is not None and not -rank <= number <= rank:
        raise BatchDimsError(
            f"`batch_dims` is {as_written(number)}, but `indices` has rank {rank}: "
            f"expected {_interval(-rank, rank)}",
            rule="batch-dims-range",
            value=number,
            expected=_interval(-rank, rank),
        )


def _check_batch_of_tuples(call: Call, number: int) -> None:
    """Refuse batch_dims below 0, or which leave `data` or the tuples no dimension."""
    ranks = {"data": call.data.shape.rank, "indices": call.indices.shape.rank}
    name, least = min(
        ((name, rank) for name, rank in ranks.items() if rank is not None),
        key=lambda each: each[1],
        default=("", None),
    )
    if number >= 0 and (least is None or number < least):
        return
    expected = "0 or more" if least is None else _interval(0, least - 1)
    why = "negative" if number < 0 else f"not below the rank of `{name}`, {least}"
    raise BatchDimsError(
        f"`batch_dims` is {as_written(number)}, which is {why}: expected {expected}",
        rule="batch-dims-range",
        value=number,
        expected=expected,
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
    expected = _interval(least, most)
    why = f"`data` has rank {n}" + (f" and batch_dims is {b}" if b else "")
    if k < least:
        why = f"{call.op} takes no empty ones"
    raise IndicesDepthError(
        f"the last dimension of `indices`, the length of its tuples, is {k}, but {why}: "
        f"expected {expected}",
        rule="indices-depth",
        value=k,
        expected=expected,
        hint=_version_that(call, lambda op: op.shortest_tuple <= k, "takes empty tuples")
        if k < least
        else None,
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
            f"`batch_dims` is {number}{counted_back}, but {because}: "
            f"expected {_interval(0, highest)}",
            rule="batch-dims-axis",
            value=number,
            expected=_interval(0, highest),
            hint=Hint("{axis} gathers on the first dimension after the batch", axis=batch_dims)
            if rank is None or batch_dims < rank
            else None,
        )


def batch_shape(call: Call) -> None:
    """Refuse batch dimensions that differ."""
    data, indices = call.data.shape, call.indices.shape
    if data.rank is None or indices.rank is None or call.batch_dims is None:
        return
    for d in range(call.batch_dims):
        if meet(data[d], indices[d]) is None:
            raise BatchDimsError(
                f"batch dimension {d} is {data[d]} in `data` and {indices[d]} in `indices`: "
                f"expected {data[d]} in both; batch dimensions do not broadcast",
                rule="batch-shape",
                where=f"dimension {d}",
                value=str(indices[d]),
                expected=str(data[d]),
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
            f"dimension {d} of `indices` is {indices[d]}, but that of `data` is {data[d]}: "
            f"expected {expected}, as {rule}, and 1 does not broadcast",
            rule="elements-shape",
            where=f"dimension {d}",
            value=str(indices[d]),
            expected=expected,
            hint=_version_that(
                call, lambda op: op.off_axis is OffAxis.AT_MOST, "takes smaller ones"
            )
            if smaller and off_axis is OffAxis.EQUAL
            else None,
        )


def tree_dtype(call: Call) -> None:
    """Refuse inputs of GatherTree that are no numbers, or not all of one type."""
    first: tuple[str, DType] | None = None
    for each in call.op.inputs:
        operand = call.inputs[each.name]
        found = operand.dtype
        if found is None:
            continue
        if found not in each.dtypes:
            raise DtypeError(
                f"`{each.name}` is {found}, which {call.op} does not take: expected numbers",
                rule="tree-dtype",
                where=operand.decided,
                value=found.name,
                expected=_types(each.dtypes),
            )
        if first is not None and found is not first[1]:
            raise DtypeError(
                f"`{each.name}` is {found}, but `{first[0]}` is {first[1]}: "
                "expected one type for all inputs",
                rule="tree-dtype",
                where=operand.decided,
                value=found.name,
                expected=first[1].name,
                hint=_as_type(each.name, first[1]),
            )
        first = first or (each.name, found)


def _as_type(name: str, dtype: DType) -> Hint:
    """Return a hint that an input can be converted."""
    hint = Hint(
        f"{{{name}_dtype}} converts it without loss or not at all", **{f"{name}_dtype": dtype.name}
    )
    hint.python = f'`numpy.asarray({name}, "{dtype.name}")` converts it'
    return hint


def tree_shape(call: Call) -> None:
    """Refuse inputs of GatherTree whose shapes are not [T,B,W], [T,B,W], [B] and []."""
    (first, steps), *others = ((name, each.shape) for name, each in call.inputs.items())
    for (name, shape), rank in zip([(first, steps), *others], (3, 3, 1, 0), strict=True):
        if shape.rank not in (None, rank):
            raise TreeShapeError(
                f"`{name}` has rank {shape.rank}: expected rank {rank}",
                rule="tree-shape",
                where=f"`{name}`",
                value=shape.rank,
                expected=f"rank {rank}",
            )
    (second, parents), (third, lengths), _ = others
    pairs = [(first, steps, d, second, parents, d) for d in range(3)]
    pairs += [
        (name, shape, 1, third, lengths, 0) for name, shape in ((first, steps), (second, parents))
    ]
    for name, shape, d, other, its, e in pairs:
        if shape.rank is None or its.rank is None or meet(shape[d], its[e]) is not None:
            continue
        raise TreeShapeError(
            f"dimension {e} of `{other}` is {its[e]}, but dimension {d} of `{name}` is {shape[d]}: "
            f"expected {shape[d]}",
            rule="tree-shape",
            where=f"dimension {e}",
            value=str(its[e]),
            expected=str(shape[d]),
        )


RULES: tuple[Callable[[Call], None], ...] = (
    data_dtype,
    indices_dtype,
    tree_dtype,
    data_rank,
    indices_rank,
    axis_unsupported,
    axis_required,
    axis_type,
    axis_range,
    batch_dims_unsupported,
    batch_dims_range,
    batch_dims_axis,
    indices_depth,
    batch_shape,
    elements_shape,
    tree_shape,
)
"""The rules that shapes and types decide, in the order they are checked."""


def integer_values(name: str, value: object, where: str) -> OutOfRangeError:
    """Make the refusal of a value of GatherTree that is no integer."""
    return OutOfRangeError(
        f"`{name}` is {value} at `{where}`, which is no integer: expected whole numbers",
        rule="integer-values",
        where=where,
        value=str(value),
        expected="whole numbers",
    )


def index_negative(  # noqa: PLR0917  (the words of the message)
    call: Call, along: IndexedAxis, value: int, where: str, count: int, total: int
) -> OutOfRangeError:
    """Make the refusal of a negative index."""
    legal = _legal(call.legal(along.size))
    return OutOfRangeError(
        f"index {value}{_of(along)} at `{where}` is negative, and `negative` is `error`: "
        f"expected {legal} ({_share(count, total)})",
        rule="index-negative",
        where=where,
        value=value,
        expected=legal,
        count=count,
    )


def index_range(  # noqa: PLR0917  (the words of the message)
    call: Call, along: IndexedAxis, value: int, where: str, count: int, total: int
) -> OutOfRangeError:
    """Make the refusal of an index outside the axis."""
    size = along.size
    legal = _legal(call.legal(size))
    hint: Hint | None = None
    fills = _version_that(
        call,
        lambda op: op.out_of_range is OutOfRange.ZERO,
        "fills such slices with zeros",
        out_of_range="zero",
    )
    if not size and call.out_of_range in (OutOfRange.CLAMP, OutOfRange.WRAP):
        hint = Hint(
            "an empty axis has nothing to clamp or wrap to; {out_of_range} fills",
            out_of_range="zero",
        )
    elif not size and call.out_of_range is OutOfRange.SPEC:
        hint = fills or Hint(
            "on an empty axis only {out_of_range} gives an answer", out_of_range="zero"
        )
    elif -size <= value < 0 and not call.wraps_negative and call.negative is Negative.SPEC:
        hint = _version_that(
            call,
            lambda op: op.index_range is IndexRange.SIGNED,
            "counts negative indices from the end",
        ) or Hint("{negative} counts negative indices from the end", negative="wrap")
    elif call.out_of_range is OutOfRange.SPEC:
        hint = fills or Hint(
            "{out_of_range} fills such cells with zeros, `clamp` and `wrap` move them",
            out_of_range="zero",
        )
    return OutOfRangeError(
        f"index {value}{_of(along)} at `{where}` is outside axis {along.axis} of "
        f"`{call.op.inputs[0].name}`, whose size is {size}: "
        f"expected {legal} ({_share(count, total)})",
        rule="index-range",
        where=where,
        value=value,
        expected=legal,
        count=count,
        hint=hint,
    )


SAID: Final = {
    "data-dtype": "`data` has an element type of the version's list.",
    "indices-dtype": "`indices` has an integer type of the version's list.",
    "tree-dtype": "All inputs of GatherTree are numbers of one type.",
    "data-rank": "`data` has rank 1 or more.",
    "indices-rank": "`indices` of GatherElements have the rank of `data`; Gather's have any rank, "
    "GatherND's 1 or more.",
    "axis-unsupported": "No axis is given to a version that has none.",
    "axis-required": "An axis is given where the version has no default.",
    "axis-type": "The axis is one integer.",
    "axis-range": "The axis is between -r and r-1, for `data` of rank r.",
    "batch-dims-unsupported": "batch_dims is given to a version that has it.",
    "batch-dims-range": "batch_dims is between -M and M, for `indices` of rank M; of GatherND "
    "it is 0 or more, and less than both ranks.",
    "batch-dims-axis": "batch_dims is not beyond the axis, both counted from the front.",
    "indices-depth": "The last dimension of GatherND's `indices` is at most the number of "
    "dimensions of `data` behind the batch; for ONNX it is 1 or more.",
    "batch-shape": "The first batch_dims dimensions of `data` and `indices` are equal.",
    "elements-shape": "Beside the axis, the dimensions of GatherElements' `indices` fit those of "
    "`data`.",
    "tree-shape": "The inputs of GatherTree have the shapes [T,B,W], [T,B,W], [B] and [].",
    "integer-values": "The inputs of GatherTree hold whole numbers.",
    "index-negative": "No index is negative, where `--negative error` asks for that.",
    "index-range": "Every index lies on the axis, where the version or `--out-of-range` does not "
    "replace it.",
    "limit": "What is held, and a result, stays below `--max-bytes`, the rank below 65.",
}
"""What every rule says, by its name, in the order they are checked.

No docstrings, which ``-OO`` strips.
"""


def _of(along: IndexedAxis) -> str:
    return "" if along.input == "indices" else f" of `{along.input}`"


def _legal(ends: tuple[int, int] | None) -> str:
    return _interval(*ends) if ends else "no index at all, as the axis is empty"


def _share(count: int, total: int) -> str:
    return f"{grouped(count)} of {counted(total, 'index', 'indices')}"


def _interval(bottom: int, top: int) -> str:
    return f"{bottom} to {top}" if bottom < top else str(bottom)


def _axes(call: Call) -> str | None:
    return None if call.rank is None else _interval(-call.rank, call.rank - 1)


def _expected_axes(call: Call) -> str:
    axes = _axes(call)
    return "" if axes is None else f": expected {axes}"


def _types(types: tuple[DType, ...]) -> str:
    return listed(in_words(types))


def _plain(given: object) -> object:
    """Return what was given for JSON: numbers and text as they are."""
    small = type(given) is int and given.bit_length() <= 256
    return given if small or isinstance(given, str) else as_written(given)


def _version_that(call: Call, does: Callable[[Op], bool], what: str, **instead: str) -> Hint | None:
    """Name a version of the family that would accept, of the same framework if there is one.

    Parameters
    ----------
    instead
        A setting that would help too.
    """
    willing = [op for op in call.versions if does(op) and op is not call.op]
    willing.sort(key=lambda op: (op.framework != call.op.framework, -op.version))
    if not willing:
        return None
    ways = ", or ".join(f"{{{name}}}" for name in ("version", *instead))
    return Hint(f"{willing[0].id} {what}: {ways}", version=willing[0].id, **instead)
