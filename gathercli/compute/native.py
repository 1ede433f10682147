"""Copy with the kernel in C, if it was built, and keep its plans of repeated calls.

It does what `kernel.Worker` does, which serves where it is missing and for what it leaves out:
indices in foreign byte order, and axes of 2^31 positions or more.

A call on arrays of the ranks and types of an earlier one has nothing to bind again: the rules on
sizes, which are left, are checked by `again.c`, and indices by the kernel as it reads them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.small import SmallOutput
from gathercli.compute.tensor import CODES, Tensor
from gathercli.errors import TransferError
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.storage import AnyArray
    from gathercli.spec.dtypes import DType

    Fill = Callable[[AnyArray, AnyArray, AnyArray, AnyArray, int, int, int], bool]
    Key = tuple[Hashable, ...]
    CallPlan = Callable[..., AnyArray | None]  # of a type, the output or None, and the inputs

fill: Fill | None  # the kernel in C; None if the package was built without
fill_again: Callable[..., AnyArray | None]  # a call again, on arrays of the same ranks and types
fill_tree: Callable[..., bool]  # that of GatherTree; False also for what it does not serve

try:
    from gathercli.compute._native import fill, fill_tree
    from gathercli.compute._native import fill_again as fill_again  # noqa: PLC0414  (for `result`)
except ImportError:
    fill = None

MOST_POSITIONS: Final = 2**31 - 1  # the positions on an axis that fit in 32 bits
MOST_LOOPS: Final = 64  # the largest number of loops, and of components of a tuple

OUTSIDE_CODES: Final = {
    OutOfRange.ERROR: 0,
    OutOfRange.ZERO: 1,
    OutOfRange.CLAMP: 2,
    OutOfRange.WRAP: 3,
}

# Bytes of output between two looks at signals, where the kernel in C has threads.
UNINTERRUPTED_BYTES: Final = 256 << 20
MOST_PLANS: Final = 64  # the largest number of kept plans
# The types of attributes that are equal only if they mean the same.
EXACT_TYPES: Final = frozenset((int, str, type(None)))


class UnexpectedIndicesError(Exception):
    """Unchecked indices are not all legal."""


def reads(indices: AnyArray) -> bool:
    """Return whether the kernel in C reads and checks such indices itself."""
    return fill is not None and indices.dtype.isnative


def changed_error() -> TransferError:
    """Return the error for indices that changed after they were checked."""
    what = "changed while they were read"
    expected = "them to stay as they were"
    return TransferError(what, rule="unreadable", subject="indices", expected=expected)


class NativePlan(NamedTuple):
    """What the kernel in C does for inputs of some shapes, types and policies."""

    kernel: Fill
    numbers: AnyArray  # int64: sizes, steps and policies, in the order in which `gather.c` reads
    part: int  # the bytes of a part
    threads: int  # the most that share a range

    def copy(self, out: AnyArray, data: AnyArray, indices: AnyArray, start: int = 0) -> bool:
        """Copy the bytes of the output from `start` on to `out`; return whether all are legal."""
        return self.kernel(out, data, indices, self.numbers, start, self.part, self.threads)


class NativeWorker(NamedTuple):
    """A copier of ranges of the output, for any number of threads."""

    plan: NativePlan
    dtype: np.dtype[Any]
    data: AnyArray
    indices: AnyArray
    checked: bool  # whether all indices were

    def fill(self, start: int, stop: int, out: AnyArray) -> None:
        """Copy the output elements from `start` to before `stop`, as `kernel.Worker.fill` does.

        Raise `UnexpectedIndicesError` if the indices were not checked, and some are illegal;
        `TransferError` (``unreadable``) if they changed after they were checked.
        """
        del stop
        if not self.plan.copy(out, self.data, self.indices, start * self.dtype.itemsize):
            if not self.checked:
                raise UnexpectedIndicesError
            raise changed_error()
        if not self.dtype.isnative:
            out.view(self.dtype).byteswap(inplace=True)


def tree_again(
    dtype: DType, storage: np.dtype[Any], out: AnyArray | None, *inputs: AnyArray
) -> AnyArray | None:
    """Return the output of GatherTree, in `out` unless it is None; None for the usual way."""
    ids, parents, lengths, _ = inputs
    fits = parents.shape == ids.shape and lengths.shape == ids.shape[1:2]
    if not fits or not all(each.flags.c_contiguous and each.dtype == ids.dtype for each in inputs):
        return None
    if out is None:
        out = np.empty(ids.shape, storage)
    elif out.shape != ids.shape or any(np.may_share_memory(out, each) for each in inputs):
        return None
    fits = out.flags.c_contiguous and out.flags.writeable
    served = fits and fill_tree(CODES.get(dtype, "?"), *ids.shape, out, *inputs)
    return out if served else None


def gather_tree(bound: BoundCall, tensors: Sequence[Tensor]) -> SmallOutput | None:
    """Return the output of GatherTree by the kernel in C; None if that does not serve it."""
    if fill is None:
        return None
    dtype, storage = tensors[0].dtype, tensors[0].storage
    arrays = [np.asarray(each.array, storage, order="C") for each in tensors]
    out = tree_again(dtype, storage, None, *arrays)
    if out is None:
        return None
    output = SmallOutput(dtype, out)
    output.bound, output.adjustments = bound, ()
    return output


# The plans of calls in the order of their first calls; None after one call.
_plans: dict[Key, CallPlan | None] = {}
_keeping: Final = threading.Lock()  # held while a thread adds or removes a plan


def repeat(
    command: str, settings: tuple[Any, ...], inputs: Sequence[AnyArray | None], out: Any
) -> tuple[AnyArray | None, Key | None]:
    """Return the output of a call with a plan, in `out` unless that is None; and its key.

    The key is all but the sizes and values, or None if more may decide the output. `settings` are
    the version, the number of threads and the attributes. Without an output the call must take the
    usual way: it has no plan, or some of it may be refused.
    """
    if fill is None or not EXACT_TYPES.issuperset(map(type, settings)):
        return None, None
    parts = [command, *settings]
    for array in inputs:
        if array is None:
            return None, None
        parts += array.ndim, array.dtype
    if command == "gather-nd":  # the components of a tuple are as good as a rank
        parts += inputs[1].shape[-1:]  # type: ignore[union-attr]
    key = tuple(parts)
    plan, dtype = _plans.get(key), inputs[0].dtype  # type: ignore[union-attr]
    if plan is None or (out is not None and (type(out) is not np.ndarray or out.dtype != dtype)):
        return None, key
    return plan(dtype, out, *inputs), key


def keep(key: Key, plan: Callable[[], CallPlan | None]) -> None:
    """Keep the plan of a call that succeeded, from its second time on."""
    types = [each for each in key if isinstance(each, np.dtype)]
    if not all(each.isnative and each.kind in "biufcV" for each in types):
        return
    with _keeping:
        if key not in _plans:
            while len(_plans) >= MOST_PLANS:
                del _plans[next(iter(_plans))]
            _plans[key] = None
            return
        if _plans[key] is not None:
            return
    kept = plan()
    with _keeping:
        if key in _plans:  # another thread may have removed it
            _plans[key] = kept
