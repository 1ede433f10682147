"""Follow the beams of GatherTree back, step by step, and check every parent that is used.

The beams of all batches go one step back at a time, so that the work grows with the output alone.
A parent that no beam uses may be anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gathercli.arrays.check import Adjustment, outside_of, policy_of
from gathercli.arrays.indices import IndexKind, IndexPolicy, ResolvedIndices, resolve
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import FROM_THE_END, Negative, OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

ENDED: Final = -1
"""The beam of a cell that copies `end_token`."""

NONE: Final = -2
"""The beam of a cell that copies nothing, as a parent before it names no beam."""


def follow_parents(
    call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Return the beam that is followed at every cell of the output.

    Parameters
    ----------
    along
        The axis of beams, along which the parents count.
    tensors
        step_ids and parent_ids (T, B, W), max_seq_len (B,), end_token ().

    Returns
    -------
        Beams (T, B, W), `ENDED` from the first end token on, `NONE` where a parent gives none; and
        what became of parents outside the axis.

    Raises
    ------
    OutOfRangeError
        ``integer-values``: a value is no integer. ``index-negative``, ``index-range``: a parent
        that is used names no beam.
    """
    steps, parents, lengths, end = (_integers(name, tensor) for name, tensor in tensors.items())
    size, batches, beams = steps.shape
    lengths = np.clip(lengths.astype(object), 0, size).astype(np.int64).reshape(-1, 1)
    batch = np.arange(batches).reshape(-1, 1)
    used = _UsedParents(call, along, parents)
    followed = np.empty(steps.shape, np.int64)
    beam = np.broadcast_to(np.arange(beams), (batches, beams)).copy()
    for t in reversed(range(size)):
        if t + 1 < size:
            moves = np.broadcast_to(t + 1 < lengths, beam.shape) & (beam >= 0)
            parent = used.positions(t + 1, batch, np.maximum(beam, 0), moves)
            beam = np.where(moves, parent, beam)
        followed[t] = np.where(t < lengths, beam, ENDED)
    ended = np.zeros((batches, beams), bool)
    for t in range(size):
        followed[t][ended] = ENDED
        token = steps[t, batch, np.maximum(followed[t], 0)]
        ended |= (followed[t] >= 0) & (token == end)
    policy = IndexPolicy(beams, wraps=False, outside=OutOfRange.ZERO)
    return ResolvedIndices(followed, policy, IndexKind.PLAIN), used.adjustments


class _UsedParents:
    """The parents that beams use, resolved step by step."""

    def __init__(self, call: Call, along: IndexedAxis, parents: AnyArray) -> None:
        self._call, self._along, self._parents = call, along, parents
        self._policy = policy_of(call, along)
        self._adjusted: dict[str, Adjustment] = {}

    @property
    def adjustments(self) -> list[Adjustment]:
        """What became of parents outside the axis."""
        return list(self._adjusted.values())

    def positions(self, t: int, batch: AnyArray, beam: AnyArray, moves: AnyArray) -> AnyArray:
        """Return the beams that the parents of step t name, `NONE` for none.

        Parameters
        ----------
        batch, beam, moves
            The batches (B, 1), the beams (B, W) at step t, and which of them use their parents.
        """
        parents = self._parents[t, batch, beam]
        negative = moves & (parents < 0)
        policy, call, s = self._policy, self._call, self._along.size
        wrapped = negative & (parents >= -s) if policy.wraps else np.zeros_like(negative)
        outside = moves & ((parents < 0) | (parents >= s)) & ~wrapped
        if call.negative is Negative.ERROR and negative.any():
            raise rules.index_negative(call, self._along, *self._first(t, beam, negative))
        refuses = policy.outside is OutOfRange.ERROR
        if outside.any() and (refuses or (not s and policy.outside is not OutOfRange.ZERO)):
            raise rules.index_range(call, self._along, *self._first(t, beam, outside))
        if wrapped.any():
            self._add(FROM_THE_END, "negative", t, beam, wrapped)
        if outside.any():
            self._add(policy.outside.done, outside_of(call.legal(s)), t, beam, outside)
        positions = resolve(parents, policy)
        return np.where(outside & (positions < 0), NONE, positions)

    def _first(self, t: int, beam: AnyArray, mask: AnyArray) -> tuple[int, str, int, int]:
        """Return the first parent that `mask` marks, where it is, how many are, and of how many."""
        batch, w = coordinate(int(mask.argmax()), mask.shape)
        at = t, batch, int(beam[batch, w])
        return int(self._parents[at]), cell(at), int(mask.sum()), product(self._parents.shape)

    def _add(self, how: str, legal: str, t: int, beam: AnyArray, mask: AnyArray) -> None:
        value, where, number, total = self._first(t, beam, mask)
        before = self._adjusted.get(how)
        if before is not None:
            number += before.number
        self._adjusted[how] = Adjustment(how, number, total, value, where, legal)


def _integers(name: str, tensor: Tensor) -> AnyArray:
    """Return the elements of an input as integers, exactly.

    Raises
    ------
    OutOfRangeError
        ``integer-values``.
    """
    values = tensor.values()
    if tensor.dtype.kind is not Kind.FLOAT:
        return values
    wide = values.astype(np.float64)
    whole = np.isfinite(wide) & (np.floor(wide) == wide)
    if not whole.all():
        at = coordinate(int((~whole).argmax()), wide.shape)
        raise rules.integer_values(name, values[at].item(), cell(at))
    limit = float(2**62)  # beyond it every value is outside any axis, whatever it is
    return np.clip(wide, -limit, limit).astype(np.int64)
