"""`gathercli.explain`: an explanation that draws itself in Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from gathercli.explain.beams import BeamProvenance, BeamTrace
from gathercli.explain.command import ExplainOptions, Shown
from gathercli.explain.explained_call import view_of
from gathercli.explain.gather_provenance import GatherProvenance, Trace
from gathercli.explain.pictures import StepPictures
from gathercli.explain.provenance import CellTrace, Provenance
from gathercli.io.arraylike import typed
from gathercli.python import opened, worded
from gathercli.report.terminal import PICTURE_WIDTH, STDOUT, width_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TRACE_ADVICE: Final = "cell() tells of others"  # the hint on how to see hidden cells


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

    _options = ExplainOptions()

    def cells(self) -> Iterator[CellTrace]:
        """Yield the trace of every output cell, row-major."""
        return self.traces(np.arange(self.size))

    @typed
    def window(self, slices: str) -> Self:
        """Return the explanation of a part of the output, a slice a dimension: ``0:3,:,10:20``."""
        part = copy(self)
        part._options = ExplainOptions(window_text=slices)  # noqa: SLF001
        with worded():
            part._shown(PICTURE_WIDTH)  # noqa: SLF001
        return part

    @typed
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        aspect: str | None = None,
        size: str | None = None,
        theme: str | None = None,
        bare: bool = False,
        animate: bool = False,
        arrows: str = "auto",
    ) -> None:
        """Write the picture: .svg, .png, .pdf, .html or .txt.

        ``step-{n}.svg`` is a path of one for each output cell. The rest is as for the command:
        `aspect` a ratio such as 16:9, `size` in pixels, 1920x1080, `theme` light, dark or
        transparent, `bare` without words, `animate` for an .svg that shows the cells in turn,
        `arrows` auto, all, path or none.

        Raises
        ------
        UsageError
            The suffix is another, lacks what is asked for, or its package is not installed.
        OutputError, TransferError
        """
        form = {"aspect_text": aspect, "size_text": size, "theme": theme, "bare": bare}
        with worded():
            options = StepPictures(paths=[os.fspath(path)], animate=animate, arrows=arrows, **form)
            with options.opened() as saved:
                self._shown(PICTURE_WIDTH).save(options, saved)
                saved.commit()

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``gathercli explain -f json``."""
        fields: dict[str, Any] = json.loads("".join(self._shown(None).json_parts()))
        return fields

    def _shown(self, width: int | None) -> Shown:
        look = self._options.look(self, width)._replace(advice=_TRACE_ADVICE)
        return Shown(self, view_of(self), self._options, look)

    def __repr__(self) -> str:
        """Draw the picture in the width of the terminal."""
        from gathercli.explain.terminal.picture import picture_of

        look = self._shown(width_of(STDOUT) or PICTURE_WIDTH).look
        return picture_of(self, look).plain.rstrip("\n")

    def _repr_html_(self) -> str:
        """Draw the picture for a notebook, where pointing at a cell says where it comes from."""
        from gathercli.explain.drawing.explanation import scene_of
        from gathercli.explain.drawing.page import notebook_output

        look = self._shown(PICTURE_WIDTH).look
        return notebook_output(self, look, scene_of(self, look, has_steps=False))


class Explanation(GatherProvenance, Explained[Trace]):
    """An explanation of a call that gathers along an axis."""


class BeamExplanation(BeamProvenance, Explained[BeamTrace]):
    """An explanation of a call that follows beams back."""


@typed
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
        The explanation. Its `repr` is a picture, which ``save(path)`` writes; ``window("0:3,:")``
        draws a part. ``cell(i, j)`` traces one output cell and ``cells()`` all: the coordinates
        of the index, the index, the position on the axis, the coordinates in `data`, the value.
        For GatherND the index is a tuple, with a position on each axis. For GatherTree the trace
        has the coordinates of the parent that leads to the step, the parent, the beam, the
        coordinates in `step_ids`, the value. Refused indices are explained too.

    Raises
    ------
    OperatorError
        A rule of shapes, types or attributes refuses.
    UsageError
        The operator takes more or fewer inputs.

    Examples
    --------
    >>> trace = explain("gather", [[10, 11], [20, 21]], [1, -2]).cell(1, 0)
    >>> trace.indices, trace.k, trace.position, trace.data, trace.value
    ((1,), -2, 0, (0, 0), 10)
    """
    settings: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims}
    settings |= {"negative": negative, "out_of_range": out_of_range}
    with opened(op, (data, indices, *more), version, keeps=True, **settings) as call:
        explanation = BeamExplanation if call.row.followed else Explanation
        return explanation(call.bound())
