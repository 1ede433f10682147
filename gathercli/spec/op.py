"""The declaration of an operator version: one row says all that sets it apart.

Every other part reads the row: the rules, the inference, the listing of `ops`, the options of the
command, the manual, the ids of the tests. No part asks for a version by number.
"""

from __future__ import annotations

from gathercli.records import Enum, NamedTuple
from gathercli.spec.dtypes import BFLOAT16, PLAIN, DType, Kind

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final, TypeAlias

DimMap: TypeAlias = "Sequence[tuple[int | None, int | None]]"
INTEGERS = tuple(dtype for dtype in PLAIN if dtype.integral)
BEFORE_BFLOAT16 = tuple(dtype for dtype in PLAIN if dtype is not BFLOAT16)
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
    NAN = "nan"
    EXTREME = "extreme"
    CLAMP = "clamp"
    WRAP = "wrap"
    UNDEFINED = "undefined"

    @property
    def done(self) -> str:
        """The past participle, for messages: ``zero-filled``."""
        return _DONE[self]

    @property
    def filling(self) -> str:
        """What the cells of such an index get, for people: ``zeros``; empty if they copy."""
        return _FILLINGS.get(self, "")

    @property
    def fills(self) -> bool:
        """Whether the cells of such an index copy nothing, and get a value."""
        return self in _FILLINGS

    @property
    def refuses(self) -> bool:
        """Whether there is no answer for such an index."""
        return self in (OutOfRange.ERROR, OutOfRange.UNDEFINED)

    @property
    def position(self) -> OutOfRange:
        """The policy by which positions are computed: refused, none, or moved."""
        if self.fills:
            return OutOfRange.ZERO
        return OutOfRange.ERROR if self.refuses else self


# The values of `--out-of-range`; what a framework leaves undefined is nobody's wish.
OUT_OF_RANGE_CHOICES: Final = tuple(
    each.value for each in OutOfRange if each is not OutOfRange.UNDEFINED
)

# The names of `OutOfRange` in other programs, with those here.
OTHER_NAMES: Final = {"clip": "clamp", "raise": "error"} | dict.fromkeys(
    ("fill", "0", "0.0", "zeros"), "zero"
)


_DONE = {
    OutOfRange.SPEC: "as the version says",
    OutOfRange.ERROR: "refused",
    OutOfRange.ZERO: "zero-filled",
    OutOfRange.NAN: "filled with NaN",
    OutOfRange.EXTREME: "filled with NaN or an extreme of the type",
    OutOfRange.CLAMP: "clamped",
    OutOfRange.WRAP: "wrapped",
    OutOfRange.UNDEFINED: "undefined",
}


_FILLINGS = {
    OutOfRange.ZERO: "zeros",
    OutOfRange.NAN: "NaN",
    OutOfRange.EXTREME: "NaN or an extreme",
}


class Framework(NamedTuple):
    """A framework that publishes versions of operators."""

    title: str  # its name for people
    newest_opset: int  # the newest one covered; later ones may change an operator
    source: str  # the specification of `op`
    page: str  # its address


FRAMEWORKS: Final = {
    "openvino": Framework(  # 2026.4
        "OpenVINO",
        16,
        "OpenVINO operation set, {op.name}-{op.version}",
        "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/"
        "operation-specs/movement/{op.family}-{op.version}.html",
    ),
    "onnx": Framework(  # 1.23
        "ONNX",
        28,
        "ONNX operator schemas, {op.name} (opset {op.version})",
        "https://onnx.ai/onnx/operators/onnx__{op.name}.html",
    ),
}


class Input(NamedTuple):
    """An input of an operator."""

    name: str  # in the specification: ``data``, ``indices``
    dtypes: tuple[DType, ...]
    values: bool = False  # whether its elements are indices, checked before the output is computed
    doc: str = ""  # its meaning, for the help of the command
    follows: bool = False  # each step indexes the step before: only elements on a path are used
    # whether output cells may copy its elements, as they copy those of the first
    copied: bool = False
    rank: str = ""  # or shape, for people, where it is not as for Gather and GatherElements


class Attr(NamedTuple):
    """An attribute of an operator: an integer."""

    name: str
    default: int | None  # None if the version requires a value
    # whether the specification makes it an input, which inference may not know
    is_input: bool = False
    source: str = ""  # what the specification says of it
    doc: str = ""  # its meaning, for the help of the command


AXIS = Attr(
    "axis",
    default=0,
    source="INT, optional; the schema's default is 0",
    doc="The dimension of DATA to gather along; negative counts from the end",
)
BATCH_DIMS = Attr("batch_dims", default=0, doc="Leading dimensions that are batches")


