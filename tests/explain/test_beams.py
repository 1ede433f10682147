"""`explain gather-tree`: where each cell came from, as a picture, in words and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given

import gathercli
from gathercli.explain.beams import BeamProvenance
from gathercli.explain.panel import Look
from gathercli.explain.provenance import Fate
from gathercli.explain.terminal.picture import panels_of
from tests.compute.test_tree import stray_tree
from tests.explain.test_keys import at_a_terminal
from tests.random_calls import NEGATIVE, Dice, as_type, legal_tree, moderately, seeds

if TYPE_CHECKING:
    from tests.conftest import Run


SHARED = (
    "[[[10,11,12]],[[20,21,22]],[[30,9,32]],[[40,41,42]]]",
    "[[[0,0,0]],[[0,0,1]],[[2,0,1]],[[1,0,0]]]",
    "[4]",
    "9",
)
SMALL = ("[[[1,2]],[[3,4]],[[5,6]]]", "[[[0,0]],[[1,0]],[[1,1]]]", "[3]", "9")
STRAY = (SMALL[0], "[[[0,0]],[[1,0]],[[2,1]]]", "[3]", "9")


def explained(*inputs: Any, **policies: Any) -> BeamProvenance:
    explanation = gathercli.explain("gather-tree", *inputs, **policies)
    assert isinstance(explanation, BeamProvenance)
    return explanation


def of_words(*words: str, **policies: Any) -> BeamProvenance:
    return explained(*map(json.loads, words), **policies)


# One cell


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (
            "0,0,1",
            """\
out[0,0,1]   t = 0, b = 0, w = 1
  max_seq_len[0] is 4: beam 1 is followed back from step 3
  step 3: step_ids[3,0,1] is 41, parent_ids[3,0,1] is 0
  step 2: step_ids[2,0,0] is 30, parent_ids[2,0,0] is 2
  step 1: step_ids[1,0,2] is 22, parent_ids[1,0,2] is 1
  step 0: step_ids[0,0,1] is 11
  out[0,0,1] = step_ids[0,0,1] = 11
""",
        ),
        (
            "-1,0,0",
            """\
out[3,0,0]   t = 3, b = 0, w = 0
  max_seq_len[0] is 4: beam 0 is followed back from step 3
  step 3: step_ids[3,0,0] is 40, parent_ids[3,0,0] is 1
  step 2: step_ids[2,0,1] is 9, which is end_token
  step 3 comes after it
  out[3,0,0] = end_token = 9
