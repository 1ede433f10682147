"""The options of `explain`: cells, steps, windows, jobs, files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_shapes_that_are_refused_are_not_drawn(run: Run) -> None:
    ran = run("explain", "gather", "[1,2]", "0", "-a", "3")
    assert (ran.status, ran.out) == (65, "")
    assert "rule: axis-range" in ran.err


def test_an_output_of_too_many_dimensions_is_refused(run: Run) -> None:
    ones = "x".join(["1"] * 40)
    ran = run("explain", "gather", f"zeros:{ones}", f"zeros:{ones}xi64")
    assert (ran.status, ran.out) == (65, "")
    assert "has rank 79: expected at most 64" in ran.err


@pytest.mark.parametrize("cell", ["1", "1,2,3", "3,0", "0,-4", "a", "0,"])
def test_a_cell_outside_the_output_is_a_usage_error(run: Run, cell: str) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0,1", f"--cell={cell}")
    assert (ran.status, ran.out) == (2, "")
    assert f"cell [{cell}]: " in ran.err or f"`--cell` is `{cell}`" in ran.err
    assert run("explain", "gather", "[1]", "0", f"--cell={cell}", "-f", "json").out == ""


def test_without_a_terminal_steps_are_a_line_a_cell(run: Run) -> None:
    ran = run("explain", "gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-V", "onnx-13", "--step")
    assert ran.out == (
        "out[0,0] = data[indices[0,0],0] = data[0,0] = 1\n"
        "out[0,1] = data[indices[0,1],1] = data[1,1] = 4\n"
    )


def test_an_output_of_no_cells_has_no_steps(run: Run) -> None:
    ran = run("explain", "gather", "[1]", "[]", "--step")
    assert ran == (0, "the output [0] has no cells\n", "")


def test_a_picture_is_kept_as_text_svg_or_html(run: Run, folder: Path) -> None:
    words = ("gather", '["<&>","b"]', "0,-2,9", "-q")
    shown = run("explain", *words, "--save", "p.txt").out
    assert (folder / "p.txt").read_text(encoding="utf-8") == shown
    assert run("explain", *words, "--save", "p.svg", terminal=(2,)).err == ""  # -q
    root = ET.parse(folder / "p.svg").getroot()  # noqa: S314  (our own)
    words_of = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
    assert {'"<&>"', "-2 → 0", "9 → none", "out[i] = data[indices[i]]"} <= {*words_of}
    run("explain", *words, "--save", "p.html")
    page = (folder / "p.html").read_text(encoding="utf-8")
    assert "&quot;&lt;&amp;&gt;&quot;" in page
    for kept in (page, (folder / "p.svg").read_text(encoding="utf-8")):
        assert "prefers-color-scheme:dark" in kept
        assert set(re.findall(r"https?://[^\"]+", kept)) <= {"http://www.w3.org/2000/svg"}


def test_a_kept_picture_is_named_to_a_person_alone(run: Run) -> None:
    words = ("explain", "gather", "[1,2]", "0", "--save", "p.svg")
    assert run(*words, terminal=(2,)).err == "wrote p.svg\n"
    assert run(*words).err == ""


def test_a_picture_is_kept_in_every_file_that_is_named(run: Run, folder: Path) -> None:
    words = ("explain", "gather", "[1,2]", "0")
    run(*words, "--save", "one.svg")
    run(*words, "--save", "one.txt")

    ran = run(*words, "--save", "p.svg", "--save", "q.svg", "--save", "p.txt", terminal=(2,))

    assert (ran.status, ran.err) == (0, "wrote p.svg\nwrote q.svg\nwrote p.txt\n")
    svg = (folder / "one.svg").read_bytes()
    assert (folder / "p.svg").read_bytes() == (folder / "q.svg").read_bytes() == svg
    assert (folder / "p.txt").read_bytes() == (folder / "one.txt").read_bytes()


def test_no_picture_is_kept_where_one_of_them_cannot_be(run: Run, folder: Path) -> None:
    (folder / "old.svg").write_text("old")
    words = ("explain", "gather", "[1,2]", "0", "--save", "new.svg", "--no-clobber")

    clobbers = run(*words, "--save", "old.svg")
    unknown = run(*words, "--save", "p.gif")
    twice = run(*words, "--save", "./new.svg")
    same = run(*words, "--save", "new.svg")

    assert [ran.status for ran in (clobbers, unknown, twice, same)] == [73, 2, 2, 2]
    assert twice.err == (
        "error: `--save` names `new.svg` and `./new.svg`, which are one file: "
        "expected different files\n"
    )
    assert [path.name for path in folder.iterdir()] == ["old.svg"]


def test_a_picture_of_no_known_format_is_a_usage_error(run: Run, folder: Path) -> None:
    ran = run("explain", "gather", "[1,2]", "0", "--save", "p.gif")
    assert (ran.status, ran.out) == (2, "")
    assert "expected .svg, .png, .pdf, .html or .txt" in ran.err
    (folder / "p.svg").write_text("old")
    ran = run("explain", "gather", "[1,2]", "0", "--save", "p.svg", "--no-clobber")
    assert (ran.status, (folder / "p.svg").read_text()) == (73, "old")


def test_standard_input_is_explained(run: Run) -> None:
    ran = run("explain", "gather", "-", "1", "--cell", "[]", stdin=b"[5,6]")
    assert ran.out.endswith("out = data[indices] = data[1] = 6\n")


@pytest.mark.parametrize("text", ["1,0", "[1,0]", "(1,0)", "(1, 0)", "out[1,0]", " out[1, 0] "])
def test_a_cell_is_read_as_screens_and_python_write_it(text: str, run: Run) -> None:
    ran = run("explain", "gather", "arange:2x2", "0,1", "--cell", text)

    assert ran.status == 0
    assert ran.out.startswith("out[1,0]")
