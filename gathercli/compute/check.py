"""Check and count every index of a call, block by block, and report those outside the axis.

Indices that are stored in chunks are read chunk by chunk. The parents of GatherTree are followed
from the last step back, for all batches at once, so that the work is proportional to the output: a
parent that no beam uses may have any value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

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
    widest,
    wrap_negative,
)
from gathercli.compute.native import reads
from gathercli.compute.storage import AnyArray, row_major
from gathercli.compute.threads import ProgressCallback, share
from gathercli.errors import OutOfRangeError
from gathercli.spec.adjustments import (
    Adjustment,
    IndexCount,
    IndexCounts,
    are_tuples,
    check_counts,
    integer_values_error,
)
from gathercli.spec.call import Call
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import IndexedAxis, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import cell, coordinates, flat_positions, product

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.tensor import ChunkedTensor, Tensor


BLOCK_INDICES: Final = 1 << 16  # indices in a block: they stay in a core's cache
CHECKED_BYTES: Final = 1 << 20  # bytes of small chunks that are read and checked at a time
LEAST_SHARED_BLOCKS: Final = 16  # the number of blocks from which a second thread is worth starting
ENDED: Final = -1  # the beam of a cell that copies `end_token`

NO_BEAM: Final = -2
# The beam of a cell that copies nothing: a later parent names no beam, or is refused.
REFUSED_BEAM: Final = -3
# The least float that an integer stands for which is congruent to it, not equal.
LARGE_PARENT: Final = 1 << 62


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
    adjusts = adjusts_negative(call)
    counts, kind = count(
        indices, policies, counts=adjusts, tuples=tuples, threads=threads, progress=report
    )
    adjustments = check_counts(call, axes, counts, indices.shape)
    outside = any(each.outside.number for each in counts)
    fills = outside and call.outside.fills
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
    (name, axes), *others = call.indexed.items()
    indices, data = tensors[name].array, next(iter(tensors.values()))
    few = 0 if reads(indices) else MOST_KEPT_INDICES
    if others or indices.size <= few or not data.nbytes:
        return {}
    policies = policies_of(call, axes)
    # Refused, whatever becomes of others; and the kernel fills with zeros alone.
    if reports or call.negative is Negative.ERROR or call.fill is not None:
        policies = [policy._replace(outside=OutOfRange.ERROR) for policy in policies]
    if reports and call.op.index_range is IndexRange.UNSIGNED:  # wrapping is an adjustment
        policies = [policy._replace(wraps=False) for policy in policies]
    return {name: ResolvedIndices(indices, policies, tuples=are_tuples(axes))}


def policies_of(call: Call, axes: Sequence[IndexedAxis]) -> list[IndexPolicy]:
    """Return the policy of a call for the indices of each axis; an empty one refuses or fills."""
    outside = call.outside.position
    empty = OutOfRange.ZERO if call.outside.fills else OutOfRange.ERROR
    return [
        IndexPolicy(along.size, call.wraps_negative, outside if along.size else empty)
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
    return sums, widest(kinds)


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


class BeamPaths(NamedTuple):
    """The path of every beam, and the parents on it, of T steps, B batches and W beams."""

    # at each step, (T, B, W), int64: `ENDED` beyond the length of a batch, `NO_BEAM` or
    # `REFUSED_BEAM` after a parent that names no beam
    beams: AnyArray
    lengths: AnyArray  # the number of steps of each batch, from 0 to T; (B,)
    ends: AnyArray  # the step of the first end token of each beam, T for none; (B, W)
    adjustments: list[Adjustment]  # the treatment of parents outside the axis
    # of the first refused parent, row-major; None if all are accepted
    refusal: OutOfRangeError | None
    parents: AnyArray  # those on a path, 0 for the others; (T, B, W)
    number: int  # how many parents are on a path
    written: AnyArray  # all parents as the input has them, (T, B, W)

    def cells(self) -> AnyArray:
        """Return the beam that each cell of the output copies, `ENDED` after the first end."""
        if not self.beams.size:
            return self.beams
        steps = np.arange(len(self.beams)).reshape(-1, 1, 1)
        return np.where(steps > self.ends, ENDED, self.beams)


def follow_parents(
    call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Return the beam that each output cell copies, and the treatment of parents outside the axis.

    Beams have shape (T, B, W): `ENDED` after the first end token, `NO_BEAM` after a parent that
    names none. Raise `OutOfRangeError` if a value is no integer (``integer-values``), or a parent
    on a path names no beam (``index-negative``, ``index-range``).
    """
    paths = follow_beams(call, along, tensors)
    if paths.refusal is not None:
        raise paths.refusal
    points = ResolvedIndices(paths.cells(), policies_of(call, [along]), IndexKind.PLAIN)
    return points, paths.adjustments


