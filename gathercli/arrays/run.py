"""The way to the output of a call: in memory or mapped by the kernel, else chunk by chunk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gathercli.arrays.check import check_indices
from gathercli.arrays.indices import KEPT, IndexPolicy, ResolvedIndices, UnexpectedIndicesError
from gathercli.arrays.result import GatherResult, check_size
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.result import GatherOutput
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.arrays.threads import ProgressCallback


def run(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput:
    """Check every index and the size of the result, before any of it is made.

    Parameters
    ----------
    max_bytes
        How large the result may be; None for any size that exists.
    memory
        Bytes of memory for the result where it is made chunk by chunk; None for any.
    threads
        How many may work at a time.
    progress
        Takes now and then what is being done, how many bytes of it are, and of how many.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    LimitError
        ``limit``.
    """
    inputs = bound.in_memory
    if inputs is None:
        from gathercli.arrays import streamed

        treated = streamed.check_indices(bound, threads=threads, progress=progress)
        check_size(bound.shape, bound.data, max_bytes)
        return streamed.StreamedResult(bound, treated, memory, threads=threads, progress=progress)
    call, tensors = bound.call, dict(zip(bound.tensors, inputs, strict=True))
    points: dict[str, ResolvedIndices] = {}
    adjustments: list[Adjustment] = []
    for along in FAMILIES[call.op.family].indexed_axes(call):
        array = tensors[along.input].array
        points[along.input], more = check_indices(
            call, along, array, threads=threads, progress=progress
        )
        adjustments += more
    data = tensors["data"]
    check_size(bound.shape, data, max_bytes)
    return GatherResult(bound, data, points, adjustments, threads=threads, progress=progress)


def answer(bound: BoundCall, *, threads: int = 1, out: AnyArray | None = None) -> Tensor:
    """Return all of the output of a call of tensors in memory, as ``run(…).whole()`` does.

    Many indices are checked while they are used, each block of them once, as they pass the cache;
    only if a block holds more than legal ones are all of them checked beforehand.

    Parameters
    ----------
    out
        Takes the output: its shape and element size, C-ordered. After a refusal it may hold
        anything.

    Raises
    ------
    OutOfRangeError, LimitError
        As from `run`.
    """
    call, inputs = bound.call, bound.in_memory
    if inputs is None:
        raise LookupError("an input is read in chunks")
    tensors = dict(zip(bound.tensors, inputs, strict=True))
    (along, *others), data = FAMILIES[call.op.family].indexed_axes(call), tensors["data"]
    indices = tensors[along.input].array
    # Of few indices, or of data without elements, nothing would be used, or checked.
    if not others and indices.size > KEPT and data.array.nbytes:
        check_size(bound.shape, data, None)
        policy = IndexPolicy(along.size, call.wraps_negative, call.outside)
        unseen = {along.input: ResolvedIndices(indices, policy)}
        result = GatherResult(bound, data, unseen, (), threads=threads)
        if result.uses_each_once:
            with suppress(UnexpectedIndicesError):
                return result.stored(out)
    return run(bound, threads=threads).stored(out)
