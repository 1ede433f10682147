"""Every decision names versions that exist, and the program does what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

import gathercli
from gathercli.ops import OPERATORS
from gathercli.spec.decisions import concerning, every_decision
from gathercli.spec.op import OutOfRange
from tests.conftest import Ran

Run = Callable[..., Ran]

BY_ID: Final = {each.id: each for each in every_decision()}
NAMES: Final = {op.full_name for op in OPERATORS}

# id -> calls, with the version that each row of the decision puts for V, and what they come to:
# the answer, or the rule that refuses
SHOWN: Final[dict[str, list[tuple[str, str]]]] = {
    "gather-8-range": [("gather [1,2,3,4,5] [3,10,-20] -V V -q", "[4,0,0]")],
    "unsigned-negative": [
        ("gather [1,2,3] -1 -V V", "index-range"),
        ("gather [1,2,3] -1,7,-4 -V V --negative wrap --out-of-range zero -q", "[3,0,0]"),
    ],
    "opset-1-negative": [
        ("gather [1,2,3] -1 -V V", "index-range"),
        ("gather [1,2,3] -1 -V V --negative wrap -q", "3"),
    ],
    "error-is-refusal": [("COMMAND [1,2,3] [0,3] -V V", "index-range")],
    "empty-output": [("gather zeros:2x0 [2] -V V", "index-range")],
    "batch-dims-lowest": [
        ("shape gather 5 2x3x4 -b -3 -V V", "[2,3,4]"),
        ("shape gather 5 2x3x4 -b -4 -V V", "batch-dims-range"),
        ("shape gather 5 2x3x4 -b -2 -V V", "batch-dims-axis"),
    ],
    "batch-dims-equal": [("shape gather 2x3 1x3 -a 1 -b 1 -V V", "batch-shape")],
    "gathered-axis": [("shape gather 2x3x4 2x7 -a 2 -b 1 -V V", "[2,3,7]")],
    "axis-from-zero": [("shape gather 6x12x10x24 15x4x20x28 -a 1 -V V", "[6,15,4,20,28,10,24]")],
    "axis-in-formula": [("shape gather 6x12x10x24 15 -a -1 -V V", "[6,12,10,15]")],
    "axis-default": [("gather [[1,2],[3,4]] 1 -V V", "[3,4]")],
    "data-rank": [("gather 5 0 -V V", "data-rank")],
    "gather-1-types": [
        ("gather [1,2,3] xi8=2 -V V", "3"),
        ("gather [1,2,3] xu16=2 -V V", "3"),
        ("gather [1,2,3] xf32=2 -V V", "indices-dtype"),
    ],
    "elements-axis": [
        ("gather-elements [1,2] 0, -V V", "axis-required"),
        ("gather-elements [1,2] 0, -V V -a 0", "[1]"),
    ],
    "elements-negative": [
        ("gather-elements [1,2] -1, -V V -a 0", "index-range"),
        ("gather-elements [1,2] -1, -V V -a 0 --negative wrap -q", "[2]"),
    ],
    "elements-equal": [
        ("shape gather-elements 3x3 2x3 -V V -a 0", "[2,3]"),
        ("shape gather-elements 3x3 2x3 -V V -a 1", "elements-shape"),
    ],
    "elements-at-most": [
        ("gather-elements arange:2x3 [[2]] -V V -a 1", "[[2]]"),
        ("shape gather-elements 2x3 3x1 -V V -a 1", "elements-shape"),
    ],
    "onnx-axis-default": [("gather [[1,2],[3,4]] 1 -V V", "[3,4]")],
    "onnx-equation": [("gather arange:2x3x2 [2,0] -a 1 -V V", "[[[4,5],[0,1]],[[10,11],[6,7]]]")],
    "not-tensorflow": [
        ("gather [1,2,3] 3 -V V -q", "0"),
        ("gather arange:2x3 [0,1] -a 0 -b 1 -V V", "batch-dims-axis"),
    ],
    "nd-outside": [("gather-nd [1,2,3] [[3]] -V V", "index-range")],
    "nd-5-negative": [
        ("gather-nd [1,2,3] [[-1]] -V V", "index-range"),
        ("gather-nd [1,2,3] [[-1]] -V V --negative wrap -q", "[3]"),
    ],
    "nd-8-negative": [
        ("gather-nd [1,2,3] [[-1]] -V V", "[3]"),
        ("gather-nd [1,2,3] [[-1]] -V V --negative error", "index-negative"),
    ],
    "nd-empty-output": [("gather-nd zeros:2x0 [[2]] -V V", "index-range")],
    "nd-5-flattened-shape": [("shape gather-nd 2x3x4 2x3x1x1 -b 2 -V V", "[6,1]")],
    "nd-batch-dims-equal": [
        ("shape gather-nd 1x3 2x1 -b 1 -V V", "batch-shape"),
        ("shape gather-nd 2x3 1x1 -b 1 -V V", "batch-shape"),
    ],
    "nd-batch-dims-lowest": [("shape gather-nd 2x3 2x1 -b -1 -V V", "batch-dims-range")],
    "nd-first-axis": [("gather-nd [[1,2],[3,4]] [[1],[0]] -b 1 -V V", "[2,3]")],
    "nd-bounds": [
        ("gather-nd [[1,2,3],[4,5,6]] [[2],[0]] -b 1 -V V", "[3,4]"),
        ("gather-nd [[1],[2],[3]] [[0],[2],[0]] -b 1 -V V", "index-range"),
    ],
    "nd-depth": [
        ("shape gather-nd 2x3 2x2 -V V", "[2]"),
        ("shape gather-nd 2x3 2x2 -b 1 -V V", "indices-depth"),
    ],
    "nd-empty-tuple": [
        ("gather-nd [1,2] zeros:2x0xi64 -V V", "[[1,2],[1,2]]"),
        ("shape gather-nd 2x3 2x0 -b 1 -V V", "[2,3]"),
    ],
    "nd-rank": [("shape gather-nd 2x2x2 2x1 -b 1 -V V", "[2,2]")],
    "nd-5-layer": [
        ("shape gather-nd 1000x256x10x15 25x125x3 -V V", "[25,125,15]"),
        ("shape gather-nd 30x2x100x35 30x2x3x1 -b 2 -V V", "[60,3,35]"),
    ],
    "tree-length": [
        (f"gather-tree [[[1,2]]] [[[0,0]]] [{length}] 9 -V V", "[[[9,9]]]") for length in (0, -3)
    ],
    "tree-parents": [
        ("gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[2,0]]] [2] 9 -V V", "index-range"),
        ("gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[-1,0]]] [2] 9 -V V", "index-range"),
        ("gather-tree [[[1,2]],[[3,4]]] [[[0,0]],[[5,5]]] [1] 9 -V V", "[[[1,2]],[[9,9]]]"),
        (
            "gather-tree [[[1,2]],[[3,4]],[[5,6]]] [[[7,-5]],[[1,7]],[[0,0]]] [3] 9 -V V",
            "[[[2,2]],[[3,3]],[[5,6]]]",
        ),
    ],
    "tree-integers": [
        ("gather-tree 1x1x2xf32=1,2 1x1x2xf32=0 1xf32=1 xf32=9 -V V", "[[[1.0,2.0]]]"),
        ("gather-tree 1x1x2xf32=1,2 1x1x2xf32=0,0.5 1xf32=1 xf32=9 -V V", "integer-values"),
        ("gather-tree 1x1x2xf32=1,nan 1x1x2xf32=0 1xf32=1 xf32=9 -V V", "integer-values"),
    ],
    "tree-types": [
        ("gather-tree 1x1x1xi32=1 1x1x1xi64=0 1xi32=1 xi32=9 -V V", "tree-dtype"),
        ("gather-tree 1x1x1xbool=true 1x1x1xbool=false 1xbool=true xbool=true -V V", "tree-dtype"),
    ],
    "tree-not-tensorflow": [("gather-tree [[[1,2]]] [[[7,-5]]] [1] 9 -V V", "[[[1,2]]]")],
}


@pytest.mark.parametrize("id_", BY_ID)
def test_a_decision_names_versions_that_exist(id_: str) -> None:
    rows = BY_ID[id_].rows
    assert rows
    assert set(rows) <= NAMES


def test_every_decision_has_its_own_name_and_every_version_rests_on_one() -> None:
    assert len(BY_ID) == len(every_decision())
    assert [op.full_name for op in OPERATORS if not concerning(op)] == []


REFUSING: Final = {op.full_name for op in OPERATORS if op.out_of_range is OutOfRange.ERROR}
BATCHED: Final = {op.full_name for op in OPERATORS if op.has_batch_dims}


@pytest.mark.parametrize(
    ("ids", "names", "versions"),
    [
        (["batch-dims-lowest", "batch-dims-equal", "gathered-axis"], "openvino.Gather-", BATCHED),
        (["nd-batch-dims-lowest", "nd-bounds", "nd-rank"], "onnx.GatherND-", BATCHED),
        (["nd-first-axis"], "GatherND-", BATCHED),
        (["unsigned-negative"], "openvino.Gather-", REFUSING),
        (["empty-output"], ".Gather-", REFUSING),
    ],
)
def test_a_decision_is_for_each_version_that_has_the_question(
    ids: list[str], names: str, versions: set[str]
) -> None:
    rows = {each.id: set(each.rows) for each in every_decision()}

    for id_ in ids:
        assert rows[id_] == {name for name in versions if names in name}


def test_every_decision_is_shown_by_a_call() -> None:
    assert {*SHOWN, "axis-one-element"} == set(BY_ID)


def calls() -> list[tuple[str, str, str]]:
    commands = {op.full_name: op.family for op in OPERATORS}
    return [
        (id_, line.replace("COMMAND", commands.get(row, "")).replace("-V V", f"-V {row}"), comes_to)
        for id_, lines in SHOWN.items()
        for line, comes_to in lines
        for row in BY_ID[id_].rows
    ]


@pytest.mark.parametrize(("id_", "line", "comes_to"), calls())
def test_the_program_does_what_was_decided(id_: str, line: str, comes_to: str, run: Run) -> None:
    ran = run(*line.split(), "--json-errors")
    if ran.status:
        assert (ran.status, json.loads(ran.err)["rule"]) == (65, comes_to), id_
    else:
        assert (ran.out, ran.err) == (f"{comes_to}\n", ""), id_


@pytest.mark.parametrize("row", BY_ID["axis-one-element"].rows)
@pytest.mark.parametrize("axis", [[0, 0], [[0]], []])
def test_an_axis_is_one_element_of_a_scalar_or_a_list(row: str, axis: Any) -> None:
    assert gathercli.gather([1, 2], 1, axis=[0], version=row) == 2
    with pytest.raises(gathercli.GatherError) as refused:
        gathercli.gather([1, 2], 1, axis=axis, version=row)
    assert refused.value.rule == "axis-type"


def test_decisions_are_written_one_below_the_other(run: Run) -> None:
    out = run("ops", "--decisions").out
    assert [part.split("\n")[0] for part in out.split("\n\n")] == list(BY_ID)
    assert out.startswith(
        """\
gather-8-range
  versions  openvino.Gather-8
  question  Indices are said to lie in [-s, s-1], and indices outside are said to give zeros.
  choice    Every integer is taken. Those in [-s, s-1] address data, all others give zeros, \
-s-1 as well as s.
"""
    )


def test_decisions_in_json_have_every_field(run: Run) -> None:
    listing = json.loads(run("ops", "--decisions", "-f", "json").out)
    assert listing == [{**each._asdict(), "rows": list(each.rows)} for each in every_decision()]
