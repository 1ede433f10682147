"""The findings in SARIF, as code hosts require it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import pytest

from gathercli.errors import InputError
from gathercli.models.check_command import CheckedModel, sarif_log
from gathercli.models.verdict import NOTE, WARNING, Finding
from tests.reports import sarif_run

if TYPE_CHECKING:
    from pathlib import Path

PICK: Final = Finding("", "", node="pick", operator="onnx.Gather-13")
FINDINGS: Final = (
    PICK._replace(rule="index-range", problem="index 3", does={"xla": "clamped"}),
    PICK._replace(rule="data-width", problem="`data` is int64", level=NOTE, target="openvino"),
    PICK._replace(rule="index-range", problem="index 4", level=WARNING, node="a\x1b[0m"),
)


def logged(path: str = "models/a b.onnx", *failures: CheckedModel) -> dict[str, Any]:
    """Return the only run of a log."""
    return sarif_run(sarif_log([CheckedModel(path, findings=FINDINGS), *failures], "1.2"))


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


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("index-range", "An index is outside its axis."),
        (
            "merged-index",
            "A negative j of x[i, j] reads another row, as the exporter merged the axes.",
        ),
        ("axis-type", "A call breaks a rule."),
    ],
)
def test_a_rule_says_first_what_is_wrong(rule: str, wrong: str) -> None:
    finding = PICK._replace(rule=rule)

    run = sarif_run(sarif_log([CheckedModel("m.onnx", findings=(finding,))], ""))

    (described,) = run["tool"]["driver"]["rules"]
    assert described["shortDescription"]["text"] == wrong
    assert described["help"]["text"].startswith(f"{wrong} ")


def test_a_message_names_node_and_fates_and_has_no_control_characters() -> None:
    first, _, third = (each["message"]["text"] for each in logged()["results"])

    assert first == "pick: index 3; xla takes the nearest end"
    assert third == r"a\x1b[0m: index 4"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("models/a b.onnx", "sub/models/a%20b.onnx"),
        ("./é#1.xml", "sub/%C3%A9%231.xml"),
        ("a:b.onnx", "sub/a%3Ab.onnx"),
        ("..x.onnx", "sub/..x.onnx"),
        ("../up.onnx", "up.onnx"),
        ("{folder}/sub/x.onnx", "sub/x.onnx"),
        ("link.onnx", "m/real.onnx"),
        ("links/x.onnx", "file:///absent%20b/x.onnx"),
        ("../../out.onnx", "file://{above}/out.onnx"),
        ("-", "sub/-"),
    ],
)
@pytest.mark.parametrize("git", ["folder", "file"])
def test_a_path_is_relative_to_the_repository_wherever_the_command_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, git: str, path: str, uri: str
) -> None:
    repository = folder / "r"
    (repository / "sub").mkdir(parents=True)
    (repository / ".git").mkdir() if git == "folder" else (repository / ".git").touch()
    (repository / "sub/link.onnx").symlink_to("../m/real.onnx")
    (repository / "sub/links").symlink_to("/absent b")
    monkeypatch.chdir(repository / "sub")

    run = logged(path.format(folder=repository))

    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == uri.format(above=os.path.realpath(folder))
    assert place.get("uriBaseId") == (None if ":///" in uri or "{" in uri else "%SRCROOT%")
    root = f"file://{os.path.realpath(repository)}/"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": root}}


def test_without_a_repository_a_path_is_relative_to_the_working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = os.path.exists
    monkeypatch.setattr("os.path.exists", lambda path: str(path)[-4:] != ".git" and exists(path))

    run = logged("m/x.onnx")

    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "m/x.onnx"
    root = f"file://{os.path.realpath(folder)}/"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": root}}


def test_only_a_finding_of_a_node_has_a_logical_location() -> None:
    whole = FINDINGS[1]._replace(node="")

    run = sarif_run(sarif_log([CheckedModel("m.onnx", findings=(PICK, whole))], ""))

    (node,), none = (each["locations"][0].get("logicalLocations") for each in run["results"])
    assert (node["name"], node["fullyQualifiedName"][-11:]) == ("pick", "m.onnx#pick")
    assert none is None


def test_a_finding_has_one_fingerprint_whatever_its_value() -> None:
    results = logged()["results"]
    again = FINDINGS[0]._replace(problem="index 99", value=99)

    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]
    later = sarif_run(sarif_log([CheckedModel("models/a b.onnx", findings=(again,))], "2.0"))
    (other,) = later["results"]

    assert len(set(prints)) == len(FINDINGS)
    assert other["partialFingerprints"]["primaryLocationLineHash"] == prints[0]


def test_a_model_that_was_not_read_is_a_notification() -> None:
    error = InputError("x.onnx: it is cut off", rule="format")

    (invocation,) = logged("a.onnx", CheckedModel("x.onnx", error=error))["invocations"]

    (notification,) = invocation["toolExecutionNotifications"]
    assert not invocation["executionSuccessful"]
    assert (notification["level"], notification["message"]["text"]) == ("error", error.message)
