"""The groups of options, in the order of help and manual."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

INPUT: Final = "Input"
NO_FILE: Final = "Without a job file"
OPERATOR: Final = "Operator"
RUNNING: Final = "Running"
OUTPUT: Final = "Output"
REPORT: Final = "Report"
VIEW: Final = "View"
MESSAGES: Final = "Messages"
CLUSTER: Final = "Cluster"

GROUPS: Final = (INPUT, NO_FILE, OPERATOR, RUNNING, OUTPUT, REPORT, VIEW, MESSAGES, CLUSTER)
