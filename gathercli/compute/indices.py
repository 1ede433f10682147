"""Resolve indices to positions on an axis: 0 to s-1, or -1 for none.

Every index is checked first (`check.py`). Then any part of the indices is resolved on demand, so
that no array as large as the indices is needed.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.native import UnexpectedIndicesError, reads
from gathercli.compute.storage import Memory, row_major
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gathercli.compute.storage import AnyArray

    Sizes = tuple[int, ...]
    Room = Callable[[Sizes], AnyArray]

MOST_KEPT_INDICES: Final = 1 << 20
"""The largest number of indices with stored positions; beyond it they are computed on use."""

TUPLES_AT_A_TIME: Final = 1 << 14
"""The number of tuples to resolve at a time: their positions stay in a core's cache."""

FOLDED_TUPLES: Final = 256
"""The number of adjacent tuples in a row that is compared with the next row at once."""


class IndexPolicy(NamedTuple):
    """The treatment of an index k on an axis."""

    size: int  # s, of the axis
    wraps: bool  # whether s is added, once, to k < 0
    outside: OutOfRange  # the treatment of a k that is then outside [0, s); never ``spec``


class IndexMemory(NamedTuple):
    """Indices, or tuples of them, as the kernel in C reads them."""

    flat: AnyArray  # (N,), an integer type in native byte order: the indices in memory order
    policies: Sequence[IndexPolicy]  # for each component
    steps: Sequence[int]  # for each component, how many positions apart two consecutive indices are
    distance: int  # how many elements apart two components of a tuple are in memory
    checked: bool  # whether all indices were checked


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
    """Return the narrowest kind of all components of tuples, by the policies of their K components.

    The flat `tuples` have shape (T * K,), K > 0, and an integer type. If policies differ in size,
    they are C-contiguous in native byte order.
    """
    k, unsigned = len(policies), np.dtype(f"u{tuples.itemsize}")
    sizes = [policy.size for policy in policies]
    if len(set(sizes)) == 1:
        return index_kind(tuples, policies[0])
    # As an unsigned integer a negative index is a large one: one maximum finds both.
    limit = 1 << (8 * tuples.itemsize - (tuples.dtype.kind == "i"))
    largest = _reduced(np.maximum, tuples.view(unsigned), k)
    if all(index < min(size, limit) for index, size in zip(largest, sizes, strict=True)):
        return IndexKind.PLAIN
    if not policies[0].wraps:
        return IndexKind.MIXED
    largest, smallest = _reduced(np.maximum, tuples, k), _reduced(np.minimum, tuples, k)
    inside = (-s <= low and top < s for low, top, s in zip(smallest, largest, sizes, strict=True))
    return IndexKind.SIGNED if all(inside) else IndexKind.MIXED


def _reduced(extreme: np.ufunc, tuples: AnyArray, k: int) -> list[int]:
    """Return the extreme of each component of flat tuples, in one pass in memory order."""
    # Rows of many tuples are compared with each other, as NumPy's innermost loop is then long.
    folded = tuples.size // (FOLDED_TUPLES * k) * (FOLDED_TUPLES * k)
    rows = tuples[folded:].reshape(-1, k)
    if folded:
        wide = extreme.reduce(tuples[:folded].reshape(-1, FOLDED_TUPLES * k), axis=0)
        rows = np.concatenate([wide.reshape(FOLDED_TUPLES, k), rows])
    extremes: list[int] = extreme.reduce(rows.T.copy(), axis=1).tolist()
    return extremes


def wrap_negative(indices: AnyArray, positions: AnyArray, policy: IndexPolicy) -> AnyArray:
    """Copy indices to `positions`, adding s to the negative ones if the policy wraps them.

    Both have shape (C..), `positions` int64. Return a mask of the positions outside [0, s). No
    index overflows: s >= 0, so -2^63 + s fits in int64, and a uint64 beyond int64 stays outside the
    axis as a negative number.
    """
    size = np.uint64(policy.size)
    if indices.dtype.kind == "u" or not policy.wraps:
        np.copyto(positions, indices, casting="unsafe")
    else:  # the sign bit, copied to all bits, is a mask that selects s where k < 0
        np.right_shift(indices, 8 * indices.itemsize - 1, out=positions)
        positions &= policy.size
        positions += indices
    # As an unsigned integer a negative position is a large one; so is a uint64 beyond int64.
    outside: AnyArray = positions.view(np.uint64) >= size
    return outside


