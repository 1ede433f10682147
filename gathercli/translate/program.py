"""A program of a few primitives: what a call becomes before a target writes it in its own terms.

Every value is assigned once. Types and shapes are those of one call; a primitive itself holds for
all sizes, as it takes sizes from its inputs::

    size(x, axis)                x.shape[axis]; 0-D
    sizes(x, start, stop)        x.shape[start:stop]; 1-D
    strides(x, start, stop)      the row-major strides of a tensor of that shape; 1-D
    constant(value)              an integer, 0-D
    cast(x)                      to int64; bits above the 64th are cut
    add, multiply, modulo, minimum, maximum, less, at_least, either, where
                                 element by element, broadcast as in NumPy
    total(x)                     the sum along the last axis
    zeros(x, axis)               zeros like x, of size 1 along an axis
    no_tuples(x, start)          zeros of x.shape[start:-1], int64
    concat(x, y, axis)
    narrow(x, y, axis)           x[:n0, :n1, ..], with n = y.shape, but for the axis
    widen(x, start, stop)        x, or if one of these axes is empty, zeros with size 1 in its place
    merge(x, start, stop)        x with the axes from start up to stop as one
    unsqueeze(x)                 x with a last axis of size 1
    transpose(x, order)
    check(x, size, signed)       x; an error unless low <= x < size, where low is 0, or -size if
                                 signed; without a size, an error if x < 0
    gather(x, y, axis, batch_dims), gather_elements(x, y, axis), gather_nd(x, y, batch_dims),
    gather_tree(..)              the operators of the target
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import AnyArray, broadcast
from gathercli.errors import LimitError, OutOfRangeError
from gathercli.spec.dtypes import BOOL, INT64, DType
from gathercli.spec.shapes import MAX_RANK, product

# Where an index goes that int64 cannot represent: no axis is as long.
LARGEST_INDEX: Final = 2**63 - 1


class Primitive(NamedTuple):
    """What a step of a kind does."""

    shape: Callable[..., Sequence[int]]  # of the result, from the shapes of inputs and the settings
    # the result, from arrays and the settings; None for an operator of the target
    array: Callable[..., AnyArray] | None = None
    dtype: DType | None = INT64  # of the result; None for that of the first input
    name: str = ""  # of the result, unless the step has another


def _element(array: Callable[..., AnyArray], dtype: DType = INT64) -> Primitive:
    return Primitive(broadcast, array, dtype)


def _strides(x: AnyArray, start: int, stop: int) -> AnyArray:
    return np.array([product(x.shape[at + 1 : stop]) for at in range(start, stop)], np.int64)


def _widened(x: Sequence[int], start: int, stop: int) -> Sequence[int]:
    return (*x[:start], *(max(1, size) for size in x[start:stop]), *x[stop:])


def _widen(x: AnyArray, start: int, stop: int) -> AnyArray:
    shape = _widened(x.shape, start, stop)
    return x if shape == x.shape else np.zeros(shape, x.dtype)


def _merged(x: Sequence[int], start: int, stop: int) -> Sequence[int]:
    return (*x[:start], product(x[start:stop]), *x[stop:])


def _check(k: AnyArray, sizes: AnyArray | None = None, *, signed: bool) -> AnyArray:
    wide = k.astype(object)  # integers of Python, of any size
    outside = wide < (-sizes if signed and sizes is not None else 0)
    if sizes is not None:
        outside |= wide >= sizes
    if np.any(outside):
        raise OutOfRangeError("an index is outside the axis", rule="index-range")
    return k


# The primitives by name.
PRIMITIVES: Final = {
    "size": Primitive(
        lambda *_, **__: (), lambda x, axis: np.array(x.shape[axis], np.int64), name="size"
    ),
    "sizes": Primitive(
        lambda _, start, stop: (stop - start,),
        lambda x, start, stop: np.array(x.shape[start:stop], np.int64),
        name="sizes",
    ),
    "strides": Primitive(lambda _, start, stop: (stop - start,), _strides, name="strides"),
    "constant": Primitive(lambda **_: (), lambda value: np.array(value, np.int64)),
    "cast": _element(lambda x: np.asarray(x).astype(np.int64)),
    "add": _element(np.add),
    "multiply": _element(np.multiply),
    "modulo": _element(np.mod),
    "minimum": _element(np.minimum),
    "maximum": _element(np.maximum),
    "less": _element(np.less, BOOL),
    "at_least": _element(np.greater_equal, BOOL),
    "either": _element(np.logical_or, BOOL),
    "where": _element(np.where),
    "total": Primitive(lambda x: x[:-1], lambda x: np.asarray(np.sum(x, axis=-1, dtype=np.int64))),
    "zeros": Primitive(
        lambda x, axis: (*x[:axis], 1, *x[axis + 1 :]),
        lambda x, axis: np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype),
        dtype=None,
        name="zeros",
    ),
    "no_tuples": Primitive(
        lambda x, start: x[start:-1], lambda x, start: np.zeros(x.shape[start:-1], np.int64)
    ),
    "concat": Primitive(
        lambda x, y, axis: (*x[:axis], x[axis] + y[axis], *x[axis + 1 :]),
        lambda x, y, axis: np.concatenate([x, y], axis),
        dtype=None,
    ),
    "narrow": Primitive(
        lambda x, y, axis: (*y[:axis], x[axis], *y[axis + 1 :]),
        lambda x, y, axis: x[
            tuple(slice(None if at == axis else n) for at, n in enumerate(y.shape))
        ],
        dtype=None,
        name="narrow",
    ),
    "widen": Primitive(_widened, _widen, dtype=None),
    "merge": Primitive(
        _merged, lambda x, start, stop: x.reshape(_merged(x.shape, start, stop)), dtype=None
    ),
    "unsqueeze": Primitive(lambda x: (*x, 1), lambda x: x[..., None], dtype=None),
    "transpose": Primitive(
        lambda x, order: [x[axis] for axis in order],
        lambda x, order: x.transpose(order),
        dtype=None,
    ),
    "check": Primitive(lambda x, *_, **__: x, _check, dtype=None),
    "gather": Primitive(
        lambda x, y, axis, batch_dims: (*x[:axis], *y[batch_dims:], *x[axis + 1 :]),
        dtype=None,
        name="output",
    ),
    "gather_elements": Primitive(lambda _, y, **__: y, dtype=None, name="output"),
    "gather_nd": Primitive(
        lambda x, y, batch_dims: (*y[:-1], *x[batch_dims + y[-1] :]), dtype=None, name="output"
    ),
    "gather_tree": Primitive(lambda x, *_: x, dtype=None, name="output"),
}

# The primitives that read nothing but sizes.
FROM_SIZES: Final = frozenset(("size", "sizes", "strides", "zeros", "no_tuples"))

_READ_SIZES: Final = FROM_SIZES | {"narrow", "widen", "merge", "gather_tree"}


def unused(wish: str, names: set[str]) -> str:
    """Return a name that nothing has yet, the wish or one with a number, and add it to `names`."""
    name, number = wish, 1
    while name in names:
        number += 1
        name = f"{wish}_{number}"
    names.add(name)
    return name


class ProgramValue(NamedTuple):
    """A value: its number, its name for people (empty for a part of an expression), its type."""

    number: int
    name: str
    dtype: DType
    shape: tuple[int, ...]


class Step(NamedTuple):
    """A primitive with its inputs, its settings, and its result."""

    primitive: str
    inputs: tuple[ProgramValue, ...]
    settings: Mapping[str, Any]
    output: ProgramValue


class Program:
    """The steps of a call in order, and its inputs by name."""

    def __init__(self, inputs: Mapping[str, tuple[DType, tuple[int, ...]]]) -> None:
        self._count = 0
        self.inputs = {name: self._value(name, *each) for name, each in inputs.items()}
        self.steps: list[Step] = []
        # How the program differs from the version, where the target cannot do the same.
        self.notes: list[str] = []
        self.refuses = True  # whether the target promises an error where the version raises one

    @property
    def output(self) -> ProgramValue:
        """The result."""
        return self.steps[-1].output

    @property
    def fits_all_sizes(self) -> bool:
        """Whether no step depends on a size, so that a graph serves tensors of other sizes."""
        return _READ_SIZES.isdisjoint(each.primitive for each in self.steps)

    def drop_unused(self) -> None:
        """Drop the steps whose results nothing uses."""
        used = {self.output.number}
        for step in reversed(self.steps):
            if step.output.number in used:
                used |= {each.number for each in step.inputs}
        self.steps = [step for step in self.steps if step.output.number in used]

    def _value(self, name: str, dtype: DType, shape: Sequence[int]) -> ProgramValue:
        self._count += 1
        return ProgramValue(self._count, name, dtype, tuple(shape))

    def add(
        self, primitive: str, *inputs: ProgramValue | int, name: str = "", **settings: Any
    ) -> ProgramValue:
        """Add a step, whose inputs may be integers, and return its result.

        A transpose that changes no order is none.
        """
        values = tuple(
            self.add("constant", value=each) if isinstance(each, int) else each for each in inputs
        )
        if primitive == "transpose" and settings["order"] == tuple(range(len(values[0].shape))):
            return values[0]
        row = PRIMITIVES[primitive]
        shape = row.shape(*(each.shape for each in values), **settings)
        if len(shape) > MAX_RANK:
            what = f"a tensor on the way has rank {len(shape)}"
            raise LimitError(what, rule="limit", value=len(shape), expected=f"at most {MAX_RANK}")
        output = self._value(name or row.name, row.dtype or values[0].dtype, shape)
        self.steps.append(Step(primitive, values, settings, output))
        return output
