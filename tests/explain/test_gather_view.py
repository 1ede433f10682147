"""The words and the JSON of gathers along an axis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import gathercli
from tests.random_calls import (
    Dice,
    as_passed,
    every_axis_row,
    legal_case,
)

if TYPE_CHECKING:
    from pathlib import Path

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
    assert "a 0   1              a 0  20   data[1]\n" in ran.out
    assert "a 1  20        ! 1  -1 → refused    ! 1       refused\n" in ran.out
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
    assert "a 1  7 → 1" in ran.out
    assert "openvino.Gather-8   axis 0   batch_dims 0   --out-of-range clamp" in ran.out
    assert ran.err == "note: 1 of 2 indices outside -2..1, clamped; first 7 at [1]\n"
    assert run("explain", "gather", "[10,20]", "1,7", "-q").err == ""


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
            ("gather", "[5,6]", "7,", "--cell", "0", "-q"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  7 points nowhere on axis 0, whose size is 2: zeros\n"
            "  out[0] = data[indices[0]] = data[7 → none] = 0\n",
        ),
        (
            ("gather", "[5,6]", "7,", "--cell", "0", "-q", "--out-of-range", "wrap"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  it is outside axis 0, whose size is 2: wrapped to 1\n"
            "  it takes the place of coordinate 0: data[1]\n"
            "  out[0] = data[indices[0]] = data[7 → 1] = 6\n",
        ),
    ],
    ids=["negative", "from-the-end", "0-D", "zeros", "wrapped"],
)
def test_a_cell_is_traced_in_words(run: Run, words: tuple[str, ...], expected: str) -> None:
    assert run("explain", *words) == (0, expected, "")


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
