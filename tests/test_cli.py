from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.cli.main import COMMANDS
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Program = Callable[..., subprocess.CompletedProcess[bytes]]

FIELDS: Final = (
    "error",
    "status",
    "rule",
    "operator",
    "version_from",
    "data",
    "indices",
    "where",
    "value",
    "expected",
    "count",
    "hint",
)
REQUEST: Final = (
    b'{"inputs":['
    b'{"name":"data","shape":[3],"datatype":"INT64","data":[5,6,7]},'
    b'{"name":"indices","shape":[2],"datatype":"INT32","data":[2,0]}]}'
)


def only_error(ran: Ran) -> str:
    """Check that a command failed with one error and no traceback, and return the first line."""
    assert ran.status != 0
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("error: ") == 1
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    return ran.err.splitlines()[0]


def hint_of(ran: Ran) -> str:
    return next(line for line in ran.err.splitlines() if line.startswith("hint: "))


# What the first example shows


def test_gather_fills_what_openvino_8_fills_and_says_so(run: Run) -> None:
    assert run("gather", "[1,2,3,4,5]", "[3,10,-20]") == (
        0,
        "[4,0,0]\n",
        "note: 2 of 3 indices outside -5..4, zero-filled; first 10 at [1]\n",
    )


def test_an_older_version_refuses_the_same_index_and_names_the_version_that_fills(run: Run) -> None:
    assert run("gather", "[1,2,3,4,5]", "[3,10,-20]", "-V", "openvino-1") == (
        65,
        "",
        "error: index 10 at `[1]` is outside axis 0 of `data`, whose size is 5: "
        "expected 0 to 4 (2 of 3 indices)\n"
        "  openvino.Gather-1   data i64[5]   indices i64[3]\n"
        "hint: openvino-8 fills such slices with zeros: `-V openvino-8`, or `--out-of-range zero`\n"
        "rule: index-range\n",
    )


def test_an_axis_that_data_has_not_is_refused_with_the_interval(run: Run) -> None:
    assert run("gather", "arange:2x5", "[0,0,4]", "--axis", "3") == (
        65,
        "",
        "error: `axis` is 3, but `data` has rank 2: expected -2 to 1\n"
        "  openvino.Gather-8   data i64[2,5]   indices i64[3]\n"
        "hint: the last dimension is `--axis -1`\n"
        "rule: axis-range\n",
    )


# The options of an operator


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["--axis", "1"], "[[1],[4]]"),
        (["-a", "-1"], "[[1],[4]]"),
        (["--axis=+0"], "[[3,4,5]]"),
        (["-a1"], "[[1],[4]]"),
    ],
)
def test_the_axis_of_gather_counts_from_either_end(words: list[str], out: str, run: Run) -> None:
    assert run("gather", "arange:2x3", "[1]", *words) == (0, out + "\n", "")


@pytest.mark.parametrize("name", ["--batch-dims", "-b"])
@pytest.mark.parametrize("number", ["1", "-1"])
def test_batches_are_gathered_each_by_its_own_indices(name: str, number: str, run: Run) -> None:
    ran = run("gather", "arange:2x3", "[[2,0],[1,1]]", "-a", "1", name, number)
    assert ran == ((0, "[[2,0],[4,4]]\n", "") if number == "1" else ran)
    assert ran.status == 0


@pytest.mark.parametrize(
    ("version", "row"),
    [
        ("8", "openvino.Gather-8"),
        ("7", "openvino.Gather-7"),
        ("11", "onnx.Gather-11"),
        ("13", "onnx.Gather-13"),
        ("openvino-8", "openvino.Gather-8"),
        ("openvino-7", "openvino.Gather-7"),
        ("openvino-1", "openvino.Gather-1"),
        ("onnx-13", "onnx.Gather-13"),
        ("onnx-11", "onnx.Gather-11"),
        ("onnx-1", "onnx.Gather-1"),
        ("onnx-10", "onnx.Gather-1"),
        ("onnx-12", "onnx.Gather-11"),
        ("onnx-21", "onnx.Gather-13"),
        ("openvino-2", "openvino.Gather-1"),
        ("openvino-9", "openvino.Gather-8"),
        ("openvino.Gather-8", "openvino.Gather-8"),
        ("onnx.Gather-1", "onnx.Gather-1"),
    ],
)
def test_a_version_finds_the_row_that_its_framework_runs(version: str, row: str, run: Run) -> None:
    ran = run("gather", "[1,2,3]", "0", "--version", version, "-f", "oip")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["outputs"][0]["parameters"]["operator"] == row


@pytest.mark.parametrize(
    ("version", "row"),
    [
        ("6", "openvino.GatherElements-6"),
        ("openvino-6", "openvino.GatherElements-6"),
        ("openvino-16", "openvino.GatherElements-6"),
        ("onnx-11", "onnx.GatherElements-11"),
        ("onnx-12", "onnx.GatherElements-11"),
        ("onnx.GatherElements-13", "onnx.GatherElements-13"),
    ],
)
def test_gather_elements_has_versions_of_its_own(version: str, row: str, run: Run) -> None:
    ran = run("gather-elements", "[1,2]", "[1]", "-a", "0", "-V", version, "-f", "oip")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["outputs"][0]["parameters"]["operator"] == row


def test_an_opset_newer_than_the_newest_known_is_accepted_with_a_note(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "0", "-V", "onnx-99")
    assert (ran.status, ran.out) == (0, "1\n")
    assert ran.err.startswith("note: onnx opset 99 is newer than ")
    assert ran.err.endswith("onnx.Gather-13 was assumed\n")


def test_a_bare_1_is_refused_naming_both_frameworks(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "0", "-V", "1")
    assert ran == (
        2,
        "",
        "error: no version `1` of gather (openvino-1 and onnx-1 both have it): expected "
        "openvino-8, openvino-7, openvino-1, onnx-13, onnx-11 or onnx-1\n"
        "hint: did you mean `-V openvino-1` or `-V onnx-1`?\n"
        "rule: version\n",
    )


@pytest.mark.parametrize(
    ("command", "version", "why"),
    [
        ("gather", "onnx-0", "expected openvino-8"),
        ("gather", "onnx.GatherElements-13", "it is a version of gather-elements"),
        ("gather", "6", "expected openvino-8"),
        ("gather", "", "expected openvino-8"),
        ("gather", "-1", "expected openvino-8"),
        ("gather", "torch-2", "expected openvino-8"),
        ("gather-elements", "onnx-10", "onnx has GatherElements from opset 11 on"),
        ("gather-elements", "openvino-5", "openvino has GatherElements from opset 6 on"),
    ],
)
def test_other_versions_are_usage_errors_that_list_the_versions(
    command: str, version: str, why: str, run: Run
) -> None:
    ran = run(command, "[1,2,3]", "[0]", "-V", version)
    assert ran.status == 2
    assert why in only_error(ran)
    assert ran.err.endswith("rule: version\n")


@pytest.mark.parametrize(
    ("words", "status", "out"),
    [
        (["-V", "openvino-7", "--negative", "spec"], 65, ""),
        (["-V", "openvino-7", "--negative", "wrap"], 0, "[3,2]\n"),
        (["-V", "onnx-13", "--negative", "spec"], 0, "[3,2]\n"),
        (["-V", "onnx-13", "--negative", "error"], 65, ""),
        (["-V", "onnx-13", "--negative", "wrap"], 0, "[3,2]\n"),
    ],
)
def test_negative_indices_are_treated_as_asked(
    words: list[str], status: int, out: str, run: Run
) -> None:
    ran = run("gather", "[1,2,3]", "[-1,1]", *words)
    assert (ran.status, ran.out) == (status, out)


@pytest.mark.parametrize(
    ("policy", "out", "done"),
    [
        ("zero", "[0,2,0]", "zero-filled"),
        ("clamp", "[1,2,3]", "clamped"),
        ("wrap", "[3,2,1]", "wrapped"),
    ],
)
def test_indices_outside_the_axis_are_treated_as_asked_and_counted(
    policy: str, out: str, done: str, run: Run
) -> None:
    ran = run("gather", "[1,2,3]", "[-4,1,6]", "-V", "onnx-13", "--out-of-range", policy)
    assert ran == (0, f"{out}\n", f"note: 2 of 3 indices outside -3..2, {done}; first -4 at [0]\n")


def test_out_of_range_error_refuses_what_the_version_would_fill(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "[0,3]", "--out-of-range", "error")
    assert ran.status == 65
    assert "index 3 at `[1]`" in only_error(ran)
    assert "expected -3 to 2" in ran.err


@pytest.mark.parametrize("policy", ["clamp", "wrap"])
def test_an_empty_axis_has_nothing_to_move_an_index_to(policy: str, run: Run) -> None:
    ran = run("gather", "[]", "[0]", "--out-of-range", policy)
    assert ran.status == 65
    assert ran.err.endswith("rule: index-range\n")


def test_the_gather_elements_of_openvino_requires_an_axis(run: Run) -> None:
    ran = run("gather-elements", "[1,2,3]", "[0]")
    assert ran == (
        65,
        "",
        "error: openvino.GatherElements-6 requires an axis and none was given: expected -1 to 0\n"
        "  openvino.GatherElements-6   data i64[3]   indices i64[1]\n"
        "hint: add `--axis 0`, the default of the ONNX versions\n"
        "rule: axis-required\n",
    )


