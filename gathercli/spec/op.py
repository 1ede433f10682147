"""The declaration of an operator version: one row says all that sets it apart.

Every other part reads the row: the rules, the inference, the listing of `ops`, the options of the
command, the manual, the ids of the tests. Nothing asks for a version by number.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.spec.dtypes import PLAIN, DType, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from gathercli.spec.call import Call
    from gathercli.spec.coordinates import Position
    from gathercli.spec.shapes import Shape

    Walks = Sequence[tuple[int | None, int | None]]

INTEGERS = tuple(dtype for dtype in PLAIN if dtype.integral)
SIGNED_32_64 = tuple(d for d in PLAIN if d.kind is Kind.INT and d.bits >= 32)


class Indices(Enum):
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


class Axis(NamedTuple):
    """How an operator version takes its axis.

    Attributes
    ----------
    default
        What a caller who names no axis gets; None when the version requires one.
    is_input
        Whether the axis is a tensor given at run time, and so can be unknown to inference.
    source
        The words of the specification.
    """

    default: int | None
    is_input: bool
    source: str


class Op(NamedTuple):
    """One version of one operator.

    Attributes
    ----------
    framework, name, version
        ``openvino``, ``Gather``, 8: together the full name ``openvino.Gather-8``.
    family
        The command and the file of `gathercli.ops` it belongs to.
    axis
        How the axis is given.
    batch_dims
        Whether the version has that attribute.
    data_types, indices_types
        The element types each input takes.
    indices, outside
        The legal index values, and what becomes of the others (never ``spec``).
    off_axis
        GatherElements' rule for the other dimensions; None for Gather.
    narrows
        Whether inference narrows the dimensions that must be equal to what both inputs allow;
        otherwise those of `indices` are copied.
    equation, shape
        What an output cell is, and the formula of the output shape, as people read them.
    changes
        What this version changed.
    source
        Where the specification is found.
    """

    framework: str
    name: str
    version: int
    family: str
    axis: Axis
    batch_dims: bool
    data_types: tuple[DType, ...]
    indices_types: tuple[DType, ...]
    indices: Indices
    outside: OutOfRange
    off_axis: OffAxis | None
    narrows: bool
    equation: str
    shape: str
    changes: str
    source: str

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
        return FROM_THE_END if self.indices is Indices.SIGNED else self.outside.done

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
    "narrows": "inference",
}
"""What people read for the fields of a row; those not here are read by their own name."""

_WHOSE: Final = ("framework", "name", "version", "family", "changes", "source")
"""The fields that say whose row it is, and not what it does."""


def heading(field: str) -> str:
    """Return what people read for a field of a row."""
    return _HEADINGS.get(field, field)


def differences(a: Op, b: Op) -> tuple[str, ...]:
    """Name the fields in which two versions do not do the same, in the order of `Op`."""
    return tuple(
        field
        for field in Op._fields
        if field not in _WHOSE and getattr(a, field) != getattr(b, field)
    )


if TYPE_CHECKING:

    class Family(Protocol):
        """What each file of `gathercli.ops` provides."""

        COMMAND: str
        """The name of the command, ``gather-elements``."""
        ROWS: tuple[Op, ...]
        """Its versions; the first is the default of the command."""

        def infer(self, call: Call) -> Shape:
            """Return the shape of the output, from shapes alone."""

        def equation(self, call: Call) -> str:
            """Write what an output cell is, with the coordinates that this call has."""

        def sources(self, call: Call, indices: Any, cells: Position) -> Position:
            """Return the flat position in `data` that each output cell copies, or -1."""

        def walks(self, call: Call) -> Walks:
            """Return, for each output dimension, those of `data` and of `indices` it walks along.

            The fast way of `gathercli.arrays.kernel` to what `sources` names.
            """
