"""The line of the report with the outcome of a job."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gathercli.batch.cause import cause_of, is_fault
from gathercli.errors import GatherError, MismatchError

if TYPE_CHECKING:
    from gathercli.batch.fingerprints import Fingerprints
    from gathercli.spec.adjustments import Adjustment

OK: Final = "ok"
MISMATCH: Final = "mismatch"
ERROR: Final = "error"
SKIPPED: Final = "skipped"
"""The status of a test that was not run, only in JUnit."""

LONGEST: Final = 2000
"""The most characters of a message in the report."""

_NO_RESULT: Final = "null"
_JSON: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    rule, message, cause
        The violated rule, its message, and `cause_of` the error; None for success.
    fault
        Whether the system failed to read or write.
    output
        The output in the job; None without one.
    result
        The typed tensor as JSON.
    notes, adjustments
        Notes on the tensors, which are not in the line, and the treatment of illegal indices.
    """

    id: str
    output: str | None = None
    status: str = OK
    rule: str | None = None
    message: str | None = None
    cause: str | None = None
    fault: bool = False
    operator: str | None = None
    shape: list[int | str] | None = None
    dtype: str | None = None
    result: str = _NO_RESULT
    seconds: float = 0.0
    fingerprints: Fingerprints | None = None
    notes: list[str] = field(default_factory=list)
    adjustments: tuple[Adjustment, ...] = ()

    def kinds(self) -> dict[str, str]:
        """Return the notes by kind; several jobs may have notes of one kind."""
        return {note: note for note in self.notes} | {
            each.how: str(each) for each in self.adjustments
        }

    def fail(self, error: GatherError) -> None:
        """Set the status, the rule and the message of an error."""
        self.status = MISMATCH if isinstance(error, MismatchError) else ERROR
        self.explain(error)

    def explain(self, error: GatherError) -> None:
        """Set the rule, the message and the cause of an error, and whether it is a fault."""
        message = error.message
        self.rule, self.cause, self.fault = error.rule, cause_of(error), is_fault(error)
        self.message = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
        self.operator = self.operator or error.operator

    def __bytes__(self) -> bytes:
        """Return the line as JSON with a newline."""
        fields: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "rule": self.rule,
            "message": self.message,
            "operator": self.operator,
            "shape": self.shape,
            "dtype": self.dtype,
        }
        end: dict[str, Any] = {"seconds": round(self.seconds, 6)}
        if self.status != OK and self.cause is not None:
            end["cause"] = self.cause
        if self.status != OK and self.fault:
            end["fault"] = True
        if self.adjustments:
            end["adjusted"] = {each.how: each.number for each in self.adjustments}
        if self.fingerprints is not None:
            end["stamp"] = self.fingerprints._asdict()
        if self.output is None and self.result == _NO_RESULT:
            text = f"{_JSON({**fields, 'result': None, **end})}\n"
        elif self.output is None:  # the text of the result can be long
            text = f'{_JSON(fields)[:-1]},"result":{self.result},{_JSON(end)[1:]}\n'
        else:
            text = f"{_JSON(fields | {'output': self.output} | end)}\n"
        return text.encode()
