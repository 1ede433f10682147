"""Where no temporary file can be created: what needs none works, and what needs one says so."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli.io import files
from tests.modelfiles import tour_ir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

WORKS: Final = (
    "gather [1,2] [0]",
    "gather [1,2] [0] -o x.npy",
    "gather [1,2] [0] -o x.zarr",
    "gather - [0]",
    "check gather [1,2] [0]",
    "check m.xml",
    "explain gather [1,2] [0]",
    "explain gather [1,2] [0] --save x.html",
    "compare [1,2] [0]",
    "diagnose gather [1,2] [0] [1]",
    "info [1,2]",
    "convert [1,2] x.json",
    "translate gather [1,2] [0] --to numpy",
    "translate gather [1,2] [0] --to onnx-13",
    "translate gather [1,2] [0] --to openvino-8 -o x.xml",
)
NEEDS: Final = {
    "batch jobs.jsonl": "file",
    "check m.xml --junit x.xml": "file",
    "compare [1,2] [0] --with numpy": "folder",
    "translate gather [1,2] [0] --to numpy --with numpy": "folder",
    "reproduce gather [1,2] [0] --for numpy -o out": "folder",
}


@pytest.fixture
def without(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command where no folder can be written for temporary files; pytest needs one itself."""
    tour_ir().save(folder / "m.xml")
    (folder / "jobs.jsonl").write_text('{"op":"gather","data":[1,2],"indices":[0]}\n')

    def command(*words: str, stdin: bytes = b"") -> Ran:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", None)
            patch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/nowhere"])
            return run(*words, stdin=stdin)

    return command


@pytest.mark.parametrize("line", WORKS)
def test_what_needs_no_temporary_file_works(line: str, without: Run) -> None:
    ran = without(*line.split(), stdin=b"[1,2]")

    assert ran.status == (1 if line == "check m.xml" else 0), ran.err


@pytest.mark.parametrize(("line", "kind"), NEEDS.items())
def test_what_needs_a_temporary_file_says_so_and_names_tmpdir(
    line: str, kind: str, without: Run, folder: Path
) -> None:
    before = {path.name for path in folder.iterdir()}

    ran = without(*line.split())

    assert (ran.status, ran.out) == (74, "")
    assert f"error: a temporary {kind} cannot be created (" in ran.err
    assert "which `TMPDIR` may name\n" in ran.err
    assert {path.name for path in folder.iterdir()} <= {*before, "out"}


def test_a_long_stream_names_tmpdir(
    without: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SPOOLED", 100)
    np.save(folder / "i.npy", np.zeros(50_000, int))

    ran = without("gather", "[1,2]", "-", stdin=(folder / "i.npy").read_bytes())

    assert ran.status == 74
    assert "which `TMPDIR` may name" in ran.err
