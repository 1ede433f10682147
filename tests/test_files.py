"""Input files: names, links, pipes, and reads that fail."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.tensorfiles import (
    ONE,
    assert_refused,
    saved,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from tests.conftest import Ran

    Program = Callable[..., subprocess.CompletedProcess[bytes]]
    Run = Callable[..., Ran]
    Array = npt.NDArray[Any]


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
