"""Follow the beams of GatherTree back, step by step, and check every parent that is used.

The beams of all batches go one step back at a time, so that the work grows with the output alone.
A parent that no beam uses may be anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.arrays.check import check_counts, count, policy_of
from gathercli.arrays.indices import IndexKind, IndexPolicy, ResolvedIndices, resolve
from gathercli.errors import OutOfRangeError
from gathercli.spec import rules
from gathercli.spec.coordinates import cell, coordinate
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.tensor import AnyArray, Tensor
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

ENDED: Final = -1
"""The beam of a cell that copies `end_token`."""

NONE: Final = -2
REFUSED: Final = -3
"""The beam of a cell that copies nothing: a parent after it names no beam, or is refused."""


class BeamPaths(NamedTuple):
    """The beam that is followed at every step, and what became of the parents on the way.

    Attributes
    ----------
    beams
        Shape (T, B, W), int64: `ENDED` beyond the length of a batch, `NONE` or `REFUSED` where a
        parent gives none.
    lengths
        The number of steps of each batch, from 0 to T; shape (B,).
    ends
        The step of the first end token of each beam, T for none; shape (B, W).
    adjustments
        What became of parents outside the axis.
    refusal
        The error of the first parent that is refused, row-major; None if all are accepted.
    parents
        The parents that beams use, and 0 in place of the others; shape (T, B, W).
    number
        How many parents are used.
    """

    beams: AnyArray
    lengths: AnyArray
    ends: AnyArray
    adjustments: list[Adjustment]
    refusal: OutOfRangeError | None
    parents: AnyArray
    number: int

    def cells(self) -> AnyArray:
        """Return the beam that each cell of the output copies, `ENDED` after the first end."""
        steps = np.arange(len(self.beams)).reshape(-1, 1, 1)
        return np.where(steps > self.ends, ENDED, self.beams)


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
    paths = follow_beams(call, along, tensors)
    if paths.refusal is not None:
        raise paths.refusal
    policy = IndexPolicy(along.size, wraps=False, outside=OutOfRange.ZERO)
    points = ResolvedIndices(paths.cells(), policy, IndexKind.PLAIN)
    return points, paths.adjustments


def follow_beams(call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]) -> BeamPaths:
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
    size, batches, width = steps.shape
    lengths = np.clip(lengths.astype(object), 0, size).astype(np.int64).reshape(-1, 1)
    batch = np.arange(batches).reshape(-1, 1)
    parents, policy = _as_indices(parents, width), policy_of(call, along)
    if policy.outside is OutOfRange.ERROR:  # a parent that is refused has no position either
        policy = policy._replace(outside=OutOfRange.ZERO)
    used = np.zeros(parents.shape, bool)
    beams = np.empty(steps.shape, np.int64)
    ends = np.full((batches, width), size)
    beam = np.broadcast_to(np.arange(width), (batches, width)).copy()
    for t in reversed(range(size)):
        if t + 1 < size:
            moves = (t + 1 < lengths) & (beam >= 0)
            parent = parents[t + 1, batch, np.maximum(beam, 0)]
            used[t + 1][np.nonzero(moves)[0], beam[moves]] = True
            beam = np.where(moves, resolve(parent, policy), beam)
            none = moves & (beam < 0)
            beam[none] = REFUSED if call.outside is OutOfRange.ERROR else NONE
            if call.negative is Negative.ERROR:
                beam[moves & (parent < 0)] = REFUSED
        # Beyond the length `beam` stays w, which the last step of each batch starts from.
        beams[t] = np.where(t < lengths, beam, ENDED)
        ended = (beams[t] >= 0) & (steps[t, batch, np.maximum(beam, 0)] == end)
        ends[ended] = t  # the earliest step comes last
    parents = np.where(used, parents, 0)
    number = int(used.sum())
    adjustments, refusal = _checked(call, along, parents, number)
    lengths = lengths.reshape(-1)
    return BeamPaths(beams, lengths, ends, adjustments, refusal, parents, number)


def _checked(
    call: Call, along: IndexedAxis, parents: AnyArray, number: int
) -> tuple[list[Adjustment], OutOfRangeError | None]:
    """Return what becomes of parents outside the axis, and the error if one is refused."""
    counts, _ = count(parents, [policy_of(call, along)], counts=True, tuples=False)
    try:
        return check_counts(call, [along], counts, parents.shape, used=number), None
    except OutOfRangeError as error:
        return [], error


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


def _as_indices(parents: AnyArray, size: int) -> AnyArray:
    """Return parents as an integer type; floats beyond 2^62 as others equal to them modulo `size`.

    Those too are outside any axis.
    """
    if parents.dtype.kind != "f":
        return parents
    size = max(1, size)
    large = np.abs(parents) >= 1 << 62
    whole = (1 << 62) - (1 << 62) % size  # a multiple of the size
    near = np.where(large, np.mod(parents, size), parents).astype(np.int64)
    return near + np.sign(parents).astype(np.int64) * large * whole
