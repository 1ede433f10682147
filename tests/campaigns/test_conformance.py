"""The cases of a version find what a runtime gets wrong."""

from __future__ import annotations

import sys

import pytest

from campaigns.conformance import Findings, callers
from gathercli.cli.slice_options import Runtime
from gathercli.runtimes.client import RuntimeProcess


def test_wrong_answers_are_counted_by_the_mistakes_that_are_declared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = Findings("numpy")
    (take,) = (each for each in callers("numpy") if each.op.full_name == "numpy.take")

    with RuntimeProcess(Runtime("numpy", sys.executable), 60) as process:
        called, wrong = findings.ask(take, process)
    findings.report("numpy")

    assert called > 100
    assert wrong == findings.known.total() + len(findings.unknown)
    assert findings.known["take checks no index if a dimension before the axis is empty"] == 1
    assert "numpy.take, odd-empty-before-outside\n" in capsys.readouterr().out
