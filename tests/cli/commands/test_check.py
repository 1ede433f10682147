"""`check`: illegal indices, the verdict of every version, warnings, the status."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gathercli.ops import OPERATORS
from tests.io.test_stream import anonymous, runs_with

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


every_row = pytest.mark.parametrize("op", OPERATORS, ids=str)


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


@pytest.mark.parametrize(
    ("version", "options", "fate"),
    [
        ("openvino-7", ["--out-of-range", "nan"], "filled with NaN"),
        ("jax.numpy.take", [], "filled with NaN or an extreme of the type"),
        ("coreml-ios17", [], "undefined"),
        ("torch", [], "refused"),
    ],
)
def test_each_illegal_index_has_its_fate(
    version: str, options: list[str], fate: str, run: Run
) -> None:
    ran = run("check", "gather", "1.5,2,3", "0,9", "-a", "0", "-V", version, *options)

    assert ran.status == 1
    assert f"\n[1]      9  {fate}\n" in ran.out


def test_a_call_that_broadcasts_takes_small_indices(run: Run) -> None:
    words = ["arange:3x2", "[[0],[1]]", "-a", "0", "-V", "torch.take_along_dim"]

    ran = run("check", "gather-elements", *words)

    assert ran.out.endswith("torch.take_along_dim may take that, openvino-6 not\n")


def test_a_call_that_cuts_a_type_takes_it(run: Run) -> None:
    ran = run("check", "gather", "1.5,2", "0,1", "-a", "0", "-V", "coreml-ios17")

    assert ran.out.endswith("coreml.gather-ios17  fine, as float32\n")
