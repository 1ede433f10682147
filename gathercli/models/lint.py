"""The findings of a model, in the order of its nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf, isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.check import count
from gathercli.compute.indices import IndexPolicy
from gathercli.compute.storage import AnyArray
from gathercli.errors import OperatorError, OutOfRangeError
from gathercli.io.graphs.graph import Value
from gathercli.models.bounds import Bounds
from gathercli.models.facts import MALFORMED
from gathercli.models.graph import Model, ModelNode, bound, conflict, unread_text
from gathercli.models.targets import ConversionTarget, bits, index_bounds, limits, narrowed_types
from gathercli.models.verdict import (
    AT_RUN_TIME,
    ERROR,
    FEWER_BITS,
    NOTE,
    PROVEN,
    REFUSED_NODE,
    UNPROVEN,
    UNREAD,
    WARNING,
    Finding,
    Judged,
    NodeVerdict,
    are_known,
    ends_by_axis,
    finding_of,
    finding_of_adjustment,
    judge,
    lenient_runtimes,
    widest_axes,
)
from gathercli.ops import attributes
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.call import Call
from gathercli.spec.op import FROM_THE_END, REFUSED, IndexedAxis, IndexRange, Op, OutOfRange
from gathercli.spec.shapes import LARGEST, Shape, cell, coordinates, product
from gathercli.text import clean, counted, interval, listed, short, some

_MOST_NAMES: Final = 3  # of nodes in a note on many
MOST_POSITION: Final = 2**31 - 1  # the largest position of a kernel that counts in 32 bits


class ConstantIndices(NamedTuple):
    """Constant indices, and the axes that they index."""

    array: AnyArray
    axes: Sequence[IndexedAxis]


def findings(
    model: Model,
    targets: Sequence[ConversionTarget] = (),
    *,
    allow_fill: bool = False,
    allow_unread: bool = False,
    require_proven: bool = False,
    judged: dict[str, Judged] | None = None,
) -> Iterator[Finding]:
    """Yield the findings of a model: those of its nodes, its malformed tensors, notes on all.

    Indices that a version fills with zeros, and constants that could not be read, are worth a note
    only if they are allowed; nodes that are not proven are errors if each is to be. `judged` gets
    each node by its name.
    """
    at_run_time: list[NodeVerdict] = []
    for node in model.nodes:
        verdict, found = examined(node, targets)
        if verdict.error is not None and verdict.is_malformed:
            model.add_malformed(verdict.error)
        for each in found:
            filled = each.does.get(each.operator) == OutOfRange.ZERO.done and not each.target
            allowed = (allow_fill and filled) or (allow_unread and each.rule == UNREAD)
            yield each._replace(level=NOTE) if allowed else each
        refused = any(each.level == ERROR and not each.target for each in found)
        word = REFUSED_NODE if refused else verdict.word
        if judged is not None:
            judged[node.name] = Judged(word, verdict if word == AT_RUN_TIME else None)
        if word == AT_RUN_TIME:
            at_run_time.append(verdict)
        if require_proven and word not in (PROVEN, REFUSED_NODE):
            yield unproven(verdict)
        node.forget()
    yield from map(finding_of, model.malformed.values())
    for target in targets:
        yield from narrowed_types(model, target)
        yield from changed_at_run_time(at_run_time, target)


def unproven(verdict: NodeVerdict) -> Finding:
    """Return why a node is not proven: an index or a size that is open, and what would prove it."""
    node, call = verdict.node, verdict.call
    finding = Finding(UNPROVEN, "it is not shown that its indices are inside").on(node)
    if verdict.word != AT_RUN_TIME or call is None:
        return finding
    labels = {
        name: f"`{name}`" + (f" (`{clean(short(each.name))}`)" if each.name != name else "")
        for name, each in node.named_inputs.items()
    }
    constants = {name: each.constant for name, each in node.named_inputs.items()}
    defaults = [labels[name] for name, each in constants.items() if each and each.default]
    if defaults:
        problem = f"a caller may replace the default of {listed(defaults, 'and')}"
        remark = "; an initializer that is no input cannot be replaced"
        return finding._replace(problem=problem, where=defaults[0], remark=remark)
    if call.op.followed is not None:
        _, *names, _ = call.inputs
        names = [labels[name] for name in names if constants[name] is None]
        problem = f"{listed(names, 'and')} {'come' if len(names) > 1 else 'comes'} at run time"
        return finding._replace(problem=problem, where=names[0], remark="; constants prove it")
    name = next(each.name for each in call.op.inputs if each.values)
    for along, part, least, size in ends_by_axis(
        call, widest_axes(call, name), verdict.bounds or Bounds.of(-inf, inf)
    ):
        hull, dtype = part.hull, call.inputs[name].dtype
        low, high = float(hull.low), float(hull.high)
        if are_known([along]) and least <= low <= high < size:
            continue
        if dtype is not None and (low, high) == dtype.bounds:
            low, high = -inf, inf
        return finding._replace(**_open_part(call, labels[name], along, (low, high), least))
    problem = f"the rank of `data`, or the length of the tuples of {labels[name]}, is not known"
    return finding._replace(problem=problem, where=labels[name], remark="; known shapes prove it")


def _open_part(
    call: Call, indices: str, along: IndexedAxis, ends: tuple[float, float], least: int
) -> dict[str, Any]:
    """Return the fields of a finding on indices with bounds that an axis may not have."""
    low, high = ends
    where, dim = f"axis {along.axis} of `data`", "?"
    if call.data.shape.rank is not None and not call.axis_is_unknown:
        dim = f"{call.data.shape[along.axis]}"
    known = are_known([along])
    if not known:
        where += f" (`{dim}`)" if dim.isidentifier() else ""
    if not known and isfinite(low) and isfinite(high) and low >= least:
        need, which = max(int(high) + 1, -int(low)), interval(int(low), int(high))
        verb = "index {} of {} is" if low == high else "indices {} of {} are"
        unless = "that is empty" if need == 1 else f"that has fewer than {need}"
        return {
            "problem": f"{verb.format(which, indices)} inside {where} unless {unless}",
            "where": where,
            "value": dim,
            "expected": f"{need} or more",
            "unsaid": True,
            "remark": "; a fixed size in the model proves it",
        }
    words = interval(int(low), int(high)) if isfinite(low + high) else "any number"
    words = f"{low:.0f} or more" if isfinite(low) and high == inf else words
    words = f"{high:.0f} or less" if isfinite(high) and low == -inf else words
    size, legal = f"is {along.size}", interval(least, along.size - 1) if known else None
    return {
        "problem": f"{indices} can be {words}, and the size of {where} {size}",
        "where": indices,
        "value": words,
        "expected": legal,
        "remark": f"; {'a Clip proves' if known else 'a fixed size and a Clip prove'} it",
    }


def examined(
    node: ModelNode, targets: Sequence[ConversionTarget] = ()
) -> tuple[NodeVerdict, list[Finding]]:
    """Return the verdict on a node, and its findings; none of a constant that is malformed."""
    verdict = judge(node)
    return verdict, [each.on(node) for each in _findings(verdict, targets)]


def _findings(verdict: NodeVerdict, targets: Sequence[ConversionTarget]) -> Iterator[Finding]:
    """Yield the findings of a node, which lack its name."""
    node = verdict.node
    if node.faults:
        yield from map(finding_of, node.faults)
        return
    if verdict.is_malformed:
        return
    yield from _unknown_attributes(verdict)
    for each in node.inputs:
        if each.claim is not None:
            yield from _contradicted(
                each, each.shape, "the nodes before", rule="value-shape", level=NOTE
            )
    yield from _merged_indices(node)
    yield from _of_indices(verdict, targets)
    if node.is_template:
        why = "it is not checked: its attributes come from the callers of a function"
        yield Finding(UNREAD, why, NOTE)
    elif (why := unread_text(node)) and MALFORMED not in node.unread.values():
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


def _merged_indices(node: ModelNode) -> Iterator[Finding]:
    """Yield an index that is added on axes which the exporter has merged."""
    if names := [f"`{clean(short(each))}`" for each in node.merged_indices]:
        message = (
            "its index is i * n + j on merged axes, as exporters write x[i, j]: a negative "
            f"{listed(names, 'or')} reads a row of the neighbour"
        )
        yield Finding("merged-index", message, NOTE, value=node.merged_indices[0])


def _of_indices(verdict: NodeVerdict, targets: Sequence[ConversionTarget]) -> Iterator[Finding]:
    """Yield why a node is refused, and the constant indices that its version replaces."""
    error, found = verdict.error, list(map(finding_of_adjustment, verdict.adjustments))
    if isinstance(error, OutOfRangeError):
        found.insert(0, finding_of(error))
    elif error is not None:
        yield finding_of(error)
    for each in found:
        yield _on_indices(verdict, each, targets)


def contradictions(verdict: NodeVerdict) -> Iterator[Finding]:
    """Yield the errors of a node that its verdict has not: inputs, attributes, declared output."""
    node = verdict.node
    if node.faults:
        yield from map(finding_of, node.faults[1:])
        return
    yield from _unknown_attributes(verdict)
    if verdict.call is not None:
        yield from _declared(node, verdict.call)


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
    if call is not None and isinstance(finding.value, int) and finding.value < 0:
        wrapping = node.op._replace(index_range=IndexRange.SIGNED)
        if fate(wrapping, call, finding.value, finding.where or "") == FROM_THE_END:
            fates |= dict.fromkeys(lenient_runtimes(node.op), FROM_THE_END)
    finding = finding._replace(does=fates)
    for each in node.op.inputs:
        constant = node.named_inputs[each.name].constant
        if each.values and constant is not None and constant.default:
            remark = f"{finding.remark}, in a default that a caller may replace"
            return finding._replace(level=WARNING, remark=remark)
    return finding


def _unknown_attributes(verdict: NodeVerdict) -> Iterator[Finding]:
    """Yield attributes that no rule refuses, but which a runtime refuses or ignores."""
    node = verdict.node
    if node.op is None or node.framework != "onnx":  # OpenVINO ignores them
        return
    names = node.attributes.keys() - {each.name for each in node.op.attrs}
    for name in names - set(attributes(node.family) if verdict.call is None else ()):
        known = listed([f"`{each.name}`" for each in node.op.attrs] or ["none"])
        problem = f"{node.op} has no attribute `{clean(short(name))}`"
        yield Finding("attribute", problem, value=name, expected=known)


def _contradicted(value: Value, shape: Shape, source: str, **fields: Any) -> Iterator[Finding]:
    """Yield where the declared shape of a value differs from the one that follows."""
    declared = value.shape if value.claim is None else value.claim
    if why := conflict(declared, shape):
        message = (
            f"the model declares {declared} as the shape of `{clean(short(value.name))}`, "
            f"but {shape} follows from {source}"
        )
        said, right = f"{declared}", f"{shape}"
        fields |= {"value": said, "expected": right, "remark": f": {why}"}
        yield Finding(problem=message, unsaid=True, **fields)


def _declared(node: ModelNode, call: Call) -> Iterator[Finding]:
    """Yield where the declared output differs from what the inputs say."""
    value = node.outputs[0] if node.outputs else None
    if value is None or (value.inferred and value.claim is None):
        return
    name, dtype, data = clean(short(value.name)), value.dtype, call.data.dtype
    if dtype is not None and data is not None and dtype is not data:
        message = f"the model declares `{name}` as {dtype}, but `data` is {data}"
        yield Finding("output-dtype", message, value=f"{dtype}", expected=f"{data}", unsaid=True)
    yield from _contradicted(value, call.shape, "its inputs", rule="output-shape")


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
    node: ModelNode, call: Call, target: ConversionTarget, indices: Sequence[ConstantIndices]
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
            yield from bits(array, axes, row, name)


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


def changed_at_run_time(
    verdicts: Sequence[NodeVerdict], target: ConversionTarget
) -> Iterator[Finding]:
    """Yield what a target does otherwise with indices that come at run time, for all nodes."""
    changed: dict[tuple[str, ...], list[str]] = {}
    for each in verdicts:
        op = each.node.op
        row = target.row(op, each.call) if op is not None else None
        if op is None or row is None:
            continue
        fates = [("outside the axis", op.out_of_range.done, row.out_of_range.done)]
        if FROM_THE_END in (op.negative, row.negative):
            fates.append(("below zero", op.negative, row.negative))
        words = [f"{where}, {own} becomes {other}" for where, own, other in fates if own != other]
        if words:
            changed.setdefault(tuple(words), []).append(each.node.name)
    for changes_of, names in changed.items():
        number = counted(len(names), "node is", "nodes are")
        message = (
            f"{number} decided at run time, {some((f'`{each}`' for each in names), _MOST_NAMES)}: "
            f"an index {'; '.join(changes_of)} in {target.name}"
        )
        nodes = tuple(names)
        yield Finding("index-run-time", message, NOTE, target.name, number=len(names), nodes=nodes)


def fate(row: Op, call: Call, value: float, where: str) -> str:
    """Return what a row does with an index that the version of a call refuses or replaces.

    `where` are its coordinates.
    """
    name = next(each.name for each in call.op.inputs if each.values)
    least, most = index_bounds(row, call.inputs[name].dtype)
    if not least <= value <= most:
        return FEWER_BITS
    axes = widest_axes(call, name)
    component = json.loads(where)[-1] if where and axes and are_tuples(axes) else 0
    size = axes[component].size if axes else LARGEST
    if value < 0 and (row.index_range is IndexRange.UNSIGNED or -size <= value):
        return row.negative
    return row.out_of_range.done
