"""The grammar of counts: a number has its noun and verb from `counted`, which knows one."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import gathercli
from gathercli.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run

SOURCES: Final = sorted(Path(gathercli.__file__).parent.rglob("*.py"))
NOUNS: Final = (
    *("arrays", "axes", "batches", "beams", "bins", "bytes", "calls", "causes", "cells"),
    *("characters", "chunks", "columns", "coordinates", "digits", "dimensions", "elements"),
    *("errors", "facets", "failures", "fields", "files", "findings", "indices", "inputs"),
    *("jobs", "lines", "members", "models", "nodes", "notes", "numbers", "options", "others"),
    *("positions", "rows", "sizes", "slices", "sources", "steps", "tensors", "times"),
    *("tuples", "values", "versions", "warnings", "workers"),
)
VERBS: Final = ("agree", "are", "differ", "die", "give", "have", "hold", "need", "refuse", "were")
PLURAL: Final = rf"(?:more |other |made )?(?:{'|'.join((*NOUNS, *VERBS))})\b(?!-)"
ONE_WITH_PLURAL: Final = re.compile(
    rf"(?<![\d.,:x\[-])(?<!to )\b1 {PLURAL}|\b1 of 1 {PLURAL}|\ball 1\b"
)

NEVER_ONE: Final = {
    "times",  # `diagnose` tries repetitions from two on
    "more + 1",
    "inner",
    "wide",  # of a heat map
    "len(sources)",
    "len(members)",
    "len(cls._fields)",
    *("suffix", "self.suffix", "dtype", "value.dtype"),  # these are no numbers
}
"""What stands before a plural, and is two or more, or no number."""


def counts_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each value of a text that a plural follows: its code, and the words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for value, after in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                    words = re.match(rf" (?:{'|'.join(NOUNS)})\b", str(after.value))
                    code = ast.unparse(value.value)
                    is_constant = code.rpartition(".")[2].isupper() or code.isdecimal()
                    if words and not is_constant:
                        yield code, words[0]


def test_no_number_has_a_plural_without_being_counted() -> None:
    plurals = [
        (path.stem, code, words)
        for path in SOURCES
        for code, words in counts_of(path)
        if code not in NEVER_ONE
    ]

    assert plurals == []


@pytest.mark.parametrize(("number", "text"), [(0, "0 cells differ"), (1, "1 cell differs")])
def test_a_verb_follows_its_noun(number: int, text: str) -> None:
    assert counted(number, "cell differs", "cells differ") == text


def lines(count: int) -> Iterator[list[str]]:
    """Yield commands whose reports have this count of something."""
    numbers = json.dumps([0] * count)
    outside = json.dumps([9] * count)
    for op in ("gather", "gather-elements -a 0"):
        name, *options = op.split()
        for indices in (numbers, outside):
            for command in ("explain", "check"):
                yield [command, name, "[5,6,7]", indices, *options]
            yield [name, "[5,6,7]", indices, *options]
            yield [name, "[5,6,7]", indices, *options, "--out-of-range", "zero", "-f", "pretty"]
            yield [name, "[5,6,7]", indices, *options, "--expect", json.dumps([4] * count)]
            yield [name, "[5,6,7]", indices, *options, "--max-bytes", str(count)]
    yield ["compare", "[5,6,7]", outside]
    yield ["compare", "[5,6,7]", numbers, "--save", "table.svg"]
    yield ["explain", "gather", f"zeros:{count}x{count}", "0,0"]
    yield ["explain", "gather-nd", f"zeros:{max(count, 1)}x2", json.dumps([[0] * max(count, 1)])]
    yield ["explain", "gather", "arange:300x300", "0,1", "--window", f":,0:{count + 1}"]
    yield ["diagnose", "gather", "[5,6,7]", "[2,1,0]", json.dumps([7, 6, 5][: 3 - count])]
    yield [
        "diagnose",
        "gather",
        "[5,6,7]",
        "[2,1,0]",
        json.dumps([4] * count + [6, 5][count - 1 :]),
    ]
    yield ["info", f"zeros:{count}xf32"]
    yield ["info", f"{count}xi64=3", "--stats"]
    yield ["gather", f"bin:{count}xi8@bytes", "0"]
    yield ["gather", "bin:2xi64@bytes", "0"]
    yield ["batch", "jobs.jsonl"]
    yield ["batch", "jobs.jsonl", "-f", "pretty"]
    yield ["batch", "jobs.jsonl", "--dry-run"]
    yield ["translate", "gather", "[5,6,7]", numbers, "--to", "numpy"]
    yield ["shape", "gather", f"{count}", f"{count}"]
    yield ["ops", "--like", "torch.gather"]


def jobs(count: int) -> str:
    good = {"op": "gather", "data": [1, 2], "indices": [0]}
    bad = {"op": "gather", "data": [1, 2], "indices": [9], "version": "onnx-13"}
    wrong = good | {"expect": [7]}
    every = [job for job in (good, bad, wrong) for _ in range(count)]
    return "".join(json.dumps({"id": str(n)} | job) + "\n" for n, job in enumerate(every))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_no_report_has_one_with_a_plural(count: int, run: Run, folder: Path) -> None:
    (folder / "jobs.jsonl").write_text(jobs(count))
    (folder / "bytes").write_bytes(bytes(count))
    np.save(folder / "a.npy", np.zeros(count))

    for words in lines(count):
        ran = run(*words)

        text = f"{ran.out}\n{ran.err}"
        assert ran.status != 70, text
        assert not ONE_WITH_PLURAL.findall(text), (words, text)
    for picture in folder.glob("*.svg"):
        assert not ONE_WITH_PLURAL.findall(picture.read_text())
