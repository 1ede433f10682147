"""The targets of a conversion, and the operators they run in place of those of a model.

::

    target("tflite")  ->  ConversionTarget  ->  TargetOperator    its row, and the fates of indices

A row of a target is an `Op`, so that `bind` tries the rules of the target on a call. Nothing
here asks a target by name: `portability.toml` says all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

from gathercli.errors import UsageError, VersionError
from gathercli.frameworks import every_framework
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES, version_named
from gathercli.spec.dtypes import DTYPES, DType, dtype
from gathercli.spec.op import FRAMEWORKS, FROM_THE_END, REFUSED, IndexRange, Op, OutOfRange
from gathercli.text import closest, listed

# The fate of an index for which a target promises nothing: it reads whatever lies there.
UNDEFINED: Final = "undefined"

ZERO: Final = OutOfRange.ZERO.done
CLAMPED: Final = OutOfRange.CLAMP.done


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
    evidence: str  # how this is known: ``probed`` or ``read``
    sources: Sequence[str]  # from where this is known
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


def _target(name: str, fields: Mapping[str, Any]) -> ConversionTarget:
    """Return a target from the table in the file of a framework."""
    operators = {
        family: _operator(name, fields | row) for family, row in fields["operators"].items()
    }
    narrow = {dtype(wide): dtype(other) for wide, other in fields.get("narrow", {}).items()}
    own = {key: value for key, value in fields.items() if key in ConversionTarget._fields}
    return ConversionTarget(name, **own | {"operators": operators, "narrow": narrow})


def _operator(framework: str, fields: dict[str, Any]) -> TargetOperator:
    """Return an operator from its fields and those of its target."""
    op = version_named(fields["row"])
    types = {key: tuple(map(dtype, fields.get(key, "").split())) for key in ("data", "indices")}
    if lacks := fields.get("lacks", "").split():
        types["data"] = tuple(each for each in DTYPES if each.name not in lacks)
    op = op._replace(
        inputs=tuple(
            each._replace(dtypes=types.get(each.name) or each.dtypes) for each in op.inputs
        ),
        shortest_tuple=fields.get("shortest_tuple", op.shortest_tuple),
    )
    if "name" in fields:
        attrs = (each._replace(is_input=False, default=0) for each in op.attrs)
        has_batch_dims = fields.get("has_batch_dims", True)
        op = op._replace(
            framework=framework,
            name=fields["name"],
            attrs=tuple(each for each in attrs if has_batch_dims or each.name != "batch_dims"),
        )
        op = TargetOp(*op)
    return TargetOperator(op, fields["negative"], fields["outside"], fields.get("most_batch_dims"))


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
        "probed",
        ("ONNX operator schemas", "onnx PR 2260"),
    )


ONNX: Final = "onnx"


@cache
def named_targets() -> dict[str, ConversionTarget]:
    """Return the targets by name, but for the opsets of ONNX: first the one that has versions."""
    targets = {each.name: each.target for each in every_framework() if each.target}
    order = sorted(targets, key=lambda name: (name not in FRAMEWORKS, name))
    return {name: _target(name, targets[name]) for name in order}


def target_names() -> tuple[str, ...]:
    """Return the values of `--to`."""
    first, *others = named_targets()
    return first, f"{ONNX}-OPSET", *others


def target(name: str) -> ConversionTarget:
    """Return a target, such as ``tflite``, ``onnx-17``, or ``onnx`` for its newest opset.

    Raise `UsageError` if there is none.

    >>> target("onnx-12").operators["gather"].op, target("xla").operators["gather"].outside
    (<onnx.Gather-11>, 'clamped')
    """
    word = name.strip().lower()
    if word in named_targets():
        return named_targets()[word]
    newest = FRAMEWORKS[ONNX].newest_opset
    if match := re.fullmatch(rf"{ONNX}(?:-(\d{{1,3}}))?", word, re.ASCII):
        opset = int(match[1] or newest)
        if 0 < opset <= newest:
            return _onnx(opset)
    near = closest(word, [*named_targets(), ONNX])
    raise UsageError(
        f"no target `{name[:40]}`",
        value=name,
        expected=listed(target_names()),
        hint=f"did you mean `{near}`?" if near and near != word else None,
    )


def every_target() -> list[ConversionTarget]:
    """Return all targets, of ONNX the newest opset, for tables."""
    first, *others = named_targets().values()
    return [first, _onnx(FRAMEWORKS[ONNX].newest_opset), *others]
