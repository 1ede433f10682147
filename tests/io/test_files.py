"""Input files: names, links, pipes, and reads that fail."""

from __future__ import annotations

import mmap
import os
import socket
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gathercli
from gathercli.io import files
from gathercli.io.source import open_file
from tests.tensorfiles import ONE, assert_refused, npy, saved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


DATA = np.arange(600, dtype="f4").reshape(20, 30)


@pytest.mark.parametrize(
    ("token", "rule", "words"),
    [
        ("nosuch.npy", "missing", "there is no file `nosuch.npy`"),
        ("nosuch/x.npy", "missing", "there is no file `nosuch/x.npy`"),
        ("file/x.npy", "missing", "there is no file `file/x.npy`"),
        ("@nosuch", "missing", "there is no file `nosuch`"),
        ("nosuch.npz#k", "missing", "there is no file `nosuch.npz`"),
        ("dangling", "missing", "there is no file `dangling`"),
        ("", "missing", "the name of the file is empty"),
        ("@", "missing", "the name of the file is empty"),
        (".", "unreadable", "`.` is a directory"),
        ("folder", "unreadable", "`folder` is a directory"),
        ("folder/", "unreadable", "`folder/` is a directory"),
        ("/dev/null", "unreadable", "`/dev/null` is a device"),
        ("/dev/zero", "unreadable", "`/dev/zero` is a device"),
        ("socket", "unreadable", "`socket` is a socket"),
        ("loop", "unreadable", "`loop` cannot be read"),
        ("x" * 300, "unreadable", "cannot be read"),
    ],
)
def test_what_is_absent_or_no_file_is_66(
    token: str, rule: str, words: str, run: Run, folder: Path
) -> None:
    (folder / "file").write_text("[1]")
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert words in assert_refused(run("gather", token, "0"), rule, status=66)


def test_a_link_to_a_file_is_that_file(run: Run, folder: Path) -> None:
    np.save(folder / "x.npy", np.arange(3))
    (folder / "link").symlink_to("x.npy")
    assert run("gather", "link", "2") == (0, "2\n", "")


def test_an_unreadable_file_is_66(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "x.npy").write_bytes(ONE)
    real = os.open

    def refusing(path: str, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if str(path).endswith("x.npy"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, **rest)

    monkeypatch.setattr(os, "open", refusing)
    line = assert_refused(run("gather", "x.npy", "0"), "unreadable", status=66)
    assert "`x.npy` cannot be read (permission denied)" in line


def test_a_read_that_fails_on_the_way_is_74(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.json").write_bytes(b"[" + b"1," * (1 << 20) + b"1]")
    real, real_at, reads = os.read, os.pread, []

    def failing_at(fd: int, count: int, at: int) -> bytes:
        if at:
            raise OSError(5, "Input/output error")
        return real_at(fd, count, at)

    def failing(fd: int, count: int) -> bytes:
        if count < 1 << 20:
            return real(fd, count)
        reads.append(count)
        if len(reads) > 1:
            raise OSError(5, "Input/output error")
        return real(fd, count)

    monkeypatch.setattr(os, "read", failing)
    monkeypatch.setattr(os, "pread", failing_at)
    ran = run("gather", "x.json", "0")
    assert ran.status == 74
    assert "reading stopped after 2097155 bytes" in ran.err


@pytest.mark.parametrize("content", [b"[5,6,7]", saved(np.array([5, 6, 7]))])
def test_a_fifo_is_read_like_a_file(content: bytes, run: Run, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(content,))
    writer.start()
    assert run("gather", "pipe", "2") == (0, "7\n", "")
    writer.join()


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "@/dev/fd/0"])
def test_standard_input_may_be_named(name: str, run: Run) -> None:
    assert run("gather", name, "1", stdin=b"[5,6,7]") == (0, "6\n", "")


@pytest.mark.parametrize("name", ["[1].json", "a b.json", "é.json", "-x.json", "x#y.json", "1e5x"])
def test_a_file_may_have_any_name(name: str, run: Run, folder: Path) -> None:
    (folder / name).write_text("[7]")
    assert run("gather", f"@{name}", "0") == (0, "7\n", "")
    assert run("gather", f"./{name}", "0") == (0, "7\n", "")


