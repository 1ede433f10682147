"""The titles of the tensors of a batch, and how an index finds its place in `data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.drawing.scene import Caption
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import Shape
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.drawing.block import TensorBlock
    from gathercli.lessons.lesson import Lesson


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
    excerpt = block.excerpt
    name = excerpt.name
    if panel:
        rest = [None] * (len(excerpt.shape) - len(panel))
        at = ",".join(":" if n is None else str(n) for n in excerpt.named((*panel, *rest)))
        words = f"{name}[{at}]" if at else name
    else:
        operands = {name: str(each) for name, each in lesson.call.inputs.items()}
        operands["out"] = described(lesson.data.dtype, Shape(lesson.shape).inner())
        words = f"{name} {operands[name]}"
    lines = [Caption(0, 0, words, "title")]
    if name == next(iter(lesson.call.inputs)):
        lines += _axis_lines(lesson, len(panel))
    return lines


def _axis_lines(lesson: Lesson, lead: int) -> Iterator[Caption]:
    """Yield which axes of `data` an index names, and which stay."""
    rank = len(lesson.data.shape)
    arrows = {rank - 1: "→ ", rank - 2: "↓ "} if rank - lead > 1 else {rank - 1: "→ "}
    noun = "tuple" if lesson.is_tuple else "index"
    if len(lesson.axes) == 1:
        words = f"{arrows.get(lesson.axis, '')}axis {lesson.axis}: by {noun}"
        yield Caption(0, 0, words, "replaced")
    elif lesson.axes:
        words = f"axes {listed(map(str, lesson.axes), 'and')}: by {noun}"
        yield Caption(0, 0, words, "replaced")
    if lines_up(lesson, lead):
        for d in range(lead, rank):
            if d != lesson.axis:
                yield Caption(0, 0, f"{arrows.get(d, '')}axis {d}: stays", "stays")
