"""The declaration of an operator version: one row says all that sets it apart.

Every other part reads the row: the rules, the inference, the listing of `ops`, the options of the
command, the manual, the ids of the tests. Nothing asks for a version by number.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.spec.dtypes import PLAIN, DType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from gathercli.spec.call import Call
    from gathercli.spec.coordinates import Position
    from gathercli.spec.shapes import Shape

    DimMap = Sequence[tuple[int | None, int | None]]

INTEGERS = tuple(dtype for dtype in PLAIN if dtype.integral)
SIGNED_32_64 = tuple(d for d in PLAIN if d.kind is Kind.INT and d.bits >= 32)


class IndexRange(Enum):
    """Which index values address `data` on an axis of size s."""

    UNSIGNED = "[0, s-1]"
    SIGNED = "[-s, s-1]"


class OffAxis(Enum):
    """How the dimensions of GatherElements beside the axis must compare."""

    EQUAL = "indices.shape[d] == data.shape[d]"
    AT_MOST = "indices.shape[d] <= data.shape[d]"


class Negative(Enum):
    """What to do with k < 0 before anything else: `--negative`."""

    SPEC = "spec"
    WRAP = "wrap"
    ERROR = "error"


class OutOfRange(Enum):
    """What to do with a k that is then outside [0, s): of a row, and of `--out-of-range`."""

    SPEC = "spec"
    ERROR = "error"
    ZERO = "zero"
    CLAMP = "clamp"
    WRAP = "wrap"

    @property
    def done(self) -> str:
        """What was done, once it is done: ``zero-filled``."""
        return _DONE[self]


_DONE = {
    OutOfRange.SPEC: "as the version says",
    OutOfRange.ERROR: "refused",
    OutOfRange.ZERO: "zero-filled",
    OutOfRange.CLAMP: "clamped",
    OutOfRange.WRAP: "wrapped",
}


class Input(NamedTuple):
    """A tensor that an operator takes.

    Attributes
    ----------
    name
        ``data``, ``indices``, as the specification calls it.
    dtypes
        The element types it may have.
    values
        Whether its elements say where to gather: they are read and checked before the output.
    doc
        What it holds, for the help of the command.
    follows
        Whether its elements lead from one step to the one before, so that those count that are met.
    copied
        Whether outputs copy its elements too, as they copy those of the first input.
    """

    name: str
    dtypes: tuple[DType, ...]
    values: bool = False
    doc: str = ""
    follows: bool = False
    copied: bool = False


class Attr(NamedTuple):
    """A number that an operator takes beside its tensors.

    Attributes
    ----------
    name
        ``axis``, ``batch_dims``.
    default
        What a caller who names none gets; None when the version requires one.
    is_input
        Whether it is a tensor given at run time, and so can be unknown to inference.
    source
        The words of the specification.
    doc
        What it says, for the help of the command.
    """

    name: str
    default: int | None
    is_input: bool = False
    source: str = ""
    doc: str = ""


class Op(NamedTuple):
    """One version of one operator.

    Attributes
    ----------
    framework, name, version
        ``openvino``, ``Gather``, 8: together the full name ``openvino.Gather-8``.
    family
        The command and the file of `gathercli.ops` it belongs to.
    inputs, attrs
        The tensors it takes, in order, and the numbers beside them.
    index_range, out_of_range
        The legal index values, and what becomes of the others (never ``spec``).
    elementwise
        Whether an index picks one element, so that `indices` has the rank of `data`; otherwise it
        picks a slice.
    off_axis
        How the dimensions beside the axis compare; None where they need not.
    narrows
        Whether inference narrows the dimensions that must be equal to what both inputs allow;
        otherwise those of `indices` are copied.
    equation, shape
        What an output cell is, and the formula of the output shape, as people read them.
    changes
        What this version changed.
    source
        Where the specification is found.
    tuples
        Whether the last dimension of `indices` holds tuples, a component for each axis.
    shortest_tuple
        How many components a tuple must have.
    flattens_batch
        Whether the batch dimensions of the output become one.
    one_type
        Whether all inputs have one type, which untyped ones then take.
    """

    framework: str
    name: str
    version: int
    family: str
    inputs: tuple[Input, ...]
    attrs: tuple[Attr, ...]
    index_range: IndexRange
    out_of_range: OutOfRange
    elementwise: bool
    off_axis: OffAxis | None
    narrows: bool
    equation: str
    shape: str
    changes: str
    source: str
    tuples: bool = False
    shortest_tuple: int = 0
    flattens_batch: bool = False
    one_type: bool = False

    def input(self, name: str) -> Input:
        """Return the input of this name."""
        return next(each for each in self.inputs if each.name == name)

    def attr(self, name: str) -> Attr | None:
        """Return the attribute of this name; None where the version has none."""
        return next((each for each in self.attrs if each.name == name), None)

    @property
    def axis(self) -> Attr:
        """How the axis is given."""
        axis = self.attr("axis")
        if axis is None:
            raise LookupError(f"{self} has no axis")
        return axis

    @property
    def has_batch_dims(self) -> bool:
        """Whether the version has batch dimensions."""
        return self.attr("batch_dims") is not None

    @property
    def full_name(self) -> str:
        """The name it is known by everywhere: ``openvino.Gather-8``."""
        return f"{self.framework}.{self.name}-{self.version}"

    @property
    def id(self) -> str:
        """The short name that `--version` takes: ``openvino-8``."""
        return f"{self.framework}-{self.version}"

    @property
    def negative(self) -> str:
        """What becomes of an index from -s to -1."""
        return FROM_THE_END if self.index_range is IndexRange.SIGNED else self.out_of_range.done

    def __str__(self) -> str:
        return self.full_name

    def __repr__(self) -> str:
        return f"<{self.full_name}>"


FROM_THE_END: Final = "counted from the end"
_HEADINGS: Final = {
    "data_types": "data",
    "indices_types": "indices",
    "indices": "legal indices",
    "outside": "other indices",
    "off_axis": "beside the axis",
    "shortest_tuple": "shortest tuple",
    "narrows": "inference",
}
"""What people read for what sets versions apart; what is not here is read by its own name."""


def traits(op: Op) -> dict[str, object]:
    """Return what a version does, by the names that `differences` gives."""
    return {
        "axis": op.attr("axis"),
        "batch_dims": op.attr("batch_dims"),
        **{f"{each.name}_types": each.dtypes for each in op.inputs},
        "indices": op.index_range,
        "outside": op.out_of_range,
        "off_axis": op.off_axis,
        "shortest_tuple": op.shortest_tuple,
        "narrows": op.narrows,
        "equation": op.equation,
        "shape": op.shape,
    }


def heading(trait: str) -> str:
    """Return what people read for a trait of a version."""
    return _HEADINGS.get(trait, trait)


def differences(a: Op, b: Op) -> tuple[str, ...]:
    """Name the traits in which two versions do not do the same."""
    of_a, of_b = traits(a), traits(b)
    return tuple(trait for trait in of_a | of_b if of_a.get(trait) != of_b.get(trait))


class IndexedAxis(NamedTuple):
    """What the indices of an input count along.

    Attributes
    ----------
    input
        The name of the input.
    axis, size
        The dimension of `data`, as the caller wrote it, and its size.
    component
        Where the last dimension of the input holds tuples: the component that counts along this
        axis; None where every element does.
    """

    input: str
    axis: int
    size: int
    component: int | None = None


class AxisGather(NamedTuple):
    """A gather along one axis of a view of `data`.

    Attributes
    ----------
    axis
        The dimension of the view that an index, or a tuple, replaces.
    dim_map
        For each output dimension, those of the view and of `indices` it runs along.
    view
        The shape of the view, in which the dimensions that a tuple counts along are one.
    """

    axis: int
    dim_map: DimMap
    view: tuple[int, ...]


if TYPE_CHECKING:

    class Family(Protocol):
        """What each file of `gathercli.ops` provides."""

        COMMAND: str
        """The name of the command, ``gather-elements``."""
        SUMMARY: str
        """What the operator does, in a few words."""
        ROWS: tuple[Op, ...]
        """Its versions; the first is the default of the command."""
        RULES: tuple[Callable[[Call], None], ...]
        """The rules of `gathercli.spec.rules` that shapes and types decide, in order of trial."""

        def infer(self, call: Call) -> Shape:
            """Return the shape of the output, from shapes alone."""

        def equation(self, call: Call) -> str:
            """Write what an output cell is, with the coordinates that this call has."""

        def sources(self, call: Call, points: Mapping[str, Any], cells: Position) -> Position:
            """Return the flat position in `data` that each output cell copies, or -1."""

        def indexed_axes(self, call: Call) -> tuple[IndexedAxis, ...]:
            """Return what each input of indices counts along."""

        def as_gather(self, call: Call) -> AxisGather | None:
            """Return the same as a gather along one axis of `data`; None where it is none.

            The fast way of `gathercli.arrays.kernel` to what `sources` names.
            """
