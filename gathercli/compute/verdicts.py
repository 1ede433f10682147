"""Verdicts of versions on the same call, for `check` (one family) and `compare` (all).

::

    Case            the inputs and attributes, and counts of the indices
    verdict(op)     the shape and the adjusted indices, or the error
    illegal(call)   every index outside the range of a version

`warnings` finds likely mistakes, and `compare` the versions with equal output.

Nothing here opens a file or prints.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute import check
from gathercli.compute.bound import BoundCall, adapted, conform
from gathercli.compute.check import BLOCK_INDICES, as_written, follow_beams, name_as_written, scan
from gathercli.compute.indices import IndexPolicy
from gathercli.compute.storage import AnyArray, row_major
from gathercli.errors import GatherError, LimitError, OperatorError, OutOfRangeError
from gathercli.spec.adjustments import Adjustment, IndexCount, IndexCounts, are_tuples, check_counts
from gathercli.spec.op import FROM_THE_END, REFUSED, IndexRange, Negative, OutOfRange
from gathercli.spec.shapes import Shape, coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gathercli.compute.check import BeamPaths
    from gathercli.compute.tensor import Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.spec.call import Call
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import IndexedAxis, Op

MOST_INT32_INDEX: Final = 2**31 - 1  # the largest index of a runtime with 32-bit indices


class Case:
    """The tensors and attributes to try every version on, and counts of the indices.

    `bind` returns the call of a version, or raises the error of a rule; the tensors are in the
    order of the versions.
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
        self._counts: dict[tuple[object, tuple[int, ...], bool], list[IndexCounts]] = {}
        self._paths: dict[str, BeamPaths] = {}
        self._named: dict[Op, dict[str, Tensor]] = {}
        self._conform = cache(conform)  # so that calls share what they gather from

    def bind(self, op: Op) -> BoundCall:
        """Return the call of a version with the tensors, or raise the error of a rule."""
        call = self._bind(op)
        bound = BoundCall(call, *adapted(call, self.tensors, self._conform))
        self._named[op] = bound.loaded()
        for name, axes in bound.call.indexed.items():
            if op.input(name).follows:
                self._paths[name] = follow_beams(bound.call, axes[0], self.named(op))
        return bound

    def named(self, op: Op) -> dict[str, Tensor]:
        """Return the tensors by their names in a version, as its call gathers from them."""
        pairs = zip(op.inputs, self.tensors, strict=True)
        return self._named.get(op) or {each.name: tensor for each, tensor in pairs}

    def array(self, op: Op, name: str) -> AnyArray:
        """Return the indices of an input, 0 in place of those that no output uses."""
        return self._paths[name].parents if name in self._paths else self.named(op)[name].array

    def total(self, op: Op) -> int:
        """Return the number of indices in use."""
        return sum(self.number(op, each.name) for each in op.inputs if each.values)

    def number(self, op: Op, name: str) -> int:
        """Return how many indices of an input are used."""
        if name in self._paths:
            return self._paths[name].number
        return int(self.named(op)[name].array.size)

    def value(self, name: str, at: int, value: int) -> float:
        """Return an index of an input at a flat position, `value`, as the user wrote it."""
        return as_written(self._paths[name].written, at, value) if name in self._paths else value

    def counts(self, op: Op, name: str, axes: Sequence[IndexedAxis]) -> list[IndexCounts]:
        """Count the indices of an input along each axis, negative ones from its end, and cache."""
        which = name, id(self.named(op)[name])
        key = which, tuple(along.size for along in axes), are_tuples(axes)
        if key not in self._counts:
            policies = [IndexPolicy(s, wraps=True, outside=OutOfRange.ERROR) for s in key[1]]
            array = self.array(op, name)
            report = self._report(array)
            counts, _ = check.count(
                array, policies, counts=True, tuples=key[2], threads=self.threads, progress=report
            )
            self._counts[key] = counts
            if name in self._paths:
                for each in self._counts[key]:
                    name_as_written(each, self._paths[name].written)
        return self._counts[key]

    def counts_of(self, call: Call) -> Iterator[IndexCounts]:
        """Yield the counts of the indices of a call along each axis."""
        for name, axes in call.indexed.items():
            yield from self.counts(call.op, name, axes)

    @cached_property
    def census(self) -> Census:
        """Counts of values that may not be meant as indices."""
        used = [paths.parents for paths in self._paths.values()]
        array, sums = (*used, self.indices.array)[0], (IndexCount(), IndexCount(), IndexCount())
        if array.dtype.kind not in "iu" or self._is_simple:
            return Census(*sums)
        lock, ends = Lock(), set[int]()

        def count(block: AnyArray, start: int) -> None:
            if not block.size:
                return
            masks = block == -1, block < 0, (block > MOST_INT32_INDEX) | (block < ~MOST_INT32_INDEX)
            with lock:
                ends.update((int(block.min()), int(block.max())))
                for each, mask in zip(sums, masks, strict=True):
                    each.add(mask, block, start)

        scan(array, count, sums, threads=self.threads, progress=self._report(array))
        for paths in self._paths.values():
            name_as_written(sums, paths.written)
        return Census(*sums, min(ends, default=0), max(ends, default=0))

    @property
    def _is_simple(self) -> bool:
        """Whether the counts so far exclude indices that are negative or beyond 32 bits."""
        return any(
            all(
                not each.negative.number and not each.outside.number and size <= MOST_INT32_INDEX
                for size, each in zip(sizes, counts, strict=True)
            )
            for (_, sizes, _), counts in self._counts.items()
        )

    def _report(self, array: AnyArray) -> Callable[[int], None] | None:
        progress = self.progress
        return None if progress is None else lambda done: progress("checked", done, array.nbytes)


