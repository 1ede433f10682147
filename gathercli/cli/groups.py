"""The groups of options, in the order of help and manual."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

OPERATOR: Final = "Operator"
OUTPUT: Final = "Output"
RUNNING: Final = "Running"
REPORT: Final = "Report"
NO_FILE: Final = "Without a job file"
VIEW: Final = "View"
INPUT: Final = "Input"
MESSAGES: Final = "Messages"
CLUSTER: Final = "Cluster"

GROUPS: Final = (OPERATOR, OUTPUT, RUNNING, REPORT, NO_FILE, VIEW, INPUT, MESSAGES, CLUSTER)
