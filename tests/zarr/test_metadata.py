"""Metadata files are sound JSON in regular files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.zarr.peer import (
    X,
    peer_writes,
    refusal,
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"zarr_format":3,"zarr_format":3}', "repeated"),
        ("[]", "not a JSON object"),
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("\xff", "expected UTF-8"),
    ],
    ids=["depth", "keys twice", "a list", "nothing", "half", "bytes"],
)
@pytest.mark.parametrize("name", ["zarr.json", ".zarray", ".zgroup"])
def test_metadata_that_are_not_valid_json_are_refused(name: str, text: str, words: str) -> None:
    os.mkdir("x.zarr")
    with open(f"x.zarr/{name}", "wb") as out:
        out.write(text.encode("latin-1"))

    error = refusal("x.zarr")

    assert error.rule == "format"
    assert words in str(error)
    assert f"`{name}`" in str(error)


@pytest.mark.usefixtures("folder")
def test_metadata_that_are_no_regular_file_are_refused_at_once() -> None:
    os.mkdir("x.zarr")

    os.mkfifo("x.zarr/zarr.json")

    assert "`zarr.json` is not a regular file" in str(refusal("x.zarr"))

    os.unlink("x.zarr/zarr.json")

    os.symlink("/dev/zero", "x.zarr/zarr.json")

    assert "`zarr.json` is not a regular file" in str(refusal("x.zarr"))

    os.unlink("x.zarr/zarr.json")

    os.symlink("zarr.json", "x.zarr/zarr.json")

    assert refusal("x.zarr").status == 66

    os.unlink("x.zarr/zarr.json")
    with open("x.zarr/zarr.json", "wb") as out:
        out.truncate(17 << 20)

    assert refusal("x.zarr").rule == "limit"


@pytest.mark.usefixtures("folder")
def test_a_layout_needs_no_package() -> None:
    peer_writes("x.zarr", X)
    code = """
import sys
from gathercli.cli import main
assert main(["info", "--header", "x.zarr"]) == 0
assert main(["shape", "gather", "x.zarr", "2,3"]) == 0
assert not {"zarr", "numcodecs"} & set(sys.modules)
sys.modules["numcodecs"] = None
assert main(["info", "x.zarr"]) == 65
"""

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "the format needs the package numcodecs: expected it to be installed" in ran.stderr
    assert "pip install 'gathercli[zarr]'" in ran.stderr
