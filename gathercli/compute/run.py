"""Run a call in the way that is the fastest for it; nothing outside this room chooses another.

========== ====================================== ==================================================
way        for                                    computes
========== ====================================== ==================================================
small      few indices and elements, kept as      `sources` of the family, without NumPy
           bytes
chunks     inputs that are read chunk by chunk    slab by slab, within a limit of memory
kernel     inputs in memory or mapped             parts of the output on demand
unchecked  many indices that are used once        by the kernel, which checks each index as it reads
                                                  it; an unexpected one makes all be checked first
plan       a call repeated on arrays of the same   by the kernel in C, with nothing to bind again
           ranks and types
========== ====================================== ==================================================
"""

from __future__ import annotations

import sys

from gathercli.compute import small
from gathercli.compute.tensor import MOST_PACKED_VALUES, Tensor
from gathercli.errors import GatherError, LimitError
from gathercli.records import suppress
from gathercli.spec.shapes import product
from gathercli.text import in_bytes

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.chunks import BlockSource
    from gathercli.compute.indices import ResolvedIndices
    from gathercli.compute.native import Key
    from gathercli.compute.native import repeat as repeat  # noqa: PLC0414  (given from here)
    from gathercli.compute.result import GatherResult, StreamedResult
    from gathercli.compute.small import SmallOutput
    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.adjustments import Adjustment

    # The output of a call, with every index checked.
    GatherOutput: TypeAlias = SmallOutput | GatherResult | StreamedResult

    _T = TypeVar("_T")

    class RunLimits(TypedDict, total=False):
        """What limits a run, and what it reports to."""

        max_bytes: int | None  # of the result; None for no limit
        memory: int | None  # bytes for a result that is computed chunk by chunk; None for no limit
        threads: int  # the most
        progress: ProgressCallback | None  # takes the stage, the bytes done and the total bytes


else:

    def __getattr__(name: str) -> Any:
        """Return `native.repeat`, which NumPy comes with, where it is imported from here."""
        if name != "repeat":
            raise AttributeError(name)
        from gathercli.compute.native import repeat

        return repeat


POSITION_BYTES = 8  # bytes of the precomputed position of an output element


def run(bound: BoundCall, **limits: Unpack[RunLimits]) -> GatherOutput:
    """Check every index and the size of the result, and return it, computed or on demand.

    Raise `OutOfRangeError` (``index-negative``, ``index-range``) for the first refused index,
    row-major; `LimitError` if a limit is exceeded.
    """
    most = small.MOST_STEPS_WITH_NUMPY if "numpy" in sys.modules else small.MOST_STEPS
    output = small.gather(bound, limits.get("max_bytes"), most=most)
    return run_arrays(bound, **limits) if output is None else output


def run_arrays(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput:
    """Run a call of any size with NumPy, as `run` does."""
    call = bound.call
    from gathercli.compute import check, native, result

    bound.check_size(max_bytes)  # before indices are read, of which a file may declare any number
    filled = call.fill is not None  # which blocks of chunks are not
    if bound.in_memory is None and call.gather is not None and not filled:
        adjusted = check.check_chunks(bound, threads=threads, progress=progress)
        return result.StreamedResult(bound, adjusted, memory, threads=threads, progress=progress)
    if (call.gather is None or filled) and memory is not None:
        _check_memory(bound, memory)
    tensors = bound.loaded()
    points: dict[str, ResolvedIndices] = {}
    adjustments: list[Adjustment] = []
    for name, axes in call.indexed.items():
        if call.op.input(name).follows:
            if bound.in_memory and (tree := native.gather_tree(bound, [*tensors.values()])):
                return tree
            points[name], more = check.follow_parents(call, axes[0], tensors)
        else:
            points[name], more = check.check_input(
                call, axes, tensors[name].array, threads=threads, progress=progress
            )
        adjustments += more
    return result.GatherResult(
        bound, tensors, points, adjustments, threads=threads, progress=progress
    )


def consume(
    bound: BoundCall,
    use: Callable[[GatherOutput], _T],
    *,
    recheck: Callable[[], None] | None,
    context: AbstractContextManager[Any] | None = None,
    **limits: Unpack[RunLimits],
) -> _T:
    """Run a call and return what `use` makes of its output, reading many indices only once.

    `use` may be called again if it raises. `recheck` raises if an input changed since it was read;
    it is None if `use` has an effect before it raises, so that every index is checked first. Errors
    of the call are raised within `context`, not those of `use`. The rest is as for `run`.
    """
    within = context or suppress()  # nothing

    def checked() -> GatherOutput:
        with within:
            return run(bound, **limits)

    # Few indices are checked sooner than NumPy is imported.
    if recheck is None or product(bound.indices.shape) <= MOST_PACKED_VALUES:
        return use(checked())
    with within:
        unchecked = _unchecked(bound, **limits)
    if unchecked is None:
        return use(checked())

    def rechecked() -> GatherOutput:
        with within:
            recheck()
        return checked()

    from gathercli.compute.native import UnexpectedIndicesError

    try:
        return use(unchecked)
    except UnexpectedIndicesError:
        output = rechecked()
    except GatherError:
        rechecked()  # the error of a refused index comes first
        raise
    return use(output)


def answer(
    bound: BoundCall, *, threads: int = 1, out: AnyArray | None = None, key: Key | None = None
) -> Tensor:
    """Return the whole output of a call on tensors in memory, in `out` unless that is None.

    `out` is C-ordered, has the shape and element size of the output, and is undefined after an
    error. With the `key` of `repeat` the plan of the call may be kept.
    """
    from functools import partial

    from gathercli.compute import native

    output = _unchecked(bound, reports=False, threads=threads)
    try:
        whole = None if output is None else output.stored(out)
    except native.UnexpectedIndicesError:
        whole = None
    if whole is None:
        # A small result is made without NumPy of bytes, which nobody could write to.
        whole = run_arrays(bound, threads=threads).stored(out)
    if key is not None and bound.call.op.followed:
        native.keep(key, lambda: partial(native.tree_again, whole.dtype))
    elif key is not None and output is not None:
        native.keep(key, output.plan)
    return whole


def boxes(bound: BoundCall) -> BlockSource:
    """Return a source of any box of an output along one axis, whose indices are checked."""
    from gathercli.compute.blocks import GatherBlocks

    if bound.call.fill is not None:
        from gathercli.compute.result import source_of

        return source_of(run_arrays(bound))
    return GatherBlocks(bound)


def warm_up() -> None:
    """Import what runs calls with NumPy, before any is timed."""
    from gathercli.compute import check, result  # noqa: F401


def _unchecked(
    bound: BoundCall, *, reports: bool = True, **limits: Unpack[RunLimits]
) -> GatherResult | None:
    """Return an output that checks each index when it uses it, so that indices are read once.

    An index that the call refuses raises `UnexpectedIndicesError`, and possibly one outside the
    axis that it does not refuse; with `reports` each that would be reported does, as the result has
    no adjustments. None if `run` takes as long or raises: for few indices, or indices that are used
    repeatedly.
    """
    if bound.in_memory is None or bound.call.gather is None:
        return None
    from gathercli.compute.check import check_on_use
    from gathercli.compute.native import reads
    from gathercli.compute.result import GatherResult

    tensors = bound.loaded()
    points = check_on_use(bound.call, tensors, reports=reports)
    if not points:
        return None
    bound.check_size(limits.get("max_bytes"))
    threads, progress = limits.get("threads", 1), limits.get("progress")
    result = GatherResult(bound, tensors, points, (), threads=threads, progress=progress)
    (name,) = points
    return result if result.uses_each_once or reads(tensors[name].array) else None


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