def _resolve(indices: AnyArray, positions: AnyArray, policy: IndexPolicy, kind: IndexKind) -> None:
    """Compute the positions of indices of a kind into `positions`, int64 of the same shape."""
    if kind is IndexKind.PLAIN:
        np.copyto(positions, indices, casting="unsafe")
        return
    outside = wrap_negative(indices, positions, policy)
    if kind is IndexKind.SIGNED:
        return
    if policy.outside is OutOfRange.ZERO:
        np.copyto(positions, -1, where=outside)
    elif policy.outside is OutOfRange.CLAMP:
        low = 0 if indices.dtype.kind == "u" else indices < 0
        np.copyto(positions, np.where(low, 0, policy.size - 1), where=outside)
    elif policy.outside is not OutOfRange.WRAP or not policy.size:
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


def _expected_kind(indices: AnyArray, policy: IndexPolicy) -> IndexKind:
    """Return the kind of unchecked indices; raise if it is `IndexKind.MIXED`."""
    kind = index_kind(indices, policy)
    if kind is IndexKind.MIXED:
        raise UnexpectedIndicesError
    return kind


class ResolvedIndices:
    """The positions of indices of shape (I..), computed part by part by one policy.

    `kind` is that of all indices; if they are unseen, each part is checked on use. `fills` is
    whether any has no position, `size` how many there are, and `steps` how many elements apart two
    consecutive indices of each dimension are in memory.
    """

    def __init__(
        self,
        indices: AnyArray,
        policy: IndexPolicy,
        kind: IndexKind = IndexKind.UNSEEN,
        *,
        fills: bool = False,
    ) -> None:
        self.shape, self.size, self.fills = indices.shape, indices.size, fills
        self._indices, self._policy, self._kind_of_indices = indices, policy, kind
        self._native = indices.dtype.str[1:] == "i8" and indices.dtype.isnative
        are_positions = self._native and kind is IndexKind.PLAIN
        is_kept = indices.size <= MOST_KEPT_INDICES and not reads(indices)
        if is_kept and not are_positions and kind is not IndexKind.UNSEEN:
            indices, kind, self._native = self.whole(), IndexKind.PLAIN, True
            policy = policy._replace(wraps=False, outside=OutOfRange.ZERO)
        self._memory, self._memory_policy, self._kind = Memory.of(indices), policy, kind
        self.steps = self._memory.steps

    def whole(self) -> AnyArray:
        """Return all positions: shape (I..), int64, -1 for none."""
        positions = np.empty(self.shape, np.int64)
        _resolve(self._indices, positions, self._policy, self._kind_of_indices)
        return positions

    def part(self, start: int, shape: Sizes, steps: Sizes, room: Room) -> AnyArray:
        """Return the positions of the indices from `start` on: the shape, int64.

        `start` and the `steps` of each dimension of `shape` are in elements of the memory of the
        indices. `room` returns an int64 array of a shape for computed positions. Raise
        `UnexpectedIndicesError` if the indices are unchecked, and some of the part are outside the
        axis.
        """
        indices, kind = self._memory.view(start, shape, steps), self._kind
        if kind is IndexKind.UNSEEN:
            kind = _expected_kind(indices, self._policy)
        if self._native and kind is IndexKind.PLAIN:
            return indices
        positions = room(indices.shape)
        _resolve(indices, positions, self._policy, kind)
        return positions

    def in_memory(self) -> IndexMemory:
        """Return the indices as the kernel in C reads them."""
        checked = self._kind is not IndexKind.UNSEEN
        return IndexMemory(self._memory.flat, (self._memory_policy,), (1,), 0, checked)


