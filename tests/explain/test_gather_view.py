"""The words, the pictures and the JSON of gathers along an axis; a tuple of indices is one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import gathercli
from gathercli.explain import command
from gathercli.explain.panel import Look
from gathercli.explain.terminal.picture import panels_of
from tests.random_calls import Dice, as_passed, every_axis_row, legal_case

if TYPE_CHECKING:
    from gathercli.spec.op import Op
    from tests.conftest import Run


@every_axis_row
@pytest.mark.parametrize("seed", range(5))
def test_the_json_of_a_call_names_where_its_output_is_read(
    op: Op, seed: int, run: Run, folder: Path
) -> None:
    case = legal_case(op, Dice(seed))
    gathercli.save(folder / "d.json", as_passed(case.data, case.data_type), format="oip")
    np.save(folder / "i.npy", case.indices)
    words = ["d.json", "i.npy", "-V", op.id, "-a", str(case.attributes.axis)]
    words += ["-b", str(case.attributes.batch_dims)]
    ran = run("explain", op.family, *words, "-f", "json")
    assert (ran.status, ran.err) == (0, "")
    fields = json.loads(ran.out)
    data = json.loads(run("convert", "d.json", "-", "--to", "oip").out)["outputs"][0]["data"]
    out = json.loads(run(op.family, *words, "-f", "oip").out)["outputs"][0]
    assert fields["output"] == {"shape": out["shape"], "datatype": out["datatype"]}
    flat = np.arange(len(data)).reshape(case.data.shape)
    assert [data[flat[tuple(cell["data"])]] for cell in fields["cells"]] == out["data"]
    assert [cell["value"] for cell in fields["cells"]] == out["data"]
    for cell in fields["cells"]:
        assert case.indices[tuple(cell["indices"])] == cell["index"]
        assert cell["data"][fields["axis"]] == cell["position"]


def test_a_refused_index_is_shown_in_its_place_and_refuses(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,-1,5", "-V", "openvino-1")
    assert ran.status == 65
    assert "indices i64[3]      A 1  ! -1 → refused  ! 5 → refused\n" in ran.out
    assert "out i64[3]          A 20  !    !\n" in ran.out
    assert "  out[1] = data[indices[1]] = data[-1 → none]: refused\n" in ran.out
    assert ran.err.startswith("error: index -1 at `[1]` is outside axis 0 of `data`")
    assert "rule: index-range" in ran.err


def test_a_negative_index_is_refused_where_the_option_says_so(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,-1", "--negative", "error", "-f", "json")
    assert ran.status == 65
    fields = json.loads(ran.out)
    assert fields["refused"].startswith("index -1 at `[1]` is negative")
    assert [cell["fate"] for cell in fields["cells"]] == ["copied", "refused"]
    assert fields["cells"][1]["data"] is None
    assert fields["cells"][1]["value"] is None


def test_a_note_counts_what_was_moved(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,7", "--out-of-range", "clamp")
    assert "A 1  A 7 → 1" in ran.out
    assert "Gather   axis 0   batch_dims 0   --out-of-range clamp" in ran.out
    assert ran.err == "note: 1 of 2 indices outside -2..1, clamped; first 7 at [1]\n"
    assert run("explain", "gather", "[10,20]", "1,7", "-q").err == ""


def test_one_cell_is_traced_as_data(run: Run) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0", "--cell", "1,2", "-f", "json")
    (cell,) = json.loads(ran.out)["cells"]
    assert cell == {
        "out": [1, 2],
        "indices": [1],
        "index": 0,
        "position": 0,
        "data": [0, 2],
        "fate": "copied",
        "value": 2,
    }


FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "openvino" / "gather-nd-8"
ROWS_PICKED: Final = str(FIXTURES / "tuples-pick-rows.json")
PICTURE: Final = """\
GatherND   batch_dims 0   out[i, s] = data[indices[i, 0], indices[i, 1], s]
openvino.GatherND-8   for i in 0..3, s in 0..2

indices i64[4,2]       data i64[2,3,3]       out i64[4,3]
                       [0,:,:]
                              0    1    2           0    1    2
A 0   (1,2)              0    0    1    2    A 0  120  121  122   data[1,2,:]
B 1   (0,1)            B 1   10   11   12    B 1   10   11   12   data[0,1,:]
C 2  (1,-2) → (1,1)      2   20   21   22    C 2  110  111  112   data[1,1,:]
A 3   (1,2)            [1,:,:]               A 3  120  121  122   data[1,2,:]
                              0    1    2
                         0  100  101  102
                       C 1  110  111  112
                       A 2  120  121  122

