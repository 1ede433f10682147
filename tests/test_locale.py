"""What is not ASCII, in arguments, names of files and messages, whatever the locale says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.processes import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

WORLDS: Final[dict[str, dict[str, str]]] = {
    "C": {"LC_ALL": "C"},
    "POSIX, neither read nor written in UTF-8": {
        "LC_ALL": "POSIX",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
    },
    "writes Latin-1": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "latin-1"},
    "UTF-8": {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"},
}
BYTES: Final = b"caf\xe9's.json"
"""A name that is no UTF-8."""

anywhere = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def ran(world: dict[str, str], *words: str | bytes) -> tuple[int, bytes, bytes]:
    """Run the program with an environment of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "gathercli", *words],
        env=kept | world,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


@anywhere
def test_a_string_of_an_argument_is_the_string_that_was_typed(
    world: dict[str, str], folder: Path
) -> None:
    del folder

    found = ran(world, "gather", '["é","日本"]', "1,0")

    assert found == (0, '["日本","é"]\n'.encode(), b"")


@anywhere
@pytest.mark.parametrize("name", ["é 日.json".encode(), BYTES])
def test_files_are_read_and_written_by_the_bytes_of_their_names(
    name: bytes, world: dict[str, str], folder: Path
) -> None:
    (folder / os.fsdecode(name)).write_text("[1,2,3]")

    found = ran(world, "gather", name, "2,0", "-o", b"\xff" + name)

    assert found == (0, b"", b"")
    assert (folder / os.fsdecode(b"\xff" + name)).read_text() == "[3,1]\n"


@anywhere
def test_a_missing_file_is_named_as_it_was_typed(world: dict[str, str], folder: Path) -> None:
    del folder
    message = "`data`: there is no file `é.npy`: expected a file, or a literal such as 0,0,4"

    plain = ran(world, "gather", "é.npy", "0")
    as_json = ran(world, "gather", "é.npy", "0", "--json-errors")

    text = f"error: {message}\n  openvino.Gather-8\nrule: missing\n"
    assert plain == (66, b"", text.encode())
    assert as_json[:2] == (66, b"")
    assert json.loads(as_json[2])["error"] == message


@anywhere
def test_a_name_that_is_no_text_is_named_by_its_bytes_and_its_hint_can_be_pasted(
    world: dict[str, str], folder: Path
) -> None:
    (folder / os.fsdecode(BYTES)).write_text("[1,2,3]")

    status, out, err = ran(world, "gather", BYTES.replace(b"f", b"ff"), "0")

    assert (status, out) == (66, b"")
    assert err == (
        b"error: `data`: there is no file `caff\\xe9's.json`: expected a file, or a literal "
        b"such as 0,0,4\n"
        b"  openvino.Gather-8\n"
        b"hint: did you mean `$'caf\\xe9\\'s.json'`?\n"
        b"rule: missing\n"
    )
    pasted = subprocess.check_output(
        ["bash", "-c", b"printf %s " + err.split(b"mean `")[1].split(b"`")[0]]
    )
    assert pasted == BYTES


@anywhere
def test_jobs_name_files_in_utf_8(world: dict[str, str], folder: Path) -> None:
    (folder / "ä.json").write_text("[1,2,3]")
    job = {"id": "日", "op": "gather", "data": "ä.json", "indices": [2], "output": "ü.json"}
    (folder / "jobs.jsonl").write_text(json.dumps(job, ensure_ascii=False), encoding="utf-8")

    status, out, _ = ran(world, "batch", "jobs.jsonl", "-q")

    assert (status, json.loads(out)["id"]) == (0, "日")
    assert (folder / "ü.json").read_text() == "[3]\n"


@anywhere
@pytest.mark.parametrize("words", [["gather", "--help"], ["--help"], ["man", "gather"]])
def test_help_is_whole_and_in_utf_8(words: list[str], world: dict[str, str], folder: Path) -> None:
    del folder

    assert ran(world, *words) == ran(WORLDS["UTF-8"], *words)


@anywhere
@pytest.mark.parametrize("words", [["gahté"], ["gather", "[1]", "0", "--é"], ["ops", "é"]])
def test_words_that_nobody_knows_are_named_as_they_were_typed(
    words: list[str], world: dict[str, str], folder: Path
) -> None:
    del folder

    status, out, err = ran(world, *words)

    assert (status, out) == (2, b"")
    assert words[-1] in err.decode()
