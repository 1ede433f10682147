"""The findings of a model: what its own versions refuse or fill, and what a target changes.

::

    findings(model, targets)  ->  Finding...    in the order of the nodes

`judge` tries the rules of a node's own version; the same rules are tried with the row of a target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.errors import OperatorError, OutOfRangeError, VersionError
from gathercli.models.changes import changes, conflict, moved_indices
from gathercli.models.finding import NOTE, UNREAD, WARNING, Finding, finding_of, finding_on
from gathercli.models.verdict import judge, unread, widest_axes
from gathercli.ops import attributes
from gathercli.ops.portability import ZERO
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.op import IndexRange
from gathercli.spec.shapes import LARGEST, product
from gathercli.text import clean, counted, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gathercli.compute.storage import AnyArray
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.verdict import NodeVerdict
    from gathercli.ops.portability import ConversionTarget
    from gathercli.spec.adjustments import Adjustment
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import IndexedAxis

WIDEST: Final = 2**31 - 1
"""The largest position of a kernel that counts in 32 bits."""


def findings(
    model: Model,
    targets: Sequence[ConversionTarget] = (),
    *,
    allow_fill: bool = False,
    allow_unread: bool = False,
) -> Iterator[Finding]:
    """Yield the findings of a model, in the order of its nodes; then notes on all of them.

    Parameters
    ----------
    targets
        The targets that the model goes to.
    allow_fill
        Whether an index that a version fills with zeros is worth a note only.
    allow_unread
        Whether constants that could not be read are worth a note only.
    """
    for node in model.nodes:
        for each in node_findings(node, targets):
            filled = each.does.get(each.operator) == ZERO and not each.target
            allowed = (allow_fill and filled) or (allow_unread and each.rule == UNREAD)
            yield each._replace(level=NOTE) if allowed else each
        node.forget()
    for target in targets:
        for wide, narrow in target.narrow.items():
            yield from _data_width(model, target, wide, narrow)


def _data_width(
    model: Model, target: ConversionTarget, wide: DType, narrow: DType
) -> Iterator[Finding]:
    """Yield one note on all data that a target computes in fewer bits."""
    nodes = [node for node in model.nodes if node.inputs and node.inputs[0].dtype is wide]
    if nodes:
        number = counted(len(nodes), "node")
        message = f"`data` of {number} is {wide}, which {target.name} computes as {narrow}"
        yield finding_on(nodes[0], "data-width", message, NOTE, target=target.name, value=wide.name)


def node_findings(node: ModelNode, targets: Sequence[ConversionTarget] = ()) -> Iterator[Finding]:
    """Yield the findings of a node.

    Raises
    ------
    InputError
        A constant is malformed.
    """
    if wrong := _wrong_inputs(node):
        yield wrong
        return
    verdict = judge(node)
    if verdict.error is not None and not isinstance(verdict.error, OperatorError | VersionError):
        verdict.error.prefix(f"`{clean(short(node.name))}`")
        raise verdict.error
    yield from _unknown_attributes(node)
    if isinstance(verdict.error, OutOfRangeError):
        finding = _with_fates(node, finding_of(node, verdict.error), targets)
        yield _of_default(node, finding)
    elif verdict.error is not None:
        yield finding_of(node, verdict.error)
    for each in verdict.adjustments:
        yield _of_default(node, _with_fates(node, _of_adjustment(node, each), targets))
    yield from _unread(node)
    call = verdict.call
    if call is None:
        return
    yield from _declared(node, verdict, call)
    axes = {row.name: widest_axes(call, row.name) for row in call.op.inputs if row.values}
    yield from _width(node, axes)
    arrays = _constants(node)
    yield from _positions(node, call, axes, arrays)
    for target in targets:
        yield from changes(node, call, target)
        if (runs := target.runs(call.op)) is not None:
            for name, array in arrays.items():
                yield from moved_indices(node, call, target, runs, axes[name], array)


def contradictions(verdict: NodeVerdict) -> Iterator[Finding]:
    """Yield the errors of a node that its verdict has not: inputs, attributes, declared output."""
    node = verdict.node
    if wrong := _wrong_inputs(node):
        yield wrong
        return
    yield from _unknown_attributes(node)
    if verdict.call is not None:
        yield from _declared(node, verdict, verdict.call)


def _wrong_inputs(node: ModelNode) -> Finding | None:
    """Return a finding if the node has too few or too many inputs."""
    if node.op is None:
        return None
    number, least = len(node.inputs), len(node.op.inputs)
    if least <= number <= least + any(each.is_input for each in node.op.attrs):
        return None
    names = listed((f"`{each.name}`" for each in node.op.inputs), "and")
    return finding_on(
        node, "inputs", f"it has {counted(number, 'input')}", value=number, expected=names
    )


def _of_adjustment(node: ModelNode, adjustment: Adjustment) -> Finding:
    """Return constant indices that the version replaces as a finding."""
    number, total = adjustment.number, adjustment.total
    message = (
        f"index {adjustment.value} at `{adjustment.where}` is {adjustment.legal} "
        f"({number} of {counted(total, 'index', 'indices')})"
    )
    where, value = adjustment.where, adjustment.value
    return finding_on(
        node, "index-range", message, WARNING, where=where, value=value, number=number
    )


def _of_default(node: ModelNode, finding: Finding) -> Finding:
    """Return a finding on indices: a warning if a caller of the model may replace them."""
    for row in node.op.inputs if node.op else ():
        value = node.named_inputs[row.name]
        if row.values and value.constant is not None and value.constant.default:
            remark = f"{finding.remark}, in a default that a caller may replace"
            return finding._replace(level=WARNING, remark=remark)
    return finding


def _with_fates(node: ModelNode, finding: Finding, targets: Sequence[ConversionTarget]) -> Finding:
    """Add what the version and the targets do with an illegal index."""
    if node.op is None:
        return finding
    signed = node.op.index_range is IndexRange.SIGNED
    negative = isinstance(finding.value, int) and finding.value < 0 and not signed
    own = node.op.out_of_range.done
    fates = {f"{node.op}": own}
    for target in targets:
        runs = target.runs(node.op)
        if runs is None:
            continue
        fate = runs.negative if negative else runs.outside
        if fate != own or runs.op.full_name != node.op.full_name:
            fates[target.name] = fate
    return finding._replace(does=fates)


def _unknown_attributes(node: ModelNode) -> Iterator[Finding]:
    """Yield attributes that no rule checks, which a runtime refuses or ignores."""
    if node.op is None or node.framework != "onnx":  # OpenVINO ignores them
        return
    for name in node.attributes.keys() - set(attributes(node.family)):
        known = listed([f"`{each.name}`" for each in node.op.attrs] or ["none"])
        problem = f"{node.op} has no attribute `{clean(short(name))}`"
        yield finding_on(node, "attribute", problem, value=name, expected=known)


def _declared(node: ModelNode, verdict: NodeVerdict, call: Call) -> Iterator[Finding]:
    """Yield where the declared output differs from what the inputs say."""
    value = node.outputs[0] if node.outputs else None
    if value is None or value.inferred:
        return
    name, data = clean(short(value.name)), call.data.dtype
    if value.dtype is not None and data is not None and value.dtype is not data:
        message = f"the model declares `{name}` as {value.dtype}, but `data` is {data}"
        yield finding_on(
            node, "output-dtype", message, value=f"{value.dtype}", expected=f"{data}", unsaid=True
        )
    shape = verdict.shape
    if why := conflict(value.shape, shape):
        message = (
            f"the model declares {value.shape} as the shape of `{name}`, "
            f"but {shape} follows from its inputs"
        )
        yield finding_on(
            node,
            "output-shape",
            message,
            value=f"{value.shape}",
            expected=f"{shape}",
            unsaid=True,
            remark=f": {why}",
        )


def _unread(node: ModelNode) -> Iterator[Finding]:
    """Yield why constant indices, or an axis that is an input, were not checked."""
    if node.is_template:
        message = "it is not checked: its attributes come from the callers of a function"
        yield finding_on(node, UNREAD, message, NOTE)
    elif message := unread(node):
        yield finding_on(node, UNREAD, message, WARNING)


def _width(node: ModelNode, axes: Mapping[str, Sequence[IndexedAxis]]) -> Iterator[Finding]:
    """Yield an axis that is longer than the type of its indices counts."""
    for name, of_input in axes.items():
        value = node.named_inputs[name]
        if value.dtype is None or value.dtype.bits < 32 or value.constant is not None:
            continue
        most = value.dtype.bounds[1]
        for along in of_input:
            if most < along.size - 1 < LARGEST - 1:
                message = (
                    f"axis {along.axis} of `data` has size {along.size}, "
                    f"but {value.dtype} indices end at {most}"
                )
                yield finding_on(node, "index-width", message, WARNING, value=along.size)


def _positions(
    node: ModelNode,
    call: Call,
    axes: Mapping[str, Sequence[IndexedAxis]],
    arrays: Mapping[str, AnyArray],
) -> Iterator[Finding]:
    """Yield data with positions that 32 bits do not count, and the index that reads one."""
    sizes = call.data.shape.sizes
    if sizes is None or product(sizes) <= WIDEST + 1:
        return
    for name, array in arrays.items():
        if len(axes[name]) != 1 or not array.size:
            continue
        (along,) = axes[name]
        inner = product(sizes[along.axis + 1 :])
        before = product(sizes) - along.size * inner  # the slices of all but the last coordinates
        # The position behind the slice of k is before + (k + 1) * inner: exact in Python alone.
        most = (WIDEST + 1 - before) // inner - 1
        k = array.astype(np.int64)
        k += (k < 0) * along.size
        beyond = (k > max(most, -1)) & (k < along.size)
        if not beyond.any():
            return
        first = int(beyond.argmax())
        last = before + (int(k.reshape(-1)[first]) + 1) * inner - 1
        where, value = cell(coordinate(first, array.shape)), int(array.reshape(-1)[first])
        message = (
            f"index {value} at `{where}` reads position {last} of `data`: "
            f"expected {WIDEST} at most where positions have 32 bits"
        )
        yield finding_on(node, "position-width", message, WARNING, where=where, value=value)
        return
    message = (
        f"`data` has {counted(product(sizes), 'element', exact=True)}, more than 32 bits count"
    )
    yield finding_on(node, "position-width", message, NOTE, value=product(sizes))


def _constants(node: ModelNode) -> dict[str, AnyArray]:
    """Return the constant indices by input, unless only some of them are used."""
    if node.op is None or node.op.followed is not None:
        return {}
    values = {row.name: node.named_inputs[row.name] for row in node.op.inputs if row.values}
    return {
        name: each.constant.tensor().array
        for name, each in values.items()
        if each.constant is not None and not each.unread
    }
