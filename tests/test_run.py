"""Many indices of a file are checked while they are used, with the same words and files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli.compute.run
from gathercli.compute import array_run as arrays
from gathercli.io.write import Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]

DATA = np.arange(24.0).reshape(6, 4)
INDICES = {
    "legal": [5, 0, 3],
    "negative": [5, -6, 3],
    "outside": [5, 0, 7],
    "below": [5, 0, -7],
    "tuples": [[5, 3], [0, -1]],
    "elements": [[0, 5, 2, 1], [3, 3, -1, 0]],
    "wrong elements": [[0, 5, 2, 1], [3, 3, 6, 0]],
}
GATHER = ("gather", "d.npy", "{}.npy")
CALLS = [
    (*GATHER, "-o", "out.npy"),
    (*GATHER, "-o", "out.json"),
    (*GATHER, "-o", "old.npy"),
    (*GATHER, "-o", "out.oip", "-f", "oip"),
    (*GATHER, "-o", "out.txt", "-f", "pretty"),
    (*GATHER, "-o", "nowhere/out.npy"),
    (*GATHER, "-o", "out.npy", "-V", "onnx-1", "--json-errors"),
    (*GATHER, "-o", "out.npy", "-V", "openvino-1", "--negative", "wrap"),
    (*GATHER, "-o", "out.npy", "--negative", "error"),
    (*GATHER, "-o", "out.npy", "--out-of-range", "zero"),
    (*GATHER, "-o", "out.oip", "-f", "oip", "--out-of-range", "clamp"),
    (*GATHER, "-o", "out.npy", "--out-of-range", "wrap", "-a", "1"),
    (*GATHER, "-o", "out.npy", "--max-bytes", "8"),
    (*GATHER, "-o", "out.npy", "--expect", "1,2"),
    (*GATHER, "-o", "out.npy", "--rtol", "nan"),
    (*GATHER, "-o", "/dev/stdout", "-f", "npy"),
    ("gather", "nan.npy", "{}.npy", "-o", "out.json", "--nonfinite", "error"),
    ("gather-nd", "d.npy", "tuples.npy", "-o", "out.npy"),
    ("gather-nd", "d.npy", "tuples.npy", "-o", "out.npy", "-V", "onnx-13"),
    ("gather-elements", "d.npy", "elements.npy", "-a", "0", "-o", "out.npy", "-V", "onnx-13"),
    ("gather-elements", "d.npy", "wrong elements.npy", "-a", "0", "-o", "out.npy"),
]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after which any index counts as one of many."""

    def patch() -> None:
        monkeypatch.setattr(gathercli.compute.run, "MOST", 0)
        monkeypatch.setattr(arrays, "KEPT", 0)

    return patch


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """Write the inputs, and an older output."""
    np.save(folder / "d.npy", DATA)
    np.save(folder / "nan.npy", np.full(8, np.nan))
    for name, indices in INDICES.items():
        np.save(folder / f"{name}.npy", np.array(indices))
    (folder / "old.npy").write_bytes(b"old")


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ["legal", "negative", "outside", "below"])
@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_one_pass_leaves_what_two_leave(
    call: tuple[str, ...], name: str, run: Run, folder: Path, many: Callable[[], None]
) -> None:
    argv = [word.format(name) for word in call]
    before = contents(folder)

    two = run(*argv), contents(folder)
    for made in contents(folder).keys() - before:
        (folder / made).unlink()
    (folder / "old.npy").write_bytes(b"old")
    many()
    one = run(*argv), contents(folder)

    assert one == two


def test_legal_indices_are_read_once(
    run: Run, folder: Path, many: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    many()
    monkeypatch.setattr(arrays, "check_indices", None)

    for name in ("legal", "negative"):
        assert run("gather", "d.npy", f"{name}.npy", "-o", "out.npy", "-q") == (0, "", "")
        assert np.array_equal(np.load(folder / "out.npy"), DATA[np.array(INDICES[name])])


@pytest.mark.parametrize("name", ["legal", "outside"])
def test_an_index_that_changes_on_the_way_is_noticed(
    name: str, run: Run, folder: Path, many: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    many()
    before = contents(folder)
    opened = Output.open

    def change(output: Output, size: int = 0) -> None:
        os.utime(folder / f"{name}.npy", ns=(0, 0))
        opened(output, size)

    monkeypatch.setattr(Output, "open", change)
    ran = run("gather", "d.npy", f"{name}.npy", "-o", "out.npy")

    assert ran.status == 74
    assert f"`{name}.npy` changed while it was read" in ran.err
    assert contents(folder) == before


@pytest.mark.parametrize("output", ["out.npy", "new/out.npy", "old.npy"])
@pytest.mark.parametrize("name", ["legal", "negative", "outside"])
def test_a_job_is_reported_the_same_after_one_pass(
    output: str, name: str, run: Run, folder: Path, many: Callable[[], None]
) -> None:
    job = {"id": "a", "op": "gather", "data": "d.npy", "indices": f"{name}.npy", "output": output}
    (folder / "jobs.jsonl").write_text(json.dumps(job))

    def reported() -> list[Any]:
        ran = run("batch", "jobs.jsonl", "-j", "1", "-q")
        line = json.loads(ran.out)
        line.pop("seconds")
        return [ran.status, line, contents(folder), (folder / "new").exists()]

    two = reported()
    (folder / output).unlink(missing_ok=True)
    if output.startswith("new") and name != "outside":
        (folder / "new").rmdir()
    if output == "old.npy":
        (folder / output).write_bytes(b"old")
    many()
    one = reported()

    assert one == two
