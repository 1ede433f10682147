"""The lessons of `demo`, from ``lessons.md`` and the jobs of ``fixtures/tour/lessons.jsonl``.

A lesson has a title, a text, terms (the code of other libraries, a trap, a question and its
answer), a command that shows the answer, with its output, and further command lines.
"""

from __future__ import annotations

import json
import os
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.manual.prose import sections
from gathercli.cli.operator import LETTERS, VARIABLE
from gathercli.ops import FAMILIES
from gathercli.report.manual import Console, Terms
from gathercli.text import shell_word

if TYPE_CHECKING:
    from gathercli.io.jobs.job import Job
    from gathercli.report.manual import Block

_PACKAGE: Final = Path(__file__).parents[1]
QUESTION: Final = "Question"
ANSWER: Final = "Answer"


class DemoLesson(NamedTuple):
    """A screen of `demo`.

    Attributes
    ----------
    name
        The name, which is also the ID of its job.
    says
        The explanation.
    terms
        Labels with their text: ``NumPy``, ``PyTorch``, ``Trap``, ``Question``.
    answer
        The answer to the question.
    proof
        Commands after ``$`` that show the answer, and their output.
    tries
        Further command lines, and a remark on each.
    """

    name: str
    title: str
    says: str
    terms: dict[str, str]
    answer: str
    proof: str
    tries: tuple[tuple[str, str], ...]


def tour(name: str) -> str:
    """Return the path of a file of the tour, in the installed package or in the source tree."""
    for folder in (_PACKAGE / "_data" / "fixtures", _PACKAGE.parent / "fixtures"):
        if folder.is_dir():
            return str(folder / "tour" / name)
    raise FileNotFoundError(name)


_MODEL: Final = tour("encoder.onnx")


def _lesson(name: str, blocks: tuple[Block, ...]) -> DemoLesson:
    title, says, terms, proof, *tries = blocks
    if not isinstance(terms, Terms) or not isinstance(proof, Console):
        raise TypeError(name)
    labels = dict(terms.pairs)
    pairs = (pair for block in tries if isinstance(block, Terms) for pair in block.pairs)
    return DemoLesson(
        name, str(title), str(says), labels, labels.pop(ANSWER), _shows(proof), tuple(pairs)
    )


def _shows(proof: Console) -> str:
    """Fill in the path of the model, quoted in commands."""
    return "\n".join(
        line.replace("{{model}}", shell_word(_MODEL) if line.startswith("$ ") else _MODEL)
        for line in proof.text.splitlines()
    )


LESSONS: Final = tuple(
    _lesson(*section)
    for section in sections(
        Path(__file__).with_name("lessons.md"), {"model": shell_word(_MODEL)}
    ).items()
)


@cache
def job_of(name: str) -> Job:
    """Return the job that a lesson explains."""
    from gathercli.io.jobs.job import jobs

    return next(job for job in jobs(tour("lessons.jsonl")) if job.id == name)


def command_line(job: Job) -> str:
    """Return the command line that explains a job without files, or of a node."""
    words = ["gathercli", "explain"]
    if job.node is not None:
        words.append(os.path.join(job.folder, job.node))
        for word in map(_word, job.inputs.values()):
            if not word.startswith(f"@{job.node}:"):  # a constant of the model
                words += ["--feed", word]
        return shlex.join(words)
    words += [job.op, *map(_word, job.inputs.values())]
    default = FAMILIES[job.op].ROWS[0]
    options = [
        (LETTERS[each.name], job.attrs.get(each.name), each.default) for each in default.attrs
    ]
    version = None if os.environ.get(VARIABLE) else default.id
    for option, value, usual in (*options, ("-V", job.version or default.id, version)):
        if value not in (None, usual):
            words += [option, str(value)]
    return shlex.join(words)


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
