"""Constants that follow from constants: behind a cast, or of another shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.conversion import cast as cast_tensor
from gathercli.compute.tensor import Tensor
from gathercli.io.graphs.graph import Constant, Value
from gathercli.spec.dtypes import Kind
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import MAX_RANK, UNKNOWN, Shape, product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.spec.dtypes import DType
    from gathercli.spec.shapes import AnyDim

_UINT8: Final = dtype_named("uint8")

MOST_INTEGERS: Final = 1024
"""The most elements of a constant that decides a shape."""


MOST_FOLDS: Final = 64
"""The most nodes behind which a constant is followed: each takes a few calls to read."""


def integers(value: Value | None) -> list[int] | None:
    """Return the few integers of a constant input; None if it is no such constant."""
    constant = value and value.constant
    if not constant or constant.unread or not constant.dtype.integral:
        return None
    if product(constant.shape) > MOST_INTEGERS:
        return None
    numbers: list[int] = constant.read().values().reshape(-1).tolist()
    return numbers


def literal(numbers: float | list[int], dtype: DType) -> Constant:
    """Return the constant of a number, or of a list of them."""
    array = np.asarray(numbers, dtype.name)
    return Constant(dtype, array.shape, lambda: Tensor(dtype, array))


def converted(value: Value, name: str, dtype: DType | None) -> Value:
    """Return the value of a Cast or Convert.

    Integers that the new type cannot hold lose their upper bits, as in C.
    """
    result = Value(name, dtype, value.shape, inferred=value.inferred)
    constant = value.constant
    if constant is None or dtype is None or constant.depth >= MOST_FOLDS:
        return result
    if not {Kind.STRING, Kind.COMPLEX}.isdisjoint((dtype.kind, constant.dtype.kind)):
        return result

    def load() -> Tensor:
        tensor = constant.read()
        if tensor.dtype is dtype:
            return tensor
        values = tensor.values()
        if dtype.kind is Kind.BOOL:
            return Tensor(dtype, values != 0)
        if values.dtype.kind in "biu" and dtype.integral and not dtype.narrow:
            return Tensor(dtype, values.astype(dtype.name))
        if values.dtype.kind == "b":
            tensor = Tensor(_UINT8, values.astype(np.uint8))
        array, _ = cast_tensor(tensor, dtype, truncate=True)
        return Tensor(dtype, array)

    return _with_constant(result, constant, dtype, constant.shape, load)


def _with_constant(
    value: Value,
    source: Constant,
    dtype: DType,
    shape: tuple[int, ...],
    load: Callable[[], Tensor],
    *,
    mapped: bool = False,
) -> Value:
    """Return a value with the elements that `load` makes of another constant."""
    constant = Constant(
        dtype,
        shape,
        load,
        source.unread,
        mapped=mapped,
        depth=source.depth + 1,
        limit=source.limit,
        default=source.default,
    )
    return value._replace(constant=constant, unread=constant.unread)


def reshaped(value: Value, name: str, target: Sequence[int] | None, *, zero_copies: bool) -> Value:
    """Return the value of a Reshape to a shape: -1 is what is left; None if it is not constant.

    0 stands for the size of the same dimension of the input if `zero_copies`.
    """
    if target is None or len(target) > MAX_RANK:
        return Value(name, value.dtype)
    sizes = value.shape.sizes
    dims = list(target)
    if sizes is None or (zero_copies and any(not n for n in dims[len(sizes) :])):
        return Value(name, value.dtype, Shape(UNKNOWN if n <= 0 else n for n in dims))
    if zero_copies:
        dims = [n or sizes[at] for at, n in enumerate(dims)]
    rest = product([n for n in dims if n != -1])
    if -1 in dims and rest and dims.count(-1) == 1 and product(sizes) % rest == 0:
        dims[dims.index(-1)] = product(sizes) // rest
    if any(n < 0 for n in dims) or product(dims) != product(sizes):
        return Value(name, value.dtype)
    return _viewed(value, name, tuple(dims))


def unsqueezed(value: Value, name: str, axes: Sequence[int] | None) -> Value:
    """Return the value of an Unsqueeze: a dimension of 1 at each axis of the output."""
    rank = value.shape.rank
    if axes is None or rank is None:
        return Value(name, value.dtype)
    total = rank + len(axes)
    places = {axis + total if axis < 0 else axis for axis in axes}
    if len(places) != len(axes) or not places <= set(range(total)):
        return Value(name, value.dtype)
    dims = iter(value.shape)
    shape = Shape(1 if at in places else next(dims) for at in range(total))
    return _viewed(value, name, shape)


def squeezed(value: Value, name: str, axes: Sequence[int] | None) -> Value:
    """Return the value of a Squeeze: without the dimensions of 1 at the axes, or without any."""
    rank = value.shape.rank
    if rank is None or (not axes and value.shape.sizes is None):
        return Value(name, value.dtype)
    if axes:
        places = {axis + rank if axis < 0 else axis for axis in axes}
    else:
        places = {at for at, n in enumerate(value.shape) if n == 1}
    if not places <= set(range(rank)) or any(value.shape[at] != 1 for at in places):
        return Value(name, value.dtype)
    return _viewed(value, name, Shape(n for at, n in enumerate(value.shape) if at not in places))


def _viewed(value: Value, name: str, shape: Sequence[AnyDim]) -> Value:
    """Return a value with the same elements in another shape, unknown if of too large a rank."""
    if len(shape) > MAX_RANK:
        return Value(name, value.dtype)
    constant = value.constant
    result = Value(name, value.dtype, Shape(shape), inferred=True)
    sizes = result.shape.sizes
    if constant is None or sizes is None or constant.depth >= MOST_FOLDS:
        return result

    def load() -> Tensor:
        tensor = constant.read()
        return Tensor(tensor.dtype, tensor.array.reshape(sizes))

    mapped = constant.mapped
    return _with_constant(result, constant, constant.dtype, sizes, load, mapped=mapped)