class Adaptation(NamedTuple):
    """What a call of a framework does to its inputs before it gathers."""

    flattens: bool = False  # `data` are flattened if there is no axis
    axis_of_batch: bool = False  # the axis defaults to batch_dims
    scalars: Sequence[str] = ()  # the inputs that are 1-D if they are 0-D
    broadcasts: bool = False  # beside the axis, dimensions of 1 of `data` and `indices` repeat
    narrow: Mapping[DType, DType] = {}  # the types whose elements are cut to others
    index_bits: int = 64  # the bits of an index that are read


class Op(NamedTuple):
    """One version of one operator, or the operator of a framework that numbers no versions."""

    framework: str
    name: str
    version: int  # 0 for an operator without versions
    family: str  # the command, and the module of `gathercli.ops`
    inputs: tuple[Input, ...]
    attrs: tuple[Attr, ...]
    index_range: IndexRange  # the legal indices
    out_of_range: OutOfRange  # the policy for all others; never ``spec``
    equation: str  # of an output cell, for people
    shape: str  # the formula of the output shape, for people
    changes: str = "the first version"  # what the version changed
    # an index picks one element, `indices` have the rank of `data`; else it picks a slice
    elementwise: bool = False
    off_axis: OffAxis | None = None  # how dimensions beside the axis compare; None: they need not
    # inference meets dimensions that must be equal; else it copies those of `indices`
    narrows: bool = False
    # the last dimension of `indices` holds tuples, with a component for each axis
    tuples: bool = False
    shortest_tuple: int = 0  # the smallest length of a tuple
    flattens_batch: bool = False  # the output has its batch dimensions flattened into one
    one_type: bool = False  # all inputs have one type; untyped inputs take that of the others
    adapts: Adaptation | None = None  # None if the inputs are used as they are
    least_rank: int = 0  # of `data`
    most_rank: int | None = None
    least_index_rank: int = 0  # of `indices`
    most_index_rank: int | None = None
    most_batch_dims: int | None = None
    only_axis: int | None = None  # None for any
    checks_empty: bool = True  # whether indices are checked if the output has no elements
    full: str = ""  # what has elements if there is an index: the ``axis``, or all ``data``
    prefix: str = ""  # of the number of a version: ``ios`` of ``coreml-ios17``
    # whether a negative index is refused that does not count from the end, whatever others are
    refuses_negative: bool = False
    text: str = ""  # what the row was read in, or run with; empty for `FRAMEWORKS`

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
    def has_batch_dims(self) -> bool:
        """Whether the version has batch dimensions."""
        return self.attr("batch_dims") is not None

    @property
    def requires_axis(self) -> bool:
        """Whether a call without an axis is refused."""
        axis, how = self.attr("axis"), self.adapts or Adaptation()
        return axis is not None and axis.default is None and not (how.flattens or how.axis_of_batch)

    @property
    def full_name(self) -> str:
        """The full name: ``openvino.Gather-8``, ``torch.gather``."""
        name = f"{self.framework}.{self.name}"
        return f"{name}-{self.prefix}{self.version}" if self.version else name

    @property
    def id(self) -> str:
        """The short name, for `--version`: ``openvino-8``, ``torch.gather``."""
        return f"{self.framework}-{self.prefix}{self.version}" if self.version else self.full_name

    @property
    def negative(self) -> str:
        """The fate of an index from -s to -1, for people."""
        if self.index_range is IndexRange.SIGNED:
            return FROM_THE_END
        return REFUSED if self.refuses_negative else self.out_of_range.done

    @property
    def most_tensor_rank(self) -> int | None:
        """The most dimensions of any tensor; None unless `data` and `indices` have one limit."""
        return self.most_rank if self.most_rank == self.most_index_rank else None

    @property
    def source(self) -> str:
        """The specification, or what was read or run in its place."""
        return self.text or FRAMEWORKS[self.framework].source.format(op=self)

    @property
    def page(self) -> str:
        """The address of the specification; empty if there is none."""
        return "" if self.text else FRAMEWORKS[self.framework].page.format(op=self)

    def __str__(self) -> str:
        return self.full_name

    def __hash__(self) -> int:
        return hash((self.framework, self.name, self.version))

    def __repr__(self) -> str:
        return f"<{self.full_name}>"


FROM_THE_END: Final = "counted from the end"
REFUSED: Final = OutOfRange.ERROR.done


class IndexedAxis(NamedTuple):
    """A dimension of `data` that the indices of an input count along."""

    input: str  # its name
    axis: int  # as passed by the caller
    size: int
    # of the tuples, that counts along this axis; None if every element does
    component: int | None = None


class AxisGather(NamedTuple):
    """A gather along one axis of a view of `data`."""

    axis: int  # the dimension of the view that an index, or a tuple, replaces
    # for each output dimension, those of the view and of `indices` that it runs along
    dim_map: DimMap
    view: tuple[int, ...]  # the shape of `data`, with the axes that a tuple counts along merged
