"""Drawings of random calls of all families, measured: texts, arrows, and values on slides."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

from gathercli import explain
from gathercli.explain.drawing.explanation import SLIDE_HEIGHT, scene_of
from gathercli.explain.drawing.scene import Box, text_width
from gathercli.explain.drawing.svg import svg
from gathercli.explain.panel import CELL_TEXT, MOST_ARROWED_CELLS, SLIDE_TEXT, Look
from tests.explain.drawing.svgs import SVG, Picture, points_of
from tests.explain.drawing.test_explanation import overlap
from tests.explain.drawing.test_scene import is_within, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.explain.drawing.scene import Arrow, Scene

CALLS: Final = 200
SLIDE: Final = (16, 9)


def random_call(seed: int) -> Any:
    """Explain a call of the family whose turn it is, with indices outside and from the end."""
    dice = np.random.default_rng(seed)
    rank = int(dice.integers(1, 4))
    shape = tuple(int(n) for n in dice.integers(1, 6, rank))
    data = np.arange(int(np.prod(shape))).reshape(shape) * int(dice.choice([1, 7, 1000]))
    axis = int(dice.integers(0, rank))
    size = shape[axis]
    if seed % 4 == 0:
        batch_dims = int(dice.integers(0, min(axis, 1) + 1))
        of = (*shape[:batch_dims], *(int(n) for n in dice.integers(1, 5, dice.integers(0, 3))))
        indices = dice.integers(-size - 1, size + 1, of)
        return explain("gather", data, indices, axis=axis, batch_dims=batch_dims)
    if seed % 4 == 1:
        of = (*shape[:axis], int(dice.integers(1, 5)), *shape[axis + 1 :])
        indices = dice.integers(-size, size, of)
        return explain("gather-elements", data, indices, axis=axis, version="onnx-13")
    if seed % 4 == 2:
        depth = int(dice.integers(1, rank + 1))
        columns = [dice.integers(-n - 1, n + 1, int(dice.integers(1, 5))) for n in shape[:1]]
        columns += [dice.integers(-n, n, len(columns[0])) for n in shape[1:depth]]
        return explain("gather-nd", data, np.stack(columns, -1), out_of_range="zero")
    steps, batches, beams = (int(n) for n in dice.integers(1, 4, 3))
    ids = np.arange(steps * batches * beams).reshape(steps, batches, beams)
    parents = dice.integers(0, beams, ids.shape)
    lengths = dice.integers(1, steps + 1, batches)
    return explain("gather-tree", ids, parents, lengths, 99)


# Versions of frameworks, beside the newest ones, by family.
FRAMEWORKS: Final = (
    ("openvino-7", "numpy.take", "torch.getitem", "jax.numpy.take", "tensorflow.gather"),
    ("torch.gather", "numpy.take_along_axis", "torch.take_along_dim", "jax.numpy.take_along_axis"),
    ("openvino-5", "onnx-13", "numpy.getitem_nd", "jax.getitem_nd", "tensorflow.gather_nd"),
)


def framework_call(seed: int) -> Any:
    """Explain a call of a framework, or a window of one, of which some are refused."""
    dice = np.random.default_rng(seed)
    shape = tuple(int(n) for n in dice.integers(1, 7, dice.integers(1, 5)))
    data, axis = np.arange(int(np.prod(shape))).reshape(shape), int(dice.integers(0, len(shape)))
    version, size = str(dice.choice(FRAMEWORKS[seed % 3])), shape[axis]
    if seed % 3 == 0:
        indices = dice.integers(-size - 1, size + 1, dice.integers(1, 6, dice.integers(0, 3)))
        explanation = explain("gather", data, indices, axis=axis, version=version)
    elif seed % 3 == 1:
        of = (*shape[:axis], int(dice.integers(1, 6)), *shape[axis + 1 :])
        indices = dice.integers(-size - 1, size + 1, of)
        explanation = explain("gather-elements", data, indices, axis=axis, version=version)
    else:
        of = tuple(dice.integers(1, 5, dice.integers(0, 3)))
        depth = int(dice.integers(1, len(shape) + 1))
        indices = np.stack([dice.integers(-n - 1, n + 1, of) for n in shape[:depth]], -1)
        explanation = explain("gather-nd", data, indices, version=version)
    if seed % 2 or not explanation.shape:
        return explanation
    starts = [int(dice.integers(0, n)) for n in explanation.shape]
    ends = zip(starts, explanation.shape, strict=True)
    return explanation.window(",".join(f"{n}:{dice.integers(n + 1, size + 1)}" for n, size in ends))


class Measured(NamedTuple):
    """A drawing."""

    scene: Scene
    cells: int  # of the output


def drawn(call: Callable[[int], Any] = random_call, **form: Any) -> Iterator[tuple[int, Measured]]:
    """Draw every call."""
    for seed in range(CALLS):
        explanation = call(seed)
        look = explanation._shown(None).look
        scene = scene_of(explanation, look, **form)
        shown = sum(cell.tensor == "out" for cell in scene.cells)
        yield seed, Measured(scene, shown)


@pytest.fixture(scope="module", params=[None, SLIDE], ids=["free", "slide"])
def form(request: pytest.FixtureRequest) -> tuple[int, int] | None:
    aspect: tuple[int, int] | None = request.param
    return aspect


@pytest.fixture(scope="module", params=[random_call, framework_call])
def drawings(request: pytest.FixtureRequest, form: tuple[int, int] | None) -> dict[int, Measured]:
    return dict(drawn(request.param, aspect=form))


def text_of(scene: Scene) -> int:
    """Return the size of the text of values."""
    return SLIDE_TEXT if scene.is_slide else CELL_TEXT


def words_of(scene: Scene) -> list[tuple[str, Box]]:
    """Return the texts of a drawing with their places, those of cells too."""
    captions = [*scene.captions, *(each for grid in scene.grids for each in grid.captions)]
    words = [(each.text, place_of(each)) for each in captions]
    for cell in scene.cells:
        x, y = cell.box.center
        width = text_width(cell.text, text_of(scene))
        words.append((cell.text, Box(x - width / 2, y - 7, width, 14)))
    return words


def test_no_texts_overlap_and_all_lie_on_the_page(drawings: dict[int, Measured]) -> None:
    for seed, (scene, _) in drawings.items():
        words = words_of(scene)
        assert not [
            (seed, one, other)
            for (one, box), (other, its) in combinations(words, 2)
            if overlap(box, its)
        ]
        for text, box in words:
            assert 0 <= box.x <= box.right <= scene.width + 1, (seed, text)
            assert 0 <= box.y <= box.bottom <= scene.height + 1, (seed, text)


def test_a_value_and_its_letter_have_room_in_their_cell(drawings: dict[int, Measured]) -> None:
    for seed, (scene, _) in drawings.items():
        for cell in scene.cells:
            width = text_width(cell.text, text_of(scene))
            assert cell.box.width - width >= 8, (seed, cell)


def drawn_tree(seed: int) -> Scene:
    """Draw beams of which many share parents."""
    dice = np.random.default_rng(seed)
    steps, batches, beams = (int(n) for n in dice.integers(2, [6, 4, 7]))
    ids = dice.integers(0, int(dice.choice([10, 1000])), (steps, batches, beams))
    parents = dice.integers(0, 1 + seed % 3 * (beams - 1) // 2, ids.shape)
    tree = explain("gather-tree", ids, parents, [steps] * batches, 99)
    return scene_of(tree, Look(None), aspect=SLIDE if seed % 2 else None)


def test_a_letter_touches_no_value_and_no_arrow_touches_it() -> None:
    capital = 0.73  # the height of digits and capitals in ems
    shared, others = 0, (each.scene for _, each in drawn(framework_call))
    for scene in [*map(drawn_tree, range(60)), *others]:
        lines = [[*points_of(arrow.d, 12)] for arrow in scene.arrows]
        for cell in Picture(svg(scene)).root.iter(f"{SVG}g"):
            texts = cell.findall(f"{SVG}text") if "cell" in cell.get("class", "") else []
            if len(texts) < 2:
                continue
            value, letter = (
                Box(
                    float(each.get("x", "")) - text_width(each.text or "", size) / 2,
                    float(each.get("y", "")) - size * capital,
                    text_width(each.text or "", size),
                    size * capital,
                )
                for each, size in zip(texts, (text_of(scene), 12), strict=True)
            )
            shared += len(texts[1].text or "") > 1
            gaps = value.x - letter.right, value.y - letter.bottom
            assert gaps[0] >= -0.3 or gaps[1] >= 1.5, (cell.get("data-id"), gaps)
            assert not any(is_within(point, letter) for line in lines for point in line)
    assert shared > 100


def grid_of(name: str) -> str:
    return name.removeprefix("slice-").split("-")[0]


def test_no_arrow_crosses_a_cell_a_word_or_the_grid_of_another_tensor(
    drawings: dict[int, Measured],
) -> None:
    for seed, (scene, _) in drawings.items():
        words = [each for each in words_of(scene) if each[0] != "outside"]
        for arrow in scene.arrows:
            points = list(points_of(arrow.d, 12))
            ends = {grid_of(arrow.source), grid_of(arrow.target)}
            for grid in scene.grids:
                others = [grid.box] if grid.tensor not in ends else []
                inside = [Box(c.x + 2, c.y + 2, c.width - 4, c.height - 4) for c in others]
                for cell in grid.cells:
                    box = cell.box
                    inside.append(Box(box.x + 2, box.y + 2, box.width - 4, box.height - 4))
                for box in inside:
                    assert not any(is_within(point, box) for point in points), (seed, arrow)
            for text, box in words:
                assert not any(is_within(point, box) for point in points), (seed, text, arrow)


@pytest.mark.parametrize("version", ["openvino-8", "numpy.getitem_nd"])
def test_a_line_to_the_place_outside_passes_no_name_of_a_facet(version: str) -> None:
    tuples = [[[-4, -2, 4]], [[-2, 0, -4]], [[-5, 1, 3]], [[1, -1, 4]]]
    data = np.arange(50).reshape(5, 1, 5, 2) * 7
    explanation = explain("gather-nd", data, tuples, version=version)

    scene = scene_of(explanation, Look(None), aspect=SLIDE)

    words = [each for each in words_of(scene) if each[0] != "outside"]
    (*outside,) = (each for each in scene.arrows if each.target == "slice-outside")
    assert outside
    for arrow in outside:
        points = list(points_of(arrow.d, 12))
        assert not [text for text, box in words if any(is_within(each, box) for each in points)]


def turns_back(arrow: Arrow) -> bool:
    """Return whether a line goes to and fro in both directions."""
    line = list(points_of(arrow.d, 12))
    steps = [[after[way] - before[way] for before, after in pairwise(line)] for way in (0, 1)]
    return all(min(each) < -1 and max(each) > 1 for each in steps)


def test_no_arrow_goes_where_it_came_from(drawings: dict[int, Measured]) -> None:
    for seed, (scene, _) in drawings.items():
        for arrow in scene.arrows:
            assert not turns_back(arrow), (seed, arrow)


def test_every_index_of_a_small_picture_has_its_arrow(drawings: dict[int, Measured]) -> None:
    small = 0
    for seed, (scene, cells) in drawings.items():
        remarks = " ".join(each.text for each in scene.captions)
        if cells <= MOST_ARROWED_CELLS and " shown" not in remarks:
            assert "letters mark the rest" not in remarks, seed
            small += 1
    assert small > CALLS / 4


def value_and_fill(scene: Scene) -> tuple[float, float]:
    """Return the pixels of 1080 of the values of a slide, and the part of its width in use."""
    height = max(scene.height, scene.width * SLIDE[1] / SLIDE[0])
    x = [edge for cell in scene.cells for edge in (cell.box.x, cell.box.right)]
    x += [edge for _, box in words_of(scene) for edge in (box.x, box.right)]
    return SLIDE_TEXT * 1080 / height, (max(x) - min(x)) / (height * SLIDE[0] / SLIDE[1])


@pytest.mark.parametrize("bare", [False, True])
def test_values_of_every_slide_can_be_read_and_its_width_is_used(bare: bool) -> None:
    for seed, (scene, _) in drawn(aspect=SLIDE, bare=bare):
        value, fill = value_and_fill(scene)

        assert value >= 28, seed  # of 1080 pixels, readable from the last row
        assert fill >= 0.8, seed


def test_what_a_slide_leaves_out_is_words_before_it_is_cells() -> None:
    whole = 0
    for _, (scene, cells) in drawn(aspect=SLIDE):
        said = any("shown" in each.text for each in scene.captions)
        whole += not said
        assert said or cells or not scene.grids

    assert whole > 0.8 * CALLS


def test_slides_of_one_size_in_pixels_have_values_of_one_size() -> None:
    for seed, (scene, _) in drawn(aspect=SLIDE, is_sized=True):
        height = max(scene.height, scene.width * SLIDE[1] / SLIDE[0])
        assert height == pytest.approx(SLIDE_HEIGHT, abs=1), seed


LECTURE: Final[dict[str, tuple[Any, ...]]] = {
    "rows": ("gather", np.arange(12).reshape(4, 3), [3, 0, -1]),
    "columns": ("gather", np.arange(12).reshape(4, 3), [2, 0], 1),
    "vector": ("gather", [10, 20, 30], [2, -3, 9]),
    "embedding": ("gather", np.arange(24).reshape(6, 4), [3, 1, 1, 5]),
    "elements": ("gather-elements", np.arange(9).reshape(3, 3), np.eye(3, dtype=int) + 1, 0),
    "row by row": ("gather-elements", np.arange(12).reshape(3, 4), np.eye(3, dtype=int) - 1, 1),
    "tuples": ("gather-nd", np.arange(24).reshape(2, 3, 4), [[0, 1], [1, -1]]),
    "batches": ("gather", np.arange(24).reshape(2, 4, 3), [[0, 1], [-1, 9]], 1, 1),
}


@pytest.mark.parametrize("name", LECTURE)
def test_an_example_of_a_lecture_has_values_of_28_pixels(name: str) -> None:
    op, data, indices, *rest = LECTURE[name]
    axis, batch_dims = [*rest, None, 0][:2] if rest else (None, 0)
    version = "onnx-13" if op == "gather-elements" else None
    explanation = explain(op, data, indices, axis=axis, batch_dims=batch_dims or 0, version=version)

    for bare in (False, True):
        scene = scene_of(explanation, Look(None), aspect=SLIDE, bare=bare)

        value, fill = value_and_fill(scene)
        assert value >= 28
        assert fill >= 0.8
