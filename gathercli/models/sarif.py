"""Findings as SARIF 2.1.0, which code hosts show beside the code."""

from __future__ import annotations

import json
import os
import string
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from gathercli.models.finding import STATEMENTS
from gathercli.spec import rules
from gathercli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gathercli.errors import GatherError
    from gathercli.models.finding import Finding

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION: Final = "2.1.0"
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "-._~/")
"""The characters that stand for themselves in the path of a URI."""

_RULES: Final = {
    "version": "The operator has the version.",
    **rules.STATEMENTS,
    **STATEMENTS,
}


def sarif(
    results: Iterable[tuple[str, Sequence[Finding]]],
    failures: Iterable[tuple[str, GatherError]],
    release: str,
) -> str:
    """Return a SARIF log of one run.

    Parameters
    ----------
    results
        The paths of models, and their findings.
    failures
        The paths of models that were not read, and why.
    release
        The version of gathercli.
    """
    pairs = [(path, each) for path, findings in results for each in findings]
    names = list(dict.fromkeys(each.rule for _, each in pairs))
    failed = [_notification(path, error) for path, error in failures]
    run = {
        "tool": {
            "driver": {
                "name": "gathercli",
                "version": release,
                "rules": [_rule(name) for name in names],
            }
        },
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
        "results": [_result(path, each, names.index(each.rule)) for path, each in pairs],
        "columnKind": "utf16CodeUnits",
    }
    return json.dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}) + "\n"


def _rule(name: str) -> dict[str, Any]:
    text = {"text": _RULES.get(name, name)}
    return {"id": name, "shortDescription": text, "fullDescription": text, "help": text}


def _result(path: str, finding: Finding, index: int) -> dict[str, Any]:
    node = clean(finding.node)
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": f"{node}: {clean(finding.text)}"},
        "locations": [
            _location(path)
            | {"logicalLocations": [{"name": node, "fullyQualifiedName": f"{clean(path)}#{node}"}]}
        ],
        "partialFingerprints": {"primaryLocationLineHash": _digest(path, finding)},
    }


def _location(path: str) -> dict[str, Any]:
    """Return the place of a model; a binary file has no lines but the first."""
    place = {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": 1}}
    return {"physicalLocation": place}


def _uri(path: str) -> str:
    """Return a path as a URI, relative to the working folder if it lies below it."""
    relative = os.path.relpath(path)
    if relative.startswith(".."):
        return "file://" + _escaped(os.path.abspath(path))
    return _escaped(relative)


def _escaped(path: str) -> str:
    """Percent-encode the bytes of a path that a URI may not contain, as in ``%20``."""
    return "".join(
        chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path)
    )


def _digest(path: str, finding: Finding) -> str:
    """Return what identifies a finding in later runs: the node and the rule, not the values."""
    words = (_uri(path), finding.node, finding.operator, finding.rule, finding.target)
    return blake2b("\0".join(words).encode(errors="backslashreplace"), digest_size=8).hexdigest()


def _notification(path: str, error: GatherError) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": error.rule},
        "message": {"text": clean(error.message)},
        "locations": [_location(path)],
    }
