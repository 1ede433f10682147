"""Run a call in the way that is the fastest for its size.

A small call is computed from bytes without NumPy (`small`), all others by arrays (`array_run`).
"""

from __future__ import annotations

import sys

from gathercli.compute import small
from gathercli.compute.elements import MOST
from gathercli.errors import GatherError
from gathercli.spec.shapes import product

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.result import GatherOutput
    from gathercli.compute.threads import ProgressCallback

    _T = TypeVar("_T")


def run(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput:
    """Check every index and the size of the result, and return it, computed or on demand.

    Parameters and errors are those of `array_run.run`.
    """
    most = small.FEW_STEPS if "numpy" in sys.modules else small.MOST_STEPS
    output = small.gather(bound, max_bytes, most=most)
    if output is not None:
        return output
    from gathercli.compute import array_run as arrays

    return arrays.run(bound, max_bytes=max_bytes, memory=memory, threads=threads, progress=progress)


def unchecked(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput | None:
    """Return an output that checks each index when it uses it, as `array_run.unchecked` does."""
    if product(bound.indices.shape) <= MOST:
        return None
    from gathercli.compute import array_run as arrays

    return arrays.unchecked(bound, max_bytes=max_bytes, threads=threads, progress=progress)


def use_unchecked(
    result: GatherOutput,
    use: Callable[[GatherOutput], _T],
    gather: Callable[[], GatherOutput],
) -> _T:
    """Pass an `unchecked` result to `use`; if an index is unexpected, pass the checked one.

    Parameters
    ----------
    use
        A function that reads the result once, and has no effect if it raises.
    gather
        A function that raises if an input changed, and calls `run`.

    Raises
    ------
    GatherError
        From `gather`, else from `use`.
    """
    from gathercli.compute.native import UnexpectedIndicesError

    try:
        return use(result)
    except UnexpectedIndicesError:
        checked = gather()
    except GatherError:
        gather()
        raise
    return use(checked)
