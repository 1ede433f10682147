from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gathercli.errors import AxisError, GatherError, OutOfRangeError, UsageError
from gathercli.report.words import error_json, error_text, note_text
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import FLOAT64, INT64, DType
from gathercli.spec.shapes import Dim, Shape, parse
from tests.hostile.judge import FIELDS


def operand(sizes: str, dtype: DType | None = None) -> str:
    return Operand(parse(f"[{sizes}]"), dtype).described()


def refused() -> AxisError:
    error = AxisError(
        "is 3, but `data` has rank 2",
        rule="axis-range",
        subject="axis",
        value=3,
        expected="-2 to 1",
        hint="the last dimension is `--axis -1`",
    )
    error.add_call(
        "openvino.Gather-8", {"data": operand("2,5", INT64), "indices": operand("3", INT64)}
    )
    return error


def read(line: str) -> dict[str, Any]:
    """Read one line of JSON as strict readers do."""
    assert line.endswith("\n")
    assert line.count("\n") == 1
    found = json.loads(line, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


# text


def test_a_refusal_is_the_message_the_call_the_hint_and_the_rule() -> None:
    assert error_text(refused(), color=False) == (
        "error: `axis` is 3, but `data` has rank 2: expected -2 to 1\n"
        "  openvino.Gather-8   data i64[2,5]   indices i64[3]\n"
        "hint: the last dimension is `--axis -1`\n"
        "rule: axis-range\n"
    )


def test_colour_marks_the_first_words_and_the_rule() -> None:
    assert error_text(refused(), color=True) == (
        "\x1b[1;31merror:\x1b[0m `axis` is 3, but `data` has rank 2: expected -2 to 1\n"
        "  openvino.Gather-8   data i64[2,5]   indices i64[3]\n"
        "\x1b[36mhint:\x1b[0m the last dimension is `--axis -1`\n"
        "\x1b[2mrule: axis-range\x1b[0m\n"
    )


def test_a_refusal_outside_a_call_has_no_call() -> None:
    error = GatherError("there is no file", rule="missing")
    assert error_text(error, color=False) == "error: there is no file\nrule: missing\n"


def test_a_call_without_inputs_is_its_version() -> None:
    error = GatherError("no", rule="json")
    error.add_call("onnx.Gather-13", {})
    assert error_text(error, color=False) == "error: no\n  onnx.Gather-13\nrule: json\n"


def test_a_call_without_indices_names_the_data() -> None:
    error = GatherError("no", rule="json")
    error.add_call("onnx.Gather-13", {"data": operand("2", FLOAT64)})
    assert "\n  onnx.Gather-13   data f64[2]\n" in error_text(error, color=False)


def test_an_error_keeps_its_first_call() -> None:
    error = refused()
    error.add_call("onnx.Gather-1", {"data": operand("9"), "indices": operand("9")})
    assert "openvino.Gather-8" in error_text(error, color=False)


def test_a_usage_error_names_no_rule() -> None:
    error = UsageError("no such option: --x", rule="usage", hint="`gathercli --help`")
    assert error_text(error, color=False) == (
        "error: no such option: --x\nhint: `gathercli --help`\n"
    )


def test_lines_break_between_words_and_never_in_what_is_quoted() -> None:
    error = UsageError(
        "`--cell` is `9,9`, but the output has shape [3]: expected 0 to 2",
        rule="cell",
        hint="the last is `gathercli explain gather '[1, 2, 3]' 0,1,2 --cell 2`, from 0 on",
    )
    inputs = {"data": operand("3", FLOAT64), "indices": operand("3", FLOAT64)}
    error.add_call("openvino.Gather-8", inputs)

    assert error_text(error, color=False, width=44) == (
        "error: `--cell` is `9,9`, but the output has\n"
        "       shape [3]: expected 0 to 2\n"
        "  openvino.Gather-8   data f64[3]\n"
        "  indices f64[3]\n"
        "hint: the last is\n"
        "      `gathercli explain gather '[1, 2, 3]' 0,1,2 --cell 2`,\n"
        "      from 0 on\n"
        "rule: cell\n"
    )


@pytest.mark.parametrize("width", [1, 10, 30, 80, 200])
@pytest.mark.parametrize("color", [True, False])
def test_folded_lines_say_what_the_whole_lines_say(*, width: int, color: bool) -> None:
    whole = error_text(refused(), color=color)
    folded = error_text(refused(), color=color, width=width)

    assert folded.split() == whole.split()
    if width >= max(len(line) for line in error_text(refused(), color=False).splitlines()):
        assert folded == whole


def test_wide_characters_take_two_columns_of_a_line() -> None:
    note = note_text("\N{CJK UNIFIED IDEOGRAPH-6F22}" * 5 + " and more", color=False, width=20)

    assert note == f"note: {chr(0x6F22) * 5} and\n      more\n"


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("two\nlines", "two\\x0alines"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\udc80", "\\x80"),
        ("\x9b31m", "\\x9b31m"),
    ],
    ids=ascii,
)
def test_what_strangers_wrote_is_escaped_in_every_line(raw: str, safe: str, *, color: bool) -> None:
    error = GatherError(f"message {raw}", rule="npy", hint=f"hint {raw}")
    error.add_call(f"row {raw}", {"data": Operand(Shape([Dim(name=f"N {raw}")])).described()})
    text = error_text(error, color=color)
    assert text.count(safe) == 4
    assert raw not in text
    assert len(text.splitlines()) == 4


