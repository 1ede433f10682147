"""`check`: illegal indices, the verdict of every version, warnings, the status."""

from __future__ import annotations

import itertools
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute import check
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.op import OutOfRange
from gathercli.text import listed
from tests import oracle, oracle_nd
from tests.io.test_stream import anonymous, runs_with

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run


every_row = pytest.mark.parametrize("op", OPERATORS, ids=str)


def warned(ran: Ran) -> dict[str, str]:
    return {each["name"]: each["message"] for each in json.loads(ran.out)["warnings"]}


# the listing


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


# the status


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["0,1"], 0),
        (["0,-1"], 0),
        (["0,9"], 1),
        (["0,9", "--allow-fill"], 0),
        (["0,9", "--allow-fill", "-V", "onnx-13"], 1),
        (["0,9", "--out-of-range", "clamp"], 0),
        (["0,9", "--out-of-range", "wrap", "-V", "onnx-13"], 0),
        (["0,9", "--out-of-range", "zero", "-V", "onnx-13"], 1),
        (["0,-1", "-V", "openvino-1"], 1),
        (["0,-1", "-V", "openvino-1", "--negative", "wrap"], 0),
        (["0,-1", "--negative", "error", "--allow-fill"], 1),
        (["0", "-a", "1"], 65),
        (["0.5"], 65),
        (["nosuch.npy"], 66),
        (["0", "-V", "onnx-99x"], 2),
    ],
)
def test_the_status_says_whether_an_index_is_refused_or_filled(
    words: list[str], status: int, run: Run
) -> None:
    assert run("check", "gather", "1,2,3", *words).status == status


def test_an_error_in_json_is_one_line(run: Run) -> None:
    ran = run("check", "gather", "1,2,3", "0", "-a", "4", "--json-errors", "-V", "onnx-99")
    assert ran.status == 65
    assert json.loads(ran.err)["rule"] == "axis-range"


def test_a_result_that_no_array_can_have_is_a_verdict(run: Run) -> None:
    words = [f"zeros:{'x'.join(['1'] * 33)}", f"zeros:{'x'.join(['1'] * 33)}xi64"]
    ran = run("check", "gather", *words)
    assert ran.status == 65
    assert "rule: limit" in ran.err
    assert "limit refuses" in ran.out


# warnings


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ([], "openvino.Gather-8 takes the last slice"),
        (["-V", "onnx-1"], "onnx.Gather-1 refuses it"),
        (["-V", "onnx-1", "--negative", "wrap"], "onnx.Gather-1 takes the last slice"),
        (["-V", "onnx-1", "--out-of-range", "zero"], "onnx.Gather-1 fills with zeros"),
        (["-V", "onnx-1", "--out-of-range", "clamp"], "onnx.Gather-1 takes the first slice"),
        (["-V", "onnx-1", "--out-of-range", "wrap"], "onnx.Gather-1 takes the last slice"),
    ],
)
def test_minus_one_as_the_only_negative_index_may_mean_none(
    words: list[str], made: str, run: Run
) -> None:
    ran = run("check", "gather", "1.5,2,3", "-1,0,-1", *words, "-f", "json")
    start = '2 indices are -1 and no other is negative: if -1 means "none", know that '
    assert warned(ran) == {"minus-one": start + made}
    assert not warned(run("check", "gather", "1.5,2,3", "-1,-2", *words, "-f", "json"))


@pytest.mark.parametrize(
    ("policy", "fate"),
    [("spec", "takes the last position of its axis"), ("error", "refuses it")],
)
def test_minus_one_in_a_tuple_is_a_position_of_its_axis(policy: str, fate: str, run: Run) -> None:
    ran = run("check", "gather-nd", "arange:2x2", "[[0,-1],[1,1]]", "--negative", policy)

    assert f"know that openvino.GatherND-8 {fate}\n" in ran.out


def test_an_index_without_dimensions_drops_the_axis(run: Run) -> None:
    ran = run("check", "gather", "arange:2x3xf32", "1", "-V", "onnx-13", "-f", "json")
    assert warned(ran) == {
        "one-index": "`indices` is 0-D, so the result has no dimension for the axis (rank 1); "
        "indices of shape [1] would keep one of size 1 (rank 2)"
    }
    ran = run("check", "gather", "arange:2x3xf32", "[1]", "-V", "onnx-13", "-f", "json")
    assert warned(ran) == {
        "one-index": "`indices` has shape [1], so dimension 0 of the result stays, of size 1 "
        "(rank 2); a 0-D index would drop it (rank 1)"
    }


