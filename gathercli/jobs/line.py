"""The line of the report that says how a job ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gathercli.errors import GatherError, MismatchError

if TYPE_CHECKING:
    from gathercli.arrays.check import Adjustment
    from gathercli.jobs.fingerprints import Fingerprints

OK: Final = "ok"
MISMATCH: Final = "mismatch"
ERROR: Final = "error"

LONGEST: Final = 2000
"""Characters of a message in the report."""

_JSON: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    rule, message
        The rule that refused, and its message; None if none did.
    output
        The file, as the job names it; None without one.
    result
        JSON of the typed tensor.
    notes, adjustments
        Notes on the tensors, and on indices that were adjusted; no part of the line.
    """

    id: str
    output: str | None = None
    status: str = OK
    rule: str | None = None
    message: str | None = None
    operator: str | None = None
    shape: list[int | str] | None = None
    dtype: str | None = None
    result: str = "null"
    seconds: float = 0.0
    stamps: Fingerprints | None = None
    notes: list[str] = field(default_factory=list)
    adjustments: tuple[Adjustment, ...] = ()

    def kinds(self) -> dict[str, str]:
        """Return the notes by their kind, which other jobs may share."""
        return {note: note for note in self.notes} | {
            each.how: str(each) for each in self.adjustments
        }

    def fail(self, error: GatherError) -> None:
        """Note that the job failed, and why."""
        self.status = MISMATCH if isinstance(error, MismatchError) else ERROR
        self.explain(error)

    def explain(self, error: GatherError) -> None:
        """Note the rule and the message of an error."""
        message = error.message
        self.rule = error.rule
        self.message = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
        self.operator = self.operator or error.operator

    def __bytes__(self) -> bytes:
        """Return it as JSON with a newline."""
        keys = ("id", "status", "rule", "message", "operator", "shape", "dtype")
        text = _JSON({key: getattr(self, key) for key in keys}).removesuffix("}")
        if self.output is None:
            text += f',"result":{self.result}'
        else:
            text += f',"output":{_JSON(self.output)}'
        text += f',"seconds":{_JSON(round(self.seconds, 6))}'
        if self.stamps is not None:
            text += f',"stamp":{_JSON(self.stamps._asdict())}'
        return f"{text}}}\n".encode()