def test_the_gather_elements_of_onnx_has_axis_0_as_its_default(run: Run) -> None:
    ran = run("gather-elements", "[[1,2],[3,4]]", "[[1,0]]", "-V", "onnx-13")
    assert ran == (0, "[[3,2]]\n", "")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["2xbf16=1 2", "0", "-V", "onnx-11"], "data-dtype"),
        (["[1,2]", "[0.0]"], "indices-dtype"),
        (["[1,2]", "[true]"], "indices-dtype"),
        (["[1,2]", "2xu8=0", "-V", "onnx-13"], "indices-dtype"),
        (["3", "0"], "data-rank"),
        (["[1,2]", "0", "-a", "x"], "axis-type"),
        (["[1,2]", "0", "-a", "0.0"], "axis-type"),
        (["[1,2]", "0", "-a", ""], "axis-type"),
        (["[1,2]", "0", "-a", "unknown"], "axis-type"),
        (["[1,2]", "0", "-a", "1"], "axis-range"),
        (["[1,2]", "0", "-a", "-2"], "axis-range"),
        (["[1,2]", "0", "-a", "9" * 20], "axis-range"),
        (["[1,2]", "0", "-a", "9" * 40], "axis-range"),
        (["[1,2]", "[0]", "-b", "1", "-V", "onnx-13"], "batch-dims-unsupported"),
        (["[1,2]", "[0]", "-b", "x"], "batch-dims-range"),
        (["[1,2]", "[0]", "-b", "2"], "batch-dims-range"),
        (["[1,2]", "[0]", "-b", "1"], "batch-dims-axis"),
        (["zeros:3x4", "zeros:2", "-b", "1", "-a", "1"], "batch-shape"),
        (["[1,2]", "[2]", "-V", "onnx-13"], "index-range"),
        (["[1,2]", "[-1]", "--negative", "error"], "index-negative"),
        (["zeros:0x9999999999", "[0]", "--max-bytes", "1M"], "limit"),
    ],
)
def test_a_rule_of_gather_refuses_with_status_65_and_its_name(
    words: list[str], rule: str, run: Run
) -> None:
    ran = run("gather", *words)
    assert ran.status == 65
    only_error(ran)
    assert ran.err.endswith(f"rule: {rule}\n")
    assert "  o" in ran.err  # the row that refused, on a line of its own


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["[[1,2]]", "[0]", "-a", "0"], "indices-rank"),
        (["[[1,2]]", "[[0,0,0]]", "-a", "0"], "elements-shape"),
        (["[1]", "[0]", "-a", "0", "-b", "1"], "batch-dims-unsupported"),
    ],
)
def test_a_rule_of_gather_elements_refuses_with_status_65_and_its_name(
    words: list[str], rule: str, run: Run
) -> None:
    ran = run("gather-elements", *words)
    assert ran.status == 65
    only_error(ran)
    assert ran.err.endswith(f"rule: {rule}\n")


# The grammar of tensors


@pytest.mark.parametrize(
    ("data", "literal"),
    [
        ("arange:3", "3xi64=[0 1 2]"),
        ("arange:2x2xf32", "2x2xf32=[[0.0 1.0][2.0 3.0]]"),
        ("zeros:1x2xf16", "1x2xf16=[[0.0 0.0]]"),
        ("zeros:2", "2xi64=[0 0]"),
        ("zeros:2xstr", '2xstr=["" ""]'),
        ("2x3xi32=[[0 0 4][4 0 0]]", "2x3xi32=[[0 0 4][4 0 0]]"),
        ("2x3xi32=[[0,0,4],[4,0,0]]", "2x3xi32=[[0 0 4][4 0 0]]"),
        ("2x3xf32=1 2 3 4 5 6", "2x3xf32=[[1.0 2.0 3.0][4.0 5.0 6.0]]"),
        ("2x1xu8=1,2", "2x1xu8=[[1][2]]"),
        ("3xi64=0", "3xi64=[0 0 0]"),
        ("3xint64=7", "3xi64=[7 7 7]"),
        ("2xstr='a b' \"c\\n\"", '2xstr=["a b" "c\\n"]'),
        ("2xc64=1+2j -1j", "2xc64=[1.0+2.0j 0.0-1.0j]"),
        ("3xf64=nan inf -inf", "3xf64=[nan inf -inf]"),
        ("2xbool=true false", "2xbool=[true false]"),
        ("0x2xf32=", "0x2xf32=[]"),
        ("[[0,0],[4,0]]", "2x2xi64=[[0 0][4 0]]"),
        ("[1,2.5]", "2xf64=[1.0 2.5]"),
        ("[true,false]", "2xbool=[true false]"),
        ('["a","b"]', '2xstr=["a" "b"]'),
        ("[18446744073709551615]", "1xu64=[18446744073709551615]"),
        ("[]", "0xf64=[]"),
        ('{"shape":[2],"datatype":"FP32","data":[1,2]}', "2xf32=[1.0 2.0]"),
        ("0,0,4", "3xi64=[0 0 4]"),
        ("0,", "1xi64=[0]"),
        ("-1,0", "2xi64=[-1 0]"),
        ("-.5,1", "2xf64=[-0.5 1.0]"),
        ("-inf,nan", "2xf64=[-inf nan]"),
        ("true,false", "2xbool=[true false]"),
    ],
)
def test_every_form_of_literal_is_read_as_what_it_says(data: str, literal: str, run: Run) -> None:
    count = literal.split("x", maxsplit=1)[0]
    ran = run("gather", data, f"arange:{count}", "-f", "literal")
    assert ran == (0, literal + "\n", "")


@pytest.mark.parametrize("index", ["-1", "-1,", "-2,-1", "[-1]", "xi32=-1"])
def test_negative_indices_are_plain_arguments_without_dashes_before_them(
    index: str, run: Run
) -> None:
    assert run("gather", "[1,2,3]", index).status == 0
    assert run("gather", "[1,2,3]", "-V", "onnx-13", index).status == 0
    assert run("gather", "[1,2,3]", "--", index).status == 0


def test_random_tensors_repeat_with_their_seed_and_stay_in_their_range(run: Run) -> None:
    first = run("gather", "rand:50", "arange:50")
    assert run("gather", "rand:50,seed=0", "arange:50") == first
    assert run("gather", "rand:50,seed=7", "arange:50") != first
    assert all(0 <= value < 1 for value in json.loads(first.out))
    whole = json.loads(run("gather", "rand:50xi8,high=3", "arange:50").out)
    assert set(whole) == {0, 1, 2}


@pytest.mark.parametrize(
    ("token", "rule"),
    [
        ("arange:", "literal"),
        ("arange:3xbool", "literal"),
        ("arange:300xi8", "literal"),
        ("rand:3xi8", "literal"),
        ("rand:3xi8,high=129", "literal"),
        ("rand:3,seed=1,seed=2", "literal"),
        ("rand:3,sed=1", "literal"),
        ("zeros:3,seed=1", "literal"),
        ("rand:3xstr", "literal"),
        ("3xi64=1 2", "literal"),
        ("2x2xi64=[1 2]", "literal"),
        ("2xi6=1", "literal"),
        ("2xf32=[1 2", "literal"),
        ("2xf32=1 2]", "literal"),
        ("2xstr='a", "literal"),
        ("2xf32=1 x", "literal"),
        ("2x2xi64=[[1 2][3]]", "ragged"),
        ("2xi8=300", "dtype"),
        ("2xi64=1.5", "dtype"),
        ("2xbool=1", "dtype"),
        ("2xu8=-1", "dtype"),
        ("[[1,2],[3]]", "ragged"),
        ("[1,true]", "dtype"),
        ('[1,"a"]', "dtype"),
        ("[18446744073709551616]", "dtype"),
        ("[9007199254740993,0.5]", "dtype"),
        ("[1,2", "literal"),
        ("[1,,2]", "literal"),
        ("1,,2", "literal"),
        ("1.2.3", "literal"),
        ("[null]", "json"),
        ("99999999999xf32=0", "limit"),
        ("arange:99999999999999999999", "limit"),
        ("0x9223372036854775808xi8=", "limit"),
    ],
)
def test_a_malformed_literal_is_refused_by_the_rule_it_breaks(
    token: str, rule: str, run: Run
) -> None:
    ran = run("gather", token, "0", "--max-bytes", "1M")
    assert ran.status == 65
    assert only_error(ran).startswith("error: `data`")
    assert ran.err.endswith(f"rule: {rule}\n")


def test_a_ragged_list_and_a_mixed_one_name_the_path_of_the_offender(run: Run) -> None:
    assert "`$[1]`" in run("gather", "[[1,2],[3]]", "0").err
    assert "`$[1][2]`" in run("gather", "[[1,2,3],[4,5,true]]", "0").err
    assert "first at `$[1][0]`" in run("gather", "[1,2]", "[[0,1],[0.5,1]]").err


def test_a_literal_wins_over_a_file_of_its_name_with_a_note_and_the_at_sign_forces_the_file(
    run: Run, folder: Path
) -> None:
    (folder / "0,1").write_text("[2]")
    note = "note: `0,1` was read as a literal; the file of that name is `@0,1`\n"
    assert run("gather", "[5,6,7]", "0,1") == (0, "[5,6]\n", note)
    assert run("gather", "[5,6,7]", "0,1", "-q") == (0, "[5,6]\n", "")
    assert run("gather", "[5,6,7]", "@0,1") == (0, "[7]\n", "")


def test_a_file_is_read_by_its_content_whatever_its_name(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(3))
    (folder / "a.npy").rename(folder / "a.json")
    (folder / "b.npy").write_text("[2,0]")
    assert run("gather", "a.json", "b.npy") == (0, "[2,0]\n", "")


def test_members_of_an_npz_and_keys_of_a_json_file_are_named_behind_a_hash(
    run: Run, folder: Path
) -> None:
    np.savez(folder / "x.npz", weights=np.arange(3) * 10, picks=np.array([2, 0]))
    (folder / "x.json").write_text('{"data":[7,8,9],"indices":[1]}')
    assert run("gather", "x.npz#weights", "x.npz#picks") == (0, "[20,0]\n", "")
    assert run("gather", "x.npz#weights.npy", "x.json#indices") == (0, "[10]\n", "")
    assert run("gather", "x.json#data", "x.json#indices") == (0, "[8]\n", "")
    assert run("gather", "@x.json#data", "@x.npz#picks") == (0, "[9,7]\n", "")


def test_a_file_whose_whole_name_has_a_hash_is_that_file(run: Run, folder: Path) -> None:
    np.save(folder / "a#b.npy", np.array([1, 2]))
    np.savez(folder / "a#c.npz", k=np.array([3, 4]))
    assert run("gather", "a#b.npy", "1") == (0, "2\n", "")
    assert run("gather", "a#c.npz#k", "1") == (0, "4\n", "")


def test_an_archive_or_document_of_one_tensor_needs_no_key(run: Run, folder: Path) -> None:
    np.savez(folder / "x.npz", only=np.arange(3))
    (folder / "x.json").write_text('{"inputs":[{"name":"i","datatype":"INT8","data":[2]}]}')
    assert run("gather", "x.npz", "x.json") == (0, "[2]\n", "")


