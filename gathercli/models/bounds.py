"""What integers can be that come at run time: a lower and an upper bound of each, by operator.

A lattice of three levels: a constant, whose bounds are equal; bounds; nothing. There is a function
for each operator of ONNX that gives bounds, or passes them on.

::

    Known  ->  Operation  ->  Bounds     of its first output, or of a later one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf, prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Ends: TypeAlias = NDArray[np.float64]

# Larger integers are not all exact as floats: they are unbounded.
_MOST: Final = 2.0**53
MOST_ENDS: Final = 4096  # the most elements with bounds of their own
# The operators that may be run on bounds with sizes of 1, and then give no more than those.
KEEPING: Final = ("Identity", "Transpose", "Unsqueeze", "Gather", "Split")


class Bounds(NamedTuple):
    """The least and the most that each element can be.

    Both arrays broadcast to the shape of the value, so that dimensions whose size is not known have
    the size 1, and an array without dimensions holds for all elements.
    """

    low: _Ends
    high: _Ends

    @classmethod
    def of(cls, low: Any, high: Any) -> Bounds:
        """Return the bounds of two arrays; what is too large to be exact is infinite."""
        low, high = (np.asarray(end, np.float64) for end in (low, high))
        low = np.where(np.isnan(low) | (low < -_MOST), -inf, np.minimum(low, _MOST))
        high = np.where(np.isnan(high) | (high > _MOST), inf, np.maximum(high, -_MOST))
        low, high = np.broadcast_arrays(low, high)
        return cls(low, high)

    @property
    def hull(self) -> Bounds:
        """The bounds of all elements; those of no element are the wrong way round."""
        return Bounds(
            np.asarray(self.low.min(initial=inf)), np.asarray(self.high.max(initial=-inf))
        )

    def join(self, other: Bounds) -> Bounds:
        """Return bounds of what has these or others."""
        one, two = self, other
        if self.low.shape != other.low.shape:
            one, two = self.hull, other.hull
        return Bounds(np.minimum(one.low, two.low), np.maximum(one.high, two.high))

    def within(self, least: float, most: float) -> Bounds:
        """Return the bounds of what wraps to a range of integers."""
        if (self.low >= least).all() and (self.high <= most).all():
            return self
        return Bounds.of(least, most)


class Known(NamedTuple):
    """What is known of a value."""

    dtype: np.dtype[Any] | None = None
    dims: tuple[int | str | None, ...] | None = None  # with symbols; None: of unknown rank
    constant: NDArray[Any] | None = None
    bounds: Bounds | None = None
    is_default: bool = False  # whether it follows from the default of an input

    @classmethod
    def of(cls, array: NDArray[Any], *, is_default: bool = False) -> Known:
        """Return what is known of a constant; a default bounds nothing, as a caller replaces it."""
        bounds = None
        if array.dtype.kind in "biu" and not is_default:
            bounds = Bounds.of(array, array)
            bounds = bounds if array.size <= MOST_ENDS else bounds.hull
        return cls(array.dtype, array.shape, array, bounds, is_default)

    @property
    def range(self) -> Bounds | None:
        """The bounds, or those of the type; None for what is no integer."""
        return self.bounds if self.bounds is not None else range_of(self.dtype)

    @property
    def whole(self) -> Known | None:
        """The value with bounds for each of its few elements; None if their number is not known."""
        sizes = [size for size in self.dims or () if isinstance(size, int)]
        if self.bounds is None or self.dims is None or len(sizes) < len(self.dims):
            return None
        if prod(sizes) > MOST_ENDS:
            return None
        return self._replace(bounds=Bounds(*(np.broadcast_to(end, sizes) for end in self.bounds)))


def extent(size: int | str | None) -> float:
    """Return the size of a dimension, infinite if it is not known."""
    return size if isinstance(size, int) else inf


def range_of(dtype: np.dtype[Any] | None) -> Bounds | None:
    """Return the bounds of a type of integers, or of booleans; None for another."""
    if dtype is None or dtype.kind not in "biu":
        return None
    limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
    return Bounds.of(limits.min, 1 if dtype.kind == "b" else limits.max)


class Operation(NamedTuple):
    """A node whose bounds are asked for."""

    operator: str
    inputs: Sequence[Known | None]  # None for one that is left out
    attributes: Mapping[str, Any]
    output: int = 0
    dtype: np.dtype[Any] | None = None  # of the output
    # runs the operator on other inputs, and returns the output
    run: Callable[[Sequence[NDArray[Any] | None]], NDArray[Any] | None] = lambda _: None

    def input(self, number: int) -> Known:
        """Return what is known of an input; nothing of one that is left out."""
        return (self.inputs[number] if number < len(self.inputs) else None) or Known()

    def numbers(self, name: str, number: int) -> list[int] | None:
        """Return the integers of an attribute, or of the input that replaced it; None: unknown."""
        if name in self.attributes:
            value = self.attributes[name]
            return list(value) if isinstance(value, list | tuple) else [value]
        if number >= len(self.inputs) or self.inputs[number] is None:
            return []
        constant = self.input(number).constant
        return None if constant is None else [int(each) for each in constant.reshape(-1)]

    def size(self, number: int, axis: int) -> float:
        """Return the size of an axis of an input, infinite if it is not known."""
        dims = self.input(number).dims or ()
        return extent(dims[axis]) if -len(dims) <= axis < len(dims) else inf


def bounds_of(operation: Operation) -> Bounds | None:
    """Return the bounds of an output of an operator; None for one that is no integer."""
    whole = range_of(operation.dtype)
    if whole is None:
        return None
    function = _FUNCTIONS.get(operation.operator)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        found = None if function is None else function(operation)
    if found is None:
        return whole
    if found.low.size > MOST_ENDS:
        found = found.hull
    return found.within(float(whole.low), float(whole.high))


def _moved(*numbers: int, padded: bool = False) -> Callable[[Operation], Bounds | None]:
    """Return the function of an operator whose elements are those of its inputs `numbers`.

    No number stands for every input. `padded` tells whether some may also be 0.
    """

    def moved(operation: Operation) -> Bounds | None:
        given = [n for n in numbers if n < len(operation.inputs)] or range(len(operation.inputs))
        moving = {n: each for n in given if (each := operation.inputs[n]) is not None}
        ranges = [each.range for each in moving.values()]
        adds = operation.attributes.get("reduction", b"none") != b"none"
        if not ranges or None in ranges or adds:
            return None
        if found := _run_on_ends(operation, moving):
            return found
        hulls = [each.hull for each in ranges if each is not None]
        if padded:
            hulls.append(Bounds.of(0, 0))
        return reduce(Bounds.join, hulls)

    return moved


def _run_on_ends(operation: Operation, moving: Mapping[int, Known]) -> Bounds | None:
    """Return what an operator makes of the bounds of its inputs; None if it cannot be run."""
    for number, each in enumerate(operation.inputs):
        if number not in moving and each is not None and each.constant is None:
            return None
    if not all(each.whole or _keeps_axes(operation, each) for each in moving.values()):
        return None
    ends = []
    for end in range(2):
        arrays = [None if each is None else each.constant for each in operation.inputs]
        for number, each in moving.items():
            bounds = (each.whole or each).bounds
            arrays[number] = None if bounds is None else bounds[end]
        ends.append(operation.run(arrays))
    low, high = ends
    return None if low is None or high is None else Bounds.of(low, high)


def _keeps_axes(operation: Operation, known: Known) -> bool:
    """Tell whether an operator treats bounds with sizes of 1 as it treats the value."""
    if known.bounds is None or known.dims is None or known.bounds.low.ndim != len(known.dims):
        return False
    if operation.operator not in ("Gather", "Split"):
        return operation.operator in KEEPING
    axis = operation.attributes.get("axis", 0)
    sizes = known.bounds.low.shape
    return bool(-len(sizes) <= axis < len(sizes) and sizes[axis] == known.dims[axis])


def _of(count: int, function: Callable[..., Bounds | None]) -> Callable[[Operation], Bounds | None]:
    """Return the function of an operator from that of the bounds of its first `count` inputs."""

    def computed(operation: Operation) -> Bounds | None:
        ranges = [operation.input(n).range for n in range(count)]
        return None if None in ranges else function(*ranges)

    return computed


def _corners(
    one: Bounds, two: Bounds, combine: Callable[[_Ends, _Ends], _Ends]
) -> tuple[_Ends, _Ends]:
    found = [np.nan_to_num(combine(a, b), nan=0, posinf=inf, neginf=-inf) for a in one for b in two]
    return np.minimum.reduce(found), np.maximum.reduce(found)


def _divide(value: Bounds, divisor: Bounds) -> Bounds | None:
    if not ((divisor.low > 0) | (divisor.high < 0)).all():
        return None
    return Bounds.of(*_corners(value, divisor, lambda a, b: np.trunc(a / b)))


def _modulo(operation: Operation) -> Bounds | None:
    """Return the bounds of a remainder: of the sign of the divisor, or with `fmod` of the other."""
    value, divisor = operation.input(0).range, operation.input(1).range
    if value is None or divisor is None or not ((divisor.low > 0) | (divisor.high < 0)).all():
        return None
    most = np.maximum(abs(divisor.low), abs(divisor.high)) - 1
    if operation.attributes.get("fmod", 0):
        low, high = np.where(value.low < 0, -most, 0), np.where(value.high > 0, most, 0)
    else:
        low, high = np.where(divisor.high < 0, -most, 0), np.where(divisor.low > 0, most, 0)
    same = (value.low >= 0) & (value.high < divisor.low)
    return Bounds.of(np.where(same, value.low, low), np.where(same, value.high, high))


def _absolute(operation: Operation) -> Bounds | None:
    value, whole = operation.input(0).range, range_of(operation.dtype)
    if value is None or whole is None or np.any((value.low <= whole.low) & (whole.low < 0)):
        return None  # the least integer of a type stays negative
    most = np.maximum(abs(value.low), abs(value.high))
    least = np.maximum(np.maximum(value.low, -value.high), 0)
    return Bounds.of(least, most)


def _elementwise(function: Callable[[_Ends, _Ends], _Ends]) -> Callable[[Operation], Bounds | None]:
    """Return the function of an operator that never falls if one of its inputs rises."""

    def combined(operation: Operation) -> Bounds | None:
        ranges = [operation.input(n).range for n in range(len(operation.inputs))]
        found: Bounds | None = None
        for each in ranges:
            if each is None:
                return None
            ends = zip(found or each, each, strict=True)
            found = each if found is None else Bounds.of(*(function(a, b) for a, b in ends))
        return found

    return combined


def _clip(operation: Operation) -> Bounds | None:
    value = operation.input(0).range
    if value is None:
        return None
    found = [*value]
    for number, none, limit in ((1, -inf, np.maximum), (2, inf, np.minimum)):
        known = operation.inputs[number] if number < len(operation.inputs) else None
        ends = Bounds(*map(np.asarray, (none, none)))
        if known is not None:
            ends = known.range or Bounds.of(-inf, inf)
        found = [limit(end, each) for end, each in zip(found, ends, strict=True)]
    return Bounds.of(*found)


def _where(operation: Operation) -> Bounds | None:
    one, two = operation.input(1).range, operation.input(2).range
    if one is None or two is None:
        return None
    condition = operation.input(0).constant
    if condition is not None and condition.size <= MOST_ENDS:
        pairs = zip(one, two, strict=True)
        return Bounds.of(*(np.where(condition, a, b) for a, b in pairs))
    return Bounds.of(np.minimum(one.low, two.low), np.maximum(one.high, two.high))


def _cast(operation: Operation) -> Bounds | None:
    kind = operation.input(0).dtype
    return operation.input(0).range if kind is not None and kind.kind in "biu" else None


def _nonzero(operation: Operation) -> Bounds | None:
    """Return the bounds of positions: a row for each dimension."""
    dims = operation.input(0).dims
    if not dims:
        return None
    return Bounds.of(0, np.array([extent(size) for size in dims]).reshape(-1, 1) - 1)


def _topk(operation: Operation) -> Bounds | None:
    if operation.output == 0:
        return _moved(0)(operation)
    return Bounds.of(0, operation.size(0, operation.attributes.get("axis", -1)) - 1)


def _unique(operation: Operation) -> Bounds | None:
    if operation.output == 0:
        value = operation.input(0).range
        return value and value.hull
    axis, dims = operation.attributes.get("axis"), operation.input(0).dims
    if axis is not None:
        size = operation.size(0, axis)
    else:
        size = inf if dims is None else prod(map(extent, dims))
    return Bounds.of(1, size) if operation.output == 3 else Bounds.of(0, size - 1)


def _range(start: Bounds, limit: Bounds, step: Bounds) -> Bounds | None:
    """Return the bounds of numbers from a start to before a limit, of a step of known sign."""
    if (step.low > 0).all():
        return Bounds.of(start.low, np.maximum(limit.high - 1, start.low))
    if (step.high < 0).all():
        return Bounds.of(np.minimum(limit.low + 1, start.high), start.high)
    return None


def _shape(operation: Operation) -> Bounds:
    """Return the bounds of the sizes of a value, or of some of them."""
    dims = operation.input(0).dims
    if dims is None:
        return Bounds.of(0, inf)
    part = slice(operation.attributes.get("start", 0), operation.attributes.get("end"))
    low = [size if isinstance(size, int) else 0 for size in dims[part]]
    return Bounds.of(low, [extent(size) for size in dims[part]])


def _size(operation: Operation) -> Bounds:
    low, high = _shape(operation)
    return Bounds.of(np.prod(low), np.prod(high))


def _sum(operation: Operation) -> Bounds | None:
    value, dims = operation.input(0).range, operation.input(0).dims
    axes = operation.numbers("axes", 1)
    if value is None or dims is None or axes is None:
        return None
    empty = not axes and not operation.attributes.get("noop_with_empty_axes", 0)
    count = prod(extent(dims[axis]) for axis in (range(len(dims)) if empty else axes))
    return _times(value.hull, count).join(_times(value.hull, 0 if count == inf else count))


def _extreme(operation: Operation) -> Bounds | None:
    """Return the bounds of extremes over some dimensions; that of no element is of the type."""
    value, dims = operation.input(0).range, operation.input(0).dims
    if value is None or dims is None or not all(isinstance(n, int) and n for n in dims):
        return None
    return value.hull


def _cumulated(operation: Operation) -> Bounds | None:
    value, axis = operation.input(0).range, operation.input(1).constant
    if value is None:
        return None
    count = inf if axis is None else operation.size(0, int(axis.reshape(-1)[0]))
    least = 0 if operation.attributes.get("exclusive", 0) else 1
    return _times(value.hull, count).join(_times(value.hull, least))


def _times(value: Bounds, count: float) -> Bounds:
    """Return the bounds of the sum of `count` numbers."""
    ends = (np.nan_to_num(end * count, nan=0, posinf=inf, neginf=-inf) for end in value)
    return Bounds.of(*ends)


def _masked(one: Bounds, two: Bounds) -> Bounds | None:
    """Return the bounds of the bits that two numbers share."""
    highs = [each.high for each in (one, two) if (each.low >= 0).all()]
    return Bounds.of(0, reduce(np.minimum, highs)) if highs else None


def _boxes(operation: Operation) -> Bounds:
    """Return the bounds of what NonMaxSuppression selects: batch, class and box."""
    sizes = operation.size(1, 0), operation.size(1, 1), operation.size(0, 1)
    return Bounds.of(0, np.array([sizes]) - 1)


def _filled(operation: Operation) -> Bounds:
    """Return the bounds of one value everywhere."""
    value = operation.attributes.get("value")
    number = 0 if value is None else float(np.asarray(value).reshape(-1)[0])
    return Bounds.of(number, number)


_FUNCTIONS: Final[dict[str, Callable[[Operation], Bounds | None]]] = {
    **dict.fromkeys(("Add", "Sum"), _elementwise(np.add)),
    "Max": _elementwise(np.maximum),
    "Min": _elementwise(np.minimum),
    "Sub": _of(2, lambda one, two: Bounds.of(one.low - two.high, one.high - two.low)),
    "Mul": _of(2, lambda one, two: Bounds.of(*_corners(one, two, np.multiply))),
    "Div": _of(2, _divide),
    "Mod": _modulo,
    "Neg": _of(1, lambda value: Bounds.of(-value.high, -value.low)),
    "Abs": _absolute,
    "Relu": _of(1, lambda value: Bounds.of(*(np.maximum(end, 0) for end in value))),
    "Clip": _clip,
    "Where": _where,
    "Cast": _cast,
    "CastLike": _cast,
    "BitwiseAnd": _of(2, _masked),
    **dict.fromkeys(
        ("ArgMax", "ArgMin"), lambda op: Bounds.of(0, op.size(0, op.attributes.get("axis", 0)) - 1)
    ),
    "NonZero": _nonzero,
    "TopK": _topk,
    "Unique": _unique,
    "Range": _of(3, _range),
    "Shape": _shape,
    "Size": _size,
    "ReduceSum": _sum,
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _extreme),
    "CumSum": _cumulated,
    "NonMaxSuppression": _boxes,
    "Multinomial": lambda operation: Bounds.of(0, operation.size(0, 1) - 1),
    "ConstantOfShape": _filled,
    "OneHot": _moved(2),
    "Pad": _moved(0, 2, padded=True),
    "Trilu": _moved(0, padded=True),
    "Concat": _moved(),
    **dict.fromkeys(("ScatterND", "ScatterElements"), _moved(0, 2)),
    **dict.fromkeys(
        (
            *("Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Expand"),
            *("Tile", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Compress"),
            *("Dropout", "ReverseSequence", "DepthToSpace", "SpaceToDepth"),
        ),
        _moved(0),
    ),
}