def test_types_that_some_versions_refuse_are_told(run: Run) -> None:
    rows = FAMILIES["gather"].ROWS
    takers = {
        "indices-type": [op for op in rows if "uint8" in map(str, op.inputs[1].dtypes)],
        "data-type": [op for op in rows if "bfloat16" in map(str, op.inputs[0].dtypes)],
    }

    ran = run("check", "gather", "3xbf16=0", "2xu8=1", "-f", "json")

    for name, what in (("indices-type", "uint8 indices"), ("data-type", "bfloat16 data")):
        able = listed([op.id for op in takers[name]], "and")
        others = listed([op.id for op in rows if op not in takers[name]], "and")
        assert warned(ran)[name] == f"{what}: {able} may take them, {others} not"


@pytest.mark.parametrize(
    ("token", "value"), [("2xi64=0 4294967296", 2**32), ("2xu32=0 4294967295", 2**32 - 1)]
)
def test_indices_that_32_bits_do_not_hold_are_told(token: str, value: int, run: Run) -> None:
    ran = run("check", "gather", "1.5,2", token, "-f", "json")
    assert warned(ran)["beyond-32-bits"] == (
        f"1 index does not fit 32 bits, first {value} at [1]: runtimes that cut them to 32 bits "
        "take another"
    )


@pytest.mark.parametrize(("beyond", "number"), [("", 0), (2**31, 1), (-(2**31) - 1, 1)])
def test_32_bits_hold_what_lies_between_their_bounds(
    beyond: int | str, number: int, run: Run
) -> None:
    token = f"{2 + number}xi64={2**31 - 1} {-(2**31)} {beyond}"

    ran = run("check", "gather", "1.5,2", token, "-f", "json")

    assert (
        warned(ran)
        .get("beyond-32-bits", "")
        .startswith(f"1 index does not fit 32 bits, first {beyond} at [2]:" if number else "")
    )
    assert ("beyond-32-bits" in warned(ran)) == bool(number)


@pytest.mark.parametrize(
    ("size", "indices", "said"),
    [
        (2**31, "0 1", None),
        (2**31, "0 2147483647", None),
        (2**31 + 1, "0 1", "the axis has 2 147 483 649 positions"),
        (2**31 + 1, "0 2147483648", "1 index does not fit 32 bits, first 2147483648 at [1]"),
    ],
)
def test_an_axis_that_32_bits_do_not_count_is_told(
    size: int, indices: str, said: str | None, run: Run, folder: Path
) -> None:
    data = np.lib.format.open_memmap(folder / "d.npy", "w+", "i1", (size,))
    del data

    ran = run("check", "gather", "d.npy", f"2xi64={indices}", "-f", "json")

    message = warned(ran).get("beyond-32-bits")
    assert (message and message.partition(":")[0]) == said


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["1,2,3", "9,0"], "openvino-cpu-short-lists"),
        (["zeros:2x0", "0,1"], "openvino-cpu-empty"),
        (["zeros:1x3x2xf32", "1x2xi64=0", "-a", "1", "-b", "1"], "openvino-cpu-batch-of-one"),
        (['2x2xstr="a" "b" "c" "d"', "1,0", "-V", "onnx-13"], "onnxruntime-strings"),
    ],
)
def test_runtimes_that_answer_wrongly_are_told(words: list[str], name: str, run: Run) -> None:
    assert list(warned(run("check", "gather", *words, "-f", "json"))) == [name]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["arange:3", "[[3]]"], ["tuple-bounds"]),
        (["arange:3", "[[-2]]", "-V", "openvino-5"], ["tuple-bounds"]),
        (["arange:3", "zeros:2x0xi64"], ["empty-tuples"]),
        (
            ["arange:3", "1x1xi64=4294967296"],
            ["beyond-32-bits", "tuple-bounds", "constant-tuples"],
        ),
        (['2xstr="a" "b"', "[[1]]"], ["tuples-of-strings"]),
        (["2xbf16=0", "[[1]]"], ["data-type", "tuples-of-bfloat16"]),
        (["arange:1x3", "[[0],[1]]", "-b", "1"], ["tuple-batches"]),
        (["arange:3", "1x1xi32=0", "-V", "onnx-13"], ["indices-type", "exported-tuples"]),
        (["arange:3", "[[2],[-1]]"], ["minus-one"]),
        (["arange:3", "[[2],[-2]]"], []),
        (['2xstr="a" "b"', "[[1]]", "-V", "onnx-13"], []),
    ],
)
def test_runtimes_that_gather_tuples_wrongly_are_told(
    words: list[str], names: list[str], run: Run
) -> None:
    assert list(warned(run("check", "gather-nd", *words, "-f", "json"))) == names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["[[[1,2]]]", "[[[0,0]]]", "[0]", "9"], ["tree-lengths"]),
        (["1x1x1xi8=1", "1x1x1xi8=0", "1xi8=1", "xi8=9"], ["tree-types"]),
        (["[[[4294967296]]]", "[[[0]]]", "[1]", "9"], ["tree-types"]),
        (["[[[1,2]],[[3,4]]]", "[[[0,0]],[[2,0]]]", "[2]", "9"], ["tree-parents"]),
        (["[[[1,2]],[[3,4]]]", "[[[0,0]],[[1,0]]]", "[2]", "9"], []),
    ],
)
def test_runtimes_that_follow_beams_wrongly_are_told(
    words: list[str], names: list[str], run: Run
) -> None:
    assert list(warned(run("check", "gather-tree", *words, "-f", "json"))) == names


