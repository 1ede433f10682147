"""The declaration of an operator version: one row says all that sets it apart.

Every other part reads the row: the rules, the inference, the listing of `ops`, the options of the
command, the manual, the ids of the tests. Nothing asks for a version by number.
"""

from __future__ import annotations

from gathercli.records import Enum, NamedTuple
from gathercli.spec.dtypes import PLAIN, DType, Kind

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

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
        """The past participle, for messages: ``zero-filled``."""
        return _DONE[self]


OTHER_NAMES: Final = {
    "clip": "clamp",
    "raise": "error",
    "fill": "zero",
    "0": "zero",
    "0.0": "zero",
    "zeros": "zero",
}
"""The names of `OutOfRange` in other programs, with those here."""


_DONE = {
    OutOfRange.SPEC: "as the version says",
    OutOfRange.ERROR: "refused",
    OutOfRange.ZERO: "zero-filled",
    OutOfRange.CLAMP: "clamped",
    OutOfRange.WRAP: "wrapped",
}


class Input(NamedTuple):
    """An input of an operator.

    Attributes
    ----------
    name
        Its name in the specification: ``data``, ``indices``.
    dtypes
        The element types it may have.
    values
        Whether its elements are indices, which are checked before the output is computed.
    doc
        Its meaning, for the help of the command.
    follows
        Whether each step's elements index the step before, so that only those on a path are used.
    copied
        Whether output cells may copy its elements, as they copy those of the first input.
    rank
        Its rank or shape, as people read it, where that is not as for Gather and GatherElements.
    """

    name: str
    dtypes: tuple[DType, ...]
    values: bool = False
    doc: str = ""
    follows: bool = False
    copied: bool = False
    rank: str = ""


class Attr(NamedTuple):
    """An attribute of an operator: an integer.

    Attributes
    ----------
    name
        ``axis``, ``batch_dims``.
    default
        The default; None if the version requires a value.
    is_input
        Whether the specification makes it an input, which inference may not know.
    source
        What the specification says of it.
    doc
        Its meaning, for the help of the command.
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
        The command, and the module of `gathercli.ops`.
    inputs, attrs
        The inputs and the attributes, in order.
    index_range, out_of_range
        The legal indices, and the policy for all others; never ``spec``.
    elementwise
        Whether an index picks one element, and `indices` has the rank of `data`; otherwise it
        picks a slice.
    off_axis
        How the dimensions beside the axis must compare; None if they need not.
    narrows
        Whether inference meets dimensions that must be equal; otherwise it copies those of
        `indices`.
    equation, shape
        The equation of an output cell and the formula of the output shape, for people.
    changes
        What the version changed.
    source
        The specification.
    tuples
        Whether the last dimension of `indices` holds tuples, with a component for each axis.
    shortest_tuple
        The smallest length of a tuple.
    flattens_batch
        Whether the output has its batch dimensions flattened into one.
    one_type
        Whether all inputs have one type; untyped inputs then take that of the others.
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
        """Return the attribute of this name; None if the version has none."""
        return next((each for each in self.attrs if each.name == name), None)

    @property
    def followed(self) -> Input | None:
        """The input whose steps index the steps before; None if there is none."""
        return next((each for each in self.inputs if each.follows), None)

    @property
    def axis(self) -> Attr:
        """The attribute ``axis``."""
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
        """The full name: ``openvino.Gather-8``."""
        return f"{self.framework}.{self.name}-{self.version}"

    @property
    def id(self) -> str:
        """The short name, for `--version`: ``openvino-8``."""
        return f"{self.framework}-{self.version}"

    @property
    def negative(self) -> str:
        """The fate of an index from -s to -1, for people."""
        return FROM_THE_END if self.index_range is IndexRange.SIGNED else self.out_of_range.done

    @property
    def page(self) -> str:
        """The address of the specification."""
        return _PAGES[self.framework].format(self.name, self.version, family=self.family)

    def __str__(self) -> str:
        return self.full_name

    def __hash__(self) -> int:
        return hash((self.framework, self.name, self.version))

    def __repr__(self) -> str:
        return f"<{self.full_name}>"


FROM_THE_END: Final = "counted from the end"
_PAGES: Final = {
    "openvino": "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/"
    "operation-specs/movement/{family}-{1}.html",
    "onnx": "https://onnx.ai/onnx/operators/onnx__{0}.html",
}
"""The address of a specification by framework: {0} is the name of the operator, {1} its version."""

_HEADINGS: Final = {
    "data_types": "data",
    "indices_types": "indices",
    "indices": "legal indices",
    "outside": "other indices",
    "off_axis": "beside the axis",
    "shortest_tuple": "shortest tuple",
    "narrows": "inference",
}
"""The names of traits, for people, where they differ from those in the code."""


def traits(op: Op) -> dict[str, object]:
    """Return the traits of a version, by name."""
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
    """Return the name of a trait, for people."""
    return _HEADINGS.get(trait, trait.removesuffix("_types"))


def differences(a: Op, b: Op) -> tuple[str, ...]:
    """Return the names of the traits in which two versions differ."""
    of_a, of_b = traits(a), traits(b)
    return tuple(trait for trait in of_a | of_b if of_a.get(trait) != of_b.get(trait))


class IndexedAxis(NamedTuple):
    """A dimension of `data` that the indices of an input count along.

    Attributes
    ----------
    input
        The name of the input.
    axis, size
        The dimension, as passed by the caller, and its size.
    component
        The component of the tuples that counts along this axis; None if every element does.
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
        For each output dimension, the dimensions of the view and of `indices` it runs along.
    view
        The shape of the view: that of `data`, with the axes that a tuple counts along merged.
    """

    axis: int
    dim_map: DimMap
    view: tuple[int, ...]
