"""Every wrong command line and call of the tables is answered as its table says."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.messages import TABLES, Block, blocks, of_python, words_of, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

ALL = [
    pytest.param(table, block, id=f"{table}: {block.title or block.typed}")
    for table in TABLES
    for block in blocks(table)
]


@pytest.mark.parametrize(("table", "block"), ALL)
def test_what_is_wrong_is_answered_as_the_table_says(
    table: str, block: Block, run: Run, folder: Path
) -> None:
    write_files(table, folder)

    if block.typed.startswith("$"):
        ran = run(*words_of(block))
        answer = f"{ran.status}\n{ran.out}{ran.err}"
    else:
        answer = of_python(block)

    assert answer == block.answer


@pytest.mark.parametrize(
    "block", [each for each in blocks("usage") if "did you" in each.hint], ids=str
)
def test_the_suggested_line_works_when_it_is_pasted(block: Block, run: Run, folder: Path) -> None:
    (folder / "x.jsonl").write_text('{"id":"two","op":"gather","data":[1],"indices":[0]}\n')

    for line in re.findall("`(gathercli .*?)`", block.hint):
        ran = run(*shlex.split(line)[1:])

        assert ran.status == 0
        assert ran.out or any((folder / word).exists() for word in shlex.split(line))