class Census(NamedTuple):
    """Counts of values that may not be meant as indices."""

    ones: IndexCount  # of -1
    negative: IndexCount  # of values below 0
    wide: IndexCount  # of values beyond 32 bits
    least: int = 0  # the extreme values; 0 for no indices
    most: int = 0


class Verdict(NamedTuple):
    """The verdict of a version on a call."""

    op: Op
    # None if shapes, types or attributes are refused, as the output shape is
    bound: BoundCall | None = None
    shape: Shape | None = None
    adjustments: tuple[Adjustment, ...] = ()  # the treatment of indices outside the axis
    error: GatherError | None = None  # None if the version accepts the call
    cut: DType | None = None  # the type that the elements of `data` are cut to, if any

    @property
    def call(self) -> Call | None:
        """The call without its tensors."""
        return None if self.bound is None else self.bound.call

    @property
    def refuses_index(self) -> bool:
        """Whether an index is refused, and not a value that is no integer."""
        return isinstance(self.error, OutOfRangeError) and self.error.count is not None

    @property
    def filled(self) -> int:
        """The number of indices whose cells copy nothing."""
        fills = [each.done for each in OutOfRange if each.fills]
        return sum(each.number for each in self.adjustments if each.how in fills)


def verdict(op: Op, case: Case, max_bytes: int | None = None) -> Verdict:
    """Try a version: shapes, types, attributes, every index and the size, without gathering."""
    bound = shape = None
    adjustments: list[Adjustment] = []
    try:
        bound = case.bind(op)
        call, shape = bound.call, Shape(bound.shape)
        for name, axes in call.indexed.items():
            counts = case.counts(op, name, axes)
            if not call.wraps_negative:
                counts = [each.unwrapped() for each in counts]
            adjustments += check_counts(
                call, axes, counts, bound.tensors[name].shape, used=case.number(op, name)
            )
        bound.check_size(max_bytes)
    except (OperatorError, LimitError) as error:
        return Verdict(op, bound, shape, error=error)
    own = bound.data.dtype
    cut = None if own is case.data.dtype else own
    return Verdict(op, bound, shape, tuple(adjustments), cut=cut)


# Illegal indices


