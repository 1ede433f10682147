"""Resolve indices to positions on an axis: 0 to s-1, or -1 for none.

Every index is checked first (`check.py`). Then any part of the indices is resolved on demand, so
that no array as large as the indices is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from copy import copy
from enum import Enum
from operator import mul
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.native import UnexpectedIndicesError, reads
from gathercli.compute.storage import AnyArray, Memory, row_major
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product

Sizes = tuple[int, ...]
Room = Callable[[Sizes], AnyArray]

# The largest number of indices with stored positions; beyond it they are computed on use.
MOST_KEPT_INDICES: Final = 1 << 20
# The number of tuples to resolve at a time: their positions stay in a core's cache.
TUPLES_AT_A_TIME: Final = 1 << 14


class IndexPolicy(NamedTuple):
    """The treatment of an index k on an axis."""

    size: int  # s, of the axis
    wraps: bool  # whether s is added, once, to k < 0
    # the treatment of a k that is then outside [0, s), never ``spec``: ``error`` or ``zero`` if s
    # is 0
    outside: OutOfRange


class IndexKind(Enum):
    """The range that includes all of some indices."""

    PLAIN = "in [0, s)"
    SIGNED = "in [-s, s), where a negative one counts from the end"
    MIXED = "legal"
    UNSEEN = "not checked yet"


def index_kind(indices: AnyArray, policy: IndexPolicy) -> IndexKind:
    """Return the narrowest kind of indices: shape (I..), an integer type, in either byte order."""
    if not indices.size:
        return IndexKind.PLAIN
    if not (indices.flags.c_contiguous and indices.dtype.isnative):
        indices = np.ascontiguousarray(indices, indices.dtype.newbyteorder("="))
    if indices.dtype.kind == "u":
        return IndexKind.PLAIN if int(indices.max()) < policy.size else IndexKind.MIXED
    # As an unsigned integer a negative index is a large one: one maximum finds both.
    limit = min(policy.size, 1 << (8 * indices.dtype.itemsize - 1))
    if int(indices.view(np.dtype(f"u{indices.dtype.itemsize}")).max()) < limit:
        return IndexKind.PLAIN
    if policy.wraps and int(indices.max()) < policy.size and int(indices.min()) >= -policy.size:
        return IndexKind.SIGNED
    return IndexKind.MIXED


def tuple_kind(tuples: AnyArray, policies: Sequence[IndexPolicy]) -> IndexKind:
    """Return the narrowest kind of all components of flat `tuples`, (T * K,), by the K policies."""
    k = len(policies)
    if len({policy.size for policy in policies}) == 1:
        return index_kind(tuples, policies[0])
    return widest({index_kind(tuples[j::k], policy) for j, policy in enumerate(policies)})


def widest(kinds: Container[IndexKind]) -> IndexKind:
    """Return the kind that includes all indices of some kinds, none of them unseen."""
    widest_first = (IndexKind.MIXED, IndexKind.SIGNED, IndexKind.PLAIN)
    return next(kind for kind in widest_first if kind in kinds)


def wrap_negative(indices: AnyArray, positions: AnyArray, policy: IndexPolicy) -> None:
    """Copy indices to `positions`, adding s to the negative ones if the policy wraps them.

    Both have shape (C..), `positions` int64. No index overflows: s >= 0, so -2^63 + s fits in
    int64, and a uint64 beyond int64 stays outside the axis as a negative number.
    """
    if indices.dtype.kind == "u" or not policy.wraps:
        np.copyto(positions, indices, casting="unsafe")
    else:  # the sign bit, copied to all bits, is a mask that selects s where k < 0
        np.right_shift(indices, 8 * indices.itemsize - 1, out=positions)
        positions &= policy.size
        positions += indices


def are_outside(positions: AnyArray, size: int) -> AnyArray:
    """Return a mask of the positions outside [0, s): shape (C..), int64."""
    # As an unsigned integer a negative position is a large one; so is a uint64 beyond int64.
    outside: AnyArray = positions.view(np.uint64) >= np.uint64(size)
    return outside


def _resolve(indices: AnyArray, positions: AnyArray, policy: IndexPolicy, kind: IndexKind) -> None:
    """Compute the positions of indices of a kind into `positions`, int64 of the same shape."""
    if kind is IndexKind.PLAIN:
        np.copyto(positions, indices, casting="unsafe")
        return
    wrap_negative(indices, positions, policy)
    if kind is IndexKind.SIGNED:
        return
    outside = are_outside(positions, policy.size)
    if policy.outside is OutOfRange.ZERO:
        np.copyto(positions, -1, where=outside)
    elif policy.outside is OutOfRange.CLAMP:
        low = 0 if indices.dtype.kind == "u" else indices < 0
        np.copyto(positions, np.where(low, 0, policy.size - 1), where=outside)
    elif policy.outside is OutOfRange.ERROR:
        return  # the call is refused, and its positions are not used
    elif indices.dtype.kind == "u":
        np.copyto(positions, indices % np.uint64(policy.size), casting="unsafe")
    else:
        positions %= policy.size


def resolve(indices: AnyArray, policy: IndexPolicy) -> AnyArray:
    """Return the positions of checked indices of any kind: their shape, int64, -1 for none."""
    positions = np.empty(indices.shape, np.int64)
    _resolve(indices, positions, policy, index_kind(indices, policy))
    return positions


class ResolvedIndices:
    """The positions of indices (I..), or of `tuples` (I.., K) of them, computed part by part.

    ``position = sum(p[j] * strides[j])`` with p[j] the position of component j by its policy, or -1
    if a component gives none; an index is its only component. `strides` are those of axes that
    follow each other row-major, unless set by `along`. `kind` is that of all indices; if they
    are unseen, each part is checked on use. `fills` is whether any has no position, `size` how many
    positions there are. In elements of the memory `flat`, `steps` are from one index to the next
    along each dimension, and `distance` from one component of a tuple to the next.
    """

    def __init__(
        self,
        indices: AnyArray,
        policies: Sequence[IndexPolicy],
        kind: IndexKind = IndexKind.UNSEEN,
        *,
        fills: bool = False,
        tuples: bool = False,
    ) -> None:
        self._memory, self.kind, self.fills = Memory.of(indices), kind, fills
        self.policies: Sequence[IndexPolicy] = policies
        self.strides: Sequence[int] = [1]
        if tuples:
            self.shape, self.size = indices.shape[:-1], product(indices.shape[:-1])
            self.steps, self.distance = self._memory.steps[:-1], self._memory.steps[-1]
            sizes = [policy.size for policy in policies]
            self.strides = [product(sizes[j + 1 :]) for j in range(len(sizes))]
        else:
            self.shape, self.size = indices.shape, indices.size
            self.steps, self.distance = self._memory.steps, 0
        is_native = indices.dtype.str[1:] == "i8" and indices.dtype.isnative
        self._may_be_positions = is_native and len(policies) == 1

    @property
    def flat(self) -> AnyArray:
        """The indices in memory order: shape (N,), an integer type in either byte order."""
        return self._memory.flat

    def along(self, strides: Sequence[int] | None) -> ResolvedIndices:
        """Return the same indices along axes with other strides, unless None, for the kernel.

        A few positions are stored if the kernel in C does not read the indices.
        """
        points = self
        if strides is not None:
            points = copy(self)
            points.strides = strides
        is_read = self.size > MOST_KEPT_INDICES or reads(self.flat)
        are_positions = self._may_be_positions and self.kind is IndexKind.PLAIN
        if is_read or are_positions or self.kind is IndexKind.UNSEEN:
            return points
        last = [policy.size - 1 for policy in self.policies]
        size = 0 if -1 in last else 1 + sum(map(mul, last, points.strides))
        policy = IndexPolicy(size, wraps=False, outside=OutOfRange.ZERO)
        return ResolvedIndices(points.whole(), [policy], IndexKind.PLAIN, fills=self.fills)

    def whole(self) -> AnyArray:
        """Return all positions: shape (I..), int64, -1 for none; a view where they are indices."""
        return self.part(0, self.shape, self.steps, lambda shape: np.empty(shape, np.int64))

    def part(self, start: int, shape: Sizes, steps: Sizes, room: Room) -> AnyArray:
        """Return the positions of the indices, or tuples, from `start` on: the shape, int64.

        `start` and the `steps` of each dimension of `shape` are in elements of the memory of the
        indices. `room` returns an int64 array of a shape for computed positions. Raise
        `UnexpectedIndicesError` if the indices are unchecked, and some of the part are outside the
        axis.
        """
        k = len(self.policies)
        if k == 1:
            (policy,), indices = self.policies, self._memory.view(start, shape, steps)
            kind = self._kind_of(indices)
            if self._may_be_positions and kind is IndexKind.PLAIN:
                return indices
            positions = room(shape)
            _resolve(indices, positions, policy, kind)
            return positions
        positions, first = room(shape).reshape(-1), 0
        scratch = np.empty(min(positions.size, TUPLES_AT_A_TIME), np.int64)
        tuples = self._memory.view(start, (*shape, k), (*steps, self.distance))
        for block in row_major(tuples, TUPLES_AT_A_TIME * k):
            last = first + block.size // k
            self._locate(block, positions[first:last], scratch[: last - first])
            first = last
        return positions.reshape(shape)

    def _kind_of(self, indices: AnyArray) -> IndexKind:
        """Return the kind of some of the indices, or of flat tuples; raise if it is unexpected."""
        if self.kind is not IndexKind.UNSEEN:
            return self.kind
        kind = tuple_kind(indices, self.policies)
        if kind is IndexKind.MIXED:
            raise UnexpectedIndicesError
        return kind

    def _locate(self, tuples: AnyArray, positions: AnyArray, scratch: AnyArray) -> None:
        """Compute the positions (T,) of flat tuples (T * K,); `scratch` (T,) is overwritten."""
        kind, k = self._kind_of(tuples), len(self.policies)
        none: AnyArray | None = None
        for j, (policy, stride) in enumerate(zip(self.policies, self.strides, strict=True)):
            component, along = tuples[j::k], scratch if j else positions
            if j and stride == 1 and kind is IndexKind.PLAIN:  # measured: a copy less
                np.add(positions, component, out=positions, dtype=np.int64, casting="unsafe")
                continue
            _resolve(component, along, policy, kind)
            if self.fills:
                none = along < 0 if none is None else none | (along < 0)
            if stride != 1:
                along *= stride
            if j:
                positions += along
        if none is not None:
            positions[none] = -1  # of a tuple without a position the sum means nothing
