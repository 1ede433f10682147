"""What the version of a node says of it: the rules, tried on shapes, types and constant indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gathercli.compute.bound import BoundCall
from gathercli.compute.check import count, policies_of
from gathercli.compute.run import run
from gathercli.compute.storage import AnyArray
from gathercli.errors import GatherError, OutOfRangeError
from gathercli.models.findings import Finding
from gathercli.models.graph import ModelNode, bound
from gathercli.spec.adjustments import Adjustment, are_tuples, check_counts
from gathercli.spec.call import Call, CallContext
from gathercli.spec.op import (
    IndexedAxis,
    OutOfRange,
)
from gathercli.spec.shapes import LARGEST, Shape, meet, product
from gathercli.text import interval


class NodeVerdict(NamedTuple):
    """What the version of a node says of it, whatever the inputs at run time are."""

    node: ModelNode
    call: Call | None = None  # None if shapes, types or attributes are refused
    checked: tuple[str, ...] = ()  # the inputs of indices that are constant, and were checked
    adjustments: tuple[Adjustment, ...] = ()  # the treatment of constant indices outside their axis
    error: GatherError | None = None  # why the node is refused; None if nothing is refused
    # of the model with its own inputs; of the function `contradictions`
    contradictions: tuple[Finding, ...] = ()

    @property
    def shape(self) -> Shape:
        """The inferred shape of the output; of unknown rank if there is no call."""
        return self.call.shape if self.call is not None else Shape.of_unknown_rank()

    @property
    def word(self) -> str:
        """The verdict: ``refused``, ``fills``, ``unread``, ``unknown`` or ``legal``."""
        if self.error is not None or self.contradictions:
            return "refused"
        if any(each.how == OutOfRange.ZERO.done for each in self.adjustments):
            return "fills"
        if self.node.unread:
            return "unread"
        return "legal" if self.call is not None else "unknown"


def judge(node: ModelNode) -> NodeVerdict:
    """Try every rule on a node, and check its constant indices.

    A size, a type or an axis that is not known refuses nothing.
    """
    verdict = NodeVerdict(node)
    if node.is_template:
        return verdict
    context = CallContext(node.op)
    context.inputs |= {name: value.operand for name, value in node.named_inputs.items()}
    try:
        with context:
            call = node.call or bound(node)
            verdict = verdict._replace(call=call)
            return _with_constants(verdict, call)
    except GatherError as error:
        return verdict._replace(error=error)


def _with_constants(verdict: NodeVerdict, call: Call) -> NodeVerdict:
    """Return a verdict with the inputs of constant indices, checked, and the adjustments."""
    constants = {
        name: value.constant
        for name, value in verdict.node.named_inputs.items()
        if value.constant and not value.unread
    }
    names = tuple(each.name for each in call.op.inputs if each.values and each.name in constants)
    if not names:
        return verdict
    if call.op.followed is not None:
        # Which parents are used depends on every input.
        if len(constants) < len(call.inputs):
            return verdict
        tensors = [constant.tensor() for constant in constants.values()]
        adjustments = tuple(run(BoundCall(call, *tensors)).adjustments)
        return verdict._replace(checked=names, adjustments=adjustments)
    (name,) = names
    axes, constant = widest_axes(call, name), constants[name]
    if not axes and product(call.indices.shape.sizes or ()):
        return verdict
    policies, tuples = tuple(policies_of(call, axes)), are_tuples(axes)
    sums = constant.counts.get((policies, tuples))
    if sums is None:
        sums, _ = count(constant.tensor().array, policies, counts=True, tuples=tuples)
        constant.counts[policies, tuples] = sums
    try:
        adjustments = tuple(check_counts(call, axes, sums, constant.shape))
    except OutOfRangeError as error:
        if error.expected == interval(0, LARGEST - 1):
            error.expected = "0 or more"
        raise
    return verdict._replace(checked=names, adjustments=adjustments)


class _Size(int):
    """The largest size of a dimension whose size is not known, for messages."""

    def __str__(self) -> str:
        return "not known" if self == LARGEST else f"at most {int(self)}"


@lru_cache(1024)
def widest_axes(call: Call, name: str) -> tuple[IndexedAxis, ...]:
    """Return the indexed axes with the largest sizes they can have; none if that is not known.

    An index outside the largest size is outside every smaller one.
    """
    if call.op.tuples and not isinstance(next(reversed(call.indices.shape), None), int):
        return ()
    if call.data.shape.rank is None or call.axis_is_unknown:
        along = IndexedAxis(name, call.axis_number or 0, _Size(LARGEST))
        return () if call.op.tuples else (along,)
    if call.data.shape.sizes is not None:
        return call.family.indexed_axes(call)
    data, *_ = call.inputs
    sizes = Shape(
        dim if isinstance(dim, int) else _Size(LARGEST if dim.high is None else dim.high)
        for dim in call.data.shape
    )
    inputs = {**call.inputs, data: call.data._replace(shape=sizes)}
    return call.family.indexed_axes(Call(call.op, call.family, inputs, call.attrs))


class ConstantIndices(NamedTuple):
    """Constant indices, and the axes that they index."""

    array: AnyArray
    axes: Sequence[IndexedAxis]


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
