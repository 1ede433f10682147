"""From file to file: by threads and in order, in little memory, with a line of progress."""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import gathercli
from gathercli.cli.messages import Messages
from gathercli.compute import kernel, result
from gathercli.errors import GatherError, InputError
from gathercli.io import files, stream
from gathercli.report import progress
from gathercli.report.terminal import width_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from tests.conftest import Ran

    Array = npt.NDArray[Any]
    Run = Callable[..., Ran]


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything that is done for long outputs happen to short ones."""
    monkeypatch.setattr("gathercli.compute.small.FEW_STEPS", -1)
    monkeypatch.setattr(kernel, "BLOCK", 64)
    monkeypatch.setattr(result, "SHARED", 0)
    monkeypatch.setattr(stream, "ALLOCATED", 0)
    monkeypatch.setattr(files, "SPOOLED", 100)
    monkeypatch.setattr(files, "_CHUNK", 77)


def saved(array: Array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


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


def test_a_long_stream_is_spooled_and_mapped(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[int]()
    real = tempfile.TemporaryFile

    def noting() -> Any:
        made.append(1)
        return real()

    monkeypatch.setattr(files, "SPOOLED", 100)
    monkeypatch.setattr(files, "_CHUNK", 777)
    monkeypatch.setattr("tempfile.TemporaryFile", noting)
    indices = np.arange(5000) % 20
    np.save(folder / "d.npy", DATA)
    ran = run("gather", "d.npy", "-", "-f", "npy", stdin=saved(indices))
    assert ran.raw == saved(DATA[indices])
    ran = run("gather", "d.npy", "bin:5000xi64@-", "-f", "npy", stdin=indices.tobytes())
    assert ran.raw == saved(DATA[indices])
    ran = run("shape", "gather", "d.npy", "-", stdin=saved(indices))
    assert ran.out == "[5000,30]\n"
    assert len(made) == 3
    ran = run("gather", "d.npy", "-", "--max-bytes", "20000", stdin=saved(indices))
    assert ran.status == 65
    assert "the input has 40128 bytes to be held in memory: expected at most 20000 bytes" in ran.err
    assert "rule: limit" in ran.err
    cut = run("gather", "d.npy", "-", stdin=saved(indices)[:-1])
    assert "truncated" in cut.err
    assert sorted(os.listdir(folder)) == ["d.npy"]


@pytest.mark.parametrize("name", ["x.json", "x.npz", "x.safetensors", "x.pb", "x.npy"])
def test_a_long_stream_of_any_format_is_read(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(files, "SPOOLED", 100)
    monkeypatch.setattr(files, "_CHUNK", 777)
    gathercli.save(folder / name, np.arange(5000))
    ran = run("gather", "-", "[4999,7]", stdin=(folder / name).read_bytes())
    assert ran == (0, "[4999,7]\n", "")


def test_a_spool_that_finds_no_room_is_74(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "SPOOLED", 100)
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    np.save(folder / "d.npy", DATA)
    ran = run("gather", "d.npy", "-", stdin=saved(np.zeros(50_000, int)))
    assert ran.status == 74
    assert "a temporary file cannot be created (no space left on device)" in ran.err


def test_a_disk_that_cannot_set_room_aside_is_written_to_all_the_same(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(stream, "ALLOCATED", 0)
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


def anonymous(words: list[str], folder: Path) -> int:
    """Run a command under a limit of anonymous memory; return the least it can do with, in MB."""
    script = (
        "import resource, sys, importlib\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]) << 20,) * 2)\n"
        "main = importlib.import_module('gathercli.cli.main').main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    for most in range(60, 1000, 20):
        command = [sys.executable, "-c", script, str(most), *words]
        ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if ran.returncode == 0:
            return most
    return 9999


@pytest.mark.parametrize("indices", ["i4", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_the_output(folder: Path, indices: str, order: Any) -> None:
    np.save(folder / "d.npy", np.asarray(np.ones((300_000, 64), "f4"), order=order))
    rows = np.arange(2_000_000) % 300_000
    np.save(folder / "few.npy", rows[:10].astype(indices))
    np.save(folder / "many.npy", rows[: 600_000 if order == "F" else None].astype(indices))
    options = ["-o", "o.npy", "-j", "2", "-q"]
    tiny = anonymous(["gather", "d.npy", "few.npy", *options], folder)
    assert anonymous(["gather", "d.npy", "many.npy", *options], folder) <= tiny + 60


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_says_how_far_how_fast_and_how_long() -> None:
    clock, shown = Clock(), list[str]()
    line = progress.Progress(shown.append, 80, clock)
    line("gathered", 10, 100)
    assert shown == []
    clock.now = 2
    line("gathered", 500_000_000, 4_000_000_000)
    assert shown == ["\rgathered 500 MB of 4 GB  12 %  250 MB/s  14 s left"]
    clock.now = 2.01
    line("gathered", 600_000_000, 4_000_000_000)
    assert len(shown) == 1
    clock.now = 3
    line("read", 10_000, 0)
    assert shown[-1].rstrip() == "\rread 10 kB"  # whose rate is not known yet
    clock.now = 4
    line("read", 20_000, 0)
    assert shown[-1].rstrip() == "\rread 20 kB  20 kB/s"
    line.clear()
    assert shown[-1].strip() == ""
    line.clear()
    assert len(shown) == 4


def test_progress_fits_the_terminal() -> None:
    clock, shown = Clock(), list[str]()
    line = progress.Progress(shown.append, 20, clock)
    clock.now = 2
    line("gathered", 1, 100_000)
    assert shown == ["\rgathered 1 B of 100"]


def test_a_line_is_cleared_whose_writing_was_interrupted() -> None:
    shown = list[str]()

    def write(text: str) -> None:
        shown.append(text)
        if len(shown) == 1:
            raise KeyboardInterrupt

    line = progress.StatusLine(write, 80)

    with pytest.raises(KeyboardInterrupt):
        line.show("gathered")
    line.clear()

    assert shown[1:] == ["\r" + " " * 10 + "\r"]


@pytest.mark.usefixtures("in_small_blocks")
def test_progress_is_for_a_terminal_and_goes_away(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(progress, "KNOWN", 0.0)
    np.save(folder / "d.npy", DATA)
    words = ("gather", "d.npy", "[1,2]", "-o", "o.npy", "-j", "1")
    ran = run(*words, terminal=(2,))
    last = ran.err.rstrip("\n").rpartition("\r")[2]
    assert re.search(r"\rgathered \d+ B of 240 B  \d+ %  .*/s  \d+ s left", ran.err)
    assert last == "wrote o.npy: f32[2,30]"
    assert "gathered" not in run(*words).err
    assert "gathered" not in run(*words, "-q", terminal=(2,)).err
    assert "gathered" not in run(*words, "--json-errors", terminal=(2,)).err
    assert "gathered" not in run("gather", "d.npy", "1", "-f", "json", terminal=(1, 2)).err
    assert "wrote 2.53 kB of 2.53 kB" in run("convert", "d.npy", "e.npy", terminal=(2,)).err
    refused = run("gather", "d.npy", "[1,99]", "-V", "onnx-13", terminal=(2,)).err
    assert "error:" in refused.rpartition("\r")[2]


def test_the_width_is_that_of_the_terminal_it_is_on() -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 34, 0, 0))
    assert width_of(theirs) == 34
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    assert width_of(theirs) == 80
    os.close(ours)
    os.close(theirs)


def test_there_is_one_line_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Messages, "_interactive", True)
    messages = Messages()
    assert messages.progress() is messages.progress()


@pytest.mark.parametrize("name", ["float32", "bfloat16", ">f4"])
def test_an_array_of_ones_own_takes_the_result(name: str) -> None:
    held = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    data = DATA.astype(held)
    out = np.empty((2, 3, 30), held.newbyteorder("="))
    assert gathercli.gather(data, INDICES, out=out) is out
    np.testing.assert_array_equal(out, data[INDICES])
    elements = np.empty((1, 30), held.newbyteorder("="))
    at = np.full((1, 30), 2)
    gathercli.gather_elements(data, at, axis=0, version="onnx-13", out=elements, threads=2)
    np.testing.assert_array_equal(elements, data[2:3])


@pytest.mark.parametrize(
    ("out", "why", "expected"),
    [
        ([1.0], "is of type `list`", "a NumPy array, f32[3]"),
        (np.empty(3, "f8"), "is f64[3]", "f32[3]"),
        (np.empty(2, "f4"), "is f32[2]", "f32[3]"),
        (np.empty(3, ">f4"), "is of >f4", "<f4, in native byte order"),
        (np.empty(6, "f4")[::2], "is not C-ordered", "a C-ordered array"),
        (np.frombuffer(bytes(12), "f4"), "cannot be written to", "a writable array"),
        (np.ma.zeros(3, "f4"), "is of type `MaskedArray`", "a NumPy array, f32[3]"),
    ],
)
def test_an_array_that_cannot_take_the_result_is_refused(out: Any, why: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(np.ones(5, "f4"), [0, 1, 2], out=out)

    assert str(caught.value) == f"`out` {why}: expected {expected}"


@pytest.mark.parametrize("threads", [0, -3, 1.5, "x", True])
def test_a_number_of_threads_is_checked_in_python_too(threads: Any) -> None:
    with pytest.raises(GatherError, match="expected an integer from 1 on"):
        gathercli.gather([1], [0], threads=threads)


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


def test_an_array_that_is_wider_than_memory_is_not_copied() -> None:
    wide = np.broadcast_to(np.float32(7), (10**6, 10**6))
    assert gathercli.gather_elements(wide, [[3]], axis=0, version="onnx-13").tolist() == [[7.0]]
    assert gathercli.gather(wide, [5], axis=1)[:3].tolist() == [[7.0]] * 3
    with pytest.raises(GatherError, match="not enough memory"):
        gathercli.gather(np.broadcast_to(np.arange(2.0)[::-1], (10**12, 2)), [0])


def test_an_input_does_not_take_the_result() -> None:
    data = np.ones(5, "f4")
    with pytest.raises(GatherError, match="shares memory"):
        gathercli.gather(data, [0, 1, 2], out=data[:3])


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