# JSON


def test_json_has_every_field_in_its_order() -> None:
    line = error_json(refused())
    assert list(read(line)) == FIELDS
    assert read(line) == {
        "error": "`axis` is 3, but `data` has rank 2: expected -2 to 1",
        "status": 65,
        "rule": "axis-range",
        "operator": "openvino.Gather-8",
        "version_from": None,
        "data": "i64[2,5]",
        "indices": "i64[3]",
        "where": None,
        "value": 3,
        "expected": "-2 to 1",
        "count": None,
        "hint": "the last dimension is `--axis -1`",
    }


def test_json_of_a_refusal_that_knows_little_has_every_field_too() -> None:
    found = read(error_json(UsageError("no", rule="usage")))
    assert list(found) == FIELDS
    assert (found.pop("error"), found.pop("status"), found.pop("rule")) == ("no", 2, "usage")
    assert set(found.values()) == {None}


def test_json_names_the_first_offender_and_how_many_there_are() -> None:
    error = OutOfRangeError("no", rule="index-range", where="[1]", value=10, count=2)
    found = read(error_json(error))
    assert (found["where"], found["value"], found["count"]) == ("[1]", 10, 2)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, True),
        (-(2**63), -(2**63)),
        (0.5, 0.5),
        ("\x1b", "\x1b"),
        ((1, 2), "(1, 2)"),
        (np.int64(7), "7"),
        (Ellipsis, "Ellipsis"),
    ],
    ids=str,
)
def test_json_keeps_plain_values_and_writes_the_others_as_text(
    value: object, written: object
) -> None:
    assert read(error_json(GatherError("no", rule="dtype", value=value)))["value"] == written


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
def test_json_of_a_value_that_is_no_finite_number_is_json(value: float) -> None:
    assert isinstance(read(error_json(GatherError("no", rule="dtype", value=value)))["value"], str)


def test_json_is_one_line_of_ascii_whatever_is_in_it() -> None:
    error = GatherError("a\nb \u202e \x9b \udc80 é", rule="npy", hint="\r\n")
    line = error_json(error)
    assert line.isascii()
    assert "\r" not in line
    assert read(line)["error"] == "a\nb \u202e \x9b \udc80 é"


# notes


def test_a_note_is_one_line() -> None:
    assert note_text("2 of 3 indices", color=False) == "note: 2 of 3 indices\n"


def test_a_note_in_colour_marks_its_first_word() -> None:
    assert note_text("2 of 3", color=True) == "\x1b[33mnote:\x1b[0m 2 of 3\n"


def test_a_note_shows_no_control_character() -> None:
    assert note_text("a\x1b[2Jb\nc", color=False) == "note: a\\x1b[2Jb\\x0ac\n"


@pytest.mark.parametrize(
    ("rules", "named"),
    [(["job", "job", "job"], ["job"]), (["job", "version", "job"], ["job", "version", "job"])],
)
def test_errors_of_several_rules_name_theirs_each(rules: list[str], named: list[str]) -> None:
    error, *others = (GatherError("no", rule=rule) for rule in rules)
    error.others = others

    text = error_text(error, color=False)

    assert [line[6:] for line in text.splitlines() if line.startswith("rule: ")] == named


def test_the_other_jobs_with_a_mistake_are_listed_below_it() -> None:
    error = GatherError("no", rule="job")
    error.number, error.rest = 2, "j.jsonl, line 9"

    assert error_text(error, color=False) == (
        "error: no\nalso: 1 more job: j.jsonl, line 9\nrule: job\n"
    )
