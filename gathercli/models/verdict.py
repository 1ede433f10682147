"""The verdict on a node: every rule that its shapes, types, attributes and constants decide."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gathercli.compute.bound import BoundCall
from gathercli.compute.check import count, policies_of
from gathercli.compute.run import run
from gathercli.errors import GatherError, OutOfRangeError
from gathercli.models.graph import bound
from gathercli.spec.adjustments import Adjustment, are_tuples, check_counts
from gathercli.spec.call import Call, CallContext
from gathercli.spec.op import IndexedAxis, OutOfRange
from gathercli.spec.shapes import LARGEST, Shape, product
from gathercli.text import interval

if TYPE_CHECKING:
    from gathercli.models.findings import Finding
    from gathercli.models.graph import ModelNode


class NodeVerdict(NamedTuple):
    """What the version of a node says of it, whatever the inputs at run time are."""

    node: ModelNode
    call: Call | None = None  # None if shapes, types or attributes are refused
    checked: tuple[str, ...] = ()  # the inputs of indices that are constant, and were checked
    adjustments: tuple[Adjustment, ...] = ()  # the treatment of constant indices outside their axis
    error: GatherError | None = None  # why the node is refused; None if nothing is refused
    # of the model with its own inputs; of `lint.contradictions`
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
            checked, adjustments = _check_constants(node, call)
    except GatherError as error:
        return verdict._replace(error=error)
    return verdict._replace(checked=checked, adjustments=adjustments)


def _check_constants(node: ModelNode, call: Call) -> tuple[tuple[str, ...], tuple[Adjustment, ...]]:
    """Check constant indices; return the inputs that have them, and the adjustments."""
    constants = {
        name: value.constant
        for name, value in node.named_inputs.items()
        if value.constant and not value.unread
    }
    names = tuple(each.name for each in call.op.inputs if each.values and each.name in constants)
    if not names:
        return (), ()
    if call.op.followed is not None:
        # Which parents are used depends on every input.
        if len(constants) < len(call.inputs):
            return (), ()
        tensors = [constant.tensor() for constant in constants.values()]
        return names, tuple(run(BoundCall(call, *tensors)).adjustments)
    (name,) = names
    axes = widest_axes(call, name)
    if not axes and product(call.indices.shape.sizes or ()):
        return (), ()
    constant = constants[name]
    policies = tuple(policies_of(call, axes))
    key = policies, are_tuples(axes)
    sums = constant.counts.get(key)
    if sums is None:
        array = constant.tensor().array
        sums, _ = count(array, policies, counts=True, tuples=are_tuples(axes))
        constant.counts[key] = sums
    try:
        return names, tuple(check_counts(call, axes, sums, constant.shape))
    except OutOfRangeError as error:
        if error.expected == interval(0, LARGEST - 1):
            error.expected = "0 or more"
        raise


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
    if call.data.shape.sizes is not None and not call.axis_is_unknown:
        return call.family.indexed_axes(call)
    data, *_ = call.inputs
    sizes = Shape(
        dim if isinstance(dim, int) else _Size(LARGEST if dim.high is None else dim.high)
        for dim in call.data.shape
    )
    unknown = call.data.shape.rank is None or call.axis_is_unknown
    if unknown:
        along = IndexedAxis(name, call.axis_number or 0, _Size(LARGEST))
        return () if call.op.tuples else (along,)
    inputs = {**call.inputs, data: call.data._replace(shape=sizes)}
    return call.family.indexed_axes(Call(call.op, call.family, inputs, call.attrs))
