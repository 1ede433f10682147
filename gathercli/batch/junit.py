"""The report of a batch as JUnit XML, for continuous integration."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Self
from xml.sax.saxutils import quoteattr

from gathercli.batch.outcome import ERROR, MISMATCH, OK, SKIPPED
from gathercli.io.temporary import temporary_file
from gathercli.io.write import Output
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.batch.outcome import BatchTotals

_FOOT: Final = "</testsuite>\n</testsuites>\n"


class JUnitReport:
    """A context for a JUnit file; its cases are in an unnamed file until their number is known.

    Entering the context opens the file, so that an error is raised before any work.
    """

    def __init__(self, path: str) -> None:
        self._output = Output(path)
        self._open = ExitStack()

    def add(self, line: bytes, file: str = "", at: int = 0) -> None:
        """Add a job by its line of the report, its file, and the line there if that is known."""
        case = _case(json.loads(line), file, at)
        self._cases.write(case.encode(errors="backslashreplace"))

    def write(self, totals: BatchTotals, seconds: float) -> None:
        """Write the file."""
        self._cases.seek(0)
        stream = self._output.stream
        stream.write(_head(totals, seconds).encode())
        while part := self._cases.read(1 << 20):
            stream.write(part)
        stream.write(_FOOT.encode())
        self._output.commit()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._output).open()
            self._cases = stack.enter_context(temporary_file())
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _case(line: dict[str, Any], file: str, at: int) -> str:
    """Return a job as a test case."""
    kind = line.get("operator") or "gathercli"
    seconds = float(line.get("seconds") or 0)
    head = f'<testcase classname={_quoted(kind)} name={_quoted(line["id"])} time="{seconds:.6f}"'
    head += (f" file={_quoted(file)}" if file else "") + (f' line="{at}"' if at else "")
    if line["status"] == OK:
        return f"  {head}/>\n"
    if line["status"] == SKIPPED:
        return f"  {head}><skipped message={_quoted(line.get('message'))}/></testcase>\n"
    tag = "failure" if line["status"] == MISMATCH else "error"
    why = f"<{tag} type={_quoted(line.get('rule'))} message={_quoted(line.get('message'))}/>"
    return f"  {head}>{why}</testcase>\n"


def _head(totals: BatchTotals, seconds: float) -> str:
    """Return the text before the cases."""
    counts = totals.counts
    skipped = f' skipped="{counts[SKIPPED]}"' if SKIPPED in counts else ""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites>\n<testsuite name="gathercli" tests="{totals.done}" '
        f'failures="{counts[MISMATCH]}" errors="{counts[ERROR]}"{skipped} time="{seconds:.3f}">\n'
    )


def _quoted(value: object) -> str:
    """Quote an attribute; escape characters that XML lacks."""
    return quoteattr(clean(str(value)).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff"))
