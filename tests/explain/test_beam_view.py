"""Pictures of beams."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from rich.cells import cell_len

from gathercli.explain.panel import ASCII, Look
from gathercli.explain.terminal import picture
from gathercli.explain.terminal.layout import arrange
from gathercli.explain.terminal.picture import panels_of, picture_of
from tests.compute.test_tree import stray_tree
from tests.explain.test_beams import SHARED, SMALL, STRAY, explained, of_words
from tests.random_calls import Dice, moderately, seeds

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_beams_that_share_their_first_steps_share_the_letters(run: Run) -> None:
    ran = run("explain", "gather-tree", *SHARED)

    assert ran == (
        0,
        """\
GatherTree   \
out[t, b, w] = step_ids[t, b, beam(t)], beam(t-1) = parent_ids[t, b, beam(t)]
openvino.GatherTree-1   for t in 0..3, b in 0..0, w in 0..2
step_ids i64[4,1,3]   parent_ids i64[4,1,3]   max_seq_len i64[1]   end_token i64[] = 9
out i64[4,1,3]

batch 0   max_seq_len 4
parent_ids            step_ids                  out
                                                    A    B   C
      0    1     2           0      1      2        0    1   2
0     0    0     0    0   A 10  BC 11     12    0  10   11  11
1   A 0    0  BC 1    1   A 20     21  BC 22    1  20   22  22
2  BC 2  A 0     1    2  BC 30   A  9     32    2   9   30  30
3   A 1  B 0   C 0    3   A 40   B 41   C 42    3   9·  41  42

each beam is followed back from its last step:
            step 3         step 2         step 1         step 0
A  beam 0   40, parent 1 → 9, parent 0  → 20, parent 0 → 10
B  beam 1   41, parent 0 → 30, parent 2 → 22, parent 1 → 11
C  beam 2   42, parent 0 → 30, parent 2 → 22, parent 1 → 11
· end_token: A ended at step 2   no letter: not read
a cell copies the token of its beam at its step:
  out[1,0,1] = step_ids[1,0,2] = 22
  out[3,0,0] = end_token = 9

shape  step_ids[0:]  =  [4,1,3]
read   9 of 12 cells of step_ids
""",
        "",
    )


def test_a_batch_is_a_panel_and_its_beams_begin_at_its_last_step() -> None:
    steps = [[[1, 2], [5, 6]], [[3, 4], [7, 8]], [[5, 6], [9, 10]]]
    parents = [[[0, 0], [0, 0]], [[1, 0], [0, 0]], [[1, 1], [1, 1]]]

    text = picture_of(explained(steps, parents, [3, 2], 99), Look(80)).plain

    assert "batch 1   max_seq_len 2\n" in text
    assert "2    1    1    2     9    10    2  99·  99·\n" in text
    assert "A  batch 0, beam 0   5, parent 1 → 4, parent 0 → 1\n" in text
    assert "D  batch 1, beam 1                 8, parent 0 → 5\n" in text
    assert "· end_token: batch 1 has 2 steps   no letter: not read\n" in text


def test_a_parent_that_is_refused_is_shown_in_its_place(run: Run) -> None:
    ran = run("explain", "gather-tree", *STRAY)

    assert ran.status == 65
    assert "0    0              0    0  B 1    2    0  !  1\n" in ran.out
    assert "2  ! 2 → refused  B 1    2  A 5  B 6    2  5  6\n" in ran.out
    assert "A  beam 0   5, parent 2 → refused\n" in ran.out
    assert "! refused   no letter: not read\n" in ran.out
    assert ran.err.startswith("error: index 2 of `parent_ids` at `[2,0,0]` is outside axis 2")


def test_a_parent_that_is_filled_leaves_zero_cells_before_it(run: Run) -> None:
    ran = run("explain", "gather-tree", *STRAY, "--out-of-range", "zero")

    assert ran.status == 0
    assert "1    1         B 0    1    3  B 4    1  0?  4\n" in ran.out
    assert "A  beam 0   5, parent 2 → none\n" in ran.out
    assert "? zero-filled: a parent names no beam   no letter: not read\n" in ran.out
    assert ran.err.startswith("note: 1 of 3 indices outside 0..1, zero-filled; first 2 at [2,0,0]")


@pytest.mark.parametrize("more", [(), ("--ascii",), ("--save", "tree.txt")])
def test_letters_stand_over_columns_that_marks_widen(
    run: Run, folder: Path, more: tuple[str, ...]
) -> None:
    steps, parents = "[[[1,2]],[[3,4]]]", "[[[0,0]],[[1,0]]]"

    ran = run("explain", "gather-tree", steps, parents, "[1]", "9", *more)

    text = (folder / "tree.txt").read_text() if "--save" in more else ran.out
    assert """
batch 0   max_seq_len 1
parent_ids    step_ids       out
                                A   B
   0  1            0    1       0   1
0  0  0       0  A 1  B 2    0  1   2
1  1  0       1    3    4    1  9·  9·

""" in text.replace(".\n", "·\n").replace("9. ", "9· ")


def test_letters_stand_over_columns_that_zeros_widen(run: Run) -> None:
    ran = run("explain", "gather-tree", *STRAY, "--out-of-range", "zero")

    assert (
        """
