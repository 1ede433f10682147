"""The titles of the tensors of a batch, and how an index finds its place in `data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.explain.drawing.scene import Caption
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import Shape
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.explain.drawing.block import TensorBlock
    from gathercli.explain.lesson import Lesson


def lines_up(lesson: Lesson, lead: int) -> bool:
    """Return whether each element stays in its row or column, as in GatherElements.

    Parameters
    ----------
    lead
        The number of leading dimensions that are batches of the drawing.
    """
    return lesson.picks_cells and not lesson.is_tuple and len(lesson.data.shape) - lead > 1


def titles(lesson: Lesson, panel: tuple[int, ...], block: TensorBlock) -> list[Caption]:
    """Return the lines above a tensor, at (0, 0).

    Parameters
    ----------
    panel
        The coordinates of the batch.
    block
        The tensor.
    """
    tensor = block.tensor
    name = tensor.name
    if panel:
        rest = [None] * (len(tensor.shape) - len(panel))
        at = ",".join(":" if n is None else str(n) for n in tensor.named((*panel, *rest)))
        words = f"{name}[{at}]" if at else name
    else:
        operands = {name: str(each) for name, each in lesson.call.inputs.items()}
        operands["out"] = described(lesson.data.dtype, Shape(lesson.shape).inner())
        words = f"{name} {operands[name]}"
    lines = [Caption(0, 0, words, "title")]
    if name == lesson.name and lesson.is_tuple and lesson.axes:
        axes = ", ".join(f"axis {d}" for d in lesson.axes)
        lines.append(Caption(0, 0, f"tuple: ({axes})", "note"))
    if name == next(iter(lesson.call.inputs)) and not panel:
        lines += axis_lines(lesson)
    return lines


def axis_lines(lesson: Lesson) -> list[Caption]:
    """Return which axes of `data` an index names, which the batches share, and which stay."""
    shared = range(lesson.call.batch_dims or 0)
    rest = [d for d in range(len(lesson.data.shape)) if d not in {*shared, *lesson.axes}]
    by = "by tuple" if lesson.is_tuple else "by index"
    kinds: list[tuple[Sequence[int], str, str, str]] = [
        (lesson.axes, by, by, "replaced"),
        (shared, "shared", "shared", "shared"),
        (rest, "stays", "stay", "stays"),
    ]
    lines = []
    for dims, one, many, kind in kinds:
        if len(dims) == 1:
            lines.append(Caption(0, 0, f"{_arrow(lesson, dims[0])}axis {dims[0]}: {one}", kind))
        elif dims:
            lines.append(Caption(0, 0, f"axes {listed(map(str, dims), 'and')}: {many}", kind))
    return lines


def _arrow(lesson: Lesson, d: int) -> str:
    """Return the direction of an axis in a facet; nothing for one of facets or batches."""
    if d < (lesson.call.batch_dims or 0):
        return ""
    return {1: "→ ", 2: "↓ "}.get(len(lesson.data.shape) - d, "")