@pytest.mark.parametrize(
    ("token", "hint"),
    [
        ("x.npz", "x.npz#data"),
        ("x.npz#dta", "x.npz#data"),
        ("x.npz#my kex", "x.npz#my key"),
        ("x.json", "x.json#data"),
        ("x.json#dat", "x.json#data"),
        ("x.json#my kex", "x.json#my key"),
        ("a file.npz#dta", "a file.npz#data"),
        ("a file.npz#my kex", "a file.npz#my key"),
        ("x.npy#data", "x.npy"),
        ("a fil.npz", "a file.npz"),
    ],
)
def test_a_missing_member_is_refused_with_a_hint_that_can_be_pasted(
    token: str, hint: str, run: Run, folder: Path
) -> None:
    for name in ("x.npz", "a file.npz"):
        members: dict[str, Any] = {"data": np.arange(2), "my key": np.arange(2)}
        np.savez(folder / name, **members)
    (folder / "x.json").write_text('{"data":[1,2],"my key":[3]}')
    np.save(folder / "x.npy", np.arange(2))
    ran = run("gather", token, "0")
    assert ran.status == (66 if token == "a fil.npz" else 65)
    only_error(ran)
    assert shlex.split(hint_of(ran).split("`")[1]) == [hint]


def test_an_object_on_the_command_line_is_no_standard_input_to_its_hint(run: Run) -> None:
    ran = run("gather", '{"a":[1],"b":[2]}', "0")
    assert ran.status == 65
    assert "-#a" not in ran.err


def test_standard_input_is_a_tensor_in_any_format(run: Run) -> None:
    as_npy = run("gather", "[5,6,7]", "0,1,2", "-f", "npy").raw
    assert run("gather", "-", "0,2", stdin=b"[5,6,7]") == (0, "[5,7]\n", "")
    assert run("gather", "-", "0,2", stdin=as_npy) == (0, "[5,7]\n", "")
    assert run("gather", "[5,6,7]", "-", stdin=b"[0,2]") == (0, "[5,7]\n", "")
    assert run("gather", "-#data", "1", stdin=REQUEST) == (0, "6\n", "")
    assert run("gather", "[5,6,7]", "0,2", "--expect", "-", stdin=b"[5,7]").status == 0


def test_one_stream_may_hold_both_tensors(run: Run, folder: Path) -> None:
    np.savez(folder / "x.npz", data=np.array([5, 6, 7]), indices=np.array([2, 0]))
    expected = (0, "[7,5]\n", "")
    assert run("gather", "-#data", "-#indices", stdin=REQUEST) == expected
    assert run("gather", "-#data", "-#indices", stdin=(folder / "x.npz").read_bytes()) == expected
    object_of_both = b'{"data":[5,6,7],"indices":[2,0]}'
    assert run("gather", "-#data", "-#indices", stdin=object_of_both) == expected


@pytest.mark.parametrize("stdin", [b"[0]", b"", b"[["])
@pytest.mark.parametrize(
    "tokens", [("-", "-"), ("-#data", "-"), ("-", "-#data"), ("[1]", "-", "--expect", "-")]
)
def test_standard_input_serves_one_tensor_only_whatever_it_holds(
    tokens: tuple[str, ...], stdin: bytes, run: Run
) -> None:
    ran = run("gather", *tokens, stdin=stdin)
    assert ran.status == 2
    assert only_error(ran).startswith("error: `-` is used twice")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["[1,2]", "0,", "--data-dtype", "f32"], "1xf32=[1.0]"),
        (["[1,2]", "0,", "--data-dtype", "bfloat16"], "1xbf16=[1.0]"),
        (["[[1,2]]", "0,", "--data-dtype", "complex64"], "1xc64=[1.0+2.0j]"),
        (["2xi32=1 2", "0,", "--data-dtype", "i64"], "1xi64=[1]"),
        (["2xf32=1 2", "0,", "--data-dtype", "u8"], "1xu8=[1]"),
        (["[]", "[]", "--data-dtype", "string"], "0xstr=[]"),
        (["[1,2]", "1xf32=1", "--indices-dtype", "int64"], "1xi64=[2]"),
        (["[1,2]", "[1]", "-V", "onnx-13", "--indices-dtype", "i32"], "1xi64=[2]"),
    ],
)
def test_the_type_of_an_argument_can_be_declared(words: list[str], out: str, run: Run) -> None:
    assert run("gather", *words, "-f", "literal") == (0, out + "\n", "")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["2xi32=1 300", "0", "--data-dtype", "u8"], "dtype"),
        (["2xf32=1 2.5", "0", "--data-dtype", "i64"], "dtype"),
        (["[1,2.5]", "0", "--data-dtype", "i64"], "dtype"),
        (["2xi64=1 16777217", "0", "--data-dtype", "f32"], "dtype"),
        (['["a"]', "0", "--data-dtype", "i64"], "dtype"),
        (["[1e39]", "0", "--data-dtype", "f32"], "dtype"),
        (["[1,2]", "[1]", "--indices-dtype", "f32"], "indices-dtype"),
    ],
)
def test_a_declared_type_that_would_lose_something_is_refused(
    words: list[str], rule: str, run: Run
) -> None:
    ran = run("gather", *words)
    assert ran.status == 65
    assert ran.err.endswith(f"rule: {rule}\n")


# Results


FORMATS: Final = {
    "json": "[4,0]\n",
    "auto": "[4,0]\n",
    "literal": "2xi64=[4 0]\n",
    "oip": (
        '{"outputs":[{"name":"output","shape":[2],"datatype":"INT64","parameters":'
        '{"operator":"openvino.Gather-8","axis":0,"batch_dims":0,"zero_filled":1},'
        '"data":[4,0]}]}\n'
    ),
    "pretty": (
        "openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]\n"
        "data i64[5]   indices i64[2]   out i64[2]\n"
        "shape  data[:0] + indices[0:] + data[1:]  =  [] + [2] + []  =  [2]\n"
        "\n"
    ),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("option", ["-f", "--format"])
def test_every_text_format_goes_to_stdout(fmt: str, option: str, run: Run) -> None:
    ran = run("gather", "[1,2,3,4,5]", "[3,10]", option, fmt)
    assert ran.status == 0
    assert ran.err == "note: 1 of 2 indices outside -5..4, zero-filled; first 10 at [1]\n"
    assert ran.out.startswith(FORMATS[fmt])
    assert fmt == "pretty" or ran.out == FORMATS[fmt]


def test_npy_in_a_pipe_is_what_numpy_saves(run: Run, folder: Path) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy")
    np.save(folder / "x.npy", np.array([3, 1]))
    assert (ran.status, ran.raw, ran.err) == (0, (folder / "x.npy").read_bytes(), "")


def test_one_run_feeds_the_next_in_every_format_a_pipe_carries(run: Run) -> None:
    for fmt in ("json", "npy", "oip"):
        first = run("gather", "2x2xf32=1 2 3 4", "[1,0]", "-f", fmt)
        assert run("gather", "-", "0,", stdin=first.raw) == (0, "[[3.0,4.0]]\n", "")


def test_the_suffix_of_the_output_picks_the_format_and_stdout_stays_empty(
    run: Run, folder: Path
) -> None:
    for name in ("out.npy", "out.npz", "out.json", "OUT.NPY"):
        assert run("gather", "[1,2,3]", "[2,0]", "-o", name) == (0, "", "")
    assert np.load(folder / "out.npy").tolist() == [3, 1]
    assert np.load(folder / "OUT.NPY").tolist() == [3, 1]
    with np.load(folder / "out.npz") as archive:
        assert archive.files == ["output"]
        assert archive["output"].tolist() == [3, 1]
    assert (folder / "out.json").read_text() == "[3,1]\n"


@pytest.mark.parametrize("fmt", ["json", "oip", "literal", "pretty"])
def test_a_format_that_is_forced_beats_the_suffix(fmt: str, run: Run, folder: Path) -> None:
    words = ("gather", "[1,2,3]", "[2,0]", "-f", fmt)
    on_stdout = run(*words)

    assert run(*words, "--output", "x.npy", "--force-format") == (0, "", "")

    assert (folder / "x.npy").read_text() == on_stdout.out


def test_an_output_of_a_dash_is_stdout(run: Run, folder: Path) -> None:
    assert run("gather", "[1,2,3]", "[2,0]", "-o", "-") == (0, "[3,1]\n", "")
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (
            "out.txt",
            "has the suffix `.txt`: "
            "expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr, "
            "or a format",
        ),
        (
            "out",
            "has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr, "
            "or a format",
        ),
        (
            ".npy",
            "has no suffix: expected .npy, .npz, .json, .safetensors, .pb, .bin or .zarr, "
            "or a format",
        ),
    ],
)
def test_an_unknown_suffix_without_a_format_is_a_usage_error(
    name: str, what: str, run: Run, folder: Path
) -> None:
    assert run("gather", "[1]", "0", "-o", name) == (
        2,
        "",
        f"error: `{name}` {what}\nhint: `{name.removesuffix('.txt')}.npy` in its place names one\n",
    )
    assert os.listdir(folder) == []


@pytest.mark.parametrize("command", ["gather", "gather-elements"])
@pytest.mark.parametrize(
    ("name", "fmt"),
    [("out.npy", "json"), ("out.json", "npy"), ("a/out.NPY", "pretty"), ("out.zarr", "literal")],
)
def test_a_suffix_and_another_format_exclude_each_other(
    command: str, name: str, fmt: str, run: Run, folder: Path
) -> None:
    (folder / "a").mkdir()
    words = (command, "[1]", "[0]", "--axis", "0", "-o", name, "-f", fmt)

    ran = run(*words)

    assert ran == (
        2,
        "",
        f"error: `{name}` has the suffix `{os.path.splitext(name)[1].lower()}`, and the format is "
        f"`-f {fmt}`: expected one format\n"
        f"hint: `--force-format` writes {fmt} into it all the same\n",
    )
    assert not (folder / name).exists()
    assert run(*words, "--force-format").status == 0
    assert (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "fmt"),
    [("x.npy", "npy"), ("x.json", "json"), ("y.json", "oip"), ("x.txt", "pretty"), ("x", "npy")],
)
def test_a_suffix_and_its_own_format_go_together(
    name: str, fmt: str, run: Run, folder: Path
) -> None:
    assert run("gather", "[1]", "[0]", "-o", name, "-f", fmt) == (0, "", "")

    assert (folder / name).exists()


