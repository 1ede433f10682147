"""A drawing as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli import explain
from gathercli.errors import GatherError
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.scene import Box, text_width
from gathercli.explain.drawing.svg import Sheet, svg
from gathercli.explain.panel import Look
from tests.explain.drawing.svgs import Picture, points_of
from tests.explain.drawing.test_explanation import Call, calls, overlap
from tests.explain.test_gather_provenance import explain_case
from tests.random_calls import Dice, any_case, every_axis_row, moderately, seeds

if TYPE_CHECKING:
    from gathercli.explain.drawing.scene import Caption
    from gathercli.spec.op import Op

    At = tuple[int, ...]


@moderately
@given(call=calls(), chosen=st.data())
def test_no_line_runs_over_words_and_no_words_overlap(call: Call, chosen: st.DataObject) -> None:
    starts = [chosen.draw(st.integers(0, size - 1)) for size in call.out().shape]
    scene = scene_of(call.explained(), Look(None, window=tuple(slice(n, None) for n in starts)))

    captions = [*scene.captions, *(each for grid in scene.grids for each in grid.captions)]
    words = [(each, place_of(each)) for each in captions if each.text != "outside"]
    for number, (one, box) in enumerate(words):
        assert not [other for other, its in words[:number] if overlap(box, its)], one
        for arrow in scene.arrows:
            assert not any(is_within(point, box) for point in points_of(arrow.d)), (one, arrow)


def place_of(caption: Caption) -> Box:
    """Return the place of most of the ink of a line of text."""
    is_mono = caption.kind.startswith(("coordinate", "step", "equation", "gap"))
    size = {"heading": 19, "title": 15, "step": 15}.get(caption.kind, 12)
    width = text_width(caption.text, size, mono=is_mono)
    left = {"start": 0.0, "middle": width / 2, "end": width}[caption.anchor]
    return Box(caption.x - left, caption.y - 9, width, 10)


def is_within(point: tuple[float, float], box: Box) -> bool:
    return box.x < point[0] < box.right and box.y < point[1] < box.bottom


@pytest.mark.parametrize("aspect", [(16, 9), (4, 3), (1, 1)])
def test_margins_give_the_ratio_that_is_asked_for(aspect: tuple[int, int]) -> None:
    scene = scene_of(explain("gather", [[1, 2], [3, 4]], [1, 0]), Look(None))

    root = Picture(svg(scene, Sheet(aspect=aspect))).root

    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    assert width / height == pytest.approx(aspect[0] / aspect[1], rel=0.01)
    assert (width, height) >= (scene.width - 0.1, scene.height - 0.1)


@pytest.mark.parametrize(
    ("data", "indices"),
    [(np.zeros((4, 3)), []), (np.zeros((0, 3)), [1]), (np.zeros((3, 0)), [0, 1]), ([1, 2], 0)],
    ids=["no indices", "no rows", "no columns", "no dimensions"],
)
def test_empty_tensors_and_single_cells_are_drawn(data: Any, indices: Any) -> None:
    explanation = explain("gather", data, np.array(indices, np.int64))

    picture = Picture(svg(scene_of(explanation, Look(None))))

    empty = 0 in (np.size(data), np.size(indices))
    assert ("empty: no elements" in picture.texts) == empty
    assert bool(picture.ways) == (not empty)
    assert not any("letters mark the rest" in text for text in picture.texts)


@every_axis_row
@moderately
@given(seed=seeds)
def test_any_call_that_is_bound_has_a_drawing(op: Op, seed: int) -> None:
    try:
        explanation = explain_case(op, any_case(op, Dice(seed)))
    except GatherError:
        return

    picture = Picture(svg(scene_of(explanation, Look(None))))

    for way in picture.ways:
        assert way.source.touches(way.start)
        assert way.target.touches(way.end)
