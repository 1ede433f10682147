"""The options of the operator: axis, batch_dims, versions, policies; and the limits of memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.conftest import only_error
from tests.rows import VERSIONS, newest

if TYPE_CHECKING:
    from tests.conftest import Run


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
def test_each_batch_is_gathered_by_its_own_indices(name: str, number: str, run: Run) -> None:
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
    assert ran.err.endswith(f"{newest('onnx').replace('-', '.Gather-')} was assumed\n")


def test_a_bare_1_is_refused_naming_both_frameworks(run: Run) -> None:
    ran = run("gather", "[1,2,3]", "0", "-V", "1")

    assert ran == (
        2,
        "",
        "error: no version `1` of gather (openvino-1 and onnx-1 both have it): expected "
        f"{VERSIONS['gather']}\n"
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
        ("gather", "torch-2", "expected torch.index_select"),
        ("gather", "mxnet", "expected openvino-8"),
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
def test_the_option_negative_decides_about_negative_indices(
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
def test_the_option_out_of_range_adjusts_indices_outside_and_counts_them(
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
def test_clamp_and_wrap_refuse_an_index_on_an_empty_axis(policy: str, run: Run) -> None:
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
