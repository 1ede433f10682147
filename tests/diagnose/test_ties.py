"""Explanations that tie are told apart by a call that is written out."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import numpy as np

import gathercli

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

TIED = ("diagnose", "gather", "1,2,3,4,5", "3,10,-20", "4,5,1", "-a", "0")


def test_the_call_tells_clamping_from_clamping_after_wrapping(run: Run) -> None:
    report = json.loads(run(*TIED, "--suggest", "-f", "json").out)

    call = report["suggestion"]
    _, op, data, indices, *options = shlex.split(call["command"])
    elements, k = gathercli.load(data), gathercli.load(indices)
    clamped = elements[np.clip(k, 0, 4)]
    wrapped = elements[np.clip(np.where(k < 0, k + 5, k), 0, 4)]
    assert op == "gather"
    assert call["groups"] == report["tied"] == 2
    for right, values in zip((clamped, wrapped), call["values"], strict=True):
        assert [str(right[tuple(at)]) for at in call["cells"]] == values
    assert run("check", op, data, indices, *options, "--allow-fill").status == 0


def test_the_text_writes_the_call_and_what_its_cells_hold(run: Run) -> None:
    out = run(*TIED, "--suggest").out
    said = gathercli.diagnose("gather", [1, 2, 3, 4, 5], [3, 10, -20], [4, 5, 1], suggest=True)

    *_, call, clamped, wrapped = out.splitlines()
    assert call.startswith("this call tells them apart: gathercli gather 5xi64=1,2,3,4,5 3xi64=")
    assert clamped.endswith(": indices are clamped to the axis, negative ones to 0")
    assert clamped.split(":")[0] != wrapped.split(":")[0]
    assert said.suggestion is not None
    assert said.suggestion.command in out


def test_what_does_the_same_to_every_call_is_said_to_be_one_group() -> None:
    data = np.arange(12.0).reshape(4, 3)
    indices = [1, 3, 0, 2]

    report = gathercli.diagnose("gather", data, indices, data[indices[::-1]], suggest=True)

    assert len(report.explanations) >= report.tied >= 2
    assert report.suggestion is None or report.suggestion.groups < report.tied


def test_strings_trees_and_tuples_are_drawn_too() -> None:
    words = ["a", "b", "c", "d"]
    gather = gathercli.diagnose("gather", words, [3, 6, -9], ["d", "d", "a"], suggest=True)
    tuples = gathercli.diagnose(
        "gather-nd", [[1, 2], [3, 4]], [[1, 5], [0, -7]], [4, 1], suggest=True
    )

    for report in (gather, tuples):
        assert report.tied > 1
        assert report.suggestion is not None
        assert len(report.suggestion.values) == report.tied


def test_no_call_is_looked_for_unless_asked(run: Run) -> None:
    assert json.loads(run(*TIED, "-f", "json").out)["suggestion"] is None


def test_the_picture_marks_the_wrong_cells(run: Run, folder: Path) -> None:
    data = np.arange(28.0).reshape(7, 4)
    wrong = data[[1, 6, 5]]
    wrong[1:, 1:] = 0
    np.save(folder / "wrong.npy", wrong)
    words = ("diagnose", "gather", "arange:7x4xf64", "1,6,5", "wrong.npy", "-a", "0")

    done = run(*words, "--save", "where.svg", "--save", "where.txt")

    svg = (folder / "where.svg").read_text()
    assert svg.count('class="cell small refused"') == 6
    assert svg.count('class="cell small"') == 6
    assert (folder / "where.txt").read_text() == done.out


def test_a_large_output_is_drawn_in_bins(run: Run, folder: Path) -> None:
    data = np.arange(400.0).reshape(100, 4)
    indices = np.arange(5000) % 100
    wrong = data[indices]
    wrong[2500:] = -1
    for name, array in (("data", data), ("indices", indices), ("wrong", wrong)):
        np.save(folder / f"{name}.npy", array)

    run("diagnose", "gather", "data.npy", "indices.npy", "wrong.npy", "--save", "where.svg")

    svg = (folder / "where.svg").read_text()
    assert svg.count('class="bin illegal"') == 64
    assert "few wrong" in svg