def test_there_is_no_format_to_force_without_one(run: Run) -> None:
    assert run("gather", "[1]", "[0]", "--force-format") == (
        2,
        "",
        "error: `--force-format` is given without `-f`: expected both\n",
    )


def test_no_clobber_keeps_what_is_there(run: Run, folder: Path) -> None:
    (folder / "x.npy").write_text("mine")
    ran = run("gather", "[1]", "0", "-o", "x.npy", "--no-clobber")
    assert ran.status == 73
    assert "`x.npy`" in only_error(ran)
    assert (folder / "x.npy").read_text() == "mine"
    assert run("gather", "[1]", "0", "-o", "y.npy", "--no-clobber") == (0, "", "")


@pytest.mark.parametrize("name", ["nosuch/x.npy", "file/x.npy", "folder.npy", "."])
def test_an_output_that_cannot_be_created_is_73(name: str, run: Run, folder: Path) -> None:
    (folder / "file").write_text("mine")
    (folder / "folder.npy").mkdir()
    ran = run("gather", "[1]", "0", "-o", name, "-f", "npy")
    assert ran.status == 73
    assert f"`{name}`" in only_error(ran)
    assert ran.err.endswith("rule: output\n")
    assert sorted(os.listdir(folder)) == ["file", "folder.npy"]


def test_an_empty_name_of_an_output_is_refused_before_anything_is_read(run: Run) -> None:
    ran = run("gather", "[1]", "0", "-o", "", "-f", "npy")
    assert ran.status in (2, 73)
    only_error(ran)


@pytest.mark.parametrize(
    ("way", "out"),
    [
        ("quoted", '["NaN","Infinity","-Infinity",1.5]'),
        ("bare", "[NaN,Infinity,-Infinity,1.5]"),
        ("null", "[null,null,null,1.5]"),
    ],
)
def test_json_writes_what_is_not_finite_as_asked(way: str, out: str, run: Run) -> None:
    words = ("gather", "4xf32=nan inf -inf 1.5", "0,1,2,3", "--nonfinite", way)
    assert run(*words) == (0, out + "\n", "")
    assert f'"data":{out}' in run(*words, "-f", "oip").out


@pytest.mark.parametrize("fmt", ["json", "oip"])
def test_nonfinite_error_refuses_before_the_first_byte(fmt: str, run: Run, folder: Path) -> None:
    words = ("gather", "3xf32=1 nan inf", "0,1,2", "--nonfinite", "error", "-f", fmt)
    for output in ("-", "x.json"):
        ran = run(*words, "-o", output)
        assert ran.status == 65
        assert "nan at `[1]`" in only_error(ran)
    assert os.listdir(folder) == []
    assert run("gather", "3xf32=1 nan inf", "0,", "--nonfinite", "error").status == 0


@pytest.mark.parametrize(
    ("words", "out", "note"),
    [
        (["2xc64=1+2j 3", "0,"], "[[1.0,2.0]]", "plain JSON cannot carry complex numbers"),
        (["zeros:0x3", "[]"], "[]", "plain JSON cannot carry the shape [0,3]"),
        (["zeros:2x0x3", "[1]"], "[[]]", "plain JSON cannot carry the shape [1,0,3]"),
    ],
)
def test_a_note_recommends_another_format_where_plain_json_loses_something(
    words: list[str], out: str, note: str, run: Run
) -> None:
    ran = run("gather", *words)
    assert (ran.status, ran.out) == (0, out + "\n")
    assert ran.err.startswith(f"note: {note}")
    assert "oip" in ran.err
    assert "npy" in ran.err
    assert run("gather", *words, "-q").err == ""
    assert run("gather", *words, "-f", "oip").err == ""


def test_bfloat16_is_written_as_two_opaque_bytes_with_a_note(run: Run, folder: Path) -> None:
    ran = run("gather", "2xbf16=1 -2", "0,1", "-o", "b.npy")
    assert ran.status == 0
    assert ran.err.startswith("note: bfloat16 is written as <V2")
    assert np.load(folder / "b.npy").view(np.uint16).tolist() == [0x3F80, 0xC000]
    assert run("gather", "b.npy", "1", "--data-dtype", "bfloat16") == (0, "-2.0\n", "")
    refused = run("gather", "b.npy", "1")
    assert refused.status == 65
    assert "--data-dtype bfloat16" in refused.err


def test_floats_are_shown_with_the_precision_asked_for_and_written_whole(run: Run) -> None:
    words = ("gather", "[0.123456789,2]", "0,1")
    assert "0.123457" in run(*words, "-f", "pretty").out
    assert "0.123 " in run(*words, "-f", "pretty", "--precision", "3").out
    assert run(*words, "--precision", "3").out == "[0.123456789,2.0]\n"


def test_full_shows_every_row_and_says_nothing_is_hidden(run: Run) -> None:
    words = ("gather", "arange:2000x3", "arange:2000", "-f", "pretty")
    short, whole = run(*words).out, run(*words, "--full").out
    assert "1 994 of 2 000 rows not shown" in short
    assert "not shown" not in whole
    assert len(whole.splitlines()) > 2000


@pytest.mark.parametrize("shape", ["4000x2", "4000", "2x4000"])
def test_showing_all_of_a_tensor_takes_time_in_proportion_to_its_size(shape: str, run: Run) -> None:
    rows = shape.split("x", maxsplit=1)[0]
    ran = run("gather", f"arange:{shape}", f"arange:{rows}", "-f", "pretty", "--full")
    assert ran.status == 0


# --expect


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("[1,2]", "[1,2]"),
        ("[1,2]", "[1.0,2]"),
        ("[1,2]", "2xi64=1 2"),
        ("2xf32=0.1 2", "[0.1,2]"),
        ("2xbf16=1 2", "1,2"),
        ("[NaN,-0.0]", '["NaN",0]'),
        ("2xc64=nan 1+2j", "2xc64=nan 1+2j"),
        ('["a","b"]', '["a","b"]'),
        ("2xu64=18446744073709551615 0", "[18446744073709551615,0]"),
    ],
)
def test_an_equal_result_is_printed_and_exits_0(data: str, expected: str, run: Run) -> None:
    ran = run("gather", data, "0,1", "--expect", expected)
    assert (ran.status, ran.out) == (0, run("gather", data, "0,1").out)


@pytest.mark.parametrize(
    ("data", "expected", "difference"),
    [
        ("[1,2]", "[1,3]", "has 2 at `[1]`: expected 3 (1 of 2 elements differs)"),
        ("[1,2]", "[0,0]", "has 1 at `[0]`: expected 0 (2 of 2 elements differ)"),
        ("[1,2]", "2xi32=1 2", "is i64[2]: expected i32[2]"),
        ("[1,2]", "[[1,2]]", "is i64[2]: expected i64[1,2]"),
        ("[1,2]", "[1]", "is i64[2]: expected i64[1]"),
        ("[1.5,2]", "[NaN,2]", "has 1.5 at `[0]`: expected nan (1 of 2 elements differs)"),
        ("[true,false]", "[true,true]", "has false at `[1]`: expected true"),
        (
            "[9007199254740993,0]",
            "[9007199254740992,0]",
            "has 9007199254740993 at `[0]`: expected 9007199254740992",
        ),
    ],
)
def test_a_differing_result_is_printed_and_exits_1_with_the_first_difference(
    data: str, expected: str, difference: str, run: Run
) -> None:
    ran = run("gather", data, "0,1", "--expect", expected)
    assert (ran.status, ran.out) == (1, run("gather", data, "0,1").out)
    assert ran.err.startswith(f"error: the result {difference}")
    assert "  openvino.Gather-8   data " in ran.err


@pytest.mark.parametrize(
    ("expected", "words", "status"),
    [
        ("[1,2.1]", [], 1),
        ("[1,2.1]", ["--rtol", "0.1"], 0),
        ("[1,2.1]", ["--atol", "0.11"], 0),
        ("[1,2.1]", ["--rtol", "0.01"], 1),
        ("[1,2.1]", ["--rtol", "0.02", "--atol", "0.06"], 0),
        ("[1,Infinity]", ["--rtol", "1"], 1),
        ("[1,-Infinity]", ["--atol", "1e300", "--rtol", "0.5"], 1),
    ],
)
def test_tolerances_are_relative_and_absolute(
    expected: str, words: list[str], status: int, run: Run
) -> None:
    assert run("gather", "[1.0,2]", "0,1", "--expect", expected, *words).status == status


def test_infinity_is_near_itself_whatever_the_tolerance(run: Run) -> None:
    words = ("gather", "[Infinity,1]", "0,1", "--rtol", "0.1", "--expect")
    assert run(*words, "[Infinity,1.05]").status == 0
    assert run(*words, "[-Infinity,1]").status == 1


def test_a_differing_result_is_still_written(run: Run, folder: Path) -> None:
    assert run("gather", "[1,2]", "0,1", "--expect", "[1,3]", "-o", "x.npy").status == 1
    assert np.load(folder / "x.npy").tolist() == [1, 2]


def test_an_expected_tensor_that_is_not_there_fails_before_the_result_is_out(run: Run) -> None:
    ran = run("gather", "[1,2]", "0,1", "--expect", "nosuch.npy")
    assert ran.status == 66
    assert "`expect`" in only_error(ran)


# shape


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["gather", "[?,1..5,3]", "[?,2]", "-a", "1", "-b", "1"], "[?,2,3]"),
        (["gather", "2x5", "3"], "[3,5]"),
        (["gather", "[N,3]", "[K]"], "[K,3]"),
        (["gather", '["N",2,"1..5","?"]', "[]"], "[2,1..5,?]"),
        (["gather", "[2,_,-1,3..3,0..]", "[]"], "[?,?,3,?]"),
        (["gather", "2", "[]"], "[]"),
        (["gather", "[...]", "[2]"], "[...]"),
        (["gather", "2x1x200", "2x2", "--axis", "unknown", "-b", "1"], "[2,?,?]"),
        (["gather", "2x1x200", "2x2", "--axis", "?"], "[?,?,?,?]"),
        (["gather", "-1,2", "[2]"], "[2,2]"),
        (["gather", "[9223372036854775807,8]", "[1]"], "[1,8]"),
        (["gather", "[[1,2],[3,4]]", "[[0]]"], "[1,1,2]"),
        (["gather", "2x3xf32=0", "[5]"], "[5,3]"),
        (["gather-elements", "[2,3]", "[?,3]", "-a", "0"], "[?,3]"),
        (["gather-elements", "[2,3]", "[4,1]", "-V", "onnx-13"], "[4,1]"),
    ],
)
def test_shape_prints_the_shape_as_text_and_as_json(words: list[str], out: str, run: Run) -> None:
    assert run("shape", *words) == (0, out + "\n", "")
    as_json = run("shape", *words, "-f", "json")
    assert as_json.status == 0
    assert len(as_json.out.splitlines()) == 1
    again = run("shape", "gather", as_json.out.strip(), "[]", "-a", "0")
    assert again.status == (65 if out == "[]" else 0)


