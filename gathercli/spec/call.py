"""One call of an operator version: shapes and types of the inputs, attributes, policies."""

from __future__ import annotations

import _operator as operator

from gathercli.errors import GatherError, Hint
from gathercli.records import NamedTuple, cached_property
from gathercli.spec.dtypes import DType, Kind, described
from gathercli.spec.op import AxisGather, IndexedAxis, IndexRange, Negative, Op, OutOfRange
from gathercli.spec.shapes import Position, Shape, product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Final, Protocol, Self

    class TensorLike(Protocol):
        """An object with the type and the shape of a tensor."""

        @property
        def dtype(self) -> DType:
            """The type of the elements."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Sizes of the dimensions."""

        @property
        def decided_by(self) -> str | None:
            """The path of the element that decides the type of untyped text; None if typed."""

    class Family(Protocol):
        """A module of `gathercli.ops`."""

        __name__: str  # of the module
        COMMAND: str  # the name of the command, `gather-elements`
        SUMMARY: str  # the first words of its help
        ROWS: tuple[Op, ...]  # the versions; the first is the default
        # The rules of `gathercli.spec.rules` on shapes and types, in the order they are tried.
        RULES: tuple[Callable[[Call], None], ...]

        def infer(self, call: Call) -> Shape:
            """Return the output shape, from shapes alone."""

        def equation(self, call: Call) -> str:
            """Return the equation of an output cell, with the coordinates of this call."""

        def sources(self, call: Call, points: Mapping[str, Any], cells: Position) -> Position:
            """Return the flat position in `data` that each output cell copies, or -1."""

        def indexed_axes(self, call: Call) -> tuple[IndexedAxis, ...]:
            """Return the axes that the indices count along."""

        def as_gather(self, call: Call) -> AxisGather | None:
            """Return the call as a gather along one axis of a view of `data`, for the kernel.

            None if there is no such view; the output then comes from `sources` alone.
            """


MOST_HINT_ELEMENTS: Final = 20  # the largest number of elements in a hint
UNKNOWN_AXIS: Final = ("unknown", "?")  # values of `axis` for an axis that inference does not know


class Operand(NamedTuple):
    """The shape and type of an input."""

    shape: Shape
    dtype: DType | None = None  # None if only the shape is known
    decided_by: str | None = None  # the path of the element that decides the type of untyped text
    integers: Any = None  # that a few elements may stand for, for hints: `Tensor.integers`

    @classmethod
    def of(cls, tensor: TensorLike | Operand) -> Operand:
        """Describe a tensor; what describes one already stays."""
        if isinstance(tensor, cls):
            return tensor
        integers = getattr(tensor, "integers", None)  # which nothing has that is read in chunks
        return cls(Shape(tensor.shape), tensor.dtype, tensor.decided_by, integers)

    @property
    def fractional(self) -> bool:
        """Whether a few floats have a fraction, or untyped text has one."""
        if self.dtype is None or self.dtype.kind is not Kind.FLOAT or self.integers is not None:
            return False
        sizes = self.shape.sizes
        return self.decided_by is not None or (
            sizes is not None and product(sizes) <= MOST_HINT_ELEMENTS
        )

    def described(self) -> str:
        """Write type and shape as one word, ``i64[2,5]``."""
        return described(self.dtype, self.shape.inner())

    def __str__(self) -> str:
        return self.described()


class CallContext:
    """A context that adds the operator and its inputs to every `GatherError` raised in it.

    `op` is None if all operators are called; `inputs` has those read so far, by name.
    """

    def __init__(self, op: Op | None, version_from: str | None = None) -> None:
        self.op = op
        self.version_from = version_from
        self.inputs: dict[str, Operand] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GatherError):
            self.add_to(error)

    def describe(self, tensors: Iterable[TensorLike | Operand]) -> None:
        """Set the inputs, in the order of the row."""
        names = [each.name for each in self.op.inputs] if self.op else []
        self.inputs |= dict(zip(names, map(Operand.of, tensors), strict=True))

    def add_to(self, error: GatherError) -> None:
        """Add the operator and the inputs to an error."""
        inputs = {name: each.described() for name, each in self.inputs.items()}
        error.add_call(self.op and self.op.full_name, inputs, self.version_from)


