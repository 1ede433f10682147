"""Verdicts of versions as text and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from gathercli.ops import FAMILIES
from gathercli.slices import place
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from tests.conftest import Run

ADVISED = pytest.mark.skipif(not place("advice", "warnings"), reason="no slice gives warnings")


def test_a_version_that_fills_and_those_that_refuse(run: Run) -> None:
    verdicts = {OutOfRange.ZERO: "2 zero-filled", OutOfRange.ERROR: "index-range refuses 2"}

    assert run("check", "gather", "1.5,2,3,4,5", "3,10,-20") == (
        1,
        "openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]\n"
        "data f64[5]   indices i64[3]   out f64[3]\n"
        "shape  data[:0] + indices[0:] + data[1:]  =  [] + [3] + []  =  [3]\n"
        "\n"
        "2 of 3 indices outside -5..4\n"
        "at   index\n"
        "[1]     10  zero-filled\n"
        "[2]    -20  zero-filled\n"
        "\n"
        "version            verdict\n"
        + "".join(
            f"{op!s:<17}  {verdicts[op.out_of_range]}, first 10 at [1]\n"
            for op in FAMILIES["gather"].ROWS
        ),
        "",
    )


@ADVISED
def test_every_number_of_a_tuple_has_its_own_axis_and_range(run: Run) -> None:
    words = ["check", "gather-nd", "arange:3x4", "[[0,1],[3,-5]]"]
    names = [f"openvino.GatherND-{n}" for n in (8, 5)]
    names += [f"onnx.GatherND-{n}" for n in (13, 12, 11)]

    assert run(*words) == (
        1,
        "openvino.GatherND-8   batch_dims 0   out[i] = data[indices[i, 0], indices[i, 1]]\n"
        "data i64[3,4]   indices i64[2,2]   out i64[2]\n"
        "shape  indices[:-1] + data[2:]  =  [2] + []  =  [2]\n"
        "\n"
        "2 of 4 indices outside -3..2 or outside -4..3\n"
        "at     index  axis  legal\n"
        "[1,0]      3     0  -3..2  refused\n"
        "[1,1]     -5     1  -4..3  refused\n"
        "\n"
        "version              verdict\n"
        + "".join(f"{each:<19}  index-range refuses 2, first 3 at [1,0]\n" for each in names)
        + "\n"
        "warning: OpenVINO 2026.4.1 on the CPU checks no bounds in GatherND: a negative index "
        "counts from the end, and one outside reads another row or foreign memory\n",
        "",
    )
    shown = json.loads(run(*words, "-f", "json").out)["illegal"]["shown"]
    assert shown == [
        {"at": [1, 0], "index": 3, "does": "refused", "axis": 0, "legal": [-3, 2]},
        {"at": [1, 1], "index": -5, "does": "refused", "axis": 1, "legal": [-4, 3]},
    ]


@ADVISED
def test_the_parents_that_beams_use_are_checked(run: Run) -> None:
    words = ["check", "gather-tree", "[[[1,2]],[[3,4]]]", "[[[7,7]],[[0,5]]]"]

    assert run(*words, "[2]", "9") == (
        1,
        "openvino.GatherTree-1   out[t, b, w] = step_ids[t, b, beam(t)], "
        "beam(t-1) = parent_ids[t, b, beam(t)]\n"
        "step_ids i64[2,1,2]   parent_ids i64[2,1,2]   max_seq_len i64[1]   end_token i64[]   "
        "out i64[2,1,2]\n"
        "shape  step_ids[0:]  =  [2,1,2]\n"
        "\n"
        "1 of 2 indices outside 0..1\n"
        "at       index\n"
        "[1,0,1]      5  refused\n"
        "\n"
        "version                verdict\n"
        "openvino.GatherTree-1  index-range refuses 1, first 5 at [1,0,1]\n"
        "\n"
        "warning: OpenVINO 2026.4.1 on the CPU refuses such a parent too, but with "
        "INFERENCE_NUM_THREADS 1 it returns an unfinished result\n",
        "",
    )
    assert "\nno indices\n" in run(*words, "[1]", "9").out


def test_values_that_are_no_integers_are_refused_beside_the_verdict(run: Run) -> None:
    words = ["[[[1.0]],[[1.0]]]", "[[[0.0]],[[0.5]]]", "[2.0]", "9.0"]

    ran = run("check", "gather-tree", *words)

    assert ran.status == 65
    assert ran.out.endswith("openvino.GatherTree-1  integer-values refuses\n")
    assert "`parent_ids` is 0.5 at `[1,0,0]`" in ran.err
    assert ran.err.splitlines()[-1] == "rule: integer-values"


def test_a_call_that_every_version_accepts(run: Run) -> None:
    assert run("check", "gather-elements", "[[1.5,2],[3,4]]", "[[0,1],[1,0]]", "-a", "1") == (
        0,
        "openvino.GatherElements-6   axis 1   out[i, j] = data[i, indices[i, j]]\n"
        "data f64[2,2]   indices i64[2,2]   out f64[2,2]\n"
        "shape  indices[0:]  =  [2,2]\n"
        "\n"
        "all 4 in 0..1\n"
        "\n"
        "version                    verdict\n"
        "openvino.GatherElements-6  fine\n"
        "onnx.GatherElements-13     fine\n"
        "onnx.GatherElements-11     fine\n",
        "",
    )


@ADVISED
def test_a_rule_of_shapes_refuses_and_the_verdicts_of_the_others_are_told(run: Run) -> None:
    ran = run("check", "gather-elements", "arange:2x3", "[[0,-1]]")
    assert ran.status == 65
    assert ran.out == (
        "openvino.GatherElements-6   data i64[2,3]   indices i64[1,2]\n"
        "\n"
        "version                    verdict\n"
        "openvino.GatherElements-6  axis-required refuses\n"
        "onnx.GatherElements-13     fine\n"
        "onnx.GatherElements-11     fine\n"
        "\n"
        'warning: 1 index is -1 and no other is negative: -1 may be meant as "none"\n'
        "warning: dimension 1 of `indices` is 2, smaller than 3 in `data`: only onnx-13 and "
        "onnx-11 may take that, openvino-6 not\n"
    )
    assert ran.err == run("gather-elements", "arange:2x3", "[[0,-1]]").err


def test_json_has_everything(run: Run) -> None:
    ran = run("check", "gather", "[[1.5,2]]", "[[0,7]]", "-V", "onnx-1", "-a", "-1", "-f", "json")
    assert ran.status == 1
    found = json.loads(ran.out)
    verdicts = found.pop("verdicts")
    assert found == {
        "operator": "onnx.Gather-1",
        "axis": 1,
        "batch_dims": 0,
        "data": {"shape": [1, 2], "datatype": "FP64"},
        "indices": {"shape": [1, 2], "datatype": "INT64"},
        "output": {"shape": [1, 1, 2], "datatype": "FP64"},
        "legal": [0, 1],
        "total": 2,
        "illegal": {"count": 1, "shown": [{"at": [0, 1], "index": 7, "does": "refused"}]},
        "warnings": [],
    }
    assert [each["version"] for each in verdicts] == [str(op) for op in FAMILIES["gather"].ROWS]
    assert verdicts[0] == {
        "version": "openvino.Gather-8",
        "verdict": "fills",
        "rule": None,
        "count": 1,
        "at": [0, 1],
        "index": 7,
        "message": "1 of 2 indices outside -2..1, zero-filled; first 7 at [0,1]",
    }
    assert verdicts[-1] == {
        "version": "onnx.Gather-1",
        "verdict": "refuses",
        "rule": "index-range",
        "count": 1,
        "at": [0, 1],
        "index": 7,
        "message": "index 7 at `[0,1]` is outside axis -1 of `data`, whose size is 2: "
        "expected 0 to 1 (1 of 2 indices)",
    }


def test_a_refused_call_in_json_has_no_illegal_indices(run: Run) -> None:
    ran = run("check", "gather", "[1]", "[0]", "-b", "1", "-V", "onnx-13", "-f", "json")
    found = json.loads(ran.out)
    assert (ran.status, found["illegal"], found["legal"], found["output"]) == (65, None, None, None)
    rules = {each["version"]: each["rule"] for each in found["verdicts"]}
    assert rules["onnx.Gather-13"] == "batch-dims-unsupported"
    assert rules["openvino.Gather-8"] == "batch-dims-axis"


def test_twenty_are_listed_and_the_rest_counted_unless_all_are_wanted(run: Run) -> None:
    ran = run("check", "gather", "[1,2]", "arange:1027", "-V", "onnx-13")
    assert "\n1 025 of 1 027 indices outside -2..1\nat      index\n[2]         2  refu" in ran.out
    assert "\n[21]       21  refused\n1 005 more; --all lists them\n\n" in ran.out
    whole = run("check", "gather", "[1,2]", "arange:1027", "-V", "onnx-13", "--all")
    assert "\n[2]         2  refused\n" in whole.out
    assert "\n[1026]   1026  refused\n\nversion" in whole.out
    assert "more" not in whole.out
    found = run("check", "gather", "[1,2]", "arange:1027", "-f", "json", "--all").out
    assert len(json.loads(found)["illegal"]["shown"]) == 1025
    found = run("check", "gather", "[1,2]", "arange:1027", "-f", "json").out
    assert len(json.loads(found)["illegal"]["shown"]) == 20


@ADVISED
def test_a_narrow_terminal_wraps_reasons_below_themselves(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ["check", "gather-elements", "arange:2x3", "[[0,-1]]", "-V", "onnx-13"]
    ran = run(*words, "--color", "never", "-q", terminal=(1,))
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    assert "\naxis-required  the version requires an axis and none was given: expected" in ran.out
    assert "\n         and onnx-11 may take that, openvino-6 not\n" in ran.out
    assert "\n         and onnx-11 may take that, openvino-6 not" in ran.out


def test_colour_changes_no_character(run: Run) -> None:
    plain = run("check", "gather", "1,2,3", "1,-1,9")
    colored = run("check", "gather", "1,2,3", "1,-1,9", "--color", "always")
    assert "\x1b[" in colored.out
    assert re.sub(r"\x1b\[[\d;]*m", "", colored.out) == plain.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["[1,2]", "[]"], "no indices"),
        (["[1,2]", "1"], "the index is in -2..1"),
        (["zeros:0", "[5,6]"], "2 of 2 indices on an empty axis"),
        (["[1,2]", "-7"], "1 of 1 index outside -2..1"),
        (["[1,2]", "[-1]", "--negative", "error"], "1 of 1 index outside 0..1"),
    ],
)
def test_what_is_said_of_few_indices(words: list[str], line: str, run: Run) -> None:
    assert f"\n\n{line}\n" in run("check", "gather", *words).out


def test_bad_words_reach_the_terminal_escaped(run: Run) -> None:
    ran = run("check", "gather", "[1.5]", "[0]", "-a", "x\x1b[2J")
    assert ran.status == 65
    assert "\x1b" not in ran.out
    assert "axis-type" in ran.out