batch 0   max_seq_len 3
parent_ids            step_ids       out
                                        A   B
     0           1         0    1       0   1
0    0           0    0  B 1    2    0  0?  1
"""
        in ran.out
    )


def test_numbers_of_columns_that_marks_widen_stand_over_them(run: Run) -> None:
    zeros = "zeros:2x1x12xi64"

    ran = run("explain", "gather-tree", zeros, zeros, "[1]", "9", "--window", ":,:,8:")

    assert (
        """
out
      A   B   C   D
      8   9   10  11
0  …  0   0   0   0
1  …  9·  9·  9·  9·
"""
        in ran.out
    )


@pytest.mark.parametrize(
    ("policies", "parent"),
    [({"out_of_range": "clamp"}, 7), ({"out_of_range": "wrap"}, 7), ({"negative": "wrap"}, -1)],
)
def test_a_parent_that_is_moved_shows_the_beam_it_names(
    policies: dict[str, str], parent: int
) -> None:
    parents = [[[0, 0]], [[1, 0]], [[parent, 1]]]

    text = picture_of(
        explained([[[1, 2]], [[3, 4]], [[5, 6]]], parents, [3], 9, **policies), Look(80)
    )

    assert f"A {parent} → 1" in text.plain
    assert f"A  beam 0   5, parent {parent} → 1 → 4, parent 0 → 1\n" in text.plain


def test_many_steps_are_cut_in_the_middle_and_many_beams_at_the_edges() -> None:
    random = np.random.default_rng(0)
    shape = (20, 6, 30)
    steps, parents = random.integers(0, 99, shape), random.integers(0, 30, shape)

    text = picture_of(explained(steps, parents, np.full(6, 20), np.int64(-1)), Look(80)).plain

    assert re.search(r"\n +step 19 +step 18 +… +step 1 +step 0\n", text)
    assert "\nbatch 5   max_seq_len 20" in text
    assert "\nbatch 3 " not in text
    assert "+ read by beams that are not shown" in text
    assert "A+n read by A and n other beams" in text
    assert re.search(r"\n\d+ of 3 600 cells of out shown; --window chooses others\n", text)
    assert max(map(cell_len, text.split("\n")[1:])) <= 80


def test_a_window_chooses_steps_batches_and_beams(run: Run) -> None:
    ran = run("explain", "gather-tree", *SMALL, "--window", "1:,0,1")

    assert "A  beam 1   6, parent 1 → 4, parent 0 → 1\n" in ran.out
    assert "beam 0 " not in ran.out
    assert ran.out.endswith("\n2 of 6 cells of out shown\n")


def test_a_window_that_fits_no_width_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bool] = []

    def arranged(*parts: Any, stacked: bool) -> Any:
        drawn.append(stacked)
        return arrange(*parts, stacked=stacked)

    monkeypatch.setattr(picture, "arrange", arranged)
    ids = np.zeros((2, 1, 90), np.int64)
    every = slice(None)

    explanation = explained(ids, ids, [2], np.int64(1))
    text = picture_of(explanation, Look(80, window=(every, every, every))).plain

    assert len(drawn) == 2
    assert "no letter: not read\n" in text


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((0, 1, 2), "empty: no elements"),
        ((1, 0, 2), "empty: no batches"),
        ((2, 1, 0), "empty: no elements"),
    ],
)
def test_an_empty_tree_says_that_it_is(shape: tuple[int, ...], said: str) -> None:
    ids = np.zeros(shape, np.int64)

    text = picture_of(
        explained(ids, ids, np.zeros(shape[1], np.int64), np.int64(1)), Look(80)
    ).plain

    assert said in text
    assert text.endswith("read   nothing: step_ids is empty\n")


@moderately
@given(seed=seeds)
def test_a_picture_of_beams_fits_the_width_and_ascii_is_ascii(seed: int) -> None:
    dice = Dice(seed)
    explanation = explained(
        *stray_tree(dice).inputs, out_of_range=dice.one_of(("spec", "zero", "wrap"))
    )
    width = dice.one_of((80, 100, 120))

    for look in (Look(width), Look(width, marks=ASCII)):
        text = picture_of(explanation, look).plain
        assert max(map(cell_len, text.split("\n"))) <= width
        assert not re.search(r"(?m) $", text)
    assert text.isascii()


def test_panels_that_do_not_fit_are_left_out() -> None:
    explanation = of_words(*SMALL)

    assert panels_of(explanation, Look(80, height=3)).plain == "no room for the picture\n"
    assert panels_of(explanation, Look(80, height=9)).plain.startswith("batch 0   max_seq_len 3\n")


@pytest.mark.parametrize("suffix", [".svg", ".html", ".txt"])
def test_the_picture_is_saved(run: Run, folder: Path, suffix: str) -> None:
    ran = run("explain", "gather-tree", *SMALL, "--save", f"tree{suffix}")

    assert ran.status == 0
    assert "parent" in (folder / f"tree{suffix}").read_text()


def test_inputs_in_chunks_are_read_whole(run: Run) -> None:
    names = [f"{name}.zarr" for name in ("s", "p", "l", "e")]
    for word, name in zip(SMALL, names, strict=True):
        run("convert", word, name)

    assert run("explain", "gather-tree", *names) == run("explain", "gather-tree", *SMALL)