no letter: not read
the tuple takes the place of coordinates 0 and 1 of data:
  out[2,0] = data[indices[2],0] = data[(1,-2 → 1),0] = 110
  out[3,0] = data[indices[3],0] = data[(1,2),0] = 120

shape  indices[:-1] + data[2:]  =  [4] + [3]  =  [4,3]
read   3 of 6 slices of data
"""
BATCHES: Final = """\
GatherND   batch_dims 2   out[p0*2 + p1, i] = data[p0, p1, indices[p0, p1, i, 0]]
openvino.GatherND-5   for p0 in 0..1, p1 in 0..1, i in 0..0
data i64[2,2,2]   indices i64[2,2,1,1]   out i64[4,1]

batch 0,0 → 0          batch 0,1 → 1          batch 1,0 → 2          batch 1,1 → 3
                 0                      0                      0                      0
indices      A (1)     indices      B (0)     indices      C (0)     indices      D (1)

             0    1                   0  1                   0  1                 0    1
data         0  A 1    data         B 2  3    data         C 4  5    data         6  D 7

               0                      0                      0                      0
out          A 1       out          B 2       out          C 4       out          D 7

A data[0,0,1]   B data[0,1,0]   C data[1,0,0]   D data[1,1,1]   no letter: not read
the tuple takes the place of coordinate 2 of data:
  out[3,0] = data[1,1,indices[1,1,0]] = data[1,1,(1)] = 7

shape  [product(indices[:2])] + indices[2:-1] + data[3:]  =  [4] + [1] + []  =  [4,1]
read   4 of 8 cells of data
"""
FLATTENED: Final = (
    "gather-nd",
    "arange:2x2x2",
    "[[[[1]],[[0]]],[[[0]],[[1]]]]",
    "-b",
    "2",
    "-V",
    "openvino-5",
)
ZEROS: Final = ("gather-nd", "arange:2x3", "[[0,1],[0,3],[1,-1]]", "--out-of-range", "zero")


def test_a_tuple_is_drawn_as_one_index(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "width_of", lambda _: 80)

    ran = run("explain", "--job", ROWS_PICKED)

    assert ran.out.split("\n\n", 1)[1] == PICTURE


def test_batches_that_the_output_joins_are_drawn_apart(run: Run) -> None:
    assert run("explain", *FLATTENED).out == BATCHES


@pytest.mark.parametrize(
    ("window", "panels"),
    [("1:3", ["0,1 → 1", "1,0 → 2"]), ("-1", ["1,1 → 3"]), ("2:", ["1,0 → 2", "1,1 → 3"])],
)
def test_a_window_chooses_among_the_joined_batches(
    run: Run, window: str, panels: list[str]
) -> None:
    ran = run("explain", *FLATTENED, "--window", window)

    assert re.findall(r"batch (\S+ → \d)", ran.out) == panels


def test_one_number_outside_takes_the_whole_tuple(run: Run) -> None:
    out = run("explain", *ZEROS).out

    assert re.search(r"(?m)^· 1   \(0,3\) → none  .*  · 1  0   zeros$", out)
    assert "  out[1] = data[indices[1]] = data[(0,3 → none)] = 0\n" in out


def test_a_refused_number_refuses_its_tuple_in_its_place(run: Run) -> None:
    ran = run("explain", *ZEROS[:3])

    assert ran.status == 65
    assert re.search(r"(?m)^! 1   \(0,3\) → refused  .*  ! 1      refused$", ran.out)
    assert ran.err.startswith("error: index 3 at `[1,1]` is outside axis 1 of `data`")


def test_steps_are_a_line_a_cell(run: Run) -> None:
    lines = run("explain", "--job", ROWS_PICKED, "--step").out.splitlines()

    assert len(lines) == 12
    assert lines[1] == "out[0,1] = data[indices[0],1] = data[(1,2),1] = 121"


def test_a_tuple_and_its_positions_are_lists_in_json(run: Run) -> None:
    cells = json.loads(run("explain", *ZEROS, "-f", "json").out)["cells"]

    copied, filled = cells[2], cells[1]
    assert copied == {
        "out": [2],
        "indices": [2],
        "index": [1, -1],
        "position": [1, 2],
        "data": [1, 2],
        "fate": "copied",
        "value": 5,
    }
    assert (filled["index"], filled["position"], filled["data"]) == ([0, 3], None, None)


def test_python_traces_tuples() -> None:
    explanation = gathercli.explain("gather-nd", np.arange(6).reshape(2, 3), [[1, -1]])

    trace = explanation.cell(0)

    assert (trace.k, trace.position, trace.data, trace.value) == ((1, -1), (1, 2), (1, 2), 5)


def test_only_the_facets_that_tuples_pick_are_shown_of_many(run: Run) -> None:
    tuples = "[[1,2,3],[0,0,0],[4,-1,6]]"

    out = run("explain", "gather-nd", "arange:5x6x7x2", tuples).out

    assert re.findall(r"(?m)^ +\[(\d,\d),:,:\]", out) == ["0,0", "1,2", "4,5"]
    assert out.count("⋮\n") == 2


def test_the_cell_of_a_walk_is_shown_in_its_batch() -> None:
    indices = np.array([[[[1]], [[0]]], [[[0]], [[1]]]])
    explanation = gathercli.explain(
        "gather-nd", np.arange(8).reshape(2, 2, 2), indices, batch_dims=2, version="openvino-5"
    )

    text = panels_of(explanation, Look(80, here=(2, 0))).plain

    names, *lines = text.splitlines()
    shown = [line[names.index("batch 1,0 → 2") :] for line in lines]
    assert text.count("[") == 3
    assert [line for line in shown if "[" in line] == [
        "indices      C[(0)]",
        "data         C[4] 5",
        "out          C[4]",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("gather", "arange:4x3", "3,0,-1", "--cell", "2,1"),
            "out[2,1]   i = 2, s = 1\n"
            "  indices[2] is -1\n"
            "  it counts from the end of axis 0, whose size is 4: -1 + 4 = 3\n"
            "  it takes the place of coordinate 0: data[3,1]\n"
            "  out[2,1] = data[indices[2],1] = data[-1 → 3,1] = 10\n",
        ),
        (
            ("gather", "arange:4x3", "3", "--cell=-1"),
            "out[2]   s = 2\n"
            "  indices is 3\n"
            "  it is a position on axis 0, whose size is 4\n"
            "  it takes the place of coordinate 0: data[3,2]\n"
            "  out[2] = data[indices,2] = data[3,2] = 11\n",
        ),
        (
            ("gather", "[5]", "0", "--cell", "[]", "--ascii"),
            "out\n"
            "  indices is 0\n"
            "  it is a position on axis 0, whose size is 1\n"
            "  it takes the place of coordinate 0: data[0]\n"
            "  out = data[indices] = data[0] = 5\n",
        ),
        (
            ("gather", "[5,6]", "7,", "--cell", "0"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  7 points nowhere on axis 0, whose size is 2: zeros\n"
            "  out[0] = data[indices[0]] = data[7 → none] = 0\n",
        ),
        (
            ("gather", "[5,6]", "7,", "--cell", "0", "--out-of-range", "wrap"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  it is outside axis 0, whose size is 2: wrapped to 1\n"
            "  it takes the place of coordinate 0: data[1]\n"
            "  out[0] = data[indices[0]] = data[7 → 1] = 6\n",
        ),
        (
            ("--job", ROWS_PICKED, "--cell", "2,1"),
            """\
