"""What of tensors and batches a picture has room for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pytest
from rich.cells import cell_len

import gathercli
from gathercli.explain.panel import Look
from gathercli.explain.terminal import picture
from gathercli.explain.terminal.layout import draw
from gathercli.explain.terminal.picture import picture_of

if TYPE_CHECKING:
    from gathercli.explain.panel import Line, Marks, PanelTensor
    from tests.conftest import Run


def test_columns_of_data_that_do_not_fit_above_a_vector_are_left_out() -> None:
    explanation = gathercli.explain("gather", np.full((3, 3), -1.23456e-100 * (1 + 1j)), 0)

    text = picture_of(explanation, Look(80)).plain

    heading, *rows = text.split("\n\n")[2].splitlines()[1:]
    assert heading.split() == ["0"]
    assert all("…" in row and len(row) <= 80 for row in rows)


@pytest.mark.parametrize(("width", "edge"), [(80, 3), (120, 8), (200, 12), (240, 18), (320, 24)])
def test_a_wider_terminal_shows_more_columns_of_a_picture(
    run: Run, width: int, edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    out = run("explain", "gather", "arange:3x500", "2,0", "--color", "never", terminal=(1,)).out

    lines = out.splitlines()
    heading = next(line.split() for line in lines if line.strip().startswith("0 "))
    assert heading[:edge] == [str(n) for n in range(edge)]
    assert len(heading) == 2 * edge
    assert max(map(cell_len, lines)) <= width


def test_a_large_tensor_shows_its_edges_and_what_they_pick(run: Run) -> None:
    ran = run("explain", "gather", "arange:1000x1000", "rand:1000xi64,high=1000")
    assert ran.status == 0
    assert len(ran.out.splitlines()) < 60
    assert "36 of 1 000 000 cells of out shown; --window chooses others\n" in ran.out
    assert "+ read by indices that are not shown" in ran.out
    rows = dict(re.findall(r"(?m)^([A-F]) +\d+ +(\d+)$", ran.out))
    assert len(rows) == 6
    for letter, row in rows.items():
        assert re.search(rf"(?m)^{letter} +{row} +{row}000 ", ran.out)  # where data has it


def test_many_batches_are_left_out_and_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("gather", "arange:9x2", "zeros:9x1xi64", "-a", "1", "-b", "1")
    ran = run("explain", *words)
    assert re.findall(r"batch \d", ran.out) == ["batch 0", "batch 8"]
    assert "2 of 9 cells of out and 2 of 9 batches shown; --window chooses others\n" in ran.out
    monkeypatch.setenv("COLUMNS", "60")
    assert "2 of 9 batches shown; --window\nchooses others\n" in run("explain", *words).out
    monkeypatch.delenv("COLUMNS")
    ran = run("explain", *words, "--window", "3:5")
    assert re.findall(r"batch \d", ran.out) == ["batch 3", "batch 4"]


def test_a_gap_at_the_end_is_marked_too(run: Run) -> None:
    ran = run("explain", "gather", "arange:6x2x3", "0,1", "-a", "1", "--window", "2")
    data = [line[18:] for line in ran.out.split("\n\n")[1].splitlines()]
    assert [line.split("  ")[0].strip() for line in data if "⋮" in line or ",:,:]" in line] == [
        "⋮",
        "[2,:,:]",
        "⋮",
    ]
    words = ("gather", "arange:3x40x5", "zeros:3x2xi64", "-a", "1", "-b", "1")
    ran = run("explain", *words, "--window", "1,:,2")
    (names,) = [line for line in ran.out.splitlines() if "batch 1" in line]
    assert names.split() == ["…", "batch", "1", "…"]


LARGE_CALLS: Final = (
    ("gather", "arange:200x30", "rand:50xi64,high=200"),
    ("gather", "arange:30x200", "rand:50xi64,high=200", "-a", "1"),
    ("gather", "arange:40x30x20", "rand:9xi64,high=40"),
    ("gather", "arange:300x20", "rand:20x30xi64,high=300"),
    ("gather", "arange:20x300", "rand:20x30xi64,high=300", "-a", "1"),
    ("gather", "arange:9x50x30", "rand:9x40xi64,high=50", "-a", "1", "-b", "1"),
    ("gather", "arange:3x40x5x60", "rand:30xi64,high=40", "-a", "1"),
    ("gather-elements", "rand:90x90", "rand:90x90xi64,high=90", "-a", "0"),
    ("gather-elements", "rand:30x30", "rand:30x40xi64,high=30", "-a", "1"),
    ("gather-elements", "arange:40x5x6", "rand:40x5x6xi64,high=40", "-a", "0"),
    ("gather-elements", "arange:40x50x6", "rand:40x50x6xi64,high=6", "-a", "2"),
    ("gather-nd", "arange:40x50x60", "rand:1000x3xi64,high=40"),
    ("gather-nd", "arange:40x50", "rand:30x20x2xi64,high=40"),
    ("gather-nd", "arange:5x40x50", "rand:5x30x2xi64,high=40", "-b", "1"),
    ("gather-nd", "arange:40x50x6", "rand:90x1xi64,high=40"),
    ("gather-tree", "arange:4x2x40", "rand:4x2x40xi64,high=40", "[4,3]", "999"),
)


class Drawn(NamedTuple):
    """A part as it was drawn: its name, its lines, its letters."""

    name: str
    lines: list[str]
    letters: set[str]


def drawn(part: PanelTensor, lines: list[Line]) -> Drawn:
    word = "[A-Z]" if part.name.endswith("_ids") else "[A-Z]+"  # a token has its beams' letters
    letters = {name for cell in part.cells.values() for name in re.findall(word, cell.letter)}
    texts = ["".join(text for text, _ in line).rstrip() for line in lines]
    return Drawn(part.name, texts, letters)


@pytest.mark.parametrize("words", LARGE_CALLS, ids=" ".join)
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_what_a_letter_marks_is_in_the_picture(
    words: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    parts: list[Drawn] = []

    def draw_and_keep(part: PanelTensor, marks: Marks) -> list[Line]:
        lines = draw(part, marks)
        parts.append(drawn(part, lines))
        return lines

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(picture, "draw", draw_and_keep)

    out = run("explain", *words, "-q").out

    in_picture = [part for part in parts if all(line in out for line in part.lines)]
    sources = {"data", "step_ids"}
    marked = set[str]().union(*(each.letters for each in in_picture if each.name in sources))
    letters = set[str]().union(*(each.letters for each in in_picture if each.name not in sources))
    assert letters
    assert letters <= marked, out
