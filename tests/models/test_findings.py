"""The findings in SARIF, as code hosts require it."""

from __future__ import annotations

import json
import os
from typing import Any, Final

import pytest

from gathercli.errors import InputError
from gathercli.models.check_command import CheckedModel, sarif_log
from gathercli.models.verdict import NOTE, WARNING, Finding

PICK: Final = Finding("", "", node="pick", operator="onnx.Gather-13")
FINDINGS: Final = (
    PICK._replace(rule="index-range", problem="index 3", does={"xla": "clamped"}),
    PICK._replace(rule="data-width", problem="`data` is int64", level=NOTE, target="openvino"),
    PICK._replace(rule="index-range", problem="index 4", level=WARNING, node="a\x1b[0m"),
)


def logged(path: str = "models/a b.onnx", *failures: CheckedModel) -> dict[str, Any]:
    """Return the only run of a log."""
    log = json.loads(sarif_log([CheckedModel(path, findings=FINDINGS), *failures], "1.2"))
    assert (log["version"], log["$schema"][:8]) == ("2.1.0", "https://")
    (run,) = log["runs"]
    return dict(run)


def test_a_run_has_what_a_code_host_requires() -> None:
    run = logged()

    driver = run["tool"]["driver"]
    assert driver["name"] == "gathercli"
    for rule in driver["rules"]:
        assert set(rule) >= {"id", "shortDescription", "fullDescription", "help"}
        assert rule["shortDescription"]["text"].endswith(".")
    for result in run["results"]:
        assert result["ruleId"] == driver["rules"][result["ruleIndex"]]["id"]
        assert result["level"] in {"error", "warning", "note", "none"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1
        assert result["partialFingerprints"]["primaryLocationLineHash"]


def test_each_rule_is_described_once() -> None:
    rules = [rule["id"] for rule in logged()["tool"]["driver"]["rules"]]

    assert rules == ["index-range", "data-width"]


def test_a_message_names_node_and_fates_and_has_no_control_characters() -> None:
    first, _, third = (each["message"]["text"] for each in logged()["results"])

    assert first == "pick: index 3; xla takes the nearest end"
    assert third == r"a\x1b[0m: index 4"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("models/a b.onnx", "models/a%20b.onnx"),
        ("./é#1.xml", "%C3%A9%231.xml"),
        ("../up.onnx", f"file://{os.path.abspath('../up.onnx')}"),
    ],
)
def test_a_path_is_a_uri_relative_to_the_folder(path: str, uri: str) -> None:
    place = logged(path)["results"][0]["locations"][0]["physicalLocation"]

    assert place["artifactLocation"]["uri"] == uri


def test_a_finding_has_one_fingerprint_whatever_its_value() -> None:
    results = logged()["results"]
    again = FINDINGS[0]._replace(problem="index 99", value=99)

    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]
    later = json.loads(sarif_log([CheckedModel("models/a b.onnx", findings=(again,))], "2.0"))
    (other,) = later["runs"][0]["results"]

    assert len(set(prints)) == len(FINDINGS)
    assert other["partialFingerprints"]["primaryLocationLineHash"] == prints[0]


def test_a_model_that_was_not_read_is_a_notification() -> None:
    error = InputError("x.onnx: it is cut off", rule="format")

    (invocation,) = logged("a.onnx", CheckedModel("x.onnx", error=error))["invocations"]

    (notification,) = invocation["toolExecutionNotifications"]
    assert not invocation["executionSuccessful"]
    assert (notification["level"], notification["message"]["text"]) == ("error", error.message)
