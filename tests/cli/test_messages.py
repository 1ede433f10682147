"""Errors and notes: JSON errors, quiet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.hostile.judge import FIELDS

if TYPE_CHECKING:
    from tests.conftest import Run


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
    assert list(fields) == FIELDS
    assert (fields["status"], fields["rule"]) == (status, rule)
    text = run(*words).err if words else "error: " + fields["error"]
    assert text.startswith("error: " + fields["error"])


@pytest.mark.parametrize(
    "words",
    [
        ["info", "--", "--json-errors"],
        ["info", "--no-clobber", "--", "--json-errors"],
        ["gather", "[1]", "0", "-o", "--json-errors"],
    ],
    ids=" ".join,
)
def test_an_argument_named_json_errors_is_not_the_option(words: list[str], run: Run) -> None:
    ran = run(*words)

    assert ran.err.startswith("error: ")


def test_the_last_color_option_colours_a_refusal(run: Run) -> None:
    words = ("gather", "[1]", "9", "-V", "onnx-13", "--color", "always")

    assert run(*words).err.startswith("\x1b[")
    assert run(*words, "--color=never").err.startswith("error: ")


def test_the_json_error_of_an_index_has_every_part_of_the_message(run: Run) -> None:
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
    assert list(fields) == FIELDS
    assert [fields[name] for name in ("status", "where", "count")] == [1, "[1]", 1]


def test_json_errors_escape_control_characters(run: Run) -> None:
    ran = run("gather", "\x1b[31m\u202e.npy", "0", "--json-errors")

    assert ran.err.isascii()
    assert json.loads(ran.err)["value"] == "\x1b[31m\u202e.npy"


@pytest.mark.parametrize("name", ["-q", "--quiet"])
def test_quiet_silences_notes_but_no_error(name: str, run: Run) -> None:
    assert run("gather", "[1,2]", "[9]", name) == (0, "[0]\n", "")
    assert run("gather", "[1,2]", "[9]", name, "-V", "onnx-13").err.startswith("error: ")


def test_a_note_counts_negative_indices_wrapped_by_an_option_but_not_by_the_version(
    run: Run,
) -> None:
    assert run("gather", "[1,2]", "[-1]").err == ""
    assert run("gather", "[1,2]", "[-1]", "-V", "onnx-13").err == ""
    wrapped = run("gather", "[1,2]", "[-1]", "-V", "openvino-7", "--negative", "wrap")
    assert wrapped.err.startswith("note: 1 of 1 index ")


def test_a_mismatch_is_the_only_line_of_json_errors(run: Run) -> None:
    ran = run("gather", "1,2,3", "0,9", "--expect", "1,5", "--json-errors")

    assert json.loads(ran.err)["rule"] == "expect"


def test_a_long_argument_is_cut_in_the_message(run: Run) -> None:
    ran = run("gather", "a" * 100_000, "0")

    assert ran.status == 66
    assert len(ran.err) < 5000


def test_the_json_error_of_text_that_ends_early_has_no_value(run: Run) -> None:
    error = json.loads(run("gather", "[1,", "0", "--json-errors").err)

    assert " at the end of the text: " in error["error"]
    assert error["value"] is None


def test_a_usage_error_in_json_names_value_and_expectation(run: Run) -> None:
    fields = json.loads(run("gather", "[1]", "0", "-f", "jsn", "--json-errors").err)

    assert (fields["value"], fields["expected"]) == (
        "jsn",
        "auto, pretty, json, oip, npy or literal",
    )
    assert fields["hint"] == "did you mean `gathercli gather '[1]' 0 -f json --json-errors`?"
