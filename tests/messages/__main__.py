"""``python -m tests.messages``: write what the program says today into the tables."""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir
from pathlib import Path

from tests.messages import (
    FOLDER,
    TABLES,
    Block,
    blocks,
    of_program,
    of_python,
    shortened,
    write_files,
)


def answered(block: Block) -> Block:
    """Return a block with the answer of today."""
    answer = of_program(block) if block.typed.startswith("$") else of_python(block)
    return shortened(block._replace(answer=answer))


def write(table: str) -> None:
    """Write a table anew."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_files(table, Path(folder))
        text = "\n".join(answered(block).text for block in blocks(table))
    FOLDER.joinpath(f"{table}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.getcwd()
    for name in TABLES:
        write(name)
        print(f"{name}.txt")
