"""What changes for a node of a model on the way to a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.compute.check import count
from gathercli.compute.indices import IndexPolicy
from gathercli.errors import OperatorError
from gathercli.models.finding import WARNING, finding_of, finding_on
from gathercli.models.inference import bound
from gathercli.ops.engine import infer
from gathercli.ops.portability import REFUSED
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import FROM_THE_END, IndexRange, OutOfRange
from gathercli.spec.rules.wording import interval
from gathercli.spec.shapes import LARGEST, Shape, meet
from gathercli.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.models.finding import Finding
    from gathercli.models.graph import ModelNode
    from gathercli.ops.portability import ConversionTarget, TargetOperator
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


def changes(node: ModelNode, call: Call, target: ConversionTarget) -> Iterator[Finding]:
    """Yield what a target refuses or changes in shapes, types and attributes."""
    runs = target.runs(call.op)
    if runs is None:
        message = f"{target.name} has no {call.op.name}"
        yield finding_on(node, "operator", message, WARNING, target=target.name)
        return
    try:
        other = bound(node._replace(op=runs.op, attributes=call.attrs))
    except OperatorError as error:
        yield finding_of(node, error, target.name)._replace(does={target.name: REFUSED})
        return
    yield from _limits(node, call, target, runs)
    shape, moved = infer(call), infer(other)
    if why := conflict(moved, shape):
        message = f"{runs.op} gives the shape {moved} in place of {shape}: {why}"
        yield finding_on(
            node, "output-shape", message, WARNING, target=target.name, value=f"{moved}"
        )


def _limits(
    node: ModelNode, call: Call, target: ConversionTarget, runs: TargetOperator
) -> Iterator[Finding]:
    """Yield ranks and batch dimensions beyond those of a target."""
    most, batch_dims = runs.most_batch_dims, call.batch_dims
    if most is not None and batch_dims is not None and batch_dims > most:
        message = f"`batch_dims` is {batch_dims}: {target.name} has {most} at most"
        yield finding_on(
            node, "batch-dims-most", message, WARNING, target=target.name, value=batch_dims
        )
    shapes = {name: each.shape for name, each in call.inputs.items()}
    for name, shape in (shapes | {"output": infer(call)}).items():
        if target.most_rank is not None and (shape.rank or 0) > target.most_rank:
            message = (
                f"`{name}` has rank {shape.rank}: {target.name} has {target.most_rank} at most"
            )
            yield finding_on(
                node, "rank-most", message, WARNING, target=target.name, value=shape.rank
            )


def moved_indices(  # noqa: PLR0917  (a call, a target, and an input)
    node: ModelNode,
    call: Call,
    target: ConversionTarget,
    runs: TargetOperator,
    axes: Sequence[IndexedAxis],
    array: AnyArray,
) -> Iterator[Finding]:
    """Yield legal constant indices that a target reads differently."""
    if array.size == 0 or not axes:
        return
    policies = [IndexPolicy(along.size, wraps=True, outside=OutOfRange.ERROR) for along in axes]
    sums, _ = count(array, policies, counts=True, tuples=are_tuples(axes))
    signed = call.op.index_range is IndexRange.SIGNED
    hits = [
        (each.wrapped, along) for each, along in zip(sums, axes, strict=True) if each.wrapped.number
    ]
    if signed and hits and runs.negative != FROM_THE_END:
        first, along = min(hits, key=lambda hit: hit[0].first)
        expected = "0 or more" if along.size == LARGEST else interval(0, along.size - 1)
        where = cell(coordinate(first.first, array.shape))
        number = sum(hit.number for hit, _ in hits)
        message = (
            f"index {first.value} at `{where}` counts from the end of axis {along.axis} of `data`, "
            f"whose size is {along.size}"
        )
        yield finding_on(
            node,
            "index-legal",
            message,
            WARNING,
            target=target.name,
            where=where,
            value=first.value,
            expected=expected,
            remark=f" for {{target}} ({number} of {counted(array.size, 'index', 'indices')})",
            number=number,
            does={target.name: runs.negative},
        )
    least, most = int(array.min()), int(array.max())
    longest = max(along.size for along in axes)
    if target.most_index < max(most, -least - 1) < longest:
        value = most if most > target.most_index else least
        bits = target.index_bits
        message = f"index {value} does not fit in the {bits} bits of indices in {target.name}"
        yield finding_on(node, "index-width", message, WARNING, target=target.name, value=value)


def conflict(declared: Shape, inferred: Shape) -> str:
    """Say where two shapes of one tensor contradict each other; empty text if nowhere."""
    if declared.rank is None or inferred.rank is None:
        return ""
    if declared.rank != inferred.rank:
        return f"expected rank {inferred.rank}"
    for d, (one, other) in enumerate(zip(declared, inferred, strict=True)):
        if meet(one, other) is None:
            return f"expected {other} as dimension {d}"
    return ""
