"""The report of a batch as JUnit XML, which continuous integration shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.jobs.tally import BatchTotals


def case(line: dict[str, Any]) -> str:
    """Write a job as a test case."""
    kind = line.get("operator") or "gathercli"
    seconds = float(line.get("seconds") or 0)
    head = f'<testcase classname={_quoted(kind)} name={_quoted(line["id"])} time="{seconds:.6f}"'
    if line["status"] == "ok":
        return f"  {head}/>\n"
    tag = "failure" if line["status"] == "mismatch" else "error"
    reason = f"<{tag} type={_quoted(line.get('rule'))} message={_quoted(line.get('message'))}/>"
    return f"  {head}>{reason}</testcase>\n"


def head(tally: BatchTotals, seconds: float) -> str:
    """Write the start of the report, up to the cases."""
    counts = tally.counts
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites>\n<testsuite name="gathercli" tests="{tally.done}" '
        f'failures="{counts["mismatch"]}" errors="{counts["error"]}" time="{seconds:.3f}">\n'
    )


FOOT = "</testsuite>\n</testsuites>\n"
"""The end of the report."""


def _quoted(value: object) -> str:
    """Quote an attribute, with escapes for characters that XML cannot hold."""
    return quoteattr(clean(str(value)).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff"))
