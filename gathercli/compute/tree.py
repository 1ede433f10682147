"""Trace the beams of GatherTree back, step by step, and check every parent on the way.

All batches go back one step at a time, so that the work is proportional to the output. A parent
that no beam uses may have any value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.check import count, policies_of
from gathercli.compute.indices import IndexKind, IndexPolicy, ResolvedIndices, resolve
from gathercli.errors import OutOfRangeError
from gathercli.spec.adjustments import check_counts, integer_values_error
from gathercli.spec.dtypes import Kind
from gathercli.spec.op import Negative, OutOfRange
from gathercli.spec.shapes import cell, coordinates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.adjustments import Adjustment, IndexCount
    from gathercli.spec.call import Call
    from gathercli.spec.op import IndexedAxis

ENDED: Final = -1
"""The beam of a cell that copies `end_token`."""

NO_BEAM: Final = -2
REFUSED_BEAM: Final = -3
"""The beam of a cell that copies nothing: a later parent names no beam, or is refused."""


LARGE_PARENT: Final = 1 << 62
"""The least float that an integer stands for which is congruent to it, not equal."""


class BeamPaths(NamedTuple):
    """The path of every beam, and the parents on it, of T steps, B batches and W beams."""

    # at each step, (T, B, W), int64: `ENDED` beyond the length of a batch, `NO_BEAM` or
    # `REFUSED_BEAM` after a parent that names no beam
    beams: AnyArray
    lengths: AnyArray  # the number of steps of each batch, from 0 to T; (B,)
    ends: AnyArray  # the step of the first end token of each beam, T for none; (B, W)
    adjustments: list[Adjustment]  # the treatment of parents outside the axis
    # of the first refused parent, row-major; None if all are accepted
    refusal: OutOfRangeError | None
    parents: AnyArray  # those on a path, 0 for the others; (T, B, W)
    number: int  # how many parents are on a path
    written: AnyArray  # all parents as the input has them, (T, B, W)

    def cells(self) -> AnyArray:
        """Return the beam that each cell of the output copies, `ENDED` after the first end."""
        if not self.beams.size:
            return self.beams
        steps = np.arange(len(self.beams)).reshape(-1, 1, 1)
        return np.where(steps > self.ends, ENDED, self.beams)


def follow_parents(
    call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]
) -> tuple[ResolvedIndices, list[Adjustment]]:
    """Return the beam that each output cell copies, and the treatment of parents outside the axis.

    Beams have shape (T, B, W): `ENDED` after the first end token, `NO_BEAM` after a parent that
    names none. Raise `OutOfRangeError` if a value is no integer (``integer-values``), or a parent
    on a path names no beam (``index-negative``, ``index-range``).
    """
    paths = follow_beams(call, along, tensors)
    if paths.refusal is not None:
        raise paths.refusal
    policy = IndexPolicy(along.size, wraps=False, outside=OutOfRange.ZERO)
    points = ResolvedIndices(paths.cells(), [policy], IndexKind.PLAIN)
    return points, paths.adjustments


def follow_beams(call: Call, along: IndexedAxis, tensors: Mapping[str, Tensor]) -> BeamPaths:
    """Trace every beam back from its last step; a refused parent ends its path.

    The parents address the axis `along`. The `tensors` are step_ids and parent_ids (T, B, W),
    max_seq_len (B,) and end_token (). Raise `OutOfRangeError` (``integer-values``) if a value is no
    integer.
    """
    steps, parents, lengths, end = (_integers(name, tensor) for name, tensor in tensors.items())
    size, batches, width = steps.shape
    lengths = np.clip(lengths.astype(object), 0, size).astype(np.int64).reshape(-1, 1)
    if not steps.size:  # a dimension beside that of size 0 may be larger than memory
        beams, ends = np.empty(steps.shape, np.int64), np.broadcast_to(size, (batches, width))
        return BeamPaths(beams, lengths.reshape(-1), ends, [], None, beams, 0, parents)
    batch, written = np.arange(batches).reshape(-1, 1), parents
    parents, (policy,) = _as_indices(parents, width), policies_of(call, [along])
    if policy.outside is OutOfRange.ERROR:  # a refused parent has no position either
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
            beam[none] = REFUSED_BEAM if call.outside is OutOfRange.ERROR else NO_BEAM
            if call.negative is Negative.ERROR:
                beam[moves & (parent < 0)] = REFUSED_BEAM
        # Beyond the length `beam` stays w, the start of the path at the last step.
        beams[t] = np.where(t < lengths, beam, ENDED)
        ended = (beams[t] >= 0) & (steps[t, batch, np.maximum(beam, 0)] == end)
        ends[ended] = t  # the last assignment is the earliest step
    parents = np.where(used, parents, 0)
    number = int(used.sum())
    counts, _ = count(parents, policies_of(call, [along]), counts=True, tuples=False)
    name_as_written(counts[0], written)
    adjustments: list[Adjustment] = []
    refusal: OutOfRangeError | None = None
    try:
        adjustments = check_counts(call, [along], counts, parents.shape, used=number)
    except OutOfRangeError as error:
        refusal = error
    lengths = lengths.reshape(-1)
    return BeamPaths(beams, lengths, ends, adjustments, refusal, parents, number, written)


def name_as_written(counts: Iterable[IndexCount], written: AnyArray) -> None:
    """Replace the first parents of counts by those of the input, if these are large floats."""
    for each in counts:
        if each.number:  # without one, `first` is no position
            each.value = as_written(written, each.first, each.value)


def as_written(written: AnyArray, at: int, value: float) -> float:
    """Return the parent at a flat position: a float from 2^62 on, or else the integer `value`."""
    is_large = written.dtype.kind == "f" and abs(written.flat[at]) >= LARGE_PARENT
    return float(written.flat[at]) if is_large else value


def _integers(name: str, tensor: Tensor) -> AnyArray:
    """Return the elements of an input, floats as float64; raise if one is no integer."""
    values = tensor.values()
    if tensor.dtype.kind is not Kind.FLOAT:
        return values
    wide = values.astype(np.float64)
    whole = np.isfinite(wide) & (np.floor(wide) == wide)
    if not whole.all():
        at = coordinates(int((~whole).argmax()), wide.shape)
        raise integer_values_error(name, values[at].item(), cell(at))
    return wide


def parent_indices(name: str, parents: Tensor, size: int) -> AnyArray:
    """Return the parents of an input as integers; raise if one is no integer.

    Floats beyond 2^62 become congruent integers modulo `size`.
    """
    return _as_indices(_integers(name, parents), size)


def _as_indices(parents: AnyArray, size: int) -> AnyArray:
    """Return parents as integers; floats beyond 2^62 become congruent integers modulo `size`.

    Those are outside any axis too.
    """
    if parents.dtype.kind != "f":
        return parents
    size = max(1, size)
    large = np.abs(parents) >= LARGE_PARENT
    whole = (1 << 62) - (1 << 62) % size  # a multiple of the size
    near = np.where(large, np.mod(parents, size), parents).astype(np.int64)
    return near + np.sign(parents).astype(np.int64) * large * whole