def test_a_file_name_that_is_no_text_is_read_and_shown_escaped(run: Run, folder: Path) -> None:
    name = os.fsdecode(b"\xff.json")
    (folder / name).write_text("[7]")
    assert run("gather", name, "0") == (0, "7\n", "")
    (folder / name).write_text("[")
    assert "\\xff.json: " in run("gather", name, "0").err


def test_a_long_stream_is_spooled_and_mapped(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[int]()
    real = tempfile.TemporaryFile

    def noting() -> Any:
        made.append(1)
        return real()

    monkeypatch.setattr(files, "BUFFERED_BYTES", 100)
    monkeypatch.setattr(files, "_STREAM_PART", 777)
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
    monkeypatch.setattr(files, "BUFFERED_BYTES", 100)
    monkeypatch.setattr(files, "_STREAM_PART", 777)
    gathercli.save(folder / name, np.arange(5000))
    ran = run("gather", "-", "[4999,7]", stdin=(folder / name).read_bytes())
    assert ran == (0, "[4999,7]\n", "")


def test_a_spool_that_finds_no_room_is_74(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "BUFFERED_BYTES", 100)
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    np.save(folder / "d.npy", DATA)
    ran = run("gather", "d.npy", "-", stdin=saved(np.zeros(50_000, int)))
    assert ran.status == 74
    assert "a temporary file cannot be created (no space left on device)" in ran.err


@pytest.mark.parametrize(("size", "mapped"), [(1 << 16, False), ((1 << 16) + 1, True)])
def test_a_file_is_mapped_from_64_kibibytes(size: int, *, mapped: bool, folder: Path) -> None:
    (folder / "x").write_bytes(bytes(size))
    file = open_file("x", ".", None)

    found = file.buffer()

    assert (len(found), isinstance(found, mmap.mmap)) == (size, mapped)

    file.close()


def test_an_input_may_have_as_many_bytes_as_may_be_held(run: Run, folder: Path) -> None:
    for limit, status in (("152", 0), ("151", 65)):
        ran = run("gather", "-", "xi8=0", "--max-bytes", limit, stdin=npy())
        assert ran.status == status
        held = "the input has 152 bytes or more to be held in memory: expected at most 151 bytes"
        assert (held in ran.err) is bool(status)
        assert "is mapped" not in ran.err
    for name in ("x.json", "+x.json"):
        (folder / name).write_bytes(b"[1,2,3]")
        file = open_file(name, ".", 7)
        assert file.content() == b"[1,2,3]"
        file.close()
        ran = run("gather", name, "0", "--max-bytes", "6")
        assert "the input has 7 bytes to be held in memory: expected at most 6 bytes" in ran.err
        assert "lifts the limit; a .npy file is mapped and not held" in ran.err


def test_the_start_of_a_stream_is_read_without_waiting_for_more() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, b"12345678")

    file = files.File("x", reader, None)

    assert file.start(8) == b"12345678"
    assert file.start(5) == b"12345"

    os.write(writer, b"9")

    os.close(writer)

    assert (file.start(10), file.size) == (b"123456789", 9)

    file.close()


def test_a_file_at_the_start_of_which_nothing_was_read_is_regular(folder: Path) -> None:
    (folder / "x").write_bytes(b"abc")
    saved = os.dup(0)
    try:
        for read, size in ((0, 3), (1, 2), (3, 0)):
            opened = os.open("x", os.O_RDONLY)
            os.dup2(opened, 0)
            os.close(opened)
            assert os.read(0, read) == b"abc"[:read]
            file = files.File("-", 0, None)
            assert (file.regular, file.size, file.start(9)) == (not read, size, b"abc"[read:])
            file.close()
            assert os.fstat(0)
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_a_name_for_a_hint_is_the_first_that_is_free(folder: Path) -> None:
    assert files.new_name("x", ".npy") == "x.npy"
    (folder / "x.npy").touch()
    assert files.new_name("x", ".npy") == "x-1.npy"
    (folder / "x-1.npy").symlink_to("nowhere")
    assert files.new_name("x", ".npy") == "x-2.npy"
    for n in range(2, 1000):
        (folder / f"x-{n}.npy").touch()
    assert files.new_name("x", ".npy") == "x-1000.npy"