""",
        ),
    ],
)
def test_a_cell_is_told_by_the_way_of_its_beam(run: Run, cell: str, expected: str) -> None:
    assert run("explain", "gather-tree", *SHARED, "--cell", cell) == (0, expected, "")


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("2", "max_seq_len[0] is 2, the length of batch 0: step 1 is its last"),
        ("-3", "max_seq_len[0] is -3, the length of batch 0: it has no steps"),
    ],
)
def test_a_cell_beyond_the_length_names_the_length(run: Run, length: str, said: str) -> None:
    words = (*SMALL[:2], f"[{length}]", "9")
    ran = run("explain", "gather-tree", *words, "--cell", "2,0,0")

    _, *lines = ran.out.splitlines()
    assert lines == [f"  {said}", "  out[2,0,0] = end_token = 9"]
    steps = f"batch 0 has {max(0, int(length))} steps"
    assert f"· end_token: {steps}" in run("explain", "gather-tree", *words).out


@pytest.mark.parametrize(
    ("policy", "last"),
    [("spec", "  out[0,0,0]: refused"), ("zero", "  out[0,0,0] = step_ids[0,0,none] = 0")],
)
def test_a_cell_without_a_beam_shows_where_the_way_stops(run: Run, policy: str, last: str) -> None:
    ran = run("explain", "gather-tree", *STRAY, "--out-of-range", policy, "--cell", "0,0,0")

    what = "refused" if policy == "spec" else "none"
    step = f"  step 2: step_ids[2,0,0] is 5, parent_ids[2,0,0] is 2 → {what}"
    assert ran.out.splitlines()[2:] == [step, last]


def test_the_cells_are_told_a_line_each(run: Run) -> None:
    ran = run("explain", "gather-tree", *SHARED, "--step")

    lines = ran.out.splitlines()
    assert lines[2] == "out[0,0,2] = step_ids[0,0,1] = 11"
    assert lines[-3] == "out[3,0,0] = end_token = 9"
    assert len(lines) == 12


@pytest.mark.usefixtures("folder")
def test_on_a_terminal_keys_walk_along_the_beams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("COLUMNS", "80"), ("LINES", "24"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)

    words = ["explain", "gather-tree", *SMALL, "--step"]
    status, seen = at_a_terminal(words, [" ", " ", "q"], "q: quit")

    screens = seen.split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    assert "\n\nout[0,0,1]   t = 0, b = 0, w = 1\n" in screens[1]
    assert "cell 2 of 6" in screens[1]
    assert "0    0     0    0  AB[1]    2    0  1 [1]\n" in screens[1]


def test_the_current_cell_is_marked_in_its_own_batch_alone() -> None:
    ids, zeros = [[[1], [2]], [[3], [4]]], np.zeros((2, 2, 1), np.int64)

    text = panels_of(explained(ids, zeros, [2, 2], np.int64(9)), Look(80, here=(1, 1, 0))).plain

    assert text.count("[4]") == 2
    assert text.count("[") == 2


def test_a_refused_cell_is_marked_as_the_current_one() -> None:
    text = panels_of(of_words(*STRAY), Look(80, here=(0, 0, 0))).plain

    assert "[!]" in text


# JSON and Python


def test_the_json_of_a_cell_names_the_parent_that_leads_to_it(run: Run) -> None:
    ran = run("explain", "gather-tree", *SHARED, "-f", "json")

    fields = json.loads(ran.out)
    cells = {tuple(cell["out"]): cell for cell in fields["cells"]}
    assert fields["read"] == {"dimensions": [0, 1, 2], "parts": 9, "of": 12}
    assert fields["max_seq_len"] == {"shape": [1], "datatype": "INT64"}
    assert cells[0, 0, 1] == {
        "out": [0, 0, 1],
        "parent_ids": [1, 0, 2],
        "parent": 1,
        "beam": 1,
        "step_ids": [0, 0, 1],
        "fate": "copied",
        "value": 11,
    }
    assert (cells[3, 0, 0]["fate"], cells[3, 0, 0]["step_ids"]) == ("ended", None)
    assert (cells[3, 0, 0]["parent_ids"], cells[3, 0, 0]["beam"]) == (None, 0)


def test_a_cell_beyond_the_length_is_on_no_beam() -> None:
    trace = of_words(*SMALL[:2], "[1]", "9").cell(2, 0, 0)

    assert (trace.beam, trace.parent_ids, trace.step_ids) == (None, None, None)
    assert (trace.fate, trace.value) == (Fate.BEYOND, 9)


def test_the_json_of_one_cell_is_that_cell_alone(run: Run) -> None:
    ran = run("explain", "gather-tree", *STRAY, "-f", "json", "--cell", "0,0,0")

    (cell,) = json.loads(ran.out)["cells"]
    assert ran.status == 65
    assert (cell["fate"], cell["beam"], cell["value"]) == ("refused", None, None)


def test_the_numbers_of_opaque_types_are_written_as_they_are(run: Run) -> None:
    words = ("2x1x1xbf16=1.0 3.0", "[[[0]],[[0]]]", "[2]", "9")

    ran = run("explain", "gather-tree", *words, "-f", "json")

    cells = json.loads(ran.out)["cells"]
    assert [(cell["parent"], cell["value"]) for cell in cells] == [(0, 1.0), (None, 3.0)]


@moderately
@given(seed=seeds)
def test_the_cells_of_an_explanation_hold_what_the_answer_does(seed: int) -> None:
    dice = Dice(seed)
    tree = legal_tree(dice, "int64") if dice.number(0, 1) else stray_tree(dice)
    policies: Any = {"out_of_range": dice.one_of(("zero", "clamp", "wrap"))}
    output = gathercli.gather_tree(*tree.inputs, **policies)

    explanation = explained(*tree.inputs, **policies)

    for at in np.ndindex(output.shape):
        trace = explanation.cell(*at)
        assert trace.value == output[at]
        if trace.step_ids is not None:
            assert tree.step_ids[trace.step_ids] == output[at]
        if trace.parent_ids is not None:
            assert tree.parent_ids[trace.parent_ids] == trace.parent
            assert explanation.cell(trace.parent_ids[0], *at[1:]).beam == trace.parent_ids[2]


@moderately
@given(seed=seeds)
def test_what_is_not_refused_is_what_filling_leaves(seed: int) -> None:
    dice = Dice(seed)
    tree, negative = stray_tree(dice), dice.one_of(NEGATIVE)
    explanation = explained(*tree.inputs, negative=negative)

    filled = explained(*tree.inputs, negative=negative, out_of_range="zero")

    refused = [
        trace
        for trace in map(explanation.cell, *np.indices(explanation.shape).reshape(3, -1))
        if trace.fate is Fate.REFUSED
    ]
    for trace in refused:
        assert filled.cell(*trace.out).fate in (Fate.FILLED, Fate.REFUSED)
    assert bool(refused) == (explanation.refusal is not None)


def test_values_that_are_no_integers_are_refused_before_any_beam(run: Run) -> None:
    ran = run("explain", "gather-tree", "[[[1.5]]]", "[[[0.0]]]", "[1.0]", "9.0")

    assert (ran.status, ran.out) == (65, "")
    assert ran.err.splitlines()[-1] == "rule: integer-values"


def test_an_explanation_reads_types_that_numpy_lacks() -> None:
    explanation = explained(*(as_type(json.loads(word), "bfloat16") for word in SMALL))

    assert explanation.cell(0, 0, 1).value == 1.0
