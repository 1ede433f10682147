"""Run a call: with the kernel for inputs in memory or mapped, else chunk by chunk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gathercli.compute.check import check_indices, policy_of
from gathercli.compute.indices import KEPT, ResolvedIndices, ResolvedTuples
from gathercli.compute.native import UnexpectedIndicesError, reads
from gathercli.compute.result import GatherResult
from gathercli.errors import LimitError
from gathercli.ops import indexed_inputs
from gathercli.spec.adjustments import are_tuples
from gathercli.spec.op import IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import in_bytes

POSITION_BYTES: Final = 8
"""Bytes of the precomputed position of an output element."""

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.kernel import Points
    from gathercli.compute.result import GatherOutput
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.adjustments import Adjustment


def run(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput:
    """Check every index and the size of the result, and return a result that computes on demand.

    Parameters
    ----------
    max_bytes
        The largest size of the result; None for no limit.
    memory
        Bytes of memory for a result computed chunk by chunk; None for no limit.
    threads
        The largest number of threads.
    progress
        A function of the stage, the bytes done and the total bytes.

    Raises
    ------
    OutOfRangeError
        ``index-negative`` or ``index-range``, naming the first refused index, row-major.
    LimitError
        ``limit``.
    """
    call = bound.call
    bound.check_size(max_bytes)  # before indices are read, of which a file may declare any number
    if bound.in_memory is None and call.gather is not None:
        from gathercli.compute import streamed

        adjusted = streamed.check_indices(bound, threads=threads, progress=progress)
        return streamed.StreamedResult(bound, adjusted, memory, threads=threads, progress=progress)
    if call.gather is None and memory is not None:
        _check_memory(bound, memory)
    tensors = bound.loaded()
    points: dict[str, Points] = {}
    adjustments: list[Adjustment] = []
    for name, axes in indexed_inputs(call).items():
        if call.op.input(name).follows:
            from gathercli.compute.tree import follow_parents

            points[name], more = follow_parents(call, axes[0], tensors)
        else:
            points[name], more = check_indices(
                call, axes, tensors[name].array, threads=threads, progress=progress
            )
        adjustments += more
    return GatherResult(bound, tensors, points, adjustments, threads=threads, progress=progress)


def _check_memory(bound: BoundCall, limit: int) -> None:
    """Raise `LimitError` if an output computed as a whole and its inputs exceed the limit."""
    cells = product(bound.shape)
    size = cells * (bound.data.storage.itemsize + POSITION_BYTES) + sum(
        product(each.shape) * each.storage.itemsize
        for each in bound.tensors.values()
        if each.in_memory is None
    )
    if size > limit:
        what = f"the result takes {in_bytes(size)} of memory with what is read for it as a whole"
        raise LimitError.over(what, size, limit)


def unchecked(
    bound: BoundCall,
    *,
    reports: bool = True,
    max_bytes: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherResult | None:
    """Return a result that checks each index when it uses it, so that indices are read once.

    An index that the call refuses raises `UnexpectedIndicesError`, and possibly one outside the
    axis that it does not refuse.

    Parameters
    ----------
    reports
        Whether an index with an adjustment always raises, as the result has no adjustments.
    max_bytes, threads, progress
        As for `run`.

    Returns
    -------
        None if `run` takes as long or raises: for few indices, or indices that are used repeatedly.
    """
    call = bound.call
    (name, axes), *others = indexed_inputs(call).items()
    if bound.in_memory is None or others or call.gather is None:
        return None
    tensors = bound.loaded()
    indices = tensors[name].array
    # With empty data no index would be used, and so none checked.
    few = 0 if reads(indices) else KEPT
    if indices.size <= few or not tensors[call.op.inputs[0].name].nbytes:
        return None
    policies = [policy_of(call, along) for along in axes]
    if reports or call.negative is Negative.ERROR:  # refused, whatever becomes of others
        policies = [policy._replace(outside=OutOfRange.ERROR) for policy in policies]
    if reports and call.op.index_range is IndexRange.UNSIGNED:  # wrapping is an adjustment
        policies = [policy._replace(wraps=False) for policy in policies]
    unseen: Points = (
        ResolvedTuples(indices, policies)
        if are_tuples(axes)
        else ResolvedIndices(indices, policies[0])
    )
    bound.check_size(max_bytes)
    result = GatherResult(bound, tensors, {name: unseen}, (), threads=threads, progress=progress)
    return result if result.uses_each_once or reads(indices) else None


def answer(bound: BoundCall, *, threads: int = 1, out: AnyArray | None = None) -> Tensor:
    """Return the whole output of a call on tensors in memory, as ``run(…).whole()`` does.

    Indices are checked block by block while they are in the cache for use, if the kernel in C does
    it or they are many. If a block has an illegal one, all indices are checked first.

    Parameters
    ----------
    out
        An array for the output, of its shape and element size, C-ordered; undefined after an error.

    Raises
    ------
    OutOfRangeError, LimitError
        As from `run`.
    """
    result = unchecked(bound, reports=False, threads=threads)
    if result is not None:
        with suppress(UnexpectedIndicesError):
            return result.stored(out)
    return run(bound, threads=threads).stored(out)
