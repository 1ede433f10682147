"""Labels of `explain`: each names what it stands beside, in the terminal, traces and drawings."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gathercli import explain
from gathercli.explain.drawing import page
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import Look
from gathercli.explain.terminal.layout import text_of
from gathercli.explain.terminal.picture import picture_of
from tests import oracle_nd
from tests.explain.drawing.test_explanation import Call, calls, source
from tests.explain.pictures import Read, read_picture
from tests.random_calls import amply, moderately

if TYPE_CHECKING:
    from tests.conftest import Array
    from tests.explain.drawing.test_explanation import At


LABEL: Final = r"(?:data|out)(?:\[[\d,:]*\])?"
EQUATION: Final = re.compile(rf"^ *({LABEL} = data\[.* = \d+)$", re.MULTILINE)
"""A worked example: ``out[1] = data[indices[1]] = data[-1 → 2] = 30``."""
PICKS: Final = re.compile(rf"picks ({LABEL}) for ({LABEL})\.")
ZEROS: Final = re.compile(rf"points outside: ({LABEL}) is zero\.")
JOINED: Final = Call(
    "gather-nd", "openvino-5", (2, 2, 2, 2), np.zeros((2, 2, 1, 1, 1), np.int64), batch_dims=2
)
"""A call whose output has facets, and one dimension for both batch dimensions."""

widths = st.sampled_from([40, 80, 100, 200])


def at(label: str) -> tuple[Any, ...]:
    """Return the coordinates, or slices, in ``data[0,:]``."""
    words = label.partition("[")[2].rstrip("]").split(",")
    return tuple(slice(None) if word == ":" else int(word) for word in words if word)


def is_in(cell: At, label: str) -> bool:
    """Return whether ``data[0,:]`` has a cell."""
    pairs = zip(cell, at(label), strict=True)
    return all(part in (n, slice(None)) for n, part in pairs)


def is_joined(call: Call) -> bool:
    """Return whether the batch dimensions are one in the output."""
    return call.version == "openvino-5" and call.batch_dims > 0


def out_of(call: Call) -> Array:
    """Return the output with its batch dimensions apart."""
    out, apart = call.out(), call.shape[: call.batch_dims]
    return out.reshape(*apart, *out.shape[1:]) if is_joined(call) else out


def read(call: Call, width: int) -> Read:
    """Draw a call for a terminal, and read the picture."""
    explanation, lead = call.explained(), call.batch_dims
    if call.op == "gather-elements":
        lead = max(0, min(call.axis, len(call.shape) - 2))
    indices = call.indices.ndim - (call.op == "gather-nd")
    ranks = {"data": len(call.shape), "indices": indices, "out": out_of(call).ndim}
    picks_rows = call.op == "gather-nd" or call.axis == len(call.shape) - 2
    return read_picture(
        picture_of(explanation, Look(width)).plain,
        lead=lead,
        ranks={name: rank - lead for name, rank in ranks.items()},
        out_is_row=picks_rows and indices == lead,
        out_is_joined=is_joined(call),
    )


@amply
@given(call=calls(), width=widths)
@example(call=JOINED, width=100)
def test_a_label_beside_a_row_or_facet_names_what_that_is(call: Call, width: int) -> None:
    picture = read(call, width)

    out = out_of(call)
    assert picture.cells["out"]
    for cell in picture.cells["out"]:
        assert cell.text == str(out[cell.at])
    for label, cells in picture.labels:
        named = np.zeros_like(out) if label == "zeros" else call.data[at(label)]
        along = range(out.ndim - named.ndim, out.ndim)
        shown = [int(cell.text) for cell in cells]
        assert shown == [named[tuple(cell.at[j] for j in along)] for cell in cells]


@amply
@given(call=calls(), width=widths)
def test_a_letter_marks_one_part_of_data_wherever_it_stands(call: Call, width: int) -> None:
    picture = read(call, width)

    in_data = {cell.at: cell for cell in picture.cells["data"]}
    for cell in in_data.values():
        assert cell.text == str(call.data[cell.at])
        assert cell.label not in picture.legend or is_in(cell.at, picture.legend[cell.label])
    for cell in picture.cells["out"]:
        place = source(call, int(cell.text))
        assert (place is None) == (cell.label == "·")
        if place is not None and cell.label:
            assert cell.label not in picture.legend or is_in(place, picture.legend[cell.label])
            assert place not in in_data or in_data[place].label == cell.label


def read_part(call: Call, label: str) -> Any:
    """Read ``data[1,:]``, ``data[0,-1 → 2]`` or ``data[indices[0],1]``; zeros outside `data`."""

    def numbers_of(index: re.Match[str]) -> str:
        return ",".join(map(str, np.ravel(call.indices[at(index[0])])))

    words = re.sub(r"indices(?:\[[\d,]*\])?", numbers_of, label)
    words = re.sub(r"-?\d+ → ", "", words).replace("none", str(max(call.shape)))
    place = at(re.sub(r"[()]", "", words))
    pairs = zip(place, call.shape, strict=True)
    if any(isinstance(n, int) and not -size <= n < size for n, size in pairs):
        return np.zeros((), np.int64)
    return call.data[place]


def assert_reads(call: Call, line: str) -> None:
    """Assert that an output cell, and each place that it is said to copy, hold the value."""
    cell, *places, value = line.strip().split(" = ")
    assert [call.out()[at(cell)], *(read_part(call, place) for place in places)] == [int(value)] * (
        1 + len(places)
    )


@moderately
@given(call=calls())
def test_a_trace_reads_what_it_names(call: Call) -> None:
    explanation, look = call.explained(), Look(100)
    view = view_of(explanation)

    examples = EQUATION.findall(picture_of(explanation, look).plain)
    steps = [text_of(view.trace_steps(each, look)).plain for each in explanation.cells()]

    assert examples
    for line in examples:
        assert_reads(call, line)
    for cell, text in zip(np.ndindex(explanation.shape), steps, strict=True):
        head, index, *meanings, last = text.splitlines()
        assert at(head.split()[0]) == cell
        assert_reads(call, last)
        name, _, number = index.partition(" is ")
        assert [*np.ravel(call.indices[at(name)])] == [*at(f"[{number.strip('()')}]")]
        for label in re.findall(r"data\[[\d,]+\]", "".join(meanings)):
            assert read_part(call, label) == call.out()[cell]


@moderately
@given(call=calls())
def test_the_json_of_a_cell_reads_where_it_says(call: Call) -> None:
    explanation, out = call.explained(), call.out()

    cells = json.loads(
        "".join(view_of(explanation).json_parts({}, iter([np.arange(explanation.size)])))
    )["cells"]

    for cell in cells:
        value = out[tuple(cell["out"])]
        assert cell["value"] == value
        assert call.data[tuple(cell["data"])] == value if cell["data"] else value == 0
        assert [*np.ravel(cell["index"])] == [*np.ravel(call.indices[tuple(cell["indices"])])]


@moderately
@given(call=calls())
def test_a_page_reads_what_it_names(call: Call) -> None:
    explanation, look = call.explained(), Look(100)
    scene = scene_of(explanation, look)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("MOST_CHANGED_ELEMENTS", "MOST_HIDDEN_ELEMENTS"):
            patch.setattr(page, name, -1)
        content = page.page_content(explanation, look, scene)

    texts = {cell.id: cell.text for cell in scene.cells}
    for out, _, place, lines in content["cells"]:
        last = lines.splitlines()[-1]
        assert_reads(call, last)
        assert last.endswith(f" = {texts[out]}")
        assert place == "-" or texts.get(place, texts[out]) == texts[out]


@moderately
@given(call=calls())
@example(call=JOINED)
def test_a_drawing_names_what_it_draws(call: Call) -> None:
    scene = scene_of(call.explained(), Look(None))

    out = call.out()
    for place, target in PICKS.findall(scene.description):
        assert np.array_equal(read_part(call, place), out[at(target)])
    for target in ZEROS.findall(scene.description):
        assert not out[at(target)].any()
    letters = {cell.at: cell.letter for cell in scene.cells if cell.tensor == "data"}
    for cell in scene.cells:
        place = source(call, int(cell.text)) if cell.tensor == "out" else None
        if place in letters:
            assert letters[place] == cell.letter
    shapes = {"data": call.shape, "out": out.shape, "indices": call.indices.shape}
    for grid in scene.grids:
        facets = [each.text for each in grid.captions if each.kind == "facet"]
        for name in (each for text in facets for each in text.split(" = ")):
            pairs = zip(at(name)[:-2], shapes[grid.tensor], strict=False)
            assert {cell.at[:-2] for cell in grid.cells} == {tuple(n % size for n, size in pairs)}


@pytest.mark.parametrize("seed", range(40))
def test_the_words_of_beams_name_what_they_copy(seed: int) -> None:
    dice = np.random.default_rng(seed)
    t, b, w = (int(n) for n in dice.integers(1, 5, 3))
    steps = np.arange(1, 1 + t * b * w).reshape(t, b, w)
    parents, lengths = dice.integers(0, w, (t, b, w)), dice.integers(1, t + 1, b)
    end = np.array(int(dice.integers(1, t * b * w + 9)))
    tensors = {"step_ids": steps, "parent_ids": parents, "max_seq_len": lengths, "end_token": end}
    out = oracle_nd.gather_tree(steps, parents, lengths, end)
    explanation, look = explain("gather-tree", steps, parents, lengths, end), Look(120)
    view = view_of(explanation)

    picture = picture_of(explanation, look).plain
    traces = [text_of(view.trace_steps(each, look)).plain for each in explanation.cells()]
    description = scene_of(explanation, look).description

    text = "\n".join([picture, *traces])
    equations = re.findall(r"(out\[[\d,]+\]) = (\w+)(\[[\d,]+\])? = (\d+)", text)
    assert len(equations) > out.size
    for cell, name, place, value in equations:
        assert (out[at(cell)], tensors[name][at(place)]) == (int(value), int(value))
    for name, place, value in re.findall(r"(\w+)(\[[\d,]+\]) is (\d+)", text):
        assert tensors[name][at(place)] == int(value)
    for beam, way in re.findall(r"out(\[:,\d+,\d+\]) follows ([^.]+)\.", description):
        _, batch, column = at(beam)
        before_end = True
        for parent, step in reversed(re.findall(r"beam (\d+) at step (\d+)", way)):
            token = steps[int(step), batch, int(parent)]
            assert out[int(step), batch, column] == (token if before_end else end)
            before_end = before_end and token != end
