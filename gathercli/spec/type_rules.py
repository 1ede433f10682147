"""The rules of the operators on the element types of the inputs, as those of `rules`."""

from __future__ import annotations

from gathercli.errors import DtypeError, Hint
from gathercli.records import Any, Sequence
from gathercli.spec.call import Call, Operand, flattened, version_that
from gathercli.spec.dtypes import BOOL, DTYPES, PLAIN, DType, Kind, in_words
from gathercli.text import listed


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
    what = f"is {dtype}, which {{version}} does not take"
    hint = version_that(call, lambda op: dtype in op.input("data").dtypes, f"takes {dtype}")
    raise DtypeError(what, subject="data", value=dtype.name, expected=expected, hint=hint)


def indices_dtype(call: Call) -> None:
    """Refuse an element type of `indices` that the version does not take."""
    dtype, types = call.indices.dtype, call.op.input("indices").dtypes
    if dtype is None or dtype in types:
        return
    where = call.indices.decided_by
    first = f", first at `{where}`" if where not in (None, "$") and not dtype.integral else ""
    what = f"is {dtype}{first}, which {{version}} does not take"
    of: Any = {"subject": "indices", "where": where, "value": dtype.name}
    hint = _as_integers(call.indices, dtype, types)
    error = DtypeError(what, expected=listed(in_words(types)), hint=hint, **of)
    if _are_swapped(call):
        error.swapped = "DATA"
        python = "data come first, and then indices"
        error.hint = Hint("DATA comes first, and then INDICES", python=python)
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
            what, expected, hint = f"is {dtype}, which {{version}} does not take", "numbers", None
        elif first is not None and dtype is not first[1]:
            what = f"is {dtype}, but `{first[0]}` is {first[1]}"
            expected, hint = "one type for all inputs", _as_one_type(call, first[1])
        else:
            first = first or (each.name, dtype)
            continue
        of: Any = {"subject": each.name, "where": operand.decided_by, "value": dtype.name}
        raise DtypeError(what, expected=expected, hint=hint, **of)


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
    # whether `data` would be tuples of `indices`, by their length
    fit = all(isinstance(size, int) and size <= many for size in data.shape[-1:])
    return call.op.tuples and fit and not _point_inside(call)


def _point_inside(call: Call) -> bool:
    """Tell whether `indices`, read as integers, are tuples that point into `data`."""
    n, b, k = call.data.shape.sizes, call.batch_dims or 0, call.indices.shape[-1]
    if n is None or not isinstance(k, int):
        return True
    sizes = n[b : b + k]
    return len(sizes) == k and all(
        -sizes[at % k] <= v < sizes[at % k] for at, v in enumerate(flattened(call.indices.integers))
    )


def _as_integers(indices: Operand, dtype: DType, types: Sequence[DType]) -> Hint | None:
    """Say how indices of another type become integers, if there is a way."""
    if dtype.integral:
        widest = max(types, key=lambda each: each.bits)
        fit = "without loss" if dtype.bits < widest.bits else "if each fits"
        return Hint(f"{{indices_dtype}} converts them {fit}", indices_dtype=widest.name)
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