def test_shape_writes_json_without_blanks(run: Run) -> None:
    ran = run("shape", "gather", "[N,2,1..5,?]", "[K]", "-a", "3", "-f", "json")
    assert ran == (0, '["N",2,"1..5","K"]\n', "")


def test_shape_shows_the_formula_in_the_pretty_view(run: Run) -> None:
    assert run("shape", "gather", "2x5", "[N]", "-a", "1", "-f", "pretty") == (
        0,
        "openvino.Gather-8   axis 1   batch_dims 0   out[p, i] = data[p, indices[i]]\n"
        "data [2,5]   indices [N]   out [2,N]\n"
        "shape  data[:1] + indices[0:] + data[2:]  =  [2] + [N] + []  =  [2,N]\n",
        "",
    )


def test_shape_reads_a_tensor_file_and_standard_input(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.zeros((4, 3), np.float32))
    assert run("shape", "gather", "a.npy", "[2]") == (0, "[2,3]\n", "")
    assert run("shape", "gather", "-", "[2]", stdin=b"[[1],[2]]") == (0, "[2,1]\n", "")
    assert "f32[4,3]" in run("shape", "gather", "a.npy", "[2]", "-f", "pretty").out


@pytest.mark.parametrize(
    ("words", "status", "rule"),
    [
        (["gather", "[2,3", "[2]"], 65, "shape-text"),
        (["gather", "[5..3]", "[2]"], 65, "shape-text"),
        (["gather", "[9223372036854775808]", "[2]"], 65, "shape-text"),
        (["gather", "[2,3.5]", "[2]"], 65, "shape-text"),
        (["gather", "nosuch.npy", "[2]"], 66, "missing"),
        (["gather", "[2,3]", "2xf32=0"], 65, "indices-dtype"),
        (["gather", "[2,3]", "[1]", "--indices-dtype", "bool"], 65, "indices-dtype"),
        (["gather", "[2,3]", "[1]", "-a", "?", "-V", "onnx-13"], 65, "axis-type"),
        (["gather", "[2,3]", "[1]", "-a", "2"], 65, "axis-range"),
        (["gather", "[]", "[1]"], 65, "data-rank"),
        (["gather-elements", "[2,3]", "[2,3]"], 65, "axis-required"),
        (["gather-elements", "[2,3]", "[2,4]", "-a", "0"], 65, "elements-shape"),
        (["gather-elements", "[2,3]", "[2]", "-a", "0"], 65, "indices-rank"),
        (["gather", "[2,3]", "[3]", "-b", "1", "-a", "1"], 65, "batch-shape"),
        (["gather", "[2,3]", "[3]", "-V", "onnx-0"], 2, "version"),
        (["gather", "[2,3]", "[3]", "--data-dtype", "flot"], 2, "dtype"),
    ],
)
def test_shape_refuses_what_the_operator_would(
    words: list[str], status: int, rule: str, run: Run
) -> None:
    ran = run("shape", *words)
    assert ran.status == status
    only_error(ran)
    assert ran.err.endswith(f"rule: {rule}\n")


def test_an_operator_that_does_not_exist_is_a_usage_error_with_the_nearest_name(run: Run) -> None:
    assert run("shape", "gathr", "[2]", "[2]") == (
        2,
        "",
        "error: no operator `gathr`: expected gather or gather-elements\n"
        "hint: did you mean `gathercli shape gather '[2]' '[2]'`?\n",
    )


# ops, man, completion, help


def test_ops_lists_every_version_and_writes_one_out(run: Run) -> None:
    listing = run("ops")
    assert (listing.status, listing.err) == (0, "")
    names = [line.split()[0] for line in listing.out.split("\n\n")[1].splitlines()]
    assert names == ["version", *map(str, gathercli.OPERATORS)]
    one = run("ops", "openvino.Gather-8")
    assert one.out.startswith("openvino.Gather-8\n")
    assert "zero-filled" in one.out
    assert run("ops", "8") == one
    assert run("ops", "openvino-8", "-f", "pretty").out.startswith("openvino.Gather-8\n")
    assert run("ops", "onnx-12").out.count("\n\n") == 1  # both families have it


def test_ops_writes_json(run: Run) -> None:
    every = json.loads(run("ops", "-f", "json").out)
    assert [op["id"] for op in every] == list(map(str, gathercli.OPERATORS))
    one = json.loads(run("ops", "onnx.Gather-11", "-f", "json").out)
    assert one == next(op for op in every if op["id"] == "onnx.Gather-11")
    assert one["indices_types"] == ["int32", "int64"]


def test_ops_says_that_it_assumed_a_row_for_a_newer_opset(run: Run) -> None:
    ran = run("ops", "onnx-99")
    assert ran.status == 0
    assert "note: onnx opset 99 is newer than " in ran.err


def test_ops_refuses_what_no_version_answers_to(run: Run) -> None:
    ran = run("ops", "onnx.Gather-14")
    assert ran.status == 2
    only_error(ran)
    assert "hint: did you mean `gathercli ops onnx.Gather-1" in ran.err
    assert ran.err.endswith("rule: version\n")


@pytest.mark.parametrize("topic", [[], *([name] for name in COMMANDS)], ids=str)
def test_the_manual_has_a_page_for_every_command(topic: list[str], run: Run) -> None:
    ran = run("man", *topic)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"NAME\n    {'-'.join(['gathercli', *topic])} - ")
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_the_manual_names_the_nearest_command(run: Run) -> None:
    ran = run("man", "shpe")
    assert ran.status == 2
    assert "hint: did you mean `gathercli man shape`?" in ran.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_names_every_command(shell: str, run: Run) -> None:
    ran = run("completion", shell)
    assert (ran.status, ran.err) == (0, "")
    assert all(name in ran.out for name in COMMANDS)
    assert "--out-of-range" in ran.out or "-l out-of-range" in ran.out


def test_another_shell_is_a_usage_error_that_names_the_three(run: Run) -> None:
    for words in (["tcsh"], []):
        ran = run("completion", *words)
        assert ran.status == 2
        line = only_error(ran)
        assert "bash" in ran.err
        assert "fish" in ran.err
        assert "\\x0a" not in line


OPTIONS: Final = {
    "gather": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --output --format --force-format --no-clobber --nonfinite --expect "
        "--rtol --atol --full --precision --color --quiet --json-errors --debug "
        "-a -b -V -o -f -q -h"
    ),
    "shape": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --format --color --quiet --json-errors --debug"
    ),
    "explain": (
        "--job --axis --batch-dims --version --negative --out-of-range --data-dtype "
        "--indices-dtype --max-bytes --window --cell --step --ascii --save --no-clobber --format "
        "--precision --color --quiet --json-errors --debug"
    ),
    "check": (
        "--axis --batch-dims --version --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --all --allow-fill --format --threads --color --quiet --json-errors --debug"
    ),
    "compare": (
        "--axis --batch-dims --ops --negative --out-of-range --data-dtype --indices-dtype "
        "--max-bytes --format --threads --color --quiet --json-errors --debug"
    ),
    "convert": (
        "--to --force-format --directory --dtype --lossy --truncate --data-dtype --max-bytes "
        "--no-clobber --fsync --nonfinite --color --quiet --json-errors --debug"
    ),
    "info": (
        "--header --data-dtype --max-bytes --format --precision --color --quiet --json-errors "
        "--debug"
    ),
    "batch": "--op --data --indices --output --expect --matrix --axis --batch-dims --version "
    "--negative --out-of-range --data-dtype --indices-dtype --rtol --atol --dry-run "
    "--allow-outside --workers --fail-fast --max-failures --retries --timeout --max-bytes "
    "--report --resume --resume-failed --hash --junit --format --color --quiet --json-errors "
    "--debug",
    "demo": "--list --all --color --json-errors --debug",
    "ops": "--diff --like --decisions --format --color --json-errors --debug",
    "man": "--color --json-errors --debug",
    "completion": "--help",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_help_of_a_command_names_its_options_plainly_in_a_pipe(
    command: str, word: str, run: Run
) -> None:
    ran = run(command, word)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: gathercli {command} ")
    assert not re.search("[\x1b\u2500-\u257f]", ran.out)
    of_elements = OPTIONS["gather"].replace("--batch-dims ", "").replace(" -b", "")
    for option in OPTIONS.get(command, of_elements).split():
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", ran.out), option


def test_the_help_of_the_program_names_every_command(run: Run) -> None:
    ran = run("--help")
    assert (ran.status, ran.err) == (0, "")
    assert run("-h") == ran
    assert all(re.search(rf"(?m)^  {name}  ", ran.out) for name in COMMANDS)


def test_help_on_a_terminal_is_the_rich_view(program: Program) -> None:
    script = "import pty,sys; sys.exit(pty.spawn([sys.executable,'-m','gathercli','gather','-h']))"
    ran = program(f'{sys.executable} -c "{script}"')
    assert ran.returncode == 0
    assert "╭─" in ran.stdout.decode()


def test_the_version_of_the_program_is_one_line(run: Run) -> None:
    assert run("--version") == (0, f"gathercli {gathercli.__version__}\n", "")


