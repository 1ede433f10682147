"""Run a call in the way that is the fastest for its size.

A small call is computed from bytes without NumPy, all others by arrays: see `small` and `arrays`.
"""

from __future__ import annotations

import sys

from gathercli.small import gather as small

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.arrays.result import GatherOutput
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.bound import BoundCall


def run(
    bound: BoundCall,
    *,
    max_bytes: int | None = None,
    memory: int | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> GatherOutput:
    """Check every index and the size of the result, and return it, computed or on demand.

    Parameters and errors are those of `arrays.run.run`.
    """
    most = small.FEW_RUNS if "numpy" in sys.modules else small.MOST_RUNS
    output = small.gather(bound, max_bytes, most=most)
    if output is not None:
        return output
    from gathercli.arrays import run as arrays

    return arrays.run(bound, max_bytes=max_bytes, memory=memory, threads=threads, progress=progress)
