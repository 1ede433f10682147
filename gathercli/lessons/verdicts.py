"""What each version makes of the same call: `check` asks one family, `compare` all.

::

    Case            the inputs and attributes, and what the indices hold
    verdict(row)    the shape and what becomes of the indices, or the rule that refuses
    illegal(case)   every index that a row does not simply address
    warnings        what is legal, or not, and perhaps not what was meant
    groups          which rows give the same, and where the others first differ

Nothing here opens a file or prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli import engine
from gathercli.arrays import check, result
from gathercli.arrays.counts import CELLS, IndexCount, IndexCounts, count_indices, scan
from gathercli.arrays.indices import IndexPolicy
from gathercli.arrays.tensor import row_major
from gathercli.errors import LimitError, OperatorError, OutOfRangeError
from gathercli.ops import FAMILIES
from gathercli.spec.call import Operand
from gathercli.spec.coordinates import coordinates, known
from gathercli.spec.op import IndexRange, Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.errors import GatherError
    from gathercli.spec.call import Call
    from gathercli.spec.op import Op
    from gathercli.spec.shapes import Shape

WIDEST: Final = 2**31 - 1
"""The largest index of a runtime that counts in 32 bits."""


class Case:
    """The same inputs and attributes for every version, and what their indices hold.

    Parameters
    ----------
    bind
        Puts the call of a row together, or raises the refusal.
    threads
        How many look at indices, or make results.
    tick
        Is told now and then what is being done, how many bytes of it are, and of how many.
    """

    def __init__(
        self,
        bind: Callable[[Op], Call],
        data: Tensor,
        indices: Tensor,
        *,
        threads: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.bind, self.data, self.indices = bind, data, indices
        self.threads, self.progress = threads, progress
        self._tallies: dict[int, IndexCounts] = {}
        self._census: Census | None = None

    def tallies(self, size: int) -> IndexCounts:
        """Count what the indices are on an axis of `size`, where negative ones count from its end.

        All of them are looked at once for every size.
        """
        if size not in self._tallies:
            how = IndexPolicy(size, wraps=True, outside=OutOfRange.ERROR)
            self._tallies[size], _ = count_indices(
                self.indices.array, how, counts=True, threads=self.threads, progress=self.told()
            )
        return self._tallies[size]

    def census(self) -> Census:
        """Count values that may mean something else than they say."""
        if self._census is None:
            self._census = Census.of(self)
        return self._census

    @property
    def is_simple(self) -> bool:
        """Whether all indices are known to be 0 or more, below some axis that runtimes address."""
        return any(
            not found.negative.number and not found.outside.number and size <= WIDEST
            for size, found in self._tallies.items()
        )

    def told(self) -> Callable[[int], None] | None:
        """Return what takes how many bytes of the indices were looked at."""
        progress, size = self.progress, self.indices.nbytes
        return None if progress is None else lambda done: progress("checked", done, size)


class Census(NamedTuple):
    """Values of indices that may mean something else than they say.

    Attributes
    ----------
    ones, negative, wide
        Those that are -1, all below 0, and those that 32 bits do not hold.
    least, most
        The extreme values; 0 where there are none.
    """

    ones: IndexCount
    negative: IndexCount
    wide: IndexCount
    least: int = 0
    most: int = 0

    @classmethod
    def of(cls, case: Case) -> Census:
        """Look at every index."""
        from threading import Lock

        tallies, lock, ends = (IndexCount(), IndexCount(), IndexCount()), Lock(), set[int]()
        if not case.indices.dtype.integral or case.is_simple:
            return cls(*tallies)

        def look(given: AnyArray, start: int) -> None:
            if not given.size:
                return
            marks = given == -1, given < 0, (given > WIDEST) | (given < ~WIDEST)
            with lock:
                ends.update((int(given.min()), int(given.max())))
                for tally, marked in zip(tallies, marks, strict=True):
                    tally.add(marked, given, start)

        array = case.indices.array
        scan(array, look, tallies, threads=case.threads, progress=case.told())
        return cls(*tallies, min(ends, default=0), max(ends, default=0))


class Verdict(NamedTuple):
    """What a version makes of a call.

    Attributes
    ----------
    op
        The row.
    call, shape
        The call and its output shape; None where shapes, types or attributes are refused.
    treated
        What becomes of indices that do not simply address `data`.
    error
        The refusal.
    """

    op: Op
    call: Call | None = None
    shape: Shape | None = None
    adjustments: tuple[Adjustment, ...] = ()
    error: GatherError | None = None

    @property
    def refuses_index(self) -> bool:
        """Whether it is an index that is refused."""
        return isinstance(self.error, OutOfRangeError)

    @property
    def filled(self) -> int:
        """How many indices give zeros."""
        zero = OutOfRange.ZERO.done
        return sum(each.number for each in self.adjustments if each.how == zero)


def verdict(op: Op, case: Case, max_bytes: int | None = None) -> Verdict:
    """Try a row: all its rules, on every index, short of the output."""
    call = shape = None
    try:
        call = case.bind(op)
        shape = engine.infer(call)
        found = case.tallies(call.size)
        if not call.wraps_negative:
            found = found.unwrapped()
        (along,) = FAMILIES[call.op.family].indexed_axes(call)
        adjustments = check.check_counts(call, along, found, case.indices.shape)
        result.check_size(known(shape), case.data, max_bytes)
    except (OperatorError, LimitError) as error:
        inputs = {"data": Operand.of(case.data), "indices": Operand.of(case.indices)}
        error.add_call(op.full_name, inputs)
        return Verdict(op, call, shape, error=error)
    return Verdict(op, call, shape, tuple(adjustments))


# Illegal indices


class Illegal(NamedTuple):
    """An index that a row does not simply address: where, what, and what becomes of it."""

    at: tuple[int, ...]
    value: int
    does: str


def legal(call: Call) -> tuple[int, int] | None:
    """Return the least and the greatest index that addresses `data`; None on an empty axis."""
    s = call.size
    return ((-s if _counts_back(call) else 0), s - 1) if s else None


def _counts_back(call: Call) -> bool:
    """Whether negative indices are the version's own, and not refused by an option."""
    return call.op.index_range is IndexRange.SIGNED and call.negative is not Negative.ERROR


