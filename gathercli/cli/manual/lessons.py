"""The lessons of `demo`, from ``lessons.md``: the specifications' examples, easiest first.

Each has a title, the path of a fixture, a text, and further command lines with a remark on each.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.manual.prose import sections
from gathercli.cli.operator import LETTERS, VARIABLE
from gathercli.ops import FAMILIES
from gathercli.report.manual import Terms

if TYPE_CHECKING:
    from gathercli.jobs.job import Job
    from gathercli.report.manual import Block

_PACKAGE: Final = Path(__file__).parents[2]


class DemoLesson(NamedTuple):
    """A screen of `demo`.

    Attributes
    ----------
    fixture
        The path of the job that the lesson explains, below ``fixtures/``.
    says
        The explanation.
    tries
        Further command lines, and a remark on each.
    """

    name: str
    title: str
    fixture: str
    says: str
    tries: tuple[tuple[str, str], ...]


def _lesson(name: str, blocks: tuple[Block, ...]) -> DemoLesson:
    title, path, says = map(str, blocks[:3])
    tries = (pair for block in blocks if isinstance(block, Terms) for pair in block.pairs)
    return DemoLesson(name, title, path, says, tuple(tries))


LESSONS: Final = tuple(_lesson(*section) for section in sections("lessons").items())


def fixture(name: str) -> str:
    """Return the path of a fixture in the installed package or in the source tree."""
    for folder in (_PACKAGE / "_data" / "fixtures", _PACKAGE.parent / "fixtures"):
        if folder.is_dir():
            return str(folder / name)
    raise FileNotFoundError(name)


def command_line(job: Job) -> str:
    """Return the command line that explains a job without files."""
    words = ["gathercli", "explain", job.op]
    words += [
        each if isinstance(each, str) else json.dumps(each, separators=(",", ":"))
        for each in job.inputs.values()
    ]
    default = FAMILIES[job.op].ROWS[0]
    options = [
        (LETTERS[each.name], job.attrs.get(each.name), each.default) for each in default.attrs
    ]
    version = None if os.environ.get(VARIABLE) else default.id
    for option, value, usual in (*options, ("-V", job.version, version)):
        if value not in (None, usual):
            words += [option, str(value)]
    return shlex.join(words)
