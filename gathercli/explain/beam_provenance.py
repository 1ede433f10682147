"""The provenance of GatherTree's output: each beam, traced back from its last step.

The elements come from the family's `sources`, as those of the output do.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.compute.tree import ENDED, NO_BEAM, REFUSED_BEAM, follow_beams
from gathercli.explain.provenance import Fate, Provenance
from gathercli.ops import indexed_inputs
from gathercli.spec.shapes import coordinates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.storage import AnyArray


BEAM_TRACE_BLOCK: Final = 1 << 12
"""Output cells of a block."""

_FATES: Final = {ENDED: Fate.BEYOND, NO_BEAM: Fate.FILLED, REFUSED_BEAM: Fate.REFUSED}
"""The fate of a cell without a beam."""


class BeamTrace(NamedTuple):
    """The provenance of one output cell: step t on the path of a beam.

    Where the path does not reach step t there is no parent, beam or token.
    """

    out: tuple[int, ...]  # its coordinates
    # the coordinates of the parent that leads to step t; None at the last step
    parent_ids: tuple[int, ...] | None
    parent: int | None  # the parent itself
    beam: int | None  # the beam of the path at step t
    step_ids: tuple[int, ...] | None  # the coordinates of the copied token; None if there is none
    fate: Fate  # the origin of the value
    value: Any  # None if a parent is refused


class BeamProvenance(Provenance[BeamTrace]):
    """The provenance of each output cell of GatherTree.

    `lengths` are the steps of each batch, `ends` the step of the first end token of each beam, T
    for none, shape (B, W). Raise `OutOfRangeError` (``integer-values``) if a value is no integer.
    """

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound.call, bound.shape)
        tensors = bound.loaded()
        self.step_ids, self.parent_ids, self.max_seq_len, self.end_token = tensors.values()
        self._parents = self.parent_ids.values()
        ((axis,),) = indexed_inputs(self.call).values()
        paths = follow_beams(self.call, axis, tensors)
        self._beams, self._cells = paths.beams, paths.cells()
        self.lengths, self.ends = paths.lengths.tolist(), paths.ends
        self.refusal, self.adjustments = paths.refusal, tuple(paths.adjustments)

    def beam(self, t: int, b: int, w: int) -> int | None:
        """Return the beam at step t on the path of beam w of batch b; None for none."""
        beam = int(self._beams[t, b, w])
        return None if beam < 0 else beam

    def fate(self, t: int, b: int, w: int) -> Fate:
        """Return the fate of the output cell [t, b, w]."""
        beam = int(self._beams[t, b, w])
        if beam < 0:
            return _FATES[beam]
        return Fate.ENDED if t > self.ends[b, w] else Fate.COPIED

    def parent(self, t: int, b: int, beam: int) -> int:
        """Return the parent of a beam at step t."""
        return int(self._parents[t, b, beam])

    def way(self, b: int, w: int) -> Iterator[tuple[int, int]]:
        """Yield the steps and beams on the path of a beam, from the last step back.

        >>> from gathercli import explain
        >>> ids = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
        >>> list(explain("gather-tree", *ids, [2], 9).way(0, 0))
        [(1, 0), (0, 1)]
        """
        for t in reversed(range(self.lengths[b])):
            beam = self.beam(t, b, w)
            if beam is None:
                return
            yield t, beam

    @cached_property
    def read_cells(self) -> AnyArray:
        """Whether each cell of `step_ids` is on a path; shape (T, B, W)."""
        read = np.zeros(self.shape, bool)
        t, b, w = np.nonzero(self._beams >= 0)
        read[t, b, self._beams[t, b, w]] = True
        return read

    @cached_property
    def _tokens(self) -> AnyArray:
        """The elements that `sources` addresses: `step_ids`, then `end_token`."""
        return np.append(self.step_ids.array, self.end_token.array)

    def elements(self, cells: AnyArray) -> Tensor:
        """Return the values of output cells, flat positions of shape (C,); zeros where filled."""
        sources = self._family.sources(self.call, {"parent_ids": self._cells}, cells)
        elements = self._tokens[sources]
        elements[sources < 0] = 0
        return Tensor(self.step_ids.dtype, elements)

    def telling(self, trace: BeamTrace) -> tuple[Any, ...]:
        """Rank a cell that a parent leaves without a beam, then a copied one, then an end token.

        Among these prefer a beam other than the cell's own, then other than 0, then a batch above
        0, then a step before the last, then numbers that all differ and are above 0.
        """
        t, b, w = trace.out
        missing = trace.fate in (Fate.FILLED, Fate.REFUSED)
        kind = 2 if missing else int(trace.fate is Fate.COPIED)
        beam = w if trace.beam is None else trace.beam
        return (
            str(kind),
            kind,
            beam != w,
            beam != 0,
            b > 0,
            t + 1 < self.lengths[b],
            len({t, b, w, beam}),
            sum(n > 0 for n in trace.out),
        )

    def traces(self, cells: AnyArray) -> Iterator[BeamTrace]:
        """Yield the traces of output cells from their flat positions, shape (C,), int64."""
        for start in range(0, len(cells), BEAM_TRACE_BLOCK):
            block = cells[start : start + BEAM_TRACE_BLOCK]
            at = np.stack(coordinates(block, self.shape), axis=1).tolist()
            values = self.elements(block).values().tolist()
            yield from map(self._trace, at, values)

    def _trace(self, at: list[int], value: Any) -> BeamTrace:
        t, b, w = at
        fate, beam = self.fate(t, b, w), self.beam(t, b, w)
        after = self.beam(t + 1, b, w) if t + 1 < self.lengths[b] else None
        return BeamTrace(
            out=(t, b, w),
            parent_ids=None if after is None else (t + 1, b, after),
            parent=None if after is None else self.parent(t + 1, b, after),
            beam=beam,
            step_ids=(t, b, beam) if beam is not None and fate is Fate.COPIED else None,
            fate=fate,
            value=None if fate is Fate.REFUSED else value,
        )
