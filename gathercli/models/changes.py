"""What a target changes in a node: the difference of the rows of the two.

The caller adds the name of the target, and makes all of these findings warnings but the notes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gathercli.compute.check import count
from gathercli.compute.indices import IndexPolicy
from gathercli.compute.storage import AnyArray
from gathercli.errors import OperatorError
from gathercli.models.findings import FEWER_BITS, NOTE, Finding, finding_of
from gathercli.models.graph import Model, ModelNode, bound
from gathercli.models.targets import ConversionTarget
from gathercli.models.verdict import ConstantIndices, conflict, widest_axes
from gathercli.spec.adapt import narrowed
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.call import Call
from gathercli.spec.dtypes import INT64, DType
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.op import (
    FROM_THE_END,
    REFUSED,
    Adaptation,
    IndexedAxis,
    IndexRange,
    Op,
    OutOfRange,
)
from gathercli.spec.shapes import LARGEST, cell, coordinates
from gathercli.text import counted, interval


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
        yield from _limits(moved, row, name)
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


def _limits(moved: Call, row: Op, name: str) -> Iterator[Finding]:
    """Yield batch dimensions and ranks beyond those of the row of a target."""
    most, batch_dims = row.most_batch_dims, moved.batch_dims
    if most is not None and batch_dims is not None and batch_dims > most:
        message = f"`batch_dims` is {batch_dims}: {name} has {most} at most"
        yield Finding("batch-dims-most", message, value=batch_dims)
    shapes = {each: operand.shape for each, operand in moved.inputs.items()}
    limits = {"data": row.most_rank, "indices": row.most_index_rank, "output": row.most_tensor_rank}
    for each, shape in (shapes | {"output": moved.shape}).items():
        most = limits.get(each)
        if most is not None and (shape.rank or 0) > most:
            message = f"`{each}` has rank {shape.rank}: {name} has {most} at most"
            yield Finding("rank-most", message, value=shape.rank)


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
    low, high = _index_bounds(row, dtype_named(array.dtype.name))
    fits = low <= least and most <= high
    if not fits and max(most, -least - 1) < max(along.size for along in axes):
        value, bits = most if most > high else least, high.bit_length() + (low < 0)
        message = f"index {value} does not fit in the {bits} bits of indices in {name}"
        yield Finding("index-width", message, value=value)


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


def fate(row: Op, call: Call, value: float, where: str) -> str:
    """Return what a row does with an index that the version of a call refuses or replaces.

    `where` are its coordinates.
    """
    name = next(each.name for each in call.op.inputs if each.values)
    least, most = _index_bounds(row, call.inputs[name].dtype)
    if not least <= value <= most:
        return FEWER_BITS
    axes = widest_axes(call, name)
    component = json.loads(where)[-1] if axes and are_tuples(axes) else 0
    size = axes[component].size if axes else LARGEST
    if value < 0 and (row.index_range is IndexRange.UNSIGNED or -size <= value):
        return row.negative
    return row.out_of_range.done


def _index_bounds(row: Op, dtype: DType | None) -> tuple[int, int]:
    """Return the least and the largest index of a type that a row reads."""
    how = row.adapts or Adaptation()
    return (narrowed(dtype, how, how.index_bits) or INT64).bounds