@pytest.mark.parametrize(
    "words",
    [
        ["1.5,2,3", "9,0"],
        ["zeros:65xi64", "99,0"],
        ["zeros:2x3x2xf32", "2x2xi64=0", "-a", "1", "-b", "1"],
        ['2x2xstr="a" "b" "c" "d"', "1,0", "-V", "onnx-13", "-a", "1"],
        ['2x2xstr="a" "b" "c" "d"', "1,0"],
    ],
)
def test_where_they_answer_rightly_nothing_is_said(words: list[str], run: Run) -> None:
    assert not warned(run("check", "gather", *words, "-f", "json"))


# the same as plain loops


VERSIONS = oracle.VERSIONS | oracle_nd.VERSIONS


def expected(
    op: Any, sizes: list[int], indices: oracle.Array, negative: str, outside: str
) -> list[Any]:
    """List illegal indices one by one, with what the oracle makes of each.

    Each counts along the one axis, or that of its place in a tuple.
    """
    version = VERSIONS[op.full_name]
    attributes = oracle.Attributes(negative=negative, out_of_range=outside)
    found = []
    for at in oracle.coordinates(indices.shape):
        k, axis = int(indices[at]), at[-1] if op.tuples else 0
        s = sizes[axis]
        low = -s if version.signed and negative != "error" else 0
        if low <= k < s:
            continue
        one = np.array([k], indices.dtype)
        try:
            if isinstance(version, oracle_nd.Version):
                place = oracle_nd.positions(version, [s], one, attributes)[0,]
            else:
                place = oracle.picked(version, s, one, attributes)[0,]
        except oracle.Refused:
            does = "refused"
        else:
            wrapped = -s <= k < 0 and (
                negative == "wrap" or (negative == "spec" and version.signed)
            )
            how = getattr(version, "outside", "error") if outside == "spec" else outside
            moved = {"clamp": "clamped", "wrap": "wrapped"}.get(how, "")
            does = "zero-filled" if place is None else "counted from the end" if wrapped else moved
        found.append({"at": list(at), "index": k, "does": does})
        if len(sizes) > 1:
            found[-1] |= {"axis": axis, "legal": [low, s - 1] if s else None}
    return found


