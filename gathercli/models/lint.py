"""The findings of a model, in the order of its nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.bound import BoundCall
from gathercli.compute.check import count, policies_of
from gathercli.compute.indices import IndexPolicy
from gathercli.compute.run import run
from gathercli.compute.storage import AnyArray
from gathercli.errors import GatherError, OperatorError, OutOfRangeError, VersionError
from gathercli.models.findings import FEWER_BITS, NOTE, UNREAD, WARNING, Finding, finding_of
from gathercli.models.graph import Model, ModelNode, bound, unread_text
from gathercli.models.targets import ConversionTarget, index_bounds, limits, narrowed_types
from gathercli.ops import attributes
from gathercli.spec.adjustments import Adjustment, are_tuples, check_counts
from gathercli.spec.call import Call, CallContext
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.op import (
    FROM_THE_END,
    REFUSED,
    IndexedAxis,
    IndexRange,
    Op,
    OutOfRange,
)
from gathercli.spec.shapes import LARGEST, Shape, cell, coordinates, meet, product
from gathercli.text import clean, counted, interval, listed, short

MOST_POSITION: Final = 2**31 - 1  # the largest position of a kernel that counts in 32 bits


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


def findings(
    model: Model,
    targets: Sequence[ConversionTarget] = (),
    *,
    allow_fill: bool = False,
    allow_unread: bool = False,
) -> Iterator[Finding]:
    """Yield the findings of a model, in the order of its nodes; then notes on all of them.

    Indices that a version fills with zeros, and constants that could not be read, are worth a note
    only if they are allowed.
    """
    for node in model.nodes:
        for each in node_findings(node, targets):
            filled = each.does.get(each.operator) == OutOfRange.ZERO.done and not each.target
            allowed = (allow_fill and filled) or (allow_unread and each.rule == UNREAD)
            yield each._replace(level=NOTE) if allowed else each
        node.forget()
    for target in targets:
        yield from narrowed_types(model, target)


def node_findings(node: ModelNode, targets: Sequence[ConversionTarget] = ()) -> Iterator[Finding]:
    """Yield the findings of a node; raise InputError if a constant is malformed."""
    return (each.on(node) for each in _findings(node, targets))


def _findings(node: ModelNode, targets: Sequence[ConversionTarget]) -> Iterator[Finding]:
    """Yield the findings of a node, which lack its name."""
    if wrong := _wrong_inputs(node):
        yield wrong
        return
    verdict = judge(node)
    if verdict.error is not None and not isinstance(verdict.error, OperatorError | VersionError):
        verdict.error.prefix(f"`{clean(short(node.name))}`")
        raise verdict.error
    yield from _unknown_attributes(node)
    yield from _of_indices(verdict, targets)
    if node.is_template:
        why = "it is not checked: its attributes come from the callers of a function"
        yield Finding(UNREAD, why, NOTE)
    elif why := unread_text(node):
        yield Finding(UNREAD, why, WARNING)
    call = verdict.call
    if call is None:
        return
    yield from _declared(node, call)
    yield from _width(node, call)
    indices = _constants(node, call)
    yield from _positions(call, indices)
    for target in targets:
        found = changes(node, call, target, indices)
        yield from (each._replace(target=target.name, level=WARNING) for each in found)


def _of_indices(verdict: NodeVerdict, targets: Sequence[ConversionTarget]) -> Iterator[Finding]:
    """Yield why a node is refused, and the constant indices that its version replaces."""
    error, found = verdict.error, list(map(_of_adjustment, verdict.adjustments))
    if isinstance(error, OutOfRangeError):
        found.insert(0, finding_of(error))
    elif error is not None:
        yield finding_of(error)
    for each in found:
        yield _on_indices(verdict, each, targets)


def contradictions(verdict: NodeVerdict) -> Iterator[Finding]:
    """Yield the errors of a node that its verdict has not: inputs, attributes, declared output."""
    node = verdict.node
    if wrong := _wrong_inputs(node):
        yield wrong
        return
    yield from _unknown_attributes(node)
    if verdict.call is not None:
        yield from _declared(node, verdict.call)


def _wrong_inputs(node: ModelNode) -> Finding | None:
    """Return a finding if the node has too few or too many inputs."""
    if node.op is None:
        return None
    number, least = len(node.inputs), len(node.op.inputs)
    if least <= number <= least + any(each.is_input for each in node.op.attrs):
        return None
    names = listed((f"`{each.name}`" for each in node.op.inputs), "and")
    return Finding("inputs", f"it has {counted(number, 'input')}", value=number, expected=names)


def _of_adjustment(adjustment: Adjustment) -> Finding:
    """Return constant indices that the version replaces as a finding."""
    where, value, number = adjustment.where, adjustment.value, adjustment.number
    message = (
        f"index {value} at `{where}` is {adjustment.legal} "
        f"({number} of {counted(adjustment.total, 'index', 'indices')})"
    )
    return Finding("index-range", message, WARNING, where=where, value=value, number=number)


def _on_indices(
    verdict: NodeVerdict, finding: Finding, targets: Sequence[ConversionTarget]
) -> Finding:
    """Add to a finding on indices what the version and the targets do with an illegal one.

    It is a warning if a caller of the model may replace the indices.
    """
    node, call = verdict.node, verdict.call
    if node.op is None:
        return finding
    own = node.op.out_of_range.done
    fates = {f"{node.op}": own}
    for target in targets:
        row = target.row(node.op, call)
        if row is None or call is None or not isinstance(finding.value, int | float):
            continue
        done = fate(row, call, finding.value, finding.where or "")
        if done != own or row.full_name != node.op.full_name:
            fates[target.named(row)] = done
    finding = finding._replace(does=fates)
    for each in node.op.inputs:
        constant = node.named_inputs[each.name].constant
        if each.values and constant is not None and constant.default:
            remark = f"{finding.remark}, in a default that a caller may replace"
            return finding._replace(level=WARNING, remark=remark)
    return finding


def _unknown_attributes(node: ModelNode) -> Iterator[Finding]:
    """Yield attributes that no rule checks, which a runtime refuses or ignores."""
    if node.op is None or node.framework != "onnx":  # OpenVINO ignores them
        return
    for name in node.attributes.keys() - set(attributes(node.family)):
        known = listed([f"`{each.name}`" for each in node.op.attrs] or ["none"])
        problem = f"{node.op} has no attribute `{clean(short(name))}`"
        yield Finding("attribute", problem, value=name, expected=known)


def _declared(node: ModelNode, call: Call) -> Iterator[Finding]:
    """Yield where the declared output differs from what the inputs say."""
    value = node.outputs[0] if node.outputs else None
    if value is None or value.inferred:
        return
    name, dtype, data = clean(short(value.name)), value.dtype, call.data.dtype
    if dtype is not None and data is not None and dtype is not data:
        message = f"the model declares `{name}` as {dtype}, but `data` is {data}"
        yield Finding("output-dtype", message, value=f"{dtype}", expected=f"{data}", unsaid=True)
    declared, shape = value.shape, call.shape
    if why := conflict(declared, shape):
        message = (
            f"the model declares {declared} as the shape of `{name}`, "
            f"but {shape} follows from its inputs"
        )
        yield Finding(
            "output-shape",
            message,
            value=f"{declared}",
            expected=f"{shape}",
            remark=f": {why}",
            unsaid=True,
        )


def _width(node: ModelNode, call: Call) -> Iterator[Finding]:
    """Yield an axis that is longer than the type of its indices counts."""
    for row in call.op.inputs:
        value = node.named_inputs[row.name]
        if not row.values or value.dtype is None or value.dtype.bits < 32 or value.constant:
            continue
        most = value.dtype.bounds[1]
        for along in widest_axes(call, row.name):
            if most < along.size - 1 < LARGEST - 1:
                message = (
                    f"axis {along.axis} of `data` has size {along.size}, "
                    f"but {value.dtype} indices end at {most}"
                )
                yield Finding("index-width", message, WARNING, value=along.size)


def _constants(node: ModelNode, call: Call) -> list[ConstantIndices]:
    """Return the constant indices of a node, unless only some of them are used."""
    if call.op.followed is not None:
        return []
    values = ((row.name, node.named_inputs[row.name]) for row in call.op.inputs if row.values)
    return [
        ConstantIndices(each.constant.tensor().array, widest_axes(call, name))
        for name, each in values
        if each.constant is not None and not each.unread
    ]


def _positions(call: Call, indices: Sequence[ConstantIndices]) -> Iterator[Finding]:
    """Yield data with positions that 32 bits do not count, and the index that reads one."""
    sizes = call.data.shape.sizes
    if sizes is None or product(sizes) <= MOST_POSITION + 1:
        return
    for array, axes in indices:
        if len(axes) != 1 or not array.size:
            continue
        (along,) = axes
        inner = product(sizes[along.axis + 1 :])
        before = product(sizes) - along.size * inner  # the slices of all but the last coordinates
        # The position behind the slice of k is before + (k + 1) * inner: exact in Python alone.
        most = (MOST_POSITION + 1 - before) // inner - 1
        k = array.astype(np.int64)
        k += (k < 0) * along.size
        beyond = (k > max(most, -1)) & (k < along.size)
        if not beyond.any():
            return
        first = int(beyond.argmax())
        last = before + (int(k.reshape(-1)[first]) + 1) * inner - 1
        where, value = cell(coordinates(first, array.shape)), int(array.reshape(-1)[first])
        message = (
            f"index {value} at `{where}` reads position {last} of `data`: "
            f"expected {MOST_POSITION} at most where positions have 32 bits"
        )
        yield Finding("position-width", message, WARNING, where=where, value=value)
        return
    message = (
        f"`data` has {counted(product(sizes), 'element', exact=True)}, more than 32 bits count"
    )
    yield Finding("position-width", message, NOTE, value=product(sizes))


# What targets change; the caller adds their names, and makes these findings warnings


def changes(
    node: ModelNode,
    call: Call,
    target: ConversionTarget,
    indices: Sequence[ConstantIndices],
) -> Iterator[Finding]:
    """Yield what a target refuses or changes in shapes, types, attributes and constant indices."""
    row = target.row(call.op, call)
    if row is None:
        yield Finding("operator", f"{target.name} has no {call.op.name}")
        return
    name = target.named(row)
    limitless = row._replace(most_rank=None, most_index_rank=None, most_batch_dims=None)
    try:
        moved = bound(node._replace(op=limitless, attributes=call.attrs))
    except OperatorError as error:
        yield finding_of(error)._replace(does={name: REFUSED})
    else:
        yield from limits(moved, row, name)
        if why := conflict(moved.shape, call.shape):
            message = f"{row} gives the shape {moved.shape} in place of {call.shape}: {why}"
            yield Finding("output-shape", message, value=f"{moved.shape}")
    signed = call.op.index_range is IndexRange.SIGNED
    for array, axes in indices:
        if array.size and axes:
            if signed and row.negative != FROM_THE_END:
                found = _negative(array, axes)
                yield from (each._replace(does={name: row.negative}) for each in found)
            yield from _bits(array, axes, row, name)


def _negative(array: AnyArray, axes: Sequence[IndexedAxis]) -> Iterator[Finding]:
    """Yield the first legal index that counts from the end."""
    policies = [IndexPolicy(along.size, wraps=True, outside=OutOfRange.ERROR) for along in axes]
    sums, _ = count(array, policies, counts=True, tuples=are_tuples(axes))
    hits = [(each.wrapped, along) for each, along in zip(sums, axes, strict=True)]
    number = sum(hit.number for hit, _ in hits)
    if not number:
        return
    first, along = min((hit for hit in hits if hit[0].number), key=lambda hit: hit[0].first)
    where = cell(coordinates(first.first, array.shape))
    message = (
        f"index {first.value} at `{where}` counts from the end of axis {along.axis} of `data`, "
        f"whose size is {along.size}"
    )
    yield Finding(
        "index-legal",
        message,
        where=where,
        value=first.value,
        expected="0 or more" if along.size == LARGEST else interval(0, along.size - 1),
        remark=f" for {{target}} ({number} of {counted(array.size, 'index', 'indices')})",
        number=number,
    )


def _bits(array: AnyArray, axes: Sequence[IndexedAxis], row: Op, name: str) -> Iterator[Finding]:
    """Yield a legal index that does not fit in the bits of indices of a row."""
    least, most = int(array.min()), int(array.max())
    low, high = index_bounds(row, dtype_named(array.dtype.name))
    fits = low <= least and most <= high
    if not fits and max(most, -least - 1) < max(along.size for along in axes):
        value, bits = most if most > high else least, high.bit_length() + (low < 0)
        message = f"index {value} does not fit in the {bits} bits of indices in {name}"
        yield Finding("index-width", message, value=value)


def fate(row: Op, call: Call, value: float, where: str) -> str:
    """Return what a row does with an index that the version of a call refuses or replaces.

    `where` are its coordinates.
    """
    name = next(each.name for each in call.op.inputs if each.values)
    least, most = index_bounds(row, call.inputs[name].dtype)
    if not least <= value <= most:
        return FEWER_BITS
    axes = widest_axes(call, name)
    component = json.loads(where)[-1] if axes and are_tuples(axes) else 0
    size = axes[component].size if axes else LARGEST
    if value < 0 and (row.index_range is IndexRange.UNSIGNED or -size <= value):
        return row.negative
    return row.out_of_range.done
