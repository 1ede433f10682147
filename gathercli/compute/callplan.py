"""Repeat calls on arrays of the same shapes and types, with nothing to bind and to plan again.

What such a call does depends on the indices alone, which the kernel in C checks as it reads them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute import native
from gathercli.compute.array_run import unchecked
from gathercli.compute.result import TURN

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.native import NativePlan
    from gathercli.compute.storage import AnyArray

    Key = tuple[Hashable, ...]

MOST: Final = 64
"""The largest number of kept plans."""

PLAIN: Final = frozenset((int, str, type(None)))
"""The types of attributes that are equal only if they mean the same."""


class CallPlan(NamedTuple):
    """What a repeated call needs.

    Attributes
    ----------
    shape, storage
        Those of the output.
    copying
        The plan of the kernel in C for C-ordered inputs.
    """

    shape: tuple[int, ...]
    storage: np.dtype[Any]
    copying: NativePlan


_plans: dict[Key, CallPlan | None] = {}
"""The plans of calls in the order of their first calls; None after one call."""

_keeping: Final = threading.Lock()
"""Held while a thread adds or removes a plan."""


def key_of(
    command: str,
    version: str | int,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    threads: int | None,
) -> Key | None:
    """Return what decides all but the values of a call; None if more may decide it."""
    if native.fill is None or len(inputs) != 2:
        return None
    for array in inputs:
        if type(array) is not np.ndarray or not array.flags.c_contiguous:
            return None
    data, indices = inputs
    settings = (version, threads, *attributes.values())
    if data.dtype.kind not in "biufc" or not data.dtype.isnative:
        return None
    if not PLAIN.issuperset(map(type, settings)):
        return None
    return command, *settings, data.shape, data.dtype, indices.shape, indices.dtype


def repeat(key: Key, inputs: Sequence[AnyArray], out: Any) -> AnyArray | None:
    """Return the output of a repeated call.

    Parameters
    ----------
    key
        The `key_of` the call.
    out
        An array for the output; None for a new one.

    Returns
    -------
        None if the call must take the usual way: it has no plan, or it refuses `out` or an index.
    """
    plan = _plans.get(key)
    if plan is None:
        return None
    if out is None:
        try:
            out = np.empty(plan.shape, plan.storage)
        except MemoryError:
            return None
    elif (
        type(out) is not np.ndarray
        or out.dtype != plan.storage
        or out.shape != plan.shape
        or not (out.flags.c_contiguous and out.flags.writeable)
        or any(np.may_share_memory(out, each) for each in inputs)
    ):
        return None
    data, indices = inputs
    return out if plan.copying.copy(out, data, indices, 0) else None


def keep(key: Key, bound: BoundCall, threads: int) -> None:
    """Keep the plan of a call that succeeded, from its second time on."""
    with _keeping:
        if key not in _plans:
            while len(_plans) >= MOST:
                del _plans[next(iter(_plans))]
            _plans[key] = None
            return
        if _plans[key] is not None:
            return
    result = unchecked(bound, reports=False, threads=threads)
    copying = result.native_plan() if result is not None and result.nbytes <= TURN else None
    if result is not None and copying is not None and result.storage == bound.data.storage:
        with _keeping:
            if key in _plans:  # another thread may have removed it
                _plans[key] = CallPlan(result.shape, result.storage, copying)
