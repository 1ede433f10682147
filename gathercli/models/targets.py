"""The targets of a conversion, and the operators they run in place of those of a model.

::

    target("tflite")  ->  ConversionTarget  ->  Op    whose rules and policies say what changes

A target is a framework, a version of one that counts those (``coreml-ios16``), or an opset
(``onnx-17``). Its operators are the rows in `gathercli.frameworks`, which say all of it: nothing
here asks a target by name.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gathercli.errors import OperatorError, UsageError, VersionError
from gathercli.frameworks import FrameworkFile, every_framework
from gathercli.frameworks.versions import find
from gathercli.models.verdict import NOTE, Finding
from gathercli.ops import FAMILIES, bind
from gathercli.spec.adapt import narrowed
from gathercli.spec.dtypes import INT64, DType
from gathercli.spec.op import FRAMEWORKS, Adaptation, Op
from gathercli.text import closest, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.models.graph import Model, ModelNode
    from gathercli.spec.call import Call


class ConversionTarget(NamedTuple):
    """What a model is converted to."""

    name: str  # the value of `--to`
    rows: Sequence[Op]  # the first of a family stands for those of other frameworks
    sources: Sequence[str] = ()  # from where more is known than each row says

    def row(self, op: Op, call: Call | None = None) -> Op | None:
        """Return the row that runs in place of a version; None if there is no such operator.

        Of several of one name it is the first that takes the call, else the last.
        """
        own = [each for each in self.rows if each.family == op.family]
        if not own:
            return None
        name = min(own, key=lambda each: each.full_name != op.full_name).full_name
        *others, last = (each for each in own if each.full_name == name)
        return next((each for each in others if call is not None and _takes(each, call)), last)

    def named(self, row: Op) -> str:
        """Return the name of a row in findings; that of the target if the row is a version."""
        return self.name if row.version else row.full_name


def _takes(row: Op, call: Call) -> bool:
    """Return whether no rule of a row refuses a call."""
    try:
        bind(row, *call.inputs.values(), shapes_only=True, **call.attrs)
    except OperatorError:
        return False
    return True


def _of_framework(each: FrameworkFile) -> list[ConversionTarget]:
    """Return the targets of a framework: one for each number, or itself if it counts none."""
    numbers = dict.fromkeys(row.op.id for row in each.rows if row.op.version)
    return [
        ConversionTarget(
            name,
            [
                row.op
                for row in each.target
                if row not in each.rows or row.op.id in (name, f"{row.op}")
            ],
            each.sources,
        )
        for name in numbers or [each.name]
    ]


@cache
def _named_targets() -> dict[str, ConversionTarget]:
    """Return the targets by all their names, but for opsets: first those that have versions.

    The short names of a framework, and its own, are those of its first target.
    """
    targets: dict[str, ConversionTarget] = {}
    for each in sorted(every_framework(), key=lambda each: each.name not in FRAMEWORKS):
        if each.target:
            own = _of_framework(each)
            targets |= {one.name: one for one in own}
            targets |= dict.fromkeys((each.name, *each.short), own[0])
    return targets


def _opset(framework: str, opset: int) -> ConversionTarget:
    name, rows = f"{framework}-{opset}", []
    for command in FAMILIES:
        with suppress(VersionError):  # an opset before the operator
            rows.append(find(name, command).op)
    return ConversionTarget(name, rows)


@cache
def _counted() -> tuple[str, ...]:
    """Return the frameworks whose opsets are targets: those without a target of their own."""
    return tuple(name for name in FRAMEWORKS if name not in _named_targets())


def target_names() -> tuple[str, ...]:
    """Return the values of `--to`."""
    first, *others = dict.fromkeys(each.name for each in _named_targets().values())
    return first, *(f"{name}-OPSET" for name in _counted()), *others


def target(word: str) -> ConversionTarget:
    """Return a target, such as ``tflite``, ``onnx-17``, or ``onnx`` for its newest opset.

    Raise `UsageError` if there is none.

    >>> target("onnx-12").rows[0], target("xla").rows[0].out_of_range.done
    (<onnx.Gather-11>, 'clamped')
    >>> target("coreml").name
    'coreml-ios17'
    """
    name = word.strip().lower()
    if name in _named_targets():
        return _named_targets()[name]
    match = re.fullmatch(rf"({'|'.join(_counted())})(?:-(\d{{1,3}}))?", name, re.ASCII)
    if match:
        newest = FRAMEWORKS[match[1]].newest_opset
        if 0 < (opset := int(match[2] or newest)) <= newest:
            return _opset(match[1], opset)
    near = closest(name, [*_named_targets(), *_counted()])
    raise UsageError(
        f"no target `{word.strip()[:40]}`",
        value=word,
        expected=listed(target_names()),
        hint=f"did you mean `{near}`?" if near and near != name else None,
    )


def every_target() -> list[ConversionTarget]:
    """Return all targets, of opsets the newest, for tables."""
    first, *others = {id(each): each for each in _named_targets().values()}.values()
    return [first, *map(target, _counted()), *others]


# What a row says of a call


def limits(moved: Call, row: Op, name: str) -> Iterator[Finding]:
    """Yield batch dimensions and ranks beyond those of the row of a target."""
    most, batch_dims = row.most_batch_dims, moved.batch_dims
    if most is not None and batch_dims is not None and batch_dims > most:
        message = f"`batch_dims` is {batch_dims}: {name} has {most} at most"
        yield Finding("batch-dims-most", message, value=batch_dims)
    shapes = {each: operand.shape for each, operand in moved.inputs.items()}
    most_of = {
        "data": row.most_rank,
        "indices": row.most_index_rank,
        "output": row.most_tensor_rank,
    }
    for each, shape in (shapes | {"output": moved.shape}).items():
        most = most_of.get(each)
        if most is not None and (shape.rank or 0) > most:
            message = f"`{each}` has rank {shape.rank}: {name} has {most} at most"
            yield Finding("rank-most", message, value=shape.rank)


def index_bounds(row: Op, dtype: DType | None) -> tuple[int, int]:
    """Return the least and the largest index of a type that a row reads."""
    how = row.adapts or Adaptation()
    return (narrowed(dtype, how, how.index_bits) or INT64).bounds


def narrowed_types(model: Model, target: ConversionTarget) -> Iterator[Finding]:
    """Yield the types of data that a target computes in others, one note for all of their nodes."""
    types: dict[tuple[DType, DType], list[ModelNode]] = {}
    for node in model.nodes:
        row = target.row(node.op, node.call) if node.op is not None else None
        wide = node.inputs[0].dtype if node.inputs else None
        if row is None or row.adapts is None or wide is None:
            continue
        if other := row.adapts.narrow.get(wide):
            types.setdefault((wide, other), []).append(node)
    for (wide, other), nodes in types.items():
        number = counted(len(nodes), "node")
        message = f"`data` of {number} is {wide}, which {target.name} computes as {other}"
        finding = Finding("data-width", message, NOTE, value=wide.name)
        yield finding.on(nodes[0])._replace(target=target.name)