class ResolvedTuples:
    """The positions of tuples in a row-major view of several axes as one, computed part by part.

    ``position = sum(p[j] * product(sizes[j+1:]))`` with p[j] the position of component j on its
    axis, or -1 if a component gives none. `indices` have shape (I.., K), and each of the K
    components a policy; the rest is as in `ResolvedIndices`, of tuples.
    """

    def __init__(
        self,
        indices: AnyArray,
        policies: Sequence[IndexPolicy],
        kind: IndexKind = IndexKind.UNSEEN,
        *,
        fills: bool = False,
    ) -> None:
        self.shape, self.fills = indices.shape[:-1], fills
        self.size = product(self.shape)
        self._policies, self._kind = tuple(policies), kind
        self._are_positions = len(policies) == 1 and indices.dtype == np.int64
        self._memory = Memory.of(indices)
        *self.steps, self._step = self._memory.steps

    def whole(self) -> AnyArray:
        """Return all positions: shape (I..), int64, -1 for none."""
        return self.part(0, self.shape, tuple(self.steps), lambda shape: np.empty(shape, np.int64))

    def part(self, start: int, shape: Sizes, steps: Sizes, room: Room) -> AnyArray:
        """Return the positions of the tuples from `start` on, as `ResolvedIndices.part` does."""
        k = len(self._policies)
        tuples = self._memory.view(start, (*shape, k), (*steps, self._step))
        if self._are_positions and self._kind is IndexKind.PLAIN:
            return tuples[..., 0]
        positions = room(shape)
        if not k:
            positions[...] = 0
            return positions
        scratch = np.empty(min(positions.size, TUPLES_AT_A_TIME), np.int64)
        flat, first = positions.reshape(-1), 0
        for block in row_major(tuples, TUPLES_AT_A_TIME * k):
            native = np.ascontiguousarray(block, block.dtype.newbyteorder("="))
            last = first + block.size // k
            self._locate(native, flat[first:last], scratch[: last - first])
            first = last
        return positions

    def _locate(self, tuples: AnyArray, positions: AnyArray, scratch: AnyArray) -> None:
        """Compute the positions (T,) of flat tuples (T * K,); `scratch` (T,) is overwritten."""
        kind, k = self._kind, len(self._policies)
        if kind is IndexKind.UNSEEN:
            kind = tuple_kind(tuples, self._policies)
            if kind is IndexKind.MIXED:
                raise UnexpectedIndicesError
        # position = (p[0] * s[1] + p[1]) * s[2] + p[2] ..; a -1 among them spoils the sum, which is
        # therefore replaced at the end. s[j] is added with the weight of p[j], so before the next.
        none: AnyArray | None = None
        for j, policy in enumerate(self._policies):
            component = tuples[j::k]
            if kind is IndexKind.MIXED:
                _resolve(component, scratch, policy, kind)
                component = scratch
                if self.fills:
                    none = scratch < 0 if none is None else none | (scratch < 0)
            if j:
                np.add(positions, component, positions, dtype=np.int64, casting="unsafe")
            else:
                np.copyto(positions, component, casting="unsafe")
            if kind is IndexKind.SIGNED:  # the sign bit, copied to all bits, selects s
                np.right_shift(component, 8 * tuples.itemsize - 1, out=scratch)
                scratch &= policy.size
                positions += scratch
            if j < k - 1:
                positions *= self._policies[j + 1].size
        if none is not None:
            positions[none] = -1

    def in_memory(self, steps: Sequence[int] | None = None) -> IndexMemory | None:
        """Return the tuples as the kernel in C reads them; None if they have no components.

        `steps` are how many positions apart two consecutive coordinates on each axis are, if not
        row-major.
        """
        if not self._policies:
            return None
        if steps is None:
            sizes = [policy.size for policy in self._policies]
            steps = [product(sizes[j + 1 :]) for j in range(len(sizes))]
        checked = self._kind is not IndexKind.UNSEEN
        return IndexMemory(self._memory.flat, self._policies, steps, self._step, checked)


class SteppedTuples:
    """The positions of tuples in memory where the axes do not follow each other row-major.

    ``position = sum(p[j] * steps[j])``, or -1 where the tuple gives none. `positions` are
    row-major; each axis has a size, and a step from one coordinate to the next.
    """

    def __init__(
        self,
        positions: ResolvedIndices | ResolvedTuples,
        sizes: Sequence[int],
        steps: Sequence[int],
    ) -> None:
        self.shape, self.size, self.fills = positions.shape, positions.size, positions.fills
        self.steps, self._positions = positions.steps, positions
        self._axes = list(zip(sizes, steps, strict=True))

    def part(self, start: int, shape: Sizes, steps: Sizes, room: Room) -> AnyArray:
        """Return the positions of the tuples from `start` on, as `ResolvedIndices.part` does."""
        # Of a dimension along which the indices do not move one coordinate is computed. Positions
        # are split into the coordinates of the axes from the last on, and these get their steps.
        each = tuple(n if step else 1 for n, step in zip(shape, steps, strict=True))
        rest = self._positions.part(start, each, steps, room)
        (_, outermost), *inner = self._axes
        positions = np.zeros(each, np.int64)
        for size, step in reversed(inner):
            front = rest // size  # one division by a scalar is fast, `divmod` is not
            positions += (rest - front * size) * step
            rest = front
        positions += rest * outermost
        if self.fills:
            positions[rest < 0] = -1  # as -1 divided by any size is -1
        return np.broadcast_to(positions, shape)

    def in_memory(self) -> IndexMemory | None:
        """Return the tuples as the kernel in C reads them; None if it does not."""
        if isinstance(self._positions, ResolvedIndices):
            return None
        return self._positions.in_memory([step for _, step in self._axes])
