"""What each version makes of the same call: `check` asks one family, `compare` all.

::

    Case            the inputs and attributes, and counts of the indices
    verdict(op)     the shape and the adjusted indices, or the error
    illegal(call)   every index outside the range of a version
    warnings        what is perhaps not what was meant
    groups          which versions give the same, and where the others first differ

Nothing here opens a file or prints.
"""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.arrays import check, result
from gathercli.arrays.bound import BoundCall
from gathercli.arrays.counts import CELLS, IndexCount, IndexCounts, count_indices, scan
from gathercli.arrays.indices import IndexPolicy
from gathercli.arrays.tensor import row_major
from gathercli.errors import LimitError, OperatorError, OutOfRangeError
from gathercli.ops import FAMILIES
from gathercli.spec.coordinates import coordinates
from gathercli.spec.op import FROM_THE_END, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.errors import GatherError
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis, Op

WIDEST: Final = 2**31 - 1
"""The largest index of a runtime with 32-bit indices."""


class Case:
    """The tensors and attributes that every version is tried on, and counts of the indices.

    Parameters
    ----------
    bind
        Makes the call of a version, or raises the error of a rule.
    tensors
        The inputs, in the order of the versions.
    threads
        How many threads count indices and copy elements.
    progress
        Takes what is being done, the bytes done and the bytes in all, now and then.
    """

    def __init__(
        self,
        bind: Callable[[Op], Call],
        *tensors: Tensor,
        threads: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._bind, self.tensors = bind, tensors
        self.data, self.indices = tensors[:2]
        self.threads, self.progress = threads, progress
        self._counts: dict[tuple[str, int], IndexCounts] = {}

    def bind(self, op: Op) -> BoundCall:
        """Return the call of a version with the tensors, or raise the error of a rule."""
        return BoundCall(self._bind(op), *self.tensors)

    def named(self, op: Op) -> dict[str, Tensor]:
        """Return the tensors by the names that a version gives them."""
        return {each.name: tensor for each, tensor in zip(op.inputs, self.tensors, strict=True)}

    def counts(self, op: Op, along: IndexedAxis) -> IndexCounts:
        """Count the indices along an axis, negative ones from its end; once for every size."""
        key = along.input, along.size
        if key not in self._counts:
            policy = IndexPolicy(along.size, wraps=True, outside=OutOfRange.ERROR)
            array = self.named(op)[along.input].array
            self._counts[key], _ = count_indices(
                array, policy, counts=True, threads=self.threads, progress=self._report(array)
            )
        return self._counts[key]

    @cached_property
    def census(self) -> Census:
        """Counts of values that may mean something else than an index."""
        array, sums = self.indices.array, (IndexCount(), IndexCount(), IndexCount())
        if not self.indices.dtype.integral or self._is_simple:
            return Census(*sums)
        lock, ends = Lock(), set[int]()

        def count(block: AnyArray, start: int) -> None:
            if not block.size:
                return
            masks = block == -1, block < 0, (block > WIDEST) | (block < ~WIDEST)
            with lock:
                ends.update((int(block.min()), int(block.max())))
                for each, mask in zip(sums, masks, strict=True):
                    each.add(mask, block, start)

        scan(array, count, sums, threads=self.threads, progress=self._report(array))
        return Census(*sums, min(ends, default=0), max(ends, default=0))

    @property
    def _is_simple(self) -> bool:
        """Whether no index is negative or beyond 32 bits, as the counts so far tell."""
        return any(
            not counts.negative.number and not counts.outside.number and size <= WIDEST
            for (_, size), counts in self._counts.items()
        )

    def _report(self, array: AnyArray) -> Callable[[int], None] | None:
        progress = self.progress
        return None if progress is None else lambda done: progress("checked", done, array.nbytes)


class Census(NamedTuple):
    """Counts of indices that may mean something else.

    Attributes
    ----------
    ones, negative, wide
        Those that are -1, those below 0, and those beyond 32 bits.
    least, most
        The extreme values; 0 if there are none.
    """

    ones: IndexCount
    negative: IndexCount
    wide: IndexCount
    least: int = 0
    most: int = 0


class Verdict(NamedTuple):
    """What a version makes of a call.

    Attributes
    ----------
    op
        The version.
    bound, shape
        The bound call and its output shape; None if shapes, types or attributes are refused.
    adjustments
        What becomes of indices outside the axis.
    error
        The refusal.
    """

    op: Op
    bound: BoundCall | None = None
    shape: Shape | None = None
    adjustments: tuple[Adjustment, ...] = ()
    error: GatherError | None = None

    @property
    def call(self) -> Call | None:
        """The call without its tensors."""
        return None if self.bound is None else self.bound.call

    @property
    def refuses_index(self) -> bool:
        """Whether an index is refused."""
        return isinstance(self.error, OutOfRangeError)

    @property
    def filled(self) -> int:
        """The number of indices that give zeros."""
        zero = OutOfRange.ZERO.done
        return sum(each.number for each in self.adjustments if each.how == zero)


def verdict(op: Op, case: Case, max_bytes: int | None = None) -> Verdict:
    """Try a version: shapes, types, attributes, every index and the size, without gathering."""
    bound = shape = None
    adjustments: list[Adjustment] = []
    try:
        bound = case.bind(op)
        call, shape = bound.call, Shape(bound.shape)
        for along in FAMILIES[op.family].indexed_axes(call):
            counts = case.counts(op, along)
            if not call.wraps_negative:
                counts = counts.unwrapped()
            adjustments += check.check_counts(call, along, counts, bound.tensors[along.input].shape)
        result.check_size(bound.shape, case.data, max_bytes)
    except (OperatorError, LimitError) as error:
        return Verdict(op, bound, shape, error=error)
    return Verdict(op, bound, shape, tuple(adjustments))


# Illegal indices


class Illegal(NamedTuple):
    """An index outside the range of a version: its coordinates, its value, its fate in words."""

    at: tuple[int, ...]
    value: int
    does: str


def legal(call: Call) -> tuple[int, int] | None:
    """Return the least and the greatest index that addresses `data`; None on an empty axis."""
    s = call.size
    return ((-s if _is_signed(call) else 0), s - 1) if s else None


def _is_signed(call: Call) -> bool:
    """Return whether negative indices are legal by the version, and no option refuses them."""
    return call.op.index_range is IndexRange.SIGNED and call.negative is not Negative.ERROR


def fate(call: Call) -> Callable[[int], str]:
    """Return a function that names the fate of an illegal index, in the words of `Adjustment`."""
    refused, outside = OutOfRange.ERROR.done, call.outside.done
    if not call.size and call.outside is not OutOfRange.ZERO:
        outside = refused
    if call.negative is Negative.ERROR:
        return lambda k: refused if k < 0 else outside
    first = -call.size if call.wraps_negative else 0
    return lambda k: FROM_THE_END if first <= k < 0 else outside


def number_illegal(call: Call, case: Case) -> int:
    """Return how many indices are illegal."""
    axes = FAMILIES[call.op.family].indexed_axes(call)
    counts = (case.counts(call.op, along) for along in axes)
    if not _is_signed(call):
        counts = (each.unwrapped() for each in counts)
    return sum(each.outside.number for each in counts)


def illegal(call: Call, case: Case) -> Iterator[Illegal]:
    """Yield the illegal indices, row-major, in memory that does not grow with their number."""
    left, array, start = number_illegal(call, case), case.indices.array, 0
    (low, high), fate_of = legal(call) or (0, -1), fate(call)
    for block in row_major(array, CELLS) if left else ():
        marked = np.flatnonzero((block < low) | (block > high))
        # the positions stand in front, so that a 0-D index has a row too
        at = np.stack([marked, *coordinates(marked + start, array.shape)], axis=1)
        for (_, *where), k in zip(at.tolist(), block[marked].tolist(), strict=True):
            yield Illegal(tuple(where), k, fate_of(k))
        start += block.size
        left -= len(marked)
        if case.progress is not None:
            case.progress("searched", start * array.itemsize, array.nbytes)
        if not left:
            return


class CheckedCall(NamedTuple):
    """The verdict of one version, and those of every version of its family."""

    chosen: Verdict
    family: tuple[Verdict, ...]
    case: Case

    @property
    def accepting(self) -> list[Op]:
        """The versions that accept shapes, types and attributes."""
        return [each.op for each in self.family if each.call is not None]


def checked(op: Op, family: Iterable[Op], case: Case) -> CheckedCall:
    """Try every version of a family."""
    verdicts = tuple(verdict(each, case) for each in family)
    return CheckedCall(next(each for each in verdicts if each.op is op), verdicts, case)
