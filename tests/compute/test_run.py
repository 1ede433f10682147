"""A call is run with the same answer, words and files whichever way it takes.

Many indices of a file are checked while they are used, and none is read of a result that is too
large.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import pytest

import gathercli.compute.run
from gathercli.compute import check
from gathercli.io.write import Output
from tests.house import MODULES, imports, room

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run


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
        monkeypatch.setattr(gathercli.compute.run, "MOST_PACKED_VALUES", 0)
        monkeypatch.setattr(check, "MOST_KEPT_INDICES", 0)

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
    monkeypatch.setattr(check, "check_input", None)

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


MANY: Final = 10**12
SIDE: Final = 10**4
SHAPES: Final = {"i": (MANY,), "t": (MANY, 1), "steps": (SIDE, SIDE, SIDE), "lengths": (SIDE,)}
"""The tensors of all families: indices, tuples, step_ids and parent_ids, max_seq_len."""


def zarr(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 without a chunk."""
    chunks = [min(1000, n) for n in shape]
    members = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "int64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    path = Path(f"{name}.zarr")
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps(members))
    return str(path)


def npy(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 in a sparse file."""
    path = Path(f"{name}.npy")
    with path.open("wb") as file:
        header = {"descr": "<i8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * int(np.prod(shape)))
    return str(path)


def safetensors(name: str, shape: tuple[int, ...]) -> str:
    """Declare an array of int64 in a sparse file."""
    path, size = Path(f"{name}.safetensors"), 8 * int(np.prod(shape))
    text = json.dumps({"x": {"dtype": "I64", "shape": shape, "data_offsets": [0, size]}}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(file.tell() + size)
    return str(path)


OVERSIZED_CALLS: Final = {
    "gather": "gather 1,2 {i}",
    "gather-elements": "gather-elements 1,2 {i} -a 0",
    "gather-nd": "gather-nd 1,2 {t}",
    "gather-tree": "gather-tree {steps} {steps} {lengths} 0",
}


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where an index is read."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("an index was read")

    for module, name in (
        (check, "check_input"),
        (check, "check_chunks"),
        (check, "follow_parents"),
    ):
        monkeypatch.setattr(module, name, fail)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("call", OVERSIZED_CALLS.values(), ids=OVERSIZED_CALLS)
@pytest.mark.parametrize("declare", [zarr, npy, safetensors])
def test_a_result_that_is_too_large_is_refused_before_any_index_is_read(
    declare: Callable[[str, tuple[int, ...]], str], call: str, run: Run
) -> None:
    words = call.format(**{name: declare(name, shape) for name, shape in SHAPES.items()}).split()

    refused = {end: run(*words, *end.split()) for end in ("", "-o x.npy", "-o x.zarr")}
    lifted = run(*words, "-o", "x.npy", "--max-bytes", "0")

    for end, ran in refused.items():
        assert (ran.status, ran.out) == (73 if "zarr" in end else 65, ""), ran.err
        assert "the result" in ran.err
    assert lifted.status == 73
    assert "the disk has" in lifted.err
    assert not list(Path().glob("x.*"))


def test_nothing_outside_the_room_chooses_the_way_of_a_call() -> None:
    ways = tuple(
        f"gathercli.compute.{way}"
        for way in (
            *("small", "native", "kernel", "blocks.GatherBlocks", "result.GatherResult"),
            *("result.StreamedResult", "check.check_chunks"),
        )
    )

    past = {
        path: names
        for path in MODULES
        if room(path) != "compute"
        and (names := {name for name in imports(path) if name.startswith(ways)})
    }

    assert past == {}