def fate(call: Call) -> Callable[[int], str]:
    """Return what names the outcome of an illegal index, in the words of `Adjustment`."""
    refused, outside = OutOfRange.ERROR.done, call.outside.done
    if not call.size and call.outside is not OutOfRange.ZERO:
        outside = refused
    if call.negative is Negative.ERROR:
        return lambda k: refused if k < 0 else outside
    first = -call.size if call.wraps_negative else 0
    return lambda k: "counted from the end" if first <= k < 0 else outside


def number_illegal(call: Call, case: Case) -> int:
    """Count them."""
    found = case.tallies(call.size)
    return (found if _counts_back(call) else found.unwrapped()).outside.number


def illegal(call: Call, case: Case) -> Iterator[Illegal]:
    """Yield them, row-major, in memory that does not grow with them."""
    import numpy as np

    left, array, start = number_illegal(call, case), case.indices.array, 0
    (low, high), becomes = legal(call) or (0, -1), fate(call)
    for block in row_major(array, CELLS) if left else ():
        marked = np.flatnonzero((block < low) | (block > high))
        at = np.stack([marked, *coordinates(marked + start, array.shape)], axis=1)
        for (_, *where), k in zip(at.tolist(), block[marked].tolist(), strict=True):
            yield Illegal(tuple(where), k, becomes(k))
        start += block.size
        left -= len(marked)
        if case.progress is not None:
            case.progress("searched", start * array.itemsize, array.nbytes)
        if not left:
            return


class CheckedCall(NamedTuple):
    """A call of one version, and what every version of the family makes of it."""

    chosen: Verdict
    family: tuple[Verdict, ...]
    case: Case

    @property
    def accepting(self) -> list[Op]:
        """The rows that accept shapes, types and attributes."""
        return [each.op for each in self.family if each.call is not None]


def checked(op: Op, family: Iterable[Op], case: Case) -> CheckedCall:
    """Try every row of a family."""
    found = tuple(verdict(each, case) for each in family)
    return CheckedCall(next(each for each in found if each.op is op), found, case)
