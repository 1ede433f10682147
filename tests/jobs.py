"""Jobs of tests: one job, from its text or its keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gathercli.io.jobfile import JobEntry
from gathercli.io.jobs import read

if TYPE_CHECKING:
    from gathercli.io.jobs import Job


def parse(source: str | bytes | dict[str, Any], *, where: str, folder: str = "") -> Job:
    text = json.dumps(source) if isinstance(source, dict) else source
    return read(JobEntry(where, folder, text.encode() if isinstance(text, str) else text))
