"""Check and count every index of a call, block by block, and report those outside the axis.

Indices that are stored in chunks are read chunk by chunk.
"""

from __future__ import annotations

from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.compute.indices import (
    MOST_KEPT_INDICES,
    IndexKind,
    IndexPolicy,
    ResolvedIndices,
    are_outside,
    index_kind,
    resolve,
    tuple_kind,
    wrap_negative,
)
from gathercli.compute.native import reads
from gathercli.compute.storage import row_major
from gathercli.compute.threads import share
from gathercli.ops import indexed_inputs
from gathercli.spec.adjustments import Adjustment, IndexCount, IndexCounts, are_tuples, check_counts
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import coordinates, flat_positions, product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import ChunkedTensor, Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis


BLOCK_INDICES: Final = 1 << 16
"""Indices in a block: they stay in a core's cache."""

CHECKED_BYTES: Final = 1 << 20
"""Bytes of small chunks that are read and checked at a time."""

LEAST_SHARED_BLOCKS: Final = 16
"""The number of blocks from which a second thread is worth starting."""


def check_input(
    call: Call,
    axes: Sequence[IndexedAxis],
    indices: AnyArray,
    *,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Check every index of an input in constant memory; return the positions and adjustments.

    `axes` are the indexed axis, or one for each component of tuples; `indices` have shape (I..) or
    (I.., K). Raise `OutOfRangeError` (``index-negative``, ``index-range``) for the first refused
    index, row-major.
    """

    def report(done: int) -> None:
        if progress is not None:
            progress("checked", done, indices.nbytes)

    policies, tuples = policies_of(call, axes), are_tuples(axes)
    counts, kind = count(
        indices,
        policies,
        counts=adjusts_negative(call),
        tuples=tuples,
        threads=threads,
        progress=report,
    )
    adjustments = check_counts(call, axes, counts, indices.shape)
    outside = any(each.outside.number for each in counts)
    fills = outside and call.outside is OutOfRange.ZERO
    if not policies:  # all empty tuples have the position 0 on an axis of size 1
        policies = [IndexPolicy(1, wraps=False, outside=OutOfRange.ZERO)]
        indices, tuples = np.broadcast_to(np.int64(0), indices.shape[:-1]), False
    return ResolvedIndices(indices, policies, kind, fills=fills, tuples=tuples), adjustments


def check_on_use(
    call: Call, tensors: Mapping[str, Tensor], *, reports: bool
) -> dict[str, ResolvedIndices]:
    """Return indices that are checked each time a part of them is used, by input.

    With `reports` any index with an adjustment is unexpected, as there is no place to report it.
    Empty for more than one input of indices, for indices that are better checked first, and for
    empty data, of which no index would be used and so none checked.
    """
    (name, axes), *others = indexed_inputs(call).items()
    indices, data = tensors[name].array, next(iter(tensors.values()))
    few = 0 if reads(indices) else MOST_KEPT_INDICES
    if others or indices.size <= few or not data.nbytes:
        return {}
    policies = policies_of(call, axes)
    if reports or call.negative is Negative.ERROR:  # refused, whatever becomes of others
        policies = [policy._replace(outside=OutOfRange.ERROR) for policy in policies]
    if reports and call.op.index_range is IndexRange.UNSIGNED:  # wrapping is an adjustment
        policies = [policy._replace(wraps=False) for policy in policies]
    return {name: ResolvedIndices(indices, policies, tuples=are_tuples(axes))}


def policies_of(call: Call, axes: Sequence[IndexedAxis]) -> list[IndexPolicy]:
    """Return the policy of a call for the indices of each axis; an empty one refuses or fills."""
    empty = call.outside if call.outside is OutOfRange.ZERO else OutOfRange.ERROR
    return [
        IndexPolicy(along.size, call.wraps_negative, call.outside if along.size else empty)
        for along in axes
    ]


def adjusts_negative(call: Call) -> bool:
    """Return whether a negative index on the axis is refused or reported, so that it is counted."""
    return call.negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED


def positions(call: Call, along: IndexedAxis, indices: AnyArray) -> AnyArray:
    """Return the positions of indices of a call on an axis: int64, -1 if refused or filled.

    `indices` have shape (I..), an integer type. None of them raises.
    """
    (policy,) = policies_of(call, [along])
    if policy.outside is OutOfRange.ERROR:
        policy = policy._replace(outside=OutOfRange.ZERO)
    resolved = resolve(indices, policy)
    if call.negative is Negative.ERROR:
        resolved[indices < 0] = -1
    return resolved


def count(
    indices: AnyArray,
    policies: Sequence[IndexPolicy],
    *,
    counts: bool,
    tuples: bool,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[IndexCounts], IndexKind]:
    """Count indices, or each component of tuples, by their policies; each is read once.

    `indices` have shape (I..), or (I.., K) if they are `tuples`, and an integer type in any byte
    order. With `counts` negative indices on the axis count too. `progress` is a function of the
    bytes checked so far. Return the counts of each component, with flat positions in `indices`,
    and the narrowest kind of all.
    """
    sums = [IndexCounts(IndexCount(), IndexCount(), IndexCount()) for _ in policies]
    k = len(policies)
    if not k:
        return sums, IndexKind.PLAIN
    passing = {IndexKind.PLAIN} if counts else {IndexKind.PLAIN, IndexKind.SIGNED}
    is_small = indices.size <= BLOCK_INDICES
    if is_small and not tuples:  # most calls have few indices, all of them legal
        kind = index_kind(indices, policies[0])
        if kind in passing:
            return sums, kind
    lock, kinds = Lock(), {IndexKind.PLAIN}

    def count_block(block: AnyArray, start: int) -> None:
        if tuples:
            block = np.ascontiguousarray(block, block.dtype.newbyteorder("="))
        kind = tuple_kind(block, policies)
        kinds.add(kind)
        if kind in passing:
            return
        for j, policy in enumerate(policies):
            component = block[j::k]
            positions = np.empty(component.shape, np.int64)
            wrap_negative(component, positions, policy)
            outside = are_outside(positions, policy.size)
            negative = component < 0
            with lock:
                sums[j].negative.add(negative, component, start + j, k)
                sums[j].wrapped.add(negative & ~outside, component, start + j, k)
                sums[j].outside.add(outside, component, start + j, k)

    scan(
        np.ascontiguousarray(indices) if tuples and is_small else indices,
        count_block,
        [each for counts in sums for each in counts],
        threads=threads,
        progress=progress,
        cells=BLOCK_INDICES // k * k or k,  # whole tuples, so that block[j::k] is component j
        in_order=tuples,
    )
    widest_first = (IndexKind.MIXED, IndexKind.SIGNED, IndexKind.PLAIN)
    return sums, next(kind for kind in widest_first if kind in kinds)


def scan(
    indices: AnyArray,
    count: Callable[[AnyArray, int], None],
    sums: Iterable[IndexCount],
    *,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
    cells: int | None = None,
    in_order: bool = False,
) -> None:
    """Pass all indices to `count` in flat blocks, each with its start; threads may call it at once.

    `sums` are the counts that `count` adds to. A block has `cells` indices, or fewer where the
    layout or the end makes it smaller. Unless they must be `in_order`, indices in Fortran order are
    passed in memory order, which is fast; if any is then counted, the counts are cleared and all
    are passed again, row-major, as the first one matters.
    """
    cells = cells or BLOCK_INDICES
    fortran = indices.flags.f_contiguous and not indices.flags.c_contiguous and not in_order
    if fortran or indices.flags.c_contiguous:
        flat = (indices.T if fortran else indices).reshape(-1)
        blocks, nbytes = -(-flat.size // cells), cells * indices.itemsize

        def count_block(number: int) -> None:
            count(flat[number * cells : (number + 1) * cells], number * cells)

        def report(done: int) -> None:
            if progress is not None:
                progress(min(done * nbytes, indices.nbytes))

        share(blocks, lambda: count_block, threads if blocks >= LEAST_SHARED_BLOCKS else 1, report)
    if indices.flags.c_contiguous or (fortran and not any(each.number for each in sums)):
        return
    for each in sums:
        each.clear()
    start = 0
    for block in row_major(indices, cells):
        count(block, start)
        start += block.size
        if progress is not None:
            progress(start * indices.itemsize)


def check_chunks(
    bound: BoundCall, *, threads: int = 1, progress: ProgressCallback | None = None
) -> list[Adjustment]:
    """Check every index, chunk by chunk, as `check_input` does."""
    call, indices = bound.call, bound.indices
    axes = call.family.indexed_axes(call)
    if indices.in_memory is not None:
        array = indices.in_memory.array
        return check_input(call, axes, array, threads=threads, progress=progress)[1]
    from gathercli.compute.chunks import ChunkGrid, everything, sizes

    shape, tuples = indices.shape, are_tuples(axes)
    grid = ChunkGrid(everything(shape), _larger_chunks(indices, whole_rows=tuples))
    totals = [IndexCounts(IndexCount(), IndexCount(), IndexCount()) for _ in axes]
    policies, lock, counts = policies_of(call, axes), Lock(), adjusts_negative(call)

    def count_part(number: int) -> None:
        box = grid.part(number)
        part, _ = count(indices.read(box), policies, counts=counts, tuples=tuples)
        for each in chain.from_iterable(part):
            # Row-major order in a box is that in the tensor, so the first index stays the first.
            places = coordinates(each.first, sizes(box))
            at = [start + place for (start, _), place in zip(box, places, strict=True)]
            each.first = flat_positions(at, shape, none=False)
        # The sum does not depend on the order of the threads: `|` keeps the first index.
        with lock:
            totals[:] = [
                IndexCounts(*(one | other for one, other in zip(total, each, strict=True)))
                for total, each in zip(totals, part, strict=True)
            ]

    nbytes = product(shape) * indices.storage.itemsize

    def report(done: int) -> None:
        if progress is not None:
            progress("checked", nbytes * done // grid.number, nbytes)

    share(grid.number, lambda: count_part, threads, report)
    return check_counts(call, axes, totals, shape)


def _larger_chunks(tensor: ChunkedTensor, *, whole_rows: bool) -> list[int]:
    """Return the sizes of boxes of whole chunks, one chunk or up to `CHECKED_BYTES` bytes.

    With `whole_rows` a box has all of the last dimension.
    """
    sizes = list(tensor.chunks)
    if whole_rows:
        sizes[-1] = max(1, tensor.shape[-1])
    for d in reversed(range(len(sizes))):
        room = (CHECKED_BYTES // tensor.storage.itemsize) // max(1, product(sizes))
        sizes[d] *= max(1, min(room, -(-tensor.shape[d] // sizes[d])))
    return sizes
