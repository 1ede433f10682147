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

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import broadcast
from gathercli.errors import LimitError
from gathercli.spec.dtypes import BOOL, INT64
from gathercli.spec.shapes import MAX_RANK, product

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.spec.dtypes import DType


LARGEST_INDEX: Final = 2**63 - 1
"""Where an index goes that int64 cannot represent: no axis is as long."""

_READ_SIZES: Final = frozenset(
    ("size", "sizes", "strides", "zeros", "no_tuples", "narrow", "widen", "merge", "gather_tree")
)
"""The primitives that read sizes."""

FROM_SIZES: Final = frozenset(("size", "sizes", "strides", "constant"))
"""The primitives that read nothing else: `sized` gives their results."""

ARITHMETIC: Final[dict[str, Callable[..., AnyArray]]] = {
    "cast": lambda x: np.asarray(x).astype(np.int64),
    "add": np.add,
    "multiply": np.multiply,
    "modulo": np.mod,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "less": np.less,
    "at_least": np.greater_equal,
    "either": np.logical_or,
    "where": np.where,
    "total": lambda x: np.asarray(np.sum(x, axis=-1, dtype=np.int64)),
}
"""The arithmetic in NumPy."""


def sized(primitive: str, shape: Sequence[int], settings: Mapping[str, Any]) -> AnyArray:
    """Return the result of a primitive of `FROM_SIZES`; `shape` is that of its input."""
    if primitive == "constant":
        value: Any = settings["value"]
    elif primitive == "size":
        value = shape[settings["axis"]]
    else:
        value = shape[settings["start"] : settings["stop"]]
        if primitive == "strides":
            value = [product(value[at + 1 :]) for at in range(len(value))]
    return np.array(value, np.int64)


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
        self.notes: list[str] = []
        """How the program differs from the version, where the target cannot do the same."""
        self.refuses = True
        """Whether the target promises an error where the version raises one."""

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

    def _add(
        self,
        primitive: str,
        *inputs: ProgramValue,
        dtype: DType = INT64,
        shape: Sequence[int] = (),
        name: str = "",
        **settings: Any,
    ) -> ProgramValue:
        if len(shape) > MAX_RANK:
            raise LimitError(
                f"a tensor on the way has rank {len(shape)}",
                rule="limit",
                value=len(shape),
                expected=f"at most {MAX_RANK}",
            )
        output = self._value(name, dtype, shape)
        self.steps.append(Step(primitive, inputs, settings, output))
        return output

    def size(self, x: ProgramValue, axis: int) -> ProgramValue:
        """Return the size of an axis."""
        return self._add("size", x, name="size", axis=axis)

    def sizes(self, x: ProgramValue, start: int, stop: int) -> ProgramValue:
        """Return the sizes of axes."""
        return self._add("sizes", x, shape=(stop - start,), name="sizes", start=start, stop=stop)

    def strides(self, x: ProgramValue, start: int, stop: int) -> ProgramValue:
        """Return the row-major strides of axes among each other."""
        shape = (stop - start,)
        return self._add("strides", x, shape=shape, name="strides", start=start, stop=stop)

    def constant(self, value: int) -> ProgramValue:
        """Return an integer."""
        return self._add("constant", value=value)

    def cast(self, x: ProgramValue, name: str) -> ProgramValue:
        """Convert to int64."""
        return self._add("cast", x, shape=x.shape, name=name)

    def element(self, primitive: str, *inputs: ProgramValue, name: str = "") -> ProgramValue:
        """Apply a primitive element by element."""
        dtype = BOOL if primitive in ("less", "at_least", "either") else INT64
        shape = broadcast(*(each.shape for each in inputs))
        return self._add(primitive, *inputs, dtype=dtype, shape=shape, name=name)

    def total(self, x: ProgramValue, name: str = "") -> ProgramValue:
        """Return the sum along the last axis."""
        return self._add("total", x, shape=x.shape[:-1], name=name)

    def zeros(self, x: ProgramValue, axis: int) -> ProgramValue:
        """Return zeros of size 1 along an axis."""
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return self._add("zeros", x, dtype=x.dtype, shape=shape, name="zeros", axis=axis)

    def no_tuples(self, x: ProgramValue, start: int) -> ProgramValue:
        """Return a zero for every empty tuple."""
        return self._add("no_tuples", x, shape=x.shape[start:-1], start=start)

    def concat(self, x: ProgramValue, y: ProgramValue, axis: int, name: str) -> ProgramValue:
        """Put y behind x along an axis."""
        shape = (*x.shape[:axis], x.shape[axis] + y.shape[axis], *x.shape[axis + 1 :])
        return self._add("concat", x, y, dtype=x.dtype, shape=shape, name=name, axis=axis)

    def narrow(self, x: ProgramValue, y: ProgramValue, axis: int) -> ProgramValue:
        """Cut x to the sizes of y beside an axis."""
        shape = (*y.shape[:axis], x.shape[axis], *y.shape[axis + 1 :])
        return self._add("narrow", x, y, dtype=x.dtype, shape=shape, name="narrow", axis=axis)

    def merge(self, x: ProgramValue, start: int, stop: int, name: str) -> ProgramValue:
        """Make axes one."""
        shape = (*x.shape[:start], product(x.shape[start:stop]), *x.shape[stop:])
        settings = {"start": start, "stop": stop}
        return self._add("merge", x, dtype=x.dtype, shape=shape, name=name, **settings)

    def unsqueeze(self, x: ProgramValue, name: str) -> ProgramValue:
        """Add a last axis."""
        return self._add("unsqueeze", x, dtype=x.dtype, shape=(*x.shape, 1), name=name)

    def transpose(self, x: ProgramValue, order: Sequence[int], name: str) -> ProgramValue:
        """Change the order of the axes, unless it is the same."""
        if list(order) == list(range(len(x.shape))):
            return x
        shape = [x.shape[axis] for axis in order]
        return self._add("transpose", x, dtype=x.dtype, shape=shape, name=name, order=tuple(order))

    def check(self, x: ProgramValue, *size: ProgramValue, signed: bool = False) -> ProgramValue:
        """Raise an error unless all indices are legal; without a size, if one is negative."""
        return self._add("check", x, *size, dtype=x.dtype, shape=x.shape, signed=signed)

    def widen(self, x: ProgramValue, start: int, stop: int) -> ProgramValue:
        """Make empty axes of size 1, of zeros."""
        sizes = [max(1, size) for size in x.shape[start:stop]]
        shape = (*x.shape[:start], *sizes, *x.shape[stop:])
        return self._add("widen", x, dtype=x.dtype, shape=shape, start=start, stop=stop)

    def gather(self, x: ProgramValue, y: ProgramValue, axis: int, batch_dims: int) -> ProgramValue:
        """Gather slices along an axis."""
        shape = (*x.shape[:axis], *y.shape[batch_dims:], *x.shape[axis + 1 :])
        settings = {"axis": axis, "batch_dims": batch_dims}
        return self._add("gather", x, y, dtype=x.dtype, shape=shape, name="output", **settings)

    def gather_elements(self, x: ProgramValue, y: ProgramValue, axis: int) -> ProgramValue:
        """Gather elements."""
        return self._add(
            "gather_elements", x, y, dtype=x.dtype, shape=y.shape, name="output", axis=axis
        )

    def gather_nd(self, x: ProgramValue, y: ProgramValue, batch_dims: int) -> ProgramValue:
        """Gather slices at tuples."""
        shape = (*y.shape[:-1], *x.shape[batch_dims + y.shape[-1] :])
        return self._add(
            "gather_nd", x, y, dtype=x.dtype, shape=shape, name="output", batch_dims=batch_dims
        )

    def gather_tree(self, *inputs: ProgramValue) -> ProgramValue:
        """Follow the beams of a search."""
        first = inputs[0]
        return self._add(
            "gather_tree", *inputs, dtype=first.dtype, shape=first.shape, name="output"
        )