def follow_beams(call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]) -> BeamPaths:
    """Trace every beam back from its last step; a refused parent ends its path.

    The parents address the axis `along`. The `tensors` are step_ids and parent_ids (T, B, W),
    max_seq_len (B,) and end_token (). Raise `OutOfRangeError` (``integer-values``) if a value is no
    integer.
    """
    steps, parents, lengths, end = (integers_of(name, tensor) for name, tensor in tensors.items())
    size, batches, width = steps.shape
    lengths = np.clip(lengths.astype(object), 0, size).astype(np.int64)
    if not steps.size:  # a dimension beside that of size 0 may be larger than memory
        beams, ends = np.empty(steps.shape, np.int64), np.broadcast_to(size, (batches, width))
        return BeamPaths(beams, lengths, ends, [], None, beams, 0, parents)
    written, parents = parents, parent_indices(parents, width)
    goes_on = np.arange(size).reshape(-1, 1, 1) < lengths.reshape(-1, 1)
    # The place of each path in a row of all beams; two more, which no path leaves, are no beams.
    place = np.arange(batches * width).reshape(batches, width)
    moves = np.tile(np.arange(place.size + 2), (size, 1))
    before, resolved = moves[:, :-2].reshape(steps.shape), positions(call, along, parents)
    np.add(resolved, place[:, :1], out=before, where=goes_on)
    refused = (parents < 0) & (call.negative is Negative.ERROR) | (call.outside is OutOfRange.ERROR)
    np.copyto(before, place.size + refused, where=(resolved < 0) & goes_on)
    at = np.tile(place.reshape(-1), (size, 1))
    for t in reversed(range(1, size)):
        moves[t].take(at[t], out=at[t - 1], mode="clip")  # any other mode checks, and copies
    beams = np.append(place % width, (NO_BEAM, REFUSED_BEAM))[at].reshape(steps.shape)
    used = np.zeros(moves.shape, bool)
    np.put_along_axis(used, at, values=True, axis=1)
    used = used[:, :-2].reshape(steps.shape) & goes_on
    used[0] = False
    tokens = np.take_along_axis(steps, np.maximum(beams, 0), axis=2)
    ended = (tokens == end) & (beams >= 0) & goes_on
    ends = np.where(ended.any(axis=0), ended.argmax(axis=0), size)
    np.copyto(beams, ENDED, where=~goes_on)
    parents = np.where(used, parents, 0)
    number = int(used.sum())
    counts, _ = count(parents, policies_of(call, [along]), counts=True, tuples=False)
    name_as_written(counts[0], written)
    adjustments: list[Adjustment] = []
    refusal: OutOfRangeError | None = None
    try:
        adjustments = check_counts(call, [along], counts, parents.shape, used=number)
    except OutOfRangeError as error:
        refusal = error
    return BeamPaths(beams, lengths, ends, adjustments, refusal, parents, number, written)


def name_as_written(counts: Iterable[IndexCount], written: AnyArray) -> None:
    """Replace the first parents of counts by those of the input, if these are large floats."""
    for each in counts:
        if each.number:  # without one, `first` is no position
            each.value = as_written(written, each.first, each.value)


def as_written(written: AnyArray, at: int, value: float) -> float:
    """Return the parent at a flat position: a float from 2^62 on, or else the integer `value`."""
    is_large = written.dtype.kind == "f" and abs(written.flat[at]) >= LARGE_PARENT
    return float(written.flat[at]) if is_large else value


def integers_of(name: str, tensor: Tensor) -> AnyArray:
    """Return the elements of an input, floats as float64; raise if one is no integer."""
    values = tensor.values()
    if tensor.dtype.kind is not Kind.FLOAT:
        return values
    wide = values.astype(np.float64)
    whole = np.isfinite(wide) & (np.floor(wide) == wide)
    if not whole.all():
        at = coordinates(int((~whole).argmax()), wide.shape)
        raise integer_values_error(name, values[at].item(), cell(at))
    return wide


def parent_indices(parents: AnyArray, size: int) -> AnyArray:
    """Return parents as integers; floats beyond 2^62, outside any axis, congruent modulo `size`."""
    if parents.dtype.kind != "f":
        return parents
    size = max(1, size)
    large = np.abs(parents) >= LARGE_PARENT
    whole = (1 << 62) - (1 << 62) % size  # a multiple of the size
    near = np.where(large, np.mod(parents, size), parents).astype(np.int64)
    return near + np.sign(parents).astype(np.int64) * large * whole