class Illegal(NamedTuple):
    """An index outside the range of a version."""

    at: tuple[int, ...]
    value: float
    does: str  # its fate, in words
    along: IndexedAxis | None = None  # the axis it addresses, if there are several
    # the least and the greatest legal index of that axis; None if it is empty
    legal: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as an object, without the axis if there is one only."""
        fields = {"at": self.at, "index": self.value, "does": self.does}
        if self.along is None:
            return fields
        return fields | {"axis": self.along.axis, "legal": self.legal}


def legal(call: Call, along: IndexedAxis) -> tuple[int, int] | None:
    """Return the least and the greatest index that addresses `data`; None on an empty axis."""
    s = along.size
    return ((-s if _is_signed(call) else 0), s - 1) if s else None


def legal_ends(call: Call) -> list[tuple[int, int] | None]:
    """Return the result of `legal` for each indexed axis."""
    return [legal(call, along) for along in call.family.indexed_axes(call)]


def _is_signed(call: Call) -> bool:
    """Return whether negative indices are legal in the version, and not refused by an option."""
    return call.op.index_range is IndexRange.SIGNED and call.negative is not Negative.ERROR


def fate(call: Call, along: IndexedAxis) -> Callable[[int], str]:
    """Return a function from an illegal index to its fate, in the words of `Adjustment`."""
    (policy,) = check.policies_of(call, [along])
    # On an empty axis no index is moved, but refused.
    is_own = policy.outside is call.outside.position
    outside = (call.outside if is_own else policy.outside).done
    first = -policy.size if policy.wraps else 0
    if call.negative is Negative.ERROR:
        return lambda k: REFUSED if k < 0 else outside
    return lambda k: FROM_THE_END if first <= k < 0 else outside


def number_illegal(call: Call, case: Case) -> int:
    """Return the number of illegal indices."""
    return sum(
        (each if _is_signed(call) else each.unwrapped()).outside.number
        for each in case.counts_of(call)
    )


def illegal(call: Call, case: Case) -> Iterator[Illegal]:
    """Yield the illegal indices, row-major, in constant memory."""
    inputs = (_illegal_of(call, case, *each) for each in call.indexed.items())
    # The number is known: what follows the last of them is not read.
    yield from islice(chain.from_iterable(inputs), number_illegal(call, case))


def _illegal_of(
    call: Call, case: Case, name: str, axes: Sequence[IndexedAxis]
) -> Iterator[Illegal]:
    """Yield the illegal indices of one input, of tuples by component."""
    shape = case.array(call.op, name).shape
    fates = [fate(call, along) for along in axes]
    for positions, values in outside(call, case, name, axes):
        # The first column is the position, so that a 0-D index has a row too.
        at = np.stack([positions, *coordinates(positions, shape)], axis=1)
        for (n, *where), k in zip(at.tolist(), values.tolist(), strict=True):
            j = n % len(axes)
            illegal = Illegal(tuple(where), case.value(name, n, k), fates[j](k))
            if len(axes) > 1:
                illegal = illegal._replace(along=axes[j], legal=legal(call, axes[j]))
            yield illegal


def outside(
    call: Call, case: Case, name: str, axes: Sequence[IndexedAxis]
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield the flat positions and the values of the illegal indices of one input, by block."""
    array, start = case.array(call.op, name), 0
    ends = [legal(call, along) or (0, -1) for along in axes]
    for block in row_major(array, BLOCK_INDICES):
        component = np.arange(start, start + block.size) % len(axes) if len(axes) > 1 else 0
        low, high = (np.array(each)[component] for each in zip(*ends, strict=True))
        marked = np.flatnonzero((block < low) | (block > high))
        yield marked + start, block[marked]
        start += block.size
        if case.progress is not None:
            case.progress("searched", start * array.itemsize, array.nbytes)


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
    rows = dict.fromkeys((*family, op))  # a call of another framework is not of the family
    verdicts = tuple(verdict(each, case) for each in rows)
    return CheckedCall(next(each for each in verdicts if each.op is op), verdicts, case)