# Usage errors in whole


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["gathr", "[1]", "0"],
            "error: no command `gathr`\nhint: did you mean `gathercli gather '[1]' 0`?\n",
        ),
        (["nosuch"], "error: no command `nosuch`\nhint: `gathercli --help` lists the commands\n"),
        (
            ["gather", "[1]"],
            "error: `INDICES` is missing: expected DATA and INDICES\n"
            "hint: `gathercli gather '[1]' 0,` is an example, and `-` reads INDICES from "
            "standard input\n",
        ),
        (
            ["gather", "[1]", "0", "x"],
            "error: `x` is one argument too many: expected DATA and INDICES\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "--version"],
            "error: `--version` has no value: expected `--version VERSION`\n"
            "hint: `gathercli --version` prints the program's version; `gathercli ops` lists what "
            "`--version` takes\n",
        ),
        (
            ["gather", "[1]", "0", "-o"],
            "error: `-o` has no value: expected `-o PATH`\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "-f", "xml"],
            "error: `-f` is `xml`: expected auto, pretty, json, oip, npy or literal\n"
            "hint: `gathercli gather --help` lists the options\n",
        ),
        (
            ["gather", "[1]", "0", "--no-clobber=1"],
            "error: `--no-clobber` is given a value, `1`: expected none\n"
            "hint: did you mean `gathercli gather '[1]' 0 --no-clobber`?\n",
        ),
        (
            ["gather", "[1]", "0", "--data-dtype", "flot32"],
            "error: unknown dtype `flot32`: expected one of bool int8 int16 int32 int64 uint8 "
            "uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string, "
            "or one such as float8_e4m3fn, int4\n"
            "hint: did you mean `float32`?\nrule: dtype\n",
        ),
        (
            ["gather", "[1]", "0", "--max-bytes", "1Q"],
            "error: `--max-bytes` is `1Q`: expected a number of bytes, with K, M, G, Ki, Mi or "
            "Gi, or 0 for no limit\nhint: `--max-bytes 4Gi`\n",
        ),
        (
            ["gather", "[1]", "0", "-V", "openvin-8"],
            "error: no version `openvin-8` of gather: expected openvino-8, openvino-7, "
            "openvino-1, onnx-13, onnx-11 or onnx-1\n"
            "hint: did you mean `-V openvino-8`?\nrule: version\n",
        ),
    ],
)
def test_a_usage_error_is_one_message_and_status_2(
    words: list[str], message: str, run: Run
) -> None:
    assert run(*words) == (2, "", message)


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["gather", "[1]", "0", "--axsi", "1"], "--axis"),
        (["gather", "[1]", "0", "--outptu", "x"], "--output"),
        (["gather-element", "[1]", "0"], "gather-elements"),
        (["shap", "gather"], "shape"),
        (["gather", "[1]", "0", "-V", "openvino.Gather-9"], "`-V openvino-9`"),
    ],
)
def test_a_near_miss_names_what_was_probably_meant(words: list[str], near: str, run: Run) -> None:
    ran = run(*words)
    assert ran.status == 2
    only_error(ran)
    assert near in ran.err.replace(words[-1], "")


@pytest.mark.parametrize(
    "words",
    [
        ["--negative", "foo"],
        ["--out-of-range", "foo"],
        ["--nonfinite", "foo"],
        ["--color", "maybe"],
        ["--precision", "0"],
        ["--precision", "x"],
        ["--rtol", "x"],
        ["--max-bytes", "-1"],
        ["--max-bytes", ""],
        ["--max-bytes", "1.5G"],
        ["--indices-dtype", "int65"],
        ["-Z"],
        ["--nosuch"],
    ],
)
def test_a_value_that_an_option_does_not_take_is_a_usage_error(words: list[str], run: Run) -> None:
    ran = run("gather", "[1]", "0", *words)
    assert ran.status == 2
    only_error(ran)


# --json-errors


