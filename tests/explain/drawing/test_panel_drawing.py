"""Tensors as they are drawn, and what has no room."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.svg import svg
from gathercli.explain.panel import Look
from tests.explain.drawing.svgs import Picture

if TYPE_CHECKING:
    from typing import Any

    At = tuple[int, ...]


def test_a_token_of_more_beams_than_have_room_has_a_letter_and_their_number() -> None:
    explanation = explain(
        "gather-tree", [[[1, 2, 3, 4]], [[5, 6, 7, 8]]], [[[0] * 4], [[1] * 4]], [2], 0
    )

    texts = Picture(svg(scene_of(explanation, Look(None)))).texts

    assert "A+3" in texts
    assert "ABC" not in texts
    assert "A+n read by A and n other beams" in texts


def test_a_drawing_says_how_many_beams_have_arrows() -> None:
    parents = np.arange(45).reshape(9, 1, 5) % 5
    explanation = explain("gather-tree", np.arange(1, 46).reshape(9, 1, 5), parents, [9], 0)

    picture = Picture(svg(scene_of(explanation, Look(None))))

    beams = {way.target.at[2] for way in picture.ways if "lands" in way.kinds}
    assert f"arrows for {len(beams)} of 5 beams; letters mark the rest" in picture.texts
    assert len(beams) < 5


@pytest.mark.parametrize(
    ("arrows", "count"), [("auto", 9), ("all", 9), ("path", 1), ("none", 0)], ids=str
)
def test_a_drawing_of_few_cells_has_all_arrows_that_are_not_declined(
    arrows: str, count: int
) -> None:
    explanation = explain("gather-elements", np.ones((3, 3)), np.eye(3, dtype=int) + 1, axis=0)

    picture = Picture(svg(scene_of(explanation, Look(None, arrows=arrows))))

    for kind in ("picks", "lands"):
        assert len([way for way in picture.ways if kind in way.kinds]) == count


def test_the_path_of_a_beam_runs_through_its_tokens() -> None:
    steps, parents = np.arange(1, 7).reshape(3, 1, 2), [[[0, 0]], [[1, 0]], [[0, 0]]]
    explanation = explain("gather-tree", steps, parents, [3], 0)

    ways = Picture(svg(scene_of(explanation, Look(None), cell=(0, 0, 1)))).ways

    traced = [each for each in ways if {"traced", "picks"} <= each.kinds]
    assert {each.target.tensor for each in traced} == {"step_ids"}
    assert [(each.source.at, each.target.at) for each in traced] == [
        ((2, 0, 1), (1, 0, 0)),
        ((1, 0, 0), (0, 0, 1)),
    ]


@pytest.mark.parametrize("aspect", [None, (16, 9)])
@pytest.mark.parametrize("width", [2, 3])
def test_a_step_of_beams_stands_at_one_height(width: int, aspect: tuple[int, int] | None) -> None:
    steps = np.arange(4 * width).reshape(4, 1, width)
    explanation = explain("gather-tree", steps, (steps + 1) % width, [4], 99)

    picture = Picture(svg(scene_of(explanation, Look(None), aspect=aspect)))

    rows = [
        sorted({each.y for each in picture.tensor(name).values()})
        for name in ("parent_ids", "step_ids", "out")
    ]
    assert len(rows[0]) == 4
    assert rows[0] == rows[1] == rows[2]


def test_no_mark_hides_a_single_row() -> None:
    rows = [0, 2, 4, 6, 9, 11, 13, 15, 17, 19]
    explanation = explain("gather", np.zeros((20, 2)), rows)

    picture = Picture(svg(scene_of(explanation, Look(None))))

    shown = sorted({at[0] for at in picture.tensor("data") if at[0] is not None})
    assert not [n for n, after in pairwise([-1, *shown, 20]) if after == n + 2]


def test_a_drawing_says_how_many_batches_it_shows() -> None:
    indices = [[0, 3, 1, 2, n] for n in range(6)]
    explanation = explain("gather", np.zeros((6, 9)), indices, axis=1, batch_dims=1)

    texts = Picture(svg(scene_of(explanation, Look(None)))).texts

    assert "10 of 30 cells of out and 2 of 6 batches shown; --window chooses others" in texts


@pytest.mark.parametrize(
    ("data", "indices", "call"),
    [
        ((4, 3), [[2, 0], [1, 1], [0, 0], [2, 1]], {"axis": 1, "batch_dims": 1}),
        ((6, 3), [[2, 0], [1, 1], [0, 0], [2, 2], [1, 0], [0, 1]], {"axis": 1, "batch_dims": 1}),
        ((2, 3, 2, 2), [1, 0, 2], {"axis": 1}),
    ],
)
def test_a_small_output_is_drawn_whole(
    data: tuple[int, ...], indices: Any, call: dict[str, Any]
) -> None:
    explanation = explain("gather", np.zeros(data), indices, **call)

    scene = scene_of(explanation, Look(None))

    drawn = [cell for cell in scene.cells if cell.tensor == "out"]
    assert len(drawn) == np.prod(explanation.shape)


@pytest.mark.parametrize("bare", [True, False])
def test_a_slide_says_what_it_leaves_out(bare: bool) -> None:
    data = np.arange(48).reshape(2, 2, 3, 4)
    explanation = explain("gather", data, [[1, 0], [-1, 2]], axis=2, batch_dims=1)

    picture = Picture(svg(scene_of(explanation, Look(None), bare=bare, aspect=(16, 9))))

    shown = sum(each.tensor == "out" for each in picture.drawn.values() if "cell" in each.kinds)
    assert shown < 32
    assert any(each.startswith(f"{shown} of 32 cells of out") for each in picture.texts)


def test_a_drawing_says_how_many_facets_it_shows() -> None:
    explanation = explain("gather", np.zeros((2, 3, 4, 5)), [4, 0], axis=3)

    picture = Picture(svg(scene_of(explanation, Look(None))))

    (words,) = (each for each in picture.texts if each.endswith("; --window chooses others"))
    match = re.search(r"(\d+) of 6 facets", words)
    assert match is not None
    assert int(match[1]) == len({at[:2] for at in picture.tensor("data")})


def test_a_large_tensor_is_cut_and_says_so() -> None:
    explanation = explain("gather", np.arange(1_000_000).reshape(1000, 1000), np.arange(0, 1000, 3))

    picture = Picture(svg(scene_of(explanation, Look(None))))

    assert len(picture.drawn) < 300
    assert {"⋮", "⋯"} <= {*picture.texts}
    assert any("of 334 000 cells of out shown" in text for text in picture.texts)


def test_a_cell_that_hidden_indices_read_is_marked() -> None:
    explanation = explain("gather", np.arange(12).reshape(6, 2), [0] * 10 + [5] * 10 + [0] * 10)

    picture = Picture(svg(scene_of(explanation, Look(None))))

    assert picture.texts.count("+") == 2  # a row of two cells
    assert "+ read by indices that are not shown" in picture.texts


@pytest.mark.parametrize(("aspect", "arrow"), [(None, "→"), ((16, 9), "↓")])
def test_an_arrow_runs_along_the_axis_of_a_column_or_a_row(
    aspect: tuple[int, int] | None, arrow: str
) -> None:
    explanation = explain("gather", [10, 20, 30, 40], [3, 0, 2])

    scene = scene_of(explanation, Look(None), aspect=aspect)

    places = [cell.box for cell in scene.cells if cell.tensor == "data"]
    assert (places[0].x == places[1].x) == (arrow == "↓")
    assert f"{arrow} axis 0: by index" in Picture(svg(scene)).texts
