"""From file to file: by threads and in order, in little memory, with a line of progress."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.errors import GatherError
from gathercli.io import files, stream
from tests.modelfiles import tour_ir
from tests.tensorfiles import saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run


DATA = np.arange(600, dtype="f4").reshape(20, 30)
INDICES = np.array([[3, -1, 19], [0, 7, 7]])


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("suffix", ["npy", "bin", "safetensors", "npz", "json"])
@pytest.mark.parametrize("held", ["C<f4", "C>f4", "F<f4", "F>f4"])
def test_a_file_holds_the_same_however_many_threads_write_it(
    run: Run, folder: Path, threads: str, suffix: str, held: str
) -> None:
    order: Any = held[0]
    np.save(folder / "d.npy", np.asarray(DATA, held[1:], order=order))
    np.save(folder / "i.npy", INDICES)
    name = f"o.{suffix}"
    for axis in ("0", "1"):
        ran = run("gather", "d.npy", "i.npy", "-a", axis, "-j", threads, "-q", "-o", name)
        assert ran == (0, "", "")
        token = f"bin:{'2x3x30' if axis == '0' else '20x2x3'}xf32@{name}"
        found = gathercli.load(token if suffix == "bin" else name)
        np.testing.assert_array_equal(found, np.take(DATA, INDICES, int(axis)).astype(found.dtype))


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_a_stream_takes_its_blocks_in_order(run: Run, folder: Path, name: str) -> None:
    np.save(folder / "d.npy", DATA)
    ran = run("gather", "d.npy", "[3,-1,19]", "-j", "3", "-f", "npy", "-o", name)
    assert ran.raw == saved(DATA[[3, -1, 19]])


@pytest.mark.usefixtures("in_small_blocks")
def test_what_a_file_holds_already_stays_before_what_is_appended(folder: Path) -> None:
    np.save(folder / "d.npy", DATA)
    (folder / "o").write_bytes(b"before")
    line = f"{sys.executable} -m gathercli gather d.npy 3 -f npy -j 2 >> o"
    subprocess.run(["bash", "-c", line], cwd=folder, check=True)
    assert (folder / "o").read_bytes() == b"before" + saved(DATA[3])


@pytest.mark.parametrize("threads", ["0", "-1", "x", "1.5"])
def test_fewer_than_one_thread_is_a_usage_error(run: Run, threads: str) -> None:
    assert run("gather", "[1]", "0", "-j", threads).status == 2


def test_a_disk_that_cannot_set_room_aside_is_written_to_all_the_same(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(stream, "MIN_ALLOCATED", 0)
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    np.save(folder / "d.npy", DATA)
    assert run("gather", "d.npy", "[1,2]", "-o", "o.npy") == (0, "", "")
    monkeypatch.delattr(os, "posix_fallocate")
    assert run("gather", "d.npy", "[1,2]", "-o", "o2.npy") == (0, "", "")
    for name in ("o.npy", "o2.npy"):
        np.testing.assert_array_equal(np.load(folder / name), DATA[[1, 2]])


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("failing", [1, 2, 5])
def test_a_write_that_fails_in_any_thread_leaves_nothing(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    np.save(folder / "d.npy", DATA)
    (folder / "o.npy").write_bytes(b"old")
    real, calls = os.pwrite, list[int]()

    def sometimes(fd: int, part: bytes, place: int) -> int:
        calls.append(place)
        if len(calls) >= failing:
            raise OSError(28, "No space left on device")
        return real(fd, part, place)

    monkeypatch.setattr(os, "pwrite", sometimes)
    ran = run("gather", "d.npy", "[1,2,3]", "-j", "3", "-o", "o.npy")
    assert ran.status == 74
    assert "writing stopped (no space left on device)" in ran.err
    assert (folder / "o.npy").read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == ["d.npy", "o.npy"]


@pytest.mark.usefixtures("in_small_blocks")
def test_short_writes_are_carried_on(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, part, place: real(fd, part[:7], place))
    np.save(folder / "d.npy", DATA)
    assert run("gather", "d.npy", "[1,5]", "-j", "2", "-o", "o.npy").status == 0
    np.testing.assert_array_equal(np.load(folder / "o.npy"), DATA[[1, 5]])


@pytest.mark.usefixtures("in_small_blocks")
def test_an_illegal_index_at_the_end_is_seen_before_the_first_byte(run: Run, folder: Path) -> None:
    np.save(folder / "d.npy", DATA)
    np.save(folder / "i.npy", np.append(np.zeros(5000, np.int64), 20))
    ran = run("gather", "d.npy", "i.npy", "-V", "onnx-13", "-f", "npy")
    assert (ran.status, ran.out) == (65, "")
    assert "`[5000]`" in ran.err


def runs_with(most: int, words: list[str], folder: Path) -> bool:
    """Tell whether a command runs with so many MB of anonymous memory."""
    script = (
        "import resource, sys, importlib\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]) << 20,) * 2)\n"
        "main = importlib.import_module('gathercli.cli.main').main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    command = [sys.executable, "-c", script, str(most), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def anonymous(words: list[str], folder: Path) -> int:
    """Return the least anonymous memory that a command can do with, in MB."""
    return next(most for most in range(60, 1000, 20) if runs_with(most, words, folder))


@pytest.mark.parametrize("indices", ["i4", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_the_output(folder: Path, indices: str, order: Any) -> None:
    np.save(folder / "d.npy", np.asarray(np.ones((300_000, 64), "f4"), order=order))
    rows = np.arange(2_000_000) % 300_000
    np.save(folder / "few.npy", rows[:10].astype(indices))
    np.save(folder / "many.npy", rows[: 600_000 if order == "F" else None].astype(indices))
    options = ["-o", "o.npy", "-j", "2", "-q"]
    tiny = anonymous(["gather", "d.npy", "few.npy", *options], folder)
    assert runs_with(tiny + 60, ["gather", "d.npy", "many.npy", *options], folder)


@pytest.mark.parametrize("policy", ["error", "clamp", "wrap", "zero"])
@pytest.mark.parametrize("count", [10, (1 << 20) + 1])
def test_an_empty_axis_refuses_few_and_many_indices_alike(policy: str, count: int) -> None:
    data, indices = np.zeros(0, "f4"), np.full(count, 3)
    if policy == "zero":
        assert not gathercli.gather(data, indices, out_of_range=policy).any()
        return
    with pytest.raises(GatherError) as caught:
        gathercli.gather(data, indices, out_of_range=policy)
    assert caught.value.count == count


def test_a_refusal_is_the_same_whether_indices_are_few_or_many() -> None:
    data, few = np.arange(10.0), np.zeros(10, np.int64)
    many = np.zeros(2_000_000, np.int64)
    for indices in (few, many):
        indices[7] = 11
        with pytest.raises(GatherError) as caught:
            gathercli.gather(data, indices, version="onnx-13")
        assert caught.value.where == "[7]"
    many[7] = -1
    assert gathercli.gather(data, many, version="onnx-13")[7] == 9
    many[8] = 100
    assert gathercli.gather(data, many)[8] == 0


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
    monkeypatch.setattr(files, "BUFFERED_BYTES", 100)
    np.save(folder / "i.npy", np.zeros(50_000, int))

    ran = without("gather", "[1,2]", "-", stdin=(folder / "i.npy").read_bytes())

    assert ran.status == 74
    assert "which `TMPDIR` may name" in ran.err