FAILURES: Final[dict[str, tuple[list[str], int, str]]] = {
    "usage": (["gather", "[1]"], 2, "usage"),
    "command": (["nosuch"], 2, "usage"),
    "option": (["gather", "[1]", "0", "--nosuch"], 2, "usage"),
    "suffix": (["gather", "[1]", "0", "-o", "x.txt"], 2, "usage"),
    "size": (["gather", "[1]", "0", "--max-bytes", "x"], 2, "usage"),
    "twice": (["gather", "-", "-"], 2, "usage"),
    "version": (["gather", "[1]", "0", "-V", "1"], 2, "version"),
    "type": (["gather", "[1]", "0", "--data-dtype", "x"], 2, "dtype"),
    "manual": (["man", "nosuch"], 2, "usage"),
    "ops": (["ops", "nosuch"], 2, "version"),
    "data-dtype": (["gather", "1xbf16=1", "0", "-V", "onnx-1"], 65, "data-dtype"),
    "indices-dtype": (["gather", "[1]", "[0.5]"], 65, "indices-dtype"),
    "data-rank": (["gather", "1", "0"], 65, "data-rank"),
    "indices-rank": (["gather-elements", "[1]", "0", "-a", "0"], 65, "indices-rank"),
    "axis-required": (["gather-elements", "[1]", "[0]"], 65, "axis-required"),
    "axis-type": (["gather", "[1]", "0", "-a", "x"], 65, "axis-type"),
    "axis-range": (["gather", "[1]", "0", "-a", "1"], 65, "axis-range"),
    "unsupported": (["gather", "[1]", "[0]", "-b", "1", "-V", "13"], 65, "batch-dims-unsupported"),
    "batch-range": (["gather", "[1]", "[0]", "-b", "2"], 65, "batch-dims-range"),
    "batch-axis": (["gather", "[1]", "[0]", "-b", "1"], 65, "batch-dims-axis"),
    "batch-shape": (["gather", "zeros:2x2", "[0]", "-b", "1", "-a", "1"], 65, "batch-shape"),
    "elements": (["gather-elements", "[[1]]", "[[0,0]]", "-a", "0"], 65, "elements-shape"),
    "negative": (["gather", "[1]", "[-1]", "--negative", "error"], 65, "index-negative"),
    "range": (["gather", "[1]", "[1]", "-V", "onnx-13"], 65, "index-range"),
    "limit": (["gather", "zeros:99", "0", "--max-bytes", "1"], 65, "limit"),
    "format": (["gather", "-", "0"], 65, "format"),
    "json": (["gather", "[null]", "0"], 65, "json"),
    "ragged": (["gather", "[[1],[]]", "0"], 65, "ragged"),
    "literal": (["gather", "[1", "0"], 65, "literal"),
    "dtype": (["gather", "1xi8=999", "0"], 65, "dtype"),
    "shape": (["shape", "gather", "[", "[1]"], 65, "shape-text"),
    "missing": (["gather", "nosuch.npy", "0"], 66, "missing"),
    "folder": (["gather", ".", "0"], 66, "unreadable"),
    "output": (["gather", "[1]", "0", "-o", "nosuch/x.npy"], 73, "output"),
    "stdout": (["gather", "[1]", "0", "-o", "/dev/full", "-f", "json"], 74, "output"),
    "nonfinite": (["gather", "[NaN]", "0", "--nonfinite", "error"], 65, "json"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_json_errors_are_one_line_with_every_field(failure: str, run: Run) -> None:
    words, status, rule = FAILURES[failure]
    ran = run(*words, "--json-errors")
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.count("\n") == 1
    assert ran.err.isascii()
    fields: dict[str, Any] = json.loads(ran.err)
    assert tuple(fields) == FIELDS
    assert (fields["status"], fields["rule"]) == (status, rule)
    shown = run(*words).err if words else "error: " + fields["error"]
    assert shown.startswith("error: " + fields["error"])


@pytest.mark.parametrize(
    "words",
    [
        ["info", "--", "--json-errors"],
        ["info", "--no-clobber", "--", "--json-errors"],
        ["gather", "[1]", "0", "-o", "--json-errors"],
    ],
    ids=" ".join,
)
def test_a_word_that_is_no_option_does_not_choose_how_a_refusal_is_printed(
    words: list[str], run: Run
) -> None:
    ran = run(*words)

    assert ran.err.startswith("error: ")


def test_a_refusal_is_in_the_colour_that_was_asked_for_last(run: Run) -> None:
    words = ("gather", "[1]", "9", "-V", "onnx-13", "--color", "always")

    assert run(*words).err.startswith("\x1b[")
    assert run(*words, "--color=never").err.startswith("error: ")


def test_the_fields_of_a_refused_index_say_all_the_message_says(run: Run) -> None:
    words = ("gather", "[1,2,3,4,5]", "[3,10,-20]", "-V", "openvino-1")
    assert json.loads(run(*words, "--json-errors").err) == {
        "error": "index 10 at `[1]` is outside axis 0 of `data`, whose size is 5: "
        "expected 0 to 4 (2 of 3 indices)",
        "status": 65,
        "rule": "index-range",
        "operator": "openvino.Gather-1",
        "version_from": None,
        "data": "i64[5]",
        "indices": "i64[3]",
        "where": "[1]",
        "value": 10,
        "expected": "0 to 4",
        "count": 2,
        "hint": "openvino-8 fills such slices with zeros: `-V openvino-8`, "
        "or `--out-of-range zero`",
    }


def test_a_mismatch_is_a_json_error_of_status_1(run: Run) -> None:
    ran = run("gather", "[1,2]", "0,1", "--expect", "[1,3]", "--json-errors")
    assert (ran.status, ran.out) == (1, "[1,2]\n")
    fields = json.loads(ran.err)
    assert tuple(fields) == FIELDS
    assert [fields[name] for name in ("status", "where", "count")] == [1, "[1]", 1]


def test_json_errors_escape_what_a_stranger_wrote(run: Run) -> None:
    ran = run("gather", "\x1b[31m\u202e.npy", "0", "--json-errors")
    assert ran.err.isascii()
    assert json.loads(ran.err)["value"] == "\x1b[31m\u202e.npy"


# What goes to the terminal


@pytest.mark.parametrize("token", ["\x1b[31m.npy", "\x9b31m", "a\u202eb", "x\x07", "\u200b", "a\n"])
def test_no_byte_of_a_name_goes_raw_to_the_terminal(token: str, run: Run) -> None:
    below = f"{token}/x.npy"
    for words in ([token, "0"], ["[1]", token], ["[1]", "0", "-o", below], ["[1]", "0", token]):
        err = run("gather", *words).err
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", err)
        assert err.count("error: ") == 1
        starts = ("error: ", "hint: ", "rule: ", "  ")
        assert all(line.startswith(starts) for line in err.splitlines())


def test_markup_in_a_name_is_text(run: Run) -> None:
    assert "`[/bold].npy`" in run("gather", "@[/bold].npy", "0").err
    assert run("gather", '["[/]","[red]x"]', "0,1", "-f", "pretty").status == 0


def test_a_terminal_gets_the_pretty_view_and_a_pipe_the_list(run: Run) -> None:
    shown = run("gather", "[1,2,3]", "[2,0]", "--color", "never", terminal=(1,))
    assert shown == (0, run("gather", "[1,2,3]", "[2,0]", "-f", "pretty").out, "")
    assert run("gather", "[1,2,3]", "[2,0]", "-f", "json", terminal=(1,)).out == "[3,1]\n"


def test_binary_never_goes_to_a_terminal(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy", terminal=(1,))
    assert ran.status == 2
    assert "binary" in only_error(ran)
    for fd in ("1", "/dev/stdout"):
        name = fd if fd.startswith("/") else f"/dev/fd/{fd}"
        ran = run("gather", "[1,2,3]", "[2,0]", "-f", "npy", "-o", name, terminal=(1,))
        assert ran.status == 2
        assert "binary" in only_error(ran)


def test_a_person_at_a_terminal_is_told_what_was_written(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "[2,0]", "-o", "x.npy", terminal=(2,))
    assert ran == (0, "", "wrote x.npy: i64[2]\n")
    assert run("gather", "[1,2,3]", "[2,0]", "-o", "x.npy", "-q", terminal=(2,)).err == ""


COLORS: Final[list[tuple[list[str], dict[str, str], bool, bool]]] = [
    ([], {}, False, False),
    ([], {}, True, True),
    ([], {"TERM": "dumb"}, True, False),
    ([], {"CLICOLOR": "0"}, True, False),
    ([], {"CLICOLOR": "1"}, False, False),
    ([], {"CLICOLOR_FORCE": "1"}, False, True),
    ([], {"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, False, True),
    ([], {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, False, True),
    ([], {"FORCE_COLOR": "1"}, False, True),
    ([], {"FORCE_COLOR": "1", "CLICOLOR": "0", "TERM": "dumb"}, False, True),
    ([], {"NO_COLOR": "1"}, True, False),
    ([], {"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
    ([], {"NO_COLOR": ""}, True, True),
    (["--color", "always"], {"NO_COLOR": "1"}, False, True),
    (["--color=always"], {"TERM": "dumb"}, False, True),
    (["--color", "never"], {"FORCE_COLOR": "1"}, True, False),
    (["--color", "auto"], {"NO_COLOR": "1"}, True, False),
]


@pytest.mark.parametrize("case", COLORS, ids=str)
def test_colour_is_decided_in_one_order_for_results_errors_and_notes(
    case: tuple[list[str], dict[str, str], bool, bool], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, environment, terminal, colored = case
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fds = (1, 2) if terminal else ()
    shown = run("gather", "[1,2]", "[0,5]", "-f", "pretty", *words, terminal=fds)
    refused = run("gather", "[1,2]", "[0,5]", "-V", "onnx-13", *words, terminal=fds)
    assert (shown.status, refused.status) == (0, 65)
    assert ["\x1b[" in text for text in (shown.out, shown.err, refused.err)] == [colored] * 3


@pytest.mark.parametrize("words", [["ops"], ["ops", "8"], ["man"], ["shape", "gather", "2", "3"]])
def test_other_commands_obey_color_too(words: list[str], run: Run) -> None:
    pretty = ["-f", "pretty"] if words[0] != "man" else []
    assert "\x1b[" in run(*words, *pretty, "--color", "always").out
    assert "\x1b[" not in run(*words, *pretty).out


def test_colour_adds_nothing_that_is_needed_to_understand(run: Run) -> None:
    words = ("gather", "arange:3x3", "[0,9]", "-f", "pretty")
    colored = run(*words, "--color", "always")
    plain = run(*words)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored.out) == plain.out
    assert re.sub(r"\x1b\[[\d;]*m", "", colored.err) == plain.err


def test_nothing_in_a_pipe_is_cut_to_a_width_but_to_columns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("gather", "arange:1x30", "0,", "-f", "pretty")

    whole = run(*words).out
    monkeypatch.setenv("COLUMNS", "40")
    cut = run(*words).out
    as_json = run("gather", "[1]", "arange:9x9", "-q").out

    assert " 29\n" in whole
    assert "not shown" not in whole
    assert "   0  1  2  3  4     25  26  27  28  29\n" in cut
    assert "\n20 of 30 columns not shown;\n" in cut
    assert len(as_json.splitlines()) == 1


@pytest.mark.parametrize(
    "columns", ["", "0", "-3", "wide", "9" * 5000, "\N{ARABIC-INDIC DIGIT NINE}x"]
)
def test_columns_that_are_no_number_are_not_heeded(
    run: Run, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("gather", "arange:1x30", "0,", "-f", "pretty")
    plain = run(*words)

    monkeypatch.setenv("COLUMNS", columns)

    assert run(*words) == plain
    assert run(*words, "--color", "never", terminal=(1,)).status == 0


def test_errors_and_notes_break_between_words_on_a_terminal_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ("gather", "[1,2]", "5,", "-V", "onnx-13", "--color", "never")
    filled = ("gather", "[1,2]", "0,5,-9", "--color", "never")
    monkeypatch.setenv("COLUMNS", "60")

    piped, noted = run(*refused).err, run(*filled).err
    error, note = run(*refused, terminal=(2,)).err, run(*filled, terminal=(2,)).err

    assert [line[:5] for line in piped.splitlines()] == ["error", "  onn", "hint:", "rule:"]
    assert noted.count("\n") == 1
    assert error.split() == piped.split()
    assert note.split() == noted.split()
    assert max(map(len, error.splitlines())) <= 60 < max(map(len, piped.splitlines()))
    assert max(map(len, note.splitlines())) <= 60 < len(noted)


# Limits


@pytest.mark.parametrize(
    ("size", "status"),
    [
        ("0", 0),
        ("8000", 0),
        ("7999", 65),
        ("8K", 0),
        ("7K", 65),
        ("8Ki", 0),
        ("1M", 0),
        ("1Mi", 0),
        ("1G", 0),
        ("1Gi", 0),
    ],
)
def test_max_bytes_takes_sizes_with_units_and_limits_what_is_held(
    size: str, status: int, run: Run
) -> None:
    ran = run("gather", "zeros:1000", "0", "--max-bytes", size)
    assert ran.status == status
    if status:
        assert "takes 8000 bytes: expected at most" in only_error(ran)
        assert "`--max-bytes 0` lifts the limit" in ran.err
        assert ran.err.endswith("rule: limit\n")


def test_max_bytes_limits_standard_input_files_members_and_the_result(
    run: Run, folder: Path
) -> None:
    np.save(folder / "a.npy", np.zeros(1000))
    np.savez_compressed(folder / "a.npz", a=np.zeros(1000))
    (folder / "a.json").write_text(json.dumps([0] * 1000))
    limit = ("--max-bytes", "1K")
    assert run("gather", "a.npy", "0", *limit).status == 0  # mapped, not held
    for token, stdin in (("a.npz", b""), ("a.json", b""), ("-", b" " * 2000 + b"[1]")):
        ran = run("gather", token, "0", *limit, stdin=stdin)
        assert ran.status == 65
        assert ran.err.endswith("rule: limit\n")
    ran = run("gather", "a.npy", "zeros:129", *limit, "--data-dtype", "f64")
    assert ran.status == 65
    assert "expected at most 1000" in only_error(ran)


def test_a_result_too_large_is_refused_before_it_is_allocated(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.zeros((0, 1 << 33), np.int8))
    ran = run("gather", "a.npy", "[0,0,0]", "-f", "npy")
    assert ran.status == 65
    assert ran.err.endswith("rule: limit\n")


# Notes


@pytest.mark.parametrize("name", ["-q", "--quiet"])
def test_quiet_silences_notes_but_no_error(name: str, run: Run) -> None:
    assert run("gather", "[1,2]", "[9]", name) == (0, "[0]\n", "")
    assert run("gather", "[1,2]", "[9]", name, "-V", "onnx-13").err.startswith("error: ")


def test_a_negative_index_wrapped_by_an_option_is_noted_and_one_the_version_counts_is_not(
    run: Run,
) -> None:
    assert run("gather", "[1,2]", "[-1]").err == ""
    assert run("gather", "[1,2]", "[-1]", "-V", "onnx-13").err == ""
    wrapped = run("gather", "[1,2]", "[-1]", "-V", "openvino-7", "--negative", "wrap")
    assert wrapped.err.startswith("note: 1 of 1 index ")


# What nobody should see


def test_a_bug_is_status_70_without_a_traceback_unless_debug(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gathercli.arrays.run.run", broken)
    ran = run("gather", "[1]", "0")
    assert ran.status == 70
    assert only_error(ran) == "error: a bug in gathercli: ZeroDivisionError: oops"
    shown = run("gather", "[1]", "0", "--debug")
    assert shown.status == 70
    assert "Traceback" in shown.err
    assert "broken" in shown.err


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_running_out_of_memory_or_stack_is_a_limit(
    error: type[Exception], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("gathercli.arrays.run.run", broken)
    ran = run("gather", "[1]", "0")
    assert ran.status == 65
    assert ran.err.endswith("rule: limit\n")


def test_debug_shows_the_traceback_of_a_refusal(run: Run) -> None:
    ran = run("gather", "nosuch.npy", "0", "--debug")
    assert ran.status == 66
    assert "Traceback" in ran.err
    assert "error: `data`: there is no file `nosuch.npy`" in ran.err


# Processes: pipes, signals, closed streams, what is imported


def imported(program: Program, *words: str) -> set[str]:
    """Return the names of the top-level packages that a command imports."""
    script = (
        "import sys; from gathercli.cli.main import main; status = main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(status)"
    )
    ran = program(" ".join([sys.executable, "-c", f'"{script}"', *(f"'{word}'" for word in words)]))
    assert ran.returncode == 0, ran.stderr
    return {name.split(".")[0] for name in ran.stderr.decode().split()}


@pytest.mark.parametrize(
    "words", [["--version"], ["completion", "bash"], ["completion", "fish"]], ids=" ".join
)
def test_the_version_and_completion_import_neither_numpy_nor_typer(
    words: list[str], program: Program
) -> None:
    assert not imported(program, *words) & {"numpy", "typer", "rich", "ml_dtypes"}


@pytest.mark.parametrize(
    "words",
    [
        ["shape", "gather", "[N,3]", "[2]"],
        ["shape", "gather-elements", "2x3", "2x3", "-a", "0", "-f", "json"],
        ["ops"],
        ["ops", "--diff", "openvino-8", "onnx-13"],
        ["ops", "--like", "torch.gather"],
        ["ops", "--decisions"],
        ["man", "gather"],
        ["gather", "--help"],
    ],
    ids=" ".join,
)
def test_shapes_and_texts_need_no_numpy(words: list[str], program: Program) -> None:
    assert not imported(program, *words) & {"numpy", "ml_dtypes"}


def test_a_reader_that_goes_away_is_141_without_a_word(program: Program) -> None:
    for fmt in ("json", "npy", "literal"):
        line = (
            f"$G gather arange:100000 arange:100000 -f {fmt} | head -c 1; exit ${{PIPESTATUS[0]}}"
        )
        ran = program(line)
        assert (ran.returncode, len(ran.stdout), ran.stderr) == (141, 1, b"")


@pytest.mark.parametrize(
    "words",
    [
        "gather '[1]' 0",
        "gather '[1]' 0 -f npy",
        "--version",
        "--help",
        "gather -h",
        "man",
        "ops",
        "completion bash",
        "shape gather 2x3 2",
    ],
)
@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
def test_a_stdout_that_cannot_be_written_is_74_with_one_error(
    words: str, redirection: str, program: Program
) -> None:
    ran = program(f"$G {words} {redirection}")
    assert (ran.returncode, ran.stdout) == (74, b"")
    assert ran.stderr.startswith(b"error: ")
    assert b"a bug in" not in ran.stderr
    assert ran.stderr.endswith(b"rule: output\n")


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
def test_a_note_that_nobody_can_read_does_not_fail_a_run_that_is_done(
    redirection: str, program: Program
) -> None:
    ran = program(f"$G gather '[1]' 9 {redirection}")
    assert (ran.returncode, ran.stdout) == (0, b"0\n")


def test_an_error_that_nobody_can_read_keeps_its_status(program: Program) -> None:
    for redirection in ("2>&-", "2> /dev/full", ">&- 2>&-"):
        assert program(f"$G gather '[1]' 9 -V onnx-13 {redirection}").returncode == 65


def test_a_closed_standard_input_is_no_tensor(program: Program) -> None:
    ran = program("$G gather - 0 <&-")
    assert ran.returncode in (65, 66)
    assert ran.stdout == b""


def test_process_substitution_serves_as_a_file(program: Program) -> None:
    ran = program("$G gather <(printf '[5,6,7]') <(printf '2,')")
    assert ran.stdout == b"[7]\n"
    assert ran.returncode == 0


def test_the_output_dev_stdout_is_the_stream_that_stdout_is(program: Program, folder: Path) -> None:
    ran = program(
        "(echo first; $G gather '[7]' 0 -o /dev/stdout -f json; echo last) > x; cat x; "
        "echo more > y; $G gather '[7]' 0 -o /dev/stdout -f json >> y; cat y"
    )
    assert ran.stdout == b"first\n7\nlast\nmore\n7\n"
    assert sorted(os.listdir(folder)) == ["x", "y"]


def waiting(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the program and return once it has read the first byte of its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gathercli", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None
    process.stdin.write(b"[")
    process.stdin.flush()
    for _ in range(1000):
        left = fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0\0\0\0")
        if struct.unpack("i", left) == (0,):
            break
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_while_reading_ends_the_run_silently_and_leaves_nothing(
    number: signal.Signals, status: int, folder: Path
) -> None:
    with waiting(folder, "gather", "-", "0", "-o", "x.npy") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (status, b"", b"")
    assert os.listdir(folder) == []


def test_the_module_is_the_program(program: Program) -> None:
    beside = os.path.join(sysconfig.get_path("scripts"), "gathercli")
    script = program(f"{beside} ops")
    module = program("ops", "-f", "auto")
    assert (script.stdout, script.returncode) == (module.stdout, module.returncode)


# What a first reading by strangers found


def test_text_that_is_large_is_written_block_by_block(run: Run) -> None:
    ran = run("gather", "zeros:1x400000xu8", "0,0", "-q")
    assert ran.out == "[" + ",".join(["[" + ",".join("0" * 400_000) + "]"] * 2) + "]\n"


def test_a_tolerance_does_not_reach_infinity(run: Run) -> None:
    assert run("gather", "[1.0]", "[0]", "--expect", '["Infinity"]', "--rtol", "0.1").status == 1


def test_integers_are_compared_exactly_beside_a_tolerance(run: Run) -> None:
    words = ("gather", "9007199254740993,", "0,", "--expect", "9007199254740992,")
    assert run(*words, "--atol", "0.5").status == 1
    assert run(*words, "--atol", "1").status == 0


def test_an_expectation_the_type_cannot_hold_is_a_no_after_the_result(run: Run) -> None:
    ran = run("gather", "[1,2]", "[0]", "--expect", "[1.5]")
    assert (ran.status, ran.out) == (1, "[1]\n")
    assert "rule: expect" in ran.err


@pytest.mark.parametrize("tolerance", ["nan", "inf"])
def test_a_tolerance_is_a_finite_number(tolerance: str, run: Run) -> None:
    ran = run("gather", "[1]", "0", "--expect", "1", "--rtol", tolerance)
    assert (ran.status, ran.out) == (2, "")


def test_a_mismatch_is_the_only_line_of_json_errors(run: Run) -> None:
    ran = run("gather", "1,2,3", "0,9", "--expect", "1,5", "--json-errors")
    assert json.loads(ran.err)["rule"] == "expect"


def test_a_sparse_file_is_refused_by_its_first_bytes(run: Run, folder: Path) -> None:
    with (folder / "s.bin").open("wb") as file:
        file.truncate(3 << 30)
    ran = run("gather", "s.bin", "0")
    assert ran.status == 65
    assert "starts with the bytes 00 00" in ran.err


def test_a_member_s_header_alone_gives_a_shape(run: Run, folder: Path) -> None:
    np.savez_compressed(folder / "x.npz", np.zeros((2, 3)))
    assert run("shape", "gather", "x.npz", "[4]") == (0, "[4,3]\n", "")


def test_a_declared_type_does_not_hide_what_a_header_says(run: Run, folder: Path) -> None:
    np.save(folder / "d.npy", np.zeros(2, bool))
    assert run("shape", "gather", "[3]", "d.npy", "--indices-dtype", "int64").status == 65


def test_a_shape_beside_a_file_of_its_name_says_so(run: Run, folder: Path) -> None:
    (folder / "2x3").touch()
    ran = run("shape", "gather", "2x3", "[1]")
    assert (ran.out, ran.err) == (
        "[1,3]\n",
        "note: `2x3` was read as a shape; the file of that name is `@2x3`\n",
    )


def test_a_request_without_tensors_holds_nothing(run: Run) -> None:
    ran = run("gather", "-", "0", stdin=b'{"inputs":[]}')
    assert (ran.status, ran.out) == (65, "")
    assert "the document holds nothing" in ran.err


def test_a_device_takes_the_format_of_a_pipe(run: Run) -> None:
    assert run("gather", "[7]", "0", "-o", "/dev/stdout") == (0, "7\n", "")


def test_what_a_stranger_made_long_is_cut(run: Run) -> None:
    ran = run("gather", "a" * 100_000, "0")
    assert ran.status == 66
    assert len(ran.err) < 5000


def test_the_version_stands_alone(run: Run) -> None:
    assert run("--version", "x").status == 2


@pytest.mark.parametrize("name", ["gather", "gather-elements"])
def test_the_help_line_of_an_operator_names_its_versions(name: str) -> None:
    rows = FAMILIES[name].ROWS
    for framework, shown in (("openvino", "OpenVINO"), ("onnx", "ONNX")):
        numbers = sorted(op.version for op in rows if op.framework == framework)
        assert f"{shown} {', '.join(map(str, numbers))}" in COMMANDS[name].help


def test_a_suffix_is_refused_before_anything_is_read(run: Run) -> None:
    assert run("gather", "missing.npy", "0", "-o", "x.txt").status == 2


def test_what_another_program_read_of_standard_input_is_left_out(
    program: Program, folder: Path
) -> None:
    np.save(folder / "x.npy", np.array([7, 5]))
    (folder / "both").write_bytes(b"a line\n" + (folder / "x.npy").read_bytes())
    assert program("{ read -r _; $G gather - 1; } < both").stdout == b"5\n"


def test_two_members_of_a_redirected_archive_are_read(program: Program, folder: Path) -> None:
    np.savez(folder / "x.npz", d=np.array([7, 5]), i=np.array([1]))
    assert program("$G gather -#d -#i < x.npz").stdout == b"[5]\n"


EACH_COMMAND: Final = """
gather [1,2,3] [0,-1]
gather-elements [[1,2],[3,4]] [[0,0]] --axis 0
shape gather [2,?] 2x3
explain gather [1,2,3] [0,9]
check gather [1,2,3] [0,9]
compare [1,2,3] [0,9]
batch jobs.jsonl -q
convert [1,2] -
info [1,2]
ops openvino-8
demo
man ops
completion bash
--help
gather --help
gather [1,2,3] [0,9] -V onnx-13
"""


def test_every_command_is_the_same_without_docstrings_and_assertions(
    program: Program, folder: Path
) -> None:
    (folder / "jobs.jsonl").write_text('{"id":"a","op":"gather","data":[1],"indices":[0]}\n')
    (folder / "each.py").write_text(
        "from gathercli.cli import main\n"
        f"for line in {EACH_COMMAND.split(chr(10))[1:-1]}:\n"
        "    print(line, main(line.split()), flush=True)\n"
    )
    lines = [line.split()[0] for line in EACH_COMMAND.splitlines()[1:]]
    assert set(COMMANDS) <= set(lines)

    plain, *others = (
        program(f"{sys.executable} {option} each.py 2>&1") for option in ("", "-O", "-OO")
    )

    text = re.sub(rb'"seconds": ?[0-9.e-]+', b"", plain.stdout)
    assert len(re.findall(rb"(?m) (?:0|1|65)$", text)) >= len(lines)
    for each in others:
        assert re.sub(rb'"seconds": ?[0-9.e-]+', b"", each.stdout) == text