out[2,1]   i = 2, s = 1
  indices[2] is (1,-2)
  1 is a position on axis 0, whose size is 2
  -2 counts from the end of axis 1, whose size is 3: -2 + 3 = 1
  (1,1) takes the place of coordinates 0 and 1: data[1,1,1]
  out[2,1] = data[indices[2],1] = data[(1,-2 → 1),1] = 111
""",
        ),
        (
            (*ZEROS, "--cell", "1"),
            """\
out[1]   i = 1
  indices[1] is (0,3)
  0 is a position on axis 0, whose size is 2
  3 points nowhere on axis 1, whose size is 3: zeros
  out[1] = data[indices[1]] = data[(0,3 → none)] = 0
""",
        ),
        (
            (*FLATTENED, "--cell", "3,0"),
            """\
out[3,0]   p0 = 1, p1 = 1, i = 0
  indices[1,1,0] is (1)
  1 is a position on axis 2, whose size is 2
  (1) takes the place of coordinate 2: data[1,1,1]
  out[3,0] = data[1,1,indices[1,1,0]] = data[1,1,(1)] = 7
""",
        ),
        (
            ("--job", str(FIXTURES / "depth-zero.json"), "--cell", "0,1"),
            """\
out[0,1]   i = 0, s = 1
  indices[0] is ()
  () has no numbers, so it picks all of data: data[1]
  out[0,1] = data[indices[0],1] = data[(),1] = 2
""",
        ),
    ],
    ids=[
        *("negative", "from-the-end", "0-D", "zeros", "wrapped"),
        *("tuple", "tuple-zeros", "batches", "no-numbers"),
    ],
)
def test_a_cell_is_traced_in_words(run: Run, words: tuple[str, ...], expected: str) -> None:
    assert run("explain", *words, "-q") == (0, expected, "")