class Call:
    """An operator version with the inputs and attributes of one call.

    `attrs` are as passed; the properties `axis` and `batch_dims` are normalized. With
    `shapes_only` the inputs have no values, so that an axis that is an input may be unknown.
    `version_from` is the environment variable that named the version, if one did.
    """

    def __init__(
        self,
        op: Op,
        family: Family,
        inputs: Mapping[str, Operand],
        attrs: Mapping[str, Any],
        *,
        negative: Negative = Negative.SPEC,
        out_of_range: OutOfRange = OutOfRange.SPEC,
        shapes_only: bool = False,
        version_from: str | None = None,
    ) -> None:
        self.op, self.family, self.inputs, self.attrs = op, family, inputs, attrs
        self.negative, self.out_of_range = negative, out_of_range
        self.shapes_only, self.version_from = shapes_only, version_from

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickle keep: the operator by the name of its module."""
        return vars(self) | {"family": self.family.__name__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from importlib import import_module

        self.__dict__ |= state | {"family": import_module(state["family"])}

    @cached_property
    def shape(self) -> Shape:
        """The output shape, as far as the shapes of the inputs are known."""
        return self.family.infer(self)

    @cached_property
    def gather(self) -> AxisGather | None:
        """The call as a gather along one axis of a view of `data`; None if there is none."""
        return self.family.as_gather(self)

    @cached_property
    def indexed(self) -> dict[str, list[IndexedAxis]]:
        """The indexed axes of each input of indices."""
        axes = self.family.indexed_axes(self)
        return {
            each.name: [along for along in axes if along.input == each.name]
            for each in self.op.inputs
            if each.values
        }

    @property
    def data(self) -> Operand:
        """The first input, whose elements are copied."""
        return next(iter(self.inputs.values()))

    @property
    def indices(self) -> Operand:
        """The input named ``indices``."""
        return self.inputs["indices"]

    @property
    def raw_axis(self) -> Any:
        """The axis, as passed."""
        return self.attrs.get("axis")

    @property
    def raw_batch_dims(self) -> Any:
        """batch_dims, as passed; 0 by default."""
        return self.attrs.get("batch_dims", 0)

    @cached_property
    def rank(self) -> int | None:
        """The rank of `data`; of element-wise operators that of `indices` if it is unknown."""
        if self.data.shape.rank is None and self.op.elementwise:
            return self.indices.shape.rank
        return self.data.shape.rank

    @property
    def axis_is_unknown(self) -> bool:
        """Whether the axis is passed as unknown."""
        return isinstance(self.raw_axis, str) and self.raw_axis in UNKNOWN_AXIS

    @cached_property
    def axis_number(self) -> int | None:
        """The axis as an integer, before normalization; None if it is unknown or no integer."""
        return as_integer(self.raw_axis)

    @cached_property
    def axis(self) -> int | None:
        """axis': counted from the front; None if that is not known."""
        return _from_front(self.axis_number, self.rank)

    @cached_property
    def batch_dims_number(self) -> int | None:
        """batch_dims as an integer, before normalization; None if it is none."""
        value = self.raw_batch_dims
        is_list = isinstance(value, list | tuple) or bool(getattr(value, "ndim", 0))
        return None if is_list else as_integer(value)

    @cached_property
    def batch_dims(self) -> int | None:
        """batch_dims': a negative value counts from the rank of `indices`."""
        indices = self.inputs.get("indices")
        return _from_front(self.batch_dims_number, indices and indices.shape.rank)

    @property
    def normalized(self) -> tuple[int, int]:
        """(axis', batch_dims') of a call with known shapes."""
        if self.axis is None or self.batch_dims is None:
            raise LookupError("the axis is not known")
        return self.axis, self.batch_dims

    @property
    def policies(self) -> dict[str, str]:
        """The values of the index policies other than ``spec``, by name."""
        values = {"negative": self.negative.value, "out_of_range": self.out_of_range.value}
        return {name: value for name, value in values.items() if value != "spec"}

    @property
    def wraps_negative(self) -> bool:
        """Whether a negative index counts from the end, once."""
        if self.negative is Negative.SPEC:
            return self.op.index_range is IndexRange.SIGNED
        return self.negative is Negative.WRAP

    def legal(self, s: int) -> tuple[int, int] | None:
        """Return the least and the greatest legal index on an axis of size `s`; None if s is 0."""
        return (-s if self.wraps_negative else 0, s - 1) if s else None

    @property
    def outside(self) -> OutOfRange:
        """The policy for an index outside the axis, after wrapping; never ``spec``."""
        if self.out_of_range is OutOfRange.SPEC:
            return self.op.out_of_range
        return self.out_of_range

    @property
    def fill(self) -> bool | float | None:
        """The value of cells whose index is outside; None for zero, or if nothing is filled.

        The extreme of a type is NaN, the least of signed and the greatest of unsigned integers, or
        true.
        """
        dtype = self.data.dtype
        if dtype is None or self.outside not in (OutOfRange.NAN, OutOfRange.EXTREME):
            return None
        if dtype.integral:
            return dtype.bounds[dtype.kind is Kind.UINT]
        if dtype.kind is Kind.BOOL:
            return True
        return -0.0 if dtype.lacks_nan else float("nan")  # which `ml_dtypes` makes of NaN


def _from_front(number: int | None, rank: int | None) -> int | None:
    if number is None or number >= 0:
        return number
    return None if rank is None else number + rank


def as_integer(value: Any) -> int | None:
    """Convert an integer of any kind, or the only one of a list or tensor of rank 1; else None.

    >>> as_integer(-1), as_integer([2]), as_integer(True), as_integer([[1]])
    (-1, 2, None, None)
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple) and len(value) == 1:
        (value,) = value
        if hasattr(value, "tolist"):
            value = value.tolist()
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def version_that(call: Call, does: Callable[[Op], bool], what: str, **instead: str) -> Hint | None:
    """Name a version that would accept, best of the same framework, or a setting `instead`."""
    willing = [op for op in call.family.ROWS if does(op) and op is not call.op]
    willing.sort(key=lambda op: (op.framework != call.op.framework, -op.version))
    if not willing:
        return None
    ways = ", or ".join(f"{{{name}}}" for name in ("version", *instead))
    return Hint(f"{willing[0].id} {what}: {ways}", version=willing[0].id, **instead)


def flattened(nested: Any) -> list[int]:
    """Return the integers of nested lists, such as `Operand.integers`."""
    if isinstance(nested, list):
        return [n for each in nested for n in flattened(each)]
    return [nested]
