"""One call of an operator version: its inputs as far as they are known, its attributes as given."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from gathercli.errors import GatherError
from gathercli.spec.dtypes import DType, described
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    from gathercli.spec.op import Op

    class TensorLike(Protocol):
        """What has the type and the shape of a tensor."""

        @property
        def dtype(self) -> DType:
            """The type of the elements."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Sizes of the dimensions."""

        @property
        def decided(self) -> str | None:
            """Where untyped text decided the type."""


UNKNOWN_AXIS: Final = ("unknown", "?")
"""What `axis` says when it is an input whose value inference does not know."""


class Operand(NamedTuple):
    """What is known of an input without its values.

    Attributes
    ----------
    shape, dtype
        Its shape, and its type or None when only the shape was given.
    decided
        Where untyped text decided the type (``$[1][2]``), for the message of a refusal.
    integers
        What fractions or booleans of it may be meant as, for the hint: `Tensor.integers`.
    """

    shape: Shape
    dtype: DType | None = None
    decided: str | None = None
    integers: Any = None

    @classmethod
    def of(cls, tensor: TensorLike | Operand) -> Operand:
        """Describe a tensor; what describes one already stays."""
        if isinstance(tensor, cls):
            return tensor
        integers = getattr(tensor, "integers", None)  # which nothing has that is read in chunks
        return cls(Shape(tensor.shape), tensor.dtype, tensor.decided, integers)

    def described(self) -> str:
        """Write type and shape as one word, ``i64[2,5]``."""
        return described(self.dtype, self.shape.inner())

    def __str__(self) -> str:
        return self.described()


class CallContext:
    """The call that is being put together or run; a refusal that leaves the context names it.

    Attributes
    ----------
    op
        The row; None where every operator is called.
    inputs
        The inputs that were read so far, by name.
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
        """Take the inputs of the row, all of them read."""
        names = [each.name for each in self.op.inputs] if self.op else []
        self.inputs |= dict(zip(names, map(Operand.of, tensors), strict=True))

    def add_to(self, error: GatherError) -> None:
        """Let a refusal name the call."""
        error.add_call(self.op and self.op.full_name, self.inputs, self.version_from)


@dataclass(frozen=True)
class Call:
    """An operator version with the shapes, types and attributes of one use.

    Attributes
    ----------
    op, versions
        The row, and all rows of its family (for the hint that names one which would accept).
    inputs
        The inputs, described, by name.
    attrs
        The attributes as they were passed, by name; `axis` and `batch_dims` are them normalised.
    negative, out_of_range
        How illegal index values are treated.
    shapes_only
        Whether there are no values, so that an axis that is an input may be unknown.
    version_from
        The variable that names the row, if who calls did not.
    """

    op: Op
    versions: tuple[Op, ...]
    inputs: Mapping[str, Operand]
    attrs: Mapping[str, Any]
    negative: Negative = Negative.SPEC
    out_of_range: OutOfRange = OutOfRange.SPEC
    shapes_only: bool = False
    version_from: str | None = None

    @property
    def data(self) -> Operand:
        """What is gathered: the first input."""
        return next(iter(self.inputs.values()))

    @property
    def indices(self) -> Operand:
        """What says where."""
        return self.inputs["indices"]

    @property
    def axis_given(self) -> Any:
        """The axis as it was passed."""
        return self.attrs.get("axis")

    @property
    def batch_dims_given(self) -> Any:
        """batch_dims as it was passed; 0 where it was not."""
        return self.attrs.get("batch_dims", 0)

    @cached_property
    def rank(self) -> int | None:
        """Rank of `data`, where elements are gathered also known from `indices`."""
        if self.data.shape.rank is None and self.op.elementwise:
            return self.indices.shape.rank
        return self.data.shape.rank

    @property
    def axis_is_unknown(self) -> bool:
        """Whether the axis was said to be unknown."""
        return isinstance(self.axis_given, str) and self.axis_given in UNKNOWN_AXIS

    @cached_property
    def axis_number(self) -> int | None:
        """The axis as given; None when it is unknown or no integer."""
        return as_integer(self.axis_given)

    @cached_property
    def axis(self) -> int | None:
        """axis': counted from the front; None when that cannot be known."""
        return _from_front(self.axis_number, self.rank)

    @cached_property
    def batch_dims_number(self) -> int | None:
        """batch_dims as given."""
        given = self.batch_dims_given
        is_list = isinstance(given, list | tuple) or bool(getattr(given, "ndim", 0))
        return None if is_list else as_integer(given)

    @cached_property
    def batch_dims(self) -> int | None:
        """batch_dims': negative values count from the rank of `indices`."""
        return _from_front(self.batch_dims_number, self.indices.shape.rank)

    @property
    def size(self) -> int:
        """s: the size of `data` along the axis, once both are known."""
        if self.axis is None:
            raise LookupError("the axis is not known")
        size = self.data.shape[self.axis]
        if isinstance(size, int):
            return size
        raise LookupError("the size of the axis is not known")

    @property
    def places(self) -> tuple[int, int]:
        """(axis', batch_dims') of a call whose shapes are all known."""
        if self.axis is None or self.batch_dims is None:
            raise LookupError("the axis is not known")
        return self.axis, self.batch_dims

    @property
    def wraps_negative(self) -> bool:
        """Whether a negative index counts from the end, once."""
        if self.negative is Negative.SPEC:
            return self.op.index_range is IndexRange.SIGNED
        return self.negative is Negative.WRAP

    def legal(self, s: int) -> tuple[int, int] | None:
        """Return the least and the greatest index on an axis of size `s`, wrapped ones included.

        An axis without elements has none.
        """
        return (-s if self.wraps_negative else 0, s - 1) if s else None

    @property
    def outside(self) -> OutOfRange:
        """What happens to an index that stays outside the axis; never ``spec``."""
        if self.out_of_range is OutOfRange.SPEC:
            return self.op.out_of_range
        return self.out_of_range


def _from_front(number: int | None, rank: int | None) -> int | None:
    if number is None or number >= 0:
        return number
    return None if rank is None else number + rank


def as_integer(given: Any) -> int | None:
    """Read an attribute that must be one integer.

    Parameters
    ----------
    given
        An integer of any kind, or a 0-D or one-element 1-D tensor or list of one.

    Returns
    -------
        The integer; None when `given` is anything else (a boolean, 1.0, two elements).

    >>> as_integer(-1), as_integer([2]), as_integer(True), as_integer([[1]])
    (-1, 2, None, None)
    """
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, list | tuple) and len(given) == 1:
        (given,) = given
        if hasattr(given, "tolist"):
            given = given.tolist()
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)
    except TypeError:
        return None
