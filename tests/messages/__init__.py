"""What wrong command lines and calls are answered with, as text: the tables beside this file.

A block has a title, if it needs one, what is typed, the status (of a call in Python also the class
of the exception), and all that is said::

    # a shell takes words apart
    $ gather arange:5 0, 0, 4
    2
    error: `0,` is one argument too many: expected DATA and INDICES
    hint: did you mean `gathercli gather arange:5 0,0,4`?

Words are split at blanks, quotes stay. N is the newest version that a framework has of the
operator, and {versions} are all of them, so that another version changes no table.
``python -m tests.messages`` writes what is said today, to be read in the difference; it adds what
a new block lacks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

import gathercli
from gathercli.errors import GatherError
from gathercli.ops import FAMILIES
from tests.rows import VERSIONS

FOLDER: Final = Path(__file__).parent
NAMES: Final[dict[str, Any]] = {
    "np": np,
    "ml_dtypes": ml_dtypes,
    "gathercli": gathercli,
    "DATA": np.arange(6).reshape(2, 3),
    "HUGE": np.zeros((0, 2**62), np.int8),
    "BFLOAT16": np.zeros(1, ml_dtypes.bfloat16),
    "STEPS": [[[1, 2]], [[3, 4]]],
    "PARENTS": [[[0, 0]], [[1, 0]]],
    "TREE": ("[2,1,2]", "[2,1,2]", "[1]", "[]"),
}
"""What the calls in Python use; `TREE` has the shapes of the inputs of GatherTree."""


class Block(NamedTuple):
    """What is typed, and the answer: the status, and what is said."""

    title: str
    typed: str
    answer: str

    @property
    def hint(self) -> str:
        """The hint, or nothing."""
        return "\n".join(re.findall(r"^hint: (.*)$", self.answer, re.MULTILINE))

    @property
    def rule(self) -> str:
        """The rule that a call in Python breaks."""
        return "\n".join(re.findall(r"^rule: (.*)$", self.answer, re.MULTILINE))

    @property
    def text(self) -> str:
        """The block as its table has it."""
        title = f"# {self.title}\n" if self.title else ""
        return f"{title}{self.typed}\n{self.answer}"


def spelling(block: Block) -> dict[str, str]:
    """Return what a table has in place of versions of the operator that a block names first."""
    names = re.findall(r"(?<![.\w])gather(?:[-_](?:elements|nd|tree))?\b", block.text)
    family = names[0].replace("_", "-") if names else "gather"
    rows = FAMILIES[family].ROWS
    newest = {row.framework: row for row in reversed(rows)}
    return {
        VERSIONS[family]: "{versions}",
        **{row.full_name: f"{row.framework}.{row.name}-N" for row in newest.values()},
        **{row.id: f"{row.framework}-N" for row in newest.values()},
    }


def expanded(block: Block) -> Block:
    """Return a block with the versions of today."""
    answer = block.answer
    for text, short in spelling(block).items():
        answer = answer.replace(short, text)
    return block._replace(answer=answer)


def shortened(block: Block) -> Block:
    """Return a block with the versions as a table has them, but for those that are typed."""
    answer = block.answer
    for text, short in spelling(block).items():
        number = text.rpartition("-")[2]
        if short == "{versions}" or not re.search(rf"(?<![a-zA-Z]){number}\b", block.typed):
            answer = re.sub(rf"{re.escape(text)}\b", short, answer)
    return block._replace(answer=answer)


def blocks(table: str) -> list[Block]:
    """Read a table."""
    parts = FOLDER.joinpath(f"{table}.txt").read_text(encoding="utf-8").strip("\n").split("\n\n")
    matches = (re.fullmatch(r"(?:# (.*)\n)?((?:\$|>>>) .*)\n?((?:.*\n?)*)", part) for part in parts)
    read = (Block(each[1] or "", each[2], each[3].rstrip("\n") + "\n") for each in matches if each)
    return [expanded(block) for block in read]


def of_program(block: Block) -> str:
    """Run the command line that a block types, as a process."""
    ran = subprocess.run(
        [sys.executable, "-m", "gathercli", *words_of(block)],
        env={**os.environ, "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return f"{ran.returncode}\n{ran.stdout}{ran.stderr}"


def words_of(block: Block) -> list[str]:
    """Return the words of a command line."""
    return block.typed.removeprefix("$ ").split()


def names_of(code: str) -> dict[str, Any]:
    """Return what code uses: `NAMES`, and what the package exports under names that it has."""
    return NAMES | {name: getattr(gathercli, name) for name in dir(gathercli) if name in code}


def refusal(call: str) -> GatherError:
    """Return the error that a call in Python raises."""
    try:
        eval(call, names_of(call))  # noqa: S307
    except GatherError as error:
        return error
    raise AssertionError(f"{call} is not refused")


def of_python(block: Block) -> str:
    """Call what a block types, and describe the error, its data last."""
    error = refusal(block.typed.removeprefix(">>> "))
    lines = [f"{error.status} {type(error).__name__}", f"error: {error.message}"]
    lines += [f"hint: {error.hint}"] if error.hint else []
    lines += [f"advice: {error.advice}"] if error.advice != error.hint else []
    lines += [f"rule: {error.rule}"]
    data = {"where": error.where, "value": error.value, "count": error.count}
    lines += [json.dumps({name: each for name, each in data.items() if each is not None})]
    return "\n".join(lines) + "\n"


def write_readable(folder: Path) -> None:
    """Write what the calls of `advice` read."""
    import zarr
    from safetensors.numpy import save_file

    array = np.arange(3)
    for name in ("x.npy", "a b.npy"):
        np.save(folder / name, array)
    np.savez(folder / "x.npz", a=array, b=array)
    (folder / "x.json").write_text('{"a":[1,2,3],"b":[4]}')
    (folder / "l.json").write_text("[1,2,3]")
    (folder / "x.bin").write_bytes(array.tobytes())
    (folder / "raw").write_bytes(b"\0\1")
    (folder / "c.csv").write_text("1,2\n3,4\n")
    gathercli.save(folder / "v.npy", np.zeros(3, ml_dtypes.bfloat16))
    save_file({"a": array, "b": array}, folder / "x.safetensors")
    group = zarr.open_group(folder / "g.zarr", mode="w")
    for name in "ab":
        group.create_array(name, data=array)


def write_wrong(folder: Path) -> None:
    """Write what the command lines of `refusals` cannot read."""
    (folder / "a.folder").mkdir()
    (folder / "twice.json").write_text('{"a":[1],"a":[2]}')
    (folder / "none.json").write_text("[1,null]")
    (folder / "ragged.json").write_text("[[1],[2,3]]")
    (folder / "large.json").write_text(f"[{' ' * 5998}1]")
    (folder / "cut.npy").write_bytes(b"\x93NUMPY")
    np.savez(folder / "two.npz", a=np.arange(2), b=np.arange(2))


def write_files(table: str, folder: Path) -> None:
    """Write what the lines of a table name."""
    if table in WRITERS:
        WRITERS[table](folder)


WRITERS: Final = {"advice": write_readable, "refusals": write_wrong}
TABLES: Final = sorted(path.stem for path in FOLDER.glob("*.txt"))
