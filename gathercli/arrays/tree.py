"""Follow the beams of GatherTree back, step by step, and check every parent that is used.

The beams of all batches go one step back at a time, so that the work grows with the output alone.
A parent that no beam uses may be anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.arrays.check import Adjustment, outside_of, policy_of
from gathercli.arrays.indices import IndexKind, IndexPolicy, ResolvedIndices, resolve
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import FROM_THE_END, Negative, OutOfRange
from gathercli.spec.shapes import product

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.errors import OutOfRangeError
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

ENDED: Final = -1
"""The beam of a cell that copies `end_token`."""

NONE: Final = -2
"""The beam of a cell that copies nothing, as a parent before it names no beam."""


class FollowedBeams(NamedTuple):
    """The beam that is followed at every step, and what became of the parents on the way.

    Attributes
    ----------
    beams
        Shape (T, B, W), int64: `ENDED` beyond the length of a batch, `NONE` where a parent gives
        none.
    ends
        The step of the first end token of each beam, T for none; shape (B, W).
    adjustments
        What became of parents outside the axis.
    refusal
        The error of the first parent that is refused; None if all are accepted.
    """

    beams: AnyArray
    ends: AnyArray
    adjustments: list[Adjustment]
    refusal: OutOfRangeError | None

    def points(self) -> ResolvedIndices:
        """Return the beam that each cell of the output copies, `ENDED` after the first end."""
        size, _, count = self.beams.shape
        steps = np.arange(size).reshape(-1, 1, 1)
        policy = IndexPolicy(count, wraps=False, outside=OutOfRange.ZERO)
        return ResolvedIndices(
            np.where(steps > self.ends, ENDED, self.beams), policy, IndexKind.PLAIN
        )


def follow_parents(
    call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Return the beam that each cell of the output copies, and what became of parents.

    Parameters
    ----------
    along, tensors
        As for `follow_beams`.

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
    followed = follow_beams(call, along, tensors)
    if followed.refusal is not None:
        raise followed.refusal
    return followed.points(), followed.adjustments


def follow_beams(call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]) -> FollowedBeams:
    """Follow every beam back from its last step; a parent that is refused gives no beam.

    Parameters
    ----------
    along
        The axis of beams, along which the parents count.
    tensors
        step_ids and parent_ids (T, B, W), max_seq_len (B,), end_token ().

    Raises
    ------
    OutOfRangeError
        ``integer-values``: a value is no integer.
    """
    steps, parents, lengths, end = (_integers(name, tensor) for name, tensor in tensors.items())
    size, batches, count = steps.shape
    lengths = np.clip(lengths.astype(object), 0, size).astype(np.int64).reshape(-1, 1)
    batch = np.arange(batches).reshape(-1, 1)
    used = _UsedParents(call, along, _as_indices(parents))
    beams = np.empty(steps.shape, np.int64)
    ends = np.full((batches, count), size)
    beam = np.broadcast_to(np.arange(count), (batches, count)).copy()
    for t in reversed(range(size)):
        if t + 1 < size:
            moves = (t + 1 < lengths) & (beam >= 0)
            beam = np.where(moves, used.positions(t + 1, batch, np.maximum(beam, 0), moves), beam)
        beams[t] = np.where(t < lengths, beam, ENDED)
        ended = (beams[t] >= 0) & (steps[t, batch, np.maximum(beam, 0)] == end)
        ends[ended] = t  # the earliest step comes last
    return FollowedBeams(beams, ends, list(used.adjustments.values()), used.refusal)


class _UsedParents:
    """The parents that beams use, resolved step by step.

    Attributes
    ----------
    adjustments
        What became of parents outside the axis, by what was done.
    refusal
        The error of the first parent that is refused; None if all are accepted.
    """

    def __init__(self, call: Call, along: IndexedAxis, parents: AnyArray) -> None:
        self._call, self._along, self._parents = call, along, parents
        self._policy = policy_of(call, along)
        self.adjustments: dict[str, Adjustment] = {}
        self.refusal: OutOfRangeError | None = None

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
        wrapped = negative & (parents >= -s) & policy.wraps
        outside = moves & ((parents < 0) | (parents >= s)) & ~wrapped
        if call.negative is Negative.ERROR:
            self._refuse(rules.index_negative, t, beam, negative)
            outside &= ~negative
        if policy.outside is OutOfRange.ERROR:
            self._refuse(rules.index_range, t, beam, outside)
        elif outside.any():
            self._add(policy.outside.done, outside_of(call.legal(s)), t, beam, outside)
        if wrapped.any():
            self._add(FROM_THE_END, "negative", t, beam, wrapped)
        none = negative & (call.negative is Negative.ERROR)
        if policy.outside in (OutOfRange.ERROR, OutOfRange.ZERO):
            none |= outside
        return np.where(none, NONE, resolve(parents, policy))

    def _refuse(
        self,
        refusal: Callable[[Call, IndexedAxis, int, str, int, int], OutOfRangeError],
        t: int,
        beam: AnyArray,
        mask: AnyArray,
    ) -> None:
        """Keep the first error, of the parents that `mask` marks."""
        if self.refusal is None and mask.any():
            self.refusal = refusal(self._call, self._along, *self._first(t, beam, mask))

    def _first(self, t: int, beam: AnyArray, mask: AnyArray) -> tuple[int, str, int, int]:
        """Return the first parent that `mask` marks, where it is, how many are, and of how many."""
        batch, w = coordinate(int(mask.argmax()), mask.shape)
        at = t, batch, int(beam[batch, w])
        return int(self._parents[at]), cell(at), int(mask.sum()), product(self._parents.shape)

    def _add(self, how: str, legal: str, t: int, beam: AnyArray, mask: AnyArray) -> None:
        value, where, number, total = self._first(t, beam, mask)
        before = self.adjustments.get(how)
        if before is not None:
            number += before.number
        self.adjustments[how] = Adjustment(how, number, total, value, where, legal)


def _integers(name: str, tensor: Tensor) -> AnyArray:
    """Return the elements of an input, floats as float64; raise if one of them is no integer.

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
    return wide


def _as_indices(parents: AnyArray) -> AnyArray:
    """Return parents as an integer type; floats beyond 2^62 as that, which no axis reaches."""
    if parents.dtype.kind != "f":
        return parents
    limit = float(1 << 62)
    return np.clip(parents, -limit, limit).astype(np.int64)
