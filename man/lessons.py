"""The lessons of `demo`; loaded if the slice is there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gathercli.cli.options import LETTERS
from gathercli.frameworks import MODULO, every_row
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.op import Op
from man import prose
from man.prose import Block, Console, Terms

IN_TABLE = ("gather", "gather-elements")
"""Whose rows are in the table of frameworks."""

FRAMEWORKS = {
    "openvino": "OpenVINO",
    "onnx": "ONNX",
    "numpy": "NumPy",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "tflite": "TFLite",
    "jax": "JAX",
    "xla": "XLA",
    "coreml": "Core ML",
    "webnn": "WebNN",
    "tensorrt": "TensorRT",
}
"""The order of that table, by the first word of a name."""

FIRST_WHOLE = "shape"
"""The first lesson with the whole picture of `explain`; those before explain less."""

OF_FIRST = {"counted from the end": "40", "refused": "error", "clamped": "10"}
OF_SECOND = {
    "zero-filled": "0",
    "refused": "error",
    "clamped": "40",
    MODULO: "40: 7 modulo 4 is 3",
    "filled with NaN or an extreme of the type": "NaN, or least integer",
}
"""What becomes of -1 and of 7 on an axis with the numbers 10, 20, 30 and 40."""


def lessons() -> list[dict[str, Any]]:
    """Return the lessons as `gathercli.explain.demo` reads them, but for code in backticks."""
    places = {"indices": Console(_indices()), "versions": Console(_versions())}
    every = prose.sections("explain/lessons", places)
    tour = Path(__file__).parents[1] / "fixtures" / "tour" / "lessons.jsonl"
    explained: dict[str, list[str]] = {}
    for job in map(json.loads, tour.read_text(encoding="utf-8").splitlines()):
        explained.setdefault(job["id"].partition("/")[0], []).append(_command_line(job))
    names = [*every]
    return [
        _lesson(
            name,
            blocks,
            commands=explained[name],
            brief=n < names.index(FIRST_WHOLE) or len(explained[name]) > 1,
        )
        for n, (name, blocks) in enumerate(every.items())
    ]


def as_json() -> str:
    """Return the file of the lessons."""
    every = lessons()
    for lesson in every:
        for key in ("says", "answer"):
            lesson[key] = lesson[key].replace("`", "")
        lesson["table"] = [[cell.replace("`", "") for cell in row] for row in lesson["table"]]
        terms = lesson["terms"].items()
        lesson["terms"] = {label: words.replace("`", "") for label, words in terms}
    return json.dumps(every, indent=1, ensure_ascii=False) + "\n"


def _command_line(job: Mapping[str, Any]) -> str:
    """Return the command line that explains a job without files, or of a node."""
    words = ["gathercli", "explain"]
    if "node" in job:
        return shlex.join([*words, job["node"], "--feed", job["indices"]])
    op = FAMILIES[job["op"]].ROWS[0]
    words += [job["op"], *(_word(job[each.name]) for each in op.inputs)]
    for each in op.attrs:
        if (value := job.get(each.name)) not in (None, each.default):
            words += [LETTERS[each.name], str(value)]
    return shlex.join(words)


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _indices() -> str:
    """Return the table of what calls make of two indices, by framework."""
    who: dict[tuple[str, ...], list[str]] = {}
    rows = [(op.negative, op.out_of_range.done, op) for op in OPERATORS]
    rows += [(each.op.negative, each.outside, each.op) for each in every_row()]
    names = [*FRAMEWORKS]
    rows = [row for row in rows if row[2].family in IN_TABLE]
    for negative, outside, op in sorted(rows, key=lambda row: names.index(_framework(row[2]))):
        answers = OF_FIRST.get(negative, negative), OF_SECOND.get(outside, outside)
        who.setdefault((FRAMEWORKS[_framework(op)], *answers), []).append(f"`{op.full_name}`")
    lines = ((*answers, ", ".join(each)) for answers, each in who.items())
    return _lines([("framework", "-1", "7", "who"), *lines])


def _framework(op: Op) -> str:
    return op.full_name.partition(".")[0]


def _versions() -> str:
    """Return the table of what the versions make of indices below 0 and past the ends."""
    answers = ((op.negative.replace("counted ", ""), op.out_of_range.done) for op in OPERATORS)
    lines = ((f"`{op.full_name}`", *each) for op, each in zip(OPERATORS, answers, strict=True))
    return _lines([("version (-V)", "negative index", "past either end"), *lines])


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _lesson(name: str, blocks: tuple[Block, ...], **fields: object) -> dict[str, Any]:
    title, says, *rest = blocks
    consoles = [each.text for each in rest if isinstance(each, Console)]
    tables = [text for text in consoles if text.startswith("|")]
    proof, *practice = (_commands(text) for text in consoles if text not in tables)
    terms, *tries = (each.pairs for each in rest if isinstance(each, Terms))
    labels = dict(terms)
    return {
        "name": name,
        "title": title,
        "says": says,
        **fields,
        "table": _rows(tables),
        "answer": labels.pop("Answer"),
        "accept": labels.pop("Accept").split(" | "),
        "slips": dict(_slips(terms)),
        "terms": {label: words for label, words in labels.items() if label != "Slip"},
        "proof": proof,
        "practice": [pair for pairs in practice for pair in pairs],
        "tries": [pair for pairs in tries for pair in pairs],
    }


def _commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console, each with its output."""
    parts = (part.partition("\n") for part in re.split(r"(?m)^\$ ", text)[1:])
    return [(line, output.strip("\n")) for line, _, output in parts]


def _rows(tables: Iterable[str]) -> list[list[str]]:
    """Return the rows of tables of as many columns, with a row of blanks between two of them."""
    rows: list[list[str]] = []
    for text in tables:
        lines = [_cells(line) for line in text.splitlines()]
        rows += ([[""] * len(lines[0])] if rows else []) + lines
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split(" | ")]


def _slips(terms: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
    """Yield wrong answers, each with what to say of it."""
    return (words.split(" | ", 1) for label, words in terms if label == "Slip")
