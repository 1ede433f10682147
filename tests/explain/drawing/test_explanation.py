"""Drawings of explanations: every arrow ends where the specification says, and nothing overlaps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli import explain
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.drawing.scene import Box
from gathercli.explain.drawing.svg import svg
from gathercli.explain.panel import Look
from tests import oracle, oracle_nd
from tests.explain.drawing.svgs import Drawn, Picture
from tests.random_calls import moderately

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Array

    At = tuple[int, ...]


class Call(NamedTuple):
    """A legal call whose data are 1, 2, 3 and so on, so that its output says where it is from."""

    op: str
    version: str
    shape: At
    indices: Array
    axis: int = 0
    batch_dims: int = 0
    out_of_range: str = "spec"

    @property
    def data(self) -> Array:
        return np.arange(1, 1 + int(np.prod(self.shape)), dtype=np.int64).reshape(self.shape)

    def explained(self) -> Any:
        return explain(
            self.op,
            self.data,
            self.indices,
            axis=None if self.op == "gather-nd" else self.axis,
            batch_dims=self.batch_dims,
            version=self.version,
            out_of_range=self.out_of_range,
        )

    def out(self) -> Array:
        """Return the output by the plain loops of the specification."""
        names = {"gather": "Gather", "gather-elements": "GatherElements", "gather-nd": "GatherND"}
        framework, number = self.version.split("-")
        how = oracle.Attributes(
            axis=None if self.op == "gather-nd" else self.axis,
            batch_dims=self.batch_dims,
            out_of_range=self.out_of_range,
        )
        run = oracle_nd.run if self.op == "gather-nd" else oracle.run
        name = f"{framework}.{names[self.op]}-{number}"
        return run(name, self.data, self.indices, how, data_type="int64", indices_type="int64")

    def filled_by(self, at: At, out: At) -> bool:
        """Return whether the index at `at` decides the output cell `out`, by the specification."""
        b = self.batch_dims
        if self.op == "gather-elements":
            return at == out
        if self.op == "gather-nd":
            if self.version == "openvino-5" and b > 1:
                head = tuple(int(n) for n in np.unravel_index(out[0], self.shape[:b]))
                out = (*head, *out[1:])
            return out[: len(at)] == at
        return out[:b] == at[:b] and out[self.axis : self.axis + len(at) - b] == at[b:]


def source(call: Call, value: int) -> At | None:
    """Return the coordinates of a value of `data`; None for the zero of a filled cell."""
    return tuple(int(n) for n in np.unravel_index(value - 1, call.shape)) if value else None


sizes = st.integers(1, 4)


@st.composite
def calls(draw: Callable[..., Any]) -> Call:
    op = draw(st.sampled_from(["gather", "gather-elements", "gather-nd"]))
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(sizes, min_size=rank, max_size=rank)))
    if op == "gather-nd":
        return draw_nd(draw, shape)
    axis = draw(st.integers(0, rank - 1))
    size = shape[axis]
    if op == "gather-elements":
        of = (*shape[:axis], draw(sizes), *shape[axis + 1 :])
        return Call(op, "onnx-13", shape, draw_indices(draw, of, -size, size - 1), axis)
    b = draw(st.integers(0, min(axis, 2)))
    of = (*shape[:b], *draw(st.lists(sizes, max_size=2)))
    indices = draw_indices(draw, of, -size - 1, size)
    return Call(op, "openvino-8", shape, indices, axis, b)


def draw_indices(draw: Callable[..., Any], shape: At, low: int, high: int) -> Array:
    count = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    return np.array(numbers, np.int64).reshape(shape)


def draw_nd(draw: Callable[..., Any], shape: At) -> Call:
    b = draw(st.integers(0, len(shape) - 1))
    k = draw(st.integers(1, len(shape) - b))
    lead = (*shape[:b], *draw(st.lists(sizes, max_size=2)))
    columns = [draw_indices(draw, lead, -n - 1, n) for n in shape[b : b + k]]
    version = draw(st.sampled_from(["openvino-8", "openvino-5"]))
    if version == "openvino-5":
        columns = [np.abs(column) for column in columns]
    indices = np.stack(columns, axis=-1)
    return Call("gather-nd", version, shape, indices, 0, b, out_of_range="zero")


def drawn(call: Call, **how: Any) -> Picture:
    return Picture(svg(scene_of(call.explained(), Look(None), **how)))


@moderately
@given(call=calls())
def test_an_arrow_of_any_call_begins_and_ends_on_the_boxes_that_it_names(call: Call) -> None:
    picture = drawn(call)

    for way in picture.ways:
        assert way.source.touches(way.start), way
        assert way.target.touches(way.end), way


@moderately
@given(call=calls())
def test_an_arrow_from_an_index_ends_at_what_the_specification_reads(call: Call) -> None:
    out = call.out()

    ways = [way for way in drawn(call).ways if way.source.tensor == "indices"]

    assert ways
    for way in ways:
        at = tuple(n for n in way.source.at if n is not None)
        cells = [c for c in oracle.coordinates(out.shape) if call.filled_by(at, c)]
        sources = {source(call, int(out[c])) for c in cells}
        if way.target.tensor == "outside":
            assert sources == {None}
        else:
            assert way.target.cells(call.shape) <= sources


@moderately
@given(call=calls())
def test_an_arrow_to_the_output_comes_from_what_the_specification_copies(call: Call) -> None:
    out = call.out()

    ways = [way for way in drawn(call).ways if way.target.tensor == "out"]

    assert ways
    for way in ways:
        sources = {source(call, int(out[c])) for c in way.target.cells(out.shape)}
        if way.source.tensor == "outside":
            assert sources == {None}
        else:
            assert sources == way.source.cells(call.shape)


@moderately
@given(call=calls())
def test_a_cell_has_the_value_of_its_tensor(call: Call) -> None:
    picture = drawn(call)
    names = {
        each.attrib["data-id"]: each
        for each in picture.root.iter()
        if each.attrib.get("data-id") in picture.drawn
    }
    out = call.out()

    for name, element in names.items():
        cell = picture.drawn[name]
        if "cell" in cell.kinds and cell.tensor != "indices":
            at: Any = cell.at
            value = (out if cell.tensor == "out" else call.data)[at]
            text = element.find("{http://www.w3.org/2000/svg}text")
            assert text is not None
            assert text.text == str(value)


def overlap(one: Box | Drawn, other: Box | Drawn) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


@moderately
@given(call=calls())
def test_no_cells_overlap_and_all_lie_on_the_page(call: Call) -> None:
    picture = drawn(call)
    cells = [each for each in picture.drawn.values() if "cell" in each.kinds]
    x, y, width, height = map(float, picture.root.attrib["viewBox"].split())

    for number, one in enumerate(cells):
        assert x <= one.x <= one.x + one.width <= x + width
        assert y <= one.y <= one.y + one.height <= y + height
        assert not any(overlap(one, other) for other in cells[:number])


@moderately
@given(call=calls())
def test_no_line_runs_over_a_number(call: Call) -> None:
    picture = drawn(call)
    cells = [each for each in picture.drawn.values() if "cell" in each.kinds]

    for way in picture.ways:
        assert not [each for each in cells if any(map(each.covers, way.points))], way


@moderately
@given(call=calls(), chosen=st.data())
def test_the_path_of_a_chosen_cell_alone_is_strong(call: Call, chosen: st.DataObject) -> None:
    out = call.out()
    cell = tuple(chosen.draw(st.integers(0, size - 1)) for size in out.shape)

    picture = drawn(call, cell=cell)

    traced = [each for each in picture.drawn.values() if {"cell", "traced"} <= each.kinds]
    landing = [way for way in picture.ways if {"traced", "lands"} <= way.kinds]
    place = source(call, int(out[cell]))
    assert {each.at for each in traced if each.tensor == "out"} == {cell}
    assert {each.at for each in traced if each.tensor == "data"} == ({place} - {None})
    assert [cell in way.target.cells(out.shape) for way in landing] == [True]
    assert "faint" in picture.root[4].attrib["class"]


@pytest.mark.parametrize("seed", range(20))
def test_the_arrows_of_beams_follow_the_parents_and_carry_the_tokens(seed: int) -> None:
    dice = np.random.default_rng(seed)
    t, b, w = (int(n) for n in dice.integers(1, 5, 3))
    steps = np.arange(1, 1 + t * b * w).reshape(t, b, w)
    parents = dice.integers(0, w, (t, b, w))
    lengths, end = dice.integers(1, t + 1, b), np.array(int(dice.integers(1, t * b * w + 1)))
    out = oracle_nd.gather_tree(steps, parents, lengths, end)

    explanation = explain("gather-tree", steps, parents, lengths, end)
    picture = Picture(svg(scene_of(explanation, Look(None))))

    assert picture.ways
    for way in picture.ways:
        assert way.source.touches(way.start)
        assert way.target.touches(way.end)
        at: Any = way.source.at
        to: Any = way.target.at
        if way.target.tensor == "out":
            assert out[to] == steps[at]
        else:
            assert to == (at[0] - 1, at[1], parents[at])


def test_nothing_comes_from_outside_and_the_bytes_are_always_the_same() -> None:
    explanation = explain("gather", [['<a href="x">', "]]>"], ["&amp;", "\x00\uffff"]], [0, 3, -1])

    one, other = (svg(scene_of(explanation, Look(None), title="<b>\x07&")) for _ in range(2))

    assert one == other
    assert Picture(one).texts
    assert re.findall(r"(?:https?:)?//[^\"' ]+", one) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<(?:script|image|a|use|foreignObject)\b|url\(|@import|@font-face", one)


def test_the_title_and_the_description_say_what_the_call_does() -> None:
    explanation = explain("gather", np.zeros((4, 3)), [3, 9])

    title, description, *_ = Picture(svg(scene_of(explanation, Look(None)))).root

    assert title.text == "openvino.Gather-8: out[i, s] = data[indices[i], s]"
    assert description.text == (
        "openvino.Gather-8 of data f64[4,3] and indices i64[2], axis 0, batch_dims 0. "
        "The output has the shape [2,3]. Each of its cells is out[i, s] = data[indices[i], s]. "
        "indices[0] = 3 picks data[3,:] for out[0,:]. "
        "indices[1] = 9 points outside: out[1,:] is zero."
    )


@pytest.mark.parametrize("axis", [1, 2])
def test_the_tensors_of_batches_line_up_though_one_alone_has_indices_from_the_end(
    axis: int,
) -> None:
    data = np.arange(24).reshape(2, 4, 3)

    explanation = explain("gather", data, [[0, 1], [-1, 9]], axis=axis, batch_dims=1)
    picture = Picture(svg(scene_of(explanation, Look(None))))

    for name in ("indices", "data", "out"):
        cells = picture.tensor(name)
        pairs = [(cells[at], cells[1, *at[1:]]) for at in cells if at[0] == 0]
        steps = {(round(two.x - one.x), round(two.y - one.y)) for one, two in pairs}
        assert pairs
        assert len(steps) == 1
        assert 0 in steps.pop()
        assert all(one.width == two.width for one, two in pairs)
