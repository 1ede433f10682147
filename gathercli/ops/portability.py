"""The targets of a conversion, and the operators they run in place of those of a model.

::

    target("tflite")  ->  ConversionTarget  ->  TargetOperator    its row, and the fates of indices

A row of a target is an `Op`, so that `bind` tries the rules of the target on a call. Nothing
here asks a target by name: `TARGETS` says all.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.errors import UsageError, VersionError
from gathercli.ops import FAMILIES, gather, gather_elements, gather_nd
from gathercli.ops.versions import find
from gathercli.spec.dtypes import (
    DTYPES,
    FLOAT64,
    INT64,
    PLAIN,
    STRING,
    UINT64,
    DType,
    Kind,
)
from gathercli.spec.dtypes import dtype as named
from gathercli.spec.op import (
    FRAMEWORKS,
    FROM_THE_END,
    INTEGERS,
    REFUSED,
    IndexRange,
    Op,
    OutOfRange,
)
from gathercli.text import closest, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNDEFINED: Final = "undefined"
"""The fate of an index for which a target promises nothing: it reads whatever lies there."""

ZERO: Final = OutOfRange.ZERO.done
CLAMPED: Final = OutOfRange.CLAMP.done


class Evidence(Enum):
    """How a target's entry is known."""

    PROBED = "probed"
    READ = "read"


class TargetOp(Op):
    """A row of a target whose operators have no versions of their own."""

    __slots__ = ()

    @property
    def full_name(self) -> str:
        """The full name: ``tflite.GATHER``."""
        return f"{self.framework}.{self.name}"


class TargetOperator(NamedTuple):
    """What a target runs in place of an operator."""

    op: Op  # the row, whose rules decide shapes, types and attributes
    negative: str  # the fate of an index from -s to -1
    outside: str  # the fate of any other that is not on the axis
    most_batch_dims: int | None = None  # None for no limit


class ConversionTarget(NamedTuple):
    """A runtime, or a format, that a model is converted to."""

    name: str  # the value of `--to`
    title: str  # the name for people, with the release that was probed
    operators: Mapping[str, TargetOperator]  # by family, without those that the target lacks
    evidence: Evidence
    sources: tuple[str, ...]  # from where this is known
    # types of data that are computed in another type, of fewer bits
    narrow: Mapping[DType, DType] = {}
    index_bits: int = 64  # in which indices are computed
    most_rank: int | None = None  # of a tensor; None for no limit
    keeps_versions: bool = False  # whether it runs the versions of its own framework as they are

    def runs(self, op: Op) -> TargetOperator | None:
        """Return what the target runs in place of a row; None if it has no such operator."""
        runs = self.operators.get(op.family)
        is_own = self.keeps_versions and runs is not None and runs.op.framework == op.framework
        if runs is None or not is_own or runs.op.version == op.version:
            return runs
        return runs._replace(op=op, negative=UNDEFINED, outside=UNDEFINED)

    @property
    def most_index(self) -> int:
        """The largest index that the target computes."""
        return int(2 ** (self.index_bits - 1) - 1)


def _types(words: str) -> tuple[DType, ...]:
    return tuple(map(named, words.split()))


def _without(types: Iterable[DType], *left: DType) -> tuple[DType, ...]:
    return tuple(each for each in types if each not in left and each.kind is not Kind.COMPLEX)


def _typed(op: Op, data: tuple[DType, ...], indices: tuple[DType, ...] | None = None) -> Op:
    """Return a row with other types."""
    types = {"data": data} | ({} if indices is None else {"indices": indices})
    return op._replace(
        inputs=tuple(each._replace(dtypes=types.get(each.name, each.dtypes)) for each in op.inputs)
    )


_FOLLOWED: Final = {
    "gather": gather.OPENVINO_8,
    "gather-elements": gather_elements.ONNX_13,
    "gather-nd": gather_nd.ONNX_13,
}
"""The rows that targets without versions follow: with `batch_dims`, or smaller `indices`."""


def _unversioned(
    framework: str,
    names: tuple[str, str, str],
    types: tuple[DType, ...],
    indices: tuple[DType, ...],
    fates: tuple[str, str],
) -> dict[str, TargetOperator]:
    """Return the operators of a target without versions, where the axis is an attribute.

    `names` are those of Gather, GatherElements and GatherND; `fates` those of an index from -s to
    -1, and of any other that is not on the axis.
    """
    operators = {}
    for (command, row), name in zip(_FOLLOWED.items(), names, strict=True):
        op = _typed(row, types, indices)._replace(
            framework=framework,
            name=name,
            attrs=tuple(each._replace(is_input=False, default=0) for each in row.attrs),
        )
        operators[command] = TargetOperator(TargetOp(*op), *fates)
    return operators


_WIDE: Final = {INT64: named("int32"), UINT64: named("uint32"), FLOAT64: named("float32")}


def _openvino() -> ConversionTarget:
    types = _without(DTYPES)
    families = {command: family.ROWS[0] for command, family in FAMILIES.items()}
    return ConversionTarget(
        "openvino",
        "OpenVINO 2026.4, CPU",
        {
            "gather": TargetOperator(_typed(families["gather"], types), FROM_THE_END, ZERO),
            "gather-elements": TargetOperator(
                _typed(families["gather-elements"], types), FROM_THE_END, REFUSED
            ),
            "gather-nd": TargetOperator(
                _typed(families["gather-nd"], _without(types, STRING))._replace(shortest_tuple=1),
                FROM_THE_END,
                UNDEFINED,
            ),
            "gather-tree": TargetOperator(families["gather-tree"], REFUSED, REFUSED),
        },
        Evidence.PROBED,
        (
            "OpenVINO operation set: Gather-8, GatherElements-6, GatherND-8, GatherTree-1",
            "openvino issue 35687",
            "openvino PR 30800, 32660",
        ),
        narrow=_WIDE,
        index_bits=32,
        keeps_versions=True,
    )


