"""`gathercli.explain`: an explanation that draws itself in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.explain.beams import BeamProvenance, BeamTrace
from gathercli.explain.gather_provenance import GatherProvenance, Trace
from gathercli.explain.panel import Look
from gathercli.explain.provenance import CellTrace, Provenance
from gathercli.python import opened
from gathercli.report.terminal import PICTURE_WIDTH, STDOUT, width_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TRACE_ADVICE: Final = "trace() tells of others"  # the hint on how to see hidden cells


class Explained(Provenance[CellTrace]):
    """An explanation of a call; its `repr` is the picture that the command draws.

    Attributes
    ----------
    shape
        The shape of the output.
    equation
        The equation of an output cell.
    refusal
        The exception that the call raises for an index; None if it accepts all.
    """

    def cells(self) -> Iterator[CellTrace]:
        """Yield the trace of every output cell, row-major."""
        return self.traces(np.arange(self.size))

    def __repr__(self) -> str:
        """Draw the picture in the width of the terminal."""
        from gathercli.explain.terminal.picture import picture_of

        look = Look(width_of(STDOUT) or PICTURE_WIDTH, advice=_TRACE_ADVICE)
        return picture_of(self, look).plain.rstrip("\n")

    def _repr_html_(self) -> str:
        """Draw the picture for a notebook, where pointing at a cell says where it comes from."""
        from gathercli.explain.drawing.explanation import scene_of
        from gathercli.explain.drawing.page import notebook_output

        look = Look(PICTURE_WIDTH, advice=_TRACE_ADVICE)
        return notebook_output(self, look, scene_of(self, look, has_steps=False))


class Explanation(GatherProvenance, Explained[Trace]):
    """An explanation of a call that gathers along an axis."""


class BeamExplanation(BeamProvenance, Explained[BeamTrace]):
    """An explanation of a call that follows beams back."""


def explain(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    *more: ArrayLike,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
) -> Explained[Any]:
    """Explain where every cell of an output comes from.

    Parameters
    ----------
    op
        ``gather``, ``gather-elements``, ``gather-nd`` or ``gather-tree``.
    data, indices, more
        The inputs, as for the function of the operator, such as `gathercli.gather`.
    axis, batch_dims, negative, out_of_range
        As for that function; no axis is the version's default, 0, which OpenVINO's GatherElements
        lacks.
    version
        None for OpenVINO's newest.

    Returns
    -------
        The explanation. Its `repr` is a picture; ``trace(i, j)`` traces one output cell and
        ``cells()`` all: the coordinates of the index, the index, the position on the axis, the
        coordinates in `data`, the value. For GatherND the index is a tuple, with a position on each
        axis. For GatherTree the trace has the coordinates of the parent that leads to the step, the
        parent, the beam, the coordinates in `step_ids`, the value. Refused indices are explained
        too.

    Raises
    ------
    OperatorError
        A rule of shapes, types or attributes refuses.
    UsageError
        The operator takes more or fewer inputs.

    Examples
    --------
    >>> trace = explain("gather", [[10, 11], [20, 21]], [1, -2]).trace(1, 0)
    >>> trace.indices, trace.k, trace.position, trace.data, trace.value
    ((1,), -2, 0, (0, 0), 10)
    >>> steps, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
    >>> trace = explain("gather-tree", steps, parents, [2], 9).trace(0, 0, 0)
    >>> trace.parent_ids, trace.parent, trace.step_ids, trace.value
    ((1, 0, 0), 1, (0, 0, 1), 2)
    """
    settings = {"axis": axis, "batch_dims": batch_dims, "negative": negative}
    with opened(op, (data, indices, *more), version, out_of_range=out_of_range, **settings) as call:
        explanation = BeamExplanation if call.row.followed else Explanation
        return explanation(call.bound())