@pytest.mark.no_cover  # thousands of runs of what others cover
@pytest.mark.parametrize("op", [op for op in OPERATORS if op.full_name in VERSIONS], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_list_is_that_of_plain_loops(
    op: Any, seed: int, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.compute.verdicts.BLOCK_INDICES", 5)
    monkeypatch.setattr(check, "BLOCK_INDICES", 5)
    monkeypatch.setattr(check, "LEAST_SHARED_BLOCKS", 1)
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 3
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    s = int(rng.integers(0, 5))
    sizes = [s, *(int(n) for n in rng.integers(0, 5, shape[-1] - 1))] if op.tuples else [s]
    held = "<i8" if seed % 2 else ">i8" if op.tuples else ">i4"
    indices = rng.integers(-2 * s - 2, 2 * s + 3, shape).astype(held)
    if seed == 5:
        indices.reshape(-1)[:2] = [-(2**63), 2**63 - 1][: indices.size]
    order: Any = "F" if seed % 3 else "C"
    np.save(folder / "i.npy", np.asarray(indices, order=order))
    np.save(folder / "d.npy", np.zeros(sizes if op.tuples else (s, *shape[1:])))
    axis = [] if op.tuples else ["-a", "0"]
    policies = itertools.product(
        ("spec", "wrap", "error"), ("spec", "error", "zero", "clamp", "wrap")
    )
    for number, (negative, outside) in enumerate(policies):
        if seed != 5 and (number + seed // 2) % 3:
            continue  # two other seeds have these policies, of another rank and type
        options = ["--negative", negative, "--out-of-range", outside]
        words = ["d.npy", "i.npy", "-V", op.id, *axis, *options]
        ran = run("check", op.family, *words, "-f", "json", "--all", "-j", "2")
        found = json.loads(ran.out)
        wanted = expected(op, sizes, indices, negative, outside)
        assert found["illegal"] == {"count": len(wanted), "shown": wanted}
        assert ran.status == int(any(x["does"] in ("refused", "zero-filled") for x in wanted))
        refused = run(op.family, *words, "-q", "--json-errors")
        (mine,) = [each for each in found["verdicts"] if each["version"] == op.full_name]
        assert (mine["verdict"] == "refuses") == (refused.status != 0)
        if refused.status:
            error = json.loads(refused.err)
            assert [mine[key] for key in ("rule", "count", "index", "message")] == [
                error[key] for key in ("rule", "count", "value", "error")
            ]
            assert mine["at"] == json.loads(error["where"])


def illegal_parents(parents: oracle.Array, lengths: list[int]) -> list[Any]:
    """List the parents that are used and name no beam, one by one."""
    steps, batches, beams = parents.shape
    found = set()
    for b, w in itertools.product(range(batches), range(beams)):
        beam = w
        for t in range(min(lengths[b], steps) - 1, 0, -1):
            k = int(parents[t, b, beam])
            if not 0 <= k < beams:
                found.add((t, b, beam))
                break
            beam = k
    return [{"at": list(at), "index": int(parents[at]), "does": "refused"} for at in sorted(found)]


@pytest.mark.parametrize("seed", range(12))
def test_the_parents_that_are_listed_are_those_that_plain_loops_use(
    seed: int, run: Run, folder: Path
) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, 3))
    parents = rng.integers(-(seed % 2), shape[2] + seed % 3, shape)
    lengths = [int(n) for n in rng.integers(-1, shape[0] + 2, shape[1])]
    np.save(folder / "s.npy", np.zeros(shape, np.int64))
    np.save(folder / "p.npy", parents)
    words = ["s.npy", "p.npy", str(lengths).replace(" ", ""), "9"]

    ran = run("check", "gather-tree", *words, "-f", "json", "--all")

    answer, wanted = json.loads(ran.out), illegal_parents(parents, lengths)
    assert answer["illegal"] == {"count": len(wanted), "shown": wanted}
    assert ran.status == bool(wanted)
    (verdict,) = answer["verdicts"]
    refused = run("gather-tree", *words, "--json-errors")
    assert (verdict["verdict"] == "refuses") is bool(wanted) is (refused.status != 0)
    if wanted:
        error = json.loads(refused.err)
        assert [verdict[key] for key in ("rule", "count", "index", "message")] == [
            error[key] for key in ("rule", "count", "value", "error")
        ]
        assert verdict["at"] == json.loads(error["where"]) == wanted[0]["at"]


def test_the_extremes_of_64_bits_are_what_they_are(run: Run, folder: Path) -> None:
    np.save(folder / "i.npy", np.array([2**64 - 1, 1, 2**63], np.uint64))
    ran = run("check", "gather", "1.5,2", "i.npy", "-f", "json")
    assert [each["index"] for each in json.loads(ran.out)["illegal"]["shown"]] == [
        2**64 - 1,
        2**63,
    ]


# long indices


@pytest.mark.skipif(sys.platform != "linux", reason="limits what is held as Linux does")
@pytest.mark.parametrize("words", [["check", "gather"], ["compare"]])
def test_memory_does_not_grow_with_the_indices(words: list[str], folder: Path) -> None:
    for name, count in (("few.npy", 10), ("many.npy", 1 << 24)):
        indices = np.lib.format.open_memmap(folder / name, "w+", "<i8", (count,))
        indices[-1] = 99  # the rest is a hole
        del indices
    options = ["-a", "0", "--out-of-range", "clamp", "-j", "2"]
    few = anonymous([*words, "1.5,2,3", "few.npy", *options], folder)
    assert runs_with(few + 60, [*words, "1.5,2,3", "many.npy", *options], folder)  # they are 134


def test_a_long_list_is_written_as_it_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gathercli.cli.commands.check._LINES_AT_A_TIME", 7)
    ran = run("check", "gather", "[0.5]", "arange:100x3", "--all")
    assert ran.out.count("zero-filled\n") == 299
    listed = re.findall(r"(?m)^\[(\d+),(\d+)\] +(\d+)  zero", ran.out)
    assert [int(i) * 3 + int(j) for i, j, _ in listed] == list(range(1, 300))
    assert len({len(line) for line in ran.out.splitlines() if line.endswith("  zero-filled")}) == 1


def test_a_verdict_counts_the_components_of_all_axes_that_were_filled(run: Run) -> None:
    ran = run("check", "gather-nd", "arange:2x3", "[[0,9],[9,0]]", "--out-of-range", "zero")

    assert "openvino.GatherND-5  2 zero-filled, first 9 at [0,1]\n" in ran.out