def _tflite() -> ConversionTarget:
    types, indices = _types("bool int8 int16 int32 int64 uint8 float32"), _types("int32 int64")
    names = "GATHER", "GATHER_ND", "GATHER_ND"  # as converters write single elements
    operators = _unversioned("tflite", names, types, indices, (REFUSED, REFUSED))
    tuples = operators["gather-nd"]
    operators["gather-nd"] = tuples._replace(op=_typed(tuples.op, (*types, STRING)))
    return ConversionTarget(
        "tflite",
        "TensorFlow Lite 2.21",
        operators,
        Evidence.PROBED,
        ("its kernels gather.cc and gather_nd.cc", "onnx2tf issue 275"),
    )


def _tensorrt() -> ConversionTarget:
    types = _types("bool int8 int32 int64 float16 float32 bfloat16 float8_e4m3fn int4")
    names = "Gather", "GatherElements", "GatherND"
    operators = _unversioned("tensorrt", names, types, _types("int32 int64"), (UNDEFINED, ZERO))
    operators["gather"] = operators["gather"]._replace(most_batch_dims=1)
    return ConversionTarget(
        "tensorrt",
        "TensorRT 10",
        operators,
        Evidence.READ,
        (
            "TensorRT operators, Gather: indices from 0 on, cast to int32 unless the data is int64",
            "TensorRT issues 1229, 4774",
            "onnx-tensorrt PR 678, 681",
        ),
        index_bits=32,
    )


def _coreml() -> ConversionTarget:
    types = _types("float16 float32 int32 int64 float64")
    indices = _types("int16 uint16 int32 int64")
    names = "gather", "gather_along_axis", "gather_nd"
    return ConversionTarget(
        "coreml",
        "Core ML, iOS 17",
        _unversioned("coreml", names, types, indices, (UNDEFINED, UNDEFINED)),
        Evidence.READ,
        ("coremltools, MIL operators of iOS 17", "onnxruntime PR 28278"),
        narrow={INT64: named("int32"), FLOAT64: named("float32")},
        index_bits=32,
        most_rank=5,
    )


def _webnn() -> ConversionTarget:
    types = _types("float32 float16 int32 uint32 int64 uint64 int8 uint8 int4 uint4")
    names, indices = ("gather", "gatherElements", "gatherND"), _types("int32 uint32 int64")
    operators = _unversioned("webnn", names, types, indices, (FROM_THE_END, CLAMPED))
    for command, runs in operators.items():
        attrs = tuple(each for each in runs.op.attrs if each.name != "batch_dims")
        operators[command] = runs._replace(op=runs.op._replace(attrs=attrs))
    return ConversionTarget(
        "webnn",
        "WebNN",
        operators,
        Evidence.READ,
        ("W3C Web Neural Network API, gather", "webnn issues 484, 486", "webnn PR 642"),
    )


def _xla() -> ConversionTarget:
    types = tuple(each for each in PLAIN if each is not STRING)
    return ConversionTarget(
        "xla",
        "XLA, by jax 0.10 and TensorFlow 2.21",
        _unversioned("xla", ("gather",) * 3, types, INTEGERS, (CLAMPED, CLAMPED)),
        Evidence.PROBED,
        ("StableHLO, gather", "stablehlo PR 1541"),
    )


def _onnx(opset: int) -> ConversionTarget:
    operators = {}
    for command in FAMILIES:
        with suppress(VersionError):  # an opset before the operator
            op = find(f"{ONNX}-{opset}", command).op
            signed = op.index_range is IndexRange.SIGNED
            operators[command] = TargetOperator(op, FROM_THE_END if signed else REFUSED, REFUSED)
    return ConversionTarget(
        f"{ONNX}-{opset}",
        "onnxruntime 1.31",
        operators,
        Evidence.PROBED,
        ("ONNX operator schemas", "onnx PR 2260"),
    )


ONNX: Final = "onnx"
TARGETS: Final[dict[str, ConversionTarget]] = {
    each.name: each for each in (_openvino(), _tflite(), _tensorrt(), _coreml(), _webnn(), _xla())
}
"""The targets by name, but for the opsets of ONNX."""

NAMES: Final = ("openvino", f"{ONNX}-OPSET", *list(TARGETS)[1:])
"""The values of `--to`."""


def target(name: str) -> ConversionTarget:
    """Return a target, one of `TARGETS`, ``onnx-17``, or ``onnx`` for its newest opset.

    Raise `UsageError` if there is none.

    >>> target("onnx-12").operators["gather"].op, target("xla").operators["gather"].outside
    (<onnx.Gather-11>, 'clamped')
    """
    word = name.strip().lower()
    if word in TARGETS:
        return TARGETS[word]
    framework, mark, number = word.partition("-")
    if framework == ONNX and not mark:
        return _onnx(FRAMEWORKS[ONNX].newest_opset)
    if framework == ONNX and number.isascii() and number.isdigit() and 0 < len(number) < 4:
        opset = int(number)
        if 0 < opset <= FRAMEWORKS[ONNX].newest_opset:
            return _onnx(opset)
    near = closest(word, [*TARGETS, ONNX])
    expected = listed(NAMES)
    raise UsageError(
        f"no target `{name[:40]}`",
        value=name,
        expected=expected,
        hint=f"did you mean `{near}`?" if near and near != word else None,
    )


def every_target() -> list[ConversionTarget]:
    """Return all targets, of ONNX the newest opset, for tables."""
    first, *others = TARGETS.values()
    return [first, _onnx(FRAMEWORKS[ONNX].newest_opset), *others]
