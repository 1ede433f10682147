"""The options of `explain`: cells, steps, windows, jobs, files."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any, Final

import numpy as np
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


def test_a_window_chooses_what_is_shown(run: Run) -> None:
    ran = run("explain", "gather", "arange:100x100", "7,9,-1", "--window", "1:,40:42")
    assert ran.status == 0
    table = ran.out.split("\n\n")[1]
    assert table == (
        "data i64[100,100]         indices i64[3]    out i64[3,100]\n"
        "           40    41                                   40    41\n"
        "   0  …    40    41  …      ⋮                 ⋮\n"
        "   ⋮                      a 1   9           a 1  …   940   941  …   data[9,:]\n"
        "a  9  …   940   941  …    b 2  -1 → 99      b 2  …  9940  9941  …   data[99,:]\n"
        "   ⋮\n"
        "b 99  …  9940  9941  …"
    )
    assert "4 of 300 cells of out shown\n" in ran.out
    cells = json.loads(
        run("explain", "gather", "arange:100x100", "7,9", "--window", "-1,:2", "-f", "json").out
    )["cells"]
    assert [cell["out"] for cell in cells] == [[1, 0], [1, 1]]


def test_a_window_that_is_too_wide_keeps_the_ends_of_the_axis(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    out = run("explain", "gather", "arange:40x40", "3,9,-1", "--window", "0:3,:").out

    table = out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table[2:9]] == ["0", "⋮", "a", "⋮", "b", "⋮", "c"]


@pytest.mark.parametrize("window", ["", "a", "1:2:3", "1 2", "0:1,0:1,0:1"])
def test_an_unreadable_window_is_a_usage_error(run: Run, window: str) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0,1", f"--window={window}")
    assert (ran.status, ran.out) == (2, "")
    assert "`--window`" in ran.err


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


JOBS: Final = (
    '{"id":"a","op":"gather","data":[1,2,3],"indices":[-1],"version":"onnx-13"}\n'
    '{"id":"b","op":"gather-elements","data":"d.npy","indices":[[0,1]],"axis":0,'
    '"version":"onnx-13"}\n'
    '{"id":"s","op":"shape","of":"gather","data":"[2]","indices":"[3]"}\n'
)


def test_a_job_is_explained(run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "jobs.jsonl").write_text(JOBS)
    np.save(folder / "sub" / "d.npy", np.array([[1, 2], [3, 4]]))
    ran = run("explain", "--job", "sub/jobs.jsonl#b", "--step")
    assert ran.out.endswith("out[0,1] = data[indices[0,1],1] = data[1,1] = 4\n")
    assert run("explain", "--job", "sub/jobs.jsonl#a").out.startswith("onnx.Gather-13   axis 0")
    (folder / "a#b").mkdir()
    (folder / "a#b" / "j.jsonl").write_text(JOBS.replace('"id":"a"', '"id":"x#1"'))
    assert run("explain", "--job", "a#b/j.jsonl#x#1").out.startswith("onnx.Gather-13   axis 0")
    titled = '{"id":"t","title":"A\\u001b[31m","source":"B","op":"gather","data":[1],"indices":0}'
    (folder / "t.json").write_text(titled)
    assert run("explain", "--job", "t.json").out.startswith("A\\x1b[31m\nB\n\nopenvino.Gather-8")
    fields = json.loads(run("explain", "--job", "t.json", "-f", "json").out)
    assert (fields["title"], fields["source"]) == ("A\x1b[31m", "B")
    one = folder / "one.json"
    one.write_text(JOBS.splitlines()[0])
    assert run("explain", "--job", "one.json").status == 0


@pytest.mark.parametrize(
    "token", ["jobs.jsonl:2", "./jobs.jsonl:2", "jobs.jsonl#jobs.jsonl:2", "jobs.json[1]"]
)
def test_a_job_without_an_id_is_explained_by_where_it_stands(
    token: str, run: Run, folder: Path
) -> None:
    call: dict[str, Any] = {"op": "gather", "indices": 0, "axis": 0}
    listed = [call | {"data": [number], "title": f"Number {number}."} for number in range(3)]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in listed))
    (folder / "jobs.json").write_text(json.dumps(listed))

    ran = run("explain", "--job", token)

    assert ran.status == 0
    assert ran.out.startswith("Number 1.\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--job", "j.jsonl"), 2, "has 3 jobs: expected one of a, b and s"),
        (("--job", "j.jsonl#c"), 2, "has no job `c`"),
        (("--job", "j.jsonl:1"), 2, "has no job `j.jsonl:1`: expected one of a, b and s"),
        (("--job", "none.jsonl:1"), 66, "`none.jsonl` cannot be read"),
        (("--job", "j.jsonl#s"), 65, "infers a shape, which has no cells"),
        (("--job", "none.jsonl#a"), 66, "no such file"),
        (("--job", "j.jsonl#a", "-a", "1"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0", "--job", "j.jsonl#a"), 2, "`--job` names the whole call"),
        (("--job", "j.jsonl", "a b"), 2, "did you mean `--job 'j.jsonl#a b'`?"),
        (("gather", "[1]"), 2, "`INDICES` is missing"),
        ((), 2, "`OP` is missing"),
        (("gather", "[1]", "0", "--step", "--cell", "[]"), 2, "exclude each other"),
        (("gather", "[1]", "0", "--step", "-f", "json"), 2, "`--step` and `-f json` exclude"),
        (("gather", "[1]", "0", "--step", "--save", "p.svg"), 2, "`--step` and `--save` exclude"),
        (("--job", "j.jsonl#a", "--data-dtype", "f64"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0,", "--window", "5:6"), 2, "chooses nothing of dimension 0"),
        (("gather", "arange:200x200", "0", "--window", ":"), 0, ""),
        (("gather", "arange:200x200", "zeros:200xi64", "--window", ":,:"), 2, "40 000 cells"),
        (
            ("gather", "zeros:500x2", "zeros:500x1xi8", "-a", "1", "-b", "1", "--window", ":"),
            2,
            "500 batches",
        ),
        (("gater", "[1]", "0"), 2, "did you mean `gathercli explain gather '[1]' 0`?"),
        (("gather", "-", "-"), 2, "used twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_contradictory_options_are_refused(
    run: Run, folder: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (folder / "j.jsonl").write_text(JOBS)
    ran = run("explain", *words)
    assert (ran.status, bool(ran.out)) == (status, not status)
    assert said in ran.err


def test_standard_input_is_explained(run: Run) -> None:
    ran = run("explain", "gather", "-", "1", "--cell", "[]", stdin=b"[5,6]")
    assert ran.out.endswith("out = data[indices] = data[1] = 6\n")


@pytest.mark.parametrize("text", ["1,0", "[1,0]", "(1,0)", "(1, 0)", "out[1,0]", " out[1, 0] "])
def test_a_cell_is_read_as_screens_and_python_write_it(text: str, run: Run) -> None:
    ran = run("explain", "gather", "arange:2x2", "0,1", "--cell", text)

    assert ran.status == 0
    assert ran.out.startswith("out[1,0]")
